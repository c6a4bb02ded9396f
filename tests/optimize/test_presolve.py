import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from amounts import seeds
from problems import one_row, selectable_sets, utility_of
from ubayfs.constraints import max_per_block, must_link, resolve
from ubayfs.constraints.utility import Utility
from ubayfs.optimize.presolve import (
    Fillers,
    LinkedUtility,
    column_classes,
    within_bounds,
)

INF = np.inf


sparse_matrices = hnp.arrays(
    np.float64, st.tuples(st.integers(1, 4), st.integers(1, 9)), elements=st.sampled_from([0.0, 0.0, 1.0, -1.0, 0.5])
)


def test_columns_with_equal_projections_are_told_apart():
    # The projection of the second column equals that of the first; only the check can tell.
    weights = np.random.default_rng(0).standard_normal(2)
    columns = np.array([[weights[1], 0.0], [0.0, weights[0]]])
    labels = column_classes(sparse.csc_array(columns))
    assert labels[0] != labels[1]


@pytest.mark.parametrize("seed", seeds(30))
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


def resolved(constraints):
    blocks = {"low": [0, 1, 2], "mid": [2, 3, 4, 5], "high": [6]}
    system = resolve(constraints, [f"x{i}" for i in range(8)], blocks)
    return Utility(np.linspace(1, 2, 8) / 8, system, 1.0, np.ones(8, dtype=bool))


def test_linked_features_are_one_unit():
    original = resolved([must_link([0, 4, 7]), must_link([1, 2], rho=1.0), max_per_block(2, rho=1.0)])
    linked = LinkedUtility.from_utility(original)
    assert linked.unit_of.tolist() == [0, 1, 2, 3, 0, 4, 5, 0]
    assert linked.required.tolist() == []
    units = np.random.default_rng(0).random((20, 6)) < 0.5
    np.testing.assert_allclose(linked.utility(units), original(linked.expand(units)), rtol=1e-12)


def test_a_group_with_a_member_that_cannot_be_selected_cannot_be():
    utility = resolved([must_link([0, 4])])
    utility.selectable[4] = False
    linked = LinkedUtility.from_utility(utility)
    assert linked.utility.selectable.tolist() == [False, True, True, True, True, True, True]


def test_a_feature_dearer_than_a_hard_bound_is_fixed_before_anything_else():
    blocks = sparse.csr_array(np.array([[0, 0, 0, 1, 1]], dtype=bool))
    rows = [one_row([1, 2, 4, 0, 0], 3, np.inf), one_row([5, 0, -4, 0, 0], 0, np.inf), one_row([0, 9, 0, 0, 0], 3, 1.0)]
    utility = utility_of([0.2] * 5, rows, blocks=blocks)
    assert within_bounds(utility).selectable.tolist() == [False, True, False, True, True]
    no_block = utility_of([0.2] * 5, [*rows, one_row([1], 0, np.inf, on_blocks=True)], blocks=blocks)
    assert within_bounds(no_block).selectable.tolist() == [False, True, False, False, False]
