"""Inner products of centered Gaussian kernel matrices, one matrix per feature, without ever holding all of them.

With H = I - 11^T/n, the centered and normalized kernel matrix of feature j is HK_jH / |HK_jH|. Three identities keep the work
to one exponential per pair of rows and feature:

- <HK_jH, B> = <K_j, B> for any centered B = HBH, so only one side of a product has to be centered;
- K_j and B are symmetric and K_j has ones on its diagonal, so <K_j, B> = 2 sum_{i<k} K_ik B_ik + trace B;
- |HKH|^2 = |K|^2 - 2 |K1|^2 / n + (1^T K 1)^2 / n^2.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ..data import feature_chunks

# Bytes of kernel values computed at once: small enough for the processor's cache, large enough to amortize calls.
_CHUNK_BYTES = 4 * 2**20

Array = NDArray[np.float64]


def gaussian_kernel(x: Array) -> Array:
    """Return the (n_samples, n_samples) Gaussian kernel of width 1 of one column."""
    return np.exp(-0.5 * (x[:, None] - x) ** 2)


def centered(kernel: Array) -> Array:
    """Return HKH scaled to Frobenius norm 1."""
    average = kernel.mean(axis=0)
    kernel = kernel - average - average[:, None] + average.mean()
    return kernel / np.linalg.norm(kernel)


class FeatureKernels:
    """The Gaussian kernels of width 1 of all features.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Standardized columns.
    """

    def __init__(self, X: Array) -> None:
        self._X = X
        n_samples, n_features = X.shape
        self._upper = np.triu_indices(n_samples, k=1)
        self.n_pairs = len(self._upper[0])
        self.chunk = max(1, _CHUNK_BYTES // (8 * self.n_pairs))
        self._norms = np.empty(n_features)

    def relevance(self, B: Array) -> Array:
        """Return the inner products of every feature's kernel with a centered matrix, of shape (n_features,)."""
        upper, trace = self.weights(B)
        products = np.empty(self._X.shape[1])
        memory = np.empty(self.n_pairs * self.chunk)  # one for all chunks: fresh pages cost as much as the kernels
        for part in feature_chunks(len(products), self.chunk):
            pairs = self.pairs(part, memory)
            self._norms[part] = self._centered_norms(pairs)
            products[part] = (upper @ pairs + trace) / self._norms[part]
        return products

    def centered(self, feature: int) -> Array:
        """Return the centered and normalized kernel of one feature, of shape (n_samples, n_samples)."""
        return centered(gaussian_kernel(self._X[:, feature]))

    def weights(self, B: Array) -> tuple[Array, float]:
        """Return what a centered matrix adds up with: twice its upper triangle, and its trace."""
        return 2 * B[self._upper], float(np.trace(B))

    def pairs(self, features: slice | NDArray[np.intp], memory: Array | None = None) -> Array:
        """Return raw kernel values, one row per pair of rows i < k, of shape (n_pairs, number of features)."""
        X = np.ascontiguousarray(self._X[:, features])
        shape = (self.n_pairs, X.shape[1])
        values = np.empty(shape) if memory is None else memory[: shape[0] * shape[1]].reshape(shape)
        for i, block in self._blocks(values):
            np.subtract(X[i + 1 :], X[i], out=block)
            np.multiply(block, block, out=block)
            block *= -0.5
            np.exp(block, out=block)
        return values

    def products(self, pairs: Array, features: NDArray[np.intp], upper: Array, trace: Array) -> Array:
        """Return the inner products of some features' kernels with centered matrices, of shape (n_features, n_matrices).

        Parameters
        ----------
        pairs : ndarray of shape (n_pairs, n_features)
        features : ndarray of shape (n_features,)
        upper, trace : ndarrays of shape (n_matrices, n_pairs) and (n_matrices,)
            See :meth:`weights`.
        """
        return ((upper @ pairs + trace[:, None]) / self._norms[features]).T

    def _blocks(self, pairs: Array) -> Iterator[tuple[int, Array]]:
        """Yield each row i with the part of `pairs` that holds its pairs (i, i+1), ..., (i, n-1)."""
        start, n = 0, len(self._X)
        for i in range(n - 1):
            yield i, pairs[start : (start := start + n - 1 - i)]

    def _centered_norms(self, pairs: Array) -> Array:
        n = len(self._X)
        row_sums = np.ones((n, pairs.shape[1]))
        for i, block in self._blocks(pairs):
            row_sums[i] += block.sum(axis=0)
            row_sums[i + 1 :] += block
        squares = n + 2 * np.einsum("ij,ij->j", pairs, pairs)
        squares -= 2 / n * np.einsum("ij,ij->j", row_sums, row_sums)
        squares += (row_sums.sum(axis=0) / n) ** 2
        return np.sqrt(squares)
