"""Squared sums of the outputs on the left of all splits of some nodes by some columns.

Where outputs have mean 0 in a node of N rows and S is their sum over the n rows that go left, a split removes
S^2 N / (n (N - n)) of the sum of squares. Outputs are scaled to variance 1 and counted in small units, so that S is a
whole number: sums then do not depend on their order, and a tree is the same alone and among others.

What is sorted are codes: the rank of a row in the high half of a whole number, its place in the low half.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._arguments import Array, Floats, Ints, Mask

# Outputs are counted in these units.
UNIT = 2.0**40


class Outputs:
    """Nodes with their outputs, in units, of shape (n_outputs, n_nodes, width); 0 where a row is absent."""

    def __init__(self, units: NDArray[np.int64], absent: Mask, ranks: Array) -> None:
        self._units = units.reshape(len(units), -1)
        # Absent rows have all bits, and come last whatever their rank.
        dtype = np.dtype(f"u{2 * ranks.itemsize}")
        self._places = np.where(absent, np.iinfo(dtype).max, np.arange(absent.size).reshape(absent.shape)).astype(dtype)

    def squares(self, ranks: Array) -> tuple[Floats, Array]:
        """Return S^2 behind each place, and the codes of the ranks, ascending within each node.

        `ranks` and both results have shape (n_columns, n_nodes, width).
        """
        codes = ranks.astype(self._places.dtype, order="C")
        codes <<= 8 * ranks.itemsize
        codes |= self._places
        codes.sort(axis=2)
        low = codes.dtype.type(2 ** (4 * codes.itemsize) - 1)
        places = np.bitwise_and(codes, low, out=np.empty(codes.shape, dtype=np.intp))
        squares = _squared_sums(self._units[0], places)
        for units in self._units[1:]:
            squares += _squared_sums(units, places)
        return squares, codes


def _squared_sums(units: NDArray[np.int64], places: Ints) -> Floats:
    # One running sum over all nodes of a column: where nodes are small, this takes a fraction of the time. Absent rows
    # take the last place, which is absent, because the last node is the smallest. So each node has sum 0.
    values = units.take(places, mode="clip")
    sums = np.cumsum(values.reshape(len(values), -1), axis=1).reshape(values.shape)
    squares = sums.astype(np.float64)
    squares *= squares
    return squares


def ranks_of(codes: Array) -> Array:
    """Return the ranks in some codes."""
    return codes >> 4 * codes.itemsize


def equal_to_next(codes: Array) -> Mask:
    """Return where a rank equals the next one; behind the last of a node, that is the first of another."""
    ranks = ranks_of(codes).reshape(-1)
    equal = np.zeros(codes.shape, dtype=bool)
    np.equal(ranks[:-1], ranks[1:], out=equal.reshape(-1)[:-1])
    return equal
