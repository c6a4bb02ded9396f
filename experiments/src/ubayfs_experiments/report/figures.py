"""The figures of experiment 1; :data:`FIGURES` lists those of all experiments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from ubayfs.plotting import Drawing

from ..analysis.aggregate import aggregate
from ..looks import in_order, look_of
from . import figures_real
from .figure_parts import categories, dodge, draw_line, panels, plain_log, share_axis
from .figures_optimizers import figure_optimizers

# Column of the value, of the ends of its error bar, and words; the ends of scores are made by _with_ends. Seconds are
# shown by quartiles, which a logarithmic axis can show whatever the spread.
_F1 = ("feature_f1_mean", "feature_f1_low", "feature_f1_high", "feature-wise F1")
_STABILITY = ("stability", "stability_low", "stability_high", "stability")
_SECONDS = ("seconds_median", "seconds_q1", "seconds_q3", "CPU seconds")
_REDUNDANCY = ("redundancy_mean", "redundancy_low", "redundancy_high", "redundancy rate")
_TOUCHED = ("n_blocks_mean", "n_blocks_low", "n_blocks_high", "blocks touched")
_PER_BLOCK = ("most_per_block_mean", "most_per_block_low", "most_per_block_high", "most per block")
_BARS = (
    "Error bars: standard deviation between splits; 95 % interval of the stability; of the CPU seconds of a whole run, "
    "on a logarithmic axis, quartiles about the median."
)
_DATA = {
    "additive": "additive data",
    "non-additive": "non-additive data",
    "blocks": "block data generated here",
    "blocks-authors": "block data of the authors",
    "redundant": "redundant data generated here",
    "redundant-authors": "redundant data of the authors",
}
_MANY_PLACES = 6  # more labels than that stand upright
Measure = tuple[str, str, str, str]


def _with_ends(table: pd.DataFrame, scores: Sequence[str]) -> pd.DataFrame:
    ends: dict[str, Any] = {}
    for score in scores:
        mean, spread = table[f"{score}_mean"], table[f"{score}_sd"].fillna(0.0)
        ends |= {f"{score}_low": mean - spread, f"{score}_high": mean + spread}
    return table.assign(**ends)


def _cells(frame: pd.DataFrame, by: Sequence[str], scores: Sequence[str]) -> pd.DataFrame:
    return _with_ends(aggregate(frame, ["data", "method", *by], scores), scores)


def _splits(frame: pd.DataFrame) -> str:
    n = frame["split"].nunique()
    return f"{n} split{'' if n == 1 else 's'}"


def figure_1a(frame: pd.DataFrame) -> Drawing:
    """Draw F1, stability, redundancy and seconds against the number of models."""
    table = _cells(frame, ["n_models"], ["feature_f1", "redundancy"])
    data = [name for name in _DATA if name in set(table["data"])]
    sizes = sorted(set(table["n_models"]))
    rows = (_F1, _STABILITY, _REDUNDANCY, _SECONDS)
    details = f"{_splits(frame)}. {_BARS} Marks of one M are moved apart a little, but for seconds."
    with panels("Number of elementary models (experiment 1a)", len(rows), len(data), 8.4, details, sharex=True,
                sharey="row") as sheet:  # fmt: skip
        for column, name in enumerate(data):
            for row, measure in enumerate(rows):
                ax = sheet.axes[row, column]
                methods = in_order(table["method"])
                for i, method in enumerate(methods):
                    part = table[(table["data"] == name) & (table["method"] == method)].sort_values("n_models")
                    apart = 1.0 if measure is _SECONDS else 1.035 ** dodge(i, len(methods), len(methods))
                    draw_line(sheet, ax, look_of(method), (part["n_models"] * apart).tolist(), part, *measure[:3])
            sheet.axes[0, column].set_title(_DATA[name], loc="left")
            sheet.axes[-1, column].set_xlabel("elementary models M")
        sheet.axes[0, 0].set_xscale("log")  # which all panels share
        sheet.axes[0, 0].set_xticks(sizes, [str(size) for size in sizes])
        for ax in sheet.axes.flat:
            ax.minorticks_off()
        _finish_rows(sheet.axes, rows)
    return sheet.drawing


def figure_draws(frame: pd.DataFrame) -> Drawing:
    """Draw F1 of every draw of the additive models, with its mean and two standard errors."""
    data = [name for name in _DATA if name in set(frame["data"])]
    methods = in_order(frame["method"])
    details = f"{_splits(frame)}, each on data of its own. Pale: a draw. Bars: 2 standard errors of the mean."
    with panels("Many draws of the data (experiment 1a)", 1, len(data), 3.2, details, sharey=True) as sheet:
        for ax, name in zip(sheet.axes[0], data, strict=True):
            for place, method in enumerate(methods):
                values = frame.loc[(frame["data"] == name) & (frame["method"] == method), "feature_f1"].to_numpy(float)
                look = replace(look_of(method), dashes="none")
                at = [place + dodge(i, len(values), 0.5) for i in range(len(values))]
                ax.plot(at, values, **{**look.line, "markersize": 2.5, "alpha": 0.35})
                part = pd.DataFrame({"mean": [values.mean()]})
                error = 2.0 * values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else 0.0
                ends = part.assign(low=part["mean"] - error, high=part["mean"] + error)
                draw_line(sheet, ax, look, [place], ends, "mean", "low", "high")
            categories(ax, [look_of(method).label for method in methods])
            ax.set_title(_DATA[name], loc="left")
            share_axis(ax)
        sheet.axes[0, 0].set_ylabel(_F1[3])
    return sheet.drawing


def _finish_rows(axes: Any, rows: Sequence[Measure]) -> None:
    # Panels of a row share their limits, which are set when all of them are drawn.
    for row, measure in enumerate(rows):
        for column, ax in enumerate(axes[row]):
            _finish(ax, measure, first=column == 0)


def _finish(ax: Any, measure: Measure, first: bool) -> None:
    if measure is _SECONDS:
        ax.set_yscale("log")
        plain_log(ax.yaxis)
        ax.grid(axis="y", color="0.9", linewidth=0.5)
    elif measure in (_REDUNDANCY, _TOUCHED, _PER_BLOCK):
        row = ax.get_shared_y_axes().get_siblings(ax)
        ax.set_ylim(bottom=min(0.0, *(one.dataLim.y0 for one in row)))  # a bar may reach below 0
        ax.grid(axis="y", color="0.9", linewidth=0.5)
    else:
        share_axis(ax)
    if first:
        ax.set_ylabel(measure[3])


def _by_setting(
    frame: pd.DataFrame, title: str, x: str, x_label: str, columns: Mapping[str, pd.Series], rows: Sequence[Measure],
    scores: Sequence[str], height: float, joined: bool = True,
) -> Drawing:  # fmt: skip
    """Draw one column of panels per group of rows of one data set, with the settings `x` as places along the axis."""
    places = list(dict.fromkeys(frame[x]))
    methods = in_order(frame["method"])
    details = f"{_splits(frame)}, {_DATA.get(frame['data'].iloc[0], frame['data'].iloc[0])}. {_BARS}"
    with panels(title, len(rows), len(columns), height, details, sharex=True, sharey="row") as sheet:
        for column, (words, wanted) in enumerate(columns.items()):
            table = _cells(frame[wanted], [x], scores)
            for row, measure in enumerate(rows):
                ax = sheet.axes[row, column]
                for i, method in enumerate(methods):
                    # Where a method was not run its line is broken.
                    part = table[table["method"] == method].set_index(x).reindex(places)
                    at = [place + dodge(i, len(methods), 0.3 if joined else 0.72) for place in range(len(places))]
                    look = look_of(method)
                    draw_line(sheet, ax, look if joined else replace(look, dashes="none"), at, part, *measure[:3])
            sheet.axes[0, column].set_title(words, loc="left")
            sheet.axes[-1, column].set_xlabel(x_label)
        categories(sheet.axes[0, 0], [_words(place) for place in places])  # which all panels share
        if len(places) > _MANY_PLACES:
            for ax in sheet.axes[-1]:
                ax.tick_params(axis="x", labelrotation=90)
        _finish_rows(sheet.axes, rows)
    return sheet.drawing


def _words(place: Any) -> str:
    if isinstance(place, float):
        return f"{place:g}"
    known = {"inf": "hard", "hyperdirichlet": "hyper-\ndirichlet"}
    narrow = str(place).replace("generalized", "gener-\nalized").replace(", ", ",\n").replace(" = ", " =\n")
    return known.get(str(place), narrow)


def figure_1b(frame: pd.DataFrame) -> Drawing:
    """Draw F1, stability, redundancy and seconds against the prior weight of blocks; the frame is of one data set."""
    frame = frame.sort_values("weight", kind="stable")
    columns = {
        "weight on the relevant blocks": frame["weighted"] == "relevant",
        "weight on the other blocks": frame["weighted"] == "other",
    }
    return _by_setting(frame, "Prior weights of blocks (experiment 1b)", "weight", "prior weight of these blocks; 0.01 "
                       "elsewhere", columns, (_F1, _STABILITY, _REDUNDANCY, _SECONDS), ["feature_f1", "redundancy"],
                       8.2)  # fmt: skip


def figure_1c(frame: pd.DataFrame) -> Drawing:
    """Draw F1, stability, redundancy, seconds and what is constrained against rho; the frame is of one data set."""
    frame = frame.assign(order=frame["rho"].astype(float)).sort_values("order", kind="stable")
    kinds = [kind for kind in ("max_per_block 2", "max_blocks 4", "max_blocks 2") if kind in set(frame["constraint"])]
    columns = {kind.replace("_", "-"): frame["constraint"] == kind for kind in kinds}
    return _by_setting(frame, "Block constraints (experiment 1c)", "rho", "rho; 0: no constraint", columns,
                       (_F1, _STABILITY, _REDUNDANCY, _SECONDS, _TOUCHED, _PER_BLOCK),
                       ["feature_f1", "redundancy", "n_blocks", "most_per_block"], 10.4)  # fmt: skip


def _place_of_prior(prior: str) -> tuple[int, float]:
    """Order the Dirichlet, its generalizations by beta, and others."""
    kind, _, beta = prior.partition(", beta = ")
    known = ("dirichlet", "generalized")
    return (known.index(kind) if kind in known else len(known), float(beta or 0.0))


def figure_1d(frame: pd.DataFrame) -> Drawing:
    """Draw F1, stability, redundancy and seconds of the kinds of prior; the frame is of one data set."""
    frame = frame.sort_values("prior", kind="stable", key=lambda priors: priors.map(_place_of_prior))
    decorrelated = frame["decorrelate"].astype(bool)
    columns = {"without decorrelation": ~decorrelated, "with decorrelation at 0.4": decorrelated}
    return _by_setting(frame, "Kinds of prior (experiment 1d)", "prior", "prior", columns,
                       (_F1, _STABILITY, _REDUNDANCY, _SECONDS), ["feature_f1", "redundancy"], 7.8,
                       joined=False)  # fmt: skip


def _of_each_data(draw: Callable[[pd.DataFrame], Drawing]) -> Callable[[pd.DataFrame], dict[str, Drawing]]:
    def draw_all(frame: pd.DataFrame) -> dict[str, Drawing]:
        known = [name for name in _DATA if name in set(frame["data"])]
        return {f"_{name}": draw(frame[frame["data"] == name].reset_index(drop=True)) for name in known}

    return draw_all


def _single(draw: Callable[[pd.DataFrame], Drawing | None]) -> Callable[[pd.DataFrame], dict[str, Drawing]]:
    def draw_one(frame: pd.DataFrame) -> dict[str, Drawing]:
        drawing = draw(frame)
        return {} if drawing is None else {"": drawing}

    return draw_one


# Name of a figure: its experiment, and the function that draws one figure or one per data set, by the end of its name.
FIGURES: dict[str, tuple[str, Callable[[pd.DataFrame], dict[str, Drawing]]]] = {
    "1a": ("1a", _single(figure_1a)),
    "1a-draws": ("1a-draws", _single(figure_draws)),
    "1b": ("1b", _of_each_data(figure_1b)),
    "1c": ("1c", _of_each_data(figure_1c)),
    "1d": ("1d", _of_each_data(figure_1d)),
    "2": ("2", _single(figures_real.figure_2)),
    "2_blocks": ("2", _single(figures_real.figure_2_blocks)),
    "2_schemes": ("2", _single(figures_real.figure_schemes)),
    "2_trade_off": ("2", _single(figures_real.figure_trade_off)),
    "2_seconds": ("2", _single(figures_real.figure_seconds)),
    "optimizers": ("optimizers", _single(figure_optimizers)),
}


def draw(experiment: str, frame: pd.DataFrame) -> dict[str, Drawing]:
    """Draw all figures of an experiment.

    Returns
    -------
    drawings : dict
        By name; empty for an empty frame.
    """
    if frame.empty:
        return {}
    return {
        name + end: drawing
        for name, (of, make) in FIGURES.items()
        if of == experiment
        for end, drawing in make(frame).items()
    }
