"""Facts of an answer: the chosen features, what else would do, what other samples would say, and what explains it.

Each fact of trust has a state: "known", "partial" (n_done of n_asked), "missing", or "undefined" with a reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from .._arguments import Floats, Mask, RandomState
from .._plain import number, plain
from ..constraints.utility import STANDARD_ERRORS, score_tolerance
from ..data.blocks import Blocks
from ..decision.selection import Selection
from ..ensemble.evidence import Evidence
from ..ensemble.progress import Progress
from ..explain.attribution import Attribution, decide_on_draws
from ..explain.left_out import LeftOut, constraint_costs, left_out, strongest
from ..explain.redecide import Substitute, agreement, substitutes
from ..plotting.base import blocks_of
from ..plotting.profile import ProfileDisplay
from ..priors.weights import raised
from ..trust.related import LARGEST_Q, Related
from .facts import is_proved

if TYPE_CHECKING:
    from pandas import DataFrame

    from ..trust.reproducibility import HalvesAgreement, Reproducibility
    from ..trust.trust import Trust
    from ..trust.validation import Validation

LEVEL = 0.9  # of the credible intervals
# Exchanges that are tried for one member: enough where many features have no vote at all.
_TRIED = 200
# Work on explanations: nodes of branch and bound in each decision, so that a report never takes much longer than its
# decision.
_NODES = 200
_WORTH_SAYING = 0.1  # share of the votes for a feature
_STRONGEST = 5  # features that are out and looked at
ALIKE = 0.5  # correlation from which on a feature may be named as a stand-in
PARTS = ("validation", "related", "reproducibility")  # in the order of a report


def chosen_features(selection: Selection, found: Attribution | None, blocks: Blocks) -> list[dict[str, Any]]:
    """Return one record per chosen feature, most important first; what is not known is None."""
    order = selection.indices[np.argsort(-selection.importance[selection.indices], kind="stable")]
    in_blocks = blocks_of(blocks, selection.feature_names, order)
    counts, weights, posterior = selection.counts, selection.weights, selection.posterior
    stated = selection.provenance.get("knowledge", {})
    filling = () if found is None else found.filling
    identical = _identical(selection)
    favored = np.zeros_like(selection.mask) if weights is None else raised(weights)
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
                "reasons": [] if found is None else [found.why[name]],
                "weight_not_needed": found is not None and bool(favored[i]) and found.why[name] == "data",
                "votes_for": [] if posterior is None else _votes_for(posterior.evidence, i),
                "without_vote": counts is not None and int(counts[i]) == 0,
                "tied": None,
                **{key: stated.get(name, {}).get(key) for key in ("why", "source", "experts", "changed_after_votes")},
            }
        )
    return records


def _votes_for(evidence: Evidence, feature: int) -> list[dict[str, Any]]:
    """Return what votes were for where a feature was not selected as it is, for at least a tenth of its votes.

    Each has the number of `votes`, and the feature that it acts `with`, None for a curve.
    """
    found = evidence.reasons(feature)
    if found is None:
        return []
    votes = [(None, found.curve), *((str(evidence.feature_names[other]), n) for other, n in found.pairs.items())]
    total = int(evidence.counts[feature])
    return [{"votes": n, "with": other} for other, n in votes if n and n >= _WORTH_SAYING * total]


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
        clear = profile.clear or (True,) * len(profile.features)
        for name, effect, means, is_clear in zip(profile.features, profile.effects, profile.means, clear, strict=True):
            highest = profile.groups[int(np.argmax(means))]
            known[name] = {
                "effect": number(effect), "effect_kind": profile.effect, "highest_in": highest, "effect_clear": is_clear
            }  # fmt: skip
    unknown = dict.fromkeys(("effect", "effect_kind", "highest_in", "effect_clear"))
    return [record | known.get(record["feature"], unknown) for record in records]


def probabilities(
    selection: Selection, n_draws: int, random_state: RandomState, on_progress: Progress | None
) -> tuple[Floats | None, int]:
    """Return the selection probabilities, of shape (n_features,), and the number of decisions that they are based on.

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


