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
        self.n_features = scores.straight.shape[0]
        self._scores, self._factor = scores, factor
        self.subsamples, self.bases = subsamples, bases
        self.sizes = subsamples.sum(axis=1)
        self._run_columns, self._run_features = run_columns
        self.n_columns = self.n_features * (2 if curves else 1)
        self._directions = directions_of(bases, subsamples)
        # 1 / (norm * sqrt(n)) / factor: times a product of a column and a vector, its correlation; 0 for no column.
        self._scale = np.zeros((len(bases), self.n_columns))
        each_block(self._measure, self._blocks())

    # -- all columns -------------------------------------------------------------------------------------------------

    def _blocks(self) -> list[slice]:
        size = max(1, _score_columns.BLOCK_ENTRIES // max(self.subsamples.shape))
        return list(feature_chunks(self.n_features, size))

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
            squares = self.subsamples.astype(np.float64) @ (rows**2).T
            total = squares.copy()
            for direction in range(self._directions.shape[1]):
                # |x - Q Q'x|^2 = |x|^2 - |Q'x|^2 with Q orthonormal
                total -= (self._directions[:, direction] @ rows.T) ** 2
            nothing = total <= NOTHING_LEFT * squares
            total *= self.sizes[:, None] * (1.0 if place.start == part.start else self._factor**2)
            total[nothing] = np.inf
            self._scale[:, place] = 1.0 / np.sqrt(total)
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
        every_run = np.array_equal(runs, np.arange(len(self._scale)))
        for place, products in correlations:
            products *= self._scale[:, place] if every_run else self._scale[runs, place]
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
                sizes = np.abs(correlations, out=correlations)
                which, columns = _places(sizes > levels[:, None])
                fresh = ~members[which, columns + place.start]
                which, columns = which[fresh], columns[fresh]
                parts.append((which, columns + place.start, sizes[which, columns]))

        each_block(find, self._blocks())
        which, columns, sizes = (np.concatenate(entries) for entries in zip(*parts, strict=True))
        order = np.argsort(which, kind="stable")
        columns, sizes = columns[order], sizes[order]
        starts = np.searchsorted(which[order], np.arange(len(vectors) + 1))
        return [_largest(columns[a:b], sizes[a:b], n_most) for a, b in pairwise(starts.tolist())]

    # -- products ----------------------------------------------------------------------------------------------------

    def best_products(self, vectors: Floats, runs: Ints, heads: Ints, levels: Floats, n_most: int) -> list[Pairs]:
        """Return the products with one of the first features of a run that correlate most with each vector.

        At most `n_most` for each vector of which the correlation is above its level. `heads` are the first features, of
        shape (n_models, n_heads), -1 where there are fewer. Features of pairs, and these, are in ascending order.
        """
        parts: list[tuple[Ints, Ints, Ints, Floats]] = []
        head_values = np.zeros((*heads.shape, self.subsamples.shape[1]))
        there, all_runs = np.nonzero(heads >= 0), np.arange(len(heads))
        none_bent = np.zeros(len(there[0]), dtype=bool)
        head_values[there] = _clipped(self._single(there[0], heads[there], none_bent)) * self.subsamples[there[0]]
        run_columns, limits = _clipped(self._run_columns), (levels * self._factor) ** 2 * self.sizes[runs]

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
                    inside = self._products(weighted, all_runs, rows, part, run_columns)
                    total -= np.multiply(inside, inside, out=inside)
                products = self._products(vectors * first[runs], runs, rows, part, run_columns)
                # Which correlations |products| / (factor sqrt(total n)) are above the level, without a root.
                np.multiply(products, products, out=products)
                which, columns = _places(products > total[runs] * limits[:, None])
                places, partners = (runs[which], columns), columns + part.start
                fresh = (partners[:, None] != heads[places[0], : head + 1]).all(axis=1)  # each pair once
                fresh &= total[places] > NOTHING_LEFT * whole[places]
                sizes = np.sqrt(products[which, columns][fresh] / (total[places] * self.sizes[places[0]])[fresh])
                parts.append((which[fresh], heads[places[0], head][fresh], partners[fresh], sizes / self._factor))

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

    def _single(self, runs: Ints, features: Ints, bent: Mask) -> Floats:
        """Return straight or bent columns of some runs, before they are scaled, of shape (k, n_samples)."""
        rows = self._scores.rows(features)
        rows[bent] = self._scores.bent(rows[bent], features[bent])
        if self._scores.with_gaps[features].any():
            np.nan_to_num(rows, nan=0.0, copy=False)
        if len(self._run_features):
            here = np.flatnonzero(np.isin(features, self._run_features))
            rows[here] = self._run_columns[runs[here], np.searchsorted(self._run_features, features[here])]
        return rows

    def take(self, runs: Ints, columns: Ints, pairs: Ints) -> Floats:
        """Return columns of some runs, of shape (k, n_samples): row i is column `columns[i]` of run `runs[i]`.

        They are 0 outside of the run. Of products, `pairs` are the features, of shape (k, 2).
        """
        product = columns >= 2 * self.n_features
        bent = ~product & (columns >= self.n_features)
        features = np.where(product, pairs[:, 0], columns % self.n_features)
        values = self._single(runs, features, bent)
        if product.any():
            second = self._single(runs[product], pairs[product, 1], bent[product])
            values[product] = _clipped(values[product]) * _clipped(second)
        values *= self.subsamples[runs]
        values = without(self._directions, runs, values)
        size = np.sqrt((values**2).sum(axis=1) / self.sizes[runs]) * np.where(bent | product, self._factor, 1.0)
        values /= np.where(size > 0, size, 1.0)[:, None]
        return values


def directions_of(bases: Sequence[Floats], subsamples: Mask) -> Floats:
    """Return bases of runs, 0 outside of these, of shape (n_models, largest rank, n_samples)."""
    directions = np.zeros((len(bases), max(basis.shape[1] for basis in bases), subsamples.shape[1]))
    for rows, basis, members in zip(directions, bases, subsamples, strict=True):
        rows[: basis.shape[1], members] = basis.T
    return directions


def without(directions: Floats, which: Ints, rows: Floats) -> Floats:
    """Return what is left of rows outside of the directions of these runs; see :func:`~ubayfs.data.covariates.outside`.

    The result for a row does not depend on the others.
    """
    for _ in range(2):
        for number in range(directions.shape[1]):
            direction = directions[which, number]
            rows = rows - np.einsum("ij,ij->i", rows, direction)[:, None] * direction
    return rows


def _largest(columns: Ints, sizes: Floats, n_most: int) -> Ints:
    """Return the columns of largest size, largest first; of equal ones, the first."""
    if len(columns) > n_most:  # few of many: without sorting all
        large = sizes >= np.partition(sizes, -n_most)[-n_most]
        columns, sizes = columns[large], sizes[large]
    return columns[np.lexsort((columns, -sizes))[:n_most]]


def _places(mask: Mask) -> tuple[Ints, Ints]:
    """Return where a mask with few entries is true, row by row: many times faster than np.nonzero."""
    return np.divmod(np.flatnonzero(mask), mask.shape[1])


def _clipped(values: Floats) -> Floats:
    return np.clip(values, -CLIPPED_PRODUCT, CLIPPED_PRODUCT)
