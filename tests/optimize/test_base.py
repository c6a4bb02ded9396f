import numpy as np
import pytest

from problems import one_row, utility_of
from ubayfs.optimize import Exact
from ubayfs.optimize.base import Limit


def tangled(n=40, n_pairs=300):
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


def test_without_limits_nothing_is_reached():
    limit = Limit()
    limit.spend(10**9)
    assert not limit.reached()
    assert limit.options() == {}
    assert Limit(deadline=0.0).reached()
    assert Limit(deadline=0.0, nodes=3).options() == {"time_limit": 1e-3, "node_limit": 3}
