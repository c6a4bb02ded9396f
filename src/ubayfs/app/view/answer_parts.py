"""The parts of an answer as HTML: what changed, facts of trust, members, rules, other sets, sizes.

They show what the worker found out so far; a stage that is not there yet leaves its columns empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from ..._plain import cost_range, cost_text, counted, listing, price_text, rounded
from ...knowledge.scale import VOTES
from ...summary.sentences import constraint_state
from ...summary.trust_sentences import AGAIN, MARKS, NONE_LEFT_OUT, again_heading, replacement, why_out
from .parts import badge, bar, because, choices, paragraph, table, text

Facts = Mapping[str, Any]

_CHANGES = ("added", "removed")
_SHOWN = 12  # names in a line
WAITING = Markup('<span class="waiting" title="being computed">...</span>')


def members(answer: Facts) -> list[dict[str, Any]]:
    """Return one record per chosen feature from all stages that there are, most important first.

    >>> stage = {"chosen": [{"feature": "b", "count": 9}]}
    >>> members({"set": stage, "reasons": {"chosen": [{"feature": "b", "why": "a paper"}]}})
    [{'feature': 'b', 'count': 9, 'why': 'a paper'}]
    """
    records = {record["feature"]: dict(record) for record in answer["set"]["chosen"]}
    for stage in ("reasons", "alternatives", "trust"):
        for record in answer.get(stage, {}).get("chosen", ()):
            known = {key: value for key, value in record.items() if value is not None}
            records.get(record["feature"], {}).update(known)
    return list(records.values())


def since(found: Facts) -> Markup:
    """Return what the last change did to the set; nothing if there was none.

    >>> since({"added": ["a"], "removed": [], "because": ["a: likely"]}).striptags()
    'Since your last change added a because of: a: likely'
    >>> since({"added": [], "removed": [], "because": ["crp: likely"]}).striptags()
    'Since your last change the set is the same crp: likely'
    """
    reason, changed = "; ".join(found["because"]), [key for key in _CHANGES if found[key]]
    if not changed and not reason:
        return Markup()
    parts = [
        Markup('<span class="{0}"><strong>{0}</strong> {1}</span>').format(key, text(listing(found[key], _SHOWN)))
        for key in changed
    ] or [Markup("<span>the set is the same</span>")]
    why = Markup('<span class="reason">{}{}</span>').format("because of: " if changed else "", text(reason))
    return Markup('<div class="since" role="status"><strong>Since your last change</strong> {} {}</div>').format(
        Markup(" ").join(parts), why if reason else ""
    )


def facts(found: Iterable[Facts], by_itself: Iterable[str] = ()) -> Markup:
    """Return the three facts of trust as in the report; one that is not known yet says how it comes to be known.

    Those `by_itself` are computed without being asked for.
    """
    waits = dict.fromkeys(by_itself, "It is computed once you pause for a few seconds.")
    asked = "It takes a while, and is computed when you ask for it."
    items = Markup().join(
        Markup('<div><dt>{}</dt><dd><span class="value{}">{}</span>{}</dd></div>').format(
            text(fact["question"]),
            "" if fact["value"] else " unknown",
            text(fact["value"] or "not known yet" if fact["state"] == "missing" else fact["value"]),
            Markup(" ").join(
                map(text, [waits.get(fact["fact"], asked)] if fact["state"] == "missing" else fact["sentences"])
            ),
        )
        for fact in found
    )
    return Markup('<dl class="answers facts">{}</dl>').format(items)


def member_table(records: Sequence[Facts], stated: Facts, n_models: int, added: Iterable[str], ready: bool) -> Markup:
    """Return the members: why, votes and weights as bars, a word to change, what else would do.

    Below a certain width a row becomes a card, in which each cell has its heading (static/app.css).
    """
    most = max((record["count"] + _weight(record, stated) for record in records), default=1.0)
    again = [key for key in AGAIN if any(record.get(key) for record in records)]
    columns = ["Feature", "Because of", "Votes", f"of {n_models:,}", "You say"]
    columns += [again_heading(key, AGAIN[1] in again) for key in again] + ["If it cannot be measured"]
    rows = Markup().join(
        _member(record, stated, most, record["feature"] in set(added), columns, ready) for record in records
    )
    head = Markup().join(
        Markup('<th scope="col"{}>{}</th>').format(Markup(' class="number"') if i == 3 else "", text(title))
        for i, title in enumerate(columns)
    )
    longest = max((len(record["feature"]) for record in records), default=0)
    return Markup(
        '<table class="members stacked" style="--letters: {}"><caption>Chosen features, most important first. '
        "Solid: votes of the models; hatched: votes that your words add.</caption>"
        "<thead><tr>{}</tr></thead><tbody>{}</tbody></table>"
    ).format(min(longest, 18), head, rows)


def _weight(record: Facts, stated: Facts) -> float:
    """Return the votes that a word adds; the default weight of all features is nothing to be shown."""
    return float(record["weight"]) if record["feature"] in stated else 0.0


def _member(record: Facts, stated: Facts, most: float, is_new: bool, columns: Sequence[str], ready: bool) -> Markup:
    name = record["feature"]
    new = Markup('<span class="new" title="new since your last change">+</span> ') if is_new else Markup()
    marks = [badge(mark) for key, mark in MARKS.items() if record.get(key)]
    same = f"identical to {listing(record['identical_to'], 3)}" if record.get("identical_to") else ""
    below = [Markup('<div class="why">{}</div>').format(text(line)) for line in (record.get("why"), same) if line]
    cells = {
        "Because of": because(record["reasons"]) + Markup(" ").join(marks) if "reasons" in record else WAITING,
        "Votes": bar(record["count"], _weight(record, stated), most),
        columns[3]: Markup('<span class="number">{:,}</span>').format(record["count"]),
        "You say": word_box(name, stated.get(name, (None, ""))[0]),
        **{
            again_heading(key, weighted): badge(record[key]) if record.get(key) else ""
            for key in AGAIN
            for weighted in (False, True)
        },
        "If it cannot be measured": instead(record) if ready else WAITING,
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


def instead(record: Facts) -> str:
    """Return what would take the place of a member, and the cost, as in the report.

    >>> instead({"replaceable": True, "substitute": ["b"], "substitute_cost": 2.0})
    'b (costs 2 votes)'
    """
    if not record.get("replaceable", False):
        return "nothing can replace it" if "replaceable" in record else ""
    return replacement(record)


def left_out(found: Facts) -> Markup:
    """Return strong features that are not in the set, and why."""
    if not found["left_out"]:
        known = NONE_LEFT_OUT if found["left_out_known"] else "Not examined."
        return paragraph(known)
    rows = [
        (out["feature"], "" if out["count"] is None else f"{out['count']:,}", why_out(out),
         cost_text(out["loss_votes"], out["loss"]))
        for out in found["left_out"]
    ]  # fmt: skip
    return table(["Feature", "Votes", "Why it is out", "Taking it costs"], rows, "Features with many votes", [1, 3])


def rules(constraints: Sequence[Facts]) -> Markup:
    """Return the rules with whether they hold, and what they cost."""
    if not constraints:
        return paragraph("There are none: everything with a vote may be chosen.")
    items = Markup().join(
        Markup('<li>{} {}<div class="note">{}</div></li>').format(
            text(entry["label"]),
            badge(constraint_state(entry)),
            text(". ".join(filter(None, (_price(entry), _cost(entry))))),
        )
        for entry in constraints
    )
    return Markup('<ul class="held">{}</ul>').format(items)


def _price(entry: Facts) -> str:
    if entry.get("price") is not None:
        return f"Price: {price_text(entry['price'], entry['price_votes'])}"
    return "Hard: it always holds" if entry["rho"] == "inf" or entry["rho"] == float("inf") else ""


def _cost(entry: Facts) -> str:
    """Return what the set would gain without a rule, or with one more place."""
    more, without = entry.get("one_more"), entry.get("cost")
    if more is not None:
        new = f": {listing(more['added'], 3)}" if more["added"] else ""
        return f"One more place would bring {cost_range(more, 'gain')}{new}"
    if without is None:
        return ""
    if not without:
        return "Costs nothing"
    changed = [f"{word} {listing(entry[key], 3)}" for word, key in
               (("also", "added_without"), ("no", "removed_without")) if entry[key]]  # fmt: skip
    return f"Costs {cost_range(entry, 'cost')}; {' and '.join(changed) or 'the same set'} without it"


def other_sets(alternatives: Sequence[Facts]) -> Markup:
    """Return sets that are as good or nearly as good, by what they exchange."""
    if not alternatives:
        return paragraph("None was looked for.")
    rows = [
        (f"{i}", listing(other["removed"], _SHOWN), listing(other["added"], _SHOWN),
         badge("as good") if other["as_good"] else rounded(other["loss"]))
        for i, other in enumerate(alternatives, start=1)
    ]  # fmt: skip
    return table(["Set", "without", "with", "Score lower by"], rows, "The next best sets", [3])


def size_table(points: Sequence[Facts], performance: Mapping[int, str], now: int) -> Markup:
    """Return score, related members and performance at each size: a curve for the eye, a table for everybody."""
    rows = [
        (f"{point['size']}{' (now)' if point['size'] == now else ''}", f"{point['value']:.4f}",
         "" if point["related"] is None else f"{point['related']}", performance.get(point["size"], ""))
        for point in points
    ]  # fmt: skip
    titles = ["Features", "Score", "Related, at least", "On other samples"]
    kept = [i for i in range(4) if i < 2 or any(row[i] for row in rows)]
    shown = table([titles[i] for i in kept], [[row[i] for i in kept] for row in rows], "At each size", range(4))
    return _curve(points, now) + Markup("<details><summary>Numbers</summary>{}</details>").format(shown)


def _curve(points: Sequence[Facts], now: int) -> Markup:
    if len(points) < 2:
        return Markup()
    sizes, values = [point["size"] for point in points], [point["value"] for point in points]
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


def card(question: Facts, number: int, total: int) -> Markup:
    """Return a question to the expert, and what which answer would change."""
    name = text(question["feature"])
    inside = "is in the set" if question["chosen"] else "is not in the set"
    change = " and ".join(f"{listing(question[key], 4)} would be {key}" for key in _CHANGES if question[key])
    return Markup(
        '<p class="note">Question {} of {}</p><h3>Does {} matter?</h3>'
        "<p>It {}; {} chose it. If it is {}: {}. The new set is then worth {} more than this one{}.</p>"
    ).format(
        number, total, name, inside, counted(question["count"], "model"), badge(question["word"]), text(change),
        cost_text(question["gain_votes"], None), "" if question["proved"] else ", as far as is known",
    )  # fmt: skip
