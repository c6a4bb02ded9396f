import time

import numpy as np
import pytest

from amounts import seeds
from problems import all_selectable, all_sets, one_row, selectable_sets, utility_of
from ubayfs.constraints.utility import score_tolerance
from ubayfs.optimize.local_search import LocalSearch
from ubayfs.optimize.tabu_search import Flips, TabuSearch

INF = np.inf


def assert_right(flips, search):
    """Everything is what a computation from scratch gives, for the set and for its neighbors."""
    penalty, strength = search.hard_penalty, search.utility.constraint_strength
    merit = flips.importance + strength * np.exp(flips.log_kappa) - penalty * flips.violation
    gains = flips.sign * flips.theta
    log_kappa, violation = flips.log_kappa + flips.log_gain, flips.violation + flips.violation_gain
    merits = flips.importance + gains + strength * np.exp(log_kappa) - penalty * violation
    expected = search.one_flipped(flips.chosen, np.arange(search.n))
    np.testing.assert_allclose(np.append(merit, merits), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", seeds(60))
def test_gains_stay_right_while_features_are_flipped(seed):
    """Hard, soft, real and block rows; features in several blocks of a row among them."""
    utility = all_selectable(seed)
    search, rng = LocalSearch(utility), np.random.default_rng(seed)
    flips = Flips(search, all_sets(8)[rng.integers(256)])
    assert_right(flips, search)
    for feature in rng.integers(8, size=25).tolist():
        expected = flips.chosen ^ (np.arange(8) == feature)
        flips.flip(feature)
        np.testing.assert_array_equal(flips.chosen, expected)
        assert_right(flips, search)
    flips.reset(all_sets(8)[rng.integers(256)])
    assert_right(flips, search)


def test_small_problems_are_solved_from_any_start():
    """Brute force is met on nearly all of them; nothing that is returned breaks a hard row if the start does not."""
    missed = 0
    for seed in seeds(40):
        utility = all_selectable(seed, n=9)
        values = utility(selectable_sets(utility))
        start = all_sets(9)[np.random.default_rng(seed).integers(512)]
        search = TabuSearch(utility, start)
        found = search.run(400)
        assert search.best_value == utility(found)[0] >= utility(start)[0]
        missed += values.max() > search.best_value + score_tolerance(values.max())
    assert missed <= len(seeds(40)) // 40


def test_a_set_that_keeps_the_hard_rows_is_found_from_one_that_does_not():
    rng = np.random.default_rng(0)
    pairs = [one_row(np.isin(np.arange(30), rng.choice(30, 2, replace=False)), 1, INF) for _ in range(60)]
    utility = utility_of(np.full(30, 1 / 30), [one_row(-np.ones(30), -8, INF), *pairs])
    assert np.isneginf(utility(np.ones(30))[0])
    assert np.isfinite(utility(TabuSearch(utility, np.ones(30, dtype=bool)).run(500))[0])


def soft_pairs(seed, n=60):
    """Equal importances, 30 % of all pairs soft, a soft limit of the size: nearly as good sets everywhere."""
    rng = np.random.default_rng(seed)
    ends = [(i, j) for i in range(n) for j in range(i) if rng.random() < 0.3]
    rows = [one_row(np.isin(np.arange(n), pair), 1, rng.uniform(0.005, 0.02)) for pair in ends]
    return utility_of(np.full(n, 1 / n), [one_row(np.ones(n), 18, 1.0), *rows])


@pytest.mark.parametrize("seed", range(3))
def test_sets_that_no_single_move_or_swap_improves_are_left(seed):
    utility = soft_pairs(seed)
    stuck = LocalSearch(utility).improve(np.zeros(60, dtype=bool))
    found = TabuSearch(utility, stuck).run(1000)
    assert found is not stuck
    assert utility(found)[0] > utility(stuck)[0] + 1e-4


def test_the_result_depends_on_the_number_of_steps_and_not_on_the_clock(monkeypatch):
    utility = soft_pairs(1, n=40)
    start = np.zeros(40, dtype=bool)
    first = TabuSearch(utility, start).run(500)
    monkeypatch.setattr(time, "monotonic", iter(range(10**6)).__next__)
    np.testing.assert_array_equal(TabuSearch(utility, start).run(500), first)
    np.testing.assert_array_equal(TabuSearch(utility, start).run(500, deadline=-1.0), start)


def test_the_search_leaves_sets_that_violate_so_much_that_only_importance_counts():
    n, pairs = 60, np.argwhere(np.triu(np.random.default_rng(0).random((60, 60)) < 0.15, 1))
    rows = [one_row(np.isin(np.arange(n), pair), 1, 0.3) for pair in pairs]
    utility = utility_of(np.full(n, 1 / n), [*rows, one_row(np.full(n, -1.0), -20, 0.5)])
    everything = np.ones(n, dtype=bool)
    assert utility(everything)[0] == pytest.approx(1.0)
    assert utility(TabuSearch(utility, everything).run(1000))[0] > 1.1
