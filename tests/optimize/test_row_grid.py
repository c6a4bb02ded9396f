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


@pytest.mark.parametrize(("coefficients", "largest"), [([1, 2, 1e12, 2], 6.0), ([1, 2, 3, -1e15], 3.0)])
def test_coefficients_beyond_what_decides_are_cut_to_multiples_of_the_smallest(coefficients, largest):
    grid = grid_of(coefficients, 3.0, np.inf)
    assert grid.on_grid.all()
    assert abs(grid.A).max() == largest
    sets = all_sets(4)
    np.testing.assert_array_equal(sets @ grid.A.toarray()[0] <= grid.ceiling[0], sets @ coefficients <= 3.0)


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
