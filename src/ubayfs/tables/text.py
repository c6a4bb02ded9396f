"""Text tables: bytes to lines to columns, with the delimiter and the decimal sign found out."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._files import ReadBytes, check_unpacked, read_bytes, unprotected
from .._plain import listed
from ..exceptions import Advice, InputError
from .columns import comma_decimals, decimal_sign, holds_pairs, is_number_type, n_title_rows, other_columns
from .series_matrix import sheet_of, without_series_lines
from .table import MISSING_CODES, Table, check_distinct, file_error, tidy

_DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab"}
_SAMPLE = 20  # records that decide about the delimiter
# Numbers that only one decimal sign can explain.
_WITH_SIGN = {sign: re.compile(rf"[+-]?[0-9]*[{sign}][0-9]+(?:[eE][+-]?[0-9]+)?") for sign in ".,"}
_BOM = b"\xef\xbb\xbf"  # how Excel marks UTF-8
_LETTER, _CELL, _COLUMN = 30, 8, 1000  # bytes of memory: a letter of a list of names, a cell, a column
_SAVE_AS = "In a spreadsheet: save as 'CSV UTF-8'."
# Only exact reading gives back the numbers that were written; newer pandas does nothing else.
_IS_EXACT = tuple(map(int, pd.__version__.split(".")[:2])) >= (3, 1)
_EXACT: dict[str, Any] = {} if _IS_EXACT else {"float_precision": "round_trip"}
# Whether any cell is a number with a zero in front (001), by delimiter; patterns that begin with one sign are fast.
_WITH_ZEROS = {
    sign: [re.compile(rf'{before}0[0-9]+ *(?:[\n"{sign}]|$)'.encode()) for before in ("\n", '"', sign)]
    for sign in _DELIMITERS
}
# Whether any cell may begin with an apostrophe that stands before a formula; full-width signs begin with the last byte.
_PROTECTED = re.compile(rb"'[=+\-@\t\r\xef]")


def read_text(path: Path, encoding: str | None = None, distinct: bool = True, read: ReadBytes = read_bytes) -> Table:
    """Read a text table whose columns are separated by commas, semicolons or tabs; .gz is decompressed.

    `encoding` is given for anything but UTF-8, and UTF-16 with its mark. Without `distinct`, a column name may occur
    several times.
    """
    content = _as_utf8(_content(path, read), encoding, path)
    # One kind of line end: pandas does not see an empty first field after a lone carriage return.
    content = content.removeprefix(_BOM).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    _check_cells(content, path)
    content, n_above, series = without_series_lines(content)
    if not content.strip():
        below = " below its lines that begin with '!'" if n_above else ""
        raise file_error(path, f"is empty{below}; a table is needed.")
    delimiter, shifted, n_titles = _find_delimiter(content, path)
    notes: tuple[Advice, ...] = ()
    if n_titles:
        records = _records(content, delimiter)
        titles = [" ".join(filter(None, fields)) for _, fields in islice(records, n_titles)]
        first, _ = next(records)
        n_above += first - 1
        content = content.split(b"\n", first - 1)[-1]
        notes = (Advice("title_rows_skipped", {"file": path.name, "rows": titles}),)
    header = next(_records(content, delimiter))[1]
    if len(header) == 1:
        _refuse_other_delimiters(content, header[0], path)
    if distinct:
        check_distinct([name.strip() for name in header], path)  # before the work on many columns
    n_fields = len(header) + shifted
    lines = _line_numbers(content, delimiter, n_fields, len(header), n_above, path)
    parse = partial(_read_csv, content, delimiter, path, names=range(n_fields), nrows=len(lines))
    frame, decimal = _parsed(content, delimiter, parse)
    if _PROTECTED.search(content):
        header = [unprotected(name) for name in header]
        for i in other_columns(frame):
            frame[i] = [unprotected(entry) if isinstance(entry, str) else entry for entry in frame[i]]
    if any(pattern.search(content) for pattern in _WITH_ZEROS[delimiter]):
        frame = _with_zeros(frame, parse)
    table = tidy(frame, [""] * shifted + header, path, "line", lines, decimal, distinct)
    return replace(table, notes=notes, samples=sheet_of(series))


def _with_zeros(frame: pd.DataFrame, parse: Callable[..., pd.DataFrame]) -> pd.DataFrame:
    """Return the cells with columns such as 001, 002, 010 as texts: ids, of which a zero is a part."""
    numbers = [i for i, dtype in enumerate(frame.dtypes) if is_number_type(dtype) and dtype.kind != "b"]
    whole = [i for i in numbers if (frame[i].dropna() % 1 == 0).all()]
    texts = parse(usecols=whole, dtype=str)
    for i in whole:
        entries = texts[i].dropna().str.strip()
        if entries.str.fullmatch("[0-9]+").all() and entries.str.match("0[0-9]").any():
            frame[i] = texts[i].astype(object)
    return frame


def text_lines(path: Path, read: ReadBytes = read_bytes) -> list[str]:
    """Return the lines of a text file that is not a table, such as a list of names; .gz is decompressed."""
    content = _as_utf8(_content(path, read), None, path).removeprefix(_BOM)
    check_unpacked(path, _LETTER * len(content))
    return content.decode("utf-8").splitlines()


def _content(path: Path, read: ReadBytes) -> bytes:
    content = read(path)
    if path.suffix.lower() == ".gz" and content:
        try:
            content = _decompressed(content, path)
        except (OSError, EOFError, zlib.error) as error:
            raise file_error(
                path,
                f"is not a gzip file, or it is damaged ({error}). Compress the table again, or name the uncompressed "
                "file without '.gz'.",
            ) from error
    elif content[:2] == b"\x1f\x8b":
        raise file_error(path, f"is compressed by gzip, but its name does not say so; rename it to '{path.name}.gz'.")
    if not content.removeprefix(_BOM).strip():
        raise file_error(path, "is empty; a table with a header and rows is needed.")
    return content


def _decompressed(content: bytes, path: Path) -> bytes:
    """Return what gzip has compressed, up to the limit: the size that such a file declares need not be true."""
    parts: list[bytes] = []
    with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
        while part := file.read(2**24):
            parts.append(part)
            check_unpacked(path, 2**24 * (len(parts) - 1) + len(part), more=True)
    return b"".join(parts)


def _check_cells(content: bytes, path: Path) -> None:
    """Refuse a table of more cells or columns than memory holds, before any of them is read."""
    signs, letters = [sign.encode() for sign in _DELIMITERS], np.frombuffer(content, np.uint8)
    n_cells = max(np.count_nonzero(letters == sign[0]) for sign in signs) + np.count_nonzero(letters == 10)
    n_columns = max([line.count(sign) for line in islice(io.BytesIO(content), _SAMPLE) for sign in signs], default=0)
    check_unpacked(path, len(content) + _CELL * int(n_cells) + _COLUMN * n_columns)


def _as_utf8(content: bytes, encoding: str | None, path: Path) -> bytes:
    """Return text in UTF-8; anything else that is not marked must be named: a guess may garble names."""
    if content.startswith(_BOM):  # a mark counts more than a name, which is meant for other files of the study
        encoding = "utf-8"
    elif content[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        encoding = "utf-16"
    if encoding is not None and codecs.lookup(encoding).name != "utf-8":
        try:
            content = content.decode(encoding).encode("utf-8").removeprefix(_BOM)
        except UnicodeError as error:
            raise InputError.of("encoding", f"does not fit: {path} is not text in {encoding} ({error}).") from error
    if b"\0" in content:
        raise file_error(path, "holds zero bytes, so it is not a text table. Check the file, or its suffix.")
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        start = error.start
        *above, last = content[:start].replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        rule = (
            f"is not text in UTF-8: byte 0x{content[start]:02x} at position {start}, in line {len(above) + 1}, "
            f"after {last.decode('utf-8')[-20:]!r}. Give its encoding (latin-1 for most files "
            f"of Western Europe), or save it as UTF-8. {_SAVE_AS}"
        )
        raise InputError(f"{path} {rule}", argument="encoding", value=encoding) from error
    return content


def _lines(content: bytes) -> io.TextIOWrapper:
    """Return the lines; unlike a StringIO this makes no copy of a large table."""
    return io.TextIOWrapper(io.BytesIO(content), encoding="utf-8", newline="\n")


def _is_blank(line: str, delimiter: str) -> bool:
    """Return whether a line is not a record, as pandas sees it."""
    return not line.strip(" \t\n".replace(delimiter, ""))


def _records(content: bytes, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line on which each record starts, and its fields."""
    first = ""

    def lines() -> Iterator[str]:
        nonlocal first
        for line in _lines(content):
            first = first or line
            yield line

    reader = csv.reader(lines(), delimiter=delimiter, skipinitialspace=True)
    number = 1
    for fields in reader:
        if not _is_blank(first, delimiter):
            yield number, fields
        number, first = reader.line_num + 1, ""


