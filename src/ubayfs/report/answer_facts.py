"""Facts of an answer: the chosen features, what else would do, and what explains it.

Functions that begin with ``with_`` complete facts that a decision shows at once by what takes longer.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from .._arguments import Floats, Ints, Mask, RandomState
from .._plain import number
from ..constraints.utility import STANDARD_ERRORS, score_tolerance
from ..data.blocks import Blocks
from ..decision.selection import Selection
from ..ensemble.evidence import Evidence
from ..ensemble.progress import Progress
from ..explain.attribution import Attribution, decide_on_draws
from ..explain.left_out import ConstraintCost, LeftOut, constraint_costs, left_out, strongest
from ..explain.redecide import Substitute, substitutes
from ..plotting.base import blocks_of
from ..plotting.profile import ProfileDisplay
from ..priors.weights import raised
from ..trust.related import LARGEST_Q
from .facts import (
    Alternative,
    ChosenFeature,
    ConstraintFact,
    LeftOutFact,
    OtherSets,
    SetChange,
    SetWithoutPrior,
    StandInPair,
    SubstituteFact,
    VotesFor,
)
from .genes import genes_among
from .problem_facts import is_proved

if TYPE_CHECKING:
    from ..trust.trust import Trust

LEVEL = 0.9  # of the credible intervals
# Exchanges that are tried for one member: enough where many features have no vote at all.
_TRIED = 200
# Work on explanations: nodes of branch and bound in each decision, so that a report never takes much longer than its
# decision.
NODES = 200
_WORTH_SAYING = 0.1  # share of the votes for a feature
_STRONGEST = 5  # features that are out and looked at
ALIKE = 0.5  # correlation from which on a feature may be named as a stand-in


def chosen_features(selection: Selection, attributed: Attribution | None, blocks: Blocks) -> tuple[ChosenFeature, ...]:
    """Return the chosen features, most important first, and what each is chosen because of."""
    order = _by_importance(selection)
    in_blocks = blocks_of(blocks, selection.feature_names, order)
    counts, weights, posterior = selection.counts, selection.weights, selection.posterior
    identical = _identical(selection)
    genes = genes_among(selection.features, selection.feature_names.tolist())
    favored = np.zeros_like(selection.mask) if weights is None else raised(weights)

    def is_in(features: tuple[str, ...] | None, name: str) -> bool | None:
        return None if features is None else name in features

    chosen = []
    for i, blocks_of_feature in zip(order.tolist(), in_blocks, strict=True):
        name = str(selection.feature_names[i])
        stated = selection.knowledge.get(name, {})
        chosen.append(
            ChosenFeature(
                feature=name,
                position=i,
                blocks=tuple(blocks_of_feature),
                identical_to=tuple(other for other in identical.get(name, ()) if other != name),
                count=None if counts is None else round(float(counts[i])),
                share=None if posterior is None else float(posterior.counts[i]) / posterior.evidence.n_models,
                weight=None if weights is None else number(weights[i]),
                importance=number(selection.importance[i]),
                # What merely fills a place that is left is not chosen for its own sake.
                without_prior=None
                if attributed is None
                else is_in(attributed.without_prior, name) and name not in attributed.filling,
                without_constraints=None if attributed is None else is_in(attributed.without_constraints, name),
                data_alone=None if attributed is None else is_in(attributed.data_alone, name),
                reasons=() if attributed is None else (attributed.why[name],),
                weight_not_needed=attributed is not None and bool(favored[i]) and attributed.why[name] == "data",
                votes_for=() if posterior is None else _votes_for(posterior.evidence, i),
                without_vote=counts is not None and not counts[i],
                why=stated.get("why"),
                source=stated.get("source"),
                experts=stated.get("experts"),
                changed_after_votes=stated.get("changed_after_votes"),
                gene=genes.get(name),
            )
        )
    return tuple(chosen)


def with_repeats(chosen: Iterable[ChosenFeature], trust: Trust) -> tuple[ChosenFeature, ...]:
    """Return the chosen features with what is known of each beyond these samples."""
    related, again = trust.related, trust.reproducibility

    def completed(member: ChosenFeature) -> ChosenFeature:
        if related is not None:
            q = float(related.q_values[member.position])
            member = replace(member, q=q, related=q <= LARGEST_Q)
        if again is not None:
            low, high = map(number, again.vote_share[member.position])
            member = replace(
                member,
                selected_again=_label(again.labels, member),
                again_with_weights=_label(again.labels_with_weights, member),
                frequency=number(again.frequency[member.position]),
                half_low=low,
                half_high=high,
            )
        return member

    return tuple(map(completed, chosen))


def _label(labels: Any, member: ChosenFeature) -> str | None:
    return None if labels is None or labels[member.position] == "unknown" else str(labels[member.position])


def _votes_for(evidence: Evidence, feature: int) -> tuple[VotesFor, ...]:
    """Return what votes were for where a feature was not selected as it is, for at least a tenth of its votes."""
    reasons = evidence.reasons(feature)
    if reasons is None:
        return ()
    votes = [(None, reasons.curve), *((str(evidence.feature_names[other]), n) for other, n in reasons.pairs.items())]
    total = int(evidence.counts[feature])
    return tuple(VotesFor(n, other) for other, n in votes if n and n >= _WORTH_SAYING * total)


def _identical(selection: Selection) -> dict[str, list[str]]:
    """Return the group of features with the same values that each belongs to, as the evidence knows them."""
    all_advice = () if selection.posterior is None else selection.posterior.evidence.advice
    groups = (group for advice in all_advice if advice.code == "identical_features" for group in advice.facts["groups"])
    return {name: group for group in groups for name in group}


def with_uncertainty(
    chosen: Iterable[ChosenFeature], selection: Selection, probability: Floats | None, random_state: RandomState
) -> tuple[ChosenFeature, ...]:
    """Return the chosen features with credible intervals, selection probabilities and ties."""
    posterior, tied = selection.posterior, tied_members(selection)
    low, high = (None, None) if posterior is None else posterior.credible_interval(LEVEL, random_state=random_state)

    def at(values: Floats | None, member: ChosenFeature) -> float | None:
        return None if values is None else number(values[member.position])

    return tuple(
        replace(
            member,
            low=at(low, member),
            high=at(high, member),
            probability=at(probability, member),
            tied=bool(tied[member.position]),
        )
        for member in chosen
    )


def with_effects(chosen: Iterable[ChosenFeature], profile: ProfileDisplay | None) -> tuple[ChosenFeature, ...]:
    """Return the chosen features with their effects in the data, and the group of samples where each is highest."""
    if profile is None:
        return tuple(chosen)
    rows = {name: row for row, name in enumerate(profile.features)}
    return tuple(
        replace(
            member,
            effect=number(profile.effects[row]),
            effect_kind=profile.effect,
            highest_in=profile.groups[int(np.argmax(profile.means[row]))],
            effect_clear=profile.clear[row] if profile.clear else True,
        )
        if (row := rows.get(member.feature)) is not None
        else member
        for member in chosen
    )


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


def other_sets(selection: Selection, attributed: Attribution | None) -> OtherSets:
    """Return what less knowledge would choose."""
    if attributed is None:
        return OtherSets(None, None, None)
    without_prior = _changed(selection, attributed.without_prior)
    return OtherSets(
        None if without_prior is None else SetWithoutPrior(**vars(without_prior), filling=tuple(attributed.filling)),
        _changed(selection, attributed.without_constraints),
        _changed(selection, attributed.data_alone),
    )


def _changed(selection: Selection, features: tuple[str, ...] | None) -> SetChange | None:
    return None if features is None else SetChange(tuple(features), *_change(selection, features))


def _change(selection: Selection, features: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the features that another set has beyond the chosen one, and those that it lacks."""
    before, after = set(selection.features), set(features)
    added = tuple(name for name in features if name not in before)
    return added, tuple(name for name in selection.features if name not in after)


