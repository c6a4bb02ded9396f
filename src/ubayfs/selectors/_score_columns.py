"""Straight and bent columns: what the lasso sees of a table, made once for all of its samples, without the target.

Of each feature, z is the standardized value and s the normal score of its rank, Phi^-1((rank - 1/2) / n), ties having
their mean rank. The straight column is a = (z + s) / 2, standardized again: a monotone scale on which neither a long
tail nor a few absurd values decide. The bent column b is the square of a, clipped at 2.5 on either side, without what a
explains of it, standardized; it is 0 where nothing is left, as of two values. A missing value is 0 in both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .._arguments import Array, Floats, Ints, Mask
from ..data.matrix import feature_chunks
from ..data.ranks import centered_ranks
from ..data.sparse_columns import SparseColumns
from ._subsample import power_of_two
from .threads import each_block

CLIPPED_CURVE = 2.5

# What is left of a column counts as nothing below this share of its sum of squares.
NOTHING_LEFT = 1e-10

# Entries of a block of columns; bounds memory, never changes a result.
BLOCK_ENTRIES = 1 << 17


@dataclass(frozen=True, eq=False)
class ScoreColumns:
    """Straight and bent columns of a table, a row for each feature."""

    # (n_features, n_samples), in the precision of the table, NaN where a value is missing; csr_array of what a sparse
    # table stores.
    straight: Any
    at_zero: Floats | None  # of a sparse table: the straight column where the value is 0, (n_features,)
    bend: Floats  # (3, n_features): the bent column is (clipped square - bend[0] - bend[1] * straight) * bend[2]
    with_gaps: Mask  # (n_features,)

    @classmethod
    def from_table(cls, X: Array, without: Ints) -> ScoreColumns:
        """Make the columns of a table of shape (n_samples, n_features), 0 for features that shall be `without`."""
        n_samples, n_features = X.shape
        bend, with_gaps = np.zeros((3, n_features)), np.zeros(n_features, dtype=bool)
        stored = X.values if isinstance(X, SparseColumns) else None
        dense = np.empty((n_features, n_samples) if stored is None else 0, dtype=X.dtype)
        data, at_zero = np.empty(0 if stored is None else stored.nnz, dtype=X.dtype), np.zeros(n_features)

        def make(part: slice) -> None:
            rows = _straight(np.asarray(X[:, part])).astype(X.dtype, copy=False)
            with_gaps[part] = np.isnan(rows).any(axis=1)
            bend[:, part] = _bend(rows.astype(np.float64))
            if stored is None:
                dense[part] = rows
                return
            entries = slice(*stored.indptr[[part.start, part.stop]].tolist())
            columns = np.repeat(np.arange(len(rows)), np.diff(stored.indptr[part.start : part.stop + 1]))
            data[entries] = rows[columns, stored.indices[entries]]
            rows[columns, stored.indices[entries]] = np.nan
            at_zero[part] = np.nan_to_num(np.fmax.reduce(rows, axis=1))

        each_block(make, feature_chunks(n_features, max(1, BLOCK_ENTRIES // n_samples)))
        if stored is None:
            dense[without], bend[:, without], with_gaps[without] = 0.0, 0.0, False
            return cls(dense, None, bend, with_gaps)
        rows = sparse.csr_array((data, stored.indices, stored.indptr), shape=(n_features, n_samples))
        return cls(rows, at_zero, bend, with_gaps)

    def rows(self, features: Ints | slice) -> Floats:
        """Return the straight columns of some features, of shape (k, n_samples), NaN where a value is missing."""
        if self.at_zero is None:
            return np.array(self.straight[features], dtype=np.float64)
        stored = self.straight[features]
        rows = np.repeat(self.at_zero[features, None], stored.shape[1], axis=1)
        rows[np.repeat(np.arange(len(rows)), np.diff(stored.indptr)), stored.indices] = stored.data
        return rows

    def bent(self, rows: Floats, features: Ints | slice) -> Floats:
        """Return the bent columns of features whose straight ones are these."""
        center, slope, scale = self.bend[:, features, None]
        return (_clipped_square(rows) - center - slope * rows) * scale


def _straight(block: Array) -> Floats:
    """Return a of some columns, of shape (k, n_samples)."""
    from scipy.special import ndtri

    ranks = np.ascontiguousarray(centered_ranks(block).T)
    x = np.array(block.T, dtype=np.float64, order="C")
    absent = np.isnan(x)
    present, n = (~absent, len(block) - absent.sum(axis=1, keepdims=True)) if absent.any() else (None, len(block))
    x[absent] = 0.0
    x *= power_of_two(np.abs(x).max(axis=1, keepdims=True))
    # Phi^-1((rank - 1/2) / n) from ranks around their mean (n + 1) / 2
    if present is None:  # whose doubles are few whole numbers
        s = ndtri(np.arange(1 - n, n) / 2 / n + 0.5)[(2 * ranks).astype(np.intp) + n - 1]
    else:
        s = ndtri(ranks / np.maximum(n, 1) + 0.5)
    a = _standardized(_standardized(x, present, n) + s, present, n)
    a[absent] = np.nan
    return a


def _standardized(rows: Floats, present: Mask | None, n: Ints | int) -> Floats:
    """Return rows with mean 0 and variance 1 over the n values that are present, 0 where they are constant.

    What is absent is 0 before and after; None: everything is present.
    """
    n = np.maximum(n, 1)
    if present is None:
        constant = ~(rows.max(axis=1) > rows.min(axis=1))
    else:
        constant = ~(rows.max(axis=1, where=present, initial=-np.inf) > rows.min(axis=1, where=present, initial=np.inf))
    for _ in range(2):  # the second time removes what the rounding of a mean far from 0 has left
        rows = rows - rows.sum(axis=1, keepdims=True) / n
        if present is not None:
            rows *= present
        largest = np.abs(rows).max(axis=1, keepdims=True)
        rows /= np.where(largest > 0, largest, 1.0)
    spread = np.sqrt((rows**2).sum(axis=1, keepdims=True) / n)
    rows /= np.where(spread > 0, spread, 1.0)
    rows[constant] = 0.0
    return rows


def _clipped_square(rows: Floats) -> Floats:
    return np.minimum(rows**2, CLIPPED_CURVE**2)


def _bend(rows: Floats) -> Floats:
    """Return how bent columns are made of straight ones, of shape (3, k); see :class:`ScoreColumns`."""
    present = ~np.isnan(rows)
    a = np.where(present, rows, 0.0)
    n = np.maximum(present.sum(axis=1), 1)
    squares = _clipped_square(a)
    whole, size = (squares**2).sum(axis=1), (a**2).sum(axis=1)
    center = squares.sum(axis=1) / n
    # Least squares of the square on a, which has mean 0.
    slope = ((squares - center[:, None]) * a).sum(axis=1) / np.where(size > 0, size, 1.0)
    remainder = (((squares - center[:, None] - slope[:, None] * a) * present) ** 2).sum(axis=1)
    bends = remainder > NOTHING_LEFT * whole
    return np.array([center, slope, np.sqrt(n / np.where(bends, remainder, np.inf))])
