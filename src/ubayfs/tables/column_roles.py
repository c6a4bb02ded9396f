"""The roles of the columns of a table, inferred from their names and values for a person to correct."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .._arguments import did_you_mean
from .._plain import quoted
from ..data.blocks import members_by_prefix
from ..data.categories import MOST_LEVELS
from ..data.reading_rules import (
    GROUP_WORDS,
    ID_WORDS,
    SurvivalColumns,
    names_groups,
    repeats_values,
    target_columns,
    words,
)
from ..data.survival import EVENT_WORDS, TIME_WORDS, Survival
from ..exceptions import InputError, repr_of
from .columns import as_floats, holds_dates, holds_pairs, offending, other_columns, reads_as_number
from .layout import numbers_rows
from .table import Table

if TYPE_CHECKING:
    import pandas as pd

Target = str | SurvivalColumns | None

# Words in names of columns, the most telling first.
_TARGET_WORDS = (
    "target", "diagnosis", "class", "label", "outcome", "y", "response", "phenotype", "status", "condition", "disease",
    "subtype", "species", "group", "cls", "event", "survival", "case",
)  # fmt: skip
_COVARIATE_WORDS = frozenset({"age", "sex", "gender", "batch", "site", "center", "centre", "plate", "lane", "scanner",
                              "bmi", "smoker", "smoking", "ancestry", "ethnicity", "purity"})  # fmt: skip
_SEPARATORS = (":", "_", ".", "-", " ")

_FEW_VALUES = 20  # distinct values of a column of classes, at most
_MANY_CLASSES = 20  # whole numbers with more distinct values than this are a quantity
_MOST_BLOCKS = 50
_MOST_CANDIDATES = 5
_MOST_CODES = 10  # distinct whole numbers of a column that may code classes, such as 0 and 1

# Names of endpoints say neither time nor event: OS_MONTHS and OS_STATUS.
_ENDPOINTS = TIME_WORDS & EVENT_WORDS
# Units alone may be of an age, too.
_UNITS = frozenset({"day", "days", "month", "months", "year", "years"})
# Their codes may mean either: 1 is the event in some tables, the censoring in others.
_CENSORING = frozenset({"cens", "censor", "censored", "censoring"})
# A column with one of these words has classes to tell apart, also beside times and events; not months since diagnosis.
_CLASSES = frozenset({"target", "diagnosis", "class", "label", "outcome", "response", "phenotype"})
_QUANTITIES = frozenset({"age", "time", "date"}) | _UNITS


@dataclass(frozen=True)
class ColumnRoles:
    """What the columns of a table seem to be."""

    target: str | None  # None when no column seems to be one, or when several do that nothing tells apart
    candidates: tuple[str, ...]  # other columns that may be a target, the likeliest first
    task: str | None  # given where it would be inferred wrongly
    groups: str | None
    ignored: tuple[str, ...]  # identifiers, and columns of text that cannot be features
    features: tuple[str, ...]
    separator: str | None  # that splits names into a block and the rest
    n_missing: int  # empty cells among the features
    survival: SurvivalColumns | None = None  # time and event, if these are the target
    covariates: tuple[str, ...] = ()  # columns that are named like something to adjust for
    words: frozenset[str] = frozenset()  # columns of words

    @property
    def is_unsupervised(self) -> bool:
        """Whether no column seems to be a target."""
        return self.target is None and self.survival is None and not self.is_undecided

    @property
    def is_undecided(self) -> bool:
        """Whether a person has to choose the target: without one the classes would be features."""
        return self.target is None and self.survival is None and bool(self.candidates)


def infer_columns(table: Table, target: Target = None) -> ColumnRoles:
    """Infer the roles of the columns; a target that is given stays."""
    frame = table.frame
    columns = [str(name) for name in frame.columns]
    for name in target_columns(target):
        if name not in columns:
            hint = did_you_mean(name, columns) or f" The columns are {quoted(sorted(table.annotations) or columns)}."
            rule = f"must be a column of {table.path}; got {repr_of(name)}.{hint}{table.about_samples_sheet}"
            raise InputError.of("target", rule, name)
    possible = [name for name in columns if not table.annotations or name in table.annotations]
    survival, similar = infer_survival(table, possible) if target is None else (None, [])
    if isinstance(target, SurvivalColumns):
        survival, target = target, None
    taken = {*target_columns(survival), *target_columns(target)}
    text = {name for j in other_columns(frame) if _is_text(frame[name := columns[j]], table.decimal_of(name))}
    ids = {name for name in columns if name not in taken and _is_id(name, frame, name in text, table.decimal_of(name))}
    candidates = [name for name in _targets(frame, columns, text, table.annotations) if name not in ids]
    codes = [name for name in _coded(frame, columns, table.annotations) if name not in ids and name not in candidates]
    if survival is not None:
        candidates, codes = [], []
    elif target is None and candidates:
        target = candidates[0]
    elif target is None and len(codes) == 1:  # the only column of classes
        target = codes[0]
    candidates += codes
    groups = next((name for name in columns if name not in ids | taken | {target} and _is_groups(name, frame)), None)
    roles = {target, groups, *taken, *table.annotations}
    useless = {name for name in text if not _is_category(name, frame[name])}
    ignored = tuple(name for name in columns if name not in roles and name in ids | useless | set(similar))
    remaining = [name for name in columns if name not in roles and name not in ignored]
    features = tuple(sorted(remaining, key=text.__contains__))  # numbers first: they serve as examples
    return ColumnRoles(
        target,
        tuple(name for name in candidates if name not in (target, groups))[:_MOST_CANDIDATES],
        None if target is None or target in text else _task(frame[target]),
        groups,
        ignored,
        features,
        _separator(features),
        int(frame[list(features)].isna().to_numpy().sum()),
        survival,
        tuple(name for name in possible if _COVARIATE_WORDS & {*words(name)} and name not in {target, groups, *taken}),
        frozenset(text),
    )


def _is_text(column: pd.Series, decimal: str | None) -> bool:
    """Return whether a column holds words; a few wrong cells among numbers are a mistake."""
    bad = offending(column, decimal)
    return 2 * int(bad.sum()) > int(column.notna().sum()) and (
        holds_pairs(column) or not all(map(reads_as_number, column[bad]))
    )


def _is_category(name: str, column: pd.Series) -> bool:
    """Return whether words may be a feature: a few levels, but no target; another outcome would reveal the answer."""
    is_coded = holds_dates(column) or holds_pairs(column)
    return column.nunique() <= MOST_LEVELS and not is_coded and set(words(name)).isdisjoint(_TARGET_WORDS)


def _is_id(name: str, frame: pd.DataFrame, text: bool, decimal: str | None) -> bool:
    if text:
        return bool(frame[name].is_unique)
    return not ID_WORDS.isdisjoint(words(name)) and numbers_rows(frame[name], decimal)


def _is_groups(name: str, frame: pd.DataFrame) -> bool:
    column = frame[name]
    return bool(names_groups([name])) and not column.isna().any() and repeats_values(column.nunique(), len(column))


def _targets(frame: pd.DataFrame, columns: Sequence[str], text: set[str], annotations: frozenset[str]) -> list[str]:
    """Return columns that may be the target, the likeliest first."""
    ranked = []
    for position, name in enumerate(columns):
        parts = words(name)
        # "y" is a word of its own only; "group" and its like may be part of a name.
        ranks = [rank for rank, word in enumerate(_TARGET_WORDS) if word in parts and (word != "y" or len(parts) == 1)]
        has_classes = (name in text or name in annotations) and GROUP_WORDS.isdisjoint(parts)
        if not ranks and not has_classes:
            continue
        n_values, complete = frame[name].nunique(), not frame[name].isna().any()
        few = 2 <= n_values <= min(_FEW_VALUES, len(frame) / 3)
        if n_values < 2 or not (few or (ranks and name not in text)):
            continue
        whole_name = bool(ranks) and len(parts) == 1
        ranked.append((not complete, not ranks, not whole_name, not few, min(ranks, default=0), position, name))
    return [entry[-1] for entry in sorted(ranked)]


def _coded(frame: pd.DataFrame, columns: Sequence[str], annotations: frozenset[str]) -> list[str]:
    """Return columns of a few whole numbers, which may be classes: first with the fewest values, then from the end."""
    ranked = []
    for position, (name, (_, column)) in enumerate(zip(columns, frame.items(), strict=True)):
        # AnnData keeps the descriptions of samples apart; all other columns are measurements there.
        if (annotations and name not in annotations) or column.dtype.kind not in "biuf":
            continue
        if not GROUP_WORDS.isdisjoint(words(name)):
            continue
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        if not (values % 1 == 0).all():
            continue
        values, counts = np.unique(values, return_counts=True)
        if 2 <= len(values) <= min(_MOST_CODES, len(column) / 3) and counts.min() > 1:
            ranked.append((len(values), -position, name))
    return [name for _, _, name in sorted(ranked)]


def _task(column: pd.Series) -> str | None:
    values = column.dropna().to_numpy()
    if values.dtype.kind not in "iuf" or len(np.unique(values)) <= _MANY_CLASSES:
        return None
    return "regression" if (values == np.floor(values)).all() else None


def _separator(features: Sequence[str]) -> str | None:
    """Return the separator whose prefixes make a few blocks of two or more that hold most features.

    Blocks of one feature do not count: names such as "radius error" merely have a space in them.
    """
    covered = {}
    for separator in _SEPARATORS:
        sizes = [len(members) for members in members_by_prefix(features, separator).values()]
        shared = [size for size in sizes if size > 1]
        if 2 <= len(sizes) <= _MOST_BLOCKS and 5 * len(shared) >= 4 * len(sizes) and 2 * sum(shared) > len(features):
            covered[separator] = sum(shared)
    return max(covered, key=covered.__getitem__, default=None)


# -- survival ----------------------------------------------------------------------------------------------------------


def infer_survival(table: Table, columns: Sequence[str]) -> tuple[SurvivalColumns | None, list[str]]:
    """Return time and event, None if no columns seem to be that, and further columns of that kind.

    As features these would reveal the answer.
    """
    named = {name: set(words(name)) for name in columns}
    if any(parts & _CLASSES and parts.isdisjoint(_QUANTITIES) for parts in named.values()):
        return None, []
    events = [name for name, parts in named.items() if parts & (EVENT_WORDS - _ENDPOINTS | _CENSORING)]
    times = [name for name, parts in named.items() if parts & (TIME_WORDS - _UNITS) and name not in events]
    pairs = [(len(named[time] & named[event]), time, event) for event in events for time in times]
    for _, time, event in sorted(pairs, key=lambda pair: -pair[0]):
        if n_events(table, time, event) > 0:
            further = [name for name in (*times, *events) if name not in (time, event)]
            return SurvivalColumns(time=time, event=event), further
    return None, []


def is_censoring(event: str) -> bool:
    """Return whether the name of a column leaves open which of its values is the event."""
    return not _CENSORING.isdisjoint(words(event))


def n_events(table: Table, time: str, event: str) -> int:
    """Return the number of events of the samples that have both; 0 if the columns are something else."""
    complete = table.frame[[time, event]].dropna()
    times = as_floats(complete[time], table.decimal_of(time))
    if len(set(times.tolist())) <= 2:
        return 0
    try:
        return int(Survival(times, complete[event].to_numpy()).event.sum())
    except InputError:
        return 0
