"""The table of what chosen features tell beyond covariates."""

from __future__ import annotations

from functools import partial

from .._plain import listing
from . import tables
from .document import Cell, Column, Table


def chosen(summary: tables.Record) -> tuple[Table, ...]:
    """Return the chosen features, and how they are related to covariates, and to the target before and after these."""
    records = [record for record in summary["chosen"] if record.get("beyond")]
    if not records:
        return tables.chosen(summary)
    names = summary["data"]["adjust_for"]
    columns: list[tables.Field] = [
        (Column("Feature"), lambda r: Cell(r["feature"])),
        *((Column(name, True), partial(_related, name)) for name in names),
        (Column("Target, before", True), lambda r: _size(r["beyond"]["before"])),
        (Column("Target, after", True), lambda r: _size(r["beyond"]["after"])),
    ]
    caption = f"Association with {listing(names, len(names))}, and with the target before and after adjusting for them"
    return (*tables.chosen(summary), tables.as_table(caption, records, columns))


def _related(name: str, record: tables.Record) -> Cell:
    return _size(record["beyond"]["covariates"].get(name))


def _size(value: float | None) -> Cell:
    return Cell("" if value is None else f"{value:.2f}")
