"""Constraints, kept or violated: one line for each, however many rows it has."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..rows import ROWS
from ..selection import Problem, Selection, Violation
from ..utility import log_row_admissibility
from .plain import counted, listing, relaxation, rounded

_LISTED = 6  # rows or features that one line spells out
_WORST = 5  # violated rows that are shown of one constraint
_COSTS = 12  # costs that one line spells out
_DECORRELATE = re.compile(r"decorrelate\((?:threshold=([^,)]+))?")
_METHOD = re.compile(r"\(\|(\w+)\|")


def constraint_lines(selection: Selection) -> list[dict[str, Any]]:
    """Return one line per constraint: what it says, whether it holds, by how much it is violated, what that costs.

    What an expert holds unlikely has a line, too, since it counts in the admissibility; its "belief" is true.
    """
    if selection.problem is None:
        return _remembered(selection)
    return _measured(selection.problem, selection.mask, selection.provenance)


def _measured(problem: Problem, chosen: NDArray[np.bool_], told: Mapping[str, Any]) -> list[dict[str, Any]]:
    system = problem.utility.system
    amounts = problem.utility.admissibility.violations(chosen)[0]
    logs = log_row_admissibility(amounts, system.rho)
    starts = [start for start, _ in system.parts]
    thresholds = _thresholds(told)
    if 0 < sum(_kind(label(0)) == "decorrelate" for _, label in system.parts) < len(thresholds):
        thresholds = []  # one of several has no rows, and it cannot be told which
    lines = []
    for (first, last), (_, label) in zip(pairwise([*starts, system.n_rows]), system.parts, strict=True):
        rows = slice(first, last)
        worst = [
            Violation(label(int(row)), float(amounts[rows][row]), float(system.rho[rows][row]), float(np.exp(log)))
            for row, log in sorted(enumerate(logs[rows].tolist()), key=lambda pair: pair[1])[:_WORST]
            if amounts[rows][row] > 0
        ]
        belief = first in system.beliefs
        kind = "unlikely" if belief else _kind(label(0))
        threshold = thresholds.pop(0) if kind == "decorrelate" and thresholds else None
        lines.append(
            {
                "label": _label(problem, first, last, label, kind, threshold),
                "kind": kind,
                "belief": belief,
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
    # Without a pair of correlated features there is no row, but it was asked for.
    return lines + [{**_NO_ROWS, "label": f"decorrelate: no pair correlated above {one}"} for one in thresholds]


_NO_ROWS = {
    "kind": "decorrelate", "belief": False, "n_rows": 0, "n_violated": 0, "holds": True, "violation": 0.0, "rho": None,
    "rho_highest": None, "admissibility": 1.0, "worst": [],
}  # fmt: skip


def _thresholds(told: Mapping[str, Any]) -> list[str]:
    """Return the thresholds of all decorrelate constraints, in their order."""
    found = (_DECORRELATE.match(words) for words in told.get("constraints", []))
    return [match[1] or "0.5" for match in found if match is not None]


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


def _label(
    problem: Problem, first: int, last: int, label: Callable[[int], str], kind: str, threshold: str | None
) -> str:
    """Return the words for all rows of one constraint: "must-link a, b, c" rather than one line per pair."""
    n_rows, words = last - first, label(0)
    if kind == "decorrelate":
        return _correlated(n_rows, words, threshold)
    if kind == "cost_budget":
        return f"{words} ({_costs(problem, first)})"
    if n_rows == 1 and kind != "unlikely":
        return words
    head = words.split(":")[0] + ":" if kind == "max_per_block" else "unlikely:" if kind == "unlikely" else ""
    head = head or words[: len(kind)]
    columns = np.unique(problem.utility.system.A[first:last].indices)
    by_feature = kind in ("must_link", "require", "exclude", "unlikely")
    if by_feature and columns.max() < len(problem.feature_names):
        members = problem.feature_names[columns].tolist()
        more = f" and {len(members) - _LISTED:,} more" if len(members) > _LISTED else ""
        return f"{head} {', '.join(members[:_LISTED])}{more}"
    if n_rows > _LISTED:
        return f"{head}: {counted(n_rows, 'row')}"
    return f"{head} {'; '.join(label(row)[len(head) :].strip() for row in range(n_rows))}"


def _correlated(n_rows: int, words: str, threshold: str | None) -> str:
    method = _METHOD.search(words)
    by = "" if method is None else f"{method[1].capitalize()} "
    above = "" if threshold is None else f", {by}correlation above {threshold}"
    return f"decorrelate: {counted(n_rows, 'pair')} of correlated features{above}"


def _costs(problem: Problem, row: int) -> str:
    A = problem.utility.system.A[[row]]
    costs = [f"{problem.feature_names[i]} {rounded(cost)}" for i, cost in zip(A.indices, A.data, strict=True)]
    return f"costs: {listing(costs, _COSTS)}"


def _remembered(selection: Selection) -> list[dict[str, Any]]:
    """Return what a selection read from a file knows: its constraints as they were written, and violated rows."""
    violations = selection.metrics.violations
    said = selection.provenance.get("constraints", [])
    unknown = {"n_rows": None, "n_violated": None, "violation": None, "rho": None, "rho_highest": None}
    lines = [
        {"label": words, "kind": words.split("(")[0], "holds": None if violations else True, **unknown}
        | {"belief": False, "admissibility": None if violations else 1.0, "worst": []}
        for words in said
    ]
    return lines + [
        {**_violated(row), "kind": _kind(row.label), "holds": False, "n_rows": 1, "n_violated": 1, "belief": False}
        | {"rho_highest": relaxation(row.rho), "worst": []}
        for row in violations
    ]
