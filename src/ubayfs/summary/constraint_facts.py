"""Constraints: one entry for each, in the order given, however many inequalities it has, also for none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from .._plain import plain, relaxation
from ..selection import Selection, Violation
from ..utility import log_row_admissibility
from .sentences import constraint_label

_WORST = 5  # violated inequalities that are shown of one constraint


def constraint_facts(selection: Selection) -> list[dict[str, Any]]:
    """Return one entry per constraint: what it is, whether it holds, by how much it is violated, what that costs.

    What an expert holds unlikely has an entry, too, since it counts in the admissibility; its "from_prior" is true. One
    with rho or price 0 has no effect: it is "left_out". Of a selection read from a file, the number of inequalities is
    not known, nor what those are that hold.
    """
    violations: dict[int | None, list[Violation]] = {}
    for violation in selection.metrics.violations:  # those that cost most come first
        violations.setdefault(violation.position, []).append(violation)
    entries = []
    for position, (given, title, rhos) in enumerate(_constraints(selection)):
        violated = violations.get(position, [])
        arguments = given.get("arguments", {})
        price = arguments.get("price")
        known = [violation.rho for violation in violated] if rhos is None else rhos
        entries.append(
            {
                **_identity(given, title),
                "left_out": _is_zero(arguments.get("rho", 1 if price is None else price)),
                "n_inequalities": None if rhos is None else len(rhos),
                **_violated(violated),
                "rho": relaxation(min(known)) if known else None,
                "rho_highest": relaxation(max(known)) if known else None,
                "price": price,
                "price_votes": _in_votes(price, selection),
            }
        )
    return entries


def _constraints(selection: Selection) -> Iterator[tuple[Mapping[str, Any], str, list[float] | None]]:
    """Yield each constraint in plain types, its title, and rho of its inequalities if they are known."""
    if selection.problem is None:
        for given in selection.provenance.get("constraints", []):
            # As it is written in Python: its features are not at hand.
            shown = ", ".join(f"{name}={value}" for name, value in given["arguments"].items() if value is not None)
            yield given, f"{given['kind']}({shown})", None
        return
    system = selection.problem.utility.system
    for part in system.parts:
        written = {} if part.constraint is None else part.constraint.to_dict()
        yield {"kind": part.kind, **written}, part.title, system.rho[system.rows_of(part)].tolist()


def _identity(given: Mapping[str, Any], title: str) -> dict[str, Any]:
    identity = {
        "kind": given["kind"],
        "arguments": plain(given.get("arguments", {})),
        "note": given.get("note", ""),
        "title": title,
        "from_prior": bool(given.get("from_prior", False)),
    }
    return {"label": constraint_label(identity), **identity}


def _is_zero(rho: Any) -> bool:
    """Tell whether a relaxation, as it was stated (a number, some numbers or "hard"), is nothing but 0."""
    return all(entry == 0 for entry in (rho if isinstance(rho, list | tuple) else [rho]))


def _in_votes(price: Any, selection: Selection) -> float | list[float] | None:
    """Return what one unit of violation costs in votes; None without a price, or where the ensemble is not at hand."""
    if price is None or selection.posterior is None:
        return None
    n_models = selection.posterior.evidence.n_models
    return [entry * n_models for entry in price] if isinstance(price, list) else price * n_models


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
