"""The study of the demo: which genes predict whether p53 is mutated in 50 cell lines, with a list of its pathway.

Table and list are data of others, the only ones in this package; README.md beside them has their sources and licenses.
"""

from __future__ import annotations

import csv
import lzma
from importlib.resources import files
from pathlib import Path

from .. import __version__
from .._files import write_atomically
from ..exceptions import InputError

__all__ = ["ANSWER", "FILES", "STUDY", "answer", "write_demo"]

STUDY = "study.yaml"
FILES = ("cell_lines.csv", "knowledge.csv", STUDY)
ANSWER = "answer.csv"  # of the decision with the list: `make pictures` writes it
_PACKED = ".xz"


def write_demo(directory: Path) -> Path:
    """Write table, list and study file to a directory, in place of earlier ones; return the path of the study file."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise InputError(f"{directory} is a file, not a directory; choose another one.") from None
    for name in FILES:
        write_atomically(directory / name, _content(name))
    return directory / STUDY


def answer() -> list[tuple[str, str, float, float]]:
    """Return the selected features, most important first: name, reason, votes of 100 models and prior weight.

    >>> answer()[0]
    ('BAX', 'data', 82.0, 25.0)
    """
    _, *rows = csv.reader((files(__name__) / ANSWER).read_text(encoding="utf-8").splitlines())
    return [(feature, reason, float(votes), float(weight)) for feature, reason, votes, weight in rows]


def _content(name: str) -> bytes:
    """Return a file of the demo as users get it."""
    shipped = files(__name__)
    packed = shipped / f"{name}{_PACKED}"
    if packed.is_file():
        return lzma.decompress(packed.read_bytes())
    return (shipped / name).read_bytes().replace(b"@VERSION@", __version__.encode())
