"""What all figures share: colors, sizes, and text that is shown as it is.

Colors are those of Okabe and Ito, which color-blind readers can tell apart; whatever a color shows, a hatch, a marker,
a line style or a word shows too, so that a greyscale print loses nothing. Figures are as wide as a page (16 cm).
"""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np

from .._arguments import Array, Floats, Mask
from ..exceptions import MissingDependencyError

BLUE, SKY, VERMILION, ORANGE, GREEN, PURPLE, YELLOW, BLACK = (
    "#0072B2", "#56B4E9", "#D55E00", "#E69F00", "#009E73", "#CC79A7", "#F0E442", "#000000",
)  # fmt: skip
BLOCK_COLORS = (SKY, ORANGE, GREEN, PURPLE, YELLOW, BLUE, VERMILION)
GREY, LIGHT_GREY = "0.45", "0.88"

WIDTH = 6.3  # inches
ROW_HEIGHT = 0.165  # inches of a line of a list of features
SMALL = 7.0  # points
_LONGEST_NAME = 28
_MOST_CELLS = 3  # colored cells of one feature; all of its blocks are named
_LONGEST_ENTRY = 28  # characters in each of two columns of a legend
_LONGEST_LINE = 88  # characters of a title across the page

# With Chinese, Japanese and Korean letters; on Linux, Windows and macOS.
_OTHER_FONTS = ("Noto Sans CJK JP", "WenQuanYi Zen Hei", "Microsoft YaHei", "Yu Gothic", "Malgun Gothic", "PingFang SC",
                "Hiragino Sans", "Arial Unicode MS")  # fmt: skip

STYLE: dict[str, Any] = {
    "font.family": ["DejaVu Sans"],  # part of matplotlib: the same figure everywhere
    "font.size": 8.0,
    "axes.labelsize": 8.0,
    "axes.titlesize": 8.0,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "legend.fontsize": 7.5,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "axes.axisbelow": True,
    "axes.formatter.useoffset": False,
    "lines.linewidth": 1.2,
    "hatch.linewidth": 0.8,
    # A feature may be called $x_1$ or \alpha: text is text.
    "text.parse_math": False,
    "text.usetex": False,
    # Made for low resolutions; without it text takes half the time.
    "text.hinting": "none",
    # Equal figures are equal files; text in a PDF stays text.
    "svg.hashsalt": "ubayfs",
    "pdf.fonttype": 42,
}


