"""Sentences on trust: what other samples say. A report begins with the three facts; sections go into them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from .._plain import counted, listing
from ..trust.prediction_metrics import METRICS, interval_text, method_name, metric_name, score_text
from ..trust.related import LARGEST_Q
from ..trust.validation import COVARIATES_ALONE, OF_COVARIATES
from .facts import (
    Fact,
    GeneSetsFacts,
    MethodScore,
    RelatedFacts,
    ReportFacts,
    ReproducibilityFacts,
    Score,
    SizeAndRange,
    TrustFacts,
    Unknown,
    ValidationFacts,
)

_LISTED = 12
_ROUNDING = 1e-12  # of means over random sets that are all the same one
_UNDEFINED = {
    "importances": "Cannot be tested: importances were given, and there was no ensemble to repeat.",
    "votes": "Cannot be tested: the votes were made elsewhere, so they cannot be repeated on other samples.",
    "unsupervised": "Does not apply: the study has no target.",
    "pooled": "Cannot be tested: measurements and p-values stayed at their sites. See instead what each site found, "
    "and whether the directions agree.",
    "empty": "Cannot be tested: no feature was selected.",
    "failed": "Could not be tested: {problem}",
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
NOT_USED = "held-out samples"
QUESTIONS = {
    "validation": "Does it predict?",
    "related": "Are they related to the target?",
    "reproducibility": "Would another study select them again?",
}
# Where a report has no other name for its result than its own place, which moves with it.
HERE = "."
_OUTCOMES = {
    "same": "The same score in every fold with", "unclear": "No clear difference from",
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


def predicts(facts: ValidationFacts) -> tuple[str, list[str]]:
    """Return how well the procedure predicts, in a word and in sentences."""
    name = metric_name(facts.metric)
    if facts.mean is None:
        return "", [
            "No score can be computed in any fold, for example because the target is constant in the held-out part."
        ]
    lines = [*_scored(facts), *_added(facts), *_closest(facts), *_with_more_samples(facts)]
    return f"{name} {score_text(facts.mean)}", lines


def _with_more_samples(facts: ValidationFacts) -> list[str]:
    """Return what is expected with twice the samples, if that was estimated."""
    by_factor = {forecast.factor: forecast for forecast in facts.growth}
    now, twice = by_factor.get(1.0), by_factor.get(2.0)
    if now is None or twice is None:
        return []
    value, before = score_text(twice.value), score_text(now.value)
    name, range_ = metric_name(facts.metric), f"({score_text(twice.lower)} to {score_text(twice.upper)})"
    return [
        f"With twice the samples: {name} about {value} {range_}. The same line gives about {before} for all of the "
        "present samples; each fold learns from four fifths of them."
    ]


def _scored(facts: ValidationFacts) -> list[str]:
    """Return the score in words, and whether it is that of guessing."""
    name, scored = metric_name(facts.metric), mean_text(facts)
    metric = METRICS.get(facts.metric)
    meaning, guessing = ("more is better", None) if metric is None else (metric.meaning, metric.guessing)
    lines = [f"On {NOT_USED}: {name} {scored}. {name[0].upper()}{name[1:]}: {meaning}."]
    if guessing is not None and facts.lower is not None and facts.lower <= guessing:
        lines.append("That is not clearly better than guessing.")
    return lines


def _added(facts: ValidationFacts) -> list[str]:
    """Return what features add to covariates."""
    for row in _baselines(facts):
        if row.method == COVARIATES_ALONE:
            scored = f"{metric_name(facts.metric)} {mean_text(row)}"
            alone = f"Predictors also had {listing(facts.adjust_for)}. Without features they reach {scored}"
            doubt = " Whether they add anything is not clear." if _outcome(row) == "unclear" else ""
            return [f"{alone}; the features add {difference_text(row)}.{doubt}"]
    return []


def _closest(facts: ValidationFacts) -> list[str]:
    """Return how ours compares with the baseline that comes closest to it, or beats it, and with random features."""
    others = [row for row in _baselines(facts) if row.method not in OF_COVARIATES]
    other_sets = [row for row in others if _outcome(row) != "same"] or others
    closest = min(other_sets, key=lambda row: row.difference or 0.0, default=None)
    return [_comparison(row) for row in other_sets if row is closest or row.method == "random"]


def _outcome(row: MethodScore) -> str:
    """Return how ours compares with one baseline as far as the interval tells: same, unclear, better or worse."""
    low, high = row.difference_lower, row.difference_upper
    if low is None or high is None:
        return "unclear"
    if abs(low) + abs(high) < _ROUNDING:
        return "same"
    if low <= 0 <= high:
        return "unclear"
    return "better" if low > 0 else "worse"


def _comparison(row: MethodScore) -> str:
    outcome = _outcome(row)
    by = "" if outcome == "same" else f": {difference_text(row)}"
    return f"{_OUTCOMES[outcome]} {method_name(row.method)}{by}."


def _baselines(facts: ValidationFacts) -> list[MethodScore]:
    """Return the comparisons by the main metric, one for each way of choosing: by our own predictor if there is one."""
    rows: dict[str, MethodScore] = {}
    for row in facts.scores:
        is_comparison = row.metric == facts.metric and row.difference is not None
        if is_comparison and (row.method not in rows or row.predictor == facts.predictor):
            rows[row.method] = row
    return list(rows.values())


def related(facts: RelatedFacts) -> tuple[str, list[str]]:
    """Return how many members are related to the target, in a word and in sentences."""
    k, n, without = facts.size, facts.at_least, facts.without_list
    if k == 0:
        return "", ["No feature was selected."]
    condition, guess = "", facts.best_guess
    if without is not None and n == without == 0:
        condition = ", with your list or without it"
    elif without is not None:
        other = "as many" if without == n else f"at least {without}" if without else "none could be shown"
        more = facts.best_guess_without_list or 0
        guessed = f" (best guess: {more})" if 0 < without < more and (without, more) != (n, guess) else ""
        condition = f", if your list was stated before any votes were seen; {other}{guessed} without it"
    of_list = f"; best guess: {guess}" if without is not None and guess > n else ""  # it holds with the list only
    sure = f"({facts.confidence:.0%} confidence".replace("%", " %") + f"{of_list})"
    if n == 0:
        these, what = ("This feature", "it may be a chance finding") if k == 1 else (
            f"None of these {k}", "they may be chance findings")  # fmt: skip
        could = "could not" if k == 1 else "could"
        doubt = "" if without else f" {what[0].upper()}{what[1:]}."
        shown = f"{these} {could} be shown to be related to the target{condition}.{doubt}"
        return "none shown", [shown, *_by_votes(facts), *_meaning(facts)]
    some = f"At least {n} of these {k} {'is' if n == 1 else 'are'}"
    which = some if n < k else "This feature is" if k == 1 else f"All {k} are"
    guessed = f" Best guess: {guess}." if guess > n and not of_list else ""
    value = f"at least {n} of {k}" if n < k else f"all {k}" if k > 1 else "yes"
    first = f"{which} related to the target {sure}{condition}.{guessed}"
    return value, [first, *_supported(facts), *_by_votes(facts), *_meaning(facts)]


def _supported(facts: RelatedFacts) -> list[str]:
    """Return how many features the data support, where the set is larger."""
    n, k = facts.n_supported, facts.size
    if n is None:
        return []
    data = "The data support" if facts.without_list is None else "The data and your list support"
    other = "other one is" if k - n == 1 else f"other {k - n} are"
    return [
        f"{data} {counted(n, 'feature')}. The {other} in the set by score alone. Of any larger number of features, "
        "more than 1 in 5 would be unrelated (best guess)."
    ]


def _by_votes(facts: RelatedFacts) -> list[str]:
    """Return one sentence for each member not shown by itself that has more votes than shuffled targets give."""
    votes = facts.by_votes
    if votes is None:
        return []
    return [
        f"{name} is not shown by itself, but it was selected by {count:,} of {votes.n_models:,} models, more than "
        f"any feature in {counted(votes.n_shuffles, 'shuffle')} of the target: it may act together with others."
        for name, count in votes.counts.items()
    ]


def _meaning(facts: RelatedFacts) -> list[str]:
    """Return what related means."""
    after = f", after adjustment for {listing(facts.adjust_for)}" if facts.adjust_for else ""
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
        f"Both are true: at least {n:,} of {related.n_features:,} features are related to the target, and another "
        "study would select others of them that do equally well."
    ]


def selected_again(facts: ReproducibilityFacts, reconciled: bool = False) -> tuple[str, list[str]]:
    """Return how many would be selected again, in a word and in at most two sentences.

    Where weights were stated, the number is what the data select without their help; the one with the weights follows.
    `reconciled`: a further sentence says why so few are.
    """
    k, bounds = facts.size, _rounded(facts.selected_again)
    alone = " by the data alone" if facts.with_weights else ""
    n_others = len(facts.by_rule) + len(facts.by_weight) + len(facts.filling)
    if k == 0 and n_others:
        counts = "This feature does not count" if n_others == 1 else f"None of these {n_others} counts"
        return "", [f"{counts} as selected by the data: {_not_counted(facts)}.", *_by_weights(facts)]
    if bounds is None:
        return "", ["No pair of halves could be compared."]
    number, lowest = _expected(*bounds), facts.interval[0]
    unclear = lowest is not None and lowest <= 0 and not reconciled and not facts.n_usually
    these = f"the {k} that the data selected" if n_others else f"these {k}"
    if k == 1:
        may = "would probably" if bounds[0] else "may or may not" if bounds[1] else "would rarely"
        these = "the feature that the data selected" if n_others else "this feature"
        again = f"{these} {may} be selected again"
        chance = ", and it may have been selected by chance" * (unclear and not bounds[0])
    else:
        again = f"{number} of {these} would be selected again"
        chance = ", which is not clearly more than by chance" * unclear
    first = f"In a new study of this size, {again}{alone}{chance}{_with_stand_ins(facts, bounds)}."
    others = [f"{_others(n_others)} not counted: {_not_counted(facts)}."] * (n_others > 0 and not facts.with_weights)
    return f"{number} of {k}{alone}", [first, *others, *_by_weights(facts)]


def _others(n: int) -> str:
    return "The other one is" if n == 1 else f"The other {n} are"


def _expected(low: int, high: int) -> str:
    """Return a number of features, from and to: the one form of it, at a glance and in sentences.

    >>> _expected(2, 4), _expected(0, 1), _expected(3, 3), _expected(0, 0)
    ('2 to 4', 'up to 1', 'about 3', 'hardly any')
    """
    if high == 0:
        return "hardly any"
    return f"up to {high}" if low == 0 else f"{low} to {high}" if low != high else f"about {high}"


def expected_text(bounds: tuple[float, ...]) -> str:
    """Return how many are selected again in words; nothing if that is not known."""
    rounded = _rounded(bounds)
    return "" if rounded is None else _expected(*rounded)


def _rounded(bounds: tuple[float | None, ...] | None) -> tuple[int, int] | None:
    """Return how many are selected again, from and to, in whole numbers; None if that is not known."""
    ends = [] if bounds is None else [round(end) for end in bounds if end is not None]
    return (min(ends), max(ends)) if len(ends) == 2 else None


def _with_stand_ins(facts: ReproducibilityFacts, exact: tuple[int, int]) -> str:
    """Return the range where stand-ins count, if it is another one."""
    bounds = _rounded(facts.stand_ins)
    if bounds is None or bounds == exact or bounds[1] == 0:
        return ""
    return f" ({_expected(*bounds)} if a close stand-in, with a correlation above 0.8, counts)"


def _not_counted(facts: ReproducibilityFacts) -> str:
    """Return what brought in the members that the data did not select."""
    n_rule, n_weight, n_fill = map(len, (facts.by_rule, facts.by_weight, facts.filling))
    if n_rule + n_weight + n_fill == 1:
        return "it fills a place" if n_fill else "your rules ask for it" if n_rule else "your weights brought it in"
    brought = [f"your {what} {n}" for what, n in (("rules ask for", n_rule), ("weights brought in", n_weight)) if n]
    filling = [f"{n_fill} fill{'s a place' if n_fill == 1 else ' places'} without a vote"] * (n_fill > 0)
    return listing([*brought, *filling])


def _by_weights(facts: ReproducibilityFacts) -> list[str]:
    """Return how many would be selected again with the same weights, where some were stated."""
    about = _about_of(facts.with_weights)
    if not about:
        return []
    return [f"With your weights, which favor the same features in every study, right or wrong, {about} would be."]


def _about_of(counts: SizeAndRange | None) -> str:
    bounds = None if counts is None else _rounded(counts.selected_again)
    return "" if counts is None or counts.size < 2 or bounds is None else f"{_expected(*bounds)} of {counts.size}"


def trust_sections(facts: ReportFacts) -> dict[str, list[str]]:
    """Return the sentences of the sections on trust."""
    trust = facts.trust
    return {
        "validation": _of_validation(trust.validation),
        "related": _of_related(trust.related),
        "reproducibility": _of_reproducibility(trust.reproducibility),
        "gene_sets": _of_gene_sets(trust.gene_sets),
    }


def _of_validation(facts: ValidationFacts | Unknown) -> list[str]:
    if isinstance(facts, Unknown):
        return []
    return [
        "The whole procedure, models and decision, was repeated without a part of the samples, and its set then "
        f"predicted this held-out part: {counted(facts.n_done, 'fold')} in all. A set that is selected and tested on "
        f"the same samples would look too good. Ours means this procedure; by {metric_name(facts.metric)} it compares "
        "with other ways of selecting as follows.",
        *_compared(facts),
        *_of_sizes(facts),
        *_of_growth(facts),
    ]


def _of_growth(facts: ValidationFacts) -> list[str]:
    if not facts.growth:
        return []
    return [
        "For the prediction with more samples, the procedure was repeated on a quarter, a half and four fifths of the "
        "samples. A straight line in 1 / square root of the number of samples extrapolates the scores. Sets of larger "
        "studies usually agree more. How many features a larger study would select again cannot be estimated from "
        "these samples."
    ]


def _compared(facts: ValidationFacts) -> list[str]:
    """Return how ours compares with baselines."""
    groups: dict[str, list[str]] = {}
    for row in _baselines(facts):
        groups.setdefault(_OUTCOMES[_outcome(row)], []).append(method_name(row.method))
    return [f"{words} {listing(names, len(names))}." for words, names in groups.items()]


def _of_sizes(facts: ValidationFacts) -> list[str]:
    """Return which of the sizes that were compared predicts best, and which as well."""
    fewest, best = facts.one_se_size, facts.best_size
    if fewest is None or best is None:
        return []
    fewer = f"; {fewest} would predict as well, within one standard error" if fewest < best else ""
    return [f"Of the sizes compared, {counted(best, 'feature')} predict{'s' * (best == 1)} best{fewer}."]


def validation_sentences(facts: ValidationFacts) -> list[str]:
    """Return a validation in words, for whoever asked for nothing else."""
    if facts.mean is None:
        return predicts(facts)[1]
    others = [_comparison(row) for row in _baselines(facts) if row.method != COVARIATES_ALONE]
    grown = _with_more_samples(facts)
    return [*_scored(facts), *_added(facts), *_rests_on("validation", facts), *others, *_of_sizes(facts), *grown]


def _of_related(facts: RelatedFacts | Unknown) -> list[str]:
    if isinstance(facts, Unknown):
        return []
    lines = [
        f"Each feature was tested against the target by itself, and against {facts.n_shuffles:,} shuffles of the "
        "target. The number of related features holds for all sets of features at once, so also for one that was "
        "selected by votes, weights and constraints, and after any number of changes.",
        "For single features the claim is weaker: of all that are called related, up to a tenth is expected not to be. "
        "So more selected features may be called related than the number that is stated with confidence.",
        "A feature that is not shown by itself may still be related to the target: the samples may be too few, or it "
        "may act only together with others.",
    ]
    if facts.without_list is not None:
        lines.append(
            f"{facts.n_listed:,} features were favored by weights. Half of the error rate was spent on them, half on "
            "all others. This is valid only if they were stated before any votes were seen; what is known to have been "
            "changed afterwards does not count."
        )
    return lines


def _of_gene_sets(facts: GeneSetsFacts | None) -> list[str]:
    if facts is None:
        return []
    associated = [entry for entry in facts.sets if entry.q <= LARGEST_Q]
    covered = [entry.name for entry in associated if entry.selected]
    missed = [entry.name for entry in associated if not entry.selected]
    n, n_with = len(facts.sets), sum(bool(entry.selected) for entry in facts.sets)
    lines = [f"{n_with:,} of {counted(n, 'gene set')} {'has' if n_with == 1 else 'have'} a selected feature."]
    if not associated:
        lines.append(f"None of them is shown to be associated with the target (q above {LARGEST_Q:g}).")
    if covered:
        lines.append(f"Associated with the target, with a selected feature: {listing(covered, _LISTED)}.")
    if missed:
        lines.append(f"Associated with the target, without a selected feature: {listing(missed, _LISTED)}.")
    lines.append(
        "The association of a gene set is the mean strength of the association over its measured genes, selected or "
        f"not. It is compared with {counted(facts.n_shuffles, 'shuffle')} of the target, which keep the correlation of "
        "the genes. A small p-value means that some genes of the set are related to the target, not that more of them "
        "are than elsewhere."
    )
    return lines


def _of_reproducibility(facts: ReproducibilityFacts | Unknown) -> list[str]:
    if isinstance(facts, Unknown):
        return []
    n_splits = facts.n_done + facts.n_undefined
    weighted = facts.with_weights is not None
    how = ", with your weights and without them," if weighted else ", constraints included,"
    lines = [
        f"The samples were split into halves {counted(n_splits, 'time')}, and the whole procedure{how} was repeated on "
        "each half."
    ]
    if weighted:
        lines.append(
            "By the data alone: only features with votes count that are selected both with and without your weights, "
            "and that no rule asks for and no weight brought in on all samples. With your weights: all features with "
            "votes count that no rule asks for."
        )
    elif facts.by_rule or facts.by_weight or facts.filling:
        lines.append(
            "Only what the data selected counts. Members that a rule asks for or a weight brought in, or that no model "
            "selected, are left out, also on each half."
        )
    n_others = len(facts.by_rule) + len(facts.by_weight) + len(facts.filling)
    if weighted and n_others:
        lines.append(f"By the data alone, {_others(n_others).lower()} not counted: {_not_counted(facts)}.")
    if without := _about_of(facts.without_prior):
        lines.append(f"Of the set that is selected without your weights, {without} would be selected again.")
    low, high = facts.interval
    if facts.lower is not None and facts.upper is not None:
        within = "" if low is None or high is None else f" (95 % interval {_two(low)} to {_two(high)})"
        lines.append(
            f"Sets{' by the data alone' * weighted} of the two halves agree by {_two(facts.lower)}; those of studies "
            f"of this size may agree by up to {_two(facts.upper)}{within}. 0 is chance, 1 means the same set."
        )
    if facts.n_undefined:
        lines.append(f"{counted(facts.n_undefined, 'split')} left out: nothing was selected on a half.")
    return lines


def _two(value: float) -> str:
    """Return a number with two decimals; 0 has no sign.

    >>> _two(-0.001), _two(-0.006)
    ('0.00', '-0.01')
    """
    return f"{round(value, 2) + 0.0:.2f}"
