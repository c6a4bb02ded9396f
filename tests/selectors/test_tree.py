import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ubayfs.data.feature_data import FeatureData
from ubayfs.exceptions import InputError
from ubayfs.selectors.tree import Tree


def targets(rng, x):
    return {
        "binary": x > 0,
        "multiclass": np.digitize(x, [-0.5, 0.5]),
        "multilabel": np.column_stack([x > 0, x + rng.normal(size=len(x)) > 0.5, np.zeros(len(x))]).astype(int),
        "regression": x,
    }


@pytest.mark.parametrize("task", ["binary", "multiclass", "multilabel", "regression"])
def test_order_is_that_of_a_tree_fitted_directly(task, rng):
    X = rng.normal(size=(500, 25)).astype(np.float32)
    y = targets(rng, X[:, 4] + X[:, 9] * X[:, 1] + 0.3 * rng.normal(size=500))[task]
    data = FeatureData.from_table(X, y)
    assert data.target.task == task
    tree = Tree(max_depth=3, min_samples_leaf=30)
    chosen = tree(X, y, 25, np.random.default_rng(3))
    kind = DecisionTreeRegressor if task == "regression" else DecisionTreeClassifier
    fitted = [kind(max_depth=3, min_samples_leaf=30, random_state=seed).fit(X, y) for seed in range(5)]
    importances = fitted[0].feature_importances_
    for other in fitted:  # no two features tie, so there is one tree
        np.testing.assert_allclose(other.feature_importances_, importances, atol=1e-9)
    assert set(chosen) == set(np.flatnonzero(importances))
    assert (np.diff(importances[chosen]) <= 1e-9).all()
    assert 2 < len(chosen) < 25
    np.testing.assert_array_equal(tree(X, y, 2, np.random.default_rng(3)), chosen[:2])


def test_features_without_importance_are_never_chosen(rng):
    X = rng.normal(size=(30, 8))
    np.testing.assert_array_equal(Tree()(X, X[:, 5] > 0, 8, rng), [5])


@given(seed=st.integers(0, 10**6), scale=st.sampled_from([1e-12, 1.0, 1e12]), offset=st.sampled_from([0.0, 1e9]))
def test_only_the_order_within_a_column_counts(seed, scale, offset):
    rng = np.random.default_rng(seed)
    X = rng.integers(-8, 8, size=(24, 6)).astype(float)
    y = X[:, 0] + X[:, 1] * (X[:, 2] > 0) > 0
    if y.min() == y.max():
        return
    plain = Tree()(X, y, 6, np.random.default_rng(seed))
    moved = Tree()(X * scale + offset * scale, y, 6, np.random.default_rng(seed))
    cubed = Tree()(X**3, y, 6, np.random.default_rng(seed))
    np.testing.assert_array_equal(plain, moved)
    np.testing.assert_array_equal(plain, cubed)


def test_ties_are_broken_by_the_generator_of_the_run(rng):
    column = rng.normal(size=40)
    X = np.column_stack([column] * 5)
    first = [int(Tree()(X, column > 0, 1, np.random.default_rng(seed))[0]) for seed in range(60)]
    assert set(first) == set(range(5))  # each has probability 1/5; all 60 missing one: 5 * 0.8**60 < 1e-5
    assert first == [int(Tree()(X, column > 0, 1, np.random.default_rng(seed))[0]) for seed in range(60)]


def test_equal_importances_are_ordered_by_the_generator_of_the_run():
    # A symmetric problem: y is exactly x0 + 2 x1 over a grid in which both halves have the same reduction.
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 4, dtype=float)
    y = np.array([0, 1, 1, 2] * 4, dtype=float)  # splitting on either column first, the other gets half of its share
    orders = {tuple(Tree()(X, y, 2, np.random.default_rng(seed)).tolist()) for seed in range(40)}
    assert orders == {(0, 1), (1, 0)}


def test_parameters_limit_the_tree(rng):
    X = rng.normal(size=(80, 10))
    y = np.digitize(X[:, 0] + X[:, 1], [-1, 0, 1])
    assert len(Tree(max_depth=1)(X, y, 10, rng)) == 1
    assert len(Tree(min_samples_leaf=40)(X, y, 10, rng)) <= 1
    with pytest.raises(InputError, match="max_depth must be a whole number >= 1; got 0"):
        Tree(max_depth=0)
    with pytest.raises(InputError, match=r"min_samples_leaf must be a whole number >= 1; got 0\.5"):
        Tree(min_samples_leaf=0.5)


def test_breast_cancer(cancer):
    X, y = cancer
    chosen = Tree()(X, y, 5, np.random.default_rng(0))
    assert len(chosen) == 5
    # "worst radius", "worst perimeter" or "worst area" splits the root in any tree on these data.
    assert chosen[0] in (20, 22, 23)
