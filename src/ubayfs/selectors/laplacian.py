"""Laplacian score: how well a feature respects the neighborhoods of the samples; needs no target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._arguments import Array, Floats, Generators, Ints, Mask, check_int
from ..data.target import TASKS, Target
from ._subsample import standardized
from .base import TIE, ElementarySelector
from .scoring import Runs, Statistic, best_of_each_run, blocks_of, scatter

# Entries of the distance matrices that are held at the same time.
_DISTANCE_ENTRIES = 1 << 23


@dataclass(frozen=True)
class Laplacian(ElementarySelector):
    """Choose the features of lowest Laplacian score (He, Cai and Niyogi 2005).

    Parameters
    ----------
    n_neighbors : int
        Neighbors of each sample in the graph.

    Notes
    -----
    On each subsample:

    1. Features are standardized; constant ones are left out. d(i, j) is the Euclidean distance over all of them.
    2. Samples i and j are joined when one is among the `n_neighbors` nearest of the other; samples at the same distance
       as the last of these (up to 1e-9 of the mean squared distance) are neighbors too, so the order of rows does not
       matter.
    3. A joined pair has weight S_ij = exp(-d(i, j)^2 / t^2), t being the median distance of joined pairs. When t is 0,
       pairs at distance 0 have weight 1 and others 0.
    4. With degrees D_i = sum_j S_ij and the D-weighted mean m of a feature f, its score is
       sum of S_ij (f_i - f_j)^2 over joined pairs / sum_i D_i (f_i - m)^2, between 0 and 2.
    """

    name: ClassVar[str] = "laplacian"
    tasks: ClassVar[frozenset[str]] = frozenset(TASKS)
    usual_name: ClassVar[str] = "Laplacian score"
    finds: ClassVar[str] = "Features that vary smoothly between similar samples; it does not look at the target."
    reference: ClassVar[tuple[str, str]] = (
        "He et al., 2005",
        "He, X., Cai, D., Niyogi, P. (2005). Laplacian score for feature selection. Advances in Neural Information "
        "Processing Systems, 18.",
    )
    n_together: ClassVar[int] = 5
    nested: ClassVar[bool] = True
    categories_as_numbers: ClassVar[bool] = False  # which need a target

    n_neighbors: int = 5

    def __post_init__(self) -> None:
        check_int("n_neighbors", self.n_neighbors, low=1)

    def select_many(self, X: Array, target: Target, subsamples: Mask, n_features: int, rngs: Generators) -> list[Ints]:
        """Choose features on all subsamples at once; the target is ignored."""
        graphs = []
        n_together = max(1, _DISTANCE_ENTRIES // len(X) ** 2)
        for start in range(0, len(subsamples), n_together):
            some = subsamples[start : start + n_together]
            for rows, distances in zip(some, _squared_distances(X, some), strict=True):
                graphs.append(_graph(rows, distances, self.n_neighbors))
        return best_of_each_run(_smoothness(graphs, len(X)), X, subsamples, n_features)


def _squared_distances(X: Array, subsamples: Mask) -> list[Floats]:
    """Return squared distances between the samples of each subsample, its features standardized."""
    runs, weights = Runs(subsamples), subsamples.astype(np.float64)
    sizes = weights.sum(axis=1, keepdims=True)
    products = [np.zeros((n, n)) for n in subsamples.sum(axis=1)]
    for part in blocks_of(len(X), X.shape[1]):
        # Neighbors are decided by these sums, so they are taken in double precision.
        block = X[:, part].astype(np.float64)
        centering = runs.centering(block)
        x = block * centering.scale - centering.center
        means = weights @ x / sizes
        factors = np.where(centering.lengths > 0, np.sqrt(sizes), 0.0)
        factors /= np.where(centering.lengths > 0, centering.lengths, 1.0)
        for rows, product, mean, factor, alone in zip(
            subsamples, products, means, factors, centering.alone, strict=True
        ):
            standard = (x[rows] - mean) * factor
            if alone.any():
                standard[:, alone] = standardized(block[rows][:, alone])
            product += standard @ standard.T
    squares = [np.diag(product) for product in products]
    # |a - b|^2 = |a|^2 + |b|^2 - 2 a'b, which rounding may make negative, and not quite symmetric
    distances = [np.maximum(s[:, None] + s - 2.0 * product, 0.0) for s, product in zip(squares, products, strict=True)]
    return [(one_way + one_way.T) / 2.0 for one_way in distances]


def _graph(rows: Mask, distances: Floats, n_neighbors: int) -> tuple[Ints, Ints, Floats]:
    """Join neighbors: return the positions of the first and second sample of pairs, and weights by the heat kernel."""
    n_samples = len(distances)
    tolerance = TIE * distances.mean()
    to_others = distances.copy()
    np.fill_diagonal(to_others, np.inf)
    last = min(n_neighbors, n_samples - 1) - 1
    reach = np.partition(to_others, last, axis=1)[:, last] + tolerance
    joined = to_others <= reach[:, None]
    first, second = np.nonzero(np.triu(joined | joined.T, k=1))
    squared = distances[first, second]
    width = np.median(np.sqrt(squared)) ** 2
    weights = np.exp(-squared / width) if width > tolerance else (squared <= tolerance).astype(np.float64)
    positions = np.flatnonzero(rows)
    return positions[first], positions[second], weights


def _smoothness(graphs: Sequence[tuple[Ints, Ints, Floats]], n_samples: int) -> Statistic:
    """Return the statistic minus Laplacian score: products with the pairs that are joined in any run."""
    keys = [first * n_samples + second for first, second, _ in graphs]
    union = np.unique(np.concatenate(keys))
    pair_weights = np.zeros((len(graphs), len(union)))
    degrees = np.zeros((len(graphs), n_samples))
    for run, ((*both_ends, weights), key) in enumerate(zip(graphs, keys, strict=True)):
        pair_weights[run, np.searchsorted(union, key)] = weights
        for ends in both_ends:
            degrees[run] += np.bincount(ends, weights=weights, minlength=n_samples)
    first, second = union // n_samples, union % n_samples

    def statistic(runs: slice, x: Array) -> tuple[Array, Array]:
        weights = pair_weights[runs].astype(x.dtype, copy=False)
        rough = np.zeros((len(weights), x.shape[1]), dtype=x.dtype)
        # As many pairs at once as there are samples: the differences take no more memory than the block itself.
        for start in range(0, len(union), n_samples):
            pairs = slice(start, start + n_samples)
            rough += weights[:, pairs] @ (x[first[pairs]] - x[second[pairs]]) ** 2
        around_mean, condition = scatter(degrees[runs], x)
        # A feature that varies only among samples without weight cannot be judged.
        return np.where(around_mean > 0, -rough / np.where(around_mean > 0, around_mean, 1.0), -np.inf), condition

    return statistic
