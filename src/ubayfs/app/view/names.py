"""Boxes for names: completed while typing. They take patterns and lists, and name the nearest of unknown names."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from difflib import get_close_matches
from typing import Any

from nicegui import ui

from ..._plain import listing
from ...exceptions import InputError
from ...knowledge.patterns import Names
from ..forms import completions
from .fields import Field, fill, suggestions
from .frame import button

_MOST_OFFERED = 20  # names, before anything is typed
_MOST_HINTS = 3  # unknown names for which near ones are looked for: that takes a fifth of a second of 20,000


def names_field(label: str, chosen: list[str], names_of: Callable[[], Names], draft: str = "") -> Field:
    """Draw a field for several names; `chosen` is filled with them.

    What is typed is completed as soon as there is a letter; Enter adds it, unless it is unknown: then the field says
    which names are near. Each name is a button that removes it. Names
    of a field with a `draft`, a name of its own, survive a reload, and a form that is drawn again.
    """

    def show() -> None:
        chips.clear()
        with chips:
            for name in chosen:
                chip = button(name, lambda _, name=name: remove(name))
                chip.props["aria-label"] = f"Remove {name}"
                chip.on("click", js_handler="(e) => window.ubayfs.put_aside(e.target, false)")

    def remove(name: str) -> None:
        chosen.remove(name)
        show()

    def add(typed: str) -> None:
        names, wanted = names_of(), typed_names(typed, names_of())
        problems = unknown_names(names, wanted)
        chosen.extend(name for name in dict.fromkeys(wanted) if name not in problems and name not in chosen)
        show()
        if problems:
            put_back = json.dumps([box.html_id, ", ".join(problems)])
            ui.run_javascript(f"window.ubayfs.put_back(...{put_back})")
            raise InputError(" ".join(problems.values()), argument=label)

    def restore(event: Any) -> None:
        with suppress(InputError):  # names of other data
            add(str(event.args))

    field = Field(label, "", "Type a part of a name and press Enter, or paste a list. Patterns: mean_*.", add)
    with field.control:
        chips = ui.element("div").classes("chips")
        box = ui.element("input").props("type=text")
        aside = ui.element("input").props("type=hidden data-held").classes("aside")
        suggest(box, lambda: names_of().names)
    aside.props["data-draft"] = draft
    field.holds(box, "(e) => { const typed = window.ubayfs.put_aside(e.target, true); if (typed) emit(typed); }")
    aside.on("change", restore, js_handler="(e) => emit(e.target.value)")
    show()
    return field


def typed_names(typed: str, names: Names) -> list[str]:
    r"""Return the names in a text: by line, comma, semicolon or tab, and by blanks where these separate names.

    >>> typed_names("mean area, raduis\nage sex", Names(["mean area", "age"]))
    ['mean area', 'raduis', 'age', 'sex']
    """
    listed: list[str] = []
    for line_typed in typed.split("\n"):
        for part in [line_typed] if line_typed in names.names else re.split(r"[,;\t]+", line_typed):
            words = [] if part.strip() in names else part.split()
            listed += words if any(word in names for word in words) else [part.strip()]
    return list(filter(None, listed))


def unknown_names(names: Names, wanted: Iterable[str]) -> dict[str, str]:
    """Return what is wrong with each name that is unknown, or pattern that matches nothing: the nearest names.

    >>> unknown_names(Names(["radius", "area"]), ["a*", "raduis"])
    {'raduis': "'raduis' is not a feature. The nearest names are radius."}
    """
    problems = dict[str, str]()
    for name in wanted:
        try:
            names.find(name)
        except InputError as error:
            near = get_close_matches(name, names.names, 3) if len(problems) < _MOST_HINTS else []
            nearest = f"{name!r} is not a {names.kind}. The nearest names are {listing(near)}."
            problems[name] = nearest if near else error.rule
    return problems


def suggest(box: ui.element, names: Callable[[], Sequence[str]]) -> None:
    """Complete what is typed into a box, or after its last comma; an empty one offers the first names."""

    def typed(event: Any) -> None:
        now, every = str(event.args), names()
        begun, comma, last = now.rpartition(",")
        whole = completions(now, every) if now.strip() else every[:_MOST_OFFERED]
        fill(listed, whole or [f"{begun}{comma} {name}" for name in completions(last, every) if comma])

    listed = suggestions()
    box.props["list"], box.props["autocomplete"] = listed.html_id, "off"
    for event in ("focus", "input"):
        box.on(event, typed, js_handler="(e) => emit(e.target.value)", throttle=0.1, leading_events=event == "focus")
