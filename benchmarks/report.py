"""Results: rows with limits beside them, as aligned Markdown (also what the terminal shows) and as JSON."""

from __future__ import annotations

import json
import math
import os
import platform
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

MARKERS = ("<!-- bench:start -->", "<!-- bench:end -->")
WIDTH = 110
PACKAGES = ("ubayfs", "numpy", "scipy", "scikit-learn", "pandas", "joblib", "Boruta", "mrmr-selection", "pyHSICLasso")


def _seconds(value: float) -> str:
    return f"{value * 1e3:.3g} ms" if value < 1 else f"{value:.1f} s"


def _bytes(value: float) -> str:
    return f"{value / 2**20:,.0f} MB"


def _number(value: float) -> str:
    return f"{value:.3g}"


# What a row may tell: key -> (heading, how it is written).
QUANTITIES = {
    "seconds": ("time", _seconds),
    "ratio": ("times", lambda value: f"{value:.2f}" if value < 10 else f"{value:,.0f}"),
    "memory": ("extra memory", _bytes),
    "memory_ratio": ("peak / data", _number),
    "gap": ("gap", lambda value: f"{value:.1g}" if value > 1e-9 else "0"),
    "missed": ("off optimum", lambda value: f"{value:.2%}"),
    "r_hat": ("R-hat", lambda value: f"{value:.3f}"),
    "time_exponent": ("time ~ n^", lambda value: f"{value:.2f}"),
    "memory_exponent": ("memory ~ n^", lambda value: f"{value:.2f}"),
}


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes
    ----------
    data, what : str
    values : dict
        Quantity (see QUANTITIES) -> measured value.
    limits : dict
        Quantity -> the most that it should be.
    note : str
    headline : bool
        False: not in the README.
    """

    data: str
    what: str
    values: dict[str, float] = field(default_factory=dict)
    limits: dict[str, float] = field(default_factory=dict)
    note: str = ""
    headline: bool = True

    @property
    def holds(self) -> bool | None:
        """Whether every limit is kept; None without limits. What could not be measured keeps no limit."""
        if not self.limits:
            return None
        return all(self.values.get(key, math.inf) <= limit for key, limit in self.limits.items())

    def cells(self) -> dict[str, str]:
        """Return heading -> text."""
        known = {key: value for key, value in self.values.items() if not math.isnan(value)}
        limits = (f"{QUANTITIES[key][1](limit)}{' gap' * (key == 'gap')}" for key, limit in self.limits.items())
        return {
            "data": self.data,
            "what": self.what,
            **{heading: write(known[key]) for key, (heading, write) in QUANTITIES.items() if key in known},
            "limit": ", ".join(limits),
            "": {None: "", True: "ok", False: "OVER"}[self.holds],
            "note": self.note,
        }


@dataclass(frozen=True)
class Section:
    """A table with a title and a sentence on how to read it."""

    title: str
    reading: str
    rows: list[Row]

    def markdown(self, rows: Iterable[Row] | None = None) -> str:
        """Return title, reading and aligned table."""
        return f"### {self.title}\n\n{_wrapped(self.reading)}\n\n{table(self.rows if rows is None else rows)}\n"


def table(rows: Iterable[Row]) -> str:
    """Return rows as an aligned Markdown table without the columns that are empty everywhere.

    A note that would make the table wider than WIDTH becomes a numbered line below it.
    """
    cells = [row.cells() for row in rows]
    order = ["data", "what", *(heading for heading, _ in QUANTITIES.values()), "limit", "", "note"]
    headings = [heading for heading in order if any(row.get(heading) for row in cells)]
    width = {heading: max(len(heading), *(len(row.get(heading, "")) for row in cells)) for heading in headings}
    below: list[str] = []
    if "note" in headings:
        room = max(WIDTH - sum(width[h] + 3 for h in headings if h != "note") - 4, len("note"))
        for row in cells:
            if len(row["note"]) > room:
                if row["note"] not in below:
                    below.append(row["note"])
                row["note"] = f"({below.index(row['note']) + 1})"
        width["note"] = max(len("note"), *(len(row["note"]) for row in cells))
    words = ("data", "what", "", "note")
    lines = [
        _line([heading.ljust(width[heading]) for heading in headings]),
        _line(["-" * width[h] if h in words else "-" * (width[h] - 1) + ":" for h in headings]),
        *(
            _line([row.get(h, "").ljust(width[h]) if h in words else row.get(h, "").rjust(width[h]) for h in headings])
            for row in cells
        ),
    ]
    notes = [_wrapped(f"({number}) {note}") for number, note in enumerate(below, start=1)]
    return "\n".join([*lines, *(["", "\n\n".join(notes)] if notes else [])])


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _wrapped(text: str) -> str:
    import textwrap

    return textwrap.fill(text, WIDTH, break_long_words=True)


def environment(command: str) -> dict[str, Any]:
    """Return date, command, versions and machine: what a reader needs to judge the figures, and nothing private."""
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "not installed"
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        memory = 0
    return {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
        "command": command,
        "versions": versions,
        "machine": f"{os.cpu_count()} cores, {memory / 2**30:.0f} GB, {platform.system()} {platform.machine()}",
    }


def preamble(about: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in about["versions"].items())
    return _wrapped(f"Measured on {about['date']} by `{about['command']}` ({about['machine']}) with {versions}.")


def document(about: dict[str, Any], sections: list[Section]) -> str:
    """Return the whole report as Markdown."""
    rows = [row for section in sections for row in section.rows if row.holds is not None]
    kept = f"{sum(bool(row.holds) for row in rows)} of {len(rows)} limits are kept."
    return "\n".join(["# Benchmarks\n", preamble(about) + f"\n\n{kept}\n", *(one.markdown() for one in sections)])


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
    """Leave out what could not be measured: JSON has no nan."""
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items() if not (isinstance(one, float) and math.isnan(one))}
    return [_finite(one) for one in value] if isinstance(value, list) else value


def write_readme(readme: Path, results: Path) -> None:
    """Put the headline rows of saved results between the two markers of a README."""
    text = readme.read_text()
    if any(text.count(marker) != 1 for marker in MARKERS):
        raise SystemExit(f"{readme.name} must hold the lines {MARKERS[0]} and {MARKERS[1]} once each.")
    about, sections = read(results)
    shown = [(section, [row for row in section.rows if row.headline]) for section in sections]
    tables = [section.markdown(rows) for section, rows in shown if rows]
    before, after = text.split(MARKERS[0])[0], text.split(MARKERS[1])[1]
    body = "\n".join([preamble(about) + "\n", *tables])
    readme.write_text(f"{before}{MARKERS[0]}\n{body}{MARKERS[1]}{after}")
