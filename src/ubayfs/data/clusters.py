"""Clusters of features that are all correlated with each other: complete linkage of 1 - |r|, cut at a threshold.

Features that complete linkage merges below the cut are pairwise correlated, so a cluster lies within one connected
component of the graph of correlated pairs: each component is clustered by itself, and no matrix of all pairs is needed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._arguments import Array, Floats, Ints, by_name, check_real
from . import correlation
from .blocks import Blocks
from .feature_data import FeatureData

# Distances of correlated features are below 1. All others are this far apart, and what is not closer stays apart.
_APART = 2.0


@by_name()
def cluster_features(X: Any, *, threshold: float = 0.9) -> Blocks:
    """Group features that measure the same thing: within a cluster, all pairs are correlated above a threshold.

    Clusters are those of complete linkage on ``1 - |r|``, r Pearson's correlation over samples that have both values.

    Parameters
    ----------
    X : array-like, DataFrame, sparse matrix, AnnData or FeatureData of shape (n_samples, n_features)
    threshold : float in [0, 1), default 0.9
        Every two features of a cluster have an absolute correlation above it.

    Returns
    -------
    blocks : Blocks
        Clusters of two or more features, in the order of their first members, by which they are called; features
        without a partner are in none.

    See Also
    --------
    max_per_cluster : At most so many features of each cluster.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"mm": [1.0, 2.0, 4.0, 3.0], "age": [5.0, 1.0, 2.0, 9.0], "inch": [2.1, 4.0, 8.0, 6.1]})
    >>> cluster_features(X).members
    {'cluster of mm': ('mm', 'inch')}
    """
    threshold = check_real("threshold", threshold, low=0.0, high=1.0, high_open=True)
    data = X if isinstance(X, FeatureData) else FeatureData.from_table(X, missing="available", max_missing=1.0)
    names = data.feature_names
    return Blocks(
        {cluster_name(names, members): tuple(names[members].tolist()) for members in find_clusters(data.X, threshold)}
    )


def cluster_name(feature_names: Any, members: Ints) -> str:
    """Return what a cluster is called."""
    return f"cluster of {feature_names[int(members[0])]}"


def find_clusters(X: Array, threshold: float) -> list[Ints]:
    """Return the positions of the members of each cluster of two or more features, by their first members."""
    first, second, strength = correlation.PAIRS.find(X, threshold, "pearson")
    n = X.shape[1]
    graph = sparse.csr_array((np.ones(len(first), dtype=bool), (first, second)), shape=(n, n))
    _, component = sparse.csgraph.connected_components(graph, directed=False)
    order, pairs = np.argsort(component, kind="stable"), np.argsort(component[first], kind="stable")
    starts, pair_starts = (np.searchsorted(component[nodes], np.arange(n + 1)) for nodes in (order, first[pairs]))
    place = np.empty(n, dtype=np.int64)  # of a feature in its component
    place[order] = np.arange(n) - starts[component[order]]
    clusters: list[Ints] = []
    for number in np.flatnonzero(np.diff(pair_starts)).tolist():
        nodes = order[starts[number] : starts[number + 1]]
        edges = pairs[pair_starts[number] : pair_starts[number + 1]]
        label = _complete_linkage(len(nodes), place[first[edges]], place[second[edges]], 1.0 - strength[edges])
        clusters += [members for value in np.unique(label) if len(members := nodes[label == value]) > 1]
    return sorted(clusters, key=lambda members: int(members[0]))


def _complete_linkage(n: int, first: Ints, second: Ints, distance: Floats) -> Ints:
    """Return the cluster of each of n nodes, of shape (n,), of which some pairs, first < second, are near."""
    from scipy.cluster.hierarchy import fcluster, linkage

    condensed = np.full(n * (n - 1) // 2, _APART)
    # Where SciPy's condensed matrix has the distance of nodes i < j.
    condensed[n * first - first * (first + 1) // 2 + second - first - 1] = distance
    label: Ints = fcluster(linkage(condensed, "complete"), (1.0 + _APART) / 2, "distance")
    return label