# -- what other samples would say, and what explains the answer --------------------------------------------------------


def trust_facts(
    selection: Selection, trust: Trust | None, reasons: Attribution | None, result: str | None
) -> dict[str, Any]:
    """Return what is known of other samples, in plain types.

    `result` is the directory that further commands name; None where the answer is from Python, "" if no command helps.
    """
    validation, related, reproducibility = (getattr(trust, part, None) for part in PARTS)
    found = {
        "validation": None if validation is None else validation_facts(validation),
        "related": None
        if related is None or not selection.features
        else related_facts(related, selection.features, _adjusted(selection), related.n_supported_of(selection)),
        "reproducibility": None if reproducibility is None else reproducibility_facts(reproducibility),
    }
    problems: Mapping[str, str] = getattr(trust, "problems", {})
    states = {part: facts or _unknown(selection, part, problems.get(part)) for part, facts in found.items()}
    return {"level": getattr(trust, "level", None), "result": result, "n_chosen": len(selection.features), **states}


def _unknown(selection: Selection, part: str, problem: str | None) -> dict[str, Any]:
    """Return why something is not known: it was not examined, could not be done, or has no meaning here."""
    settings = selection.provenance.get("evidence", {})
    reason = None
    if selection.counts is None:
        reason = "importances"
    elif not settings.get("parts", settings):
        reason = "votes"
    elif part != "reproducibility" and settings.get("task") == "unsupervised":
        reason = "unsupervised"
    elif not selection.features:
        reason = "empty"
    elif problem is not None:
        reason = "failed"
    return {"state": "missing" if reason is None else "undefined", "reason": reason, "problem": problem}


def _state(n_done: int, n_asked: int, failures: Iterable[str]) -> dict[str, Any]:
    state = "known" if n_done == n_asked else "partial"
    return {"state": state, "n_done": n_done, "n_asked": n_asked, "failures": list(failures)}


def related_facts(
    related: Related, features: Iterable[str], adjust_for: Iterable[str] = (), n_supported: int | None = None
) -> dict[str, Any]:
    """Return how many of some features are related to the target, in plain types.

    `n_supported` is how many the data support, if that is fewer.
    """
    found = related.of(features)
    numbers = (
        *("at_least", "best_guess", "without_list", "best_guess_without_list"),
        *("n_related_of_all", "n_shuffles", "confidence"),
    )
    return {
        **_state(related.n_shuffles, related.n_shuffles, ()),
        "size": len(found.features),
        "n_features": len(related.feature_names),
        **{name: getattr(found, name) for name in numbers},
        "n_listed": len(related.favored),
        "n_supported": n_supported,
        "by_votes": _by_votes(found),
        "limit": LARGEST_Q,
        "adjust_for": list(adjust_for),
    }


def _by_votes(related: Related) -> dict[str, Any] | None:
    """Return members not shown by themselves that have more votes than any feature for shuffled targets."""
    votes = related.shuffled_votes
    if votes is None:
        return None
    counts = dict(zip(related.feature_names.tolist(), votes.counts.tolist(), strict=True))
    found = {name: counts[name] for name in related.by_votes}
    return {"n_shuffles": votes.n_shuffles, "n_models": votes.n_models, "counts": found}


def _adjusted(selection: Selection) -> tuple[str, ...]:
    return () if selection.posterior is None else selection.posterior.evidence.adjust_for


