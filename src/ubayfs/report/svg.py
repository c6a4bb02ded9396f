"""Plots and heat maps as SVG, written from their values: nothing else is needed to draw them, and nothing is run.

All text is escaped. Colors are those of figures; a shape, a line style or a place tells the same. Each picture has a
title, which is read out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from .._plain import counted, rounded
from ..plotting.profile import COLORS, ProfileDisplay
from ..plotting.style import short, short_names
from .document import visible
from .plots import Plot, Series

_WIDTH, _LEFT, _RIGHT, _HEIGHT, _BELOW = 280.0, 44.0, 8.0, 118.0, 34.0
_LINE = 13.0  # of text
_LETTER = 5.6  # width of a letter, about
_DASHES = ("", "6 3", "2 2.5", "8 3 2 3", "1 3", "10 4", "4 4", "3 1")
# Around a place: circle (a round point), square, triangle, diamond and turned triangle.
_SHAPES = ("h0", "m-2.4-2.4h4.8v4.8h-4.8z", "m0-3l3 5.2h-6z", "m0-3.4l3.4 3.4l-3.4 3.4l-3.4-3.4z", "m0 3l3-5.2h-6z")
_GRID, _SOFT = "#d3d8de", "#4b5563"
_LEVELS = 12  # of color on each side of the mean
_FULL = 2.5  # standard deviations of the full color
_BLUE, _WHITE, _RED = (0, 114, 178), (255, 255, 255), (213, 94, 0)


def _text(value: str, longest: int = 24) -> str:
    return escape(visible(short(value, longest)))


def _label(x: float, y: float, words: str, anchor: str = "middle", extra: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{extra}>{words}</text>'


@dataclass(frozen=True)
class _Scale:
    """Places of numbers along an axis."""

    low: float
    high: float
    start: float
    end: float

    @classmethod
    def over(cls, values: Iterable[float], start: float, end: float, room: float = 0.04) -> _Scale:
        """Return the scale from the lowest to the highest of some values, with room around them."""
        finite = [value for value in values if math.isfinite(value)] or [0.0]
        low, high = min(finite), max(finite)
        # Halves: the difference of numbers of order 1e308 would leave their range.
        room = room * 2 * (high / 2 - low / 2) or abs(low) / 2 or 0.5
        return cls(max(low - room, -1.7e308), min(high + room, 1.7e308), start, end)

    def __call__(self, value: float) -> float:
        span = self.high / 2 - self.low / 2
        return self.start + (self.end - self.start) * ((value / 2 - self.low / 2) / span if span else 0.5)

    def ticks(self, n: int = 4) -> list[float]:
        """Return at most about n round numbers within the scale."""
        rough = 2 * (self.high / 2 - self.low / 2) / n
        if not math.isfinite(rough) or rough < 1e-300:
            return [self.low / 2 + self.high / 2]
        unit = 10.0 ** math.floor(math.log10(rough))
        step = next(factor * unit for factor in (1, 2, 2.5, 5, 10) if factor * unit >= rough * (1 - 1e-9))
        first = math.ceil(self.low / step - 1e-9)
        return [step * k for k in range(first, math.floor(self.high / step + 1e-9) + 1)]


def _at(x: _Scale, y: _Scale, of: Series) -> list[tuple[float, float]]:
    """Return the places of points or of a curve."""
    return [(x(a), y(b)) for a, b in zip(of.x, of.y, strict=True)]


def plot_svg(plot: Plot, target: str = "") -> str:
    """Return a plot; `target` is what the target is called.

    >>> svg = plot_svg(Plot("roc", series=(Series("", 20, (0.0, 0.5, 1.0), (0.0, 0.9, 1.0)),)))
    >>> svg.count("<polyline"), "ROC" in svg
    (2, True)
    """
    return _DRAWN[plot.kind](plot, target or "target")


def _page(title: str, height: float, parts: Iterable[str]) -> str:
    return (
        f'<svg class="plot" viewBox="0 0 {_WIDTH:.0f} {height:.0f}" role="img" font-size="10.5" fill="currentColor">'
        f"<title>{escape(visible(title))}</title>{''.join(parts)}</svg>"
    )


def _number(value: float) -> str:
    return rounded(value + 0.0).replace("-", "\N{MINUS SIGN}")


def _axes(x: _Scale, y: _Scale, x_name: str, y_name: str, numbered: bool = True) -> list[str]:
    """Return lines at round numbers, the numbers, and the names of both axes; that of y stands above it."""
    parts = [
        f'<path d="M{x.start:.0f} {y(tick):.1f}H{x.end:.0f}" stroke="{_GRID}" fill="none"/>'
        + _label(x.start - 4, y(tick) + 3.5, _number(tick), "end")
        for tick in y.ticks()
    ]
    if numbered:
        parts += [_label(x(tick), y.start + _LINE, _number(tick)) for tick in x.ticks(5)]
    soft = f' fill="{_SOFT}"'
    if y_name:
        parts.append(_label(0, y.end - 9, y_name, "start", soft))
    if x_name:
        parts.append(_label((x.start + x.end) / 2, y.start + 2 * _LINE + 1, x_name, "middle", soft))
    return parts


def _per_line(legend: Sequence[str]) -> int:
    """Return how many entries of a legend a line has, given the longest one."""
    letters = max((len(entry) for entry in legend), default=1)
    return max(min(int(_WIDTH / (_LETTER * letters + 22)), len(legend)), 1)


def _frame(legend: Sequence[str] = (), named: bool = True) -> tuple[float, float, float]:
    """Return where the vertical axis begins (below) and ends, and the height of the picture."""
    top = _LINE * math.ceil(len(legend) / _per_line(legend)) + (_LINE + 9 if named else 6)
    return top + _HEIGHT, top, top + _HEIGHT + _BELOW


def _entries(plot: Plot) -> list[str]:
    """Return what a legend says of groups: their names, and numbers of samples."""
    return [f"{short(each.name)} ({each.n:,})" for each in plot.series]


def _legend(names: Sequence[str], sign: Callable[[int, float, float], str]) -> list[str]:
    """Return signs with their names, in lines at the top."""
    per_line, parts = _per_line(names), []
    width = _WIDTH / per_line
    for place, name in enumerate(names):
        x, y = width * (place % per_line), _LINE * (1 + place // per_line) - 4
        parts += [sign(place, x + 8, y - 3), _label(x + 20, y, escape(visible(name)), "start")]
    return parts


def _color(place: int) -> str:
    return COLORS[place % len(COLORS)]


def _dash(place: int) -> str:
    return _DASHES[place % len(_DASHES)]


def _points(places: Iterable[tuple[float, float]], place: int, radius: float = 2.4, shape: int = 0) -> str:
    """Return points of one group, in its color; those of several groups also have shapes."""
    form = _SHAPES[shape % len(_SHAPES)]
    d = "".join(f"M{x:.1f} {y:.1f}{form}" for x, y in places)
    if shape % len(_SHAPES):
        return f'<path d="{d}" fill="{_color(place)}" fill-opacity=".7"/>'
    return (
        f'<path d="{d}" stroke="{_color(place)}" stroke-width="{2 * radius}" stroke-linecap="round" '
        'stroke-opacity=".6" fill="none"/>'
    )


def _spread(n: int) -> list[float]:
    """Return n numbers from -1 to 1, spread evenly by the golden ratio: the same points at every drawing."""
    return [2 * (k * 0.618034 % 1) - 1 for k in range(n)]


def _line(places: Iterable[tuple[float, float]], color: str, dash: str = "", width: float = 2.0) -> str:
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="{width}"{dashed}/>'


def _boxes(plot: Plot, target: str) -> str:
    """Return points and a box in each class, or level."""
    of_levels, (feature,) = plot.kind == "levels", plot.features
    bottom, top, height = _frame(named=of_levels)
    y = _Scale.over([v for each in plot.series for v in (*each.y, *each.box)], bottom, top)
    x = _Scale(-0.5, len(plot.series) - 0.5, _LEFT, _WIDTH - _RIGHT)
    width = (x.end - x.start) / max(len(plot.series), 1)
    parts = _axes(x, y, "", _text(target, 40) if of_levels else "", numbered=False)
    for place, each in enumerate(plot.series):
        middle, half = x(place), min(width * 0.36, 38.0)
        across = [middle + half * shift * 0.8 for shift in _spread(len(each.y))]
        parts.append(_points(zip(across, [y(value) for value in each.y], strict=True), place))
        parts += [_box(each.box, middle, half, y)] if each.box else []
        letters = max(int(width / _LETTER), 4)
        parts.append(_label(middle, bottom + _LINE, _text(each.name, letters)))
        parts.append(_label(middle, bottom + 2 * _LINE, f"n {each.n:,}", "middle", f' fill="{_SOFT}"'))
    medians = ", ".join(f"{each.name} {rounded(each.box[2])}" for each in plot.series if each.box)
    what = f"{target} by level of {feature}" if of_levels else f"{feature} by class"
    return _page(f"{what}; medians: {medians}", height, parts)


def _box(box: Sequence[float], middle: float, half: float, y: _Scale) -> str:
    low, first, median, third, high = (y(value) for value in box)
    left, right = middle - half, middle + half
    return (
        f'<path d="M{left:.1f} {first:.1f}H{right:.1f}V{third:.1f}H{left:.1f}ZM{middle:.1f} {first:.1f}V{low:.1f}'
        f'M{middle:.1f} {third:.1f}V{high:.1f}" fill="none" stroke="currentColor"/>'
        f'<path d="M{left:.1f} {median:.1f}H{right:.1f}" stroke="currentColor" stroke-width="2.5"/>'
    )


def _scatter(plot: Plot, target: str) -> str:
    """Return points with the local mean of the target, or what is predicted beside what is true."""
    points, held_out = plot.series[0], plot.kind == "predicted"
    bottom, top, height = _frame()
    every = (*points.x, *points.y) if held_out else points.y
    x = _Scale.over(every if held_out else points.x, _LEFT, _WIDTH - _RIGHT)
    y = _Scale.over(every, bottom, top)
    names = (f"true {target}", f"predicted {target}") if held_out else (plot.features[0], target)
    parts = _axes(x, y, _text(names[0], 40), _text(names[1], 40))
    parts.append(_points(_at(x, y, points), 0))
    if held_out:
        ends = (max(x.low, y.low), min(x.high, y.high))
        parts.append(_line([(x(end), y(end)) for end in ends], _SOFT, _DASHES[1], 1.2))
        title = f"Predicted against true {target} of {counted(points.n, 'held-out sample')}; dashed: equal"
        return _page(title, height, parts)
    title = f"{plot.features[0]} and {target} of {counted(points.n, 'sample')}"
    if (curve := plot.curve) is not None:
        parts.append(_line(_at(x, y, curve), _color(1), "", 2.5))
        title += f"; local mean of {target} {_along(curve)}"
    return _page(title, height, parts)


def _along(curve: Series) -> str:
    """Return a curve at its start, middle and end."""
    first, middle, last = (rounded(curve.y[k]) for k in (0, len(curve.y) // 2, -1))
    return f"{first} at low, {middle} at middle, {last} at high values"


def _share(plot: Plot, _: str) -> str:
    """Return points of two classes at top and bottom, and the share of the second class between them."""
    (feature,), curve, legend = plot.features, plot.curve, _entries(plot)
    assert curve is not None
    bottom, top, height = _frame(legend)
    x = _Scale.over([v for each in plot.series for v in each.x], _LEFT, _WIDTH - _RIGHT)
    y = _Scale(-0.12, 1.12, bottom, top)
    second = plot.series[1].name
    parts = _axes(x, y, _text(feature, 40), f"share of {_text(second)}")
    for place, each in enumerate(plot.series):
        heights = [y(place + 0.08 * shift) for shift in _spread(len(each.x))]
        parts.append(_points(zip([x(value) for value in each.x], heights, strict=True), place, shape=place))
    parts.append(_line(_at(x, y, curve), "currentColor", "", 2.5))
    parts += _legend(legend, _sign)
    return _page(f"Share of {second} along {feature}: {_along(curve)}", height, parts)


def _sign(place: int, x: float, y: float) -> str:
    return _points([(x, y)], place, shape=place)


def _survival(plot: Plot, _: str) -> str:
    """Return shares without event over time, a step curve for each group."""
    legend = _entries(plot)
    bottom, top, height = _frame(legend)
    x = _Scale(0.0, max(each.x[-1] for each in plot.series) or 1.0, _LEFT, _WIDTH - _RIGHT)
    y = _Scale(0.0, 1.0, bottom, top)
    parts = [*_axes(x, y, "time", "share without event", numbered=False), *_at_risk(plot, x, bottom)]
    height += _LINE * (len(plot.series) + 1) if plot.times else 0.0
    halves = []
    for place, each in enumerate(plot.series):
        steps = [(each.x[0], each.y[0])]
        for time, share in zip(each.x[1:], each.y[1:], strict=True):
            steps += [(time, steps[-1][1]), (time, share)]
        parts.append(_line([(x(time), y(share)) for time, share in steps], _color(place), _dash(place)))
        half = next((time for time, share in zip(each.x, each.y, strict=True) if share <= 0.5), None)
        halves.append(f"{each.name} {'not reached' if half is None else rounded(half)}")
    parts += _legend(
        legend, lambda place, at, level: _line([(at - 8, level), (at + 8, level)], _color(place), _dash(place))
    )
    of = "predicted risk, held-out samples" if plot.kind == "risk" else plot.features[0]
    cut = "" if plot.cut is None else f" (median {rounded(plot.cut)})"
    return _page(f"Survival by {of}{cut}; median times: {', '.join(halves)}", height, parts)


def _at_risk(plot: Plot, x: _Scale, bottom: float) -> list[str]:
    """Return the numbers of the axis of time, and below it those of samples at risk, a line for each curve."""
    level = bottom + 3 * _LINE + 1
    parts = [_label(x(time), bottom + _LINE, _number(time)) for time in plot.times or x.ticks(5)]
    parts += [_label(0, level, "at risk", "start", f' fill="{_SOFT}"')] * bool(plot.times)
    for place, each in enumerate(plot.series):
        row = level + _LINE * (place + 1)
        parts.append(_line([(4, row - 4), (20, row - 4)], _color(place), _DASHES[place % len(_DASHES)]))
        parts += [_label(x(time), row, f"{n:,}") for time, n in zip(plot.times, each.at_risk, strict=False)]
    return parts


def _pair(plot: Plot, target: str) -> str:
    """Return two features, samples with the shape of their class, or third of the target."""
    legend = _entries(plot)
    bottom, top, height = _frame(legend)
    x = _Scale.over([v for each in plot.series for v in each.x], _LEFT, _WIDTH - _RIGHT)
    y = _Scale.over([v for each in plot.series for v in each.y], bottom, top)
    parts = _axes(x, y, _text(plot.features[0], 40), _text(plot.features[1], 40))
    for place, each in enumerate(plot.series):
        parts.append(_points(_at(x, y, each), place, shape=place))
    parts += _legend(legend, _sign)
    return _page(f"{plot.features[0]} and {plot.features[1]} together, by {target}", height, parts)


def _roc(plot: Plot, _: str) -> str:
    (curve,) = plot.series
    bottom, top, height = _frame()
    x, y = _Scale(0.0, 1.0, _LEFT, _WIDTH - _RIGHT), _Scale(0.0, 1.0, bottom, top)
    parts = _axes(x, y, "1 - specificity", "sensitivity")
    parts.append(_line([(x(0), y(0)), (x(1), y(1))], _SOFT, _DASHES[1], 1.2))
    parts.append(_line([(x(0), y(0)), *_at(x, y, curve)], _color(0), "", 2.5))
    at = float(np.interp(0.1, curve.x, curve.y))
    title = f"ROC curve of held-out samples: sensitivity {at:.2f} at a specificity of 0.90; dashed: guessing"
    return _page(title, height, parts)


_DRAWN: dict[str, Callable[[Plot, str], str]] = {
    "classes": _boxes,
    "levels": _boxes,
    "share": _share,
    "target": _scatter,
    "predicted": _scatter,
    "halves": _survival,
    "ends": _survival,
    "risk": _survival,
    "pair": _pair,
    "roc": _roc,
}


def heat_svg(profile: ProfileDisplay) -> str:
    """Return samples x features: samples in the order of the target, features in standard deviations from their mean.

    Cells of one color are one path, in units of cells.
    """
    values = np.array(profile.values, dtype=np.float64).reshape(len(profile.features), -1)
    n_features, n_samples = values.shape
    width, left, row = 560.0, 120.0, 17.0
    levels = np.round(np.clip(np.nan_to_num(values, nan=0.0) / _FULL, -1, 1) * _LEVELS).astype(int)
    paths = []
    for level in np.unique(levels).tolist():
        cells = np.argwhere((levels == level) & ~np.isnan(values)).tolist()
        paths.append(f'<path fill="{_shade(level)}" d="{"".join(f"M{j} {i}h1v1h-1z" for i, j in cells)}"/>')
    gap = f'<rect width="{n_samples}" height="{n_features}" fill="{_GRID}"/>'
    top, body = 22.0, row * n_features
    inner = (
        f'<svg x="{left:.0f}" y="{top:.0f}" width="{width - left:.0f}" height="{body:.0f}" '
        f'viewBox="0 0 {n_samples} {n_features}" preserveAspectRatio="none" shape-rendering="crispEdges">'
        f"{gap}{''.join(paths)}</svg>"
    )
    names = short_names(profile.features, 18)
    parts = [inner] + [
        _label(left - 6, top + row * (i + 0.7), escape(visible(name)), "end") for i, name in enumerate(names)
    ]
    ends, start = np.cumsum(profile.shown).tolist(), 0
    for place, (group, end) in enumerate(zip(profile.groups, ends, strict=True)):
        a, b = (left + (width - left) * k / max(n_samples, 1) for k in (start, end))
        parts.append(f'<path d="M{a:.1f} {top - 3:.0f}H{b - 1:.1f}" stroke="{_color(place)}" stroke-width="4"/>')
        parts.append(_label((a + b) / 2, top - 8, _text(group, max(int((b - a) / 6.5), 3))))
        start = end
    parts += _color_key(left, top + body + 10)
    title = (
        f"Heat map of {counted(n_samples, 'sample')} by {counted(n_features, 'selected feature')}, samples in the "
        f"order of {', '.join(profile.groups)}; orange above the mean of a feature, blue below"
    )
    return (
        f'<svg class="plot heat" viewBox="0 0 {width:.0f} {top + body + 36:.0f}" role="img" font-size="12" '
        f'fill="currentColor"><title>{escape(visible(title))}</title>{"".join(parts)}</svg>'
    )


def _color_key(left: float, y: float) -> list[str]:
    every = range(-_LEVELS, _LEVELS + 1)
    parts = [f'<path fill="{_shade(k)}" d="M{left + 5 * (k + _LEVELS):.0f} {y:.0f}h5v8h-5z"/>' for k in every]
    parts += [_label(left + 5 * (sd / _FULL * _LEVELS + _LEVELS + 0.5), y + 20, _number(sd)) for sd in (-2, 0, 2)]
    parts.append(_label(left + 5 * (2 * _LEVELS + 1) + 8, y + 8, "standard deviations from the mean", "start"))
    return parts


def _shade(level: int) -> str:
    """Return the color of a level: blue below the mean, white, orange above."""
    share, end = abs(level) / _LEVELS, _RED if level > 0 else _BLUE
    red, green, blue = (round(w + share * (e - w)) for w, e in zip(_WHITE, end, strict=True))
    return f"#{red:02x}{green:02x}{blue:02x}"
