"""Importances of classification or regression trees."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._arguments import Array, Floats, Generators, Ints, Mask, check_bool, check_int
from ..data.target import CLASSIFICATION, Target
from ._cart import column_ranks, tree_importances
from ._directions import martingale_residuals
from ._subsample import output_columns
from .base import ElementarySelector, best_first


@dataclass(frozen=True)
class Tree(ElementarySelector):
    """Features that a CART tree splits on, by the impurity they remove (Breiman et al. 1984).

    A feature that no split uses, and no surrogate, is never selected, so a run may choose fewer features than it is
    allowed to.
    Equally good splits, and equally important features, are chosen between by the run's own generator.

    Parameters
    ----------
    max_depth : int or None
        The most levels of splits; None grows the tree until its leaves are pure.
    min_samples_leaf : int
        The fewest rows a leaf may hold.
    surrogates : bool
        Whether the five best surrogates of a split count too: features whose best split sends most rows the same way.
        Each adds the gain of the split times the adjusted agreement. Correlated features then share votes, so that
        sets are more stable; as they replace features of later splits, prediction can be worse.

    Notes
    -----
    Impurity is Gini's for classes, its mean over the labels for multi-label targets, the variance for regression, and
    for survival the variance of the martingale residuals of the samples of a run (see ``cox``).
    Only the order within a column counts, so neither scale nor offset nor float precision changes a tree.
    """

    name: ClassVar[str] = "tree"
    tasks: ClassVar[frozenset[str]] = CLASSIFICATION | {"multilabel", "regression", "survival"}
    usual_name: ClassVar[str] = "Tree"
    finds: ClassVar[str] = "Features whose thresholds separate the samples, also within parts of them."
    reference: ClassVar[tuple[str, str]] = (
        "Breiman et al., 1984",
        "Breiman, L., Friedman, J. H., Olshen, R. A., Stone, C. J. (1984). Classification and Regression Trees. "
        "Wadsworth, Belmont.",
    )
    n_together: ClassVar[int] = 5
    nested: ClassVar[bool] = True

    _ranks: ClassVar[Array | None] = None  # of the table that a tree is prepared for

    max_depth: int | None = None
    min_samples_leaf: int = 1
    surrogates: bool = False

    def __post_init__(self) -> None:
        if self.max_depth is not None:
            check_int("max_depth", self.max_depth, low=1)
        check_int("min_samples_leaf", self.min_samples_leaf, low=1)
        check_bool("surrogates", self.surrogates)

    def prepared(self, X: Array) -> Tree:
        """Return a tree that has the ranks of all columns."""
        prepared = copy(self)
        object.__setattr__(prepared, "_ranks", column_ranks(X))
        return prepared

    def select_many(self, X: Array, target: Target, subsamples: Mask, n_features: int, rngs: Generators) -> list[Ints]:
        """Choose at most `n_features` columns that the tree of each subsample uses, most important first."""
        outputs = _outputs(target, subsamples)
        ranks = column_ranks(X) if self._ranks is None else self._ranks
        importances = tree_importances(
            ranks, outputs, subsamples, rngs, self.max_depth, self.min_samples_leaf, self.surrogates
        )
        chosen = []
        for (features, shares), rng in zip(importances, rngs, strict=True):
            order = rng.permutation(len(features))
            chosen.append(features[order][best_first(shares[order], n_features)])
        return chosen


def _outputs(target: Target, subsamples: Mask) -> Floats:
    """Return the columns whose variances make up the impurity, of shape (n_samples, n_outputs).

    Where they differ from run to run, they have the shape (n_outputs, n_models, n_samples).
    """
    if target.task == "survival":
        return martingale_residuals(target, subsamples)[None]
    for rows in subsamples:
        output_columns(target.take(rows))  # refuses a subsample in which there is nothing to explain
    values = np.asarray(target.values)
    if target.n_classes > 2:
        values = values[:, None] == np.arange(target.n_classes)
    return values.reshape(len(values), -1).astype(np.float64)
