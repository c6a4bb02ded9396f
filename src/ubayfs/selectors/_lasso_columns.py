"""The columns of lassos on many subsamples: straight and bent ones of all features, and products of some.

Column j is the straight one of feature j, column p + j its bent one, and from 2p on stand products of two features. In
a run a column has mean 0 and variance 1, or, where there are covariates, is what these leave of it, of variance 1; bent
ones and products are divided by the penalty factor then. No column of a run is made but those that its lasso looks at:
correlations of all columns with vectors that lie outside of the constant and the covariates are matrix products with
the columns of all samples, over their norms in the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from .._arguments import Floats, Ints, Mask
from ..data.covariates import outside
from ..data.matrix import feature_chunks
from . import _score_columns
from ._score_columns import NOTHING_LEFT, ScoreColumns
from .base import best_first
from .threads import each_block

CLIPPED_PRODUCT = 3.0

Pairs = Sequence[tuple[int, int]]  # the features of products


class LassoColumns:
    """The columns of several runs, of `scores` of all samples; bent ones and products are divided by `factor`.

    `bases`, of shape (n_samples_of_run, rank), are orthonormal, of the constant and the covariates. `run_columns`, of
    shape (n_models, k, n_samples), are straight columns that differ from run to run, of variance 1 there and 0 outside;
    with them come their features, which have no bent columns.
    """

    def __init__(
        self,
        scores: ScoreColumns,
        subsamples: Mask,
        bases: Sequence[Floats],
        curves: bool,
        factor: float,
        run_columns: tuple[Floats, Ints],
    ) -> None:
        self.n_features, n_samples = scores.straight.shape
        self._scores, self._factor = scores, factor
        self.subsamples, self.bases = subsamples, bases
        self.sizes = subsamples.sum(axis=1)
        self.samples = [np.flatnonzero(rows) for rows in subsamples]
        self._run_columns, self._run_features = run_columns
        self.n_columns = self.n_features * (2 if curves else 1)
        self._directions = np.zeros((len(bases), max(basis.shape[1] for basis in bases), n_samples))
        for directions, basis, rows in zip(self._directions, bases, subsamples, strict=True):
            directions[: basis.shape[1], rows] = basis.T
        # 1 / (norm * sqrt(n)) / factor: times a product of a column and a vector, its correlation; 0 for no column.
        self._scale = np.zeros((len(bases), self.n_columns))
        each_block(self._measure, self._blocks())

    # -- all columns -------------------------------------------------------------------------------------------------

    def _blocks(self) -> list[slice]:
        n_samples = self.subsamples.shape[1]
        return list(feature_chunks(self.n_features, max(1, _score_columns.BLOCK_ENTRIES // n_samples)))

    def _made(self, part: slice) -> list[tuple[slice, Floats]]:
        """Return the straight columns of some features, and the bent ones if there are any, with their positions."""
        rows = self._scores.rows(part)
        made = [(part, rows)]
        if self.n_columns > self.n_features:
            bent = slice(part.start + self.n_features, part.stop + self.n_features)
            made.append((bent, self._scores.bent(rows, part)))
        if self._scores.with_gaps[part].any():
            for _, columns in made:
                np.copyto(columns, 0.0, where=np.isnan(columns))
        return made

    def _measure(self, part: slice) -> None:
        for place, rows in self._made(part):
            total = self._totals(self.subsamples.astype(np.float64), self._directions, rows)
            factor = 1.0 if place.start == part.start else self._factor
            with np.errstate(divide="ignore"):
                self._scale[:, place] = np.where(total > 0, 1.0 / np.sqrt(total * self.sizes[:, None]) / factor, 0.0)
        gaps = np.flatnonzero(self._scores.with_gaps[part])
        if len(gaps):  # what does not vary among the values that are present is constant
            vary = self._vary(part.start + gaps)
            for first in range(part.start, self.n_columns, self.n_features):
                self._scale[:, first + gaps] *= vary
        inside = (self._run_features >= part.start) & (self._run_features < part.stop)
        features = self._run_features[inside]
        if len(features):
            squares = (self._run_columns[:, inside] ** 2).sum(axis=2)
            self._scale[:, features] = np.where(squares > 0, 1.0 / self.sizes[:, None], 0.0)

    @staticmethod
    def _totals(weights: Floats, directions: Floats, rows: Floats) -> Floats:
        """Return sums of squares outside of bases in each run, of shape (n_models, k); 0 where nothing is left."""
        squares = weights @ (rows**2).T
        inside = directions.reshape(-1, rows.shape[1]) @ rows.T
        # |x - Q Q'x|^2 = |x|^2 - |Q'x|^2 with Q orthonormal
        total = squares - (inside.reshape(len(directions), -1, len(rows)) ** 2).sum(axis=1)
        return np.where(total > NOTHING_LEFT * squares, total, 0.0)

    def _vary(self, features: Ints) -> Mask:
        rows = self._scores.rows(features)
        varying = np.empty((len(self.subsamples), len(features)), dtype=bool)
        for vary, mask in zip(varying, self.subsamples, strict=True):
            in_run = rows[:, mask]
            vary[:] = np.fmin.reduce(in_run, axis=1) < np.fmax.reduce(in_run, axis=1)
        return varying

    def _products(self, vectors: Floats, runs: Ints, rows: Floats, part: slice, run_columns: Floats) -> Floats:
        """Return products of vectors of some runs with columns of some features; `run_columns` differ among runs."""
        products = vectors @ rows.T
        inside = np.flatnonzero((self._run_features >= part.start) & (self._run_features < part.stop))
        if len(inside):
            columns = run_columns[runs[:, None], inside]
            products[:, self._run_features[inside] - part.start] = (columns @ vectors[:, :, None])[:, :, 0]
        return products

    def _correlations(self, vectors: Floats, runs: Ints, part: slice) -> list[tuple[slice, Floats]]:
        """Return the correlations of vectors of some runs with the columns of some features, and their positions."""
        (place, rows), *bent = self._made(part)
        correlations = [(place, self._products(vectors, runs, rows, part, self._run_columns))]
        correlations += [(place, vectors @ rows.T) for place, rows in bent]
        for place, products in correlations:
            products *= self._scale[runs, place]
        return correlations

    def largest(self, vectors: Floats, runs: Ints) -> Floats:
        """Return the largest absolute correlation of each vector with any column, of shape (n_vectors,).

        `vectors`, of shape (n_vectors, n_samples), are 0 outside of their runs, and lie outside of the bases of these.
        """
        largest: list[Floats] = []

        def find(part: slice) -> None:
            largest.extend(np.abs(values).max(axis=1) for _, values in self._correlations(vectors, runs, part))

        each_block(find, self._blocks())
        return np.max(largest, axis=0)

    def above(self, vectors: Floats, runs: Ints, levels: Floats, members: Mask, n_most: int) -> list[Ints]:
        """Return the columns, no members yet, whose correlation with a vector is above its level: at most `n_most`.

        `levels` has shape (n_vectors,), `members` shape (n_vectors, n_columns).
        """
        parts: list[tuple[Ints, Ints, Floats]] = []

        def find(part: slice) -> None:
            for place, correlations in self._correlations(vectors, runs, part):
                sizes = np.abs(correlations)
                which, columns = np.nonzero((sizes > levels[:, None]) & ~members[:, place])
                parts.append((which, columns + place.start, sizes[which, columns]))

        each_block(find, self._blocks())
        which, columns, sizes = (np.concatenate(entries) for entries in zip(*parts, strict=True))
        order = np.lexsort((columns, -sizes, which))
        starts = np.searchsorted(which[order], np.arange(len(vectors) + 1))
        return [columns[order[a : min(b, a + n_most)]] for a, b in pairwise(starts.tolist())]

    # -- products ----------------------------------------------------------------------------------------------------

    def _values(self, run: int, features: Ints) -> Floats:
        """Return what products are made of, of shape (k, n_samples): straight columns, clipped; 0 for gaps."""
        rows = np.nan_to_num(self._scores.rows(features), nan=0.0, copy=False)
        self._put_run_columns(rows, run, features)
        return _clipped(rows)

    def _put_run_columns(self, rows: Floats, run: int, features: Ints) -> None:
        """Put the columns of the run in the rows of features whose columns differ from run to run."""
        if len(self._run_features) == 0:
            return
        here = np.flatnonzero(np.isin(features, self._run_features))
        rows[here] = self._run_columns[run, np.searchsorted(self._run_features, features[here])]

    def best_products(self, vectors: Floats, runs: Ints, heads: Ints, levels: Floats, n_most: int) -> list[Pairs]:
        """Return the products with one of the first features of a run that correlate most with each vector.

        At most `n_most` for each vector of which the correlation is above its level. `heads` are the first features, of
        shape (n_models, n_heads), -1 where there are fewer. Features of pairs, and these, are in ascending order.
        """
        parts: list[tuple[Ints, Ints, Ints, Floats]] = []
        head_values = np.zeros((*heads.shape, self.subsamples.shape[1]))
        for run, features in enumerate(heads):
            head_values[run, features >= 0] = self._values(run, features[features >= 0]) * self.subsamples[run]
        run_columns, all_runs = _clipped(self._run_columns), np.arange(len(heads))

        def find(part: slice) -> None:
            rows = _clipped(np.nan_to_num(self._scores.rows(part), nan=0.0, copy=False))
            squares = rows**2
            for head in range(heads.shape[1]):
                first = head_values[:, head]
                whole = self._products(first**2, all_runs, squares, part, run_columns**2)
                # |xz|^2 - sum_d (d'xz)^2, the squares of a product xz outside of the basis; d'xz is (d x)'z: no product
                # is made.
                total = whole.copy()
                for direction in range(self._directions.shape[1]):
                    weighted = first * self._directions[:, direction]
                    total -= self._products(weighted, all_runs, rows, part, run_columns) ** 2
                total[total <= NOTHING_LEFT * whole] = np.inf
                sizes = np.abs(self._products(vectors * first[runs], runs, rows, part, run_columns))
                sizes /= self._factor * np.sqrt(total * self.sizes[:, None])[runs]
                which, columns = np.nonzero(sizes > levels[:, None])
                partners = columns + part.start
                fresh = (partners[:, None] != heads[runs[which], : head + 1]).all(axis=1)  # each pair once
                which, columns, partners = which[fresh], columns[fresh], partners[fresh]
                parts.append((which, heads[runs[which], head], partners, sizes[which, columns]))

        each_block(find, self._blocks())
        which, first, second, sizes = (np.concatenate(entries) for entries in zip(*parts, strict=True))
        low, high = np.minimum(first, second), np.maximum(first, second)
        order = np.lexsort((high, low, which))
        starts = np.searchsorted(which[order], np.arange(len(vectors) + 1))
        pairs: list[Pairs] = []
        for start, stop in pairwise(starts.tolist()):
            places = order[start:stop]
            best = places[np.sort(best_first(sizes[places] / sizes[places].max(initial=1e-300), n_most))]
            pairs.append(list(zip(low[best].tolist(), high[best].tolist(), strict=True)))
        return pairs

    # -- the columns of a run ----------------------------------------------------------------------------------------

    def take(self, run: int, columns: Ints, pairs: Pairs = ()) -> Floats:
        """Return columns of a run, of shape (k, n_samples_of_run).

        Column 2p + i is the product of the i-th of `pairs`.
        """
        rows = self.samples[run]
        values = np.empty((len(columns), len(rows)))
        single = columns < 2 * self.n_features
        features = columns[single] % self.n_features
        made = self._scores.rows(features)
        bent = columns[single] >= self.n_features
        made[bent] = self._scores.bent(made[bent], features[bent])
        self._put_run_columns(made, run, features)
        values[single] = made[:, rows]
        if self._scores.with_gaps[features].any():
            np.nan_to_num(values, nan=0.0, copy=False)
        if not single.all():
            chosen = np.array([pairs[i] for i in columns[~single] - 2 * self.n_features])
            first, second = (self._values(run, features)[:, rows] for features in chosen.T)
            values[~single] = first * second
        values = outside(self.bases[run], values.T).T
        size = np.sqrt((values**2).mean(axis=1)) * np.where(columns < self.n_features, 1.0, self._factor)
        return np.ascontiguousarray(values / np.where(size > 0, size, 1.0)[:, None])


def _clipped(values: Floats) -> Floats:
    return np.clip(values, -CLIPPED_PRODUCT, CLIPPED_PRODUCT)