def _field_counts(content: bytes, delimiter: str) -> Iterator[tuple[int, int, bool]]:
    """Yield the line on which each record starts, its number of fields, and whether all of them are empty."""
    if b'"' in content:
        for number, fields in _records(content, delimiter):
            yield number, len(fields), not any(field.strip() for field in fields)
        return
    # The same without making a string of each field, which takes longer than reading the numbers.
    for number, line in enumerate(_lines(content), start=1):
        if not _is_blank(line, delimiter):
            yield number, line.count(delimiter) + 1, not line.strip(" \t\n" + delimiter)


def _find_delimiter(content: bytes, path: Path) -> tuple[str, bool, int]:
    """Return the delimiter, whether rows begin with a name that the header leaves out (as R writes them), and titles.

    The last is the number of records above the header.
    """
    readings = []
    for delimiter in sorted(_DELIMITERS, key=lambda d: (d == "\t") != (".tsv" in path.name.lower())):
        try:
            records = [fields for _, fields in islice(_records(content, delimiter), _SAMPLE)]
        except csv.Error:  # a field that never ends: the wrong delimiter, or a quotation mark left open
            continue
        n_titles = n_title_rows(records)
        header, *rows = records[n_titles:]
        shifted = len(header) > 1 and bool(rows) and _begin_with_names(rows, len(header) + 1)
        regular = len(header) > 1 and (shifted or all(len(row) == len(header) for row in rows))
        readings.append((regular, len(header), delimiter, shifted, n_titles))
    if not readings:
        raise file_error(path, "cannot be read as a table: it has a cell of more than 100,000 characters.")
    return max(readings, key=lambda read: read[:2])[2:]  # the first of equals


