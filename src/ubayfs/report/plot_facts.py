"""Values of the plots of an answer, see :mod:`.plots`, from the data and from a validation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from .._arguments import Array, FeatureIndex, Floats, Ints, Mask
from ..data.feature_data import FeatureData
from ..data.survival_curves import kaplan_meier
from ..plotting.base import average_ranks
from ..plotting.profile import Grouping, can_be_grouped
from ..plotting.validation import round_times
from ..trust.prediction_metrics import ROC_GRID
from .facts import ChosenFeature
from .plots import Kind, Plot, Series, Values
from .relations import middle_distance

if TYPE_CHECKING:
    from ..trust.validation import Validation

# With many equal values the two are not halves.
HALVES, ENDS, RISKS = ("up to median", "above median"), ("middle half", "both ends"), ("low risk", "high risk")
_MOST_STEPS = 120  # of a curve of shares without event
_MOST_LEVELS = 6
_MOST_POINTS = 120
_PLACES, _WIDTH = np.linspace(0.03, 0.97, 25), 0.12  # of a local mean, as shares of the ranks


def feature_plots(data: FeatureData, chosen: Iterable[ChosenFeature]) -> tuple[Plot, ...]:
    """Return a plot of each feature in the data, then one of each pair that models selected together.

    None where samples have no target, many classes, or several labels.
    """
    if not can_be_grouped(data.target):
        return ()
    members, grouping = tuple(chosen), Grouping.from_target(data.target)
    names = FeatureIndex(data.feature_names)
    pairs = dict.fromkeys(
        frozenset((member.position, names.position(each.with_, "feature")))
        for member in members
        for each in member.main_votes
        if each.with_ is not None
    )
    both = [_pair(data, sorted(pair), grouping) for pair in pairs if len(pair) == 2]
    plots = [_of_feature(data, member, grouping) for member in members]
    return tuple(plot for plot in (*plots, *both) if plot is not None)


def _of_feature(data: FeatureData, member: ChosenFeature, grouping: Grouping) -> Plot | None:
    """Return the plot that shows how a feature is related to the target; None if it has no values."""
    x = _column(data, member.position)
    if np.isnan(x).all():
        return None
    if data.target.task == "survival":
        return _in_survival(data, member, x)
    return _along_target(data, member, x, grouping) if grouping.along is not None else _by_class(member, x, grouping)


def _in_survival(data: FeatureData, member: ChosenFeature, x: Floats) -> Plot:
    levels, bent = data.levels.get(member.position), member.is_bent
    if levels is not None:
        in_level = {label: x == code for code, label in enumerate(levels.labels[:_MOST_LEVELS])}
        return _in_groups(data, "halves", member, in_level)
    values = middle_distance(x) if bent else x
    cut = float(np.nanmedian(values))
    halves = dict(zip(ENDS if bent else HALVES, (values <= cut, values > cut), strict=True))
    return _in_groups(data, "ends" if bent else "halves", member, halves, None if bent else cut)


def _along_target(data: FeatureData, member: ChosenFeature, x: Floats, grouping: Grouping) -> Plot:
    y, levels, present = grouping.along, data.levels.get(member.position), ~np.isnan(x)
    assert y is not None
    shown = np.concatenate(grouping.shown)
    if levels is not None and levels.n_columns > 1:
        in_level = [(label, np.flatnonzero(x == code)) for code, label in enumerate(levels.labels)]
        boxes = (_boxed(label, y, where, np.intersect1d(where, shown)) for label, where in in_level if len(where))
        return Plot("levels", (member.feature,), tuple(boxes))
    shown = shown[present[shown]]
    points = Series("", int(present.sum()), _values(x[shown]), _values(y[shown]))
    return Plot("target", (member.feature,), (points,), _local_mean(x[present], y[present]))


def _by_class(member: ChosenFeature, x: Floats, grouping: Grouping) -> Plot:
    present = ~np.isnan(x)
    parts = [
        _boxed(name, x, group[present[group]], shown[present[shown]])
        for name, group, shown in zip(grouping.names, grouping.groups, grouping.shown, strict=True)
    ]
    if not member.is_bent or len(parts) > 2:
        return Plot("classes", (member.feature,), tuple(parts))
    second = np.zeros(len(x))
    second[grouping.groups[1]] = 1.0
    series = tuple(Series(part.name, part.n, x=part.y) for part in parts)
    return Plot("share", (member.feature,), series, _local_mean(x[present], second[present]))


def _pair(data: FeatureData, positions: Sequence[int], grouping: Grouping) -> Plot | None:
    """Return two features in the groups of the target; None for categories."""
    if any(position in data.levels for position in positions):
        return None
    x, y = (_column(data, position) for position in positions)
    present = ~np.isnan(x) & ~np.isnan(y)
    parts = zip(grouping.names, grouping.groups, [g[present[g]] for g in grouping.shown], strict=True)
    series = (Series(name, int(present[g].sum()), _values(x[s]), _values(y[s])) for name, g, s in parts)
    return Plot("pair", tuple(map(str, data.feature_names[list(positions)])), tuple(series))


def _column(data: FeatureData, position: int) -> Floats:
    return np.asarray(data.X[:, [position]], dtype=np.float64)[:, 0]


def _values(numbers: Array) -> Values:
    """Return numbers with four significant digits."""
    return tuple(float(f"{number:.4g}") for number in np.asarray(numbers).tolist())


def _boxed(name: str, values: Floats, group: Ints, shown: Ints) -> Series:
    box = _values(np.quantile(values[group], [0, 0.25, 0.5, 0.75, 1])) if len(group) else ()
    return Series(name, len(group), y=_values(values[shown]), box=box)


def _local_mean(x: Floats, y: Floats) -> Series:
    """Return a local mean of y along x: a weighted straight line around each of 25 quantiles, over ranks of x."""
    ranks = (average_ranks(x) - 0.5) / len(x)
    off = ranks - _PLACES[:, None]
    weights = np.exp(-0.5 * (off / _WIDTH) ** 2)
    weights /= weights.sum(axis=1, keepdims=True)
    center = (weights * off).sum(axis=1, keepdims=True)
    spread = (weights * (off - center) ** 2).sum(axis=1)
    mean = weights @ y
    slope = (weights * (off - center)) @ y / np.where(spread > 0, spread, np.inf)
    # Weighted least squares at the place itself, where the distance is 0; it stays within what there is.
    fitted = np.clip(mean - slope * center[:, 0], y.min(), y.max())
    return Series("", len(x), _values(np.quantile(x, _PLACES)), _values(fitted))


def _in_groups(
    data: FeatureData, kind: Kind, member: ChosenFeature, groups: dict[str, Mask], cut: float | None = None
) -> Plot:
    series, times = _survival(data.target.time, data.target.event, groups)
    return Plot(kind, (member.feature,), series, cut=cut, times=times)


def _survival(time: Floats, event: Floats, groups: dict[str, Mask]) -> tuple[tuple[Series, ...], Values]:
    """Return the shares without event over time of groups of samples that have any, and times of numbers at risk."""
    groups = {name: group for name, group in groups.items() if group.any()}
    times = round_times(max((float(time[group].max()) for group in groups.values()), default=0.0))
    return tuple(_steps(name, time[group], event[group], times) for name, group in groups.items()), times


def _steps(name: str, time: Floats, event: Floats, at: Values) -> Series:
    """Return the shares without event by Kaplan and Meier, at the times of events and at the last one."""
    times, shares = kaplan_meier(time, event)
    falls = np.flatnonzero(np.diff(shares, prepend=1.0) < 0)
    if len(falls) > _MOST_STEPS:
        falls = falls[np.linspace(0, len(falls) - 1, _MOST_STEPS).astype(np.intp)]
    kept = np.union1d(falls, [len(times) - 1])
    x, y = _values(np.append(0.0, times[kept])), _values(np.append(1.0, shares[kept]))
    return Series(name, len(time), x, y, at_risk=tuple(int((time >= each).sum()) for each in at))


def validation_plot(validation: Validation) -> Plot | None:
    """Return what is predicted of held-out samples beside what is true; None if it is not known."""
    if validation.risks:
        time, event, risk = np.array([(each.time, each.event, each.risk) for each in validation.risks]).T
        series, times = _survival(time, event, dict(zip(RISKS, (risk <= 0, risk > 0), strict=True)))
        return Plot("risk", series=series, times=times)
    if validation.predictions:
        true, predicted = np.array([(each.true, each.predicted) for each in validation.predictions]).T
        shown = np.argsort(true, kind="stable")
        shown = shown[np.linspace(0, len(shown) - 1, min(len(shown), _MOST_POINTS)).astype(np.intp)]
        return Plot("predicted", series=(Series("", len(true), _values(true[shown]), _values(predicted[shown])),))
    if validation.roc:
        return Plot(
            "roc", series=(Series("", validation.n_units, _values(ROC_GRID), _values(np.array(validation.roc))),)
        )
    return None
