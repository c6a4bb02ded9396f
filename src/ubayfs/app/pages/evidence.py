"""Evidence: which models vote, how long that takes, and the votes while models run."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import MISSING, fields
from typing import Any

import numpy as np
from markupsafe import Markup
from nicegui import ui

from ...exceptions import UBayFSError
from ...report.document import Cell
from ...selectors import DEFAULT_SELECTOR
from ...study.components import FAMILIES, Named
from ...study.diagnostics import Problems
from ...study.yaml_io import parse_document
from ..sessions import ExpertSession
from ..study_facts import Estimate
from ..view.fields import Field, entry, heading, panel, tick
from ..view.frame import address, button, status_text
from ..view.live import follow, html, later, refreshed
from ..view.parts import duration, notice, paragraph, table, text, votes_bar
from ..view.sections import key_field

_KEYS = ("n_models", "seed")
_FURTHER_KEYS = ("n_features_per_model", "train_size", "n_jobs")
_SHOWN = 25  # features with the most votes
Settings = dict[str, Any]  # of a selector, by name


def draw_evidence(bench: ExpertSession) -> None:
    """Draw the screen."""
    heading(
        "What do the data say?",
        "Many models select features, each on a random part of the samples; every selection is a vote.",
    )
    with ui.element("div").classes("columns"):
        with ui.element("div"):
            _draw_run(bench)
            _draw_votes(bench)
        with ui.element("div"):
            _draw_selectors(bench)
            with panel("Ensemble"):
                for key in _KEYS:
                    key_field(bench, "evidence", key)
                with _folded("More settings"):
                    for key in _FURTHER_KEYS:
                        key_field(bench, "evidence", key)
                    key_field(bench, "decision", "min_votes")
                    key_field(bench, "decision", "differ_by")


# -- running -----------------------------------------------------------------------------------------------------------


def _draw_run(bench: ExpertSession) -> None:
    with panel("Run the models", classes="tour-target"):
        state = html("", tag="p").props("role=status")
        meter = ui.element("progress").classes("wide-meter").props('aria-label="Finished runs"')
        estimate = html("", tag="p").classes("note")
        with ui.element("div").classes("row"):
            start = button("Run", lambda _: bench.collect(), classes="main")
            stop = button("Stop", lambda _: bench.stop())

    @refreshed(bench, "status", "progress", "votes", "facts", "state")
    def refresh() -> None:
        progress, running = bench.progress, bench.status == "collecting"
        what_is_done, what_is_left = _runs(bench)
        state.set_content(text(what_is_done))
        meter.set_visibility(running)
        if progress is not None and progress.total:
            meter.props["value"], meter.props["max"] = progress.done, progress.total
            meter.update()
        start.set_content(text(what_is_left))
        can_run = bench.facts is not None and bench.status not in ("collecting", "reading")
        is_complete = bench.evidence.is_complete
        can_run &= not is_complete
        for element, possible, shown in ((start, can_run, not is_complete), (stop, running, running)):
            element.props["disabled"] = not possible
            element.set_visibility(shown)
            element.update()

    async def ask() -> None:
        words = ""
        with suppress(UBayFSError):
            left: Estimate = await asyncio.wrap_future(bench.request("estimate"))
            words = f"{left.n_left:,} runs take {duration(left.seconds)} on this machine." if left.n_left else ""
        estimate.set_content(text(words))

    @refreshed(bench, "facts", "state", "votes")
    def asked() -> None:
        estimate.set_visibility(bench.status != "collecting" and not bench.evidence.is_complete)
        if bench.facts is not None and estimate.visible:
            later(ask)


def _runs(bench: ExpertSession) -> tuple[str, str]:
    """Return what is done, or done now, and what is left to do."""
    evidence, wanted = bench.evidence, bench.state.study.evidence.n_models
    done = evidence.n_stored
    if evidence.is_complete:
        is_done, left = f"All {wanted} models have voted.", "All runs are done"
    elif done:
        is_done = f"{done} of {wanted} runs are done and stored; the others are missing."
        left = f"Resume: {wanted - done} runs are missing"
    else:
        is_done, left = "No model has voted yet on these data and settings.", f"Run {wanted} models"
    if bench.status == "collecting":
        is_done = status_text(bench)
    elif bench.facts is None:
        is_done = "The data are not read yet." if bench.status == "reading" else "There are no data yet."
    return is_done, left


# -- votes -------------------------------------------------------------------------------------------------------------


def _draw_votes(bench: ExpertSession) -> None:
    with panel("Votes"):
        with ui.element("div") as hidden:
            _draw_hidden(bench)
        follow(bench, lambda: Markup() if bench.confirmed is None else _most(bench), "votes", "state", "facts")

    @refreshed(bench, "state")
    def refresh() -> None:
        hidden.set_visibility(bench.confirmed is None)


def _draw_hidden(bench: ExpertSession) -> None:
    message = (
        "Votes stay hidden until you have stated what you know. What you state after seeing votes is not independent "
        "of them, so the data would count twice."
    )
    html(notice("info", message, "Hidden."))
    with ui.element("div").classes("row"):
        ui.link("State what I know", address(bench, "know")).classes("button")
        button("I have stated what I know; show the votes", lambda _: bench.confirm())


def _most(bench: ExpertSession) -> Markup:
    facts, votes = bench.facts, bench.votes
    if facts is None or votes is None or len(votes) != facts.n_features:
        return paragraph("There are no votes yet.", "empty")
    names, votes = facts.feature_names, np.asarray(votes)
    most = np.argsort(-votes, kind="stable")[:_SHOWN]
    n_models = bench.evidence.n_models
    rows = [(names[i], int(votes[i]), Cell(bar=votes_bar(int(votes[i]), most=n_models))) for i in most if votes[i] > 0]
    n_voted = int((votes > 0).sum())
    caption = f"{n_voted:,} of {len(votes):,} features have votes; the {len(rows)} with the most"
    return table(["Feature", "Votes", "Share of the models"], rows, caption, numeric=[1])


# -- selectors ---------------------------------------------------------------------------------------------------------


def chosen(selector: Any) -> dict[str, Settings]:
    """Return the selectors of a study by name, with the settings that differ from the defaults."""
    several = selector if isinstance(selector, tuple) else (selector,)
    plain = [each.plain() if isinstance(each, Named) else {"name": str(each)} for each in several]
    return {each["name"]: {key: value for key, value in each.items() if key != "name"} for each in plain}


def _draw_selectors(bench: ExpertSession) -> None:
    """Draw all selectors to tick, with their settings."""
    refreshes: list[Callable[[Mapping[str, Settings], str | None], None]] = []

    def change(name: str, settings: Settings | None) -> None:
        now = chosen(bench.state.study.evidence.selector)
        now.pop(name, None) if settings is None else now.update({name: settings})
        bench.set("evidence", selector=[{"name": each, **values} for each, values in now.items()])

    kinds = FAMILIES["selector"].types
    with panel("Selector", "Each model selects features with it. If several are ticked, they take turns."):
        refreshes.append(_draw_selector(DEFAULT_SELECTOR, kinds[DEFAULT_SELECTOR], change))
        is_default = chosen(bench.state.study.evidence.selector).keys() == {DEFAULT_SELECTOR}
        with _folded("Other selectors", is_open=not is_default):
            others = sorted(kinds.keys() - {DEFAULT_SELECTOR}, key=lambda name: kinds[name].usual_name.lower())
            refreshes += [_draw_selector(name, kinds[name], change) for name in others]

    @refreshed(bench, "state", "facts")
    def refresh() -> None:
        now, facts = chosen(bench.state.study.evidence.selector), bench.facts
        for each in refreshes:
            each(now, None if facts is None else facts.task)


@contextmanager
def _folded(title: str, is_open: bool = False) -> Iterator[None]:
    """Draw a place that is opened by its title."""
    with ui.element("details").props("open" if is_open else ""):
        html(text(title), tag="summary")
        with ui.element("div").classes("inner"):
            yield


def usual_name(kind: Any) -> str:
    """Return what a selector is called on a page.

    >>> from ubayfs.selectors.cox import Cox
    >>> usual_name(Cox)
    'Martingale correlation'
    """
    return kind.usual_name[:1].upper() + kind.usual_name[1:] or str(kind.name)


def _draw_selector(name: str, kind: Any, change: Callable[[str, Settings | None], None]) -> Callable[..., None]:
    meaning = kind.finds or (inspect.getdoc(kind) or "").partition("\n\n")[0].replace("\n", " ").replace("`", "")
    title = f"{usual_name(kind)} (recommended)" if name == DEFAULT_SELECTOR else usual_name(kind)
    box = tick(title, False, lambda on: change(name, {} if on else None), meaning)
    settings: Settings = {}
    boxes: dict[str, Field] = {}
    with ui.element("details").classes("settings") as place:
        html(text("Its settings"), tag="summary")
        with ui.element("div").classes("inner"):
            for each in [each for each in fields(kind) if each.init and each.default is not MISSING]:

                def changed(typed: str, key: str = each.name) -> None:
                    rest = {other: value for other, value in settings.items() if other != key}
                    now = {key: parse_document(typed, Problems())} if typed.strip() else {}  # as in a study file
                    change(name, rest | now)

                label, default = each.name.replace("_", " "), str(each.default)
                boxes[each.name] = entry(label, "", changed, setting_help(kind, each.name), placeholder=default)

    def refresh(now: Mapping[str, Settings], task: str | None) -> None:
        unfit = task is not None and task not in kind.tasks
        box.hint.set_content(text(f"{meaning} Not for this task: {task}." if unfit else meaning))
        box.box.props["disabled"] = name not in now and unfit
        box.box.update()
        settings.clear()
        settings.update(now.get(name, {}))
        box.show(name in now)
        place.set_visibility(name in now and bool(boxes))
        for key, field in boxes.items():
            field.show("" if key not in settings else str(settings[key]))

    return refresh


def setting_help(kind: Any, key: str) -> str:
    """Return what a setting means: its entry in the docstring of the class.

    >>> from ubayfs.selectors.lasso import Lasso
    >>> setting_help(Lasso, "min_penalty")[:20] != ""
    True
    """
    entries = "\n".join(inspect.getdoc(base) or "" for base in inspect.getmro(kind))
    entry_text = re.search(rf"^{key}\b[^\n]*\n((?:    [^\n]+\n?)+)", entries, re.MULTILINE)
    return " ".join(entry_text[1].split()).replace("`", "") if entry_text else ""
