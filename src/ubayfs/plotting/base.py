"""What a display is: plain data that can be drawn."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np

from .._arguments import Array, FeatureIndex, Floats, Ints, Mask, check_int
from .._plain import decode, plain
from ..data.blocks import Blocks
from ..data.categories import CategoryTable, columns_of
from ..data.correlation import METHODS, absolute_correlations
from ..decision.selection import Selection
from ..exceptions import InputError, repr_of
from ..trust.front import Front
from ..trust.trust import Trust
from .figures import Drawing
from .style import WIDTH, house_style, legend_below, wrapped

_MOST_SELECTED = 100  # that a figure lists

D = TypeVar("D", bound="Display")


@dataclass(frozen=True, eq=False)
class Correlations:
    """Correlations among some features: computed once, for facts and figures, and stored for the next decision.

    The matrices are signed, of shape (n_features, n_features); 0 for a constant feature.
    """

    features: tuple[str, ...]
    spearman: Floats
    pearson: Floats

    @classmethod
    def from_data(cls, X: Array, feature_names: Array, positions: Ints) -> Correlations:
        """Compute the correlations of the features at some positions."""
        values = columns_of(X, positions)
        names = tuple(feature_names[positions].tolist())
        return cls(names, signed_correlations(values, "spearman"), signed_correlations(values, "pearson"))

    def cover(self, features: Iterable[str]) -> bool:
        """Return whether the correlations among these features are known."""
        return set(features) <= set(self.features)

    def among(self, features: Sequence[str]) -> Correlations:
        """Return the correlations among these features, in this order."""
        place = {name: position for position, name in enumerate(self.features)}
        order = np.ix_(*2 * [[place[name] for name in features]])
        return Correlations(tuple(features), self.spearman[order], self.pearson[order])

    @property
    def redundancy(self) -> float:
        """Mean absolute Pearson correlation over all pairs; nan for fewer than two features."""
        pairs = np.abs(self.pearson[np.triu_indices(len(self.features), 1)])
        return float(pairs.mean()) if len(pairs) else np.nan

    def to_dict(self) -> dict[str, Any]:
        """Return everything in plain types: of each matrix the part above the diagonal, row by row."""
        upper = np.triu_indices(len(self.features), 1)
        parts = {key: getattr(self, key)[upper].tolist() for key in ("spearman", "pearson")}
        return {"features": list(self.features), **parts}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Correlations:
        """Make correlations of what :meth:`to_dict` gave."""
        n = len(content["features"])
        matrices = np.tile(np.eye(n), (2, 1, 1))
        for matrix, key in zip(matrices, ("spearman", "pearson"), strict=True):
            matrix[np.triu_indices(n, 1)] = content[key]
            matrix[:] = np.triu(matrix) + np.triu(matrix, 1).T
        return cls(tuple(content["features"]), *matrices)


def signed_correlations(X: Array, method: str = "spearman") -> Floats:
    """Return the correlations of all columns, of shape (n_columns, n_columns).

    That of a category without order is the largest of its 0/1 columns, and has no sign.
    """
    if isinstance(X, CategoryTable):
        unsigned = np.isin(np.arange(X.shape[1]), [j for j, levels in X.levels.items() if levels.n_columns > 1])
        (_, largest), *_ = absolute_correlations(X, method)
        return np.where(unsigned | unsigned[:, None], largest, signed_correlations(X.values, method))
    if method == "spearman":  # the same without scipy.stats, whose import takes longer than all of this
        X, method = np.column_stack([average_ranks(column) for column in X.T]), "pearson"
    matrix = np.zeros((X.shape[1], X.shape[1]))
    for part, values in METHODS[method](X):  # of some features with themselves and all later ones
        matrix[part, part.start :] = values
        matrix[part.start :, part] = values.T
    np.fill_diagonal(matrix, 1.0)
    return np.clip(matrix, -1.0, 1.0)


def average_ranks(values: Array) -> Floats:
    """Return ranks from 1; equal values share the mean of theirs, missing ones have none."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.where(np.isnan(values), np.nan, (np.cumsum(counts) - (counts - 1) / 2)[place])  # NaN comes last


@dataclass(frozen=True)
class ReportData:
    """What a report knows beside the selection."""

    correlations: Correlations | None = None  # among the selected features and others, of the data of the fit
    blocks: Blocks = field(default_factory=lambda: Blocks({}))
    level: float = 0.9  # of credible intervals
    profile: Any = None  # the ProfileDisplay of the selected features and others, if their samples have groups
    trust: Trust = field(default_factory=Trust)
    front: Front | None = None
    max_features: int = 20  # that a figure lists; more when more are selected


