"""Values below the limit of detection: '<0.5', 'n.d.', 'BDL' among numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ..exceptions import Advice
from .columns import as_floats, is_number_type, limit_of
from .table import Table


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
        limits = [limit_of(entry) for entry in column]
        below = np.array([limit is not None for limit in limits])
        values = as_floats(column, table.decimal)
        if not below.any() or (column.notna().to_numpy() & np.isnan(values) & ~below).any():
            continue
        values[below] = np.array([np.nan if limit is None else limit for limit in limits])[below]
        lowest = np.nanmin(values) if np.isfinite(values).any() else np.nan
        filled = np.where(below & np.isnan(values), lowest, values) * np.where(below & (rule == "half"), 0.5, 1.0)
        changed[j] = np.where(below, np.nan, values) if rule == "missing" else filled
        columns.append(str(table.frame.columns[j]))
        n_values += int(below.sum())
    if not changed:
        return table
    frame = table.frame.copy(deep=False)
    for j, values in changed.items():
        frame.isetitem(j, values)
    facts = {"file": table.path.name, "n_values": n_values, "n_columns": len(columns), "columns": columns, "rule": rule}
    return replace(table, frame=frame, notes=(*table.notes, Advice("below_detection", facts)))
