"""Bounds of what a column can do for a node of a tree, from counts of its rows in bins of neighboring ranks.

Each output has two values, low and high, with mean 0 in a node of N rows. A split with n rows on the left, whose sum is
S, removes the share S^2 / (n (N - n)) of the variance, summed over the outputs. This is convex in the rows of both
values that go left, so that no split inside a bin is better than the best corner of the box between the counts before
the bin and those behind it. Two corners are enough: where S > 0 it is never worse to have fewer of the low rows on the
left, and more of the high ones; where S < 0, the other way round.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._arguments import Array, Floats, Ints, Mask
from ..data.matrix import feature_chunks

# Rows of a bin, about: with many more, the bins at the ends of a column, where few rows can make a large share, promise
# more than noise reaches.
BIN_ROWS = 32

# Entries of the temporary arrays of one pass, which stay in the cache.
_PASS_ENTRIES = 2**16


@dataclass(frozen=True)
class Counts:
    """The rows of a node in bins: a bin has the ranks that are equal without their last `shift` bits."""

    shift: int
    in_bins: Array  # where an output is low, and where it is high: (n_outputs, 2, n_features, n_bins)

    @classmethod
    def of(cls, ranks: Array, rows: Ints, high: Mask, shift: int | None = None) -> Counts:
        """Count some rows; `ranks` has shape (n_features, n_samples), `high` shape (n_outputs, n_samples)."""
        n_features, n_samples = ranks.shape
        if shift is None:
            shift = max((BIN_ROWS * n_samples // len(rows)).bit_length() - 1, 0)
        n_bins = (n_samples - 1 >> shift) + 1
        n_columns = min(max(_PASS_ENTRIES // max(len(rows), n_bins), 1), n_features)
        in_bins = np.empty((len(high), 2, n_features, n_bins), dtype=ranks.dtype)
        first = n_bins * np.arange(n_columns)[:, None]
        keys = [first + n_bins * n_columns * is_high[rows] for is_high in high]
        for part in feature_chunks(n_features, n_columns):
            bins = ranks[part].take(rows, axis=1) >> shift
            for own, counts in zip(keys, in_bins, strict=True):
                found = np.bincount((bins + own[: len(bins)]).reshape(-1), minlength=2 * n_bins * n_columns)
                counts[:, part] = found.reshape(2, n_columns, n_bins)[:, : len(bins)]
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

    def bounds(self, lows: Floats, highs: Floats) -> Floats:
        """Return what no split by a feature exceeds, of shape (n_features,), given the values of the outputs."""
        n_features, n_bins = self.in_bins.shape[2:]
        n_rows = int(self.in_bins[0, :, 0].sum())
        n_left = np.arange(n_rows + 1.0)
        weights = np.zeros(n_rows + 1)
        weights[1:-1] = 1.0 / (n_left * (n_rows - n_left))[1:-1]
        bounds = np.empty(n_features)
        for part in feature_chunks(n_features, max(_PASS_ENTRIES // (2 * n_bins), 1)):
            of_outputs = [
                _best_corners(counts[:, part], low, high, weights)
                for counts, low, high in zip(self.in_bins, lows, highs, strict=True)
            ]
            bounds[part] = np.sum(of_outputs, axis=0).max(axis=1)
        return bounds


def _best_corners(counts: Array, low: float, high: float, weights: Floats) -> Floats:
    """Return the share of the best corner of each bin, of shape (n_columns, n_bins)."""
    behind = np.cumsum(counts, axis=2, dtype=np.intp)
    before = behind - counts

    def share(n_low: Ints, n_high: Ints) -> Floats:
        sums = np.multiply(n_low, low, dtype=np.float64)
        sums += n_high * high
        sums *= sums
        sums *= weights.take(n_low + n_high)
        return sums

    return np.asarray(np.maximum(share(behind[0], before[1]), share(before[0], behind[1])))
