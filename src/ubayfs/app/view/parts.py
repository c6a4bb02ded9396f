"""Small parts of pages as HTML: everything that is not Markup is escaped, control characters are made visible."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from markupsafe import Markup, escape

from ...report.document import visible
from ...study.schema import SECTIONS

# What a member is chosen because of, in the order and with the marks of the report.
REASONS = {
    "data": "the votes of the models",
    "weight": "what you know",
    "rule": "your rules",
    "fill": "nothing: it fills a place, no model selected it",
    "tie": "nothing: others are as good",
}
_NOTICES = {"info": "Note", "warning": "Please note", "error": "This did not work", "success": "Done"}


def text(value: Any) -> Markup:
    r"""Return a value for a page: escaped, unless it is Markup already.

    >>> text("<b>gene\x07")
    Markup('&lt;b&gt;gene\\x07')
    """
    return value if isinstance(value, Markup) else escape(visible(str(value)))


def help_text(section: str, key: str) -> str:
    """Return what a key of a study means, in one or two sentences: the help and details of the docs.

    What is said of a form that only study files have, in braces or null, is left out.

    >>> help_text("evidence", "seed")
    'The same seed gives the same result.'
    >>> help_text("data", "target")
    'Column to explain. Several for a multi-label task.'
    """
    entry = SECTIONS[section].keys()[key]
    parts = [(part or "").split("; ") for part in (entry.help, entry.details)]
    clauses = [[clause for clause in part if "{" not in clause and "null" not in clause] for part in parts]
    sentences = [re.sub(r"[`\[\]]", "", "; ".join(known)) for known in clauses if any(known)]
    return " ".join(f"{part[:1].upper()}{part[1:].rstrip('.')}." for part in sentences)


def choices(shown: Mapping[str, str], now: str) -> Markup:
    """Return the options of a list: values and what is shown of them; one is chosen.

    >>> choices({"a": "<A>"}, "a")
    Markup('<option value="a" selected>&lt;A&gt;</option>')
    """
    return Markup().join(
        Markup('<option value="{}"{}>{}</option>').format(key, Markup(" selected") if key == now else "", text(words))
        for key, words in shown.items()
    )


def paragraph(words: Any, kind: str = "note") -> Markup:
    """Return a paragraph: a ``note``, or what stands where something is ``empty``."""
    return Markup('<p class="{}">{}</p>').format(kind, text(words))


def badge(name: str, title: str = "") -> Markup:
    """Return a mark as in the report; color and line style tell its kind."""
    hint = Markup(' title="{}"').format(title) if title else Markup()
    return Markup('<span class="badge {}"{}>{}</span>').format(name.replace(" ", "-"), hint, text(name))


def because(reasons: Iterable[str]) -> Markup:
    """Return marks of what a member is chosen because of."""
    return Markup(" ").join(badge(reason, f"because of {REASONS.get(reason, reason)}") for reason in reasons)


def bar(votes: float, weight: float = 0.0, most: float = 1.0) -> Markup:
    """Return a picture of the votes of the models (solid) and those that you added (hatched), on a scale up to `most`.

    >>> bar(30, 10, 80).count("<rect")
    3
    """
    most = max(most, 1e-12)
    first, second = (100 * min(max(value, 0.0) / most, 1.0) for value in (votes, weight))
    second = min(second, 100 - first)
    label = f"{votes:g} votes" + (f" and a weight of {weight:g}" if weight else "")
    return Markup(
        '<svg class="votes" viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label="{}">'
        '<rect width="100" height="6" class="rest"/><rect width="{:.2f}" height="6" class="data"/>'
        '<rect x="{:.2f}" width="{:.2f}" height="6" class="prior"/></svg>'
    ).format(label, first, first, second)


def duration(seconds: float) -> str:
    """Return a time in words.

    >>> duration(0.3), duration(42.0), duration(600), duration(9000)
    ('about a second', 'about 42 s', 'about 10 min', 'about 2.5 h')
    """
    if seconds < 1.5:
        return "about a second"
    if seconds < 100:
        return f"about {seconds:.0f} s"
    return f"about {seconds / 60:.0f} min" if seconds < 6000 else f"about {seconds / 3600:.1f} h"


def table(
    headings: Sequence[Any],
    rows: Iterable[Sequence[Any]],
    caption: str,
    numeric: Iterable[int] = (),
    wide: bool = False,
) -> Markup:
    """Return a table as in the report; the first cell of a row heads it, columns at `numeric` hold numbers.

    On a narrow window each row becomes a card, in which cells have their headings, unless the table is `wide`: then it
    is scrolled.

    >>> '&lt;i&gt;</th><td class="number" data-label="b">5</td>' in table(["a", "b"], [["<i>", 5]], "c", [1])
    True
    """
    right = [Markup(' class="number"') if i in set(numeric) else Markup() for i in range(len(headings))]
    head = Markup().join(
        Markup('<th scope="col"{}>{}</th>').format(at, text(title)) for at, title in zip(right, headings, strict=True)
    )
    lines = Markup().join(
        Markup("<tr>{}</tr>").format(
            Markup().join(
                Markup('<td{} data-label="{}">{}</td>').format(at, text(headings[i]).striptags(), text(cell)) if i else
                Markup('<th scope="row"{}>{}</th>').format(at, text(cell))
                for i, (at, cell) in enumerate(zip(right, row, strict=True))
            )
        )
        for row in rows
    )  # fmt: skip
    return Markup(
        '<div class="scroll" tabindex="0" role="group" aria-label="{0}"><table{3}><caption>{0}</caption>'
        "<thead><tr>{1}</tr></thead><tbody>{2}</tbody></table></div>"
    ).format(text(caption), head, lines, Markup("") if wide else Markup(' class="stacked"'))


def notice(kind: str, message: Any, title: str | None = None) -> Markup:
    """Return a message: ``info``, ``warning``, ``error`` or ``success``; errors are read out at once.

    >>> notice("warning", "x < 1").striptags()
    'Please note x < 1'
    """
    role = "alert" if kind == "error" else "status"
    heading = _NOTICES[kind] if title is None else title
    lines = Markup("<br>").join(map(text, str(message).split("\n"))) if not isinstance(message, Markup) else message
    return Markup('<div class="notice {}" role="{}"><strong>{}</strong> <span>{}</span></div>').format(
        kind, role, text(heading), lines
    )
