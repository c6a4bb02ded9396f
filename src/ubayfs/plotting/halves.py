"""Halves of the samples against each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._plain import counted
from ..selection import Selection
from ..trust.ensembles import HalfEnsembles
from ..trust.reproducibility import Reproducibility
from .base import Display, ReportData, leading
from .style import BLUE, GREY

_SHOWN = 40  # features


@dataclass(frozen=True)
class HalvesDisplay(Display):
    """Share of the models that chose a feature on one half of the samples, against that on the other half."""

    first: tuple[float, ...]  # one point for each feature and split
    second: tuple[float, ...]
    chosen: tuple[bool, ...]
    n_splits: int  # that are shown
    lower: float  # agreement of studies of half the size, and projected to the whole size
    upper: float
    interval: tuple[float, ...]
    n_chosen: int

    name: ClassVar[str] = "halves"
    section: ClassVar[str] = "reproducibility"
    caption: ClassVar[str] = "Votes on one half of the samples against those on the other half."
    report_arguments: ClassVar[Mapping[str, str]] = {"halves": "halves", "reproducibility": "reproducibility"}

    @classmethod
    def applies(cls, selection: Selection, data: ReportData) -> bool:
        """Tell whether a report on this selection has this figure."""
        known = data.halves is not None and data.reproducibility is not None
        return known and data.halves.n_done > 0  # type: ignore[union-attr]

    @classmethod
    def from_selection(
        cls, selection: Selection, halves: HalfEnsembles, reproducibility: Reproducibility
    ) -> HalvesDisplay:
        """Compute the display; it shows the chosen features and those with most votes on all samples."""
        votes = selection.importance if selection.counts is None else selection.counts
        shown = leading(votes, selection.mask, _SHOWN)
        shares = np.array([[half.counts[shown] / half.n_models for half in pair] for pair in halves.pairs])
        first, second = shares[:, 0].ravel(), shares[:, 1].ravel()
        voted = (first > 0) | (second > 0)
        return cls(
            first=tuple(first[voted].tolist()),
            second=tuple(second[voted].tolist()),
            chosen=tuple(np.tile(selection.mask[shown], len(shares))[voted].tolist()),
            n_splits=len(shares),
            lower=reproducibility.lower,
            upper=reproducibility.upper,
            interval=reproducibility.interval,
            n_chosen=len(selection.features),
        )

    def _heading(self) -> tuple[str, str]:
        low, high = self.interval
        title = f"Do halves of the samples agree? {counted(self.n_splits, 'split')} into halves"
        details = (
            "One mark for each feature and split. Upper right: chosen by many models on both halves; along an axis: on "
            f"one half only. Agreement of the chosen sets beyond chance: {self.lower:.2f} at half the samples, "
            f"{self.upper:.2f} projected to all of them"
        )
        return title, f"{details} ({low:.2f} to {high:.2f})." if low == low else f"{details}."

    def _width(self) -> float:
        return 4.6

    def _height(self) -> float:
        return 5.0

    def _draw(self, ax: Any) -> None:
        from matplotlib.ticker import PercentFormatter

        first, second, chosen = map(np.asarray, (self.first, self.second, self.chosen))
        ax.plot([0, 1], [0, 1], color="0.7", linewidth=0.8, linestyle="--", zorder=0)
        for mark, color, marker, face, words in (
            (False, GREY, "o", "none", "not chosen on all samples"),
            (True, BLUE, "s", BLUE, "chosen on all samples"),
        ):
            some = np.flatnonzero(chosen == mark)
            if len(some):
                ax.plot(first[some], second[some], marker, markersize=3.2, color=color, markerfacecolor=face, alpha=0.5,
                        markeredgewidth=0.6, linestyle="none", clip_on=False, label=words, gid=words)  # fmt: skip
        ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
        for axis, words in ((ax.xaxis, "one"), (ax.yaxis, "the other")):
            axis.set_major_formatter(PercentFormatter(1.0, decimals=0))
            axis.set_label_text(f"models that chose it on {words} half")
