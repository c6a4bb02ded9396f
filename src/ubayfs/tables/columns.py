"""Columns as numbers: entries that are not, in words, values below detection, and missing values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._arguments import as_float
from .._plain import listed
from ..data.reading_rules import names_groups
from ..exceptions import Advice, Problem
from .table import Table, with_columns

_MOST_APART = 5  # columns of which the same is wrong that are described one by one
_EXPONENT = r"(?:[eE][+-]?[0-9]+)?"
_NUMBER = re.compile(rf"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+){_EXPONENT}")
_COMMA = re.compile(rf"[+-]?[0-9]*,[0-9]+{_EXPONENT}")
_THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2}(?:,[0-9]{3})+")
_FOR_PEOPLE = re.compile(rf"[+-]?(?:[0-9]{{1,3}}(?:[., '][0-9]{{3}})*(?:[.,][0-9]+)?|[0-9]*[.,]?[0-9]+){_EXPONENT}")

# A day such as 31.12.2024, 12/31/24 or 2024-12-31, and perhaps a time.
_DAY = r"(?:0?[1-9]|[12][0-9]|3[01])"
_DATE = re.compile(
    rf"(?:{_DAY}([./-]){_DAY}\1[0-9]{{4}}|{_DAY}([./]){_DAY}\2[0-9]{{2}}|[0-9]{{4}}([./-]){_DAY}\3{_DAY})"
    r"(?:[ T][0-9]{1,2}:[0-9]{2}[0-9:.]*Z?)?"
)

# Times and events in one cell, such as 31,0: numbers to a reader of decimal commas.
_PAIR = re.compile(r"(?:[0-9]+|NA),([01]|NA)")
_FEWEST_PAIRS = 5  # entries; fewer with nothing but ,0 and ,1 may be numbers

# Values below the limit of detection: with the limit, or in a word.
_BELOW = re.compile(rf"(?:<|<=|≤)\s*([+-]?[0-9]*[.,]?[0-9]+{_EXPONENT})")
_UNDETECTED = frozenset(
    {"nd", "n.d.", "n.d", "bd", "bdl", "bld", "bql", "blq", "lod", "loq", "lloq", "<lod", "<loq", "<lloq", "< lod",
     "< loq", "below lod", "below loq", "below detection", "below limit", "not detected", "undetected"}
)  # fmt: skip


@lru_cache(maxsize=64)
def is_number_type(dtype: Any) -> bool:
    """Return whether a column of this type holds real numbers (True and False are 1 and 0)."""
    return pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_complex_dtype(dtype)


def other_columns(frame: pd.DataFrame) -> list[int]:
    """Return the positions of the columns that do not hold numbers only."""
    return [position for position, dtype in enumerate(frame.dtypes) if not is_number_type(dtype)]


def as_floats(column: pd.Series, decimal: str | None) -> NDArray[np.float64]:
    """Return a column as floats of shape (n_rows,); NaN where an entry is missing or not a number.

    In a text table, which has a decimal sign, a number is what reads as one; else text is text even if it has digits.
    """
    if is_number_type(column.dtype):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    if isinstance(column.dtype, pd.CategoricalDtype) or pd.api.types.is_datetime64_any_dtype(column.dtype):
        return np.full(len(column), np.nan)
    return np.array([_as_float(entry, decimal) for entry in column.to_numpy(dtype=object)], dtype=np.float64)


def values_of(table: Table, frame: pd.DataFrame) -> NDArray[Any]:
    """Return columns of a table as numbers, of shape (n_rows, n_columns); NaN where an entry is none.

    float32 if all columns are that, else float64.
    """
    if not other_columns(frame):
        single = frame.shape[1] > 0 and all(dtype == np.float32 for dtype in frame.dtypes)
        return frame.to_numpy(dtype=np.float32 if single else np.float64, na_value=np.nan)
    signs = [table.decimal_of(str(name)) for name in frame.columns]
    return np.column_stack([as_floats(frame.iloc[:, j], sign) for j, sign in enumerate(signs)])


def _as_float(entry: Any, decimal: str | None) -> float:
    if isinstance(entry, Real | Decimal | np.bool_):
        return as_float(entry)
    if decimal is None or not isinstance(entry, str) or (decimal == "," and "." in entry):
        return np.nan
    text = entry.strip().replace(decimal, ".")
    return float(text) if _NUMBER.fullmatch(text) else np.nan


def offending(column: pd.Series, decimal: str | None) -> NDArray[np.bool_]:
    """Return a mask of the entries that are neither numbers nor missing, of shape (n_rows,)."""
    if is_number_type(column.dtype):
        return np.zeros(len(column), dtype=bool)
    return column.notna().to_numpy() & np.isnan(as_floats(column, decimal))


def text_columns(table: Table, names: Sequence[str]) -> dict[str, list[str]]:
    """Return the columns without any number, by what they hold: text, categories, dates or pairs."""
    wholly: dict[str, list[str]] = {}
    for name, bad in _offending(table, names):
        column = table.frame[name]
        if holds_pairs(column):
            wholly.setdefault("pairs", []).append(str(name))
        elif bad.sum() == column.notna().sum() and not all(map(_is_meant_as_number, column[bad])):
            wholly.setdefault(_kind(column), []).append(str(name))
    return wholly


def _offending(table: Table, names: Sequence[str]) -> Iterator[tuple[Any, NDArray[np.bool_]]]:
    """Yield the columns that have entries which are neither numbers nor missing, and the mask of these."""
    for name, dtype in table.frame.dtypes.loc[list(names)].items():
        if not is_number_type(dtype) and (bad := offending(table.frame[name], table.decimal_of(str(name)))).any():
            yield name, bad


def word_columns(table: Table, names: Sequence[str]) -> set[str]:
    """Return the columns that hold words or truth values."""
    words = {name for kind, columns in text_columns(table, names).items() if kind != "dates" for name in columns}
    dtypes = table.frame.dtypes.loc[list(names)].items()
    return words | {str(name) for name, dtype in dtypes if pd.api.types.is_bool_dtype(dtype)}


def names_samples(column: pd.Series) -> bool:
    """Return whether words are the names of samples: every sample has another one."""
    present = column.dropna()
    return not isinstance(column.dtype, pd.CategoricalDtype) and len(present) > 2 and bool(present.is_unique)


def number_problems(table: Table, names: Sequence[str]) -> tuple[list[Problem], set[str]]:
    """Return a problem for each column that mixes numbers with something else, and the names of these columns.

    What is the same with many columns is one problem.
    """
    mixed: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for name, bad in _offending(table, names):
        message, way_out, about = _mixed(table, str(name), bad, "path")
        mixed.setdefault((way_out, about), []).append((str(name), message))
    problems = []
    for (way_out, about), columns in mixed.items():
        apart = columns if len(columns) <= _MOST_APART else columns[:1]
        further = [name for name, _ in columns[len(apart) :]]
        more = (
            f" The same holds for {listed([repr(name) for name in further[:3]], 3, len(further))}." if further else ""
        )
        problems += [Problem(f"{message}: {way_out}.{more}", (about,)) for _, message in apart]
    return problems, {name for columns in mixed.values() for name, _ in columns}


def mixed_problem(table: Table, name: str, bad: NDArray[np.bool_], role: str) -> Problem:
    """Describe which entries of a column are not numbers, and where; `bad` is their mask of shape (n_rows,)."""
    message, way_out, about = _mixed(table, name, bad, role)
    return Problem(f"{message}: {way_out}.", (about,))


def _mixed(table: Table, name: str, bad: NDArray[np.bool_], role: str) -> tuple[str, str, str]:
    """Return which entries of a column are not numbers, what to do, and the key that it is about."""
    rows = np.flatnonzero(bad)
    entries = table.frame[name].to_numpy(dtype=object)
    shown = listed([f"{entries[row]!r} in {table.place(row)}" for row in rows[:5]], 5, len(rows))
    way_out, about = f"correct {'it' if len(rows) == 1 else 'them'}, or empty the cell if the value is missing", role
    if all(reads_as_number(entries[row]) for row in rows):
        way_out = (
            "they are numbers stored as text: convert these cells to numbers"
            if table.decimal_of(name) is None
            else "write all numbers of the table with the same decimal sign and without thousands separators"
        )
    elif all(limit_of(entries[row]) is not None for row in rows):
        way_out, about = "values below detection: choose below_detection: half, missing or limit", "below_detection"
    elif role == "path" and names_groups([name]):
        way_out = "name the column as groups if it says which samples belong together, else in ignore"
    are = "is not a number" if len(rows) == 1 else "are not numbers"
    return f"column {name!r}: {shown} {are}", way_out, about


def reads_as_number(entry: Any) -> bool:
    """Return whether a person would read text as a number, such as 1,5 or 1'234.5."""
    return isinstance(entry, str) and _FOR_PEOPLE.fullmatch(entry.strip()) is not None


