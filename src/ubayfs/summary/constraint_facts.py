"""Constraints: one entry for each, in the order given, however many inequalities it has, also for none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from .._plain import plain, relaxation
from ..constraints.system import Part
from ..selection import Problem, Selection, Violation
from ..utility import log_row_admissibility
from .sentences import constraint_label

_WORST = 5  # violated inequalities that are shown of one constraint


def constraint_facts(selection: Selection) -> list[dict[str, Any]]:
    """Return one entry per constraint: what it is, whether it holds, by how much it is violated, what that costs.

    What an expert holds unlikely has an entry, too, since it counts in the admissibility; its "from_prior" is true. Of
    a selection read from a file, the number of inequalities is not known, nor what those are that hold.
    """
    violations: dict[int | None, list[Violation]] = {}
    for violation in selection.metrics.violations:  # those that cost most come first
        violations.setdefault(violation.position, []).append(violation)
    if selection.problem is None:
        return [
            {
                **_identity(given, _title(given)),
                "n_inequalities": None,
                **_violated(violations.get(position, [])),
                **_range(violation.rho for violation in violations.get(position, [])),
            }
            for position, given in enumerate(selection.provenance.get("constraints", []))
        ]
    return [
        _measured(selection.problem, part, violations.get(position, []))
        for position, part in enumerate(selection.problem.utility.system.parts)
    ]


def _measured(problem: Problem, part: Part, violated: list[Violation]) -> dict[str, Any]:
    system = problem.utility.system
    rows = system.rows_of(part)
    given = {} if part.constraint is None else part.constraint.to_dict()
    return {
        **_identity({"kind": part.kind, **given}, part.title),
        "n_inequalities": len(rows),
        **_violated(violated),
        **_range(system.rho[rows].tolist()),
    }


def _identity(given: Mapping[str, Any], title: str) -> dict[str, Any]:
    identity = {
        "kind": given["kind"],
        "arguments": plain(given.get("arguments", {})),
        "note": given.get("note", ""),
        "title": title,
        "from_prior": bool(given.get("from_prior", False)),
    }
    return {"label": constraint_label(identity), **identity}


def _title(given: Mapping[str, Any]) -> str:
    """Return a constraint as it is written in Python, where its features are not at hand."""
    shown = ", ".join(f"{name}={value}" for name, value in given["arguments"].items() if value is not None)
    return f"{given['kind']}({shown})"


def _range(rhos: Iterable[float]) -> dict[str, Any]:
    """Return the lowest and the highest relaxation; None where there is none."""
    values = list(rhos)
    return {
        "rho": relaxation(min(values)) if values else None,
        "rho_highest": relaxation(max(values)) if values else None,
    }


def _violated(violations: list[Violation]) -> dict[str, Any]:
    amounts, rhos = (np.array([getattr(violation, key) for violation in violations]) for key in ("amount", "rho"))
    return {
        "n_violated": len(violations),
        "holds": not violations,
        "violation": max((violation.amount for violation in violations), default=0.0),
        "admissibility": float(np.exp(log_row_admissibility(amounts, rhos).sum())),
        "worst": [
            {
                "label": violation.label,
                "violation": violation.amount,
                "rho": relaxation(violation.rho),
                "admissibility": violation.admissibility,
            }
            for violation in violations[:_WORST]
        ],
    }
