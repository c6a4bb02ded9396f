"""Sentences on what experts know: what weights and constraints changed, and whether votes agree with them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from .._plain import counted, listing, rounded
from ..explain.redecide import Agreement
from ..knowledge.scale import VOTES
from ..priors.knowledge import AS_STATED, LEARNED, ListTrust
from ..priors.list_trust import LEVEL
from .facts import ChosenFeature, ConstraintFact, PriorFacts, ReportFacts

_NUMBER_OF_VOTES = re.compile(r"\S+ votes")

_LISTED = 12
_STRONGEST = 5  # favored features that are out, by their votes
_FIRST = 3  # names of a long list
_SHOWN_VOTES = 0.05  # fewer votes are shown as 0


def opinion_and_data(facts: ReportFacts) -> list[str]:
    """Return whether weights and constraints made a difference, and whether the weights agree with the votes."""
    records = [record for record in facts.chosen if record.reasons]
    kinds = _stated_kinds(facts)
    if not records or not kinds:
        return []
    return [*_brought_in(facts, records, kinds), *_favored(facts)]


def _stated_kinds(facts: ReportFacts) -> list[str]:
    """Return which of weights and constraints were stated."""
    constraints = any(not entry.from_prior for entry in facts.constraints)
    return ["weights"] * bool(facts.agreement) + ["constraints"] * constraints


def _brought_in(facts: ReportFacts, records: Sequence[ChosenFeature], stated: list[str]) -> list[str]:
    """Return which members weights and constraints brought in, which fill places, and what was kept out."""
    votes, kinds = "votes" if facts.ensemble else "importances", " and ".join(stated)
    by = {word: [r.feature for r in records if r.reasons == (word,)] for word in ("data", "weight", "rule", "fill")}
    alone = facts.sets.data_alone or facts.sets.without_constraints
    out = () if alone is None else alone.added
    if not (by["weight"] or by["rule"] or by["fill"] or out):
        if not any(map(_keeps_out, facts.constraints)):
            return [f"Your {kinds} made no difference: the {votes} alone would select these features, too."]
        only = "made no difference, and your constraints " if stated[0] == "weights" else ""
        same = "the same one" if len(records) == 1 else "the same ones"
        n = counted(len(records), "feature")
        return [
            f"Your {stated[0]} {only}only limit how many features are selected: for {n}, the {votes} alone would "
            f"select {same}."
        ]
    n, n_data = counted(len(records), "selected feature"), len(by["data"])
    lines = [
        f"{f'All {n}' if n_data == len(records) > 1 else f'{n_data} of {n}'} {_are(n_data)} there by "
        f"{'its' if n_data == 1 else 'their'} {votes}."
    ]
    for word, brought in (("weight", "Your weights brought in"), ("rule", "Your constraints ask for")):
        if by[word]:
            lines.append(f"{brought} {listing(by[word], _LISTED)}.")
    if anyway := [r.feature for r in records if r.reasons == ("rule",) and r.data_alone]:
        lines.append(f"The {votes} alone would select {listing(anyway, _LISTED)}, too.")
    if filling := by["fill"]:
        which, them = ("fills a place", "it") if len(filling) == 1 else ("fill places", "them")
        lines.append(f"{listing(filling, _LISTED)} {which}: no model selected {them}.")
    if out:
        lines.append(f"Your {_keeping_out(facts, out, kinds)} kept out {listing(out, _LISTED)}, which the {votes} "
                     "alone would select.")  # fmt: skip
    return [" ".join(lines)]


def _keeping_out(facts: ReportFacts, out: Sequence[str], kinds: str) -> str:
    """Return which of weights and constraints keep some features out: one of them, if they are in without it."""
    sets = facts.sets
    for kind, change in (("weights", sets.without_prior), ("constraints", sets.without_constraints)):
        if kind in kinds and change is not None and set(out) <= set(change.added):
            return kind
    return kinds


def _keeps_out(entry: ConstraintFact) -> bool:
    """Return whether the set would gain without a constraint, or with one more place."""
    more = entry.one_more
    gains = [entry.cost_votes, None if more is None else more.gain_votes]
    if gains == [None, None]:
        return any(gain is not None and gain > 0 for gain in (entry.cost, None if more is None else more.gain))
    return any(gain is not None and gain >= _SHOWN_VOTES for gain in gains)


def _are(n: int) -> str:
    return "is" if n == 1 else "are"


def _favored(facts: ReportFacts) -> list[str]:
    """Return which favored features are in the set, and whether votes favor them, too; if not, it is no conflict."""
    if facts.agreement is None:
        return ["No weights were stated."]
    p_value, prior = facts.agreement.p_value, facts.prior
    if p_value is None or prior is None:
        return []
    chosen = {record.feature for record in facts.chosen}
    favored = [name for name, weight in prior.weights.items() if weight > prior.default]
    out = [name for name in favored if name not in chosen]
    lines, p = [], rounded(p_value, 2)
    about_lists, lists = list_sentences(facts, facts.agreement), facts.agreement.lists
    if out:
        n, of_all = len(favored) - len(out), f"Of {counted(len(favored), 'feature')} that you favored"
        lines.append(f"{of_all}, {n} {_are(n)} in the set; {_out_of_favored(out, prior.votes)}.")
    if len(lists) == 1 and len(favored) in (0, lists[0].n_features):  # its p-value says it all
        return [*lines, *about_lists]
    if p_value <= 0.05:
        return [*lines, f"Your favored features got more votes than random ones would (p = {p}).", *about_lists]
    return [
        *lines,
        f"Your favored features did not clearly get more votes than random ones would (p = {p}). That does not make "
        "them wrong: these data may be too few to show it.",
        *about_lists,
    ]


def _out_of_favored(out: Sequence[str], votes: Mapping[str, int]) -> str:
    """Return which favored features are out; of many, those with most votes.

    >>> _out_of_favored(["a", "b"], {}), _out_of_favored([*"abcdefghijklm"], {"b": 3, "c": 9})
    ('a and b are not', 'of the other 13, c (9) and b (3) have the most votes')
    """
    if len(out) <= _LISTED:
        return f"{listing(out, _LISTED)} {_are(len(out))} not"
    if not votes:
        return f"the other {len(out):,} are not"
    strongest = sorted((name for name in out if votes.get(name)), key=lambda name: -votes[name])[:_STRONGEST]
    if not strongest:
        return f"no model selected any of the other {len(out):,}"
    shown = listing([f"{name} ({votes[name]:,})" for name in strongest])
    return f"of the other {len(out):,}, {shown} {'has' if len(strongest) == 1 else 'have'} the most votes"


def experts_and_times(prior: PriorFacts | None) -> list[str]:
    """Return who stated the knowledge, where they disagree, and what was stated after votes were seen."""
    if prior is None:
        return []
    lines, experts = [], prior.experts
    if experts:
        votes = {"mean": "the mean", "lowest": "the lowest"}[prior.pool or "mean"]
        lines.append(
            f"{counted(len(experts), 'expert')} stated what they know ({listing(experts, _LISTED)}); {votes} of their "
            "votes counts. An expert who states nothing about a feature gives it the default weight."
        )
        apart = [
            f"{entry.feature} ({rounded(entry.disagreement)} votes apart)"
            for entry in prior.opinions
            if entry.disagreement and len(experts) > 1
        ]
        lines += [f"They disagree most on {listing(apart, 3)}."] if apart else []
    times = prior.confirmed_by or {}
    if times:
        by = [f"{name} ({_moment(time)})" for name, time in times.items()]
        lines.append(f"Confirmed before votes were seen: {listing(by, _LISTED)}.")
        waiting = [name for name in experts or () if name not in times]
        lines += [f"Not confirmed: {listing(waiting, _LISTED)}."] if waiting else []
    if prior.confirmed:
        lines.append(f"The knowledge was confirmed on {_moment(prior.confirmed)}, before votes were seen.")
    changed = [f"{name} ({_moment(time)})" for name, time in prior.changed_after_votes.items()]
    if changed:
        lines.append(f"Changed after votes were seen, so that the data may count twice: {listing(changed, _LISTED)}.")
    return lines


def _moment(time: str) -> str:
    return time.replace("T", " ").replace("+00:00", " UTC")


_SAME_WITHOUT = {
    ("weights",): "Without your weights, this set or an equally good one is selected.",
    ("constraints",): "Without your constraints, this set or an equally good one is the best of at most its size.",
    ("weights", "constraints"): (
        "Without your weights, without your constraints or without both, this set or an equally good one is the best "
        "of at most its size."
    ),
}


def less_knowledge(facts: ReportFacts) -> list[str]:
    """Return the sentences on sets that less knowledge would choose; a table has the sets."""
    records = facts.chosen
    has_other_sets = records and any(change is not None for change in facts.sets)
    stated = tuple(_stated_kinds(facts))
    lines = [_SAME_WITHOUT[stated]] if stated and has_other_sets and not _differ(facts) else []
    if filling := () if facts.sets.without_prior is None else facts.sets.without_prior.filling:
        lines.append(
            f"No model selected {listing(filling, _LISTED)}: without its weight anything would do in its place."
        )
    tied = [record.feature for record in records if record.tied]
    if tied:
        which = "it is" if len(tied) == 1 else "each of them is"
        lines.append(f"Ties: other features would do as well as {listing(tied, _LISTED)}; {which} marked in the table.")
    return lines


def _differ(facts: ReportFacts) -> bool:
    return any(change and (change.added or change.removed) for change in facts.sets)


def knowledge_notes(facts: ReportFacts) -> list[str]:
    """Return which sets are meant where less knowledge would choose another one."""
    meant = "Several sets may be equally good; the one that shares most with the selected set is meant."
    return [meant] if facts.chosen and _differ(facts) else []


def prior_name(kind: str) -> str:
    """Return a prior by its name in the literature.

    >>> prior_name("dirichlet"), prior_name("hyperdirichlet")
    ('Dirichlet prior', 'hyperdirichlet prior')
    """
    return f"{ {'dirichlet': 'Dirichlet', 'generalized': 'generalized Dirichlet'}.get(kind, kind) } prior"


def prior_sentence(prior: PriorFacts | None) -> str:
    """Return the kind of the prior and the weights that were stated."""
    if prior is None:
        return ""
    default, weights = prior.default, prior.weights
    name = prior_name(prior.kind)
    kind = f"{name[0].upper()}{name[1:]}"
    unlikely = f" Unlikely: {listing(prior.unlikely, _LISTED)}." if prior.unlikely else ""
    if weights:
        stated = stated_weights(prior)
        by = "pooled" if prior.experts else "stated by the expert"
        by += " and learned for lists" * (prior.trust_in_lists == LEARNED)
        return (
            f"{kind}. Weights {by}, in votes: {listing(stated, _LISTED)}; all others have {rounded(default)}.{unlikely}"
        )
    if prior.trust_in_lists == LEARNED:
        return f"{kind}, with a weight of {_in_votes(default)} for every feature: no list was given more.{unlikely}"
    opinion = "." if unlikely else ": no opinion." if prior.is_default_weight else ": no preference."
    usual = "the default weight of" if prior.is_default_weight else "a weight of"
    return f"{kind}, with {usual} {_in_votes(default)} for every feature{opinion}{unlikely}"


def stated_weights(prior: PriorFacts) -> list[str]:
    """Return the features with a weight of their own; of many, those of one weight together.

    Together stand their number, the first names and, if all have the same, their source.
    """
    groups: dict[tuple[str | None, float], list[str]] = {}
    for name, weight in prior.weights.items():
        groups.setdefault((prior.words.get(name), weight), []).append(name)
    together = len(prior.weights) > _LISTED
    stated = list[str]()
    for (word, weight), names in groups.items():
        if together and len(names) > _FIRST:
            each = "; ".join(filter(None, [f"{_in_votes(weight)} each", _source(prior, names)]))
            of_group = " ".join(filter(None, [f"{len(names):,} features", word, f"({each})"]))
            stated.append(f"{of_group}: {listing(names, _FIRST)}")
        else:
            stated += [_stated(word, name, weight) for name in names]
    return stated


def _source(prior: PriorFacts, names: Sequence[str]) -> str:
    """Return the source of features, if all have the same."""
    source_of = {reason.feature: reason.source for reason in prior.reasons}
    sources = {source_of.get(name, "") for name in names}
    source = sources.pop() if len(sources) == 1 else ""
    return f"source: {source}" if source else ""


def _stated(word: str | None, name: str, weight: float) -> str:
    return f"{name} ({rounded(weight)})" if word is None else f"{name}: {word} ({_in_votes(weight)})"


def _in_votes(weight: float) -> str:
    return f"{rounded(weight)} vote{'' if weight == 1 else 's'}"


# -- lists of features ------------------------------------------------------------------------------------------------


def _top(entry: ListTrust) -> str:
    """Return how many of a list are among the features with the most votes, if that is more than expected."""
    n, size, n_expected = entry.n_top, entry.n_features, entry.n_top_expected
    if n <= n_expected:
        return ""
    number = rounded(n_expected, 2)
    share = f"{rounded(100 * n_expected / size, 2)} %"
    return f"; {n} of {size} are in the top {share}, where {number} {'is' if number == '1' else 'are'} expected"


def _list_name(entry: ListTrust, prior: PriorFacts | None) -> str:
    """Return a list by the word that its features share, with their source, or by its own name."""
    *experts, stated = entry.name.rsplit(": ", 1)
    n = counted(entry.n_features, "feature")
    if stated not in VOTES and not _NUMBER_OF_VOTES.fullmatch(stated):
        return f'The {n} of your list "{entry.name}"'
    rated = f"rated {stated}" if stated in VOTES else f"with a weight of {stated}"
    names = [] if prior is None else [name for name, word in prior.words.items() if word == stated]
    source = _source(prior, names) if prior is not None and names and not experts else ""
    return f"The {n} {rated} by {experts[0]}" if experts else f"Your {n} {rated}" + (f" ({source})" if source else "")


def list_sentences(facts: ReportFacts, agreement: Agreement) -> list[str]:
    """Return how far votes and each list agree, the weight it was given, and what the other choice would select."""
    learned = agreement.trust_in_lists == LEARNED
    if not agreement.lists:
        return []
    lines = votes_of_lists(
        agreement.lists, learned, 0 if facts.ensemble is None else facts.ensemble.n_models, facts.prior
    )
    before, after = facts.names, agreement.other_trust
    how, key = ("as stated", AS_STATED) if learned else ("as far as the votes agree", LEARNED)
    other = f"With weights {how} (trust_in_lists: {key})"
    if after is None:
        return [*lines, f"{other}, no set satisfies all hard constraints."]
    removed, added = ([n for n in a if n not in b] for a, b in ((before, after), (after, before)))
    if not removed and not added:
        return [*lines, f"{other}, the same features are selected."]
    changes = [f"{listing(names, _LISTED)} {verb}" for names, verb in ((added, "added"), (removed, "removed")) if names]
    return [*lines, f"{other}, the selected set would have {' and '.join(changes)}."]


def votes_of_lists(lists: Sequence[ListTrust], learned: bool, n_models: int, prior: PriorFacts | None) -> list[str]:
    """Return how far votes and each list agree, and the weight it was given."""
    lines = list[str]()
    for entry in lists[:_LISTED]:
        name, p = _list_name(entry, prior), rounded(entry.p_value, 2)
        weight = entry.weight if learned else entry.stated
        votes_given = f"{rounded(weight)} of {n_models:,} votes" if n_models else f"{rounded(weight)} votes"
        if not entry.agrees:
            used = f'they were given no weight. That does not show that the list is wrong; "{AS_STATED}" uses it.'
            stays = f"each feature was given {votes_given}, as stated. That does not show that the list is wrong."
            among = "" if entry.p_value > LEVEL else f", as one of {len(lists)} lists,"
            how = f"did not{among} clearly get more votes than random features (p = {p})"
            lines.append(f"{name} {how}: {used if learned else stays}")
        else:
            # Up to the level of 0.2 a list keeps its weight, which is too weak to claim more than a hint.
            more = (
                "have more votes than random features" if entry.p_value <= 0.05 else "may have more votes than random"
            )
            lines.append(f"{name} {more} (p = {p}{_top(entry)}); each was given {votes_given}.")
    if len(lists) > _LISTED:
        others = counted(len(lists) - _LISTED, "further list was", "further lists were")
        lines.append(f"{others} checked in the same way.")
    return lines
