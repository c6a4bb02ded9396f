"""Repeats of the same patient or animal that nobody named: samples that look alike or are equal, telling columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._arguments import Array, Floats, Ints, Mask
from .._plain import counted
from ..exceptions import Advice
from .advice import group_facts, value_bits
from .categories import CategoryTable
from .matrix import feature_chunks
from .ranks import centered_ranks
from .reading_rules import repeats_values
from .sparse_columns import some_samples
from .target import Target

# Fewer features, or samples, are alike by chance.
_FEWEST_FEATURES, _FEWEST_SAMPLES = 20, 20
# Neighbors that a sample has at most: so many, and this share of all samples.
_MOST_NEIGHBORS, _SHARE_OF_NEIGHBORS = 20, 5
_GAP = 1.2  # how much farther the next sample is than the farthest of a closed cluster
# Share of samples in closed clusters. Subsamples of 80 % of 11 real matrices without repeats have at most 0.15;
# 15 measurements each of 37 mice have 0.27, and 0.22 to 0.30 with 80 % of the mice.
_FEWEST_ALIKE = 0.2
_FEWEST_MEMBERS = 12  # of all closed clusters: in small tables of correlated features some are closed by chance
# Ties must leave this share of the variance of ranks: two halves of equal values do. Where a value is more frequent,
# samples differ in a few features, and the distance to the next one with another difference is far by itself.
_UNTIED = 0.75
# Directions that samples differ in, (sum of eigenvalues)^2 / sum of their squares: in a plane, and in the few that
# smooth spectra have, some points are always close and far from the others.
_FEWEST_DIRECTIONS = 4.0
# More samples are represented by a random choice. So are columns, where comparing all would take long: their number
# times the squared number of samples is bounded. A thousand give the same distances but for a few per cent.
_MOST_SAMPLES, _MOST_PRODUCTS = 5000, 5 * 10**10
# Entries of a block of columns, rows of a block of distances; bound memory only.
_ENTRIES, _ROWS = 1 << 16, 512
# Mean squared differences below this, where 2 is that of unrelated samples, are those of equal ones.
_ROUNDING = 1e-10
_CHANCE = 0.01  # equal pairs that chance may explain
_LISTED = 100


def look_alikes(X: Array, target: Target, constant: Array) -> tuple[list[list[int]], int]:
    """Return closed clusters of samples, each in ascending order, and the number of samples that were compared.

    Distances are those of standardized ranks, without class means. The cluster of a sample is it and its nearest
    neighbors, up to the largest ratio of a distance to the one before. It is closed if it is the cluster of all its
    members, and the ratio of each is at least 1.2. Features that most samples agree in do not count; there are no
    clusters where fewer than 20 others are left, or all of these follow a few directions.

    Parameters
    ----------
    X : array of float of shape (n_samples, n_features), SparseColumns or CategoryTable
        Where values are missing, the distance of two samples is that in the features which both have, scaled to all.
    target : Target
    constant : ndarray of bool of shape (n_features,)
        Columns that have the same value in all samples.
    """
    rng = np.random.default_rng(0)
    n_samples = min(len(X), _MOST_SAMPLES)
    samples = np.arange(len(X)) if n_samples == len(X) else np.sort(rng.choice(len(X), n_samples, replace=False))
    columns = np.flatnonzero(~constant)
    if isinstance(X, CategoryTable):  # a category without order is a column per level
        columns = np.flatnonzero(~constant[X.owners])
        X = X.coded
    X, rows = (X, samples) if n_samples == len(X) else some_samples(X, samples)
    most = max(_FEWEST_FEATURES, _MOST_PRODUCTS // n_samples**2)
    if len(columns) > most:
        columns = np.sort(rng.choice(columns, most, replace=False))
    codes = np.asarray(target.values)[samples] if target.n_classes else np.zeros(n_samples, dtype=np.intp)
    neighbors, ratios, numbers = _neighborhoods(_squared_distances(X, rows, columns, codes, target.n_classes > 0))
    return [[int(samples[i]) for i in cluster] for cluster in _closed(neighbors, ratios, numbers)], n_samples


def _squared_distances(X: Array, samples: Ints, columns: Ints, codes: Ints, classes: bool) -> Floats:
    """Return the mean squared differences of all pairs, of shape (n, n); infinite where too few features are shared."""
    from scipy.linalg import blas

    n, n_used = len(samples), 0
    products, lengths, shared = np.zeros((n, n), order="F"), np.zeros((n, 1)), None
    # The product touches all of its n * n entries for each block, which shall have work enough for that.
    for part in feature_chunks(len(columns), max(_ENTRIES // n, n // 20, 1)):
        z, present = _standardized(X[np.ix_(samples, columns[part])], codes, classes)
        if not z.size:
            continue
        if shared is None and not present.all():  # so far all samples had all features
            shared, lengths = np.full((n, n), float(n_used)), np.repeat(lengths, n, axis=1)
        products = blas.dsyrk(1.0, z, beta=1.0, c=products, overwrite_c=1)
        if shared is None:
            lengths += (z**2).sum(axis=1, keepdims=True)
        else:
            there = present.astype(np.float64)
            shared += there @ there.T
            lengths += z**2 @ there.T
        n_used += z.shape[1]
    if n_used < _FEWEST_FEATURES or _n_directions(products) < _FEWEST_DIRECTIONS:
        return np.full((n, n), np.inf)
    products = _mirrored(products)
    products *= -2.0  # |a - b|^2 = |a|^2 + |b|^2 - 2 a'b
    products += lengths
    products += lengths.T
    products /= n_used if shared is None else np.maximum(shared, 1.0)
    if shared is not None:
        products[shared < _FEWEST_FEATURES] = np.inf
    return products


def _n_directions(upper: Floats) -> float:
    """Return (sum of eigenvalues)^2 / sum of their squares of a symmetric matrix, given its upper triangle."""
    diagonal = np.diag(upper)
    # The trace of a matrix and of its square are the sums of its eigenvalues and of their squares.
    squares = 2.0 * float(np.vdot(upper, upper)) - float(diagonal @ diagonal)
    return float(diagonal.sum()) ** 2 / max(squares, np.finfo(np.float64).tiny)


def _mirrored(upper: Floats) -> Floats:
    """Fill the lower triangle, in place; of the symmetric matrix the form with contiguous rows is returned."""
    for part in feature_chunks(len(upper), _ROWS):
        within = np.triu(upper[part, part])
        upper[part, part] = within + np.triu(within, 1).T
        upper[part.stop :, part] = upper[part, part.stop :].T
    return upper.T


def _standardized(block: Array, codes: Ints, classes: bool) -> tuple[Floats, Mask]:
    """Return ranks with mean 0 and variance 1, without the means of classes; 0 where there is none. And where."""
    z, present = centered_ranks(block), ~np.isnan(block)
    n_present, scatter = present.sum(axis=0), (z**2).sum(axis=0)
    # Ranks of n values without ties have the sum of squares (n^3 - n) / 12 around their mean.
    used = scatter >= _UNTIED * np.maximum(n_present.astype(np.float64) ** 3 - n_present, 1.0) / 12
    z, present = z[:, used] / np.sqrt(scatter[used] / n_present[used]), present[:, used]
    for code in np.unique(codes).tolist() if classes else ():
        members = codes == code
        mean = z[members].sum(axis=0) / np.maximum(present[members].sum(axis=0), 1)
        z[members] = np.where(present[members], z[members] - mean, 0.0)
    return np.asfortranarray(z), present


def _neighborhoods(squares: Floats) -> tuple[Ints, Floats, Ints]:
    """Return the nearest samples, the largest ratio of distances, and the number of neighbors before it, of each."""
    n = len(squares)
    most = min(_MOST_NEIGHBORS, n // _SHARE_OF_NEIGHBORS)
    np.fill_diagonal(squares, np.inf)
    neighbors, ratios, numbers = np.empty((n, most), dtype=np.intp), np.empty(n), np.empty(n, dtype=np.intp)
    for part in feature_chunks(n, _ROWS):
        rows = squares[part]
        nearest = np.argpartition(rows, most, axis=1)[:, : most + 1]
        nearest_squares = np.take_along_axis(rows, nearest, axis=1)
        order = np.argsort(nearest_squares, axis=1)
        nearest, nearest_squares = (
            np.take_along_axis(nearest, order, axis=1),
            np.take_along_axis(nearest_squares, order, axis=1),
        )
        distances = np.sqrt(np.maximum(nearest_squares, 0.0))
        # Equal samples are another matter; nor is a sample near to one with which it shares too few features.
        usable = (nearest_squares[:, :-1] > _ROUNDING) & np.isfinite(nearest_squares[:, 1:])
        ratio = np.where(usable, distances[:, 1:], 1.0) / np.where(usable, distances[:, :-1], 1.0)
        last = ratio.argmax(axis=1)
        neighbors[part], numbers[part] = nearest[:, :-1], last + 1
        ratios[part] = np.take_along_axis(ratio, last[:, None], axis=1)[:, 0]
    return neighbors, ratios, numbers


def _closed(neighbors: Ints, ratios: Floats, numbers: Ints) -> list[list[int]]:
    clusters = Counter(
        tuple(sorted([i, *neighbors[i, : numbers[i]].tolist()])) for i in np.flatnonzero(ratios >= _GAP).tolist()
    )
    return sorted(list(cluster) for cluster, times in clusters.items() if times == len(cluster))


def look_alike_advice(X: Array, target: Target, constant: Array, sample_names: Array | None) -> tuple[Advice, ...]:
    """Return advice if a fifth of the samples, or more, are in closed clusters; see :func:`look_alikes`."""
    if len(X) < _FEWEST_SAMPLES or (~constant).sum() < _FEWEST_FEATURES:
        return ()
    clusters, n_compared = look_alikes(X, target, constant)
    n_alike = sum(map(len, clusters))
    if n_alike < max(_FEWEST_ALIKE * n_compared, _FEWEST_MEMBERS):
        return ()
    compared = counted(n_compared, "sample")
    if n_compared < len(X):
        compared = f"{n_compared:,} samples that were drawn of {len(X):,}"
    facts: dict[str, Any] = {"n_groups": len(clusters), "n_alike": n_alike, "n_compared": n_compared}
    return (Advice("look_alikes", {**facts, "compared": compared, "groups": _named(clusters, sample_names)}),)


def _named(groups: Sequence[Sequence[int]], sample_names: Array | None) -> list[list[str]]:
    """Return the names of the samples of the first groups, or their rows."""
    return [
        [f"row {row + 1}" if sample_names is None else str(sample_names[row]) for row in group]
        for group in groups[:_LISTED]
    ]


# -- equal samples -----------------------------------------------------------------------------------------------------


def identical_rows(X: Array) -> list[list[int]]:
    """Return the groups of samples with the same values in all features; missing values equal each other.

    Examples
    --------
    >>> identical_rows(np.array([[1.0, 2.0], [1.0, 3.0], [1.0, 2.0]]))
    [[0, 2]]
    """
    samples = np.arange(len(X))
    # A few columns tell nearly all samples apart.
    few = np.unique(np.linspace(0, X.shape[1] - 1, 32).astype(np.intp))
    groups: list[list[int]] = []
    for columns in (few, np.arange(X.shape[1])):
        hashes = _hashes(X, samples, columns)
        order = np.argsort(hashes, kind="stable")
        parts = np.split(samples[order], np.flatnonzero(np.diff(hashes[order])) + 1)
        groups = sorted(part.tolist() for part in parts if len(part) > 1)
        samples = np.array([row for group in groups for row in group], dtype=np.intp)
        if not groups:
            break
    return groups


def _hashes(X: Array, samples: Ints, columns: Ints) -> Array:
    """Return sums of products with random numbers of 64 bits; two different samples share one by a chance of 2**-63."""
    factors = np.random.default_rng(0).integers(2**64, size=(X.shape[1],), dtype=np.uint64)
    factors |= np.uint64(1)
    hashes = np.zeros(len(samples), dtype=np.uint64)
    for part in feature_chunks(len(columns), max(1, _ENTRIES // len(X))):
        bits = value_bits(X[np.ix_(samples, columns[part])])
        # Numbers such as 0 and 1 differ in their highest bits only, which a product would lose.
        hashes += np.einsum("j,ij->i", factors[columns[part]], bits ^ (bits >> np.uint64(32)))
    return hashes


def _by_chance(X: Array, row: int) -> float:
    """Return how many pairs would be equal if all samples were as usual as one, and values were dealt at random."""
    expected = len(X) * (len(X) - 1) / 2.0
    for part in feature_chunks(X.shape[1], max(1, _ENTRIES // len(X))):
        block = X[:, part]
        same = (block == block[row]) | (np.isnan(block) & np.isnan(block[row]))
        expected *= float(np.prod((same.sum(axis=0) - 1) / (len(X) - 1)))
    return expected


def identical_row_advice(X: Array, groups: Ints | None, sample_names: Array | None) -> tuple[Advice, ...]:
    """Return advice that names equal samples which chance does not explain, those of one group excepted."""
    if X.shape[1] < _FEWEST_FEATURES:
        return ()
    equal = identical_rows(X)
    if groups is not None:
        equal = [rows for rows in equal if len(np.unique(groups[rows])) > 1]
    equal = [rows for rows in equal if _by_chance(X, rows[0]) < _CHANCE]
    if not equal:
        return ()
    shown = group_facts(_named(equal, sample_names))
    return (Advice("identical_samples", {"n_samples": sum(map(len, equal)), **shown}),)


# -- columns named like patients ---------------------------------------------------------------------------------------


def group_advice(columns: Mapping[str, Any]) -> tuple[Advice, ...]:
    """Return advice on columns that are named like patients or animals and have values that occur repeatedly.

    Examples
    --------
    >>> (advice,) = group_advice({"Patient_ID": list("aabbccdd"), "donor": list("abcdefgh")})
    >>> advice.facts
    {'column': 'Patient_ID', 'n_values': 4, 'n_samples': 8}
    """
    from pandas import Series

    notes = []
    for name, values in columns.items():
        values = Series(values)
        n_values = int(values.nunique())
        measured = values.dtype.kind == "f" and bool((values.dropna() % 1 != 0).any())
        if repeats_values(n_values, len(values)) and not measured:
            notes.append(Advice("named_like_groups", {"column": name, "n_values": n_values, "n_samples": len(values)}))
    return tuple(notes)
