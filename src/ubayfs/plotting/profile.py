"""The selected features in the data: where they are high and low, by how much, and sample by sample.

By how much: with two classes the difference of their means in standard deviations within them; with more, the share of
the sum of squares between classes; with numbers the rank correlation with them, with survival that with martingale
residuals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import fdtrc

from .._arguments import Array, Floats, Ints, Mask
from .._plain import counted
from ..data.feature_data import FeatureData
from ..data.hazards import RiskSets
from ..data.target import Target
from ..decision.selection import Selection
from ..exceptions import InputError
from . import style
from .base import Display, ReportData, signed_correlations

COLORS = (style.BLUE, style.VERMILION, style.GREEN, style.PURPLE, style.ORANGE, style.SKY, style.BLACK, "#737373")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_THIRDS = ("lowest third", "middle third", "highest third")
_SHOWN = 120  # samples of the heat map
_LARGEST = 2.5  # standard deviations of the full color
_NORMAL = 1.96  # standard errors to the end of a 95 % interval
# What the effect of a feature is, by the kind of groups.
EFFECTS = {
    "difference": "d: difference of the means of both classes, in standard deviations within the classes",
    "share": "eta\N{SUPERSCRIPT TWO}: share of the variance that the classes explain",
    "correlation": "r: rank correlation with the target",
    "risk": "r: rank correlation with the martingale residual, the events of a sample beyond those expected then",
}
SYMBOLS = {"difference": "d", "share": "eta\N{SUPERSCRIPT TWO}", "correlation": "r", "risk": "r"}


def effect_text(kind: str, effect: float, highest_in: str, clear: bool = True) -> str:
    """Return where a feature is high, and by how much; no direction is named where it is not clear.

    >>> effect_text("difference", -1.2, "benign"), effect_text("correlation", 0.5, "highest third")
    ('higher in benign (d 1.20)', 'rises with the target (r +0.50)')
    >>> effect_text("risk", -0.2, "lowest third"), effect_text("correlation", 0.04, "highest third", clear=False)
    ('lower risk if high (r -0.20)', 'no clear direction (r +0.04)')
    """
    if not clear:
        signed = kind in ("correlation", "risk")
        size = f"{effect:+.2f}" if signed else f"{abs(effect):.2f}"
        return f"no clear {'direction' if signed else 'difference'} ({SYMBOLS[kind]} {size})"
    if kind == "correlation":
        return f"{'rises' if effect > 0 else 'falls'} with the target (r {effect:+.2f})"
    if kind == "risk":
        return f"{'higher' if effect > 0 else 'lower'} risk if high (r {effect:+.2f})"
    where = "higher" if kind == "difference" else "highest"
    return f"{where} in {highest_in} ({SYMBOLS[kind]} {abs(effect):.2f})"


@dataclass(frozen=True)
class ProfileDisplay(Display):
    """Means of features in each class, or in thirds of a measured target, and a heat map of samples in that order.

    All values are in standard deviations from the mean of all samples.
    """

    features: tuple[str, ...]
    groups: tuple[str, ...]
    sizes: tuple[int, ...]  # samples in each group
    means: tuple[tuple[float, ...], ...]  # of each feature in each group
    effects: tuple[float, ...]
    effect: str  # what the effects are: difference, share, correlation or risk
    values: tuple[tuple[float, ...], ...]  # of each feature in the samples of the heat map
    shown: tuple[int, ...]  # samples of each group in the heat map
    clear: tuple[bool, ...] = ()  # whether the 95 % interval of each effect excludes 0; empty where it is not known

    name: ClassVar[str] = "profile"
    section: ClassVar[str] = "chosen"
    caption: ClassVar[str] = "The selected features in the data: where they are high and where low, and by how much."

    @classmethod
    def applies(cls, selection: Selection, data: ReportData) -> bool:
        """Return whether a report on this selection has this figure."""
        return data.profile is not None and len(selection.features) > 0

    @classmethod
    def for_report(cls, selection: Selection, data: ReportData) -> ProfileDisplay:
        """Return the display of what is known of the data."""
        profile: ProfileDisplay = data.profile
        return profile.among(selection.feature_names[_by_importance(selection)].tolist())

    @classmethod
    def from_selection(cls, selection: Selection, X: Any, y: Any = None, max_features: int = 30) -> ProfileDisplay:
        """Compute the display.

        Parameters
        ----------
        selection : Selection
        X : array-like, DataFrame or FeatureData of shape (n_samples, n_features)
            The data of the fit.
        y : array-like of shape (n_samples,), optional
            Classes or numbers; default: those of the FeatureData.
        max_features : int, default 30
            Of more selected features, the most important ones are shown.

        Examples
        --------
        >>> from ubayfs import Evidence, decide
        >>> selection = decide(Evidence.from_sets([[1, 0], [1, 0]]), max_size=1)
        >>> display = ProfileDisplay.from_selection(selection, [[0, 1], [1, 0], [4, 1], [5, 0]], ["a", "a", "b", "b"])
        >>> display.groups, display.effect, [round(effect, 2) for effect in display.effects]
        (('a', 'b'), 'difference', [5.66])
        """
        data = X if y is None else FeatureData.from_table(X, y)
        table = selection.data_of_fit(data)
        target = None if table is None else table.target
        if table is None or not can_be_grouped(target):
            raise InputError.of("y", "must be given, one class or number per sample: the display is by these.", y)
        return profile_of(table, selection.feature_names, _by_importance(selection)[:max_features])

    def among(self, features: Sequence[str]) -> ProfileDisplay:
        """Return the display of some of its features, in another order."""
        rows = [self.features.index(name) for name in features if name in self.features]
        columns: dict[str, Any] = {
            key: tuple(getattr(self, key)[row] for row in rows) for key in ("features", "means", "effects", "values")
        }
        return replace(self, **columns, clear=tuple(self.clear[row] for row in rows if self.clear))

    def _heading(self) -> tuple[str, str]:
        by = {"correlation": "along the target", "risk": "by thirds of the risk"}.get(self.effect, "by class")
        title = f"{counted(len(self.features), 'selected feature')} in the data, {by}"
        some = sum(self.shown)
        samples = f"{some:,} of {sum(self.sizes):,} samples" if some < sum(self.sizes) else counted(some, "sample")
        higher = f", above 0 where {self.groups[1]} is higher" if self.effect == "difference" else ""
        # Of survival a report has hazard ratios: two estimators could disagree on a direction that is not clear.
        effects = "" if self.effect == "risk" else f"{EFFECTS[self.effect]}{higher}. "
        details = (
            "Left: means, in standard deviations from the mean of all samples. "
            f"{effects}Right: {samples}; red is above the mean, blue below. The features "
            "were selected on these samples: on others the effects will be smaller."
        )
        return title, details

    def _height(self) -> float:
        return 1.55 + style.list_height(len(self.features)) + 0.15 * max(len(self.groups) - 3, 0)

    def _draw(self, ax: Any) -> None:
        rows, means = np.arange(len(self.features)), np.array(self.means).reshape(len(self.features), -1)
        low, high = np.nanmin(means, axis=1), np.nanmax(means, axis=1)
        ax.axvline(0, color=style.LIGHT_GREY, linewidth=0.8, zorder=0)
        ax.hlines(rows, low, high, color="0.7", linewidth=1.0, zorder=1)
        for place, (group, size) in enumerate(zip(self.groups, self.sizes, strict=True)):
            ax.plot(
                means[:, place], rows, _MARKERS[place % len(_MARKERS)], color=COLORS[place % len(COLORS)],
                markersize=4.5, linestyle="none", clip_on=False, label=f"{style.short(group)} ({size:,})", gid="means",
            )  # fmt: skip
        ax.set_xlabel("mean (standard deviations)")
        style.list_features(ax, self.features)
        if self.effect != "risk":
            sign = "" if self.effect == "share" else "+"
            style.write_beside(ax, 5, SYMBOLS[self.effect], [f"{effect:{sign}.2f}" for effect in self.effects])
        if right := style.beside(ax, (3, 4)):
            self._draw_samples(right)

    def _draw_samples(self, ax: Any) -> None:
        from matplotlib import colormaps

        values = np.array(self.values, dtype=np.float64).reshape(len(self.features), -1)
        image = ax.imshow(
            values, aspect="auto", interpolation="nearest", vmin=-_LARGEST, vmax=_LARGEST,
            cmap=colormaps["RdBu_r"].with_extremes(bad=style.LIGHT_GREY),
        )  # fmt: skip
        ax.set(xticks=[], yticks=[], ylim=(max(len(self.features), 1) - 0.4, -0.6))
        ax.spines[:].set_visible(False)
        ends = np.cumsum(self.shown)
        for place, (start, end) in enumerate(zip(ends - self.shown, ends, strict=True)):
            ax.hlines(-0.72, start - 0.5, end - 0.5, color=COLORS[place % len(COLORS)], linewidth=4, clip_on=False)
        ax.vlines(ends[:-1] - 0.5, -0.5, len(self.features) - 0.5, color=style.BLACK, linewidth=0.8)
        ax.set_xlabel("samples, in the order of the groups")
        bar = ax.figure.colorbar(image, ax=ax, ticks=[-2, 0, 2], aspect=12, pad=0.02, fraction=0.06)
        bar.set_label("standard deviations\nfrom the mean", size=style.SMALL)
        bar.outline.set_visible(False)


def can_be_grouped(target: Target | None) -> bool:
    """Return whether samples can be put into few groups by their target: classes, or thirds of numbers."""
    if target is None or target.values is None:
        return False
    return _along(target) is not None or 2 <= target.n_classes <= len(COLORS)


def _along(target: Target) -> Floats | None:
    """Return the numbers that put samples in an order: a measured target, or martingale residuals of survival."""
    if target.task == "survival":
        return RiskSets.from_times(target.time, target.event).null_residuals(np.ones((1, len(target.event))))[0]
    return np.asarray(target.values, dtype=np.float64) if target.is_numeric else None


class Grouping(NamedTuple):
    """Samples in few groups by their target: classes, or thirds of what puts them in an order."""

    kind: str  # of effects: difference, share, correlation or risk
    names: tuple[str, ...]
    groups: list[Ints]
    along: Floats | None  # of shape (n_samples,): numbers, or martingale residuals of survival

    @classmethod
    def from_target(cls, target: Target) -> Grouping:
        """Return the groups of a target whose samples can be grouped."""
        along = _along(target)
        if along is not None:
            kind = "risk" if target.task == "survival" else "correlation"
            return cls(kind, _THIRDS, np.array_split(np.argsort(along, kind="stable"), 3), along)
        assert target.classes is not None
        groups = [np.flatnonzero(target.values == code) for code in range(target.n_classes)]
        return cls("difference" if len(groups) == 2 else "share", tuple(map(str, target.classes)), groups, None)

    @property
    def shown(self) -> list[Ints]:
        """The samples of each group that figures and plots show: all, or about 120 evenly spaced ones."""
        return [_some(group, sum(map(len, self.groups))) for group in self.groups]

    def effects(self, z: Floats) -> tuple[Floats, Floats]:
        """Return means of shape (n_groups, n_columns) and effects of shape (n_columns,) of standardized columns."""
        means = np.array([_means(z[group]) for group in self.groups])
        if self.along is None:
            return means, _effects(z, self.groups, means)
        return means, signed_correlations(np.column_stack([z, self.along]))[-1, :-1]


def _by_importance(selection: Selection) -> Ints:
    return selection.indices[np.argsort(-selection.importance[selection.indices], kind="stable")]


def profile_of(data: FeatureData, feature_names: Array, positions: Ints) -> ProfileDisplay:
    """Return the display of some features of data whose samples can be grouped."""
    X = np.asarray(data.X[:, positions], dtype=np.float64)
    # Of order 1, exactly: squares of 1e300 and 1e-300 would leave the range of numbers.
    X = np.ldexp(X, -np.frexp(np.nanmax(np.abs(X), axis=0, initial=0.0))[1])
    spread = np.nanstd(X, axis=0)
    z = (X - np.nanmean(X, axis=0)) / np.where(spread > 0, spread, 1.0)
    kind, names, groups, _ = grouping = Grouping.from_target(data.target)
    means, effects = grouping.effects(z)
    counts = np.array([(~np.isnan(z[group])).sum(axis=0) for group in groups], dtype=np.float64)
    if data.groups is not None:  # samples of one patient are no further evidence
        counts *= len(np.unique(data.groups)) / len(z)
    samples = grouping.shown
    heat = np.round(np.clip(z[np.concatenate(samples)].T, -9.99, 9.99), 2)  # finer than the eye can tell
    return ProfileDisplay(
        features=tuple(feature_names[positions].tolist()),
        groups=names,
        sizes=tuple(map(len, groups)),
        means=tuple(map(tuple, means.T.tolist())),
        effects=tuple(effects.tolist()),
        effect=kind,
        values=tuple(map(tuple, heat.tolist())),
        shown=tuple(map(len, samples)),
        clear=tuple(_clear(kind, effects, counts).tolist()),
    )


def _clear(kind: str, effects: Floats, counts: Floats) -> Mask:
    """Return whether the 95 % interval of each effect, by itself, excludes 0; `counts` are the samples of each group.

    Both have a column per feature.

    Of a difference it is the usual one of d, of rank correlations that of Fisher's z (Fieller, Hartley and Pearson
    1957); a share is clear where the F test of the classes is below 5 %.
    """
    n, n_groups = counts.sum(axis=0), len(counts)
    if kind == "share":
        degrees = np.maximum(n - n_groups, 1)
        # F of a share R of g groups: R / (1 - R) (n - g) / (g - 1).
        ratio = effects / np.maximum(1 - effects, 1e-300) * degrees / (n_groups - 1)
        return np.asarray(fdtrc(n_groups - 1, degrees, ratio) <= 0.05)
    if kind == "difference":
        # Variance of d: n / (n1 n2) + d^2 / (2 n).
        error = np.sqrt(n / np.maximum(counts.prod(axis=0), 1) + effects**2 / np.maximum(2 * n, 1))
        return np.asarray(np.abs(effects) > _NORMAL * error)
    z = np.arctanh(np.clip(effects, -1 + 1e-12, 1 - 1e-12))
    return np.asarray((n > 3) & (np.abs(z) > _NORMAL * np.sqrt(1.06 / np.maximum(n - 3, 1))))


def _some(group: Ints, n_samples: int) -> Ints:
    """Return samples of a group, evenly spaced, such that all groups together have about as many as are shown."""
    n = min(len(group), max(1, round(_SHOWN * len(group) / n_samples)))
    return group[np.linspace(0, len(group) - 1, n).astype(np.intp)]


def _means(values: Floats) -> Floats:
    present = ~np.isnan(values)
    return np.where(present, values, 0.0).sum(axis=0) / np.maximum(present.sum(axis=0), 1)


def _effects(z: Floats, groups: list[Ints], means: Floats) -> Floats:
    """Return the effect of each feature: the difference of two classes, or the share that several explain."""
    counts = np.array([(~np.isnan(z[group])).sum(axis=0) for group in groups])
    within = np.array([np.nansum((z[group] - mean) ** 2, axis=0) for group, mean in zip(groups, means, strict=True)])
    if len(groups) == 2:
        # The pooled standard deviation within both classes, of n - 2 degrees of freedom.
        spread = np.sqrt(within.sum(axis=0) / np.maximum(counts.sum(axis=0) - 2, 1))
        return (means[1] - means[0]) / np.where(spread > 0, spread, np.inf)
    # Sums of squares: between the classes over between and within.
    between = (counts * (means - (counts * means).sum(axis=0) / counts.sum(axis=0)) ** 2).sum(axis=0)
    total = between + within.sum(axis=0)
    return between / np.where(total > 0, total, np.inf)
