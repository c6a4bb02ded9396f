"""A field for names of features or blocks, with completion that works among 20,000 names."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from nicegui import ui

from ..forms import completions
from .fields import Field, fill, suggestions
from .frame import button


def names_field(label: str, chosen: list[str], known: Callable[[], Collection[str]]) -> Field:
    """Draw a field for several names; `chosen` is filled with them.

    What is typed is completed as soon as there is a letter; Enter adds it. Each name is a button that removes it.
    """

    def show() -> None:
        chips.clear()
        with chips:
            for name in chosen:
                button(name, lambda _, name=name: remove(name)).props["aria-label"] = f"Remove {name}"

    def remove(name: str) -> None:
        chosen.remove(name)
        show()

    def add(typed: str) -> None:
        names = [typed] if typed in known() else [part.strip() for part in re.split(r"[,;\t\n]+", typed)]
        chosen.extend(name for name in dict.fromkeys(names) if name and name not in chosen)
        show()

    field = Field(label, "", "Type a part of a name, choose, press Enter. Patterns such as mean_* are allowed.", add)
    with field.control:
        chips = ui.element("div").classes("chips")
        listed = suggestions()
        box = ui.element("input").props("type=text autocomplete=off")
    box.props["list"] = listed.html_id
    field.holds(box, "(e) => { const typed = e.target.value; e.target.value = ''; if (typed.trim()) emit(typed); }")
    box.on(
        "input", lambda event: fill(listed, completions(str(event.args), known())),
        js_handler="(e) => emit(e.target.value)", throttle=0.1, leading_events=False,
    )  # fmt: skip
    show()
    return field
