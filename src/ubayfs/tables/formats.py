"""read_table and write_table: CSV and TSV, Parquet, Excel and AnnData, as the suffix of a file asks for."""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import prod
from pathlib import Path
from traceback import clear_frames
from typing import Any

import numpy as np
import pandas as pd

from .._arguments import did_you_mean
from .._files import ReadBytes, WatchedContent, as_path, check_unpacked, protected, read_bytes, save_content
from .._plain import quoted
from ..data.reading_rules import check_encoding
from ..exceptions import Advice, InputError, MissingDependencyError, UBayFSError
from .columns import comma_decimals, is_number_type, n_title_rows, other_columns
from .table import MISSING_CODES, Table, check_distinct, file_error, tidy
from .text import read_text, text_lines

_TEXT = (".csv", ".tsv", ".txt", ".tab", ".csv.gz", ".tsv.gz", ".txt.gz", ".tab.gz")
_EXCEL = (".xlsx", ".xlsm")
_PARQUET = (".parquet", ".pq")
_ANNDATA = (".h5ad",)
SUFFIXES = (*_TEXT, *_EXCEL, *_PARQUET, *_ANNDATA)
_WRITABLE = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz", ".xlsx", ".parquet")
_SAMPLE = 20  # rows that decide about the header
_EXCEL_ROWS, _EXCEL_COLUMNS = 1_048_576, 16_384
_CELL = 16  # bytes of memory for a cell of a sheet or of Parquet, and its place
# Parts of a workbook that are read bit by bit, or not at all; each byte of others, in short elements, takes 40 bytes.
_STREAM = re.compile(
    r"xl/(worksheets|pivotCache|drawings|charts)/[^/]+$|sharedStrings|calcChain|customXml/|(?<!\.xml)(?<!\.rels)$"
)


def read_table(
    path: str | os.PathLike[str],
    *,
    sheet: str | None = None,
    choose_sheet: bool = False,
    encoding: str | None = None,
    distinct: bool = True,
    read: ReadBytes = read_bytes,
) -> Table:
    """Read a table; its suffix tells the format.

    Parameters
    ----------
    path : str or path
        CSV, TSV or TXT (also compressed, ``.csv.gz``), Parquet, Excel (``.xlsx``) or AnnData (``.h5ad``). Columns of
        text are separated by commas, semicolons or tabs, which is found out, and so is a decimal comma beside the
        latter two, or in quotes. Text is UTF-8, or UTF-16 with its mark, unless `encoding` names another. Rows above
        the header are skipped, and so are the `!` lines of GEO.
    sheet : str, optional
        Sheet of an Excel file; the first one by default.
    choose_sheet : bool
        Whether the sheet of an Excel file, if none is named, is the first one with a column of numbers.
    encoding : str, optional
        Of a text file, such as ``"latin-1"``.
    distinct : bool
        Whether a column name that occurs several times is refused. Else such columns are side by side in the frame.
    read : callable
        Returns the content of a file; AnnData are opened by their own package.

    Returns
    -------
    table : Table
        Empty cells and :data:`MISSING_CODES` are missing. An unnamed first column holds row names. Text stays text.

    Raises
    ------
    InputError
        If the file is missing, empty, damaged, too large or not a table; the message says where and what to do.
    MissingDependencyError
        If reading the format needs a package that is not installed.
    """
    path = check_file(path)
    suffix = _suffix(path)
    if suffix not in SUFFIXES:
        way_out = " Save it as .xlsx first." if suffix in (".xls", ".ods", ".xlsb") else ""
        readable = f"Readable are {', '.join(SUFFIXES)}."
        raise file_error(path, f"has the suffix {suffix!r}, which is not a table that can be read. {readable}{way_out}")
    check_sheet(path, sheet)
    if encoding is not None:
        check_encoding("encoding", encoding)
    try:
        if has_sheets(path):
            return _read_excel(_open_sheets(path, read), path, sheet, choose_sheet, distinct)
        if suffix in _TEXT:
            return read_text(path, encoding, distinct, read)
        return _read_anndata(path) if suffix in _ANNDATA else _read_parquet(path, read)
    except (MemoryError, csv.Error) as error:
        clear_frames(error.__traceback__)  # they hold what was read
        raise file_error(path, f"cannot be read ({str(error) or 'no memory is left'}). Read a smaller file.") from error


