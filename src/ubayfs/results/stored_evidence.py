"""Evidence in a directory, with the study that it was collected for: what parts of an ensemble and their sum are.

================= ============================================
``evidence.npz``  the ensemble, or a part of it
``study.yaml``    the study as used, with versions
``manifest.json`` the digest of both files, which must be kept
================= ============================================
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from .._arguments import did_you_mean
from .._files import as_path, read_bytes, write_atomically
from .._plain import listing
from ..ensemble.collect import versions
from ..ensemble.evidence import Evidence
from ..ensemble.pooling import pool_evidence
from ..exceptions import Advice, InputError, UBayFSError
from ..study import Study, load_study
from .file_set import MANIFEST, FileSet, changed_files

STUDY, EVIDENCE = "study.yaml", "evidence.npz"
# What only a result has, which is evidence with a decision.
DECISION = ("result.json", "summary.json")


def searchable(directory: str | os.PathLike[str]) -> Path:
    """Return the path of a directory, and make sure that files in it can be looked up, if it is there."""
    return as_path(as_path(directory) / STUDY).parent


class StoredEvidence:
    """Evidence in a directory: each file is opened once, and understood when it is first used.

    An InputError tells that there is no such directory, that files are missing, damaged or were not written together;
    when a file is used, that it is of a version that cannot be read. An interrupted replacement is completed.
    """

    _names: ClassVar[tuple[str, ...]] = (STUDY, EVIDENCE)  # every file that may be there
    _read: ClassVar[tuple[str, ...]] = (STUDY, EVIDENCE)  # those that must be there, and as they were written
    _optional: ClassVar[tuple[str, ...]] = ()  # those that are read if they are as they were written
    _incomplete: ClassVar[str] = (
        "holds no finished evidence: {missing} missing. If it was being collected, repeat that command: it resumes "
        "from the runs that are stored there."
    )

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = searchable(directory)
        self._files = FileSet(self.directory, self._names)
        if not self.directory.is_dir():
            what = "is a file" if self.directory.exists() else "does not exist"
            near = [path.name for path in self.directory.parent.glob("*") if path.is_dir()]
            hint = did_you_mean(self.directory.name, near)
            raise InputError(f"{self.directory} {what}; name the directory of a result.{hint}")
        self._files.settle()
        missing = [name for name in self._read if not (self.directory / name).is_file()]
        if missing:
            raise InputError(f"{self.directory} {self._incomplete.format(missing=', '.join(missing))}")
        self._digests = self._files.manifest()
        self._contents = {path: read_bytes(path) for path in (self.directory / name for name in self._read)}
        changed = [path.name for path, content in self._contents.items() if not self._as_written(path.name, content)]
        if changed or self._digests is None:
            self._check_not_replaced()
        if changed:
            raise InputError(
                f"{self.directory} cannot be trusted: {listing(changed)} {'is' if len(changed) == 1 else 'are'} not as "
                "written with this result, but edited, damaged or of another one. Put the original back, or write the "
                "result again. Save an edited study elsewhere, for 'ubayfs decide --study' or 'ubayfs select'."
            )
        if self._digests is None:
            Advice("no_manifest", {"directory": str(self.directory)}).warn()

    def _as_written(self, name: str, content: bytes) -> bool:
        """Return whether a file is that of this result, as far as it is known."""
        return self._digests is None or not changed_files(self._digests, {name: content})

    def _check_not_replaced(self) -> None:
        """Raise if another result has come to the directory since the manifest was read."""
        if self._files.in_switch or self._files.manifest() != self._digests:
            raise InputError(f"the result in {self.directory} was replaced while it was being read; read it again.")

    @property
    def sources(self) -> list[Path]:
        """The files that are read, which must stay as they are."""
        return [self.directory / name for name in (*self._read, *self._optional, MANIFEST)]

    @cached_property
    def study(self) -> Study:
        """The study as used."""
        return load_study(self.directory / STUDY, read=self._contents.__getitem__)

    @cached_property
    def evidence(self) -> Evidence:
        """The ensemble, or a part of it."""
        return Evidence.load(self.directory / EVIDENCE, read=self._contents.__getitem__)


def read_sites(directories: Mapping[str, str | os.PathLike[str]]) -> dict[str, StoredEvidence]:
    """Open what sites sent, by their names; InputError has all that is wrong with them at once."""
    stored, problems = {}, []
    for name, directory in directories.items():
        try:
            stored[name] = part = StoredEvidence(directory)
            _ = part.study, part.evidence
        except UBayFSError as error:
            problems.append(str(error))
    if problems:
        raise InputError("\n  ".join(["cannot pool:"] * (len(problems) > 1) + problems), argument="cohorts")
    return stored


def pooled_evidence(study: Study) -> Evidence:
    """Return the pooled evidence of the cohorts of a study."""
    assert study.cohorts is not None
    sites = read_sites({name: study.folder / path for name, path in study.cohorts.directories.items()})
    return pool_evidence({name: site.evidence for name, site in sites.items()})


@contextmanager
def reserve_evidence(
    directory: str | os.PathLike[str], *, force: bool = False, inputs: Sequence[Path] = ()
) -> Iterator[Callable[[Study, Evidence], None]]:
    """Keep everybody else from writing to a directory meanwhile; give a function that writes a study and its evidence.

    Parameters
    ----------
    directory : str or path
        Need not exist yet.
    force : bool
        Whether an earlier study and its evidence may be replaced.
    inputs : sequence of Path
        Files that are read for this evidence, which must not be replaced.
    """
    directory = searchable(directory)
    files = FileSet(directory, (STUDY, EVIDENCE))
    _check_directory(directory, force, inputs)

    def write(study: Study, evidence: Evidence) -> None:
        with refused(directory, "evidence"), files.staged() as folder:
            content = replace(study, versions=versions()).moved_to(directory).to_yaml()
            write_atomically(folder / STUDY, content.encode("utf-8"))
            evidence.save(folder / EVIDENCE)

    with ExitStack() as stack:
        with refused(directory, "evidence"):
            stack.enter_context(files.reserved())
        _check_directory(directory, force, inputs)  # an interrupted replacement may be complete now
        yield write


def _check_directory(directory: Path, force: bool, inputs: Sequence[Path]) -> None:
    """Raise if evidence must not be written to a directory."""
    if os.path.lexists(directory) and not directory.is_dir():
        raise InputError(f"{directory} is a file, so that no evidence can be written there. Name a directory.")
    if any(os.path.lexists(directory / name) for name in DECISION):
        raise InputError(f"{directory} holds a result, which evidence alone does not replace. Name another directory.")
    existing = [name for name in (STUDY, EVIDENCE) if os.path.lexists(directory / name)]
    if any((directory / name).resolve() == path.resolve() for name in existing for path in inputs):
        raise InputError(f"{directory} holds files that are read for this evidence. Name another directory with -o.")
    if existing and not force:
        raise InputError(
            f"{directory} holds {' and '.join(existing)} already. Name another directory with -o, or replace them with "
            "--force."
        )


@contextmanager
def refused(directory: Path, what: str) -> Iterator[None]:
    """Say in one way that the system refused to write, whichever part of the package met it."""
    try:
        yield
    except (OSError, UBayFSError) as error:
        cause = error if isinstance(error, OSError) else error.__cause__
        if not isinstance(cause, OSError):
            raise
        raise InputError(
            f"the {what} could not be written to {directory} ({cause.strerror or cause}); what was there before is "
            "unchanged. Name a directory that you may write to, or free space."
        ) from error
