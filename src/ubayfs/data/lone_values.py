"""Columns whose spread is that of one value, far away from all others: most often a code for missing values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .._arguments import Array, Floats
from ..exceptions import Advice

# How often the range of the others must fit between them and the value. Heavy tails of ordinary measurements reach 100
# at times; numbers such as -99 and 9999 are suspicious earlier.
_FAR = 1000.0
_FAR_FOR_NINES = 10.0

# A row of every so many is looked at first: nearly all columns have an entry there that acquits them.
_PROBED_ROWS = 32

# Entries of a block of columns; bounds memory only.
_BLOCK_ENTRIES = 1 << 20

# Columns that advice lists, and that its sentence names.
_LISTED, _SHOWN = 100, 3


@dataclass(frozen=True)
class LoneValue:
    """A value far from all others of its column.

    Attributes
    ----------
    column : int
    value : float
    n_samples : int
        How many samples have it; at most half of them.
    low, high : float
        Smallest and largest of the others, which are not all the same.
    """

    column: int
    value: float
    n_samples: int
    low: float
    high: float


def lone_values(X: Array, low: Array, high: Array) -> Iterator[LoneValue]:
    """Find them; `low` and `high`, of shape (n_features,), are the extremes of the columns.

    Examples
    --------
    >>> X = np.array([[1.0, 3.0], [2.5, 1e18], [0.5, 2.0], [7.0, 19.0]])
    >>> list(lone_values(X, X.min(axis=0), X.max(axis=0)))
    [LoneValue(column=1, value=1e+18, n_samples=1, low=2.0, high=19.0)]
    """
    columns = np.flatnonzero(low < high)
    step = max(1, min(256, _BLOCK_ENTRIES // len(X)))
    # Nothing but the value lies in the middle, nor within one eleventh of the extreme that it is not near to.
    for rows in (slice(None, None, -(-len(X) // _PROBED_ROWS)), slice(None)):
        bottom, top = _quarter(low[columns]), _quarter(high[columns])
        margin = (top - bottom) / (_FAR_FOR_NINES + 1)
        acquitted = np.zeros(len(columns), dtype=bool)
        for start in range(0, len(columns), step):
            part = slice(start, start + step)
            x = _quarter(X[rows, columns[part]])
            acquitted[part] = ((x > bottom[part] + margin[part]) & (x < top[part] - margin[part])).any(axis=0)
        columns = columns[~acquitted]
    for column in columns.tolist():
        x = X[:, column].astype(np.float64)
        x = x[~np.isnan(x)]
        for value in (float(high[column]), float(low[column])):
            others = x[x != value]
            found = LoneValue(column, value, len(x) - len(others), float(others.min()), float(others.max()))
            if _is_far(found, len(x)):
                yield found
                break


def _quarter(values: Array) -> Floats:
    """Return values as doubles that can be subtracted from each other, however large they are."""
    return values.astype(np.float64) / 4


def _is_far(found: LoneValue, n_samples: int) -> bool:
    value, low, high = found.value / 4, found.low / 4, found.high / 4
    nines = abs(found.value) < 1e15 and f"{abs(found.value):.12g}".strip("9") == "" and abs(found.value) > 9
    distance = low - value if value < low else value - high
    far = _FAR_FOR_NINES if nines else _FAR
    return high > low and distance / far >= high - low and 2 * found.n_samples <= n_samples


def lone_value_advice(X: Array, low: Array, high: Array, names: Array) -> tuple[Advice, ...]:
    """Return advice that names the columns, of which `low` and `high` are the extremes, if there are any."""
    found = list(lone_values(X, low, high))
    if not found:
        return ()
    listed = found[:_LISTED]
    facts = {
        "n_features": len(found),
        "features": [str(names[lone.column]) for lone in listed],
        "values": [lone.value for lone in listed],
        "n_samples": [lone.n_samples for lone in listed],
        "others_low": [lone.low for lone in listed],
        "others_high": [lone.high for lone in listed],
    }
    sentences = [
        f"{str(names[lone.column])!r}: {lone.value:.10g} in {lone.n_samples:,} sample{'s' * (lone.n_samples > 1)}, the "
        f"others from {lone.low:g} to {lone.high:g}"
        for lone in listed[:_SHOWN]
    ]
    more = [f"and {len(found) - _SHOWN:,} more"] * (len(found) > _SHOWN)
    return (Advice("lone_values", {**facts, "shown": "; ".join(sentences + more)}),)
