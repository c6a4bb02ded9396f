"""A random forest for the threads of folds.

That of scikit-learn sets the warning filters of the whole process for each tree, so that two forests in two threads can
leave them changed for good, and warn of it. Trees alone do not. With its forests, folds could not have threads, and a
validation on two cores would take twice as long.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from .._arguments import Array, Floats


class _Forest(BaseEstimator):
    """Trees on bootstrap samples, each split looking at some of the features."""

    def __init__(self, n_trees: int = 100, random_state: int | None = None) -> None:
        self.n_trees = n_trees
        self.random_state = random_state

    def fit(self, X: Floats, y: Array) -> _Forest:
        """Learn from X of shape (n_samples, n_features) and y of shape (n_samples,) or (n_samples, n_labels)."""
        rng, n = np.random.default_rng(self.random_state), len(X)
        X, self.trees_ = np.asarray(X, dtype=np.float32, order="C"), []
        for seed in rng.integers(2**31, size=self.n_trees).tolist():
            drawn = np.bincount(rng.integers(n, size=n), minlength=n).astype(np.float64)
            self.trees_.append(self._tree(seed).fit(X, y, sample_weight=drawn, check_input=False))
        self.feature_importances_ = np.mean([tree.feature_importances_ for tree in self.trees_], axis=0)
        return self

    def _mean(self, method: str, X: Floats) -> Floats:
        X = np.asarray(X, dtype=np.float32, order="C")
        found: Floats = np.mean([getattr(tree, method)(X, check_input=False) for tree in self.trees_], axis=0)
        return found


class ForestClassifier(ClassifierMixin, _Forest):
    """A forest of classes, which count equally however frequent they are."""

    def _tree(self, seed: int) -> Any:
        return DecisionTreeClassifier(max_features="sqrt", class_weight="balanced", random_state=seed)

    @property
    def classes_(self) -> Array:
        """The classes, of shape (n_classes,)."""
        return np.asarray(self.trees_[0].classes_)

    def predict_proba(self, X: Floats) -> Floats:
        """Return the mean share of each class, of shape (n_samples, n_classes)."""
        return self._mean("predict_proba", X)

    def predict(self, X: Floats) -> Array:
        """Return the most likely class, of shape (n_samples,)."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])


class ForestRegressor(RegressorMixin, _Forest):
    """A forest of numbers."""

    def _tree(self, seed: int) -> Any:
        return DecisionTreeRegressor(max_features=1 / 3, random_state=seed)

    def predict(self, X: Floats) -> Floats:
        """Return the mean of the trees, of shape (n_samples,)."""
        return self._mean("predict", X)
