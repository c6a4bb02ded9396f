"""Versions: name an answer, compare two, go back, and export each as report, table, study or zip."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from markupsafe import Markup
from nicegui import ui

from ..._plain import counted, listing
from ...exceptions import InputError
from ...report import tables
from ...report.blocks import section_html, table_html
from ...report.document import Cell, Column
from ...results.comparison import Comparison
from ..sessions import ExpertSession
from ..study_facts import Version
from ..view.fields import choice, entry, heading, panel
from ..view.frame import address, button
from ..view.live import follow, html, line, live, show_message
from ..view.parts import APP, block, notice, text

EXPORTS = {
    "report": "Report",
    "excel": "Excel table",
    "study": "Study file",
    "zip": "Everything (zip)",
    "zip-with-data": "Everything and the data (zip)",
}
_PRESENT = "the present answer"
_FACTS = {"validation": "Prediction", "related": "Related to the target", "reproducibility": "Selected again"}


def draw_versions(bench: ExpertSession) -> None:
    """Draw the screen."""
    heading(
        "Which answers do you want to keep?",
        "A version is a complete result: it can be compared, reopened here or by the command line, and handed on.",
    )
    with ui.element("div").classes("columns"):
        with ui.element("div"):
            _draw_list(bench)
            _draw_comparison(bench)
        with ui.element("div"):
            _draw_save(bench)
            with panel(
                "Export the present answer",
                "The zip has all of it, and a Python script that repeats the answer on another machine.",
            ):
                _draw_exports(bench, None)


def _draw_save(bench: ExpertSession) -> None:
    with panel("Save the present answer", classes="tour-target"):
        name = entry("Name", "", draft="version", placeholder="Before the meeting")

        async def save(_: Any) -> None:
            show_message("info", "The version is being written, with its report.", "Please wait.")
            version_name = name.value
            saved = await asyncio.wrap_future(bench.save_version(str(version_name)))
            name.clear(version_name)
            show_message("success", f"Version {saved.number}: {saved.name}.", "Saved")

        send = button("Save", save, classes="main")

        @live(bench, "answer", "state")
        def present() -> None:
            best = bench.answer.set
            features = None if best is None else best.features
            send.props["disabled"] = features is None
            send.update()
            shown = f"{counted(len(features), 'feature')}: {listing(features, 12)}" if features else ""
            line(shown or "There is no answer yet.")


def _draw_list(bench: ExpertSession) -> None:
    with panel("Versions"):
        follow(bench, lambda: _table_of(bench), "versions", "state", "answer")

        @live(bench, "versions", "state", of=lambda: (bench.versions, bench.confirmed))
        def versions() -> None:
            if not bench.versions:
                line("No version yet. Save the answer before you try something else.", "empty")
            for version in reversed(bench.versions):
                _draw_version(bench, version)


def _table_of(bench: ExpertSession) -> Markup:
    """Return the present answer and all versions; nothing without versions, or while votes are hidden."""
    versions = bench.versions
    if bench.confirmed is None or not versions:
        return Markup()
    return answers_table([_present(bench), *reversed(versions)])


def _present(bench: ExpertSession) -> Version | None:
    answer = bench.answer
    best = answer.set
    if best is None:
        return None
    return Version(0, _PRESENT, "", len(best.features), best.features, cost=best.cost, facts=answer.facts)


def answers_table(answers: Iterable[Version | None]) -> Markup:
    """Return what each answer is worth: features, cost, and the three facts of trust; not the columns without any.

    >>> answers_table([Version(1, "First", "", 3, ("a", "b", "c"), cost=12.5)]).striptags()
    'Answers side by sideAnswerFeaturesCost1. First312.5'
    """

    def fact(part: str) -> Callable[[Version], str]:
        return lambda version: next((fact.value for fact in version.facts if fact.fact == part), "")

    columns: list[tables.Field[Version]] = [
        (Column("Answer"), lambda r: Cell(f"{r.number}. {r.name}" if r.number else r.name)),
        (Column("Features", True), lambda r: f"{r.n_features:,}"),
        (Column("Cost", True), lambda r: "" if r.cost is None else f"{r.cost:,.6g}"),
        *((Column(title), fact(part)) for part, title in _FACTS.items()),
    ]
    shown = tables.as_table("Answers side by side", list(filter(None, answers)), columns, drop_empty=True)
    return Markup().join(block(table_html(each, APP)) for each in shown)


def _draw_version(bench: ExpertSession, version: Version) -> None:
    number = version.number
    with ui.element("article").classes("version"):
        html(text(f"{number}. {version.name}"), tag="h3")
        saved = f"Saved {version.created[:16].replace('T', ' ')}"
        line(saved if bench.confirmed is None else f"{saved}: {listing(version.features, 12)}")

        def go_back(_: Any) -> None:
            bench.back_to(number)
            show_message("success", f"The study is as it was in version {number}; undo takes this back.", "Done")

        with ui.element("div").classes("row exports"):
            back = button("Go back to it", go_back)
            back.props["aria-label"] = f"Go back to version {number}: {version.name}"
            _draw_exports(bench, number)


def _draw_exports(bench: ExpertSession, version: int | None) -> None:
    of = _PRESENT if version is None else f"version {version}"
    with ui.element("div").classes("row exports").props("role=group") as group:
        group.props["aria-label"] = f"Export {of}"
        for kind, label in EXPORTS.items():
            if not bench.may_export(kind, version):
                continue

            async def export(_: Any, kind: str = kind, label: str = label) -> None:
                show_message("info", f"{label} of {of} is being written.", "Please wait.")
                path = await asyncio.wrap_future(bench.export(kind, version))
                ui.download.from_url(address(bench, f"download/{kind}", version=version))
                show_message("success", f"{label} of {of}: {path.name}", "Downloaded")

            shown = button(label, export).props(f"data-export={kind}")
            shown.props["aria-label"] = f"{label} of {of}"


# -- comparison --------------------------------------------------------------------------------------------------------


def _draw_comparison(bench: ExpertSession) -> None:
    with panel("Compare", "What differs, and which difference made the change: it is tried out.") as section:
        lists = ui.element("div").classes("fields")
        fields: list[Any] = []

        @live(bench, "versions")
        def options() -> None:
            section.set_visibility(bool(bench.versions))
            titles = {each.number: f"{each.number}. {each.name}" for each in bench.versions}
            first, second = [field.value for field in fields] or [None, None]
            first = next(reversed(titles), None) if first == second else first
            lists.clear()
            with lists:
                every: dict[Any, str] = {**titles, None: _PRESENT}
                fields[:] = [
                    choice(label, every, value if value in every else None)
                    for label, value in (("First", first), ("Second", second))
                ]

        async def compare(_: Any) -> None:
            if fields[0].value == fields[1].value:
                raise InputError("Select two different answers; Save keeps the present one as a version.")
            place.set_content('<p class="empty">Comparing ...</p>')
            try:
                result = await asyncio.wrap_future(bench.compare(*(field.value for field in fields)))
            except BaseException:
                place.set_content("")
                raise
            by_number = {each.number: each for each in bench.versions}
            sides = [_present(bench) if each.value is None else by_number.get(each.value) for each in fields]
            place.set_content(answers_table(sides) + comparison(result))

        button("Compare", compare, classes="main")
        place = html("").props("role=status")


def comparison(result: Comparison) -> Markup:
    """Return a comparison of two results: features with causes, then settings.

    >>> from ubayfs.results.comparison import FeatureChange, Side
    >>> side = Side(3, 0.01, 0.1)
    >>> change = FeatureChange("a", "added", side, side, ("prior",))
    >>> comparison(Comparison((change,), (), (), (1.0, 1.0), (0.0, 0.0), 0.5, ((), ()))).striptags()[:43]
    '0 features are in both sets, 1 added, 0 rem'
    """
    document = result.document()
    return Markup().join(
        [
            Markup("<p><strong>{}</strong></p>").format(text(document.headline)),
            *(notice("warning", warning) for warning in document.warnings),
            *(block(section_html(section, APP)) for section in document.sections),
        ]
    )
