import numpy as np
import pytest

from problems import one_row, random_utility, selectable_sets, utility_of
from ubayfs.exceptions import InfeasibleError
from ubayfs.optimize import Exact
from ubayfs.optimize.cells import CellSearch
from ubayfs.optimize.enumeration import best_of_all, few_sets
from ubayfs.utility import Utility

INF = np.inf


@pytest.mark.parametrize("seed", range(60))
def test_looking_at_all_sets_agrees_with_programs(seed):
    rng = np.random.default_rng(seed)
    utility = random_utility(rng, n=int(rng.integers(2, 9)))
    utility = Utility(utility.theta, utility.system, utility.constraint_strength, np.ones(utility.n_features, bool))
    values = utility(selectable_sets(utility))
    known = rng.choice([-INF, float(np.median(values)), float(values.max())])
    found, by_programs = (
        best_of_all(utility, known),
        CellSearch(utility, known, float(utility.theta.sum()), None).run(),
    )
    assert found.value == pytest.approx(by_programs.value, rel=2e-9, abs=2e-9)
    assert found.bound == pytest.approx(by_programs.bound, rel=2e-9, abs=2e-9)
    assert (found.chosen is None) == (values.max() <= known)
    if found.chosen is not None:
        assert found.value == found.bound == values.max() == utility(found.chosen)[0]


@pytest.mark.parametrize("block", range(8))
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


def test_many_features_or_rows_are_not_few_sets():
    assert few_sets(utility_of(np.ones(12), [one_row(np.ones(12), 3, 1.0)]))
    assert not few_sets(utility_of(np.ones(13), [one_row(np.ones(13), 3, 1.0)]))
    assert not few_sets(utility_of(np.ones(12), [one_row(np.ones(12), 3, 1.0)] * 65))


def test_no_features_leave_the_empty_set():
    assert best_of_all(utility_of([], []), -INF).chosen.shape == (0,)
