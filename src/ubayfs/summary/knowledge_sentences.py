"""Sentences on what an expert knows: weights and constraints, what they changed and kept out, and what votes say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._plain import counted, listing, price_text, rounded, strictness

Facts = Mapping[str, Any]

_LISTED = 12


def opinion_and_data(facts: Facts) -> list[str]:
    """Return whether weights and constraints made a difference, and whether the weights agree with the votes."""
    records = [record for record in facts["chosen"] if record["reasons"]]
    stated = {"weights": facts["agreement"], "constraints": any(not e["from_prior"] for e in facts["constraints"])}
    kinds = [kind for kind, given in stated.items() if given]
    if not records or not kinds:
        return []
    own = [record["feature"] for record in records if record["reasons"] != ["data"]]
    line = f"Your {' and '.join(kinds)} made no difference: the votes alone would choose these features, too."
    if own:
        rest, kept = len(records) - len(own), [r["feature"] for r in records if r["feature"] in own and r["data_alone"]]
        others = [f"the other {'one' if rest == 1 else rest}"] * (rest > 0) + kept
        line = (
            f"{len(own)} of {counted(len(records), 'chosen feature')} {_are(len(own))} there because of your "
            f"{' or '.join(kinds)}: {listing(own, _LISTED)}."
            + (f" The votes alone would choose {listing(others, _LISTED)}, too." if others else "")
            + _either_alone(facts["sets"], own)
        )
    return [line, *_favored(facts)]


def _are(n: int) -> str:
    return "is" if n == 1 else "are"


def _either_alone(sets: Facts, own: list[str]) -> str:
    """Return which features less knowledge of one kind would not remove, but less of both kinds would."""
    kinds = [sets[key] for key in ("without_prior", "without_constraints")]
    if None in kinds:
        return ""
    both = [name for name in own if all(name not in change["removed"] for change in kinds)]
    return f" Your weights alone would keep {listing(both, _LISTED)}, and so would your constraints." if both else ""


def _favored(facts: Facts) -> list[str]:
    """Return which favored features are in the set, and whether votes favor them, too; if not, it is no conflict."""
    if facts["agreement"] is None:
        return ["No weights were stated."]
    p_value, prior = facts["agreement"]["p_value"], facts["prior"]
    if p_value is None:
        return []
    chosen = {record["feature"] for record in facts["chosen"]}
    favored = [name for name, weight in prior["weights"].items() if weight > prior["default"]]
    out = [name for name in favored if name not in chosen]
    lines, p = [], rounded(p_value, 2)
    if out:
        n, of_all = len(favored) - len(out), f"Of {counted(len(favored), 'feature')} that you favored"
        lines.append(f"{of_all}, {n} {_are(n)} in the set; {listing(out, _LISTED)} {_are(len(out))} not.")
    if p_value <= 0.05:
        return [*lines, f"Your favored features got more votes than random ones would (p = {p})."]
    return [
        *lines,
        f"Your favored features did not clearly get more votes than random ones would (p = {p}). That does not make "
        "them wrong: these data may be too few to show it.",
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
    """Return the sentences on sets that less knowledge would choose; a table has the sets."""
    records = facts["chosen"]
    known = records and any(change is not None for change in facts["sets"].values())
    same = "Without weights, without constraints or without both, this set or an equally good one is chosen."
    lines = [same] if known and not _differ(facts) else []
    if filling := (facts["sets"]["without_prior"] or {}).get("filling"):
        lines.append(f"No model chose {listing(filling, _LISTED)}: without its weight anything would do in its place.")
    tied = [record["feature"] for record in records if record["tied"]]
    if tied:
        which = "it is" if len(tied) == 1 else "each of them is"
        lines.append(f"Ties: other features would do as well as {listing(tied, _LISTED)}; {which} marked in the table.")
    return lines


def _differ(facts: Facts) -> bool:
    return any(change and (change["added"] or change["removed"]) for change in facts["sets"].values())


def knowledge_notes(facts: Facts) -> list[str]:
    """Return which sets are meant where less knowledge would choose another one."""
    meant = "Several sets may be equally good; the one that shares most with the chosen set is meant."
    return [meant] if facts["chosen"] and _differ(facts) else []


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


def constraint_state(entry: Facts) -> str:
    """Return in a word or two whether a constraint holds."""
    return "left out" if entry["left_out"] else "holds" if entry["holds"] else "violated"


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
    return {1: "The constraint holds.", 2: "Both constraints hold."}.get(n := len(used), f"All {n} constraints hold.")


def constraint_sentences(facts: Facts) -> list[str]:
    """Return whether the constraints hold, and what it means if they do not."""
    if all(entry["holds"] for entry in facts["constraints"]):
        return [constraints_hold(facts)]
    left = rounded(facts["admissibility"])
    return [constraints_hold(facts), f"This lowers the admissibility of the set to {left} (1 when all hold)."]


def constraint_notes(facts: Facts) -> list[str]:
    """Return what the columns of the constraints mean, as far as they are needed."""
    entries = facts["constraints"]
    if not entries:
        return []
    n_left_out = sum(entry["left_out"] for entry in entries)
    lines = ["Strictness (rho): how strictly a constraint is meant; a hard one is never violated."]
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


_WHY_OUT = {
    "constant": "it is the same in all samples",
    "min_votes": "it has fewer votes than were asked for",
    "contradiction": "excluded by {titles}",
    "tie": "a set with it would be just as good",
    "constraint": "left out by {kinds}",
    "prior": "left out by the prior weights",
    "rival": "left out for {rivals}: the places are limited by {titles}",
    "search": "not known: the search ended before a proof, and it may belong in the set",
}


def why_out(entry: Facts) -> str:
    """Return why a feature with many votes is not in the set."""
    titles, rivals = " and by ".join(entry["titles"][:3]), listing(entry["rivals"], 5)  # titles have commas themselves
    by = {"titles": titles or "constraints", "kinds": listing(entry["kinds"]) or "constraints"}
    words = {"constraint": " with {}", "prior": "; in its place: {}", "tie": "; in its place: {}"}
    instead = words.get(entry["because"], "").format(rivals) if rivals else ""
    because = _WHY_OUT.get(entry["because"], f"it cannot be selected ({entry['because']})")
    return because.format(**by, rivals=rivals or "others") + instead


NONE_LEFT_OUT = "None: no feature that was not chosen has more votes than the weakest chosen one."
_NOT_EXAMINED = "Not examined: a selection that was read from a file does not know its constraints. Decide again."


def left_out_sentences(facts: Facts) -> list[str]:
    """Return how it was found out why strong features are out, or why there is nothing to find out."""
    if facts["left_out"]:
        return ["The decision was made again with each of them required; the reason is what had to give way for it."]
    if facts["ensemble"] is None or not facts["chosen"]:
        return []
    if not facts["left_out_known"]:
        return [_NOT_EXAMINED]
    return [NONE_LEFT_OUT]
