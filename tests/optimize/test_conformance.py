"""What every registered optimizer must do; a new one is tested here without a new line."""

import numpy as np
import pytest

from amounts import seeds
from problems import one_row, random_utility, selectable_sets, utility_of
from ubayfs.exceptions import InfeasibleError, InputError
from ubayfs.optimize import OPTIMIZERS, Exact, Genetic, Optimizer, Solution, as_optimizer

INF = np.inf

# Kept small where an optimizer has a size.
SETTINGS = {"genetic": {"n_sets": 30, "n_generations": 20}}
every_optimizer = pytest.mark.parametrize("name", sorted(OPTIMIZERS))


def make(name):
    return OPTIMIZERS[name](**SETTINGS.get(name, {}))


@every_optimizer
def test_it_is_an_optimizer_and_known_by_name(name):
    assert isinstance(as_optimizer(name), Optimizer)
    assert type(as_optimizer(name)) is OPTIMIZERS[name]
    configured = make(name)
    assert as_optimizer(configured) is configured


@every_optimizer
@pytest.mark.parametrize("seed", seeds(12))
def test_its_answer_is_consistent_on_random_problems(name, seed):
    utility = random_utility(np.random.default_rng(seed), n=8)
    values = utility(selectable_sets(utility))
    try:
        found = make(name).maximize(utility, 0)
    except InfeasibleError:
        assert np.isneginf(values.max())
        return
    assert isinstance(found, Solution)
    assert found.chosen.dtype == bool
    assert found.chosen.shape == (8,)
    assert not (found.chosen & ~utility.selectable).any()
    assert found.value == utility(found.chosen)[0]
    assert found.value <= values.max()
    assert found.bound >= values.max() - 1e-12 * max(1.0, found.bound)
    assert found.gap == found.bound - found.value


@every_optimizer
@pytest.mark.parametrize("seed", seeds(12))
def test_hard_rows_hold_on_solvable_problems(name, seed):
    rng = np.random.default_rng(seed)
    n = 30
    pairs = [one_row(np.isin(np.arange(n), rng.choice(n, 2, replace=False)), 1, INF) for _ in range(10)]
    required = one_row(np.where(np.arange(n) == 29, -1, 0), -1, INF)
    utility = utility_of(rng.dirichlet(np.ones(n)), [one_row(np.ones(n), 6, INF), required, *pairs], 0.3)
    found = make(name).maximize(utility, seed)
    assert np.isfinite(found.value)
    assert found.chosen[29]
    assert found.chosen.sum() <= 6
    assert utility.admissibility.log_admissibility(found.chosen)[0] == 0


@every_optimizer
def test_the_same_seed_gives_the_same_answer(name):
    utility = random_utility(np.random.default_rng(5), n=12)
    one, same = (make(name).maximize(utility, 3) for _ in range(2))
    np.testing.assert_array_equal(one.chosen, same.chosen)
    assert (one.value, one.bound, one.info) == (same.value, same.bound, same.info)


@every_optimizer
def test_features_that_may_not_be_selected_are_not(name):
    selectable = np.arange(6) >= 3
    found = make(name).maximize(utility_of([0.9, 0.8, 0.7, 0.1, 0.1, 0.1], [], selectable=selectable), 0)
    np.testing.assert_array_equal(found.chosen, selectable)


@every_optimizer
def test_nothing_selectable_leaves_the_empty_set(name):
    rows = [one_row([1, 1], 1, 1.0), one_row([-1, 0.5], -1, 0.5)]
    utility = utility_of([0.5, 0.5], rows, selectable=[False, False])
    found = make(name).maximize(utility, 0)
    assert not found.chosen.any()
    assert found.value == utility([False, False])[0]


@pytest.mark.parametrize("seed", seeds(30))
def test_exact_is_never_worse_than_genetic(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(100, 301))
    theta = rng.dirichlet(np.full(n, 0.2))
    top = np.argsort(-theta)[:40]
    rows = [one_row(np.ones(n), rng.integers(4, 12), rng.choice([0.3, 1.0, INF]))]
    rows += [
        one_row(np.isin(np.arange(n), rng.choice(top, 2, replace=False)), 1, rng.uniform(0.5, 9)) for _ in range(25)
    ]
    rows.append(one_row(rng.random(n) * (rng.random(n) < 0.5), 1.5, 1.0))
    for i, j in rng.choice(top, (4, 2), replace=False):
        rows.append(one_row(np.eye(n)[i] - np.eye(n)[j], 0, 0.7))
    utility = utility_of(theta, rows, rng.choice([0.3, 1.0, 5.0]))
    exact = Exact().maximize(utility)
    genetic = Genetic(n_sets=40, n_generations=20).maximize(utility, seed)
    assert exact.value >= genetic.value - 1e-12
    assert exact.complete
    assert exact.gap <= 1e-9 * max(1.0, exact.value)
    assert genetic.bound >= exact.value


@pytest.mark.parametrize("wrong", ["exakt", 3, None, Exact])
def test_what_is_not_an_optimizer_is_refused(wrong):
    with pytest.raises(InputError, match=r"optimizer must be one of 'exact', 'genetic'"):
        as_optimizer(wrong)


def test_a_time_limit_reaches_the_optimizer_or_is_refused():
    assert as_optimizer("exact", 2.5) == Exact(time_limit=2.5)
    assert as_optimizer(Exact(time_limit=9.0), 2.5) == Exact(time_limit=2.5)
    assert as_optimizer(Exact(time_limit=9.0)) == Exact(time_limit=9.0)
    with pytest.raises(InputError, match="time_limit is not supported by Genetic; use the optimizer 'exact'"):
        as_optimizer("genetic", 2.5)
    with pytest.raises(InputError, match=r"time_limit must be a number in \(0, inf\]; got 0"):
        as_optimizer("exact", 0)
