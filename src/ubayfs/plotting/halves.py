"""Halves of the samples against each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._plain import counted
from ..decision.selection import Selection
from ..trust.halves import HalfEnsembles
from ..trust.reproducibility import Reproducibility
from .base import Display, ReportData, top_features
from .style import BLACK, BLUE, GREY, SKY, beside, label_lines

_SHOWN = 40  # features
_CELL, _SHIFT = 10.0, 2.5  # percent: width of a cell, and how far both kinds of marks stand from its middle
_LARGEST = 10.0  # points


@dataclass(frozen=True)
class HalvesDisplay(Display):
    """Share of the models that selected a feature on one half of the samples, against that on the other half."""

    first: tuple[float, ...]  # one point for each feature and split
    second: tuple[float, ...]
    chosen: tuple[bool, ...]
    agreements: tuple[float, ...]  # of the sets selected on both halves, beyond chance, by falling agreement
    n_splits: int  # that are shown
    lower: float  # agreement of studies of half the size, and projected to the whole size
    upper: float
    interval: tuple[float, ...]  # empty with fewer than two splits
    n_chosen: int

    name: ClassVar[str] = "halves"
    section: ClassVar[str] = "reproducibility"
    caption: ClassVar[str] = "Votes on one half of the samples against those on the other half."
    height: ClassVar[float] = 4.9
    report_arguments: ClassVar[Mapping[str, str]] = {
        "halves": "trust.halves",
        "reproducibility": "trust.reproducibility",
    }

    @classmethod
    def applies(cls, selection: Selection, data: ReportData) -> bool:
        """Return whether a report on this selection has this figure."""
        trust = data.trust
        return trust.halves is not None and trust.reproducibility is not None and trust.reproducibility.n_used > 0

    @classmethod
    def from_selection(
        cls, selection: Selection, halves: HalfEnsembles, reproducibility: Reproducibility
    ) -> HalvesDisplay:
        """Compute the display; it shows the selected features and those with most votes on all samples."""
        votes = selection.importance if selection.counts is None else selection.counts
        shown = top_features(votes, selection.mask, _SHOWN)
        shares = np.array([[half.counts[shown] / half.n_models for half in pair] for pair in halves.pairs])
        first, second = shares[:, 0].ravel(), shares[:, 1].ravel()
        voted, agreements = (first > 0) | (second > 0), reproducibility.agreements
        return cls(
            first=tuple(first[voted].tolist()),
            second=tuple(second[voted].tolist()),
            chosen=tuple(np.tile(selection.mask[shown], len(shares))[voted].tolist()),
            agreements=tuple(sorted(agreements[~np.isnan(agreements)].tolist(), reverse=True)),
            n_splits=len(shares),
            lower=reproducibility.lower,
            upper=reproducibility.upper,
            interval=() if np.isnan(reproducibility.interval).any() else reproducibility.interval,
            n_chosen=len(selection.features),
        )

    def _heading(self) -> tuple[str, str]:
        title = f"Do halves of the samples agree? {counted(self.n_splits, 'split')} into halves"
        details = (
            "Left: features in all splits, counted in steps of 10 %; the area of a mark is their number. Upper right: "
            "selected by many models on both halves; bottom right: on one half only. Right: agreement of the sets "
            "selected on both halves of each split, 0 by chance; lines: mean at half the samples, and projected to all "
            "of them; band: 95 % interval."
        )
        return title, details

    def _draw(self, ax: Any) -> None:
        shares, selected = 100 * np.array([self.first, self.second]).T, np.array(self.chosen, dtype=bool)
        ax.plot([0, 100], [0, 100], color="0.7", linewidth=0.8, linestyle="--", zorder=0)
        for mask, color, marker, face, shift, words in (
            (selected, BLUE, "s", BLUE, -_SHIFT, "selected on all samples"),
            (~selected, GREY, "o", "white", _SHIFT, "not selected on all samples"),
        ):
            if mask.any():
                # Halves have no order: the larger share is drawn as the one half.
                cells, counts = np.unique(np.round(np.sort(shares[mask]) / _CELL), axis=0, return_counts=True)
                size = _LARGEST * np.sqrt(counts / counts.max())
                x, y = _CELL * cells[:, 1] + shift, _CELL * cells[:, 0]
                ax.scatter(x, y, size**2, color=face, edgecolors=color, marker=marker, linewidths=0.7, clip_on=False,
                           label=f"{words} (largest: {counts.max():,})", gid=words)  # fmt: skip
        ax.set(xlim=(-_CELL / 2, 100 + _CELL / 2), ylim=(-_CELL / 2, 100 + _CELL / 2), aspect="equal")
        ax.set_xlabel("models that selected it on the half with more (%)")
        ax.set_ylabel("models that selected it on the other half (%)")
        if right := beside(ax, (5, 2)):
            self._draw_agreement(right)

    def _draw_agreement(self, ax: Any) -> None:
        n, ends = len(self.agreements), [self.lower, self.upper]
        if self.interval:
            ax.axhspan(*self.interval, color=SKY, alpha=0.25, linewidth=0, gid="interval")
        ax.plot(np.arange(n), self.agreements, "o", color=BLACK, markersize=3, clip_on=False, gid="agreements")
        for value, line in zip(ends, ("-", "--"), strict=True):
            ax.axhline(value, color=BLUE, linewidth=1.0, linestyle=line)
        ax.axhline(0, color="0.7", linewidth=0.8, zorder=0)
        ax.set(xlim=(-1, max(n, 1)), ylim=(min([-0.2, *self.interval, *self.agreements]), 1.0), xticks=[])
        ax.set_xlabel("splits")
        ax.set_ylabel("agreement of the selected sets")
        label_lines(ax, ends, [f"{round(value, 2) + 0.0:.2f}" for value in ends], [BLUE, BLUE])