def read_lines(path: str | os.PathLike[str], read: ReadBytes = read_bytes) -> list[str]:
    """Return the lines of a text file that is not a table, such as a list of names or gene sets."""
    return text_lines(check_file(path), read)


def _shortened(path: Path) -> Path:
    """Return a path without detours such as ``init/../data``, unless links make them lead elsewhere."""
    short = Path(os.path.normpath(path))
    return short if short.resolve() == path.resolve() else path


def _suffix(path: Path) -> str:
    """Return the suffix that tells the format, in lower case: ``".csv.gz"`` counts as one."""
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    return "".join(suffixes) if suffixes[-1:] == [".gz"] else "".join(suffixes[-1:])


def has_sheets(path: Path) -> bool:
    """Return whether a file is of a kind that has sheets."""
    return _suffix(path) in _EXCEL


def check_sheet(path: Path, sheet: str | None) -> None:
    """Refuse the sheet of a file that cannot have any."""
    if sheet is not None and not has_sheets(path):
        raise _sheet_error(f"{path} is not an Excel file, and has no sheet {sheet!r}. Leave the sheet out.", sheet)


def _sheet_error(message: str, sheet: str) -> InputError:
    return InputError(message, argument="sheet", value=sheet)


def check_file(path: str | os.PathLike[str]) -> Path:
    """Return the path of a file without detours, or raise if there is no such file."""
    path = _shortened(as_path(path))
    if path.is_dir():
        raise file_error(path, "is a directory; name the file of the table in it.")
    if path.is_file():
        return path
    if not path.parent.is_dir():
        raise file_error(path, f"does not exist: there is no directory {str(path.parent)!r}.")
    names = [entry.name for entry in path.parent.glob("*") if entry.is_file()]
    here = f" The directory is {str(path.parent.absolute())!r}."
    raise file_error(path, f"does not exist.{did_you_mean(path.name, names) or here}")


# -- reading -----------------------------------------------------------------------------------------------------------


@contextmanager
def _needs(package: str, extra: str, path: Path) -> Iterator[None]:
    """Turn a failed import into one that names the line that installs the package."""
    try:
        yield
    except ImportError as error:
        raise MissingDependencyError(
            f'{path} needs the package {package}, which is not installed: pip install "ubayfs[{extra}]"'
        ) from error


