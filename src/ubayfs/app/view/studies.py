"""The first page: what comes out, a new study, the demo with its tour, and the studies that there are."""

from __future__ import annotations

import asyncio
from urllib.parse import quote

from markupsafe import Markup
from nicegui import ui

from ...demo import answer
from ...report.document import Cell
from ..library import Library
from ..study_facts import StudyEntry
from .fields import heading
from .frame import button, outer_frame
from .live import html, line, show_message
from .parts import table, text, votes_bar

_SHOWN = 7  # features of the answer to the demo


def draw_studies(library: Library) -> None:
    """Draw the page."""
    with outer_frame("Studies"):
        with ui.element("div").classes("hero"):
            with ui.element("div"):
                about = (
                    "Open a table. State what you know and what a practical set must look like. Many models vote, "
                    "and the best set follows each change of mind."
                )
                heading("Which features should you measure?", about)
                with ui.element("div").classes("row"):
                    button("New study", lambda _: _begin(library), classes="main large")
                    button("Take the tour with the demo study", lambda _: _tour(library))
                line("The demo asks which of 10,100 genes predict whether p53 is mutated in 50 cell lines.")
            with ui.element("figure").classes("panel"):
                html(_example())
        studies = library.studies()
        if studies:
            html("Your studies", tag="h2")
        with ui.element("div").classes("cards"):
            for study in studies:
                _draw_study(library, study)


def _example() -> Markup:
    """Return a part of the answer to the demo."""
    best = answer()
    most = max(votes + weight for _, _, votes, weight in best)
    rows = [
        (name, Cell(badges=(reason,)), Cell(f"{votes:g}", bar=votes_bar(votes, weight, most)))
        for name, reason, votes, weight in best[:_SHOWN]
    ]
    shown = f"The answer to the demo, {_SHOWN} of {len(best)} features"
    caption = f"{shown}. Solid: votes of 100 models; hatched: what you state."
    return table(["Feature", "Because of", "Votes"], rows, caption, wide=True)


def _address(study: str) -> str:
    return f"/s/{quote(study)}/"


async def _begin(library: Library) -> None:
    show_message("info", "Making the study ...", "")
    n_others = sum(study.name.startswith("My study") for study in library.studies())
    name = f"My study {n_others + 1}" if n_others else "My study"
    ui.navigate.to(f"{_address(await asyncio.to_thread(library.create, name))}data")


async def _tour(library: Library) -> None:
    show_message("info", "Opening the demo study ...", "")
    study = _address(await asyncio.to_thread(library.demo))
    ui.run_javascript(f"window.ubayfs.tour({study!r})")
    ui.navigate.to(f"{study}data")


def _draw_study(library: Library, study: StudyEntry) -> None:
    with ui.element("section").classes("panel"):
        with ui.element("h3"):
            ui.link(study.name, f"{_address(study.id)}data")
        counts = {"samples": study.n_samples, "features": study.n_features}
        size = " x ".join(f"{n:,} {what}" for what, n in counts.items() if n) or "not read yet"
        line(f"{size}, changed {(study.changed or '')[:16].replace('T', ' ')}")

        def sure(is_asked: bool) -> None:
            asked.set_visibility(is_asked)
            ask.set_visibility(not is_asked)

        async def remove() -> None:
            await asyncio.to_thread(library.remove, study.id)
            ui.navigate.reload()

        ask = button("Remove", lambda _: sure(True), classes="link")
        ask.props["aria-label"] = f"Remove {study.name}"
        with ui.element("div").classes("row") as asked:
            html(text("Its directory is moved to the trash of the studies."), tag="span")
            button("Remove it", lambda _: remove(), classes="main")
            button("Keep it", lambda _: sure(False))
        asked.set_visibility(False)
