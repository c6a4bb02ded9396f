"""Sentences on features: columns and marks of the selected ones, what can replace them, what is left out and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .._plain import cost_text, counted, counted_votes, listing
from ..explain.redecide import worst_dropout
from ..plotting.profile import EFFECTS, SYMBOLS, effect_text
from ..trust.related import LARGEST_Q
from .facts import (
    Answer,
    Bend,
    Category,
    ChosenFeature,
    LeftOutFact,
    LegendEntry,
    MarkedClass,
    RelatedFacts,
    ReportFacts,
    SubstituteFact,
    VotesFor,
)

_LISTED = 12
_TIED = 3  # names of a tie
# What marks of selected features mean.
MARKS = {
    "data": "its votes brought it in: without your weights it is selected, too, and no constraint has to ask for it",
    "rule": "your constraints ask for it: they require it, or the votes would not select it without them",
    "weight": "your weights brought it in: the same decision without them drops it, or no model selected it",
    "fill": "it fills a place: no model selected it, and nothing asks for this feature in particular",
    "weight not needed": "you gave it a weight, and without your weights it is selected, too",
    "no vote": "no model selected it",
    "after votes": "what is known of it was changed after votes were seen, so that the data may count twice",
    "tie": "another feature would do as well in its place, so that the choice between them is open",
}
AGAIN_WITH_WEIGHTS = "Selected again with your weights"
EFFECT = "Effect in these samples"


def marks_of(member: ChosenFeature) -> tuple[str, ...]:
    """Return the marks of a selected feature."""
    marks = {
        "no vote": member.without_vote,
        "weight not needed": member.weight_not_needed,
        "tie": member.tied,
        "after votes": member.changed_after_votes,
    }
    return tuple(mark for mark, applies in marks.items() if applies)


def again_heading(chosen: Iterable[ChosenFeature]) -> str:
    """Return the heading of what is selected again: where weights were stated, of that without their help.

    >>> again_heading([ChosenFeature("a", again_with_weights="usually")]), again_heading([ChosenFeature("a")])
    ('Selected again by the data alone', 'Selected again')
    """
    return f"Selected again{' by the data alone' * any(member.again_with_weights for member in chosen)}"


def about_chosen(facts: ReportFacts) -> list[str]:
    """Return what the columns of the selected features mean, as far as they are known."""
    chosen, again = facts.chosen, again_heading(facts.chosen)
    lines, weighted = list[str](), any(member.again_with_weights for member in chosen)
    if any(member.hazard_ratio is not None for member in chosen):
        lines.append(
            f"{EFFECT}: the factor that multiplies the hazard (the risk) per standard deviation of the feature, in a "
            f"Cox model{' with the covariates' * bool(facts.data.adjust_for)}, with its 95 % interval. {_OTHER_SAMPLES}"
        )
    elif kinds := [member.effect_kind for member in chosen if member.effect_kind and member.effect is not None]:
        named = (
            "A class is named where the F test of the classes is below 5 %."
            if kinds[0] == "share"
            else "A direction is named where the 95 % interval of this number excludes 0."
        )
        lines.append(f"{EFFECT}: {EFFECTS[kinds[0]]}. {named} {_OTHER_SAMPLES}")
    if any(member.bend is not None for member in chosen):
        lines.append(
            "U-shaped: the target at low and high values of the feature differs from that at values in the middle, "
            "more clearly than along a straight line. The number is the effect of the distance from the middle rank."
        )
    lines += _about_plots(facts)
    if any(member.q is not None for member in chosen):
        about = facts.trust.related
        listed = isinstance(about, RelatedFacts) and about.without_list is not None
        limit = about.limit if isinstance(about, RelatedFacts) else LARGEST_Q
        condition = ", given that your list was stated before any votes were seen" * listed
        lines.append(
            "Related: whether the feature differs with the target by itself. q is the expected share of unrelated "
            f"features among those with a p-value as small{condition}; up to {limit:g} a feature is called related."
        )
    if any(member.selected_again for member in chosen):
        alone = " without the help of your weights" * weighted
        lines.append(
            f"{again}: whether another study with the same constraints would select the feature{alone}. Rarely: in "
            "fewer than 1 of 3 studies; usually: in more than 2 of 3. Only features that the data brought in are "
            "counted."
        )
    if any(member.replaceable is not None for member in chosen) and not common_replacement(chosen):
        unvoted = any(_NO_VOTES in replacement(member) for member in chosen if member.replaceable)
        meant = f" {_NO_VOTES.capitalize()}: only weights or constraints speak for what would take its place." * unvoted
        lines.append(
            "Best replacement: what the best set has instead if the feature cannot be measured, and the votes that "
            f"this costs; it need not measure the same thing.{meant}"
        )
    return lines


def _about_plots(facts: ReportFacts) -> list[str]:
    """Return what to know of the plots: points of some samples only, values that are not adjusted."""
    shown, n = max((plot.n_points for plot in facts.plots), default=(0, 0))
    some = f" Points are {shown:,} of {n:,} samples; boxes and curves are of all." if 0 < shown < n else ""
    names = facts.data.adjust_for
    adjusted = f" They are not adjusted for {listing(names, len(names))}." if names else ""
    return [f"Plots: values as in the data.{some}{adjusted}"] if some or (adjusted and facts.plots) else []


_OTHER_SAMPLES = "The features were selected on these samples, so on others the effects are expected to be smaller."


def about_details(facts: ReportFacts) -> list[str]:
    """Return what the further columns of the selected features mean, as far as they are known."""
    chosen, lines = facts.chosen, _votes_for(facts)
    if any(member.again_with_weights for member in chosen):
        lines.append(
            f"{AGAIN_WITH_WEIGHTS}: whether another study with the same weights and constraints would select it. "
            "Weights favor the same features in every study, right or wrong."
        )
    if any(member.marks is not None for member in chosen):
        lines.append(
            "Marks a class: the one that it separates best from all others, if clearly. Somers' D: 1 always higher "
            "there, -1 lower."
        )
    if any(member.half_low is not None for member in chosen):
        lines.append(
            "On half of the samples: the share of models that selected the feature when they saw only half of the "
            "samples, in most repeats (5 to 95 %)."
        )
    if any(member.identical_to for member in chosen):
        lines.append(
            "Identical to: features with the same values in all samples. Unless weights or constraints differ, the "
            "choice between them is by their position in the table."
        )
    return [*lines, *_adjusted(facts)]


def effect(member: ChosenFeature) -> str:
    """Return how a feature differs with the target, in these samples; of survival by its hazard ratio alone.

    >>> effect(ChosenFeature("a", hazard_ratio=1.35, hazard_low=1.1, hazard_high=1.7, effect=-0.1, effect_kind="risk"))
    'higher risk if high (hazard times 1.35 per SD, 1.10 to 1.70)'
    >>> effect(ChosenFeature("a", hazard_ratio=0.9, hazard_low=0.7, hazard_high=1.2))
    'no clear direction (hazard times 0.90 per SD, 0.70 to 1.20)'
    >>> from dataclasses import replace
    >>> bent = ChosenFeature("a", count=80, effect=0.4, effect_kind="difference", highest_in="ill", effect_clear=True)
    >>> effect(replace(bent, bend=Bend("difference", 1.1, "ill")))
    'U-shaped: low or high in ill (d 1.10); on average higher in ill (d 0.40)'
    >>> effect(replace(bent, effect_clear=False, votes_for=(VotesFor(41, None), VotesFor(39, "b"))))
    'no clear difference (d 0.40); by 41 of 80 votes U-shaped; selected with b by 39 of 80 votes'
    """
    straight, clear = _straight(member)
    curve = next((each.votes for each in member.main_votes if each.with_ is None), None)
    parts = [straight]
    if member.bend is not None:
        parts = [bend_text(member.bend), *([f"on average {straight}"] if clear else [])]
    elif curve is not None:
        parts.append(f"by {curve:,} of {member.count:,} votes U-shaped")
    parts += [
        f"selected with {each.with_} by {each.votes:,} of {member.count:,} votes"
        for each in member.main_votes
        if each.with_ is not None
    ]
    return "; ".join(filter(None, parts))


def _straight(member: ChosenFeature) -> tuple[str, bool]:
    """Return how a feature differs with the target along a straight line, and whether that is clear."""
    ratio, low, high = member.hazard_ratio, member.hazard_low, member.hazard_high
    if ratio is not None:
        clear = low is not None and high is not None and not low <= 1 <= high
        direction = f"{'higher' if ratio > 1 else 'lower'} risk if high" if clear else "no clear direction"
        return f"{direction} ({_hazard_text(ratio, low, high, 'per SD')})", clear
    if member.effect is None or member.effect_kind is None:
        return mark_text(member.marks), member.marks is not None
    clear = member.effect_clear is not False
    return effect_text(member.effect_kind, member.effect, member.highest_in or "", clear), clear


def _hazard_text(ratio: float, low: float | None, high: float | None, per: str) -> str:
    within = "" if low is None or high is None else f", {low:.2f} to {high:.2f}"
    return f"hazard times {ratio:.2f} {per}{within}"


def bend_text(bend: Bend) -> str:
    """Return a U-shaped relation in words.

    >>> bend_text(Bend("difference", -1.1, "ill")), bend_text(Bend("correlation", -0.5))
    ('U-shaped: low or high in ill (d 1.10)', 'U-shaped: target highest in the middle (r -0.50)')
    """
    size = bend.effect or 0.0
    if bend.kind == "hazard":
        risk = "higher" if size > 1 else "lower"
        return f"U-shaped: {risk} risk at both ends ({_hazard_text(size, bend.low, bend.high, 'per SD of distance')})"
    if bend.kind == "correlation":
        return f"U-shaped: target highest {'at both ends' if size > 0 else 'in the middle'} (r {size:+.2f})"
    return f"U-shaped: low or high in {bend.outer} ({SYMBOLS[bend.kind]} {abs(size):.2f})"


def _votes_for(facts: ReportFacts) -> list[str]:
    """Return the most frequent reason, other than the feature as it is, for which models selected a feature."""
    voted = [member for member in facts.chosen if member.votes_for]
    if not voted or facts.ensemble is None:
        return []
    member = max(voted, key=lambda each: each.votes_for[0].votes)
    models = f"{member.count or 0:,} of {counted(facts.ensemble.n_models, 'model')} selected {member.feature}"
    return [
        "The models also look for U-shaped relations, and for pairs of features that act together. For example, "
        f"{models}, {votes_for_text(member.votes_for, ' of them')}."
    ]


def votes_for_text(votes_for: Iterable[VotesFor], of_them: str = "") -> str:
    """Return what the votes for a feature were for, where it was not selected as it is.

    >>> votes_for_text([VotesFor(71, None), VotesFor(9, "TP53")], " of them")
    '71 of them for a U-shaped relation, 9 of them together with TP53'
    """
    return ", ".join(
        f"{each.votes:,}{of_them} "
        + ("for a U-shaped relation" if each.with_ is None else f"together with {each.with_}")
        for each in votes_for
    )


def last_place_tie(answer: Answer) -> list[str]:
    """Return that other features would do as well as the least important one, if there are any."""
    others = answer.last_place
    if not others:
        return []
    shown = listing(others) if len(others) <= _TIED else f"{', '.join(others[:_TIED])} and others"
    return [f"The last place is a tie: {shown} would do as well as {answer.names[-1]}."]


def legend(chosen: Iterable[ChosenFeature]) -> tuple[LegendEntry, ...]:
    """Return the meaning of the marks of the selected features."""
    used = {mark for member in chosen for mark in (*member.reasons, *marks_of(member))}
    return tuple(LegendEntry((mark,), meaning) for mark, meaning in MARKS.items() if mark in used)


def _adjusted(facts: ReportFacts) -> list[str]:
    """Return what the table of associations with covariates means."""
    names = facts.data.adjust_for
    if not names or not any(member.beyond for member in facts.chosen):
        return []
    explained = "has explained what it" if len(names) == 1 else "have explained what they"
    return [
        "Association: correlation with numbers, or eta, the square root of the share of variance that classes or "
        "levels explain; 0 is none, 1 or -1 complete. Before: of the feature with the target. After: of what is left "
        f"of both when {listing(names, len(names))} {explained} can; this is what counted."
    ]


def mark_text(mark: MarkedClass | None) -> str:
    """Return which class a feature marks, in words.

    >>> mark_text(MarkedClass("BL", None, -0.9)), mark_text(MarkedClass("lung", "yes", 0.5))
    ('low in BL (D -0.90)', "'yes' more often in lung (D +0.50)")
    """
    if mark is None:
        return ""
    d = mark.d or 0.0
    if mark.level is None:
        return f"{'high' if d > 0 else 'low'} in {mark.label} (D {d:+.2f})"
    return f"'{mark.level}' {'more' if d > 0 else 'less'} often in {mark.label} (D {d:+.2f})"


def levels_text(category: Category | None) -> str:
    """Return the levels of a category.

    >>> levels_text(Category(("I", "II"), True, (5, 7)))
    'I (5) < II (7)'
    """
    if category is None:
        return ""
    parts = [f"{label} ({n:,})" for label, n in zip(category.labels, category.counts, strict=True)]
    return (" < " if category.ordered else ", ").join(parts)


_SAME = 0.8  # correlation from which on two features are taken to measure the same thing


def substitute_sentences(facts: ReportFacts) -> list[str]:
    """Return what the tables of replacements and of stand-ins mean, and which features measure the same thing."""
    if not facts.substitutes:
        return []
    chosen = facts.names
    lines = [
        "Each selected feature was excluded and the decision made again, with the same weights and constraints. The "
        "cost is what the set loses by it, in votes; weights count as votes, too.",
        *dropout_sentences(facts.substitutes),
    ]
    if facts.stand_ins:
        lines.append(
            "A stand-in is a feature that models selected more often when they did not select the one in the set. "
            "Either: models that selected at least one of the two."
        )
    lines += [
        f"{pair.member} {counted_votes(pair.member_votes)}, {pair.feature} {pair.votes:,}, either "
        f"{pair.votes_either:,}: they measure the same thing"
        + ("; both are selected." if pair.feature in chosen else f"; {pair.member} stands for both.")
        for pair in facts.stand_ins
        if pair.correlation is not None and pair.correlation >= _SAME
    ]
    return lines


def dropout_sentences(members: Iterable[SubstituteFact]) -> list[str]:
    """Return which member's failure costs most, with the best repair; nothing without members."""
    worst = worst_dropout(members)
    if worst is None:
        return []
    if not worst.replaceable:
        reason = "no set satisfies the hard constraints" if worst.proved else "no set was found in time"
        return [f"Without {worst.feature}, {reason}."]
    repair = listing(with_votes(worst.added, worst.added_votes), 3)
    instead = f"with {repair} in its place" if repair else "and nothing can take its place"
    return [f"The set loses most without {worst.feature}: {cost_text(worst.loss_votes, worst.loss)}, {instead}."]


