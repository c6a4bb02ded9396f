"""Targets, covariates and categories made ready: labels in one spelling, samples without a value left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._arguments import Mask
from .._plain import quoted
from ..data.categories import Levels, ReadCategory, category_notes
from ..data.reading_rules import SurvivalColumns, target_columns
from ..data.target import TASKS
from ..exceptions import Advice, ColumnTypeError, Problem
from . import columns as cells
from .layout import as_names
from .table import Table


def with_targets(table: Table, target: Any, task: str | None) -> tuple[Table, list[Advice]]:
    """Return the samples that have a target, with its labels in one spelling, and what was changed for it."""
    targets = [name for name in target_columns(target) if name in table.frame]
    labeled = targets if task is None or TASKS[task].labeled else []
    if isinstance(target, SurvivalColumns):
        labeled = [name for name in targets if name == target["event"]]
    gaps = table.frame[targets].isna().to_numpy().any(axis=1)
    table, notes = _without(table, gaps, "samples_without_target", {"column": quoted(targets)})
    for name in labeled:
        column, more = _one_spelling(table, name)
        notes += more
        if column.dtype.kind == "f" and (gaps.any() or table.unit == "sample") and (column % 1 == 0).all():
            column = column.astype(np.int64)  # whole numbers that a gap, or text beside them, made floats of
        if not column.equals(table.frame[name]):
            table = replace(table, frame=table.frame.assign(**{name: column}))
    return table, notes


def with_covariates(table: Table, names: Sequence[str]) -> tuple[Table, list[Advice], list[Problem]]:
    """Return the samples that have a value of every covariate, and what was changed for it or is wrong.

    Text that is numbers becomes numbers; labels that differ only in case or blanks become one.
    """
    names, problems = [name for name in names if name in table.frame], list[Problem]()
    absent = table.frame[names].isna().to_numpy()
    lacking = [name for name, gaps in zip(names, absent.T, strict=True) if gaps.any()]
    table, notes = _without(table, absent.any(axis=1), "samples_without_covariate", {"names": lacking})
    for name in names:
        column = table.frame[name]
        if cells.is_number_type(column.dtype):
            continue
        bad = cells.offending(column, table.decimal)
        if not bad.any():
            table = replace(table, frame=table.frame.assign(**{name: cells.as_floats(column, table.decimal)}))
        elif 2 * bad.sum() < column.notna().sum():
            problems.append(cells.mixed_problem(table, name, bad, "adjust_for"))
        else:
            column, more = _one_spelling(table, name)
            notes += more
            table = replace(table, frame=table.frame.assign(**{name: column}))
    return table, notes, problems


def with_codes(
    table: Table, names: Sequence[str], ordered: Mapping[str, Sequence[str]]
) -> tuple[Table, dict[str, Levels], list[Advice], list[Problem]]:
    """Return the table with codes in the columns of categories, their levels, and what was done or is wrong."""
    found: dict[str, ReadCategory] = {}
    notes, problems = list[Advice](), list[Problem]()
    words = cells.word_columns(table, names)
    for name in [name for name in names if name in words or name in ordered]:
        column, more = _one_spelling(table, name)
        notes += more
        try:
            found[name] = ReadCategory.of(f"column {name!r}", column, ordered.get(name))
        except ColumnTypeError as error:
            problems.append(Problem(str(error), ("ordered" if name in ordered else "ignore", name)))
    if found:
        others = [table.frame[name].dtype for name in names if name not in found]
        dtype = np.float32 if others and all(kind == np.float32 for kind in others) else np.float64
        codes = {name: read.codes.astype(dtype) for name, read in found.items()}
        table = replace(table, frame=table.frame.assign(**codes))
    levels = {name: read.levels for name, read in found.items()}
    return table, levels, [*notes, *category_notes(found)], problems


def _without(table: Table, absent: Mask, code: str, facts: Mapping[str, Any]) -> tuple[Table, list[Advice]]:
    """Leave samples out, with a note; none if that would be all."""
    rows = np.flatnonzero(absent)
    if len(rows) in (0, len(absent)):
        return table, []
    samples = as_names(table.frame.index[rows]) if table.has_names else [table.place(int(row)) for row in rows]
    note = Advice(code, {**facts, "n_samples": len(rows), "samples": samples, "n_left": len(absent) - len(rows)})
    return table.at(np.flatnonzero(~absent)), [note]


def _one_spelling(table: Table, name: str) -> tuple[Any, list[Advice]]:
    """Return a column with labels that differ only in case or blanks as one, and a note on these."""
    column, merged = cells.one_spelling(table.frame[name])
    return column, [Advice("labels_merged", {"column": name, "labels": merged})] if merged else []
