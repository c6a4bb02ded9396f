"""Fields with a label, help below it and a place for what is wrong with a value.

Controls are native ones: every keyboard and screen reader knows them. A field stays as long as its page, so that the
focus is not lost when something else changes; `show` gives it another value.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from markupsafe import Markup
from nicegui import ui

from ...exceptions import InputError, StudyError, UBayFSError, repr_of
from ..intake import upload_name
from .live import clear_message, guarded, html, line, show_message
from .parts import choices, text

Change = Callable[[Any], Any]


class Field:
    """A labeled control.

    Parameters
    ----------
    label, hint : str
    change : callable, optional
        Called with the new value; what it raises is shown below the control.

    Attributes
    ----------
    box : element
        The control.
    value : object
        What it shows.
    """

    kind: type = str  # of what the browser sends
    reverts = False  # whether a value that is refused gives way to the one before; what was typed stays

    def __init__(self, label: str, value: Any, hint: str = "", change: Change | None = None, classes: str = "") -> None:
        self.label, self.value, self.change = label, value, change
        with ui.element("div").classes(f"field {classes}") as self.element:
            html(text(label), tag="div").classes("label")
            self.control = ui.element("div").classes("control")
            if hint:
                self.hint = html(text(hint)).classes("hint")
            self.error = html("").classes("error").props("role=alert")

    def holds(self, box: ui.element, script: str = "(e) => emit(e.target.value)") -> None:
        """Make an element the control: named and explained to screen readers, and followed."""
        self.box = box
        box.props["aria-label"] = self.label
        hint = f"{self.hint.html_id} " if hasattr(self, "hint") else ""
        box.props["aria-describedby"] = f"{hint}{self.error.html_id}"
        box.on("change", guarded(lambda event: self.changed(self.read(event.args))), js_handler=script)

    def read(self, sent: Any) -> Any:
        """Return the value that the browser means, or raise InputError."""
        if not isinstance(sent, self.kind):
            raise InputError.of(self.label, f"must be a {self.kind.__name__}; got {repr_of(sent)}.", sent)
        return sent

    def written(self, value: Any) -> Any:
        """Return a value as the browser takes it."""
        return value if isinstance(value, bool) else "" if value is None else str(value)

    def show(self, value: Any) -> None:
        """Show another value; what a person is typing there, or has sent meanwhile, stays."""
        before, self.value = self.written(self.value), value
        if self.written(value) != before:
            arguments = json.dumps([self.box.html_id, self.written(value), before])
            ui.run_javascript(f"window.ubayfs.show(...{arguments})")

    def clear(self, done: Any) -> None:
        """Empty the control after its value `done` was dealt with, unless it has another one by now."""
        if self.value == done:
            self.show("")

    async def changed(self, value: Any) -> None:
        """Hand a new value on; what is wrong with it is shown here."""
        clear_message()
        self.error.set_content("")
        before, self.value = self.value, value
        try:
            result = None if self.change is None else self.change(value)
            if inspect.isawaitable(result):
                await result
        except (UBayFSError, OSError) as error:
            clear_message()  # that something is being done
            self.error.set_content(text(_message(error)))
            if self.reverts:
                self.show(before)


def _message(error: Exception) -> str:
    """Return what is wrong without the name of the key, which stands beside it."""
    if isinstance(error, StudyError) and error.problems:
        return " ".join(problem.message for problem in error.problems)
    return error.rule if isinstance(error, InputError) else str(error)


class Choice(Field):
    """A list to choose from; `options` maps values to what is shown."""

    options: Mapping[Any, str]
    reverts = True

    def read(self, sent: Any) -> Any:
        """Return the value at a position."""
        if sent not in [str(position) for position in range(len(self.options))]:
            raise InputError.of(self.label, f"must be one of the choices; got {repr_of(sent)}.", sent)
        return list(self.options)[int(sent)]

    def written(self, value: Any) -> Any:
        """Return the position of a value."""
        values = list(self.options)
        return str(values.index(value)) if value in values else ""


def choice(
    label: str, options: Mapping[Any, str] | Sequence[str], value: Any, change: Change | None = None, hint: str = ""
) -> Choice:
    """Draw a list to choose from."""
    field = Choice(label, value, hint, change)
    field.options = options if isinstance(options, Mapping) else {name: name for name in options}
    shown = {str(position): label for position, label in enumerate(field.options.values())}
    with field.control:
        select = html(choices(shown, field.written(value)), tag="select")
    field.holds(select)
    return field


def entry(
    label: str, value: Any = "", change: Change | None = None, hint: str = "", *, lines: int = 1, draft: str = "",
    held: bool = False, listed: str = "", placeholder: str = "", classes: str = "",
) -> Field:  # fmt: skip
    """Draw a field for text or a number, which is handed on when it is left or Enter is pressed.

    What is typed into a field with a `draft`, a name of its own, survives a reload, until it is handed on; if it is
    `held` for a button, until that is pressed. `listed` is the id of suggestions.
    """
    field = Field(label, value, hint, change, classes)
    with field.control:
        box = ui.element("textarea" if lines > 1 else "input")
    # Vue would set `value`, and `checked`, back to what it was at each redrawing, while somebody types.
    properties = {
        "defaultValue": field.written(value), "rows": lines if lines > 1 else "", "data-draft": draft, "list": listed,
        "placeholder": placeholder, "data-held": bool(draft) and (held or change is None),
    }  # fmt: skip
    for name in filter(properties.get, properties):
        box.props[name] = properties[name]
    field.holds(box)
    return field


def tick(label: str, value: bool, change: Change | None = None, hint: str = "") -> Field:
    """Draw a box to tick."""
    field = Field("", value, hint, change, "tick")
    field.label, field.reverts, field.kind = label, True, bool
    with field.control, ui.element("label"):
        box = ui.element("input").props("type=checkbox")
        box.props["defaultChecked"] = value
        html(text(label), tag="span")
    field.holds(box, "(e) => emit(e.target.checked)")
    return field


def drop_zone(label: str, address: str, stored: Callable[[str], Any], accept: str = "") -> ui.element:
    """Draw a place for files; `stored` is called with the path of each that has arrived, in the folder of the study.

    Parameters
    ----------
    label : str
    address : str
        Where the files are sent: ``address(bench, "upload")``.
    stored : callable of a path
    accept : str
        Suffixes, as of an input of HTML.
    """

    def arrived(event: Any) -> Any:
        answer = event.args if isinstance(event.args, dict) else {}
        if "error" in answer:
            show_message("error", f"{answer.get('name')}: {answer['error']}")
            return None
        path = str(answer.get("path"))
        if path != f"uploads/{upload_name(path)}":  # no page names another place
            raise InputError.of("path", f"must be that of a file that was sent; got {repr_of(path)}.", path)
        return stored(path)

    send = f"(files, input) => window.ubayfs.upload_all(input, files, {address!r}, (answer) => emit(answer))"
    with ui.element("div").classes("drop") as zone:
        with ui.element("label"):
            html(text(label), tag="span").classes("label")
            html(text("Choose files"), tag="span").classes("button")
            chooser = ui.element("input").props("type=file multiple").props(f'accept="{accept}"' if accept else "")
        ui.element("progress").props("hidden max=1 value=0").props["aria-label"] = "Sending the file"
    handler = guarded(arrived)
    chooser.on("change", handler, js_handler=f"(e) => ({send})([...e.target.files], e.target)")
    over = "(e) => { e.preventDefault(); e.currentTarget.classList.toggle('over', e.type === 'dragover'); }"
    zone.on("dragover", js_handler=over).on("dragleave", js_handler=over)
    zone.on(
        "drop", handler,
        js_handler="(e) => { e.preventDefault(); e.currentTarget.classList.remove('over');"
        f" ({send})([...e.dataTransfer.files], e.currentTarget.querySelector('input')); }}",
    )  # fmt: skip
    return zone


def suggestions(names: Iterable[str] = ()) -> ui.html:
    """Draw a list of suggestions for fields; its ``html_id`` is what they take."""
    listed = html("", tag="datalist")
    fill(listed, names)
    return listed


def fill(listed: ui.html, names: Iterable[str]) -> None:
    """Replace the suggestions of a list."""
    listed.set_content(Markup().join(map(Markup('<option value="{}">').format, names)))


@contextmanager
def panel(title: str, lead: str = "", classes: str = "") -> Iterator[ui.element]:
    """Draw a box with a heading for what belongs together."""
    with ui.element("section").classes(f"panel {classes}") as section:
        html(text(title), tag="h2")
        if lead:
            line(lead)
        yield section


def heading(title: str, lead: str = "") -> None:
    """Draw the heading of a page."""
    html(text(title), tag="h1")
    if lead:
        line(lead, "lead")
