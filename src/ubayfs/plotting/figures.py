"""The figures of a report as files: every display is drawn once, whatever the number of formats."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..exceptions import Advice
from .base import Display

_MEDIA = {"png": "image/png", "svg": "image/svg+xml"}


@dataclass(frozen=True)
class Figures:
    """Rendered displays: the content of files by name of the display and format."""

    files: Mapping[str, Mapping[str, bytes]]
    missing_letters: str = ""  # letters that no font of this machine has

    @property
    def advice(self) -> tuple[Advice, ...]:
        """What a reader of the figures must know."""
        return (Advice("missing_letters", {"letters": self.missing_letters}),) if self.missing_letters else ()

    def data_uri(self, name: str) -> str:
        """Return the figure as a page embeds it: an image cannot run anything, and its ids clash with no others."""
        format = page_format(self.files[name])
        return f"data:{_MEDIA[format]};base64,{base64.b64encode(self.files[name][format]).decode('ascii')}"


def page_format(formats: Iterable[str]) -> str:
    """Return the format that a page embeds: PNG, unless there is SVG and no PNG."""
    return "svg" if "svg" in formats and "png" not in formats else "png"


def render_figures(
    displays: Mapping[str, Display], formats: Iterable[str] = (), earlier: Figures | None = None
) -> Figures:
    """Draw displays, each once, in the formats "png", "svg" and "pdf" that are wanted and in that of a page.

    What `earlier` figures of the same displays have in all formats is not drawn again.
    """
    wanted = tuple(dict.fromkeys([*formats, page_format(tuple(formats))]))
    known = Figures({}) if earlier is None else earlier
    files: dict[str, Mapping[str, bytes]] = {}
    letters = set(known.missing_letters)
    for name, display in displays.items():
        if set(wanted) <= set(known.files.get(name, ())):
            files[name] = {format: known.files[name][format] for format in wanted}
            continue
        drawing = display.plot()
        files[name] = {format: drawing.render(format) for format in wanted}
        letters |= set(drawing.missing_letters)
    return Figures(files, "".join(sorted(letters)))
