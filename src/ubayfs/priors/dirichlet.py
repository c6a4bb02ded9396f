"""The Dirichlet prior: conjugate, closed form, the default."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from scipy import sparse

from .._arguments import Floats, RandomState
from ..data.blocks import Blocks
from ..ensemble.evidence import Evidence
from .base import Posterior, Prior, log_gamma_draws, normalized_exp
from .block_importance import beta_interval


@dataclass(frozen=True)
class Dirichlet(Prior):
    """Weights alpha and counts Delta add up: the posterior is Dirichlet(alpha + Delta).

    See Also
    --------
    GeneralizedDirichlet : With a second parameter per feature.
    Hyperdirichlet : Sets are observed, not single features.

    References
    ----------
    Jenul, A., Schrunner, S., Pilz, J., Tomic, O. (2022). A user-guided Bayesian framework for ensemble feature
    selection in life science applications (UBayFS). Machine Learning, 111, 3897-3923.

    Examples
    --------
    >>> evidence = Evidence.from_sets([[True, True, False], [True, False, False]])
    >>> Dirichlet().update(evidence, weights=1).mean
    array([0.5       , 0.33333333, 0.16666667])
    """

    name: ClassVar[str] = "dirichlet"

    def _update(
        self, evidence: Evidence, weights: Floats, blocks: Blocks, random_state: RandomState
    ) -> DirichletPosterior:
        concentration = weights + evidence.counts
        return DirichletPosterior(
            prior=self.name,
            weights=weights,
            mean=concentration / concentration.sum(),
            evidence=evidence,
            concentration=concentration,
        )


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DirichletPosterior(Posterior):
    """A Dirichlet distribution; `concentration` is of shape (n_features,)."""

    concentration: Floats = field(repr=False)

    @property
    def total(self) -> float:
        """Sum of the weights and of all votes, T: one vote is an importance of 1 / T."""
        return float(self.concentration.sum())

    def _sample(self, n: int, rng: np.random.Generator) -> Floats:
        return normalized_exp(log_gamma_draws(self.concentration, (n, self.n_features), rng))

    def _interval(self, tail: float, n_draws: int, random_state: RandomState) -> tuple[Floats, Floats]:
        return beta_interval(self.concentration, self.total - self.concentration, tail)

    _exact_blocks: ClassVar[bool] = True

    def _block_interval(
        self, membership: sparse.csr_array, tail: float, n_draws: int, random_state: RandomState
    ) -> tuple[Floats, Floats]:
        inside, is_all = membership @ self.concentration, np.diff(membership.indptr) == self.n_features
        return beta_interval(inside, np.where(is_all, 0.0, self.total - inside), tail)
