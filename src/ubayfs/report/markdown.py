"""The report as Markdown (GitHub's tables); text from data files stays text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from .content import document
from .document import Card, Document, Listing, Section, Table, made_visible
from .facts import Summary

_SPECIAL = re.compile(r"([\\`*_{}\[\]|#~$!^=])")
_LEADING = re.compile(r"^(\s*)(?:([-+])|(\d+)([.)]))(?=\s|$)")


def render_markdown(summary: Summary, figures: Mapping[str, str] | None = None, report: Document | None = None) -> str:
    """Return the report on what :func:`~ubayfs.report.summarize` gave as Markdown.

    It has those figures whose pictures are given: name of a display -> path, relative to the report. `report` is the
    document of the summary, if it is known.
    """
    report = made_visible(report or document(summary))
    parts = [f"# {escaped(report.title)}", escaped(report.about), escaped(f"{report.headline} {report.lead}")]
    parts += ["\n".join(map(_card, report.cards))]
    if report.warnings:
        parts += ["## Warnings", _items(report.warnings)]
    for section in report.sections:
        parts += _section(section, figures or {})
    return "\n\n".join(parts) + "\n"


def escaped(text: str) -> str:
    r"""Return text that Markdown shows as it is: no markup, no HTML, no links, on one line.

    >>> escaped("a|b [x](y) <i>")
    'a\\|b \\[x\\](y) &lt;i&gt;'
    """
    line = " ".join(text.split())
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    line = _SPECIAL.sub(r"\\\1", line)
    # What looks like an address becomes a link otherwise.
    line = line.replace("://", "&#58;//").replace("www.", "www&#46;").replace("@", "&#64;")
    return _LEADING.sub(lambda m: m[1] + (f"\\{m[2]}" if m[2] else f"{m[3]}\\{m[4]}"), line)


def _items(sentences: Iterable[str]) -> str:
    return "\n".join(f"- {escaped(sentence)}" for sentence in sentences)


def _card(card: Card) -> str:
    value = f"**{escaped(card.value)}**. " if card.value else ""
    command = f" `{card.command}`" if card.command else ""
    return f"- {escaped(card.title)} {value}{' '.join(map(escaped, card.lines))}{command}"


def _section(section: Section, figures: Mapping[str, str]) -> list[str]:
    parts = [f"## {escaped(section.heading)}"]
    if section.sentences:
        parts.append(_items(section.sentences))
    parts += [_table(table) for table in section.tables]
    parts += [escaped(note) for note in section.notes]
    if section.legend:
        parts.append(
            "\n".join(f"- **{escaped(' and '.join(marks))}**: {escaped(meaning)}" for marks, meaning in section.legend)
        )
    parts += [
        f"![{escaped(figure.caption)}](<{_address(figures[figure.name])}>)"
        for figure in section.figures
        if figure.name in figures
    ]
    parts += [_listing(listing) for listing in section.listings]
    return parts


def _address(path: str) -> str:
    return path.replace("\\", "/").replace("<", "%3C").replace(">", "%3E").replace("\n", "%0A")


def _table(table: Table) -> str:
    head = [escaped(column.heading) for column in table.columns]
    rule = ["---:" if column.numeric else "---" for column in table.columns]
    rows = [[escaped(str(cell)) for cell in row] for row in table.rows]
    lines = [f"| {' | '.join(row)} |" for row in (head, rule, *rows)]
    return f"{escaped(table.caption)}:\n\n" + "\n".join(lines)


def _listing(listing: Listing) -> str:
    longest = max((len(run) for run in re.findall("`+", listing.text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{escaped(listing.caption)}:\n\n{fence}\n{listing.text}\n{fence}"
