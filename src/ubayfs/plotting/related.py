"""How strongly features are associated with the target, each by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._plain import counted
from ..decision.selection import Selection
from ..trust.related import LARGEST_Q, Related
from . import style
from .base import Display, ReportData, at, shown_of, top_features

_SMALLEST = 1e-300  # p-value that is shown; smaller ones are drawn there


@dataclass(frozen=True)
class RelatedDisplay(Display):
    """P-values of the leading features, and whether each is related to the target by itself."""

    features: tuple[str, ...]  # smallest p-value first
    p_values: tuple[float, ...]
    q_values: tuple[float, ...]
    selected: tuple[bool, ...]
    at_least: int
    n_features: int
    n_shuffles: int

    name: ClassVar[str] = "related"
    section: ClassVar[str] = "related"
    caption: ClassVar[str] = "Association of the leading features with the target, each by itself."
    report_arguments: ClassVar[Mapping[str, str]] = {"related": "trust.related", "max_features": "max_features"}

    @classmethod
    def applies(cls, selection: Selection, data: ReportData) -> bool:
        """Return whether a report on this selection has this figure."""
        return data.trust.related is not None and len(selection.features) > 0

    @classmethod
    def from_selection(cls, selection: Selection, related: Related, max_features: int = 25) -> RelatedDisplay:
        """Compute the display.

        Parameters
        ----------
        selection : Selection
        related : Related
            As :func:`~ubayfs.estimate_related` returns it.
        max_features : int, default 25
            Shown features, the selected ones and those of the smallest p-values; more when more are selected.
        """
        shown = top_features(-related.p_values, selection.mask, max_features)
        return cls(
            features=at(selection.feature_names, shown),
            p_values=at(related.p_values, shown),
            q_values=at(related.q_values, shown),
            selected=at(selection.mask, shown),
            at_least=related.of(selection.features).at_least,
            n_features=len(selection.feature_names),
            n_shuffles=related.n_shuffles,
        )

    def _heading(self) -> tuple[str, str]:
        n = sum(self.selected)
        title = f"At least {self.at_least} of {counted(n, 'selected feature')} related to the target (90 % confidence)"
        details = (
            f"{shown_of(len(self.features), self.n_features)}Bold: selected. q: expected share of unrelated features "
            f"among those with a p-value as small; up to {LARGEST_Q:g} a feature is called related by itself. "
            f"{counted(self.n_shuffles, 'shuffle')} of the target."
        )
        return title, details

    def _height(self) -> float:
        return 1.5 + style.list_height(len(self.features))

    def _draw(self, ax: Any) -> None:
        rows = np.arange(len(self.features))
        strength = -np.log10(np.maximum(self.p_values, _SMALLEST))
        ax.hlines(rows, 0, strength, color="0.8", linewidth=0.8, zorder=1)
        style.draw_marks(ax, strength, rows, self.selected)
        ax.set_xlim(0, max(1.0, float(strength.max(initial=0.0))) * 1.03)
        ax.set_xlabel("strength of the association, -log10 of the p-value")
        style.list_features(ax, self.features, self.selected)
        texts = ["< 0.01" if q < 0.01 else f"{q:.2f}" for q in self.q_values]
        style.write_beside(ax, 12, "q", texts, [q <= LARGEST_Q for q in self.q_values])
