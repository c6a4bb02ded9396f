"""Advice on data: identical features, features with one outlying value, classes and events that are too few."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arguments import Array, Floats
from .._plain import counted, listing
from ..exceptions import Advice
from .matrix import feature_chunks
from .survival import FEW_EVENTS
from .target import Target

# Entries of the blocks of columns that are hashed; bounds memory only.
_HASHED_ENTRIES = 1 << 18
_SHOWN = 3  # groups, or columns, that a sentence names


def identical_columns(X: Array, low: Array, high: Array) -> list[list[int]]:
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
    >>> identical_columns(X, X.min(axis=0), X.max(axis=0))
    [[0, 2]]
    """
    columns = np.flatnonzero(low < high)
    # Smallest and largest value tell nearly all columns of measurements apart; both make one complex number.
    spans = np.column_stack([low, high]).astype(np.float64).view(np.complex128)[:, 0]
    columns = columns[_repeated(spans[columns])]
    factors = np.random.default_rng(0).integers(2**64, size=len(X), dtype=np.uint64) | np.uint64(1)
    hashes = np.empty(len(columns), dtype=np.uint64)
    for part in feature_chunks(len(columns), max(1, _HASHED_ENTRIES // len(X))):
        bits = value_bits(X[:, columns[part]])
        # Numbers such as 0 and 1 differ in their highest bits only, which a product would lose.
        hashes[part] = np.einsum("i,ij->j", factors, bits ^ (bits >> np.uint64(32)))
    candidates = np.flatnonzero(_repeated(hashes))
    candidates = candidates[np.argsort(hashes[candidates], kind="stable")]
    groups: list[list[int]] = []
    for same_hash in np.split(columns[candidates], np.flatnonzero(np.diff(hashes[candidates])) + 1):
        equal: dict[bytes, list[int]] = {}
        for column in same_hash.tolist():
            equal.setdefault(value_bits(X[:, column]).tobytes(), []).append(column)
        groups += [group for group in equal.values() if len(group) > 1]
    return sorted(groups)


def _repeated(keys: Array) -> NDArray[np.bool_]:
    """Return which entries occur more than once."""
    _, position, times = np.unique(keys, return_inverse=True, return_counts=True)
    return np.asarray(times[position] > 1)


def value_bits(values: Array) -> NDArray[np.uint64]:
    """Return values as whole numbers that are equal where the values are: one zero, one missing value."""
    values = values + values.dtype.type(0)
    values[np.isnan(values)] = np.nan
    return values.view(f"u{values.itemsize}").astype(np.uint64)


def identical_advice(X: Array, low: Array, high: Array, names: Array) -> tuple[Advice, ...]:
    """Return advice that names all groups, if there are any; see :func:`identical_columns`."""
    groups = [[str(names[column]) for column in group] for group in identical_columns(X, low, high)]
    if not groups:
        return ()
    return (Advice("identical_features", {"n_features": sum(map(len, groups)), **group_facts(groups)}),)


def group_facts(groups: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Return what advice on groups of equal things says of them.

    >>> group_facts([["a", "b"], ["c", "d", "e"]])["shown"]
    'a and b; c, d and e'
    """
    shown = [listing(group, 4) for group in groups[:_SHOWN]]
    more = [f"and {counted(len(groups) - _SHOWN, 'more group')}"] * (len(groups) > _SHOWN)
    return {"n_groups": len(groups), "groups": groups, "shown": "; ".join(shown + more)}


# How often the range of the others must fit between them and the value. Heavy tails of ordinary measurements reach 100
# at times; numbers such as -99 and 9999 are suspicious earlier.
_FAR = 1000.0
_FAR_FOR_NINES = 10.0

# A row of every so many is looked at first: nearly all columns have an entry there which shows that they are ordinary.
_PROBED_ROWS = 32

# Entries of a block of columns; bounds memory only.
_PROBED_ENTRIES = 1 << 20

# Columns that advice lists.
_LISTED = 100


@dataclass(frozen=True)
class OutlyingValue:
    """A value far from all others of its column."""

    column: int
    value: float
    n_samples: int  # that have it; at most half of all
    low: float  # of the others, which are not all the same
    high: float


def outlying_values(X: Array, low: Array, high: Array) -> Iterator[OutlyingValue]:
    """Find them; `low` and `high`, of shape (n_features,), are the extremes of the columns.

    Examples
    --------
    >>> X = np.array([[1.0, 3.0], [2.5, 1e18], [0.5, 2.0], [7.0, 19.0]])
    >>> list(outlying_values(X, X.min(axis=0), X.max(axis=0)))
    [OutlyingValue(column=1, value=1e+18, n_samples=1, low=2.0, high=19.0)]
    """
    columns = np.flatnonzero(low < high)
    step = max(1, min(256, _PROBED_ENTRIES // len(X)))
    # Nothing but the value lies in the middle, nor within one eleventh of the extreme that it is not near to.
    for rows in (slice(None, None, -(-len(X) // _PROBED_ROWS)), slice(None)):
        bottom, top = _quarter(low[columns]), _quarter(high[columns])
        margin = (top - bottom) / (_FAR_FOR_NINES + 1)
        ordinary = np.zeros(len(columns), dtype=bool)
        for part in feature_chunks(len(columns), step):
            x = _quarter(X[rows, columns[part]])
            ordinary[part] = ((x > bottom[part] + margin[part]) & (x < top[part] - margin[part])).any(axis=0)
            if rows == slice(None):  # where there are two values, the others are all the same
                ordinary[part] |= ~((x > bottom[part]) & (x < top[part])).any(axis=0)
        columns = columns[~ordinary]
    for column in columns.tolist():
        x = X[:, column].astype(np.float64)
        x = x[~np.isnan(x)]
        for value in (float(high[column]), float(low[column])):
            others = x[x != value]
            outlier = OutlyingValue(column, value, len(x) - len(others), float(others.min()), float(others.max()))
            if _is_far(outlier, len(x)):
                yield outlier
                break


def _quarter(values: Array) -> Floats:
    """Return values as doubles that can be subtracted from each other, however large they are."""
    return values.astype(np.float64) / 4


def _is_far(outlier: OutlyingValue, n_samples: int) -> bool:
    value, low, high = outlier.value / 4, outlier.low / 4, outlier.high / 4
    nines = abs(outlier.value) < 1e15 and f"{abs(outlier.value):.12g}".strip("9") == "" and abs(outlier.value) > 9
    distance = low - value if value < low else value - high
    far = _FAR_FOR_NINES if nines else _FAR
    return high > low and distance / far >= high - low and 2 * outlier.n_samples <= n_samples


def outlier_advice(X: Array, low: Array, high: Array, names: Array) -> tuple[Advice, ...]:
    """Return advice that names the columns, of which `low` and `high` are the extremes, if there are any."""
    outliers = list(outlying_values(X, low, high))
    if not outliers:
        return ()
    listed = outliers[:_LISTED]
    facts = {
        "n_features": len(outliers),
        "features": [str(names[outlier.column]) for outlier in listed],
        "values": [outlier.value for outlier in listed],
        "n_samples": [outlier.n_samples for outlier in listed],
        "others_low": [outlier.low for outlier in listed],
        "others_high": [outlier.high for outlier in listed],
    }
    sentences = [
        f"{str(names[outlier.column])!r}: {outlier.value:.10g} in {counted(outlier.n_samples, 'sample')}, the others "
        f"from {outlier.low:g} to {outlier.high:g}"
        for outlier in listed[:_SHOWN]
    ]
    more = [f"and {len(outliers) - _SHOWN:,} more"] * (len(outliers) > _SHOWN)
    return (Advice("outlying_values", {**facts, "shown": "; ".join(sentences + more)}),)


# Samples per class below which votes rest on chance; a run sees three quarters of them.
_FEW_SAMPLES = 5
# Where there are so many classes with fewer samples each, on average, than this, labels are names or measurements.
_MANY_CLASSES, _SAMPLES_PER_CLASS = 5, 3


def folded_label(label: str) -> str:
    """Return a label as it is compared: without upper case, outer blanks and repeated ones.

    >>> folded_label(" Tumor  tissue")
    'tumor tissue'
    """
    return " ".join(label.casefold().split())


def class_advice(target: Target) -> tuple[Advice, ...]:
    """Return advice on labels that are alike, many classes for so few samples, and few samples of a class or events.

    Examples
    --------
    >>> from ubayfs.data.target import read_target
    >>> [dict(advice.facts) for advice in class_advice(read_target(list("aaaaaabbb"), 9, None))]
    [{'least': 5, 'classes': ['b'], 'n_samples': [3], 'shown': ['b (3)']}]
    """
    counts = target.class_counts
    if target.task == "survival":
        return _event_advice(target)
    alike = _alike([label for label, _ in counts])
    n_samples = 0 if target.values is None else len(target.values)
    if target.n_classes >= _MANY_CLASSES and _SAMPLES_PER_CLASS * target.n_classes > n_samples:
        return (*alike, Advice("many_classes", {"n_classes": target.n_classes, "n_samples": n_samples}))
    few = [(label, n) for label, n in counts if n < _FEW_SAMPLES]
    if not few:
        return alike
    facts = {
        "least": _FEW_SAMPLES,
        "classes": [label for label, _ in few],
        "n_samples": [n for _, n in few],
        "shown": [f"{label} ({n})" for label, n in few],
    }
    return (*alike, Advice("few_samples_per_class", facts))


def _alike(labels: list[str]) -> tuple[Advice, ...]:
    spellings: dict[str, list[str]] = {}
    for label in labels:
        spellings.setdefault(folded_label(label), []).append(label)
    several = [" = ".join(map(repr, alike)) for alike in spellings.values() if len(alike) > 1]
    return (Advice("labels_alike", {"labels": several}),) if several else ()


def _event_advice(target: Target) -> tuple[Advice, ...]:
    """Return advice on few events, and on how events were recognized where that is not plain."""
    n_events = int(target.event.sum())
    labels = [] if target.classes is None else [str(label) for label in target.classes]
    notes = [Advice("few_events", {"n_events": n_events, "least": FEW_EVENTS})] if n_events < FEW_EVENTS else []
    if labels[1:] and labels[1] not in ("True", "1", "1.0", "event"):
        notes.append(Advice("event_coded", {"event": labels[1], "censored": labels[0], "n_events": n_events}))
    return tuple(notes)
