"""Sections on decisions: how long the best set takes, its certificate, and what the genetic optimizer misses."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

import ubayfs
from ubayfs.constraints import resolve
from ubayfs.constraints.utility import Utility
from ubayfs.data.correlation import PAIRS

from . import data, problems, tools
from .report import Row, Section
from .timing import compare, median_seconds

# The optimizer looks at the clock between its steps: with this it ends within a minute.
TIME_LIMIT = 55.0
REPEATS, PATIENCE = 3, 5.0
PROVED = 1e-9
AGAIN = 1.0  # not longer than the first decision
LEUKAEMIA = "alt/LEU_golub"

Run = tuple[float, Any, Utility]  # seconds, solution or selection, what was maximized


def decisions(quick: bool) -> Section:
    """Decision time on problems from the fixed generator and from real data."""
    ubayfs.maximize(
        [0.5, 0.3], [ubayfs.max_size(1, rho=1.0), ubayfs.cannot_link([0, 1], rho=1.0)]
    )  # the solver is imported late
    rows = [_size_only(10_000, 0.01), _size_only(1_000_000, 0.1)]
    for title, limit in (
        ("2 per block", ubayfs.max_per_block(2, rho=1.0)),
        ("2 blocks", ubayfs.max_blocks(2, rho=1.0)),
    ):
        for decay in problems.DECAYS[: 1 if quick else None]:
            runs = [_run(*_pairs_and_blocks(limit, decay, seed)) for seed in range(1 if quick else 5)]
            rows += _solved("n = 7,000", f"3,000 pairs, {title}, {problems.VOTES[decay]}", runs, 1.0)
    for threshold, most in ((0.7, 1.0),) if quick else ((0.7, 1.0), (0.4, 5.0)):
        rows += _decorrelated(threshold, most, ("fisher",) if quick else ("mrmr", "fisher"))
    for decay in problems.DECAYS[: 1 if quick else None]:
        for alike in (False,) if quick else (False, True):
            rows += _clusters(decay, alike)
    return Section(
        "Decision: the best set and its proof",
        f"Medians of {REPEATS} decisions. Size limit 20 unless said otherwise; pairs are soft rows, at most one of two "
        "features. Gap 0 (at most "
        f"{PROVED:g}): no better set exists. Steep: few features take most votes (decay 1); flat: votes are spread "
        f"thin (0.3). 3,000 pairs: the slowest of {'1 seed' if quick else 'seeds 0 to 4'}. 80,000 pairs: size "
        "limit 100, in clusters of 20 features that are random or alike in importance. Misses: the share of the best "
        "value that the genetic optimizer does not reach. A search is stopped after "
        f"{TIME_LIMIT:.0f} s and tells its gap.",
        rows,
    )


def _timed(work: Callable[[], Any], repeats: int = 1) -> tuple[float, Any]:
    """Return the median time of some calls (one if it takes long) and the answer."""
    times: list[float] = []
    while len(times) < repeats and sum(times) < PATIENCE:
        start = time.perf_counter()
        answer = work()
        times.append(time.perf_counter() - start)
    return statistics.median(times), answer


def _solved(name: str, what: str, runs: Sequence[Run], most: float, gap: float = PROVED) -> list[Row]:
    """Return the row of one or several exact decisions, and that of the genetic optimizer on the same problems."""
    genetic = [_timed(partial(ubayfs.Genetic().maximize, utility, random_state=0)) for _, _, utility in runs]
    missed = [(best.value - found.value) / best.value for (_, best, _), (_, found) in zip(runs, genetic, strict=True)]
    exact = {"seconds": max(run[0] for run in runs), "gap": max(run[1].gap for run in runs)}
    return [
        Row(name, what, exact, {"seconds": most, "gap": gap}),
        Row(name, "  the same, genetic", {"seconds": max(run[0] for run in genetic), "missed": max(missed)}),
    ]


def _size_only(n_features: int, most: float) -> Row:
    evidence = problems.evidence(n_features, 0.3, np.random.default_rng(0))
    seconds = median_seconds(lambda: ubayfs.decide(evidence, constraints=ubayfs.max_size(20, rho=1.0)), rounds=7)
    return Row(f"n = {n_features:,}", "size limit only", {"seconds": seconds}, {"seconds": most})


def _pairs_and_blocks(limit: ubayfs.Constraint, decay: float, seed: int, n_features: int = 7_000) -> Any:
    """Return theta, constraints and blocks."""
    rng = np.random.default_rng(seed)
    theta = problems.importance(n_features, decay, rng)
    constraints = [ubayfs.max_size(20, rho=1.0), problems.soft_pairs(theta, 3_000, 400, rng), limit]
    return theta, constraints, problems.random_blocks(n_features, 20, rng)


def _run(theta: Any, constraints: Any, blocks: Any = None) -> Run:
    seconds, selection = _timed(
        partial(ubayfs.maximize, theta, constraints, blocks=blocks, optimizer=ubayfs.Exact(TIME_LIMIT)), REPEATS
    )
    return seconds, selection, selection.problem.utility


def _evidence(selector: str) -> ubayfs.Evidence:
    X, y = data.load(LEUKAEMIA)
    return ubayfs.collect_evidence(
        X, y, selector=selector, n_features_per_model=20, random_state=0, n_jobs=tools.N_JOBS
    )


def _decorrelated(threshold: float, most: float, selectors: Sequence[str]) -> list[Row]:
    """All pairs of leukaemia genes above a correlation; building the rows and deciding are timed apart."""
    name = data.shown(LEUKAEMIA)
    if not data.present(LEUKAEMIA):
        return [Row(name, f"Spearman > {threshold}", note=data.absent(LEUKAEMIA))]
    constraints = [ubayfs.max_size(20, rho=1.0), ubayfs.decorrelate(threshold)]
    rows: list[Row] = []
    for selector in selectors:
        evidence = _evidence(selector)
        if not rows:
            seconds, system = _timed(partial(_build, constraints, evidence.feature_names), REPEATS)
            rows = [
                Row(
                    name,
                    f"build {system.n_inequalities - 1:,} rows (> {threshold})",
                    {"seconds": seconds},
                    {"seconds": 5},
                )
            ]
        posterior = ubayfs.Dirichlet().update(evidence, 0.01)
        utility = Utility(posterior.mean, system, 1.0, ~evidence.constant)
        seconds, solution = _timed(partial(ubayfs.Exact(TIME_LIMIT).maximize, utility), REPEATS)
        rows += _solved(name, f"{selector}, Spearman > {threshold}", [(seconds, solution, utility)], most)
    return rows


def _build(constraints: Any, feature_names: Any) -> Any:
    """Build the rows of leukaemia as if its correlations were not known from the time before."""
    PAIRS.clear()
    return resolve(constraints, feature_names, X=data.load(LEUKAEMIA)[0])


def _clusters(decay: float, alike: bool, n_features: int = 10_000) -> list[Row]:
    """Clusters of 20 features with 160 pairs each: 80,000 pairs among 10,000 features.

    Clusters are random, or hold features that are alike in importance, as correlated ones are: then they compete.
    """
    rng = np.random.default_rng(0)
    theta = problems.importance(n_features, decay, rng)
    order = np.argsort(-theta, kind="stable") if alike else rng.permutation(n_features)
    constraints = [ubayfs.max_size(100, rho=1.0), problems.clustered_pairs(order, 20, 160, rng)]
    what = f"{8 * n_features:,} pairs{' alike' * alike}, {problems.VOTES[decay]}"
    return _solved(f"n = {n_features:,}", what, [_run(theta, constraints)], 60.0, gap=1e-3)


def second_thoughts(quick: bool) -> Section:
    """Another decision after one changed weight and after one changed constraint, beside the first."""
    rows = []
    for decay in problems.DECAYS[: 1 if quick else None]:
        cases = [_pairs_and_blocks(ubayfs.max_per_block(2, rho=1.0), decay, seed) for seed in range(1 if quick else 3)]
        rows += _again(
            "n = 7,000", f"3,000 pairs, 2 per block, {problems.VOTES[decay]}", [_changes(*case) for case in cases]
        )
    if not data.present(LEUKAEMIA):
        rows.append(Row(data.shown(LEUKAEMIA), "Spearman > 0.7", note=data.absent(LEUKAEMIA)))
    else:
        rows += _again(data.shown(LEUKAEMIA), "mrmr, Spearman > 0.7", [_leukaemia_changes()])
    return Section(
        "Second thoughts: deciding again",
        "A decision after one changed weight or constraint that begins with the set of the first one "
        "(Exact(begin_with=...)), as a multiple of the first one, both whole (correlations included; those of the same "
        "data are computed once) and in turns; medians, over problems too.",
        rows,
    )


def _changes(theta: Any, constraints: Any, blocks: Any) -> dict[str, Callable[[], Any]]:
    heavier = theta.copy()
    heavier[np.argsort(-theta)[30]] *= 2
    tighter = [ubayfs.max_size(19, rho=1.0), *constraints[1:]]
    again = ubayfs.Exact(begin_with=ubayfs.maximize(theta, constraints, blocks=blocks).indices)
    return {
        "first": lambda: ubayfs.maximize(theta, constraints, blocks=blocks),
        "other weight": lambda: ubayfs.maximize(heavier, constraints, blocks=blocks, optimizer=again),
        "other constraint": lambda: ubayfs.maximize(theta, tighter, blocks=blocks, optimizer=again),
    }


def _leukaemia_changes() -> dict[str, Callable[[], Any]]:
    X, _ = data.load(LEUKAEMIA)
    evidence, decorrelated = _evidence("mrmr"), ubayfs.decorrelate(0.7)
    chosen = [ubayfs.max_size(20, rho=1.0), decorrelated]
    runner_up = evidence.feature_names[np.argsort(-evidence.counts)[30]]
    tighter = [ubayfs.max_size(19, rho=1.0), decorrelated]

    def first() -> Any:
        PAIRS.clear()  # nothing can be known of data that were never seen before
        return ubayfs.decide(evidence, constraints=chosen, X=X)

    again = ubayfs.Exact(begin_with=first().indices)
    return {
        "first": first,
        "other weight": lambda: ubayfs.decide(
            evidence, weights={runner_up: 10}, constraints=chosen, X=X, optimizer=again
        ),
        "other constraint": lambda: ubayfs.decide(evidence, constraints=tighter, X=X, optimizer=again),
    }


def _again(name: str, what: str, cases: Sequence[dict[str, Callable[[], Any]]]) -> list[Row]:
    rows = []
    for change in ("other weight", "other constraint"):
        found = []
        for case in cases:
            case["first"]()
            found.append(compare(case[change], case["first"], rounds=(3, 3)))
        values = {
            "seconds": statistics.median(one.seconds for one in found),
            "ratio": statistics.median(one.ratio for one in found),
        }
        rows.append(Row(name, f"{what}, {change}", values, {"ratio": AGAIN}))
    return rows