def _begin_with_names(rows: Sequence[list[str]], n_fields: int) -> bool:
    """Return whether the first of `n_fields` fields names the row: distinct, and not numbers (decimal commas!)."""
    if any(len(row) != n_fields for row in rows):
        return False
    names = [row[0] for row in rows]
    return len(set(names)) == len(names) and bool(pd.to_numeric(pd.Series(names), errors="coerce").isna().all())


def _refuse_other_delimiters(content: bytes, header: str, path: Path) -> None:
    """Refuse one column that falls into several at another sign, in the header and below it alike."""
    lines = [line for line in islice(_lines(content), _SAMPLE) if line.strip()]
    for sign, word in (("|", "'|'"), (":", "':'"), (None, "spaces")):
        counts = {len(line.split(sign)) for line in lines}
        if len(counts) == 1 and counts != {1} and len(lines) > 1:
            raise file_error(
                path,
                f"has one column, {header[:60]!r}: no comma, semicolon or tab separates columns in its first "
                f"line. They seem to be separated by {word}; save the table with commas.",
            )


def _line_numbers(
    content: bytes, delimiter: str, n_fields: int, n_names: int, n_above: int, path: Path
) -> NDArray[np.intp]:
    """Return the line of each row below the header, up to the last with a value; other lengths are refused.

    `n_above` lines of the file stand above the content.
    """
    try:
        records = np.fromiter(chain.from_iterable(_field_counts(content, delimiter)), np.intp).reshape(-1, 3)
    except csv.Error as error:
        raise file_error(
            path, f"cannot be read as a table ({error}); is there a quotation mark without its partner?"
        ) from error
    filled = np.flatnonzero(records[1:, 2] == 0)
    counts = records[1 : 2 + filled[-1] if len(filled) else 1]  # spreadsheets leave empty rows behind
    wrong = counts[counts[:, 1] != n_fields]
    if not len(wrong):
        return counts[:, 0] + n_above
    shown = listed([f"line {line + n_above} has {count}" for line, count, _ in wrong[:5].tolist()], 5, len(wrong))
    way_out = "Look there for a missing or unquoted delimiter, a decimal comma, or an open quotation mark."
    if len(wrong) == len(counts) and (wrong[:, 1] == n_names + 1).all():
        way_out = (
            "Every row has one more: if rows begin with a name, give that column a name in the header too; if numbers "
            "have decimal commas, separate columns by semicolons."
        )
    elif n_names == 1:
        way_out = "The header must be the first line, and have one name for each column."
    raise file_error(
        path,
        f"has a header in line {records[0, 0] + n_above} of {n_names} column(s), separated by "
        f"{_DELIMITERS[delimiter]}, but {shown}. {way_out}",
    )


