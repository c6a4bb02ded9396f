"""Parquet, Excel and AnnData."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .._arguments import did_you_mean
from ..exceptions import InputError, MissingDependencyError
from .columns import is_number_type
from .table import MISSING_CODES, Table, check_distinct, quoted, tidy


@contextmanager
def needs(package: str, extra: str, path: Path) -> Iterator[None]:
    """Turn a failed import into one that names the line that installs the package."""
    try:
        yield
    except ImportError as error:
        raise MissingDependencyError(
            f'{path} needs the package {package}, which is not installed: pip install "ubayfs[{extra}]"'
        ) from error


@contextmanager
def _undamaged(path: Path, kind: str, also: str = "") -> Iterator[None]:
    """Turn whatever a reader raises over a damaged file into one message; its warnings are none of the user's."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except MemoryError:
        raise
    except Exception as error:  # readers of binary formats raise nearly anything
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise InputError(f"{path} is no {kind} file, or it is damaged{also} ({reason}). Write it again.") from error


def read_parquet(path: Path) -> Table:
    """Read a Parquet file; an index that pandas stored in it names the rows."""
    with needs("pyarrow", "parquet", path):
        from pyarrow.parquet import ParquetFile
    with _undamaged(path, "Parquet"):
        stored = ParquetFile(io.BytesIO(path.read_bytes())).read()
    check_distinct(stored.column_names, path)
    with _undamaged(path, "Parquet"):
        frame = stored.to_pandas()
    if not frame.shape[1]:
        raise InputError(f"{path} is empty; a table with columns and rows is needed.")
    return tidy(frame, [str(name) for name in frame.columns], path)


def read_excel(path: Path, sheet: str | None = None, choose_sheet: bool = False) -> Table:
    """Read a sheet of an Excel file by its name; None: the first one, or the first one with a column of numbers."""
    sheets = _open_sheets(path)
    if sheet is not None and sheet not in sheets:
        rule = f"has no sheet {sheet!r}.{did_you_mean(sheet, sheets)} Its sheets are {quoted(list(sheets))}."
        raise InputError(f"{path} {rule}", argument="sheet", value=sheet)
    if sheet is not None:
        return _read_sheet(sheets, sheet, path)
    for title in sheets if choose_sheet else ():
        try:
            table = _read_sheet(sheets, title, path)
        except InputError:  # empty, or notes that are no table
            continue
        if any(is_number_type(dtype) for dtype in table.frame.dtypes):
            return table
    return _read_sheet(sheets, next(iter(sheets)), path)


def _open_sheets(path: Path) -> dict[str, Any]:
    with needs("openpyxl", "excel", path):
        from openpyxl import load_workbook
    with _undamaged(path, "Excel", " or protected by a password"):
        # Values instead of formulas; from memory, because openpyxl leaves files open.
        workbook = load_workbook(io.BytesIO(path.read_bytes()), read_only=True, data_only=True)
        sheets = {found.title: found for found in workbook.worksheets}
    if not sheets:
        raise InputError(f"{path} has no sheet with cells.")
    return sheets


def _read_sheet(sheets: dict[str, Any], title: str, path: Path) -> Table:
    with _undamaged(path, "Excel"):
        sheets[title].reset_dimensions()  # what other programs note there is often wrong
        rows = [list(row) for row in sheets[title].iter_rows(values_only=True)]
    others = tuple(name for name in sheets if name != title)
    try:
        table = _from_cells(rows, path, title)
    except InputError as error:
        also = f" This is the sheet {title!r}; the file also has {quoted(others)}." if others else ""
        raise InputError(f"{error}{also}", argument="sheet", value=title) from error
    return replace(table, sheet=title, other_sheets=others)


def _from_cells(rows: list[list[Any]], path: Path, title: str) -> Table:
    missing = {None, "", *MISSING_CODES}
    rows = [[None if isinstance(cell, str) and cell.strip() in missing else cell for cell in row] for row in rows]
    filled = [i for i, row in enumerate(rows) if any(cell is not None for cell in row)]
    if not filled:
        raise InputError(f"{path}: sheet {title!r} is empty; a table with a header and rows is needed.")
    width = max(map(len, rows))
    top, bottom = filled[0], filled[-1]
    header, *body = [row + [None] * (width - len(row)) for row in rows[top : bottom + 1]]
    names = ["" if cell is None else str(cell) for cell in header]
    # The constructor of a Series finds the type of each column, and keeps text as text.
    columns = {i: pd.Series([row[i] for row in body]) for i in range(width)}
    frame = pd.DataFrame(columns, index=range(len(body)))
    return tidy(frame, names, path, "row", np.arange(len(body)) + top + 2)


def read_anndata(path: Path) -> Table:
    """Read AnnData: `X` over `var_names` are the features, columns of `obs` annotations, `obs_names` row names."""
    with needs("anndata", "anndata", path), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from anndata import read_h5ad
    with _undamaged(path, "AnnData (.h5ad)"):
        data = read_h5ad(path)
    if data.X is None:
        raise InputError(f"{path} has no matrix X; store the measurements in X of the AnnData object.")
    features, annotations = [str(name) for name in data.var_names], [str(name) for name in data.obs.columns]
    if 0 in data.X.shape:
        raise InputError(f"{path} is empty: X has shape {tuple(data.X.shape)}.")
    check_distinct(features, path, "feature")
    check_distinct(annotations, path, "obs column")
    both = sorted(set(features) & set(annotations))
    if both:
        raise InputError(
            f"{path}: {quoted(both)} are columns of obs and names of features at once. Rename them in obs or in var."
        )
    X = data.X.toarray() if hasattr(data.X, "toarray") else np.asarray(data.X)
    index = pd.Index(data.obs_names)
    values = pd.DataFrame(X.astype(np.float32, copy=False), columns=features, index=index)
    frame = pd.concat([values, data.obs.set_axis(annotations, axis=1).set_axis(index, axis=0)], axis=1)
    return Table(frame, frozenset(annotations), path)
