"""A field for names of features or blocks, with completion that works among 20,000 names."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Any

from markupsafe import Markup
from nicegui import ui

from ..forms import completions
from .fields import Field
from .frame import button
from .live import html
from .parts import text


def names_field(label: str, chosen: list[str], known: Callable[[], Collection[str]], changed: Callable[[], Any]) -> Field:
    """Draw a field for several names; `chosen` is filled, and `changed` called after each change.

    What is typed is completed as soon as there is a letter; Enter adds it. Each name is a button that removes it.
    """
    field = Field(label, "Type a part of a name, choose, press Enter. Patterns such as mean_* are allowed.")
    with field.control:
        chips = ui.element("div").classes("chips")
        listed = html("", tag="datalist")
        box = field.describe(ui.element("input")).props("type=text autocomplete=off")
        box.props["list"] = listed.html_id

    def show() -> None:
        chips.clear()
        with chips:
            for name in chosen:
                button(name, lambda _, name=name: remove(name)).props["aria-label"] = f"Remove {name}"

    def remove(name: str) -> None:
        chosen.remove(name)
        show()
        changed()

    def add(event: Any) -> None:
        typed = str(event.args)
        names = [typed] if typed in known() else [part.strip() for part in re.split(r"[,;\t\n]+", typed)]
        chosen.extend(name for name in dict.fromkeys(names) if name and name not in chosen)
        field.error.set_content("")
        show()
        changed()

    def complete(event: Any) -> None:
        options = (Markup('<option value="{}"></option>').format(name) for name in completions(str(event.args), known()))
        listed.set_content(Markup().join(options))

    box.on("input", complete, js_handler="(e) => emit(e.target.value)", throttle=0.1, leading_events=False)
    box.on("change", add, js_handler="(e) => { const typed = e.target.value; e.target.value = ''; if (typed.trim()) emit(typed); }")
    show()
    return field
