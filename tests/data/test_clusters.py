"""Clusters of features, held against scipy's linkage of the matrix of all pairs."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

import ubayfs
from amounts import examples
from ubayfs import Blocks, cluster_features, decide, max_per_cluster, max_size
from ubayfs.constraints import resolve
from ubayfs.data.clusters import find_clusters
from ubayfs.data.feature_data import FeatureData


def blocky(rng, n_samples=40, n_groups=12, n_features=60, noise=0.6):
    """Features that are noisy copies of few factors, some of them turned around."""
    factors = rng.normal(size=(n_samples, n_groups))
    chosen = factors[:, rng.integers(n_groups, size=n_features)]
    return rng.choice([-1, 1], n_features) * (
        chosen + noise * rng.uniform(size=n_features) * rng.normal(size=chosen.shape)
    )


def whole_linkage(X, threshold):
    r = np.abs(np.corrcoef(X.T))
    label = fcluster(linkage(squareform(1 - r, checks=False), "complete"), 1 - threshold, "distance")
    return {frozenset(np.flatnonzero(label == one).tolist()) for one in np.unique(label) if (label == one).sum() > 1}


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.3, 0.6, 0.9, 0.99]))
def test_components_together_are_the_linkage_of_all_pairs(seed, threshold):
    X = blocky(np.random.default_rng(seed))
    found = find_clusters(X, threshold)
    assert {frozenset(members.tolist()) for members in found} == whole_linkage(X, threshold)
    assert all((np.diff(members) > 0).all() for members in found)
    starts = [int(members[0]) for members in found]
    assert starts == sorted(starts)


def test_every_two_members_are_correlated():
    """A chain of features is not one cluster, as it would be by single linkage."""
    rng = np.random.default_rng(0)
    steps = np.cumsum(rng.normal(size=(200, 30)) * 0.4, axis=1) + rng.normal(size=(200, 1))
    r = np.abs(np.corrcoef(steps.T))
    assert (np.diagonal(r, 1) > 0.9).all()
    assert r.min() < 0.9
    found = find_clusters(steps, 0.9)
    assert len(found) > 1
    assert all(r[i, j] > 0.9 for members in found for i, j in itertools.combinations(members, 2))


def test_blocks_are_named_by_their_first_members_and_lack_single_features():
    rng = np.random.default_rng(1)
    x, y, alone = rng.normal(size=(3, 50))
    frame = pd.DataFrame({"alone": alone, "y": y, "x": x, "minus x": -x, "2 y": 2 * y, "constant": 3.0})
    expected = Blocks({"cluster of y": ("y", "2 y"), "cluster of x": ("x", "minus x")})
    assert cluster_features(frame) == expected
    assert list(cluster_features(frame).members) == list(expected.members)
    assert cluster_features(FeatureData.from_table(frame)) == expected
    gaps = frame.copy()
    gaps.loc[3:7, "minus x"] = np.nan
    assert cluster_features(gaps) == expected
    assert cluster_features(frame[["alone", "y"]]) == Blocks({})
    assert cluster_features(frame.to_numpy()).names == ("cluster of x1", "cluster of x2")


@pytest.mark.parametrize("threshold", [1.0, -0.1, float("nan"), True, "high"])
def test_wrong_thresholds(threshold):
    with pytest.raises(ubayfs.exceptions.InputError, match="threshold must be a number in"):
        cluster_features(np.ones((3, 2)), threshold=threshold)
    with pytest.raises(ubayfs.exceptions.ConstraintError, match="max_per_cluster: threshold must be a number in"):
        max_per_cluster(threshold=threshold)


def test_at_most_one_per_cluster_is_the_one_with_most_votes():
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(2, 60))
    X = pd.DataFrame({"a": x, "b": x + 0.1 * rng.normal(size=60), "c": y, "d": -y, "e": rng.normal(size=60)})
    evidence = ubayfs.Evidence.from_sets(np.arange(20)[:, None] < [18, 20, 12, 11, 2], list(X))
    system = resolve([max_per_cluster(rho=3.0), max_per_cluster(2)], list(X), X=X)
    assert system.A.toarray().tolist() == [[1, 1, 0, 0, 0], [0, 0, 1, 1, 0]]
    assert (system.b.tolist(), system.rho.tolist()) == ([1, 1], [3, 3])
    assert [system.label(row) for row in range(2)] == [
        "max-per-cluster 1: cluster of a", "max-per-cluster 1: cluster of c",
    ]  # fmt: skip
    assert [part.title for part in system.parts] == [
        "max-per-cluster 1: 2 clusters of features with correlations above 0.9",
        "max-per-cluster 2: no cluster with correlations above 0.9",
    ]
    limits = [max_size(3), max_per_cluster()]
    assert decide(evidence, constraints=limits, X=X).features == ("b", "c", "e")
    # A price of nine tenths of the votes: "a" has 16 of 20 more than "e", too few.
    assert decide(evidence, constraints=[limits[0], max_per_cluster(price=0.9)], X=X).features == ("b", "c", "e")
    assert decide(evidence, constraints=[limits[0], max_per_cluster(price=0.7)], X=X).features == ("a", "b", "c")
    with pytest.raises(ubayfs.exceptions.ConstraintError, match="max_per_cluster needs the data: call decide"):
        decide(evidence, constraints=limits)
    by_blocks = ubayfs.max_per_block(1)
    blocks = cluster_features(X)
    assert decide(evidence, constraints=[limits[0], by_blocks], blocks=blocks).features == ("b", "c", "e")
