"""Many features under few inequalities: the relaxation, what it fixes, and the search in the core."""

import numpy as np
import pytest

from amounts import seeds
from problems import all_sets, one_row, utility_of
from ubayfs.constraints.utility import score_tolerance
from ubayfs.optimize.base import Limit
from ubayfs.optimize.cells import CellSearch
from ubayfs.optimize.core import Relaxation, has_core
from ubayfs.optimize.exact import Exact
from ubayfs.optimize.program import Programs

INF = np.inf


def budgets(rng, n, n_rows, rho=INF):
    """Costs of all features in each row; a third of them can be paid."""
    costs = rng.uniform(1, 10, (n_rows, n))
    return utility_of(rng.dirichlet(np.ones(n)), [one_row(row, row.sum() / 3, rho) for row in costs])


@pytest.fixture
def small_cores(monkeypatch):
    """A few features are many."""
    monkeypatch.setattr("ubayfs.optimize.core._FEWEST_FEATURES", 1)
    monkeypatch.setattr("ubayfs.optimize.core._FEWEST_IN_CORE", 2)
    monkeypatch.setattr("ubayfs.optimize.core._IN_CORE_PER_ROW", 1)
    monkeypatch.setattr("ubayfs.optimize.cells._MOST_FEATURES", -1)


@pytest.mark.parametrize("seed", seeds(40))
@pytest.mark.parametrize("rho", [INF, 0.3])
def test_the_best_set_is_found_and_proved_with_cores(seed, rho, small_cores):
    rng = np.random.default_rng(seed)
    utility = budgets(rng, 12, 2, rho)
    assert has_core(utility)
    optimum = float(utility(all_sets(12)).max())
    solution = Exact().search(utility)
    assert abs(solution.value - optimum) <= score_tolerance(optimum)
    assert solution.gap == 0.0
    without = CellSearch(utility, -INF, 1.0).run()
    assert abs(without.value - optimum) <= score_tolerance(optimum)


def test_rows_that_contradict_each_other_have_no_set(small_cores):
    utility = utility_of(np.full(12, 1 / 12), [one_row(np.ones(12), 3, INF), one_row(-np.arange(1.0, 13), -40, INF)])
    assert Exact().search(utility) is None


def test_nodes_end_the_search_with_an_honest_bound(small_cores):
    utility = budgets(np.random.default_rng(0), 40, 4)
    full = Exact().search(utility)
    hurried = Exact().search(utility, Limit(nodes=1))
    assert not hurried.complete
    assert hurried.value <= full.value + 1e-9 <= hurried.bound + 2e-9


@pytest.mark.parametrize("first", [1, 5, 1000])
def test_a_relaxation_over_few_columns_is_that_over_all(first, monkeypatch):
    """Also where the first columns allow no solution: the second row asks for others."""
    rng = np.random.default_rng(0)
    utility = budgets(rng, 30, 3)
    demand = one_row(-(np.argsort(np.argsort(utility.theta)) < 10).astype(float), -2, INF)
    for each in (utility, utility_of(utility.theta, [one_row(np.ones(30), 8, INF), demand])):
        program = Programs(each).program(-30.0, 0.0)
        whole = Relaxation.from_program(program, Limit())
        monkeypatch.setattr("ubayfs.optimize.core._FIRST_COLUMNS", first)
        part = Relaxation.from_program(program, Limit())
        assert part.bound == pytest.approx(whole.bound, abs=1e-9)
        np.testing.assert_allclose(part.loss, whole.loss, atol=1e-9)
