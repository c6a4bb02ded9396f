"""Changed definitions of trees and forests against slow, literal versions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from ubayfs_experiments.methods.variants import adjusted_agreement, permuted_forest, small_tree, tree_with_surrogates


def literal_agreement(column, left):
    """Try every threshold and both directions."""
    smaller = min(left.sum(), (~left).sum())
    best = 0
    for threshold in np.unique(column)[:-1]:
        low = column <= threshold
        best = max(best, (low == left).sum(), (low != left).sum())
    return (best - (len(left) - smaller)) / smaller


@given(
    st.integers(2, 12).flatmap(
        lambda n: st.tuples(
            st.lists(st.lists(st.integers(0, 4), min_size=3, max_size=3), min_size=n, max_size=n),
            st.lists(st.booleans(), min_size=n, max_size=n).filter(lambda left: 0 < sum(left) < len(left)),
        )
    )
)
def test_agreement_is_that_of_the_best_threshold(drawn):
    rows, left = np.array(drawn[0], dtype=float), np.array(drawn[1])
    expected = [literal_agreement(rows[:, j], left) for j in range(3)]
    np.testing.assert_allclose(adjusted_agreement(rows, left), expected)


@pytest.fixture
def table(rng):
    """Column 3 decides the class; column 5 is nearly a copy of it; the rest is noise."""
    X = rng.normal(size=(120, 8))
    X[:, 5] = X[:, 3] + 0.05 * rng.normal(size=120)
    return X, (X[:, 3] > 0).astype(int)


def test_a_small_tree_uses_one_of_two_near_copies_and_surrogates_bring_the_other(table):
    X, y = table
    alone = small_tree(X, y, 4, np.random.default_rng(0))
    assert alone.tolist() == [3]
    assert tree_with_surrogates(X, y, 4, np.random.default_rng(0))[:2].tolist() == [3, 5]


def test_small_trees_stop_where_those_of_scikit_learn_with_the_same_limits_do(rng):
    X = rng.normal(size=(90, 6))
    y = (X[:, 0] + X[:, 1] + rng.normal(size=90) > 0).astype(int)
    gini = 1 - (np.bincount(y) / len(y)) @ (np.bincount(y) / len(y))
    seed = int(np.random.default_rng(4).integers(2**31))
    tree = DecisionTreeClassifier(
        min_samples_split=20, min_samples_leaf=7, max_depth=30, min_impurity_decrease=0.01 * gini, random_state=seed
    ).fit(X, y)
    ranked = np.argsort(-tree.feature_importances_, kind="stable")
    ranked = ranked[tree.feature_importances_[ranked] > 0]
    assert small_tree(X, y, 6, np.random.default_rng(4)).tolist() == ranked.tolist()


def test_permutation_is_counted_out_of_bag_alone(table):
    X, y = table
    chosen = permuted_forest(X, y, 2, 30, 7)
    assert set(chosen.tolist()) == {3, 5}
    # Literally: accuracy of each tree on its rows out of bag, before and after a permutation.
    forest, rng, loss = RandomForestClassifier(30, random_state=7).fit(X, y), np.random.default_rng(7), np.zeros(8)
    for tree, inside in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        outside = np.array(sorted(set(range(len(X))) - set(inside.tolist())))
        for feature in sorted(set(tree.tree_.feature[tree.tree_.feature >= 0].tolist())):
            changed = X[outside].copy()
            changed[:, feature] = rng.permutation(changed[:, feature])
            loss[feature] += (tree.predict(X[outside]) == y[outside]).sum() - (
                tree.predict(changed) == y[outside]
            ).sum()
    assert permuted_forest(X, y, 8, 30, 7).tolist() == [int(j) for j in np.argsort(-loss, kind="stable") if loss[j] > 0]
