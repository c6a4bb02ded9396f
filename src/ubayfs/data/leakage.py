"""Leakage: a feature that alone almost determines the target, and stands far above all features unlike it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._arguments import Array, Floats, Ints
from ..exceptions import Advice
from .categories import CategoryTable
from .correlation import pairwise_correlations
from .matrix import feature_chunks
from .ranks import centered_ranks, target_scores
from .sparse_columns import some_samples
from .target import Target, read_target

# A feature leaks if it reaches the limit, and what the best feature unlike it lacks is so many times what it lacks.
_LEAST_AUC, _LEAST_SHARE, _TIMES = 0.95, 0.9, 10.0
_LIKE = 0.8  # rank correlation from which on a feature is another form of the suspected one
# Fewer samples, or samples of a class, that have a value show nothing.
_FEWEST_SAMPLES, _FEWEST_PER_CLASS = 20, 8
_FEWEST_FEATURES = 5  # of which one can be said to stand out
# Of more samples so many are ranked first. A measure over them is off by .02; only one that is near the limit, by less
# than the margin, calls for all samples.
_SCREENED, _MARGIN = 2000, 0.1
# Entries of a block of columns, and features of which correlations are asked at once; bound memory only.
_ENTRIES, _AT_ONCE = 1 << 16, 256


@dataclass(frozen=True)
class Leak:
    """The suspected feature and the best one unlike it: areas under the curve, or shares of the largest association."""

    feature: int
    first: float
    second: float
    n_samples: int  # that have a value of the feature


def find_leak(X: Array, target: Target) -> Leak | None:
    """Return the feature that stands out, if there is one.

    Two classes: its area under the curve is at least .95, and 1 - AUC of the best feature with an absolute rank
    correlation below .8 to it is at least 10 max(1 - AUC, 1 / number of pairs). Other targets: the same of the share of
    the variance of its ranks that the scores of the target explain, from .9 of the largest possible share on; of a
    category the share of the scatter of these scores that is between its levels. Survival: also of the variance that
    the ranks of the time explain.

    Examples
    --------
    >>> from ubayfs.data.target import read_target
    >>> rng, y = np.random.default_rng(0), np.arange(40) % 2
    >>> X = np.column_stack([rng.normal(size=(40, 4)), y + 0.1 * rng.normal(size=40)])
    >>> leak = find_leak(X, read_target(y, 40, None))
    >>> leak.feature, leak.first, leak.second < 0.7
    (4, 1.0, True)
    """
    if target.values is None or len(X) < _FEWEST_SAMPLES or X.shape[1] < _FEWEST_FEATURES:
        return None
    limit = _LEAST_AUC if target.task == "binary" else _LEAST_SHARE
    rows = _screened(target)
    if len(rows) < len(X) and closeness(X, target, rows).max() < limit - _MARGIN:
        return None
    samples = np.arange(len(X))
    near = closeness(X, target, samples)
    best = int(np.argmax(near))
    present = ~np.isnan(X[:, best])
    # What one sample more or less changes: the rounding of a share of 1 is not taken for a difference.
    least = 1.0 / len(X) ** 2
    if target.task == "binary":
        least = 1.0 / np.prod(np.bincount(np.asarray(target.values)[present], minlength=2))
    second = _best_unlike(X, target, near, best) if near[best] >= limit else None
    if second is None or 1.0 - near[second] < _TIMES * max(1.0 - near[best], least):
        return None
    return Leak(best, float(near[best]), float(near[second]), int(present.sum()))


def _screened(target: Target) -> Ints:
    """Return at most so many samples, of two classes about as many of each."""
    values, rng = np.asarray(target.values), np.random.default_rng(0)
    if len(values) <= _SCREENED:
        return np.arange(len(values))
    parts = [np.flatnonzero(values == code) for code in (0, 1)] if target.task == "binary" else [np.arange(len(values))]
    most = _SCREENED // len(parts)
    return np.sort(np.concatenate([rng.permutation(part)[:most] for part in parts]))


def closeness(X: Array, target: Target, samples: Ints) -> Floats:
    """Return how near each feature is to the target over the samples that have it, of shape (n_features,)."""
    if target.task == "survival":  # also to the time itself, whether it ended with an event or not
        time = read_target(target.time, len(target.time), "regression")
        return np.maximum(_closeness(X, target, samples), _closeness(X, time, samples))
    return _closeness(X, target, samples)


def _closeness(X: Array, target: Target, samples: Ints) -> Floats:
    target = target.take(samples)
    binary, scores = target.task == "binary", target_scores(target)
    X, samples = (X, samples) if len(samples) == len(X) else some_samples(X, samples)
    near = np.zeros(X.shape[1])
    for part in feature_chunks(X.shape[1], max(1, _ENTRIES // len(samples))):
        block = _numbers(X, np.arange(part.start, part.stop), samples, scores)
        near[part] = _areas(block, np.asarray(target.values)) if binary else _shares(block, scores)
    if not binary:
        near = np.minimum(near / _largest_share(target, scores), 1.0)
    if isinstance(X, CategoryTable) and not binary:
        near[X.several] = [_share_between(X[samples, feature], scores) for feature in X.several.tolist()]
    return near


def _largest_share(target: Target, scores: Floats) -> float:
    """Return the share that ranks without ties can reach: if they have the order of the target, and classes apart."""
    n = len(scores)
    if scores.shape[1] == 1:
        ranks = np.arange(n) - (n - 1) / 2
        return float((ranks @ np.sort(scores[:, 0])) ** 2 / (ranks @ ranks))
    # The share of the scatter of ranks that is between classes which do not overlap: ranks 1 to m have (m^3 - m) / 12.
    sizes = np.bincount(np.asarray(target.values)).astype(np.float64) if target.n_classes else np.ones(n)
    return 1.0 - float((sizes**3 - sizes).sum()) / (n**3 - n)


def _share_between(codes: Floats, scores: Floats) -> float:
    """Return the share of the scatter of the scores that is between the levels of a category."""
    present = ~np.isnan(codes)
    if present.sum() < _FEWEST_SAMPLES:
        return 0.0
    there = scores[present] - scores[present].mean(axis=0)
    _, level, counts = np.unique(codes[present], return_inverse=True, return_counts=True)
    sums = np.stack([np.bincount(level, column) for column in there.T], axis=1)
    return float((sums**2 / counts[:, None]).sum() / max((there**2).sum(), 1e-300))


def _numbers(X: Array, features: Ints, samples: Ints, scores: Floats) -> Floats:
    """Return columns; levels of categories without order are numbers that follow the target as well as any can."""
    block = X[np.ix_(samples, features)].astype(np.float64)
    if isinstance(X, CategoryTable):
        for place in np.flatnonzero(np.isin(features, X.several)).tolist():
            block[:, place] = _scored(block[:, place], scores)
    return block


def _scored(codes: Floats, scores: Floats) -> Floats:
    """Return the level means of the target, along the direction in which these differ most."""
    present = ~np.isnan(codes)
    _, level, counts = np.unique(codes[present], return_inverse=True, return_counts=True)
    means = np.stack([np.bincount(level, column) for column in scores[present].T], axis=1) / counts[:, None]
    direction = np.linalg.svd(means * np.sqrt(counts)[:, None], full_matrices=False)[2][0]
    numbers = np.full(len(codes), np.nan)
    numbers[present] = (means @ direction).round(12)[level]
    return numbers


def _areas(block: Floats, values: Array) -> Floats:
    """Return the areas under the curve, at least one half: sums of centered ranks give them."""
    present, ranks = ~np.isnan(block), centered_ranks(block)
    sizes = np.stack([present[values == code].sum(axis=0) for code in (0, 1)])
    pairs = np.maximum(sizes.prod(axis=0), 1)
    # AUC - 1/2 = (sum of the ranks of class 1 around their mean) / (n_1 n_0)
    return np.where(sizes.min(axis=0) < _FEWEST_PER_CLASS, 0.0, 0.5 + np.abs(ranks[values == 1].sum(axis=0)) / pairs)


def _shares(block: Floats, scores: Floats) -> Floats:
    """Return the shares of the variance of ranks that a regression on the scores explains."""
    present, ranks = ~np.isnan(block), centered_ranks(block)
    n, scatter = present.sum(axis=0), np.maximum((ranks**2).sum(axis=0), 1e-12)
    products = ranks.T @ scores
    if present.all():
        return np.asarray((products**2).sum(axis=1) / scatter)
    there, d = present.T.astype(np.float64), scores.shape[1]
    sums = there @ scores
    squares = (there @ (scores[:, :, None] * scores[:, None, :]).reshape(len(scores), -1)).reshape(-1, d, d)
    squares -= sums[:, :, None] * sums[:, None, :] / np.maximum(n, 1)[:, None, None]
    # Where values are missing the scores are not orthonormal any more: r'S (S'S)^-1 S'r, around their means there.
    explained = np.einsum("ja,jab,jb->j", products, np.linalg.pinv(squares, rcond=1e-9, hermitian=True), products)
    return np.where(n < _FEWEST_SAMPLES, 0.0, explained / scatter)


def _best_unlike(X: Array, target: Target, near: Floats, best: int) -> int | None:
    samples, scores = np.arange(len(X)), target_scores(target)
    column = _ranked(_numbers(X, np.array([best]), samples, scores))[:, 0]
    order = np.argsort(-near, kind="stable")
    order = order[order != best]
    for part in feature_chunks(len(order), max(1, min(_AT_ONCE, _ENTRIES // len(X)))):
        block = _ranked(_numbers(X, order[part], samples, scores))
        unlike = np.flatnonzero(np.abs(pairwise_correlations(column, block)) < _LIKE)
        if len(unlike):
            return int(order[part][unlike[0]])
    return None


def _ranked(block: Floats) -> Floats:
    return np.where(np.isnan(block), np.nan, centered_ranks(block))


def leakage_advice(X: Array, target: Target, names: Array) -> tuple[Advice, ...]:
    """Return advice that names the feature, if there is one; see :func:`find_leak`."""
    leak = find_leak(X, target)
    if leak is None:
        return ()
    feature = str(names[leak.feature])
    having = "" if leak.n_samples == len(X) else f" in the {leak.n_samples:,} samples that have it"
    facts = {"feature": feature, "first": leak.first, "second": leak.second, "n_samples": leak.n_samples}
    code = "determines_target" if target.task == "binary" else "follows_target"
    return (Advice(code, {**facts, "having": having}),)
