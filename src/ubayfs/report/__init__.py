"""Reports: one summary as HTML, Markdown or JSON; or a document of your own as HTML.

`content` puts a summary into sections (`tables` has its tables), `document` defines the parts of sections, `html` and
`markdown` write them, `writing` has the other formats. `cards` has what values show of themselves in notebooks.

>>> from ubayfs import Evidence, decide
>>> evidence = Evidence.from_sets([[1, 1, 0], [1, 0, 0]], ["radius", "area", "texture"])
>>> selection = decide(evidence, max_size=1)
>>> from ubayfs.report import render_markdown
>>> from ubayfs.summary import summarize
>>> report = render_markdown(summarize(selection))
"""

from __future__ import annotations

from .document import Cell, Column, Document, Figure, Listing, Section, Table
from .html import render_document, render_html
from .markdown import render_markdown
from .sheets import render_csv, render_xlsx
from .writing import RENDERERS, render_json

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
    "render_xlsx",
]
