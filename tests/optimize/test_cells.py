import numpy as np
import pytest

from amounts import seeds
from problems import all_selectable, all_sets, one_row, random_utility, selectable_sets, utility_of
from ubayfs.constraints.utility import score_tolerance
from ubayfs.exceptions import InfeasibleError
from ubayfs.optimize import Exact
from ubayfs.optimize.cells import CellSearch, best_of_all, has_extreme_range
from ubayfs.optimize.program import Programs
from ubayfs.optimize.solver import Answer

INF = np.inf


def search(utility, cutoff=-INF, limit=None):
    return CellSearch(utility, cutoff, float(utility.theta.sum()), limit).run()


@pytest.mark.parametrize("seed", seeds(40))
def test_cells_find_the_best_set_without_knowing_one(seed):
    utility = all_selectable(seed, 7)
    optimum = utility(selectable_sets(utility)).max()
    result = search(utility)
    if np.isneginf(optimum):
        assert result.chosen is None
        assert np.isneginf(result.bound)
        return
    assert result.value == utility(result.chosen)[0]
    assert optimum - score_tolerance(optimum) <= result.value <= optimum
    assert optimum <= result.bound + 1e-12 * max(1.0, optimum)
    assert result.bound <= optimum + score_tolerance(optimum)


def test_when_the_solver_gives_up_the_bound_stays_honest(monkeypatch):
    monkeypatch.setattr("ubayfs.optimize.cells._MOST_FEATURES_OTHERWISE", -1)  # as for any larger problem
    """A solver in numerical trouble returns no set and no bound."""
    utility = utility_of([0.5, 0.3, 0.2], [one_row([1, 1, 0.5], 1, 2.0), one_row([1, 0, 0], 0, INF)])
    monkeypatch.setattr(Programs, "solve", lambda self, *cell: Answer(None, INF, False))
    result = search(utility, cutoff=0.9)
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


def test_rows_of_extreme_range_are_enumerated_where_that_is_possible():
    ordinary = utility_of(np.full(14, 1 / 14), [one_row(np.arange(1.0, 15.0), 20, 0.1)])
    extreme = utility_of(np.full(14, 1 / 14), [one_row([1e-5, *np.arange(1.0, 13.0), 1e9], 20, 0.1)])
    assert (has_extreme_range(ordinary), has_extreme_range(extreme)) == (False, True)
    assert Exact().search(extreme).value == pytest.approx(extreme(all_sets(14)).max(), abs=1e-9)


@pytest.mark.parametrize("block", seeds(8))
def test_small_problems_are_solved_without_programs(block):
    for seed in range(25 * block, 25 * (block + 1)):
        utility = random_utility(np.random.default_rng(seed))
        optimum = utility(selectable_sets(utility)).max()
        if np.isneginf(optimum):
            with pytest.raises(InfeasibleError, match="cannot hold together"):
                Exact().maximize(utility)
            continue
        solution = Exact().maximize(utility)
        assert solution.value == pytest.approx(optimum, rel=1e-9, abs=1e-9)
        assert solution.gap <= 1e-9 * max(1.0, abs(optimum))
        assert solution.info["n_programs"] == 0


def test_no_features_leave_the_empty_set():
    assert best_of_all(utility_of([], []), -INF).chosen.shape == (0,)


@pytest.mark.parametrize("seed", seeds(20))
def test_all_sets_are_tried_when_the_solver_gives_up_although_there_is_time(seed, monkeypatch):
    monkeypatch.setattr(Programs, "solve", lambda *_: Answer(None, INF, False))
    utility = all_selectable(seed, 7)
    optimum = utility(selectable_sets(utility)).max()
    result = search(utility)
    assert result.value == optimum
    assert (result.chosen is None) == np.isneginf(optimum)
