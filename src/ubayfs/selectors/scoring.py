"""Scores of all features on many subsamples at once, from weighted sums, safe against cancellation.

Sums over a subsample are matrix products: with 0/1 weights ``W`` of shape (n_models, n_samples) and centered data
``x``, ``W @ x`` and ``W @ x**2`` give the moments of every feature in every run without a copy of the data per run.
Such sums cancel where a feature hardly varies within a subsample compared with its distance from the center (a lone
outlier outside the subsample, a constant). Pairs of run and feature to which that happens are found from the sums.
Their features are computed again around the median, which a few absurd values do not move, and what is still doubtful
then is computed from the samples of the run alone; there a constant feature is recognized exactly. So a score is off by
less than ``TIE``, whatever the values outside the subsample are: what a run chooses depends on its own samples only.

Where values are missing (NaN), sums run over those that are present: with their mask ``P``, x is centered on them and 0
elsewhere, and ``W @ P`` counts them. A score counts by the share of the samples of the run that have the feature;
otherwise the features with the most gaps would win, since chance is largest among few samples. Columns without gaps do
not pay for those that have any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arguments import Array, Floats, Ints, Mask
from ..data.categories import CategoryTable
from ..data.matrix import feature_chunks
from ..data.missing import varying_columns
from ._subsample import power_of_two, standardized
from .base import TIE, best_first
from .threads import each_block

# Entries of the temporary arrays of one block of features; bounds memory, never changes a result.
BLOCK_ENTRIES = 1 << 16

# Entries of weights (runs times samples) that are turned into numbers at once: 16 or 32 MB.
_WEIGHT_ENTRIES = 1 << 22

# Below this share of (scatter around the subsample mean) / (sum of squares) the digits that are left do not do.
_CONDITION = {np.dtype(np.float64): 1e-6, np.dtype(np.float32): 1e-2}

# How far a score of order one, computed in the precision of the data, may be from its exact value.
SCREENING_ERROR = {np.dtype(np.float64): 2 * TIE, np.dtype(np.float32): 1e-3}

# (runs, x) or (runs, x, present) -> (scores, condition): `x` of shape (n_samples, k) is centered and has the dtype that
# the products shall have, `runs` says for which runs; both results have shape (n_runs, k). `present`, if values are
# missing, is the mask of those that are there: x is 0 elsewhere, and scores count by their share of the run.
Statistic = Callable[..., tuple[Array, Array]]


def blocks_of(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Yield slices of consecutive columns, so many that a block has about ``BLOCK_ENTRIES`` entries.

    `n_rows` is that of the tallest array that is made of a block: rows of the data, or runs.
    """
    return feature_chunks(n_columns, max(16, BLOCK_ENTRIES // n_rows))


def with_gaps(block: Array) -> Mask:
    """Return which columns have missing values."""
    return np.isnan(block.min(axis=0))


def present_in(block: Array) -> Mask | None:
    """Return which values are there, of the shape of the block; None if all are."""
    return ~np.isnan(block) if with_gaps(block).any() else None


def centered(block: Array, present: Mask | None = None) -> Array:
    """Return a copy of a block of columns, centered on their means and scaled, in its own precision; gaps become 0."""
    if present is not None:
        block = np.where(present, block, block.dtype.type(0))
    block = block * power_of_two(np.abs(block).max(axis=0))
    if present is None:
        return block - block.mean(axis=0, dtype=np.float64).astype(block.dtype)
    mean = block.sum(axis=0, dtype=np.float64) / np.maximum(present.sum(axis=0), 1)
    return np.multiply(block - mean.astype(block.dtype), present, dtype=block.dtype)


def median_centering(block: Floats) -> tuple[Floats, Floats]:
    """Return `scale` and `center`, of shape (2, k), such that ``block * scale - center`` is scaled, its medians are 0.

    Nothing but the difference is rounded, so that values near the median (the lower of two) retain their digits beside
    absurd ones. Gaps do not count.

    >>> block = np.array([[3.0], [2.0], [2.0**60], [5.0]])
    >>> scale, center = median_centering(block)
    >>> (block * scale - center).ravel() / scale
    array([ 0.0000000e+00, -1.0000000e+00,  1.1529215e+18,  2.0000000e+00])
    """
    largest = np.abs(block).max(axis=0)
    if np.isnan(largest).any():
        largest = np.nan_to_num(np.fmax.reduce(np.abs(block), axis=0), nan=0.0)
        middles = np.maximum(len(block) - np.isnan(block).sum(axis=0) - 1, 0) // 2
        medians = np.take_along_axis(np.sort(block, axis=0), middles[None], axis=0)[0]  # gaps come last
    else:
        middle = (len(block) - 1) // 2
        medians = np.partition(block, middle, axis=0)[middle]
    scale = power_of_two(largest)
    return scale, medians * scale


def _around_median(block: Floats) -> Floats:
    scale, center = median_centering(block)
    return without_gaps(block * scale - center)


def without_gaps(x: Array) -> Array:
    """Return centered columns with 0 in place of NaN."""
    np.copyto(x, 0, where=np.isnan(x))
    return x


def weighted_sums(weights: Array, *columns: Array) -> list[Array]:
    """Return ``weights @ x``, of shape (n_runs, k), for each array of shape (n_samples, k), in its precision.

    Weights, often a mask, are never numbers for all of many samples at once: these would take more than the data.
    """
    n_samples, dtype = len(columns[0]), columns[0].dtype
    sums: list[Array] = []
    for part in feature_chunks(n_samples, max(_WEIGHT_ENTRIES // max(len(weights), 1), 1)):
        part_weights = weights[:, part].astype(dtype, copy=False)
        part_sums = [part_weights @ x[part] for x in columns]
        sums = part_sums if not sums else [a + b for a, b in zip(sums, part_sums, strict=True)]
    return sums


def scatter(weights: Array, x: Array, n: Array | None = None) -> tuple[Array, Array]:
    """Return weighted sums of squares around the weighted mean, and their condition (share of the raw squares).

    With weights of shape (n_runs, n_samples) and k columns, both have shape (n_runs, k). Squares so small that they
    have lost digits count as larger, which makes the condition worse. `n`, of the same shape, are the weights of the
    values that are present, if not all are.
    """
    squares, sums = weighted_sums(weights, x**2, x)
    tiny = np.finfo(x.dtype).tiny
    if n is None:
        n = weights.sum(axis=1, keepdims=True, dtype=x.dtype)
    around_mean = squares - sums**2 / np.maximum(n, tiny)  # sum w x^2 - (sum w x)^2 / sum w
    return around_mean, around_mean / np.maximum(squares, tiny / np.finfo(x.dtype).eps)


def where_two(scores: Array, condition: Array, n_present: Array) -> tuple[Array, Array]:
    """Return scores and condition of columns with gaps: fewer than 2 values cannot vary, and nothing is in doubt."""
    enough = n_present >= 2
    return np.where(enough, scores, -np.inf), np.where(enough, condition, 1.0).astype(condition.dtype)


class ClassCounts:
    """How many samples of each class the runs have; of these, how many have a value of a feature."""

    def __init__(self, classes: Array, n_classes: int, subsamples: Mask) -> None:
        self.weights = subsamples & (np.asarray(classes) == np.arange(n_classes)[:, None])[:, None, :]
        self._everything = self.weights.sum(axis=2, dtype=np.float64)[:, :, None]

    def counts(self, present: Mask | None, runs: slice = slice(None)) -> Floats:
        """Return the counts of shape (n_classes, n_runs, k), or (n_classes, n_runs, 1) if all values are present."""
        if present is None:
            return self._everything[:, runs]
        # Counts are exact in single precision up to 16 million samples.
        return self.sums(runs, present.astype(np.float32)).astype(np.float64)

    def sums(self, runs: slice, x: Array) -> Array:
        """Return the sums of some columns over the samples of each class, of shape (n_classes, n_runs, k)."""
        weights = self.weights[:, runs]
        (sums,) = weighted_sums(weights.reshape(-1, len(x)), x)
        return sums.reshape(*weights.shape[:2], x.shape[1])


def has_digits(condition: Array) -> Mask:
    """Return which sums of squares have digits enough, by the condition that :func:`scatter` gives."""
    return np.greater(condition, _CONDITION[condition.dtype])  # NaN has not


def run_scores(statistic: Statistic, subsamples: Mask, block: Array) -> Array:
    """Evaluate a statistic for all runs on a block of k columns of the data, whose dtype is that of the products.

    The scores have shape (n_models, k), or several of them for columns without gaps; they are minus infinity where a
    column is constant in the subsample.
    """
    gaps = with_gaps(block)
    if not gaps.any():
        return _scores(statistic, subsamples, block)
    scores = np.empty((len(subsamples), block.shape[1]), dtype=block.dtype)
    scores[:, gaps] = _scores(statistic, subsamples, block[:, gaps], ~np.isnan(block[:, gaps]))
    if not gaps.all():
        scores[:, ~gaps] = _scores(statistic, subsamples, block[:, ~gaps])
    return scores


def _scores(statistic: Statistic, subsamples: Mask, block: Array, present: Mask | None = None) -> Array:
    with np.errstate(all="ignore"):
        mask: tuple[Mask, ...] = () if present is None else (present,)
        # First around the mean, then around the median, at last from the samples of a run alone: see the module.
        scores, condition = statistic(slice(None), centered(block, present), *mask)
        columns = np.flatnonzero(~has_digits(condition).all(axis=0))
        if len(columns) == 0:
            return scores
        exact = block[:, columns].astype(np.float64)
        varies = varying_columns(exact)
        scores[..., columns[~varies]] = -np.inf
        columns, exact = columns[varies], exact[:, varies]
        mask = tuple(there[:, columns] for there in mask)
        scores[..., columns], condition = statistic(slice(None), _around_median(exact), *mask)
        doubtful = ~has_digits(condition)
        for run in np.flatnonzero(doubtful.any(axis=1)).tolist():
            here, rows = doubtful[run], subsamples[run]
            x = np.zeros((len(exact), np.count_nonzero(here)))
            x[rows] = _around_median(exact[np.ix_(rows, here)])
            exact_scores = statistic(slice(run, run + 1), x, *(there[:, here] for there in mask))[0][..., 0, :]
            scores[..., run, columns[here]] = np.where(
                varying_columns(exact[np.ix_(rows, here)]), exact_scores, -np.inf
            )
    return scores


@dataclass(frozen=True, eq=False)
class Centering:
    """How k columns are centered so that products with them have digits enough in every run."""

    # Columns x are used as x * scale - center; both of shape (k,).
    scale: Floats
    center: Floats
    lengths: Floats  # norms around the mean of each run, 0 for constants and where `alone`; (n_models, k)
    # Pairs without digits enough, not constant: computed from what `Runs.unit_columns` gives; (n_models, k).
    alone: Mask

    def take(self, columns: Ints | slice) -> Centering:
        """Return that of some of the columns."""
        return Centering(self.scale[columns], self.center[columns], self.lengths[:, columns], self.alone[:, columns])

    @classmethod
    def joined(cls, parts: Sequence[Centering]) -> Centering:
        """Return that of the columns of all parts."""
        per_column = (np.concatenate([getattr(part, name) for part in parts]) for name in ("scale", "center"))
        per_run = (np.hstack([getattr(part, name) for part in parts]) for name in ("lengths", "alone"))
        return cls(*per_column, *per_run)


class Runs:
    """The samples of several runs, by `subsamples` of shape (n_models, n_samples)."""

    def __init__(self, subsamples: Mask) -> None:
        self.subsamples = subsamples

    @property
    def bases(self) -> list[Floats]:
        """Of each run, an orthonormal basis of the constant (and the covariates), (n_samples_of_run, rank)."""
        return [np.full((n, 1), n**-0.5) for n in self.subsamples.sum(axis=1).tolist()]

    @property
    def degrees(self) -> Floats:
        """Degrees of freedom of each run, of shape (n_models,)."""
        return self.subsamples.sum(axis=1) - 1.0

    def gram(self, x: Floats) -> Floats:
        """Return products of the columns of a category around their means in each run, of shape (n_models, k, k)."""
        present = ~np.isnan(x[:, 0])
        weights, x = (self.subsamples & present).astype(np.float64), np.where(present[:, None], x, 0.0)
        products = (x[:, :, None] * x[:, None, :]).reshape(len(x), -1)
        sums, n = weights @ x, np.maximum(weights.sum(axis=1), 1.0)
        raw = (weights @ products).reshape(-1, x.shape[1], x.shape[1])
        return raw - sums[:, :, None] * (sums / n[:, None])[:, None, :]

    def project(self, runs: slice, values: Floats) -> Floats:
        """Return what counts of vectors of some runs, of shape (n_runs, n_samples) and 0 outside the run."""
        return values

    def centering(self, block: Floats) -> Centering:
        """Return how columns, of shape (n_samples, k), are centered."""
        scale, center = median_centering(block)
        with np.errstate(all="ignore"):
            squares, condition = self._scatter(block * scale - center)
        usable = has_digits(condition)
        alone = ~usable
        for run in np.flatnonzero(alone.any(axis=1)).tolist():
            alone[run, alone[run]] = self._vary(run, block[:, alone[run]])
        return Centering(scale, center, np.sqrt(np.where(usable, squares, 0.0)), alone)

    def _scatter(self, x: Floats) -> tuple[Floats, Floats]:
        """Return sums of squares in each run, and their condition; gaps are NaN."""
        present = present_in(x)
        if present is None:
            return scatter(self.subsamples, x)
        return scatter(self.subsamples, without_gaps(x), self.subsamples.astype(np.float64) @ present)

    def _vary(self, run: int, block: Floats) -> Mask:
        """Return which columns vary in a run."""
        return varying_columns(block[self.subsamples[run]])

    def unit_columns(self, X: Array, run: int, columns: Ints) -> Floats:
        """Return columns that vary in a run, from its samples alone: mean 0, length 1."""
        x = standardized(X[np.ix_(self.subsamples[run], columns)])
        return x / np.sqrt(len(x))


def best_of_each_run(
    statistic: Statistic,
    X: Array,
    subsamples: Mask,
    n_features: int,
    category_scores: Callable[[CategoryTable], Floats] | None = None,
) -> list[Ints]:
    """Choose the `n_features` columns of highest score in each run, best first; ties go to the lower index.

    All columns are scored in the precision of the data. When that is single, the few that may be among the best are
    scored again in double precision, so that rounding decides nothing. Categories of three or more levels without order
    have scores of their own, of shape (n_models, n_several).
    """
    n_models, n_columns = len(subsamples), X.shape[1]
    categories = None
    if category_scores is not None and isinstance(X, CategoryTable):
        categories = X.several, category_scores(X)
    scores = np.empty((n_models, n_columns), dtype=X.dtype)

    def score(part: slice) -> None:
        scores[:, part] = run_scores(statistic, subsamples, X[:, part])

    each_block(score, blocks_of(max(len(X), n_models), n_columns))
    if categories is not None:
        scores[:, categories[0]] = categories[1]
    candidates = [_may_be_best(row, n_features, SCREENING_ERROR[X.dtype]) for row in scores]
    if X.dtype == np.float64:
        finals = [row[columns] for row, columns in zip(scores, candidates, strict=True)]
    else:
        union = np.unique(np.concatenate(candidates))
        exact = np.empty((n_models, len(union)))
        for part in blocks_of(len(X), len(union)):
            exact[:, part] = run_scores(statistic, subsamples, X[:, union[part]].astype(np.float64))
        if categories is not None:
            _, here, there = np.intersect1d(union, categories[0], return_indices=True)
            exact[:, here] = categories[1][:, there]
        finals = [row[np.searchsorted(union, columns)] for row, columns in zip(exact, candidates, strict=True)]
    return [columns[best_first(final, n_features)] for columns, final in zip(candidates, finals, strict=True)]


def _may_be_best(scores: Array, n_features: int, error: float) -> Ints:
    """Return, in order, the columns that can be among the `n_features` best when scores are off by at most `error`."""
    eligible = np.isfinite(scores)
    scores = np.where(eligible, scores, -np.inf)
    n_best = min(n_features, int(eligible.sum()))
    if n_best == 0:
        return np.empty(0, dtype=np.intp)
    # The n-th best may be too high by `error`, and a better one too low by as much.
    return np.flatnonzero(eligible & (scores >= nth_highest(scores, n_best) - 2 * error))


def nth_highest(scores: Array, n: int) -> Any:
    """Return the n-th highest of some scores, counted from 1.

    When there are many, they are compared with the n-th highest of the maxima of groups of them, which n scores reach:
    partitioning a million scores takes long when most of them are equal.
    """
    size = len(scores) // (8 * n)
    if size > 1:
        reached = np.partition(scores[: 8 * n * size].reshape(-1, size).max(axis=1), -n)[-n]
        scores = scores[scores > reached]
        if len(scores) < n:
            return reached
    return np.partition(scores, -n)[-n]
