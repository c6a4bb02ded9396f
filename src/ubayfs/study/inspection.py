"""Files that nobody has described yet: which way round they are, and what else a study file must say of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..data.reading_rules import default_keep
from ..exceptions import InputError

if TYPE_CHECKING:
    from ..tables import Table


@dataclass(frozen=True, eq=False)
class InspectedFiles:
    """Files as one table, and how they became one.

    Attributes
    ----------
    files : dict of str to Path
        By block.
    table : Table
    keys : dict of str to str
        Keys of the data in a study file that are needed to read the files so, but for their paths.
    orientation : tuple of str
        What was found out about each file, in words; empty for a table with features in columns.
    sheet, other_sheets : str or None, tuple of str
        Of an Excel file.
    """

    files: dict[str, Path]
    table: Table
    keys: dict[str, str]
    orientation: tuple[str, ...]
    sheet: str | None
    other_sheets: tuple[str, ...]


def inspect_files(
    paths: Sequence[Path],
    *,
    samples: Path | None = None,
    features_in: str | None = None,
    id: str | None = None,
    target: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
) -> InspectedFiles:
    """Read files and find out which way round they are, unless `features_in` says it.

    Names that occur several times, values below detection and gene symbols that became dates do not stop this: `keys`
    has the key that must be decided about, and dates are refused when the study is checked.
    """
    from ..tables import lay_out, read_sheet, read_table
    from ..tables.layout import as_names, likely_features_in, shown_orientation
    from ..tables.reading import named_files
    from ..tables.table import TableError

    files = named_files(paths)
    tables = {
        block: read_table(path, sheet=sheet, choose_sheet=True, encoding=encoding, distinct=False)
        for block, path in files.items()
    }
    described = read_sheet(samples, encoding)
    known: list[str] = []
    if described is not None:
        known = as_names([*described.frame.columns, *described.frame.iloc[:, 0], *described.frame.index])
    found = {block: features_in or likely_features_in(table, target, known) for block, table in tables.items()}
    if len(set(found.values())) > 1:
        shown = ", ".join(f"{files[block].name} in {where}" for block, where in found.items())
        rule = f"features seem to be {shown}; turn some of the files so that all are alike, or give --features-in."
        raise InputError.of("features_in", rule)
    where = next(iter(found.values()))
    several = any(
        len(set(names)) < len(names) for names in (_feature_names(table, where, id) for table in tables.values())
    )
    read = partial(
        lay_out, tables, described, features_in=where, id=id, duplicates="first", features="as_is", roles=(target,)
    )
    rule = "half"
    try:
        table = read(below_detection=rule)
    except TableError:  # logarithms have no half; any other error comes again
        rule = "limit"
        table = read(below_detection=rule)
    if len(tables) > 1 and table.frame.drop(columns=list(table.annotations)).isna().to_numpy().any():
        table = read(below_detection=rule, keep=default_keep("available"))  # as the study file will ask for
    notes = tuple(note for note in table.notes if note.code != "duplicates_merged")  # which way is still to be chosen
    codes = {note.code for note in notes}
    keys = {"features_in": where} if where == "rows" else {}
    keys |= {name: value for name, value in (("id", id), ("encoding", encoding)) if value is not None}
    keys |= {"duplicates": "error"} if several else {}
    keys |= {"below_detection": rule} if "below_detection" in codes else {}
    laid_out = [f"{files[block].name}: {shown_orientation(where, file, id)}" for block, file in tables.items()]
    first = next(iter(tables.values()))
    visible = tuple(laid_out) if where == "rows" or len(tables) > 1 or described is not None else ()
    return InspectedFiles(files, replace(table, notes=notes), keys, visible, first.sheet, first.other_sheets)


def _feature_names(table: Table, where: str, id: str | None) -> list[str]:
    if where == "columns":
        return list(table.frame.columns)
    names = table.frame.index if id is None and table.has_names else table.frame[id or table.frame.columns[0]]
    return [str(name) for name in names]
