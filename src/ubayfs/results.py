"""Results: a directory with a decision, everything that it rests on, and its reports, written as a whole.

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

import csv
import io
import json
import os
import shutil
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ._arguments import did_you_mean
from ._files import discard_staged, exchange_files, write_atomically
from .data.feature_data import FeatureData
from .ensemble.collect import versions
from .ensemble.evidence import Evidence
from .exceptions import InputError, UBayFSError
from .plotting import DISPLAYS, Figures, read_displays, render_figures
from .plotting.base import FORMATS
from .report import render_html, render_json, render_markdown
from .selection import FORMAT as SELECTION_FORMAT
from .selection import Selection
from .stored_evidence import StoredEvidence
from .study import Study, load_study
from .summary import FORMAT

if TYPE_CHECKING:
    import pandas as pd

    from .tables import Table

_FEATURES, _DATA = "selected_features.csv", "selected_data.csv"
_SELECTION, _EVIDENCE, _STUDY, _SUMMARY = "result.json", "evidence.npz", "study.yaml", "summary.json"
_HTML, _MARKDOWN, _FIGURES = "report.html", "report.md", "figures"
_READ = (_STUDY, _EVIDENCE, _SELECTION, _SUMMARY)
# Everything that this module ever writes, and so may replace.
_OURS = (
    _FEATURES, _DATA, *_READ, _HTML, _MARKDOWN,
    *(f"{_FIGURES}/{name}.{suffix}" for name in DISPLAYS for suffix in FORMATS),
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Result:
    """A decision, the study and the evidence that it rests on, and its summary in plain types."""

    study: Study  # as used
    evidence: Evidence
    selection: Selection
    summary: Mapping[str, Any]  # from ubayfs.summary.summarize


class StoredResult:
    """A result in a directory, of which each part is read when it is first used.

    An InputError tells that there is no such directory, or that files are missing; when a part is used, that it is
    damaged or of a version that cannot be read.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = Path(directory)
        if not self.directory.is_dir():
            parent = self.directory.parent
            near = [path.name for path in parent.iterdir()] if parent.is_dir() else []
            what = "is a file" if self.directory.exists() else "does not exist"
            hint = did_you_mean(self.directory.name, near) if near else ""
            raise InputError(f"{self.directory} {what}; name the directory of a result.{hint}")
        missing = [name for name in _READ if not (self.directory / name).is_file()]
        if missing:
            raise InputError(
                f"{self.directory} holds no complete result: {', '.join(missing)} missing. Name a directory that "
                "'ubayfs select' or 'ubayfs decide' wrote."
            )

    @cached_property
    def study(self) -> Study:
        """The study as used."""
        return load_study(self.directory / _STUDY)

    @cached_property
    def evidence(self) -> Evidence:
        """The ensemble."""
        return Evidence.load(self.directory / _EVIDENCE)

    @cached_property
    def selection(self) -> Selection:
        """The decision; evidence of other features is refused."""
        path = self.directory / _SELECTION
        content = _read_json(path)
        if "format" in content and content["format"] != SELECTION_FORMAT:
            raise self._of_another_version(path)
        try:
            selection = Selection.from_dict(content)
        except InputError as error:
            raise InputError(f"{path} is damaged: {error}") from error
        if not np.array_equal(self.evidence.feature_names, selection.feature_names):
            raise InputError(
                f"{self.directory / _EVIDENCE} and {_SELECTION} beside it are about different features: they are not "
                "of one result. Write the result again."
            )
        return selection

    @cached_property
    def summary(self) -> Mapping[str, Any]:
        """What the reports say."""
        path = self.directory / _SUMMARY
        content = _read_json(path)
        if "format" not in content:
            raise InputError(f"{path} is not the summary of a result: it has no 'format'.")
        if content["format"] != FORMAT:
            raise self._of_another_version(path)
        return content

    def _of_another_version(self, path: Path) -> InputError:
        return InputError(
            f"{path} was written by another version of ubayfs. Repeat the result with this one: run 'ubayfs select "
            f"{_STUDY} -o again' in {self.directory}."
        )

    def figures(self, displays: Mapping[str, Any]) -> Figures:
        """Return the figures of those displays that are the same in this result, as far as their files are there."""
        mine = self.summary
        files = {
            name: {
                suffix: path.read_bytes()
                for suffix in FORMATS
                if (path := self.directory / _FIGURES / f"{name}.{suffix}").is_file()
            }
            for name, content in displays.items()
            if mine["displays"].get(name) == content and mine["versions"].get("ubayfs") == versions()["ubayfs"]
        }
        letters = [advice["facts"]["letters"] for advice in mine["advice"] if advice["code"] == "missing_letters"]
        return Figures(files, "".join(letters))


def stored_at(directory: str | os.PathLike[str]) -> StoredResult | StoredEvidence:
    """Open a result, or a directory with nothing but evidence and its study."""
    names = {path.name for path in Path(directory).iterdir()} if Path(directory).is_dir() else set()
    only_evidence = {_STUDY, _EVIDENCE} <= names and names.isdisjoint({_SELECTION, _SUMMARY})
    return StoredEvidence(directory) if only_evidence else StoredResult(directory)