_NO_VOTES = "none with votes"


def replacement(member: ChosenFeature) -> str:
    """Return what would take the place of a member that can be replaced, and the cost.

    Where no model voted for what would, no name is given: any other feature without votes may do as well.

    >>> replacement(ChosenFeature("a", substitute=("b",), substitute_votes=(3,), substitute_cost=2.0))
    'b (costs 2 votes)'
    >>> replacement(ChosenFeature("a", substitute=("b",), substitute_votes=(0,), substitute_cost=5.0))
    'none with votes (costs 5 votes)'
    """
    return f"{_replaced_by(member)} (costs {_costs(member.substitute_cost or 0.0)})"


def _replaced_by(member: ChosenFeature) -> str:
    votes = member.substitute_votes
    if votes and not any(votes):
        return _NO_VOTES
    return listing(with_votes(member.substitute or (), votes), 3) or "nothing"


def _costs(votes: float) -> str:
    return "nothing" if votes < 0.05 else counted_votes(votes)


def common_replacement(chosen: Sequence[ChosenFeature]) -> str:
    """Return in one sentence what would take the place of each member, if that is the same for all; else nothing.

    >>> costs = {"substitute": ("b",), "substitute_votes": (3,), "replaceable": True}
    >>> common_replacement([ChosenFeature(name, substitute_cost=cost, **costs) for name, cost in (("a", 2), ("c", 9))])
    'If one of these features cannot be measured, the best replacement is b for each (costs 2 to 9 votes).'
    """
    if len(chosen) < 2 or not all(member.replaceable for member in chosen):
        return ""
    names = {_replaced_by(member) for member in chosen}
    if len(names) > 1:
        return ""
    low, *_, high = sorted(member.substitute_cost or 0.0 for member in chosen)
    least, most = _costs(low), _costs(high)
    number = least.removesuffix(" votes").removesuffix(" vote")
    costs = least if least == most else f"{'0' if least == 'nothing' else number} to {most}"
    name = names.pop()
    if name == _NO_VOTES:
        return (
            f"No replacement of these features has votes (costs {costs}): only weights or constraints speak for what "
            "would take the place of one of them."
        )
    return f"If one of these features cannot be measured, the best replacement is {name} for each (costs {costs})."


