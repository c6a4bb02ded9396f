"""Cards: what a value shows of itself in a notebook (HTML) and where it is printed (text)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .._arguments import Array, Ints
from .._plain import counted, rounded
from ..constraints.constraint import Constraint
from ..decision.selection import Selection
from ..ensemble.evidence import Evidence
from ..exceptions import Advice
from ..priors.base import Posterior
from ..priors.list_trust import learn_trust
from ..trust.assess import Assessment
from ..trust.front import Front
from ..trust.prediction_metrics import interval_text, method_name, metric_name
from ..trust.related import LARGEST_Q, Related
from ..trust.reproducibility import Reproducibility
from ..trust.second_table import SecondTable
from ..trust.validation import Validation
from .blocks import NOTEBOOK, cards_html
from .content import fact_cards
from .document import Bar, Card, Cell, Column, Table
from .facts import TrustFacts, Unknown
from .knowledge_sentences import votes_of_lists
from .problem_facts import constraint_facts, ensemble_facts, prior_facts, score_facts
from .sentences import constraints_hold, proof
from .tables import FRONT, related_text
from .tables import front as front_table
from .terminal import card_text
from .trust_facts import related_facts, reproducibility_facts, validation_facts
from .trust_sentences import (
    NOT_USED,
    QUESTIONS,
    difference_text,
    mean_text,
    predicts,
    related,
    selected_again,
    three_facts,
)

_MOST_ROWS = 20
Cells = Sequence[Cell | str]  # of a column


def value_text(value: Any) -> str:
    """Return what a value of ubayfs prints."""
    return "\n\n".join(map(card_text, cards_of(value)))


def value_html(value: Any) -> str:
    """Return what a value of ubayfs shows in a notebook: HTML that needs neither style sheet nor script."""
    return cards_html(cards_of(value), NOTEBOOK)


def cards_of(value: Any) -> tuple[Card, ...]:
    """Return the cards of a value of ubayfs."""
    cards = next(make(value) for kind, make in _CARDS.items() if isinstance(value, kind))
    return cards if isinstance(cards, tuple) else (cards,)


def _table(columns: Mapping[str, Cells]) -> tuple[Table, ...]:
    """Return a table of columns; all but the first are set to the right. None without rows."""
    headings = tuple(Column(heading, place > 0) for place, heading in enumerate(columns))
    cells = ((cell if isinstance(cell, Cell) else Cell(cell) for cell in column) for column in columns.values())
    rows = tuple(zip(*cells, strict=True))
    return (Table("", headings, rows),) if rows else ()


def _of_features(
    about: Any, title: str, order: Ints, columns: Mapping[str, Cells], lines: Iterable[str] = (), value: str = "",
    advice: Iterable[Advice] = (),
) -> Card:  # fmt: skip
    """Return a card with a row per feature in an order of positions, as many as are easily read, and all advice."""
    shown = order[:_MOST_ROWS]
    more = len(order) - len(shown)
    names = [str(about.feature_names[i]) for i in shown]
    return Card(
        title,
        value,
        _table({"feature": names, **{heading: [cells[i] for i in shown] for heading, cells in columns.items()}}),
        (
            *([f"and {counted(more, 'more feature', 'more features')}"] if more else []),
            *lines,
            *(f"Note: {each}" for each in advice),
        ),
    )


def _with_bars(texts: Iterable[str], lengths: Array) -> list[Cell]:
    return [Cell(text, Bar(float(length))) for text, length in zip(texts, lengths, strict=True)]


def _selection(selection: Selection) -> Card:
    order = selection.indices[np.argsort(-selection.importance[selection.indices], kind="stable")]
    columns: dict[str, Cells] = {}
    importances = [rounded(value) for value in selection.importance]
    if selection.counts is not None:
        n_models = None if selection.posterior is None else selection.posterior.evidence.n_models
        columns["votes"] = _votes(selection.counts, n_models)
    if selection.weights is not None and len(np.unique(selection.weights)) > 1:
        columns["prior weight"] = [rounded(weight) for weight in selection.weights]
    of_most = _with_bars(importances, _of_most(selection.importance))
    columns["importance"] = importances if "votes" in columns else of_most
    score = score_facts(selection)
    more = counted(len(selection.alternatives), "alternative")
    proved, hold = proof(score.proved, score.complete, score.gap), constraints_hold(constraint_facts(selection))
    lines = [proved, hold, *([f"{more} in .alternatives."] if selection.alternatives else []), *_lists(selection)]
    title = f"{len(selection.features):,} of {counted(len(selection.feature_names), 'feature')} selected"
    return _of_features(selection, title, order, columns, lines, advice=selection.advice)


def _lists(selection: Selection) -> list[str]:
    """Return how far votes and each list agree."""
    posterior = selection.posterior
    if posterior is None or posterior.knowledge is None:
        return []
    learned, evidence = posterior.knowledge.list_trust, posterior.evidence
    lists = learn_trust(posterior.knowledge, evidence)[1] if learned is None else learned
    return votes_of_lists(lists, learned is not None, evidence.n_models, prior_facts(selection))


def _votes(counts: Ints, n_models: int | None) -> list[Cell]:
    """Return votes with bars: of all models, or of the most votes where that number is not known."""
    of = "" if n_models is None else f" of {n_models:,}"
    return _with_bars([f"{n:,.0f}{of}" for n in counts], counts / max(n_models or counts.max(initial=0), 1))


def _of_most(importance: Array) -> Array:
    """Return importances as shares of the largest one."""
    shares: Array = importance / max(importance.max(initial=0.0), 1e-300)
    return shares


def _evidence(evidence: Evidence) -> Card:
    names, counts = ensemble_facts(evidence).selector_names, evidence.counts
    by = f" by {', '.join(names)}" if names else ""
    title = f"Votes of {counted(evidence.n_models, 'model')}{by} for {counted(evidence.n_features, 'feature')}"
    order = np.argsort(-counts, kind="stable")[: int((counts > 0).sum())]
    columns = {"votes": _votes(counts, evidence.n_models)}
    return _of_features(evidence, title, order, columns, advice=evidence.advice)


def _posterior(posterior: Posterior) -> Card:
    columns: dict[str, Cells] = {
        "importance": _with_bars([rounded(value) for value in posterior.mean], _of_most(posterior.mean)),
        "votes": [f"{n:,.0f}" for n in posterior.counts],
        "prior weight": [rounded(weight) for weight in posterior.weights],
    }
    kind, models = posterior.prior.capitalize(), counted(posterior.evidence.n_models, "model")
    title = f"{kind} posterior of {counted(posterior.n_features, 'feature')}: {models} and prior weights"
    lines = []
    if posterior.diagnostics is not None:
        lines = [f"R-hat {posterior.diagnostics.r_hat:.3f} after {counted(posterior.diagnostics.n_draws, 'draw')}."]
    differ = (posterior.counts > 0) | (posterior.weights > posterior.weights.min())  # the others are all alike
    order = np.argsort(-posterior.mean, kind="stable")[: max(int(differ.sum()), 1)]
    return _of_features(posterior, title, order, columns, lines, advice=posterior.advice)


def _constraint(constraint: Constraint) -> Card:
    lines = (f"{constraint.sentence}.", f"How strictly: {constraint.strictness_in_words()}.", constraint.note)
    return Card(repr(constraint), lines=tuple(filter(None, lines)))


def _validation(validation: Validation) -> Card:
    facts, main = validation_facts(validation), validation.main_metric
    scores = [row for row in facts.scores if row.metric == main]
    has_bars = main in ("auc", "c_index")
    columns: dict[str, Cells] = {
        "selected by": [method_name(row.method) for row in scores],
        metric_name(main): [Cell(mean_text(row), Bar(row.mean or 0.0) if has_bars else None) for row in scores],
        "ours minus this": [difference_text(row) for row in scores],
    }
    title = f"{metric_name(main)} on {NOT_USED}, {counted(validation.n_done, 'fold')}"
    return Card(title, tables=_table(columns), lines=tuple(predicts(facts)[1]))


def _related(related_features: Related) -> Card:
    value, lines = related(related_facts(related_features, related_features.features))
    members = np.flatnonzero(np.isin(related_features.feature_names, related_features.features))
    order = members[np.argsort(related_features.p_values[members], kind="stable")]
    columns: dict[str, Cells] = {
        "p-value": [rounded(p, 2) for p in related_features.p_values],
        "related to the target": [related_text(q, q <= LARGEST_Q) for q in related_features.q_values],
    }
    return _of_features(related_features, QUESTIONS["related"], order, columns, lines, value)


def _reproducibility(reproducibility: Reproducibility) -> Card:
    value, lines = selected_again(reproducibility_facts(reproducibility))
    order = np.flatnonzero(reproducibility.selected)
    order = order[np.argsort(-np.nan_to_num(reproducibility.frequency[order]), kind="stable")]
    columns: dict[str, Cells] = {
        "selected again": _with_bars(map(str, reproducibility.labels), np.nan_to_num(reproducibility.frequency))
    }
    if reproducibility.n_used:
        lines = [*lines, f"Agreement of the sets of halves: {reproducibility.lower:.2f}; 0 is chance, 1 the same set."]
    return _of_features(
        reproducibility, QUESTIONS["reproducibility"], order, columns, lines, value, reproducibility.advice
    )


def _assessment(assessment: Assessment) -> tuple[Card, ...]:
    again, validation, of_related = assessment.reproducibility, assessment.validation, assessment.related

    def unknown(part: str) -> Unknown:
        return Unknown("undefined", "not_done", assessment.not_done[part])

    trust = TrustFacts(
        level=None,
        result=None,
        n_chosen=len(assessment.features),
        validation=unknown("validation") if validation is None else validation_facts(validation, assessment.growth),
        related=unknown("related")
        if of_related is None
        else related_facts(of_related, assessment.features, assessment.adjust_for, assessment.n_supported),
        reproducibility=unknown("reproducibility") if again is None else reproducibility_facts(again),
    )
    n = counted(len(assessment.features), "selected feature")
    return Card(f"{n}: what other samples would say"), *fact_cards(three_facts(trust))


def _second_table(table: SecondTable) -> Card:
    columns: dict[str, Cells] = {
        "measure": [metric_name(score.metric) for score in table.scores],
        "predictor": [score.predictor for score in table.scores],
        "score": [interval_text(score.value, score.lower, score.upper) for score in table.scores],
    }
    learned = f"The predictor learned from {counted(table.n_samples, 'sample')} of the first table; interval of 95 %."
    title = f"{counted(len(table.features), 'feature')} on {counted(table.n_new, 'sample')} of a second table"
    return Card(title, "", _table(columns), (learned, *(f"Note: {each}" for each in table.advice)))


_CARDS: dict[type[Any], Callable[[Any], Card | tuple[Card, ...]]] = {
    Selection: _selection,
    Evidence: _evidence,
    Posterior: _posterior,
    Constraint: _constraint,
    Validation: _validation,
    Related: _related,
    Reproducibility: _reproducibility,
    Assessment: _assessment,
    SecondTable: _second_table,
    Front: lambda front: Card(FRONT, tables=front_table(front)),
}
