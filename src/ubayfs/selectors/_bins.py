"""Bounds of what a column can do for a node of a tree, from counts of its rows in bins of neighboring ranks.

Each output is low or high. With K high rows among the N of a node, and L among the n that go left, a split removes
(N L - n K)^2 / (n (N - n) sum(K (N - K))) of the impurity, both sums over the outputs. This is convex in the low and
high rows that go left, so that no split inside a bin is better than the best corner of the box between the counts
before the bin and those behind it. Two corners are enough: where L is large for n it is never worse to have fewer of
the low rows on the left, and more of the high ones; where it is small, the other way round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

import numpy as np

from .._arguments import Array, Floats, Ints, Mask
from ..data.matrix import feature_chunks

# Rows of a bin, about: with many more, the bins at the ends of a column, where few rows can make a large share, promise
# more than noise reaches.
BIN_ROWS = 16

# A column that has no more values has a bin for each of them, in which nothing is in doubt.
FEW_VALUES = 64

# Entries of the temporary arrays of one pass, which stay in the cache; and columns of ranks that are read together.
_PASS_ENTRIES = 2**16
_READ_COLUMNS = 64

# Products of counts of a smaller node fit into 32 bits.
_SMALL_NODE = 2**15

# Bounds are computed in single precision, of whole numbers that are exact.
_ROUNDING = 1 + 1e-6


@dataclass(frozen=True)
class Kinds:
    """Rows that have the same outputs are of one kind."""

    row_kinds: Ints  # (n_samples,)
    high: Mask  # whether an output is high, (n_kinds, n_outputs)

    @classmethod
    def from_outputs(cls, outputs: Floats) -> Kinds | None:
        """Return the kinds of rows with outputs of shape (n_samples, n_outputs).

        None if an output has more than two values, or these do not have the same distance as those of others.
        """
        low, largest = outputs.min(axis=0), outputs.max(axis=0)
        high = outputs == largest
        distances = largest - low
        if not (high | (outputs == low)).all() or (distances[distances > 0] != distances.max()).any():
            return None
        high_of_kind, row_kinds = np.unique(high, axis=0, return_inverse=True)
        return cls(row_kinds.reshape(-1), high_of_kind)


@dataclass(frozen=True)
class Counts:
    """The rows of a node in bins of some columns, of the ranks that are equal without their last `shifts` bits."""

    columns: Ints
    shifts: Array  # (n_columns,)
    in_bins: Array  # (n_kinds, n_columns, n_bins)

    def without(self, some: Counts) -> Counts:
        """Return the counts of the other rows of the node, given some in the same bins."""
        return replace(self, in_bins=self.in_bins - some.in_bins)

    def coarser(self, n_rows: int) -> Counts:
        """Join neighboring bins until those of `n_rows` rows are not much smaller than they should be."""
        shifts, in_bins = self.shifts, self.in_bins
        if in_bins.shape[-1] <= FEW_VALUES and not shifts.any():
            return self
        while in_bins.shape[-1] > max(2 * n_rows // BIN_ROWS, 1):
            shifts = shifts + shifts.dtype.type(1)
            first, second = in_bins[..., ::2].copy(), in_bins[..., 1::2]
            first[..., : second.shape[-1]] += second
            in_bins = first
        return Counts(self.columns, shifts, in_bins)

    def bounds(self, kinds: Kinds) -> Floats:
        """Return shares of the impurity that no split by a column exceeds, of shape (n_columns,)."""
        kind_sizes = self.in_bins[:, 0].sum(axis=1, dtype=np.int64)
        n_rows, n_high = int(kind_sizes.sum()), kind_sizes @ kinds.high
        bounds = np.empty(len(self.shifts))
        exact = self.shifts == 0
        for columns, corners in ((np.flatnonzero(exact), False), (np.flatnonzero(~exact), True)):
            for part in feature_chunks(len(columns), max(_PASS_ENTRIES // (4 * self.in_bins.shape[2]), 1)):
                members = part if len(columns) == len(exact) else columns[part]
                counts = self.in_bins[:, members].astype(np.int32 if n_rows < _SMALL_NODE else np.int64)
                in_bin = _added(counts)
                n_behind = np.cumsum(in_bin, axis=1, dtype=in_bin.dtype)
                best = [
                    _best(_added(counts[is_high]), n_behind, in_bin if corners else None, n_rows, total)
                    for is_high, total in zip(kinds.high.T, n_high.tolist(), strict=True)
                ]
                bounds[members] = _added(best).max(axis=1)
        # The denominator sum(K (N - K)) is that of the whole node, the same for every column.
        return bounds * (_ROUNDING / (n_high * (n_rows - n_high)).sum())


class Binning:
    """Counts rows of a table, in bins of columns that have few values, and of those that have many.

    `ranks` has shape (n_samples, n_features).
    """

    def __init__(self, ranks: Array) -> None:
        self._ranks, self._n_values = ranks, ranks.max(axis=0).astype(np.intp) + 1
        few = self._n_values <= FEW_VALUES
        self._columns = [columns for columns in (np.flatnonzero(few), np.flatnonzero(~few)) if len(columns)]

    def count(self, rows: Ints, kinds: Kinds, like: Sequence[Counts] = ()) -> list[Counts]:
        """Count some rows: in bins that fit their number, or in those of other counts."""
        counts = []
        for columns, same in zip_longest(self._columns, like):
            n_values = self._n_values[columns]
            fitting = np.log2(np.maximum(n_values / max(len(rows) // BIN_ROWS, 1), 1.0))
            shifts = (
                np.where(n_values <= FEW_VALUES, 0, fitting).astype(self._ranks.dtype) if same is None else same.shifts
            )
            n_bins = int((n_values - 1 >> shifts).max()) + 1
            in_bins = np.empty((len(kinds.high), len(columns), n_bins), dtype=self._ranks.dtype)
            _count(self._ranks, columns, shifts, rows, kinds.row_kinds[rows], in_bins)
            counts.append(Counts(columns, shifts, in_bins))
        return counts


def bounds_of(counts: Sequence[Counts], kinds: Kinds) -> Floats:
    """Return shares of the impurity that no split by a feature exceeds, of shape (n_features,)."""
    bounds = np.empty(sum(len(some.columns) for some in counts))
    for some in counts:
        bounds[some.columns] = some.bounds(kinds)
    return bounds


def _count(ranks: Array, columns: Ints, shifts: Array, rows: Ints, kinds: Ints, in_bins: Array) -> None:
    """Count kinds of some rows in bins of some columns; `kinds` has shape (n_rows,)."""
    n_kinds, _, n_bins = in_bins.shape
    n_columns = min(max(_PASS_ENTRIES // max(len(rows), n_kinds * n_bins), 1), len(columns))
    # One number for kind, column and bin, so that one bincount counts them all.
    first = n_bins * (np.arange(n_columns) + n_columns * kinds[:, None])
    for block in feature_chunks(len(columns), n_columns * max(_READ_COLUMNS // n_columns, 1)):
        members = columns[block]
        start, stop = members[0], members[-1] + 1
        node_ranks = ranks[rows, start:stop]
        bins = (node_ranks if len(members) == stop - start else node_ranks[:, members - start]) >> shifts[block]
        for part in feature_chunks(len(members), n_columns):
            keys = bins[:, part] + first[:, : len(members[part])]
            counts = np.bincount(keys.reshape(-1), minlength=n_kinds * n_columns * n_bins)
            in_bins[:, block][:, part] = counts.reshape(n_kinds, n_columns, n_bins)[:, : len(members[part])]


def _added(arrays: Sequence[Array] | Array) -> Array:
    """Return the sum of some arrays, in their type; zeros, if there is none of them."""
    return arrays[0] if len(arrays) == 1 else np.sum(arrays, axis=0, dtype=arrays[0].dtype)


def _best(high: Array, n_behind: Array, in_bin: Array | None, n_rows: int, n_high: int) -> Array:
    """Return (N L - n K)^2 / (n (N - n)) of the splits behind bins, or of the better corners of bins if rows are given.

    All arrays have shape (n_columns, n_bins).
    """
    high_behind = np.cumsum(high, axis=1, dtype=high.dtype)

    def ratio(n_left: Array, high_left: Array) -> Array:
        sums = (n_rows * high_left - n_high * n_left).astype(np.float32)
        sums *= sums
        sums /= np.maximum(n_left * (n_rows - n_left), 1).astype(np.float32)
        return sums

    if in_bin is None:
        return ratio(n_behind, high_behind)
    # Two corners of the box: of the bin all high rows and no low ones go left, or all low rows and no high ones.
    return np.maximum(ratio(n_behind - in_bin + high, high_behind), ratio(n_behind - high, high_behind - high))
