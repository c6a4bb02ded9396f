"""Scores of categories: as high as those of numbers that mean as little by chance.

The share of scatter that the levels of a category explain grows by chance with their number. So its p-value is taken,
and the category gets the score that a number with the same p-value has. Selectors that know nothing of categories see
a number in place of each (:mod:`~ubayfs.selectors.category_numbers`), or coded columns, the best of which counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arguments import Array, Floats, Generators, Ints, Mask
from ..data.categories import CategoryTable
from ..data.matrix import feature_chunks
from .concordance import Contrast
from .scoring import Runs

# Entries of the sums of one block of categories; bounds memory only.
_BLOCK_ENTRIES = 1 << 22

# Of what is left unexplained: with less, every association is 1.
_LEAST_LEFT = 1e-12

# Share of the columns of a category, or of what covariates or gaps leave of a combination of them, that counts as
# nothing.
NOTHING_LEFT = 1e-8

# Below this, p-values have too few digits to be turned back.
_SMALLEST_P = 1e-290

Select = Callable[[Array, Mask, int, Generators], Sequence[Ints]]


def unexplained(share: Array, d1: Array, d2: Array, c1: Array, c2: Array) -> Floats:
    """Return 1 minus the share of scatter that has, with other degrees of freedom, the same p-value.

    `share` is explained by d1 degrees of freedom and leaves d2, the result by c1 and c2. Under chance it is distributed
    as Beta(d1/2, d2/2), hence p = I(1 - share; d2/2, d1/2). Where p is 0 in floating point it is the adjusted share;
    where nothing is left to compare with, nothing is explained.

    >>> unexplained(np.array([0.3, 0.3]), np.array([1.0, 4.0]), np.array([28.0, 25.0]), 1.0, 28.0).round(3)
    array([0.7  , 0.875])
    """
    from scipy.special import betainc, betaincinv

    share, comparable = np.clip(share, 0.0, 1.0), (d1 > 0) & (d2 > 0) & (c1 > 0) & (c2 > 0)
    d1, d2, c1, c2 = (np.where(comparable, degrees, 1.0) for degrees in (d1, d2, c1, c2))
    p = betainc(d2 / 2, d1 / 2, 1.0 - share)
    rest = np.where(
        p > _SMALLEST_P, betaincinv(c2 / 2, c1 / 2, np.maximum(p, _SMALLEST_P)), (1.0 - share) * (c1 + c2) / d2
    )
    return np.where(comparable, np.minimum(rest, 1.0), 1.0)


def left_by_levels(
    trace: Array, p: Array, q: Array, rest: Array, number_degrees: tuple[Any, Any] | None = None
) -> Floats:
    """Return 1 minus the share of scatter of a number that has the p-value of Pillai's trace of p columns and q others.

    `rest` are the degrees of freedom that the q columns leave; of one column the trace is the share that p columns
    explain. The degrees of freedom of the number are q and `rest`, or `number_degrees`.
    """
    # Pillai's trace of s = min(p, q) canonical correlations; its approximate F has s max(p, q) and s (rest - p + s)
    # degrees of freedom.
    s = np.minimum(p, q)
    share = trace / np.maximum(s, 1.0)
    return unexplained(share, s * np.maximum(p, q), s * (rest - p + s), *(number_degrees or (q, rest)))


def whitening(gram: Floats, least: Floats) -> tuple[Floats, Floats]:
    """Return what makes columns with these products orthonormal, and how many are left.

    Combinations whose length is at most a share ``NOTHING_LEFT`` of `least` count as nothing. Results have shape
    (..., k, k), as the products, and (...,).
    """
    sizes, vectors = np.linalg.eigh(gram)
    there = sizes > np.maximum(NOTHING_LEFT * least, np.finfo(np.float64).tiny)[..., None]
    matrix = vectors * (there / np.sqrt(np.where(there, sizes, 1.0)))[..., None, :]
    return matrix, there.sum(axis=-1).astype(np.float64)


@dataclass(frozen=True, eq=False)
class _Block:
    """Some categories: sums over their coded columns are sums over the columns from `first` on."""

    places: Ints  # among all that were asked for
    x: Array  # (n_samples, n_coded), 0 where a value is missing
    present: Array  # (n_samples, k)
    first: Ints  # (k,)

    def sums(self, values: Array) -> Array:
        """Add up what the coded columns have, of shape (..., n_coded), for each category."""
        return np.asarray(np.add.reduceat(values, self.first, axis=-1))


def _blocks(X: CategoryTable, features: Ints, n_rows: int) -> list[_Block]:
    """Return categories with their indicators, one column per level, also of two."""
    blocks = []
    most = max((len(X.levels[int(j)].labels) for j in features), default=1)
    for part in feature_chunks(len(features), max(1, _BLOCK_ENTRIES // (n_rows * most))):
        codes = X[:, features[part]].astype(np.float64)
        widths = np.array([len(X.levels[int(j)].labels) for j in features[part]])
        owners, first = np.repeat(np.arange(len(widths)), widths), np.cumsum(widths) - widths
        level = np.arange(len(owners)) - first[owners]
        x = (codes[:, owners] == level).astype(np.float64)
        blocks.append(_Block(np.arange(len(features))[part], x, (~np.isnan(codes)).astype(np.float64), first))
    return blocks


def shares_between(X: CategoryTable, features: Ints, class_weights: Floats) -> tuple[Floats, Floats]:
    """Return the scores of categories without order, and the share of samples that have them: both (n_models, k).

    `class_weights`, of shape (n_classes, n_models, n_samples), tell who of each class is in each run. From counts N_lc
    of levels in classes, V = sum N_lc^2 / (n_l n_c) - 1 is Pillai's trace, the share of scatter between two classes;
    for more its F approximation holds. The score is the share of a number with the same p-value, minus infinity where
    a category does not vary.
    """
    n_classes, n_models, n_samples = class_weights.shape
    scores, share = np.empty((2, n_models, len(features)))
    weights = class_weights.reshape(-1, n_samples)
    for block in _blocks(X, features, len(weights)):
        counts = (weights @ block.x).reshape(n_classes, n_models, -1)
        level_sizes, class_sizes = counts.sum(axis=0), block.sums(counts)
        n, levels, classes = class_sizes.sum(axis=0), block.sums((level_sizes > 0) * 1.0), (class_sizes > 0).sum(axis=0)
        # Divided by the counts of classes first, which are those of the whole category.
        owners = np.repeat(np.arange(len(block.first)), np.diff([*block.first, counts.shape[2]]))
        parts = (counts**2 / np.maximum(class_sizes, 1.0)[..., owners]).sum(axis=0) / np.maximum(level_sizes, 1.0)
        trace, p, q = block.sums(parts) - 1.0, levels - 1.0, classes - 1.0
        rest = left_by_levels(trace, p, q, n - classes)
        scores[:, block.places] = np.where(levels > 1, 1.0 - rest, -np.inf)
        share[:, block.places] = n / class_weights.sum(axis=(0, 2))[:, None]
    return scores, share


def associations(
    X: CategoryTable, features: Ints, subsamples: Mask, outputs: Floats, scale: Floats | None = None
) -> Floats:
    """Return how strongly categories are associated with each output, of shape (n_outputs, n_models, k).

    `outputs`, of shape (n_outputs, n_models, n_samples), are numbers for the samples of each run. The share of their
    scatter that a category explains becomes t of a number with the same p-value. `scale`, of shape (n_outputs,
    n_models), is the standard deviation under chance of the association of numbers: t times it is the result. None:
    it is the correlation r of t, counted by the root of the share of samples that have the category.
    """
    strengths = np.empty((*outputs.shape[:2], len(features)))
    members = subsamples.astype(np.float64)
    n_members = members.sum(axis=1)[:, None]
    for block in _blocks(X, features, len(members) * (len(outputs) + 1)):
        ordered = np.array([X.levels[int(j)].ordered for j in features[block.places]])
        level_sizes = members @ block.x
        n, levels = block.sums(level_sizes), block.sums((level_sizes > 0) * 1.0)
        codes = np.where(block.present > 0, X[:, features[block.places]].astype(np.float64), 0.0)
        for position, output in enumerate(outputs):
            y = np.where(subsamples, output - (output * members).sum(axis=1, keepdims=True) / n_members, 0.0)
            y_sums, y_squares = y @ block.present, y**2 @ block.present
            # sum y^2 - (sum y)^2 / n, and sum_l (sum_l y)^2 / n_l - (sum y)^2 / n, over the samples with the category
            total = y_squares - y_sums**2 / np.maximum(n, 1.0)
            between = block.sums((y @ block.x) ** 2 / np.maximum(level_sizes, 1.0)) - y_sums**2 / np.maximum(n, 1.0)
            if ordered.any():
                between = np.where(ordered, _by_codes(members, y, codes, y_sums, n), between)
            share = np.where(total > 0, between / np.where(total > 0, total, 1.0), 0.0)
            d1 = np.where(ordered, np.minimum(levels - 1.0, 1.0), levels - 1.0)
            rest = left_by_levels(share, d1, np.ones_like(n), n - 2.0)
            if scale is None:
                strengths[position][:, block.places] = np.sqrt((1.0 - rest) * n / n_members)
            else:
                # t^2 = (n - 2) R2 / (1 - R2)
                t = np.sqrt(np.maximum(n - 2.0, 0.0) * (1.0 - rest) / np.maximum(rest, _LEAST_LEFT))
                strengths[position][:, block.places] = t * scale[position][:, None]
    return strengths


def _by_codes(members: Floats, y: Floats, codes: Floats, y_sums: Floats, n: Floats) -> Floats:
    """Return the scatter of y that the codes of ordered levels explain."""
    sums, n = members @ codes, np.maximum(n, 1.0)
    scatter = members @ codes**2 - sums**2 / n
    return np.where(scatter > 0, (y @ codes - y_sums * sums / n) ** 2 / np.where(scatter > 0, scatter, 1.0), 0.0)


@dataclass(frozen=True, eq=False)
class NetScores:
    """Pairs of samples that are compared, as a number for each sample."""

    # The pairs of the run in which a sample is the upper one minus those in which it is the lower one; 0 outside.
    scores: Floats  # (n_models, n_samples)
    n_pairs: Floats  # (n_models,)

    @classmethod
    def from_contrasts(cls, contrasts: Sequence[Contrast], subsamples: Mask) -> NetScores:
        """Count the pairs of classes that are compared, all together."""
        scores, n_pairs = np.zeros(subsamples.shape), np.zeros(len(subsamples))
        for contrast in contrasts:
            upper, lower = subsamples & contrast.upper, subsamples & contrast.lower
            n_upper, n_lower = (side.sum(axis=1, keepdims=True) for side in (upper, lower))
            scores += upper * n_lower - lower * n_upper
            n_pairs += (n_upper * n_lower)[:, 0]
        return cls(scores, n_pairs)

    @property
    def scale(self) -> Floats:
        """Standard deviation by chance of Somers' D of a number without ties, of shape (n_models,).

        The variance is (N + sum of squared scores) / (3 N^2) for N pairs; for two classes (n + 1) / (3 n_1 n_0).
        """
        return np.asarray(np.sqrt((self.n_pairs + (self.scores**2).sum(axis=1)) / 3) / np.maximum(self.n_pairs, 1.0))


# -- redundancy of categories ------------------------------------------------------------------------------------------


class LevelCorrelations:
    """Inverses of the correlations that the columns of each category have in each run, made when they are needed.

    With them, sums of products of correlations between columns are Pillai's trace: of a category and a number the share
    of scatter that levels explain, of two categories chi-squared over the number of samples.
    """

    def __init__(self, X: Any, runs: Runs) -> None:
        self._X, self._runs = X, runs
        several = X.several.tolist() if isinstance(X, CategoryTable) else ()
        self._inverses: dict[int, tuple[Floats, Floats] | None] = dict.fromkeys(several)

    def _inverse_of(self, feature: int) -> tuple[Floats, Floats]:
        """Return the inverses, of shape (n_models, k, k), and their ranks, of shape (n_models,)."""
        inverse = self._inverses[feature]
        if inverse is None:
            gram = self._runs.gram(self._X.columns(feature).astype(np.float64))
            squares = np.diagonal(gram, axis1=1, axis2=2)
            whitened, ranks = whitening(gram, squares.sum(axis=1))
            whitened *= np.sqrt(np.maximum(squares, 0.0))[:, :, None]
            # W W' is the pseudoinverse of the gram matrix; times the columns' lengths, that of their correlations.
            inverse = whitened @ whitened.transpose(0, 2, 1), np.maximum(ranks, 1.0)
            self._inverses[feature] = inverse
        return inverse

    def per_run(self, features: Ints) -> tuple[Floats, Floats]:
        """Return the inverse and the rank of one feature per run, of shapes (n_models, k, k) and (n_models,)."""
        inverses = {feature: self._inverse_of(feature) for feature in set(features.tolist()) & self._inverses.keys()}
        widest = max((matrices.shape[1] for matrices, _ in inverses.values()), default=1)
        inverse, ranks = np.zeros((len(features), widest, widest)), np.ones(len(features))
        inverse[:, 0, 0] = 1.0
        for run, feature in enumerate(features.tolist()):
            if feature in inverses:
                matrix, ranks[run] = (values[run] for values in inverses[feature])
                inverse[run, : len(matrix), : len(matrix)] = matrix
        return inverse, ranks

    def solved(self, rho: Floats, features: Ints, widths: Ints) -> tuple[Floats, Floats]:
        """Multiply correlations with the columns of features, so many of each, by the inverses.

        `rho` and the result have shape (n_models, m, n_coded); the ranks come with it, of shape (n_models, n_features).
        """
        first, solved, ranks = np.cumsum(widths) - widths, rho.copy(), np.ones((len(rho), len(features)))
        for place in np.flatnonzero(np.isin(features, list(self._inverses))).tolist():
            columns = slice(first[place], first[place] + widths[place])
            inverse, ranks[:, place] = self._inverse_of(int(features[place]))
            solved[:, :, columns] = rho[:, :, columns] @ inverse
        return solved, ranks


# -- selectors that know but numbers -----------------------------------------------------------------------------------


def one_vote_per_feature(
    X: CategoryTable, select: Select, subsamples: Mask, n_features: int, rngs: Generators
) -> list[Ints]:
    """Let a selector choose coded columns, and return the features of the best ones, best first.

    Columns that share a feature leave places free; for such a run the selector is asked for as many columns more.
    """
    again = deepcopy(list(rngs))
    chosen = []
    for run, picks in enumerate(select(X.coded, subsamples, n_features, rngs)):
        asked, features = n_features, _distinct(X.owners[picks])
        while len(picks) == asked < X.coded.shape[1] and len(features) < n_features:
            asked = min(asked + n_features - len(features), X.coded.shape[1])
            (picks,) = select(X.coded, subsamples[run : run + 1], asked, [deepcopy(again[run])])
            features = _distinct(X.owners[picks])
        chosen.append(features[:n_features])
    return chosen


def _distinct(owners: Ints) -> Ints:
    return owners[np.sort(np.unique(owners, return_index=True)[1])]