def _parsed(content: bytes, delimiter: str, parse: Callable[..., pd.DataFrame]) -> tuple[pd.DataFrame, str]:
    """Return the cells, and the decimal sign of the numbers among them."""
    if delimiter == ",":  # then it cannot be a decimal sign too, unless it stands in quotes
        frame = parse()
        for i in other_columns(frame):
            numbers = comma_decimals(frame[i])
            if numbers is not None:
                frame[i] = numbers
        return frame, "."
    # The first rows nearly always tell which of the two is worth trying first.
    first = "," if _has_decimal_comma([fields for _, fields in islice(_records(content, delimiter), _SAMPLE)]) else "."
    frame = parse(decimal=first)
    second = "." if first == "," else ","
    entries = (entry for i in other_columns(frame) for entry in frame[i] if isinstance(entry, str))
    if not any(_WITH_SIGN[second].fullmatch(entry.strip()) for entry in entries):
        return frame, first
    as_written = frame if first == "." else parse(decimal=".")  # a comma stands in texts only
    sign = _prevailing_sign(as_written) or first
    if sign == first:
        return frame, first
    return (as_written if sign == "." else parse(decimal=",")), sign


def _has_decimal_comma(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether some number of these rows has a decimal comma; pairs such as 31,0 are none."""
    pairs = {j for j, entries in enumerate(zip_longest(*rows[1:])) if holds_pairs(filter(None, entries))}
    return any(
        _WITH_SIGN[","].fullmatch(entry.strip())
        for row in rows
        if not holds_pairs(filter(None, row[1:]))
        for j, entry in enumerate(row)
        if j not in pairs
    )


def _prevailing_sign(frame: pd.DataFrame) -> str | None:
    """Return the decimal sign of more columns of numbers or, where features are rows, of more rows; None if equal.

    `frame` was read with decimal points.
    """
    texts = other_columns(frame)
    columns = [decimal_sign(frame[i]) for i in texts]
    columns += ["." for i, dtype in enumerate(frame.dtypes) if dtype.kind == "f" and (frame[i].dropna() % 1 != 0).any()]
    rows = (decimal_sign(row) for row in frame[[i for i in texts if i]].to_numpy())  # but for their names
    for lines in (columns, rows):
        counts = Counter(lines)
        if counts["."] != counts[","]:
            return "." if counts["."] > counts[","] else ","
    return None


def _read_csv(content: bytes, delimiter: str, path: Path, **options: Any) -> pd.DataFrame:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pd.errors.DtypeWarning)
            return pd.read_csv(
                io.BytesIO(content),
                sep=delimiter,
                header=0,
                index_col=False,
                na_values=["", *MISSING_CODES],
                keep_default_na=False,
                skipinitialspace=True,
                low_memory=False,
                encoding="utf-8",
                engine="c",
                **_EXACT,
                **options,
            ).copy()  # thousands of columns in one array rather than in one each
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise file_error(
            path, f"cannot be read as a table separated by {_DELIMITERS[delimiter]} ({str(error).strip()})."
        ) from error
