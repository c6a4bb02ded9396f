"""GEO series matrices: the table between its marks, and what the lines above it say of the samples."""

from __future__ import annotations

import csv

import pandas as pd

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


def samples_of(lines: list[list[str]]) -> pd.DataFrame | None:
    """Return what the lines on samples say, one row per sample; None if they do not name the samples.

    Examples
    --------
    >>> samples_of([["!Sample_geo_accession", "GSM1", "GSM2"], ["!Sample_characteristics_ch1", "age: 5", "sex: f"]])
          age  sex
    GSM1    5  NaN
    GSM2  NaN    f
    """
    found = {name: entries for name, *entries in reversed(lines)}
    ids = found.get(f"{_SAMPLE}geo_accession")
    if ids is None:
        return None
    columns: dict[str, dict[str, str]] = {}
    for name, *entries in lines:
        kind = name.removeprefix(_SAMPLE)
        for sample, entry in zip(ids, entries, strict=False):
            if kind in _DESCRIBING:
                columns.setdefault(kind.removesuffix("_ch1"), {})[sample] = entry
            elif kind.startswith("characteristics") and ":" in entry:
                key, _, value = entry.partition(":")
                columns.setdefault(key.strip(), {}).setdefault(sample, value.strip())
    return pd.DataFrame(columns, index=ids)
