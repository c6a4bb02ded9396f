"""read_table: the reader that the suffix of a file asks for."""

from __future__ import annotations

import os
from pathlib import Path

from .._arguments import did_you_mean
from ..exceptions import InputError
from .formats import read_anndata, read_excel, read_parquet
from .table import Table
from .text import read_text

_TEXT = (".csv", ".tsv", ".txt", ".tab", ".csv.gz", ".tsv.gz", ".txt.gz", ".tab.gz")
_EXCEL = (".xlsx", ".xlsm")
_BINARY = {".parquet": read_parquet, ".pq": read_parquet, ".h5ad": read_anndata}
SUFFIXES = (*_TEXT, *_EXCEL, *_BINARY)


def read_table(path: str | os.PathLike[str], *, sheet: str | None = None, choose_sheet: bool = False) -> Table:
    """Read a table; its suffix tells the format.

    Parameters
    ----------
    path : str or path
        CSV, TSV or TXT (also compressed, ``.csv.gz``), Parquet, Excel (``.xlsx``) or AnnData (``.h5ad``). Columns of
        text are separated by commas, semicolons or tabs, which is found out, and so is a decimal comma beside the
        latter two. Text must be UTF-8.
    sheet : str, optional
        Sheet of an Excel file; the first one by default.
    choose_sheet : bool
        Whether the sheet of an Excel file, if none is named, is the first one with a column of numbers.

    Returns
    -------
    table : Table
        Empty cells and :data:`MISSING_CODES` are missing. An unnamed first column holds row names. Text stays text.

    Raises
    ------
    InputError
        If the file is missing, empty, damaged or no table; the message says where and what to do.
    MissingDependencyError
        If reading the format needs a package that is not installed.
    """
    path = _shortened(Path(path))
    suffix = suffix_of(path)
    _check_file(path)
    if suffix not in SUFFIXES:
        raise InputError(
            f"{path} has the suffix {suffix!r}, which is not a table that can be read. Readable are "
            f"{', '.join(SUFFIXES)}.{' Save it as .xlsx first.' if suffix in ('.xls', '.ods', '.xlsb') else ''}"
        )
    if sheet is not None and suffix not in _EXCEL:
        raise InputError(
            f"{path} is not an Excel file, and has no sheet {sheet!r}. Leave the sheet out.", argument="sheet"
        )
    try:
        if suffix in _EXCEL:
            return read_excel(path, sheet, choose_sheet)
        return _BINARY[suffix](path) if suffix in _BINARY else read_text(path)
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror or error}).") from error


def _shortened(path: Path) -> Path:
    """Return a path without detours such as ``init/../data``, unless links make them lead elsewhere."""
    short = Path(os.path.normpath(path))
    return short if short.resolve() == path.resolve() else path


def suffix_of(path: Path) -> str:
    """Return the suffix that tells the format, in lower case: ``".csv.gz"`` counts as one."""
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    return "".join(suffixes) if suffixes[-1:] == [".gz"] else "".join(suffixes[-1:])


def _check_file(path: Path) -> None:
    if path.is_dir():
        raise InputError(f"{path} is a directory; name the file of the table in it.")
    if path.is_file():
        return
    if not path.parent.is_dir():
        raise InputError(f"{path} does not exist: there is no directory {str(path.parent)!r}.")
    names = [entry.name for entry in path.parent.iterdir() if entry.is_file()]
    here = f" The directory is {str(path.parent.absolute())!r}."
    raise InputError(f"{path} does not exist.{did_you_mean(path.name, names) or here}")