def limit_of(entry: Any) -> float | None:
    """Return the limit of a value below detection, NaN where it names none; None for anything else.

    Examples
    --------
    >>> limit_of("< 0,5"), limit_of("n.d."), limit_of("high")
    (0.5, nan, None)
    """
    if not isinstance(entry, str):
        return None
    match = _BELOW.fullmatch(entry.strip())
    if match is not None:
        return float(match[1].replace(",", "."))
    return np.nan if entry.strip().lower() in _UNDETECTED else None


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
    n_values = 0
    for j in other_columns(table.frame):
        column = table.frame.iloc[:, j]
        stated = [limit_of(entry) for entry in column]
        below = np.array([limit is not None for limit in stated])
        values = as_floats(column, table.decimal)
        odd = column.notna().to_numpy() & np.isnan(values) & ~below
        if isinstance(column.dtype, pd.CategoricalDtype) or not below.any() or odd.any():
            continue
        stated_limits = np.array([np.nan if limit is None else limit for limit in stated])
        counted = stated_limits if np.isfinite(stated_limits).any() else values
        lowest = np.nanmin(counted) if np.isfinite(counted).any() else np.nan
        limits = np.where(np.isnan(stated_limits), lowest, stated_limits)[below]
        if rule == "half" and (limits < 0).any():  # half of it would not be below detection
            text = (
                f"column {str(table.frame.columns[j])!r}: half of the limit {np.nanmin(limits):g} would be above it; "
            )
            raise table.error(
                "below_detection", f"{text}are these logarithms? Choose below_detection: limit or missing."
            )
        values[below] = np.nan if rule == "missing" else limits * (0.5 if rule == "half" else 1.0)
        changed[j] = values
        n_values += int(below.sum())
    if not changed:
        return table
    columns = [str(table.frame.columns[j]) for j in changed]
    facts = {"file": table.path.name, "n_values": n_values, "n_columns": len(columns), "columns": columns, "rule": rule}
    return replace(table, frame=with_columns(table.frame, changed)).noted(Advice("below_detection", facts))