@contextmanager
def _undamaged(path: Path, kind: str, also: str = "") -> Iterator[None]:
    """Turn whatever a reader raises over a damaged file into one message, and silence its warnings."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except Exception as error:  # readers of binary formats raise nearly anything, and wrap it
        for cause in (error, error.__context__):
            if isinstance(cause, MemoryError | UBayFSError):
                raise cause from None
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise file_error(
            path, f"is not a valid {kind} file, or it is damaged{also} ({reason}). Write it again."
        ) from error


def _read_parquet(path: Path, read: ReadBytes) -> Table:
    """Read a Parquet file; an index that pandas stored in it names the rows."""
    with _needs("pyarrow", "parquet", path):
        from pyarrow.parquet import ParquetFile
    with _undamaged(path, "Parquet"):
        stored = _columns(ParquetFile(io.BytesIO(read(path))), path)
    check_distinct(stored.column_names, path)
    with _undamaged(path, "Parquet"):
        frame = stored.to_pandas()
    if not frame.shape[1]:
        raise file_error(path, "is empty; a table with columns and rows is needed.")
    return tidy(frame, [str(name) for name in frame.columns], path)


def _columns(file: Any, path: Path) -> Any:
    """Return the columns of a Parquet file, texts and lists in parts: one long text may be meant in every row."""
    about, n_leaves = file.metadata, len(file.schema)
    groups = [about.row_group(i) for i in range(about.num_row_groups)]
    size = sum(group.total_byte_size for group in groups) + _CELL * about.num_rows * n_leaves
    kinds = map(file.schema.column, range(n_leaves))
    long = [j for j, kind in enumerate(kinds) if "BYTE_ARRAY" in kind.physical_type or kind.max_repetition_level]
    longest = max([sum(group.column(j).total_uncompressed_size for j in long) for group in groups], default=0)
    n_rows = check_unpacked(path, size) // max(4 * longest, 1)  # that surely fit
    if about.num_rows <= n_rows:
        return file.read()
    parts, size = [], 0
    for part in file.iter_batches(max(1, n_rows)):
        size += part.nbytes
        check_unpacked(path, size, more=True)
        parts.append(part)
    return file.schema_arrow.empty_table().from_batches(parts, file.schema_arrow)


def _read_excel(sheets: dict[str, Any], path: Path, sheet: str | None, choose_sheet: bool, distinct: bool) -> Table:
    """Read a sheet of an Excel file by its name; None: the first one, or the first one with a column of numbers."""
    if sheet is not None and sheet not in sheets:
        hint = did_you_mean(sheet, sheets)
        raise _sheet_error(f"{path} has no sheet {sheet!r}.{hint} Its sheets are {quoted(list(sheets))}.", sheet)
    if sheet is not None:
        return _read_sheet(sheets, sheet, path, distinct)
    for title in sheets if choose_sheet else ():
        try:
            table = _read_sheet(sheets, title, path, distinct)
        except InputError:  # empty, or notes that are not a table
            continue
        if len(other_columns(table.frame)) < table.frame.shape[1]:
            return table
    return _read_sheet(sheets, next(iter(sheets)), path, distinct)


def _open_sheets(path: Path, read: ReadBytes) -> dict[str, Any]:
    with _needs("openpyxl", "excel", path):
        from openpyxl import load_workbook
    with _undamaged(path, "Excel", " or protected by a password"):
        # Values instead of formulas; from memory, because openpyxl leaves files open.
        content = WatchedContent(read(path), path)
        with zipfile.ZipFile(content) as archive:
            parts = archive.infolist()
        check_unpacked(path, sum(part.file_size * (1 if _STREAM.search(part.filename) else 40) for part in parts))
        workbook = load_workbook(content, read_only=True, data_only=True)
        sheets = {sheet.title: sheet for sheet in workbook.worksheets}
    if not sheets:
        raise file_error(path, "has no sheet with cells.")
    return sheets


def _read_sheet(sheets: dict[str, Any], title: str, path: Path, distinct: bool) -> Table:
    with _undamaged(path, "Excel"):
        sheets[title].reset_dimensions()  # what other programs note there is often wrong
        rows = _filled_rows(sheets[title].iter_rows(values_only=True), path)
    other_sheets = tuple(name for name in sheets if name != title)
    try:
        table = _from_cells(rows, path, title, distinct)
    except InputError as error:
        also = f" This is the sheet {title!r}; the file also has {quoted(other_sheets)}." if other_sheets else ""
        raise _sheet_error(f"{error}{also}", title) from error
    return replace(table, sheet=title, other_sheets=other_sheets)


def _filled_rows(rows: Iterable[Sequence[Any]], path: Path) -> dict[int, list[Any]]:
    """Return the rows with a cell, by position and of the same length; others separate parts of a table for the eye."""
    missing, width = {None, "", *MISSING_CODES}, 0
    filled: dict[int, list[Any]] = {}
    for i, row in enumerate(rows):
        if i >= _EXCEL_ROWS:
            raise file_error(path, f"has more rows than a sheet can have, {_EXCEL_ROWS:,}. Write it again.")
        cells = [None if isinstance(cell, str) and cell.strip() in missing else cell for cell in row]
        if any(cell is not None for cell in cells):
            filled[i], width = cells, max(width, len(cells))
            if len(filled) % 256 == 0:
                check_unpacked(path, _CELL * len(filled) * width, more=True)
    return {i: row + [None] * (width - len(row)) for i, row in filled.items()}


def _from_cells(rows: dict[int, list[Any]], path: Path, title: str, distinct: bool) -> Table:
    if not rows:
        raise file_error(path, f"has an empty sheet {title!r}; a table with a header and rows is needed.")
    filled, width = list(rows), len(next(iter(rows.values())))
    n_titles = n_title_rows([rows[i] for i in filled[:_SAMPLE]])
    header, *body = [rows[i] for i in filled[n_titles:]]
    names = ["" if cell is None else str(cell) for cell in header]
    # The constructor of a Series finds the type of each column, and keeps text as text.
    columns = {i: pd.Series([row[i] for row in body]) for i in range(width)}
    texts = {i: column for i, column in columns.items() if not is_number_type(column.dtype)}
    for i, column in texts.items():  # typed as text, in a program that takes the comma for a separator
        if (numbers := comma_decimals(column)) is not None:
            columns[i] = pd.Series(numbers)
    frame = pd.DataFrame(columns, index=range(len(body)))
    table = tidy(frame, names, path, "row", np.array(filled[n_titles + 1 :], dtype=np.intp) + 1, distinct=distinct)
    titles = [" ".join(str(cell) for cell in rows[i] if cell is not None) for i in filled[:n_titles]]
    return replace(table, notes=(Advice("title_rows_skipped", {"file": path.name, "rows": titles}),) * bool(titles))


def _read_anndata(path: Path) -> Table:
    """Read AnnData: `X` over `var_names` are the features, columns of `obs` annotations, `obs_names` row names."""
    with _needs("anndata", "anndata", path), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from anndata import AnnData, read_h5ad
        from anndata.io import read_elem
        from h5py import File
    with _undamaged(path, "AnnData (.h5ad)"), File(path) as file:
        _check_links(file, path)
        needed = {name: file[name] for name in ("X", "obs", "var") if name in file}
        is_current = all("encoding-type" in part.attrs for part in needed.values())
        check_unpacked(path, sum(map(_stored_size, needed.values() if is_current else [file])))
        data = AnnData(**{key: read_elem(part) for key, part in needed.items()}) if is_current else read_h5ad(path)
    if data.X is None:
        raise file_error(path, "has no matrix X; store the measurements in X of the AnnData object.")
    features, annotations = [str(name) for name in data.var_names], [str(name) for name in data.obs.columns]
    if 0 in data.X.shape:
        raise file_error(path, f"is empty: X has shape {tuple(data.X.shape)}.")
    check_distinct(features, path, "feature")
    check_distinct(annotations, path, "obs column")
    both = sorted(set(features) & set(annotations))
    if both:
        raise file_error(path, f"has {quoted(both)} both in obs and in var; rename them in one of the two.")
    X = data.X.toarray() if hasattr(data.X, "toarray") else np.asarray(data.X)
    index = pd.Index(data.obs_names)
    values = pd.DataFrame(X.astype(np.float32, copy=False), columns=features, index=index)
    frame = pd.concat([values, data.obs.set_axis(annotations, axis=1).set_axis(index, axis=0)], axis=1)
    return Table(frame, frozenset(annotations), path)


def _check_links(group: Any, path: Path) -> None:
    """Refuse what an HDF5 file takes from others: whoever sent it may not read these."""
    for name in group:
        link = type(group.get(name, getlink=True)).__name__
        part = group[name] if link == "HardLink" else None
        if part is None or getattr(part, "is_virtual", False) or getattr(part, "external", None):
            raise file_error(
                path, f"has a part {name!r} that is not in this file; write it again, with all of its data."
            )
        if hasattr(part, "keys"):
            _check_links(part, path)


def _stored_size(part: Any) -> int:
    """Return the bytes that a part of an HDF5 file takes in memory; a sparse matrix becomes a dense one of float32."""
    sizes = [getattr(part, "nbytes", 0), 4 * prod(map(int, part.attrs.get("shape", (0,))))]
    if hasattr(part, "visititems"):
        part.visititems(lambda _, member: sizes.append(getattr(member, "nbytes", 0)))
    return int(sum(sizes))


# -- writing -----------------------------------------------------------------------------------------------------------


def write_table(frame: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a table, whole or not at all; its suffix tells the format.

    Parameters
    ----------
    frame : DataFrame
        Numbers keep their full precision. Text that a spreadsheet would take for a formula has an apostrophe in front
        in CSV and TSV, which :func:`read_table` takes off. An index other than 0, 1, 2, ... becomes the first column,
        under its name if it has one.
    path : str or path
        CSV (comma), TSV or TXT (tab), each also as ``.gz``, Excel (``.xlsx``) or Parquet. A file that exists is
        replaced.

    Raises
    ------
    InputError
        If the format cannot hold the table, or the file cannot be written.
    """
    path = as_path(path)
    if not isinstance(frame, pd.DataFrame):
        raise InputError.of("frame", f"must be a pandas DataFrame; got {type(frame).__name__}.", frame)
    suffix = _suffix(path)
    if suffix not in _WRITABLE:
        writable = f"Writable are {', '.join(_WRITABLE)}."
        raise file_error(path, f"has the suffix {suffix!r}, which is not a table that can be written. {writable}")
    if suffix == ".xlsx":
        content = _excel(frame, path)
    elif suffix == ".parquet":
        content = _parquet(frame, path)
    else:
        delimiter = "," if suffix.startswith(".csv") else "\t"
        # Cells with a character of the line end are quoted: a lone carriage return would begin a line of its own.
        text = _protected(frame).to_csv(
            sep=delimiter, index=_has_row_names(frame), index_label=protected(_heading(frame)), lineterminator="\r\n"
        )
        content = text.replace("\r\n", "\n").encode("utf-8")
    if suffix.endswith(".gz"):
        content = gzip.compress(content, mtime=0)  # without a time stamp, equal tables are equal files
    save_content(path, content, InputError)


