"""Correlations among the selected features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._arguments import check_choice, check_int
from .._plain import counted
from ..data.blocks import Blocks
from ..data.categories import columns_of
from ..data.correlation import METHODS
from ..decision.selection import Selection
from ..exceptions import InputError, repr_of
from .base import Correlations, Display, ReportData, blocks_of, signed_correlations
from .style import LIGHT_GREY, ROW_HEIGHT, WIDTH, draw_blocks, list_features, short_names

_MOST_NUMBERS = 16  # features up to which there is room for a number in each cell


@dataclass(frozen=True)
class CorrelationDisplay(Display):
    """Heat map of the correlations among the selected features, block by block."""

    features: tuple[str, ...]  # by block, most important first within a block
    correlation: tuple[tuple[float, ...], ...]  # signed
    blocks: tuple[tuple[str, ...], ...]  # names of the blocks of each feature
    method: str
    n_chosen: int  # shown or not
    palette: tuple[str, ...] = ()  # all blocks, in the order of their colors: the same in all figures

    name: ClassVar[str] = "correlation"
    section: ClassVar[str] = "correlation"
    caption: ClassVar[str] = "Correlations among the selected features."
    report_arguments: ClassVar[Mapping[str, str]] = {"X": "correlations", "blocks": "blocks"}

    @classmethod
    def applies(cls, selection: Selection, data: ReportData) -> bool:
        """Return whether a report on this selection has this figure."""
        return data.correlations is not None and len(selection.features) > 1

    @classmethod
    def from_selection(
        cls,
        selection: Selection,
        X: Any = None,
        blocks: Any = None,
        method: str = "spearman",
        max_features: int = 40,
    ) -> CorrelationDisplay:
        """Compute the display.

        Parameters
        ----------
        selection : Selection
        X : array-like, DataFrame or FeatureData of shape (n_samples, n_features), or Correlations, optional
            The data of the fit, or what is known of them; default: the data that the selection was made with.
        blocks : mapping of name to features, DataFrame (feature, block) or Blocks, optional
        method : {"spearman", "pearson", "kendall"}
        max_features : int, default 40
            Of more chosen features, the most important ones are shown.
        """
        check_choice("method", method, METHODS)
        max_features = check_int("max_features", max_features, low=1)
        names = selection.feature_names
        if not isinstance(X, Correlations):
            X = selection.data_of_fit(X)
        if X is None:
            raise InputError.of("X", "must be given, the data of the fit: the selection was made without them.")
        members = Blocks.of(blocks)
        by_importance = selection.indices[np.argsort(-selection.importance[selection.indices], kind="stable")]
        shown = by_importance[:max_features]
        feature_blocks = blocks_of(members, names, shown)
        # Features without a block come last.
        first = [members.names.index(each[0]) if each else len(members) for each in feature_blocks]
        order = np.argsort(first, kind="stable")
        features = tuple(names[shown[order]].tolist())
        if isinstance(X, Correlations):
            if method not in ("spearman", "pearson"):
                raise InputError.of(
                    "method", f"must be 'spearman' or 'pearson' without the data; got {repr_of(method)}.", method
                )
            matrix = getattr(X.among(features), method)
        else:
            matrix = signed_correlations(columns_of(X.X, shown[order]), method)
        return cls(
            features=features,
            correlation=tuple(map(tuple, matrix.tolist())),
            blocks=tuple(feature_blocks[i] for i in order),
            method=method,
            n_chosen=len(selection.indices),
            palette=members.names,
        )

    def _heading(self) -> tuple[str, str]:
        matrix = np.abs(np.array(self.correlation))
        n = len(self.features)
        if n < 2:
            return f"{counted(self.n_chosen, 'feature')} selected: there is no pair to correlate", ""
        pairs = np.triu_indices(n, 1)
        first, second = (int(side[np.argmax(matrix[pairs])]) for side in pairs)
        title = f"Correlation among the selected features: at most {matrix[first, second]:.2f} in absolute value"
        names = short_names(self.features)
        details = f"Strongest between {names[first]} and {names[second]}. {self.method.capitalize()} correlation"
        details += "; the shade is its absolute value." if n > _MOST_NUMBERS else "; numbers with sign, shade without."
        if n < self.n_chosen:
            details += f" The {n} most important of {self.n_chosen:,} selected features are shown."
        return title, details

    def _height(self) -> float:
        n = len(self.features)
        return 1.3 + max(ROW_HEIGHT * n, min(0.24 * n, 0.6 * WIDTH), 0.5)

    def _draw(self, ax: Any) -> None:
        from matplotlib import colormaps

        n = len(self.features)
        matrix = np.array(self.correlation).reshape(n, n)
        shade = np.ma.masked_where(np.eye(n, dtype=bool), np.abs(matrix))
        edges = np.arange(n + 1) - 0.5
        image = ax.pcolormesh(
            edges, edges, shade, vmin=0, vmax=1, cmap=colormaps["Blues"].with_extremes(bad=LIGHT_GREY),
            edgecolors="white", linewidth=0.3,
        )  # fmt: skip
        list_features(ax, self.features, numbered=True)
        ax.set_ylim(n - 0.5, -0.5)
        ax.set_xticks([])
        for column in range(n):
            ax.text(
                column, -0.01, str(column + 1), size=7.5 if n <= 25 else 5, ha="center", va="top",
                transform=ax.get_xaxis_transform(), gid="number",
            )  # fmt: skip
        ax.spines[:].set_visible(False)
        if n <= _MOST_NUMBERS:
            for (row, column), value in np.ndenumerate(matrix):
                if row != column:
                    ax.text(
                        column, row, _in_cell(value), ha="center", va="center", size=6.5,
                        color="white" if abs(value) > 0.6 else "black",
                    )  # fmt: skip
        first = [names[0] if names else "" for names in self.blocks]
        borders = [i - 0.5 for i in range(1, n) if first[i] != first[i - 1]]
        if len(borders) <= n / 2:  # a line around nearly every feature would not show anything
            ax.hlines(borders, -0.5, n - 0.5, color="black", linewidth=0.9)
            ax.vlines(borders, -0.5, n - 0.5, color="black", linewidth=0.9)
        if any(self.blocks):
            draw_blocks(ax, self.blocks, self.palette, 4.0)
        colorbar = ax.figure.colorbar(image, ax=ax, location="bottom", shrink=0.4, aspect=25, pad=0.03)
        colorbar.set_label(f"absolute {self.method.capitalize()} correlation")
        colorbar.outline.set_visible(False)


def _in_cell(value: float) -> str:
    """Return a correlation in as few characters as it takes: 0.91 is written .91."""
    return f"{value:.2f}".replace("0.", ".").replace("-", "\N{MINUS SIGN}")