@contextmanager
def house_style() -> Iterator[None]:
    """Draw in the style of the package, whatever the user's own settings are; they are untouched afterwards."""
    try:
        from matplotlib import style
    except ImportError as error:
        raise MissingDependencyError(
            f'figures need the package matplotlib ({error}). Run: pip install "ubayfs[plot]"'
        ) from error
    fonts = [*STYLE["font.family"], *_fonts_of_other_scripts()]
    with style.context(["default", {**STYLE, "font.family": fonts}]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")  # they are a value: see missing_letters
        yield


@lru_cache(maxsize=1)
def _fonts_of_other_scripts() -> tuple[str, ...]:
    """Return fonts of this machine for names that are not in Latin, Greek or Cyrillic letters."""
    from matplotlib.font_manager import fontManager

    installed = {font.name for font in fontManager.ttflist}
    return tuple(name for name in _OTHER_FONTS if name in installed)


def missing_letters(figure: Any) -> str:
    """Return the letters of all texts of a figure that none of the fonts of the style has, each once."""
    from matplotlib.font_manager import FontProperties, fontManager, get_font
    from matplotlib.text import Text

    used = {letter for text in figure.findobj(Text) for letter in text.get_text() if letter > "~"}
    for family in (*STYLE["font.family"], *_fonts_of_other_scripts()):
        if not used:
            break
        font = get_font(fontManager.findfont(FontProperties(family=family)))
        used = {letter for letter in used if not font.get_char_index(ord(letter))}
    return "".join(sorted(used))


def short(name: str, longest: int = _LONGEST_NAME) -> str:
    r"""Return a name on one line, with an ellipsis in its middle when it is long.

    Examples
    --------
    >>> short("expression of\tthe interferon regulatory factor 7")
    'expression of …tory factor 7'
    """
    line = " ".join("".join(c if c.isprintable() or c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in name).split())
    if len(line) <= longest:
        return line or "(no name)"
    head = longest // 2
    return f"{line[:head]}…{line[len(line) - (longest - head - 1) :]}"


def short_names(names: Sequence[str], longest: int = _LONGEST_NAME) -> list[str]:
    """Return names shortened by :func:`short`; those that would look alike are numbered."""
    lines = [short(name, longest) for name in names]
    return [f"{line} #{lines[: i + 1].count(line)}" if lines.count(line) > 1 else line for i, line in enumerate(lines)]


def wrapped(text: str, longest: int = _LONGEST_LINE) -> str:
    """Return a text broken into lines."""
    return "\n".join(textwrap.fill(line, longest) for line in text.splitlines())


def list_features(
    ax: Any, names: Sequence[str], chosen: Sequence[bool] = (), numbered: bool = False, longest: int = _LONGEST_NAME
) -> None:
    """Put the names of features along the vertical axis, the first one on top, selected ones in bold.

    They are texts, not labels of ticks: a tick is five things to be laid out and drawn.
    """
    from matplotlib.transforms import ScaledTranslation

    ax.set_ylim(max(len(names), 1) - 0.4, -0.6)
    ax.set_yticks([])
    left = ax.get_yaxis_transform() + ScaledTranslation(-4 / 72, 0, ax.figure.dpi_scale_trans)
    for row, name in enumerate(short_names(names, longest)):
        ax.text(
            0, row, f"{name}  {row + 1}" if numbered else name, size=7.5, ha="right", va="center_baseline",
            fontweight="bold" if chosen and chosen[row] else "normal", transform=left, parse_math=False, usetex=False,
            gid="feature",
        )  # fmt: skip


def draw_marks(ax: Any, x: Array, y: Array, selected: Sequence[bool] | Mask, words: str = "") -> None:
    """Draw a mark per feature, with a legend: full squares of selected ones, hollow circles of others."""
    for mark, color, face, marker, label in (
        (True, BLUE, BLUE, "s", "selected"),
        (False, GREY, "white", "o", "not selected"),
    ):
        some = np.flatnonzero(np.asarray(selected) == mark)
        if len(some):
            ax.plot(
                x[some], y[some], marker, markersize=4.2, color=color, markerfacecolor=face, linestyle="none",
                clip_on=False, zorder=3, label=f"{words}{label}", gid=label,
            )  # fmt: skip


def write_beside(ax: Any, x: float, heading: str, texts: Sequence[str], bold: Sequence[bool] = ()) -> None:
    """Write a text beside each listed feature, x points right of the axes, below an italic heading."""
    margin = right_margin(ax)
    ax.text(x, -0.8, heading, size=SMALL, va="bottom", fontstyle="italic", transform=margin)
    for row, text in enumerate(texts):
        ax.text(
            x, row, text, size=SMALL, va="center_baseline", transform=margin, gid="beside",
            fontweight="bold" if bold and bold[row] else "normal",
        )  # fmt: skip


def list_height(n_features: int) -> float:
    """Return the height in inches of axes that list features."""
    return 0.25 + ROW_HEIGHT * max(n_features, 3)


@lru_cache(maxsize=1024)
def text_width(text: str, size: float = SMALL) -> float:
    """Return the width of a text in points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    return float(text_to_path.get_text_width_height_descent(text, FontProperties(size=size), ismath=False)[0])


def right_margin(ax: Any) -> Any:
    """Return the transform of points right of the axes: x in points from the right edge, y in the units of the axes."""
    from matplotlib.transforms import Affine2D, ScaledTranslation, blended_transform_factory

    points = Affine2D().scale(1 / 72, 1) + ax.figure.dpi_scale_trans + ScaledTranslation(1, 0, ax.transAxes)
    return blended_transform_factory(points, ax.transData)


def draw_heading(ax: Any, x: float, text: str, color: str = BLACK) -> None:
    """Write a slanted heading above the first listed feature, x points right of the axes."""
    ax.text(
        x, -0.9, text, size=SMALL, rotation=60, rotation_mode="anchor", va="bottom", color=color,
        transform=right_margin(ax), parse_math=False,
    )  # fmt: skip


def divided(ax: Any, heights: Sequence[float]) -> Any:
    """Return axes below the given ones, with the same horizontal axis, in a part of their room."""
    place = ax.get_subplotspec()
    if place is None:  # axes put somewhere by hand
        return ax.inset_axes((0.0, -0.3 - heights[1] / heights[0], 1.0, heights[1] / heights[0]), sharex=ax)
    grid = place.subgridspec(2, 1, height_ratios=heights)
    ax.set_subplotspec(grid[0])
    return ax.figure.add_subplot(grid[1], sharex=ax)


def beside(ax: Any, widths: Sequence[float]) -> Any:
    """Return axes right of the given ones, in a part of their room; None where they were put somewhere by hand."""
    place = ax.get_subplotspec()
    if place is None:
        return None
    grid = place.subgridspec(1, 2, width_ratios=widths)
    ax.set_subplotspec(grid[0])
    return ax.figure.add_subplot(grid[1])


def whole_numbers(axis: Any, **limits: int) -> None:
    """Put ticks at whole numbers only."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(integer=True, **limits))


def blocks_width(names: Sequence[str]) -> float:
    """Return the width in points of the cells and names of a feature's blocks."""
    return 3.0 * min(len(names), _MOST_CELLS) + 2.0 + text_width(_listing(names)) if names else 0.0


def _listing(names: Sequence[str]) -> str:
    return short(", ".join(names), 20) if names else ""


def draw_blocks(ax: Any, blocks: Sequence[Sequence[str]], palette: Iterable[str], left: float) -> None:
    """Draw the blocks of listed features from `left` points right of the axes on: colored cells, then their names.

    Colors are given in the order of the palette, then to the other blocks.
    """
    from matplotlib.patches import Rectangle

    order = list(dict.fromkeys([*palette, *chain.from_iterable(blocks)]))
    margin = right_margin(ax)
    for row, names in enumerate(blocks):
        for i, name in enumerate(names[:_MOST_CELLS]):
            cell = Rectangle(
                (left + 3 * i, row - 0.5), 3, 1, facecolor=BLOCK_COLORS[order.index(name) % len(BLOCK_COLORS)],
                edgecolor="white", linewidth=0.4, transform=margin, clip_on=False, gid="block",
            )  # fmt: skip
            ax.add_artist(cell)
        start = left + 3 * min(len(names), _MOST_CELLS) + 2
        ax.text(start, row, _listing(names), size=SMALL, va="center", transform=margin, parse_math=False)


def legend_below(ax: Any) -> None:
    """Put the legend, if there is anything to explain, below the labels of the horizontal axis: it hides no data."""
    from matplotlib.transforms import ScaledTranslation

    words = ax.get_legend_handles_labels()[1]
    if words:
        in_pairs = len(words) > 2 and max(map(len, words)) <= _LONGEST_ENTRY
        below = ax.transAxes + ScaledTranslation(0, -30 / 72, ax.figure.dpi_scale_trans)
        # Two, or long ones, stand one below the other: side by side they may be wider than the page leaves room for.
        ax.legend(
            loc="upper left", bbox_to_anchor=(0, 0), bbox_transform=below, ncols=2 if in_pairs else 1,
            borderaxespad=0, borderpad=0.2,
        )  # fmt: skip


def spread(positions: Sequence[float], gap: float, low: float = -np.inf, high: float = np.inf) -> Floats:
    """Return positions moved apart as little as needed, so that neighbors are at least `gap` apart.

    This is least squares under order constraints: after subtracting the gaps, isotonic regression, and within
    limits its result cut at these.

    Examples
    --------
    >>> spread([1.0, 1.0, 5.0], gap=1.0)
    array([0.5, 1.5, 5. ])
    >>> spread([1.0, 1.0, 5.0], gap=1.0, low=1.0)
    array([1., 2., 5.])
    """
    from scipy.optimize import isotonic_regression

    values = np.asarray(positions, dtype=np.float64)
    if len(values) < 2:
        return values
    order = np.argsort(values, kind="stable")
    gaps = gap * np.arange(len(values))
    moved = np.empty_like(values)
    apart = isotonic_regression(values[order] - gaps).x
    moved[order] = np.clip(apart, low, max(high - gaps[-1], low)) + gaps
    return moved


def label_lines(
    ax: Any, ends: Sequence[float], words: Sequence[str], colors: Sequence[str], bold: Sequence[bool] = ()
) -> None:
    """Write words right of the axes at the heights where lines end, moved apart where they would overlap.

    Call it when the limits of the axes are set.
    """
    low, high = ax.get_ylim()
    # The layout may yet take a quarter of the height for titles and labels.
    height = 0.75 * 72 * ax.bbox.height / ax.figure.dpi
    margin = right_margin(ax)
    places = spread(ends, 1.3 * SMALL / height * (high - low), low, high)
    weights = bold or [False] * len(ends)
    for end, place, text, color, strong in zip(ends, places, words, colors, weights, strict=True):
        ax.plot([0, 10], [end, place], color=color, linewidth=0.5, transform=margin, clip_on=False)
        ax.text(
            12, place, text, color=color, size=SMALL, va="center", transform=margin, parse_math=False,
            fontweight="bold" if strong else "normal",
        )  # fmt: skip
