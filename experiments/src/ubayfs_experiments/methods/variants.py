"""Other definitions of the methods of experiment 2, which serve to test why a figure differs from the paper's.

The paper does not say how its trees and forests rank features. What is tried here are rules of well-known R packages:
trees that stop early and count surrogate splits (rpart), and forests that rank by the loss of accuracy out of bag
(randomForest).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Defaults of rpart: rows needed to split a node and in a leaf, depth, gain of a split relative to the root, surrogates.
_SPLIT, _LEAF, _DEPTH, _GAIN, _SURROGATES = 20, 7, 30, 0.01, 5


def small_tree(X: Any, y: Any, n_features: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Choose the features of largest importance in a tree that stops as early as rpart's."""
    importance, _ = _grown(np.asarray(X, dtype=np.float64), np.asarray(y), rng)
    return _largest(importance, n_features)


def tree_with_surrogates(X: Any, y: Any, n_features: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Choose features by importance that counts surrogates too: features whose splits send most rows the same way.

    A split adds its gain to the importance of its own feature, and to that of each of its five best surrogates the gain
    times the adjusted agreement: the share of rows sent right beyond what sending all to the larger side would give.
    """
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y)
    importance, tree = _grown(X, y, rng)
    reached = tree.decision_path(X.astype(np.float32)).tocsc()
    inner = tree.tree_
    for node in np.flatnonzero(inner.children_left >= 0):
        rows = reached.indices[reached.indptr[node] : reached.indptr[node + 1]]
        own = int(inner.feature[node])
        agreement = adjusted_agreement(X[rows], X[rows, own] <= inner.threshold[node])
        agreement[own] = 0.0
        best = np.argsort(-agreement, kind="stable")[:_SURROGATES]
        importance[best] += _gain(inner, int(node)) * np.maximum(agreement[best], 0.0)
    return _largest(importance, n_features)


def adjusted_agreement(X: Floats, left: NDArray[np.bool_]) -> Floats:
    """Return how well the best split of each column sends rows the same way as a given split.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
    left : ndarray of bool of shape (n_rows,)
        Where the split sends the rows.

    Returns
    -------
    agreement : ndarray of shape (n_features,)
        1: the same way for all rows; 0 or less: no better than sending all rows to the larger side.

    Examples
    --------
    >>> X = np.array([[1.0, 5.0], [2.0, 4.0], [3.0, 9.0], [4.0, 1.0]])
    >>> adjusted_agreement(X, np.array([True, True, False, False]))
    array([1. , 0.5])
    """
    n_rows, n_left = len(left), int(left.sum())
    order = np.argsort(X, axis=0, kind="stable")
    ordered = np.take_along_axis(X, order, axis=0)
    lefts = np.cumsum(left[order], axis=0)[:-1]
    size = np.arange(1, n_rows)[:, None]
    # Low values to the left: the lefts among them, and the rights among the others. Or the other way round.
    agreeing = lefts + (n_rows - n_left) - (size - lefts)
    agreeing = np.maximum(agreeing, n_rows - agreeing)
    agreeing[ordered[1:] == ordered[:-1]] = 0  # equal values cannot be split
    smaller = min(n_left, n_rows - n_left)
    return (agreeing.max(axis=0, initial=0) - (n_rows - smaller)) / smaller


def permuted_forest(
    X: Floats, y: NDArray[np.int64], n_features: int, n_models: int, seed: int, *, scaled: bool = False
) -> NDArray[np.intp]:
    """Choose the features whose permutation costs a random forest most accuracy, out of bag (Breiman 2001).

    `scaled`: the mean loss of accuracy of a tree divided by its standard error, as randomForest's importance of type 1.
    """
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(n_estimators=n_models, random_state=seed).fit(X, y)
    rng = np.random.default_rng(seed)
    loss = np.zeros((n_models, X.shape[1]))
    rows32 = X.astype(np.float32)
    for row, tree, inside in zip(loss, forest.estimators_, forest.estimators_samples_, strict=True):
        outside = np.setdiff1d(np.arange(len(X)), inside)
        table, truth = rows32[outside], y[outside]
        right = np.sum(_leaf_class(tree, table) == truth)
        for feature in np.unique(tree.tree_.feature[tree.tree_.feature >= 0]):
            kept = table[:, feature].copy()
            table[:, feature] = rng.permutation(kept)
            row[feature] = right - np.sum(_leaf_class(tree, table) == truth)
            table[:, feature] = kept
        if scaled:
            row /= len(outside)
    importance = loss.mean(axis=0)
    if scaled:
        spread = loss.std(axis=0, ddof=1)
        importance = np.divide(importance, spread, out=importance, where=spread > 0)
    return _largest(importance, n_features)


def _leaf_class(tree: Any, table: NDArray[np.float32]) -> NDArray[np.intp]:
    return np.asarray(tree.tree_.value[tree.tree_.apply(table), 0].argmax(axis=1))


def _grown(X: Floats, y: NDArray[Any], rng: np.random.Generator) -> tuple[Floats, Any]:
    from sklearn.tree import DecisionTreeClassifier

    share = np.unique(y, return_counts=True)[1] / len(y)
    tree = DecisionTreeClassifier(
        min_samples_split=_SPLIT,
        min_samples_leaf=_LEAF,
        max_depth=_DEPTH,
        min_impurity_decrease=_GAIN * (1 - float(share @ share)),
        random_state=int(rng.integers(2**31)),
    ).fit(X, y)
    importance = np.zeros(X.shape[1])
    inner = tree.tree_
    for node in np.flatnonzero(inner.children_left >= 0):
        importance[inner.feature[node]] += _gain(inner, int(node))
    return importance, tree


def _gain(inner: Any, node: int) -> float:
    sides = (inner.children_left[node], inner.children_right[node])
    weight, impurity = inner.weighted_n_node_samples, inner.impurity
    return float(weight[node] * impurity[node] - sum(weight[side] * impurity[side] for side in sides))


def _largest(importance: Floats, n_features: int) -> NDArray[np.intp]:
    best = np.argsort(-importance, kind="stable")[:n_features]
    return best[importance[best] > 0]
