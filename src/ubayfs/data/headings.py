"""What the columns of a table of knowledge mean, by their headings, and what its cells hold."""

from __future__ import annotations

import re
from typing import Any

from ..exceptions import InputError

# Headings of a table of knowledge, in lower case with blanks between words; the first of each is preferred.
HEADINGS: dict[str, tuple[str, ...]] = {
    "feature": (
        "feature", "features", "gene", "genes", "symbol", "symbols", "gene symbol", "gene symbols", "hgnc symbol",
        "gene name", "probe", "probes", "probe id", "protein", "proteins", "name", "marker", "markers", "variable",
    ),
    "weight": ("weight", "weights", "importance", "relevance", "prior", "prior weight", "votes"),
    "block": ("block", "blocks", "group", "pathway", "pathways", "set", "gene set", "gene set name", "category"),
    "cost": ("cost", "costs", "price"),
    "why": (
        "why", "reason", "reasons", "rationale", "justification", "comment", "comments", "note", "notes", "evidence",
        "gene description",
    ),
    "source": (
        "source", "sources", "reference", "references", "citation", "publication", "paper", "doi", "pmid", "pubmed",
        "pubmed id",
    ),
}  # fmt: skip


def heading(text: str) -> str:
    """Return a heading as it is compared: lower case, blanks between words, without a unit in brackets.

    >>> heading(" Gene_Symbol "), heading("Cost (EUR)"), heading("Why?")
    ('gene symbol', 'cost', 'why')
    """
    bare = re.sub(r"(?<=\S)\s*[(\[][^()\[\]]*[)\]]\s*$", "", text)
    return " ".join(re.sub(r"[_\-./()?:*]+", " ", bare).lower().split())


def heading_of(column: str, header: list[Any], name: str = "the table") -> Any:
    """Return the heading of a column; its own name is preferred to others, two others are an error.

    >>> heading_of("block", ["Gene", "Pathway"])
    'Pathway'
    """
    for names in (HEADINGS[column][:1], HEADINGS[column][1:]):
        texts = [text for text in header if heading(str(text)) in names]
        if len(texts) > 1:
            raise InputError(
                f"{name} has two columns for {column!r}: {texts[0]!r} and {texts[1]!r}. Call the one that is meant "
                f"{column!r}, and the other something else."
            )
        if texts:
            return texts[0]
    return None


def cells_of(column: Any) -> list[Any]:
    """Return the cells of a column; None where they are empty."""
    values = column.astype(object)
    stripped = [cell.strip() if isinstance(cell, str) else cell for cell in values.where(values.notna(), None)]
    return [None if cell == "" else cell for cell in stripped]


def text_of(value: Any) -> str | None:
    """Return a text; in a column of whole numbers with gaps 2.0 is still 2."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return None if value is None else str(value)
