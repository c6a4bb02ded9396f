"""Fisher score: scatter between classes against scatter within them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import ClassVar

import numpy as np

from .._arguments import Array, Floats, Generators, Ints, Mask, check_choice
from ..data.categories import CategoryTable
from ..data.target import CLASSIFICATION, Target
from .adjusted import JointSelector, Residuals, categories_beyond, share_beyond
from .categories import shares_between
from .nominal_classes import CLASS_RULES, class_against_rest, class_turns, is_nominal
from .scoring import ClassCounts, Runs, Statistic, best_of_each_run, scatter, where_two


@dataclass(frozen=True)
class Fisher(JointSelector):
    """Choose the features of highest Fisher score.

    Parameters
    ----------
    classes : {"weighted", "turns"}
        What more than two classes without an order are to the score: "weighted" is that of the paper, one score in
        which every class counts by its samples. If they take turns, each step of a run chooses the best feature left
        for one class against all others, in an order that the run draws, so that every class gets features.

    Notes
    -----
    The Fisher score of a feature is F = sum_c n_c (mu_c - mu)^2 / sum_c n_c var_c over the classes c of the subsample.
    Features are ranked by F / (1 + F), the share of the scatter that lies between the classes: the same order on the
    scale from 0 to 1, on which a feature without scatter within the classes has the finite, best score 1.
    A feature with missing values is scored on the samples that have it, and the score counts by their share.
    A category of three or more levels without order has the score of a number with the same p-value.
    With covariates the score is the partial R2 of the classes, see :mod:`~ubayfs.selectors.adjusted`.
    """

    name: ClassVar[str] = "fisher"
    tasks: ClassVar[frozenset[str]] = CLASSIFICATION
    usual_name: ClassVar[str] = "Fisher score"
    finds: ClassVar[str] = "Features whose means differ between classes, each by itself; fastest."
    reference: ClassVar[tuple[str, str]] = (
        "Duda et al., 2001",
        "Duda, R. O., Hart, P. E., Stork, D. G. (2001). Pattern Classification. Wiley, New York.",
    )

    classes: str = "weighted"

    def __post_init__(self) -> None:
        check_choice("classes", self.classes, CLASS_RULES)

    def _choose(self, X: Array, target: Target, runs: Runs, n_features: int, rngs: Generators) -> list[Ints]:
        """Choose features by their scores, from one matrix product per class and two for all."""

        def best_by(target: Target) -> list[Ints]:
            if isinstance(runs, Residuals):
                statistic, category_scores = share_beyond(runs, target), partial(categories_beyond, runs, target)
            else:
                statistic = _share_between_classes(target, runs.subsamples)
                category_scores = partial(_share_of_categories, target, subsamples=runs.subsamples)
            return best_of_each_run(statistic, X, runs.subsamples, n_features, category_scores)

        if self.classes == "weighted" or not is_nominal(target):
            return best_by(target)
        # Of the best n of each class, one is left at every turn: fewer than n features have been chosen before.
        best = [best_by(class_against_rest(target, code)) for code in range(target.n_classes)]
        turns = class_turns(target, runs.subsamples, rngs, n_features)
        return [_in_turns([class_best[run] for class_best in best], order) for run, order in enumerate(turns.T)]


def _share_of_categories(target: Target, X: CategoryTable, subsamples: Mask) -> Floats:
    """Return the scores of categories of three or more levels without order, of shape (n_models, n_several)."""
    classes = ClassCounts(np.asarray(target.values), target.n_classes, subsamples)
    scores, share = shares_between(X, X.several, classes.weights.astype(np.float64))
    return scores * share


def _in_turns(best: Sequence[Ints], turns: Ints) -> Ints:
    """Return for each turn the first of its class that is not chosen yet."""
    chosen: dict[int, None] = {}
    for turn in turns.tolist():
        remaining = (column for column in best[turn].tolist() if column not in chosen)
        chosen.update(dict.fromkeys(islice(remaining, 1)))
    return np.array(list(chosen), dtype=np.intp)


def _share_between_classes(target: Target, subsamples: Mask) -> Statistic:
    classes = ClassCounts(np.asarray(target.values), target.n_classes, subsamples)

    def statistic(runs: slice, x: Array, present: Mask | None = None) -> tuple[Array, Array]:
        counts = classes.counts(present, runs)
        n = counts.sum(axis=0).astype(x.dtype)
        total, condition = scatter(subsamples[runs], x, n)
        sizes = np.maximum(counts, 1.0).astype(x.dtype)  # an absent class has sums of zero
        class_sums = classes.sums(runs, x)
        overall_sums = class_sums.sum(axis=0)
        # sum_c n_c mu_c^2 - n mu^2
        between = (class_sums**2 / sizes).sum(axis=0) - overall_sums**2 / np.maximum(n, 1.0)
        scores = np.clip(between / total, 0.0, 1.0)
        if present is None:
            return scores, condition
        share = n / classes.counts(None, runs).sum(axis=0).astype(x.dtype)
        return where_two(scores * share, condition, n)

    return statistic
