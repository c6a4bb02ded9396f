"""How strongly gene sets are associated with the target, and which of them have a selected feature."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._plain import counted
from ..decision.selection import Selection
from ..trust.gene_sets import GeneSets
from ..trust.related import LARGEST_Q
from . import style
from .base import Display, ReportData, at


@dataclass(frozen=True)
class GeneSetsDisplay(Display):
    """Mean strength of the association of each gene set, beside what shuffled targets give."""

    names: tuple[str, ...]  # smallest p-value first; those with a selected feature, and the leading ones
    strength: tuple[float, ...]
    by_chance: tuple[float, ...]
    q_values: tuple[float, ...]
    n_selected: tuple[int, ...]
    n_sets: int  # shown or not
    n_shuffles: int

    name: ClassVar[str] = "gene_sets"
    section: ClassVar[str] = "gene_sets"
    caption: ClassVar[str] = (
        "Mean association of each gene set with the target; those with a selected feature are marked."
    )
    report_arguments: ClassVar[Mapping[str, str]] = {"gene_sets": "trust.gene_sets", "max_sets": "max_features"}

    @classmethod
    def applies(cls, selection: Selection, data: ReportData) -> bool:
        """Return whether a report on this selection has this figure."""
        return data.trust.gene_sets is not None and len(data.trust.gene_sets.names) > 0

    @classmethod
    def from_selection(cls, selection: Selection, gene_sets: GeneSets, max_sets: int = 20) -> GeneSetsDisplay:
        """Compute the display.

        Parameters
        ----------
        selection : Selection
        gene_sets : GeneSets
            As :func:`~ubayfs.estimate_gene_sets` returns it.
        max_sets : int, default 20
            Shown gene sets: those of the smallest p-values, and before these the ones with a selected feature.
        """
        n_selected = np.array([len(features) for features in gene_sets.of(selection.features).selected], dtype=np.intp)
        order = gene_sets.order
        first = np.argsort(n_selected[order] == 0, kind="stable")[:max_sets]
        shown = order[np.sort(first)]
        return cls(
            names=at(np.array(gene_sets.names, dtype=object), shown),
            strength=at(gene_sets.strength, shown),
            by_chance=at(gene_sets.by_chance, shown),
            q_values=at(gene_sets.q_values, shown),
            n_selected=at(n_selected, shown),
            n_sets=len(gene_sets.names),
            n_shuffles=gene_sets.n_shuffles,
        )

    def _heading(self) -> tuple[str, str]:
        n_shown = len(self.names)
        shown = f"{n_shown:,} of {self.n_sets:,} gene sets shown. " if n_shown < self.n_sets else ""
        details = (
            f"{shown}Bold: with a selected feature. Gray line: mean of {counted(self.n_shuffles, 'shuffle')} of the "
            f"target. q: Benjamini and Hochberg, over all gene sets; up to {LARGEST_Q:g} a gene set is called "
            "associated."
        )
        return "Association of gene sets with the target", details

    def _height(self) -> float:
        return 1.5 + style.list_height(len(self.names))

    def _draw(self, ax: Any) -> None:
        rows, strength = np.arange(len(self.names)), np.asarray(self.strength)
        with_selected = [n > 0 for n in self.n_selected]
        ax.hlines(rows, self.by_chance, strength, color="0.8", linewidth=0.8, zorder=1)
        ax.vlines(self.by_chance, rows - 0.3, rows + 0.3, color="0.5", linewidth=1.0, zorder=1, gid="by chance")
        style.draw_marks(ax, strength, rows, np.array(with_selected), "member ")
        ax.set_xlim(0, 1.05 * max(1.5, float(strength.max(initial=0.0))))
        ax.set_xlabel("mean strength of the association over the measured genes")
        style.list_features(ax, self.names, with_selected)
        texts = ["< 0.01" if q < 0.01 else f"{q:.2f}" for q in self.q_values]
        style.write_beside(ax, 12, "q", texts, [q <= LARGEST_Q for q in self.q_values])