def _protected(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose names and texts no spreadsheet takes for formulas; :func:`read_table` gives them back."""

    def safe(value: Any) -> Any:
        return protected(value) if isinstance(value, str) else value

    made = frame.rename(columns=safe, index=safe if _has_row_names(frame) else None)
    for i in other_columns(frame):
        values = frame.iloc[:, i].tolist()
        if any(safe(value) is not value for value in values):
            made.isetitem(i, [safe(value) for value in values])
    return made


def _has_row_names(frame: pd.DataFrame) -> bool:
    return not isinstance(frame.index, pd.RangeIndex)


def _heading(frame: pd.DataFrame) -> str:
    """Return what stands above the names of the rows: their own heading, unless a column has it."""
    return "" if frame.index.name is None or frame.index.name in frame else str(frame.index.name)


def _parquet(frame: pd.DataFrame, path: Path) -> bytes:
    with _needs("pyarrow", "parquet", path):
        from pyarrow import ArrowException
    buffer = io.BytesIO()
    try:
        frame.to_parquet(buffer, engine="pyarrow")
    except (ArrowException, TypeError, ValueError) as error:
        raise file_error(path, f"cannot hold this table, as Parquet ({error}). Write .csv instead.") from error
    return buffer.getvalue()


def _excel(frame: pd.DataFrame, path: Path) -> bytes:
    with _needs("openpyxl", "excel", path):
        from openpyxl import Workbook
        from openpyxl.utils.exceptions import IllegalCharacterError
    named = _has_row_names(frame)
    if len(frame) + 1 > _EXCEL_ROWS or frame.shape[1] + named > _EXCEL_COLUMNS:
        raise file_error(
            path,
            f"cannot hold this table: Excel has at most {_EXCEL_ROWS - 1} rows and {_EXCEL_COLUMNS} columns, the table "
            f"{frame.shape[0]} and {frame.shape[1]}. Write .csv or .parquet instead.",
        )
    columns = [[str(name), *column.astype(object)] for name, column in frame.items()]
    if named:
        columns.insert(0, [_heading(frame), *frame.index.astype(object)])
    workbook = Workbook()
    try:
        for j, column in enumerate(columns, start=1):
            for i, value in enumerate(column, start=1):
                _fill(workbook.active.cell(i, j), value)
        buffer = io.BytesIO()
        workbook.save(buffer)
    except (IllegalCharacterError, TypeError, ValueError) as error:
        raise file_error(path, f"cannot hold this table, as Excel ({error!r}). Write .csv instead.") from error
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
