"""The tables: measured values with limits beside them, as aligned Markdown (also what the terminal shows)."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

WIDTH = 110


def _seconds(value: float) -> str:
    return f"{value * 1e3:.3g} ms" if value < 1 else f"{value:.3g} s"


def _bytes(value: float) -> str:
    return f"{value / 2**20:,.0f} MB"


def _number(value: float) -> str:
    return f"{value:.3g}"


# What a row may tell: key -> (heading, how it is written).
QUANTITIES = {
    "seconds": ("time", _seconds),
    "ratio": ("times", lambda value: f"{value:.2f}" if value < 10 else f"{value:,.0f}"),
    "value": ("value", lambda value: f"{value:.6f}"),
    "bound": ("bound", lambda value: f"{value:.6f}"),
    "memory": ("extra memory", _bytes),
    "memory_ratio": ("peak / data", _number),
    "gap": ("gap", lambda value: f"{value:.1g}" if value > 1e-9 else "0"),
    "missed": ("misses", lambda value: f"{value:.2%}"),
    "r_hat": ("R-hat", lambda value: f"{value:.2f}"),
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
        False: not in the documentation.
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
        known = {key: value for key, value in self.values.items() if math.isfinite(value)}
        limits = (
            ("" if key in ("seconds", "ratio") else f"{QUANTITIES[key][0]} ") + QUANTITIES[key][1](limit)
            for key, limit in self.limits.items()
        )
        return {
            "data": self.data,
            "what": self.what,
            **{heading: write(known[key]) for key, (heading, write) in QUANTITIES.items() if key in known},
            "limit": ", ".join(limits),
            "": {None: "", True: "ok", False: "OVER"}[self.holds],
            # Messages of other libraries may hold what would break a table.
            "note": " ".join(self.note.replace("|", "/").split())[:400],
        }


@dataclass(frozen=True)
class Section:
    """A table with a title and a sentence on how to read it."""

    title: str
    reading: str
    rows: list[Row]

    def markdown(self, rows: Iterable[Row] | None = None) -> str:
        """Return title, reading and aligned table."""
        return f"### {self.title}\n\n{wrapped(self.reading)}\n\n{table(self.rows if rows is None else rows)}\n"


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
    align = {h: str.ljust if h in ("data", "what", "", "note") else str.rjust for h in headings}
    lines = [
        _line([align[h](h, width[h]) for h in headings]),
        _line(["-" * (width[h] - 1) + ("-" if align[h] is str.ljust else ":") for h in headings]),
        *(_line([align[h](row.get(h, ""), width[h]) for h in headings]) for row in cells),
    ]
    notes = [wrapped(f"({number}) {note}") for number, note in enumerate(below, start=1)]
    return "\n".join([*lines, *(["", "\n\n".join(notes)] if notes else [])])


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def wrapped(text: str) -> str:
    return textwrap.fill(text, WIDTH, break_long_words=True)


def preamble(about: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in about["versions"].items())
    return wrapped(f"Measured on {about['date']} by `{about['command']}` ({about['machine']}) with {versions}.")


def document(about: dict[str, Any], sections: list[Section]) -> str:
    """Return the whole report as Markdown."""
    rows = [row for section in sections for row in section.rows if row.holds is not None]
    kept = f"{sum(bool(row.holds) for row in rows)} of {len(rows)} limits are kept."
    return "\n".join(["# Benchmarks\n", preamble(about) + f"\n\n{kept}\n", *(one.markdown() for one in sections)])
