"""What a prior is, and the posterior that it turns evidence into."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._arguments import MOST_REPEATS, Array, Floats, RandomState, as_generator, check_int, check_real, freeze
from .._plain import ShownAsCard
from ..data.blocks import Blocks
from ..ensemble.evidence import Evidence
from ..exceptions import Advice, InputError
from .block_importance import BlockImportance, sums_of
from .knowledge import PriorKnowledge
from .weight_resolver import DEFAULT_WEIGHT, resolve_knowledge

# Draws are made in pieces of about this many numbers, so that intermediate arrays stay small.
_CHUNK = 2**21
# Chains that disagree by more than this cannot be trusted.
R_HAT_LIMIT = 1.05


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """How far Markov chains can be trusted.

    Attributes
    ----------
    r_hat : float
        Largest split R-hat over all features whose posterior mean varied between draws; near 1 when chains agree.
    monte_carlo_error : ndarray of float of shape (n_features,)
        Standard error of each posterior mean that is due to the finite number of draws.
    n_chains : int
    n_draws : int
        Sweeps per chain that the means rest on.
    n_sweeps : int
        All sweeps per chain, warm-up included.
    """

    r_hat: float
    monte_carlo_error: Floats
    n_chains: int
    n_draws: int
    n_sweeps: int

    @property
    def advice(self) -> tuple[Advice, ...]:
        """That the chains disagree, if they do."""
        if not self.r_hat > R_HAT_LIMIT:
            return ()
        facts = {"r_hat": float(self.r_hat), "limit": R_HAT_LIMIT, "n_draws": self.n_draws}
        return (Advice("chains_disagree", facts),)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Posterior(ShownAsCard, ABC):
    """Distribution of the feature importances theta (positive, sum 1), given evidence and prior weights.

    Attributes
    ----------
    prior : str
        Name of the prior.
    weights : ndarray of float of shape (n_features,)
        Prior weights alpha.
    mean : ndarray of float of shape (n_features,)
        Posterior expectation of theta; sums to 1.
    evidence : Evidence
    diagnostics : Diagnostics or None
        None where the mean is a closed form.
    knowledge : PriorKnowledge or None
        What was stated of features, beside their weights.
    made_by : Prior or None
        The prior with its settings.

    Examples
    --------
    >>> from ubayfs import Dirichlet, Evidence
    >>> evidence = Evidence.from_sets([[1, 1, 0], [1, 0, 0]], ["radius", "area", "texture"])
    >>> posterior = Dirichlet().update(evidence, weights=1.0)
    >>> posterior.mean
    array([0.5       , 0.33333333, 0.16666667])
    >>> posterior.total
    6.0
    >>> lower, upper = posterior.credible_interval(0.9)
    """

    prior: str
    weights: Floats
    mean: Floats
    evidence: Evidence
    diagnostics: Diagnostics | None = None
    knowledge: PriorKnowledge | None = None
    made_by: Prior | None = None

    def __post_init__(self) -> None:
        freeze(self.weights)
        freeze(self.mean)

    def __repr__(self) -> str:
        models = f"n_models={self.evidence.n_models}, n_features={self.n_features}"
        return f"{type(self).__name__}({models}, prior={self.prior!r})"

    @property
    def advice(self) -> tuple[Advice, ...]:
        """What must be known about the means; empty where they are a closed form."""
        return () if self.diagnostics is None else self.diagnostics.advice

    @property
    def counts(self) -> NDArray[Any]:
        """How many runs chose each feature, of shape (n_features,)."""
        return self.evidence.counts

    @property
    def total(self) -> float:
        """Sum of the weights and of all votes, T: one vote is an importance of 1 / T."""
        return float(self.weights.sum() + self.counts.sum())

    @property
    def feature_names(self) -> Array:
        """Names of the features, of shape (n_features,)."""
        return self.evidence.feature_names

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.mean)

    def draws(self, n: int, random_state: RandomState = None) -> Floats:
        """Draw importance vectors from the posterior.

        Parameters
        ----------
        n : int
        random_state : int, Generator, SeedSequence, RandomState or None

        Returns
        -------
        theta : ndarray of float of shape (n, n_features)
            Every row sums to 1.
        """
        n = check_int("n", n, low=1, high=MOST_REPEATS)
        rng = as_generator(random_state)
        theta = np.empty((n, self.n_features))
        step = max(1, _CHUNK // self.n_features)
        for start in range(0, n, step):
            rows = theta[start : start + step]
            rows[:] = self._sample(len(rows), rng)
        return theta

    def credible_interval(
        self, level: float = 0.95, n_draws: int = 1000, random_state: RandomState = 0
    ) -> tuple[Floats, Floats]:
        """Return an equal-tailed interval for the importance of each feature.

        It tells how sure the *ensemble* is: the interval shrinks with the number of models, not with the number
        of samples in the data.

        Parameters
        ----------
        level : float, default 0.95
            Posterior probability of each interval.
        n_draws : int, default 1000
            Draws whose quantiles are taken where the marginal distribution has no closed form.
        random_state : int, Generator, SeedSequence, RandomState or None, default 0

        Returns
        -------
        lower, upper : ndarray of float of shape (n_features,)
        """
        level = check_real("level", level, low=0.0, high=1.0, low_open=True, high_open=True)
        tail = (1.0 - level) / 2.0
        return self._interval(tail, check_int("n_draws", n_draws, low=1, high=MOST_REPEATS), random_state)

    def _interval(self, tail: float, n_draws: int, random_state: RandomState) -> tuple[Floats, Floats]:
        theta = self.draws(n_draws, random_state)
        bounds = np.empty((2, self.n_features))
        step = max(1, _CHUNK // n_draws)
        for start in range(0, self.n_features, step):
            part = slice(start, start + step)
            bounds[:, part] = np.quantile(theta[:, part], [tail, 1.0 - tail], axis=0)
        return bounds[0], bounds[1]

    def blocks(
        self, blocks: Any, level: float = 0.95, n_draws: int = 1000, random_state: RandomState = 0
    ) -> BlockImportance:
        """Return the importance of each block: the sum over its features.

        Parameters
        ----------
        blocks : Blocks, mapping or DataFrame
            They may overlap.
        level, n_draws, random_state
            As in :meth:`credible_interval`.

        Returns
        -------
        importance : BlockImportance
            For the Dirichlet prior the sum of a block is exactly Beta distributed; others use draws.

        Examples
        --------
        >>> from ubayfs import Dirichlet, Evidence
        >>> evidence = Evidence.from_sets([[1, 1, 0], [1, 0, 0]], ["radius", "area", "texture"])
        >>> posterior = Dirichlet().update(evidence, weights=1.0)
        >>> posterior.blocks({"size": ["radius", "area"], "surface": ["texture"]}).mean
        array([0.83333333, 0.16666667])
        """
        level = check_real("level", level, low=0.0, high=1.0, low_open=True, high_open=True)
        n_draws = check_int("n_draws", n_draws, low=1, high=MOST_REPEATS)
        resolved = Blocks.of(blocks)
        membership = sparse.csr_array(resolved.matrix(self.feature_names), dtype=np.float64)
        lower, upper = self._block_interval(membership, (1.0 - level) / 2.0, n_draws, random_state)
        sizes = tuple(np.diff(membership.indptr).tolist())
        return BlockImportance(resolved.names, sizes, membership @ self.mean, lower, upper, level, self._exact_blocks)

    _exact_blocks: ClassVar[bool] = False

    def _block_interval(
        self, membership: sparse.csr_array, tail: float, n_draws: int, random_state: RandomState
    ) -> tuple[Floats, Floats]:
        rng, step = as_generator(random_state), max(1, _CHUNK // self.n_features)
        parts = [min(step, n_draws - start) for start in range(0, n_draws, step)]
        sums = np.concatenate([sums_of(self._sample(n, rng), membership) for n in parts])
        lower, upper = np.quantile(sums, [tail, 1.0 - tail], axis=0)
        return lower, upper

    @abstractmethod
    def _sample(self, n: int, rng: np.random.Generator) -> Floats:
        """Return n draws of theta, of shape (n, n_features)."""


class Prior(ABC):
    """What is known about the feature importances before the ensemble has run.

    A prior is a frozen dataclass of its parameters; write :meth:`_update` to add one.
    """

    name: ClassVar[str]

    def update(
        self, evidence: Evidence, weights: Any = DEFAULT_WEIGHT, blocks: Any = None, random_state: RandomState = None
    ) -> Posterior:
        """Combine prior weights and evidence.

        Parameters
        ----------
        evidence : Evidence
        weights : float, array-like, mapping, Series, DataFrame, path or Knowledge, default 0.01
            See :func:`~ubayfs.priors.weights.resolve_weights`.
        blocks : Blocks, mapping or DataFrame, optional
            The blocks that weights may name.
        random_state : int, Generator, SeedSequence, RandomState or None
            Used only where the mean is simulated.

        Returns
        -------
        posterior : Posterior
        """
        if not isinstance(evidence, Evidence):
            raise InputError.of(
                "evidence",
                f"must be Evidence; got {type(evidence).__name__}. Use collect_evidence, or "
                "Evidence.from_sets for the sets of another ensemble.",
            )
        as_blocks = Blocks.of(blocks)
        stated = resolve_knowledge(weights, evidence.feature_names, as_blocks, evidence.n_models)
        return replace(self._update(evidence, stated.weights, as_blocks, random_state), knowledge=stated, made_by=self)

    @abstractmethod
    def _update(self, evidence: Evidence, weights: Floats, blocks: Blocks, random_state: RandomState) -> Posterior:
        """Do the work of :meth:`update` on resolved weights."""


def log_gamma_draws(shape: Floats, size: tuple[int, ...], rng: np.random.Generator) -> Floats:
    """Return logarithms of Gamma(shape, 1) draws, finite for the smallest shapes.

    Gamma(0.01) underflows to 0 once in 1,700 draws, Gamma(0.001) in every second one; its logarithm does not:
    Gamma(a) is distributed as Gamma(a + 1) U^(1/a), U uniform, and -log U is exponential.
    """
    return np.log(rng.standard_gamma(shape + 1.0, size)) - rng.standard_exponential(size) / shape


def normalized_exp(log_values: Floats) -> Floats:
    """Return exp(log_values) with every row scaled to sum 1, of the same shape."""
    values = np.exp(log_values - log_values.max(axis=1, keepdims=True))
    return values / values.sum(axis=1, keepdims=True)
