import time

import numpy as np
import pytest

from amounts import seeds
from problems import one_row, random_utility, selectable_sets, utility_of
from ubayfs.exceptions import InfeasibleError, OptimizationError
from ubayfs.optimize.alternatives import find_alternatives, without
from ubayfs.optimize.exact import Exact
from ubayfs.optimize.genetic import Genetic


def test_a_cut_excludes_one_set_and_no_other():
    utility = utility_of([0.5, 0.3, 0.2], [])
    chosen = np.array([True, False, True])
    sets = selectable_sets(utility)
    excluded = np.isneginf(without(utility, chosen)(sets))
    np.testing.assert_array_equal(excluded, (sets == chosen).all(axis=1))


@pytest.mark.parametrize("seed", seeds(60))
def test_alternatives_are_the_next_best_sets_of_brute_force(seed):
    utility = random_utility(np.random.default_rng(1000 + seed), n=7)
    sets = selectable_sets(utility)
    values = np.sort(utility(sets))[::-1]
    try:
        best = Exact().maximize(utility)
    except InfeasibleError:
        return
    alternatives = find_alternatives(Exact(), utility, best, 5)
    found = (best, *alternatives.solutions)
    assert alternatives.complete
    expected = values[np.isfinite(values)][:6]
    assert [s.value for s in found] == pytest.approx(expected, abs=1e-8 * max(1, abs(expected[0])))
    assert len({s.chosen.tobytes() for s in found}) == len(found)


@pytest.mark.parametrize("differ_by", [2, 3])
@pytest.mark.parametrize("seed", seeds(30))
def test_sets_that_lack_enough_of_all_before_are_the_next_best_of_brute_force(seed, differ_by):
    utility = random_utility(np.random.default_rng(2000 + seed), n=7)
    sets = selectable_sets(utility)
    values = utility(sets)
    try:
        best = Exact().maximize(utility)
    except InfeasibleError:
        return
    found = find_alternatives(Exact(), utility, best, 4, differ_by=differ_by).solutions
    before = [best.chosen]
    for number in range(4):
        allowed = [
            all((one & other).sum() <= max(other.sum() - differ_by, 0) for other in before)
            and not any((one == other).all() for other in before)
            for one in sets
        ]
        highest = values[allowed].max(initial=-np.inf)
        assert (number < len(found)) == np.isfinite(highest)
        if number == len(found):
            break
        assert found[number].value == pytest.approx(highest, abs=1e-8 * max(1, abs(highest)))
        before.append(found[number].chosen)


def test_fewer_alternatives_when_there_are_no_more_sets():
    utility = utility_of([0.6, 0.4], [one_row([1, 1], 1, np.inf)])
    best = Exact().maximize(utility)
    assert len(find_alternatives(Exact(), utility, best, 10).solutions) == 2


def test_an_optimizer_without_proof_lists_no_set_that_breaks_a_hard_row():
    # Only the empty set and two others keep the hard rows; the genetic search cannot tell, and lists nothing else.
    utility = utility_of([0.6, 0.4], [one_row([1, 1], 1, np.inf)])
    search = Genetic(n_sets=4, n_generations=5)
    best = search.maximize(utility, 0)
    found = find_alternatives(search, utility, best, 10, 0).solutions
    assert [solution.value for solution in (best, *found)] == pytest.approx([1.6, 1.4, 1.0])


def test_the_time_limit_covers_all_alternatives_and_a_list_cut_short_says_so():
    utility = utility_of([0.5, 0.3, 0.2], [one_row([1, 1, 1], 2, np.inf)])
    best = Exact().maximize(utility)
    late = find_alternatives(Exact(time_limit=1e6), utility, best, 3, deadline=time.monotonic() - 1.0)
    assert late == ((), False)
    in_time = find_alternatives(Exact(time_limit=1e6), utility, best, 3, deadline=time.monotonic() + 1e6)
    assert (len(in_time.solutions), in_time.complete) == (3, True)


def test_a_set_not_found_in_time_is_not_taken_for_one_that_does_not_exist(monkeypatch):
    utility = utility_of([0.5, 0.3, 0.2], [one_row([1, 1, 1], 2, np.inf)])
    best = Exact().maximize(utility)

    def too_late(self, utility, limit=None):
        raise OptimizationError("time_limit was reached")

    monkeypatch.setattr(Exact, "search", too_late)
    assert find_alternatives(Exact(), utility, best, 3) == ((), False)
