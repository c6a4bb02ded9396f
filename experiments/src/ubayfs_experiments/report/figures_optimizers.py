"""The figure of the optimizers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ubayfs.plotting import Drawing

from ..analysis.aggregate import aggregate
from ..looks import BLUE, GREEN, GREY, PURPLE, VERMILION
from .figure_parts import categories, dodge, panels, plain_log, span
from .figures_real import data_in_order

_PROBLEMS = {"plain": ("o", BLUE), "blocks": ("s", VERMILION), "decorrelated": ("^", GREEN), "linked": ("D", PURPLE)}


def figure_optimizers(frame: pd.DataFrame) -> Drawing | None:
    """Draw how often and by how much the genetic optimizer misses the best set, and what it does to the stability."""
    genetic = [name for name in dict.fromkeys(frame["optimizer"]) if name != "exact"]
    if not genetic:
        return None
    problems = [name for name in _PROBLEMS if name in set(frame["problem"])]
    details = (
        f"{span(frame.groupby('data')['split'].nunique())} splits. Left: all elementary selectors together. Middle: "
        "runs that missed the optimum; box: quartiles, whiskers: 5 % and 95 %. Right: a mark per data set, selector "
        "and problem; below the line the genetic optimizer is less stable."
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
