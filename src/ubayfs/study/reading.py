"""load_study: a study file, checked as a whole."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from .._arguments import did_you_mean
from .document import read_document
from .knowledge import as_blocks
from .model import Origin, Study
from .problems import Path as KeyPath
from .problems import Problems, below
from .sections import DataSection, DecisionSection, EvidenceSection, OutputSection, PriorSection
from .terms import read_constraints

_KEYS = ("data", "evidence", "prior", "blocks", "constraints", "decision", "outputs", "versions")


def load_study(path: str | os.PathLike[str]) -> Study:
    """Read a study file.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    study : Study
        Its names are not compared with the data yet; :meth:`Study.arguments` does that.

    Raises
    ------
    StudyError
        If there is anything wrong: all problems at once, each with its line and key.
    """
    study, problems = read_draft(path)
    problems.raise_any()
    return study


def read_draft(path: str | os.PathLike[str]) -> tuple[Study, Problems]:
    """Read as much of a study file as can be.

    Returns
    -------
    study : Study
        Defaults stand where the file is wrong.
    problems : Problems
        What is wrong.

    Raises
    ------
    StudyError
        If nothing can be read.
    """
    file = Path(path)
    document = read_document(file)
    problems, value = document.problems, document.value
    if value is None:
        problems((), "is empty; a study needs at least 'data: {path: data.csv}'. 'ubayfs init data.csv' writes one.", 0)
    elif not isinstance(value, dict):
        problems((), f"must hold keys such as data, evidence, constraints; got a {type(value).__name__}.", 0)
    if not isinstance(value, dict):
        problems.raise_any()
    parts = _read_parts(value, problems)
    positions = parts.pop("positions")
    aliases: dict[KeyPath, KeyPath | str] = {
        ("constraints", new): ("constraints", old) for new, old in enumerate(positions)
    }
    origin = Origin(file.name, problems.lines, parts, aliases)
    return Study(**parts, folder=file.parent, origin=origin), problems


def _read_parts(value: dict[Any, Any], problems: Problems) -> dict[str, Any]:
    for key in value:
        if key not in _KEYS:
            hint = did_you_mean(key, _KEYS) or f" Known keys: {', '.join(_KEYS)}."
            problems((key,), f"is not a key of a study; got {key!r}.{hint}")
    parts: dict[str, Any] = {
        section.key: section.read(value.get(section.key), problems)
        for section in (DataSection, EvidenceSection, PriorSection, DecisionSection, OutputSection)
    }
    parts["blocks"] = as_blocks(value.get("blocks"), below(problems, "blocks"))
    read = read_constraints(value.get("constraints"), below(problems, "constraints"))
    parts["constraints"] = tuple(one for _, one in read)
    parts["positions"] = [position for position, _ in read]
    versions = value.get("versions") or {}
    if not isinstance(versions, dict):
        problems(("versions",), f"must map packages to versions; got {versions!r}. It may be left out.")
    else:
        parts["versions"] = {str(package): str(version) for package, version in versions.items()}
    return parts