def reproducibility_facts(found: Reproducibility) -> dict[str, Any]:
    """Return what another study would select again, in plain types."""
    stand_ins = found.stand_ins
    with_weights = None if found.with_weights is None else _size_and_range(found.with_weights.agreement)
    if with_weights is not None and found.size:  # what the data select alone is selected with the weights, too
        both = zip(with_weights["selected_again"], map(number, found.selected_again), strict=True)
        with_weights["selected_again"] = [None if None in ends else max(ends) for ends in both]
    return {
        **_state(found.n_used, found.n_splits, found.failures),
        "n_undefined": found.n_undefined,
        "size": found.size,
        "n_usually": int(np.count_nonzero(found.by_data & (found.labels == "usually"))),
        **{key: number(getattr(found, key)) for key in ("lower", "upper")},
        **{key: [number(value) for value in getattr(found, key)] for key in ("interval", "selected_again")},
        "n_selected": int(found.selected.sum()),
        "by_rule": list(found.by_rule),
        "by_weight": list(found.by_weight),
        "filling": list(found.filling),
        "stand_ins": None if stand_ins is None else [number(value) for value in stand_ins.selected_again],
        "without_prior": _size_and_range(found.without_prior),
        "with_weights": with_weights,
    }


def _size_and_range(found: HalvesAgreement | None) -> dict[str, Any] | None:
    """Return how many features are counted, and how many of them are selected again."""
    if found is None:
        return None
    return {"size": found.size, "selected_again": [number(value) for value in found.selected_again]}


def validation_facts(found: Validation) -> dict[str, Any]:
    """Return how the procedure predicts beside baselines, in plain types."""
    scores = _records(found.scores)
    main = [row for row in scores if row["metric"] == found.main_metric]
    ours = main[0] if main else dict.fromkeys(("predictor", "mean", "lower", "upper"))
    return {
        **_state(found.n_done, found.n_folds, found.failures),
        "metric": found.main_metric,
        "adjust_for": list(found.adjust_for),
        **{key: ours[key] for key in ("predictor", "mean", "lower", "upper")},
        "scores": scores,
        "sizes": _records(found.sizes),
        "best_size": found.best_size,
        "one_se_size": found.one_se_size,
        "control": _records(found.control),
    }


def _records(frame: DataFrame | None) -> list[dict[str, Any]]:
    """Return the rows of a frame in plain types; what is no finite number is None."""
    if frame is None:
        return []
    return [
        {str(key): number(value) if isinstance(value, float) else plain(value) for key, value in row.items()}
        for row in frame.to_dict("records")
    ]


def with_trust(records: list[dict[str, Any]], trust: Trust | None) -> list[dict[str, Any]]:
    """Return the records of chosen features with what is known of each beyond these samples."""
    related, again = getattr(trust, "related", None), getattr(trust, "reproducibility", None)
    labels, found = None if again is None else again.labels, []
    with_weights = None if again is None else again.labels_with_weights
    for record in records:
        i = record["position"]
        low, high = (None, None) if again is None else map(number, again.vote_share[i])
        known = {
            "q": None if related is None else float(related.q_values[i]),
            "related": None if related is None else bool(related.q_values[i] <= LARGEST_Q),
            "selected_again": None if labels is None or labels[i] == "unknown" else str(labels[i]),
            "again_with_weights": None
            if with_weights is None or with_weights[i] == "unknown"
            else str(with_weights[i]),
            "frequency": None if again is None else number(again.frequency[i]),
            "half_low": low,
            "half_high": high,
        }
        found.append(
            record | known | dict.fromkeys(("substitute", "substitute_votes", "substitute_cost", "replaceable"))
        )
    return found


