"""The figures of experiment 2 and of the optimizers."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from ubayfs.plotting import Drawing

from ..analysis.aggregate import aggregate, with_f1
from ..analysis.differences import LIMIT, MEASURES, beside, compare_seconds
from ..analysis.paper import DATA
from ..looks import BLACK, BLUE, GREEN, GREY, PURPLE, VERMILION, Look, in_order, look_of
from .figure_parts import categories, dodge, draw_line, panels, plain_log

_WORDS = {"f1_logistic": "F1, logistic regression", "f1_svm": "F1, support vector machine", "stability": "stability"}
_PROBLEMS = {"plain": ("o", BLUE), "blocks": ("s", VERMILION), "decorrelated": ("^", GREEN), "linked": ("D", PURPLE)}
_PAPER = {"marker": "_", "markersize": 7.5, "markeredgewidth": 1.4, "color": BLACK}
_SCHEMES = {
    "random": Look("random splits", BLUE, "o", "none"),
    "groups": Look("splits by animal or subject", VERMILION, "s", "none"),
}


def data_in_order(names: Any) -> list[str]:
    """Return data sets in the order of the paper's tables, each followed by others of its name."""
    place = {name: i for i, name in enumerate(DATA)}
    return sorted(set(names), key=lambda name: (place.get(name, place.get(name.split("_")[0], len(place))), name))


def figure_2(frame: pd.DataFrame) -> Drawing | None:
    """Draw F1 and stability of standard selection beside the paper's."""
    return _scenario(frame, "standard", "Standard feature selection (experiment 2)")


def figure_2_blocks(frame: pd.DataFrame) -> Drawing | None:
    """Draw F1 and stability of block selection beside the paper's."""
    return _scenario(frame, "block", "Block feature selection (experiment 2)")


def _scenario(frame: pd.DataFrame, scenario: str, title: str) -> Drawing | None:
    table = beside(frame)
    table = table[table["scenario"] == scenario]
    if table.empty:
        return None
    table = table.assign(low=table["ours"] - LIMIT * table["se"], high=table["ours"] + LIMIT * table["se"])
    data, methods = data_in_order(table["data"]), in_order(table["method"])
    details = (
        f"Mean over {int(table['n'].max())} splits. Bars: {LIMIT:g} standard errors of the difference to the paper's "
        "mean of 10 splits; a mark of the paper outside the bar differs. The vertical axes need not begin at 0."
    )
    with panels(title, len(MEASURES), 1, 7.4, details, sharex=True) as sheet:
        for ax, measure in zip(sheet.axes[:, 0], MEASURES, strict=True):
            for i, method in enumerate(methods):
                part = table[(table["measure"] == measure) & (table["method"] == method)]
                at = [data.index(name) + dodge(i, len(methods), 0.8) for name in part["data"]]
                draw_line(sheet, ax, look_of(method), at, part, "ours", "low", "high")
                ax.plot(at, part["paper"], zorder=4, gid="paper", linestyle="none", **_PAPER)
            for edge in range(1, len(data)):
                ax.axvline(edge - 0.5, color="0.85", linewidth=0.6, zorder=0)
            ax.set_ylabel(_WORDS[measure])
            ax.grid(axis="y", color="0.92", linewidth=0.5)
            categories(ax, [name.replace("_", "\n") for name in data])
            ax.tick_params(axis="x", length=0, labelbottom=True)
        sheet.explain("the paper", **_PAPER)
    return sheet.drawing


