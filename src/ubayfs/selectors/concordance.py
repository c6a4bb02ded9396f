"""Concordance of every feature with classes, on many subsamples at once; exact, because all of it is counting.

For two classes of rows, `upper` and `lower`, the concordance of a feature is the number of pairs (i in upper, j in
lower) with x_i > x_j minus the number with x_i < x_j; ties count nothing, and neither do pairs with a missing value.
Divided by the number of pairs it is Somers' D with respect to the classes, 2 AUC - 1.

Two algorithms give the same integers. Small data: (n_models x pairs) weights times the signs of the pair differences,
one matrix product. Larger data: sort each feature once and walk up its values for all runs together, counting what was
passed; that takes time in proportion to the rows instead of their pairs. The walk takes short blocks of consecutive
rows, all blocks at the same time, in which a byte is enough for every count; what lies in earlier blocks is added by
cumulative sums over the blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from .._arguments import Array, Floats, Ints, Mask
from ..data.matrix import feature_chunks

# Up to about this many pairs the product with signs takes less processor time than sorting: both were equal at 1,700
# pairs for features without ties, and at 8,000 for those with many, which are walked twice.
MAX_PAIRS = 2000

# Entries of a temporary array that stays in the processor's cache.
_CACHE_ENTRIES = 1 << 16

# Rows of a block: among so many there are at most 15 * 16 < 256 pairs of an upper and a lower one.
_BLOCK = 31


@dataclass(frozen=True, eq=False)
class Contrast:
    """Two disjoint classes of rows that are compared: masks of shape (n_samples,)."""

    upper: Mask
    lower: Mask


class Concordance:
    """Counts concordant minus discordant pairs of `contrasts` in all `subsamples`, block by block of columns.

    >>> everything = np.ones((1, 4), dtype=bool)
    >>> upper = np.array([False, False, True, True])
    >>> Concordance(everything, [Contrast(upper, ~upper)])(np.array([[1.0], [2.0], [2.0], [3.0]]))
    array([[[3.]]])
    """

    def __init__(self, subsamples: Mask, contrasts: Sequence[Contrast]) -> None:
        self._subsamples, self._contrasts = subsamples, contrasts
        self._few_pairs = max(int(c.upper.sum()) * int(c.lower.sum()) for c in contrasts) <= MAX_PAIRS

    def __call__(self, block: Array, n_pairs: Array | None = None) -> Floats:
        """Return whole numbers of shape (n_contrasts, n_models, k), for k columns.

        `n_pairs`, of the same shape or with k = 1, has the number of pairs that are compared; it must be given when
        values are missing.
        """
        if self._few_pairs:
            return np.stack([_by_signs(block, self._subsamples, contrast) for contrast in self._contrasts])
        if n_pairs is None:
            sides = [[(self._subsamples & side).sum(axis=1) for side in (c.upper, c.lower)] for c in self._contrasts]
            n_pairs = np.prod(sides, axis=1)[:, :, None]
        return self._by_sorting(block, np.broadcast_to(n_pairs, (*n_pairs.shape[:2], block.shape[1])))

    @cached_property
    def _marks(self) -> list[tuple[NDArray[np.uint8], NDArray[np.uint8]]]:
        marks = partial(_marks, self._subsamples)
        return [(marks(contrast.upper, 255), marks(contrast.lower, 1)) for contrast in self._contrasts]

    def _by_sorting(self, block: Array, n_pairs: Array) -> Floats:
        n_models, n_samples = self._subsamples.shape
        counts = np.empty(n_pairs.shape)
        step = max(1, _CACHE_ENTRIES // (n_models * (n_samples // _BLOCK + 1)))
        for part in feature_chunks(block.shape[1], step):
            orders = _Ordered.from_columns(block[:, part])
            for count, pairs, (upper, lower) in zip(counts, n_pairs, self._marks, strict=True):
                count[:, part] = orders.twice_passed(upper, lower).T - pairs[:, part]
        return counts


def _by_signs(block: Array, subsamples: Mask, contrast: Contrast) -> Floats:
    upper, lower = np.flatnonzero(contrast.upper), np.flatnonzero(contrast.lower)
    n_models, n_pairs = len(subsamples), len(upper) * len(lower)
    pairs = (subsamples[:, upper, None] & subsamples[:, None, lower]).reshape(n_models, n_pairs)
    # Sums of at most MAX_PAIRS times +-1 are exact in single precision.
    weights = pairs.astype(np.float32)
    counts = np.empty((n_models, block.shape[1]))
    step = max(16, 4 * _CACHE_ENTRIES // max(n_pairs, 1))
    for start in range(0, block.shape[1], step):
        part = block[:, start : start + step]
        high, low = part[upper, None, :], part[None, lower, :]
        signs = (high > low).view(np.int8) - (high < low).view(np.int8)
        counts[:, start : start + step] = weights @ signs.reshape(n_pairs, part.shape[1]).astype(np.float32)
    return counts


def _marks(subsamples: Mask, members: Mask, value: int) -> NDArray[np.uint8]:
    """Return `value` where a run has a sample of a class, of shape (n_samples + 1, n_models); last row: no sample.

    `members` is the mask of the class, of shape (n_samples,).
    """
    marks = np.zeros((len(members) + 1, len(subsamples)), dtype=np.uint8)
    np.logical_and(subsamples.T, members[:, None], out=marks[:-1])
    return marks * np.uint8(value)


@dataclass(frozen=True, eq=False)
class _Ordered:
    """Columns in ascending order.

    A tied pair counts or not in one order, and the other way round where ties are reversed; so it counts half in the
    mean of both. Pairs of different values count the same in both, hence also in orders of the tied rows alone.
    """

    rows: Ints  # in ascending order, (k, n_samples); -1 stands for a missing value
    has_ties: Mask  # (k,)
    ties: Ints  # rows that have ties, and with ties reversed, (2, n_columns_with_ties, most of them); -1: none

    @classmethod
    def from_columns(cls, block: Array) -> _Ordered:
        """Sort columns of shape (n_samples, k)."""
        columns = np.ascontiguousarray(block.T)
        rows = np.argsort(columns, axis=1)
        ascending = np.take_along_axis(columns, rows, axis=1)
        equal = np.zeros(rows.shape, dtype=bool)  # to the next one
        np.equal(ascending[:, :-1], ascending[:, 1:], out=equal[:, :-1])
        absent = np.isnan(block)
        if absent.any():  # they are the last ones, and no NaN equals another
            rows[np.arange(rows.shape[1]) >= rows.shape[1] - absent.sum(axis=0)[:, None]] = -1
        has_ties = np.asarray(equal.any(axis=1))
        return cls(rows, has_ties, _tied_rows(rows[has_ties], equal[has_ties]))

    def twice_passed(self, upper: NDArray[np.uint8], lower: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Return twice the pairs whose lower row is passed first, of shape (k, n_models); a tie counts as one."""
        twice = 2 * _walk(self.rows, upper, lower)
        if self.ties.size:
            twice[self.has_ties] += np.diff([_walk(rows, upper, lower) for rows in self.ties], axis=0)[0]
        return twice


