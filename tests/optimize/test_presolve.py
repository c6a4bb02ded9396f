import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from problems import one_row, random_utility, selectable_sets, utility_of
from ubayfs.optimize.presolve import Fillers, SizeBounds, column_classes, pair_rows, reduce, rows_within

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


@pytest.mark.parametrize("seed", range(25))
def test_size_bounds_dominate_every_set(seed):
    utility = sized_utility(seed)
    sizes = SizeBounds.of(utility)
    sets = selectable_sets(utility)
    values = utility(sets)
    assert (values <= sizes.value[sets.sum(axis=1)] + 1e-12).all()


@pytest.mark.parametrize("seed", range(20))
def test_size_bounds_are_attained_when_rows_see_only_the_size(seed):
    rng = np.random.default_rng(seed)
    n = 8
    selectable = rng.random(n) < 0.8
    rows = [one_row(np.ones(n), 3, 0.7), one_row(-0.1 * np.ones(n), -0.2, 2.0)]
    # Features that may not be selected do not make a row less uniform.
    rows.append(one_row(np.where(selectable, 1.0, 5.0), 6, INF))
    utility = utility_of(rng.dirichlet(np.ones(n)), rows, 0.8, selectable=selectable)
    sizes = SizeBounds.of(utility)
    assert sizes.only_size
    sets = selectable_sets(utility)
    values = utility(sets)
    for size in range(selectable.sum() + 1):
        assert sizes.value[size] == pytest.approx(values[sets.sum(axis=1) == size].max(), abs=1e-12)
    assert sizes.value[sizes.best_size()] == pytest.approx(values.max())


def test_rows_on_some_features_or_on_blocks_are_not_about_size():
    blocks = sparse.csr_array(np.ones((4, 4), dtype=bool))
    assert not SizeBounds.of(utility_of(np.ones(4), [one_row([1, 1, 1, 0], 1, 1.0)])).only_size
    assert not SizeBounds.of(utility_of(np.ones(4), [one_row([1, 1, 1, 2], 1, 1.0)])).only_size
    assert not SizeBounds.of(
        utility_of(np.ones(4), [one_row(np.ones(4), 1, 1.0, on_blocks=True)], 1.0, blocks)
    ).only_size


@pytest.mark.parametrize("seed", range(30))
def test_contenders_hold_every_better_set(seed):
    utility = sized_utility(seed)
    sizes = SizeBounds.of(utility)
    sets = selectable_sets(utility)
    values = utility(sets)
    reached = values[np.isfinite(values)]
    cutoffs = np.quantile(reached, [0.5, 0.9, 0.99]).tolist() if len(reached) else []
    for cutoff in (-INF, *cutoffs):
        contenders = sizes.contenders(cutoff, utility.constraint_strength)
        better = sets[values > cutoff + 1e-12]
        assert set(np.flatnonzero(better.any(axis=0))) <= set(contenders.tolist())
        assert set(better.sum(axis=1)) <= set(sizes.plausible(cutoff).tolist())


def test_contenders_are_few_when_a_good_set_is_known():
    theta = np.arange(100, 0, -1) / 5050
    utility = utility_of(theta, [one_row(np.ones(100), 3, 50.0), one_row(np.arange(100) < 2, 1, 0.01)])
    known = utility(np.arange(100) < 3)[0]
    contenders = SizeBounds.of(utility).contenders(known, 1.0)
    # The known set loses 0.005 of admissibility; that is what 25 places of importance, 1/5050 each, may cost.
    np.testing.assert_array_equal(contenders, np.arange(28))
    assert len(SizeBounds.of(utility).contenders(np.inf, 1.0)) == 0


sparse_matrices = hnp.arrays(
    np.float64, st.tuples(st.integers(1, 4), st.integers(1, 9)), elements=st.sampled_from([0.0, 0.0, 1.0, -1.0, 0.5])
)


@given(sparse_matrices, st.data())
def test_column_classes_are_the_classes_of_equal_columns(matrix, data):
    n = matrix.shape[1]
    importance = data.draw(st.none() | hnp.arrays(np.float64, n, elements=st.sampled_from([0.0, 0.1])))
    labels = column_classes(sparse.csc_array(matrix), importance)
    for i, j in itertools.combinations(range(n), 2):
        same = (matrix[:, i] == matrix[:, j]).all() and (importance is None or importance[i] == importance[j])
        assert (labels[i] == labels[j]) == same


def test_columns_with_equal_projections_are_told_apart():
    # The projection of the second column equals that of the first; only the check can tell.
    weights = np.random.default_rng(0).standard_normal(2)
    columns = np.array([[weights[1], 0.0], [0.0, weights[0]]])
    labels = column_classes(sparse.csc_array(columns))
    assert labels[0] != labels[1]


