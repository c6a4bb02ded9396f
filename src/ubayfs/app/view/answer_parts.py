"""The parts of an answer as HTML: what changed, facts of trust, members, rules, other sets, sizes.

They show what the worker found out so far; a stage that is not there yet leaves its columns empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ..._plain import cost_text, counted, listing, price_text, rounded
from ...knowledge.scale import VOTES
from ...report.facts import Alternative, ChosenFeature, ConstraintFact, Fact, gain_text
from ...report.sentences import constraint_state
from ...report.trust_sentences import (
    AGAIN_WITH_WEIGHTS,
    NONE_LEFT_OUT,
    again_heading,
    marks_of,
    replacement,
    why_out,
)
from ..staged_answer import AlternativesStage, LeftOutStage, SetStage, SizePoint
from ..state import Word
from .parts import badge, bar, because, choices, paragraph, table, text

if TYPE_CHECKING:
    from ...explain.questions import Question

Stated = Mapping[str, Word]  # votes or word of each feature, and why

_SHOWN = 12  # names in a line
WAITING = Markup('<span class="waiting" title="being computed">...</span>')


def since(found: SetStage) -> Markup:
    """Return what the last change did to the set; nothing if there was none."""
    reason, changes = "; ".join(found.because), {"added": found.added, "removed": found.removed}
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


def facts(found: Iterable[Fact], by_itself: Iterable[str] = ()) -> Markup:
    """Return the three facts of trust as in the report; one that is not known yet says how it comes to be known.

    Those `by_itself` are computed without being asked for.
    """
    waits = dict.fromkeys(by_itself, "It is computed once you pause for a few seconds.")
    asked = "It takes a while, and is computed when you ask for it."
    items = Markup().join(
        Markup('<div><dt>{}</dt><dd><span class="value{}">{}</span>{}</dd></div>').format(
            text(fact.question),
            "" if fact.value else " unknown",
            text(fact.value or "not known yet" if fact.state == "missing" else fact.value),
            Markup(" ").join(map(text, [waits.get(fact.fact, asked)] if fact.state == "missing" else fact.sentences)),
        )
        for fact in found
    )
    return Markup('<dl class="answers facts">{}</dl>').format(items)


def member_table(
    members: Sequence[ChosenFeature], stated: Stated, n_models: int, added: Iterable[str], ready: bool
) -> Markup:
    """Return the members: why, votes and weights as bars, a word to change, what else would do.

    Below a certain width a row becomes a card, in which each cell has its heading (static/app.css).
    """
    most = max(((member.count or 0) + _weight(member, stated) for member in members), default=1.0)
    columns = ["Feature", "Because of", "Votes", f"of {n_models:,}", "You say"]
    columns += [again_heading(members)] * any(member.selected_again for member in members)
    columns += [AGAIN_WITH_WEIGHTS] * any(member.again_with_weights for member in members)
    columns.append("If it cannot be measured")
    rows = Markup().join(
        _member(member, stated, most, member.feature in set(added), columns, ready) for member in members
    )
    head = Markup().join(
        Markup('<th scope="col"{}>{}</th>').format(Markup(' class="number"') if i == 3 else "", text(title))
        for i, title in enumerate(columns)
    )
    longest = max((len(member.feature) for member in members), default=0)
    return Markup(
        '<table class="members stacked" style="--letters: {}"><caption>Chosen features, most important first. '
        "Solid: votes of the models; hatched: votes that your words add.</caption>"
        "<thead><tr>{}</tr></thead><tbody>{}</tbody></table>"
    ).format(min(longest, 18), head, rows)


def _weight(member: ChosenFeature, stated: Stated) -> float:
    """Return the votes that a word adds; the default weight of all features is nothing to be shown."""
    return member.weight or 0.0 if member.feature in stated else 0.0


def _member(
    member: ChosenFeature, stated: Stated, most: float, is_new: bool, columns: Sequence[str], ready: bool
) -> Markup:
    name, count = member.feature, member.count or 0
    new = Markup('<span class="new" title="new since your last change">+</span> ') if is_new else Markup()
    marks = Markup(" ").join(map(badge, marks_of(member)))
    same = f"identical to {listing(member.identical_to, 3)}" if member.identical_to else ""
    below = [Markup('<div class="why">{}</div>').format(text(line)) for line in (member.why, same) if line]
    again = badge(member.selected_again) if member.selected_again else ""
    cells = {
        "Because of": because(member.reasons) + marks if member.reasons else WAITING,
        "Votes": bar(count, _weight(member, stated), most),
        columns[3]: Markup('<span class="number">{:,}</span>').format(count),
        "You say": word_box(name, stated.get(name, (None, ""))[0]),
        **{title: again for title in columns if title.startswith("Selected again")},
        AGAIN_WITH_WEIGHTS: badge(member.again_with_weights) if member.again_with_weights else "",
        "If it cannot be measured": _instead(member) if ready else WAITING,
    }
    shown = Markup().join(
        Markup('<td data-label="{}"{}>{}</td>').format(
            title, Markup(' class="number"') if title == columns[3] else "", text(cells[title])
        )
        for title in columns[1:]
    )
    return Markup('<tr data-feature="{}"{}><th scope="row">{}{}{}</th>{}</tr>').format(
        name, Markup(' class="new"') if is_new else "", new, text(name), Markup().join(below), shown
    )


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


def _instead(member: ChosenFeature) -> str:
    """Return what would take the place of a member, and the cost, as in the report."""
    if member.replaceable is None:
        return ""
    return replacement(member) if member.replaceable else "nothing can replace it"


def left_out(found: LeftOutStage) -> Markup:
    """Return strong features that are not in the set, and why."""
    if not found.left_out:
        return paragraph(NONE_LEFT_OUT if found.known else "Not examined.")
    rows = [
        (out.feature, "" if out.count is None else f"{out.count:,}", why_out(out), cost_text(out.loss_votes, out.loss))
        for out in found.left_out
    ]
    return table(["Feature", "Votes", "Why it is out", "Taking it costs"], rows, "Features with many votes", [1, 3])


def rules(constraints: Sequence[ConstraintFact]) -> Markup:
    """Return the rules with whether they hold, and what they cost."""
    if not constraints:
        return paragraph("There are none: everything with a vote may be chosen.")
    items = Markup().join(
        Markup('<li>{} {}<div class="note">{}</div></li>').format(
            text(entry.label),
            badge(constraint_state(entry)),
            text(". ".join(filter(None, (_strictness(entry), _cost(entry))))),
        )
        for entry in constraints
    )
    return Markup('<ul class="held">{}</ul>').format(items)


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


def other_sets(found: AlternativesStage) -> Markup:
    """Return sets that are as good or nearly as good, by what they exchange."""
    if not found.alternatives:
        return paragraph("None was looked for.")
    rows = [
        (f"{i}", listing(other.removed, _SHOWN), listing(other.added, _SHOWN), _loss(other))
        for i, other in enumerate(found.alternatives, start=1)
    ]
    return table(["Set", "without", "with", "Score lower by"], rows, "The next best sets", [3])


def _loss(other: Alternative) -> Markup | str:
    return badge("as good") if other.as_good else "" if other.loss is None else rounded(other.loss)


def size_table(points: Sequence[SizePoint], performance: Mapping[int, str], now: int) -> Markup:
    """Return score, related members and performance at each size: a curve for the eye, a table for everybody."""
    rows = [
        (f"{point.size}{' (now)' if point.size == now else ''}", f"{point.value:.4f}",
         "" if point.related is None else f"{point.related}", performance.get(point.size, ""))
        for point in points
    ]  # fmt: skip
    titles = ["Features", "Score", "Related, at least", "On other samples"]
    kept = [i for i in range(4) if i < 2 or any(row[i] for row in rows)]
    shown = table([titles[i] for i in kept], [[row[i] for i in kept] for row in rows], "At each size", range(4))
    return _curve(points, now) + Markup("<details><summary>Numbers</summary>{}</details>").format(shown)


def _curve(points: Sequence[SizePoint], now: int) -> Markup:
    if len(points) < 2:
        return Markup()
    sizes, values = [point.size for point in points], [point.value for point in points]
    low, span = min(values), max(max(values) - min(values), 1e-12)
    first, width = sizes[0], max(sizes[-1] - sizes[0], 1)
    place = {size: (4 + 192 * (size - first) / width, 64 - 56 * (value - low) / span)
             for size, value in zip(sizes, values, strict=True)}  # fmt: skip
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in place.values())
    mark = Markup('<circle cx="{:.1f}" cy="{:.1f}" r="4"/>').format(*place[now]) if now in place else Markup()
    label = f"Score by number of features, from {sizes[0]} to {sizes[-1]}; it is {now} now"
    return Markup(
        '<svg class="curve" viewBox="0 0 200 72" role="img" aria-label="{}"><polyline points="{}"/>{}</svg>'
        '<div class="axis"><span>{}</span><span>{}</span></div>'
    ).format(label, line, mark, counted(sizes[0], "feature"), sizes[-1])


def card(question: Question, number: int, total: int) -> Markup:
    """Return a question to the expert, and what which answer would change."""
    inside = "is in the set" if question.chosen else "is not in the set"
    changes = {"added": question.added, "removed": question.removed}
    change = " and ".join(f"{listing(names, 4)} would be {key}" for key, names in changes.items() if names)
    return Markup(
        '<p class="note">Question {} of {}</p><h3>Does {} matter?</h3>'
        "<p>It {}; {} chose it. If it is {}: {}. The new set is then worth {} more than this one{}.</p>"
    ).format(
        number, total, text(question.feature), inside, counted(question.count, "model"), badge(question.word),
        text(change), cost_text(question.gain_votes, None), "" if question.proved else ", as far as is known",
    )  # fmt: skip
