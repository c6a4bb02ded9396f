"""Columns of a table that are covariates: complete, as numbers or as labels in one spelling."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from ..exceptions import Advice, Problem
from . import columns as cells
from .layout import as_names, words
from .table import Table

# Words in names of columns that people adjust for.
_WORDS = frozenset({"age", "sex", "gender", "batch", "site", "center", "centre", "plate", "lane", "scanner", "bmi",
                    "smoker", "smoking", "ancestry", "ethnicity", "purity"})  # fmt: skip


def likely_covariates(columns: Iterable[str]) -> list[str]:
    """Return the columns that are named like something to adjust for.

    Examples
    --------
    >>> likely_covariates(["age_at_diagnosis", "Batch", "page", "TP53"])
    ['age_at_diagnosis', 'Batch']
    """
    return [name for name in columns if not _WORDS.isdisjoint(words(name))]


def with_covariates(table: Table, names: Sequence[str]) -> tuple[Table, list[Advice], list[Problem]]:
    """Return the samples that have a value of every covariate, and what was changed for it or is wrong.

    Text that is numbers becomes numbers; labels that differ only in case or blanks become one.
    """
    names = [name for name in names if name in table.frame]
    notes, problems = list[Advice](), list[Problem]()
    absent = table.frame[names].isna().to_numpy()
    if absent.any() and not absent.any(axis=1).all():
        left_out = np.flatnonzero(absent.any(axis=1))
        samples = (
            as_names(table.frame.index[left_out]) if table.has_names else [table.place(int(row)) for row in left_out]
        )
        lacking = [name for name, gaps in zip(names, absent.T, strict=True) if gaps.any()]
        facts = {"names": lacking, "n_samples": len(left_out), "samples": samples}
        facts["n_left"] = len(table.frame) - len(left_out)
        notes.append(Advice("samples_without_covariate", facts))
        table = table.at(np.flatnonzero(~absent.any(axis=1)))
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
            column, merged = cells.one_spelling(column)
            notes += [Advice("labels_merged", {"column": name, "labels": merged})] if merged else []
            table = replace(table, frame=table.frame.assign(**{name: column}))
    return table, notes, problems
