"""All formats of a report, and a report on a selection as a file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .._files import as_path, save_content
from .._plain import listing, plain
from ..data.feature_data import FeatureData
from ..decision.selection import Selection
from ..exceptions import InputError, UBayFSError
from ..trust.trust import Trust
from .facts import Summary
from .html import render_html
from .markdown import render_markdown
from .summary import summarize


def render_json(summary: Summary) -> str:
    """Return what :func:`~ubayfs.report.summarize` gave as strict JSON: no NaN, no Infinity."""
    return json.dumps(plain(summary), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


# By the suffix of the file.
RENDERERS: dict[str, Callable[[Summary], str]] = {
    ".html": render_html,
    ".md": render_markdown,
    ".json": render_json,
}


def write_report(
    selection: Selection,
    path: str | os.PathLike[str],
    X: Any,
    y: Any,
    trust: Mapping[str, Any],
    arguments: Mapping[str, Any],
) -> Path:
    """Write the report that the suffix of a path names; see :meth:`ubayfs.decision.selection.Selection.report`."""
    path = as_path(path)
    render = RENDERERS.get(path.suffix.lower())
    if render is None:
        raise InputError.of("path", f"must end in {listing([*RENDERERS])}; got {str(path)!r}.", path)
    parts = Trust(**{part: result for part, result in trust.items() if result is not None})
    summary = summarize(selection, _data(selection, X, y), trust=parts, **arguments)
    save_content(path, render(summary).encode(), UBayFSError)
    return path


def _data(selection: Selection, X: Any, y: Any) -> Any:
    """Return the data of the fit, with the target if it is given, read as the ensemble read them."""
    if y is None:
        return X
    settings = {} if selection.posterior is None else selection.posterior.evidence.settings
    task, rule = settings.get("task"), settings.get("missing") or "error"
    return FeatureData.from_table(X, y, task=task, missing=rule, max_missing=1.0)
