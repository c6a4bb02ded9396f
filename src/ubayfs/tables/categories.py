"""Columns of words: one spelling of each label, and codes of categories in the place of labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..data.categories import Levels, ReadCategory, category_notes
from ..exceptions import Advice, ColumnTypeError, Problem
from . import columns as cells
from .table import Table


def with_codes(
    table: Table, names: Sequence[str], ordered: Mapping[str, Sequence[str]]
) -> tuple[Table, dict[str, Levels], list[Advice], list[Problem]]:
    """Return the table with codes in the columns of categories, their levels, and what was done or is wrong."""
    found: dict[str, ReadCategory] = {}
    notes, problems = [], []
    words = cells.word_columns(table, names)
    for name in [name for name in names if name in words or name in ordered]:
        column, merged = cells.one_spelling(table.frame[name])
        if merged:
            notes.append(Advice("labels_merged", {"column": name, "labels": merged}))
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
