"""Greedy search of mRMR for all runs at once: relevance minus mean redundancy with what a run has chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from .._arguments import Array, Floats, Ints, Mask
from ..data.categories import CategoryTable
from ..data.paired import PairSums, own_correlations
from .adjusted import Residuals
from .base import TIE
from .scoring import SCREENING_ERROR, Centering, blocks_of, has_digits, own_columns, with_gaps
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

# (positions of features, their values) -> relevance in each run, of shape (n_models, k); where classes take turns, for
# each of them, of shape (n_classes, n_models, k)
Relevance = Callable[[Ints, Array], Array]


def mutual_information(rho: Array) -> Array:
    """Return -0.5 ln(1 - rho^2), with abs(rho) clipped at 1 - 1e-7.

    Examples
    --------
    >>> mutual_information(np.array([0.0, 0.6, -1.0])).round(6)
    array([-0.      ,  0.223144,  7.712474])
    """
    rho = np.minimum(np.abs(rho), _LARGEST_ASSOCIATION)
    return -0.5 * np.log((1.0 - rho) * (1.0 + rho))


def largest_as_single(information: Floats, n_pairs: Array, n_samples: Array) -> Floats:
    """Return the information of a single pair of columns that has the same p-value as the largest of several pairs.

    The largest of several grows by chance with their number. By chance 2 (n - 2.5) times the information of one pair is
    about chi-squared with one degree of freedom; pairs count as independent.

    Examples
    --------
    >>> largest_as_single(np.array([[0.05, 0.05, 0.0]]), np.array([[1, 4, 4]]), np.array([[40]])).round(3)
    array([[0.05 , 0.022, 0.   ]])
    """
    from scipy.special import erfc, erfcinv

    scale = np.broadcast_to(np.maximum(n_samples - 2.5, 0.5), information.shape)
    p = erfc(np.sqrt(np.maximum(information, 0.0) * scale))
    several = (n_pairs > 1) & (p > 0)
    of_single = np.array(information)
    own = -np.expm1(n_pairs[several] * np.log1p(-np.minimum(p[several], 1.0 - 1e-16)))
    of_single[several] = erfcinv(own) ** 2 / scale[several]
    return of_single


class GreedySearch:
    """State of the search over one set of active features.

    A category is one feature, and its redundancy is the largest of the columns that code it, at equal p-value.
    """

    def __init__(
        self, X: Array, subsamples: Mask, relevance: Relevance, n_turns: int = 1, residuals: Residuals | None = None
    ) -> None:
        self._table, self._subsamples, self._relevance, self._residuals = X, subsamples, relevance, residuals
        self._X: Array = X.coded if isinstance(X, CategoryTable) else X
        self._chosen: list[list[_Choice]] = []
        bounds = np.empty((n_turns, X.shape[1]))
        of_all = (n_turns, len(subsamples), X.shape[1])
        # In single precision it only screens; what decides is computed in double precision.
        self._kept = np.empty(of_all) if X.dtype == np.float64 and np.prod(of_all) <= _KEPT_ENTRIES else None
        gaps = np.zeros(X.shape[1], dtype=bool)

        def compare_with_target(part: slice) -> None:
            gaps[part] = with_gaps(X[:, part])
            values = relevance(np.arange(X.shape[1])[part], X[:, part]).reshape(n_turns, len(subsamples), -1)
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
        # Those that have been compared with everything chosen so far, and the columns that code them.
        self.columns = self._coded = np.empty(0, dtype=np.intp)
        self._widths = np.empty(0, dtype=np.intp)  # number of columns that code each of them
        # Of them in each run: relevance to each class (-inf: cannot be chosen), and redundancy with all chosen ones.
        self.relevance, self.redundancy = np.empty((n_turns, len(subsamples), 0)), np.empty((len(subsamples), 0))
        self._centering = self._center(self._X[:, :0].astype(np.float64))
        self._activate(_FIRST_ACTIVE)

    def next_picks(self, turns: Ints) -> Ints:
        """Return the next best feature of each run, -1 where none is left; `turns` has the class of each run."""
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
        positions = np.where(tied, self.columns, self._table.shape[1]).argmin(axis=1)
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
        choices = []
        for places, there in self._columns_of_chosen(positions):
            centering, there = self._centering.take(places), there & left
            lengths, alone = (np.where(there, pairs[runs, runs], 0) for pairs in (centering.lengths, centering.alone))
            choices.append(_Choice(self._coded[places], centering.scale, centering.center, lengths, alone > 0))
        self._chosen.append(choices)
        self.redundancy += self._largest(choices, self._coded, self._centering, self._widths)

    def _columns_of_chosen(self, positions: Ints) -> Iterator[tuple[Ints, Mask]]:
        """Yield, for the active feature of each run, a column that codes it, by its place, and where there is one."""
        first, widths = (np.cumsum(self._widths) - self._widths)[positions], self._widths[positions]
        for number in range(int(widths.max(initial=1))):
            yield first + np.minimum(number, widths - 1), number < widths

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
            own = self._center(self._coded_block(columns, block))
            varies = _by_feature(np.logical_or, (own.lengths > 0) | own.alone, widths[part])
            relevance[..., part] = np.where(varies, values, -np.inf)
            centering.append(own)
        of_new = Centering.joined(centering)
        redundancy = np.zeros(relevance.shape[1:])
        for choices in self._chosen:
            redundancy += self._largest(choices, coded, of_new, widths)
        self.columns, self._coded = np.concatenate([self.columns, new]), np.concatenate([self._coded, coded])
        self._widths = np.concatenate([self._widths, widths])
        self.relevance = np.concatenate([self.relevance, relevance], axis=2)
        self.redundancy = np.concatenate([self.redundancy, redundancy], axis=1)
        self._centering = Centering.joined([self._centering, of_new])

    def _coding(self, columns: Ints) -> tuple[Ints, Ints]:
        """Return the columns that code some features, and how many each has."""
        if not isinstance(self._table, CategoryTable):
            return columns, np.ones(len(columns), dtype=np.intp)
        coded = np.flatnonzero(np.isin(self._table.owners, columns))  # features are in ascending order
        return coded, np.diff(self._table.starts)[columns]

    def _coded_block(self, columns: Ints, block: Floats) -> Floats:
        """Return the columns that code some features, whose values are a block."""
        coded, _ = self._coding(columns)
        return block if coded is columns else self._X[:, coded].astype(np.float64)

    def _largest(self, choices: list[_Choice], coded: Ints, centering: Centering, widths: Ints) -> Floats:
        """Return the redundancy of features with the chosen one of each run, the largest of the columns of both."""
        found = self._redundancy(choices[0], coded, centering)
        if isinstance(self._table, CategoryTable):
            for choice in choices[1:]:
                np.maximum(found, self._redundancy(choice, coded, centering), out=found)
            found = _by_feature(np.maximum, found, widths)
            n_columns = sum((choice.lengths > 0) | choice.alone for choice in choices)
            n_pairs = np.maximum(n_columns, 1)[:, None] * widths
            found = largest_as_single(found, n_pairs, self._subsamples.sum(axis=1)[:, None])
        return found

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


def _by_feature(combine: np.ufunc, values: Array, widths: Ints) -> Array:
    """Combine the columns of each feature, which has so many of them."""
    if len(widths) == values.shape[1]:
        return values
    return np.asarray(combine.reduceat(values, np.cumsum(widths) - widths, axis=1))


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
