"""A report as sections of sentences, tables, figures and listings: the content that HTML and Markdown share."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Cell:
    """One entry of a table.

    Attributes
    ----------
    text : str
    bar : float or None
        Length of a bar below the text, in [0, 1].
    badges : tuple of str
        Short marks, shown after the text.
    """

    text: str
    bar: float | None = None
    badges: tuple[str, ...] = ()


@dataclass(frozen=True)
class Column:
    """Heading of a table's column; numbers are set to the right."""

    heading: str
    numeric: bool = False


@dataclass(frozen=True)
class Table:
    """A table whose first column names its rows."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class Figure:
    """A display, by its name among the displays of the summary; `alt` says in words what it shows."""

    name: str
    caption: str
    alt: str


@dataclass(frozen=True)
class Listing:
    """Text that is shown as it is, such as a study file."""

    caption: str
    text: str


@dataclass(frozen=True)
class Section:
    """A part of the report under one heading."""

    key: str
    heading: str
    sentences: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    listings: tuple[Listing, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether there is nothing to show."""
        return not (self.sentences or self.tables or self.figures or self.listings)


@dataclass(frozen=True)
class Document:
    """The whole report: the answer first.

    Attributes
    ----------
    title, headline, created : str
    key_figures : tuple of (str, str, str)
        Value, what it is, and a remark.
    warnings : tuple of str
    sections : tuple of Section
    """

    title: str
    headline: str
    created: str
    key_figures: tuple[tuple[str, str, str], ...]
    warnings: tuple[str, ...]
    sections: tuple[Section, ...]
