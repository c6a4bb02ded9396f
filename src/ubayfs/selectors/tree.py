"""Importances of one classification or regression tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._arguments import check_int
from ..target import CLASSIFICATION, Target
from ._subsample import output_columns
from .base import PerRunSelector, best_first


@dataclass(frozen=True)
class Tree(PerRunSelector):
    """Features that a CART tree splits on, by the impurity they remove (Breiman et al. 1984).

    A feature that no split uses is never selected, so a run may choose fewer features than it is allowed to.
    Equally good splits, and equally important features, are told apart by the run's own generator.

    Parameters
    ----------
    max_depth : int or None
        The most levels of splits; None grows the tree until its leaves are pure.
    min_samples_leaf : int
        The fewest rows a leaf may hold.
    """

    name: ClassVar[str] = "tree"
    tasks: ClassVar[frozenset[str]] = CLASSIFICATION | {"multilabel", "regression"}

    max_depth: int | None = None
    min_samples_leaf: int = 1

    def __post_init__(self) -> None:
        if self.max_depth is not None:
            check_int("max_depth", self.max_depth, low=1)
        check_int("min_samples_leaf", self.min_samples_leaf, low=1)

    def select(self, X: NDArray[Any], target: Target, n_features: int, rng: np.random.Generator) -> NDArray[np.intp]:
        """Choose at most `n_features` columns that the tree uses, most important first."""
        from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

        output_columns(target)  # refuses a subsample in which there is nothing to explain
        kind = DecisionTreeRegressor if target.task == "regression" else DecisionTreeClassifier
        tree = kind(
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            random_state=int(rng.integers(2**31)),
        )
        importances = tree.fit(_dense_ranks(X), target.values).feature_importances_
        used = rng.permutation(np.flatnonzero(importances > 0))
        return used[best_first(importances[used], n_features)]


def _dense_ranks(X: NDArray[Any]) -> NDArray[np.float32]:
    """Return X with each value replaced by the number of smaller different values in its column.

    A tree sees no more than the order. scikit-learn's trees work in single precision and hold values closer than 1e-7
    for equal: they would not see a column of small scale or with a large offset. Ranks are exact in single precision.

    Examples
    --------
    >>> _dense_ranks(np.array([[1e9 + 1, 0.5], [1e9, 0.5], [1e9 + 2, -1e-9]]))
    array([[1., 1.],
           [0., 1.],
           [2., 0.]], dtype=float32)
    """
    columns = np.ascontiguousarray(X.T)
    order = np.argsort(columns, axis=1)
    ascending = np.take_along_axis(columns, order, axis=1)
    in_order = np.zeros(columns.shape, dtype=np.float32)
    np.cumsum(ascending[:, 1:] != ascending[:, :-1], axis=1, out=in_order[:, 1:])
    ranks = np.empty_like(in_order)
    np.put_along_axis(ranks, order, in_order, axis=1)
    return ranks.T
