"""The parts of an answer on pages: what changed, facts of trust, members, rules, other sets, sizes.

They show what the worker found out so far, by the blocks of the report; a stage that is not there yet leaves its
columns empty.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ..._plain import cost_text, counted, listing, price_text
from ...knowledge.scale import VOTES
from ...report import tables
from ...report.blocks import cards_html, plates_html, table_html
from ...report.content import fact_cards, feature_plates, held_out_plates
from ...report.document import Cell, Column, Table
from ...report.facts import Alternative, ChosenFeature, ConstraintFact, Fact, SizeScore, ValidationFacts, gain_text
from ...report.feature_sentences import NONE_LEFT_OUT, dropout_sentences, marks_of
from ...report.genes import gene_address
from ...report.sentences import constraint_state
from ...report.svg import heat_svg
from ...report.tables import Field
from ...report.trust_sentences import mean_text
from ...trust.prediction_metrics import metric_name
from ..staged_answer import AlternativesStage, LeftOutStage, PlotsStage, SetStage, SizePoint
from ..state import Word
from .parts import APP, badge, block, choices, paragraph, text, votes_bar

if TYPE_CHECKING:
    from ...explain.questions import Question

Stated = Mapping[str, Word]  # votes or word of each feature, and why

_SHOWN = 12  # names in a line
HEAT = "Samples in the order of the target"
WAITING = Cell(slot='<span class="waiting" title="being computed">...</span>')


def since(stage: SetStage) -> Markup:
    """Return what the last change did to the set; nothing if there was none."""
    reason, changes = "; ".join(stage.because), {"added": stage.added, "removed": stage.removed}
    if not any(changes.values()) and not reason:
        return Markup()
    parts = [
        Markup('<span class="{0}"><strong>{0}</strong> {1}</span>').format(key, text(listing(names, _SHOWN)))
        for key, names in changes.items()
        if names
    ]
    why = Markup('<span class="reason">{}{}</span>').format("because of: " if parts else "", text(reason))
    return Markup('<div class="since" role="status"><strong>Since your last change</strong> {} {}</div>').format(
        Markup(" ").join(parts or [Markup("<span>the set is the same</span>")]), why if reason else ""
    )


def facts(three: Iterable[Fact], by_itself: Collection[str] = ()) -> Markup:
    """Return the three facts of trust as in the report; one that is not known yet says how it comes to be known.

    Those `by_itself` are computed without being asked for.
    """
    asked = "Not known yet. It takes a while, and is computed when you ask for it."
    waits = "Not known yet. It is computed once you pause for a few seconds."
    shown = (
        replace(fact, sentences=(waits if fact.fact in by_itself else asked,), command="")
        if fact.state == "missing"
        else fact
        for fact in three
    )
    return block(cards_html(fact_cards(shown), APP))


def member_table(
    members: Sequence[ChosenFeature],
    stated: Stated,
    n_models: int,
    added: Collection[str],
    ready: bool,
    effects: Mapping[str, str],
) -> Markup:
    """Return the members: effects, why, votes and weights as bars, a word to change, what else would do.

    Below a certain width a row becomes a card, in which each cell has its heading (static/app.css).
    """
    most = max(((member.count or 0) + _weight(member, stated) for member in members), default=1.0)
    columns: list[Field[ChosenFeature]] = [
        (Column("Feature"), lambda r: _name(r, effects.get(r.feature, ""))),
        (Column("Because of"), lambda r: Cell(badges=(*r.reasons, *marks_of(r))) if r.reasons else WAITING),
        (Column(f"Votes of {n_models:,}"), lambda r: _votes(r, _weight(r, stated), most)),
        (Column("You say"), lambda r: Cell(slot=word_box(r.feature, stated.get(r.feature, (None, ""))[0]))),
        *tables.again_columns(members),
        (tables.REPLACEMENT[0], tables.REPLACEMENT[1] if ready else lambda r: WAITING),
    ]
    caption = "Selected features, most important first. Solid: votes of the models; hatched: votes that your words add."
    (table,) = tables.as_table(caption, members, columns, drop_empty=True)
    letters = min(max(len(member.feature) for member in members), 18)
    look = replace(APP, table=f' class="members stacked" style="--letters: {letters}"')

    def attributes(row: Sequence[Cell]) -> str:
        new = Markup(' class="new"') if row[0].text in added else Markup()
        return str(Markup(' data-feature="{}"{}').format(row[0].text, new))

    return block(table_html(table, look, attributes))


def _name(member: ChosenFeature, effect: str) -> Cell:
    same = f"identical to {listing(member.identical_to, 3)}" if member.identical_to else ""
    notes = tuple(line for line in (effect, member.why, same) if line)
    return Cell(member.feature, notes=notes, link=gene_address(member.gene))


def _votes(member: ChosenFeature, weight: float, most: float) -> Cell:
    count = member.count or 0
    return Cell(f"{count:,}", bar=votes_bar(count, weight, most))


def _weight(member: ChosenFeature, stated: Stated) -> float:
    """Return the votes that a word adds; the default weight of all features is nothing to be shown."""
    return member.weight or 0.0 if member.feature in stated else 0.0


def word_box(feature: str, stated: Any) -> Markup:
    """Return a list of words to choose from for a feature; the page hears of a change by its ``data-feature``.

    >>> 'value="likely" selected' in word_box("<crp>", "likely"), "5 votes" in word_box("crp", 5.0)
    (True, True)
    """
    number = {} if stated is None or isinstance(stated, str) else {str(stated): f"{stated:g} votes"}
    options = {"": "nothing", **{word: word for word in VOTES}, **number}
    inner = choices(options, "" if stated is None else str(stated))
    return Markup(
        '<select data-feature="{0}" data-keep="word {0}" aria-label="What you say of {1}">{2}</select>'
    ).format(feature, text(feature), inner)


def plots(stage: PlotsStage, validation: ValidationFacts | None, target: str) -> Markup:
    """Return a plot of each member, what is predicted of held-out samples if that is known, and a heat map."""
    plates = feature_plates(stage.chosen, stage.plots, target)
    plates += () if validation is None else held_out_plates(validation, target)
    if not plates:
        return paragraph("Plots need a target of numbers, survival times, or at most eight classes.")
    heat = ""
    if stage.heat is not None:
        scrolled = f'<div class="scroll" tabindex="0" role="group" aria-label="{HEAT}">'
        heat = f"<h3>{HEAT}</h3>{scrolled}{heat_svg(stage.heat)}</div>"
    return block(plates_html(plates) + heat)


def left_out(stage: LeftOutStage) -> Markup:
    """Return strong features that are not in the set, and why."""
    return _tables(tables.left_out(stage.left_out), NONE_LEFT_OUT if stage.examined else "Not examined.")


def other_sets(stage: AlternativesStage) -> Markup:
    """Return sets that are as good or nearly as good, by what they exchange and what that costs."""

    def cost(other: Alternative) -> Cell:
        loss = other.loss or 0.0
        text_of = cost_text(None if stage.votes is None else loss * stage.votes, loss)
        return Cell(badges=("as good",)) if other.as_good else Cell(text_of)

    columns: list[Field[Alternative]] = [
        (Column("With"), lambda r: listing(r.added, _SHOWN)),
        (Column("Instead of"), lambda r: listing(r.removed, _SHOWN)),
        (Column("Costs", True), cost),
    ]
    caption = "Sets that differ from this one in a few features"
    worst = (Markup("<p>{}</p>").format(text(sentence)) for sentence in dropout_sentences(stage.substitutes))
    return Markup().join(worst) + _tables(tables.as_table(caption, stage.alternatives, columns), "None was looked for.")


def rules(constraints: Sequence[ConstraintFact]) -> Markup:
    """Return the rules with whether they hold, and what they cost."""

    def cell(entry: ConstraintFact) -> Cell:
        notes = ". ".join(filter(None, (_strictness(entry), _cost(entry))))
        return Cell(entry.label, badges=(constraint_state(entry),), notes=(notes,) if notes else ())

    columns: list[Field[ConstraintFact]] = [(Column(""), cell)]
    nothing = "There are none: everything with a vote may be selected."
    return _tables(tables.as_table("", constraints, columns), nothing)


def _tables(shown: Sequence[Table], nothing: str) -> Markup:
    """Return tables, or that there is nothing."""
    return Markup().join(block(table_html(table, APP)) for table in shown) if shown else paragraph(nothing)


def _strictness(entry: ConstraintFact) -> str:
    if entry.price is not None:
        return f"Price: {price_text(entry.price, entry.price_votes)}"
    return "Hard: it always holds" if entry.is_hard else ""


def _cost(entry: ConstraintFact) -> str:
    """Return what the set would gain without a rule, or with one more place."""
    more = entry.one_more
    if more is not None:
        new = f": {listing(more.added, 3)}" if more.added else ""
        return f"One more place would bring {gain_text(more)}{new}"
    if entry.cost is None:
        return ""
    if not entry.cost:
        return "Costs nothing"
    changes = (("also", entry.added_without), ("no", entry.removed_without))
    changed = [f"{word} {listing(names, 3)}" for word, names in changes if names]
    return f"Costs {entry.cost_text}; {' and '.join(changed) or 'the same set'} without it"


def size_table(points: Sequence[SizePoint], scores: Sequence[SizeScore], now: int, most: int) -> Markup:
    """Return votes, related members and performance at each size: curves for the eye, a table for everybody.

    The axis goes from 1 to `most`, as that of the slider above it.
    """
    by_size = {score.size: f"{metric_name(score.metric)} {mean_text(score)}" for score in scores}
    columns: list[Field[SizePoint]] = [
        (Column("Features", True), lambda r: f"{r.size}{' (now)' if r.size == now else ''}"),
        (Column("Votes", True), lambda r: f"{r.votes:,.0f}"),
        (Column("Cost", True), lambda r: "" if r.cost is None else f"{r.cost:g}"),
        (Column("Related, at least", True), lambda r: "" if r.related is None else f"{r.related}"),
        (Column("On held-out samples", True), lambda r: by_size.get(r.size, "")),
    ]
    shown = _tables(tables.as_table("At each size", points, columns, drop_empty=True), "")
    curves = {"votes and weights of the best set": {point.size: point.votes for point in points}}
    held_out = {score.size: score.mean for score in scores if score.mean is not None and score.size <= most}
    if held_out:
        curves[f"{metric_name(scores[0].metric)} on held-out samples"] = held_out
    return _curves(curves, now, most) + Markup("<details><summary>Numbers</summary>{}</details>").format(shown)


_WIDTH, _BAND, _GAP = 300, 64, 22  # of a curve, and of the line of text above each
_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)  # between marks of the axis
_MOST_MARKS = 5


def _curves(curves: Mapping[str, Mapping[int, float]], now: int, most: int) -> Markup:
    """Return curves by size below each other, with one axis for all."""

    def x(size: float) -> float:
        return round(_WIDTH * (size - 1) / max(most - 1, 1), 1)

    parts, top = [], 0
    for title, values in curves.items():
        top += _GAP
        low, high = min(values.values(), default=0.0), max(values.values(), default=0.0)
        span = high - low or 1.0
        place = {size: (x(size), round(top + _BAND * (high - value) / span, 1)) for size, value in values.items()}
        mark = Markup('<circle cx="{}" cy="{}" r="4"/>').format(*place[now]) if now in place else Markup()
        parts.append(
            Markup('<text y="{}">{}: {} to {}</text><polyline points="{}"/>{}').format(
                top - 8, title, _short(low), _short(high), " ".join(f"{a},{b}" for a, b in place.values()), mark
            )
        )
        top += _BAND
    step = next((step for step in _STEPS if most / step <= _MOST_MARKS), most)
    marks = [1, *(size for size in range(step, most + 1, step) if size > 1)]
    parts += [Markup('<text x="{}" y="{}" class="x">{}</text>').format(x(size), top + 20, size) for size in marks]
    parts.append(Markup('<text x="{}" y="{}" class="x">number of features</text>').format(_WIDTH / 2, top + 36))
    label = f"{listing([*curves])} by number of features, from 1 to {most}; it is {now} now"
    line = Markup('<path class="now" d="M{0} {1}V{2}"/><path d="M0 {2}H{3}"/>').format(
        x(now), _GAP - 4, top + 4, _WIDTH
    )
    return Markup('<svg class="curve" viewBox="0 0 {} {}" role="img" aria-label="{}">{}{}</svg>').format(
        _WIDTH, top + 40, label, line, Markup().join(parts)
    )


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= _MOST_MARKS else f"{value:.2f}"


def card(question: Question, number: int, total: int) -> Markup:
    """Return a question to the expert, and what which answer would change."""
    inside = "is in the set" if question.chosen else "is not in the set"
    changes = {"added": question.added, "removed": question.removed}
    change = " and ".join(f"{listing(names, 4)} would be {key}" for key, names in changes.items() if names)
    return Markup(
        '<p class="note">Question {} of {}</p><h3>Does {} matter?</h3>'
        "<p>It {}; {} selected it. If it is {}: {}. The new set is then worth {} more than this one{}.</p>"
    ).format(
        number, total, text(question.feature), inside, counted(question.count, "model"), badge(question.word),
        text(change), cost_text(question.gain_votes, None), "" if question.proved else ", as far as is known",
    )  # fmt: skip
