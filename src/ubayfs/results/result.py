"""Results: a directory with a decision, everything that it rests on, and its reports, written as a whole.

============================ ========================================================================================
``selected_features.csv``    the chosen features, one row each
``selected_data.csv``        the data table without the other features, if the study asks for it
``result.json``              the selection
``evidence.npz``             the ensemble
``trust.npz``                ensembles on shuffled targets and on halves of the samples, validation; where there are any
``study.yaml``               the study as used, with versions
``summary.json``             what the reports say
``report.html``, ``.md``     the reports
``figures/``                 one file for each display and format
``manifest.json``            the digest of each of these files
============================ ========================================================================================

Study, evidence, selection and summary are what a result is read from: they must be as they were written. Trust is used
if it is, and can be made anew. The others are for people, who may edit or remove them; nothing reads them again but
figures, drawn again if they changed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._files import FIGURE_FORMATS, read_bytes, read_json, write_atomically
from .._plain import decode, listing
from ..data.feature_data import FeatureData
from ..data.reading_rules import target_columns
from ..decision.selection import FORMAT as SELECTION_FORMAT
from ..decision.selection import Selection
from ..ensemble.collect import versions
from ..ensemble.evidence import Evidence
from ..exceptions import Advice, InputError, UBayFSError
from ..plotting import DISPLAYS, Figures, read_displays, render_figures
from ..report import FORMAT, Summary, render_csv, render_html, render_json, render_markdown
from ..report.content import document
from ..study import Study
from ..trust.trust import Trust
from .file_set import MANIFEST, FileSet
from .stored_evidence import DECISION, EVIDENCE, STUDY, StoredEvidence, refused, searchable

if TYPE_CHECKING:
    import pandas as pd

    from ..tables import Table

_FEATURES, _DATA = "selected_features.csv", "selected_data.csv"
_SELECTION, _SUMMARY = DECISION
_HTML, _MARKDOWN, _FIGURES = "report.html", "report.md", "figures"
_READ = (STUDY, EVIDENCE, _SELECTION, _SUMMARY)
_TRUST = "trust.npz"
# Everything that this module ever writes, and so may replace.
_OURS = (
    _FEATURES, _DATA, *_READ, _TRUST, _HTML, _MARKDOWN,
    *(f"{_FIGURES}/{name}.{suffix}" for name in DISPLAYS for suffix in FIGURE_FORMATS),
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Result:
    """A decision, the study and the evidence that it rests on, its summary, and what it may claim."""

    study: Study  # as used
    evidence: Evidence
    selection: Selection
    summary: Summary
    trust: Trust | None = None


class StoredResult(StoredEvidence):
    """A result in a directory: evidence and study, the decision, and what the reports say."""

    _names, _read, _optional = _OURS, _READ, (_TRUST,)
    _incomplete = (
        "holds no complete result: {missing} missing. Name a directory that 'ubayfs select' or 'ubayfs decide' wrote."
    )

    @cached_property
    def selection(self) -> Selection:
        """The decision; evidence of other features is refused."""
        path = self.directory / _SELECTION
        content = read_json(path, self._contents.__getitem__)
        if "format" in content and content["format"] != SELECTION_FORMAT:
            raise self._of_another_version(path)
        try:
            selection = Selection.from_dict(content)
        except InputError as error:
            raise InputError(f"{path} is damaged: {error}") from error
        same = np.array_equal(self.evidence.feature_names, selection.feature_names)
        if not same or (selection.counts is not None and not np.array_equal(self.evidence.counts, selection.counts)):
            raise InputError(
                f"{self.directory / EVIDENCE} and {_SELECTION} beside it are about different "
                f"{'votes' if same else 'features'}: they are not of one result. Write the result again."
            )
        return selection

    @cached_property
    def summary(self) -> Summary:
        """What the reports say."""
        path, content = self.directory / _SUMMARY, self._any_summary
        if "format" not in content:
            raise InputError(f"{path} is not the summary of a result: it has no 'format'.")
        if content["format"] != FORMAT:
            raise self._of_another_version(path)
        try:
            summary = decode(Summary, content, lenient=True)
            displays = {name: display for name, display in summary.displays.items() if name in DISPLAYS}
            summary = replace(summary, displays=displays)  # without those that earlier versions had
            read_displays(displays)
            json.dumps(content, allow_nan=False, ensure_ascii=False).encode()
            render_markdown(summary).encode()  # what a report can be made of is a summary
            self.figures({})
        except InputError as error:
            raise InputError(f"{path} is damaged: {error}") from error
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
            what = f"{type(error).__name__} {error} on using it"
            raise InputError(f"{path} is damaged: {what}. Write the result again.") from error
        return summary

    @property
    def of_another_version(self) -> bool:
        """Whether its summary cannot be read by this version; evidence and study can be used all the same."""
        return bool(self._any_summary.get("format", FORMAT) != FORMAT)

    @cached_property
    def _any_summary(self) -> dict[str, Any]:
        return read_json(self.directory / _SUMMARY, self._contents.__getitem__)

    @cached_property
    def trust(self) -> Trust | None:
        """Ensembles on shuffled targets and on halves, and the validation; None if the result has none of them.

        It can be made anew: where its file is lost or damaged, a warning says how, and there is none.
        """
        path = self.directory / _TRUST
        if not (path.is_file() if self._digests is None else _TRUST in self._digests):
            return None
        content = self._if_as_written(_TRUST)
        if content is not None:
            with suppress(UBayFSError):
                return Trust.load(path, lambda _: content)
        self._check_not_replaced()
        Advice("trust_lost", {"path": str(path), "what": "damaged" if path.is_file() else "missing"}).warn()
        return None

    def _of_another_version(self, path: Path) -> InputError:
        return InputError(
            f"{path} was written by another version of ubayfs. Repeat the result with this one: run 'ubayfs select "
            f"{STUDY} -o again' in {self.directory}."
        )

    def figures(self, displays: Mapping[str, Any]) -> Figures:
        """Return the figures of those displays that are the same in this result, as far as their files are there."""
        mine = self._any_summary
        same_version = mine["versions"].get("ubayfs") == versions()["ubayfs"]
        files = {
            name: {
                suffix: figure
                for suffix in self.study.outputs.figures
                if (figure := self._if_as_written(f"{_FIGURES}/{name}.{suffix}")) is not None
            }
            for name, content in displays.items()
            if same_version and mine["displays"].get(name) == content
        }
        letters = [advice["facts"]["letters"] for advice in mine["advice"] if advice["code"] == "missing_letters"]
        return Figures(files, "".join(letters))

    def _if_as_written(self, name: str) -> bytes | None:
        """Return the content of a file, unless it is missing or was changed."""
        with suppress(UBayFSError):
            content = read_bytes(self.directory / name)
            return content if self._as_written(name, content) else None
        return None


def stored_at(directory: str | os.PathLike[str]) -> StoredResult | StoredEvidence:
    """Open a result, or a directory with nothing but evidence and its study."""
    FileSet(searchable(directory), _OURS).settle()
    names = {path.name for path in Path(directory).glob("*")}
    only_evidence = {STUDY, EVIDENCE} <= names and names.isdisjoint(DECISION)
    return StoredEvidence(directory) if only_evidence else StoredResult(directory)


def read_result(directory: str | os.PathLike[str]) -> Result:
    """Read all parts of what :func:`write_result` wrote; see :class:`StoredResult`."""
    stored = StoredResult(directory)
    return Result(stored.study, stored.evidence, stored.selection, stored.summary, stored.trust)


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
    directory = searchable(directory)
    existing = next(path for path in (directory, *directory.absolute().parents) if os.path.lexists(path))
    if not existing.is_dir():
        raise InputError(f"{existing} is a file, so that no result can be written to {directory}. Name a directory.")
    folders = [name for name in _OURS if (directory / name).is_dir()]
    if folders:
        raise InputError(
            f"{directory / folders[0]} is a directory, but a result has a file of that name. Move it away."
        )
    figures = directory / _FIGURES
    if os.path.lexists(figures) and (figures.is_symlink() or not figures.is_dir()):
        what = "link" if figures.is_symlink() else "file"
        raise InputError(f"{figures} is a {what}, but a result has a directory of that name. Move it away.")
    present = [name for name in (*_OURS, MANIFEST) if os.path.lexists(directory / name)]
    if present and not force:
        what = "a result already" if all(name in present for name in _READ) else "files that a result would replace"
        raise InputError(
            f"{directory} holds {what} ({listing(present, 5)}). Name another directory, or replace these files with "
            "--force (in Python: force=True)."
        )
    for path in _inputs(study, source):
        if os.path.exists(path) and any(path == (directory / name).resolve() for name in present):
            raise InputError(
                f"{path} was read for this result, which would replace it. Name another directory for the result."
            )
    with refused(directory, "result"):
        probe = existing / ".ubayfs-probe"
        probe.mkdir(exist_ok=True)
        with suppress(FileNotFoundError):  # another program tries the same
            probe.rmdir()
    absent = study is not None and not all(os.path.isfile(study.folder / path) for path in study.data.files)
    if study is not None and study.outputs.reduced_table and absent:
        _table_of(study)  # says what is wrong with the path


def _inputs(study: Study | None, source: str | os.PathLike[str] | None) -> list[Path]:
    """Return the files that a study rests on."""
    if study is None:
        return [] if source is None else [Path(source).resolve()]
    paths = [study.folder / path for path in study.inputs]
    if source is not None and study.versions.keys() <= {"ubayfs"}:  # results write the versions of other packages, too
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
    table = None if isinstance(data, FeatureData) else data
    with reserve(directory, result.study if table is None else None, force=force) as write:
        return write(result, data=table, figures=figures)


@contextmanager
def reserve(
    directory: str | os.PathLike[str],
    study: Study | None = None,
    *,
    force: bool = False,
    source: str | os.PathLike[str] | None = None,
) -> Iterator[Callable[..., list[Path]]]:
    """Check a directory as :func:`check_directory` does, and keep everybody else from writing there meanwhile.

    What programs left that were stopped there is finished or removed, with a warning. Gives a function that writes a
    result: ``write(result, data=None, figures=None)``, see :func:`write_result`.
    """
    directory = searchable(directory)
    check_directory(directory, study, force=force, source=source)
    files = FileSet(directory, _OURS)

    def write(result: Result, *, data: Table | None = None, figures: Figures | None = None) -> list[Path]:
        check_directory(directory, force=force)  # the last time may have been hours ago
        with refused(directory, "result"), files.staged() as folder:
            _stage(folder, directory, result, data, figures)
        return [directory / name for name in (*_OURS, MANIFEST) if (directory / name).exists()]

    with ExitStack() as stack:
        with refused(directory, "result"):
            stack.enter_context(files.reserved())
        check_directory(directory, study, force=force, source=source)  # an interrupted result may be complete now
        yield write


def _stage(folder: Path, directory: Path, result: Result, table: Table | None, figures: Figures | None) -> None:
    """Make every file of a result for a directory in a folder of its own."""
    summary, study = result.summary, result.study
    if study.outputs.reduced_table:
        from ..tables import write_table

        write_table(_reduced(_table_of(study) if table is None else table, result), folder / _DATA)
    if figures is None:
        figures = render_figures(read_displays(summary.displays), study.outputs.figures)
    result.evidence.save(folder / EVIDENCE)
    if result.trust is not None and not result.trust.empty:
        write_atomically(folder / _TRUST, result.trust.encode())
    report = document(summary)
    texts = {
        _FEATURES: render_csv(summary),
        _SELECTION: json.dumps(result.selection.to_dict(), ensure_ascii=False, allow_nan=False),
        STUDY: replace(study, versions=versions()).moved_to(directory).to_yaml(),
        _SUMMARY: render_json(summary),
        _HTML: render_html(summary, figures, report),
        _MARKDOWN: render_markdown(summary, None, report),
    }
    for name, text in texts.items():
        write_atomically(folder / name, text.encode("utf-8"))
    (folder / _FIGURES).mkdir()
    for name, files in figures.files.items():
        for suffix in study.outputs.figures:
            write_atomically(folder / _FIGURES / f"{name}.{suffix}", files[suffix])


def _table_of(study: Study) -> Table:
    from ..tables import read_files

    return read_files(**study.data.layout(study.folder))


def _reduced(table: Table, result: Result) -> pd.DataFrame:
    """Return the table without the features that were not chosen; all other columns stay."""
    from ..tables import matches

    chosen, section = result.selection.features, result.study.data
    absent = [name for name in chosen if name not in table.frame]
    if absent:
        raise InputError(
            f"{table.path} has no column {absent[0]!r}, which was selected: it is not the table of this selection, so "
            "that no reduced table can be made of it."
        )
    staying = {
        *chosen,
        *target_columns(section.target),
        section.groups,
        *section.adjust_for,
        *section.measured,
        *table.annotations,
    }
    return table.frame[[name for name in table.frame.columns if name in staying or matches(name, section.ignore)]]
