"""Minimum redundancy, maximum relevance (mRMR), for all subsamples in matrix products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._arguments import Array, Floats, Generators, Ints, Mask, check_choice
from ..data.categories import CategoryTable
from ..data.ordered_pairs import OrderedPairs
from ..data.target import Target
from ..exceptions import Advice
from ._directions import correlation_with, pair_advice, residual_directions, survival_agreement
from ._greedy import GreedySearch, Relevance, mutual_information
from ._subsample import standardized
from .adjusted import JointSelector, Residuals, associations_beyond
from .categories import NetScores, associations
from .concordance import Concordance, Contrast
from .nominal_classes import CLASS_RULES, class_turns, is_nominal
from .scoring import ClassCounts, Runs, present_in, run_scores

# Relevance of the categories of a table, of shape (n_turns, n_models, n_categories).
CategoryRelevance = Callable[[CategoryTable], Array]


@dataclass(frozen=True)
class MRMR(JointSelector):
    """Choose, one after another, the feature of highest relevance minus mean redundancy with those already chosen.

    Parameters
    ----------
    classes : {"turns", "weighted"}
        What more than two classes without an order are to relevance. They take turns: each step of a run looks for what
        tells one class from all others, in an order that the run draws, so that every class gets features. "weighted"
        is one relevance for all: the mean over the classes, weighted by their frequency.

    Notes
    -----
    Relevance and redundancy are mutual information -0.5 ln(1 - rho^2) of an association rho, clipped at
    abs(rho) = 1 - 1e-7. Redundancy: rho is Pearson's correlation on the subsample. Relevance:

    - two classes, or classes with an order: Somers' D with respect to the target, the number of concordant minus
      discordant pairs over the number of pairs from different classes (2 AUC - 1 for two classes);
    - classes without order: D of the class whose turn it is, or the weighted mean of abs(D) of each, against all
      others; see :mod:`~ubayfs.selectors.nominal_classes`;
    - a continuous target: Pearson's correlation;
    - survival: Somers' D with respect to the times, 2 C - 1 with Harrell's C: pairs in which the earlier event has the
      higher value, minus those in which it has the lower one, over all pairs whose order of events is known. Beyond
      2 million pairs, Pearson's correlation with martingale residuals, as in ``cox``.

    Where values are missing, rho is the association in the samples that have the feature (of two features, both) times
    the root of their share of the subsample: by chance rho^2 is inversely proportional to the number of samples, hence
    features with and without gaps that mean equally little score equally low. (The share as a factor of the information
    itself favors gaps: noise of which 60 % is missing got up to 0.68 of the votes on 60 samples, and gets 0.52 now,
    where 0.50 is fair.) Redundancy from fewer than 3 samples is 0.

    Redundancy is never negative, so relevance (to any class) bounds every later score of a feature. Only features whose
    relevance reaches the score of a current best are compared with the chosen ones; the result is the same as with all.
    """

    name: ClassVar[str] = "mrmr"
    tasks: ClassVar[frozenset[str]] = frozenset({"binary", "multiclass", "regression", "survival"})
    usual_name: ClassVar[str] = "mRMR"
    finds: ClassVar[str] = "Features that are related to the target and do not repeat each other."
    reference: ClassVar[tuple[str, str]] = (
        "Ding and Peng, 2005",
        "Ding, C., Peng, H. (2005). Minimum redundancy feature selection from microarray gene expression data. Journal "
        "of Bioinformatics and Computational Biology, 3(2), 185-205. https://doi.org/10.1142/S0219720005001004",
    )

    classes: str = "turns"

    def __post_init__(self) -> None:
        check_choice("classes", self.classes, CLASS_RULES)

    def _choose(self, X: Array, target: Target, runs: Runs, n_features: int, rngs: Generators) -> list[Ints]:
        """Choose features one after another: one pass for relevance, then one product per chosen feature."""
        in_turns, categories = self.classes == "turns" and is_nominal(target), None
        if isinstance(runs, Residuals):
            number_relevance, category_relevance = _relevance_beyond(target, runs, in_turns)
        else:
            number_relevance, category_relevance = _relevance_to(target, runs.subsamples, in_turns)
        if isinstance(X, CategoryTable):
            categories = X.several if isinstance(runs, Residuals) else _categories(X), category_relevance(X)
        turns = np.zeros((min(n_features, X.shape[1]), len(runs.subsamples)), dtype=np.intp)
        if in_turns:
            turns = class_turns(target, runs.subsamples, rngs, len(turns))
        search = GreedySearch(X, runs, number_relevance, target.n_classes if in_turns else 1, categories)
        picks = np.stack([search.next_picks(turn) for turn in turns], axis=1)
        return [row[row >= 0] for row in picks]

    def advice(self, target: Target) -> tuple[Advice, ...]:
        """Say so where pairs of samples are too many to be counted."""
        return pair_advice(target) if target.task == "survival" else ()


def _categories(X: CategoryTable) -> Ints:
    return np.array(list(X.levels), dtype=np.intp)


def _relevance_beyond(target: Target, residuals: Residuals, in_turns: bool) -> tuple[Relevance, CategoryRelevance]:
    number_relevance, category_relevance = associations_beyond(residuals, target, in_turns)
    return lambda block: mutual_information(number_relevance(block)), lambda X: mutual_information(
        category_relevance(X)
    )


def _relevance_to(target: Target, subsamples: Mask, in_turns: bool = False) -> tuple[Relevance, CategoryRelevance]:
    """Return the relevance of numbers, and that of all categories: that of numbers with the same p-values."""
    if target.is_numeric:
        return _relevance_by_correlation(_directions(np.asarray(target.values), subsamples), subsamples)
    if target.task != "survival":
        return _relevance_by_classes(target, subsamples, in_turns)
    agreement = survival_agreement(target, subsamples)
    if agreement is None:
        return _relevance_by_correlation(residual_directions(target, subsamples), subsamples)

    def category_relevance(X: CategoryTable) -> Array:
        pairs = OrderedPairs.from_times(target.time, target.event)
        return mutual_information(
            _associations(X, subsamples, [NetScores(pairs.net(subsamples), pairs.n_pairs(subsamples))])
        )

    return lambda block: mutual_information(agreement(block)), category_relevance


def _relevance_by_classes(target: Target, subsamples: Mask, in_turns: bool) -> tuple[Relevance, CategoryRelevance]:
    """Compare each class with all others, or, where classes have an order, with all lower ones."""
    values, nominal = np.asarray(target.values), is_nominal(target)
    if nominal:
        contrasts = [Contrast(values == c, values != c) for c in range(target.n_classes)]
    else:
        contrasts = [Contrast(values == c, values < c) for c in range(1, target.n_classes)]
    classes = ClassCounts(values, target.n_classes, subsamples)
    concordance, sizes = Concordance(subsamples, contrasts), subsamples.sum(axis=1)[:, None]

    def number_relevance(block: Array) -> Array:
        present = present_in(block)
        counts = classes.counts(present)
        n = counts.sum(axis=0)
        if nominal:
            n_pairs = counts * (n - counts)
            factors = (1.0 if in_turns else counts / np.maximum(n, 1)) / np.maximum(n_pairs, 1)
            rho = np.abs(concordance(block, n_pairs)) * factors
            rho = rho if in_turns else rho.sum(axis=0)
        else:
            n_pairs = counts[1:] * np.cumsum(counts, axis=0)[:-1]
            rho = concordance(block, n_pairs).sum(axis=0) / np.maximum(n_pairs.sum(axis=0), 1)
        return mutual_information(rho if present is None else rho * np.sqrt(n / sizes))

    def category_relevance(X: CategoryTable) -> Array:
        together = [[contrast] for contrast in contrasts] if nominal else [contrasts]
        rho = _associations(X, subsamples, [NetScores.from_contrasts(some, subsamples) for some in together])
        if nominal and not in_turns:
            counts = classes.counts(None)
            rho = (rho * counts / counts.sum(axis=0)).sum(axis=0, keepdims=True)
        return mutual_information(rho)

    return number_relevance, category_relevance


def _associations(X: CategoryTable, subsamples: Mask, nets: Sequence[NetScores]) -> Floats:
    """Return the associations of all categories with pairs of samples, of shape (n_nets, n_models, n_categories)."""
    outputs, scale = np.stack([net.scores for net in nets]), np.stack([net.scale for net in nets])
    return np.minimum(associations(X, _categories(X), subsamples, outputs, scale), 1.0)


def _relevance_by_correlation(directions: Floats, subsamples: Mask) -> tuple[Relevance, CategoryRelevance]:
    statistic = correlation_with(directions, subsamples)

    def information(*arguments: Any) -> tuple[Array, Array]:
        rho, condition = statistic(*arguments)
        return np.where(np.isneginf(rho), rho, mutual_information(rho)), condition

    def category_relevance(X: CategoryTable) -> Array:
        return mutual_information(associations(X, _categories(X), subsamples, directions[None]))

    return lambda block: run_scores(information, subsamples, block), category_relevance


def _directions(y: Array, subsamples: Mask) -> Floats:
    """Return a numeric target with mean 0 and length 1 in each run, of shape (n_models, n_samples), 0 outside."""
    directions = np.zeros(subsamples.shape)
    for direction, rows in zip(directions, subsamples, strict=True):
        in_run = y[rows]
        if in_run.min() < in_run.max():  # a target that is constant in a subsample is related to nothing
            direction[rows] = standardized(in_run) / np.sqrt(len(in_run))
    return directions