def figure_schemes(frame: pd.DataFrame) -> Drawing | None:
    """Draw F1 under random splits against splits that keep the rows of one animal or subject together."""
    grouped = set(frame.loc[frame["scheme"] == "groups", "data"])
    if not grouped:
        return None
    rows = with_f1(frame[frame["data"].isin(grouped) & (frame["variant"] == "main")])
    scores = ["f1_logistic", "f1_svm"]
    table = aggregate(rows, ["data", "scheme", "scenario", "method"], scores)
    table = table.set_index(["data", "scenario", "method", "scheme"]).sort_index(ascending=[True, True, True, False])
    known = {key[:-1] for key in table.index}
    wanted = product(data_in_order(grouped), ("standard", "block"), in_order(frame["method"]))
    cells = [cell for cell in wanted if cell in known]
    details = (
        "Bars: 2 standard errors of the mean. With random splits, rows of one animal or subject stand on both sides."
    )
    height = 1.6 + 0.19 * len(cells)
    with panels(
        "Random splits against splits by animal or subject (experiment 2)", 1, 2, height, details, sharey=True
    ) as sheet:
        for ax, score in zip(sheet.axes[0], scores, strict=True):
            for place, cell in enumerate(cells):
                part = table.loc[cell, :]
                ax.plot(part[f"{score}_mean"], [place] * len(part), color="0.75", linewidth=1.0, zorder=0)
                for scheme in part.index:
                    look, row = _SCHEMES[scheme], part.loc[scheme]
                    bar = 2 * np.nan_to_num(row[f"{score}_se"])
                    drawn = ax.errorbar(row[f"{score}_mean"], place, xerr=bar, elinewidth=0.8, **look.line)
                    sheet.note(look.label, drawn[0])
            ax.set_xlabel(_WORDS[score])
            ax.grid(axis="x", color="0.92", linewidth=0.5)
            ax.set_ylim(len(cells) - 0.4, -0.6)
            ax.set_yticks(range(len(cells)), [_row(*cell) for cell in cells])
            ax.tick_params(axis="y", length=0)
    return sheet.drawing


def _row(data: str, scenario: str, method: str) -> str:
    return f"{data}, {look_of(method).label}" + (", blocks" if scenario == "block" else "")


def figure_seconds(frame: pd.DataFrame) -> Drawing | None:
    """Draw our run times beside the paper's."""
    table = compare_seconds(frame)
    if table.empty:
        return None
    data, methods = data_in_order(table["data"]), in_order(table["method"])
    n_rows = (len(methods) + 2) // 3
    details = "Mean seconds of one selection, logarithmic; ours are CPU seconds. The machines differ."
    height = 1.2 + n_rows * (0.55 + 0.16 * len(data))
    shape = n_rows, min(3, len(methods))
    with panels(
        "Run time beside the paper's (experiment 2)", *shape, height, details, sharex=True, sharey=True
    ) as sheet:
        for ax, method in zip(sheet.axes.flat, methods, strict=False):
            part = table[table["method"] == method]
            at = [data.index(name) for name in part["data"]]
            ax.hlines(at, part["ours"], part["paper"], color="0.75", linewidth=1.0, zorder=0)
            ax.plot(part["ours"], at, linestyle="none", marker="o", markersize=4.5, color=BLUE)
            ax.plot(
                part["paper"], at, linestyle="none", marker="o", markersize=4.5, color=BLACK, markerfacecolor="white"
            )
            ax.set_title(look_of(method).label, loc="left")
            ax.set_xscale("log")
            plain_log(ax.xaxis)
            ax.grid(axis="x", color="0.92", linewidth=0.5)
            ax.set_ylim(len(data) - 0.4, -0.6)
            ax.set_yticks(range(len(data)), data)
            ax.tick_params(axis="y", length=0)
        for ax in sheet.axes.flat[len(methods) :]:
            ax.set_visible(False)
        for ax in sheet.axes[-1]:
            ax.set_xlabel("seconds")
        sheet.explain("ours", marker="o", color=BLUE)
        sheet.explain("the paper", marker="o", color=BLACK, markerfacecolor="white")
    return sheet.drawing


