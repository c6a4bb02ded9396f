"""The first features on the lasso path, as in the paper."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._arguments import Array, Ints
from ..data.hazards import RiskSets
from ..data.target import CLASSIFICATION, Target
from ._directions import check_events
from ._lasso_path import LassoPath, Loss, logistic, partial_likelihood, squares
from ._subsample import output_columns, standardized
from .base import PerRunSelector


@dataclass(frozen=True)
class EntryOrder(PerRunSelector):
    """Features in the order in which they enter the lasso path (Tibshirani 1996): ``Lasso(order="entry")``.

    Columns are standardized, the intercept is free. The penalty falls from the value at which the first feature enters,
    and the walk ends where the wanted number of features is active, or at the smallest penalty; then fewer are chosen.
    A feature that leaves the path on the way is not chosen unless it comes back. Regression uses the squared loss,
    binary classes the logistic loss, survival Cox's partial likelihood (which has no intercept). Several classes have
    one logistic model each, that class against the rest, all under one common penalty: a feature is active when it is
    in any of them. `min_penalty` is a share of the penalty at which the first feature enters.
    """

    name: ClassVar[str] = "lasso"
    tasks: ClassVar[frozenset[str]] = CLASSIFICATION | {"regression", "survival"}

    min_penalty: float = 1e-4

    def select(self, X: Array, target: Target, n_features: int, rng: np.random.Generator) -> Ints:
        """Choose at most `n_features` columns, first to enter first."""
        columns = np.asfortranarray(standardized(X))
        paths = [LassoPath(columns, loss) for loss in _losses(target)]
        floor = self.min_penalty * max(path.top for path in paths)
        n_models: dict[int, int] = {}  # of each active feature, in the order of entering
        for event in heapq.merge(*(path.events(floor) for path in paths), key=lambda event: -event.penalty):
            n_models[event.feature] = n_models.get(event.feature, 0) + (1 if event.enters else -1)
            if n_models[event.feature] == 0:
                del n_models[event.feature]
            if len(n_models) == n_features:
                break
        return np.array(list(n_models), dtype=np.intp)


def _losses(target: Target) -> list[Loss]:
    """Return the loss of each model: one, or one for each of several classes."""
    if target.task == "survival":
        check_events(target, np.ones((1, len(target.event)), dtype=bool))
        return [partial_likelihood(RiskSets.from_times(target.time, target.event))]
    outputs = output_columns(target).T
    return [squares(y) for y in outputs] if target.is_numeric else [logistic((y + 1) / 2) for y in outputs]
