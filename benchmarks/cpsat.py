"""OR-Tools CP-SAT on a decision, in a process of its own: HiGHS and OR-Tools cannot share one.

Reads a problem (JSON) from stdin and writes members and bound (JSON) to stdout. Only NumPy and OR-Tools are imported.
Penalties and scores are whole numbers of millionths; exp(s) is replaced by its chords between 200 points, which makes
the bound valid up to 1e-4. Rows with real coefficients are rounded to millionths of the largest one.
"""

from __future__ import annotations

import json
import math
import sys
from typing import Any

import numpy as np

UNIT = 1_000_000
LOWEST, N_CHORDS = 8.0, 200  # kappa below exp(-LOWEST) counts as exp(-LOWEST)
MOST_LEVELS, N_TANGENTS = 200, 30


def penalty(violation: float, rho: float) -> float:
    """Return minus the log admissibility of a violated row."""
    return max(float(np.logaddexp(0.0, rho * violation)) - math.log(2.0), 0.0) if violation > 0 else 0.0


def build(problem: dict[str, Any]) -> tuple[Any, list[Any]]:
    """Return the model and its variables, one for each feature."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    features = [model.NewBoolVar(f"x{j}") for j in range(len(problem["theta"]))]
    indicators = list(features)
    for members in problem["blocks"]:
        block = model.NewBoolVar("")
        model.AddMaxEquality(block, [features[j] for j in members] or [0])
        indicators.append(block)
    total = [_row(model, row, indicators) for row in problem["rows"]]
    most = int(LOWEST * UNIT)
    s = model.NewIntVar(0, max(most, sum(high for _, high in total)) + 1, "s")
    model.Add(s == sum(variable for variable, _ in total))
    kappa = model.NewIntVar(0, UNIT, "kappa")
    points = np.linspace(0.0, LOWEST, N_CHORDS + 1)
    pieces = [model.NewBoolVar("") for _ in range(N_CHORDS + 1)]
    model.AddExactlyOne(pieces)
    for piece, low, high in zip(pieces, points[:-1], points[1:], strict=False):
        slope = (math.exp(-high) - math.exp(-low)) / (high - low)
        model.Add(s >= int(low * UNIT)).OnlyEnforceIf(piece)
        model.Add(s <= int(high * UNIT)).OnlyEnforceIf(piece)
        # kappa <= exp(-low) + slope * (s - low), times 1000 so that the slope is a whole number
        constant = math.ceil(1000 * UNIT * (math.exp(-low) - slope * low)) + 1000
        model.Add(1000 * kappa <= constant + math.ceil(1000 * slope) * s).OnlyEnforceIf(piece)
    model.Add(s >= most).OnlyEnforceIf(pieces[-1])
    model.Add(kappa <= math.ceil(UNIT * math.exp(-LOWEST))).OnlyEnforceIf(pieces[-1])
    weights = [round(UNIT * weight) for weight in problem["theta"]]
    strength = problem["strength"]
    model.Maximize(sum(w * x for w, x in zip(weights, features, strict=True)) + round(strength) * kappa)
    return model, features


def _row(model: Any, row: dict[str, Any], indicators: list[Any]) -> tuple[Any, int]:
    """Add a row; return its penalty in millionths and the most that it can be."""
    a, b, rho = np.array(row["a"]), row["b"], row["rho"]
    unit = 1.0 if (a == np.round(a)).all() else float(np.abs(a).max()) / UNIT
    whole = np.round(a / unit).astype(int).tolist()
    bound = math.floor(b / unit + 1e-9)
    activity = sum(coefficient * indicators[j] for coefficient, j in zip(whole, row["columns"], strict=True))
    if rho is None:
        model.Add(activity <= bound)
        return 0, 0
    top = sum(max(coefficient, 0) for coefficient in whole) - bound
    if top <= 0:
        return 0, 0
    high = math.ceil(UNIT * penalty((top + bound) * unit - b, rho)) + 1
    variable = model.NewIntVar(0, high, "")
    if top <= MOST_LEVELS:
        excess = model.NewIntVar(0, top, "")
        model.AddMaxEquality(excess, [activity - bound, 0])
        table = [0] + [round(UNIT * penalty((bound + level) * unit - b, rho)) for level in range(1, top + 1)]
        model.AddElement(excess, table, variable)
        return variable, high
    for level in np.linspace(0.0, top, N_TANGENTS).tolist():  # tangents lie below the penalty
        violation = (bound + level) * unit - b
        slope = rho * unit / (1.0 + math.exp(-min(rho * max(violation, 0.0), 700.0)))
        constant = penalty(violation, rho) - slope * level
        factor = 1000
        model.Add(
            factor * variable
            >= math.floor(factor * UNIT * slope) * (activity - bound) + math.floor(factor * UNIT * constant)
        )
    return variable, high


def main() -> None:
    """Solve the problem on stdin."""
    from ortools.sat.python import cp_model

    problem = json.load(sys.stdin)
    model, features = build(problem)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = problem["seconds"]
    solver.parameters.num_workers = problem["n_workers"]
    status = solver.Solve(model)
    found = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    members = [j for j, x in enumerate(features) if solver.BooleanValue(x)] if found else None
    bound = None if status == cp_model.UNKNOWN else solver.BestObjectiveBound() / UNIT
    print(json.dumps({"members": members, "bound": bound}))


if __name__ == "__main__":
    main()
