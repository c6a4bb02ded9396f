"""Among equally good sets the one that shares most with a chosen set: against all sets."""

from functools import partial

import numpy as np
import pytest

from amounts import seeds
from problems import all_sets, one_row, random_utility, selectable_sets, utility_of
from ubayfs.constraints.utility import score_tolerance
from ubayfs.optimize import Exact, Genetic
from ubayfs.optimize.alternatives import best_near, nearest_best


@pytest.mark.parametrize("seed", seeds(80))
def test_against_all_sets(seed):
    rng = np.random.default_rng(seed)
    utility, chosen = random_utility(rng, n=8), rng.random(8) < 0.5
    found = nearest_best(partial(best_near, Exact(), begin=chosen, random_state=None), utility, chosen)
    sets = selectable_sets(utility)
    values = utility(sets)
    if np.isneginf(values.max()):
        assert found is None
        return
    tolerance = score_tolerance(values.max())
    best = sets[values >= values.max() - tolerance]
    assert found.value == pytest.approx(values.max(), abs=tolerance)
    assert found.value == utility(found.chosen)[0]
    assert found.gap <= 2 * tolerance
    assert (found.chosen & chosen).sum() == (best & chosen).sum(axis=1).max()


@pytest.mark.parametrize("chosen", all_sets(4)[[3, 5, 6, 9, 10, 12]])
@pytest.mark.parametrize("optimizer", [Exact(), Genetic(n_sets=20, n_generations=20)])
def test_of_equal_features_the_chosen_ones_stay(optimizer, chosen):
    utility = utility_of([0.1] * 4, [one_row([1] * 4, 2, np.inf)])
    found = nearest_best(partial(best_near, optimizer, begin=chosen, random_state=0), utility, chosen)
    assert found.chosen.tolist() == chosen.tolist()


@pytest.mark.parametrize("optimizer", [Exact(), Genetic(n_sets=20, n_generations=20)])
def test_a_contradiction_is_not_an_error(optimizer):
    utility = utility_of([0.1, 0.2], [one_row([1, 1], 1, np.inf), one_row([-1, -1], -2, np.inf)])
    found = best_near(optimizer, utility, np.zeros(2, dtype=bool), 0)
    assert found is None or np.isneginf(found.value)
