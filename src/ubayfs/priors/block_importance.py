"""Importance of blocks: the sum of the importances of their features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from .._arguments import Floats, freeze


@dataclass(frozen=True, eq=False)
class BlockImportance:
    """Posterior mean and credible interval of the importance of each block; blocks may overlap.

    Attributes
    ----------
    names : tuple of str
    n_features : tuple of int
        Features of each block.
    mean, lower, upper : ndarray of float of shape (n_blocks,)
        All features together have the importance 1.
    level : float
        Posterior probability of each interval.
    is_exact : bool
        Whether the ends of the intervals are quantiles of a Beta distribution, and not of draws.

    See Also
    --------
    Posterior.credible_interval : The same for single features.
    """

    names: tuple[str, ...]
    n_features: tuple[int, ...]
    mean: Floats
    lower: Floats
    upper: Floats
    level: float
    is_exact: bool

    def __post_init__(self) -> None:
        for values in (self.mean, self.lower, self.upper):
            freeze(values)


def beta_interval(inside: Floats, outside: Floats, tail: float) -> tuple[Floats, Floats]:
    """Return the ends of equal-tailed intervals of sums of Dirichlet shares, which are Beta(inside, outside).

    Where nothing is outside, the sum is 1 for certain, which no Beta distribution says.

    >>> [end.tolist() for end in beta_interval(np.array([1.0, 2.0]), np.array([1.0, 0.0]), 0.05)]
    [[0.05, 1.0], [0.95, 1.0]]
    """
    from scipy.special import betaincinv

    some = outside > 0.0
    ends = (betaincinv(inside, np.where(some, outside, 1.0), quantile) for quantile in (tail, 1.0 - tail))
    lower, upper = (np.where(some, end, 1.0) for end in ends)
    return lower, upper


def sums_of(theta: Floats, membership: sparse.csr_array) -> Floats:
    """Return the sums over blocks, (n_draws, n_blocks), of draws of shape (n_draws, n_features)."""
    return np.asarray((membership @ theta.T).T)
