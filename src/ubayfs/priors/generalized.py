r"""The generalized Dirichlet prior of Wong (1998): a broken stick with free parameters.

Feature n takes the share :math:`V_n \sim \mathrm{Beta}(\alpha_n, \beta_n)` of what the features before it left over,
and the last one takes the rest. Given counts :math:`\Delta` the shares stay independent:

.. math::

    V_n \mid \Delta \sim \mathrm{Beta}\Bigl(\alpha_n + \Delta_n,\; \beta_n + \sum_{i > n} \Delta_i\Bigr), \qquad
    E[\theta_n] = E[V_n] \prod_{i < n} (1 - E[V_i]).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from .._arguments import Array, Floats, RandomState, as_array, check_not_complex
from ..data.blocks import Blocks
from ..ensemble.evidence import Evidence
from ..exceptions import Advice, InputError, repr_of
from .base import Posterior, Prior, log_gamma_draws


@dataclass(frozen=True, eq=False)
class GeneralizedDirichlet(Prior):
    """Stick-breaking prior with a second parameter per feature. It depends on the order of the features.

    Parameters
    ----------
    beta : float or array-like of shape (n_features - 1,), optional
        Second parameter of each share but the last, positive. A large value leaves much for later features. With
        `beta` the weight of the last feature has no say: it takes what is left. Default: the sum of the weights of
        all later features, which makes this exactly the Dirichlet prior.

    See Also
    --------
    Dirichlet : The default.

    References
    ----------
    Wong, T.-T. (1998). Generalized Dirichlet distribution in Bayesian analysis. Applied Mathematics and
    Computation, 97, 165-181.

    Examples
    --------
    >>> evidence = Evidence.from_sets([[True, True, False], [True, False, False]])
    >>> GeneralizedDirichlet(beta=[1, 1]).update(evidence, weights=1).mean
    array([0.6       , 0.26666667, 0.13333333])
    """

    beta: Any = None
    name: ClassVar[str] = "generalized"

    def _update(
        self, evidence: Evidence, weights: Floats, blocks: Blocks, random_state: RandomState
    ) -> GeneralizedDirichletPosterior:
        first = weights[:-1] + evidence.counts[:-1]
        second = self._resolve_beta(weights) + _sum_of_later(evidence.counts)
        # 1 - E[V] = b / (a + b); logarithms, as 100,000 factors underflow otherwise.
        log_left = np.concatenate([[0.0], -np.cumsum(np.log1p(first / second))])
        share = np.concatenate([first / (first + second), [1.0]])
        return GeneralizedDirichletPosterior(
            prior=self.name,
            weights=weights,
            mean=share * np.exp(log_left),
            evidence=evidence,
            first=first,
            second=second,
            is_dirichlet=self.beta is None,
        )

    def _resolve_beta(self, weights: Floats) -> Floats:
        """Return beta as positive numbers of shape (n_features - 1,)."""
        if self.beta is None:
            return _sum_of_later(weights)
        n = len(weights) - 1
        rule = f"must be a positive number or n_features - 1 = {n} positive numbers"
        check_not_complex("beta", self.beta)
        beta = as_array("beta", self.beta, rule, np.float64)
        if isinstance(self.beta, bool | np.bool_ | str):
            raise InputError.of("beta", f"{rule}; got {repr_of(self.beta)}.")
        if beta.ndim == 0 and isinstance(self.beta, Real | np.ndarray):
            beta = np.full(n, float(beta))
        if beta.shape != (n,):
            raise InputError.of(
                "beta", f"{rule}, one for each feature but the last; got {beta.size} of shape {beta.shape}."
            )
        bad = np.flatnonzero(~(np.isfinite(beta) & (beta > 0)))
        if len(bad):
            raise InputError.of("beta", f"{rule}; entry {bad[0]} is {float(beta[bad[0]])!r}.")
        return beta


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class GeneralizedDirichletPosterior(Posterior):
    """Independent Beta shares of a stick; `first` and `second` are their parameters, of shape (n_features - 1,).

    `is_dirichlet` tells whether it is the Dirichlet distribution, as without `beta`.
    """

    first: Floats = field(repr=False)
    second: Floats = field(repr=False)
    is_dirichlet: bool = False

    @property
    def advice(self) -> tuple[Advice, ...]:
        """That it is the Dirichlet distribution, if it is."""
        return (Advice("generalized_is_dirichlet"),) * self.is_dirichlet

    def _sample(self, n: int, rng: np.random.Generator) -> Floats:
        size = (n, self.n_features - 1)
        # V = G1 / (G1 + G2): logarithms of both V and 1 - V are accurate however near to 0 or 1 it is.
        taken, left = log_gamma_draws(self.first, size, rng), log_gamma_draws(self.second, size, rng)
        total = np.logaddexp(taken, left)
        log_theta = np.zeros((n, self.n_features))
        np.cumsum(left - total, axis=1, out=log_theta[:, 1:])
        log_theta[:, :-1] += taken - total
        theta = np.exp(log_theta)
        return theta / theta.sum(axis=1, keepdims=True)  # rounding of up to n_features logarithms


def _sum_of_later(values: Array) -> Floats:
    """Return the sum over i > n for each n but the last, of shape (len(values) - 1,).

    >>> _sum_of_later(np.array([1.0, 2.0, 4.0]))
    array([6., 4.])
    """
    return np.cumsum(values[:0:-1], dtype=np.float64)[::-1]
