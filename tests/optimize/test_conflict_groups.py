import itertools

import numpy as np
import pytest

from amounts import seeds
from problems import one_row, random_utility, selectable_sets, utility_of
from ubayfs.optimize.size_bounds import SizeBounds, exclusions

INF = np.inf


def pair_utility(seed, n=9):
    """Random rows, many pairs among them, and a limit of the size."""
    rng = np.random.default_rng(seed)
    system = random_utility(rng, n).system
    rows = [one_row(np.ones(n), rng.integers(1, n), rng.choice([0.5, 5.0, INF]))]
    for _ in range(rng.integers(0, 20)):
        group = rng.choice(n, rng.integers(2, 5), replace=False)
        rows.append(one_row(np.isin(np.arange(n), group), 1, rng.choice([0.3, 3.0, INF])))
    for row in rows:
        system = system.with_inequalities(row)
    selectable = rng.random(n) < rng.choice([0.8, 2.0])
    return type(random_utility(rng, n))(rng.dirichlet(np.ones(n)), system, float(rng.choice([0.1, 1.0])), selectable)


@pytest.mark.parametrize("seed", seeds(40))
def test_no_set_of_two_excluding_features_is_more_admissible(seed):
    utility = pair_utility(seed, n=7)
    sets = selectable_sets(utility)
    log_kappa = utility.admissibility.log_admissibility(sets)
    bound = exclusions(utility.system)
    np.testing.assert_array_equal(bound, bound.T)
    for i, j in itertools.combinations(range(7), 2):
        both = sets[:, i] & sets[:, j]
        assert (log_kappa[both] <= bound[i, j] + 1e-12).all()


@pytest.mark.parametrize("grouped", [0, 4, 300])
@pytest.mark.parametrize("seed", seeds(60))
def test_bounds_and_contenders_hold_for_every_better_set(seed, grouped, monkeypatch):
    monkeypatch.setattr("ubayfs.optimize.size_bounds._MOST_GROUPED", grouped)
    utility = pair_utility(seed)
    sizes = SizeBounds.from_utility(utility)
    sets = selectable_sets(utility)
    values = utility(sets)
    reached = values[np.isfinite(values)]
    cutoffs = np.quantile(reached, [0.5, 0.9, 0.99]).tolist() if len(reached) else []
    for cutoff in (-INF, *cutoffs):
        if len(sizes.plausible(cutoff)) == 0:
            continue
        bounds = sizes.grouped(cutoff)
        better = values > cutoff + 1e-12
        size = sets[better].sum(axis=1)
        assert (values[better] <= bounds.value[size] + 1e-12).all()
        assert (sets[better] @ utility.theta <= bounds.importance[size] + 1e-12).all()
        # A set found later cuts off more.
        for later in (cutoff, float(np.quantile(reached, 0.995)) if len(reached) else cutoff):
            still = values > max(later, cutoff) + 1e-12
            contenders = bounds.contenders(max(later, cutoff))
            assert set(np.flatnonzero(sets[still].any(axis=0))) <= set(contenders.tolist())


def test_a_feature_out_of_sight_may_make_up_for_two(monkeypatch):
    monkeypatch.setattr("ubayfs.optimize.size_bounds._MOST_GROUPED", 2)
    utility = utility_of([0.4, 0.3, 0.2, 0.1], [one_row([1, 1, 0, -1], 1, INF), one_row([1, 1, 0, 0], 2, INF)])
    bounds = SizeBounds.from_utility(utility).grouped(-INF)
    assert bounds.group.tolist() == [0, 1, 2, 3]


def test_groups_leave_few_contenders_where_sizes_leave_all():
    # Ten bundles of ten that exclude each other; the best of each make the best set.
    theta = (np.repeat(np.linspace(1.0, 0.4, 10), 10) - np.tile(np.arange(10), 10) * 0.02) / 60
    pairs = [
        one_row(np.isin(np.arange(100), (10 * bundle + i, 10 * bundle + j)), 1, 30.0)
        for bundle in range(10) for i, j in itertools.combinations(range(10), 2)
    ]  # fmt: skip
    utility = utility_of(theta, [one_row(np.ones(100), 5, INF), *pairs])
    best = np.arange(100) % 10 == 0
    best[50:] = False
    known = float(utility(best)[0])
    sizes = SizeBounds.from_utility(utility)
    assert len(sizes.contenders(known)) > 50
    bounds = sizes.grouped(known - 1e-4)
    assert bounds.value.max() == pytest.approx(known)
    assert set(bounds.contenders(known - 1e-4)) == set(np.flatnonzero(best))
    assert len(bounds.contenders(known + 1e-12)) == 0