def _is_meant_as_number(entry: Any) -> bool:
    return reads_as_number(entry) or limit_of(entry) is not None


def _kind(column: pd.Series) -> str:
    if isinstance(column.dtype, pd.CategoricalDtype):
        return "categories"
    return "dates" if holds_dates(column) else "text"


def holds_dates(column: pd.Series) -> bool:
    """Return whether a column holds dates, as such or as text.

    Examples
    --------
    >>> holds_dates(pd.Series(["31.12.2024", None])), holds_dates(pd.Series(["31.12.2024", "late"]))
    (True, False)
    """
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return True
    return all(isinstance(entry, str) and _DATE.fullmatch(entry.strip()) for entry in column.dropna())


def holds_pairs(entries: Iterable[Any]) -> bool:
    """Return whether entries are pairs of a time and an event, such as ``31,0``, rather than decimal commas.

    Each is a whole number and an event, and both events occur, or ``NA,NA`` does.

    Examples
    --------
    >>> holds_pairs(["31,0", "420,1", "NA,NA"]), holds_pairs(["0,5", "1,2"]), holds_pairs(["1,0", "2,0", "3,0"])
    (True, False, False)
    """
    n, events = 0, set[str]()
    for entry in entries:
        if isinstance(entry, str):
            pair = _PAIR.fullmatch(entry.strip())
            if pair is None:
                return False
            n += 1
            events.add(pair[1])
        elif not pd.isna(entry):
            return False
    return "NA" in events or (n >= _FEWEST_PAIRS and len(events) == 2)


def decimal_sign(entries: Iterable[Any]) -> str | None:
    """Return the decimal sign of numbers that are text; None for whole numbers, pairs, and anything else.

    Examples
    --------
    >>> decimal_sign(["1,5", "2"]), decimal_sign(["0.9", None]), decimal_sign(["1", "2"]), decimal_sign(["1,5", "x"])
    (',', '.', None, None)
    """
    texts = [entry for entry in entries if isinstance(entry, str)]
    signs = [sign for sign in ".," if any(sign in text for text in texts)]
    if len(signs) != 1 or np.isnan([_as_float(text, signs[0]) for text in texts]).any() or holds_pairs(texts):
        return None
    return signs[0]


