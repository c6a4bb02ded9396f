from itertools import combinations

import numpy as np
import pytest

from amounts import seeds
from problems import all_sets, one_row, utility_of
from ubayfs.optimize import Exact
from ubayfs.optimize.base import Limit


def tangled(n=24, n_pairs=150):
    rng = np.random.default_rng(3)
    pairs = [
        one_row(np.isin(np.arange(n), rng.choice(n, 2, replace=False)), 1, rng.uniform(0.02, 0.2))
        for _ in range(n_pairs)
    ]
    return utility_of(rng.dirichlet(np.ones(n)), [one_row(np.ones(n), 10, 1.0), *pairs])


def test_nodes_are_used_up_and_end_the_search_with_an_honest_bound():
    utility = tangled()
    full = Exact().search(utility)
    limit = Limit(nodes=1)
    hurried = Exact().search(utility, limit)
    assert limit.reached()
    assert not hurried.complete
    assert hurried.value <= full.value + 1e-9
    assert hurried.bound >= full.value - 1e-9
    again = Exact().search(utility, Limit(nodes=1))
    assert (again.value, again.bound) == (hurried.value, hurried.bound)
    plenty = Limit(nodes=10**6)
    assert Exact().search(utility, plenty).value == pytest.approx(full.value, abs=1e-9)
    assert 0 < plenty.nodes < 10**6


@pytest.mark.parametrize("seed", seeds(40))
def test_few_pairs_at_once_bound_the_best_set(seed):
    """Fillers of little importance in many pairs, against all sets."""
    rng = np.random.default_rng(seed)
    n = 14
    theta = np.concatenate([rng.dirichlet(np.ones(6)), np.full(n - 6, 0.02)])
    pairs = [pair for pair in combinations(range(n), 2) if rng.random() < 0.4]
    rows = [one_row(np.isin(np.arange(n), pair), 1.0, rng.choice([0.05, 1.0, np.inf])) for pair in pairs]
    utility = utility_of(theta, rows, 1.0)
    best = utility(all_sets(n)).max()
    for most in (0, 3, 10, len(pairs)):
        found = Exact().search(utility, Limit(nodes=200, pairs=most))
        assert found.value == utility(found.chosen)[0]
        assert found.value <= best + 1e-9 <= found.bound + 2e-9
        assert found.complete == (found.gap <= 1e-9)
    assert found.value == pytest.approx(best, abs=1e-9)
