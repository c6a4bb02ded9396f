"""Constraints, kept or violated: one line for each, however many rows it has."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..constraints.system import Part
from ..selection import Problem, Selection, Violation
from ..utility import log_row_admissibility
from .plain import listing, relaxation

_LISTED = 6  # features that one line spells out
_WORST = 5  # violated inequalities that are shown of one constraint


def constraint_lines(selection: Selection) -> list[dict[str, Any]]:
    """Return one line per constraint: what it says, whether it holds, by how much it is violated, what that costs.

    What an expert holds unlikely has a line, too, since it counts in the admissibility; its "from_prior" is true.
    """
    if selection.problem is None:
        return _remembered(selection)
    return _measured(selection.problem, selection.mask)


def _measured(problem: Problem, chosen: NDArray[np.bool_]) -> list[dict[str, Any]]:
    system = problem.utility.system
    amounts = problem.utility.admissibility.violations(chosen)[0]
    logs = log_row_admissibility(amounts, system.rho)
    return [_line(problem, part, amounts, logs) for part in system.parts]


def _line(problem: Problem, part: Part, amounts: NDArray[np.float64], logs: NDArray[np.float64]) -> dict[str, Any]:
    system = problem.utility.system
    rows = system.rows_of(part)
    rho, violated = system.rho[rows], amounts[rows] > 0
    worst = sorted(rows[violated].tolist(), key=lambda row: float(logs[row]))[:_WORST]
    return {
        "label": _label(part),
        "kind": part.kind,
        "from_prior": part.from_prior,
        "n_inequalities": len(rows),
        "n_violated": int(violated.sum()),
        "holds": not violated.any(),
        "violation": float(amounts[rows].max(initial=0.0)),
        "rho": relaxation(rho.min()) if len(rows) else None,
        "rho_highest": relaxation(rho.max()) if len(rows) else None,
        "admissibility": float(np.exp(logs[rows].sum())),
        "worst": [
            {
                "label": system.label(row),
                "violation": float(amounts[row]),
                "rho": relaxation(system.rho[row]),
                "admissibility": float(np.exp(logs[row])),
            }
            for row in worst
        ],
    }


def _label(part: Part) -> str:
    if not part.from_prior or part.constraint is None:
        return part.title
    return f"unlikely: {listing(dict(part.constraint.arguments)['features'], _LISTED)}"


def _remembered(selection: Selection) -> list[dict[str, Any]]:
    """Return what a selection read from a file knows: its constraints and the inequalities that are violated."""
    lines = []
    for position, given in enumerate(selection.provenance.get("constraints", [])):
        violated = [one for one in selection.metrics.violations if one.position == position]
        lines.append(
            {
                "label": f"{given['kind']} {given['arguments']}",
                "kind": given["kind"],
                "from_prior": bool(given.get("from_prior", False)),
                "n_inequalities": None,
                "n_violated": len(violated),
                "holds": not violated,
                "violation": max((one.amount for one in violated), default=0.0),
                "rho": relaxation(min(one.rho for one in violated)) if violated else None,
                "rho_highest": relaxation(max(one.rho for one in violated)) if violated else None,
                "admissibility": math.prod(one.admissibility for one in violated),
                "worst": [_violated(one) for one in violated[:_WORST]],
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
