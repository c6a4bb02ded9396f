"""Twins: features with the same values in all samples, which no model can tell apart."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._arguments import Array
from .._plain import listing
from ..exceptions import Advice

# Entries of the blocks of columns that are hashed; bounds memory only.
_BLOCK_ENTRIES = 1 << 18
_SHOWN = 3  # groups that a sentence names


def twins(X: Array, low: Array, high: Array) -> list[list[int]]:
    """Return the groups of equal columns, each in ascending order; missing values equal each other.

    Constant columns, which are never selected, are in no group.

    Parameters
    ----------
    X : array of float of shape (n_samples, n_features), or SparseColumns
    low, high : ndarray of shape (n_features,)
        Smallest and largest value of each column.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0, 1.0, 4.0], [3.0, 3.0, 3.0, 4.0]])
    >>> twins(X, X.min(axis=0), X.max(axis=0))
    [[0, 2]]
    """
    columns = np.flatnonzero(low < high)
    # Smallest and largest value tell nearly all columns of measurements apart; both make one complex number.
    spans = np.column_stack([low, high]).astype(np.float64).view(np.complex128)[:, 0]
    columns = columns[_repeated(spans[columns])]
    factors = np.random.default_rng(0).integers(2**64, size=len(X), dtype=np.uint64) | np.uint64(1)
    hashes, step = np.empty(len(columns), dtype=np.uint64), max(1, _BLOCK_ENTRIES // len(X))
    for start in range(0, len(columns), step):
        bits = _bits(X[:, columns[start : start + step]])
        # Numbers such as 0 and 1 differ in their highest bits only, which a product would lose.
        hashes[start : start + step] = np.einsum("i,ij->j", factors, bits ^ (bits >> np.uint64(32)))
    suspects = np.flatnonzero(_repeated(hashes))
    suspects = suspects[np.argsort(hashes[suspects], kind="stable")]
    found: list[list[int]] = []
    for alike in np.split(columns[suspects], np.flatnonzero(np.diff(hashes[suspects])) + 1):
        equal: dict[bytes, list[int]] = {}
        for column in alike.tolist():
            equal.setdefault(_bits(X[:, column]).tobytes(), []).append(column)
        found += [group for group in equal.values() if len(group) > 1]
    return sorted(found)


def _repeated(keys: Array) -> NDArray[np.bool_]:
    """Return which entries occur more than once."""
    _, position, times = np.unique(keys, return_inverse=True, return_counts=True)
    return np.asarray(times[position] > 1)


def _bits(values: Array) -> NDArray[np.uint64]:
    """Return values as whole numbers that are equal where the values are: one zero, one missing value."""
    values = values + values.dtype.type(0)
    values[np.isnan(values)] = np.nan
    return values.view(f"u{values.itemsize}").astype(np.uint64)


def twin_advice(X: Array, low: Array, high: Array, names: Array) -> tuple[Advice, ...]:
    """Return advice that names all groups, if there are any; see :func:`twins`."""
    groups = [[str(names[column]) for column in group] for group in twins(X, low, high)]
    if not groups:
        return ()
    shown = "; ".join(listing(group, 4) for group in groups[:_SHOWN])
    if len(groups) > _SHOWN:
        n_more = len(groups) - _SHOWN
        shown += f"; and {n_more:,} more group{'s' * (n_more > 1)}"
    facts = {"n_features": sum(map(len, groups)), "n_groups": len(groups), "groups": groups, "shown": shown}
    return (Advice("twins", facts),)
