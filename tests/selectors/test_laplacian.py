"""Laplacian score against its literal definition."""

import numpy as np
import pytest

from ubayfs.data.feature_data import FeatureData
from ubayfs.exceptions import InputError
from ubayfs.selectors import laplacian, scoring
from ubayfs.selectors.base import best_first
from ubayfs.selectors.laplacian import Laplacian


def literal_laplacian(X, n_neighbors):
    """Laplacian score of each column by loops and dense matrices; NaN for a constant column."""
    X = X.astype(np.float64)
    varying = X.min(axis=0) < X.max(axis=0)
    Z = (X[:, varying] - X[:, varying].mean(axis=0)) / X[:, varying].std(axis=0)
    n = len(Z)
    distance = np.array([[np.sqrt(((a - b) ** 2).sum()) for b in Z] for a in Z])
    slack = 1e-9 * (distance**2).mean()
    joined = np.zeros((n, n), dtype=bool)
    for i in range(n):
        others = [j for j in range(n) if j != i]
        reach = sorted(distance[i, others] ** 2)[min(n_neighbors, n - 1) - 1]
        for j in others:
            if distance[i, j] ** 2 <= reach + slack:
                joined[i, j] = joined[j, i] = True
    width = np.median(distance[np.triu(joined)])
    with np.errstate(divide="ignore", invalid="ignore"):
        kernel = np.exp(-((distance / width) ** 2)) if width**2 > slack else distance**2 <= slack
    S = np.where(joined, kernel, 0.0)
    D = np.diag(S.sum(axis=1))
    L = D - S
    one = np.ones(n)
    scores = np.full(X.shape[1], np.nan)
    for j in np.flatnonzero(varying):
        f = X[:, j] / np.abs(X[:, j]).max()
        f = f - (f @ D @ one) / (one @ D @ one)
        scores[j] = (f @ L @ f) / (f @ D @ f)
    return scores


def literal_choice(X, n_features, n_neighbors=5):
    scores = literal_laplacian(X, n_neighbors)
    return best_first(np.where(np.isnan(scores), -np.inf, -scores), n_features).tolist()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_neighbors", [1, 5])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_equals_literal_definition(seed, n_neighbors, dtype, awkward):
    rng = np.random.default_rng(seed)
    X = awkward(seed).astype(dtype)
    X[:, 9:] += (3 * (np.arange(30) % 3))[:, None].astype(dtype) * np.abs(X[:, 9:]).max(axis=0)  # clusters
    data = FeatureData.from_table(X)
    subsamples = rng.random((5, 30)) < 0.75
    chosen = Laplacian(n_neighbors).select_many(data.X, data.target, subsamples, 9, [])
    for rows, picks in zip(subsamples, chosen, strict=True):
        assert picks.tolist() == literal_choice(X[rows], 9, n_neighbors)


def test_scores_are_those_of_the_definition(awkward):
    X = awkward(4)
    subsamples = np.random.default_rng(4).random((3, 30)) < 0.8
    graphs = [
        laplacian._graph(rows, distances, 5)
        for rows, distances in zip(subsamples, laplacian._squared_distances(X, subsamples), strict=True)
    ]
    scores = scoring.run_scores(laplacian._smoothness(graphs, 30), subsamples, X)
    for rows, found in zip(subsamples, scores, strict=True):
        expected = literal_laplacian(X[rows], 5)
        np.testing.assert_array_equal(np.isneginf(found), np.isnan(expected))
        np.testing.assert_allclose(-found[np.isfinite(found)], expected[np.isfinite(found)], rtol=1e-9)


def test_features_that_show_clusters_come_first(rng):
    cluster = np.repeat([0.0, 1.0, 2.0], 20)
    X = rng.normal(size=(60, 10))
    X[:, 3] = cluster + 0.05 * rng.normal(size=60)
    X[:, 7] = cluster**2 + 0.05 * rng.normal(size=60)
    X[:, 8] = -cluster + 0.05 * rng.normal(size=60)
    data = FeatureData.from_table(X)
    (picks,) = Laplacian().select_many(data.X, data.target, np.ones((1, 60), dtype=bool), 3, [])
    assert set(picks) == {3, 7, 8}


@pytest.mark.parametrize("kind", ["binary columns", "copies of rows", "fewer rows than neighbors"])
def test_ties_and_duplicates_do_not_depend_on_the_order_of_rows(kind, rng):
    X = rng.integers(0, 2, (24, 7)).astype(float)
    if kind == "copies of rows":
        X = np.repeat(rng.normal(size=(4, 7)), 6, axis=0)  # every neighbor is at distance 0
    elif kind == "fewer rows than neighbors":
        X = X[:4] + 0.1 * rng.normal(size=(4, 7))
    order = rng.permutation(len(X))
    everything = np.ones((1, len(X)), dtype=bool)
    results = [
        Laplacian().select_many(data.X, data.target, everything, 4, [])[0].tolist()
        for data in (FeatureData.from_table(X), FeatureData.from_table(X[order]))
    ]
    assert results[0] == results[1] == literal_choice(X, 4)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_chunk_size_changes_nothing(dtype, awkward, monkeypatch):
    data = FeatureData.from_table(awkward(8, n_samples=40, n_columns=60).astype(dtype))
    subsamples = np.random.default_rng(0).random((5, 40)) < 0.7
    expected = Laplacian().select_many(data.X, data.target, subsamples, 20, [])
    monkeypatch.setattr(scoring, "BLOCK_ENTRIES", 1)
    monkeypatch.setattr(laplacian, "_DISTANCE_ENTRIES", 1)
    for a, b in zip(Laplacian().select_many(data.X, data.target, subsamples, 20, []), expected, strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_target_is_ignored(cancer):
    X, y = cancer
    everything = np.ones((1, len(X)), dtype=bool)
    with_target, without = FeatureData.from_table(X, y), FeatureData.from_table(X)
    (a,) = Laplacian().select_many(with_target.X, with_target.target, everything, 10, [])
    (b,) = Laplacian().select_many(without.X, without.target, everything, 10, [])
    np.testing.assert_array_equal(a, b)


def test_number_of_neighbors_is_checked():
    with pytest.raises(InputError, match="n_neighbors must be a whole number >= 1; got 0"):
        Laplacian(n_neighbors=0)
