"""The report as one HTML file that needs nothing else: no network, no script, no font."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from ..exceptions import MissingDependencyError
from ..plotting import DISPLAYS
from .content import document
from .warned import told_once

# Vector figures larger than this are shown as pixels.
_LARGEST_SVG = 400_000
_ADDRESS = re.compile(r"(https://doi\.org/[^\s<>\"]+)")


def render_html(summary: Mapping[str, Any]) -> str:
    """Return the report as HTML.

    Parameters
    ----------
    summary : mapping
        From :func:`~ubayfs.summary.summarize`, also after a way through JSON.
    """
    template, report = _template(), document(summary)
    wanted = {figure.name for section in report.sections for figure in section.figures}
    with told_once() as messages:
        pictures = {name: _picture(name, summary["displays"][name]) for name in sorted(wanted)}
    report = replace(report, warnings=(*report.warnings, *messages))
    return str(template.render(report=report, pictures=pictures))


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
    environment.filters["pieces"] = _ADDRESS.split
    return environment.get_template("report.html")


def _picture(name: str, data: Mapping[str, Any]) -> str:
    """Return a figure as a data URI. An image cannot run anything, and its ids do not clash with those of others."""
    drawing = DISPLAYS[name].from_dict(data).plot()
    content, kind = drawing.render("svg"), "svg+xml"
    if len(content) > _LARGEST_SVG:
        content, kind = drawing.render("png"), "png"
    return f"data:image/{kind};base64,{base64.b64encode(content).decode('ascii')}"
