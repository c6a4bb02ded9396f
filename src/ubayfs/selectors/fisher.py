"""Fisher score: scatter between classes against scatter within them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._arguments import Array, Generators, Ints, Mask
from ..data.target import CLASSIFICATION, Target
from .base import ElementarySelector
from .scoring import ClassCounts, Statistic, best_of_each_run, scatter, where_two


@dataclass(frozen=True)
class Fisher(ElementarySelector):
    """Choose the features of highest Fisher score.

    Notes
    -----
    The Fisher score of a feature is F = sum_c n_c (mu_c - mu)^2 / sum_c n_c var_c over the classes c of the subsample.
    Features are ranked by F / (1 + F), the share of the scatter that lies between the classes: the same order on the
    scale from 0 to 1, on which a feature without scatter within the classes has the finite, best score 1.
    A feature with missing values is scored on the samples that have it, and the score counts by their share.
    """

    name: ClassVar[str] = "fisher"
    tasks: ClassVar[frozenset[str]] = CLASSIFICATION
    joint: ClassVar[bool] = True
    nested: ClassVar[bool] = True
    takes_gaps: ClassVar[bool] = True

    def select_many(self, X: Array, target: Target, subsamples: Mask, n_features: int, rngs: Generators) -> list[Ints]:
        """Choose features on all subsamples at once, from one matrix product per class and two for all."""
        return best_of_each_run(_share_between_classes(target, subsamples), X, subsamples, n_features)


def _share_between_classes(target: Target, subsamples: Mask) -> Statistic:
    classes = ClassCounts(np.asarray(target.values), target.n_classes, subsamples)
    class_weights = classes.weights.astype(np.float64)  # (n_classes, n_models, n_samples)

    def statistic(runs: slice, x: Array, present: Mask | None = None) -> tuple[Array, Array]:
        counts = classes.of(present, runs)
        n = counts.sum(axis=0).astype(x.dtype)
        total, condition = scatter(subsamples[runs], x, n)
        weights = class_weights[:, runs].astype(x.dtype, copy=False)
        sizes = np.maximum(counts, 1.0).astype(x.dtype)  # an absent class has sums of zero
        class_sums = (weights.reshape(-1, len(x)) @ x).reshape(*weights.shape[:2], x.shape[1])
        overall_sums = class_sums.sum(axis=0)
        # sum_c n_c mu_c^2 - n mu^2
        between = (class_sums**2 / sizes).sum(axis=0) - overall_sums**2 / np.maximum(n, 1.0)
        scores = np.clip(between / total, 0.0, 1.0)
        if present is None:
            return scores, condition
        share = n / classes.of(None, runs).sum(axis=0).astype(x.dtype)
        return where_two(scores * share, condition, n)

    return statistic
