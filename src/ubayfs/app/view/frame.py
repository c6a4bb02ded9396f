"""The frame of every page: header with the six screens, undo and redo, what is going on, and a place for messages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from nicegui import context, ui

from .live import PLACES, guarded, html, live
from .parts import text

if TYPE_CHECKING:
    from ..workbench import Workbench

SCREENS = {
    "data": "Data",
    "know": "What I know",
    "rules": "Rules",
    "evidence": "Evidence",
    "answer": "Answer",
    "versions": "Versions",
}
Page = Callable[["Workbench"], Awaitable[None] | None]
PAGES: dict[str, Page] = {}  # filled by the decorator below when the modules of `pages` are imported

_STATUS = {
    "no data": "No data yet",
    "reading": "Reading the data ...",
    "ready": "Up to date",
    "collecting": "Running the models ...",
    "deciding": "Finding the best set ...",
    "failed": "Something failed; see below",
}


def page(screen: str) -> Callable[[Page], Page]:
    """Make a function the page of a screen: it draws into the frame at ``/s/{study}/{screen}``."""

    def decorate(draw: Page) -> Page:
        PAGES[screen] = draw
        return draw

    return decorate


def address(bench: Workbench, screen: str) -> str:
    """Return the address of a screen, or of a file, of a study."""
    return f"/s/{quote(bench.directory.name)}/{screen}"


@lru_cache
def stylesheet() -> str:
    """Return the styles of the report, within the content of pages, and those of the app."""
    report = files("ubayfs.report").joinpath("templates/report.css").read_text(encoding="utf-8")
    colors, brace, rest = report.partition("}")
    own = files("ubayfs.app.view").joinpath("static/app.css").read_text(encoding="utf-8")
    return f"{colors}{brace}\n.report {{{rest}}}\n{own}"


@contextmanager
def outer_frame(title: str) -> Iterator[ui.element]:
    """Draw what all pages have: title, styles, a header to be filled (it is given) and the place of messages."""
    client = context.client
    ui.page_title(f"{title} - ubayfs")
    ui.add_head_html('<link rel="stylesheet" href="/_app/app.css"><script src="/_app/app.js" defer></script>')
    client.content.classes("report")
    header = ui.element("header").classes("top")
    header.move(client.layout, 0)
    with header:
        html('<a class="skip" href="#content">Skip to the content</a>')
        ui.link("ubayfs", "/").classes("brand").props('title="All studies"')
    PLACES[client] = html("").props("id=content tabindex=-1").classes("messages")
    yield header


@contextmanager
def frame(bench: Workbench, screen: str) -> Iterator[None]:
    """Draw the frame of a screen of a study."""
    with outer_frame(f"{SCREENS[screen]}: {bench.name}") as header:
        with header:
            _name(bench)
            _screens(bench, screen)
            _changes(bench)
            _status(bench)
        _problems(bench)
        yield


def _name(bench: Workbench) -> None:
    @live(bench, "state", classes="study")
    def name() -> None:
        html(text(bench.name), tag="span").props('title="The study"')


def _screens(bench: Workbench, screen: str) -> None:
    with ui.element("nav").props('aria-label="Screens of the study"').classes("screens"):
        for name, title in SCREENS.items():
            link = ui.link(title, address(bench, name))
            if name == screen:
                link.props("aria-current=page")


def _changes(bench: Workbench) -> None:
    """Draw undo and redo; the keys Ctrl+Z and Ctrl+Shift+Z press them (static/app.js)."""

    @live(bench, "state", classes="changes")
    def changes() -> None:
        for name, key, action in (("Undo", "Ctrl+Z", bench.undo), ("Redo", "Ctrl+Shift+Z", bench.redo)):
            possible, label = getattr(bench, f"can_{name.lower()}"), getattr(bench, f"{name.lower()}_label")
            button(name, guarded(lambda _, action=action: action()), enabled=possible).props(
                f'id={name.lower()} aria-keyshortcuts="{key.replace("Ctrl", "Control")}"'
            ).props["title"] = f"{name}: {label} ({key})" if possible else f"Nothing to {name.lower()}"


def _status(bench: Workbench) -> None:
    @live(bench, "status", "progress", classes="status")
    def status() -> None:
        html(status_text(bench), tag="span").props("role=status")
        progress = bench.progress
        if progress and progress.get("total"):
            meter = ui.element("progress").props(f"max={progress['total']} value={progress['done']}")
            meter.props["aria-label"] = str(progress["part"])


def status_text(bench: Workbench) -> str:
    """Return what is going on, in a few words."""
    progress = bench.progress
    if not progress or not progress.get("total"):
        return _STATUS.get(bench.status, bench.status)
    left = progress.get("seconds_left")
    done = f"{progress['part']}: {progress['done']} of {progress['total']}"
    return text(done if left is None else done + time_left(left))


def time_left(seconds: float) -> str:
    """Return what is left of a piece of work.

    >>> time_left(0.2), time_left(42), time_left(300)
    (', nearly done', ', about 42 s left', ', about 5 min left')
    """
    if seconds < 1:
        return ", nearly done"
    return f", about {seconds:.0f} s left" if seconds < 100 else f", about {seconds / 60:.0f} min left"


def _problems(bench: Workbench) -> None:
    """Show what is wrong with the study on every page: contradictions are named at once."""
    from .parts import notice

    @live(bench, "problems")
    def problems() -> None:
        for problem in bench.problems:
            html(notice("error", problem["message"], "The study cannot be decided as it is:"))


def button(label: str, action: Callable[..., Any], *, enabled: bool = True, classes: str = "") -> ui.element:
    """Draw a button that calls `action` with the event; errors of the package are shown on the page."""
    element = html(text(label), tag="button").props("type=button").classes(classes)
    if not enabled:
        element.props("disabled")
    return element.on("click", guarded(action), args=[])


def missing(message: str) -> None:
    """Draw the page of a study or screen that is not there."""
    from .parts import notice

    with outer_frame("Not found"):
        html(text("There is nothing here"), tag="h1")
        html(notice("error", message, ""))
        ui.link("All studies", "/").classes("button main")
