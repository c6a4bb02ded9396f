"""Values below the limit of detection: '<0.5', 'n.d.', 'BDL' among numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ..exceptions import Advice, Problem
from .columns import as_floats, is_number_type, limit_of
from .table import Table, TableError


def replace_below_detection(table: Table, rule: str) -> Table:
    """Return a table with numbers, or nothing, in place of values below detection.

    Parameters
    ----------
    table : Table
    rule : {"half", "missing", "limit"}
        Half of the limit, nothing, or the limit itself. Where no limit is given, that of the column counts: the lowest
        one given in it, else its lowest measured value.
    """
    changed: dict[int, Any] = {}
    columns, n_values = [], 0
    for j, dtype in enumerate(table.frame.dtypes):
        if is_number_type(dtype) or isinstance(dtype, pd.CategoricalDtype):
            continue
        column = table.frame.iloc[:, j]
        stated = [limit_of(entry) for entry in column]
        below = np.array([limit is not None for limit in stated])
        values = as_floats(column, table.decimal)
        if not below.any() or (column.notna().to_numpy() & np.isnan(values) & ~below).any():
            continue
        given = np.array([np.nan if limit is None else limit for limit in stated])
        counted = given if np.isfinite(given).any() else values
        lowest = np.nanmin(counted) if np.isfinite(counted).any() else np.nan
        limits = np.where(np.isnan(given), lowest, given)
        if rule == "half" and (limits[below] < 0).any():
            _refuse_half(table, str(table.frame.columns[j]), float(np.nanmin(limits[below])))
        values[below] = np.nan if rule == "missing" else limits[below] * (0.5 if rule == "half" else 1.0)
        changed[j] = values
        columns.append(str(table.frame.columns[j]))
        n_values += int(below.sum())
    if not changed:
        return table
    frame = table.frame.copy(deep=False)
    for j, values in changed.items():
        frame.isetitem(j, values)
    facts = {"file": table.path.name, "n_values": n_values, "n_columns": len(columns), "columns": columns, "rule": rule}
    return replace(table, frame=frame, notes=(*table.notes, Advice("below_detection", facts)))


def _refuse_half(table: Table, name: str, lowest: float) -> None:
    """Refuse half of a negative limit: it is above the limit, which a value below detection cannot be."""
    rule = (
        f"column {name!r}: half of the limit {lowest:g} would be above it; are these logarithms? Choose "
        "below_detection: limit or missing."
    )
    raise TableError(table.path, [Problem(rule, ("below_detection",))])