@dataclass(frozen=True)
class Display:
    """Plain data behind one figure.

    A child adds fields, computes them in ``from_selection`` and draws them in ``_draw``. It also knows its place:
    `section` is the key of the section of a report, `caption` one sentence below the figure, `report_arguments` what a
    report passes to ``from_selection``: fields of :class:`ReportData` by the argument that takes them, such as
    ``trust.related``. `applies` tells whether a report on a selection has this figure.
    """

    name: ClassVar[str]
    section: ClassVar[str]
    caption: ClassVar[str]
    report_arguments: ClassVar[Mapping[str, str]] = {}
    height: ClassVar[float] = 3.6  # of a figure of its own, in inches

    @classmethod
    def applies(cls, selection: Selection, data: ReportData) -> bool:
        """Return whether a report on this selection has this figure; by default, if there was an ensemble."""
        return selection.posterior is not None

    @classmethod
    def for_report(cls: type[D], selection: Selection, data: ReportData) -> D:
        """Compute the display as a report shows it."""
        arguments = {argument: attrgetter(name)(data) for argument, name in cls.report_arguments.items()}
        made: D = cls.from_selection(selection, **arguments)  # type: ignore[attr-defined]
        return made

    def plot(self, ax: Any = None) -> Drawing:
        """Draw the display, in a new figure or in axes of matplotlib, whose margins some displays use, too.

        The new figure is unknown to pyplot, so that nothing has to be closed.
        """
        with house_style():
            return self._own_figure() if ax is None else self._plot_into(ax)

    def _plot_into(self, ax: Any) -> Drawing:
        width = 72 * ax.bbox.width / ax.figure.dpi
        title = wrapped(self._heading()[0], max(int(width / 5.5), 20))
        ax.set_title(title, loc="left", fontweight="bold", size=8.0)
        self._draw(ax)
        ax.tick_params(labelsize=7.5)  # axes of the caller were made under other settings
        ax.xaxis.label.set_size(8.0)
        ax.yaxis.label.set_size(8.0)
        if ax.get_legend_handles_labels()[0]:
            ax.legend(loc="best")
        return Drawing(ax.figure, ax)

    def _own_figure(self) -> Drawing:
        from matplotlib.figure import Figure

        title, details = self._heading()
        figure = Figure(figsize=(self._width(), self._height()), layout="constrained")
        ax = figure.subplots()
        figure.suptitle(wrapped(title), x=0.01, ha="left", fontweight="bold", size=9.0)
        self._draw(ax)
        legend_below(ax)
        if details:
            # Below everything else; the layout makes room for it as for any label of the figure.
            figure.supxlabel(wrapped(details, 115), x=0.01, ha="left", size=7.0, color="0.25", linespacing=1.4)
        return Drawing(figure, ax)

    def _repr_png_(self) -> tuple[bytes, dict[str, int]] | None:
        return self.plot()._repr_png_()

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Draw the display and write it to a .png, .svg or .pdf file."""
        return self.plot().save(path)

    def to_dict(self) -> dict[str, Any]:
        """Return the data in plain types, ready for JSON; infinite numbers become strings."""
        return {"display": self.name, **plain(vars(self))}

    @classmethod
    def from_dict(cls: type[D], content: Mapping[str, Any]) -> D:
        """Make a display of what :meth:`to_dict` gave."""
        if not isinstance(content, Mapping) or content.get("display") != cls.name:
            got = content.get("display") if isinstance(content, Mapping) else type(content).__name__
            raise InputError.of("content", f"must be what {cls.__name__}.to_dict gave; got {repr_of(got)}.", content)
        return decode(cls, {key: value for key, value in content.items() if key != "display"})

    def _heading(self) -> tuple[str, str]:
        """Return the title and, for a figure of its own, what else a reader must know."""
        raise NotImplementedError

    def _width(self) -> float:
        """Return the width of a figure of its own in inches."""
        return WIDTH

    def _height(self) -> float:
        """Return the height of a figure of its own in inches, where it depends on the content."""
        return self.height

    def _draw(self, ax: Any) -> None:
        raise NotImplementedError


def top_features(score: Array, selected: Mask, max_features: int) -> Ints:
    """Return the selected features and those of the highest score, together `max_features` unless more are selected.

    They are ordered by falling score, equal ones by position. Of more than a hundred selected ones only the highest are
    returned: a figure must end somewhere.
    """
    max_features = check_int("max_features", max_features, low=1)
    order = np.argsort(-score, kind="stable")
    members = order[selected[order]][: max(max_features, _MOST_SELECTED)]
    further = order[~selected[order]][: max(max_features - len(members), 0)]
    shown = np.zeros(len(score), dtype=bool)
    shown[members] = shown[further] = True
    return order[shown[order]]


def with_support(selection: Selection, shown: Ints, named: Mask | None = None) -> Ints:
    """Return those of some features that are selected, named, or have votes or weight; others only fill a list."""
    supported = selection.importance > 0
    if selection.counts is not None and selection.weights is not None:
        supported = (selection.counts > 0) | (selection.weights > selection.weights.min())
    supported = supported | selection.mask | (False if named is None else named)
    return shown[supported[shown]]


def blocks_of(blocks: Blocks, names: Array, positions: Ints) -> list[tuple[str, ...]]:
    """Return the names of the blocks of some features, given by position."""
    belongs = blocks.matrix(FeatureIndex(names))[:, positions].toarray()
    return [tuple(name for name, inside in zip(blocks.names, column, strict=True) if inside) for column in belongs.T]


def at(values: Array, positions: Array) -> tuple[Any, ...]:
    """Return the values at some positions, or where a mask is true, as plain values."""
    return tuple(np.asarray(values)[positions].tolist())


def shown_of(n_shown: int, n_features: int) -> str:
    """Return a sentence on features left out of a figure, or nothing."""
    if n_shown == n_features:
        return ""
    return f"{n_shown:,} of {n_features:,} features shown: the selected ones and those that rank highest. "
