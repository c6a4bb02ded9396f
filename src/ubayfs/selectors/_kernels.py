"""Inner products of centered Gaussian kernel matrices, one matrix per feature, without ever holding all of them.

With H = I - 11^T/n, the centered and normalized kernel matrix of feature j is HK_jH / |HK_jH|. Two identities keep the
work small:

- <HK_jH, B> = <K_j, B> for any centered B = HBH, so only one side of a product has to be centered;
- K_j and B are symmetric and K_j has ones on its diagonal, so <K_j, B> = 2 sum_{i<k} K_ik B_ik + trace B.

Pairs of rows are ordered by their distance: first all (i, i + 1), then all (i, i + 2), ..., the row after the last
being the first. So the differences of all pairs are one subtraction of two views of the column, and distances up to
n // 2 make every pair once (or, if n is even, those of the largest distance twice).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._arguments import Array, Floats, Ints, Mask
from ..data.missing import varying_columns
from ._subsample import standardized

# Pairs of rows whose kernel values are computed at once, if they are at least those of one distance. Such a block fits
# into the processor's cache for tens of features, and bounds both memory and the rounding errors of its sums.
_BLOCK_PAIRS = 1024
_UNIT = 2.0**-24  # of rounding in single precision


def gaussian_kernel(x: Floats) -> Floats:
    """Return the (n_samples, n_samples) Gaussian kernel of width 1 of one column."""
    return np.exp(-0.5 * (x[:, None] - x) ** 2)


def centered(kernel: Floats) -> tuple[Floats, float]:
    """Return HKH scaled to Frobenius norm 1, and the norm that it had."""
    # HKH = K - row means - column means + mean of all; K is symmetric, so that both have the same means.
    average = kernel.mean(axis=0)
    kernel = kernel - (average[:, None] - average.mean())
    kernel -= average
    norm = float(np.linalg.norm(kernel))
    kernel /= norm
    return kernel, norm


class FeatureKernels:
    """The Gaussian kernels of width 1 of features standardized on one subsample, computed when they are asked for.

    `rows` is the mask of the subsample, of shape (n_samples_total,).
    """

    def __init__(self, X: Array, rows: Mask) -> None:
        self._X = X
        self._rows = np.flatnonzero(rows)
        n_samples = len(self._rows)
        self._distances = n_samples // 2
        self._distances_at_once = min(max(1, _BLOCK_PAIRS // n_samples), self._distances)
        row = np.arange(n_samples)
        # Where the pairs stand in a flat matrix.
        self._pairs = (n_samples * row + (row + np.arange(1, self._distances + 1)[:, None]) % n_samples).ravel()
        self._memory = np.empty(0, dtype=np.float32)

    def varying(self, features: Ints) -> Mask:
        """Return which of some features are not constant; only these have kernels."""
        return varying_columns(self._X[self._rows[:, None], features])

    def products(self, feature: int, weights: Floats, traces: Floats) -> Floats:
        """Return the inner products of a feature's kernel with centered matrices, of shape (n_matrices,).

        The matrices are as :meth:`weights` gives them, of shapes (n_matrices, n_pairs) and (n_matrices,).
        """
        kernel = self._kernel(feature)
        _, norm = centered(kernel)
        return (weights @ kernel.ravel()[self._pairs] + traces) / norm

    def lower_products(self, features: Ints, weights: Floats, traces: Floats) -> Floats:
        """Return what :meth:`products` times the norms of the features' kernels is at least, for matrices of norm 1.

        These are products, of shape (number of features, n_matrices), in single precision (unit u) less their error.
        Standardized values are at most sqrt(n), so a difference d is off by u (2 sqrt(n) + |d|). A kernel value
        exp(-d^2/2), whose derivative is at most 0.61, is off by u (2 sqrt(n) + 10): by the difference, its square, and
        4 units in the last place of the exponential. A weight, and a sum of m products, are off by (m + 2) u times the
        sum of the absolute weights. That sum is at most n, since the n^2 entries of a matrix of norm 1 have no larger
        one.
        """
        x = standardized(self._X[self._rows[:, None], features]).astype(np.float32)
        n, k = x.shape
        products = np.zeros((len(weights), k))
        for start in range(0, self._distances, self._distances_at_once):
            stop = min(start + self._distances_at_once, self._distances)
            part = weights[:, start * n : stop * n].astype(np.float32)
            products += part @ self._values(x, start + 1, stop + 1)
        error = _UNIT * (n * self._distances_at_once + 2 * np.sqrt(n) + 16) * n
        return products.T + (traces - error)

    def centered(self, feature: int) -> Floats:
        """Return the centered and normalized kernel of one feature, of shape (n_samples, n_samples)."""
        return centered(self._kernel(feature))[0]

    def weights(self, B: Floats) -> tuple[Floats, float]:
        """Return what a centered matrix puts on the pairs of rows, of shape (n_pairs,), and its trace."""
        weights = B.ravel()[self._pairs]
        weights *= 2
        if len(B) % 2 == 0:
            weights[-len(B) :] /= 2  # each of these pairs stands there twice
        return weights, float(np.trace(B))

    def _kernel(self, feature: int) -> Floats:
        return gaussian_kernel(standardized(self._X[self._rows, feature]))

    def _values(self, x: NDArray[np.float32], start: int, stop: int) -> NDArray[np.float32]:
        """Return kernel values of standardized columns for distances `start`, ..., `stop` - 1.

        They have shape (n_samples * number of distances, number of columns) and stand in memory that is used again by
        the next call: fresh pages would cost as much as the kernels.
        """
        shape = (stop - start, *x.shape)
        size = (stop - start) * x.size
        if len(self._memory) < size:
            self._memory = np.empty(size, dtype=np.float32)
        values = self._memory[:size].reshape(shape)
        around = np.concatenate([x[start:], x[:stop]])
        row, item = around.strides
        shifted = np.ndarray(shape, x.dtype, around, strides=(row, row, item))
        np.subtract(shifted, x, out=values)
        np.multiply(values, values, out=values)
        values *= -0.5
        np.exp(values, out=values)
        return values.reshape(-1, x.shape[1])
