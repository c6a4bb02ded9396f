"""Blocks of a document as text: what commands print, and what values print of themselves."""

from __future__ import annotations

from .._plain import aligned
from .document import Card, Document, Section, Table, visible


def table_text(table: Table) -> str:
    """Return a table as aligned columns below its caption, if it has one.

    >>> from .document import Cell, Column
    >>> row = (Cell("age", badges=("tie",)), Cell("9"))
    >>> print(table_text(Table("", (Column("feature"), Column("votes", numeric=True)), (row,))))
    feature    votes
    age (tie)      9
    """
    head = [column.heading for column in table.columns]
    rows = [[visible(str(cell)) for cell in row] for row in table.rows]
    lines = aligned([head, *rows], [column.numeric for column in table.columns])
    return "\n".join(filter(None, [visible(table.caption), lines]))


def card_text(card: Card) -> str:
    """Return a card: its lines below its tables, or close below its title."""
    title = visible(f"{card.title} {card.value}".strip())
    lines = [visible(line) for line in (*card.lines, *([card.command] if card.command else []))]
    if not card.tables:
        return "\n".join([title, *(f"  {line}" for line in lines)])
    return "\n\n".join(filter(None, [title, *map(table_text, card.tables), "\n".join(lines)]))


def document_text(document: Document) -> str:
    """Return a document as what a command prints."""
    texts = [document.headline, *document.warnings]
    parts = [*map(visible, texts), *map(card_text, document.cards), *map(_section, document.sections)]
    return "\n\n".join(filter(None, parts))


def _section(section: Section) -> str:
    """Return a section; under a heading its sentences are indented."""
    indent = "  " if section.heading else ""
    sentences = "\n".join(f"{indent}{visible(sentence)}" for sentence in section.sentences)
    above = "\n".join(filter(None, [visible(section.heading), sentences]))
    return "\n\n".join(filter(None, [above, *map(table_text, section.tables), *map(visible, section.notes)]))
