"""HSIC Lasso: few features whose kernels together explain the kernel of the target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..target import CLASSIFICATION, Target
from ._kernels import FeatureKernels, centered, gaussian_kernel
from ._subsample import classes_present, standardized, standardized_target
from .base import TIE, PerRunSelector

# Raw kernels of the features under consideration are kept up to this size, and computed again beyond it.
_KEPT_BYTES = 256 * 2**20
# A feature is left out for good when the chosen ones determine its kernel up to this share.
_COLLINEAR = 1e-10

Array = NDArray[np.float64]


@dataclass(frozen=True)
class HSIC(PerRunSelector):
    """Features in the order in which they enter the path of HSIC Lasso (Yamada et al. 2014).

    Each feature becomes a matrix of similarities between rows (Gaussian kernel of width 1 on the standardized
    column), and so does the target (1 for rows of the same class, 0 for others; a Gaussian kernel for regression). All
    are centered and scaled to norm 1, and the matrix of the target is regressed on those of the features with weights that
    may not be negative, by the lasso path. So relations of any shape count, and a feature that only repeats
    another one does not. Memory and time grow with the square of the number of rows, linearly with features.

    Notes
    -----
    The path starts at the largest inner product of a feature's matrix with the target's, its relevance. At weights
    a >= 0 the residual correlation of feature j is relevance_j - sum_i a_i <K_i, K_j>. Centered Gaussian kernel
    matrices are positive semidefinite, and trace(AB) >= 0 for any two such matrices, so no term of the sum is negative:
    the relevance bounds the residual correlation all along the path. A feature whose relevance is below the present
    penalty cannot have entered, and none of its inner products with the chosen features are needed.
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
    """Non-negative LARS with the lasso modification, on features that are looked at only when they may enter.

    Parameters
    ----------
    kernels : FeatureKernels
    relevance : ndarray of shape (n_features,)
        Inner product of each feature's kernel with the target's.
    """

    def __init__(self, kernels: FeatureKernels, relevance: Array) -> None:
        self._kernels = kernels
        self._relevance = relevance
        self._by_relevance = np.argsort(-relevance, kind="stable")
        # What was looked at: the first ones of `by_relevance`, in chunks, with their kernels while there is room.
        self._chunks: list[tuple[NDArray[np.intp], Array | None]] = []
        self._seen = self._by_relevance[:0]
        self._may_enter = np.empty(0, dtype=bool)
        # The active ones, as positions among those seen, their weights, their centered kernels (FeatureKernels.weights),
        # and the inner products of those with the kernels seen, of shape (n_seen, n_active).
        self._active: list[int] = []
        self._weights = np.empty(0)
        self._upper = np.empty((0, kernels.n_pairs))
        self._trace = np.empty(0)
        self._gram = np.empty((0, 0))

    def walk(self, n_features: int) -> NDArray[np.intp]:
        """Return the first `n_features` features that are active together, in the order of entering."""
        penalty = float(self._relevance.max())
        # Cycling needs ties that rounding errors break now this way, now that; then the walk just ends.
        for _ in range(10 * len(self._relevance) + 100):
            fall, position, direction = self._next_event(penalty)
            penalty -= fall
            if position is None or penalty <= TIE:
                break
            self._weights = self._weights + fall * direction
            if position in self._active:
                self._drop(position)
            else:
                self._admit(position)
            if len(self._active) == n_features:
                break
        return self._seen[self._active]

    def _next_event(self, penalty: float) -> tuple[float, int | None, Array]:
        """Return how far the penalty falls until a feature enters or leaves, whose event it is, and the weights' rate."""
        while True:
            direction = np.linalg.solve(self._gram[self._active], np.ones(len(self._active)))
            fall, position = self._nearest(penalty, direction)
            # A feature not looked at cannot enter above its relevance, by more than rounding.
            if not self._look_further(max(penalty - fall, 0.0) - TIE):
                return fall, position, direction

    def _nearest(self, penalty: float, direction: Array) -> tuple[float, int | None]:
        """Return the next event among the features seen; of several at once that of the lowest feature."""
        correlation = self._relevance[self._seen] - self._gram @ self._weights
        closing = 1 - self._gram @ direction
        falls = np.full(len(self._seen), np.inf)
        np.divide(penalty - correlation, closing, out=falls, where=self._may_enter & (closing > TIE))
        shrinking = direction < 0
        falls[np.array(self._active, dtype=np.intp)[shrinking]] = (-self._weights / direction)[shrinking]
        fall = float(max(falls.min(initial=np.inf), 0.0))
        if fall == np.inf:
            return fall, None
        tied = np.flatnonzero(falls <= fall + TIE)
        return fall, int(tied[np.argmin(self._seen[tied])])

    def _look_further(self, level: float) -> bool:
        """Look at the next features if one of them has a relevance above `level`; tell whether there was one."""
        start = len(self._seen)
        chunk = self._by_relevance[start : start + self._kernels.chunk]
        if len(chunk) == 0 or self._relevance[chunk[0]] <= level:
            return False
        pairs = self._kernels.pairs(chunk)
        products = self._kernels.products(pairs, chunk, self._upper, self._trace)
        kept = (start + len(chunk)) * self._kernels.n_pairs * pairs.itemsize <= _KEPT_BYTES
        self._chunks.append((chunk, pairs if kept else None))
        self._seen = self._by_relevance[: start + len(chunk)]
        self._may_enter = np.append(self._may_enter, np.ones(len(chunk), dtype=bool))
        self._gram = np.vstack([self._gram, products])
        return True

    def _admit(self, position: int) -> None:
        """Let a feature enter with weight 0, unless the active kernels determine its own; it can enter only once."""
        self._may_enter[position] = False
        own = self._gram[position]
        if 1 - own @ np.linalg.solve(self._gram[self._active], own) <= _COLLINEAR:
            return
        upper, trace = self._kernels.weights(self._kernels.centered(int(self._seen[position])))
        upper, trace = upper[None], np.array([trace])
        column = [
            self._kernels.products(self._kernels.pairs(chunk) if pairs is None else pairs, chunk, upper, trace)
            for chunk, pairs in self._chunks
        ]
        self._active.append(position)
        self._weights = np.append(self._weights, 0.0)
        self._gram = np.hstack([self._gram, np.concatenate(column)])
        self._upper = np.vstack([self._upper, upper])
        self._trace = np.append(self._trace, trace)

    def _drop(self, position: int) -> None:
        """Let an active feature, whose weight has come down to 0, leave; it may come back."""
        place = self._active.index(position)
        self._may_enter[position] = True
        del self._active[place]
        self._weights = np.delete(self._weights, place)
        self._gram = np.delete(self._gram, place, axis=1)
        self._upper = np.delete(self._upper, place, axis=0)
        self._trace = np.delete(self._trace, place)
