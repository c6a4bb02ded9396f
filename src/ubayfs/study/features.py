"""The data of a study: its table, and the roles of the columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..data.feature_data import FeatureData
from ..exceptions import InputError, Problem, StudyError
from ..tables import Table, read_features, read_table, role_problems
from .problems import Problems
from .sections import DataSection


def find_table(told: DataSection, folder: Path, problems: Problems) -> Table | None:
    """Read the data table of a study."""
    try:
        return read_table(folder / told.path, sheet=told.sheet)
    except InputError as error:
        about_sheet = told.sheet is not None and repr(told.sheet) in str(error)
        problems(("data", "sheet" if about_sheet else "path"), str(error))
    return None


def known_roles(told: DataSection, problems: Problems) -> dict[str, Any]:
    """Return the roles of columns, as far as the study says them rightly."""
    return {key: getattr(told, key) for key in ("target", "groups", "ignore") if problems.is_sound("data", key)}


def find_features(told: DataSection, table: Table | None, problems: Problems) -> FeatureData | None:
    """Take the features out of a table; with a wrong data section only the roles of columns are checked."""
    if table is None:
        return None
    if not problems.is_sound("data"):
        for wrong in role_problems(table, **known_roles(told, problems)):
            problems(("data", wrong.key), f"{table.path}: {wrong.text}{'' if wrong.text[-1] in '.?' else '.'}")
        return None
    try:
        return read_features(
            table, target=told.target, task=told.task, groups=told.groups, ignore=told.ignore, missing=told.missing
        )
    except InputError as error:
        found = error.problems if isinstance(error, StudyError) else (Problem(str(error), ("path",)),)
        for problem in found:
            problems(("data", *problem.path), problem.message)
    return None
