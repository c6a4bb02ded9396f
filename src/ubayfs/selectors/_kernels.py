"""Inner products of centered Gaussian kernel matrices, one matrix per feature, without ever holding all of them.

With H = I - 11^T/n, the centered and normalized kernel matrix of feature j is HK_jH / |HK_jH|. Three identities keep
the work to one exponential per pair of rows and feature:

- <HK_jH, B> = <K_j, B> for any centered B = HBH, so only one side of a product has to be centered;
- K_j and B are symmetric and K_j has ones on its diagonal, so <K_j, B> = 2 sum_{i<k} K_ik B_ik + trace B;
- |HKH|^2 = |K|^2 - 2 |K1|^2 / n + (1^T K 1)^2 / n^2.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ..data import feature_chunks

# Bytes of kernel values computed at once: small enough for the processor's cache, unless that makes fewer features at
# once than pay for the calls; and never more than the limit, however many rows there are, if two features fit.
_CHUNK_BYTES = 4 * 2**20
_CHUNK_FEATURES = 16
_LIMIT_BYTES = 64 * 2**20

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

    Attributes
    ----------
    n_pairs : int
        Number of pairs of rows.
    chunk : int
        The most features that are computed at once.
    """

    def __init__(self, X: Array) -> None:
        self._X = X
        n_samples, n_features = X.shape
        self._upper = np.triu_indices(n_samples, k=1)
        self.n_pairs = len(self._upper[0])
        kernel_bytes = 8 * self.n_pairs
        if n_features * kernel_bytes <= _LIMIT_BYTES // 2:
            self.chunk = n_features  # few enough to keep them all
        else:
            self.chunk = max(1, _CHUNK_BYTES // kernel_bytes, min(_CHUNK_FEATURES, _LIMIT_BYTES // kernel_bytes))
        self._kept: Array | None = None  # raw kernels of all features, of shape (n_features, n_pairs)
        self._norms = np.empty(n_features)
        # Fresh pages for each chunk would cost as much as the kernels.
        self._memory = np.empty(self.n_pairs * self.chunk)

    def relevance(self, B: Array) -> Array:
        """Return the inner products of every feature's kernel with a centered matrix, of shape (n_features,)."""
        upper, trace = self.weights(B)
        products = np.empty(len(self._norms))
        for part in feature_chunks(len(products), self.chunk):
            pairs = self._pairs(part)
            self._norms[part] = self._centered_norms(pairs)
            products[part] = (upper @ pairs + trace) / self._norms[part]
        if self.chunk == len(products):
            self._kept = np.ascontiguousarray(pairs.T)
        return products

    def products(self, features: NDArray[np.intp], upper: Array, trace: Array) -> Array:
        """Return the inner products of some features' kernels with centered matrices; :meth:`relevance` comes first.

        Parameters
        ----------
        features : ndarray of int of shape (n_chosen,)
            At most `chunk` features.
        upper, trace : ndarrays of shape (n_matrices, n_pairs) and (n_matrices,)
            The matrices, as :meth:`weights` gives them.

        Returns
        -------
        products : ndarray of shape (n_chosen, n_matrices)
        """
        pairs = self._pairs(features).T if self._kept is None else self._kept[features]
        return (pairs @ upper.T + trace) / self._norms[features, None]

    def centered(self, feature: int) -> Array:
        """Return the centered and normalized kernel of one feature, of shape (n_samples, n_samples)."""
        return centered(gaussian_kernel(self._X[:, feature]))

    def weights(self, B: Array) -> tuple[Array, float]:
        """Return what a centered matrix puts on the pairs of rows i < k, of shape (n_pairs,), and its trace."""
        return 2 * B[self._upper], float(np.trace(B))

    def _pairs(self, features: slice | NDArray[np.intp]) -> Array:
        """Return raw kernel values, one row per pair of rows i < k, of shape (n_pairs, number of features).

        They stand in the one piece of memory that all chunks share, and are gone with the next call.
        """
        X = np.ascontiguousarray(self._X[:, features])
        values = self._memory[: self.n_pairs * X.shape[1]].reshape(self.n_pairs, X.shape[1])
        for i, block in self._blocks(values):
            np.subtract(X[i + 1 :], X[i], out=block)
            np.multiply(block, block, out=block)
            block *= -0.5
            np.exp(block, out=block)
        return values

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
