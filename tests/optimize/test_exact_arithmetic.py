"""Hard bounds under costs of very different size, judged in exact arithmetic of the numbers as they are written."""

import math
from fractions import Fraction

import numpy as np
import pytest

from amounts import seeds
from problems import all_sets, one_row, utility_of
from ubayfs import cost_budget, linear, maximize
from ubayfs.constraints.utility import score_tolerance
from ubayfs.exceptions import InfeasibleError
from ubayfs.optimize.exact import Exact

INF = math.inf

# Where all bounds have room for everything, the best set is everything.
pytestmark = pytest.mark.filterwarnings("ignore:No constraint limits the size")


def exact_sums(coefficients):
    """Return a^T z of every set, in the order of `all_sets`."""
    sums = np.zeros(1, dtype=object)
    for coefficient in coefficients:
        sums = np.concatenate([sums, sums + Fraction(str(float(coefficient)))])
    return sums


def numbers(rng, n):
    """Return positive numbers from 1e-9 to 1e15 with three digits."""
    kind, values = rng.integers(5), rng.uniform(1, 50, n)
    if kind == 0:
        values = 10 ** rng.uniform(-9, 15, n)
    elif kind == 1:
        values[rng.random(n) < 0.3] = 10.0 ** rng.integers(6, 16)
    elif kind == 2:
        values[rng.random(n) < 0.5] *= 1e-9
    elif kind == 3:
        values = np.where(rng.random(n) < 0.2, 1e12, np.ceil(values))
    else:
        values = np.ceil(values) / 10
    return np.array([float(f"{value:.3g}") for value in values])


def random_rows(rng, n):
    rows = []
    for _ in range(rng.integers(1, 4)):
        a = numbers(rng, n)
        if rng.random() < 0.4:
            a = np.where(rng.random(n) < 0.4, -a, a)
        three = np.abs(rng.choice(a, 3, replace=False)).sum()
        b = rng.choice([np.abs(a[rng.integers(n)]) * rng.uniform(0.5, 2), three, a[rng.random(n) < 0.4].sum(), 0.0])
        rows.append((a, float(f"{b:.6g}")))
    return rows


@pytest.mark.parametrize("seed", seeds(300))
def test_the_best_set_keeps_hard_bounds_in_exact_arithmetic(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 15))
    theta, rows = rng.dirichlet(np.ones(n)), random_rows(rng, n)
    excess = [exact_sums(a) - Fraction(str(b)) for a, b in rows]
    # Closer to the bound than this, relative to it, either answer is right.
    close = [Fraction(abs(b)) / 10**9 for _, b in rows]
    surely = np.logical_and.reduce([over <= -slack for over, slack in zip(excess, close, strict=True)])
    perhaps = np.logical_and.reduce([over <= slack for over, slack in zip(excess, close, strict=True)])
    constraints = [cost_budget(a, b) if a.min() > 0 and b > 0 else linear(a, b) for a, b in rows]
    try:
        selection = maximize(theta, constraints)
    except InfeasibleError:
        assert not surely.any()
        return
    assert perhaps[(1 << selection.indices).sum()]
    assert selection.gap == 0.0
    assert selection.value >= (all_sets(n)[surely] @ theta).max(initial=-1.0) + 1.0 - 1e-9


def test_a_cost_that_nobody_can_pay_does_not_loosen_the_budget():
    assert maximize([0.1, 0.8, 0.1], [cost_budget([1.0, 3.0, 1e9], 3.0)]).indices.tolist() == [1]


def test_a_coefficient_that_outweighs_all_others_does_not_loosen_the_bound():
    row = linear([1.5, 3.0, -1e15], 3.0)
    assert maximize([0.3, 0.6, 0.1], [row]).indices.tolist() == [0, 1, 2]
    assert maximize([0.3, 0.6, 0.1], [row, linear([0, 0, 1], 0)]).indices.tolist() == [1]


@pytest.mark.parametrize(
    ("coefficients", "bound"),
    [
        ([1e15, -1e15, 1.5], 1.0),
        ([1e14, -1e14, 0.1, 0.2], 0.25),
        ([1e15, -999999999999999.5], 0.1),
        ([1e15, -1e15, 0.1], 0.0),
    ],
)
def test_what_remains_of_huge_terms_that_cancel_counts(coefficients, bound):
    """All features together exceed the bound, though by less than the rounding error of the largest term."""
    n = len(coefficients)
    chosen = maximize(np.full(n, 1 / n), [linear(coefficients, bound)]).indices
    assert len(chosen) < n
    assert sum(Fraction(str(coefficients[j])) for j in chosen) <= Fraction(str(bound))


def test_numbers_of_both_signs_may_cancel():
    assert 0.1 + 0.2 - 0.3 > 0
    assert maximize([0.3, 0.3, 0.4], [linear([0.1, 0.2, -0.3], 0.0)]).indices.tolist() == [0, 1, 2]


@pytest.mark.parametrize("seed", seeds(100))
def test_programs_see_small_costs_beside_huge_ones(seed, always_programs):
    """The programs alone, hard and soft inequalities, against all sets."""
    rng = np.random.default_rng([1, seed])
    n = 8
    rho = rng.choice([INF, 0.1, 1.0, 10.0], 3)
    rows = [one_row(a, b, strictness) for (a, b), strictness in zip(random_rows(rng, n), rho, strict=False)]
    utility = utility_of(rng.dirichlet(np.ones(n)), rows)
    optimum = float(utility(all_sets(n)).max())
    solution = Exact().search(utility)
    if np.isneginf(optimum):
        assert solution is None
        return
    assert abs(solution.value - optimum) <= score_tolerance(optimum)
    assert solution.gap == 0.0
