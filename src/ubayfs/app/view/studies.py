"""The list of studies: open, begin, remove; and a tour for the first visit."""

from __future__ import annotations

import asyncio
from urllib.parse import quote

from nicegui import ui

from ..library import Library
from ..study_facts import StudyEntry
from .fields import entry, heading, panel
from .frame import SCREENS, TOUR, button, outer_frame
from .live import html, line, show_message
from .parts import text


def draw_studies(library: Library) -> None:
    """Draw the list of studies."""
    with outer_frame("Studies"):
        heading("Your studies", "A study has data, what you know about them, rules, and answers.")
        studies = library.studies()
        with ui.element("div").classes("columns"):
            with ui.element("div"):
                if not studies:
                    _draw_tour(library)
                with ui.element("div").classes("cards"):
                    for study in studies:
                        _draw_study(library, study)
            with ui.element("div"):
                _draw_new(library)
                if studies:
                    _draw_tour(library)


def _address(study: str) -> str:
    return f"/s/{quote(study)}/data"


def _draw_study(library: Library, study: StudyEntry) -> None:
    with ui.element("section").classes("panel"):
        with ui.element("h2"):
            ui.link(study.name, _address(study.id))
        counts = {"samples": study.n_samples, "features": study.n_features}
        line(" x ".join(f"{n:,} {what}" for what, n in counts.items() if n) or "not read yet")
        line(f"changed {(study.changed or '')[:16].replace('T', ' ')}")

        def sure(is_asked: bool) -> None:
            asked.set_visibility(is_asked)
            ask.set_visibility(not is_asked)

        async def remove() -> None:
            await asyncio.to_thread(library.remove, study.id)
            ui.navigate.reload()

        ask = button("Remove", lambda _: sure(True))
        with ui.element("div").classes("row") as asked:
            html(text("Its directory is moved to the trash of the studies."), tag="span")
            button("Remove it", lambda _: remove(), classes="main")
            button("Keep it", lambda _: sure(False))
        asked.set_visibility(False)


def _draw_new(library: Library) -> None:
    with panel("New study", "Give it a name; then choose its files."):
        name = entry("Name", "", draft="name", placeholder="My study")

        async def create(given: str) -> None:
            show_message("info", "Making the study ...", "")
            study = await asyncio.to_thread(library.create, given.strip() or "My study")
            name.clear(given)
            ui.navigate.to(_address(study))

        name.box.on("keydown.enter", lambda event: create(str(event.args)), js_handler="(e) => emit(e.target.value)")
        button("Make the study", lambda _: create(str(name.value)), classes="main")


def _draw_tour(library: Library) -> None:
    async def demo() -> None:
        show_message("info", "Opening the demo study ...", "")
        study = await asyncio.to_thread(library.demo)
        ui.run_javascript("window.ubayfs.tour('on')")
        ui.navigate.to(_address(study))

    about = "The demo study asks which of 10,100 genes tell whether p53 is mutated in 50 cell lines."
    with panel("New here?", about, "tour-start"):
        steps = (f"<li><strong>{text(SCREENS[screen])}</strong>: {text(step)}</li>" for screen, step in TOUR.items())
        html("".join(steps), tag="ol")
        button("Take the tour with the demo study", lambda _: demo(), classes="main")