def figure_optimizers(frame: pd.DataFrame) -> Drawing | None:
    """Draw how often and by how much the genetic optimizer misses the best set, and what it does to the stability."""
    genetic = [name for name in dict.fromkeys(frame["optimizer"]) if name != "exact"]
    if not genetic:
        return None
    problems = [name for name in _PROBLEMS if name in set(frame["problem"])]
    details = (
        f"{frame['split'].nunique()} splits. Left: all elementary selectors together. Middle: runs that missed the "
        "optimum; box: quartiles, whiskers: 5 % and 95 %. Right: a mark per data set, selector and problem; below "
        "the line the genetic optimizer is less stable."
    )
    title, height = "The genetic optimizer against the exact one, on the same evidence", 1.0 + 2.5 * len(genetic)
    ratios = {"width_ratios": (1.25, 0.8, 1)}
    with panels(title, len(genetic), 3, height, details, gridspec_kw=ratios) as sheet:
        for (left, middle, right), name in zip(sheet.axes, genetic, strict=True):
            rows = frame[frame["optimizer"] == name]
            _draw_missed(sheet, left, rows, problems)
            left.set_ylabel(f"share of runs that missed\n({name})")
            _draw_losses(middle, rows, problems)
            _draw_stabilities(right, frame[frame["optimizer"].isin(["exact", name])], name, problems)
    return sheet.drawing


def _draw_missed(sheet: Any, ax: Any, rows: pd.DataFrame, problems: list[str]) -> None:
    share = rows.groupby(["data", "problem"], as_index=False)["missed"].mean()
    data = data_in_order(rows["data"])
    for i, problem in enumerate(problems):
        marker, color = _PROBLEMS[problem]
        part = share[share["problem"] == problem]
        at = [data.index(name) + dodge(i, len(problems), 0.7) for name in part["data"]]
        (drawn,) = ax.plot(at, part["missed"], linestyle="none", marker=marker, color=color, markersize=4.0)
        sheet.note(problem, drawn)
    categories(ax, data)
    ax.tick_params(axis="x", rotation=90, length=0)
    ax.set_ylim(-0.04, 1.04)
    ax.grid(axis="y", color="0.92", linewidth=0.5)


def _draw_losses(ax: Any, rows: pd.DataFrame, problems: list[str]) -> None:
    missed = rows[rows["missed"] > 0]
    losses = [missed.loc[missed["problem"] == problem, "loss"].to_numpy() for problem in problems]
    for place, (problem, values) in enumerate(zip(problems, losses, strict=True)):
        if len(values):
            color = _PROBLEMS[problem][1]
            ax.boxplot([values], positions=[place], whis=(5, 95), widths=0.55, showfliers=False,
                       medianprops={"color": color, "linewidth": 1.6})  # fmt: skip
    categories(ax, problems)
    ax.tick_params(axis="x", rotation=90, length=0)
    if any(len(values) for values in losses):
        ax.set_yscale("log")
        plain_log(ax.yaxis)
    else:
        ax.set_yticks([])
        ax.text(0.5, 0.5, "none missed", transform=ax.transAxes, ha="center", color=GREY)
    ax.set_ylabel("loss of utility")
    ax.grid(axis="y", color="0.92", linewidth=0.5)


def _draw_stabilities(ax: Any, rows: pd.DataFrame, name: str, problems: list[str]) -> None:
    by = ["data", "method", "problem"]
    both = aggregate(rows, [*by, "optimizer"], []).pivot(index=by, columns="optimizer", values="stability")
    ax.plot([0, 1], [0, 1], color="0.6", linewidth=0.8, zorder=0)
    for problem in problems:
        part = both[both.index.get_level_values("problem") == problem]
        marker, color = _PROBLEMS[problem]
        ax.plot(part["exact"], part[name], linestyle="none", marker=marker, color=color, markersize=3.5, alpha=0.8)
    ax.set_xlabel("stability, exact")
    ax.set_ylabel("stability, genetic")
    low = min(0.0, np.nan_to_num(both[["exact", name]].min().min())) - 0.04  # a stability may be a little below 0
    ax.set_xlim(low, 1.05)
    ax.set_ylim(low, 1.05)
