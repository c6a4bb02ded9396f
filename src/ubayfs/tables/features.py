"""read_features: the columns of a table in their roles, as checked data for the selection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._arguments import check_choice, check_names, check_text, did_you_mean, freeze, nearest
from .._plain import quoted
from ..data.blocks import Blocks
from ..data.categories import Levels, with_levels
from ..data.covariates import covariate_advice
from ..data.feature_data import FeatureData
from ..data.look_alikes import group_advice
from ..data.missing import MAX_MISSING, Gaps, check_missing
from ..data.reading_rules import SurvivalColumns, as_target, check_orders, names_groups, target_columns
from ..data.survival import Survival
from ..data.target import TASKS
from ..exceptions import Advice, InputError, Problem
from . import columns as cells
from .coding import with_codes, with_covariates, with_targets
from .layout import as_names, id_columns, likely_features_in
from .table import MISSING_CODES, TO_BE_CHOSEN, Table, TableError


def read_features(
    table: Table,
    *,
    target: str | Sequence[str] | Mapping[str, str] | None = None,
    task: str | None = None,
    groups: str | None = None,
    adjust_for: str | Iterable[str] = (),
    measured: str | Iterable[str] = (),
    ignore: str | Iterable[str] = (),
    missing: str = "error",
    max_missing: float = MAX_MISSING,
    ordered: Mapping[str, Sequence[str]] | None = None,
    sites: str | None = None,
) -> FeatureData:
    """Take features, target, groups and covariates out of a table.

    Columns of words are categories. Those that name the samples, hold dates or number the samples are left out,
    samples without a target are dropped, and labels that differ only in case or blanks are merged: `notes` of the data
    list all of it.

    Parameters
    ----------
    table : Table
    target : str or sequence of str, optional
        Column that is to be explained; several 0/1 columns for a multi-label task; ``{"time": ..., "event": ...}``
        for survival, see :class:`ubayfs.Survival`. None: unsupervised.
    task : str, optional
        Default: inferred from the target.
    groups : str, optional
        Column of patients, animals, subjects...: all samples of one stay together.
    adjust_for : str or iterable of str
        Columns of covariates; features count for what they add to these. Samples without a value are left out.
    measured : str or iterable of str
        Features that are measured anyway; others count for what they add to these, too.
    ignore : str or iterable of str
        Columns that are not features: names, or patterns such as ``"id*"``. A pattern spares target and groups.
    missing : {'error', 'available', 'drop_rows', 'drop_columns', 'median'}
        What to do about missing values of features: refuse them; let each feature count with the samples that have it;
        drop the rows or the feature columns that have any; or as 'available', with medians of the samples of a run
        where a selector needs complete data. Groups must be complete.
    max_missing : float in [0, 1]
        With 'available' and 'median', features with more than this share missing are dropped.
    ordered : mapping of str to sequence of str, optional
        Columns of ordered scales and all their labels, lowest first: ``{"stage": ["I", "II", "III", "IV"]}``.
    sites : str, optional
        Column of hospitals, studies...; a covariate whose levels have ensembles of their own, too.

    Returns
    -------
    data : FeatureData
        All other columns, but for the annotations of the table, in their order. Its `notes` tell what became of
        missing values.

    Raises
    ------
    StudyError
        If the columns cannot have these roles: all problems at once, with columns and lines.
    """
    missing, max_missing = check_missing(missing, max_missing)
    if task is not None:
        check_choice("task", task, TASKS)
    check_text("groups", groups)
    ignore, adjust_for = check_names("ignore", ignore), check_names("adjust_for", adjust_for)
    unordered = ordered is None or (isinstance(ordered, Mapping) and not ordered)
    ordered = {} if unordered else check_orders("ordered", ordered)
    roles = None if target is None else as_target("target", target)
    measured = check_names("measured", measured)
    check_text("sites", sites)
    covariates = [*adjust_for, *(name for name in [sites] if name and name not in adjust_for), *measured]
    targets = target_columns(roles)
    if absent := [name for name in measured if name not in table.frame.columns]:
        table = table.noted(*(Problem(_absent(table, "measured feature", name), ("measured",)) for name in absent))
        covariates = [name for name in covariates if name not in absent]
    table, names, categories = _in_roles(table, roles, task, groups, covariates, ignore, ordered)
    names, values, wrong = _numbers(table, names)
    gaps = Gaps.from_table(values, np.array(names, dtype=object), missing, max_missing)
    if gaps is not None:
        if missing == "error":
            wrong.append(cells.missing_problem(table, names, values))
        elif too_little := gaps.too_little(missing, "choose available"):
            wrong.append(Problem(f"missing: {missing} {too_little}", ("missing",)))
    if table.problems or wrong:
        raise TableError(table.path, [*table.problems, *wrong])
    described = table.frame[list(dict.fromkeys([*targets, *check_names("groups", groups), *covariates]))]
    frame = table.frame if gaps is None else table.frame[gaps.rows]
    telling = (
        {} if groups is not None else {str(frame.columns[j]): frame.iloc[:, j] for j in names_groups(frame.columns)}
    )
    unused = group_advice({name: column for name, column in telling.items() if name not in {*names, *described}})
    complete = True
    if sites is not None:
        named = [f"{value:g}" if isinstance(value, float) else str(value) for value in described[sites]]
        described = described.assign(**{sites: named})
        if len(set(named)) < 2:
            rule = f"{sites!r} holds one site only ({named[0]}), so that there is nothing to pool. Leave sites out."
            raise TableError(table.path, [Problem(rule, ("sites",))])
    if gaps is not None:
        described = described[gaps.rows]
        values = values if gaps.rows.all() else values[gaps.rows]
        values = values if gaps.columns.all() else values[:, gaps.columns]
        names = [name for name, stays in zip(names, gaps.columns, strict=True) if stays]
        complete = missing == "drop_rows" or not gaps.n_missing[gaps.columns].any()
    try:
        data = FeatureData.from_table(
            freeze(np.asfortranarray(values)),
            _target_values(table, described, roles),
            task="survival" if isinstance(roles, SurvivalColumns) else task,
            groups=None if groups is None else described[groups].to_numpy(),
            missing="error" if complete else "available",
            # What is too empty was left out above.
            max_missing=1.0,
            adjust_for=described[covariates] if covariates else None,
        )
        about = () if data.covariates is None else covariate_advice(data.covariates, data.target)
        if data.covariates is not None:
            data = replace(data, covariates=replace(data.covariates, measured=measured))
        levels = {position: categories[name] for position, name in enumerate(names) if name in categories}
        return replace(
            data,
            X=with_levels(data.X, levels),
            covariates=None if data.covariates is None else data.covariates.with_sites(sites),
            feature_names=np.array(names, dtype=object),
            missing=None if gaps is None else missing,
            notes=(*table.notes, *about, *unused, *(() if gaps is None else gaps.notes)),
            blocks=_blocks(table, names),
            sample_names=np.array(as_names(described.index), dtype=object) if table.has_names else None,
        )
    except InputError as error:
        raise TableError(table.path, [_data_problem(error, targets, groups, covariates)]) from error


def _in_roles(
    table: Table,
    roles: Any,
    task: str | None,
    groups: str | None,
    covariates: Sequence[str],
    ignore: Sequence[str],
    ordered: Mapping[str, Sequence[str]],
) -> tuple[Table, list[str], dict[str, Levels]]:
    """Return the table with target, covariates and categories prepared, its features, and the levels of categories."""
    targets, survival = target_columns(roles), roles if isinstance(roles, SurvivalColumns) else None
    names, problems = _feature_columns(table, targets, groups, ignore, covariates)
    if task is not None and (task == "survival") != (survival is not None):
        rule = f"task {task} does not fit the target {str(roles)!r}; survival has {{time: COLUMN, event: COLUMN}}."
        problems.append(Problem(rule, ("task",)))
    task = task if survival is None else "survival"
    names, notes = _measurements(table, names, ordered)
    table = table.noted(*problems, *_orientation_notes(table, targets), *notes)
    table = with_covariates(with_targets(table, roles, task), covariates)
    unknown = [name for name in ordered if name not in names]
    table = table.noted(*(Problem(f"{n!r} is not a feature.{_hint(table, n)}", ("ordered", n)) for n in unknown))
    table, names, levels = with_codes(table, names, ordered, groups is not None)
    if not names and not table.problems:
        none = f"no column is left as a feature, after target and groups.{table.about_sheets}"
        table = table.noted(Problem(none, ("path",)))
    for name in targets:
        table = table.noted(*_target_problems(table, name, task, survival))
    return table.noted(*_group_problems(table, groups)), names, levels


def _target_values(table: Table, described: pd.DataFrame, roles: Any) -> Any:
    """Return the target in the form of :func:`ubayfs.collect_evidence`."""
    if roles is None:
        return None
    values = described[target_columns(roles)]
    if isinstance(roles, SurvivalColumns):
        time, event = (values[roles[part]] for part in ("time", "event"))
        return Survival(cells.as_floats(time, table.decimal_of(roles["time"])), event.to_numpy())
    return values.iloc[:, 0] if values.shape[1] == 1 else values.reset_index(drop=True)


def _blocks(table: Table, names: Sequence[str]) -> Blocks | None:
    """Return the features of each file, if there are several."""
    if table.blocks is None:
        return None
    used = set(names)
    members = {block: tuple(name for name in features if name in used) for block, features in table.blocks.items()}
    return Blocks({block: features for block, features in members.items() if features})


def _orientation_notes(table: Table, targets: Sequence[str]) -> list[Advice]:
    """Return a note if samples were expected in rows, and features seem to be there."""
    rows_are_samples = targets or table.unit == "sample" or table.annotations
    if rows_are_samples or likely_features_in(table) == "columns":
        return []
    n_rows, n_columns = table.frame.shape
    rows = as_names((table.frame.index if table.has_names else table.frame.iloc[:, 0])[:3])
    facts = {"file": table.path.name, "n_rows": n_rows, "n_columns": n_columns, "rows": rows}
    return [Advice("looks_transposed", facts)]


def _measurements(table: Table, names: list[str], ordered: Mapping[str, Any]) -> tuple[list[str], list[Advice]]:
    """Return the columns that hold measurements or categories, and what was left out: names and numbers of samples."""
    notes = []
    texts = cells.text_columns(table, names)
    for kind, columns in texts.items():
        columns = [name for name in columns if name not in ordered]
        if kind not in ("dates", "pairs"):
            columns = [name for name in columns if cells.names_samples(table.frame[name])]
        if columns:
            notes.append(Advice("columns_ignored", {"kind": kind, "n_columns": len(columns), "columns": columns}))
    wholly = {name for note in notes for name in note.facts["columns"]}
    words = {name for columns in texts.values() for name in columns}
    ids = id_columns(table, [name for name in names if name not in words and name not in ordered])
    if ids:
        notes.append(Advice("ids_ignored", {"n_columns": len(ids), "columns": ids}))
    ignored = wholly | set(ids)
    return [name for name in names if name not in ignored] if ignored else names, notes


def _data_problem(error: InputError, targets: Sequence[str], groups: str | None, covariates: Sequence[str]) -> Problem:
    """Return an error of FeatureData as the problem of the column that it is about."""
    roles = {"y": "target", "time": "target", "event": "target"}
    argument = error.argument if error.argument in ("task", "groups", "adjust_for") else "path"
    role = roles.get(error.argument or "", argument)
    if error.argument in ("time", "event"):
        targets = targets[:1] if error.argument == "time" else targets[1:]
    named = {"path": [], "groups": [groups], "adjust_for": covariates}.get(role, targets)
    if not named:
        return Problem(str(error), (role,))
    words = {"groups": "groups column", "adjust_for": "adjust_for"}.get(role, "target column")
    return Problem(f"{words} {quoted(named)}: {error.rule}", (role,))


def _feature_columns(
    table: Table, targets: Sequence[str], groups: str | None, patterns: Sequence[str], covariates: Sequence[str]
) -> tuple[list[str], list[Problem]]:
    """Return the names of the columns that are left to be features, and what is wrong with the roles of the others."""
    columns = table.frame.columns
    wrong = [("target", _absent(table, "target", name)) for name in targets if name not in columns]
    if groups is not None and groups not in columns:
        wrong.append(("groups", _absent(table, "groups", groups)))
    if groups is not None and groups in targets:
        wrong.append(("groups", f"column {groups!r} cannot be target and groups at once."))
    for role, named in (("target", targets), ("adjust_for", covariates)):
        twice = {name for name in named if named.count(name) > 1}
        wrong += [(role, f"column {name!r} is named more than once; name it once.") for name in twice]
    for name in covariates:
        if name not in columns:
            wrong.append(("adjust_for", _absent(table, "covariate", name)))
        elif name in targets or name == groups:
            wrong.append(("adjust_for", f"column {name!r} cannot be a covariate and the target or groups at once."))
    for pattern in patterns:
        if pattern in targets or pattern == groups or pattern in covariates:
            role = "target or groups" if pattern not in covariates else "target, groups or a covariate"
            wrong.append(("ignore", f"column {pattern!r} is to be ignored, but it is the {role} too."))
        elif not any(matches(name, [pattern]) for name in columns):
            wrong.append(("ignore", f"ignore {pattern!r} matches no column.{_hint(table, pattern)}"))
    roles = [*targets, *check_names("groups", groups), *covariates]
    # A misspelled target is not a feature either; without this its text would be a problem of its own.
    with_role = {role if role in columns else nearest(role, columns) for role in roles} | table.annotations
    without_role = [name for name in columns if name not in with_role]
    names = [name for name in without_role if not matches(name, patterns)]
    if without_role and not names:
        wrong.append(("ignore", f"ignore leaves no feature: {quoted(patterns)} cover all other columns. Ignore fewer."))
    return names, [Problem(message, (role,)) for role, message in wrong]


def matches(name: str, patterns: Sequence[str]) -> bool:
    """Return whether a column is named by one of some names or patterns such as ``"id*"``."""
    return name in patterns or any(fnmatchcase(name, pattern) for pattern in patterns)


def _absent(table: Table, role: str, name: str) -> str:
    if name == TO_BE_CHOSEN:
        return (
            f"the {role} is still to be chosen; put the name of its column here, or leave it out.{table.about_sheets}"
        )
    alone = ""
    if len(table.frame.columns) == 1 and table.decimal is not None:
        alone = ". Columns must be separated by commas, semicolons or tabs, and the header has none of them"
    rows = set(as_names(table.frame.index if table.has_names else table.frame.iloc[:, 0]))
    for note in table.notes:
        rows |= set(note.facts["columns"]) if note.code == "descriptions_ignored" else set()
    if name in rows:
        turned = "columns" if table.unit == "sample" else "rows"
        return f"there is no column {name!r} to be the {role}, but a row: choose features_in: {turned}."
    return f"there is no column {name!r} to be the {role}{alone}.{_hint(table, name)}{table.about_samples_sheet}"


def _hint(table: Table, name: str) -> str:
    columns = [column for column in table.frame.columns if column in table.annotations] or table.frame.columns
    hint = did_you_mean(name, columns) or f" The columns are {quoted(columns)}"
    return hint if hint.endswith("?") else f"{hint.removesuffix('.')}."


def _target_problems(table: Table, name: str, task: str | None, survival: SurvivalColumns | None) -> list[Problem]:
    if name not in table.frame:
        return []
    column = table.frame[name]
    if column.isna().all():
        return [Problem(f"target column {name!r} has no value in any sample. Name another target column.", ("target",))]
    if task == "unsupervised" or (survival is not None and name == survival["event"]):
        return []  # Survival has the rules
    problems = []
    bad = cells.offending(column, table.decimal_of(name))
    if task is not None and TASKS[task].numbers and bad.any():
        if bad.sum() < column.notna().sum():
            problems.append(cells.mixed_problem(table, name, bad, "target"))
        else:
            problems.append(Problem(f"target column {name!r} holds no numbers, which {task} needs.", ("target",)))
    if column.nunique() == 1 and survival is None:
        value = column.dropna().unique().tolist()[0]  # 1 rather than np.int64(1)
        same = f"has the same value, {value!r}, in every sample: there is nothing to explain"
        problems.append(Problem(f"target column {name!r} {same}. Name another target column.", ("target",)))
    return problems


def _group_problems(table: Table, groups: str | None) -> list[Problem]:
    rows = np.flatnonzero(table.frame[groups].isna()) if groups in table.frame else ()
    if not len(rows):
        return []
    rule = (
        f"groups column {groups!r} has no value in {len(rows)} row(s): {table.places(rows)}. Fill them in or remove "
        f"these rows (empty cells and {', '.join(MISSING_CODES)} count as missing)."
    )
    return [Problem(rule, ("groups",))]


def _numbers(table: Table, names: list[str]) -> tuple[list[str], NDArray[Any], list[Problem]]:
    """Return the names of columns of numbers, their values (float32 if all are that), and problems of the others."""
    problems, refused = cells.number_problems(table, names)
    names = [name for name in names if name not in refused]
    values = cells.values_of(table, table.frame[names])
    return names, values, problems + cells.infinite_problems(table, names, values)
