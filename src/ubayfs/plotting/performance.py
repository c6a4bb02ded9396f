"""Sets of different sizes: how they predict, and how much of them is noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._plain import counted
from ..selection import Selection
from ..trust.noise import Noise
from ..trust.prediction_metrics import metric_name
from ..trust.validation import Validation
from .base import Display, ReportData
from .style import BLACK, BLUE, VERMILION, divided, label_lines, whole_numbers


@dataclass(frozen=True)
class PerformanceDisplay(Display):
    """Score on samples not used for choosing against the size of the set; below it, noise among as many features."""

    sizes: tuple[int, ...]
    mean: tuple[float, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    expected: tuple[float, ...]  # noise among as many features with most votes; empty when it is not known
    cautious: tuple[float, ...]
    metric: str
    best_size: int | None
    one_se_size: int | None
    chosen_size: int
    n_folds: int

    name: ClassVar[str] = "performance"
    section: ClassVar[str] = "validation"
    caption: ClassVar[str] = "How sets of different sizes predict, and how many of their features are noise."
    report_arguments: ClassVar[Mapping[str, str]] = {"validation": "trust.validation", "noise": "trust.noise"}

    @classmethod
    def applies(cls, selection: Selection, data: ReportData) -> bool:
        """Tell whether a report on this selection has this figure: if sizes were tried."""
        return data.trust.validation is not None and data.trust.validation.best_size is not None

    @classmethod
    def from_selection(
        cls, selection: Selection, validation: Validation, noise: Noise | None = None
    ) -> PerformanceDisplay:
        """Compute the display.

        Parameters
        ----------
        selection : Selection
        validation : Validation
            As :func:`~ubayfs.validate` returns it when it is asked for sizes.
        noise : Noise, optional
            Of the evidence of the selection. Noise is that among the features with most votes.
        """
        frame = validation.sizes
        assert frame is not None
        curve = frame[frame["metric"] == validation.main_metric].dropna(subset="mean")
        sizes = curve["size"].tolist()
        votes = np.array([]) if noise is None else -np.sort(-noise.counts)
        estimates = [] if noise is None else [noise.expected(votes[:size][votes[:size] > 0]) for size in sizes]
        return cls(
            sizes=tuple(sizes),
            **{key: tuple(curve[key].tolist()) for key in ("mean", "lower", "upper")},
            expected=tuple(found[0] for found in estimates),
            cautious=tuple(found[1] for found in estimates),
            metric=validation.main_metric,
            best_size=validation.best_size,
            one_se_size=validation.one_se_size,
            chosen_size=len(selection.features),
            n_folds=validation.n_done,
        )

    def _heading(self) -> tuple[str, str]:
        title = f"How many features? {metric_name(self.metric)} on samples not used for choosing, by size of the set"
        details = (
            f"Band: 95 % interval over {counted(self.n_folds, 'fold')}. Diamond: fewest features within one standard "
            f"error of the best size. Grey line: size of the chosen set."
        )
        if self.expected:
            details += " Below: noise among as many features with most votes; dashed: all of them."
        return title, details

    def _height(self) -> float:
        return 4.6 if self.expected else 3.6

    def _draw(self, ax: Any) -> None:
        panels = [ax, divided(ax, (3, 2))] if self.expected else [ax]
        ax.fill_between(self.sizes, self.lower, self.upper, color=BLUE, alpha=0.15, linewidth=0, gid="interval")
        ax.plot(self.sizes, self.mean, color=BLUE, marker="o", markersize=3.5, gid="mean")
        if self.one_se_size in self.sizes:
            mean = self.mean[self.sizes.index(self.one_se_size)]
            ax.plot(self.one_se_size, mean, "D", markersize=8, color=BLACK, markerfacecolor="none", gid="one se")
        ax.set_ylabel(metric_name(self.metric))
        for panel in panels:
            panel.axvline(self.chosen_size, color="0.6", linewidth=0.8, zorder=0)
        if self.expected:
            ax.tick_params(labelbottom=False)
            self._draw_noise(panels[1])
        whole_numbers(panels[-1].xaxis, min_n_ticks=1)
        panels[-1].set_xlabel("number of features")

    def _draw_noise(self, ax: Any) -> None:
        ax.plot(self.sizes, self.sizes, color="0.6", linewidth=0.8, linestyle="--", gid="all")
        ax.plot(self.sizes, self.expected, color=VERMILION, marker="s", markersize=3.5, gid="expected")
        ax.plot(self.sizes, self.cautious, color=VERMILION, linestyle=":", marker="^", markersize=3.5, gid="cautious")
        ax.set_ylim(bottom=0)
        whole_numbers(ax.yaxis, nbins=5)
        ax.set_ylabel("noise (features)")
        label_lines(ax, [self.expected[-1], self.cautious[-1]], ["expected", "cautiously"], [VERMILION] * 2)
