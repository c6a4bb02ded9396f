"""The frame of every page: header with the six screens, undo and redo, what is going on, and a place for messages."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib.resources import files
from typing import Any
from urllib.parse import quote, urlencode

from markupsafe import Markup
from nicegui import context, ui

from ..sessions import ExpertSession
from .live import PLACES, guarded, html, live, refreshed
from .parts import duration, notice, text

SCREENS = {
    "data": "Data",
    "know": "What I know",
    "rules": "Rules",
    "evidence": "Evidence",
    "answer": "Answer",
    "versions": "Versions",
}
# What the tour says on each screen of the part that is framed there (of the class tour-target).
TOUR = {
    "data": "Files come in on the left. The target and the features are guessed; here you correct what is wrong.",
    "know": "Here you state which features you expect to matter, in words or votes, before you see what the data say.",
    "rules": "Here you say what a practical set looks like: at most ten features, never these two together, ...",
    "evidence": "Run these models: each selects features on a part of the samples, and every selection is a vote.",
    "answer": "The best set, with a reason for each feature. Change a word under You say: the set follows at once.",
    "versions": "Name an answer here, then compare it with another one, or export it.",
}

_MOST_PROBLEMS = 8  # that are listed
_STATUS = {
    "no data": "No data yet",
    "waiting": "Waiting for a free process ...",
    "reading": "Reading the data ...",
    "ready": "Up to date",
    "explaining": "Finding the reasons ...",
    "wrong": "Something is wrong: see the top of the page",
    "collecting": "Running the models ...",
    "deciding": "Finding the best set ...",
    "failed": "Something failed; see below",
}


def address(bench: ExpertSession, screen: str, **more: Any) -> str:
    """Return the address of a screen, or of a file, of a study; who looks at it stays the same."""
    parameters = {"expert": bench.expert if screen != "upload" else "", **more}
    query = urlencode({name: value for name, value in parameters.items() if value not in ("", None)})
    return f"/s/{quote(bench.directory.name)}/{screen}{'?' if query else ''}{query}"


@lru_cache
def stylesheet() -> str:
    """Return the styles of the report, within the content of pages, and those of the app."""
    report = files("ubayfs.report").joinpath("templates/report.css").read_text(encoding="utf-8")
    colors, brace, rest = report.partition("}")
    app_styles = files("ubayfs.app.view").joinpath("static/app.css").read_text(encoding="utf-8")
    return f"{colors}{brace}\n.report {{{rest}}}\n{app_styles}"


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
        ui.link("Skip to the content", "#content").classes("skip")
        ui.link("ubayfs", "/").classes("brand").props('title="All studies"')
    PLACES[client] = html("").props("id=content tabindex=-1").classes("messages")
    yield header


@contextmanager
def frame(bench: ExpertSession, screen: str) -> Iterator[None]:
    """Draw the frame of a screen of a study."""
    with outer_frame(f"{SCREENS[screen]}: {bench.state.name}") as header:
        with header:
            _name(bench)
            _screens(bench, screen)
            _changes(bench)
            _status(bench)
        _tour(bench, screen)
        _problems(bench)
        yield
        if (following := _next(screen)) is not None:
            with ui.element("div").classes("next"):
                ui.link(f"Next: {SCREENS[following]}", address(bench, following)).classes("button")


def _next(screen: str) -> str | None:
    order = list(SCREENS)
    return order[order.index(screen) + 1] if screen != order[-1] else None


def _tour(bench: ExpertSession, screen: str) -> None:
    """Draw the step of the tour, which is hidden unless the browser is on it in this study (static/app.js)."""
    step, following = list(SCREENS).index(screen) + 1, _next(screen)
    with ui.element("aside").classes("panel tour").props('hidden aria-label="Tour"'):
        html(text(f"Step {step} of {len(SCREENS)}: {SCREENS[screen]}"), tag="h2")
        html(text(TOUR[screen]), tag="p")
        with ui.element("div").classes("row"):
            if following is not None:
                ui.link(f"Next: {SCREENS[following]}", address(bench, following)).classes("button main")
            leave = ui.link("End the tour", "/").classes("button" if following else "button main")
            leave.on("click", js_handler="() => window.ubayfs.tour('')")


def _name(bench: ExpertSession) -> None:
    @live(bench, "state", classes="study")
    def name() -> None:
        html(text(bench.state.name), tag="span").props('title="The study"')
        if bench.expert:
            html(text(f" as {bench.expert}"), tag="span").props('title="Who states words in this window"')


def _screens(bench: ExpertSession, screen: str) -> None:
    with ui.element("nav").props('aria-label="Screens of the study"').classes("screens"):
        for name, title in SCREENS.items():
            link = ui.link(title, address(bench, name))
            if name == screen:
                link.props("aria-current=page")


def _changes(bench: ExpertSession) -> None:
    """Draw undo and redo; the keys Ctrl+Z and Ctrl+Shift+Z press them (static/app.js)."""
    actions = {"undo": ("Ctrl+Z", bench.undo), "redo": ("Ctrl+Shift+Z", bench.redo)}
    buttons = {}
    with ui.element("div").classes("changes"):
        for name, (keys, action) in actions.items():
            buttons[name] = button(name.capitalize(), lambda _, action=action: action())
            buttons[name].props(f'id={name} aria-keyshortcuts="{keys.replace("Ctrl", "Control")}"')

    @refreshed(bench, "state")
    def refresh() -> None:
        for name, element in buttons.items():
            label = getattr(bench, f"{name}_label")
            element.props["disabled"] = not label
            element.props["title"] = f"{name.capitalize()}: {label} ({actions[name][0]})" if label else ""
            element.update()


def _status(bench: ExpertSession) -> None:
    @live(bench, "status", "progress", "problems", "answer", classes="status")
    def status() -> None:
        html(status_text(bench), tag="span").props("role=status")
        progress = bench.progress
        if progress is not None and progress.total:
            meter = ui.element("progress").props(f"max={progress.total} value={progress.done}")
            meter.props["aria-label"] = progress.part


def status_text(bench: ExpertSession) -> Markup:
    """Return what is going on, in a few words."""
    progress = bench.progress
    if progress is None or not progress.total:
        return text(_STATUS.get(_activity(bench), bench.status))
    part, left = progress.part, progress.seconds_left
    done = f"{part[:1].upper()}{part[1:]}: {progress.done:,} of {progress.total:,}"
    return text(done if left is None else done + time_left(left))


def _activity(bench: ExpertSession) -> str:
    """Return what is going on; what is ready may be wrong, or still be explained."""
    if bench.status != "ready":
        return bench.status
    if not all(problem.passing for problem in bench.problems):
        return "wrong"
    answer = bench.answer
    return "ready" if answer.set is None or answer.is_explained else "explaining"


def time_left(seconds: float) -> str:
    """Return what is left of a piece of work.

    >>> time_left(0.2), time_left(42), time_left(300)
    (', nearly done', ', about 42 s left', ', about 5 min left')
    """
    return ", nearly done" if seconds < 1 else f", {duration(seconds)} left"


def as_sent(bench: ExpertSession, message: str) -> str:
    """Return a message with files by the names under which they were sent, not by where the server keeps them."""
    return message.replace(f"{bench.directory / 'uploads'}{os.sep}", "")


def _problems(bench: ExpertSession) -> None:
    """Show what is wrong with the study on every page: contradictions are named at once."""

    @live(bench, "problems")
    def problems() -> None:
        all_problems = bench.problems
        errors = [as_sent(bench, problem.message) for problem in all_problems if not problem.passing]
        for message in [as_sent(bench, problem.message) for problem in all_problems if problem.passing]:
            if message not in errors:
                html(notice("warning", message))
        more = [f"and {len(errors) - _MOST_PROBLEMS} more"] if len(errors) > _MOST_PROBLEMS else []
        lines = Markup().join(map(Markup("<li>{}</li>").format, map(text, errors[:_MOST_PROBLEMS] + more)))
        if errors:
            content = Markup("<ul>{}</ul>").format(lines) if len(errors) > 1 else text(errors[0])
            html(notice("error", content, "This study has a problem:"))


def button(label: str, action: Callable[..., Any], *, classes: str = "") -> ui.element:
    """Draw a button that calls `action` with the event; errors of the package are shown on the page.

    What takes a while is not begun a second time meanwhile, as by a double click.
    """
    running, act = False, guarded(action)

    async def once(event: Any) -> None:
        nonlocal running
        if not running:
            running = True
            try:
                await act(event)
            finally:
                running = False

    return html(text(label), tag="button").props("type=button").classes(classes).on("click", once, args=[])


def missing(message: str) -> None:
    """Draw the page of a study or screen that is not there."""
    with outer_frame("Not found"):
        html(text("There is nothing here"), tag="h1")
        html(notice("error", message, ""))
        ui.link("All studies", "/").classes("button main")
