import numpy as np
import pytest

from problems import one_row, random_utility, selectable_sets, utility_of
from ubayfs.optimize.budget import Limit
from ubayfs.optimize.cells import CellSearch, gap_tolerance
from ubayfs.optimize.program import Answer, Programs
from ubayfs.utility import Utility

INF = np.inf


def all_selectable(seed, n=7):
    utility = random_utility(np.random.default_rng(seed), n)
    return Utility(utility.theta, utility.system, utility.constraint_strength, np.ones(n, dtype=bool))


def search(utility, known=-INF, limit=None):
    return CellSearch(utility, known, float(utility.theta.sum()), limit).run()


@pytest.mark.parametrize("seed", range(40))
def test_cells_find_the_best_set_without_knowing_one(seed):
    utility = all_selectable(seed)
    optimum = utility(selectable_sets(utility)).max()
    result = search(utility)
    if np.isneginf(optimum):
        assert result.chosen is None
        assert np.isneginf(result.bound)
        return
    assert result.value == utility(result.chosen)[0]
    assert optimum - gap_tolerance(optimum) <= result.value <= optimum
    assert optimum <= result.bound + 1e-12 * max(1.0, optimum)
    assert result.bound <= optimum + gap_tolerance(optimum)


@pytest.mark.parametrize("seed", range(40))
def test_with_the_best_value_known_nothing_is_found_and_the_bound_proves_it(seed):
    utility = all_selectable(seed)
    optimum = utility(selectable_sets(utility)).max()
    if np.isneginf(optimum):
        return
    result = search(utility, known=float(optimum))
    assert result.chosen is None
    assert result.bound <= optimum + gap_tolerance(optimum)


@pytest.mark.parametrize("seed", range(10))
def test_without_time_the_bound_still_holds(seed):
    utility = all_selectable(seed)
    optimum = utility(selectable_sets(utility)).max()
    result = search(utility, limit=Limit(deadline=0.0))
    assert result.n_programs == 0
    assert result.chosen is None
    assert result.bound >= optimum


def test_when_the_solver_gives_up_the_bound_stays_honest(monkeypatch):
    """A solver in numerical trouble returns no set and no bound."""
    utility = utility_of([0.5, 0.3, 0.2], [one_row([1, 1, 0.5], 1, 2.0), one_row([1, 0, 0], 0, INF)])
    monkeypatch.setattr(Programs, "solve", lambda self, *cell: Answer(None, INF, False))
    result = search(utility, known=0.9)
    assert result.chosen is None
    assert result.bound == pytest.approx(2.0)


def test_a_set_that_only_the_solvers_tolerance_admits_is_excluded_by_name(monkeypatch):
    """The first answer violates a hard row, as if by less than the solver's tolerance."""
    utility = utility_of([0.6, 0.4], [one_row([1, 1], 1, INF)])
    solve = Programs.solve

    def careless(self, low, high, limit):
        wrong = np.array([True, True])
        if not any((wrong == other).all() for other in self.forbidden):
            return Answer(wrong, 2.0, False)
        return solve(self, low, high, limit)

    monkeypatch.setattr(Programs, "solve", careless)
    result = search(utility)
    np.testing.assert_array_equal(result.chosen, [True, False])
    assert result.bound == pytest.approx(1.6)


@pytest.mark.parametrize(("value", "tolerance"), [(0.2, 1e-9), (-INF, 1e-9), (50.0, 5e-8)])
def test_the_tolerated_gap(value, tolerance):
    assert gap_tolerance(value) == pytest.approx(tolerance, rel=1e-12)
