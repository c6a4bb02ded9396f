"""Text tables: bytes to lines to columns, with the delimiter and the decimal sign found out."""

from __future__ import annotations

import csv
import gzip
import io
import warnings
import zlib
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..exceptions import InputError
from .table import MISSING_CODES, Table, listed, tidy

_DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab"}
_SAMPLE = 20  # records that decide about the delimiter
_SAVE_AS = "In a spreadsheet: save as 'CSV UTF-8'."
# Only exact reading gives back the numbers that were written; newer pandas does nothing else.
_IS_EXACT = tuple(map(int, pd.__version__.split(".")[:2])) >= (3, 1)
_EXACT: dict[str, Any] = {} if _IS_EXACT else {"float_precision": "round_trip"}


def read_text(path: Path) -> Table:
    """Read a text table whose columns are separated by commas, semicolons or tabs; .gz is decompressed."""
    content = _content(path)
    text = _decoded(content, path)
    delimiter, shifted = _find_delimiter(text, path)
    header = next(_records(text, delimiter))[1]
    if len(header) == 1:
        _refuse_other_delimiters(text, header[0], path)
    n_fields = len(header) + shifted
    lines = _line_numbers(text, delimiter, n_fields, len(header), path)
    frame, decimal = _parsed(content, delimiter, n_fields, path)
    numbers = lines if len(lines) == len(frame) else None
    return tidy(frame, [""] * shifted + header, path, "row" if numbers is None else "line", numbers, decimal)


def _content(path: Path) -> bytes:
    content = path.read_bytes()
    if path.suffix.lower() == ".gz" and content:
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(
                f"{path} is no gzip file or is damaged ({error}). Compress the table again, or name the uncompressed "
                "file without '.gz'."
            ) from error
    elif content[:2] == b"\x1f\x8b":
        raise InputError(f"{path} is compressed by gzip, but its name does not say so; rename it to '{path.name}.gz'.")
    content = content.removeprefix(b"\xef\xbb\xbf")
    if not content.strip():
        raise InputError(f"{path} is empty; a table with a header and rows is needed.")
    return content


def _decoded(content: bytes, path: Path) -> str:
    """Return the text; anything but UTF-8 is refused, because a guess may garble names."""
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InputError(f"{path} is text in UTF-16, but UTF-8 is needed. {_SAVE_AS}")
    if b"\0" in content:
        raise InputError(f"{path} holds zero bytes, so it is no text table. Check the file, or its suffix.")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        start = error.start
        # What stands before the byte is UTF-8; io counts lines as editors do.
        *_, last = ["", *io.StringIO(content[:start].decode("utf-8"), newline="")]
        line = 1 + content[:start].replace(b"\r\n", b"\n").replace(b"\r", b"\n").count(b"\n")
        raise InputError(
            f"{path} is not text in UTF-8: byte 0x{content[start]:02x} at position {start}, in line {line}, after "
            f"{last.rstrip()[-20:]!r}. {_SAVE_AS} In an editor: save with the encoding UTF-8."
        ) from error


