"""A place to drop files, or to choose them: they are sent over HTTP, straight to the disk of the server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import ui

from .live import guarded, html, show_message
from .parts import text


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
        answer = event.args
        if "error" in answer:
            show_message("error", f"{answer['name']}: {answer['error']}")
            return None
        return stored(answer["path"])

    send = f"(files, input) => window.ubayfs.upload_all(input, files, {address!r}, (answer) => emit(answer))"
    with ui.element("div").classes("drop") as zone:
        with ui.element("label"):
            html(text(label), tag="span").classes("label")
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
