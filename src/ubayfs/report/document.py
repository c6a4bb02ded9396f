"""The blocks that a document is made of: tables, cards, figures, listings, and sections of them.

A block is the same in a report, a notebook, the app and the terminal; `blocks` writes it as HTML, `markdown` as
Markdown and `terminal` as text.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TypeVar

from .plots import Plot

T = TypeVar("T")


@dataclass(frozen=True)
class Bar:
    """A bar below the text of a cell; ends beyond [0, 1] are cut."""

    length: float
    added: float = 0.0  # what is hatched beyond it, such as votes that were stated
    label: str = ""  # read out; without it the text says all


@dataclass(frozen=True)
class Cell:
    """One entry of a table.

    >>> print(Cell("age", badges=("no vote", "tie")), Cell(badges=("tie",)))
    age (no vote, tie) tie
    """

    text: str = ""
    bar: Bar | None = None
    badges: tuple[str, ...] = ()  # short marks, shown after the text
    notes: tuple[str, ...] = ()  # small lines below
    slot: str = ""  # HTML of a page, such as a control; other forms have the rest alone
    link: str = ""  # address of a page about what the text names

    def __str__(self) -> str:
        marks = ", ".join(self.badges)
        return " ".join(filter(None, [self.text, f"({marks})" if self.text and marks else marks, *self.notes]))


@dataclass(frozen=True)
class Column:
    """Heading of a table's column; numbers are set to the right."""

    heading: str
    numeric: bool = False
    note: str = ""  # on a page, small below the heading


@dataclass(frozen=True)
class Table:
    """A table whose first column names its rows."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class Card:
    """An answer at a glance, or a value in a notebook: a title, the answer in a word or two, tables and lines."""

    title: str
    value: str = ""
    tables: tuple[Table, ...] = ()
    lines: tuple[str, ...] = ()
    command: str = ""  # finds out what is not known


@dataclass(frozen=True)
class Figure:
    """A display, by its name among the displays of the summary; `alt` describes it in words."""

    name: str
    caption: str
    alt: str


@dataclass(frozen=True)
class Plate:
    """A small plot that a page draws from its values, with what it shows; the title may lead to a page about it."""

    title: str
    text: str
    plot: Plot
    target: str = ""  # what the target is called
    link: str = ""


@dataclass(frozen=True)
class Listing:
    """Text that is shown as it is, such as a study file."""

    caption: str
    text: str


@dataclass(frozen=True)
class Section:
    """A part of the report under one heading; the legend explains the badges."""

    key: str
    heading: str
    sentences: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    listings: tuple[Listing, ...] = ()
    notes: tuple[str, ...] = ()
    legend: tuple[tuple[tuple[str, ...], str], ...] = ()  # badges, and what they mean together
    folded: bool = False  # whether a page shows its heading alone until it is opened
    brief: str = ""  # the section in a few words, beside its heading when it is folded
    copied: bool = False  # whether a page offers its sentences to be copied
    plates: tuple[Plate, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether there is nothing to show."""
        return not (self.sentences or self.tables or self.figures or self.listings)


@dataclass(frozen=True)
class Document:
    """A whole report, or all that is printed of an answer: the answer first."""

    title: str = ""
    about: str = ""  # below the title: files, date, version
    headline: str = ""
    lead: str = ""
    warnings: tuple[str, ...] = ()
    sections: tuple[Section, ...] = ()
    cards: tuple[Card, ...] = ()
    key_figures: tuple[tuple[str, str, str], ...] = ()  # value, what it is, and a remark
    terms: tuple[str, ...] = ()  # what these are
    names: tuple[str, ...] = ()  # of the chosen features, to be copied


def visible(text: str) -> str:
    r"""Return text whose control characters can be seen: they could hide or reverse the text beside them.

    >>> visible("two\nlines\a")
    'two\\nlines\\x07'
    """
    if text.isprintable():
        return text
    return "".join(
        character
        if character.isprintable() or unicodedata.category(character) == "Zs"
        else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def made_visible(part: T) -> T:
    """Return a part of a report, or all of it, with visible control characters; listings keep their lines."""
    if isinstance(part, str):
        return visible(part)  # type: ignore[return-value]
    if isinstance(part, tuple):
        return tuple(made_visible(entry) for entry in part)  # type: ignore[return-value]
    if isinstance(part, Listing):
        return replace(part, text="\n".join(visible(line) for line in part.text.split("\n")))
    if is_dataclass(part) and not isinstance(part, type):
        return replace(part, **{field.name: made_visible(getattr(part, field.name)) for field in fields(part)})
    return part
