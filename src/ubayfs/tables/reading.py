"""read_data: files, as they come, become checked data; inspect_files finds out which way round files are.

This is the one place that composes the steps.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from .._arguments import by_name, check_choice, check_text, entries_of
from .._files import ReadBytes, as_path, read_bytes
from .._plain import listed
from ..data.damaged_names import symbols_before_damage
from ..data.feature_data import FeatureData
from ..data.missing import MAX_MISSING
from ..data.reading_rules import (
    DETECTION_RULES,
    DUPLICATE_RULES,
    FEATURES_AS,
    FEATURES_IN,
    KEEP_RULES,
    default_keep,
    target_columns,
)
from ..exceptions import InputError, repr_of
from .columns import replace_below_detection
from .features import read_features
from .formats import read_table
from .joining import as_sheet, join
from .layout import as_names, likely_features_in, merge_duplicates, shown_orientation, transposed, with_ids
from .table import Table, TableError

AnyPath = str | os.PathLike[str]


@by_name()
def read_data(
    path: AnyPath | Sequence[AnyPath] | Mapping[str, AnyPath],
    *,
    samples: AnyPath | None = None,
    features_in: str = "columns",
    id: str | None = None,
    target: str | Sequence[str] | Mapping[str, str] | None = None,
    task: str | None = None,
    groups: str | None = None,
    adjust_for: str | Iterable[str] = (),
    measured: str | Iterable[str] = (),
    ignore: str | Iterable[str] = (),
    ordered: Mapping[str, Sequence[str]] | None = None,
    keep: str | None = None,
    missing: str = "error",
    max_missing: float = MAX_MISSING,
    duplicates: str = "error",
    below_detection: str | None = None,
    features: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    samples_sheet: str | None = None,
) -> FeatureData:
    r"""Read data from files as laboratories have them.

    Parameters
    ----------
    path : str or path, a list of them, or a mapping of block names to them
        Tables in any format of :func:`ubayfs.tables.read_table`. Several are joined by the ids of the samples, and each
        is a block of features. A name that several files have gets the block in front, such as ``"RPPA: TP53"``.
    samples : str or path, optional
        Sample sheet, either way round: it has `target`, `groups` and covariates; none of its columns is a
        feature.
    features_in : {"columns", "rows"}
        Whether columns or rows of the files are features. GEO series matrices always have them in rows.
    id : str, optional
        Column of the sample ids or, with features in rows, of the names of the features. Default: the first column,
        where ids are needed; a single table with samples in rows needs none.
    target, task, groups, adjust_for, measured, ignore, ordered, missing, max_missing
        See :func:`ubayfs.tables.read_features`.
    keep : {"all", "any"}, optional
        Samples that all files have, or that any of them has. Default: all, or any with ``missing="available"``.
    duplicates : {"error", "first", "mean", "max_variance", "suffix"}
        What to do about feature names that occur several times in a file.
    below_detection : {"half", "missing", "limit"}, optional
        What stands in the place of ``<0.5``, ``n.d.``, ``BDL`` and the like: half of the limit, nothing, or the limit.
        Without it they are refused.
    features : {"as_is"}, optional
        Accept feature names that look like gene symbols that a spreadsheet turned into dates, such as ``1-Mar``.
    encoding : str, optional
        Of text files that are not UTF-8 or marked UTF-16, such as ``"latin-1"``.
    sheet : str, optional
        Sheet of an Excel file; the first one by default.
    samples_sheet : str, optional
        Sheet of the Excel file `samples`; without `samples`, another sheet of the Excel file `path`.

    Returns
    -------
    data : FeatureData
        What :func:`ubayfs.collect_evidence` takes. Its `notes` have everything that was not taken as it stands in the
        files, its `blocks` the features of each file, its `sample_names` the ids.

    Raises
    ------
    InputError
        If a file cannot be read, or unpacks to more than UBAYFS_MEMORY_LIMIT GB (default: a quarter of free memory).
    StudyError
        If the files do not fit together, or columns cannot have their roles: all problems at once.

    See Also
    --------
    read_knowledge : Reads what is known about features.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from ubayfs import read_data
    >>> with TemporaryDirectory() as folder:
    ...     genes = Path(folder, "genes.csv")
    ...     _ = genes.write_text("gene,S1,S2,S3,S4\nTP53,5,4,8,9\nMYC,2,3,2,3\n", encoding="utf-8")
    ...     clinic = Path(folder, "clinic.csv")
    ...     _ = clinic.write_text("sample,status\nS1,ill\nS2,ill\nS3,well\nS4,well\n", encoding="utf-8")
    ...     data = read_data(genes, samples=clinic, features_in="rows", target="status")
    >>> data.feature_names.tolist(), data.sample_names.tolist()
    (['TP53', 'MYC'], ['S1', 'S2', 'S3', 'S4'])
    """
    table = read_files(
        path, samples=samples, features_in=features_in, id=id, keep=keep or default_keep(missing), encoding=encoding,
        duplicates=duplicates, below_detection=below_detection, features=features, sheet=sheet,
        samples_sheet=samples_sheet, roles=(target, groups, adjust_for, measured),
    )  # fmt: skip
    roles: dict[str, Any] = {"target": target, "task": task, "groups": groups, "adjust_for": adjust_for}
    roles["measured"] = measured
    return read_features(table, ignore=ignore, ordered=ordered, missing=missing, max_missing=max_missing, **roles)


def named_files(path: Any) -> dict[str, Path]:
    """Return files by block: names that are given, or those of the files, as short as they are distinct."""
    if isinstance(path, Mapping):
        return {str(name): as_path(file) for name, file in path.items()}
    files = [path] if isinstance(path, str | os.PathLike) else entries_of("path", path)
    if files is None:
        rule = "must be the path of a file, a list of paths, or a mapping of block names to paths"
        raise InputError.of("path", f"{rule}; got {repr_of(path)}.", path)
    paths = [as_path(file) for file in files]
    for name in (lambda path: path.name.split(".")[0], lambda path: path.name, str):  # the first that tells them apart
        by_name = {name(path): path for path in paths}
        if len(by_name) == len(paths):
            return by_name
    raise InputError.of("path", "names a file twice; name each once.", path)


def read_files(
    path: Any,
    *,
    samples: AnyPath | None = None,
    features_in: str = "columns",
    duplicates: str = "error",
    encoding: str | None = None,
    sheet: str | None = None,
    samples_sheet: str | None = None,
    read: ReadBytes = read_bytes,
    **layout: Any,
) -> Table:
    """Read the files of :func:`read_data` and lay them out as one table; its further arguments are those of that."""
    check_choice("features_in", features_in, FEATURES_IN)
    check_text("sheet", sheet)
    check_text("samples_sheet", samples_sheet)
    check_text("id", layout.get("id"))
    check_choice("duplicates", duplicates, DUPLICATE_RULES)
    distinct = features_in == "columns" and duplicates == "error"
    files = named_files(path)
    if not files:
        raise InputError.of("path", "must name at least one file.", path)
    tables = {
        block: read_table(file, sheet=sheet, encoding=encoding, distinct=distinct, read=read)
        for block, file in files.items()
    }
    described = read_sheet(samples, list(tables.values()), samples_sheet, encoding, read)
    return lay_out(tables, described, features_in=features_in, duplicates=duplicates, **layout)


def read_sheet(
    samples: AnyPath | None,
    tables: Sequence[Table],
    sheet: str | None = None,
    encoding: str | None = None,
    read: ReadBytes = read_bytes,
) -> Table | None:
    """Read a sample sheet, if there is one: a file of its own, or another sheet of the only data table."""
    if samples is None and sheet is None:
        return None
    if samples is None and len(tables) > 1:
        rule = "names a sheet of the sample sheet, which is not given; name its file as samples."
        raise InputError.of("samples_sheet", rule, sheet)
    file = tables[0].path if samples is None else samples
    try:
        described = read_table(file, sheet=sheet, encoding=encoding, read=read)
    except InputError as error:
        wrong_sheet = sheet is not None and error.argument == "sheet"
        argument, value = ("samples_sheet", sheet) if wrong_sheet else ("samples", samples)
        raise InputError(str(error), argument=argument, value=value) from error
    for table in tables:
        if described.other_sheets and described.sheet == table.sheet and Path(file).resolve() == table.path.resolve():
            rule = f"{file}: the sheet {described.sheet!r} cannot be data and sample sheet at once."
            way_out = f"Choose samples_sheet: {' or '.join(map(repr, described.other_sheets))}."
            raise InputError(f"{rule} {way_out}", argument="samples_sheet" if sheet else "samples", value=sheet)
    return described


def lay_out(
    tables: Mapping[str, Table],
    sheet: Table | None = None,
    *,
    features_in: str = "columns",
    id: str | None = None,
    keep: str = "all",
    duplicates: str = "error",
    below_detection: str | None = None,
    features: str | None = None,
    roles: Iterable[Any] = (),
) -> Table:
    """Return tables that were read, and what a sample sheet adds, as one table with samples in rows."""
    check_choice("keep", keep, KEEP_RULES)
    for name, value, choices in (
        ("below_detection", below_detection, DETECTION_RULES),
        ("features", features, FEATURES_AS),
    ):
        if value is not None:
            check_choice(name, value, choices)
    described = sheet or next((_series_sheet(table) for table in tables.values() if table.samples is not None), None)
    joined = len(tables) > 1 or described is not None
    laid_out = {}
    for block, table in tables.items():
        if features_in == "rows" or table.samples is not None:
            table = transposed(table, id)
        elif joined or id is not None:
            table = with_ids(table, id)
        if below_detection is not None:
            table = replace_below_detection(table, below_detection)
        laid_out[block] = merge_duplicates(table, duplicates)
        if features is None:
            _refuse_dates(laid_out[block])
    if not joined:
        return next(iter(laid_out.values()))
    if described is not None:
        ids = [name for table in laid_out.values() for name in table.frame.index]
        described = as_sheet(described, ids, id)
    named = [name for role in roles for name in target_columns(role)]
    return join(laid_out, described, keep, named)


def _series_sheet(table: Table) -> Table:
    """Return what a GEO series matrix says of its samples as a sheet."""
    assert table.samples is not None
    return Table(table.samples, frozenset(), table.path, decimal=table.decimal)


def _refuse_dates(table: Table) -> None:
    """Refuse features that have dates for names: which gene is meant is not known."""
    damaged = {name: genes for name in map(str, table.frame.columns) if (genes := symbols_before_damage(name))}
    if not damaged:
        return
    shown = listed([f"{name!r} ({' or '.join(genes)}?)" for name, genes in damaged.items()], limit=5)
    rule = (
        f"feature names that a spreadsheet may have turned into dates: {shown}. Write the symbol that is meant into "
        "the file, or choose features: as_is to use the names as they are; a table of aliases can map them to genes."
    )
    raise table.error("features", rule)


# -- files that nobody has described yet -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class InspectedFiles:
    """Files as one table, and how they became one."""

    files: dict[str, Path]  # by block
    table: Table
    keys: dict[str, str]  # of the section data that a study needs to read the files in this way, without paths
    orientation: tuple[str, ...]  # found out about each file, in words; empty for a table with features in columns
    sheet: str | None  # of an Excel file
    other_sheets: tuple[str, ...]


def inspect_files(
    paths: Sequence[Path],
    *,
    samples: Path | None = None,
    features_in: str | None = None,
    id: str | None = None,
    target: str | Mapping[str, str] | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    samples_sheet: str | None = None,
) -> InspectedFiles:
    """Read files and find out which way round they are, unless `features_in` says it.

    Names that occur several times, values below detection and gene symbols that became dates do not stop this: `keys`
    has the key that must be decided about, and dates are refused when the study is checked.
    """
    files = named_files(paths)
    tables = {
        block: read_table(path, sheet=sheet, choose_sheet=True, encoding=encoding, distinct=False)
        for block, path in files.items()
    }
    described = read_sheet(samples, list(tables.values()), samples_sheet, encoding)
    ids: list[str] = []
    if described is not None:
        ids = as_names([*described.frame.columns, *described.frame.iloc[:, 0], *described.frame.index])
    place = next(iter(target_columns(target)), None)
    orientations = {block: features_in or likely_features_in(table, place, ids) for block, table in tables.items()}
    if len(set(orientations.values())) > 1:
        shown = ", ".join(f"{files[block].name} in {where}" for block, where in orientations.items())
        rule = f"features seem to be {shown}; transpose files so that all are the same, or give --features-in."
        raise InputError.of("features_in", rule)
    where = next(iter(orientations.values()))
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
    codes = {note.code for note in table.notes}
    wanted = {
        "features_in": where if where == "rows" else None,
        "samples_sheet": samples_sheet,
        "id": id,
        "encoding": encoding,
        "duplicates": "error" if "duplicates_merged" in codes else None,
        "below_detection": rule if "below_detection" in codes else None,
    }
    keys = {name: value for name, value in wanted.items() if value is not None}
    laid_out = [f"{files[block].name}: {shown_orientation(where, file, id)}" for block, file in tables.items()]
    first = next(iter(tables.values()))
    visible = tuple(laid_out) if where == "rows" or len(tables) > 1 or described is not None else ()
    return InspectedFiles(files, replace(table, notes=notes), keys, visible, first.sheet, first.other_sheets)
