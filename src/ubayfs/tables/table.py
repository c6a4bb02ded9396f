"""Table: what a file holds, and where in the file each row is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._listing import bulleted
from .._plain import listed, listing, quoted
from ..data.reading_rules import DUPLICATE_RULES
from ..exceptions import Advice, InputError, Problem, StudyError

# Cells that count as missing, besides empty ones, in text tables and in Excel.
MISSING_CODES = (
    "NA", "N/A", "n/a", "#N/A", "nan", "NaN", "null", "NULL", "None",
    "n.a.", "k.A.", "k. A.", "#NV",  # the last three are German
    "[Not Available]", "[Not Applicable]", "[Not Evaluated]", "[Unknown]",  # clinical files of TCGA
)  # fmt: skip

# The target of a study file in which it is still to be chosen.
TO_BE_CHOSEN = "?"

# pandas calls the unnamed column of row names so when a table is read and written once more.
_ROW_NAMES = ("", "Unnamed: 0")


class TableError(StudyError):
    """The columns of a table cannot have the roles that they are given; the path of each problem is the argument."""

    def __init__(self, path: Path, problems: Sequence[Problem], limit: int = 10) -> None:
        with_path = [replace(problem, message=f"{path}: {problem.message}") for problem in problems]
        message = with_path[0].message
        if len(problems) > 1:
            texts = [problem.message for problem in problems]
            message = bulleted(f"{path} has {len(problems)} problems", texts, limit)
        super().__init__(message, with_path)


def file_error(path: Path, rule: str) -> InputError:
    """Return the error of a file that breaks a rule; the message names the file."""
    return InputError(f"{path} {rule}", argument="path", value=path)


@dataclass(frozen=True, eq=False)
class Table:
    """A table read from a file.

    Attributes
    ----------
    frame : DataFrame of shape (n_rows, n_columns)
        Columns have distinct names (str); the index holds the names of the rows when the file has them.
    annotations : frozenset of str
        Columns that describe rows and are never features: `obs` of AnnData.
    path : Path
    unit : str
        What a row of the file is called, ``"line"`` in text and ``"row"`` elsewhere.
    numbers : ndarray of int of shape (n_rows,) or None
        Number of each row as an editor shows it; None: rows count from 1.
    decimal : str or None
        Decimal sign of a text table, ``"."`` or ``","``; None for formats that tell numbers from text.
    decimals : mapping of str to (str or None)
        Decimal signs of columns from files with another one, when the table was put together from several.
    sheet : str or None
        The sheet that was read, of an Excel file.
    other_sheets : tuple of str
        Those that were not.
    notes : tuple of Advice
        What a reader must know of how the table was read: rows above the header, columns left out, samples not matched.
    blocks : mapping of str to tuple of str, or None
        The columns of each file, when the table was put together from several.
    samples : DataFrame or None
        What the file itself says of its samples (GEO series matrices), by sample.
    problems : tuple of Problem
        What is wrong with the columns in their roles; they are raised all at once.
    """

    frame: pd.DataFrame
    annotations: frozenset[str]
    path: Path
    unit: str = "row"
    numbers: NDArray[np.intp] | None = None
    decimal: str | None = None
    decimals: Mapping[str, str | None] = field(default_factory=dict)
    sheet: str | None = None
    other_sheets: tuple[str, ...] = ()
    notes: tuple[Advice, ...] = ()
    blocks: Mapping[str, tuple[str, ...]] | None = None
    samples: pd.DataFrame | None = None
    problems: tuple[Problem, ...] = ()

    @property
    def has_names(self) -> bool:
        """Whether the rows have names of their own."""
        return not isinstance(self.frame.index, pd.RangeIndex)

    @property
    def title(self) -> str:
        """The name of the file, and its sheet if there are several."""
        return f"{self.path.name} ({self.sheet})" if self.other_sheets else self.path.name

    @property
    def about_sheets(self) -> str:
        """A sentence about the sheets of the file, if there are several: perhaps the wrong one was read."""
        if not self.other_sheets:
            return ""
        return f" This is the sheet {self.sheet!r}; the file also has {quoted(self.other_sheets)}."

    @property
    def about_samples_sheet(self) -> str:
        """The same, and how another sheet is named that describes the samples."""
        about = self.about_sheets
        return about and f"{about} A sheet that describes the samples is named as samples_sheet."

    def decimal_of(self, name: str) -> str | None:
        """Return the decimal sign of the file that a column is from."""
        return self.decimals.get(name, self.decimal)

    def place(self, row: int) -> str:
        """Return where the row at a position is in the file, such as ``"line 14"``."""
        if self.unit == "sample":
            return f"sample {str(self.frame.index[row])!r}"
        return f"{self.unit} {row + 1 if self.numbers is None else self.numbers[row]}"

    def at(self, rows: NDArray[np.intp]) -> Table:
        """Return the table with some of its rows."""
        numbers = np.arange(len(self.frame)) + 1 if self.numbers is None else self.numbers
        return replace(self, frame=self.frame.iloc[rows], numbers=numbers[rows])

    def noted(self, *entries: Advice | Problem) -> Table:
        """Return the table with further notes and problems."""
        notes = [note for note in entries if isinstance(note, Advice)]
        problems = [problem for problem in entries if isinstance(problem, Problem)]
        return replace(self, notes=(*self.notes, *notes), problems=(*self.problems, *problems))

    def with_columns(self, columns: Mapping[str, Any]) -> Table:
        """Return the table with other values in some columns."""
        places: Any = {self.frame.columns.get_loc(name): values for name, values in columns.items()}
        return replace(self, frame=with_columns(self.frame, places))

    def error(self, argument: str, rule: str) -> TableError:
        """Return the error of a table that breaks a rule."""
        return TableError(self.path, [Problem(rule, (argument,))])

    def places(self, rows: Sequence[int] | NDArray[Any], limit: int = 5) -> str:
        """List where a few rows are and say how many more there are."""
        return listed([self.place(int(row)) for row in rows[:limit]], limit, len(rows))


def with_columns(frame: pd.DataFrame, columns: Mapping[int, Any]) -> pd.DataFrame:
    """Return a frame with other values in some columns, by position; the others are not copied."""
    if columns:
        frame = frame.copy(deep=False)
        for position, values in columns.items():
            frame.isetitem(position, values)
    return frame


def repeated(names: Sequence[str]) -> dict[str, list[int]]:
    """Return the positions of names that occur more than once."""
    places: dict[str, list[int]] = {}
    for position, name in enumerate(names):
        places.setdefault(name, []).append(position)
    return {name: positions for name, positions in places.items() if len(positions) > 1}


def check_distinct(names: Sequence[str], path: Path, what: str = "column") -> None:
    """Raise if a name occurs twice, naming such names and their positions; columns without a name do not count."""
    twice = [
        f"{name!r} ({what}s {listing([place + 1 for place in places], 5)})"
        for name, places in repeated(names).items()
        if name
    ]
    if twice:
        way_out = "Names must be distinct; rename or remove the others"
        way_out += f", or choose duplicates: {' | '.join(DUPLICATE_RULES[1:])}." if what in ("column", "row") else "."
        raise file_error(path, f"has {what} names more than once: {listed(twice)}. {way_out}")


def tidy(
    frame: pd.DataFrame,
    names: Sequence[str],
    path: Path,
    unit: str = "row",
    numbers: NDArray[Any] | None = None,
    decimal: str | None = None,
    distinct: bool = True,
) -> Table:
    """Make a Table of cells, whose own column names do not count, and a header; row names and margins are taken off.

    Texts lose blanks around them. Without `distinct`, a column name may occur several times.
    """
    names = [name.strip() for name in names]
    frame = frame.set_axis(range(len(names)), axis=1)
    # Spreadsheets leave empty rows behind, and empty columns without a name: nothing is lost with them.
    n_rows = _n_rows(frame)
    if not n_rows:
        raise file_error(path, f"has a header ({quoted(names)}), but no rows of data below it.")
    frame, numbers = frame.iloc[:n_rows], None if numbers is None else numbers[:n_rows]
    empty = {i for i, name in enumerate(names) if not name and frame[i].isna().all()}
    if empty:
        frame = frame.drop(columns=list(empty))
        names = [name for i, name in enumerate(names) if i not in empty]
    frame = _stripped(frame)
    if len(names) > 1 and names[0] in _ROW_NAMES:
        frame = frame.iloc[:, 1:].set_axis(pd.Index(frame.iloc[:, 0], name=None), axis=0)
        names = names[1:]
    unnamed = [str(int(i) + 1) for i, name in zip(frame.columns, names, strict=True) if not name]
    if unnamed:
        rule = f"has values in column(s) {listed(unnamed)}, which have no name in the header. Give each a name."
        raise file_error(path, rule)
    if distinct:
        check_distinct(names, path)
    return Table(frame.set_axis(pd.Index(names), axis=1), frozenset(), path, unit, numbers, decimal)


def _n_rows(frame: pd.DataFrame) -> int:
    """Return the number of rows up to the last one with a value."""
    if not len(frame) or frame.iloc[-1].notna().any():  # nearly always; looking at all cells takes long
        return len(frame)
    filled = np.flatnonzero(frame.notna().to_numpy().any(axis=1))
    return int(filled[-1]) + 1 if len(filled) else 0


def _stripped(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose texts have no blanks around them, so that codes of missing values are seen as such."""
    changed, missing = {}, {"", *MISSING_CODES}
    for i, dtype in enumerate(frame.dtypes):
        if dtype.kind == "O" and not isinstance(dtype, pd.CategoricalDtype):
            cells = frame.iloc[:, i].to_numpy(dtype=object)
            if any(isinstance(cell, str) and cell != cell.strip() for cell in cells):
                bare = [cell.strip() if isinstance(cell, str) else cell for cell in cells]
                values = [None if isinstance(cell, str) and cell in missing else cell for cell in bare]
                changed[i] = np.array(values, dtype=object)
    return with_columns(frame, changed)
