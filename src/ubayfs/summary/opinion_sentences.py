"""Sentences on what an expert brought in: what weights and constraints changed, and whether they agree with votes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._plain import counted, listing, rounded

Facts = Mapping[str, Any]

_LISTED = 12
_SETS = {
    "without_prior": "Without the prior (the default weight for every feature, none unlikely; constraints as they are)",
    "without_constraints": "Without the constraints (the best set of at most the same size; prior as it is)",
    "data_alone": "By the data alone (neither prior nor constraints, at most the same size, no feature without a vote)",
}


def opinion_and_data(facts: Facts) -> list[str]:
    """Return whether weights and constraints made a difference, and whether the weights agree with the votes."""
    records = [record for record in facts["chosen"] if record["reasons"]]
    if not records or not (facts["constraints"] or facts["agreement"]):
        return []
    own = [record["feature"] for record in records if record["reasons"] != ["data"]]
    line = "Your weights and constraints made no difference: the votes alone would choose these features, too."
    if own:
        are, rest = "is" if len(own) == 1 else "are", len(records) - len(own)
        line = (
            f"{len(own)} of {counted(len(records), 'chosen feature')} {are} there because of your weights or "
            f"constraints: {listing(own, _LISTED)}."
            + (f" The votes alone would choose the other {rest}, too." if rest else "")
        )
    return [line, *_weights_and_data(facts["agreement"])]


def _weights_and_data(found: Facts | None) -> list[str]:
    """Return whether the weights agree with the votes; that they do not is no conflict."""
    if found is None:
        return []
    same = {key for key in ("none", "half") if set(found["at"][key]) == set(found["at"]["all"])}
    lines = {
        frozenset({"none", "half"}): ["With none or half of your weights the same set would be chosen."],
        frozenset({"half"}): ["With half of your weights the same set would be chosen, with none another one."],
    }.get(frozenset(same), [])
    return [*_favored(found["p_value"]), *lines]


def _favored(p_value: float | None) -> list[str]:
    if p_value is None:
        return []
    p = rounded(p_value, 2)
    if p_value <= 0.05:
        return [f"Your favored features got more votes than random ones would (p = {p})."]
    return [
        f"Your favored features got no more votes than random ones would (p = {p}). That does not make them wrong: "
        "these data may be too few to show it."
    ]


def who_and_when(prior: Facts | None) -> list[str]:
    """Return who stated the knowledge, where they disagree, and what was stated after votes were seen."""
    if prior is None:
        return []
    lines, experts = [], prior.get("experts")
    if experts:
        votes = {"mean": "the mean", "lowest": "the lowest"}[prior["pool"]]
        lines.append(
            f"{counted(len(experts), 'expert')} stated what they know ({listing(experts, _LISTED)}); {votes} of their "
            "votes counts. Who says nothing of a feature gives it the default weight."
        )
        apart = [
            f"{entry['feature']} ({rounded(entry['disagreement'])} votes apart)"
            for entry in prior["opinions"]
            if entry["disagreement"] and len(experts) > 1
        ]
        lines += [f"They disagree most on {listing(apart, 3)}."] if apart else []
    times = prior.get("confirmed_by") or {}
    if times:
        by = [f"{name} ({_moment(time)})" for name, time in times.items()]
        lines.append(f"Confirmed before votes were seen: {listing(by, _LISTED)}.")
        waiting = [name for name in experts or () if name not in times]
        lines += [f"Not confirmed: {listing(waiting, _LISTED)}."] if waiting else []
    if prior.get("confirmed"):
        lines.append(f"The knowledge was confirmed on {_moment(prior['confirmed'])}, before votes were seen.")
    changed = [f"{name} ({_moment(time)})" for name, time in (prior.get("changed_after_votes") or {}).items()]
    if changed:
        lines.append(f"Changed after votes were seen, so that the data may count twice: {listing(changed, _LISTED)}.")
    return lines


def _moment(time: str) -> str:
    return time.replace("T", " ").replace("+00:00", " UTC")


def less_knowledge(facts: Facts) -> list[str]:
    """Return what less knowledge would change."""
    records = facts["chosen"]
    lines = [
        _compared(lead, facts["sets"][key], len(records))
        for key, lead in _SETS.items()
        if records and facts["sets"][key] is not None
    ]
    if not lines:
        return []
    lines.append(
        "Several sets may be equally good; the one that shares most with the chosen set is meant. So read each line "
        "as: this set or an equally good one."
    )
    tied = [record["feature"] for record in records if record["tied"]]
    if tied:
        which = "it is" if len(tied) == 1 else "each of them is"
        lines.append(f"Ties: other features would do as well as {listing(tied, _LISTED)}; {which} marked in the table.")
    return lines


def _compared(lead: str, change: Facts, n: int) -> str:
    filling = change.get("filling")
    fills = f" No model chose {listing(filling, _LISTED)}: anything would fill that place as well." if filling else ""
    if not change["added"] and not change["removed"]:
        return f"{lead}: the same set would be chosen.{fills}"
    changed = "".join(
        f" {key.capitalize()}: {listing(change[key], _LISTED)}." for key in ("removed", "added") if change[key]
    )
    return f"{lead}: {n - len(change['removed'])} of {counted(n, 'chosen feature')} would stay.{changed}{fills}"