def alternatives(selection: Selection) -> tuple[Alternative, ...]:
    """Return the next best sets: the score of each, and in what it differs from the chosen one."""
    similarity = selection.similarity()[0]
    return tuple(
        Alternative(
            tuple(other.features),
            *_change(selection, other.features),
            value=number(other.value),
            loss=number(selection.value - other.value),
            as_good=_as_good(selection, other.value),
            proved=is_proved(other),
            jaccard=float(similarity[position]),
            n_violated=len(other.metrics.violations),
        )
        for position, other in enumerate(selection.alternatives, start=1)
    )


def _as_good(selection: Selection, value: float) -> bool:
    """Return whether a set of this score is as good as the chosen one, but for rounding."""
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
        tied[member] = len(_as_good_as(selection, int(member))) > 0
    return tied


def _by_importance(selection: Selection) -> Ints:
    """Return the members, most important first."""
    order: Ints = selection.indices[np.argsort(-selection.importance[selection.indices], kind="stable")]
    return order


def last_place(selection: Selection) -> tuple[str, ...]:
    """Return features of the same importance that would do as well as the least important member."""
    if selection.problem is None or len(selection.indices) == 0:
        return ()
    last = _by_importance(selection)[-1]
    return tuple(selection.feature_names[_as_good_as(selection, int(last))].tolist())


def _as_good_as(selection: Selection, member: int) -> Ints:
    """Return features of the same importance that can take the place of a member without loss; some, if very many."""
    assert selection.problem is not None
    utility, theta = selection.problem.utility, selection.importance
    tolerance = score_tolerance(selection.value) + _simulation_error(selection, member)
    equal = ~selection.mask & utility.selectable & (np.abs(theta - theta[member]) <= tolerance)
    others = np.flatnonzero(equal)[:_TRIED]
    if len(others) == 0:
        return others
    staying = selection.indices[selection.indices != member]
    columns = np.column_stack([np.tile(staying, (len(others), 1)), others]).ravel()
    starts = np.arange(len(others) + 1) * (len(staying) + 1)
    sets = sparse.csr_array((np.ones(len(columns)), columns, starts), shape=(len(others), len(theta)))
    loss = selection.value - utility(sets)
    return np.asarray(others[loss <= np.broadcast_to(tolerance, len(theta))[others]])


