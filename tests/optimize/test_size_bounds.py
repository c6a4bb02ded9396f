import numpy as np
import pytest

from amounts import seeds
from problems import one_row, random_utility, selectable_sets, utility_of
from ubayfs.optimize import Exact
from ubayfs.optimize.size_bounds import SizeBounds

INF = np.inf


def sized_utility(seed, n=8):
    """A random problem to which rows on the size are added, so that the size bounds say something."""
    rng = np.random.default_rng(seed)
    base = random_utility(rng, n)
    rows = [one_row(np.ones(n), rng.integers(1, n), rng.choice([0.5, 5.0, INF]))]
    if rng.random() < 0.5:
        rows.append(one_row(-2 * np.ones(n), -rng.integers(1, n), rng.choice([0.5, 5.0])))
    system = base.system
    for row in rows:
        system = system.with_inequalities(row)
    return type(base)(base.theta, system, base.constraint_strength, base.selectable)


@pytest.mark.parametrize("seed", seeds(25))
def test_size_bounds_dominate_every_set(seed):
    utility = sized_utility(seed)
    sizes = SizeBounds.from_utility(utility)
    sets = selectable_sets(utility)
    values = utility(sets)
    assert (values <= sizes.value[sets.sum(axis=1)] + 1e-12).all()


@pytest.mark.parametrize("seed", seeds(20))
def test_size_bounds_are_attained_when_rows_see_only_the_size(seed):
    rng = np.random.default_rng(seed)
    n = 8
    selectable = rng.random(n) < 0.8
    rows = [one_row(np.ones(n), 3, 0.7), one_row(-0.1 * np.ones(n), -0.2, 2.0)]
    # Features that may not be selected do not make a row less uniform.
    rows.append(one_row(np.where(selectable, 1.0, 5.0), 6, INF))
    utility = utility_of(rng.dirichlet(np.ones(n)), rows, 0.8, selectable=selectable)
    sizes = SizeBounds.from_utility(utility)
    assert sizes.only_size
    sets = selectable_sets(utility)
    values = utility(sets)
    for size in range(selectable.sum() + 1):
        assert sizes.value[size] == pytest.approx(values[sets.sum(axis=1) == size].max(), abs=1e-12)
    assert sizes.value[sizes.best_size()] == pytest.approx(values.max())


@pytest.mark.parametrize("seed", seeds(30))
def test_contenders_hold_every_better_set(seed):
    utility = sized_utility(seed)
    sizes = SizeBounds.from_utility(utility)
    sets = selectable_sets(utility)
    values = utility(sets)
    reached = values[np.isfinite(values)]
    cutoffs = np.quantile(reached, [0.5, 0.9, 0.99]).tolist() if len(reached) else []
    for cutoff in (-INF, *cutoffs):
        contenders = sizes.contenders(cutoff)
        better = sets[values > cutoff + 1e-12]
        assert set(np.flatnonzero(better.any(axis=0))) <= set(contenders.tolist())
        assert set(better.sum(axis=1)) <= set(sizes.plausible(cutoff).tolist())


def test_contenders_are_few_when_a_good_set_is_known():
    theta = np.arange(100, 0, -1) / 5050
    utility = utility_of(theta, [one_row(np.ones(100), 3, 50.0), one_row(np.arange(100) < 2, 1, 0.01)])
    known = utility(np.arange(100) < 3)[0]
    contenders = SizeBounds.from_utility(utility).contenders(known)
    # The known set loses 0.005 of admissibility; that is what 25 places of importance, 1/5050 each, may cost.
    np.testing.assert_array_equal(contenders, np.arange(28))
    assert len(SizeBounds.from_utility(utility).contenders(np.inf)) == 0


def test_the_first_of_equals_are_chosen():
    theta = np.full(200, 0.01)
    theta[77] = 0.02
    best = Exact().maximize(utility_of(theta, [one_row(np.ones(200), 4, INF)]))
    assert np.flatnonzero(best.chosen).tolist() == [0, 1, 2, 77]
