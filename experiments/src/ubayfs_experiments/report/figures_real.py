"""The figures of experiment 2."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from ubayfs.plotting import Drawing

from ..analysis.aggregate import aggregate, with_f1
from ..analysis.differences import LIMIT, MEASURES, beside, compare_seconds
from ..analysis.paper import DATA
from ..claims.real import trade_offs
from ..looks import BLACK, BLUE, VERMILION, Look, in_order, look_of
from .figure_parts import categories, dodge, draw_line, panels, plain_log

_WORDS = {"f1_logistic": "F1, logistic regression", "f1_svm": "F1, support vector machine", "stability": "stability"}
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
            noise = part["noise"].to_numpy(dtype=bool)
            for marker, which in (("o", ~noise), ("X", noise)):
                places = np.array(at)[which]
                ax.plot(part["ours"][which], places, linestyle="none", marker=marker, markersize=4.5, color=BLUE)
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
        if table["noise"].any():
            sheet.explain("ours, on noise of the size of p53", marker="X", color=BLUE)
        sheet.explain("the paper", marker="o", color=BLACK, markerfacecolor="white")
    return sheet.drawing


def figure_trade_off(frame: pd.DataFrame) -> Drawing | None:
    """Draw the stability of every method against its F1, a panel for each data set."""
    points = trade_offs({"2": frame})
    if points.empty:
        return None
    data = sorted(set(points["data"]), key=lambda name: ("(" in name, data_in_order(points["data"]).index(name)))
    n_columns = 4
    n_rows = -(-len(data) // n_columns)
    details = "Mean F1 of both predictors, whose axes differ between panels. Up and to the right is better."
    title, height = "Stability against F1 (experiment 2)", 1.3 + 1.7 * n_rows
    with panels(title, n_rows, n_columns, height, details, sharey=True) as sheet:
        for ax, name in zip(sheet.axes.flat, data, strict=False):
            part = points[points["data"] == name].set_index("method")
            for method in in_order(part.index):
                (drawn,) = ax.plot(part.loc[method, "f1"], part.loc[method, "stability"], **look_of(method).line)
                sheet.note(look_of(method).label, drawn)
            ax.set_title(name, loc="left")
            ax.margins(x=0.15)
            ax.set_ylim(-0.03, 1.03)
            ax.locator_params(axis="x", nbins=3)
            ax.grid(color="0.92", linewidth=0.5)
        for ax in sheet.axes.flat[len(data) :]:
            ax.set_visible(False)
        for row in sheet.axes:
            row[0].set_ylabel("stability")
        for ax in sheet.axes.flat[max(len(data) - n_columns, 0) : len(data)]:
            ax.set_xlabel("F1")
    return sheet.drawing
