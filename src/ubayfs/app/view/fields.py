"""Fields with a label, help below it and a place for what is wrong with a value; keys of a study as fields."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from nicegui import ui

from ...exceptions import InputError, StudyError, UBayFSError
from .live import clear_message, html
from .parts import text

Change = Callable[[Any], Any]


class Field:
    """A labeled control; `change` is called with its new value, and an error of it is shown below the control.

    Parameters
    ----------
    label, hint : str
    change : callable of the new value, or None
    """

    def __init__(self, label: str, hint: str = "", change: Change | None = None, classes: str = "") -> None:
        self.label, self.change = label, change
        with ui.element("div").classes(f"field {classes}") as self.element:
            html(text(label), tag="div").classes("label")
            self.control = ui.element("div").classes("control")
            self.hint = html(text(hint)).classes("hint")
            self.error = html("").classes("error").props("role=alert")
        self.hint.set_visibility(bool(hint))

    def describe(self, element: ui.element) -> ui.element:
        """Tell screen readers what an element of the control is called, and where it is explained."""
        element.props["aria-label"] = self.label
        element.props["aria-describedby"] = f"{self.hint.html_id} {self.error.html_id}"
        return element

    async def changed(self, value: Any) -> None:
        """Hand a new value on; what is wrong with it is shown here."""
        clear_message()
        self.error.set_content("")
        if self.change is None:
            return
        try:
            result = self.change(value)
            if inspect.isawaitable(result):
                await result
        except UBayFSError as error:
            self.error.set_content(text(_message(error)))


def _message(error: UBayFSError) -> str:
    """Return what is wrong without the name of the key, which stands beside it."""
    if isinstance(error, StudyError) and error.problems:
        return " ".join(problem.message for problem in error.problems)
    return error.rule if isinstance(error, InputError) else str(error)


def choice(
    label: str, options: Mapping[Any, str] | Sequence[str], value: Any, change: Change | None = None, hint: str = "",
    classes: str = "",
) -> Field:  # fmt: skip
    """Draw a list to choose from: a native one, which every keyboard and screen reader knows."""
    field = Field(label, hint, change, classes)
    shown = options if isinstance(options, Mapping) else {name: name for name in options}
    keys = list(shown)
    with field.control, field.describe(ui.element("select")) as select:
        for position, key in enumerate(keys):
            html(text(shown[key]), tag="option").props(f"value={position}" + (" selected" if key == value else ""))
    select.on("change", lambda event: field.changed(keys[int(event.args)]), js_handler="(e) => emit(e.target.value)")
    return field


def entry(
    label: str, value: Any = "", change: Change | None = None, hint: str = "", *, lines: int = 1, draft: str = "",
    suggestions: Sequence[str] = (), placeholder: str = "", classes: str = "",
) -> Field:  # fmt: skip
    """Draw a field for text or a number, which is handed on when it is left or Enter is pressed.

    What is typed into a field with a `draft` (a name of its own) survives a reload; `forget_draft` ends that.
    """
    field = Field(label, hint, change, classes)
    with field.control:
        # defaultValue: Vue would set `value` back to this at each redrawing, while somebody types.
        box = field.describe(ui.element("textarea" if lines > 1 else "input"))
        box.props["defaultValue"] = "" if value is None else str(value)
        given = {"rows": lines if lines > 1 else "", "data-draft": draft, "placeholder": placeholder}
        for name in filter(given.get, given):
            box.props[name] = given[name]
        if suggestions:
            with ui.element("datalist") as listed:
                for name in suggestions:
                    ui.element("option").props["value"] = name
            box.props["list"] = listed.html_id
    box.on("change", lambda event: field.changed(event.args), js_handler="(e) => emit(e.target.value)")
    field.box = box  # type: ignore[attr-defined]
    return field


def tick(label: str, value: bool, change: Change | None = None, hint: str = "", classes: str = "") -> Field:
    """Draw a box to tick."""
    field = Field("", hint, change, f"tick {classes}")
    field.label = label
    with field.control, ui.element("label"):
        box = field.describe(ui.element("input")).props("type=checkbox" + (" checked" if value else ""))
        html(text(label), tag="span")
    box.on("change", lambda event: field.changed(bool(event.args)), js_handler="(e) => emit(e.target.checked)")
    return field


@contextmanager
def panel(title: str, lead: str = "", classes: str = "") -> Any:
    """Draw a box with a heading for what belongs together."""
    with ui.element("section").classes(f"panel {classes}") as section:
        html(text(title), tag="h2")
        if lead:
            html(text(lead), tag="p").classes("note")
        yield section


def heading(title: str, lead: str = "") -> None:
    """Draw the heading of a page."""
    html(text(title), tag="h1")
    if lead:
        html(text(lead), tag="p").classes("lead")
