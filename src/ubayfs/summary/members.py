"""The chosen features: why they are there, how sure the ensemble is of them, and what else would do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from scipy import sparse

from .._arguments import Array, Floats, Mask, RandomState
from .._plain import number
from ..attribution import Attribution, decide_on_draws
from ..data.blocks import Blocks
from ..data.categories import Levels, indicators
from ..data.covariates import association, basis_of, target_left
from ..data.feature_data import FeatureData
from ..data.hazards import fit_cox
from ..data.target import CLASSIFICATION, Target
from ..ensemble.progress import Progress
from ..exceptions import UBayFSError
from ..plotting.base import blocks_of
from ..plotting.profile import ProfileDisplay
from ..selection import Selection
from ..selectors.concordance import Concordance, Contrast
from ..selectors.nominal_classes import is_nominal
from ..utility import STANDARD_ERRORS, score_tolerance
from .facts import is_proved

LEVEL = 0.9  # of the credible intervals
# Exchanges that are tried for one member: enough where many features have no vote at all.
_TRIED = 200


def chosen_features(selection: Selection, found: Attribution | None, blocks: Blocks) -> list[dict[str, Any]]:
    """Return one record per chosen feature, most important first; what is not known is None."""
    order = selection.indices[np.argsort(-selection.importance[selection.indices], kind="stable")]
    in_blocks = blocks_of(blocks, selection.feature_names, order)
    counts, weights, posterior = selection.counts, selection.weights, selection.posterior
    stated = selection.provenance.get("knowledge", {})
    filling = () if found is None else found.filling
    identical = _identical(selection)
    records = []
    for i, own_blocks in zip(order.tolist(), in_blocks, strict=True):
        name = str(selection.feature_names[i])
        without = {
            key: None if found is None or (features := getattr(found, key)) is None else name in features
            for key in ("without_prior", "without_constraints", "data_alone")
        }
        records.append(
            {
                "feature": name,
                "position": i,
                "blocks": list(own_blocks),
                "identical_to": [other for other in identical.get(name, ()) if other != name],
                "count": None if counts is None else int(counts[i]),
                "share": None if posterior is None else int(posterior.counts[i]) / posterior.evidence.n_models,
                "weight": None if weights is None else number(weights[i]),
                "importance": number(selection.importance[i]),
                "low": None,
                "high": None,
                "probability": None,
                # What merely fills a place that is left is not chosen for its own sake.
                **without | {"without_prior": without["without_prior"] and name not in filling},
                "reasons": [] if found is None else list(found.reasons(name)),
                "without_vote": counts is not None and int(counts[i]) == 0,
                "tied": None,
                **{key: stated.get(name, {}).get(key) for key in ("why", "source", "experts", "changed_after_votes")},
            }
        )
    return records


def _identical(selection: Selection) -> dict[str, list[str]]:
    """Return the group of features with the same values that each belongs to, as the evidence knows them."""
    known = () if selection.posterior is None else selection.posterior.evidence.advice
    groups = (group for advice in known if advice.code == "identical_features" for group in advice.facts["groups"])
    return {name: group for group in groups for name in group}


def with_uncertainty(
    records: list[dict[str, Any]], selection: Selection, probability: Floats | None, random_state: RandomState
) -> list[dict[str, Any]]:
    """Return the records with credible intervals, selection probabilities and ties."""
    known = {} if probability is None else {"probability": probability}
    if selection.posterior is not None:
        known["low"], known["high"] = selection.posterior.credible_interval(LEVEL, random_state=random_state)
    tied = tied_members(selection)
    return [
        record | {key: number(values[i]) for key, values in known.items()} | {"tied": bool(tied[i])}
        for record in records
        for i in [record["position"]]
    ]


def with_effects(records: list[dict[str, Any]], profile: ProfileDisplay | None) -> list[dict[str, Any]]:
    """Return the records with the effect of each feature in the data, and the group of samples where it is highest."""
    known: dict[str, dict[str, Any]] = {}
    if profile is not None:
        for name, effect, means in zip(profile.features, profile.effects, profile.means, strict=True):
            highest = profile.groups[int(np.argmax(means))]
            known[name] = {"effect": number(effect), "effect_kind": profile.effect, "highest_in": highest}
    unknown = dict.fromkeys(("effect", "effect_kind", "highest_in"))
    return [record | known.get(record["feature"], unknown) for record in records]


def probabilities(
    selection: Selection, n_draws: int, random_state: RandomState, on_progress: Progress | None
) -> tuple[Floats | None, int]:
    """Return the selection probabilities, of shape (n_features,), and the number of decisions that they rest on.

    They are None when none are wanted, or there is no posterior to draw from.
    """
    if n_draws == 0 or selection.posterior is None or selection.problem is None:
        return None, 0
    decided = 0

    def report(done: int, total: int) -> Any:
        nonlocal decided
        decided = done
        return on_progress(done, total) if on_progress is not None else None

    return decide_on_draws(selection.problem, selection.posterior, n_draws, random_state, report), decided


def other_sets(selection: Selection, found: Attribution | None) -> dict[str, Any]:
    """Return what less knowledge would change: features that would be added and removed."""
    changes: dict[str, Any] = {}
    for key in ("without_prior", "without_constraints", "data_alone"):
        features = None if found is None else getattr(found, key)
        changes[key] = None if features is None else {"features": list(features), **_change(selection, features)}
    if changes["without_prior"] is not None and found is not None:
        changes["without_prior"]["filling"] = list(found.filling)
    return changes


def _change(selection: Selection, features: tuple[str, ...]) -> dict[str, list[str]]:
    before, after = set(selection.features), set(features)
    return {
        "added": [name for name in features if name not in before],
        "removed": [name for name in selection.features if name not in after],
    }


def alternatives(selection: Selection) -> list[dict[str, Any]]:
    """Return the next best sets: the score of each, and in what it differs from the chosen one."""
    similarity = selection.similarity()[0]
    return [
        {
            "value": number(other.value),
            "loss": number(selection.value - other.value),
            "as_good": _as_good(selection, other.value),
            "proved": is_proved(other),
            "features": list(other.features),
            **_change(selection, other.features),
            "jaccard": float(similarity[position]),
            "n_violated": len(other.metrics.violations),
        }
        for position, other in enumerate(selection.alternatives, start=1)
    ]


def _as_good(selection: Selection, value: float) -> bool:
    """Tell whether a set of this score is as good as the chosen one, but for rounding."""
    return bool(selection.value - value <= score_tolerance(selection.value))


def tied_members(selection: Selection) -> Mask:
    """Return which members could be exchanged for another feature without loss, as a mask of shape (n_features,).

    Known from alternatives that are exactly as good, and from trying features of the same importance in their place.
    """
    chosen = selection.mask
    tied = np.zeros_like(chosen)
    for other in selection.alternatives:
        if _as_good(selection, other.value):
            tied |= chosen & ~np.isin(np.arange(len(chosen)), other.indices)
    if selection.problem is None:
        return tied
    for member in np.flatnonzero(chosen & ~tied):
        tied[member] = _exchangeable(selection, int(member))
    return tied


def _exchangeable(selection: Selection, member: int) -> bool:
    assert selection.problem is not None
    utility, theta = selection.problem.utility, selection.importance
    tolerance = score_tolerance(selection.value) + _simulation_error(selection, member)
    equal = ~selection.mask & utility.selectable & (np.abs(theta - theta[member]) <= tolerance)
    others = np.flatnonzero(equal)[:_TRIED]
    if len(others) == 0:
        return False
    staying = selection.indices[selection.indices != member]
    columns = np.column_stack([np.tile(staying, (len(others), 1)), others]).ravel()
    starts = np.arange(len(others) + 1) * (len(staying) + 1)
    sets = sparse.csr_array((np.ones(len(columns)), columns, starts), shape=(len(others), len(theta)))
    loss = selection.value - utility(sets)
    return bool((loss <= np.broadcast_to(tolerance, len(theta))[others]).any())


def _simulation_error(selection: Selection, member: int) -> Floats | float:
    """Return by how much simulated importances may seem to differ from that of a member."""
    posterior = selection.posterior
    if posterior is None or posterior.diagnostics is None:
        return 0.0
    error = posterior.diagnostics.monte_carlo_error
    return STANDARD_ERRORS * np.sqrt(error**2 + error[member] ** 2)


def with_relations(
    records: Sequence[Mapping[str, Any]], data: FeatureData | None, earlier: Mapping[str, Any] | None
) -> list[dict[str, Any]]:
    """Return records of chosen features with how they are related to the target; None for what has no meaning.

    Of survival these are hazard ratios; of many classes or labels the one that the feature marks; with covariates,
    associations before and after adjusting for them. A category has its levels. Without data, all are those that the
    summary of another decision knows.
    """
    known = {record["feature"]: record for record in (earlier or {}).get("chosen", ())}
    find = {"hazard_ratio": hazard_ratio, "beyond": beyond, "marks": marked_class, "category": category_of}
    found = []
    for record in records:
        before = known.get(record["feature"], {})
        relations = {
            key: before.get(key) if data is None else of_data(data, record["position"]) for key, of_data in find.items()
        }
        found.append({**record, **relations})
    return found


def beyond(data: FeatureData, position: int) -> dict[str, Any] | None:
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
    return {"covariates": related, "before": with_target[0], "after": with_target[1]}


def _size(value: float, signed: bool) -> float | None:
    """Return an association; one with classes or levels has no sign, since it would be that of their order."""
    return number(value if signed else abs(value))


def hazard_ratio(data: FeatureData, position: int) -> float | None:
    """Return by what a standard deviation more of a feature multiplies the hazard.

    It is that of Cox's model of the feature alone or, with covariates, of the feature and these.
    Samples without a value are left out. None if there are no hazards, the feature has levels without order or does not
    vary, or the model has no fit.
    """
    if data.target.task != "survival" or _unordered(data, position) is not None:
        return None
    x, present = _values(data, position)
    target = data.target.take(present)
    if len(x) == 0 or x.min() == x.max():
        return None
    try:
        columns = ((x - x.mean()) / x.std())[:, None]
        if data.covariates is not None:
            columns = np.hstack([columns, data.covariates.take(present).basis[:, 1:] * np.sqrt(len(x))])
        fit = fit_cox(columns, target.time, target.event)
    except UBayFSError:
        return None
    return number(np.exp(fit.coefficients[0]))


def _values(data: FeatureData, position: int) -> tuple[Floats, Mask]:
    """Return the values of a feature that there are, and which samples have one."""
    x: Floats = np.asarray(data.X[:, [position]], dtype=np.float64)[:, 0]
    present = ~np.isnan(x)
    return x[present], present


def _unordered(data: FeatureData, position: int) -> Levels | None:
    """Return the levels of a category without order, which has neither slope nor sign; None for all else."""
    levels = data.levels.get(position)
    return levels if levels is not None and levels.n_columns > 1 else None


def marked_class(data: FeatureData, position: int) -> dict[str, Any] | None:
    """Return the class, or label, that a feature tells best from all other samples, and how.

    It is the one with the largest Somers' D in absolute value. "level" names the level of a category without order
    whose indicator has it; "d" is above 0 where the feature is higher, or the level more frequent, in the class. None
    where there are but two classes, an order of them, or no classes; and where the feature tells nothing.
    """
    members = _members(data.target)
    if members is None:
        return None
    values, levels = np.asarray(data.X[:, [position]], dtype=np.float64), _unordered(data, position)
    names: list[str | None] = [None]
    if levels is not None:
        values, names = indicators(values[:, 0], levels), list(levels.labels)
    d = _somers(values, members)
    place, column = np.unravel_index(int(np.argmax(np.abs(d))), d.shape)
    if d[place, column] == 0:
        return None
    label = data.target.class_counts[int(place)][0]
    return {"label": label, "level": names[int(column)], "d": number(d[place, column])}


def _members(target: Target) -> Mask | None:
    """Return who is in each class or has each label, of shape (n_classes, n_samples)."""
    if target.task == "multilabel":
        return np.asarray(target.values).T > 0
    return np.asarray(target.values) == np.arange(target.n_classes)[:, None] if is_nominal(target) else None


def _somers(values: Array, members: Mask) -> Array:
    """Return Somers' D of each class against all other samples, of shape (n_classes, n_columns)."""
    present = ~np.isnan(values)
    n_upper, n_lower = members.astype(float) @ present, (~members).astype(float) @ present
    n_pairs = n_upper * n_lower
    contrasts = [Contrast(member, ~member) for member in members]
    all_samples = np.ones((1, len(values)), dtype=bool)
    return Concordance(all_samples, contrasts)(values, n_pairs[:, None])[:, 0] / np.maximum(n_pairs, 1)


def category_of(data: FeatureData, position: int) -> dict[str, Any] | None:
    """Return the levels of a category with their numbers of samples; None for numbers."""
    levels = data.levels.get(position)
    if levels is None:
        return None
    codes = np.asarray(data.X[:, position], dtype=np.float64)
    counts = [int((codes == code).sum()) for code in range(len(levels.labels))]
    return {"labels": list(levels.labels), "ordered": levels.ordered, "counts": counts}
