"""What each site found, of pooled evidence: facts, and the sentences that are made of them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from .._plain import counted, listing, number
from ..decision.selection import Selection
from ..ensemble.pooling import cohort_table
from ..exceptions import EnsembleError, InputError
from ..trust.cohorts import SiteAgreement, leave_one_site_out
from .facts import ClassCount, CohortFacts, SiteFact, SiteVotes

ARROWS = {1: " \u2191", -1: " \u2193", 0: ""}
_NAMED = 5  # features whose conflict has a sentence
_WORTH_SAYING = 0.8  # concordance below which it has one


def cohort_facts(selection: Selection) -> CohortFacts | None:
    """Return what each site found of the selected features, most important first; None if there is but one."""
    evidence = None if selection.posterior is None else selection.posterior.evidence
    if evidence is None or not evidence.cohorts:
        return None
    table, again = cohort_table(evidence), None
    with suppress(EnsembleError, InputError):  # constraints that a site cannot keep by itself, or that need data
        again = leave_one_site_out(selection)
    sites = []
    for name, sent in evidence.cohorts.items():
        assert sent.site is not None
        classes = tuple(ClassCount(label, n) for label, n in sent.site.counts)
        measured = int(np.count_nonzero(~sent.constant))
        sites.append(SiteFact(name, sent.site.n_samples, classes, measured, sent.site.min_votes_sent))
    order = selection.indices[np.argsort(-selection.importance[selection.indices], kind="stable")]
    members = tuple(
        SiteVotes(
            feature=str(table.feature_names[j]),
            votes=tuple(
                round(float(votes)) if measured else None
                for votes, measured in zip(table.votes[:, j], table.measured[:, j], strict=True)
            ),
            directions=tuple(table.directions[:, j].tolist()),
            concordance=float(table.concordance[j]),
            pooled=round(float(evidence.counts[j])),
        )
        for j in order.tolist()
    )
    coding = next(iter(evidence.cohorts.values())).site
    two = coding is not None and coding.coding["task"] == "binary"
    return CohortFacts(
        sites=tuple(sites),
        members=members,
        higher_in=str(coding.coding["classes"][1]) if coding is not None and two else None,
        together="pooling" not in evidence.settings,
        **_again(again),
    )


def _again(agreement: SiteAgreement | None) -> dict[str, Any]:
    """Return what is known of a site that is left out."""
    if agreement is None:
        return {}
    same, n_directions = agreement.same_direction.sum(axis=0).tolist()
    return {
        "size": agreement.size,
        "selected_again": tuple(map(number, agreement.selected_again)),
        "is_lower_bound": agreement.is_lower_bound,
        "same_direction": (same, n_directions),
    }


def cohort_sentences(facts: CohortFacts) -> list[str]:
    """Return how many samples there are where, what a site that is left out selected, and conflicts of direction."""
    n_samples = sum(site.n_samples for site in facts.sites)
    stayed = "" if facts.together else "; no patient's row left its site"
    sizes = listing([f"{site.name} {site.n_samples:,}" for site in facts.sites], 12)
    lines = [f"{counted(len(facts.sites), 'site')}, {counted(n_samples, 'sample')} ({sizes}){stayed}."]
    lines += _left_out(facts)
    shown = [member for member in facts.members if (member.concordance or 0.0) < _WORTH_SAYING]
    for member in shown[:_NAMED]:
        up, down = (_where(facts.sites, member, sign) for sign in (1, -1))
        lines.append(
            f"{member.feature} is up in {up} and down in {down}. As directions conflict, its votes were reduced."
        )
    if len(shown) > _NAMED:
        lines.append(f"The directions of {len(shown) - _NAMED} more selected features conflict, too; see the table.")
    return lines


def _left_out(facts: CohortFacts) -> list[str]:
    expected, low, high = facts.selected_again or (None, None, None)
    if expected is None or low is None or high is None:
        return []
    bound = "at least about" if facts.is_lower_bound else "about"
    lines = [
        f"By itself, a further site would select {bound} {expected:.0f} ({low:.0f} to {high:.0f}) of these "
        f"{facts.size}. To estimate this, each site was compared with all others together."
    ]
    same, n_directions = facts.same_direction or (0, 0)
    if n_directions:
        lines.append(
            f"Directions of selected features at a site and at the others agree in {same:,} of {n_directions:,} cases."
        )
    return lines


def _where(sites: Sequence[SiteFact], member: SiteVotes, sign: int) -> str:
    """Return the sites at which a feature has a direction, with its votes of 100."""
    there = [
        f"{site.name} ({votes} of 100)"
        for site, votes, direction in zip(sites, member.votes, member.directions, strict=True)
        if direction == sign and votes is not None
    ]
    return listing(there, 6) or "none"


def site_text(site: SiteFact, votes: int | None, direction: int) -> str:
    """Return the votes of a feature at a site with an arrow; "-" where it was not measured.

    >>> site = SiteFact("Oslo", 60, (), 200, 5)
    >>> [site_text(site, *each) for each in ((90, 1), (75, -1), (0, 0), (None, 0))]
    ['90 ↑', '75 ↓', '< 5', '-']
    """
    if votes is None:
        return "-"
    return f"< {site.min_votes_sent}" if votes == 0 and site.min_votes_sent > 1 else f"{votes}{ARROWS[direction]}"


def cohort_notes(facts: CohortFacts) -> list[str]:
    """Return what arrows, signs and columns of the table mean."""
    up = f"higher in {facts.higher_in}" if facts.higher_in else "rises with the target (survival: with the hazard)"
    return [
        f"Votes of 100 models at each site. \u2191: {up}; \u2193: lower, or falls; -: not measured, or the same in all "
        "samples.",
        "Same direction: 1 where sites agree, 0 where they contradict each other, by their weights. Pooled votes are "
        "fewer where directions conflict, and where few sites measure a feature.",
    ]