def read_result(directory: str | os.PathLike[str]) -> Result:
    """Read all parts of what :func:`write_result` wrote; see :class:`StoredResult`."""
    stored = StoredResult(directory)
    return Result(stored.study, stored.evidence, stored.selection, stored.summary)


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
        _table_of(study)  # says what is wrong with the path


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
    directory: str | os.PathLike[str],
    result: Result,
    *,
    data: Table | FeatureData | None = None,
    figures: Figures | None = None,
    force: bool = False,
) -> list[Path]:
    """Write a result, whole or not at all, and return the paths of its files.

    All files are made in a hidden directory first and moved to their places when the last one is complete. Whatever
    goes wrong before that, or on the way, leaves the directory as it was.

    Parameters
    ----------
    directory : str or path
        Made if it does not exist.
    result : Result
    data : Table or FeatureData, optional
        The table to be reduced, if the study asks for that. Only a :class:`~ubayfs.tables.Table` has what a reduced
        table should have, such as the names of samples and ignored columns; otherwise it is read again.
    figures : Figures, optional
        The displays of the summary, rendered in the formats of the study. Default: they are drawn now.
    force : bool
        Whether files of an earlier result are replaced. Those that this result does not have are removed, any other
        file stays.
    """
    directory = Path(directory)
    table = None if isinstance(data, FeatureData) else data
    check_directory(directory, result.study if table is None else None, force=force)
    reduced = None
    if result.study.outputs.reduced_table:
        reduced = _reduced(_table_of(result.study) if table is None else table, result)
    if figures is None:
        figures = render_figures(read_displays(result.summary["displays"]), result.study.outputs.figures)
    made = [path for path in (directory, *directory.parents) if not path.exists()]
    staging = directory / f".ubayfs-{uuid.uuid4().hex}"
    try:
        with _refused(directory):
            (staging / "new" / _FIGURES).mkdir(parents=True)
            (staging / "old" / _FIGURES).mkdir(parents=True)
            _stage(staging / "new", result, reduced, figures)
            # Relative paths of the study must be right in `directory`, so it cannot be written elsewhere.
            replace(result.study, versions=versions()).save(staging.with_suffix(".yaml"))
            os.replace(staging.with_suffix(".yaml"), staging / "new" / _STUDY)
            names = [name for name in _OURS if (staging / "new" / name).exists()]
            exchange_files(directory, staging, _OURS, names)
    except BaseException:
        discard_staged(staging)
        for path in made:
            with suppress(OSError):
                path.rmdir()
        raise
    shutil.rmtree(staging, ignore_errors=True)
    return [directory / name for name in names]


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


def _stage(folder: Path, result: Result, reduced: pd.DataFrame | None, figures: Figures) -> None:
    """Make every file of a result but the study."""
    summary = result.summary
    if reduced is not None:
        from .tables import write_table

        write_table(reduced, folder / _DATA)
    result.evidence.save(folder / _EVIDENCE)
    texts = {
        _FEATURES: _chosen(summary),
        _SELECTION: json.dumps(result.selection.to_dict(), ensure_ascii=False, allow_nan=False),
        _SUMMARY: render_json(summary),
        _HTML: render_html(summary, figures),
        _MARKDOWN: render_markdown(summary),
    }
    for name, text in texts.items():
        write_atomically(folder / name, text.encode("utf-8"))
    for name, files in figures.files.items():
        for suffix in result.study.outputs.figures:
            write_atomically(folder / _FIGURES / f"{name}.{suffix}", files[suffix])


def _chosen(summary: Mapping[str, Any]) -> str:
    """Return the chosen features as CSV; several blocks of one feature stand in one cell."""
    records = summary["chosen"]
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, list(records[0]) if records else ["feature"], lineterminator="\n")
    writer.writeheader()
    for record in records:
        writer.writerow(
            {key: "; ".join(map(str, value)) if isinstance(value, list) else value for key, value in record.items()}
        )
    return buffer.getvalue()


def _table_of(study: Study) -> Table:
    from .tables import read_table

    return read_table(study.folder / study.data.path, sheet=study.data.sheet)


def _reduced(table: Table, result: Result) -> pd.DataFrame:
    """Return the table without the features that were not chosen; all other columns stay."""
    from .tables import matches

    chosen, section = result.selection.features, result.study.data
    absent = [name for name in chosen if name not in table.frame]
    if absent:
        raise InputError(
            f"{table.path} has no column {absent[0]!r}, which was chosen: it is not the table of this selection, so "
            "that no reduced table can be made of it."
        )
    targets = (section.target,) if isinstance(section.target, str) else section.target or ()
    staying = {*chosen, *targets, section.groups, *table.annotations}
    return table.frame[[name for name in table.frame.columns if name in staying or matches(name, section.ignore)]]


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes())
    except (ValueError, OSError, RecursionError) as error:
        raise InputError(f"{path} is damaged and cannot be read as JSON ({error}).") from error
    if not isinstance(content, dict):
        raise InputError(f"{path} is damaged: it must hold an object; got {type(content).__name__}.")
    return content
