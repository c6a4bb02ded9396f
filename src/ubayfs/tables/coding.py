"""Targets, covariates and categories made ready: labels in one spelling, samples without a value left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from .._arguments import Mask
from .._plain import quoted
from ..data.advice import folded_label
from ..data.categories import Levels, ReadCategory, category_notes
from ..data.reading_rules import SurvivalColumns, target_columns
from ..data.target import TASKS
from ..exceptions import Advice, ColumnTypeError, Problem
from . import columns as cells
from .layout import as_names
from .table import Table


def with_targets(table: Table, target: Any, task: str | None) -> Table:
    """Return the samples that have a target, with its labels in one spelling."""
    targets = [name for name in target_columns(target) if name in table.frame]
    labeled = targets if task is None or TASKS[task].labeled else []
    if isinstance(target, SurvivalColumns):
        labeled = [name for name in targets if name == target["event"]]
    gaps = np.any(table.frame[targets].isna(), axis=1)
    table = _without(table, gaps, "samples_without_target", {"column": quoted(targets)})
    for name in labeled:
        column, notes = _one_spelling(table, name)
        if column.dtype.kind == "f" and (gaps.any() or table.unit == "sample") and (column % 1 == 0).all():
            column = column.astype(np.int64)  # whole numbers that a gap, or text beside them, made floats of
        if not column.equals(table.frame[name]):
            table = table.with_columns({name: column}).noted(*notes)
    return table


def with_covariates(table: Table, names: Sequence[str]) -> Table:
    """Return the samples that have a value of every covariate.

    Text that is numbers becomes numbers; labels that differ only in case or blanks become one.
    """
    names = [name for name in names if name in table.frame]
    absent = table.frame[names].isna().to_numpy()
    lacking = [name for name, column in zip(names, absent.T, strict=True) if column.any()]
    gaps = np.any(absent, axis=1)
    table = _without(table, gaps, "samples_without_covariate", {"names": lacking})
    for name in names:
        column = table.frame[name]
        if cells.is_number_type(column.dtype):
            continue
        bad = cells.offending(column, table.decimal_of(name))
        if not bad.any():
            table = table.with_columns({name: cells.as_floats(column, table.decimal_of(name))})
        elif 2 * bad.sum() < column.notna().sum():
            table = table.noted(cells.mixed_problem(table, name, bad, "adjust_for"))
        else:
            column, notes = _one_spelling(table, name)
            table = table.with_columns({name: column}).noted(*notes)
    return table


def with_codes(
    table: Table, names: Sequence[str], ordered: Mapping[str, Sequence[str]], has_groups: bool
) -> tuple[Table, list[str], dict[str, Levels]]:
    """Return the table with codes in the columns of categories, the features that are left, and the levels."""
    categories: dict[str, ReadCategory] = {}
    wrong: set[str] = set()
    words = cells.word_columns(table, names)
    for name in [name for name in names if name in words or name in ordered]:
        column, notes = _one_spelling(table, name)
        table = table.noted(*notes)
        try:
            categories[name] = ReadCategory.from_column(f"column {name!r}", column, ordered.get(name))
        except ColumnTypeError as error:
            table = table.noted(Problem(str(error), ("ordered" if name in ordered else "ignore", name)))
            wrong.add(name)
    if categories:
        kinds = table.frame.dtypes.loc[[name for name in names if name not in categories]]
        # Codes beside numbers of float32 only do not make the table wider.
        dtype = np.float32 if len(kinds) and all(kind == np.float32 for kind in kinds) else np.float64
        table = table.with_columns({name: read.codes.astype(dtype) for name, read in categories.items()})
    levels = {name: read.levels for name, read in categories.items()}
    return table.noted(*category_notes(categories, has_groups)), [name for name in names if name not in wrong], levels


def _without(table: Table, absent: Mask, code: str, facts: Mapping[str, Any]) -> Table:
    """Leave samples out, with a note; none if that would be all."""
    rows = np.flatnonzero(absent)
    if len(rows) in (0, len(absent)):
        return table
    samples = as_names(table.frame.index[rows]) if table.has_names else [table.place(int(row)) for row in rows]
    note = Advice(code, {**facts, "n_samples": len(rows), "samples": samples, "n_left": len(absent) - len(rows)})
    return table.at(np.flatnonzero(~absent)).noted(note)


def _one_spelling(table: Table, name: str) -> tuple[pd.Series, list[Advice]]:
    """Return labels without blanks around them, of which none differ only in case or blanks, and a note on those.

    The most frequent spelling stands for all of them, the first of equals.
    """
    column = table.frame[name]
    ordered = isinstance(column.dtype, pd.CategoricalDtype) and column.dtype.ordered
    if cells.is_number_type(column.dtype) or ordered or not all(isinstance(label, str) for label in column.dropna()):
        return column, []
    bare = column.astype(object).map(str.strip, na_action="ignore")
    spellings: dict[str, list[str]] = {}
    for label in bare.value_counts(sort=True).index:
        spellings.setdefault(folded_label(label), []).append(label)
    several = [labels for labels in spellings.values() if len(labels) > 1]
    if not several:
        return (column if bare.equals(column.astype(object)) else bare), []
    same = {label: labels[0] for labels in several for label in labels[1:]}
    facts = {"column": name, "labels": [" = ".join(map(repr, labels)) for labels in several]}
    return bare.replace(same), [Advice("labels_merged", facts)]
