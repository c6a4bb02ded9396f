"""Sparse tables: stored by columns, and read like dense ones, a block of columns or some samples at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from .._arguments import Array, Ints, check_not_complex

# Entries of the blocks of samples that a table is gone through in; bounds memory only.
_BLOCK_ENTRIES = 1 << 18


class TableLike:
    """A table that can be used like a two-dimensional array; its shape and dtype are those of `values`."""

    values: Any
    ndim: ClassVar[int] = 2

    @property
    def shape(self) -> tuple[int, int]:
        """Number of samples and of features."""
        return self.values.shape[0], self.values.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the values."""
        return np.dtype(self.values.dtype)

    @property
    def size(self) -> int:
        """Number of entries, zeros included."""
        return self.shape[0] * self.shape[1]

    def __len__(self) -> int:
        return self.shape[0]


@dataclass(frozen=True, eq=False)
class SparseColumns(TableLike):
    """A sparse table that looks like the dense one: whatever is taken from it is a dense array.

    ``X[:, columns]`` is a block of columns (a slice, positions or one position), ``X[samples]`` are samples with all
    columns, ``X[samples, columns]`` and ``X[np.ix_(samples, columns)]`` are samples within a block. Nothing but
    ``X[:]`` and ``numpy.asarray`` makes all of it dense. Never written to; shares memory with the caller's matrix where
    it could.

    Attributes
    ----------
    values : csc_array of float32 or float64 of shape (n_samples, n_features)
        Rows of a column in ascending order, none twice.

    Examples
    --------
    >>> X = SparseColumns.from_matrix(sparse.coo_array(([2, 3], ([0, 2], [1, 0])), shape=(3, 2)))
    >>> X[:, 1], X[[0, 2]].tolist(), X.extremes()
    (array([2., 0., 0.]), [[0.0, 2.0], [3.0, 0.0]], (array([0., 0.]), array([3., 2.])))
    """

    values: sparse.csc_array

    @classmethod
    def from_matrix(cls, X: Any) -> SparseColumns:
        """Read a sparse array or matrix of two dimensions, in any format; numbers other than float32 become float64."""
        check_not_complex("X", np.empty(0, X.dtype))
        stored = sparse.csc_array(X, dtype=X.dtype if X.dtype in (np.float32, np.float64) else np.float64)
        if not stored.has_canonical_format:
            stored = stored.copy()  # the caller's arrays stay as they are
            stored.sum_duplicates()
        return cls(stored)

    def __getitem__(self, key: Any) -> Array:
        if not isinstance(key, tuple):
            return self.values[key].toarray(order="C")
        samples, columns = key
        if np.ndim(columns) == 0 and not isinstance(columns, slice):
            column, inside = np.zeros(len(self), self.dtype), slice(*self.values.indptr[columns : columns + 2].tolist())
            column[self.values.indices[inside]] = self.values.data[inside]
            return column[samples]
        block = self.values[:, columns if isinstance(columns, slice) else np.ravel(columns)].toarray(order="F")
        return block[samples if isinstance(samples, slice) else np.ravel(samples)]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self[:].astype(self.dtype if dtype is None else dtype, copy=False)

    def take(self, columns: Ints) -> SparseColumns:
        """Return some columns, in this order, as a sparse table."""
        return SparseColumns(self.values[:, columns])

    def extremes(self) -> tuple[Array, Array]:
        """Return the smallest and the largest value of each column, NaN where it has one; of shape (n_features,)."""
        return self.values.min(axis=0).toarray().ravel(), self.values.max(axis=0).toarray().ravel()

    def row_blocks(self) -> Iterator[Array]:
        """Yield all samples, from the first to the last, in dense blocks of limited size."""
        by_rows, size = self.values.tocsr(), max(1, _BLOCK_ENTRIES // self.shape[1])
        for start in range(0, len(self), size):
            yield by_rows[start : start + size].toarray()


def some_samples(X: Any, samples: Ints) -> tuple[Any, Ints]:
    """Return a table that has these samples and, of a sparse one, no others, and where they are in it."""
    if not isinstance(X, SparseColumns):
        return X, samples
    return SparseColumns.from_matrix(X.values[samples]), np.arange(len(samples))
