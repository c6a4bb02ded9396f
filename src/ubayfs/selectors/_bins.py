"""Bounds of what a column can do for a node of a tree, from counts of its rows in bins of neighboring ranks.

Each output is low or high. With K high rows among the N of a node, and L among the n that go left, a split removes
(N L - n K)^2 / (n (N - n) sum(K (N - K))) of the impurity, both sums over the outputs. This is convex in the low and
high rows that go left, so that no split inside a bin is better than the best corner of the box between the counts
before the bin and those behind it. Two corners are enough: where L is large for n it is never worse to have fewer of
the low rows on the left, and more of the high ones; where it is small, the other way round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._arguments import Array, Floats, Ints, Mask
from ..data.matrix import feature_chunks

# Rows of a bin, about: with many more, the bins at the ends of a column, where few rows can make a large share, promise
# more than noise reaches.
BIN_ROWS = 16

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

    of_rows: Ints  # (n_samples,)
    high: Mask  # whether an output is high, (n_kinds, n_outputs)

    @classmethod
    def of(cls, outputs: Floats) -> Kinds | None:
        """Tell kinds of rows apart by outputs of shape (n_samples, n_outputs).

        None if an output has more than two values, or these do not have the same distance as those of others.
        """
        low, largest = outputs.min(axis=0), outputs.max(axis=0)
        high = outputs == largest
        distances = largest - low
        if not (high | (outputs == low)).all() or (distances[distances > 0] != distances.max()).any():
            return None
        kinds, of_rows = np.unique(high, axis=0, return_inverse=True)
        return cls(of_rows.reshape(-1), kinds)

    @property
    def are_classes(self) -> bool:
        """Whether exactly one output of each kind is high."""
        return bool((self.high.sum(axis=1) == 1).all())


@dataclass(frozen=True)
class Counts:
    """The rows of a node in bins: a bin has the ranks that are equal without their last `shift` bits."""

    shift: int
    in_bins: Array  # (n_kinds, n_features, n_bins)

    @classmethod
    def of(cls, ranks: Array, rows: Ints, kinds: Kinds, shift: int | None = None) -> Counts:
        """Count some rows; `ranks` has shape (n_samples, n_features)."""
        n_samples, n_features = ranks.shape
        if shift is None:
            shift = max((BIN_ROWS * n_samples // len(rows)).bit_length() - 1, 0)
        n_kinds, n_bins = len(kinds.high), (n_samples - 1 >> shift) + 1
        n_columns = min(max(_PASS_ENTRIES // max(len(rows), n_kinds * n_bins), 1), n_features)
        in_bins = np.empty((n_kinds, n_features, n_bins), dtype=ranks.dtype)
        keys = n_bins * (np.arange(n_columns) + n_columns * kinds.of_rows[rows, None])
        for block in feature_chunks(n_features, n_columns * max(_READ_COLUMNS // n_columns, 1)):
            of_rows, of_block = ranks[rows, block], in_bins[:, block]
            for part in feature_chunks(of_block.shape[1], n_columns):
                bins = of_rows[:, part] >> shift
                n_here = bins.shape[1]
                found = np.bincount((bins + keys[:, :n_here]).reshape(-1), minlength=n_kinds * n_columns * n_bins)
                of_block[:, part] = found.reshape(n_kinds, n_columns, n_bins)[:, :n_here]
        return cls(shift, in_bins)

    def without(self, some: Counts) -> Counts:
        """Return the counts of the other rows of the node."""
        return Counts(self.shift, self.in_bins - some.in_bins)

    def coarser(self, n_rows: int) -> Counts:
        """Join neighboring bins until those of `n_rows` rows are not much smaller than they should be."""
        shift, in_bins = self.shift, self.in_bins
        while in_bins.shape[-1] > max(2 * n_rows // BIN_ROWS, 1):
            shift += 1
            first, second = in_bins[..., ::2].copy(), in_bins[..., 1::2]
            first[..., : second.shape[-1]] += second
            in_bins = first
        return Counts(shift, in_bins)

    def bounds(self, kinds: Kinds) -> Floats:
        """Return shares of the impurity that no split by a feature exceeds, of shape (n_features,)."""
        _, n_features, n_bins = self.in_bins.shape
        of_kinds = self.in_bins[:, 0].sum(axis=1, dtype=np.int64)
        n_rows, n_high = int(of_kinds.sum()), of_kinds @ kinds.high
        bounds = np.empty(n_features)
        for part in feature_chunks(n_features, max(_PASS_ENTRIES // (4 * n_bins), 1)):
            counts = self.in_bins[:, part].astype(np.int32 if n_rows < _SMALL_NODE else np.int64)
            in_bin = _added(counts)
            n_behind = np.cumsum(in_bin, axis=1, dtype=in_bin.dtype)
            best = [
                _best_corners(_added(counts[is_high]), n_behind - in_bin, n_behind, n_rows, total)
                for is_high, total in zip(kinds.high.T, n_high.tolist(), strict=True)
            ]
            bounds[part] = _added(best).max(axis=1)
        return bounds * (_ROUNDING / (n_high * (n_rows - n_high)).sum())


def _added(arrays: Sequence[Array] | Array) -> Array:
    """Return the sum of some arrays, in their type; zeros, if there is none of them."""
    return arrays[0] if len(arrays) == 1 else np.sum(arrays, axis=0, dtype=arrays[0].dtype)


def _best_corners(high: Array, n_before: Array, n_behind: Array, n_rows: int, n_high: int) -> Array:
    """Return (N L - n K)^2 / (n (N - n)) of the better corner of each bin, of shape (n_columns, n_bins)."""
    high_behind = np.cumsum(high, axis=1, dtype=high.dtype)

    def ratio(n_left: Array, high_left: Array) -> Array:
        sums = (n_rows * high_left - n_high * n_left).astype(np.float32)
        sums *= sums
        sums /= np.maximum(n_left * (n_rows - n_left), 1).astype(np.float32)
        return sums

    return np.maximum(ratio(n_before + high, high_behind), ratio(n_behind - high, high_behind - high))
