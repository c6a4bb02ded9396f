"""What may be chosen about how files are read; apart from the readers, which need pandas."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from .._arguments import check_names
from ..exceptions import InputError, repr_of

FEATURES_IN = ("columns", "rows")
KEEP_RULES = ("all", "any")
# What may be done about a feature name that occurs several times, and about values below detection.
DUPLICATE_RULES = ("error", "first", "mean", "max_variance", "suffix")
DETECTION_RULES = ("half", "missing", "limit")
# How feature names that look like dates may be taken.
FEATURES_AS = ("as_is",)

# Words in names of columns that number samples, or that say whose they are.
ID_WORDS = frozenset(
    {"id", "identifier", "name", "sample", "barcode", "accession", "index", "number", "nr", "no", "uid", "uuid", "key"}
)
GROUP_WORDS = frozenset(
    {"patient", "subject", "mouse", "animal", "donor", "individual", "participant", "person", "rat", "litter", "cage"}
)
_FEWEST_GROUPS = 4


def words(name: str) -> list[str]:
    """Return the words in a name.

    >>> words("patientID"), words("Sample_name")
    (['patient', 'id'], ['sample', 'name'])
    """
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+", name)]


def names_groups(names: Iterable[str]) -> list[int]:
    """Return the positions of the names that say patient, mouse, ..., and nothing but that or what is said of ids.

    >>> names_groups(["patientID", "mouse 2", "patient_age", "sample"])
    [0, 1]
    """
    names = [str(name) for name in names]
    letters = "\n".join(names).lower()
    if not any(word in letters for word in GROUP_WORDS):  # as of nearly all tables
        return []
    usual_words = GROUP_WORDS | ID_WORDS
    return [
        position
        for position, parts in enumerate(map(words, names))
        if not GROUP_WORDS.isdisjoint(parts) and all(word in usual_words or word.isdigit() for word in parts)
    ]


def repeats_values(n_values: int, n_samples: int) -> bool:
    """Return whether values may say whose the samples are: several, of which one occurs repeatedly."""
    return _FEWEST_GROUPS <= n_values < n_samples


class SurvivalColumns(dict[str, str]):
    """The columns of a survival target by their parts, time and event; as text ``time=days, event=status``."""

    def __str__(self) -> str:
        return ", ".join(f"{part}={column}" for part, column in self.items())

    @classmethod
    def from_mapping(cls, name: str, columns: Mapping[str, Any]) -> SurvivalColumns:
        """Check that both parts are there, and no other."""
        parts = {str(part).strip(): column for part, column in columns.items()}
        listed = ", ".join(parts)
        if set(parts) & {"entry", "start", "stop"}:
            rule = f"must have a time and an event; got {listed}. Delayed entry (left truncation) is not supported."
        elif set(parts) & {"lower", "upper", "left", "right"}:
            rule = f"must have a time and an event; got {listed}. Interval censoring is not supported."
        elif set(parts) != {"time", "event"} or not all(isinstance(c, str) and c.strip() for c in parts.values()):
            rule = f"must be {{time: COLUMN, event: COLUMN}} for survival; got {repr_of(dict(columns))}."
        else:
            return cls(time=parts["time"].strip(), event=parts["event"].strip())
        raise InputError.of(name, rule, columns)


def as_target(name: str, columns: Any) -> str | tuple[str, ...] | SurvivalColumns:
    """Return the column of a target, several of a multi-label one, or time and event of survival.

    >>> as_target("target", ["time=days", "event=status"])
    {'time': 'days', 'event': 'status'}
    """
    if isinstance(columns, Mapping):
        return SurvivalColumns.from_mapping(name, columns)
    listed = columns.split(",") if isinstance(columns, str) and columns.startswith("time=") else columns
    listed = check_names(name, listed)
    if not listed:
        raise InputError.of(name, "must name a column; got none.", columns)
    parts = [column.strip().partition("=") for column in listed]
    if len(parts) > 1 and {part for part, equals, _ in parts if equals} & {"time", "event"}:
        return SurvivalColumns.from_mapping(name, {part: column for part, _, column in parts})
    return listed[0] if len(listed) == 1 else listed


def target_columns(target: str | Iterable[str] | None) -> list[str]:
    """Return the names of all columns of a target."""
    if isinstance(target, Mapping):
        return list(target.values())
    return [target] if isinstance(target, str) else list(target or ())


def check_orders(name: str, orders: Any) -> dict[str, tuple[str, ...]]:
    """Return the labels of ordered scales by their columns, lowest first.

    >>> check_orders("ordered", {"grade": [1, 2, 3]})
    {'grade': ('1', '2', '3')}
    """
    if not isinstance(orders, Mapping) or not orders:
        rule = f"must map columns to lists of their labels, lowest first; got {repr_of(orders)}."
        raise InputError.of(name, rule, orders)
    read = {}
    for column, labels in orders.items():
        texts = read[str(column)] = tuple(map(str, labels)) if isinstance(labels, list | tuple) else ()
        if len(set(texts)) < max(len(texts), 2):
            rule = f"must give two or more different labels of {str(column)!r}, lowest first; got {repr_of(labels)}."
            raise InputError.of(name, rule, orders)
    return read


def default_keep(missing: str) -> str:
    """Return which samples of several files are used, unless that is given."""
    return "any" if isinstance(missing, str) and missing == "available" else "all"


def check_encoding(name: str, value: Any) -> str:
    """Return the name of an encoding of text that Python knows; base64, for instance, is not one of text."""
    try:
        "a".encode(value)
    except (LookupError, TypeError, ValueError) as error:
        rule = f"must be the name of an encoding, such as latin-1, cp1252 or utf-16; got {repr_of(value)}."
        raise InputError.of(name, rule, value) from error
    return str(value)
