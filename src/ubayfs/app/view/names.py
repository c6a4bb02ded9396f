"""A field for names of features or blocks, with completion that works among 20,000 names."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from nicegui import ui

from ..forms import completions
from .fields import Field, fill, suggestions
from .frame import button


def names_field(label: str, chosen: list[str], known: Callable[[], Collection[str]], draft: str = "") -> Field:
    """Draw a field for several names; `chosen` is filled with them.

    What is typed is completed as soon as there is a letter; Enter adds it. Each name is a button that removes it. Names
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
        for line in typed.split("\n"):
            names = [line] if line in known() else [part.strip() for part in re.split(r"[,;\t]+", line)]
            chosen.extend(name for name in dict.fromkeys(names) if name and name not in chosen)
        show()

    field = Field(label, "", "Type a part of a name, choose, press Enter. Patterns such as mean_* are allowed.", add)
    with field.control:
        chips = ui.element("div").classes("chips")
        listed = suggestions()
        box = ui.element("input").props("type=text autocomplete=off")
        aside = ui.element("input").props("type=hidden data-held").classes("aside")
    box.props["list"], aside.props["data-draft"] = listed.html_id, draft
    field.holds(box, "(e) => { const typed = window.ubayfs.put_aside(e.target, true); if (typed) emit(typed); }")
    aside.on("change", lambda event: add(str(event.args)), js_handler="(e) => emit(e.target.value)")
    box.on(
        "input", lambda event: fill(listed, completions(str(event.args), known())),
        js_handler="(e) => emit(e.target.value)", throttle=0.1, leading_events=False,
    )  # fmt: skip
    show()
    return field
