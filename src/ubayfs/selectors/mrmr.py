"""Minimum redundancy, maximum relevance (mRMR), for all subsamples in matrix products."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._arguments import Array, Floats, Generators, Ints, Mask, check_choice
from ..data.paired import PairSums, own_correlations
from ..data.target import Target
from ..exceptions import Advice
from ._directions import correlation_with, pair_advice, residual_directions, survival_agreement
from ._subsample import standardized
from .adjusted import Residuals, associations_beyond
from .base import TIE, ElementarySelector
from .concordance import Contrast, concordance
from .scoring import (
    SCREENING_ERROR,
    Centering,
    ClassCounts,
    blocks_of,
    has_digits,
    own_columns,
    present_in,
    run_scores,
    with_gaps,
)
from .threads import each_block
from .turns import CLASS_RULES, class_turns, is_nominal

_LARGEST_ASSOCIATION = 1.0 - 1e-7

# Columns that take part from the beginning; the others join when a bound demands it.
_FIRST_ACTIVE = 64

# Up to this many entries (32 MB) the relevance of all columns is kept instead of computed again for those that join.
_KEPT_ENTRIES = 1 << 22

# Directions of so many runs are made at once: so many entries (4 MB), or this share of those of the data.
_DIRECTION_ENTRIES = 1 << 19
_DIRECTION_SHARE = 8

# From fewer samples that have both features no redundancy is computed: two samples always agree perfectly.
_FEWEST_SHARED = 3

# (block of columns as in the data) -> relevance in each run, of shape (n_models, k); where classes take turns, for each
# of them, of shape (n_classes, n_models, k)
Relevance = Callable[[Array], Array]


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
      others; see :mod:`~ubayfs.selectors.turns`;
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

    classes: str = "turns"

    def __post_init__(self) -> None:
        check_choice("classes", self.classes, CLASS_RULES)

    def select_many(self, X: Array, target: Target, subsamples: Mask, n_features: int, rngs: Generators) -> list[Ints]:
        """Choose features on all subsamples at once: one pass for relevance, then one product per chosen feature."""
        relevance = _relevance_to(target, subsamples, self._in_turns(target))
        return self._search(X, target, subsamples, n_features, rngs, relevance)

    def select_adjusted(
        self, X: Array, target: Target, design: Floats, subsamples: Mask, n_features: int, rngs: Generators
    ) -> list[Ints]:
        """Choose features by correlations beyond covariates, with the target and among each other."""
        residuals = Residuals(design, subsamples)
        associations = associations_beyond(residuals, target, self._in_turns(target))
        relevance: Relevance = lambda block: mutual_information(associations(block))  # noqa: E731
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
        search = _Search(X, subsamples, relevance, target.n_classes if in_turns else 1, residuals)
        picks = np.stack([search.next_picks(turn) for turn in turns], axis=1)
        return [row[row >= 0] for row in picks]

    def advice(self, target: Target) -> tuple[Advice, ...]:
        """Tell when pairs of samples are too many to be counted."""
        return pair_advice(target) if target.task == "survival" else ()


def mutual_information(rho: Array) -> Array:
    """Return -0.5 ln(1 - rho^2), with abs(rho) clipped at 1 - 1e-7.

    Examples
    --------
    >>> mutual_information(np.array([0.0, 0.6, -1.0])).round(6)
    array([-0.      ,  0.223144,  7.712474])
    """
    rho = np.minimum(np.abs(rho), _LARGEST_ASSOCIATION)
    return -0.5 * np.log((1.0 - rho) * (1.0 + rho))


def _relevance_to(target: Target, subsamples: Mask, in_turns: bool = False) -> Relevance:
    values = np.asarray(target.values)
    if target.task == "survival":
        agreement = survival_agreement(target, subsamples)
        if agreement is None:
            return _pearson_relevance(residual_directions(target, subsamples), subsamples)
        return lambda block: mutual_information(agreement(block))
    if target.task == "regression":
        return _pearson_relevance(_directions(values, subsamples), subsamples)
    classes = ClassCounts(values, target.n_classes, subsamples)
    if is_nominal(target):
        contrasts = [Contrast(values == c, values != c) for c in range(target.n_classes)]
    else:
        contrasts = [Contrast(values == c, values < c) for c in range(1, target.n_classes)]
    sizes = subsamples.sum(axis=1)[:, None]

    def relevance(block: Array) -> Array:
        present = present_in(block)
        counts = classes.of(present)
        n = counts.sum(axis=0)
        if len(contrasts) < len(counts):
            n_pairs = counts[1:] * np.cumsum(counts, axis=0)[:-1]
            found = concordance(block, subsamples, contrasts, n_pairs).sum(axis=0)
            rho = found / np.maximum(n_pairs.sum(axis=0), 1)
        else:
            n_pairs = counts * (n - counts)
            factors = (1.0 if in_turns else counts / np.maximum(n, 1)) / np.maximum(n_pairs, 1)
            rho = np.abs(concordance(block, subsamples, contrasts, n_pairs)) * factors
            rho = rho if in_turns else rho.sum(axis=0)
        return mutual_information(rho if present is None else rho * np.sqrt(n / sizes))

    return relevance


def _directions(y: Array, subsamples: Mask) -> Floats:
    """Return a numeric target with mean 0 and length 1 in each run, of shape (n_models, n_samples), 0 outside."""
    directions = np.zeros(subsamples.shape)
    for direction, rows in zip(directions, subsamples, strict=True):
        own = y[rows]
        if own.min() < own.max():  # a target that is constant in a subsample is related to nothing
            direction[rows] = standardized(own) / np.sqrt(len(own))
    return directions


def _pearson_relevance(directions: Floats, subsamples: Mask) -> Relevance:
    statistic = correlation_with(directions, subsamples)

    def information(*given: Any) -> tuple[Array, Array]:
        rho, condition = statistic(*given)
        return np.where(np.isneginf(rho), rho, mutual_information(rho)), condition

    return lambda block: run_scores(information, subsamples, block)


class _Search:
    """State of the greedy search of all runs over one set of active columns."""

    def __init__(
        self, X: Array, subsamples: Mask, relevance: Relevance, n_turns: int = 1, residuals: Residuals | None = None
    ) -> None:
        self._X, self._subsamples, self._relevance, self._residuals = X, subsamples, relevance, residuals
        self._chosen: list[_Choice] = []
        bounds = np.empty((n_turns, X.shape[1]))
        of_all = (n_turns, len(subsamples), X.shape[1])
        # In single precision it only screens; what decides is computed in double precision.
        self._kept = np.empty(of_all) if X.dtype == np.float64 and np.prod(of_all) <= _KEPT_ENTRIES else None
        gaps = np.zeros(X.shape[1], dtype=bool)

        def compare_with_target(part: slice) -> None:
            gaps[part] = with_gaps(X[:, part])
            values = relevance(X[:, part]).reshape(n_turns, len(subsamples), -1)
            bounds[:, part] = values.max(axis=1)
            if self._kept is not None:
                self._kept[..., part] = values

        each_block(compare_with_target, blocks_of(len(X), X.shape[1]))
        self._has_gaps = bool(gaps.any())
        if X.dtype == np.float32:
            # Here the error of an association close to 1 is large on the scale of mutual information.
            bounds[bounds > 2.0] = np.inf
        self._waiting = np.argsort(-bounds.max(axis=0), kind="stable")  # columns that do not take part yet
        self._bounds = bounds + SCREENING_ERROR[X.dtype]
        self.columns = np.empty(0, dtype=np.intp)  # those that have been compared with everything chosen so far
        # Of them in each run: relevance to each class (-inf: cannot be chosen), and redundancy with all chosen ones.
        self.relevance, self.redundancy = np.empty((n_turns, len(subsamples), 0)), np.empty((len(subsamples), 0))
        self._centering = self._center(X[:, :0].astype(np.float64))
        self._activate(_FIRST_ACTIVE)

    def next_picks(self, turns: Ints) -> Ints:
        """Return the next best column of each run, -1 where none is left; `turns` has the class of each run."""
        scores = self._scores(turns)
        lowest = np.full((len(self._bounds), 1), np.inf)
        np.minimum.at(lowest[:, 0], turns, scores.max(axis=1))
        needed = (self._bounds[:, self._waiting] >= lowest).any(axis=0)
        if needed.any():
            self._waiting = self._waiting[np.argsort(~needed, kind="stable")]  # they come first
            self._activate(max(int(needed.sum()), len(self.columns)))
            scores = self._scores(turns)
        best = scores.max(axis=1)
        tied = scores >= best[:, None] - TIE
        positions = np.where(tied, self.columns, self._X.shape[1]).argmin(axis=1)
        left = np.isfinite(best)
        self._choose(positions, left)
        return np.where(left, self.columns[positions], -1)

    def _center(self, block: Floats) -> Centering:
        return Centering.of(block, self._subsamples) if self._residuals is None else self._residuals.centering(block)

    def _scores(self, turns: Ints) -> Floats:
        of_turn = self.relevance[0] if len(self.relevance) == 1 else self.relevance[turns, np.arange(len(turns))]
        return np.asarray(of_turn - self.redundancy / max(len(self._chosen), 1))

    def _choose(self, positions: Ints, left: Mask) -> None:
        runs = np.arange(len(positions))
        self.relevance[:, runs, positions] = -np.inf
        centering = self._centering.take(positions)
        lengths, alone = (np.where(left, pairs[runs, runs], 0) for pairs in (centering.lengths, centering.alone))
        choice = _Choice(self.columns[positions], centering.scale, centering.center, lengths, alone > 0)
        self._chosen.append(choice)
        self.redundancy += self._redundancy(choice, self.columns, self._centering)

    def _activate(self, n_more: int) -> None:
        """Let the first columns that wait take part; compare them with all chosen so far."""
        new, self._waiting = np.sort(self._waiting[:n_more]), self._waiting[n_more:]
        relevance = np.empty((*self.relevance.shape[:2], len(new)))
        centering = []
        for part in blocks_of(len(self._X), len(new)):
            block = self._X[:, new[part]].astype(np.float64)
            own = self._center(block)
            values = self._relevance(block) if self._kept is None else self._kept[..., new[part]]
            relevance[..., part] = np.where((own.lengths > 0) | own.alone, values, -np.inf)
            centering.append(own)
        of_new = Centering.joined(centering)
        redundancy = np.zeros(relevance.shape[1:])
        for choice in self._chosen:
            redundancy += self._redundancy(choice, new, of_new)
        self.columns = np.concatenate([self.columns, new])
        self.relevance = np.concatenate([self.relevance, relevance], axis=2)
        self.redundancy = np.concatenate([self.redundancy, redundancy], axis=1)
        self._centering = Centering.joined([self._centering, of_new])

    def _redundancy(self, choice: _Choice, columns: Ints, centering: Centering) -> Floats:
        """Return the redundancy of some columns with the chosen one of each run, of shape (n_models, n_columns)."""
        rho = np.empty((len(self._subsamples), len(columns)))
        n_together = max(1, max(_DIRECTION_ENTRIES, self._X.size // _DIRECTION_SHARE) // len(self._X))
        for start in range(0, len(rho), n_together):
            runs = slice(start, start + n_together)
            directions = None if self._has_gaps else self._directions(choice, runs)
            for part in blocks_of(len(self._X), len(columns)):
                block = self._X[:, columns[part]].astype(np.float64)
                if directions is None:
                    x = block * centering.scale[part] - centering.center[part]
                    rho[runs, part] = choice.shared(self._X, self._subsamples, runs, block, x)
                else:
                    block *= centering.scale[part]  # in place: blocks are what takes memory here
                    block -= centering.center[part]
                    rho[runs, part] = directions @ block
        if self._has_gaps:
            return rho  # information already
        # A column that is constant in a run has no redundancy there; it cannot be chosen anyway.
        rho /= np.where(centering.lengths > 0, centering.lengths, np.inf)
        for run in np.flatnonzero(centering.alone.any(axis=1)).tolist():
            rows, alone = self._subsamples[run], centering.alone[run]
            direction = self._directions(choice, slice(run, run + 1))[0, rows]
            rho[run, alone] = direction @ self._own_columns(run, columns[alone])
        return mutual_information(rho)

    def _directions(self, choice: _Choice, runs: slice) -> Floats:
        """Return the chosen columns of some runs with length 1, of shape (n_runs, n_samples), 0 outside the run."""
        values = choice.centered(self._X, self._subsamples, runs)
        if self._residuals is not None:
            values = self._residuals.project(runs, values)
        lengths = choice.lengths[runs]
        values /= np.where(lengths > 0, lengths, np.inf)[:, None]
        for number in np.flatnonzero(choice.alone[runs]).tolist():
            run = range(len(self._subsamples))[runs][number]
            values[number, self._subsamples[run]] = self._own_columns(run, choice.columns[[run]])[:, 0]
        return values

    def _own_columns(self, run: int, columns: Ints) -> Floats:
        if self._residuals is None:
            return own_columns(self._X, self._subsamples[run], columns)
        return self._residuals.own_columns(self._X, run, columns)


@dataclass(frozen=True, eq=False)
class _Choice:
    """The column that each run has chosen at one step, and how it is centered; each of shape (n_models,)."""

    columns: Ints
    scale: Floats
    center: Floats
    lengths: Floats  # 0 where there is none, and where `alone`
    alone: Mask

    def centered(self, X: Array, subsamples: Mask, runs: slice) -> Floats:
        """Return the columns of some runs with mean 0, of shape (n_runs, n_samples), 0 outside the run."""
        values = (X[:, self.columns[runs]].astype(np.float64) * self.scale[runs] - self.center[runs]).T
        weights = subsamples[runs].astype(np.float64)
        return weights * (values - ((weights * values).sum(axis=1) / weights.sum(axis=1))[:, None])

    def shared(self, X: Array, subsamples: Mask, runs: slice, block: Floats, x: Floats) -> Floats:
        """Return the redundancy of a block of columns in some runs, from the samples that have both values.

        `x` is the block, centered; both have NaN in gaps. The result has shape (n_runs, k).
        """
        own = np.where(subsamples[runs], X[:, self.columns[runs]].astype(np.float64).T, np.nan)
        values = own * self.scale[runs, None] - self.center[runs, None]
        there, present = ~np.isnan(own), ~np.isnan(x)
        found = PairSums.of(there.astype(np.float64), np.where(there, values, 0.0), np.where(present, x, 0.0), present)
        enough = found.n >= _FEWEST_SHARED
        rho = np.where(enough, found.rho, 0.0)
        doubtful = enough & ~has_digits(found.condition)
        for run in np.flatnonzero(doubtful.any(axis=1)).tolist():
            rows = there[run]
            rho[run, doubtful[run]] = own_correlations(own[run, rows], block[np.ix_(rows, doubtful[run])])
        return mutual_information(rho * np.sqrt(found.n / subsamples[runs].sum(axis=1)[:, None]))
