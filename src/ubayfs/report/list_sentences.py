"""Sentences on lists of features: how far the votes agree with them, and what the other trust in them selects."""

from __future__ import annotations

from .._plain import counted, listing, rounded
from ..explain.redecide import Agreement
from ..priors.knowledge import AS_STATED, LEARNED, ListTrust
from ..priors.list_trust import LEVEL
from .facts import ReportFacts

_LISTED = 12


def _top(entry: ListTrust) -> str:
    """Return how many of a list are among the features with the most votes, if that is more than expected."""
    n, size, n_expected = entry.n_top, entry.n_features, entry.n_top_expected
    if n <= n_expected:
        return ""
    number = rounded(n_expected, 2)
    share = f"{rounded(100 * n_expected / size, 2)} %"
    return f"; {n} of {size} are in the top {share}, where {number} {'is' if number == '1' else 'are'} expected"


def list_sentences(facts: ReportFacts, agreement: Agreement) -> list[str]:
    """Return how far votes and each list agree, the weight it was given, and what the other choice would select."""
    lists, learned = agreement.lists, agreement.trust_in_lists == LEARNED
    if not lists:
        return []
    n_models, lines = 0 if facts.ensemble is None else facts.ensemble.n_models, []
    for entry in lists[:_LISTED]:
        name, p = f'Your list "{entry.name}"', rounded(entry.p_value, 2)
        weight = entry.weight if learned else entry.stated
        given = f"{rounded(weight)} of {n_models:,} votes" if n_models else f"{rounded(weight)} votes"
        if not entry.agrees:
            used = f'it was given no weight. That does not show that the list is wrong; "{AS_STATED}" uses it anyway.'
            stays = f"each feature was given {given}, as stated. That does not show that the list is wrong."
            among = "" if entry.p_value > LEVEL else f", as one of {len(lists)} lists,"
            how = f"did not{among} clearly get more votes than random features (p = {p})"
            lines.append(f"{name} {how}: {used if learned else stays}")
        else:
            lines.append(
                f"{name}: its features have more votes than random ones (p = {p}{_top(entry)}); each was given {given}."
            )
    if len(lists) > _LISTED:
        others = counted(len(lists) - _LISTED, "further list was", "further lists were")
        lines.append(f"{others} checked in the same way.")
    before, after = facts.names, agreement.other_trust
    other = f"With `trust_in_lists: {AS_STATED if learned else LEARNED}`"
    if after is None:
        return [*lines, f"{other}, no set satisfies all hard constraints."]
    removed, added = ([n for n in a if n not in b] for a, b in ((before, after), (after, before)))
    if not removed and not added:
        return [*lines, f"{other}, the same features are selected."]
    changes = [f"{listing(names, _LISTED)} {verb}" for names, verb in ((added, "added"), (removed, "removed")) if names]
    return [*lines, f"{other}, the selected set would have {' and '.join(changes)}."]
