"""Files that are written whole, and CSV files whose entries come back with their types."""

from __future__ import annotations

import csv
import io
import json
import os
import uuid
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

_TEXT = ("experiment", "data", "scheme", "method", "rho")  # not numbers, though they may look like them

Row = dict[str, Any]


def write_file(path: Path, content: bytes) -> None:
    """Write a file so that a crash leaves either the old file or the new one, never a part."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with open(temporary, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def to_csv(rows: list[Row]) -> bytes:
    """Return rows as a CSV file: words as they are, sets of features, and the rest as JSON; what a row lacks is empty.

    Examples
    --------
    >>> content = to_csv([{"split": 0, "features": (3, 5), "prior": "flat"}, {"split": 1, "features": (), "f1": 0.5}])
    >>> print(content.decode().rstrip())
    split,features,prior,f1
    0,3 5,flat,
    1,,,0.5
    >>> list(read_csv(content, ["split"]))[1]
    {'split': 1, 'features': (), 'f1': 0.5}
    """
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, list(dict.fromkeys(key for row in rows for key in row)), lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: _text(key, value) for key, value in row.items()} for row in rows)
    return buffer.getvalue().encode()


def _text(column: str, value: Any) -> str:
    """Return an entry of a table: JSON, but for words and sets; what is absent is empty."""
    if column == "features":
        return " ".join(map(str, value))
    if isinstance(value, str) and (column in _TEXT or not _is_json(value)):
        return value
    return json.dumps(value)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return not text  # an empty entry would be an absent one
    return True


def _value(column: str, text: str) -> Any:
    """Return what :func:`_text` was given."""
    if column == "features":
        return tuple(int(position) for position in text.split())
    if column in _TEXT:
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def read_csv(content: bytes, columns: Iterable[str]) -> Iterator[Row]:
    """Give the rows of a file by :func:`to_csv`; ValueError if it is none, or lacks one of `columns`."""
    reader = csv.DictReader(io.StringIO(content.decode()))
    if missing := set(columns) - set(reader.fieldnames or ()):
        raise ValueError(f"no column {min(missing)!r}")
    value = lru_cache(maxsize=None)(_value)  # most entries occur many times
    for row in reader:
        if None in row or None in row.values():
            raise ValueError(f"line {reader.line_num} has another number of columns than the first")
        yield {key: value(key, text) for key, text in row.items() if text or key == "features"}
