"""Small parts of pages as HTML: everything that is not Markup is escaped, control characters are made visible."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from markupsafe import Markup, escape

from ...report.blocks import PAGE, badge_html, table_html
from ...report.document import Bar, Cell, Column, Table, visible
from ...report.feature_sentences import MARKS
from ...study.schema import SECTIONS

# The looks of the app: in a narrow window each row of a table becomes a card, in which cells have their headings; a
# wide table is scrolled. Marks say what they mean.
APP = replace(PAGE, table=' class="stacked"', cards=' class="answers facts"', labeled=True, hints=MARKS)
WIDE = replace(APP, table="")
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
    sentences = [re.sub(r"[`\[\]]", "", "; ".join(clause)) for clause in clauses if any(clause)]
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


def block(html: str) -> Markup:
    """Return what :mod:`ubayfs.report.blocks` wrote, in which all text is escaped, as a part of a page."""
    return Markup(html)  # noqa: S704  # escaped there


def badge(name: str) -> Markup:
    """Return a mark as in the report; color and line style tell its kind."""
    return block(badge_html(name, APP))


def votes_bar(votes: float, weight: float = 0.0, most: float = 1.0) -> Bar:
    """Return a bar of the votes of the models (solid) and those that you added (hatched), on a scale up to `most`.

    >>> votes_bar(30, 10, 80)
    Bar(length=0.375, added=0.125, label='30 votes and a weight of 10')
    """
    most = max(most, 1e-12)
    label = f"{votes:g} votes" + (f" and a weight of {weight:g}" if weight else "")
    return Bar(max(votes, 0.0) / most, max(weight, 0.0) / most, label)


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
    headings: Sequence[str | Column],
    rows: Iterable[Sequence[Any]],
    caption: str,
    numeric: Iterable[int] = (),
    wide: bool = False,
) -> Markup:
    """Return a table as in the report; the first cell of a row heads it, columns at `numeric` hold numbers.

    >>> '&lt;i&gt;</span></th><td class="number" data-label="b">' in table(["a", "b"], [["<i>", 5]], "c", [1])
    True
    """
    right = set(numeric)
    columns = (each if isinstance(each, Column) else Column(each, i in right) for i, each in enumerate(headings))
    cells = tuple(tuple(cell if isinstance(cell, Cell) else Cell(str(cell)) for cell in row) for row in rows)
    return block(table_html(Table(caption, tuple(columns), cells), WIDE if wide else APP))


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
