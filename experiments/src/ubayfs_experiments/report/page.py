"""The report of a run: one HTML file that needs nothing else, with all figures inside, and the tables as CSV."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pandas as pd

from ubayfs.report import Document, Section, render_document

from ..analysis.protocols import BOTH, OURS, THEIRS
from ..analysis.tables import GUIDED, TO_THE_LETTER
from ..files import write_file
from ..store import pack
from .content import Content
from .sections import controls_section, optimizers_section, run_section, settings_section, simulation_section
from .sections_real import real_sections

_TITLE = "The experiments of the UBayFS paper, rerun"
_SIMULATIONS = ("1a", "1a-draws", "1b", "1c", "1d")


def render(content: Content) -> str:
    """Return the report as HTML: no script, no link to elsewhere, figures inside."""
    pictures = {
        name: f"data:image/png;base64,{base64.b64encode(picture).decode()}"
        for name, picture in content.pictures.items()
    }
    return render_document(document_of(content), pictures)


def write_report(directory: Path) -> list[Path]:
    """Write the tables and ``report.html`` into the directory of a run; complete cells are packed first.

    Returns
    -------
    paths : list of Path
        All files written, the report last.
    """
    content = Content.read(directory)
    pack(directory)
    return write_content(content, directory)


def write_content(content: Content, directory: Path) -> list[Path]:
    """Write the tables and ``report.html`` of what was read, and return the paths as :func:`write_report`."""
    files = {f"tables/{name}.csv": as_csv(table) for name, table in content.tables().items()}
    files["report.html"] = render(content).encode()
    (directory / "tables").mkdir(exist_ok=True)
    for name, file in files.items():
        write_file(directory / name, file)
    return [directory / name for name in files]


def as_csv(table: pd.DataFrame) -> bytes:
    """Return a table as a CSV file, with ten digits: more than any figure means, and the same on every machine."""
    return table.to_csv(index=False, float_format="%.10g", lineterminator="\n").encode()


def document_of(content: Content) -> Document:
    """Return the report as sections."""
    warnings = []
    if content.run.get("quick"):
        warnings.append("A quick run: few splits and models. Its figures are to be looked at, not concluded from.")
    if content.unfinished or content.absent:
        unfinished, absent = len(content.unfinished), len(content.absent)
        warnings.append(f"Not everything was run: {unfinished} cells are unfinished, {absent} were not begun.")
    sections: tuple[Section, ...] = (
        run_section(content),
        *real_sections(content),
        *(simulation_section(content, name) for name in _SIMULATIONS),
        optimizers_section(content),
        controls_section(content),
        settings_section(content),
    )
    return Document(
        title=_TITLE,
        about=str(content.run.get("started", "")),
        headline=f"{_headline(content)}.",
        lead="A difference is one of more than two standard errors; the paper gives none, and has 10 splits.",
        key_figures=_key_figures(content),
        terms=("UBayFS mRMR, Fisher and tree: UBayFS with these elementary selectors (the paper's M, F, T).",),
        warnings=tuple(warnings),
        sections=sections,
    )


def _headline(content: Content) -> str:
    comparison = content.comparison
    n = int(comparison["z"].notna().sum())
    if not n:
        return "Experiments of which none is in the paper's tables so far"
    return f"{n - int(comparison['differs'].sum())} of {n} figures agree with the paper's tables"


def _key_figures(content: Content) -> tuple[tuple[str, str, str], ...]:
    done = sum(one["done"] == one["n_splits"] for one in content.cells)
    figures: list[tuple[Any, str, str]] = [
        (done, "cells finished", f"of {len({*content.expected, *(one['name'] for one in content.cells)})}")
    ]
    if len(content.comparison):
        unknown = int(content.verdicts["verdict"].str.startswith("unknown").sum()) if len(content.verdicts) else 0
        figures.append((len(content.verdicts), "figures differ from the paper", f"{unknown} of unknown cause"))
    if len(content.frames["2-paper"]):
        near = int(content.protocols["agrees"].isin([BOTH, OURS, THEIRS]).sum())
        figures.append((near, "agree with our or the authors' protocol", f"of {len(content.comparison)}"))
    if len(content.claims):
        holds = int((content.claims["verdict"] == "holds").sum())
        in_part = int((content.claims["verdict"] == "holds in part").sum())
        figures.append((holds, "of the paper's sentences hold", f"{in_part} in part, of {len(content.claims)}"))
    frame = content.frames["optimizers"]
    for optimizer, words in ((GUIDED, "guided start: our improvement"), (TO_THE_LETTER, "Algorithm 1 to the letter")):
        missed = frame.loc[frame["optimizer"] == optimizer, "missed"] if len(frame) else frame
        if len(missed):
            figures.append((f"{missed.mean():.0%}", "of runs missed by the genetic optimizer", words))
    return tuple((str(value), words, remark) for value, words, remark in figures)
