"""HSIC Lasso: few features whose kernels together explain the kernel of the target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..data import feature_chunks
from ..target import CLASSIFICATION, Target
from ._kernels import FeatureKernels, centered, gaussian_kernel
from ._subsample import classes_present, standardized, standardized_target
from .base import TIE, PerRunSelector

# Rows of the Gram matrix completed at once: enough to fill vector units, few enough to stop in time.
_BATCH = 64
# A feature is left out for good when the chosen ones determine its kernel up to this share.
_COLLINEAR = 1e-10

Array = NDArray[np.float64]


@dataclass(frozen=True)
class HSIC(PerRunSelector):
    """Features in the order in which they enter the path of HSIC Lasso (Yamada et al. 2014).

    Each feature becomes a matrix of similarities between rows (Gaussian kernel of width 1 on the standardized
    column), and so does the target (1 for rows of the same class, 0 for others; a Gaussian kernel for regression). All
    are centered and scaled to norm 1, and the matrix of the target is regressed on those of the features with weights
    that may not be negative, by the lasso path. So relations of any shape count, and a feature that only repeats
    another one does not. Time grows with the square of the number of rows and linearly with the number of features; so
    does memory with the rows, for each chosen feature and for those computed at once.

    Notes
    -----
    The path starts at the largest inner product of a feature's matrix with the target's, its relevance. At weights
    a >= 0 the residual correlation of feature j is relevance_j - sum_i a_i <K_i, K_j>. Centered Gaussian kernel
    matrices are positive semidefinite, and trace(AB) >= 0 for any two such matrices, so no term of the sum is negative:
    the relevance bounds the residual correlation all along the path, and so does the relevance less any part of the
    sum. A feature whose bound is below the present penalty cannot have entered, and its other inner products with the
    chosen features are not needed.
    """

    name: ClassVar[str] = "hsic"
    tasks: ClassVar[frozenset[str]] = CLASSIFICATION | {"regression"}

    def select(self, X: NDArray[Any], target: Target, n_features: int, rng: np.random.Generator) -> NDArray[np.intp]:
        """Choose at most `n_features` columns, first to enter first."""
        kernels = FeatureKernels(standardized(X))
        return _Path(kernels, kernels.relevance(_target_kernel(target))).walk(n_features)


def _target_kernel(target: Target) -> Array:
    """Return the centered and normalized kernel matrix of the target, of shape (n_samples, n_samples)."""
    values = np.asarray(target.values)
    if target.task == "regression":
        return centered(gaussian_kernel(standardized_target(values)))
    classes_present(target)
    return centered((values[:, None] == values).astype(np.float64))


class _Path:
    """Non-negative LARS with the lasso modification, with inner products of kernels only where they decide.

    A row of the Gram matrix with all its products is complete. In other rows missing products count as 0, which makes
    the residual correlation too large, never too small, as long as no weight is negative: such a feature cannot enter
    earlier than it seems to. So the first event among complete rows is the next one as soon as no other
    row seems to be earlier; until then the rows that do are completed.

    Parameters
    ----------
    kernels : FeatureKernels
    relevance : ndarray of shape (n_features,)
        Inner product of each feature's kernel with the target's.
    """

    def __init__(self, kernels: FeatureKernels, relevance: Array) -> None:
        self._kernels = kernels
        self._relevance = relevance
        n_features = len(relevance)
        self._may_enter = np.ones(n_features, dtype=bool)
        self._active = np.empty(0, dtype=np.intp)
        self._weights = np.empty(0)
        # Centered kernels of the active features, as FeatureKernels.weights gives them.
        self._upper = np.empty((0, kernels.n_pairs))
        self._trace = np.empty(0)
        self._gram = np.empty((n_features, 0))
        self._complete = np.ones(n_features, dtype=bool)

    def walk(self, n_features: int) -> NDArray[np.intp]:
        """Return the first `n_features` features that are active together, in the order of entering."""
        penalty = float(self._relevance.max())
        # Cycling needs ties that rounding errors break now this way, now that; then the walk just ends.
        for _ in range(10 * len(self._relevance) + 100):
            direction = np.linalg.solve(self._gram[self._active], np.ones(len(self._active)))
            fall, feature = self._next_event(penalty, direction)
            penalty -= fall
            if penalty <= TIE:
                break
            self._weights = self._weights + fall * direction
            if feature in self._active:
                self._drop(feature)
            else:
                self._admit(feature)
            if len(self._active) == n_features:
                break
        return self._active

    def _next_event(self, penalty: float, direction: NDArray[Any]) -> tuple[float, int]:
        """Return how far the penalty falls until a feature enters or leaves, and which; of several the lowest.

        If there is none before the penalty is 0, the fall is at least the penalty.
        """
        while True:
            falls = self._falls(penalty, direction)
            fall = min(float(falls[self._complete].min(initial=np.inf)), penalty)
            earlier = np.flatnonzero(~self._complete & (falls <= fall + TIE))
            if len(earlier) == 0:
                return fall, int(np.argmax(falls <= fall + TIE))
            if len(earlier) > _BATCH:
                earlier = earlier[np.argpartition(falls[earlier], _BATCH)[:_BATCH]]
            for part in feature_chunks(len(earlier), self._kernels.chunk):
                rows = earlier[part]
                self._gram[rows] = self._kernels.products(rows, self._upper, self._trace)
            self._complete[earlier] = True

    def _falls(self, penalty: float, direction: NDArray[Any]) -> Array:
        """Return how far the penalty falls until each feature enters or leaves; inf if it does not."""
        gap = penalty - self._relevance + self._gram @ self._weights
        closing = 1 - self._gram @ direction
        falls = np.full(len(gap), np.inf)
        np.divide(gap, closing, out=falls, where=self._may_enter & (closing > TIE))
        falls[~self._complete & (gap < TIE)] = 0.0
        shrinking = direction < 0
        falls[self._active[shrinking]] = (-self._weights / direction)[shrinking]
        return np.maximum(falls, 0.0)

    def _admit(self, feature: int) -> None:
        """Let a feature enter with weight 0, unless the active kernels determine its own."""
        self._may_enter[feature] = False
        own = self._gram[feature]
        if 1 - own @ np.linalg.solve(self._gram[self._active], own) <= _COLLINEAR:
            return
        upper, trace = self._kernels.weights(self._kernels.centered(feature))
        column = np.zeros((len(self._gram), 1))
        column[self._active, 0] = own
        column[feature] = 1.0
        self._active = np.append(self._active, feature)
        self._weights = np.append(self._weights, 0.0)
        self._gram = np.hstack([self._gram, column])
        self._complete = ~self._may_enter
        self._upper = np.vstack([self._upper, upper])
        self._trace = np.append(self._trace, trace)

    def _drop(self, feature: int) -> None:
        """Let an active feature, whose weight has come down to 0, leave; it may come back."""
        place = int(np.flatnonzero(self._active == feature)[0])
        self._may_enter[feature] = True
        self._active = np.delete(self._active, place)
        self._weights = np.delete(self._weights, place)
        self._gram = np.delete(self._gram, place, axis=1)
        self._upper = np.delete(self._upper, place, axis=0)
        self._trace = np.delete(self._trace, place)
