"""Reports: one summary as HTML, Markdown or JSON; or a document of your own as HTML.

`content` puts a summary into sections (`tables` has its tables), `document` defines the parts of sections, `html` and
`markdown` write them.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping
from typing import Any

from .._files import protected
from .document import Cell, Column, Document, Figure, Listing, Section, Table
from .html import render_document, render_html
from .markdown import render_markdown

__all__ = [
    "RENDERERS",
    "Cell",
    "Column",
    "Document",
    "Figure",
    "Listing",
    "Section",
    "Table",
    "render_csv",
    "render_document",
    "render_html",
    "render_json",
    "render_markdown",
]


def render_json(summary: Mapping[str, Any]) -> str:
    """Return what :func:`~ubayfs.summary.summarize` gave as strict JSON: no NaN, no Infinity."""
    return json.dumps(summary, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def render_csv(summary: Mapping[str, Any]) -> str:
    """Return the chosen features, one row each; several blocks of one feature are in one cell."""
    records = summary["chosen"]
    buffer = io.StringIO()
    # Cells with a character of the line end are quoted: a lone carriage return would begin a line of its own.
    writer = csv.DictWriter(buffer, list(records[0]) if records else ["feature"], lineterminator="\r\n")
    writer.writeheader()
    for record in records:
        cells = ["; ".join(map(str, value)) if isinstance(value, list) else value for value in record.values()]
        texts = [protected(cell) if isinstance(cell, str) else cell for cell in cells]
        writer.writerow(dict(zip(record, texts, strict=True)))
    return buffer.getvalue().replace("\r\n", "\n")


# By the suffix of the file.
RENDERERS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    ".html": render_html,
    ".md": render_markdown,
    ".json": render_json,
}
