"""Section on hard decisions under a time limit: value, bound and gap beside the former state and OR-Tools CP-SAT.

``python -m benchmarks.hard record -o FILE --seconds 5 20 60`` writes the figures of the code that is installed;
``python -m benchmarks --only hard`` compares with those of the former state in results/hard_before.json.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import ubayfs

from . import hard_problems
from .report import Row, Section
from .timing import REPOSITORY

BEFORE = Path(__file__).parent / "results" / "hard_before.json"
SECONDS = (1.0, 5.0, 20.0, 60.0)
N_WORKERS = 1  # of CP-SAT: HiGHS solves on one core, too


def hard(quick: bool) -> Section:
    """Value, bound and gap on 45 hard problems after 1, 5, 20 and 60 s (quick: one of each kind, 1 s)."""
    before = json.loads(BEFORE.read_text()) if BEFORE.exists() else {"figures": {}}
    rows: list[Row] = []
    for name, problem in hard_problems.hard_problems().items():
        if quick and not _first(name):
            continue
        for seconds in SECONDS[:1] if quick else SECONDS:
            rows += _compared(name, problem, seconds, before["figures"].get(name, {}).get(f"{seconds:g}"))
    return Section(
        "Hard decisions under a time limit",
        "Problems with hundreds of soft inequalities that no set satisfies together. Value: score of the best set "
        "found (higher is better); bound: no set has a higher one. The limit is that the value is at least that of the "
        "former state (misses: by how much it is not). Budgets in which every feature has a cost are given to HiGHS as "
        "they are; there the limit is that the value is at most 0.1 % behind HiGHS and CP-SAT. A time limit may be "
        "exceeded by 1 s or a quarter. CP-SAT solves a rounded form of the problem; its sets are evaluated exactly. "
        "Former state: " + before.get("how", "not recorded") + ".",
        rows,
    )


def _first(name: str) -> bool:
    """Tell whether a problem is the first of its kind."""
    return name.endswith(f" {hard_problems.SEEDS[0]}")


def _compared(name: str, problem: hard_problems.HardProblem, seconds: float, before: Any) -> list[Row]:
    start = time.perf_counter()
    selection = hard_problems.solve(problem, seconds)
    values = {"value": selection.value, "bound": float(selection.bound), "gap": float(selection.gap)}
    values["seconds"] = time.perf_counter() - start
    limits = {"seconds": seconds + max(1.0, seconds / 4)}
    others = [Row(name, "  CP-SAT", *_cpsat(selection, seconds), headline=False)]
    if before is not None:
        values["missed"], limits["missed"] = max(before["value"] - selection.value, 0.0), 1e-9
        figures = {**before, "gap": before["bound"] - before["value"]}
        others.insert(0, Row(name, "  former state", figures, headline=False))
    elif np.isinf(selection.problem.utility.system.rho).all():
        others.insert(0, Row(name, "  HiGHS", *_highs(selection, seconds), headline=False))
        best = max(row.values.get("value", -np.inf) for row in others)
        values["missed"], limits["missed"] = max(best / selection.value - 1.0, 0.0), 1e-3
    return [Row(name, f"{seconds:g} s", values, limits, headline=False), *others]


def _highs(selection: Any, seconds: float) -> tuple[dict[str, float], dict[str, float], str]:
    """Return values, no limits and a note: the hard rows as they are, without anything of ours."""
    from scipy.optimize import LinearConstraint, milp

    utility, options = selection.problem.utility, {"time_limit": seconds, "mip_rel_gap": 0.0}
    n, system = utility.n_features, utility.system
    rows = LinearConstraint(system.A, -np.inf, system.b)
    start = time.perf_counter()
    answer = milp(-utility.theta, integrality=np.ones(n), bounds=(0, 1), constraints=rows, options=options)
    took = time.perf_counter() - start
    if answer.x is None:
        return {"seconds": took}, {}, "no set in time"
    value = selection.evaluate(np.flatnonzero(answer.x > 0.5)).utility
    bound = utility.constraint_strength - answer.mip_dual_bound
    return {"value": value, "bound": bound, "gap": max(bound - value, 0.0), "seconds": took}, {}, ""


def _cpsat(selection: Any, seconds: float) -> tuple[dict[str, float], dict[str, float], str]:
    """Return values, no limits and a note."""
    if find_spec("ortools") is None:
        return {}, {}, "OR-Tools is not installed"
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("cpsat.py"))],
        cwd=REPOSITORY,
        input=json.dumps(plain_problem(selection.problem.utility, seconds)),
        capture_output=True,
        text=True,
    )
    if done.returncode:
        return {}, {}, (done.stderr.strip().splitlines() or ["no message"])[-1]
    answer = json.loads(done.stdout)
    if answer["members"] is None:
        return {}, {}, "no set in time"
    value = selection.evaluate(answer["members"]).utility
    return {"value": value, "bound": answer["bound"], "gap": max(answer["bound"] - value, 0.0)}, {}, ""


def plain_problem(utility: Any, seconds: float) -> dict[str, Any]:
    """Return a problem in the plain types that `benchmarks.cpsat` reads."""
    system = utility.system
    rows = []
    for k in range(system.n_inequalities):
        part = slice(system.A.indptr[k], system.A.indptr[k + 1])
        rho = None if np.isinf(system.rho[k]) else float(system.rho[k])
        columns, a = system.A.indices[part].tolist(), system.A.data[part].tolist()
        rows.append({"columns": columns, "a": a, "b": float(system.b[k]), "rho": rho})
    blocks = [system.blocks[[w]].indices.tolist() for w in range(system.n_blocks)]
    return {
        "theta": utility.theta.tolist(),
        "strength": utility.constraint_strength,
        "rows": rows,
        "blocks": blocks,
        "seconds": seconds,
        "n_workers": N_WORKERS,
    }


def record(seconds: list[float], how: str) -> dict[str, Any]:
    """Return the figures of the code that is installed."""
    figures: dict[str, dict[str, Any]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ubayfs.exceptions.UBayFSWarning)
        for name, problem in hard_problems.hard_problems().items():
            for limit in seconds:
                found = hard_problems.solve(problem, limit)
                figures.setdefault(name, {})[f"{limit:g}"] = {"value": found.value, "bound": float(found.bound)}
            print(name, figures[name], flush=True)
    return {"how": how, "figures": figures}


def main() -> None:
    """Record figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hard", description=__doc__)
    recording = parser.add_subparsers(dest="command", required=True).add_parser("record")
    recording.add_argument("-o", "--output", type=Path, required=True, metavar="FILE")
    recording.add_argument("--seconds", type=float, nargs="+", default=list(SECONDS))
    recording.add_argument("--how", default="recorded by python -m benchmarks.hard record", help="what is measured")
    asked = parser.parse_args()
    asked.output.write_text(json.dumps(record(asked.seconds, asked.how), indent=1) + "\n")


if __name__ == "__main__":
    main()
