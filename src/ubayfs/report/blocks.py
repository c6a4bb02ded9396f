"""Blocks of a document as HTML: the one place that writes tables and cards, for reports, notebooks and the app.

What differs is the look: where there is a style sheet, elements have its classes; in a notebook, styles of their own.
All text is escaped, and control characters are made visible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from html import escape

from .document import Bar, Card, Cell, Column, Plate, Section, Table, visible
from .svg import plot_svg

Row = tuple[Cell, ...]


@dataclass(frozen=True)
class Look:
    """The attributes of elements, each with a space before it."""

    scroll: str = ' class="scroll" tabindex="0" role="group"'
    table: str = ' class="table"'  # of a table with headings
    facts: str = ' class="facts"'  # of a table without
    cell: str = ""
    number: str = ' class="number"'
    text: str = ' class="text"'
    note: str = ' class="why"'
    track: str = ' class="track"'
    bar: str = ' class="bar" style="{width}"'
    added: str = ' class="bar added" style="{width}"'
    badge: str = ' class="badge {kind}"'
    cards: str = ' class="answers"'
    title: str = ""
    value: str = ' class="value"'
    line: str = ""
    labeled: bool = False  # whether each cell has its heading, for windows in which a row becomes a card
    hints: Mapping[str, str] = field(default_factory=dict)  # what marks mean, where there is no legend


PAGE = Look()
# Colors that can be read on light and dark pages; everything else is that of the page.
_BORDER = "rgba(128,128,128,.35)"
_CELL = "padding:.15em .9em .15em 0;border:0;white-space:nowrap;vertical-align:middle;text-align"
NOTEBOOK = Look(
    scroll=' style="overflow-x:auto"',
    table=' style="border-collapse:collapse;margin:0;font-size:inherit"',
    facts=' style="border-collapse:collapse;margin:0;font-size:inherit"',
    cell=f' style="{_CELL}:left"',
    number=f' style="{_CELL}:right"',
    text="",
    note=' style="font-size:90%"',
    track=f' style="display:block;width:6em;height:.4em;background:{_BORDER};border-radius:2px"',
    bar=' style="display:block;{width};height:100%;background:#3987c9;border-radius:2px"',
    badge=f' style="border:1px solid {_BORDER};border-radius:1em;padding:0 .5em;font-size:85%"',
    cards=f' style="border:1px solid {_BORDER};border-radius:4px;padding:.6em .9em;display:inline-block;max-width:100%;'
    'margin:0"',
    title=' style="margin:0 0 .4em;font-weight:600"',
    value=' style="margin:0 0 .4em;font-size:120%"',
    line=' style="margin:.4em 0 0;font-size:90%"',
)


def text_html(text: str) -> str:
    r"""Return text as HTML.

    >>> text_html("<b>gene\x07")
    '&lt;b&gt;gene\\x07'
    """
    return escape(visible(text))


def table_html(table: Table, look: Look = PAGE, attributes: Callable[[Row], str] = lambda row: "") -> str:
    """Return a table; the first cell of a row heads it. `attributes` are those of a row."""
    styles = [look.number if column.numeric else look.cell for column in table.columns]
    headings = [text_html(column.heading) for column in table.columns]
    headed = any(headings)
    shown = [f"{text}{_below(column)}" for text, column in zip(headings, table.columns, strict=True)]
    head = "".join(f'<th scope="col"{style}>{text}</th>' for style, text in zip(styles, shown, strict=True))
    body = "".join(f"<tr{attributes(row)}>{_row(row, styles, headings, look)}</tr>" for row in table.rows)
    caption = text_html(table.caption)
    label, above = (f' aria-label="{caption}"', f"<caption>{caption}</caption>") if caption else ("", "")
    above += f"<thead><tr>{head}</tr></thead>" if headed else ""
    kind = look.table if headed else look.facts
    return f"<div{look.scroll}{label}><table{kind}>{above}<tbody>{body}</tbody></table></div>"


def _below(column: Column) -> str:
    return f'<br><span class="kind">{text_html(column.note)}</span>' if column.note else ""


def _row(row: Row, styles: list[str], headings: list[str], look: Look) -> str:
    first, *others = (cell_html(cell, look) for cell in row)
    labels = [f' data-label="{heading}"' if look.labeled else "" for heading in headings]
    return f'<th scope="row"{styles[0]}>{first}</th>' + "".join(
        f"<td{style}{label}>{content}</td>"
        for style, label, content in zip(styles[1:], labels[1:], others, strict=True)
    )


def cell_html(cell: Cell, look: Look = PAGE) -> str:
    """Return what is in a cell: text, control, marks, bar, small lines."""
    text = linked(text_html(cell.text), cell.link)
    parts = [f"<span{look.text}>{text}</span>" if look.text else text] if text else []
    parts += [cell.slot] if cell.slot else []
    parts += [badge_html(name, look) for name in cell.badges]
    bar = "" if cell.bar is None else bar_html(cell.bar, look)
    return " ".join(parts) + bar + "".join(f"<div{look.note}>{text_html(note)}</div>" for note in cell.notes)


def linked(text: str, address: str) -> str:
    """Return HTML that leads to a page elsewhere, which is opened beside this one; the text alone without an address.

    >>> linked("TP53", "https://example.org/?a=1&b=2")
    '<a href="https://example.org/?a=1&amp;b=2" target="_blank" rel="noopener noreferrer">TP53</a>'
    """
    return f'<a href="{escape(address)}" target="_blank" rel="noopener noreferrer">{text}</a>' if address else text


def plates_html(plates: Iterable[Plate]) -> str:
    """Return plots beside one another, each below what it shows."""
    return f'<div class="plates">{"".join(map(_plate, plates))}</div>'


def _plate(plate: Plate) -> str:
    title = linked(text_html(plate.title), plate.link)
    text = f" {text_html(plate.text)}" if plate.text else ""
    return (
        f"<figure><figcaption><strong>{title}</strong>{text}</figcaption>{plot_svg(plate.plot, plate.target)}</figure>"
    )


def badge_html(name: str, look: Look = PAGE) -> str:
    """Return a mark; color and line style tell its kind, and what it means if the look knows that.

    >>> badge_html("no vote")
    '<span class="badge no-vote">no vote</span>'
    """
    hint = f' title="{text_html(look.hints[name])}"' if name in look.hints else ""
    return f"<span{look.badge.format(kind=text_html(name).replace(' ', '-'))}{hint}>{text_html(name)}</span>"


def bar_html(bar: Bar, look: Look = PAGE) -> str:
    """Return a bar, solid and then hatched.

    >>> bar_html(Bar(0.25, 1.0)).count("width:75.0%")
    1
    """
    length = min(max(bar.length, 0.0), 1.0)
    added = min(max(bar.added, 0.0), 1.0 - length)
    shown = f' role="img" aria-label="{text_html(bar.label)}"' if bar.label else ' aria-hidden="true"'
    parts = [(look.bar, length), *([(look.added, added)] if added else [])]
    bars = "".join(f"<span{style.format(width=f'width:{100 * part:.1f}%')}></span>" for style, part in parts)
    return f"<span{look.track}{shown}>{bars}</span>"


def section_html(section: Section, look: Look = PAGE) -> str:
    """Return a section without its figures and listings."""
    parts = [
        *([f"<h3>{text_html(section.heading)}</h3>"] if section.heading else []),
        *(f"<p>{text_html(sentence)}</p>" for sentence in section.sentences),
        *(table_html(table, look) for table in section.tables),
        *(f'<p class="note">{text_html(note)}</p>' for note in section.notes),
    ]
    return "".join(parts)


def cards_html(cards: Iterable[Card], look: Look = PAGE) -> str:
    """Return cards beside one another."""
    return f"<dl{look.cards}>{''.join(_card(card, look) for card in cards)}</dl>"


def _card(card: Card, look: Look) -> str:
    contents = [
        *([(look.value, text_html(card.value))] if card.value else []),
        *((look.line, table_html(table, look)) for table in card.tables),
        *((look.line, text_html(line)) for line in card.lines),
        *([(look.line, f"<code>{text_html(card.command)}</code>")] if card.command else []),
    ]
    shown = "".join(f"<dd{style}>{content}</dd>" for style, content in contents)
    return f"<div><dt{look.title}>{text_html(card.title)}</dt>{shown}</div>"
