"""Scores of all features on many subsamples at once, from weighted sums, safe against cancellation.

Sums over a subsample are matrix products: with 0/1 weights ``W`` of shape (n_models, n_samples) and centered data
``x``, ``W @ x`` and ``W @ x**2`` give the moments of every feature in every run without a copy of the data per run.
Such sums cancel where a feature hardly varies within a subsample compared with its distance from the overall mean (a
lone outlier outside the subsample, a constant). Those few pairs of run and feature are found from the sums and
computed again, centered on the subsample itself; there a constant feature is recognized exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .._arguments import Array, Floats, Ints, Mask
from ..data.feature_data import feature_chunks
from .base import TIE, best_first
from .threads import each_block

# Entries of the temporary arrays of one block of features; bounds memory, never changes a result.
BLOCK_ENTRIES = 1 << 16

# Below this share of (scatter around the subsample mean) / (sum of squares) the digits that are left do not do.
_CONDITION = {np.dtype(np.float64): 1e-6, np.dtype(np.float32): 1e-2}

# How far a score of order one, computed in the precision of the data, may be from its exact value.
SCREENING_ERROR = {np.dtype(np.float64): 2 * TIE, np.dtype(np.float32): 1e-3}

# (runs, x) -> (scores, condition): `x` of shape (n_samples, k) is centered and has the dtype that the products shall
# have, `runs` says for which runs; both results have shape (n_runs, k).
Statistic = Callable[[slice, Array], tuple[Array, Array]]


def blocks_of(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Yield slices of consecutive columns, so many that a block has about ``BLOCK_ENTRIES`` entries.

    `n_rows` is that of the tallest array that is made of a block: rows of the data, or runs.
    """
    return feature_chunks(n_columns, max(16, BLOCK_ENTRIES // n_rows))


def centered(block: Array) -> Array:
    """Return a centered copy of a block of columns, in its own precision.

    Double precision columns are also scaled to a largest absolute value of 1, so that no square leaves the range of
    numbers; in single precision the doubtful ones are computed again in double precision, which has that range.
    """
    if block.dtype == np.float64:
        largest = np.abs(block).max(axis=0)
        block = block / np.where(largest > 0, largest, 1.0)
    return block - block.mean(axis=0, dtype=np.float64).astype(block.dtype)


def scatter(weights: Array, x: Array) -> tuple[Array, Array]:
    """Return weighted sums of squares around the weighted mean, and their condition (share of the raw squares).

    With weights of shape (n_runs, n_samples) and k columns, both have shape (n_runs, k).
    """
    weights = weights.astype(x.dtype, copy=False)
    squares = weights @ x**2
    around_mean = squares - (weights @ x) ** 2 / _at_least_tiny(weights.sum(axis=1, keepdims=True))
    return around_mean, around_mean / _at_least_tiny(squares)


def _at_least_tiny(values: Array) -> Array:
    return np.maximum(values, np.finfo(values.dtype).tiny)


def run_scores(statistic: Statistic, subsamples: Mask, block: Array) -> Array:
    """Evaluate a statistic for all runs on a block of k columns of the data, whose dtype is that of the products.

    The scores have shape (n_models, k); they are minus infinity where a column is constant in the subsample.
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        scores, condition = statistic(slice(None), centered(block))
        doubtful = ~(condition > _CONDITION[block.dtype])
    columns = np.flatnonzero(doubtful.any(axis=0))
    if len(columns) == 0:
        return scores
    exact = block[:, columns].astype(np.float64)
    constant = (exact == exact[0]).all(axis=0)
    scores[:, columns[constant]] = -np.inf
    columns, exact = columns[~constant], exact[:, ~constant]
    for run in np.flatnonzero(doubtful[:, columns].any(axis=1)).tolist():
        here = doubtful[run, columns]
        scores[run, columns[here]] = _scores_of_run(statistic, run, subsamples[run], exact[:, here])
    return scores


def _scores_of_run(statistic: Statistic, run: int, rows: Mask, exact: Floats) -> Floats:
    """Evaluate a statistic for one run on columns centered on its subsample."""
    varying = (exact[rows] != exact[rows][0]).any(axis=0)
    x = centered(exact)
    x -= x[rows].mean(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        scores = statistic(slice(run, run + 1), x)[0][0]
    return np.where(varying, scores, -np.inf)


def best_of_each_run(statistic: Statistic, X: Array, subsamples: Mask, n_features: int) -> list[Ints]:
    """Choose the `n_features` columns of highest score in each run, best first; ties go to the lower index.

    All columns are scored in the precision of the data. When that is single, the few that may be among the best are
    scored again in double precision, so that rounding decides nothing.
    """
    n_models, n_columns = len(subsamples), X.shape[1]
    scores = np.empty((n_models, n_columns), dtype=X.dtype)

    def score(part: slice) -> None:
        scores[:, part] = run_scores(statistic, subsamples, X[:, part])

    each_block(score, blocks_of(max(len(X), n_models), n_columns))
    candidates = [_may_be_best(row, n_features, SCREENING_ERROR[X.dtype]) for row in scores]
    if X.dtype == np.float64:
        finals = [row[columns] for row, columns in zip(scores, candidates, strict=True)]
    else:
        union = np.unique(np.concatenate(candidates))
        exact = np.empty((n_models, len(union)))
        for part in blocks_of(len(X), len(union)):
            exact[:, part] = run_scores(statistic, subsamples, X[:, union[part]].astype(np.float64))
        finals = [row[np.searchsorted(union, columns)] for row, columns in zip(exact, candidates, strict=True)]
    return [columns[best_first(final, n_features)] for columns, final in zip(candidates, finals, strict=True)]


def _may_be_best(scores: Array, n_features: int, error: float) -> Ints:
    """Return, in order, the columns that can be among the `n_features` best when scores are off by at most `error`."""
    eligible = np.isfinite(scores)
    n_best = min(n_features, int(eligible.sum()))
    if n_best == 0:
        return np.empty(0, dtype=np.intp)
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
