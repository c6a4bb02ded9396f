"""The sparse group lasso of a logistic model (Simon et al. 2013), at one penalty after the other.

The model minimizes, over the weights w and a free intercept b, the

    mean logistic loss of b + x_i w  +  penalty * (l1_share * |w|_1 + (1 - l1_share) * sum_g sqrt(size_g) * |w_g|_2).

It is solved by accelerated proximal gradient steps (Beck and Teboulle 2009) that start anew whenever the momentum
points uphill (O'Donoghue and Candes 2015), on a working set of columns that grows until no other one wants to enter.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from .elastic_net import logistic_loss

# The conditions of optimality hold to this share of the penalty.
TOLERANCE = 1e-7
_MAX_STEPS = 200_000

Array = NDArray[np.float64]


class SparseGroupLasso:
    """A logistic model with few columns from few groups.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Standardized columns.
    y : ndarray of shape (n_samples,)
        0 and 1, both present.
    groups : ndarray of int of shape (n_features,)
        Group of each column, 0..n_groups-1.
    l1_share : float
        In [0, 1].

    Attributes
    ----------
    top : float
        A penalty from which on the model has no column.
    n_unconverged : int
        Penalties that were not solved within the limit of steps.
    """

    def __init__(self, X: Array, y: NDArray[np.int64], groups: NDArray[np.intp], l1_share: float) -> None:
        self._X = np.asfortranarray(X)
        self._signs = np.where(y > 0, 1.0, -1.0)
        self._groups = groups
        self._l1_share = l1_share
        self._group_weights = (1 - l1_share) * np.sqrt(np.bincount(groups))
        self.n_unconverged = 0
        share = float(np.mean(y > 0))
        empty = np.zeros(1 + X.shape[1])
        empty[0] = np.log(share / (1 - share))
        self.top = self._top(self._correlations(empty))
        self._solved = {self.top: empty}

    def _top(self, correlations: Array) -> float:
        largest = np.zeros(len(self._group_weights))
        np.maximum.at(largest, self._groups, np.abs(correlations))
        # Either part of the penalty keeps a group out when it is large enough for that alone.
        with np.errstate(divide="ignore", invalid="ignore"):
            by_columns = largest / self._l1_share if self._l1_share else np.full_like(largest, np.inf)
            by_group = self._norms(correlations) / self._group_weights
        return float(np.fmin(by_columns, by_group).max())

    def solve(self, penalty: float) -> Array:
        """Return intercept and weights, of shape (1 + n_features,), at `penalty`."""
        start = min(self._solved, key=lambda known: abs(np.log(known / penalty)))
        coefficients = self._solved[start].copy()
        members = np.flatnonzero(coefficients[1:])
        while True:
            coefficients = self._solve_members(coefficients, members, penalty)
            missed = np.setdiff1d(self._missed(coefficients, penalty), members)
            if not len(missed):
                break
            members = np.union1d(members, missed)
        self._solved[penalty] = coefficients
        return coefficients

    def _correlations(self, coefficients: Array) -> Array:
        used = np.flatnonzero(coefficients[1:])
        linear = coefficients[0] + self._X[:, used] @ coefficients[1 + used]
        residual = logistic_loss(linear, self._signs)[1]
        products: Array = residual @ self._X
        return products / len(residual)

    def _norms(self, values: Array) -> Array:
        """Return the length of each group's part of `values`, of shape (n_groups,)."""
        return np.sqrt(np.bincount(self._groups, weights=values**2, minlength=len(self._group_weights)))

    def _missed(self, coefficients: Array, penalty: float) -> NDArray[np.intp]:
        """Return the columns of weight 0 that correlate too much with the residual for that."""
        correlations = self._correlations(coefficients)
        excess = np.maximum(np.abs(correlations) - penalty * self._l1_share, 0)
        active = np.zeros(len(self._group_weights), dtype=bool)
        active[self._groups[coefficients[1:] != 0]] = True
        entering = active | (self._norms(excess) > penalty * (self._group_weights + TOLERANCE))
        return np.flatnonzero((excess > TOLERANCE * penalty) & entering[self._groups] & (coefficients[1:] == 0))

    def _solve_members(self, coefficients: Array, members: NDArray[np.intp], penalty: float) -> Array:
        """Solve the model with the columns `members` only, from the given coefficients on."""
        members = members[np.argsort(self._groups[members], kind="stable")]
        used = np.concatenate([[0], 1 + members])
        Z = np.column_stack([np.ones(len(self._signs)), self._X[:, members]])
        lipschitz = float(np.linalg.norm(Z, 2)) ** 2 / (4 * len(Z))
        starts = np.flatnonzero(np.diff(self._groups[members], prepend=-1))
        group_thresholds = penalty * self._group_weights[self._groups[members[starts]]] / lipschitz
        old = coefficients[used]
        ahead, momentum = old, 1.0
        for _ in range(_MAX_STEPS):
            residual = logistic_loss(Z @ ahead, self._signs)[1]
            new = ahead + (residual @ Z) / (len(Z) * lipschitz)
            if len(members):
                _shrink(new[1:], penalty * self._l1_share / lipschitz, group_thresholds, starts)
            moved, back = new - old, ahead - new
            old = new
            # Twice this length bounds the smallest subgradient at `new`: the step itself and the gradient's change.
            if 2 * lipschitz * sqrt(float(back @ back)) <= TOLERANCE * penalty:
                break
            if float(back @ moved) > 0:
                ahead, momentum = new, 1.0
            else:
                following = 0.5 + np.sqrt(0.25 + momentum**2)
                ahead, momentum = new + ((momentum - 1) / following) * moved, following
        else:
            self.n_unconverged += 1
        solution = np.zeros_like(coefficients)
        solution[used] = old
        return solution


def _shrink(weights: Array, threshold: float, group_thresholds: Array, starts: NDArray[np.intp]) -> None:
    """Move each weight, then each group's vector of weights, toward zero by its threshold; in place.

    The groups stand one after the other, from `starts` on.
    """
    weights -= np.clip(weights, -threshold, threshold)
    lengths = np.sqrt(np.add.reduceat(weights**2, starts))
    # At least the threshold (and not 0): a group that is shorter becomes zero.
    lengths = np.maximum(np.maximum(lengths, group_thresholds), np.finfo(np.float64).tiny)
    weights *= np.repeat(1 - group_thresholds / lengths, np.diff(starts, append=len(weights)))
