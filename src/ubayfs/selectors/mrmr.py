"""Minimum redundancy, maximum relevance (mRMR), for all subsamples in matrix products."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._arguments import Array, Floats, Generators, Ints, Mask
from ..data.target import Target
from .base import TIE, ElementarySelector
from .concordance import Contrast, concordance
from .scoring import SCREENING_ERROR, Statistic, blocks_of, centered, run_scores, scatter
from .threads import each_block

_LARGEST_ASSOCIATION = 1.0 - 1e-7

# Columns that take part from the beginning; the others join when a bound demands it.
_FIRST_ACTIVE = 64

# Up to this many entries (32 MB) the relevance of all columns is kept instead of computed again for those that join.
_KEPT_ENTRIES = 1 << 22

# (block of columns as in the data) -> relevance in each run, of shape (n_models, k)
Relevance = Callable[[Array], Array]


@dataclass(frozen=True)
class MRMR(ElementarySelector):
    """Choose, one after another, the feature of highest relevance minus mean redundancy with those already chosen.

    Notes
    -----
    Relevance and redundancy are mutual information -0.5 ln(1 - rho^2) of an association rho, clipped at
    abs(rho) = 1 - 1e-7. Redundancy: rho is Pearson's correlation on the subsample. Relevance:

    - two classes, or classes with an order: Somers' D with respect to the target, the number of concordant minus
      discordant pairs over the number of pairs from different classes (2 AUC - 1 for two classes);
    - classes without order: the mean of abs(D) of each class against all others, weighted by class frequency;
    - a continuous target: Pearson's correlation.

    Redundancy is never negative, so relevance bounds every later score of a feature. Only features whose relevance
    reaches the score of a current best are compared with the chosen ones; the result is the same as with all of them.
    """

    name: ClassVar[str] = "mrmr"
    tasks: ClassVar[frozenset[str]] = frozenset({"binary", "multiclass", "regression"})
    joint: ClassVar[bool] = True

    def select_many(self, X: Array, target: Target, subsamples: Mask, n_features: int, rngs: Generators) -> list[Ints]:
        """Choose features on all subsamples at once: one pass for relevance, then one product per chosen feature."""
        search = _Search(X, subsamples, _relevance_to(target, subsamples))
        picks = np.stack([search.next_picks() for _ in range(min(n_features, X.shape[1]))], axis=1)
        return [row[row >= 0] for row in picks]


def mutual_information(rho: Array) -> Array:
    """Return -0.5 ln(1 - rho^2), with abs(rho) clipped at 1 - 1e-7.

    Examples
    --------
    >>> mutual_information(np.array([0.0, 0.6, -1.0])).round(6)
    array([-0.      ,  0.223144,  7.712474])
    """
    rho = np.minimum(np.abs(rho), _LARGEST_ASSOCIATION)
    return -0.5 * np.log((1.0 - rho) * (1.0 + rho))


def _relevance_to(target: Target, subsamples: Mask) -> Relevance:
    values = np.asarray(target.values)
    if target.task == "regression":
        statistic = _pearson_relevance(values, subsamples)
        return lambda block: run_scores(statistic, subsamples, block)
    if target.n_classes == 2 or target.ordered:
        contrasts = [Contrast(values == c, values < c) for c in range(1, target.n_classes)]
        n_pairs = np.maximum(sum(c.n_pairs(subsamples) for c in contrasts), 1)[:, None]
        return lambda block: mutual_information(concordance(block, subsamples, contrasts).sum(axis=0) / n_pairs)
    contrasts = [Contrast(values == c, values != c) for c in range(target.n_classes)]
    n_pairs = np.stack([np.maximum(c.n_pairs(subsamples), 1) for c in contrasts])
    frequencies = np.stack([(subsamples & c.upper).sum(axis=1) for c in contrasts]) / subsamples.sum(axis=1)
    factors = (frequencies / n_pairs)[:, :, None]
    return lambda block: mutual_information((np.abs(concordance(block, subsamples, contrasts)) * factors).sum(axis=0))


def _pearson_relevance(y: Array, subsamples: Mask) -> Statistic:
    weights = subsamples.astype(np.float64)
    deviations = weights * (y - (weights @ y / weights.sum(axis=1))[:, None])
    lengths = np.linalg.norm(deviations, axis=1)
    # A target that is constant in a subsample is related to nothing.
    constant = np.where(subsamples, y, np.inf).min(axis=1) == np.where(subsamples, y, -np.inf).max(axis=1)
    directions = deviations / np.where(constant, np.inf, lengths)[:, None]

    def statistic(runs: slice, x: Array) -> tuple[Array, Array]:
        around_mean, condition = scatter(weights[runs], x)
        rho = directions[runs].astype(x.dtype, copy=False) @ x / np.sqrt(around_mean)
        return mutual_information(rho), condition

    return statistic


class _Search:
    """State of the greedy search of all runs over one set of active columns."""

    def __init__(self, X: Array, subsamples: Mask, relevance: Relevance) -> None:
        self._X, self._subsamples, self._relevance = X, subsamples, relevance
        self._weights = subsamples.astype(np.float64)
        self._directions: list[Floats] = []  # of the chosen features, each of shape (n_models, n_samples)
        bounds = np.empty(X.shape[1])
        # In single precision it only screens; what decides is computed in double precision.
        keep = X.dtype == np.float64 and len(subsamples) * X.shape[1] <= _KEPT_ENTRIES
        self._kept = np.empty((len(subsamples), X.shape[1])) if keep else None

        def compare_with_target(part: slice) -> None:
            values = relevance(X[:, part])
            bounds[part] = values.max(axis=0)
            if self._kept is not None:
                self._kept[:, part] = values

        each_block(compare_with_target, blocks_of(len(X), X.shape[1]))
        if X.dtype == np.float32:
            # Here the error of an association close to 1 is large on the scale of mutual information.
            bounds[bounds > 2.0] = np.inf
        self._by_bound = np.argsort(-bounds, kind="stable")
        self._bounds = bounds[self._by_bound] + SCREENING_ERROR[X.dtype]
        empty = np.empty((len(subsamples), 0))
        self.columns = np.empty(0, dtype=np.intp)  # those that have been compared with everything chosen so far
        # Of them in each run: relevance (-inf: cannot be chosen), redundancy summed over the chosen ones, and norm
        # around the mean of the subsample.
        self.relevance, self.redundancy, self.lengths = empty, empty, empty
        self._activate(_FIRST_ACTIVE)

    def next_picks(self) -> Ints:
        """Return the next best column of each run, -1 where none is left."""
        scores = self._scores()
        lowest = scores.max(axis=1).min()
        n_needed = int(np.searchsorted(-self._bounds, -lowest, side="right"))
        if n_needed > len(self.columns):
            self._activate(max(n_needed, 2 * len(self.columns)))
            scores = self._scores()
        best = scores.max(axis=1)
        tied = scores >= best[:, None] - TIE
        positions = np.where(tied, self.columns, self._X.shape[1]).argmin(axis=1)
        left = np.isfinite(best)
        self._choose(positions, left)
        return np.where(left, self.columns[positions], -1)

    def _scores(self) -> Floats:
        return self.relevance - self.redundancy / max(len(self._directions), 1)

    def _choose(self, positions: Ints, left: Mask) -> None:
        runs = np.arange(len(positions))
        self.relevance[runs, positions] = -np.inf
        values = self._centered(self.columns[positions]).T
        means = (self._weights * values).sum(axis=1) / self._weights.sum(axis=1)
        direction = self._weights * (values - means[:, None])
        direction /= np.where(left, self.lengths[runs, positions], np.inf)[:, None]
        self._directions.append(direction)
        for part in blocks_of(len(self._X), len(self.columns)):
            x = self._centered(self.columns[part])
            self.redundancy[:, part] += self._redundancy(direction, x, self.lengths[:, part])

    def _activate(self, n_active: int) -> None:
        """Let the `n_active` columns of highest relevance take part; compare the new ones with all chosen so far."""
        new = np.sort(self._by_bound[len(self.columns) : n_active])
        shape = (len(self._subsamples), len(new))
        relevance, redundancy, lengths = np.empty(shape), np.zeros(shape), np.empty(shape)
        for part in blocks_of(len(self._X), len(new)):
            block = self._X[:, new[part]].astype(np.float64)
            lengths[:, part] = run_scores(self._length, self._subsamples, block)
            values = self._relevance(block) if self._kept is None else self._kept[:, new[part]]
            relevance[:, part] = np.where(lengths[:, part] > 0, values, -np.inf)
            x = centered(block)
            for direction in self._directions:
                redundancy[:, part] += self._redundancy(direction, x, lengths[:, part])
        self.columns = np.concatenate([self.columns, new])
        self.relevance = np.concatenate([self.relevance, relevance], axis=1)
        self.redundancy = np.concatenate([self.redundancy, redundancy], axis=1)
        self.lengths = np.concatenate([self.lengths, lengths], axis=1)

    def _centered(self, columns: Ints) -> Floats:
        return centered(self._X[:, columns].astype(np.float64))

    def _length(self, runs: slice, x: Array) -> tuple[Array, Array]:
        around_mean, condition = scatter(self._weights[runs], x)
        return np.sqrt(np.maximum(around_mean, 0.0)), condition

    @staticmethod
    def _redundancy(direction: Floats, x: Floats, lengths: Floats) -> Floats:
        # A column that is constant in a run (length -inf) has no redundancy there; it cannot be chosen anyway.
        return mutual_information(direction @ x / np.where(lengths > 0, lengths, np.inf))
