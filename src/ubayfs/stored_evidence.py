"""Evidence in a directory, with the study that it was collected for: what parts of an ensemble and their sum are.

================= ====================================
``evidence.npz``  the ensemble, or a part of it
``study.yaml``    the study as used, with versions
================= ====================================
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from ._files import write_atomically
from .ensemble.collect import versions
from .ensemble.evidence import Evidence
from .exceptions import InputError
from .study import Study, load_study

STUDY, EVIDENCE = "study.yaml", "evidence.npz"


class StoredEvidence:
    """Evidence in a directory; each file is read when it is first used.

    An InputError tells that there is no such directory, or that files are missing; when a file is used, that it is
    damaged.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = Path(directory)
        missing = [name for name in (STUDY, EVIDENCE) if not (self.directory / name).is_file()]
        if not self.directory.is_dir():
            what = "is a file" if self.directory.exists() else "does not exist"
            raise InputError(f"{self.directory} {what}; name a directory that 'ubayfs collect' wrote.")
        if missing:
            raise InputError(
                f"{self.directory} holds no finished evidence: {' and '.join(missing)} missing. If it was being "
                "collected, repeat that command: it resumes from the runs that are stored there."
            )

    @cached_property
    def study(self) -> Study:
        """The study as used."""
        return load_study(self.directory / STUDY)

    @cached_property
    def evidence(self) -> Evidence:
        """The ensemble, or a part of it."""
        return Evidence.load(self.directory / EVIDENCE)


def write_evidence(directory: Path, study: Study, evidence: Evidence) -> None:
    """Write evidence and its study; a directory without evidence is unfinished, so that it is written last."""
    directory.mkdir(parents=True, exist_ok=True)
    replace(study, versions=versions()).save(directory / STUDY)
    evidence.save(directory / EVIDENCE)


def check_evidence_directory(directory: Path, *, force: bool = False, inputs: Sequence[Path] = ()) -> None:
    """Raise if evidence cannot be written to a directory: before the work instead of after it.

    Parameters
    ----------
    directory : Path
        Need not exist yet.
    force : bool
        Whether an earlier study and its evidence may be replaced.
    inputs : sequence of Path
        Files that are read for this evidence, which must not be replaced.
    """
    if directory.exists() and not directory.is_dir():
        raise InputError(f"{directory} is a file, so that no evidence can be written there. Name a directory.")
    found = [name for name in (STUDY, EVIDENCE) if (directory / name).exists()]
    if any((directory / name).resolve() == path.resolve() for name in found for path in inputs):
        raise InputError(f"{directory} holds files that are read for this evidence. Name another directory with -o.")
    if found and not force:
        raise InputError(
            f"{directory} holds {' and '.join(found)} already. Name another directory with -o, or replace them with "
            "--force."
        )
    directory.mkdir(parents=True, exist_ok=True)
    probe = directory / ".ubayfs-probe"
    write_atomically(probe, b"")
    probe.unlink(missing_ok=True)
