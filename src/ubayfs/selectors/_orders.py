"""Rows in the order of columns: ranks and rows in one whole number, which is sorted faster than floats are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._arguments import Array, Ints, Mask
from ..data.matrix import feature_chunks
from .threads import each_block

# Entries (slots times columns) of one pass, so that its temporary arrays stay in the cache.
_PASS_ENTRIES = 2**16

# Columns whose ranks are written together at least: a part of a row is a part of the cache then.
_WRITTEN_COLUMNS = 16


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


def column_ranks(X: Array) -> Array:
    """Return how many different values of its column are lower than each value, of the shape of `X`.

    Rows are contiguous: where some of them are read, far more memory is read otherwise.

    Examples
    --------
    >>> column_ranks(np.array([[1e9 + 1, 0.5], [1e9, 0.5], [1e9 + 2, -1e-9]]))
    array([[1, 1],
           [0, 1],
           [2, 0]], dtype=uint16)
    """
    n_samples, n_features = X.shape
    ranks = np.empty(X.shape, dtype=np.uint16 if n_samples < 2**16 else np.uint32)

    def rank(part: slice) -> None:
        columns = np.ascontiguousarray(X[:, part].T)
        rows = np.argsort(columns, axis=1)
        ascending = np.take_along_axis(columns, rows, axis=1)
        lower = np.zeros(columns.shape, dtype=ranks.dtype)
        np.cumsum(ascending[:, 1:] != ascending[:, :-1], axis=1, out=lower[:, 1:])
        own = np.empty_like(lower)
        np.put_along_axis(own, rows, lower, axis=1)
        ranks[:, part] = own.T

    each_block(rank, feature_chunks(n_features, max(_PASS_ENTRIES // n_samples, _WRITTEN_COLUMNS)))
    return ranks


def in_order(ranks: Array, low: Array) -> Array:
    """Return codes of ranks of shape (n_columns, n_nodes, width) in ascending order within each node.

    `low`, of shape (n_nodes, width) and the type of the codes, goes into their low halves. Where it has all bits, the
    rank does not matter, and the code comes last.
    """
    codes = ranks.astype(low.dtype, order="C")
    codes <<= low_bits(ranks)
    codes |= low
    codes.sort(axis=2)
    return codes


def ranks_of(codes: Array) -> Array:
    """Return the ranks in some codes."""
    return codes >> _slot_bits(codes)


def slots_of(codes: Array, out: Ints | None = None) -> Ints:
    """Return the slots (or rows) in some codes."""
    slots = np.empty(codes.shape, dtype=np.intp) if out is None else out
    return np.bitwise_and(codes, codes.dtype.type(2 ** _slot_bits(codes) - 1), out=slots)


def equal_to_next(codes: Array) -> Mask:
    """Tell where the value of a slot equals that of the next one in its row of `codes`; false in the last column."""
    ranks = ranks_of(codes)
    equal = np.zeros(codes.shape, dtype=bool)
    np.equal(ranks[..., :-1], ranks[..., 1:], out=equal[..., :-1])
    return equal


def code_type(ranks: Array) -> np.dtype[Any]:
    """Return the type of codes of some ranks."""
    return np.dtype(f"u{2 * ranks.itemsize}")


def low_bits(ranks: Array) -> int:
    """Return how many bits of a code are not the rank."""
    return 8 * ranks.itemsize


def _slot_bits(codes: Array) -> int:
    return 4 * codes.itemsize


def _code_type(n_samples: int) -> np.dtype[Any]:
    return np.dtype(np.uint32 if n_samples <= 2**16 else np.uint64)


def _passes(n_features: int, n_slots: int) -> Iterator[slice]:
    return feature_chunks(n_features, max(_PASS_ENTRIES // n_slots, 1))
