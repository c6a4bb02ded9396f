"""A spreadsheet of what is known: the columns feature, weight and block, in any order."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from .._arguments import did_you_mean
from ..exceptions import InputError
from ..tables import Table, read_table
from .patterns import Names
from .problems import Report, reported
from .scale import Belief, as_belief

_COLUMNS = ("feature", "weight", "block")
# Wrong rows that are told one by one; a table of another data set has nothing but such rows.
_MOST_ROWS = 20


class Row(NamedTuple):
    """What one row says; None where its cell is empty.

    Attributes
    ----------
    place : str
        File and line, for messages.
    feature, block : str or None
    weight : Belief or None
    """

    place: str
    feature: str | None
    weight: Belief | None
    block: str | None


@dataclass(frozen=True)
class KnowledgeTable:
    """The rows of a table that say something."""

    rows: tuple[Row, ...]


def read_knowledge(path: Path, sheet: str | None, needed: tuple[str, ...], report: Report) -> KnowledgeTable:
    """Read a table of knowledge.

    Parameters
    ----------
    path : Path
    sheet : str or None
    needed : tuple of str
        Columns that must be there.
    report : Report

    Returns
    -------
    table : KnowledgeTable
        Without the rows and cells that were reported.
    """
    with reported(report):
        table = read_table(path, sheet=sheet)
        columns = _find_columns(table, needed)
        rows = [_read_row(table, row, columns, report) for row in range(len(table.frame))]
        return KnowledgeTable(tuple(row for row in rows if row.feature or row.block))
    return KnowledgeTable(())


def report_unknown(table: KnowledgeTable, features: Names, blocks: Names | None, report: Report) -> None:
    """Report the rows that name something that is not there.

    Parameters
    ----------
    table : KnowledgeTable
    features : Names
    blocks : Names or None
        Rows without a feature are about blocks; None: they say nothing.
    report : Report
    """
    named = [(row, features if row.feature is not None else blocks) for row in table.rows]
    unknown = [(row, names) for row, names in named if names is not None and (row.feature or row.block) not in names]
    for row, names in unknown[:_MOST_ROWS]:
        with reported(lambda path, message, place=row.place: report(path, f"{place}: {message}")):  # type: ignore[misc]
            names.find(row.feature or row.block, False)
    if len(unknown) > _MOST_ROWS:
        report((), f"and {len(unknown) - _MOST_ROWS} more rows with names that are not in the data.")


def _find_columns(table: Table, needed: tuple[str, ...]) -> dict[str, str]:
    """Return the name in the table of each known column."""
    found: dict[str, str] = {}
    for name in table.frame.columns:
        known = str(name).strip().lower()
        if known not in _COLUMNS:
            continue
        if known in found:
            raise InputError(f"{table.path.name} has two columns for {known!r}: {found[known]!r} and {name!r}.")
        found[known] = name
    for known in needed:
        if known not in found:
            columns = [str(name) for name in table.frame.columns]
            listed = ", ".join(map(repr, columns[:8]))
            raise InputError(
                f"{table.path.name} has no column {known!r}, among {listed}.{did_you_mean(known, columns)} Its header "
                f"must name {' and '.join(map(repr, needed))}."
            )
    return found


def _read_row(table: Table, row: int, columns: dict[str, str], report: Report) -> Row:
    cells = {known: _cell(table.frame[name].iat[row]) for known, name in columns.items()}
    place = f"{table.path.name}, {table.place(row)}"
    feature, block = _name(cells.get("feature")), _name(cells.get("block"))
    weight = None
    if cells.get("weight") is not None:
        try:
            weight = as_belief(feature or block, _number(cells["weight"]))
        except InputError as error:
            report((), f"{place}: {str(error).removeprefix('weights ')}")
        if feature is None and block is None:
            report((), f"{place}: a weight without a feature and without a block.")
    return Row(place, feature, weight, block)


def _cell(value: Any) -> Any:
    if pd.isna(value) or (isinstance(value, str) and not value.strip()):
        return None
    return value.item() if hasattr(value, "item") else value


def _name(value: Any) -> str | None:
    """Return a name; in a column of whole numbers with gaps 2.0 is still 2."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return None if value is None else str(value).strip()


def _number(value: Any) -> Any:
    """Return a number that stands as text beside words of the scale."""
    if isinstance(value, str):
        try:
            return float(value.replace(",", ".")) if value.count(",") <= 1 else value
        except ValueError:
            pass
    return value
