"""Greedy search of mRMR for all runs at once: relevance minus mean redundancy with what a run has chosen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._arguments import Array, Floats, Ints, Mask
from ..data.categories import CategoryTable
from ..data.correlation import PairSums, pairwise_correlations
from ..data.matrix import feature_chunks
from .base import TIE
from .categories import LevelCorrelations, left_by_levels
from .scoring import SCREENING_ERROR, Centering, Runs, blocks_of, has_digits, with_gaps
from .threads import each_block

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

# Of a block of columns -> in each run, of shape (n_models, k); where classes take turns, for each of them, of shape
# (n_classes, n_models, k)
Relevance = Callable[[Array], Array]

# Positions of categories and their relevance, of shape (n_turns, n_models, n_categories); that of codes does not count.
CategoryRelevance = tuple[Ints, Array]


def mutual_information(rho: Array) -> Array:
    """Return -0.5 ln(1 - rho^2), with abs(rho) clipped at 1 - 1e-7.

    >>> mutual_information(np.array([0.0, 0.6, -1.0])).round(6)
    array([-0.      ,  0.223144,  7.712474])
    """
    rho = np.minimum(np.abs(rho), _LARGEST_ASSOCIATION)  # finite for a copy; and 1 - rho^2 keeps its digits in factors
    return -0.5 * np.log((1.0 - rho) * (1.0 + rho))


class GreedySearch:
    """State of the search over one set of active features.

    The redundancy of a category is that of a number with the same p-value.
    """

    def __init__(
        self, X: Array, runs: Runs, relevance: Relevance, n_turns: int = 1, categories: CategoryRelevance | None = None
    ) -> None:
        self._table, self._runs = X, runs
        self._number_relevance, self._category_relevance = relevance, categories
        self._subsamples = subsamples = runs.subsamples
        self._X: Array = X.coded if isinstance(X, CategoryTable) else X
        self._chosen: list[_Chosen] = []
        bounds = np.empty((n_turns, X.shape[1]))
        shape = (n_turns, len(subsamples), X.shape[1])
        # In single precision it only screens; what decides is computed in double precision.
        self._kept = np.empty(shape) if X.dtype == np.float64 and np.prod(shape) <= _KEPT_ENTRIES else None
        gaps = np.zeros(X.shape[1], dtype=bool)

        def compare_with_target(part: slice) -> None:
            gaps[part] = with_gaps(X[:, part])
            values = self._relevance(np.arange(X.shape[1])[part], X[:, part]).reshape(n_turns, len(subsamples), -1)
            bounds[:, part] = values.max(axis=1)
            if self._kept is not None:
                self._kept[..., part] = values

        each_block(compare_with_target, blocks_of(len(X), X.shape[1]))
        self._has_gaps = bool(gaps.any())
        if X.dtype == np.float32:
            # Here the error of an association close to 1 is large on the scale of mutual information.
            bounds[bounds > 2.0] = np.inf
        self._waiting = np.argsort(-bounds.max(axis=0), kind="stable")  # features that do not take part yet
        self._bounds = bounds + SCREENING_ERROR[X.dtype]
        self._levels = LevelCorrelations(X, runs)
        # Those that have been compared with everything chosen so far.
        none = np.empty(0, dtype=np.intp)
        self.active = _Features(none, none, none, runs.centering(self._X[:, :0].astype(np.float64)))
        # Of them in each run: relevance to each class (-inf: cannot be chosen), and redundancy with all chosen ones.
        self.relevance, self.redundancy = np.empty((n_turns, len(subsamples), 0)), np.empty((len(subsamples), 0))
        self._activate(_FIRST_ACTIVE)

    def next_picks(self, turns: Ints) -> Ints:
        """Return the next best feature of each run, -1 where none is left; `turns` has the class of each run."""
        scores = self._scores(turns)
        lowest = np.full((len(self._bounds), 1), np.inf)
        np.minimum.at(lowest[:, 0], turns, scores.max(axis=1))
        needed = (self._bounds[:, self._waiting] >= lowest).any(axis=0)
        # Redundancy is never negative: a feature whose relevance is below every current best cannot be the next one.
        if needed.any():
            self._waiting = self._waiting[np.argsort(~needed, kind="stable")]  # they come first
            self._activate(max(int(needed.sum()), len(self.active.positions)))
            scores = self._scores(turns)
        best = scores.max(axis=1)
        tied = scores >= best[:, None] - TIE
        places = np.where(tied, self.active.positions, self._table.shape[1]).argmin(axis=1)
        has_pick = np.isfinite(best)
        self._choose(places, has_pick)
        return np.where(has_pick, self.active.positions[places], -1)

    def _relevance(self, columns: Ints, block: Array) -> Array:
        """Return the relevance of features, whose values are a block."""
        if self._category_relevance is None:
            return self._number_relevance(block)
        categories, stored = self._category_relevance
        values, numbers = np.empty((*stored.shape[:2], len(columns))), ~np.isin(columns, categories)
        if numbers.any():
            values[..., numbers] = self._number_relevance(block[:, numbers])
        order = np.argsort(categories)
        places = order[np.searchsorted(categories, columns[~numbers], sorter=order)]
        values[..., ~numbers] = stored[..., places]
        return values

    def _scores(self, turns: Ints) -> Floats:
        relevance = self.relevance[0] if len(self.relevance) == 1 else self.relevance[turns, np.arange(len(turns))]
        return np.asarray(relevance - self.redundancy / max(len(self._chosen), 1))

    def _choose(self, places: Ints, has_pick: Mask) -> None:
        """Let each run that has any left choose an active feature, by its place."""
        runs, active = np.arange(len(places)), self.active
        self.relevance[:, runs, places] = -np.inf
        first, widths = (np.cumsum(active.widths) - active.widths)[places], active.widths[places]
        choices = []
        for number in range(int(widths.max(initial=1))):
            columns, there = first + np.minimum(number, widths - 1), has_pick & (number < widths)
            centering = active.centering.take(columns)
            lengths, alone = (np.where(there, pairs[runs, runs], 0) for pairs in (centering.lengths, centering.alone))
            choices.append(_Choice(active.coded[columns], centering.scale, centering.center, lengths, alone > 0))
        self._chosen.append(_Chosen(choices, *self._levels.per_run(active.positions[places])))
        self.redundancy += self._redundancy(self._chosen[-1], active)

    def _activate(self, n_more: int) -> None:
        """Let the first features that wait take part; compare them with all chosen so far."""
        new, self._waiting = np.sort(self._waiting[:n_more]), self._waiting[n_more:]
        coded, widths = self._coding(new)
        relevance = np.empty((*self.relevance.shape[:2], len(new)))
        centering = []
        for part in blocks_of(len(self._X), len(new)):
            columns = new[part]
            block = self._table[:, columns].astype(np.float64)
            values = self._relevance(columns, block) if self._kept is None else self._kept[..., columns]
            if isinstance(self._table, CategoryTable):
                block = self._X[:, self._coding(columns)[0]].astype(np.float64)
            block_centering = self._runs.centering(block)
            varies = _by_feature(np.logical_or, (block_centering.lengths > 0) | block_centering.alone, widths[part])
            relevance[..., part] = np.where(varies, values, -np.inf)
            centering.append(block_centering)
        features = _Features(new, coded, widths, Centering.joined(centering))
        redundancy = np.zeros(relevance.shape[1:])
        for chosen in self._chosen:
            redundancy += self._redundancy(chosen, features)
        self.active = self.active.joined(features)
        self.relevance = np.concatenate([self.relevance, relevance], axis=2)
        self.redundancy = np.concatenate([self.redundancy, redundancy], axis=1)

    def _coding(self, columns: Ints) -> tuple[Ints, Ints]:
        """Return the columns that code some features, and how many each has."""
        if not isinstance(self._table, CategoryTable):
            return columns, np.ones(len(columns), dtype=np.intp)
        coded = np.flatnonzero(np.isin(self._table.owners, columns))  # features are in ascending order
        return coded, np.diff(self._table.starts)[columns]

    def _redundancy(self, chosen: _Chosen, features: _Features) -> Floats:
        """Return the redundancy of features with the chosen one of each run, of shape (n_models, n_features)."""
        correlations = [self._correlations(choice, features.coded, features.centering) for choice in chosen.columns]
        if not isinstance(self._table, CategoryTable):
            return mutual_information(correlations[0])
        rho = np.stack(correlations, axis=1)  # (n_models, n_columns_of_chosen, n_coded)
        solved, p = self._levels.solved(rho, features.positions, features.widths)
        # trace(R_11^-1 R_12 R_22^-1 R_21), Pillai's trace of the columns of both features; rho^2 of two numbers
        trace = _by_feature(np.add, (chosen.inverse @ rho * solved).sum(axis=1), features.widths)
        q, n = chosen.ranks[:, None], self._runs.degrees[:, None]
        several = (p > 1) | (q > 1)
        p, q, n = (np.broadcast_to(degrees, trace.shape)[several] for degrees in (p, q, n))
        trace[several] = 1.0 - left_by_levels(trace[several], p, q, n - q, (1.0, n - 1.0))
        return mutual_information(np.sqrt(trace))

    def _correlations(self, choice: _Choice, columns: Ints, centering: Centering) -> Floats:
        """Return the correlations of some columns with the chosen one of each run, of shape (n_models, n_columns)."""
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
            return rho
        # A column that is constant in a run has no redundancy there; it cannot be chosen anyway.
        rho /= np.where(centering.lengths > 0, centering.lengths, np.inf)
        for run in np.flatnonzero(centering.alone.any(axis=1)).tolist():
            rows, alone = self._subsamples[run], centering.alone[run]
            direction = self._directions(choice, slice(run, run + 1))[0, rows]
            rho[run, alone] = direction @ self._runs.unit_columns(self._X, run, columns[alone])
        return rho

    def _directions(self, choice: _Choice, runs: slice) -> Floats:
        """Return the chosen columns of some runs with length 1, of shape (n_runs, n_samples), 0 outside the run."""
        numbers = range(len(self._subsamples))[runs]
        values = np.empty((len(numbers), len(self._X)))
        # A few runs at a time: temporary arrays would take several times as much.
        for part in feature_chunks(len(numbers), max(_DIRECTION_ENTRIES // len(self._X), 1)):
            part_runs = slice(numbers[part][0], numbers[part][-1] + 1)
            values[part] = choice.centered(self._X, self._subsamples, part_runs)
        values = self._runs.project(runs, values)
        lengths = choice.lengths[runs]
        values /= np.where(lengths > 0, lengths, np.inf)[:, None]
        for number in np.flatnonzero(choice.alone[runs]).tolist():
            run = numbers[number]
            values[number, self._subsamples[run]] = self._runs.unit_columns(self._X, run, choice.columns[[run]])[:, 0]
        return values


def _by_feature(combine: np.ufunc, values: Array, widths: Ints) -> Array:
    """Combine the columns of each feature, which has so many of them."""
    if len(widths) == values.shape[1]:
        return values
    return np.asarray(combine.reduceat(values, np.cumsum(widths) - widths, axis=1))


class _Features(NamedTuple):
    """Some features and the columns that code them."""

    positions: Ints
    coded: Ints  # these columns
    widths: Ints  # number of them for each feature
    centering: Centering  # of these columns

    def joined(self, others: _Features) -> _Features:
        """Return these features followed by others."""
        return _Features(
            np.concatenate([self.positions, others.positions]),
            np.concatenate([self.coded, others.coded]),
            np.concatenate([self.widths, others.widths]),
            Centering.joined([self.centering, others.centering]),
        )


@dataclass(frozen=True, eq=False)
class _Chosen:
    """The feature that each run has chosen at one step."""

    columns: list[_Choice]  # that code it, as many as the widest one has
    inverse: Floats  # of their correlations, (n_models, n_columns, n_columns)
    ranks: Floats  # of these, (n_models,)


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
        """Return the correlations of a block of columns in some runs, from the samples that have both values.

        They count by the root of the share of these samples.
        `x` is the block, centered; both have NaN in gaps. The result has shape (n_runs, k).
        """
        raw = np.where(subsamples[runs], X[:, self.columns[runs]].astype(np.float64).T, np.nan)
        values = raw * self.scale[runs, None] - self.center[runs, None]
        there, present = ~np.isnan(raw), ~np.isnan(x)
        sums = PairSums.from_columns(
            there.astype(np.float64), np.where(there, values, 0.0), np.where(present, x, 0.0), present
        )
        enough = sums.n >= _FEWEST_SHARED
        rho = np.where(enough, sums.rho, 0.0)
        doubtful = enough & ~has_digits(sums.condition)
        for run in np.flatnonzero(doubtful.any(axis=1)).tolist():
            rows = there[run]
            rho[run, doubtful[run]] = pairwise_correlations(raw[run, rows], block[np.ix_(rows, doubtful[run])])
        return np.asarray(rho * np.sqrt(sums.n / subsamples[runs].sum(axis=1)[:, None]))
