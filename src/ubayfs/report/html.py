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
from .document import Document, made_visible
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
    _template()  # whether Jinja2 is there, before any work
    report = document(summary)
    wanted = {figure.name for section in report.sections for figure in section.figures}
    with told_once() as messages:
        pictures = {name: _picture(name, summary["displays"][name]) for name in sorted(wanted)}
    return render_document(replace(report, warnings=(*report.warnings, *messages)), pictures)


def render_document(report: Document, pictures: Mapping[str, str]) -> str:
    """Return a document as HTML, with control characters made visible.

    Parameters
    ----------
    report : Document
    pictures : mapping of str to str
        Images by the names of the document's figures, as data URIs.
    """
    return str(_template().render(report=made_visible(report), pictures=pictures))


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
    drawing = DISPLAYS[name].from_dict(data).plot()
    content, kind = drawing.render("svg"), "svg"
    if len(content) > _LARGEST_SVG:
        content, kind = drawing.render("png"), "png"
    return data_uri(content, kind)


def data_uri(content: bytes, kind: str) -> str:
    """Return an image as a data URI. An image cannot run anything, and its ids do not clash with those of others.

    Parameters
    ----------
    content : bytes
    kind : {"svg", "png"}
    """
    media = {"svg": "svg+xml", "png": "png"}[kind]
    return f"data:image/{media};base64,{base64.b64encode(content).decode('ascii')}"
