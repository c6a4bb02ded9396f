"""The report as one HTML file that needs nothing else: no network, no font, no script but its own few lines."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from importlib.resources import files
from typing import Any

from ..exceptions import MissingDependencyError
from ..plotting import Figures, read_displays, render_figures
from .blocks import badge_html, cards_html, plates_html, table_html
from .content import document
from .document import Document, made_visible
from .facts import Summary
from .sheets import render_xlsx

_ADDRESS = re.compile(r"(https://doi\.org/[^\s<>\"]+)")


def render_html(summary: Summary, figures: Figures | None = None, report: Document | None = None) -> str:
    """Return the report on what :func:`~ubayfs.report.summarize` gave as HTML.

    Its displays are drawn now, unless :func:`~ubayfs.plotting.render_figures` did it already. `report` is the document
    of the summary, if it is known.
    """
    _template()  # whether Jinja2 is there, before any work
    report = report or document(summary)
    if figures is None:
        figures = render_figures(read_displays(summary.displays))
    shown = [fact.advice for fact in summary.advice]
    further = [str(advice) for advice in figures.advice if advice not in shown]
    pictures = {name: figures.data_uri(name) for name in summary.displays}
    report = replace(report, warnings=(*report.warnings, *further))
    return render_document(report, pictures, render_xlsx(summary, report) if report.names else b"")


def render_document(report: Document, pictures: Mapping[str, str], workbook: bytes = b"") -> str:
    """Return a document as HTML, with control characters made visible.

    Pictures of its figures are data URIs; the workbook, if any, can be downloaded from the page.
    """
    script = _script()
    return str(
        _template().render(
            report=made_visible(report),
            pictures=pictures,
            workbook=base64.b64encode(workbook).decode("ascii"),
            script=script,
            # Nothing but this script may run, whatever a name in the data contains.
            script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii"),
        )
    )


@lru_cache
def _script() -> str:
    """Return the script of the page: sorts tables, copies names, opens folded sections."""
    return files("ubayfs.report").joinpath("templates/report.js").read_text(encoding="utf-8")


@lru_cache
def _template() -> Any:
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as error:
        raise MissingDependencyError('a report needs Jinja2; install it with pip install "ubayfs[cli]".') from error
    environment = Environment(
        loader=PackageLoader("ubayfs.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "pieces": _ADDRESS.split,
        "table": table_html,
        "badge": badge_html,
        "cards": cards_html,
        "plates": plates_html,
    }
    return environment.get_template("report.html")
