"""Results: a directory with everything that a decision rests on and all that is said of it, written as a whole.

============================ ==============================================================
``selected_features.csv``    the chosen features, one row each
``selected_data.csv``        the data table without the other features, if the study asks for it
``result.json``              the selection
``evidence.npz``             the ensemble
``study.yaml``               the study as used, with versions
``summary.json``             what the reports say
``report.html``, ``.md``     the reports
``figures/``                 one file for each display and format
============================ ==============================================================
"""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ._arguments import did_you_mean
from ._files import write_atomically
from .data.feature_data import FeatureData
from .ensemble.collect import versions
from .ensemble.evidence import Evidence
from .exceptions import InputError, UBayFSError
from .plotting import DISPLAYS
from .report import render_html, render_json, render_markdown
from .report.warned import told_once
from .selection import Selection
from .study import Study, load_study
from .study.schema import FIGURE_FORMATS
from .tables import Table, matches, read_table, write_table

_FEATURES, _DATA = "selected_features.csv", "selected_data.csv"
_SELECTION, _EVIDENCE, _STUDY, _SUMMARY = "result.json", "evidence.npz", "study.yaml", "summary.json"
_HTML, _MARKDOWN, _FIGURES = "report.html", "report.md", "figures"
_READ = (_STUDY, _EVIDENCE, _SELECTION, _SUMMARY)
# Everything that this module ever writes, and so may replace.
_OURS = (
    _FEATURES, _DATA, *_READ, _HTML, _MARKDOWN,
    *(f"{_FIGURES}/{name}.{suffix}" for name in DISPLAYS for suffix in FIGURE_FORMATS),
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Result:
    """A decision, what it rests on, and what is said of it.

    Attributes
    ----------
    study : Study
        As used.
    evidence : Evidence
    selection : Selection
    summary : mapping
        From :func:`~ubayfs.summary.summarize`, in plain types.
    """

    study: Study
    evidence: Evidence
    selection: Selection
    summary: Mapping[str, Any]


def check_directory(
    directory: str | os.PathLike[str],
    study: Study | None = None,
    *,
    force: bool = False,
    source: str | os.PathLike[str] | None = None,
) -> None:
    """Raise if a result could not be written to a directory: before the work instead of after it.

    Parameters
    ----------
    directory : str or path
        Need not exist yet.
    study : Study, optional
        If it asks for the reduced table, its table must be there.
    force : bool
        Whether files of an earlier result may be replaced.
    source : str or path, optional
        Of the study. It is never replaced, and neither are the tables that the study names; only a study that is part
        of a result may give way to its successor.

    Raises
    ------
    InputError
        If there is a file instead of a directory, files would be overwritten, or nothing can be written there.
    """
    directory = Path(directory)
    existing = next(path for path in (directory, *directory.absolute().parents) if os.path.lexists(path))
    if not existing.is_dir():
        raise InputError(f"{existing} is a file, so that no result can be written to {directory}. Name a directory.")
    folders = [name for name in _OURS if (directory / name).is_dir()]
    if folders:
        raise InputError(
            f"{directory / folders[0]} is a directory, but a result has a file of that name. Move it away."
        )
    if (directory / _FIGURES).exists() and not (directory / _FIGURES).is_dir():
        raise InputError(f"{directory / _FIGURES} is a file, but a result has a directory of that name. Move it away.")
    found = [name for name in _OURS if (directory / name).exists()]
    if found and not force:
        shown = ", ".join(found[:5]) + (f" and {len(found) - 5} more" if len(found) > 5 else "")
        what = "a result already" if all(name in found for name in _READ) else "files that a result would replace"
        raise InputError(
            f"{directory} holds {what} ({shown}). Name another directory, or replace these files with --force (in "
            "Python: force=True)."
        )
    for path in _inputs(study, source):
        if path.exists() and any(path == (directory / name).resolve() for name in _OURS):
            raise InputError(
                f"{path} was read for this result, which would replace it. Name another directory for the result."
            )
    with _refused(directory):
        probe = existing / f".ubayfs-{uuid.uuid4().hex}"
        probe.mkdir()
        probe.rmdir()
    if study is not None and study.outputs.reduced_table and not (study.folder / study.data.path).is_file():
        read_table(study.folder / study.data.path)  # says what is wrong with the path


def _inputs(study: Study | None, source: str | os.PathLike[str] | None) -> list[Path]:
    """Return the files that a study rests on."""
    if study is None:
        return [] if source is None else [Path(source).resolve()]
    tables = [study.data.path, study.prior.table, getattr(study.blocks, "table", None)]
    paths = [study.folder / table for table in tables if table is not None]
    if source is not None and not study.versions:  # studies that results write have versions
        paths.append(Path(source))
    return [path.resolve() for path in paths]


def write_result(
    directory: str | os.PathLike[str], result: Result, *, data: Table | FeatureData | None = None, force: bool = False
) -> list[Path]:
    """Write a result, whole or not at all.

    All files are made in a hidden directory first and moved to their places when the last one is complete. Whatever
    goes wrong before that, or on the way, leaves the directory as it was.

    Parameters
    ----------
    directory : str or path
        Made if it does not exist.
    result : Result
    data : Table or FeatureData, optional
        The table to be reduced, if the study asks for that. Only a :class:`~ubayfs.tables.Table` has what a reduced
        table should have, such as the names of rows and ignored columns; otherwise it is read again.
    force : bool
        Whether files of an earlier result are replaced. Those that this result does not have are removed, any other
        file stays.

    Returns
    -------
    paths : list of Path
        The files written.

    Raises
    ------
    InputError
        If something stands in the way; nothing is changed then.
    """
    directory = Path(directory)
    check_directory(directory, None if isinstance(data, Table) else result.study, force=force)
    reduced = None
    if result.study.outputs.reduced_table:
        reduced = _reduced(data if isinstance(data, Table) else _table_of(result.study), result)
    made = [path for path in (directory, *directory.parents) if not path.exists()]
    staging = directory / f".ubayfs-{uuid.uuid4().hex}"
    try:
        with _refused(directory):
            (staging / "new" / _FIGURES).mkdir(parents=True)
            with told_once():
                _stage(staging / "new", result, reduced)
            # Relative paths of the study must be right in `directory`, so it cannot be written elsewhere.
            replace(result.study, versions=versions()).save(staging.with_suffix(".yaml"))
            os.replace(staging.with_suffix(".yaml"), staging / "new" / _STUDY)
            names = [name for name in _OURS if (staging / "new" / name).exists()]
            _exchange(directory, staging, names)
    except BaseException:
        _forget(staging)
        for path in made:
            with suppress(OSError):
                path.rmdir()
        raise
    shutil.rmtree(staging, ignore_errors=True)
    return [directory / name for name in names]


def read_result(directory: str | os.PathLike[str]) -> Result:
    """Read what :func:`write_result` wrote.

    Raises
    ------
    InputError
        If files are missing, damaged, or do not belong together.
    EnsembleError
        If the evidence is damaged.
    """
    directory = Path(directory)
    if not directory.is_dir():
        near = [path.name for path in directory.parent.iterdir()] if directory.parent.is_dir() else []
        what = "is a file" if directory.exists() else "does not exist"
        raise InputError(
            f"{directory} {what}; name the directory of a result.{did_you_mean(directory.name, near) if near else ''}"
        )
    missing = [name for name in _READ if not (directory / name).is_file()]
    if missing:
        raise InputError(
            f"{directory} holds no complete result: {', '.join(missing)} missing. Name a directory that 'ubayfs "
            "select' or 'ubayfs decide' wrote."
        )
    study, evidence = load_study(directory / _STUDY), Evidence.load(directory / _EVIDENCE)
    content = _read_json(directory / _SELECTION)
    try:
        selection = Selection.from_dict(content)
    except InputError as error:
        raise InputError(f"{directory / _SELECTION} is damaged: {error}") from error
    summary = _read_json(directory / _SUMMARY)
    lacking = [key for key in ("chosen", "displays", "sentences") if key not in summary]
    if lacking:
        raise InputError(f"{directory / _SUMMARY} is not the summary of a result: it lacks {lacking[0]!r}.")
    if not np.array_equal(evidence.feature_names, selection.feature_names):
        raise InputError(
            f"{directory / _EVIDENCE} and {_SELECTION} beside it are about different features: they are not of one "
            "result. Write the result again."
        )
    return Result(study, evidence, selection, summary)


@contextmanager
def _refused(directory: Path) -> Iterator[None]:
    """Say in one way that the system refused to write, whichever part of the package met it."""
    try:
        yield
    except (OSError, UBayFSError) as error:
        cause = error if isinstance(error, OSError) else error.__cause__
        if not isinstance(cause, OSError):
            raise
        raise InputError(
            f"the result could not be written to {directory} ({cause.strerror or cause}); what was there before is "
            "unchanged. Name a directory that you may write to, or free space."
        ) from error


def _stage(folder: Path, result: Result, reduced: pd.DataFrame | None) -> None:
    """Make every file of a result but the study."""
    summary, study = result.summary, result.study
    write_table(_chosen(summary), folder / _FEATURES)
    if reduced is not None:
        write_table(reduced, folder / _DATA)
    selection = json.dumps(result.selection.to_dict(), ensure_ascii=False, allow_nan=False)
    result.evidence.save(folder / _EVIDENCE)
    texts = {
        _SELECTION: selection,
        _SUMMARY: render_json(summary),
        _HTML: render_html(summary),
        _MARKDOWN: render_markdown(summary),
    }
    for name, text in texts.items():
        write_atomically(folder / name, text.encode("utf-8"))
    for name, content in summary["displays"].items():
        for suffix in study.outputs.figures:
            DISPLAYS[name].from_dict(content).save(folder / _FIGURES / f"{name}.{suffix}")


def _chosen(summary: Mapping[str, Any]) -> pd.DataFrame:
    """Return the chosen features as a table; several blocks of one feature stand in one cell."""
    rows = [
        {key: "; ".join(map(str, value)) if isinstance(value, list) else value for key, value in one.items()}
        for one in summary["chosen"]
    ]
    return pd.DataFrame(rows) if rows else pd.DataFrame({"feature": []})


def _table_of(study: Study) -> Table:
    return read_table(study.folder / study.data.path, sheet=study.data.sheet)


def _reduced(table: Table, result: Result) -> pd.DataFrame:
    """Return the table without the features that were not chosen; all other columns stay."""
    chosen, told = result.selection.features, result.study.data
    absent = [name for name in chosen if name not in table.frame]
    if absent:
        raise InputError(
            f"{table.path} has no column {absent[0]!r}, which was chosen: it is not the table of this selection, so "
            "that no reduced table can be made of it."
        )
    targets = (told.target,) if isinstance(told.target, str) else told.target or ()
    kept = {*chosen, *targets, told.groups, *table.annotations}
    return table.frame[[name for name in table.frame.columns if name in kept or matches(name, told.ignore)]]


def _exchange(directory: Path, staging: Path, names: list[str]) -> None:
    """Put new files into the place of old ones; on any failure everything is put back."""
    (staging / "old" / _FIGURES).mkdir(parents=True)
    (directory / _FIGURES).mkdir(exist_ok=True)
    done: list[tuple[Path, Path]] = []

    def move(source: Path, target: Path) -> None:
        os.replace(source, target)
        done.append((source, target))

    try:
        for name in _OURS:
            if (directory / name).exists():
                move(directory / name, staging / "old" / name)
        for name in names:
            move(staging / "new" / name, directory / name)
    except BaseException:
        _put_back(done, staging)
        raise
    finally:
        with suppress(OSError):  # refused, as it should be, unless it is empty
            (directory / _FIGURES).rmdir()


def _put_back(done: list[tuple[Path, Path]], staging: Path) -> None:
    """Undo moves: new files are removed, old ones return."""
    for source, target in reversed(done):
        with suppress(OSError):
            if staging in source.parents:
                target.unlink()
            else:
                os.replace(target, source)
    if any(target.exists() for _, target in done if staging in target.parents):
        raise InputError(f"a result could not be replaced; files of the earlier one are kept in {staging / 'old'}.")


def _forget(staging: Path) -> None:
    """Remove what was staged, but never a file of an earlier result that could not be put back."""
    shutil.rmtree(staging / "new", ignore_errors=True)
    staging.with_suffix(".yaml").unlink(missing_ok=True)
    for folder in (staging / "old" / _FIGURES, staging / "old", staging):
        with suppress(OSError):
            folder.rmdir()


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes())
    except (ValueError, OSError, RecursionError) as error:
        raise InputError(f"{path} is damaged and cannot be read as JSON ({error}).") from error
    if not isinstance(content, dict):
        raise InputError(f"{path} is damaged: it must hold an object; got {type(content).__name__}.")
    return content