def missing_problem(table: Table, names: Sequence[str], values: NDArray[Any]) -> Problem:
    """Describe where values are missing, how many, and the ways out; `values` is of shape (n_rows, n_names)."""
    gaps = np.isnan(values)
    columns = np.flatnonzero(gaps.any(axis=0))
    shown = [f"{names[j]!r} ({gaps[:, j].sum()}: {table.places(np.flatnonzero(gaps[:, j]), 3)})" for j in columns[:10]]
    rule = (
        f"{int(gaps.sum())} value(s) are missing in {len(columns)} feature column(s): "
        f"{listed(shown, 10, len(columns))}. Choose missing: available (each feature counts with the samples that have "
        "it), median (the same, with medians where a selector needs complete data), "
        f"drop_rows (keeps {int((~gaps.any(axis=1)).sum())} of {len(values)} rows) or "
        f"drop_columns (keeps {len(names) - len(columns)} of {len(names)} feature columns), or "
        "fill them in the file."
    )
    return Problem(rule, ("missing",))


def infinite_problems(table: Table, names: Sequence[str], values: NDArray[Any]) -> list[Problem]:
    """Describe where values are infinite, as one problem or none; `values` is of shape (n_rows, n_names)."""
    infinite = np.isinf(values)
    columns = np.flatnonzero(infinite.any(axis=0))
    if not len(columns):
        return []
    shown = [f"{names[j]!r} ({table.places(np.flatnonzero(infinite[:, j]), 3)})" for j in columns[:10]]
    rule = f"values are infinite in {listed(shown, 10, len(columns))}: correct them, or empty the cells."
    return [Problem(rule, ("path",))]


def comma_decimals(column: pd.Series) -> NDArray[Any] | None:
    """Return a column of text as numbers, of shape (n_rows,), if all of them may have a decimal comma; else None.

    None also if they may have thousands separators instead: 1,234 is read as either. Values below detection stay texts,
    and so do words among a majority of numbers: they are what is wrong with such a column, not the commas.

    Examples
    --------
    >>> comma_decimals(pd.Series(["1,5", "2", None]))
    array([1.5, 2. , nan])
    >>> comma_decimals(pd.Series(["1,5", "2", "unknown"])).tolist()
    [1.5, 2.0, 'unknown']
    >>> comma_decimals(pd.Series(["1,234", "2,500"])) is None
    True
    """
    entries = [entry for entry in column if isinstance(entry, str)]
    with_comma = [entry for entry in entries if "," in entry and limit_of(entry) is None]
    if not with_comma or not all(_COMMA.fullmatch(entry.strip()) for entry in with_comma):
        return None
    if all(_THOUSANDS.fullmatch(entry.strip()) for entry in with_comma):
        return None
    if holds_pairs(entries):
        return None
    numbers = as_floats(column, ",")
    odd = np.isnan(numbers) & column.notna().to_numpy()
    words = [entry for entry in column[odd] if limit_of(entry) is None]
    if 2 * len(words) >= column.notna().sum() or any(map(reads_as_number, words)):
        return None
    return np.where(odd, column.to_numpy(dtype=object), numbers) if odd.any() else numbers


def n_title_rows(rows: Sequence[Sequence[Any]]) -> int:
    """Return how many rows stand above the header: at most half as wide as the table, or comments that begin with #.

    Examples
    --------
    >>> n_title_rows([["Table S1"], ["gene", "s1", "s2"], ["TP53", "1", "2"]]), n_title_rows([["a", "b"], ["1", "2"]])
    (1, 0)
    """
    there = [[cell is not None and str(cell).strip() != "" for cell in row] for row in rows]
    filled = [sum(row) + (any(row) and not row[0]) for row in there]  # the column of row names may have no name
    top = next((i for i, n in enumerate(filled) if 2 * n > max(filled)), 0)
    n_comments = next((i for i, row in enumerate(rows) if not (row and str(row[0]).startswith("#"))), len(rows))
    if 2 <= n_comments < len(rows):  # a single one may be the header
        top = n_comments
    names, *below = rows[top:]
    regular = {len(row) for row in below} <= {len(names), len(names) + 1}
    has_numbers = any(isinstance(cell, Real) or reads_as_number(cell) for cell in names)
    return top if below and regular and not has_numbers else 0
