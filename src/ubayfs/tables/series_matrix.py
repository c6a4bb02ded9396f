"""GEO series matrices: the table between its marks, and what the lines above it say of the samples."""

from __future__ import annotations

import csv
from collections import Counter

import pandas as pd

from .table import MISSING_CODES

_BEGIN, _END = b"!series_matrix_table_begin", b"!series_matrix_table_end"
_SAMPLE = "!Sample_"
_DESCRIBING = ("title", "source_name_ch1")  # of a sample, besides its characteristics


def without_series_lines(content: bytes) -> tuple[bytes, int, list[list[str]]]:
    """Return the table of a series matrix, the number of lines above it, and the fields of the lines on samples.

    Any other text is returned as it is.
    """
    if not content.startswith(b"!"):
        return content, 0, []
    lines = content.split(b"\n")
    marks = [i for i, line in enumerate(lines) if line.rstrip() == _BEGIN]
    first = marks[0] + 1 if marks else next((i for i, line in enumerate(lines) if line[:1] != b"!"), 0)
    above = [line.decode("utf-8") for line in lines[:first] if line.startswith(_SAMPLE.encode())]
    table = [line for line in lines[first:] if line.rstrip() != _END and line[:1] != b"!"]
    return b"\n".join(table), first, list(csv.reader(above, delimiter="\t"))


def sheet_of(lines: list[list[str]]) -> pd.DataFrame | None:
    """Return what the lines on samples say, one row per sample; None if they do not name the samples.

    Characteristics without a key are named by their lines: characteristics_ch1, characteristics_ch1.1, ...

    Examples
    --------
    >>> sheet_of([["!Sample_geo_accession", "GSM1", "GSM2"], ["!Sample_characteristics_ch1", "age: 5", "sex: f"]])
          age  sex
    GSM1  5.0  NaN
    GSM2  NaN    f
    """
    entries_of = {name: entries for name, *entries in reversed(lines)}
    ids = entries_of.get(f"{_SAMPLE}geo_accession")
    if ids is None:
        return None
    columns: dict[str, dict[str, str]] = {}
    seen: Counter[str] = Counter()
    for name, *entries in lines:
        kind = name.removeprefix(_SAMPLE)
        line = f"{kind}.{seen[kind]}" if seen[kind] else kind
        seen[kind] += 1
        for sample, entry in zip(ids, entries, strict=False):
            if kind in _DESCRIBING:
                key, value = kind.removesuffix("_ch1"), entry
            elif kind.startswith("characteristics"):
                key, value = entry.split(":", 1) if ":" in entry else (line, entry)
            else:
                continue
            if value.strip() not in ("", *MISSING_CODES):
                columns.setdefault(key.strip(), {}).setdefault(sample, value.strip())
    frame = pd.DataFrame(columns, index=ids)
    for name in columns:
        numbers = pd.to_numeric(frame[name], errors="coerce")
        if numbers.notna().equals(frame[name].notna()):
            frame[name] = numbers
    return frame