def _tied_rows(rows: Ints, equal: Mask) -> Ints:
    """Return the rows that have ties, in this order and with ties reversed; `equal` tells which equal the next one."""
    positions = np.arange(rows.shape[1])
    first = np.ones_like(equal)
    first[:, 1:] = ~equal[:, :-1]
    start = np.maximum.accumulate(np.where(first, positions, 0), axis=1)
    end = np.minimum.accumulate(np.where(equal, len(positions), positions)[:, ::-1], axis=1)[:, ::-1]
    both = np.stack([rows, np.take_along_axis(rows, start + end - positions, axis=1)])
    tied = start < end
    ties = np.full((2, len(rows), int(tied.sum(axis=1).max(initial=0))), -1)
    column, place = np.nonzero(tied)
    ties[:, column, np.cumsum(tied, axis=1)[column, place] - 1] = both[:, column, place]
    return ties


def _walk(order: Ints, upper: NDArray[np.uint8], lower: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Count pairs whose lower row comes first in `order`, of shape (k, n_rows); the counts have shape (k, n_models).

    Marks of the upper class are 255, which is -1 modulo 256 and has all bits; those of the lower one are 1.
    """
    k, n_models = len(order), upper.shape[1]
    n_blocks = -(-order.shape[1] // _BLOCK)
    filled = np.full((k, n_blocks * _BLOCK), -1)
    filled[:, : order.shape[1]] = order
    filled[filled < 0] = len(upper) - 1
    passed, within, n_upper, here = np.zeros((4, k * n_blocks, n_models), dtype=np.uint8)
    for rows in np.ascontiguousarray(filled.reshape(-1, _BLOCK).T):
        # mode="clip" lets take write directly; twice as fast as upper[rows].
        upper.take(rows, axis=0, out=here, mode="clip")
        n_upper -= here
        here &= passed
        within += here
        lower.take(rows, axis=0, out=here, mode="clip")
        passed += here
    passed, within, n_upper = (counts.reshape(k, n_blocks, n_models) for counts in (passed, within, n_upper))
    before = np.cumsum(passed, axis=1, dtype=np.int32)
    before -= passed
    before *= n_upper
    before += within
    return np.asarray(before.sum(axis=1, dtype=np.int64))
