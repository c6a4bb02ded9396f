"""Sections on growth: time and memory over features, rows and models; many features; the time to import."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import ubayfs

from . import data, problems
from .report import Row, Section
from .timing import exponent, in_fresh_process, seconds

SELECTORS = ("fisher", "mrmr")
# What grows -> its values; the other two stay at the usual ones.
USUAL = {"features": 10_000, "rows": 100, "models": 100}
FULL = {
    "features": (10_000, 30_000, 100_000, 300_000),
    "rows": (100, 200, 400, 800),
    "models": (100, 200, 400, 800),
}
# Many samples: most time in forests; with how many models, and trees of the forest, that is measured.
SAMPLES_LIMITS = {"fisher": (0.5, 100), "mrmr": (0.5, 100), "tree": (3.0, 10)}
QUICK = {"features": (10_000, 40_000), "models": (100, 400)}


def growth(quick: bool) -> Section:
    """Fitted exponents of time and memory for fisher and mrmr."""
    rows = []
    for selector in SELECTORS[: 1 if quick else None]:
        for what, sizes in (QUICK if quick else FULL).items():
            rows.append(_grown(selector, what, sizes))
    return Section(
        "Growth: time and memory over features, rows and models",
        "Synthetic float32 data, 20 features per model, n_jobs=2, a fresh process per size; exponents p of n^p fitted "
        f"on logarithmic scales. What does not grow stays at {USUAL['features']:,} features, {USUAL['rows']} rows, "
        f"{USUAL['models']} models. Time and memory are those of the largest; memory comes on top of the data.",
        rows,
    )


def _grown(selector: str, what: str, sizes: tuple[int, ...]) -> Row:
    outcomes = []
    for size in sizes:
        shape = {**USUAL, what: size}
        outcomes.append(_ensemble(selector, shape["rows"], shape["features"], shape["models"]))
    broken = next((one.error for one in outcomes if one.error), "")
    values = {
        "seconds": outcomes[-1].seconds,
        "memory": outcomes[-1].memory,
        "time_exponent": exponent(sizes, [one.seconds for one in outcomes]),
        "memory_exponent": exponent(sizes, [one.memory for one in outcomes]),
    }
    return Row(f"{what} {sizes[0]:,} to {sizes[-1]:,}", selector, values, note=broken)


@cache  # the usual size is part of every row
def _ensemble(selector: str, n_rows: int, n_features: int, n_models: int, memory_map: bool = False) -> Any:
    with tempfile.TemporaryDirectory() as path:
        files = data.synthetic(n_rows, n_features, Path(path))
        arguments = {"selector": selector, "n_features": 20, "n_models": n_models}
        return in_fresh_process({"maker": "evidence", "arguments": arguments, "memory_map": memory_map, **files})


def many_samples(quick: bool) -> Section:
    """Time of ensembles on 20,000 samples beside a forest, memory, and growth to 100,000 samples."""
    shape = (5_000, 50) if quick else (20_000, 1_000)
    rows = []
    with tempfile.TemporaryDirectory() as path:
        files = data.synthetic(*shape, Path(path), np.float64)
        for selector, (limit, n_models) in SAMPLES_LIMITS.items():
            # Beside a small table, temporary arrays of a fixed size would be all that is measured.
            limits = {"ratio": limit} if quick else {"ratio": limit, "memory_ratio": 2.0}
            rows.append(_beside_forest(selector, limits, 10 if quick else n_models, shape, files))
    n_features, sizes = 500, (20_000, 50_000, 100_000)
    for selector in () if quick else SELECTORS:
        outcomes = [_ensemble(selector, size, n_features, 100) for size in sizes]
        values = {
            "seconds": outcomes[-1].seconds,
            "memory": outcomes[-1].memory,
            "memory_ratio": 1 + outcomes[-1].memory / (4 * sizes[-1] * n_features),
            "time_exponent": exponent(sizes, [found.seconds for found in outcomes]),
        }
        shown = f"{sizes[0]:,} to {sizes[-1]:,} x {n_features}"
        note = next((found.error for found in outcomes if found.error), "")
        rows.append(Row(shown, selector, values, {"time_exponent": 1.25}, note))
    return Section(
        "Many samples",
        "Times: a random forest of as many trees as there are models, on the same float64 data, both with n_jobs=2 and "
        "in fresh processes (tree: 10 models). Peak / data counts the data themselves. Growth: 100 models on float32 "
        "data.",
        rows,
    )


def _beside_forest(
    selector: str, limits: dict[str, float], n_models: int, shape: tuple[int, int], files: dict[str, str]
) -> Row:
    arguments = {"selector": selector, "n_features": 10, "n_models": n_models}
    ours = in_fresh_process({"maker": "evidence", "arguments": arguments, **files})
    forest = in_fresh_process({"maker": "plain_forest", "arguments": {"n_trees": n_models}, **files})
    values = {
        "seconds": ours.seconds,
        "ratio": ours.seconds / forest.seconds,
        "memory": ours.memory,
        "memory_ratio": 1 + ours.memory / (8 * shape[0] * shape[1]),
    }
    note = ours.error or forest.error or f"forest {forest.seconds:.1f} s"
    return Row(f"{shape[0]:,} x {shape[1]:,}", selector, values, limits, note)


def many_features(quick: bool, million: bool) -> Section:
    """The hyperdirichlet at 10,000 features (fewer when quick); on demand, evidence from a memory-mapped million."""
    n_features = 2_000 if quick else 10_000
    rows = [_hyperdirichlet(decay, n_features) for decay in problems.DECAYS[: 1 if quick else None]]
    if million:
        rows += [_million(selector) for selector in SELECTORS]
    return Section(
        "Many features",
        "Hyperdirichlet posterior of 100 models with 20 features each"
        + ("; ensembles of 100 models on 200 x 1,000,000 float32 from a memory-mapped file." if million else "."),
        rows,
    )


def _hyperdirichlet(decay: float, n_features: int) -> Row:
    evidence = problems.evidence(n_features, decay, np.random.default_rng(0))
    found: list[Any] = []
    time = seconds(lambda: found.append(ubayfs.Hyperdirichlet().update(evidence, 0.01, random_state=0)))
    values = {"seconds": time, "r_hat": found[0].diagnostics.r_hat}
    return Row(
        f"n = {n_features:,}",
        f"hyperdirichlet, {problems.VOTES[decay]} votes",
        values,
        {"seconds": 60.0, "r_hat": 1.05},
    )


def _million(selector: str, n_rows: int = 200, n_features: int = 1_000_000) -> Row:
    outcome = _ensemble(selector, n_rows, n_features, 100, memory_map=True)
    # The pages of the file that are in memory count as well: they were not read before the ensemble began.
    values = {
        "seconds": outcome.seconds,
        "memory": outcome.memory,
        "memory_ratio": outcome.memory / (4 * n_rows * n_features),
    }
    return Row(f"{n_rows} x {n_features:,}", selector, values, {"memory_ratio": 4.0}, outcome.error)


def imports(quick: bool) -> Section:
    """Import time beside that of scikit-learn's feature selection, each in fresh processes taken in turns."""
    reference = "import sklearn.feature_selection"
    # Names are loaded when they are first used, so that the first line alone would tell little.
    ours = ("import ubayfs", "from ubayfs import collect_evidence, decide")
    times: dict[str, list[float]] = {statement: [] for statement in (reference, *ours)}
    for _ in range(2 if quick else 9):
        for statement, seen in times.items():
            seen.append(_import_seconds(statement))
    rows = [Row("fresh process", reference, {"seconds": statistics.median(times[reference])})]
    for statement in ours:
        ratio = statistics.median(a / b for a, b in zip(times[statement], times[reference], strict=True))
        values = {"seconds": statistics.median(times[statement]), "ratio": ratio}
        rows.append(Row("fresh process", statement, values, {"ratio": 1.5}))
    return Section("Import", "Times: the import of scikit-learn's feature selection.", rows)


def _import_seconds(statement: str) -> float:
    code = f"import time; start = time.perf_counter(); {statement}; print(time.perf_counter() - start)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)
