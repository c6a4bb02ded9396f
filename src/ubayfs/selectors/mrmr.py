"""Minimum redundancy, maximum relevance (mRMR), for all subsamples in matrix products."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._arguments import Array, Floats, Generators, Ints, Mask, check_choice
from ..data.categories import CategoryTable
from ..data.ordered_pairs import OrderedPairs
from ..data.target import Target
from ..exceptions import Advice
from ._directions import MOST_PAIRS, correlation_with, pair_advice, residual_directions, survival_agreement
from ._greedy import GreedySearch, Relevance, mutual_information
from ._subsample import standardized
from .adjusted import Residuals, associations_beyond
from .base import ElementarySelector
from .categories import NetScores, associations
from .concordance import Concordance, Contrast
from .nominal_classes import CLASS_RULES, class_turns, is_nominal
from .scoring import ClassCounts, present_in, run_scores

# (block of columns as in the data) -> relevance in each run, as in `Relevance`
OfNumbers = Callable[[Array], Array]


@dataclass(frozen=True)
class MRMR(ElementarySelector):
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
    joint: ClassVar[bool] = True
    nested: ClassVar[bool] = True
    takes_gaps: ClassVar[bool] = True
    adjusts: ClassVar[bool] = True
    takes_categories: ClassVar[bool] = True

    classes: str = "turns"

    def __post_init__(self) -> None:
        check_choice("classes", self.classes, CLASS_RULES)

    def select_many(self, X: Array, target: Target, subsamples: Mask, n_features: int, rngs: Generators) -> list[Ints]:
        """Choose features on all subsamples at once: one pass for relevance, then one product per chosen feature."""
        in_turns = self._in_turns(target)
        of_numbers = _relevance_to(target, subsamples, in_turns)
        relevance: Relevance = lambda columns, block: of_numbers(block)  # noqa: E731
        if isinstance(X, CategoryTable):
            of_categories = _relevance_of_categories(X, target, subsamples, in_turns)
            relevance = _with_categories(np.array(list(X.levels), dtype=np.intp), of_numbers, of_categories)
        return self._search(X, target, subsamples, n_features, rngs, relevance)

    def select_adjusted(
        self, X: Array, target: Target, design: Floats, subsamples: Mask, n_features: int, rngs: Generators
    ) -> list[Ints]:
        """Choose features by correlations beyond covariates, with the target and among each other."""
        residuals = Residuals(design, subsamples)
        of_numbers, of_categories = associations_beyond(residuals, target, self._in_turns(target), X)
        relevance: Relevance = lambda columns, block: mutual_information(of_numbers(block))  # noqa: E731
        if isinstance(X, CategoryTable):
            relevance = _with_categories(
                X.several, lambda block: mutual_information(of_numbers(block)), mutual_information(of_categories)
            )
        return self._search(X, target, subsamples, n_features, rngs, relevance, residuals)

    def _in_turns(self, target: Target) -> bool:
        return self.classes == "turns" and is_nominal(target)

    def _search(
        self,
        X: Array,
        target: Target,
        subsamples: Mask,
        n_features: int,
        rngs: Generators,
        relevance: Relevance,
        residuals: Residuals | None = None,
    ) -> list[Ints]:
        turns = np.zeros((min(n_features, X.shape[1]), len(subsamples)), dtype=np.intp)
        if in_turns := self._in_turns(target):
            turns = class_turns(target, subsamples, rngs, len(turns))
        search = GreedySearch(X, subsamples, relevance, target.n_classes if in_turns else 1, residuals)
        picks = np.stack([search.next_picks(turn) for turn in turns], axis=1)
        return [row[row >= 0] for row in picks]

    def advice(self, target: Target) -> tuple[Advice, ...]:
        """Tell when pairs of samples are too many to be counted."""
        return pair_advice(target) if target.task == "survival" else ()


def _with_categories(categories: Ints, of_numbers: OfNumbers, of_categories: Array) -> Relevance:
    """Return the relevance of features by their positions: numbers by their values, categories by what they have.

    `of_categories` has shape (n_turns, n_models, n_categories).
    """
    order = np.argsort(categories)

    def relevance(columns: Ints, block: Array) -> Array:
        values, numbers = np.empty((*of_categories.shape[:2], len(columns))), ~np.isin(columns, categories)
        if numbers.any():
            values[..., numbers] = of_numbers(block[:, numbers])
        places = order[np.searchsorted(categories, columns[~numbers], sorter=order)]
        values[..., ~numbers] = of_categories[..., places]
        return values

    return relevance


def _relevance_to(target: Target, subsamples: Mask, in_turns: bool = False) -> OfNumbers:
    values = np.asarray(target.values)
    if target.task == "survival":
        agreement = survival_agreement(target, subsamples)
        if agreement is None:
            return _pearson_relevance(residual_directions(target, subsamples), subsamples)
        return lambda block: mutual_information(agreement(block))
    if target.task == "regression":
        return _pearson_relevance(_directions(values, subsamples), subsamples)
    classes = ClassCounts(values, target.n_classes, subsamples)
    contrasts = _contrasts(target)
    concordance = Concordance(subsamples, contrasts)
    sizes = subsamples.sum(axis=1)[:, None]

    def relevance(block: Array) -> Array:
        present = present_in(block)
        counts = classes.of(present)
        n = counts.sum(axis=0)
        if len(contrasts) < len(counts):
            n_pairs = counts[1:] * np.cumsum(counts, axis=0)[:-1]
            found = concordance(block, n_pairs).sum(axis=0)
            rho = found / np.maximum(n_pairs.sum(axis=0), 1)
        else:
            n_pairs = counts * (n - counts)
            factors = (1.0 if in_turns else counts / np.maximum(n, 1)) / np.maximum(n_pairs, 1)
            rho = np.abs(concordance(block, n_pairs)) * factors
            rho = rho if in_turns else rho.sum(axis=0)
        return mutual_information(rho if present is None else rho * np.sqrt(n / sizes))

    return relevance


def _contrasts(target: Target) -> list[Contrast]:
    """Return each class against all others, or, where classes have an order, against all lower ones."""
    values = np.asarray(target.values)
    if is_nominal(target):
        return [Contrast(values == c, values != c) for c in range(target.n_classes)]
    return [Contrast(values == c, values < c) for c in range(1, target.n_classes)]


def _relevance_of_categories(X: CategoryTable, target: Target, subsamples: Mask, in_turns: bool) -> Array:
    """Return the relevance of all categories, one row for each turn: that of numbers with the same p-values."""
    categories = np.array(list(X.levels), dtype=np.intp)
    if target.task == "survival" and (pairs := OrderedPairs.of(target.time, target.event)).n_all <= MOST_PAIRS:
        nets = [NetScores(pairs.net(subsamples), pairs.n_pairs(subsamples))]
    elif target.task in ("survival", "regression"):
        directions = (
            _directions(np.asarray(target.values, dtype=np.float64), subsamples)
            if target.task == "regression"
            else residual_directions(target, subsamples)
        )
        return mutual_information(associations(X, categories, subsamples, directions[None]))
    elif is_nominal(target):
        nets = [NetScores.of([contrast], subsamples) for contrast in _contrasts(target)]
    else:
        nets = [NetScores.of(_contrasts(target), subsamples)]
    outputs, scale = np.stack([net.scores for net in nets]), np.stack([net.scale for net in nets])
    rho = np.minimum(associations(X, categories, subsamples, outputs, scale), 1.0)
    if is_nominal(target) and not in_turns:
        counts = ClassCounts(np.asarray(target.values), target.n_classes, subsamples).of(None)
        rho = (rho * counts / counts.sum(axis=0)).sum(axis=0, keepdims=True)
    return mutual_information(rho)


def _directions(y: Array, subsamples: Mask) -> Floats:
    """Return a numeric target with mean 0 and length 1 in each run, of shape (n_models, n_samples), 0 outside."""
    directions = np.zeros(subsamples.shape)
    for direction, rows in zip(directions, subsamples, strict=True):
        own = y[rows]
        if own.min() < own.max():  # a target that is constant in a subsample is related to nothing
            direction[rows] = standardized(own) / np.sqrt(len(own))
    return directions


def _pearson_relevance(directions: Floats, subsamples: Mask) -> OfNumbers:
    statistic = correlation_with(directions, subsamples)

    def information(*given: Any) -> tuple[Array, Array]:
        rho, condition = statistic(*given)
        return np.where(np.isneginf(rho), rho, mutual_information(rho)), condition

    return lambda block: run_scores(information, subsamples, block)
