"""Drawings of displays, and their content as files: every display is drawn once, whatever the number of formats."""

from __future__ import annotations

import base64
import io
import os
import struct
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arguments import check_choice
from .._files import FIGURE_FORMATS, save_content
from ..exceptions import Advice, InputError, UBayFSError, repr_of
from .style import house_style, missing_letters

DPI = 300
_SCREEN_DPI, _CSS_DPI = 192, 96  # sharp on screens of twice the usual resolution, at the usual size
_MEDIA = {"png": "image/png", "svg": "image/svg+xml"}

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_UP = 2  # filter of a row of pixels: the difference to the row above, which is nothing wherever a figure is flat
_LEVEL = 3


@dataclass(frozen=True, eq=False)
class Drawing:
    """A display that has been drawn: a matplotlib figure and its main axes."""

    figure: Any
    ax: Any

    def render(self, format: str = "png", dpi: float = DPI) -> bytes:
        """Return the figure as the content of a PNG (of so many dots per inch), SVG or PDF file.

        The same figure gives the same bytes.
        """
        check_choice("format", format, FIGURE_FORMATS)
        with house_style():
            self._lay_out()
            if format == "png":
                return encode_png(self._pixels(dpi), dpi)
            buffer = io.BytesIO()
            # No date: it would make every file different.
            no_date = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}[format]
            self.figure.savefig(buffer, format=format, metadata=no_date)
        return buffer.getvalue()

    def _lay_out(self) -> None:
        """Place axes and labels, once for all formats: this takes as long as the drawing itself."""
        engine = self.figure.get_layout_engine()
        if engine is not None and self.figure.figure is self.figure:
            before, _ = self.figure.dpi, self._canvas()
            self.figure.dpi = DPI
            engine.execute(self.figure)
            self.figure.dpi = before
            self.figure.set_layout_engine("none")

    def _pixels(self, dpi: float) -> NDArray[np.uint8]:
        """Return the figure as an array of shape (height, width, 4), valid until it is drawn again."""
        page = self.figure.figure
        before, canvas = page.dpi, self._canvas()
        try:
            page.dpi = dpi
            canvas.draw()
        finally:
            page.dpi = before
        return np.asarray(canvas.buffer_rgba())

    def _canvas(self) -> Any:
        """Return what places and draws the figure: the same for both, since it knows the size of each text then."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        page = self.figure.figure
        return page.canvas if type(page.canvas) is FigureCanvasAgg else FigureCanvasAgg(page)

    def _repr_png_(self) -> tuple[bytes, dict[str, int]] | None:
        """Return the picture for a notebook; none where pyplot has the figure, which the notebook shows anyway."""
        if self.figure.figure.canvas.manager is not None:
            return None
        width, height = self.figure.figure.get_size_inches()
        return self.render(dpi=_SCREEN_DPI), {"width": round(_CSS_DPI * width), "height": round(_CSS_DPI * height)}

    @property
    def missing_letters(self) -> str:
        """Letters of the figure that no font of this machine has: they are drawn as boxes."""
        return missing_letters(self.figure)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the figure to a .png, .svg or .pdf file, whole or not at all, and return its path."""
        path = Path(path)
        format = path.suffix.lower().removeprefix(".")
        if format not in FIGURE_FORMATS:
            raise InputError.of("path", f"must end in .png, .svg or .pdf; got {repr_of(str(path))}.", path)
        if self.missing_letters:
            Advice("missing_letters", {"letters": self.missing_letters}).warn()
        save_content(path, self.render(format), UBayFSError)
        return path


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


def render_figures(displays: Mapping[str, Any], formats: Iterable[str] = (), earlier: Figures | None = None) -> Figures:
    """Draw displays, each once, in the formats "png", "svg" and "pdf" that are wanted and in that of a page.

    What `earlier` figures of the same displays have in all formats is not drawn again.
    """
    wanted = tuple(dict.fromkeys([*formats, page_format(tuple(formats))]))
    drawn = Figures({}) if earlier is None else earlier
    files: dict[str, Mapping[str, bytes]] = {}
    letters = set(drawn.missing_letters)
    for name, display in displays.items():
        if set(wanted) <= set(drawn.files.get(name, ())):
            files[name] = {format: drawn.files[name][format] for format in wanted}
            continue
        drawing = display.plot()
        files[name] = {format: drawing.render(format) for format in wanted}
        letters |= set(drawing.missing_letters)
    return Figures(files, "".join(sorted(letters)))


def encode_png(pixels: NDArray[Any], dpi: float) -> bytes:
    """Return pixels (red, green, blue, opacity), of shape (height, width, 4), as the content of a PNG file.

    In a quarter of the time that an encoder for photographs takes; PNG (third edition), sections 9.2 (filters) and 11
    (chunks).
    """
    height, width, _ = pixels.shape
    rows = pixels.reshape(height, 4 * width)
    filtered = np.empty((height, 4 * width + 1), dtype=np.uint8)
    filtered[:, 0] = _UP
    filtered[0, 1:] = rows[0]
    np.subtract(rows[1:], rows[:-1], out=filtered[1:, 1:])  # modulo 256
    per_meter = round(dpi / 0.0254)
    return _SIGNATURE + b"".join(
        [
            _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)),  # four times 8 bits
            _chunk(b"pHYs", struct.pack(">IIB", per_meter, per_meter, 1)),
            _chunk(b"IDAT", zlib.compress(filtered.data, _LEVEL)),
            _chunk(b"IEND", b""),
        ]
    )


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
