"""Sentences on what an expert knows: weights and constraints, what they changed, and whether they agree with votes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._plain import counted, listing, price_text, rounded, strictness

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
            + (f" The votes alone would choose the other {'one' if rest == 1 else rest}, too." if rest else "")
            + _either_alone(facts["sets"], own)
        )
    return [line, *_weights_and_data(facts["agreement"])]


def _either_alone(sets: Facts, own: list[str]) -> str:
    """Return which features less knowledge of one kind would not remove, but less of both kinds would."""
    kinds = [sets[key] for key in ("without_prior", "without_constraints")]
    if None in kinds:
        return ""
    both = [name for name in own if all(name not in change["removed"] for change in kinds)]
    return f" Your weights alone would keep {listing(both, _LISTED)}, and so would your constraints." if both else ""


def _weights_and_data(found: Facts | None) -> list[str]:
    """Return whether the weights agree with the votes; that they do not is no conflict."""
    if found is None:
        return []
    none, half = (set(found["at"][key]) == set(found["at"]["all"]) for key in ("none", "half"))
    line = "With half of your weights the same set would be chosen, with none another one."
    return [*_favored(found["p_value"]), *([line] if half and not none else [])]


def _favored(p_value: float | None) -> list[str]:
    if p_value is None:
        return []
    p = rounded(p_value, 2)
    if p_value <= 0.05:
        return [f"Your favored features got more votes than random ones would (p = {p})."]
    return [
        f"Your favored features did not clearly get more votes than random ones would (p = {p}). That does not make "
        "them wrong: these data may be too few to show it."
    ]


def experts_and_times(prior: Facts | None) -> list[str]:
    """Return who stated the knowledge, where they disagree, and what was stated after votes were seen."""
    if prior is None:
        return []
    lines, experts = [], prior.get("experts")
    if experts:
        votes = {"mean": "the mean", "lowest": "the lowest"}[prior["pool"]]
        lines.append(
            f"{counted(len(experts), 'expert')} stated what they know ({listing(experts, _LISTED)}); {votes} of their "
            "votes counts. An expert who states nothing about a feature gives it the default weight."
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
    known = {lead: change for key, lead in _SETS.items() if records and (change := facts["sets"][key]) is not None}
    if not known:
        return []
    if len(known) == len(_SETS) and not any(map(_differs, known.values())):
        lines = [
            "Without the prior, without the constraints or without both, this set or an equally good one is chosen."
        ]
    else:
        lines = [_compared(lead, change, len(records)) for lead, change in known.items()]
        lines.append(
            "Several sets may be equally good; the one that shares most with the chosen set is meant. So read each "
            "line as: this set or an equally good one."
        )
    tied = [record["feature"] for record in records if record["tied"]]
    if tied:
        which = "it is" if len(tied) == 1 else "each of them is"
        lines.append(f"Ties: other features would do as well as {listing(tied, _LISTED)}; {which} marked in the table.")
    return lines


def _differs(change: Facts) -> bool:
    return bool(change["added"] or change["removed"] or change.get("filling"))


def _compared(lead: str, change: Facts, n: int) -> str:
    filling = change.get("filling")
    fills = f" No model chose {listing(filling, _LISTED)}: anything would fill that place as well." if filling else ""
    if not change["added"] and not change["removed"]:
        return f"{lead}: the same set would be chosen.{fills}"
    changed = "".join(
        f" {key.capitalize()}: {listing(change[key], _LISTED)}." for key in ("removed", "added") if change[key]
    )
    return f"{lead}: {n - len(change['removed'])} of {counted(n, 'chosen feature')} would stay.{changed}{fills}"


def prior_name(kind: str) -> str:
    """Return a prior by its name in the literature.

    >>> prior_name("dirichlet"), prior_name("hyperdirichlet")
    ('Dirichlet prior', 'hyperdirichlet prior')
    """
    return f"{ {'dirichlet': 'Dirichlet', 'generalized': 'generalized Dirichlet'}.get(kind, kind) } prior"


def prior_sentence(prior: Facts | None) -> str:
    """Return the kind of the prior and the weights that were stated."""
    if prior is None:
        return ""
    default, weights = prior["default"], prior["weights"]
    name = prior_name(prior["kind"])
    kind = f"{name[0].upper()}{name[1:]}"
    unlikely = f" Unlikely: {listing(prior['unlikely'], _LISTED)}." if prior["unlikely"] else ""
    if weights:
        stated = [_stated(prior["words"].get(name), name, weight) for name, weight in weights.items()]
        more = " (all of them are listed under How to reproduce)" if len(weights) > _LISTED else ""
        by = "pooled" if prior.get("experts") else "stated by the expert"
        return (
            f"{kind}. Weights {by}, in votes: {listing(stated, _LISTED)}{more}; all others have "
            f"{rounded(default)}.{unlikely}"
        )
    opinion = "." if unlikely else ": no opinion." if prior["is_default_weight"] else ": no preference."
    usual = "the default weight of" if prior["is_default_weight"] else "a weight of"
    return f"{kind}, with {usual} {_in_votes(default)} for every feature{opinion}{unlikely}"


def _stated(word: str | None, name: str, weight: float) -> str:
    return f"{name} ({rounded(weight)})" if word is None else f"{name}: {word} ({_in_votes(weight)})"


def _in_votes(weight: float) -> str:
    return f"{rounded(weight)} vote{'' if weight == 1 else 's'}"


def constraint_label(entry: Facts) -> str:
    """Return a constraint in a few words."""
    if entry["from_prior"]:
        return f"unlikely: {listing(entry['arguments'].get('features', []), 6)}"
    return f"{entry['title']} ({entry['note']})" if entry["note"] else str(entry["title"])


def strictness_text(entry: Facts) -> str:
    """Return how strictly a constraint is meant, by its rho or by its price."""
    if entry.get("price") is None:
        return strictness(entry["rho"], entry["rho_highest"])
    return f"price {price_text(entry['price'], entry['price_votes'])}"


def constraints_hold(facts: Facts) -> str:
    """Return whether the constraints hold, in one sentence."""
    used = [entry for entry in facts["constraints"] if not entry["left_out"]]
    if not used:
        return "All constraints are left out (rho or price 0)." if facts["constraints"] else "No constraints were set."
    n_violated = sum(not entry["holds"] for entry in used)
    if n_violated:
        return f"{n_violated} of {counted(len(used), 'constraint')} {'is' if n_violated == 1 else 'are'} violated."
    return f"All {len(used)} constraints hold." if len(used) > 1 else "The constraint holds."


def constraint_sentences(facts: Facts) -> list[str]:
    """Return the sentences of the section on constraints."""
    entries = facts["constraints"]
    if not entries:
        return [constraints_hold(facts)]
    n_left_out = sum(entry["left_out"] for entry in entries)
    first = constraints_hold(facts)
    if not all(entry["holds"] for entry in entries):
        first = (
            f"{first[:-1]}; together they lower the admissibility of the set to {rounded(facts['admissibility'])} (1 "
            "when all hold)."
        )
    lines = [
        first,
        "Strictness (rho): how strictly a constraint is meant; a hard one is never violated.",
    ]
    if not all(entry["holds"] for entry in entries):
        lines.append("The admissibility is 1 when all constraints hold, and less the more they are violated.")
    if any(entry.get("cost_votes") for entry in entries):
        lines.append("Costs: votes that the set would gain without this constraint, all others as they are.")
    if 0 < n_left_out < len(entries):
        lines.append(f"{counted(n_left_out, 'constraint')} left out: rho or price is 0.")
    if any(entry.get("price") is not None for entry in entries):
        lines.append(
            "Price is what one unit of violation of one inequality costs, as a share of the models: a set that "
            "violates it must have that many votes more. Of several violations at once, each costs a little less than "
            "the one before. Rho is computed from it."
        )
    unlikely = [entry for entry in entries if entry["from_prior"]]
    if unlikely:
        prices = sorted({entry["price"] for entry in unlikely if entry.get("price") is not None})
        if prices:
            low, high = f"{prices[0]:.0%}", f"{prices[-1]:.0%}"
            share = high if low == high else f"{low} to {high} (by the share of the experts)"
            more = f"over {share} of all models' votes more than the feature it displaces"
            lines.append(f"An unlikely feature is taken only if it has {more}.")
        lines.append("What the expert holds unlikely is prior knowledge; it is listed here because it works this way.")
    return lines
