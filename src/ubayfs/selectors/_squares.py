"""Squared sums of the outputs on the left of all splits of some nodes by some columns, in three ways.

Where outputs have mean 0 in a node of N rows and S is their sum over the n rows that go left, a split removes
S^2 N / (n (N - n)) of the sum of squares. Each way has units of its own, in which S is a whole number: sums then do not
depend on their order, so that a tree is the same alone and among others.

- Two classes: with K rows of the second class in the node and L of them on the left, S is N L - n K. The class goes
  with the rank into the number that is sorted.
- More classes: the sum of (N L - n K)^2 over the classes is N^2 sum(L^2) - 2 N n sum(L K) + n^2 sum(K^2). The q-th row
  of its class adds 2 q - 1 to sum(L^2) and K to sum(L K), so that the time does not depend on the number of classes.
- Anything else: the outputs, scaled to variance 1, in small units.

What is sorted are codes: the rank of a row in the high half of a whole number, its class or its place in the low half.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arguments import Array, Floats, Ints, Mask

# Outputs that are not classes are counted in these units.
UNIT = 2.0**40

# Rows of a node of several classes: two sums below N^2 run in one number.
LARGEST_NODE = 2**16 - 1


class TwoClasses:
    """Nodes whose rows have class 0 or 1, side by side; `classes` and `absent` have shape (n_nodes, width)."""

    def __init__(self, classes: Ints, absent: Mask, ranks: Array) -> None:
        self._n_rows, n_second = _count(~absent), _count((classes == 1) & ~absent)
        counted = n_second + _count(absent)  # absent rows have all bits, and that of the second class
        before = np.cumsum(counted)[:, None] - counted  # in other nodes: one sum runs over all of them
        self._expected = n_second * np.arange(1.0, absent.shape[1] + 1) + self._n_rows * before  # n K, and N times that
        self._low = _low(classes, absent, ranks)
        self.scatter = n_second * (self._n_rows - n_second)  # the mean of S^2 that all rows have alone, (n_nodes, 1)

    def __call__(self, ranks: Array) -> tuple[Floats, Array]:
        """Return S^2 behind each place, and the codes of the ranks in ascending order.

        `ranks` and both results have shape (n_columns, n_nodes, width).
        """
        codes = _in_order(ranks, self._low)
        n_second_left = _running_sums(codes & codes.dtype.type(1), np.int32)
        squares = np.multiply(n_second_left, self._n_rows, dtype=np.float64)
        squares -= self._expected
        squares *= squares
        return squares, codes


class ManyClasses:
    """Nodes whose rows have one of several classes; arguments and results are those of :class:`TwoClasses`."""

    def __init__(self, classes: Ints, absent: Mask, ranks: Array) -> None:
        n_rows, n_left = _count(~absent), np.arange(1.0, absent.shape[1] + 1)
        n_classes = int(classes.max()) + 1
        in_class = np.where(absent, n_classes, classes)[:, :, None] == np.arange(n_classes)
        sizes = in_class.sum(axis=1)  # (n_nodes, n_classes)
        by_class = np.sort(np.where(absent, n_classes, classes), axis=1)
        starts = np.cumsum(sizes, axis=1) - sizes
        sorted_class = np.minimum(by_class, n_classes - 1)  # class of each place once places are sorted by class
        number = np.arange(absent.shape[1]) - np.take_along_axis(starts, sorted_class, axis=1)
        steps = (2 * number + 1) + (np.take_along_axis(sizes, sorted_class, axis=1) << 32)
        self._steps = np.where(absent, 0, steps).reshape(-1)
        self._classes = _low(classes, absent, ranks) << 8 * ranks.itemsize
        self._low = _low(np.arange(absent.size).reshape(absent.shape), absent, ranks)
        squared_sizes = (sizes**2).sum(axis=1, keepdims=True)
        self._factors = n_rows.astype(np.float64) ** 2, 2.0 * n_rows * n_left, squared_sizes * n_left**2
        self.scatter = n_rows**2 - squared_sizes

    def __call__(self, ranks: Array) -> tuple[Floats, Array]:
        """Return squares and codes."""
        codes = self._classes | ranks
        codes.sort(axis=2)
        codes = _in_order(codes.astype(ranks.dtype), self._low)
        sums = np.cumsum(self._steps.take(_places(codes), mode="clip"), axis=2)
        square_factor, product_factor, last = self._factors
        squares = np.multiply(sums & (2**32 - 1), square_factor)
        squares -= np.multiply(sums >> 32, product_factor)
        squares += last
        return squares, codes


class Outputs:
    """Nodes with any outputs, in units, of shape (n_outputs, n_nodes, width); 0 where a row is absent."""

    def __init__(self, units: NDArray[np.int64], absent: Mask, ranks: Array) -> None:
        self._units = units.reshape(len(units), -1)
        self._low = _low(np.arange(absent.size).reshape(absent.shape), absent, ranks)
        self.scatter = np.full((len(absent), 1), UNIT**2)

    def __call__(self, ranks: Array) -> tuple[Floats, Array]:
        """Return squares and codes."""
        codes = _in_order(ranks, self._low)
        slots = _places(codes)
        squares = _squared_sums(self._units[0], slots)
        for units in self._units[1:]:
            squares += _squared_sums(units, slots)
        return squares, codes


Squares = TwoClasses | ManyClasses | Outputs


def _squared_sums(units: NDArray[np.int64], slots: Ints) -> Floats:
    # Absent rows take the last place, which is absent, because the last node is the smallest. So each node has sum 0.
    sums = _running_sums(units.take(slots, mode="clip"), np.int64)
    squares = sums.astype(np.float64)
    squares *= squares
    return squares


def _running_sums(values: Array, dtype: Any) -> Array:
    """Return sums over all nodes of each column: where nodes are small, this takes a fraction of the time."""
    return np.cumsum(values.reshape(len(values), -1), axis=1, dtype=dtype).reshape(values.shape)


def _count(rows: Mask) -> Ints:
    return rows.sum(axis=1, keepdims=True)


def _low(numbers: Ints, absent: Mask, ranks: Array) -> Array:
    """Return numbers as the low halves of codes; absent rows have all bits, and come last whatever their rank."""
    dtype = np.dtype(f"u{2 * ranks.itemsize}")
    return np.where(absent, np.iinfo(dtype).max, numbers).astype(dtype)


def _in_order(ranks: Array, low: Array) -> Array:
    """Return codes of ranks of shape (n_columns, n_nodes, width), ascending within each node."""
    codes = ranks.astype(low.dtype, order="C")
    codes <<= 8 * ranks.itemsize
    codes |= low
    codes.sort(axis=2)
    return codes


def _places(codes: Array) -> Ints:
    """Return the low halves of some codes."""
    low = codes.dtype.type(2 ** (4 * codes.itemsize) - 1)
    return np.bitwise_and(codes, low, out=np.empty(codes.shape, dtype=np.intp))


def ranks_of(codes: Array) -> Array:
    """Return the ranks in some codes."""
    return codes >> 4 * codes.itemsize


def equal_to_next(codes: Array) -> Mask:
    """Return where a rank equals the next one; behind the last of a node, that is the first of another."""
    ranks = ranks_of(codes).reshape(-1)
    equal = np.zeros(codes.shape, dtype=bool)
    np.equal(ranks[:-1], ranks[1:], out=equal.reshape(-1)[:-1])
    return equal
