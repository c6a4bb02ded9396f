"""Reports: the facts about an answer become a document, which is written as HTML, Markdown, text or JSON.

`facts` defines the values. `problem_facts` (data, ensemble, prior, constraints), `relations` (to the target),
`answer_facts` (chosen features, what else would do) and `trust_facts` (what other samples would say) compute them, with
codes and numbers; the modules of sentences, `tables` and `content` make the document. Its blocks are defined in
`document`; `html`, `markdown` and `terminal` write them. `cards` has what values show of themselves in notebooks.

>>> from ubayfs import Evidence, decide
>>> evidence = Evidence.from_sets([[1, 1, 0], [1, 0, 0]], ["radius", "area", "texture"])
>>> selection = decide(evidence, max_size=1)
>>> from ubayfs.report import render_markdown, summarize
>>> summary = summarize(selection)
>>> summary.proved, summary.gap
(True, 0.0)
>>> report = render_markdown(summary)
"""

from __future__ import annotations

from .document import Cell, Column, Document, Figure, Listing, Section, Table
from .facts import AdviceFact, Answer, Summary
from .html import render_document, render_html
from .markdown import render_markdown
from .problem_facts import advice_facts
from .sheets import render_csv, render_xlsx
from .summary import FORMAT, answer_of, summarize, with_trust
from .writing import RENDERERS, render_json

__all__ = [
    "FORMAT",
    "RENDERERS",
    "AdviceFact",
    "Answer",
    "Cell",
    "Column",
    "Document",
    "Figure",
    "Listing",
    "Section",
    "Summary",
    "Table",
    "advice_facts",
    "answer_of",
    "render_csv",
    "render_document",
    "render_html",
    "render_json",
    "render_markdown",
    "render_xlsx",
    "summarize",
    "with_trust",
]
