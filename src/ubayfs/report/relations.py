"""How selected features are related to the target: hazard ratios, marked classes, associations beyond covariates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from .._arguments import Array, Floats, Mask
from .._plain import number
from ..data.categories import Levels, indicators
from ..data.covariates import association, basis_of, target_left
from ..data.feature_data import FeatureData
from ..data.hazards import cox_errors, fit_cox
from ..data.target import CLASSIFICATION, Target
from ..exceptions import UBayFSError
from ..plotting.base import average_ranks
from ..plotting.profile import Grouping, can_be_grouped
from ..selectors.concordance import Concordance, Contrast
from ..selectors.nominal_classes import is_nominal
from ..trust.association import u_shaped
from .facts import Associations, Bend, Category, ChosenFeature, MarkedClass

_NORMAL = 1.96  # standard errors to the end of a 95 % interval


def with_relations(
    chosen: Iterable[ChosenFeature], data: FeatureData | None, earlier: Iterable[ChosenFeature]
) -> tuple[ChosenFeature, ...]:
    """Return chosen features with how they are related to the target; None for what has no meaning.

    Of survival these are hazard ratios; of many classes or labels the one that the feature marks; with covariates,
    associations before and after adjusting for them. A category has its levels. Without data, all are those of the
    `earlier` chosen features of another decision.
    """
    members = tuple(chosen)
    if data is not None:
        bent = bends(data, [member.position for member in members])
        return tuple(
            replace(_with_relations(member, data), bend=bend) for member, bend in zip(members, bent, strict=True)
        )
    before = {member.feature: member for member in earlier}
    return tuple(_as_before(member, before.get(member.feature)) for member in members)


def _with_relations(member: ChosenFeature, data: FeatureData) -> ChosenFeature:
    return replace(
        member,
        **vars(hazard(data, member.position)),
        beyond=beyond(data, member.position),
        marks=marked_class(data, member.position),
        category=category_of(data, member.position),
    )


def _as_before(member: ChosenFeature, before: ChosenFeature | None) -> ChosenFeature:
    if before is None:
        return member
    hazard_before = Hazard(before.hazard_ratio, before.hazard_low, before.hazard_high)
    same = {name: getattr(before, name) for name in ("beyond", "marks", "category", "bend")}
    return replace(member, **vars(hazard_before), **same)


def bends(data: FeatureData, positions: Sequence[int]) -> tuple[Bend | None, ...]:
    """Return the U-shaped relations of features to the target, None where there is none.

    They are named by the test that says whether a feature is related (:mod:`ubayfs.trust.association`).
    """
    if not positions or not can_be_grouped(data.target):
        return (None,) * len(positions)
    bent = u_shaped(data, np.array(positions, dtype=np.intp))
    return tuple(_bend(data, position) if is_bent else None for position, is_bent in zip(positions, bent, strict=True))


def _bend(data: FeatureData, position: int) -> Bend:
    distance = middle_distance(np.asarray(data.X[:, [position]], dtype=np.float64)[:, 0])
    if data.target.task == "survival":
        ratio = _hazard_of(data, distance, np.ones(len(distance), dtype=bool))
        return Bend("hazard", ratio.hazard_ratio, "", ratio.hazard_low, ratio.hazard_high)
    grouping = Grouping.from_target(data.target)
    means, effects = grouping.effects(distance[:, None])
    outer = "" if grouping.kind == "correlation" else grouping.names[int(np.argmax(means))]
    return Bend(grouping.kind, number(effects[0]), outer)


def middle_distance(values: Floats) -> Floats:
    """Return how far the ranks of values are from their middle, as shares of the samples, of shape (n_samples,).

    >>> middle_distance(np.array([5.0, -1.0, 0.0, 9.0, 7.0])).tolist()
    [0.0, 0.4, 0.2, 0.4, 0.2]
    """
    ranks = average_ranks(values)
    return np.asarray(np.abs(ranks - np.nanmean(ranks)) / len(ranks))


def beyond(data: FeatureData, position: int) -> Associations | None:
    """Return the association of a feature with each covariate, and with the target before and after adjustment.

    Samples without a value are left out. What cannot be computed is None; all of it without covariates.
    """
    if data.covariates is None:
        return None
    x, present = _values(data, position)
    covariates, levels = data.covariates.take(present), _unordered(data, position)
    of_levels = levels is not None
    x = x if levels is None else indicators(x, levels)
    constant = basis_of(np.zeros((len(x), 0)))
    related = {
        item.name: _size(association(x, item.columns, constant), item.levels is None and not of_levels)
        for item in covariates.items
    }
    with_target: list[float | None] = [None, None]
    if data.target.values is not None:
        with suppress(UBayFSError):  # Cox's model has no fit
            with_target = [
                _size(
                    association(x, target_left(basis, data.target, present)[1], basis),
                    data.target.task not in CLASSIFICATION and not of_levels,
                )
                for basis in (constant, covariates.basis)
            ]
    return Associations(related, *with_target)


def _size(value: float, signed: bool) -> float | None:
    """Return an association; one with classes or levels has no sign, since it would be that of their order."""
    return number(value if signed else abs(value))


@dataclass(frozen=True)
class Hazard:
    """By what a standard deviation more of a feature multiplies the hazard, with its 95 % interval."""

    hazard_ratio: float | None = None
    hazard_low: float | None = None
    hazard_high: float | None = None


def hazard(data: FeatureData, position: int) -> Hazard:
    """Return by what a standard deviation more of a feature multiplies the hazard.

    It is that of Cox's model of the feature alone or, with covariates, of the feature and these.
    Samples without a value are left out. None if there are no hazards, the feature has levels without order or does not
    vary, or the model has no fit. Samples of one group are no further evidence, so the interval is that of as many
    samples as there are groups.
    """
    if data.target.task != "survival" or _unordered(data, position) is not None:
        return Hazard()
    return _hazard_of(data, *_values(data, position))


def _hazard_of(data: FeatureData, x: Floats, present: Mask) -> Hazard:
    """Return by what a standard deviation more of values multiplies the hazard, given the samples that have one."""
    target = data.target.take(present)
    if len(x) == 0 or x.min() == x.max():
        return Hazard()
    try:
        columns = ((x - x.mean()) / x.std())[:, None]
        if data.covariates is not None:
            columns = np.hstack([columns, data.covariates.take(present).basis[:, 1:] * np.sqrt(len(x))])
        coefficients = fit_cox(columns, target.time, target.event).coefficients
    except UBayFSError:
        return Hazard()
    error = cox_errors(columns, target.time, target.event, coefficients)[0]
    if data.groups is not None:
        error *= np.sqrt(len(x) / len(np.unique(data.groups[present])))
    ends = coefficients[0] + np.array([0.0, -_NORMAL, _NORMAL]) * error
    with np.errstate(over="ignore"):
        return Hazard(*map(number, np.exp(ends)))


def _values(data: FeatureData, position: int) -> tuple[Floats, Mask]:
    """Return the values of a feature that are not missing, and the mask of the samples that have one."""
    x: Floats = np.asarray(data.X[:, [position]], dtype=np.float64)[:, 0]
    present = ~np.isnan(x)
    return x[present], present


def _unordered(data: FeatureData, position: int) -> Levels | None:
    """Return the levels of a category without order, which has neither slope nor sign; None for all else."""
    levels = data.levels.get(position)
    return levels if levels is not None and levels.n_columns > 1 else None


def marked_class(data: FeatureData, position: int) -> MarkedClass | None:
    """Return the class, or label, that a feature tells best from all other samples, and how.

    It is the one with the largest Somers' D in absolute value. None where there are but two classes, an order of them,
    or no classes; and where the feature tells none of them apart: D is within what chance gives the best of so many
    comparisons in 95 % of cases.
    """
    members = _members(data.target)
    if members is None:
        return None
    values, levels = np.asarray(data.X[:, [position]], dtype=np.float64), _unordered(data, position)
    names: list[str | None] = [None]
    if levels is not None:
        values, names = indicators(values[:, 0], levels), list(levels.labels)
    d, error = _somers(values, members)
    place, column = np.unravel_index(int(np.argmax(np.abs(d))), d.shape)
    if np.abs(d[place, column]) <= -ndtri(0.025 / d.size) * error[place, column]:
        return None
    label = data.target.class_counts[int(place)][0]
    return MarkedClass(label, names[int(column)], number(d[place, column]))


def _members(target: Target) -> Mask | None:
    """Return who is in each class or has each label, of shape (n_classes, n_samples)."""
    if target.task == "multilabel":
        return np.asarray(target.values).T > 0
    return np.asarray(target.values) == np.arange(target.n_classes)[:, None] if is_nominal(target) else None


def _somers(values: Array, members: Mask) -> tuple[Floats, Floats]:
    """Return Somers' D of each class against all other samples, and its standard error where the class does not matter.

    Both are of shape (n_classes, n_columns); the error is that of the Mann-Whitney statistic without ties.
    """
    present = ~np.isnan(values)
    n_upper, n_lower = members.astype(float) @ present, (~members).astype(float) @ present
    n_pairs = n_upper * n_lower
    contrasts = [Contrast(member, ~member) for member in members]
    all_samples = np.ones((1, len(values)), dtype=bool)
    d = Concordance(all_samples, contrasts)(values, n_pairs[:, None])[:, 0] / np.maximum(n_pairs, 1)
    return d, np.sqrt((n_upper + n_lower + 1) / (3 * np.maximum(n_pairs, 1)))


def category_of(data: FeatureData, position: int) -> Category | None:
    """Return the levels of a category with their numbers of samples; None for numbers."""
    levels = data.levels.get(position)
    if levels is None:
        return None
    codes = np.asarray(data.X[:, position], dtype=np.float64)
    counts = tuple(int((codes == code).sum()) for code in range(len(levels.labels)))
    return Category(tuple(levels.labels), levels.ordered, counts)