def _records(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line on which each record starts, and its fields; blank lines are no records, as in pandas."""
    blank = " \t".replace(delimiter, "")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
    while True:
        line = reader.line_num + 1
        try:
            fields = next(reader)
        except StopIteration:
            return
        if len(fields) > 1 or (fields and fields[0].strip(blank)):
            yield line, fields


def _field_counts(text: str, delimiter: str) -> Iterator[tuple[int, int]]:
    """Yield the line on which each record starts, and its number of fields."""
    if '"' in text:
        yield from ((line, len(fields)) for line, fields in _records(text, delimiter))
        return
    # The same without making a string of each field, which takes longer than reading the numbers.
    blank = " \t\r\n".replace(delimiter, "")
    for number, line in enumerate(io.StringIO(text, newline=""), start=1):
        if line.strip(blank):
            yield number, line.count(delimiter) + 1


def _find_delimiter(text: str, path: Path) -> tuple[str, bool]:
    """Return the delimiter, and whether rows begin with a name that the header leaves out (as R writes them)."""
    best: tuple[tuple[bool, int], str, bool] = ((False, 0), ",", False)
    for delimiter in sorted(_DELIMITERS, key=lambda d: (d == "\t") != (".tsv" in path.name.lower())):
        try:
            header, *rows = [fields for _, fields in islice(_records(text, delimiter), _SAMPLE)]
        except csv.Error:  # a field that never ends: the wrong delimiter, or a quotation mark left open
            continue
        shifted = len(header) > 1 and bool(rows) and _begin_with_names(rows, len(header) + 1)
        regular = len(header) > 1 and (shifted or all(len(row) == len(header) for row in rows))
        score = (regular, len(header))
        if score > best[0]:
            best = (score, delimiter, shifted)
    if best[0][1] == 0:
        raise InputError(f"{path} cannot be read as a table: it has a cell of more than 100,000 characters.")
    return best[1], best[2]


def _begin_with_names(rows: Sequence[list[str]], n_fields: int) -> bool:
    """Tell whether the first of `n_fields` fields names the row: distinct, and not numbers (decimal commas!)."""
    if any(len(row) != n_fields for row in rows):
        return False
    names = [row[0] for row in rows]
    return len(set(names)) == len(names) and bool(pd.to_numeric(pd.Series(names), errors="coerce").isna().all())


def _refuse_other_delimiters(text: str, header: str, path: Path) -> None:
    """Refuse one column that falls into several at another sign, in the header and below it alike."""
    lines = [line for line in islice(io.StringIO(text), _SAMPLE) if line.strip()]
    for sign, word in (("|", "'|'"), (":", "':'"), (None, "spaces")):
        counts = {len(line.split(sign)) for line in lines}
        if len(counts) == 1 and counts != {1} and len(lines) > 1:
            raise InputError(
                f"{path} has one column, {header[:60]!r}: no comma, semicolon or tab separates columns in its first "
                f"line. They seem to be separated by {word}; save the table with commas."
            )


def _line_numbers(text: str, delimiter: str, n_fields: int, n_names: int, path: Path) -> NDArray[np.intp]:
    """Return the line of each row below the header; rows of another length are refused."""
    try:
        (first, _), *counts = _field_counts(text, delimiter)
    except csv.Error as error:
        raise InputError(
            f"{path} cannot be read as a table ({error}); is there a quotation mark without its partner?"
        ) from error
    wrong = [(line, count) for line, count in counts if count != n_fields]
    if not wrong:
        return np.array([line for line, _ in counts], dtype=np.intp)
    shown = listed([f"line {line} has {count}" for line, count in wrong[:5]], len(wrong), 5)
    way_out = "Look there for a missing or unquoted delimiter, a decimal comma, or an open quotation mark."
    if len(wrong) == len(counts) and {count for _, count in wrong} == {n_names + 1}:
        way_out = (
            "Every row has one more: if rows begin with a name, give that column a name in the header too; if numbers "
            "have decimal commas, separate columns by semicolons."
        )
    elif n_names == 1:
        way_out = "The header must be the first line, and have one name for each column."
    raise InputError(
        f"{path}: the header in line {first} has {n_names} column(s), separated by {_DELIMITERS[delimiter]}, but "
        f"{shown}. {way_out}"
    )


def _parsed(content: bytes, delimiter: str, n_fields: int, path: Path) -> tuple[pd.DataFrame, str]:
    frame = _read_csv(content, delimiter, n_fields, ".", path)
    # Where commas separate columns they cannot be decimal signs. Elsewhere the sign that makes more numbers is right.
    if delimiter != "," and any(
        column.astype(str).str.fullmatch(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?").any() for _, column in _text_columns(frame)
    ):
        other = _read_csv(content, delimiter, n_fields, ",", path)
        if len(_text_columns(other)) < len(_text_columns(frame)):
            return other, ","
    return frame, "."


def _text_columns(frame: pd.DataFrame) -> list[tuple[int, pd.Series]]:
    return [
        (i, frame[i])
        for i, dtype in enumerate(frame.dtypes)
        if pd.api.types.is_object_dtype(dtype) or pd.api.types.is_string_dtype(dtype)
    ]


def _read_csv(content: bytes, delimiter: str, n_fields: int, decimal: str, path: Path) -> pd.DataFrame:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pd.errors.DtypeWarning)
            return pd.read_csv(
                io.BytesIO(content),
                sep=delimiter,
                decimal=decimal,
                header=0,
                names=range(n_fields),
                index_col=False,
                na_values=["", *MISSING_CODES],
                keep_default_na=False,
                skipinitialspace=True,
                low_memory=False,
                encoding="utf-8",
                engine="c",
                **_EXACT,
            )
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise InputError(
            f"{path} cannot be read as a table separated by {_DELIMITERS[delimiter]} ({str(error).strip()})."
        ) from error