def with_substitutes(records: list[dict[str, Any]], found: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the records with the best replacement of each, and what it costs in votes."""
    instead = {
        entry["feature"]: {
            "substitute": entry["added"],
            "substitute_votes": entry.get("added_votes"),
            "substitute_cost": entry["loss_votes"] if entry["loss_votes"] is not None else entry["loss"],
            "replaceable": entry["replaceable"],
        }
        for entry in found
    }
    return [record | instead.get(record["feature"], {}) for record in records]


def explanations(selection: Selection, random_state: RandomState, blocks: Any) -> dict[str, Any]:
    """Return what could replace what, what is out and why, what constraints cost, and whether prior and data agree."""
    found = replacements(selection, random_state) | what_is_out(selection, random_state)
    if selection.problem is None:
        return found | {"agreement": None}
    known = agreement(selection, blocks=blocks, random_state=random_state, node_limit=_NODES)
    return found | {"agreement": plain(known)}


def replacements(selection: Selection, random_state: RandomState) -> dict[str, Any]:
    """Return what could take the place of each member, and which features stood in for one another."""
    if selection.problem is None:
        return {"substitutes": [], "stand_ins": []}
    found = substitutes(selection, random_state=random_state, node_limit=_NODES)
    votes = _votes(selection)
    with_votes = [
        {**plain(entry), "added_votes": [votes[name] for name in entry.added] if votes else None} for entry in found
    ]
    return {"substitutes": with_votes, "stand_ins": _stand_ins(selection, found)}


def _votes(selection: Selection) -> dict[str, int]:
    """Return the votes of each feature; empty where importances were given."""
    if selection.counts is None:
        return {}
    return dict(zip(selection.feature_names.tolist(), selection.counts.tolist(), strict=True))


def what_is_out(selection: Selection, random_state: RandomState) -> dict[str, Any]:
    """Return strong features that are out and why, and what constraints cost."""
    if selection.problem is None:
        return {"left_out": [], "left_out_known": False, "costs": []}
    limits: dict[str, Any] = {"random_state": random_state, "node_limit": _NODES}
    costs = constraint_costs(selection, **limits)
    return {
        "costs": plain(costs),
        "left_out": [
            _with_kinds(selection, entry) for entry in left_out(selection, _n_strong(selection), costs, **limits)
        ],
        "left_out_known": True,
    }


def _with_kinds(selection: Selection, entry: LeftOut) -> dict[str, Any]:
    """Return why a feature is out in plain types, with the kinds of the constraints that keep it out."""
    assert selection.problem is not None
    parts = selection.problem.utility.system.parts
    kinds = ["unlikely" if parts[k].from_prior else parts[k].kind.replace("_", "-") for k in entry.constraints]
    return {**plain(entry), "kinds": list(dict.fromkeys(kinds))}


def _n_strong(selection: Selection) -> int:
    """Return how many of the strongest features that are out have votes, and as many as the weakest member."""
    first = strongest(selection, _STRONGEST)
    if selection.counts is None:
        return len(first)
    weakest = selection.counts[selection.mask].min(initial=selection.counts.max())
    return int(np.count_nonzero(selection.counts[first] >= max(weakest, 1)))


def _stand_ins(selection: Selection, found: tuple[Substitute, ...]) -> list[dict[str, Any]]:
    """Return pairs of features that models took in place of one another and that are alike, each pair once."""
    votes = _votes(selection)
    pairs: dict[frozenset[str], dict[str, Any]] = {}
    for entry in found:
        for other in entry.stand_ins:
            alike = other.correlation is None or other.correlation >= ALIKE
            if other.clear and alike:
                pair = {"member": entry.feature, "member_votes": votes[entry.feature], **plain(other)}
                pairs.setdefault(frozenset({entry.feature, other.feature}), pair)
    return list(pairs.values())


def with_costs(entries: list[dict[str, Any]], costs: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the constraints with what each costs: what the set would gain without it, or with one more place."""
    known = {cost["position"]: cost for cost in costs}
    keys = {
        "cost": "gain",
        "cost_votes": "gain_votes",
        "cost_bound": "gain_bound",
        "cost_bound_votes": "gain_bound_votes",
        "added_without": "added",
        "removed_without": "removed",
        "one_more": "one_more",
    }
    return [
        entry | {key: known[i][name] if i in known else None for key, name in keys.items()}
        for i, entry in enumerate(entries)
    ]
