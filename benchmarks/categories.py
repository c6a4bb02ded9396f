"""Votes of numbers and of categories of 2 to 20 levels: of noise all should have the same share; what matters is found.

``python -m benchmarks.categories [--repeats 250]`` prints the tables of benchmarks/results/categories.md.
"""

from __future__ import annotations

import argparse
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.optimize import brentq

from ubayfs import Survival
from ubayfs.data.categories import CategoryTable, Levels
from ubayfs.data.target import Target, read_target
from ubayfs.ensemble.batches import EnsembleTask, _select
from ubayfs.selectors import SELECTORS
from ubayfs.selectors.base import Choice

LEVELS = (0, 2, 5, 10, 20)  # 0: numbers
N_SAMPLES, PER_KIND, N_MODELS, N_FEATURES = 120, 12, 10, 6
TASKS = ("two classes", "three classes", "a measured target", "survival")
EFFECT = 0.5  # standard deviation of what the planted number adds, where noise has 1


class Problem(NamedTuple):
    """A selector, what the target is, and whether two covariates are adjusted for."""

    selector: str
    task: str
    adjusted: bool = False


PROBLEMS = [
    Problem(selector, task, adjusted)
    for selector, tasks in {
        "fisher": TASKS[:2],
        "cox": TASKS[3:],
        "mrmr": TASKS,
        "lasso": TASKS,
        "wide": TASKS,
        "tree": TASKS,
        "rfe": TASKS[:3],
        "hsic": TASKS[:3],
    }.items()
    for task in tasks
    for adjusted in (False, True)
]


def table(rng: np.random.Generator) -> CategoryTable:
    """Return as many columns of noise of each kind."""
    size = (N_SAMPLES, PER_KIND)
    values = [rng.normal(size=size) if n == 0 else rng.integers(0, n, size).astype(float) for n in LEVELS]
    known = {
        PER_KIND * place + column: Levels(tuple(map(str, range(n))))
        for place, n in enumerate(LEVELS)
        for column in range(PER_KIND)
        if n
    }
    return CategoryTable(np.hstack(values), known)


@cache
def strength(n_levels: int) -> float:
    """Return the standard deviation of an effect whose test has, in a run, the median p-value of a number's."""
    n, d = int(0.75 * N_SAMPLES), max(n_levels - 1, 1)
    p = stats.f.sf(stats.ncf.median(1, n - 2, n * EFFECT**2), 1, n - 2)
    median = stats.f.isf(p, d, n - 1 - d)
    excess = brentq(lambda size: stats.ncf.median(d, n - 1 - d, size) - median, 1.0, 20.0 * n)
    return float(np.sqrt(excess / n))


def effect(X: CategoryTable, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return what the first feature of each kind adds to the target, equally strong by their p-values."""
    total = np.zeros(len(X))
    for place, n in enumerate(LEVELS):
        x = X[:, PER_KIND * place]
        own = x if n == 0 else rng.permutation(n)[x.astype(int)].astype(float)
        total += strength(n) * (own - own.mean()) / own.std()
    return total


def target_of(task: str, signal: NDArray[np.float64], rng: np.random.Generator) -> Target:
    """Return a target that rises with a signal plus noise."""
    if task == "survival":
        time, censored = rng.exponential(np.exp(-signal)), rng.exponential(2.0, size=len(signal))
        return read_target(Survival(np.minimum(time, censored), time <= censored), len(signal), None)
    y = signal + rng.normal(size=len(signal))
    if task == "a measured target":
        return read_target(y, len(signal), "regression")
    return read_target(np.argsort(np.argsort(y)) * (2 if task == "two classes" else 3) // len(y), len(y), None)


def votes(problem: Problem, repeats: int, planted: bool, seed: int = 7) -> NDArray[np.float64]:
    """Return the votes of the features, of shape (n_kinds, PER_KIND), per run."""
    rng, selector = np.random.default_rng(seed), SELECTORS[problem.selector]
    found = np.zeros(len(LEVELS) * PER_KIND)
    for _ in range(repeats):
        X = table(rng)
        target = target_of(problem.task, effect(X, rng) if planted else np.zeros(N_SAMPLES), rng)
        design = np.column_stack([rng.normal(size=N_SAMPLES), np.arange(N_SAMPLES) % 2]) if problem.adjusted else None
        task = EnsembleTask(target, None, (selector,), N_FEATURES, 0, design=design)  # type: ignore[arg-type]
        subsamples = np.array([rng.permutation(N_SAMPLES) < 0.75 * N_SAMPLES for _ in range(N_MODELS)])
        chosen = _select(X, task, selector, subsamples, N_FEATURES, rng.spawn(N_MODELS))
        columns = [choice.columns if isinstance(choice, Choice) else choice for choice in chosen]
        found += np.bincount(np.concatenate(columns), minlength=X.shape[1])
    return found.reshape(len(LEVELS), PER_KIND) / (repeats * N_MODELS)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=250)
    parser.add_argument("--only", nargs="+", default=[], help="these selectors")
    parser.add_argument("--table", choices=("noise", "planted"), help="one of the tables")
    arguments = parser.parse_args()
    for planted in (False, True):
        if arguments.table not in (None, "planted" if planted else "noise"):
            continue
        print("\nShare of runs that choose the planted feature" if planted else "Share of the votes of noise")
        for problem in PROBLEMS:
            if arguments.only and problem.selector not in arguments.only:
                continue
            found = votes(problem, arguments.repeats, planted)
            shares = found[:, 0] if planted else found.sum(axis=1) / found.sum()
            cells = " | ".join(f"{share:.3f}" for share in shares)
            beyond = ", covariates" if problem.adjusted else ""
            print(f"| `{problem.selector}`, {problem.task}{beyond} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
