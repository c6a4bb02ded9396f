"""HSIC Lasso: few features whose kernels together explain the kernel of the target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from .._arguments import Array, Floats, Generators, Ints, Mask
from ..data.target import CLASSIFICATION, Target
from ._kernel_bounds import KernelBounds, kernel_factor
from ._kernels import FeatureKernels, centered, gaussian_kernel
from ._subsample import COLLINEAR, classes_present, standardized_target
from .base import TIE, ElementarySelector

# Features bounded together: few until one of them is known to be a candidate for the next event, then all that come
# before it, at most so many that their kernels fit into the processor's cache.
_FIRST_BATCH = 32
_BATCH = 256
# What is known of a feature's products: not all of them, bounds, or themselves.
_STALE, _BOUNDED, _COMPLETE = range(3)


@dataclass(frozen=True)
class HSIC(ElementarySelector):
    """Features in the order in which they enter the path of HSIC Lasso (Yamada et al. 2014).

    Each feature becomes a matrix of similarities between rows (Gaussian kernel of width 1 on the standardized
    column), and so does the target (1 for rows of the same class, 0 for others; a Gaussian kernel for numbers). All
    are centered and scaled to norm 1, and the matrix of the target is regressed on those of the features with weights
    that may not be negative, by the lasso path. So relations of any shape count, and a feature that only repeats
    another one does not. Time and memory grow with the square of the number of rows for each chosen feature and its
    rivals, and linearly with the number of features.

    Notes
    -----
    The path starts at the largest inner product of a feature's matrix with the target's, its relevance. At weights
    a >= 0 the residual correlation of feature j is relevance_j - sum_i a_i <K_i, K_j>. Centered Gaussian kernel
    matrices are positive semidefinite, and trace(AB) >= 0 for any two such matrices, so no term of the sum is negative:
    the relevance bounds the residual correlation all along the path, and so does the relevance less any part of the
    sum. A feature whose bound is below the present penalty cannot have entered, and its inner products with the chosen
    features are not needed. Bounds of the relevance come from sums that all runs share, bounds of the products from
    single precision; the few features that reach the penalty nevertheless are computed in double precision, so the
    result is the same as without bounds.
    """

    name: ClassVar[str] = "hsic"
    tasks: ClassVar[frozenset[str]] = CLASSIFICATION | {"regression"}
    usual_name: ClassVar[str] = "HSIC lasso"
    finds: ClassVar[str] = (
        "Features with any kind of relation, U-shaped ones too, that do not repeat each other; slow with many features."
    )
    reference: ClassVar[tuple[str, str]] = (
        "Yamada et al., 2014",
        "Yamada, M., Jitkrittum, W., Sigal, L., Xing, E. P., Sugiyama, M. (2014). High-dimensional feature selection "
        "by feature-wise kernelized lasso. Neural Computation, 26(1), 185-207. "
        "https://doi.org/10.1162/NECO_a_00537",
    )
    n_together: ClassVar[int] = 5

    def select_many(self, X: Array, target: Target, subsamples: Mask, n_features: int, rngs: Generators) -> list[Ints]:
        """Choose at most `n_features` columns on each subsample, first to enter first."""
        factors = [kernel_factor(_target_kernel(target.take(rows))) for rows in subsamples]
        bounds = KernelBounds(subsamples, factors).bound(X)
        return [
            _Path(FeatureKernels(X, rows), _target_kernel(target.take(rows)), *bounds[:, run]).walk(n_features)
            for run, rows in enumerate(subsamples)
        ]


def _target_kernel(target: Target) -> Floats:
    """Return the centered and normalized kernel matrix of the target, of shape (n_samples, n_samples)."""
    values = np.asarray(target.values)
    if target.is_numeric:
        return centered(gaussian_kernel(standardized_target(values)))[0]
    classes_present(target)
    return centered((values[:, None] == values).astype(np.float64))[0]


class _Path:
    """Non-negative LARS with the lasso modification, with kernels and their products only where they decide.

    A known feature with its relevance and all its products with the active features is complete. Otherwise it has an
    upper bound of the relevance and lower bounds of the products, at least 0. They make the residual correlation too
    large, never too small, as long as no weight is negative: such a feature cannot enter earlier than it seems to. So
    the first event among complete features is the next one as soon as no other feature seems to be earlier; until then
    the bounds of those that do are improved, and when that does not help, they are completed.

    `relevance` and `norms`, of shape (n_features,), are upper bounds of the inner product of each feature's kernel with
    the target's, which is centered and normalized, and of its norm.
    """

    def __init__(
        self, kernels: FeatureKernels, target: Floats, relevance: NDArray[np.floating], norms: NDArray[np.floating]
    ) -> None:
        self._kernels = kernels
        self._norms = norms
        # Features not yet known, those of highest relevance first.
        self._unknown = np.argsort(-relevance, kind="stable")
        self._relevance = relevance[self._unknown].astype(np.float64)
        # One entry per known feature. Products are those with the target, then those with the active features.
        self._features = np.empty(0, dtype=np.intp)
        self._products = np.empty((0, 1))
        self._may_enter = np.empty(0, dtype=bool)
        self._state = np.empty(0, dtype=np.int8)
        # One entry per active feature: its place among the known ones, and its weight.
        self._active = np.empty(0, dtype=np.intp)
        self._weights = np.empty(0)
        # Centered kernels of the target and the active features, as FeatureKernels.weights gives them.
        pairs, trace = kernels.weights(target)
        self._pairs, self._traces = pairs[None], np.array([trace])

    def walk(self, n_features: int) -> Ints:
        """Return the first `n_features` features that are active together, in the order of entering."""
        penalty = float(self._relevance[0])
        # Cycling needs ties that rounding errors break now this way, now that; then the walk just ends.
        for _ in range(10 * len(self._relevance) + 100):
            direction = np.linalg.solve(self._gram(self._active), np.ones(len(self._active)))
            fall, place = self._next_event(penalty, direction)
            penalty -= fall
            if penalty <= TIE:
                break
            self._weights = self._weights + fall * direction
            if place in self._active:
                self._drop(place)
            else:
                self._admit(place)
            if len(self._active) == n_features:
                break
        return self._features[self._active]

    def _gram(self, places: Ints | slice | int) -> Floats:
        """Return the products of known features with the active ones."""
        return self._products[places, 1:]

    def _next_event(self, penalty: float, direction: Array) -> tuple[float, int]:
        """Return how far the penalty falls until a feature enters or leaves, and its place; of several the lowest.

        If there is none before the penalty is 0, the fall is at least the penalty and the place means nothing.
        """
        falls = self._falls(slice(None), penalty, direction)
        shrinking = direction < 0
        falls[self._active[shrinking]] = np.maximum(-self._weights / direction, 0.0)[shrinking]
        while True:
            fall = min(float(falls[self._state == _COMPLETE].min(initial=np.inf)), penalty)
            earlier = np.flatnonzero((self._state < _COMPLETE) & (falls <= fall + TIE))
            if len(earlier):
                looked_at = self._look_at(earlier, falls[earlier], _BATCH if fall < penalty else _FIRST_BATCH)
                falls[looked_at] = self._falls(looked_at, penalty, direction)
            elif new := int(np.count_nonzero(self._relevance[:_BATCH] >= penalty - fall - TIE)):
                n_before = len(self._features)
                self._get_to_know(new)
                falls = np.append(falls, self._falls(slice(n_before, None), penalty, direction))
            else:
                together = np.flatnonzero(falls <= fall + TIE)
                return fall, int(together[np.argmin(self._features[together])]) if len(together) else -1

    def _look_at(self, places: Ints, falls: Floats, at_most: int) -> Ints:
        """Improve what is known of the first of some features, and return which these are."""
        first = places[[np.argmin(falls)]]
        if self._state[first] == _BOUNDED:
            self._products[first] = self._kernels.products(int(self._features[first[0]]), self._pairs, self._traces)
            self._state[first] = _COMPLETE
            return first
        stale = self._state[places] == _STALE
        places, falls = places[stale], falls[stale]
        if len(places) > at_most:
            places = places[np.argpartition(falls, at_most)[:at_most]]
        features = self._features[places]
        lower = self._kernels.lower_products(features, self._pairs[1:], self._traces[1:])
        lower /= self._norms[features, None]
        self._products[places, 1:] = np.maximum(self._products[places, 1:], lower)
        self._state[places] = _BOUNDED
        return places

    def _falls(self, places: Ints | slice, penalty: float, direction: Array) -> Floats:
        """Return how far the penalty falls until each of some known features enters; inf if it does not."""
        gram = self._gram(places)
        gap = penalty - self._products[places, 0] + gram @ self._weights
        closing = 1 - gram @ direction
        falls = np.full(len(gap), np.inf)
        np.divide(gap, closing, out=falls, where=self._may_enter[places] & (closing > TIE))
        falls[(self._state[places] < _COMPLETE) & (gap < TIE)] = 0.0
        return np.maximum(falls, 0.0)

    def _get_to_know(self, n_features: int) -> None:
        """Take in the first features not yet known, with products of at least 0; constant ones never."""
        new = self._kernels.varying(self._unknown[:n_features])
        products = np.zeros((n_features, 1 + len(self._active)))
        products[:, 0] = self._relevance[:n_features]
        self._features = np.append(self._features, self._unknown[:n_features][new])
        self._products = np.vstack([self._products, products[new]])
        self._may_enter = np.append(self._may_enter, new[new])
        state = _STALE if len(self._active) else _BOUNDED
        self._state = np.append(self._state, np.full(np.count_nonzero(new), state, dtype=np.int8))
        self._unknown, self._relevance = self._unknown[n_features:], self._relevance[n_features:]

    def _admit(self, place: int) -> None:
        """Let a feature enter with weight 0, unless the active kernels determine its own."""
        self._may_enter[place] = False
        products = self._gram(place)
        if 1 - products @ np.linalg.solve(self._gram(self._active), products) <= COLLINEAR:
            return
        pairs, trace = self._kernels.weights(self._kernels.centered(int(self._features[place])))
        column = np.zeros((len(self._features), 1))
        column[self._active, 0] = products
        column[place] = 1.0
        self._active = np.append(self._active, place)
        self._weights = np.append(self._weights, 0.0)
        self._products = np.hstack([self._products, column])
        self._state[self._may_enter] = _STALE
        self._pairs = np.vstack([self._pairs, pairs])
        self._traces = np.append(self._traces, trace)

    def _drop(self, place: int) -> None:
        """Let an active feature, whose weight has come down to 0, leave; it may come back."""
        number = int(np.flatnonzero(self._active == place)[0])
        self._may_enter[place] = True
        self._active = np.delete(self._active, number)
        self._weights = np.delete(self._weights, number)
        self._products = np.delete(self._products, number + 1, axis=1)
        self._pairs = np.delete(self._pairs, number + 1, axis=0)
        self._traces = np.delete(self._traces, number + 1)
