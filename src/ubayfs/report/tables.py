"""The tables of a report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap
from typing import TypeVar

from .._plain import cost_text, counted, listing, price_text, relaxation_text, rounded
from ..data.target import TASKS
from ..trust.front import Front, FrontPoint
from ..trust.prediction_metrics import interval_text, method_name, metric_name
from ..trust.related import LARGEST_Q
from .cohort_facts import site_text
from .document import Bar, Cell, Column, Table
from .facts import (
    Alternative,
    Associations,
    BlockFact,
    ChosenFeature,
    CohortFacts,
    ConstraintFact,
    ControlScore,
    CorrelatedPair,
    CorrelationFacts,
    DataFacts,
    ExpertWords,
    ForecastFact,
    GeneSetFact,
    GeneSetsFacts,
    LeftOutFact,
    MethodScore,
    Opinion,
    PriorFacts,
    Reason,
    Score,
    SetChange,
    SetSizes,
    SiteFact,
    SiteVotes,
    SizeScore,
    Spread,
    StandInPair,
    SubstituteFact,
    Summary,
    Unknown,
    ValidationFacts,
    ViolatedInequality,
    gain_text,
)
from .feature_sentences import (
    AGAIN_WITH_WEIGHTS,
    EFFECT,
    again_heading,
    common_replacement,
    effect,
    levels_text,
    mark_text,
    marks_of,
    replacement,
    votes_for_text,
    why_out,
    with_votes,
)
from .genes import gene_address
from .sentences import constraint_state, number_text, target_words
from .trust_sentences import NOT_USED, difference_text, expected_text, mean_text

R = TypeVar("R")
S = TypeVar("S", bound=Score)
# A column, and how a cell, or its text, is made of a record.
Field = tuple[Column, Callable[[R], Cell | str]]

_LISTED = 12
# Captions that are headings of their sections, too.
CONSTRAINTS = "Constraints and what they cost"
FRONT = "What would a smaller or a larger panel bring?"
_MOST_BLOCKS, _MOST_SETS = 30, 40  # in a table
CERTAINTY = "how sure the models are on these samples"


def as_table(
    caption: str, records: Sequence[R], columns: Iterable[Field[R]], *, drop_empty: bool = False
) -> tuple[Table, ...]:
    """Return a table with one row per record; none without records. Columns without any content may be left out."""
    fields = list(columns)
    rows = [[_cell(make(record)) for _, make in fields] for record in records]
    if drop_empty:
        kept = [i for i in range(len(fields)) if any(row[i] != Cell("") for row in rows)]
        fields, rows = [fields[i] for i in kept], [[row[i] for i in kept] for row in rows]
    return (Table(caption, tuple(column for column, _ in fields), tuple(map(tuple, rows))),) if rows else ()


def _cell(content: Cell | str) -> Cell:
    return content if isinstance(content, Cell) else Cell(content)


def chosen(summary: Summary) -> tuple[Table, ...]:
    """Return the selected features, most important first, in columns that fit on a page; :func:`details` has more."""
    ensemble, members = summary.ensemble, summary.chosen
    models = "" if ensemble is None else f" of {ensemble.n_models:,}"
    columns: list[Field[ChosenFeature]] = [
        (Column("Feature"), lambda r: Cell(r.feature, badges=marks_of(r), link=gene_address(r.gene))),
        (Column("Votes", True), lambda r: _count(r.count, models, r.share)),
        *([_IMPORTANCE] if ensemble is None else []),
        (Column(EFFECT), effect),
        (Column("Related to the target"), lambda r: "" if r.q is None else related_text(r.q, bool(r.related))),
        again_columns(members)[0],
        (Column("Selected because of"), lambda r: Cell(badges=r.reasons)),
        *([] if common_replacement(members) else [REPLACEMENT]),
    ]
    return as_table("Selected features, most important first", members, columns, drop_empty=True)


def details(summary: Summary) -> tuple[Table, ...]:
    """Return what else is known of the selected features."""
    weights = {} if summary.prior is None else summary.prior.weights
    columns: list[Field[ChosenFeature]] = [
        (Column("Feature"), lambda r: r.feature),
        (Column("Identical to"), lambda r: listing(r.identical_to, 3)),
        (Column("Of its votes"), lambda r: votes_for_text(r.votes_for)),
        again_columns(summary.chosen)[1],
        (Column("Marks a class"), lambda r: mark_text(r.marks)),
        (Column("Levels (samples)"), lambda r: levels_text(r.category)),
        (Column("On half of the samples", True), _shares),
        (Column("Blocks"), lambda r: ", ".join(r.blocks)),
        (Column("Prior weight", True), lambda r: rounded(weights[r.feature]) if r.feature in weights else ""),
        (Column("Why (expert)"), lambda r: r.why or ""),
        (Column("Source"), lambda r: r.source or ""),
    ]
    more = as_table("More on each selected feature", summary.chosen, columns, drop_empty=True)
    return *(table for table in more if len(table.columns) > 1), *_beyond_covariates(summary)


def _count(count: int | None, models: str, share: float | None) -> Cell:
    return Cell() if count is None else Cell(f"{count:,}{models}", None if share is None else Bar(share))


def again_columns(members: Iterable[ChosenFeature]) -> list[Field[ChosenFeature]]:
    """Return the columns of what another study would select, by the data alone and with the weights."""
    return [
        (Column(again_heading(members)), lambda r: _badge(r.selected_again)),
        (Column(AGAIN_WITH_WEIGHTS), lambda r: _badge(r.again_with_weights)),
    ]


def _badge(label: str | None) -> Cell:
    return Cell(badges=() if label is None else (label,))


def _replacement(member: ChosenFeature) -> str:
    return replacement(member) if member.replaceable else "" if member.replaceable is None else "none"


REPLACEMENT: Field[ChosenFeature] = (Column("Best replacement"), _replacement)


def _beyond_covariates(summary: Summary) -> tuple[Table, ...]:
    """Return how the selected features are related to covariates, and to the target before and after adjusting."""
    pairs = [(member.feature, member.beyond) for member in summary.chosen if member.beyond is not None]
    names = summary.data.adjust_for
    columns: list[Field[tuple[str, Associations]]] = [
        (Column("Feature"), lambda r: r[0]),
        *((Column(name, True), lambda r, name=name: _association(r[1].covariates.get(name))) for name in names),
        (Column("Target, before", True), lambda r: _association(r[1].before)),
        (Column("Target, after", True), lambda r: _association(r[1].after)),
    ]
    them = "it" if len(names) == 1 else "them"
    of_covariates = f"Association with {listing(names, len(names))}"
    return as_table(f"{of_covariates}, and with the target before and after adjusting for {them}", pairs, columns)


def _association(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def related_text(q: float, related: bool) -> str:
    """Return whether a feature is related to the target by itself, with its q-value.

    >>> related_text(0.004, True), related_text(0.27, False), related_text(0.102, False)
    ('yes (q < 0.01)', 'not shown by itself (q 0.27)', 'not shown by itself (q > 0.10)')
    """
    shown = "< 0.01" if q < 0.01 else f"{q:.2f}"
    if not related and float(shown[-4:]) <= LARGEST_Q:  # rounding must not hide why
        shown = f"> {LARGEST_Q:.2f}"
    return f"{'yes' if related else 'not shown by itself'} (q {shown})"


def _shares(member: ChosenFeature) -> str:
    """Return the range of the share of models that selected a feature, over halves."""
    ends = (f"{100 * end:.0f}" for end in (member.half_low, member.half_high) if end is not None)
    return f"{' to '.join(dict.fromkeys(ends))} %" if member.half_low is not None else ""


def changes_text(gained: Sequence[str], lost: Sequence[str]) -> str:
    """Return how another set differs from the selected one."""
    parts = [f"{word} {listing(names, 3)}" for word, names in (("with", gained), ("without", lost)) if names]
    return " and ".join(parts) or "the same"


def without(features: Iterable[str], others: Iterable[str]) -> list[str]:
    """Return those of some features that are not among others."""
    excluded = set(others)
    return [name for name in features if name not in excluded]


def substitutes(summary: Summary) -> tuple[Table, ...]:
    """Return what would replace each member, and features that stand in for one another."""
    columns: list[Field[SubstituteFact]] = [
        (Column("If this cannot be measured"), lambda r: r.feature),
        (Column("the best set has instead"), _instead),
        (Column("and no longer"), lambda r: listing(without(r.removed, [r.feature]), _LISTED)),
        (Column("Cost", True), lambda r: cost_text(r.loss_votes, r.loss)),
    ]
    by_member = {entry.feature: entry for entry in summary.substitutes}
    entries = [by_member[name] for name in summary.names if name in by_member]
    of_pairs: list[Field[StandInPair]] = [
        (Column("Feature"), lambda r: r.member),
        (Column("Votes", True), lambda r: f"{r.member_votes:,}"),
        (Column("Stand-in"), lambda r: r.feature),
        (Column("Its votes", True), lambda r: f"{r.votes:,}"),
        (Column("Either", True), lambda r: f"{r.votes_either:,}"),
        (Column("Correlation", True), lambda r: _association(r.correlation)),
    ]
    pairs = "Features that models took in place of one another"
    return (
        *as_table("The best set without each of the selected features", entries, columns, drop_empty=True),
        *as_table(pairs, summary.stand_ins, of_pairs, drop_empty=True),
    )


def _instead(entry: SubstituteFact) -> str:
    if not entry.replaceable:
        return "no set satisfies the hard constraints without it" if entry.proved else "no set was found in time"
    return listing(with_votes(entry.added, entry.added_votes), _LISTED) or "nothing"


def validation(facts: ValidationFacts | Unknown) -> tuple[Table, ...]:
    """Return how ways of selecting compare on held-out samples, and sizes if they were tried."""
    if isinstance(facts, Unknown):
        return ()

    def table(caption: str, scores: Sequence[S], before: list[Field[S]], after: list[Field[S]]) -> tuple[Table, ...]:
        measured: list[Field[S]] = [
            (Column("Measure"), lambda r: metric_name(r.metric)),
            (Column("Mean", True), mean_text),
        ]
        return as_table(caption, scores, [*before, *measured, *after], drop_empty=True)

    methods: list[Field[MethodScore]] = [
        (Column("Selected by"), lambda r: method_name(r.method)),
        (Column("Predictor"), lambda r: r.predictor),
    ]
    ours: list[Field[MethodScore]] = [(Column("Ours minus this", True), difference_text)]
    sizes: list[Field[SizeScore]] = [(Column("Features", True), lambda r: f"{r.size:,}")]
    of_more: list[Field[ForecastFact]] = [
        (Column("Samples", True), lambda r: f"{r.n_samples:,} ({r.factor:g} times)"),
        (Column("Expected", True), lambda r: interval_text(r.value, r.lower, r.upper)),
    ]
    controls: list[Field[ControlScore]] = [(Column("Predictor"), lambda r: r.predictor)]
    return (
        *table(f"On {NOT_USED} (mean and 95 % interval)", facts.scores, methods, ours),
        *table("The same with sets of other sizes", facts.sizes, sizes, []),
        *table("The same with a shuffled target: what chance alone reaches", facts.control, controls, []),
        *as_table(f"{metric_name(facts.metric)} that is expected with more samples", facts.growth, of_more),
    )


def cohorts(facts: CohortFacts | None) -> tuple[Table, ...]:
    """Return the votes and directions of each selected feature at each site."""
    if facts is None:
        return ()

    def at_site(place: int, site: SiteFact) -> Field[SiteVotes]:
        return Column(site.name, True), lambda r: site_text(site, r.votes[place], r.directions[place])

    columns: list[Field[SiteVotes]] = [
        (Column("Feature"), lambda r: r.feature),
        *starmap(at_site, enumerate(facts.sites)),
        (Column("Same direction", True), lambda r: "" if r.concordance is None else f"{r.concordance:.2f}"),
        (Column("Pooled votes", True), lambda r: str(r.pooled)),
    ]
    return as_table("Votes of 100 models at each site, with their directions", facts.members, columns)


def gene_sets(facts: GeneSetsFacts | None) -> tuple[Table, ...]:
    """Return the gene sets that are associated with the target or have a selected feature, and the next ones."""
    if facts is None:
        return ()
    wanted = [entry for entry in facts.sets if entry.selected or entry.q <= LARGEST_Q]
    shown = wanted[:_MOST_SETS] or facts.sets[:_LISTED]
    columns: list[Field[GeneSetFact]] = [
        (Column("Gene set"), lambda r: Cell(r.name, badges=("associated",) * (r.q <= LARGEST_Q))),
        (Column("Measured genes", True), lambda r: f"{r.n_measured:,}"),
        (Column("Selected"), lambda r: listing(r.selected, _LISTED)),
        (Column("Association (by chance)", True), lambda r: f"{r.strength:.2f} ({r.by_chance:.2f})"),
        (Column("p", True), lambda r: _small(r.p)),
        (Column("q", True), lambda r: _small(r.q)),
    ]
    which = "associated with the target, or with a selected feature" if wanted else "with the smallest p-values"
    return as_table(f"Gene sets {which} ({len(shown):,} of {len(facts.sets):,})", shown, columns)


def _small(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _front_score(point: FrontPoint) -> Cell:
    text = "" if point.value is None else number_text(point.value, 6)
    return Cell(text, badges=("not proved",) * (not point.proved))


def front(best_sets: Front) -> tuple[Table, ...]:
    """Return the best set for each size and budget, and what is known of it on other samples."""
    columns: list[Field[FrontPoint]] = [
        (Column("Cost at most", True), lambda r: "" if r.budget is None else f"{r.budget:g}"),
        (Column("Features", True), lambda r: f"{len(r.features) if r.is_set else r.size or ''}"),
        (Column("Cost", True), lambda r: "" if r.cost is None else f"{r.cost:g}"),
        (Column("Score", True), _front_score),
        (Column("Related, at least", True), lambda r: "" if r.related is None else f"{r.related}"),
        (Column("Selected again", True), lambda r: expected_text(r.selected_again)),
        (
            Column(f"{metric_name(best_sets.metric)} on {NOT_USED}" if best_sets.metric else "", True),
            lambda r: interval_text(*r.performance) if len(r.performance) == 3 else "",
        ),
        (Column("The best set"), lambda r: listing(r.features, _LISTED) if r.is_set else "no set" * r.proved),
    ]
    return as_table("The best set for each size and budget", best_sets.points, columns, drop_empty=True)


def certainty(summary: Summary) -> tuple[Table, ...]:
    """Return how sure the models are of each selected feature on these samples."""
    if summary.ensemble is None:
        return ()
    interval = Column(f"{100 * summary.level:.0f} % interval", True)
    columns: list[Field[ChosenFeature]] = [
        (Column("Feature"), lambda r: r.feature),
        _IMPORTANCE,
        (interval, _interval),
        (Column("Selection probability", True), _probability),
        (Column("Also without prior"), lambda r: yes_no(r.without_prior)),
        (Column("Also without constraints"), lambda r: yes_no(r.without_constraints)),
    ]
    of_blocks: list[Field[BlockFact]] = [
        (Column("Block"), lambda r: r.name),
        (Column("Features", True), lambda r: f"{r.n_features:,}"),
        (Column("Selected", True), lambda r: "" if r.n_selected is None else f"{r.n_selected:,}"),
        (Column("Importance", True), _importance),
        (interval, _interval),
    ]
    by_importance = sorted(summary.blocks, key=lambda block: -(block.importance or 0.0))
    caption = "Importance of the blocks, of all their features together"
    if len(by_importance) > _MOST_BLOCKS:
        caption += f" ({_MOST_BLOCKS} of {len(by_importance):,} blocks)"
    return (
        *as_table(CERTAINTY.capitalize(), summary.chosen, columns, drop_empty=True),
        *as_table(caption, by_importance[:_MOST_BLOCKS], of_blocks, drop_empty=True),
    )


def yes_no(holds: bool | None) -> str:
    """Return whether something holds, in a word; nothing if that is not known."""
    return "" if holds is None else "yes" if holds else "no"


def _share(value: float) -> str:
    """Return an importance: all of them sum to 1, so that four decimals are enough."""
    return f"{value:.4f}" if value >= 0.00005 or value == 0 else "< 0.0001"


def _interval(member: ChosenFeature | BlockFact) -> str:
    ends = dict.fromkeys(_share(end) for end in (member.low, member.high) if end is not None)
    return " to ".join(ends)


def _probability(member: ChosenFeature) -> Cell:
    probability = member.probability
    return Cell() if probability is None else Cell(f"{probability:.2f}", Bar(probability))


def _importance(member: ChosenFeature | BlockFact) -> Cell:
    importance = member.importance
    return Cell() if importance is None else Cell(_share(importance), Bar(importance))


_IMPORTANCE: Field[ChosenFeature] = (Column("Importance", True), _importance)


def constraints(entries: Sequence[ConstraintFact]) -> tuple[Table, ...]:
    """Return the constraints, and the inequalities of them that are violated most."""
    left = Column("What is left of the admissibility", True)
    columns: list[Field[ConstraintFact]] = [
        (Column("Constraint"), lambda r: Cell(r.label, badges=("prior",) * r.from_prior)),
        (Column("Inequalities", True), lambda r: "" if r.n_inequalities is None else f"{r.n_inequalities:,}"),
        *([(Column("Price", True), _price)] if any(map(_price, entries)) else []),
        (Column("Strictness (rho)", True), _rho),
        (Column("Holds"), lambda r: Cell(badges=(constraint_state(r),))),
    ]
    if not all(entry.holds for entry in entries):
        columns += [(Column("Violated by", True), _amount), (left, lambda r: rounded(r.admissibility))]
    columns += [(Column("Costs", True), _cost), (Column("The set without it"), _changed)]
    of_worst: list[Field[ViolatedInequality]] = [
        (Column("Inequality"), lambda r: r.label),
        (Column("rho", True), lambda r: relaxation_text(r.rho)),
        (Column("Violated by", True), lambda r: rounded(r.violation)),
        (left, lambda r: rounded(r.admissibility)),
    ]
    worst = [violation for entry in entries if entry.n_inequalities != 1 for violation in entry.worst]
    return (
        *as_table(CONSTRAINTS, entries, columns),
        *as_table("Inequalities that are violated most", worst, of_worst),
    )


def _cost(entry: ConstraintFact) -> str:
    return entry.cost_text if entry.one_more is None else f"{gain_text(entry.one_more)} for one more place"


def _changed(entry: ConstraintFact) -> str:
    """Return how the set would change without a constraint, or with one more place."""
    if (more := entry.one_more) is not None:
        return changes_text(more.added, more.removed)
    return "" if entry.cost is None else changes_text(entry.added_without or (), entry.removed_without or ())


def _rho(entry: ConstraintFact) -> str:
    return "" if entry.rho is None else relaxation_text(entry.rho, entry.rho_highest)


def _price(entry: ConstraintFact) -> str:
    return "" if entry.price is None else price_text(entry.price, entry.price_votes)


def _amount(entry: ConstraintFact) -> str:
    if entry.holds:
        return ""
    if entry.n_inequalities in (1, None):
        return rounded(entry.violation)
    return f"up to {rounded(entry.violation)} ({entry.n_violated:,} of {entry.n_inequalities:,} inequalities)"


def alternatives(others: Sequence[Alternative], differ_by: int = 1) -> tuple[Table, ...]:
    """Return the next best sets."""
    differ = f" that lack at least {differ_by} features of every set before" if differ_by > 1 else ""
    columns: list[Field[tuple[int, Alternative]]] = [
        (Column("Alternative"), lambda r: str(r[0])),
        (Column("Score", True), lambda r: number_text(r[1].value, 6)),
        (Column("Lower by", True), lambda r: _lower_by(r[1])),
        (Column("Added"), lambda r: listing(r[1].added, _LISTED)),
        (Column("Removed"), lambda r: listing(r[1].removed, _LISTED)),
        (Column("Similarity (Jaccard)", True), lambda r: f"{r[1].jaccard:.2f}"),
    ]
    return as_table(f"Sets as good or nearly as good{differ}", list(enumerate(others, start=1)), columns)


def _lower_by(other: Alternative) -> Cell:
    return Cell(badges=("as good",)) if other.as_good else Cell(number_text(other.loss))


def data(facts: DataFacts) -> tuple[Table, ...]:
    """Return the data at a glance."""
    task = TASKS.get(facts.task or "", TASKS["unsupervised"])
    total = sum(each.count for each in facts.classes)
    shares = [f"{each.label}: {each.count:,} ({100 * each.count / total:.0f} %)" for each in facts.classes]
    spread, constant = facts.range, facts.n_constant
    named = f"{constant:,}, never selected: {listing(facts.constant, len(facts.constant))}" if constant else ""
    more = (constant or 0) - len(facts.constant)
    return _facts(
        "Data",
        {
            "File": facts.file,
            "Target": target_words(facts.target),
            "Samples": f"{facts.n_samples:,}" if facts.n_samples else "",
            "Features": f"{facts.n_features:,}",
            "Task": facts.task,
            **({task.counts_title: listing(shares, _LISTED)} if shares else {}),
            **({task.numbers_title: _range(spread)} if spread else {}),
            "Median follow-up": rounded(facts.follow_up) if facts.follow_up is not None else "",
            "Measured anyway": listing(facts.measured, len(facts.measured)),
            "Adjusted for": listing(facts.adjust_for, len(facts.adjust_for)),
            "Groups": f"{facts.groups:,}; samples of one group stay together" if facts.groups is not None else "",
            "Constant features": named + (f" and {more:,} more" if more else ""),
        },
    )


def _facts(caption: str, entries: Mapping[str, str | None]) -> tuple[Table, ...]:
    rows = tuple((Cell(name), Cell(value)) for name, value in entries.items() if value)
    return (Table(caption, (Column(""), Column("")), rows),)


def _range(spread: Spread) -> str:
    lowest, median, highest = map(number_text, (spread.lowest, spread.median, spread.highest))
    return f"{lowest} to {highest}, median {median}"


def ensemble(summary: Summary) -> tuple[Table, ...]:
    """Return how the evidence was made."""
    facts = summary.ensemble
    if facts is None:
        return ()
    failures = "; ".join(f"{failure.times} times {failure.error}" for failure in facts.failures)
    return _facts(
        "Ensemble",
        {
            "Models": f"{facts.n_models:,}",
            "Selector": ", ".join(facts.selector_names),
            "Samples per model": "" if facts.train_size is None else f"{100 * facts.train_size:g} %",
            "Size of their sets": _sizes(facts.set_sizes),
            "Features with a vote": f"{facts.n_voted:,} of {summary.n_features:,}",
            "Failed runs": f"{facts.n_failures:,}: {failures}" if facts.n_failures else "",
        },
    ) + certainty(summary)


def _sizes(sizes: SetSizes | None) -> str:
    if sizes is None:
        return ""
    if sizes.smallest == sizes.largest:
        return counted(sizes.largest, "feature")
    return f"{sizes.smallest} to {sizes.largest} features, median {sizes.median:g}"


def correlation(facts: CorrelationFacts | None) -> tuple[Table, ...]:
    """Return the pairs of selected features that are correlated most, if the data are known."""
    columns: list[Field[CorrelatedPair]] = [
        (Column("Feature"), lambda pair: pair.first),
        (Column("Feature"), lambda pair: pair.second),
        (Column("Spearman correlation", True), lambda pair: Cell(f"{pair.value:.2f}", Bar(abs(pair.value)))),
    ]
    return () if facts is None else as_table("Strongest pairs", facts.strongest, columns)


# -- what experts know -------------------------------------------------------------------------------------------------


def stated(prior: PriorFacts | None) -> tuple[Table, ...]:
    """Return the features of which an expert gave reasons, or all of which several experts stated something."""
    if prior is None:
        return ()
    if prior.experts:
        return _opinions(prior)
    if len(prior.reasons) > _LISTED:  # the sentence above says how many, from where; the study has all of them
        return ()
    columns: list[Field[Reason]] = [
        (Column("Feature"), lambda r: r.feature),
        (Column("Stated"), lambda r: _weight(r.weight)),
        (Column("Why"), lambda r: r.why),
        (Column("Source"), lambda r: r.source),
        (Column("Selected"), lambda r: yes_no(r.chosen)),
    ]
    return as_table("What the expert stated of features, and why", prior.reasons, columns, drop_empty=True)


def _opinions(prior: PriorFacts) -> tuple[Table, ...]:
    """Return what each of several experts stated of features and why, those on which they disagree most first."""
    columns: list[Field[Opinion]] = [
        (Column("Feature"), lambda r: Cell(r.feature, badges=("after votes",) * bool(r.changed_after_votes))),
        (Column("Who stated what, and why"), lambda r: "; ".join(starmap(_opinion, r.experts.items()))),
        (Column("Together, in votes", True), _together),
        (Column("Votes apart", True), lambda r: number_text(r.disagreement)),
        (Column("Selected"), lambda r: yes_no(r.chosen)),
    ]
    return as_table("What the experts stated of features, and why", prior.opinions, columns)


def _opinion(expert: str, words: ExpertWords) -> str:
    """Return what an expert stated of a feature, and why."""
    return f"{expert}: {' - '.join(filter(None, (_weight(words.weight, ' votes'), words.why, words.source)))}"


def _together(opinion: Opinion) -> str:
    price = "" if opinion.price is None else f", price {opinion.price:.0%}"
    return "" if opinion.weight is None else f"{_weight(opinion.weight)}{price}"


def _weight(weight: float | str | None, unit: str = "") -> str:
    """Return what was stated of a feature: a word, or a number of votes."""
    return "" if weight is None else weight if isinstance(weight, str) else f"{number_text(weight)}{unit}"


@dataclass(frozen=True)
class _WithLess:
    """What would be selected without a part of what was stated."""

    part: str
    removed: Sequence[str]
    added: Sequence[str]


def decisions(summary: Summary) -> tuple[Table, ...]:
    """Return what would be selected with less of what the expert stated, if that is another set."""
    before, sets, agreed = summary.names, summary.sets, summary.agreement
    constrained = any(not entry.from_prior for entry in summary.constraints)
    others = {
        "your weights": _features(sets.without_prior) if agreed else None,
        "half of your weights": (agreed.at["half"] or None) if agreed else None,
        "your constraints, at most the same size": _features(sets.without_constraints) if constrained else None,
        "both: the votes alone": _features(sets.data_alone) if agreed and constrained else None,
    }
    entries = [
        _WithLess(part, without(before, features), without(features, before))
        for part, features in others.items()
        if features is not None
    ]
    columns: list[Field[_WithLess]] = [
        (Column("Without"), lambda r: r.part),
        (Column("Would stay", True), lambda r: f"{len(before) - len(r.removed)} of {len(before)}"),
        (Column("Removed"), lambda r: listing(r.removed, 12)),
        (Column("Added"), lambda r: listing(r.added, 12)),
    ]
    differ = any(entry.removed or entry.added for entry in entries)
    return as_table("What would be selected with less of what you stated", entries if differ else [], columns)


def _features(change: SetChange | None) -> tuple[str, ...] | None:
    return None if change is None else change.features


def left_out(entries: Sequence[LeftOutFact]) -> tuple[Table, ...]:
    """Return features with many votes that are not in the set."""
    columns: list[Field[LeftOutFact]] = [
        (Column("Feature"), lambda r: r.feature),
        (Column("Votes", True), lambda r: "" if r.count is None else f"{r.count:,}"),
        (Column("Why it is out"), why_out),
        (Column("Taking it would cost", True), _loss),
    ]
    return as_table("Strongest by votes and weights", entries, columns)


def _loss(entry: LeftOutFact) -> str:
    return ("" if entry.proved else "at most ") + cost_text(entry.loss_votes, entry.loss)
