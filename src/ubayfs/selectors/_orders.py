"""The rows of many subsamples in the order of every column: each column is sorted once, whatever the subsamples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arguments import Array, Ints, Mask
from ..data.feature_data import feature_chunks

# Entries (slots times columns) of one pass, so that its temporary arrays stay in the cache.
_PASS_ENTRIES = 2**16


def sorted_columns(X: Array) -> Array:
    """Return the rows in the order of each column, with their ranks among the different values of the column.

    These codes have shape (n_features, n_samples): rank in the high half of the bits, row in the low half.

    Examples
    --------
    >>> codes = sorted_columns(np.array([[1e9 + 1, 0.5], [1e9, 0.5], [1e9 + 2, -1e-9]]))
    >>> codes >> 16
    array([[0, 1, 2],
           [0, 1, 1]], dtype=uint32)
    >>> codes[0] & 0xFFFF
    array([1, 0, 2], dtype=uint32)
    """
    n_samples, n_features = X.shape
    codes = np.empty((n_features, n_samples), dtype=_code_type(n_samples))
    for part in _passes(*codes.shape):
        columns = np.ascontiguousarray(X[:, part].T)
        rows = np.argsort(columns, axis=1)
        ascending = np.take_along_axis(columns, rows, axis=1)
        ranks = codes[part]
        ranks[:, 0] = 0
        np.cumsum(ascending[:, 1:] != ascending[:, :-1], axis=1, out=ranks[:, 1:])
        ranks <<= _slot_bits(codes)
        ranks |= rows.astype(codes.dtype)
    return codes


def most_subsamples(n_samples: int) -> int:
    """Return how many subsamples fit into one :class:`Orders`, which numbers their rows in half a word."""
    return int(2 ** (4 * _code_type(n_samples).itemsize) // n_samples)


class Orders:
    """Slots in the order of every column, within nodes that follow each other; at first every subsample is a node.

    A slot is a row of a subsample: number of the subsample * n_samples + row. There are at most
    ``most_subsamples(n_samples)``. `columns` is ``sorted_columns(X)``; None sorts a few columns at a time, in less
    memory. The attribute `codes`, of shape (n_features, n_slots), has the rank of the value in the high half of the
    bits and the slot in the low half.
    """

    def __init__(self, X: Array, subsamples: Mask, columns: Array | None = None) -> None:
        n_samples, n_features = X.shape
        ends = np.cumsum(subsamples.sum(axis=1))
        self.codes = np.empty((n_features, ends[-1]), dtype=_code_type(n_samples))
        self._memory = self.codes.reshape(-1)
        for part in _passes(n_features, n_samples):
            codes = sorted_columns(X[:, part]) if columns is None else columns[part]
            rows = slots_of(codes)
            start = 0
            for number, (inside, end) in enumerate(zip(subsamples, ends, strict=True)):
                own = codes.take(np.flatnonzero(inside.take(rows))).reshape(len(codes), end - start)
                np.add(own, codes.dtype.type(number * n_samples), out=self.codes[part, start:end])
                start = end

    def passes(self) -> Iterator[slice]:
        """Yield slices of as many columns as one pass takes."""
        return _passes(*self.codes.shape)

    def pass_memory(self, n_arrays: int) -> NDArray[np.int64]:
        """Return memory for the temporary arrays of each pass, of shape (n_arrays, n_columns_of_a_pass, n_slots).

        Large arrays that are freed and made anew take more time than the work on them: the system clears their pages.
        """
        n_columns = next(self.passes()).stop
        return np.empty((n_arrays, n_columns, self.codes.shape[1]), dtype=np.int64)

    def part(self, sides: NDArray[np.int8]) -> None:
        """Keep the slots of side 1, then those of side 2, both in their present order; drop all others.

        `sides` has shape (n_subsamples * n_samples,), with 1 and 2 only for slots that are still here.
        """
        n_features = len(self.codes)
        n_left, n_right = np.count_nonzero(sides == 1), np.count_nonzero(sides == 2)
        # In the same memory: what is written lies before all that is still to be read.
        kept = self._memory[: n_features * (n_left + n_right)].reshape(n_features, n_left + n_right)
        memory = self.pass_memory(1)[0]
        side = np.empty(memory.shape, dtype=np.int8)
        for part in self.passes():
            codes = self.codes[part]
            side = side[: len(codes)]
            sides.take(slots_of(codes, memory[: len(codes)]), out=side, mode="clip")  # "clip" writes there directly
            left, right = (codes.take(np.flatnonzero(side == number)) for number in (1, 2))
            kept[part, :n_left] = left.reshape(len(codes), n_left)
            kept[part, n_left:] = right.reshape(len(codes), n_right)
        self.codes = kept


def slots_of(codes: Array, out: Ints | None = None) -> Ints:
    """Return the slots (or rows) in some codes."""
    slots = np.empty(codes.shape, dtype=np.intp) if out is None else out
    return np.bitwise_and(codes, codes.dtype.type(2 ** _slot_bits(codes) - 1), out=slots)


def equal_to_next(codes: Array) -> Mask:
    """Tell where the value of a slot equals that of the next one in its row of `codes`; false in the last column."""
    ranks = codes >> _slot_bits(codes)
    equal = np.zeros(codes.shape, dtype=bool)
    np.equal(ranks[:, :-1], ranks[:, 1:], out=equal[:, :-1])
    return equal


def _slot_bits(codes: Array) -> int:
    return 4 * codes.itemsize


def _code_type(n_samples: int) -> np.dtype[Any]:
    return np.dtype(np.uint32 if n_samples <= 2**16 else np.uint64)


def _passes(n_features: int, n_slots: int) -> Iterator[slice]:
    return feature_chunks(n_features, max(_PASS_ENTRIES // n_slots, 1))