def with_votes(names: Sequence[str], votes: Sequence[int] | None) -> list[str]:
    """Return names with a mark at those without a vote.

    >>> with_votes(["a", "b"], [4, 0]), with_votes(["a"], None)
    (['a', 'b (no vote)'], ['a'])
    """
    return [f"{name} (no vote)" if n == 0 else name for name, n in zip(names, votes or [1] * len(names), strict=True)]


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
NONE_LEFT_OUT = "None: no feature that was not selected has more votes than the weakest selected one."
_NOT_EXAMINED = "Not examined: a selection that was read from a file does not know its constraints. Decide again."


def why_out(entry: LeftOutFact) -> str:
    """Return why a feature with many votes is not in the set."""
    short = [title.split(" (costs")[0] for title in entry.titles[:3]]  # all costs stand with the constraints
    titles, rivals = " and by ".join(short), listing(entry.rivals, 5)  # titles have commas themselves
    by = {"titles": titles or "constraints", "kinds": listing(entry.kinds) or "constraints"}
    words = {"constraint": " with {}", "prior": "; in its place: {}", "tie": "; in its place: {}"}
    instead = words.get(entry.because, "").format(rivals) if rivals else ""
    because = _WHY_OUT.get(entry.because, f"it cannot be selected ({entry.because})")
    return because.format(**by, rivals=rivals or "others") + instead


def left_out_sentences(facts: ReportFacts) -> list[str]:
    """Return how it was found out why strong features are out, or why there is nothing to find out."""
    if facts.left_out:
        return ["The decision was made again with each of them required; the reason is what had to give way for it."]
    if facts.ensemble is None or not facts.chosen:
        return []
    if not facts.left_out_known:
        return [_NOT_EXAMINED]
    return [NONE_LEFT_OUT]
