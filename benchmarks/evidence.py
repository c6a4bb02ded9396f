"""Sections on evidence: all elementary selectors beside a random forest, and ubayfs beside other selection tools."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from . import data, tools
from .report import Row, Section
from .timing import Outcome, compare, in_fresh_process

# Most time that the ensemble may take, in forests.
LARGE_LIMITS = {"fisher": 0.5, "mrmr": 1.5, "laplacian": 2, "tree": 7, "lasso": 4, "wide": 6, "hsic": 30, "rfe": 60}
SMALL_LIMITS = {"fisher": 0.5, "mrmr": 0.5, "tree": 4}


def ensembles(quick: bool) -> Section:
    """Time of 100 models by each selector as a multiple of a forest of 100 trees."""
    rows = []
    names = (data.LARGE[-1], "BCW", "COL") if quick else data.LARGE + data.SMALL
    for name in names:
        limits = LARGE_LIMITS if name in data.LARGE else SMALL_LIMITS
        if not data.present(name):
            rows.append(Row(data.shown(name), "all selectors", note=data.absent(name)))
            continue
        selectors = ("fisher", "mrmr") if quick else limits
        rows += [_ensemble(name, selector, limits[selector], quick) for selector in selectors]
    per_model = ", ".join(f"{data.FEATURES_PER_MODEL[name]} on {data.shown(name)}" for name in names)
    return Section(
        "Evidence: an ensemble of 100 models beside a random forest",
        "The column times is the median, over rounds taken in turns, of ensemble time / time to fit scikit-learn's "
        "RandomForestClassifier(100 trees) on the same data; both with n_jobs=2. Features per model: "
        + per_model
        + ".",
        rows,
    )


def lassos(quick: bool) -> Section:
    """Time of 100 models by `lasso` and `wide`, on few samples beside mRMR, on many beside a forest."""
    rng, rows = np.random.default_rng(0), []
    cases = {(100, 10_000): ("mRMR", tools.evidence("mrmr", 10), 5.0)}
    if not quick:
        cases[20_000, 1_000] = ("forest", tools.plain_forest(), 2.0)
    for (n_samples, n_features), (name, reference, limit) in cases.items():
        X = rng.normal(size=(n_samples, n_features))
        y = (X[:, :5].sum(axis=1) + 1.5 * rng.normal(size=n_samples) > 0).astype(int)
        for selector in ("lasso", "wide"):
            ours = tools.evidence(selector, 10)
            for work in (ours, reference):
                work(X[:, :50], y)  # imports and threads are not part of the comparison
            found = compare(partial(ours, X, y), partial(reference, X, y), rounds=(1, 3) if quick else (3, 9))
            values = {"seconds": found.seconds, "ratio": found.ratio}
            note = f"{name} {found.reference:.2f} s, {found.rounds} rounds"
            rows.append(Row(f"{n_samples:,} x {n_features:,}", selector, values, {"ratio": limit}, note))
    return Section(
        "Evidence: the lasso beside mRMR and a random forest",
        "The column times is the median, over rounds taken in turns, of the time of 100 models / that of 100 models by "
        "mRMR or of scikit-learn's RandomForestClassifier(100 trees); all with n_jobs=2, on planted data.",
        rows,
    )


def _ensemble(name: str, selector: str, limit: float, quick: bool) -> Row:
    X, y = data.load(name)
    n_features = data.FEATURES_PER_MODEL[name]
    ours, reference = tools.evidence(selector, n_features), tools.plain_forest()
    for work in (ours, reference):
        work(X[:, :50], y)  # imports and threads are not part of the comparison
    found = compare(
        lambda: ours(X, y), lambda: reference(X, y), rounds=(2, 3) if quick else (3, 9), patience=1 if quick else 8
    )
    values = {"seconds": found.seconds, "ratio": found.ratio}
    if name == data.LARGE[-1] and not quick:
        with tempfile.TemporaryDirectory() as path:
            request = {"maker": "evidence", "arguments": {"selector": selector, "n_features": n_features}}
            values["memory"] = in_fresh_process({**request, **data.saved(name, Path(path))}).memory
    note = f"forest {found.reference * 1e3:.0f} ms, {found.rounds} rounds"
    return Row(data.shown(name), selector, values, {"ratio": limit}, note, headline=name in data.LARGE)


def against_tools(quick: bool) -> Section:
    """End-to-end time to choose features: ubayfs and what a user would pick instead."""
    rows = []
    names = ("BCW",) if quick else ("BCW", *data.LARGE)
    # Tools that take long even on a few rows and columns would only show that they are stopped.
    contenders = [tool for tool in tools.tools() if tool.warm_up or not quick]
    cap, rounds = (2.0, 1) if quick else (40.0, 3)
    for name in names:
        if not data.present(name):
            rows.append(Row(data.shown(name), "all tools", note=data.absent(name)))
        else:
            rows += _compared(name, contenders, cap, rounds)
    return Section(
        "Choosing features: beside other tools",
        "Time from data to chosen features in a fresh process, without imports, as a multiple of ubayfs with mrmr (100 "
        f"models, then the decision). Medians of {rounds} processes, tools in turns; of 1 where it takes over 5 s. "
        "Each tool is asked for 20 features on PRO and LEU_golub and for 10 elsewhere, with n_jobs=2 where it has it. "
        f"It is stopped after {cap:g} s."
        + (" SequentialFeatureSelector and Boruta take longer than that: see the full run." if quick else ""),
        rows,
    )


def _compared(name: str, contenders: Sequence[tools.Tool], cap: float, rounds: int) -> list[Row]:
    n_features = max(data.FEATURES_PER_MODEL[name], 10)
    outcomes: dict[str, list[Outcome]] = {tool.label: [] for tool in contenders}
    with tempfile.TemporaryDirectory() as path:
        files = data.saved(name, Path(path))
        X, _ = data.load(name)
        for _ in range(rounds):
            for tool in contenders:
                seen = outcomes[tool.label]
                slow = seen and not seen[-1].seconds <= 5
                if slow or X.shape[1] > tool.most_features:
                    continue
                arguments = {**tool.arguments, "n_features": n_features}
                request = {"maker": tool.maker, "arguments": arguments, "warm_up": tool.warm_up, **files}
                seen.append(in_fresh_process(request, cap=cap))
    unit = statistics.median(one.seconds for one in outcomes[contenders[0].label])
    return [_tool_row(data.shown(name), tool.label, outcomes[tool.label], unit, cap, X.shape[1]) for tool in contenders]


def _tool_row(name: str, label: str, outcomes: list[Outcome], unit: float, cap: float, n_features: int) -> Row:
    if not outcomes:
        return Row(name, label, note=f"not tried: it would fit a model some {100 * n_features:,} times")
    last = outcomes[-1]
    if last.timed_out:
        return Row(name, label, note=f"> {cap:g} s: more than {cap / unit:,.0f} times")
    if last.error:
        return Row(name, label, note=last.error)
    seconds = statistics.median(one.seconds for one in outcomes)
    memory = statistics.median(one.memory for one in outcomes)
    values = {"seconds": seconds, "ratio": seconds / unit, "memory": memory}
    return Row(name, label, values, note=f"{last.answer} chosen")
