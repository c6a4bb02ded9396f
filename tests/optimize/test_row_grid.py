import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from amounts import seeds
from problems import all_sets, one_row, random_utility, utility_of
from ubayfs.constraints.utility import log_row_admissibility
from ubayfs.optimize.program import RowGrid, largest_violation

INF = np.inf


def grid_of(coefficients, bound, rho=1.0):
    return RowGrid.from_utility(utility_of(np.full(len(coefficients), 0.1), [one_row(coefficients, bound, rho)]))


@pytest.mark.parametrize(
    ("coefficients", "unit"),
    [([1, 2, -3], 1.0), ([0.1, 0.2, 0.3], 0.1), ([7, 14, 0], 7.0), ([-2.5, 5, 5], 2.5), ([1e-9, 3e-9, 0], 1e-9)],
)
def test_multiples_of_one_coefficient_are_a_grid(coefficients, unit):
    grid = grid_of(coefficients, 0.0)
    assert grid.on_grid.all()
    assert grid.unit[0] == unit
    np.testing.assert_array_equal(grid.A.toarray()[0], np.round(np.array(coefficients) / unit))


@pytest.mark.parametrize(
    ("coefficients", "bound"), [([1, 1.5, 0], 0.7), ([1, np.pi, 2], 0.7), ([1, 1 + 1e-9, 0], 0.7), ([1, 2e6, 3], 2e6)]
)
def test_other_coefficients_are_not_a_grid_and_scaled_to_one(coefficients, bound):
    grid = grid_of(coefficients, bound)
    assert not grid.on_grid.any()
    assert abs(grid.A).max() == pytest.approx(1.0)


@pytest.mark.parametrize(("coefficients", "largest"), [([1, 2, 1e12, 2], 6.0), ([1, 2, 3, -1e15], 3.0)])
def test_coefficients_beyond_what_decides_are_cut_to_multiples_of_the_smallest(coefficients, largest):
    grid = grid_of(coefficients, 3.0, np.inf)
    assert grid.on_grid.all()
    assert abs(grid.A).max() == largest
    sets = all_sets(4)
    np.testing.assert_array_equal(sets @ grid.A.toarray()[0] <= grid.ceiling[0], sets @ coefficients <= 3.0)


def test_the_ceiling_is_the_bound_rounded_down_with_tolerance():
    assert grid_of([1, 1, 1], 1.5).ceiling[0] == 1
    assert grid_of([1, 1, 1], -0.5).ceiling[0] == -1
    # 0.3 / 0.1 is below 3 in floating point
    assert grid_of([0.1, 0.2, 0.3], 0.3).ceiling[0] == 3
    assert grid_of([1, 1, 1], 1.5).offset[0] == -0.5
    assert grid_of([0.1, 0.2, 0.3], 0.3).offset[0] == 0


def test_rows_that_no_set_can_violate_are_left_out():
    rows = [one_row([1, 1], 2, 1.0), one_row([1, 1], 1, 1.0), one_row([-1, -1], 0, 1.0), one_row([0, 0], 0, INF)]
    assert RowGrid.from_utility(utility_of([0.5, 0.5], rows)).A.shape[0] == 1


@given(st.floats(-700, -1e-6), st.floats(1e-4, 1e6))
def test_the_largest_violation_costs_exactly_what_is_allowed(log_kappa, rho):
    assert log_row_admissibility(largest_violation(log_kappa, rho), rho) == pytest.approx(log_kappa, rel=1e-9)


@pytest.mark.parametrize("seed", seeds(40))
def test_grid_count_what_the_utility_counts(seed):
    """Every set stands on the level whose penalty is its row's -log admissibility, and no level is cut off too low."""
    utility = random_utility(np.random.default_rng(seed), n=8)
    grid = RowGrid.from_utility(utility)
    sets = all_sets(8)
    z = utility.admissibility.indicators(sets).toarray()
    level = z @ grid.A.toarray().T - grid.ceiling
    assert (level <= grid.top_level + 1e-12).all()
    violations = utility.admissibility.violations(sets)
    # Rows that no set violates may be left out; the others come in their old order.
    violations, rows = violations[:, violations.any(axis=0)], np.flatnonzero((level > 1e-12).any(axis=0))
    level = level[:, rows]
    np.testing.assert_array_equal(violations > 0, level > 1e-12)
    for column, row in enumerate(rows):
        if grid.hard[row]:
            continue
        cost = -log_row_admissibility(violations[:, column], grid.rho[row])
        counted = grid.penalty(row, level[:, column])
        if grid.on_grid[row]:
            np.testing.assert_allclose(counted, cost, rtol=1e-6, atol=1e-12)
        else:  # counted from the bound plus its tolerance, so never too much
            assert (counted <= cost + 1e-12).all()
        for log_kappa in (-0.01, -1.0, -30.0):
            inside = cost <= -log_kappa
            assert (level[inside, column] <= grid.highest_level(log_kappa)[row]).all()


