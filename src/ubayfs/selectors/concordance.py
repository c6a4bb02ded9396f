"""Concordance of every feature with classes, on many subsamples at once; exact, because all of it is counting.

For two classes of rows, `upper` and `lower`, the concordance of a feature is the number of pairs (i in upper, j in
lower) with x_i > x_j minus the number with x_i < x_j; ties count nothing. Divided by the number of pairs it is
Somers' D with respect to the classes, 2 AUC - 1.

Two algorithms give the same integers. Small data: (n_models x pairs) weights times the signs of the pair differences,
one matrix product. Larger data: sort each feature once and walk up its values for all runs together, counting what was
passed; that takes time in proportion to the rows instead of their pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._arguments import Array, Floats, Ints, Mask

# Up to about this many pairs the product with signs takes less processor time than sorting: both were equal at 1,700
# pairs for features without ties, and at 8,000 for those with many, which are walked twice.
MAX_PAIRS = 2000

# Entries of a temporary array that stays in the processor's cache.
_CACHE_ENTRIES = 1 << 16


@dataclass(frozen=True, eq=False)
class Contrast:
    """Two disjoint classes of rows that are compared: masks of shape (n_samples,)."""

    upper: Mask
    lower: Mask

    def n_pairs(self, subsamples: Mask) -> NDArray[np.int64]:
        """Return the number of pairs in each subsample, of shape (n_models,)."""
        return (subsamples & self.upper).sum(axis=1) * (subsamples & self.lower).sum(axis=1)


def concordance(block: Array, subsamples: Mask, contrasts: Sequence[Contrast]) -> Floats:
    """Count concordant minus discordant pairs: whole numbers, of shape (n_contrasts, n_models, k), for k columns.

    Examples
    --------
    >>> everything = np.ones((1, 4), dtype=bool)
    >>> upper = np.array([False, False, True, True])
    >>> concordance(np.array([[1.0], [2.0], [2.0], [3.0]]), everything, [Contrast(upper, ~upper)])
    array([[[3.]]])
    """
    most_pairs = max(int(c.upper.sum()) * int(c.lower.sum()) for c in contrasts)
    if most_pairs <= MAX_PAIRS:
        return np.stack([_by_signs(block, subsamples, contrast) for contrast in contrasts])
    return _by_sorting(block, subsamples, contrasts)


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


def _by_sorting(block: Array, subsamples: Mask, contrasts: Sequence[Contrast]) -> Floats:
    n_models, n_samples = subsamples.shape
    # Single precision holds the counts as long as they stay below 2^24.
    dtype = np.float32 if n_samples**2 < 2**24 else np.float64
    weights = np.ascontiguousarray(subsamples.T, dtype=dtype)
    counts = np.empty((len(contrasts), n_models, block.shape[1]))
    step = max(1, _CACHE_ENTRIES // (4 * n_models))
    for start in range(0, block.shape[1], step):
        part = np.ascontiguousarray(block[:, start : start + step])
        order = np.argsort(part, axis=0)
        ascending = np.sort(part, axis=0)
        tied = (ascending[1:] == ascending[:-1]).any(axis=0)
        if tied.any():
            # Tied pairs count +1 in one order and -1 in the reversed one, so they cancel in the mean of both.
            again = part[:, tied]
            order[:, tied] = np.argsort(again, axis=0, kind="stable")
            reverse = n_samples - 1 - np.argsort(again[::-1], axis=0, kind="stable")
            both = _walk(np.concatenate([order, reverse], axis=1), weights, contrasts)
            found = both[:, :, : part.shape[1]]
            found[:, :, tied] = (found[:, :, tied] + both[:, :, part.shape[1] :]) / 2.0
        else:
            found = _walk(order, weights, contrasts)
        counts[:, :, start : start + step] = found
    return counts


def _walk(order: Ints, weights: Array, contrasts: Sequence[Contrast]) -> Floats:
    """Count pairs whose lower row comes first in `order` minus the others, of shape (n_contrasts, n_models, k)."""
    counts = np.empty((len(contrasts), weights.shape[1], order.shape[1]))
    for position, contrast in enumerate(contrasts):
        upper, lower = weights * contrast.upper[:, None], weights * contrast.lower[:, None]
        passed = np.zeros((order.shape[1], weights.shape[1]), dtype=weights.dtype)
        before, here = np.zeros_like(passed), np.empty_like(passed)
        for rows in order:
            # mode="clip" lets take write into `here` directly; twice as fast as upper[rows].
            upper.take(rows, axis=0, out=here, mode="clip")
            here *= passed
            before += here
            lower.take(rows, axis=0, out=here, mode="clip")
            passed += here
        counts[position] = (2.0 * before - upper.sum(axis=0) * lower.sum(axis=0)).T
    return counts
