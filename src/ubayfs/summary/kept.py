"""Constraints, kept or violated: one line for each, however many rows it has."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..rows import ROWS
from ..selection import Problem, Selection, Violation
from ..utility import log_row_admissibility
from .plain import counted, relaxation

_LISTED = 6  # rows or features that one line spells out
_WORST = 5  # violated rows that are shown of one constraint


def constraint_lines(selection: Selection) -> list[dict[str, Any]]:
    """Return one line per constraint: what it says, whether it holds, by how much it is violated, what that costs."""
    if selection.problem is None:
        return _remembered(selection)
    return _measured(selection.problem, selection.mask)


def _measured(problem: Problem, chosen: NDArray[np.bool_]) -> list[dict[str, Any]]:
    system = problem.utility.system
    amounts = problem.utility.admissibility.violations(chosen)[0]
    logs = log_row_admissibility(amounts, system.rho)
    starts = [start for start, _ in system.parts]
    lines = []
    for (first, last), (_, label) in zip(pairwise([*starts, system.n_rows]), system.parts, strict=True):
        rows = slice(first, last)
        worst = [
            Violation(label(int(row)), float(amounts[rows][row]), float(system.rho[rows][row]), float(np.exp(log)))
            for row, log in sorted(enumerate(logs[rows].tolist()), key=lambda pair: pair[1])[:_WORST]
            if amounts[rows][row] > 0
        ]
        lines.append(
            {
                "label": _label(problem, first, last, label),
                "kind": _kind(label(0)),
                "n_rows": last - first,
                "n_violated": int((amounts[rows] > 0).sum()),
                "holds": bool((amounts[rows] == 0).all()),
                "violation": float(amounts[rows].max()),
                "rho": relaxation(system.rho[rows].min()),
                "rho_highest": relaxation(system.rho[rows].max()),
                "admissibility": float(np.exp(logs[rows].sum())),
                "worst": [_violated(row) for row in worst],
            }
        )
    return lines


def _violated(row: Violation) -> dict[str, Any]:
    return {
        "label": row.label,
        "violation": row.amount,
        "rho": relaxation(row.rho),
        "admissibility": row.admissibility,
    }


def _kind(label: str) -> str:
    """Return the builder whose rows are labeled so."""
    words = label.replace("-", "_").replace(" ", "_")
    return next((kind for kind in ROWS if words.startswith(kind)), label.split(" ")[0])


def _label(problem: Problem, first: int, last: int, label: Callable[[int], str]) -> str:
    """Return the words for all rows of one constraint: "must-link a, b, c" rather than one line per pair."""
    n_rows, words = last - first, label(0)
    if n_rows == 1:
        return words
    kind = _kind(words)
    head = words.split(":")[0] + ":" if kind == "max_per_block" else words[: len(kind)]
    if kind == "decorrelate":
        return f"{head}: {counted(n_rows, 'pair')} of correlated features"
    columns = np.unique(problem.utility.system.A[first:last].indices)
    if kind in ("must_link", "require", "exclude") and columns.max() < len(problem.feature_names):
        members = problem.feature_names[columns].tolist()
        more = f" and {len(members) - _LISTED:,} more" if len(members) > _LISTED else ""
        return f"{head} {', '.join(members[:_LISTED])}{more}"
    if n_rows > _LISTED:
        return f"{head}: {counted(n_rows, 'row')}"
    return f"{head} {'; '.join(label(row)[len(head) :].strip() for row in range(n_rows))}"


def _remembered(selection: Selection) -> list[dict[str, Any]]:
    """Return what a selection read from a file knows: its constraints as they were written, and violated rows."""
    violations = selection.metrics.violations
    said = selection.provenance.get("constraints", [])
    unknown = {"n_rows": None, "n_violated": None, "violation": None, "rho": None, "rho_highest": None}
    lines = [
        {"label": words, "kind": words.split("(")[0], "holds": None if violations else True, **unknown}
        | {"admissibility": None if violations else 1.0, "worst": []}
        for words in said
    ]
    return lines + [
        {**_violated(row), "kind": _kind(row.label), "holds": False, "n_rows": 1, "n_violated": 1}
        | {"rho_highest": relaxation(row.rho), "worst": []}
        for row in violations
    ]
