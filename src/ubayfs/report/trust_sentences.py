"""Sentences on the chosen features and on trust: columns and marks, what explains the set, what other samples say.

A report begins with the three facts of trust; sections go into them.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .._plain import counted, counted_votes, listing
from ..plotting.profile import EFFECTS
from ..trust.prediction_metrics import METRICS, interval_text, method_name, metric_name, score_text
from ..trust.related import LARGEST_Q
from ..trust.validation import COVARIATES_ALONE, OF_COVARIATES
from .facts import (
    Category,
    ChosenFeature,
    Fact,
    LeftOutFact,
    LegendEntry,
    MarkedClass,
    MethodScore,
    RelatedFacts,
    ReportFacts,
    ReproducibilityFacts,
    Score,
    SizeAndRange,
    TrustFacts,
    Unknown,
    ValidationFacts,
    VotesFor,
)

_LISTED = 12
_UNDEFINED = {
    "importances": "Has no answer here: importances were given, there was no ensemble that could be repeated.",
    "votes": "Has no answer here: the votes were made elsewhere, so that they cannot be repeated on other samples.",
    "unsupervised": "Has no meaning here: there is no target that the features could be related to.",
    "empty": "Has no answer here: no feature was chosen.",
    "failed": "Could not be found out: {problem}",
    "not_done": "{problem}",
}


@dataclass(frozen=True)
class _Part:
    """A part of trust: what finds it out, and what is repeated for it."""

    command: str  # on the command line
    call: str  # in Python
    unit: str


_PARTS = {
    "validation": _Part("ubayfs trust {} --level full", "ubayfs.validate(selection, X, y)", "fold"),
    "related": _Part("ubayfs trust {} --level quick", "ubayfs.estimate_related(selection, X, y)", "shuffle"),
    "reproducibility": _Part(
        "ubayfs trust {} --level quick", "ubayfs.estimate_reproducibility(selection, X, y)", "split"
    ),
}
QUESTIONS = {
    "validation": "Does it predict?",
    "related": "Are they related to the target?",
    "reproducibility": "Would another study select them again?",
}
# Where a report has no other name for its result than its own place, which moves with it.
HERE = "."
_OUTCOMES = {
    "same": "The same score in every fold as", "unclear": "No clear difference from",
    "better": "Better than", "worse": "Worse than",
}  # fmt: skip


def three_facts(trust: TrustFacts) -> tuple[Fact, ...]:
    """Return question, answer in a word or two, sentences, and the command that finds out what is not known."""
    both_true = _both_true(trust.related, trust.reproducibility)
    validation, related_, again = trust.validation, trust.related, trust.reproducibility
    return (
        _unknown(trust, "validation", validation)
        if isinstance(validation, Unknown)
        else _fact("validation", validation, *predicts(validation)),
        _unknown(trust, "related", related_)
        if isinstance(related_, Unknown)
        else _fact("related", related_, *related(related_)),
        _unknown(trust, "reproducibility", again)
        if isinstance(again, Unknown)
        else _fact("reproducibility", again, *selected_again(again, bool(both_true)), both_true),
    )


def _fact(
    part: str, examined: ValidationFacts | RelatedFacts | ReproducibilityFacts, value: str, sentences: Sequence[str],
    further: Sequence[str] = (),
) -> Fact:  # fmt: skip
    lines = (*sentences, *further, *_rests_on(part, examined))
    return Fact(part, examined.state, QUESTIONS[part], value, lines)


def _unknown(trust: TrustFacts, part: str, unknown: Unknown) -> Fact:
    if unknown.state == "undefined":
        sentence, command = _UNDEFINED[unknown.reason or "failed"].format(problem=unknown.problem), ""
    else:
        sentence, command = "Not tested yet.", _command(trust.result, part)
    if command:
        where = ", in the directory of this report" if trust.result == HERE else ""
        sentence += f" To test it, run{where}:"
    return Fact(part, unknown.state, QUESTIONS[part], "", (sentence,), command)


def _command(result: str | None, part: str) -> str:
    if result is None:
        return _PARTS[part].call
    return _PARTS[part].command.format(shlex.quote(result)) if result else ""


def _rests_on(part: str, examined: ValidationFacts | RelatedFacts | ReproducibilityFacts) -> list[str]:
    without_score = isinstance(examined, ValidationFacts) and examined.mean is None
    if examined.state != "partial" or without_score or not (examined.n_done or examined.failures):
        return []
    why = f" The others could not be used: {examined.failures[0]}" if examined.failures else ""
    return [f"This rests on {examined.n_done} of {counted(examined.n_asked, _PARTS[part].unit)}.{why}"]


def mean_text(score: Score | ValidationFacts) -> str:
    """Return the mean of a score over folds with its interval."""
    return interval_text(score.mean, score.lower, score.upper)


def difference_text(score: MethodScore) -> str:
    """Return by how much ours is better than a baseline, with the interval."""
    return interval_text(score.difference, score.difference_lower, score.difference_upper, "+")


def predicts(found: ValidationFacts) -> tuple[str, list[str]]:
    """Return how well the procedure predicts, in a word and in sentences."""
    name = metric_name(found.metric)
    if found.mean is None:
        return "", ["No score can be computed in any fold, as where the target is constant in the part that is tested."]
    return f"{name} {score_text(found.mean)}", [*_scored(found), *_added(found), *_closest(found)]


def _scored(found: ValidationFacts) -> list[str]:
    """Return the score in words, and whether it is that of guessing."""
    name, scored = metric_name(found.metric), mean_text(found)
    metric = METRICS.get(found.metric)
    meaning, guessing = ("more is better", None) if metric is None else (metric.meaning, metric.guessing)
    lines = [f"On samples not used for choosing: {name} {scored}. {name[0].upper()}{name[1:]}: {meaning}."]
    if guessing is not None and found.lower is not None and found.lower <= guessing:
        lines.append("That is not clearly better than guessing.")
    return lines


def _added(found: ValidationFacts) -> list[str]:
    """Return what features add to covariates."""
    for row in _baselines(found):
        if row.method == COVARIATES_ALONE:
            scored = f"{metric_name(found.metric)} {mean_text(row)}"
            alone = f"Predictors also had {listing(found.adjust_for)}. Without features they reach {scored}"
            doubt = " Whether they add anything is not clear." if _outcome(row) == "unclear" else ""
            return [f"{alone}; the features add {difference_text(row)}.{doubt}"]
    return []


def _closest(found: ValidationFacts) -> list[str]:
    """Return how ours compares with the baseline that comes closest to it, or beats it, and with random features."""
    others = [row for row in _baselines(found) if row.method not in OF_COVARIATES]
    other_sets = [row for row in others if _outcome(row) != "same"] or others
    closest = min(other_sets, key=lambda row: row.difference or 0.0, default=None)
    return [_comparison(row) for row in other_sets if row is closest or row.method == "random"]


def _outcome(row: MethodScore) -> str:
    """Return how ours compares with one baseline as far as the interval tells: same, unclear, better or worse."""
    low, high = row.difference_lower, row.difference_upper
    if low == high == 0:
        return "same"
    if low is None or high is None or low <= 0 <= high:
        return "unclear"
    return "better" if low > 0 else "worse"


def _comparison(row: MethodScore) -> str:
    outcome = _outcome(row)
    by = "" if outcome == "same" else f": {difference_text(row)}"
    return f"{_OUTCOMES[outcome]} {method_name(row.method)}{by}."


def _baselines(found: ValidationFacts) -> list[MethodScore]:
    """Return the comparisons by the main metric, one for each way of choosing: by our own predictor if there is one."""
    rows: dict[str, MethodScore] = {}
    for row in found.scores:
        known = row.metric == found.metric and row.difference is not None
        if known and (row.method not in rows or row.predictor == found.predictor):
            rows[row.method] = row
    return list(rows.values())


def related(found: RelatedFacts) -> tuple[str, list[str]]:
    """Return how many members are related to the target, in a word and in sentences."""
    k, n, without = found.size, found.at_least, found.without_list
    if k == 0:
        return "", ["No feature was selected."]
    given, guess = "", found.best_guess
    if without is not None and n == without == 0:
        given = ", with your list or without it"
    elif without is not None:
        other = "as many" if without == n else f"at least {without}" if without else "none could be shown"
        more = found.best_guess_without_list or 0
        guessed = f" (best guess: {more})" if 0 < without < more and (without, more) != (n, guess) else ""
        given = f", if your list was stated before any votes were seen; {other}{guessed} without it"
    of_list = f"; best guess: {guess}" if without is not None and guess > n else ""  # it holds with the list only
    sure = f"({found.confidence:.0%} confidence".replace("%", " %") + f"{of_list})"
    if n == 0:
        these, what = ("This feature", "it may be a chance finding") if k == 1 else (
            f"None of these {k}", "they may be chance findings")  # fmt: skip
        could = "could not" if k == 1 else "could"
        doubt = "" if without else f" {what[0].upper()}{what[1:]}."
        shown = f"{these} {could} be shown to be related to the target{given}.{doubt}"
        return "none shown", [shown, *_by_votes(found), *_meaning(found)]
    some = f"At least {n} of these {k} {'is' if n == 1 else 'are'}"
    which = some if n < k else "This feature is" if k == 1 else f"All {k} are"
    guessed = f" Best guess: {guess}." if guess > n and not of_list else ""
    value = f"at least {n} of {k}" if n < k else f"all {k}" if k > 1 else "yes"
    first = f"{which} related to the target {sure}{given}.{guessed}"
    return value, [first, *_supported(found), *_by_votes(found), *_meaning(found)]


def _supported(found: RelatedFacts) -> list[str]:
    """Return how many features the data support, where the set is larger."""
    n, k = found.n_supported, found.size
    if n is None:
        return []
    given = " with your list" if found.without_list is not None else ""
    return [
        f"With max_size: supported, the data{given} would decide the size: {counted(n, 'feature')}. This set has "
        f"{k - n} more."
    ]


def _by_votes(found: RelatedFacts) -> list[str]:
    """Return one sentence for each member not shown by itself that has more votes than shuffled targets give."""
    votes = found.by_votes
    if votes is None:
        return []
    return [
        f"{name} is not shown by itself, but it was selected by {count:,} of {votes.n_models:,} models, more than "
        f"any feature in {counted(votes.n_shuffles, 'shuffle')} of the target: it may act together with others."
        for name, count in votes.counts.items()
    ]


def _meaning(found: RelatedFacts) -> list[str]:
    """Return what related means."""
    after = f", after adjustment for {listing(found.adjust_for)}" if found.adjust_for else ""
    return [f"Related means: differs with the target, by itself{after}. It need not be a cause."]


_MOST, _MANY = 0.8, 2  # share of a set that is most of it; related features per member that are many


def _both_true(related: RelatedFacts | Unknown, again: ReproducibilityFacts | Unknown) -> list[str]:
    """Return why a set that is related to the target need not be selected again, where that is so."""
    if isinstance(related, Unknown) or isinstance(again, Unknown):
        return []
    k, n, most = related.size, related.n_related_of_all, again.selected_again[1]
    if most is None or related.at_least < _MOST * k or most >= _MOST * again.size or n < _MANY * k:
        return []
    return [
        f"Both are true: at least {n:,} of {related.n_features:,} features are related to the target, and many do "
        "equally well. Another study would select others among them."
    ]


def selected_again(found: ReproducibilityFacts, reconciled: bool = False) -> tuple[str, list[str]]:
    """Return how many would be selected again, in a word and in sentences.

    Where weights were stated, the number is what the data select without their help; those with and without the weights
    stand beside it. `reconciled`: a further sentence says why so few are.
    """
    k, bounds = found.size, _rounded(found.selected_again)
    alone = " by the data alone" if found.with_weights else ""
    n_rule, n_weight, n_fill = map(len, (found.by_rule, found.by_weight, found.filling))
    others = n_rule + n_weight + n_fill
    if k == 0 and others:
        if others == 1:
            how = f"your {'rules' if n_rule else 'weights'} brought it in" if not n_fill else "it fills a place"
            return "", [f"The data did not select this feature: {how}.", *_by_weights(found)]
        how = "; ".join([*[_brought_in(n_rule, n_weight)] * (n_rule + n_weight > 0), *_filling(n_fill)])
        return "", [f"The data selected none of these {others}: {how}.", *_by_weights(found)]
    if bounds is None:
        return "", ["No pair of halves could be compared."]
    low, high = bounds
    stand_ins = _with_stand_ins(found, (low, high))
    by_chance = "As few as by chance cannot be ruled out." if low else "That is not clearly more than by chance."
    if k == 1:
        may = "would probably" if low else "may or may not" if high else "would rarely"
        this = "the feature that the data selected" if others else "this feature"
        lines = [f"In a new study of this size, {this} {may} be selected again{alone}{stand_ins}."]
        by_chance = "" if low else "It may have been selected by chance."
    elif others:
        first = f"Of the {k} that the data selected, a new study of this size would select {_about(low, high)} again"
        lines = [f"{first}{alone}{stand_ins}."]
    else:
        again = f"{_about(low, high)} of these {k} would be selected again{alone}{stand_ins}"
        lines = [f"In a new study of this size, {again}."]
    lowest = found.interval[0]
    if by_chance and lowest is not None and lowest <= 0 and not reconciled and not found.n_usually:
        lines.append(by_chance)
    if n_rule + n_weight:
        brought = _brought_in(n_rule, n_weight)
        lines.append(f"{brought[0].upper()}{brought[1:]} more, not counted here.")
    lines += [
        f"{text}. They are not counted." if n_fill > 1 else f"{text}. It is not counted." for text in _filling(n_fill)
    ]
    return f"{_range(low, high)} of {k}{alone}", [*lines, *_by_weights(found)]


def _range(low: int, high: int) -> str:
    return f"{low} to {high}" if low != high else "none" if high == 0 else f"{high}"


def _about(low: int, high: int) -> str:
    return "hardly any" if high == 0 else f"up to about {high}" if low == 0 else f"about {_range(low, high)}"


def _rounded(bounds: tuple[float | None, ...] | None) -> tuple[int, int] | None:
    """Return how many are selected again, from and to, in whole numbers; None if that is not known."""
    known = [] if bounds is None else [round(end) for end in bounds if end is not None]
    return (min(known), max(known)) if len(known) == 2 else None


def _with_stand_ins(found: ReproducibilityFacts, exact: tuple[int, int]) -> str:
    """Return the range where stand-ins count, if it is another one."""
    bounds = _rounded(found.stand_ins)
    if bounds is None or bounds == exact or bounds[1] == 0:
        return ""
    return f"; {_range(*bounds)} if a close stand-in (correlation above 0.8) counts"


def _brought_in(n_rule: int, n_weight: int) -> str:
    """Return how many members rules and weights brought in.

    >>> _brought_in(2, 0), _brought_in(1, 3)
    ('your rules brought in 2', 'your rules brought in 1 and your weights 3')
    """
    if n_rule and n_weight:
        return f"your rules brought in {n_rule} and your weights {n_weight}"
    return f"your {'rules' if n_rule else 'weights'} brought in {n_rule or n_weight}"


def _filling(n: int) -> list[str]:
    """Return how many members only fill a place.

    >>> _filling(0), _filling(1), _filling(3)
    ([], ['1 fills a place: no model selected it'], ['3 fill places: no model selected them'])
    """
    return [f"{n} fill{'s a place' if n == 1 else ' places'}: no model selected {'it' if n == 1 else 'them'}"] * (n > 0)


def _by_weights(found: ReproducibilityFacts) -> list[str]:
    """Return how many would be selected again with the same weights, and of the set without, where some were stated."""
    with_weights, without = _about_of(found.with_weights), _about_of(found.without_prior)
    lines = [f"With your weights: {with_weights}. Weights favor the same features in every study, right or wrong."]
    return lines * bool(with_weights) + [f"Of the set without your weights: {without}."] * bool(without)


def _about_of(counts: SizeAndRange | None) -> str:
    bounds = None if counts is None else _rounded(counts.selected_again)
    return "" if counts is None or counts.size < 2 or bounds is None else f"{_about(*bounds)} of {counts.size}"


# -- the chosen features -----------------------------------------------------------------------------------------------

# What marks of chosen features mean.
MARKS = {
    "data": "its votes brought it in: without your weights it is selected, too, and no constraint has to ask for it",
    "rule": "your constraints brought it in: they require it, or votes select it only because they ask for it",
    "weight": "your weights brought it in: the same decision without them drops it, or they alone speak for it",
    "fill": "it fills a place: no model selected it, and nothing asks for this feature in particular",
    "weight not needed": "you gave it a weight, and without your weights it is selected, too",
    "no vote": "no model selected it",
    "after votes": "what is known of it was changed after votes were seen, so that the data may count twice",
    "tie": "another feature would do as well in its place, so that the choice between them is open",
}
AGAIN_WITH_WEIGHTS = "Selected again with your weights"


def marks_of(member: ChosenFeature) -> tuple[str, ...]:
    """Return the marks of a chosen feature."""
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
    """Return what the columns of the chosen features mean, as far as they are known."""
    chosen, again = facts.chosen, again_heading(facts.chosen)
    weighted = any(member.again_with_weights for member in chosen)
    lines = _votes_for(facts)
    if any(member.q is not None for member in chosen):
        about = facts.trust.related
        listed = isinstance(about, RelatedFacts) and about.without_list is not None
        limit = about.limit if isinstance(about, RelatedFacts) else LARGEST_Q
        given = ", given that your list was stated before any votes were seen" * listed
        lines.append(
            "Related: whether the feature differs with the target by itself. q is the expected share of unrelated "
            f"features among those with a p-value as small{given}; up to {limit:g} a feature is called related."
        )
    if any(member.selected_again for member in chosen):
        alone = " without the help of your weights" * weighted
        lines.append(
            f"{again}: whether another study with the same constraints would select the feature{alone}. Rarely is less "
            "than one time in three, usually more than two in three. Only features that the data brought in are "
            "counted."
        )
    if weighted:
        lines.append(
            f"{AGAIN_WITH_WEIGHTS}: whether another study with the same weights and constraints would select it. "
            "Weights favor the same features in every study, right or wrong."
        )
    if any(member.replaceable is not None for member in chosen):
        unvoted = any(_NO_VOTES in replacement(member) for member in chosen if member.replaceable)
        meant = f" {_NO_VOTES.capitalize()}: only weights or constraints speak for what would take its place." * unvoted
        lines.append(
            "Best replacement: what the best set has instead if the feature cannot be measured, and the votes that "
            f"this costs; it need not measure the same thing.{meant}"
        )
    if any(member.hazard_ratio is not None for member in chosen):
        lines.append(
            "Hazard per SD: what a standard deviation more of the feature multiplies the hazard (the risk) by."
        )
    if any(member.marks is not None for member in chosen):
        lines.append(
            "Marks a class: the one that it tells best from all others, if clearly. Somers' D: 1 always higher there, "
            "-1 lower."
        )
    if kinds := [member.effect_kind for member in chosen if member.effect_kind and member.effect is not None]:
        lines.append(
            f"In the data: {EFFECTS[kinds[0]]}. A direction is named where the 95 % interval of this number excludes "
            "0. These samples chose the features, so that on others it will be smaller."
        )
    if any(member.half_low is not None for member in chosen):
        lines.append(
            "On half of the samples: the share of models that chose the feature when they saw only half of the "
            "samples, in most repeats (5 to 95 %)."
        )
    if any(member.identical_to for member in chosen):
        lines.append(
            "Identical to: features with the same values in all samples. Unless weights or constraints differ, the "
            "choice between them is by their position in the table."
        )
    return [*lines, *_adjusted(facts)]


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


def legend(chosen: Iterable[ChosenFeature]) -> tuple[LegendEntry, ...]:
    """Return the meaning of the marks of the chosen features."""
    used = {mark for member in chosen for mark in (*member.reasons, *marks_of(member))}
    return tuple(LegendEntry((mark,), meaning) for mark, meaning in MARKS.items() if mark in used)


def _adjusted(facts: ReportFacts) -> list[str]:
    """Return what the table of associations with covariates means."""
    names = facts.data.adjust_for
    if not names or not any(member.beyond for member in facts.chosen):
        return []
    explained = "has explained what it" if len(names) == 1 else "have explained what they"
    return [
        "Association: correlation with numbers, or eta, the root of the share that classes or levels explain; 0 is "
        "none, 1 or -1 complete. Before: of the feature with the target. After: of what is left of both when "
        f"{listing(names, len(names))} {explained} can; this is what counted."
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


def trust_sections(facts: ReportFacts) -> dict[str, list[str]]:
    """Return the sentences of the sections on trust and on what explains the set."""
    trust = facts.trust
    return {
        "left_out": _left_out(facts),
        "substitutes": _substitutes(facts),
        "validation": _of_validation(trust.validation),
        "related": _of_related(trust.related),
        "reproducibility": _of_reproducibility(trust.reproducibility),
    }


def _of_validation(found: ValidationFacts | Unknown) -> list[str]:
    if isinstance(found, Unknown):
        return []
    return [
        "The whole procedure, models and decision, was repeated without a part of the samples, and its set then had to "
        f"predict that part: {counted(found.n_done, 'fold')} in all. A set that is chosen and tested on the same "
        f"samples would look too good. Ours means this procedure; by {metric_name(found.metric)} it compares with "
        "other ways of choosing as follows.",
        *_compared(found),
        *_of_sizes(found),
    ]


def _compared(found: ValidationFacts) -> list[str]:
    """Return how ours compares with baselines."""
    groups: dict[str, list[str]] = {}
    for row in _baselines(found):
        groups.setdefault(_OUTCOMES[_outcome(row)], []).append(method_name(row.method))
    return [f"{words} {listing(names, len(names))}." for words, names in groups.items()]


def _of_sizes(found: ValidationFacts) -> list[str]:
    """Return which of the sizes that were compared predicts best, and which as well."""
    fewest, best = found.one_se_size, found.best_size
    if fewest is None or best is None:
        return []
    fewer = f"; {fewest} would predict as well, within one standard error" if fewest < best else ""
    return [f"Of the sizes compared, {counted(best, 'feature')} predict{'s' * (best == 1)} best{fewer}."]


def validation_sentences(found: ValidationFacts) -> list[str]:
    """Return a validation in words, for whoever asked for nothing else."""
    if found.mean is None:
        return predicts(found)[1]
    others = [_comparison(row) for row in _baselines(found) if row.method != COVARIATES_ALONE]
    return [*_scored(found), *_added(found), *_rests_on("validation", found), *others, *_of_sizes(found)]


def _of_related(found: RelatedFacts | Unknown) -> list[str]:
    if isinstance(found, Unknown):
        return []
    lines = [
        f"Each feature was tested against the target by itself, and against {found.n_shuffles:,} shuffles of the "
        "target. The number of related features holds for all sets of features at once, so also for one that was "
        "selected by votes, weights and constraints, and after any number of changes.",
        "For single features the claim is weaker: of all that are called related, up to a tenth is expected not to be. "
        "So more members may be called related than the number that holds with confidence.",
        "A feature that is not shown by itself may still be related to the target: the samples may be too few, or it "
        "may act only together with others.",
    ]
    if found.without_list is not None:
        lines.append(
            f"{found.n_listed:,} features were favored by weights. Half of the error was spent on them, half on all "
            "others. This is right only if they were stated before any votes were seen; what is known to have been "
            "changed afterwards does not count."
        )
    return lines


def _of_reproducibility(found: ReproducibilityFacts | Unknown) -> list[str]:
    if isinstance(found, Unknown):
        return []
    n_splits = found.n_done + found.n_undefined
    weighted = found.with_weights is not None
    how = ", with your weights and without them," if weighted else ", constraints included,"
    lines = [
        f"The samples were split into halves {counted(n_splits, 'time')}, and the whole procedure{how} was repeated on "
        "each half."
    ]
    if weighted:
        lines.append(
            "By the data alone: only features with votes count that are selected both with and without your weights, "
            "and that no rule or weight brought in on all samples. With your weights: all features with votes count "
            "that no rule brought in."
        )
    elif found.by_rule or found.by_weight or found.filling:
        lines.append(
            "Only what the data selected counts. Features that a rule or a weight brought in, or that no model "
            "selected, are left out, also on each half."
        )
    low, high = found.interval
    if found.lower is not None and found.upper is not None:
        within = "" if low is None or high is None else f" (95 % interval {low:.2f} to {high:.2f})"
        lines.append(
            f"Sets{' by the data alone' * weighted} of the two halves agree by {found.lower:.2f}; those of studies "
            f"of this size may agree by up to {found.upper:.2f}{within}. 0 is chance, 1 means the same set."
        )
    if found.n_undefined:
        lines.append(f"{counted(found.n_undefined, 'split')} left out: nothing was selected on a half.")
    return lines


_SAME = 0.8  # correlation from which on two features are taken to measure the same thing


def _substitutes(facts: ReportFacts) -> list[str]:
    if not facts.substitutes:
        return []
    chosen = facts.names
    lines = [
        "Each chosen feature was excluded and the decision made again, with the same weights and constraints. The cost "
        "is what the set loses by it, in votes; weights count as votes, too."
    ]
    if facts.stand_ins:
        lines.append(
            "A stand-in is a feature that models took more often where they did not take the chosen one. Either: "
            "models that took at least one of the two."
        )
    lines += [
        f"{pair.member} {counted_votes(pair.member_votes)}, {pair.feature} {pair.votes:,}, either "
        f"{pair.votes_either:,}: they measure the same thing"
        + ("; both are selected." if pair.feature in chosen else f"; {pair.member} stands for both.")
        for pair in facts.stand_ins
        if pair.correlation is not None and pair.correlation >= _SAME
    ]
    return lines


_NO_VOTES = "none with votes"


def replacement(member: ChosenFeature) -> str:
    """Return what would take the place of a member that can be replaced, and the cost.

    Where no model voted for what would, no name is given: any other feature without votes may do as well.

    >>> replacement(ChosenFeature("a", substitute=("b",), substitute_votes=(3,), substitute_cost=2.0))
    'b (costs 2 votes)'
    >>> replacement(ChosenFeature("a", substitute=("b",), substitute_votes=(0,), substitute_cost=5.0))
    'none with votes (costs 5 votes)'
    """
    cost, votes = member.substitute_cost or 0.0, member.substitute_votes
    costs = "costs nothing" if cost < 0.05 else f"costs {counted_votes(cost)}"
    names = _NO_VOTES if votes and not any(votes) else listing(with_votes(member.substitute or (), votes), 3)
    return f"{names or 'nothing'} ({costs})"


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
NONE_LEFT_OUT = "None: no feature that was not chosen has more votes than the weakest chosen one."
_NOT_EXAMINED = "Not examined: a selection that was read from a file does not know its constraints. Decide again."


def why_out(entry: LeftOutFact) -> str:
    """Return why a feature with many votes is not in the set."""
    short = [title.split(" (costs: ")[0] for title in entry.titles[:3]]  # all costs stand with the constraints
    titles, rivals = " and by ".join(short), listing(entry.rivals, 5)  # titles have commas themselves
    by = {"titles": titles or "constraints", "kinds": listing(entry.kinds) or "constraints"}
    words = {"constraint": " with {}", "prior": "; in its place: {}", "tie": "; in its place: {}"}
    instead = words.get(entry.because, "").format(rivals) if rivals else ""
    because = _WHY_OUT.get(entry.because, f"it cannot be selected ({entry.because})")
    return because.format(**by, rivals=rivals or "others") + instead


def _left_out(facts: ReportFacts) -> list[str]:
    """Return how it was found out why strong features are out, or why there is nothing to find out."""
    if facts.left_out:
        return ["The decision was made again with each of them required; the reason is what had to give way for it."]
    if facts.ensemble is None or not facts.chosen:
        return []
    if not facts.left_out_known:
        return [_NOT_EXAMINED]
    return [NONE_LEFT_OUT]
