"""Decisions that are hard to prove: 45 problems, drawn with fixed seeds.

Nine kinds of five each. Importances sum to one and lambda is one. In eight kinds, of 38 to 120 features, most
inequalities are soft and most features are in many of them, so that no set satisfies all and very many are nearly as
good as the best one. The ninth has thousands of features and several budgets in which every feature has a cost.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

import ubayfs

SEEDS = range(5)


class HardProblem(NamedTuple):
    """What `ubayfs.maximize` takes."""

    theta: NDArray[np.float64]
    constraints: list[ubayfs.Constraint]
    blocks: dict[str, list[int]] | None = None


def hard_problems() -> dict[str, HardProblem]:
    """Return the problems by name: kind and seed."""
    return {
        f"{kind} {seed}": make(np.random.default_rng([number, seed]))
        for number, (kind, make) in enumerate(KINDS.items())
        for seed in SEEDS
    }


def pairs(n_features: int, share: float, rho: tuple[float, float], rng: np.random.Generator) -> ubayfs.Constraint:
    """At most one of two, for a share of all pairs of features."""
    ends = np.array(list(combinations(range(n_features), 2)))
    ends = ends[rng.random(len(ends)) < share]
    A = sparse.csr_array(
        (np.ones(ends.size), ends.ravel(), np.arange(0, ends.size + 1, 2)), shape=(len(ends), n_features)
    )
    return ubayfs.linear(A, 1.0, rho=rng.uniform(*rho, len(ends)))


def wide(
    n_features: int, n_rows: int, length: int, bound: float, rho: float, rng: np.random.Generator, most: int = 1
) -> ubayfs.Constraint:
    """At most `bound` of `length` features each, with whole coefficients from 1 to `most`."""
    A = np.zeros((n_rows, n_features))
    for row in A:
        row[rng.choice(n_features, length, replace=False)] = rng.integers(1, most + 1, length)
    return ubayfs.linear(A, bound, rho=rho)


def implications(n_features: int, n_rows: int, rho: float, rng: np.random.Generator) -> list[ubayfs.Constraint]:
    """Features that need another one."""
    ends = [rng.choice(n_features, 2, replace=False).tolist() for _ in range(n_rows)]
    return [ubayfs.implies(first, [second], rho=rho) for first, second in ends]


def _equal(n_features: int) -> NDArray[np.float64]:
    return np.full(n_features, 1 / n_features)


def _wide(rng: np.random.Generator) -> HardProblem:
    theta = rng.dirichlet(np.ones(100))
    return HardProblem(theta, [ubayfs.max_size(40, rho=1.0), wide(100, 150, 15, 2.0, 0.01, rng)])


def _equal_pairs(rng: np.random.Generator) -> HardProblem:
    return HardProblem(_equal(100), [ubayfs.max_size(30, rho=1.0), pairs(100, 0.3, (0.005, 0.02), rng)])


def _dense_pairs(rng: np.random.Generator) -> HardProblem:
    theta = rng.dirichlet(np.full(120, 3.0))
    return HardProblem(theta, [ubayfs.max_size(25), pairs(120, 0.5, (0.01, 0.1), rng)])


def _hard_pairs(rng: np.random.Generator) -> HardProblem:
    theta = rng.dirichlet(np.full(110, 5.0))
    hard = [ubayfs.cannot_link(rng.choice(110, 2, replace=False).tolist()) for _ in range(500)]
    return HardProblem(theta, [ubayfs.max_size(35, rho=1.0), pairs(110, 0.1, (0.005, 0.05), rng), *hard])


def _blocks(rng: np.random.Generator) -> HardProblem:
    blocks = {f"b{number}": rng.choice(120, 12, replace=False).tolist() for number in range(40)}
    limits = [ubayfs.max_size(30, rho=1.0), ubayfs.max_per_block(2, rho=0.05), ubayfs.max_blocks(25, rho=0.02)]
    return HardProblem(rng.dirichlet(np.full(120, 2.0)), limits, blocks)


def _implications(rng: np.random.Generator) -> HardProblem:
    theta = rng.dirichlet(np.full(100, 2.0))
    return HardProblem(
        theta, [ubayfs.max_size(25, rho=1.0), *implications(100, 150, 0.05, rng), wide(100, 60, 12, 3.0, 0.02, rng)]
    )


def _budgets(rng: np.random.Generator) -> HardProblem:
    budgets = [
        ubayfs.cost_budget(rng.uniform(0.5, 3.0, 90), 25.0, rho=rho)
        for rho in (math.inf, math.inf, 0.05, 0.1, 0.02, 0.2, 0.05, 0.1)
    ]
    return HardProblem(rng.dirichlet(np.full(90, 5.0)), [*budgets, pairs(90, 0.1, (0.01, 0.05), rng)])


def _mixed(rng: np.random.Generator) -> HardProblem:
    n = int(rng.integers(38, 119))
    limits = [ubayfs.max_size(n // 3, rho=1.0), wide(n, n // 2, 10, 8.0, 0.1, rng, most=5)]
    return HardProblem(rng.dirichlet(np.ones(n)), [*limits, *implications(n, n, 0.5, rng)])


def _dense_budgets(rng: np.random.Generator) -> HardProblem:
    n, size, n_rows = 7000, 100, int(rng.choice([5, 20, 50]))
    theta = rng.dirichlet(np.full(n, rng.choice([0.1, 0.2, 1.0])))
    costs = rng.uniform(1, 10, (n_rows, n)) + rng.choice([0.0, 4.0]) * theta * n  # important ones may be dearer
    budgets = 0.75 * costs[:, np.argsort(-theta)[:size]].sum(axis=1)
    return HardProblem(theta, [ubayfs.max_size(size), ubayfs.linear(costs, budgets)])


KINDS: dict[str, Callable[[np.random.Generator], HardProblem]] = {
    "wide": _wide,
    "equal pairs": _equal_pairs,
    "dense pairs": _dense_pairs,
    "hard pairs": _hard_pairs,
    "blocks": _blocks,
    "implications": _implications,
    "budgets": _budgets,
    "mixed": _mixed,
    "dense budgets": _dense_budgets,
}


def solve(problem: HardProblem, seconds: float) -> Any:
    """Return the selection of the exact optimizer under a time limit."""
    return ubayfs.maximize(
        problem.theta, problem.constraints, blocks=problem.blocks, optimizer=ubayfs.Exact(time_limit=seconds)
    )