@pytest.mark.parametrize(("coefficients", "bound"), [([1] * 30, 4), ([1] * 30, 4.3), ([2.0] * 30, 7), ([0.3] * 30, 0)])
@pytest.mark.parametrize("rho", [1e-3, 0.7, 40.0])
def test_penalties_are_convex_on_the_grid(coefficients, bound, rho):
    grid = grid_of(coefficients, bound, rho)
    penalty = grid.penalty(0, np.arange(20))
    assert penalty[0] == 0
    assert (np.diff(penalty, 2) >= -1e-12 * penalty.max()).all()


@pytest.mark.parametrize("bound", [4, 4.3])
def test_the_slope_is_the_derivative_of_the_penalty(bound):
    grid = grid_of([1] * 30, bound, 0.8)
    at, step = np.array([1.0, 2.0, 7.0]), 1e-6
    numeric = (grid.penalty(0, at + step) - grid.penalty(0, at - step)) / (2 * step)
    np.testing.assert_allclose(grid.penalty_slope(0, at), numeric, rtol=1e-6)


def test_hard_rows_have_no_grid():
    assert grid_of([1, 1, 1], 1, INF).highest_level(-5.0)[0] == 0


def test_a_row_with_an_enormous_rho_is_hard_within_a_cell():
    assert grid_of([0.3, 0.5, 1.0], 0.6, 1e300).highest_level(-20.0)[0] == 0
    assert grid_of([0.3, 0.5, 1.0], 0.6, 1e3).highest_level(-20.0)[0] > 0


@pytest.mark.parametrize("bound", [1e300, -1e300])
def test_bounds_out_of_reach_do_not_overflow(bound):
    grid = grid_of([1e-9, 2e-9, 0], bound)
    assert np.isfinite(grid.ceiling).all()
    assert grid.A.shape[0] == (bound < 0)


@pytest.mark.parametrize("seed", seeds(60))
def test_rows_nearly_on_a_grid_are_split_into_equivalent_ones(seed):
    """Signed multiples of any unit with tiny differences, and bounds at, next to and between attainable values."""
    rng = np.random.default_rng(seed)
    unit = rng.choice([1.0, 100 / 3, 0.1, 7e5])
    noise = unit * 10.0 ** rng.uniform(-8, -5)
    a = unit * rng.choice([-2, -1, 1, 1, 2, 3], 9) + noise * rng.normal(size=9)
    values = all_sets(9) @ a
    b = rng.choice(values) + noise * rng.choice([-20.0, -0.3, 0.0, 0.3, 20.0]) + rng.choice([0.0, 0.5]) * unit
    utility = utility_of(np.full(9, 1 / 9), [one_row(a, b, INF)])
    grid = RowGrid.from_utility(utility)
    assert len(grid.ceiling) > 1
    holds = np.isfinite(utility(all_sets(9)))
    # Not the first row, which stands for the original: those that were added.
    products = all_sets(9) @ grid.A[1:].toarray().T - grid.ceiling[1:]
    np.testing.assert_array_equal((products <= 1e-6).all(axis=1), holds)
    if len(grid.ceiling) == 3:
        # The solver accepts what exceeds a bound by 1e-6: sets that do not hold exceed one by much more.
        assert products.max(axis=1)[~holds].min() > 1e-4


@pytest.mark.parametrize("rho", [INF, 1.0])
def test_only_hard_rows_nearly_on_a_grid_are_split(rho):
    utility = utility_of(np.full(4, 0.25), [one_row([0.31, 0.47, 0.73, 0.11], 1.0, rho)])
    assert len(RowGrid.from_utility(utility).ceiling) == 1
    utility = utility_of(np.full(4, 0.25), [one_row([1, 1 + 1e-7, 1 - 2e-7, 1 + 1e-7], 2, rho)])
    assert len(RowGrid.from_utility(utility).ceiling) == (3 if np.isinf(rho) else 1)
