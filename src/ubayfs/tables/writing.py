"""write_table: the format that the suffix of a file asks for, whole or not at all."""

from __future__ import annotations

import gzip
import io
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .._files import save_content
from ..exceptions import InputError
from .formats import needs
from .reading import suffix_of

_WRITABLE = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz", ".xlsx", ".parquet")
_EXCEL_ROWS, _EXCEL_COLUMNS = 1_048_576, 16_384


def write_table(frame: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a table, whole or not at all; its suffix tells the format.

    Parameters
    ----------
    frame : DataFrame
        Numbers keep their full precision. An index other than 0, 1, 2, ... becomes the unnamed first column.
    path : str or path
        CSV (comma), TSV or TXT (tab), each also as ``.gz``, Excel (``.xlsx``) or Parquet. A file that exists is
        replaced.

    Raises
    ------
    InputError
        If the format cannot hold the table, or the file cannot be written.
    """
    path = Path(path)
    save_content(path, encode_table(frame, path), InputError)


def encode_table(frame: pd.DataFrame, path: Path) -> bytes:
    """Return the content of the file that :func:`write_table` writes."""
    suffix = suffix_of(path)
    if suffix not in _WRITABLE:
        raise InputError(
            f"{path} has the suffix {suffix!r}, which is not a table that can be written. Writable are "
            f"{', '.join(_WRITABLE)}."
        )
    if suffix == ".xlsx":
        return _excel(frame, path)
    if suffix == ".parquet":
        return _parquet(frame, path)
    delimiter = "," if suffix.startswith(".csv") else "\t"
    text = frame.to_csv(sep=delimiter, index=_has_row_names(frame), index_label="", lineterminator="\n")
    content = text.encode("utf-8")
    # Without a time stamp, equal tables are equal files.
    return gzip.compress(content, mtime=0) if suffix.endswith(".gz") else content


def _has_row_names(frame: pd.DataFrame) -> bool:
    return not isinstance(frame.index, pd.RangeIndex)


def _parquet(frame: pd.DataFrame, path: Path) -> bytes:
    with needs("pyarrow", "parquet", path):
        from pyarrow import ArrowException
    buffer = io.BytesIO()
    try:
        frame.to_parquet(buffer, engine="pyarrow")
    except (ArrowException, TypeError, ValueError) as error:
        raise InputError(f"{path}: Parquet cannot hold this table ({error}). Write .csv instead.") from error
    return buffer.getvalue()


def _excel(frame: pd.DataFrame, path: Path) -> bytes:
    with needs("openpyxl", "excel", path):
        from openpyxl import Workbook
        from openpyxl.utils.exceptions import IllegalCharacterError
    named = _has_row_names(frame)
    if len(frame) + 1 > _EXCEL_ROWS or frame.shape[1] + named > _EXCEL_COLUMNS:
        raise InputError(
            f"{path}: Excel holds at most {_EXCEL_ROWS - 1} rows and {_EXCEL_COLUMNS} columns; the table has "
            f"{frame.shape[0]} and {frame.shape[1]}. Write .csv or .parquet instead."
        )
    columns = [[str(name), *column.astype(object)] for name, column in frame.items()]
    if named:
        columns.insert(0, ["", *frame.index.astype(object)])
    workbook = Workbook()
    try:
        for j, column in enumerate(columns, start=1):
            for i, value in enumerate(column, start=1):
                _fill(workbook.active.cell(i, j), value)
        buffer = io.BytesIO()
        workbook.save(buffer)
    except (IllegalCharacterError, TypeError, ValueError) as error:
        raise InputError(f"{path}: Excel cannot hold this table ({error!r}). Write .csv instead.") from error
    return buffer.getvalue()


def _fill(cell: Any, value: Any) -> None:
    """Put a value into a cell of openpyxl."""
    if isinstance(value, str) or (isinstance(value, float) and np.isinf(value)):
        cell.value = str(value)
        cell.data_type = "s"  # a feature called "=A1" is a name, not a formula
    elif not pd.isna(value):
        cell.value = value
        if isinstance(value, float):
            cell.value = repr(float(value))  # openpyxl itself writes 16 digits, and some numbers need 17
            cell.data_type = "n"
