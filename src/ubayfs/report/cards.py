"""Cards: what a value shows of itself in a notebook (HTML) and where it is printed (text)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from .._arguments import Array, Ints
from .._plain import aligned, counted, relaxation_text, rounded
from ..constraints.constraint import KINDS, Constraint
from ..decision.selection import Selection
from ..ensemble.evidence import Evidence
from ..priors.base import Posterior
from ..trust.assess import Assessment
from ..trust.prediction_metrics import method_name, metric_name
from ..trust.related import LARGEST_Q, Related
from ..trust.reproducibility import Reproducibility
from ..trust.validation import Validation
from .document import visible
from .facts import TrustFacts, Unknown
from .problem_facts import constraint_facts, ensemble_facts, score_facts
from .sentences import constraints_hold, proof
from .tables import related_text
from .trust_facts import related_facts, reproducibility_facts, validation_facts
from .trust_sentences import difference_text, mean_text, predicts, related, selected_again, three_facts

_MOST_ROWS = 20
# Colors that can be read on light and dark pages; everything else is that of the page.
_BORDER, _BAR = "rgba(128,128,128,.35)", "#3987c9"
_BOX = f"border:1px solid {_BORDER};border-radius:4px;padding:.6em .9em;display:inline-block;max-width:100%"
_CELL = "padding:.15em .9em .15em 0;border:0;white-space:nowrap;vertical-align:middle"
_TRACK = f"display:inline-block;width:6em;height:.6em;background:{_BORDER};border-radius:2px"


@dataclass(frozen=True)
class Card:
    """A title, a table whose second column may have bars, and a few lines below it."""

    title: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    bars: tuple[float, ...] = ()  # in [0, 1], one per row, beside the second column
    lines: tuple[str, ...] = ()

    def __str__(self) -> str:
        rows = [tuple(map(visible, row)) for row in (self.columns, *self.rows)]
        table = aligned(rows, [False, *[True] * (len(self.columns) - 1)]) if self.rows else ""
        return "\n\n".join(filter(None, [visible(self.title), table, "\n".join(map(visible, self.lines))]))

    def html(self) -> str:
        """Return HTML that needs nothing else: no style sheet, no script; text is escaped."""
        parts = [f'<p style="margin:0 0 .4em;font-weight:600">{_text(self.title)}</p>']
        if self.rows:
            headings = [_cell("th", text, i) for i, text in enumerate(self.columns)]
            if self.bars:
                headings.insert(2, "<th></th>")
            cells = "".join(headings)
            body = "".join(self._row(number) for number in range(len(self.rows)))
            table = (
                f'<table style="border-collapse:collapse;margin:0;font-size:inherit"><thead><tr>{cells}</tr></thead>'
            )
            parts.append(f'<div style="overflow-x:auto">{table}<tbody>{body}</tbody></table></div>')
        parts += [f'<p style="margin:.4em 0 0;font-size:90%">{_text(line)}</p>' for line in self.lines]
        return f'<div style="{_BOX}">{"".join(parts)}</div>'

    def _row(self, number: int) -> str:
        cells = [_cell("td", text, i) for i, text in enumerate(self.rows[number])]
        if self.bars:
            width = 100 * min(max(self.bars[number], 0.0), 1.0)
            filled = f"display:block;width:{width:.0f}%;height:100%;background:{_BAR};border-radius:2px"
            cells.insert(2, f'<td style="{_CELL}"><span style="{_TRACK}"><span style="{filled}"></span></span></td>')
        return f"<tr>{''.join(cells)}</tr>"


def _text(text: str) -> str:
    return escape(visible(text))


def _cell(tag: str, text: str, place: int) -> str:
    return f'<{tag} style="{_CELL};text-align:{"right" if place else "left"}">{_text(text)}</{tag}>'


def card_of(value: Any) -> Card:
    """Return the card of a value of ubayfs."""
    return next(make(value) for kind, make in _CARDS.items() if isinstance(value, kind))


def _of_features(
    found: Any,
    title: str,
    order: Ints,
    columns: Mapping[str, Sequence[str]],
    bars: Array,
    lines: Sequence[str] = (),
) -> Card:
    """Return a card with a row per feature in an order of positions, as many as are easily read, and all advice."""
    shown = order[:_MOST_ROWS]
    more = len(order) - len(shown)
    return Card(
        title,
        ("feature", *columns),
        tuple((str(found.feature_names[i]), *(column[i] for column in columns.values())) for i in shown),
        tuple(float(bars[i]) for i in shown),
        (
            *([f"and {counted(more, 'more feature', 'more features')}"] if more else []),
            *lines,
            *(f"Note: {advice}" for advice in found.advice),
        ),
    )


def _selection(found: Selection) -> Card:
    order = found.indices[np.argsort(-found.importance[found.indices], kind="stable")]
    columns: dict[str, Sequence[str]] = {}
    bars = _of_most(found.importance)
    if found.counts is not None:
        n_models = None if found.posterior is None else found.posterior.evidence.n_models
        of = "" if n_models is None else f" of {n_models:,}"
        columns["votes"] = [f"{n:,}{of}" for n in found.counts]
        bars = found.counts / max(n_models or found.counts.max(initial=0), 1)
    if found.weights is not None and len(np.unique(found.weights)) > 1:
        columns["prior weight"] = [rounded(weight) for weight in found.weights]
    columns["importance"] = [rounded(value) for value in found.importance]
    score = score_facts(found)
    more = counted(len(found.alternatives), "alternative")
    proved, hold = proof(score.proved, score.complete, score.gap), constraints_hold(constraint_facts(found))
    lines = [proved, hold, *([f"{more} in .alternatives."] if found.alternatives else [])]
    title = f"{len(found.features):,} of {counted(len(found.feature_names), 'feature')} chosen"
    return _of_features(found, title, order, columns, bars, lines)


def _of_most(importance: Array) -> Array:
    """Return importances as shares of the largest one."""
    shares: Array = importance / max(importance.max(initial=0.0), 1e-300)
    return shares


def _of_votes(found: Evidence, title: str, columns: Mapping[str, Sequence[str]], lines: Sequence[str]) -> Card:
    """Return a card with a row per feature that has votes, most votes first."""
    counts, n_models = found.counts, found.n_models
    order = np.argsort(-counts, kind="stable")[: int((counts > 0).sum())]
    votes = {"votes": [f"{n:,} of {n_models:,}" for n in counts]}
    return _of_features(found, title, order, {**votes, **columns}, counts / max(n_models, 1), lines)


def _evidence(found: Evidence) -> Card:
    names = ensemble_facts(found).selector_names
    by = f" by {', '.join(names)}" if names else ""
    title = f"Votes of {counted(found.n_models, 'model')}{by} for {counted(found.n_features, 'feature')}"
    return _of_votes(found, title, {}, ())


def _posterior(found: Posterior) -> Card:
    columns = {
        "importance": [rounded(value) for value in found.mean],
        "votes": [f"{n:,}" for n in found.counts],
        "prior weight": [rounded(weight) for weight in found.weights],
    }
    kind, models = found.prior.capitalize(), counted(found.evidence.n_models, "model")
    title = f"{kind} posterior of {counted(found.n_features, 'feature')}: {models} and prior weights"
    lines = []
    if found.diagnostics is not None:
        lines = [f"R-hat {found.diagnostics.r_hat:.3f} after {counted(found.diagnostics.n_draws, 'draw')}."]
    known = (found.counts > 0) | (found.weights > found.weights.min())  # the others are all alike
    order = np.argsort(-found.mean, kind="stable")[: max(int(known.sum()), 1)]
    return _of_features(found, title, order, columns, _of_most(found.mean), lines)


def _constraint(found: Constraint) -> Card:
    meaning = KINDS[found.kind].meaning
    strict = "found in the data" if found.rho is None else _strictness(found.rho)
    strict = strict if found.price is None else f"a violation costs {_strictness(found.price)} of the models' votes"
    return Card(repr(found), lines=tuple(filter(None, [f"{meaning}.", f"How strictly: {strict}.", found.note])))


def _strictness(value: Any) -> str:
    several = value if isinstance(value, tuple) else (value,)
    return relaxation_text(min(several), max(several))


def _validation(found: Validation) -> Card:
    facts = validation_facts(found)
    scores = [row for row in facts.scores if row.metric == found.main_metric]
    rows = tuple((method_name(row.method), mean_text(row), difference_text(row)) for row in scores)
    bars = tuple(row.mean or 0.0 for row in scores) if found.main_metric in ("auc", "c_index") else ()
    metric = metric_name(found.main_metric)
    title = f"{metric} on samples not used for choosing, {counted(found.n_done, 'fold')}"
    return Card(title, ("chosen by", metric, "ours minus this"), rows, bars, tuple(predicts(facts)[1]))


def _related(found: Related) -> Card:
    value, lines = related(related_facts(found, found.features))
    members = np.flatnonzero(np.isin(found.feature_names, found.features))
    order = members[np.argsort(found.p_values[members], kind="stable")]
    rows = tuple(
        (str(found.feature_names[i]), rounded(found.p_values[i], 2), related_text(q, q <= LARGEST_Q))
        for i, q in zip(order[:_MOST_ROWS], found.q_values[order], strict=False)
    )
    more = [f"and {counted(n, 'more feature', 'more features')}"] if (n := len(order) - len(rows)) > 0 else []
    title = f"Are they related to the target? {value}"
    return Card(title, ("feature", "p-value", "related to the target"), rows, (), (*more, *lines))


def _reproducibility(found: Reproducibility) -> Card:
    value, lines = selected_again(reproducibility_facts(found))
    order = np.flatnonzero(found.selected)
    order = order[np.argsort(-np.nan_to_num(found.frequency[order]), kind="stable")]
    columns = {"selected again": [str(label) for label in found.labels]}
    if found.n_used:
        lines = [*lines, f"Agreement of the sets of halves: {found.lower:.2f}; 0 is chance, 1 the same set."]
    title = f"Would another study select them again? {value}".rstrip()
    return _of_features(found, title, order, columns, np.nan_to_num(found.frequency), lines)


def _assessment(found: Assessment) -> Card:
    again, validation, of_related = found.reproducibility, found.validation, found.related

    def unknown(part: str) -> Unknown:
        return Unknown("undefined", "not_done", found.not_done[part])

    trust = TrustFacts(
        level=None,
        result=None,
        n_chosen=len(found.features),
        validation=unknown("validation") if validation is None else validation_facts(validation),
        related=unknown("related")
        if of_related is None
        else related_facts(of_related, found.features, found.adjust_for, found.n_supported),
        reproducibility=unknown("reproducibility") if again is None else reproducibility_facts(again),
    )
    lines = [" ".join([fact.question, *fact.sentences]) for fact in three_facts(trust)]
    return Card(f"{counted(len(found.features), 'selected feature')}: what other samples would say", lines=tuple(lines))


_CARDS: dict[type[Any], Callable[[Any], Card]] = {
    Selection: _selection,
    Evidence: _evidence,
    Posterior: _posterior,
    Constraint: _constraint,
    Validation: _validation,
    Related: _related,
    Reproducibility: _reproducibility,
    Assessment: _assessment,
}