def _simulation_error(selection: Selection, member: int) -> Floats | float:
    """Return by how much simulated importances may seem to differ from that of a member."""
    posterior = selection.posterior
    if posterior is None or posterior.diagnostics is None:
        return 0.0
    error = posterior.diagnostics.monte_carlo_error
    of_difference: Floats = np.sqrt(error**2 + error[member] ** 2)
    return STANDARD_ERRORS * of_difference


# -- what explains the answer ------------------------------------------------------------------------------------------


def with_substitutes(
    chosen: Iterable[ChosenFeature], replacements: Iterable[SubstituteFact]
) -> tuple[ChosenFeature, ...]:
    """Return the chosen features with the best replacement of each, and what it costs in votes."""
    by_member = {entry.feature: entry for entry in replacements}
    return tuple(
        member
        if (entry := by_member.get(member.feature)) is None
        else replace(
            member,
            substitute=entry.added,
            substitute_votes=entry.added_votes,
            substitute_cost=entry.cost,
            replaceable=entry.replaceable,
        )
        for member in chosen
    )


def replacements(selection: Selection, random_state: RandomState) -> tuple[SubstituteFact, ...]:
    """Return what could take the place of each member; nothing where the constraints are not known."""
    if selection.problem is None:
        return ()
    votes = _votes(selection)
    return tuple(
        SubstituteFact(**vars(entry), added_votes=tuple(votes[name] for name in entry.added) if votes else None)
        for entry in substitutes(selection, random_state=random_state, node_limit=NODES)
    )


def _votes(selection: Selection) -> dict[str, int]:
    """Return the votes of each feature; empty where importances were given."""
    if selection.counts is None:
        return {}
    return dict(zip(selection.feature_names.tolist(), np.round(selection.counts).astype(int).tolist(), strict=True))


def what_is_out(
    selection: Selection, random_state: RandomState
) -> tuple[tuple[LeftOutFact, ...], tuple[ConstraintCost, ...]]:
    """Return strong features that are out and why, and what constraints cost; nothing where these are not known."""
    if selection.problem is None:
        return (), ()
    limits: dict[str, Any] = {"random_state": random_state, "node_limit": NODES}
    costs = constraint_costs(selection, **limits)
    strong = left_out(selection, _n_strong(selection), costs, **limits)
    return tuple(_with_kinds(selection, entry) for entry in strong), costs


def _with_kinds(selection: Selection, entry: LeftOut) -> LeftOutFact:
    assert selection.problem is not None
    parts = selection.problem.utility.system.parts
    kinds = ["unlikely" if parts[k].from_prior else parts[k].kind.replace("_", "-") for k in entry.constraints]
    return LeftOutFact(**vars(entry), kinds=tuple(dict.fromkeys(kinds)))


def _n_strong(selection: Selection) -> int:
    """Return how many of the strongest features that are out have votes, and as many as the weakest member."""
    first = strongest(selection, _STRONGEST)
    if selection.counts is None:
        return len(first)
    weakest = selection.counts[selection.mask].min(initial=selection.counts.max())
    return int(np.count_nonzero(selection.counts[first] >= max(weakest, 1)))


def stand_in_pairs(selection: Selection, substitutes_of_members: Iterable[Substitute]) -> tuple[StandInPair, ...]:
    """Return pairs of features that models took in place of one another and that are alike, each pair once."""
    votes = _votes(selection)
    pairs: dict[frozenset[str], StandInPair] = {}
    for entry in substitutes_of_members:
        for other in entry.stand_ins:
            alike = other.correlation is None or other.correlation >= ALIKE
            if other.clear and alike:
                pair = StandInPair(**vars(other), member=entry.feature, member_votes=votes[entry.feature])
                pairs.setdefault(frozenset({entry.feature, other.feature}), pair)
    return tuple(pairs.values())


def with_costs(constraints: Iterable[ConstraintFact], costs: Iterable[ConstraintCost]) -> tuple[ConstraintFact, ...]:
    """Return the constraints with what each costs: what the set would gain without it, or with one more place."""
    by_position = {cost.position: cost for cost in costs}
    return tuple(
        constraint
        if (cost := by_position.get(position)) is None
        else replace(
            constraint,
            cost=cost.gain,
            cost_votes=cost.gain_votes,
            cost_bound=cost.gain_bound,
            cost_bound_votes=cost.gain_bound_votes,
            added_without=cost.added,
            removed_without=cost.removed,
            one_more=cost.one_more,
        )
        for position, constraint in enumerate(constraints)
    )
