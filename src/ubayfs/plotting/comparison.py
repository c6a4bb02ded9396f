"""How well ways of choosing predict, compared as in a forest plot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from .._plain import counted
from ..selection import Selection
from ..trust.prediction_metrics import interval_text, method_name, metric_name
from ..trust.validation import OURS, Validation
from . import style
from .base import Display, ReportData


@dataclass(frozen=True)
class Scored:
    """The score of a way of choosing by one predictor; NaN where an interval is not known."""

    method: str
    predictor: str
    mean: float
    lower: float
    upper: float


@dataclass(frozen=True)
class Baseline(Scored):
    """Another way of choosing, and by how much ours is better."""

    difference: float
    difference_lower: float
    difference_upper: float


@dataclass(frozen=True)
class ComparisonDisplay(Display):
    """Differences of the scores from those of baselines, with intervals."""

    baselines: tuple[Baseline, ...]
    ours: tuple[Scored, ...]  # one for each predictor
    metric: str
    n_folds: int

    name: ClassVar[str] = "comparison"
    section: ClassVar[str] = "validation"
    caption: ClassVar[str] = "How much better or worse the set predicts than simpler ways of choosing."
    report_arguments: ClassVar[Mapping[str, str]] = {"validation": "trust.validation"}

    @classmethod
    def applies(cls, selection: Selection, data: ReportData) -> bool:
        """Tell whether a report on this selection has this figure."""
        return data.trust.validation is not None and any(row.method != OURS for row in data.trust.validation.records)

    @classmethod
    def from_selection(cls, selection: Selection, validation: Validation) -> ComparisonDisplay:
        """Compute the display from what :func:`~ubayfs.validate` found."""
        scores = validation.scores
        rows = scores[scores["metric"] == validation.main_metric].drop(columns="metric").to_dict("records")
        of_score = [field.name for field in fields(Scored)]
        return cls(
            baselines=tuple(Baseline(**row) for row in rows if row["method"] != OURS),
            ours=tuple(Scored(**{key: row[key] for key in of_score}) for row in rows if row["method"] == OURS),
            metric=validation.main_metric,
            n_folds=validation.n_done,
        )

    def _heading(self) -> tuple[str, str]:
        metric = metric_name(self.metric)
        ours = "; ".join(
            f"{metric} {interval_text(row.mean, row.lower, row.upper)} by {row.predictor}" for row in self.ours
        )
        title = f"Does the choice pay? {metric} on samples not used for choosing, ours minus others"
        details = (
            f"Ours: {ours}. Right of the line ours is better; full mark: the interval leaves out zero. "
            f"95 % intervals of Nadeau and Bengio over {counted(self.n_folds, 'fold')}."
        )
        return title, details

    def _height(self) -> float:
        return 1.6 + 0.24 * max(len(self.baselines), 3)

    def _draw(self, ax: Any) -> None:
        from matplotlib.ticker import MaxNLocator

        rows = np.arange(len(self.baselines))
        middle, low, high = (
            np.array([getattr(row, key) for row in self.baselines])
            for key in ("difference", "difference_lower", "difference_upper")
        )
        clear = (low > 0) | (high < 0)
        ax.axvline(0, color="0.4", linewidth=0.8, zorder=0)
        ax.hlines(rows, low, high, color=style.BLUE, linewidth=1.6, gid="interval")
        for mark, face in ((True, style.BLUE), (False, "white")):
            some = np.flatnonzero(clear == mark)
            ax.plot(middle[some], rows[some], "s", markersize=5, color=style.BLUE, markerfacecolor=face,
                    linestyle="none", zorder=3, gid="clear" if mark else "not clear")  # fmt: skip
        ends = np.abs(np.concatenate([middle, low, high]))
        reach = 1.1 * max(np.nanmax(ends, initial=0.0), 1e-3)
        ax.set_xlim(-reach, reach)
        ax.xaxis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 5, 10]))
        several = len({row.predictor for row in self.baselines}) > 1
        names = [method_name(row.method) + (f", {row.predictor}" if several else "") for row in self.baselines]
        style.list_features(ax, names, longest=48)
        ax.set_xlabel(f"difference in {metric_name(self.metric)} (ours minus this)")
        margin = style.right_margin(ax)
        ax.text(8, -0.7, "difference", size=style.SMALL, va="bottom", transform=margin)
        for i, row in enumerate(self.baselines):
            text = interval_text(row.difference, row.difference_lower, row.difference_upper, "+")
            ax.text(8, i, text, size=style.SMALL, va="center_baseline", transform=margin, gid="difference")
