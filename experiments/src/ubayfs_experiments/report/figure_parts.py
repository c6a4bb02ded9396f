"""What the figures share: panels, error bars, one legend below, and small PNG files."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from ubayfs.plotting import Drawing, house_style

from ..looks import Look

_WIDTH = 6.3  # inches: a page of text
_LEGEND_SIZE = 7.5  # points
_DPI = 180
_N_COLORS = 128


def png(drawing: Drawing) -> bytes:
    """Return a figure as a PNG file with a palette, a tenth of one in full color; the same figure, the same bytes."""
    from PIL import Image

    full, small = io.BytesIO(), io.BytesIO()
    with house_style():
        drawing.figure.savefig(full, format="png", dpi=_DPI, metadata={"Software": None})
    image = Image.open(full).convert("RGB").quantize(_N_COLORS, dither=Image.Dither.NONE)
    image.save(small, format="png", optimize=True)
    return small.getvalue()


@contextmanager
def panels(title: str, n_rows: int, n_columns: int, height: float, details: str, **options: Any) -> Iterator[_Sheet]:
    """Make a figure of panels in the house style; leaving the block adds the legend and what a reader must know."""
    with house_style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(_WIDTH, height), layout="constrained")
        axes = figure.subplots(n_rows, n_columns, squeeze=False, **options)
        figure.suptitle(textwrap.fill(title, 88), x=0.01, ha="left", fontweight="bold", size=9.0)
        sheet = _Sheet(figure, axes)
        yield sheet
        sheet.add_legend(details)


class _Sheet:
    """A figure under way."""

    def __init__(self, figure: Any, axes: Any) -> None:
        self.figure, self.axes = figure, axes
        self._known: dict[str, Any] = {}

    def note(self, label: str, handle: Any) -> None:
        """Keep a line for the legend, once per label."""
        self._known.setdefault(label, handle)

    def explain(self, label: str, **look: Any) -> None:
        """Add a mark to the legend that stands for no line."""
        from matplotlib.lines import Line2D

        self.note(label, Line2D([], [], **{"linestyle": "none", "markersize": 4.0, **look}))

    def add_legend(self, details: str) -> None:
        """Put one legend for all panels below them, where it hides no data, under what a reader must know."""
        handles, labels = list(self._known.values()), list(self._known)
        dashed = any(handle.get_linestyle() not in ("none", "None") for handle in handles)
        handle_length = 3.2 if dashed else 1.0
        widest = max(_text_width(label) for label in labels) + (handle_length + 2.6) * _LEGEND_SIZE
        legend = self.figure.legend(
            handles, labels, loc="outside lower left", ncols=max(1, min(len(labels), int(72 * _WIDTH / widest))),
            handlelength=handle_length, columnspacing=1.8, title=textwrap.fill(details, 108), alignment="left",
        )  # fmt: skip
        legend.get_title().set(size=7.0, color="0.25", linespacing=1.4)

    @property
    def drawing(self) -> Drawing:
        """The figure, ready to be written."""
        return Drawing(self.figure, self.axes[0, 0])


@lru_cache(maxsize=100)
def _text_width(text: str) -> float:
    """Return the width of a label of the legend in points."""
    from matplotlib.textpath import TextPath

    return float(TextPath((0, 0), text, size=_LEGEND_SIZE).get_extents().width)


def draw_line(
    sheet: _Sheet, ax: Any, look: Look, x: Sequence[float], table: pd.DataFrame, value: str, low: str, high: str
) -> None:
    """Draw the values of a table with error bars from ``low`` to ``high``, columns of it too."""
    middle = table[value].to_numpy(dtype=float)
    bars = np.vstack([middle - table[low].to_numpy(dtype=float), table[high].to_numpy(dtype=float) - middle])
    # Bars are paler than lines: many of them cross.
    drawn = ax.errorbar(x, middle, yerr=np.nan_to_num(np.maximum(bars, 0.0)), elinewidth=0.7, capsize=1.2, capthick=0.7,
                        **look.line)  # fmt: skip
    for bar in (*drawn[1], *drawn[2]):
        bar.set_alpha(0.55)
    sheet.note(look.label, drawn[0])


def dodge(i: int, n: int, width: float) -> float:
    """Return the offset of the i-th of n marks that share a place `width` wide.

    Examples
    --------
    >>> [round(dodge(i, 3, 0.6), 2) for i in range(3)]
    [-0.2, 0.0, 0.2]
    """
    return (i - (n - 1) / 2) * width / max(n, 1)


def categories(ax: Any, labels: Sequence[str]) -> None:
    """Name the places 0, 1, 2 ... of the horizontal axis."""
    ax.set_xticks(range(len(labels)), labels)
    ax.set_xlim(-0.5, len(labels) - 0.5)


def share_axis(ax: Any) -> None:
    """Let an axis of scores begin just below 0, so that marks at 0 are whole. Call it when everything is drawn."""
    ax.set_ylim(bottom=min(ax.get_ylim()[0], -0.03))
    ax.grid(axis="y", color="0.9", linewidth=0.5)


def span(numbers: Iterable[int]) -> str:
    """Return the smallest and the largest number in words, or the one.

    Examples
    --------
    >>> span([50, 20, 50]), span([100, 100])
    ('20 to 50', '100')
    """
    found = sorted(set(numbers))
    return " to ".join(str(one) for one in dict.fromkeys((found[0], found[-1])))


def plain_log(axis: Any) -> None:
    """Label a logarithmic axis 0.01, 1, 100, since powers would need markup, which the style does not read.

    Call it when everything is drawn.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1.0,) if high > 100.0 * low else (1.0, 2.0, 5.0), numticks=6))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
