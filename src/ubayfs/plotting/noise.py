"""Votes beside those that shuffled targets give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._plain import counted, rounded
from ..selection import Selection
from ..trust.noise import FEWEST_SHUFFLES, SUPPORTED, Noise
from . import style
from .base import Display, ReportData, leading, shown_of


@dataclass(frozen=True)
class NoiseDisplay(Display):
    """Votes of the leading features, and what features of the same rank get when the target is shuffled."""

    features: tuple[str, ...]  # most votes first
    votes: tuple[int, ...]
    chosen: tuple[bool, ...]
    q: tuple[float, ...]
    low: tuple[float, ...]  # 5 % and 95 % over the shuffles of the votes of the feature of this rank
    high: tuple[float, ...]
    supported: int  # features with q of at most 0.2
    p_value: float
    passes: bool
    n_shuffles: int  # that were done
    n_features: int
    n_models: int

    name: ClassVar[str] = "noise"
    section: ClassVar[str] = "noise"
    caption: ClassVar[str] = "Votes of the leading features beside those that shuffled targets give."
    report_arguments: ClassVar[Mapping[str, str]] = {"noise": "trust.noise", "max_features": "max_features"}

    @classmethod
    def applies(cls, selection: Selection, data: ReportData) -> bool:
        """Tell whether a report on this selection has this figure."""
        return data.trust.noise is not None and data.trust.noise.null.n_done > 0

    @classmethod
    def from_selection(cls, selection: Selection, noise: Noise, max_features: int = 25) -> NoiseDisplay:
        """Compute the display.

        Parameters
        ----------
        selection : Selection
        noise : Noise
            As :func:`~ubayfs.estimate_noise` returns it, of the same evidence.
        max_features : int, default 25
            Shown features; more when more are chosen.
        """
        shown = leading(noise.counts, selection.mask, max_features)
        shown = shown[(noise.counts > 0)[shown] | selection.mask[shown]]
        rank = np.empty(len(noise.counts), dtype=np.intp)
        rank[np.argsort(-noise.counts, kind="stable")] = np.arange(len(rank))
        of_rank = -np.sort(-noise.null_counts, axis=1)[:, rank[shown]]
        low, high = np.quantile(of_rank, [0.05, 0.95], axis=0)
        return cls(
            features=tuple(selection.feature_names[shown].tolist()),
            votes=tuple(noise.counts[shown].tolist()),
            chosen=tuple(selection.mask[shown].tolist()),
            q=tuple(noise.q_values[shown].tolist()),
            low=tuple(low.tolist()),
            high=tuple(high.tolist()),
            supported=noise.supported,
            p_value=noise.p_value,
            passes=noise.passes,
            n_shuffles=noise.null.n_done,
            n_features=len(noise.counts),
            n_models=noise.n_models,
        )

    def _heading(self) -> tuple[str, str]:
        title = f"The data support {counted(self.supported, 'feature')}: votes beside those of shuffled targets"
        if not self.passes:
            title = f"Shuffled targets look the same (p = {rounded(self.p_value, 2)}): all may be noise"
        if self.n_shuffles < FEWEST_SHUFFLES:
            title = f"{counted(self.n_shuffles, 'shuffle')} cannot tell noise; it takes at least {FEWEST_SHUFFLES}"
        details = (
            f"{shown_of(len(self.features), self.n_features)}Bold: chosen. q: expected share of noise among features "
            f"with at least so many votes; up to {SUPPORTED:g} the data support them. Votes are those of "
            f"{counted(self.n_models, 'model')}, {counted(self.n_shuffles, 'shuffle')}."
        )
        return title, details

    def _height(self) -> float:
        return 1.5 + style.list_height(len(self.features))

    def _draw(self, ax: Any) -> None:
        rows = np.arange(len(self.features))
        low, votes, chosen = np.array(self.low), np.array(self.votes), np.array(self.chosen)
        ax.barh(
            rows, np.array(self.high) - low, left=low, height=0.82, color="0.82", edgecolor="0.6", linewidth=0.3,
            label="shuffled targets, feature of the same rank (5 to 95 %)", gid="shuffled",
        )  # fmt: skip
        for mark, color, face, marker, words in (
            (True, style.BLUE, style.BLUE, "s", "votes, chosen"),
            (False, style.VERMILION, "white", "o", "votes, not chosen"),
        ):
            some = np.flatnonzero(chosen == mark)
            if len(some):
                ax.plot(votes[some], rows[some], marker, markersize=4.2, color=color, markerfacecolor=face,
                        linestyle="none", clip_on=False, zorder=3, label=words, gid=words)  # fmt: skip
        ax.set_xlim(0, max(1.0, *self.high, *self.votes) * 1.03)
        style.whole_numbers(ax.xaxis, nbins=6)
        ax.set_xlabel("votes (number of models)")
        style.list_features(ax, self.features, self.chosen)
        margin = style.right_margin(ax)
        ax.text(12, -0.9, "q", size=style.SMALL, va="bottom", fontstyle="italic", transform=margin)
        for row, q in enumerate(self.q):
            ax.text(
                12, row, "< 0.01" if q < 0.01 else f"{q:.2f}", size=style.SMALL, va="center_baseline", transform=margin,
                fontweight="bold" if q <= SUPPORTED else "normal", gid="q",
            )  # fmt: skip
