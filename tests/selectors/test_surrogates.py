"""Surrogate splits beside a literal count on the trees of scikit-learn."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ubayfs import collect_evidence
from ubayfs.exceptions import InputError
from ubayfs.metrics import stability
from ubayfs.selectors._cart import column_ranks, tree_importances
from ubayfs.selectors._surrogates import N_SURROGATES, adjusted_agreement
from ubayfs.selectors.tree import Tree


def literal_agreement(column, left):
    """Try every threshold in both directions, and compare with sending all rows to the larger side."""
    n, larger = len(left), max(left.sum(), (~left).sum())
    best = 0
    for threshold in np.unique(column)[:-1]:
        same = int(((column <= threshold) == left).sum())
        best = max(best, same, n - same)
    return (best - larger) / (n - larger)


@pytest.mark.parametrize("seed", range(20))
def test_agreement_is_that_of_the_best_threshold(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, size=(17, 9)) if seed % 2 else rng.normal(size=(17, 9))
    X[:, 3] = 1  # constant: nothing can be split
    left = rng.random(17) < 0.4
    left[:2] = [True, False]
    expected = [literal_agreement(column, left) for column in X.T]
    expected[3] = (0 - max(left.sum(), (~left).sum())) / (17 - max(left.sum(), (~left).sum()))
    assert adjusted_agreement(column_ranks(X.astype(float)), ~left) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("task", ["classes", "numbers"])
def test_importances_are_those_of_a_literal_count(task, seed):
    rng = np.random.default_rng(seed)
    shared = rng.normal(size=(60, 3))
    X = np.repeat(shared, 4, axis=1) + rng.normal(scale=0.4, size=(60, 12))
    signal = shared[:, 0] + shared[:, 1] + rng.normal(scale=0.3, size=60)
    y = (signal > 0).astype(int) if task == "classes" else signal
    kind = DecisionTreeClassifier if task == "classes" else DecisionTreeRegressor
    fitted = kind(max_depth=2, min_samples_leaf=4, random_state=0).fit(X, y)
    tree, reached = fitted.tree_, fitted.decision_path(X.astype(np.float32)).toarray().astype(bool)
    expected = np.zeros(12)
    for node in np.flatnonzero(tree.children_left >= 0):
        rows, own = reached[:, node], tree.feature[node]
        sides = [tree.children_left[node], tree.children_right[node]]
        weights, impurity = tree.weighted_n_node_samples, tree.impurity
        gain = weights[node] * impurity[node] - weights[sides] @ impurity[sides]
        left = X[rows, own] <= tree.threshold[node]
        agreement = np.array([literal_agreement(column, left) for column in X[rows].T])
        agreement[own] = 0.0
        best = np.argsort(-agreement, kind="stable")[:N_SURROGATES]
        expected[own] += gain
        expected[best] += gain * np.maximum(agreement[best], 0.0)
    outputs, rngs = y.astype(float)[:, None], [np.random.default_rng(0)]
    ((features, shares),) = tree_importances(
        column_ranks(X), outputs, np.ones((1, 60), dtype=bool), rngs, 2, 4, surrogates=True
    )
    found = np.zeros(12)
    found[features] = shares
    assert found == pytest.approx(expected / expected.sum(), abs=1e-9)


def test_features_that_are_nearly_the_same_share_votes():
    rng = np.random.default_rng(3)
    shared = rng.normal(size=(100, 2))
    X = np.column_stack(
        [np.repeat(shared, 3, axis=1) + rng.normal(scale=0.2, size=(100, 6)), rng.normal(size=(100, 60))]
    )
    y = shared[:, 0] + shared[:, 1] > 0
    settings = {"n_models": 30, "n_features_per_model": 6, "random_state": 0}
    plain = collect_evidence(X, y, selector=Tree(), **settings)
    shared_votes = collect_evidence(X, y, selector=Tree(surrogates=True), **settings)
    assert shared_votes.counts[:6].sum() > plain.counts[:6].sum()
    assert stability(shared_votes.sets).value > stability(plain.sets).value + 0.1


def test_a_word_is_not_a_switch():
    with pytest.raises(InputError, match="surrogates must be true or false"):
        Tree(surrogates="yes")
