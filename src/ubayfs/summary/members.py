"""The chosen features: why they are there, how sure the ensemble is of them, and what else would do."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._arguments import Floats, Mask, RandomState
from .._plain import number
from ..attribution import Attribution, decide_on_draws
from ..data.blocks import Blocks
from ..ensemble.progress import Progress
from ..plotting.base import blocks_of
from ..plotting.profile import ProfileDisplay
from ..selection import Selection
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
    twins = _twins(selection)
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
                "twins": [twin for twin in twins.get(name, ()) if twin != name],
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


def _twins(selection: Selection) -> dict[str, list[str]]:
    """Return the group of every feature that has twins, as the evidence knows them."""
    known = () if selection.posterior is None else selection.posterior.evidence.advice
    groups = (group for advice in known if advice.code == "twins" for group in advice.facts["groups"])
    return {name: group for group in groups for name in group}


def with_uncertainty(
    records: list[dict[str, Any]],
    selection: Selection,
    probability: Floats | None,
    random_state: RandomState,
) -> list[dict[str, Any]]:
    """Return the records with credible intervals, selection probabilities and ties."""
    low = high = None
    if selection.posterior is not None:
        low, high = selection.posterior.credible_interval(LEVEL, random_state=random_state)
    measures = {"low": low, "high": high, "probability": probability}
    known = {key: values for key, values in measures.items() if values is not None}
    tied = tied_members(selection)
    return [
        {**record, **{key: number(values[i]) for key, values in known.items()}, "tied": bool(tied[i])}
        for record in records
        for i in [record["position"]]
    ]


def with_effects(records: list[dict[str, Any]], profile: ProfileDisplay | None) -> list[dict[str, Any]]:
    """Return the records with the effect of each feature in the data, and the group of samples where it is highest."""
    place = {} if profile is None else {name: row for row, name in enumerate(profile.features)}
    found = []
    for record in records:
        row = place.get(record["feature"])
        known: dict[str, Any] = dict.fromkeys(("effect", "effect_kind", "highest_in"))
        if profile is not None and row is not None:
            highest = profile.groups[int(np.argmax(profile.means[row]))]
            known = {"effect": number(profile.effects[row]), "effect_kind": profile.effect, "highest_in": highest}
        found.append(record | known)
    return found


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
