"""What the figures of the experiments share: one look per method, panels, error bars, one legend below."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..plotting.base import Drawing
from ..plotting.style import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION, WIDTH, house_style, text_width, wrapped

_LEGEND_SIZE = 7.5  # points
FEW_MODELS = "-5"  # "hsic-5" is HSIC with 5 models


@dataclass(frozen=True)
class Look:
    """How a method is drawn: color, marker and dashes differ, so that none of them is needed alone."""

    label: str
    color: str
    marker: str
    dashes: Any
    hollow: bool = False

    @property
    def line(self) -> dict[str, Any]:
        """Options of a line with markers."""
        return {
            "color": self.color,
            "marker": self.marker,
            "markersize": 4.0,
            "markerfacecolor": "white" if self.hollow else self.color,
            "linestyle": self.dashes,
            "linewidth": 1.0,
        }


_LOOKS = {
    "mrmr": Look("mRMR", BLUE, "o", "-"),
    "fisher": Look("Fisher", VERMILION, "s", (0, (5, 1.5))),
    "tree": Look("tree", GREEN, "^", (0, (5, 1.5, 1, 1.5))),
    "rfe": Look("RFE", ORANGE, "D", (0, (2, 1))),
    "hsic": Look("HSIC", PURPLE, "v", (0, (4, 1, 1, 1, 1, 1))),
    "lasso": Look("Lasso", SKY, "P", (0, (8, 2))),
    "laplacian": Look("Laplacian", BLACK, "X", (0, (1, 1.2))),
    "ubayfs_mrmr": Look("UBayFS mRMR", BLUE, "o", "none"),
    "ubayfs_fisher": Look("UBayFS Fisher", VERMILION, "s", "none"),
    "ubayfs_tree": Look("UBayFS tree", GREEN, "^", "none"),
    "random_forest": Look("random forest", ORANGE, "D", "none"),
    "rent": Look("RENT", PURPLE, "v", "none"),
    "group_lasso": Look("sparse group lasso", BLACK, "P", "none"),
}


def look_of(method: str) -> Look:
    """Return how a method is drawn; one with few models is hollow, and unknown ones are black.

    Examples
    --------
    >>> look_of("hsic-5").label, look_of("hsic-5").hollow
    ('HSIC, M = 5', True)
    """
    if method.endswith(FEW_MODELS) and method.removesuffix(FEW_MODELS) in _LOOKS:
        full = _LOOKS[method.removesuffix(FEW_MODELS)]
        return Look(f"{full.label}, M = 5", full.color, full.marker, (0, (1, 2)), hollow=True)
    return _LOOKS.get(method, Look(method, BLACK, "*", (0, (3, 1)), hollow=True))


def in_order(methods: Iterable[str]) -> list[str]:
    """Return methods in the order of legends: the known ones, few models after many, then others."""
    place = {name: i for i, name in enumerate(_LOOKS)}
    return sorted(set(methods), key=lambda m: (place.get(m.removesuffix(FEW_MODELS), len(place)), m))


@contextmanager
def panels(title: str, n_rows: int, n_columns: int, height: float, details: str, **options: Any) -> Iterator[_Sheet]:
    """Make a figure of panels in the house style; leaving the block adds the legend and what a reader must know."""
    with house_style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        axes = figure.subplots(n_rows, n_columns, squeeze=False, **options)
        figure.suptitle(wrapped(title), x=0.01, ha="left", fontweight="bold", size=9.0)
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
        widest = max(text_width(label, _LEGEND_SIZE) for label in labels) + (handle_length + 2.6) * _LEGEND_SIZE
        legend = self.figure.legend(
            handles, labels, loc="outside lower left", ncols=max(1, min(len(labels), int(72 * WIDTH / widest))),
            handlelength=handle_length, columnspacing=1.8, title=wrapped(details, 108), alignment="left",
        )  # fmt: skip
        legend.get_title().set(size=7.0, color="0.25", linespacing=1.4)

    @property
    def drawing(self) -> Drawing:
        """The figure, ready to be written."""
        return Drawing(self.figure, self.axes[0, 0])


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


def plain_log(axis: Any) -> None:
    """Label a logarithmic axis 0.01, 1, 100, since powers would need markup, which the style does not read.

    Call it when everything is drawn.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1.0,) if high > 100.0 * low else (1.0, 2.0, 5.0), numticks=6))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