@pytest.mark.parametrize("seed", range(30))
def test_representatives_keep_an_optimum(seed):
    """Few different columns, so that classes are large: the K best of each class suffice for sets up to K."""
    rng = np.random.default_rng(seed)
    n, size = 9, int(rng.integers(1, 5))
    patterns = rng.integers(-1, 2, (3, 3))[:, rng.integers(0, 3, n)]
    rows = [one_row(a, rng.integers(0, 3), rng.choice([0.5, 3.0, INF])) for a in patterns]
    utility = utility_of(rng.dirichlet(np.ones(n)), [one_row(np.ones(n), size, INF), *rows], 0.7)
    fillers = Fillers(utility, size)
    every = np.arange(n)
    features = fillers.representatives(every, np.arange(4), size)
    sets = selectable_sets(utility)
    values = utility(sets)
    inside = ~sets[:, np.setdiff1d(every, features)].any(axis=1)
    assert values[inside].max() == values.max()
    labels = column_classes(sparse.csc_array(utility.system.A))
    assert np.bincount(labels[features]).max() <= size


@pytest.mark.parametrize("seed", range(20))
def test_a_reduced_utility_values_sets_like_the_full_one(seed):
    utility = random_utility(np.random.default_rng(seed), n=8)
    features = np.flatnonzero(np.random.default_rng(seed).random(8) < 0.6)
    reduced = reduce(utility, np.arange(utility.system.n_inequalities), features)
    sets = selectable_sets(reduced.utility)
    lifted = np.array([reduced.lift(row, 8) for row in sets])
    np.testing.assert_allclose(reduced.utility(sets), utility(lifted), rtol=1e-12)


def test_pair_rows_ask_for_at_most_one_of_two():
    rows = [
        one_row([1, 1, 0], 1, 1.0),
        one_row([2, 0, 3], 3, 1.0),
        one_row([0, 2, 3], 2, 1.0),  # the last alone violates it
        one_row([1, -1, 0], 1, 1.0),
        one_row([1, 1, 1], 1, 1.0),
        one_row([1, 0, 0], 0, 1.0),
    ]
    np.testing.assert_array_equal(pair_rows(utility_of(np.ones(3), rows).system), [0, 1])
    blocks = sparse.csr_array(np.ones((2, 3), dtype=bool))
    on_blocks = utility_of(np.ones(3), [one_row([1, 1], 1, 1.0, on_blocks=True)], blocks=blocks)
    assert len(pair_rows(on_blocks.system)) == 0


def filler_utility(n=70, important=3):
    """Pairs among many tied features and a few important ones."""
    theta = np.where(np.arange(n) < important, 0.3, 1e-6)
    rows = [one_row(np.isin(np.arange(n), pair), 1, 1.0) for pair in [(0, 1), (0, 5), (5, 6), (6, 7), (5, 6)]]
    return utility_of(theta, [one_row(np.ones(n), 5, 1.0), *rows])


def test_pairs_of_fillers_are_left_out_at_first_and_put_back_when_violated():
    fillers = Fillers(filler_utility(), 5)
    np.testing.assert_array_equal(np.flatnonzero(fillers.core), [0, 1])
    np.testing.assert_array_equal(fillers.program_rows(np.arange(70)), [0, 1])
    chosen = np.isin(np.arange(70), [5, 6])
    assert fillers.promote(chosen)
    assert fillers.core[[5, 6]].all()
    assert set(fillers.program_rows(np.arange(70))) >= {0, 1, 2, 3, 5}
    assert not fillers.promote(chosen)


def test_fillers_are_exchanged_for_tied_ones_without_violations():
    utility = filler_utility()
    fillers = Fillers(utility, 5)
    chosen = np.isin(np.arange(70), [2, 5, 6, 7])
    completed = fillers.complete(chosen)
    assert completed.sum() == 4
    assert completed[2]
    assert utility.admissibility.log_admissibility(completed)[0] == 0
    assert utility(completed)[0] > utility(chosen)[0]


@pytest.mark.parametrize("seed", range(20))
def test_rows_within_some_features_are_all_that_their_sets_can_violate(seed):
    rng = np.random.default_rng(seed)
    pairs = [one_row(np.isin(np.arange(6), rng.choice(6, 2, replace=False)), 1, 1.0) for _ in range(8)]
    utility = utility_of(rng.random(6), [one_row(np.ones(6), 2, 1.0), *pairs])
    features = np.flatnonzero(rng.random(6) < 0.6)
    rows = rows_within(utility.system, features)
    inside = [0, *(1 + k for k, pair in enumerate(pairs) if np.isin(pair.A.indices, features).all())]
    assert rows.tolist() == inside
    part = reduce(utility, rows, features)
    sets = selectable_sets(part.utility)
    np.testing.assert_allclose(part.utility(sets), utility(np.array([part.lift(one, 6) for one in sets])))
