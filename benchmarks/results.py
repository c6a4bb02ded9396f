"""Results with what a reader needs to judge them: kept as JSON and Markdown, shown in the documentation."""

from __future__ import annotations

import json
import math
import os
import platform
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from .report import Row, Section, document, preamble

MARKERS = ("<!-- bench:start -->", "<!-- bench:end -->")
PACKAGES = ("ubayfs", "numpy", "scipy", "scikit-learn", "pandas", "joblib", "Boruta", "mrmr-selection", "pyHSICLasso")


def environment(command: str) -> dict[str, Any]:
    """Return date, command, versions and machine: what a reader needs to judge the figures, and nothing private."""
    versions = {"python": platform.python_version()}
    versions.update({package: _version(package) for package in PACKAGES})
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        memory = 0
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "command": command,
        "versions": versions,
        "machine": f"{os.cpu_count()} cores, {memory / 2**30:.0f} GB, {platform.system()} {platform.machine()}",
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def save(about: dict[str, Any], sections: list[Section], directory: Path, name: str = "latest") -> None:
    """Write the results as JSON and as Markdown."""
    directory.mkdir(parents=True, exist_ok=True)
    content = {**about, "sections": [asdict(section) for section in sections]}
    (directory / f"{name}.json").write_text(json.dumps(_finite(content), indent=1) + "\n")
    (directory / f"{name}.md").write_text(document(about, sections))


def read(path: Path) -> tuple[dict[str, Any], list[Section]]:
    """Return what :func:`save` wrote."""
    about = json.loads(path.read_text())
    sections = [
        Section(one["title"], one["reading"], [Row(**row) for row in one["rows"]]) for one in about.pop("sections")
    ]
    return about, sections


def _finite(value: Any) -> Any:
    """Leave out what could not be measured: JSON has neither nan nor infinity."""
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items() if not isinstance(one, float) or math.isfinite(one)}
    return [_finite(one) for one in value] if isinstance(value, list) else value


def write_page(page: Path, results: Path) -> None:
    """Put the headline rows of saved results between the two markers of a page."""
    text = page.read_text()
    if any(text.count(marker) != 1 for marker in MARKERS):
        raise SystemExit(f"{page.name} must hold the lines {MARKERS[0]} and {MARKERS[1]} once each.")
    about, sections = read(results)
    shown = [(section, [row for row in section.rows if row.headline]) for section in sections]
    tables = [section.markdown(rows) for section, rows in shown if rows]
    before, after = text.split(MARKERS[0])[0], text.split(MARKERS[1])[1]
    body = "\n".join([preamble(about) + "\n", *tables])
    page.write_text(f"{before}{MARKERS[0]}\n{body}{MARKERS[1]}{after}")
