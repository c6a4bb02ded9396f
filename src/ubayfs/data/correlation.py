"""Absolute correlations between all pairs of features, block by block: never one matrix of all pairs at once.

Where values are missing, a correlation is that over the samples which have both.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from threading import Lock

import numpy as np
from scipy import sparse

from .._arguments import Array, Floats, Ints, Mask, freeze
from .categories import CategoryTable
from .mapped_array import hash_values
from .matrix import feature_chunks
from .missing import varying_columns

# Smaller sums of squares have lost digits.
_TINY = float(np.finfo(np.float64).tiny / np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class PairSums:
    """Pearson's correlation of one vector per run with k columns, each of shape (n_runs, k).

    The sums are of products of the values, so that vectors and columns shall be of order one.
    """

    n: Floats  # samples that have both values
    rho: Floats  # NaN, or without digits, where the condition is bad
    condition: Floats  # share of the sum of squares that is left without the mean, the smaller one of both

    @classmethod
    def from_columns(cls, w: Array, v: Array, x: Array, present: Mask) -> PairSums:
        """Compute them in six products.

        The vectors `v` and columns `x`, of shapes (n_runs, n_samples) and (n_samples, k), are about centered, and 0
        where `w` is (samples outside of the run, or without the vector), and where not `present`.
        """
        both, there = np.concatenate([w, v]).astype(x.dtype, copy=False), present.astype(x.dtype)
        (n, sum_v), (sum_x, products) = (np.split(both @ columns, 2) for columns in (there, x))
        with np.errstate(all="ignore"):
            weights, vectors = np.split(both, 2)
            squares_x, squares_v = weights @ x**2, vectors**2 @ there
            scatter_x, scatter_v = squares_x - sum_x**2 / n, squares_v - sum_v**2 / n
            rho = (products - sum_v * sum_x / n) / np.sqrt(scatter_x * scatter_v)
            condition = np.minimum(scatter_x / np.maximum(squares_x, _TINY), scatter_v / np.maximum(squares_v, _TINY))
        return cls(n, rho, condition)


def pairwise_correlations(v: Floats, block: Floats) -> Floats:
    """Return the correlation of a vector with k columns over the samples that have both, in shape (k,).

    NaN marks gaps. It is 0 where either is constant over these samples. Slower than sums and safe against cancellation.

    >>> block = np.array([[2.0, 1.0], [4.0, np.nan], [8.0, 1.0], [0.0, 2.0]])
    >>> pairwise_correlations(np.array([1.0, 2.0, 4.0, np.nan]), block)
    array([1., 0.])
    """
    absent = np.isnan(block) | np.isnan(v)[:, None]
    sides = []
    for values in (block, np.repeat(v[:, None], block.shape[1], axis=1)):
        values = np.where(absent, np.nan, values)
        varies = varying_columns(values)
        if not varies.any():  # what is asked for most often, about rare values in few samples
            return np.zeros(block.shape[1])
        values = np.where(absent | ~varies, 0.0, values)
        values = np.ldexp(values, -np.frexp(np.abs(values).max(axis=0, initial=0.0))[1])  # exact; of order one
        n = np.maximum((~absent).sum(axis=0), 1)
        for _ in range(2):  # the second time removes what the rounding of a mean far from 0 has left
            values = np.where(absent, 0.0, values - values.sum(axis=0) / n)
            largest = np.abs(values).max(axis=0, initial=0.0)
            values /= np.where(largest > 0, largest, 1.0)
        length = np.sqrt((values**2).sum(axis=0))
        sides.append(np.where(varies, values / np.where(length > 0, length, 1.0), 0.0))
    return np.asarray((sides[0] * sides[1]).sum(axis=0))


Pairs = tuple[Ints, Ints, Floats]

# Columns per block of correlations, and rows of one chunk of sample pairs: both bound memory only.
_BLOCK = 512
_SAMPLE_PAIRS = 8192

# Correlations this close to each other, to a threshold or to 1 differ by rounding only.
_ROUNDING = 1e-12

# Of features with missing values: fewer samples that have both show no correlation, and sums of squares of which a
# smaller share is left when the mean is subtracted have too few digits.
_FEWEST_SHARED = 3
_CONDITION = 1e-6


def absolute_correlations(X: Array, method: str = "pearson") -> Iterator[tuple[slice, Floats]]:
    """Yield the absolute correlations of some features, a slice, with themselves and all later ones.

    `method` is a key of `METHODS`: Spearman uses average ranks, Kendall is tau-b; both respect ties. Where values are
    missing (NaN), a correlation is that of the samples that have both features, 0 if these are fewer than 3; the ranks
    are those among all present values of a feature.
    Entry (i, j) of the values, in [0, 1] and of shape (len(part), n_features - part.start), belongs to the features
    ``part.start + i`` and ``part.start + j``. A constant feature has correlation 0 with everything, itself included.
    That of a category without order is the largest of its 0/1 columns; a table with categories is one part.
    """
    if isinstance(X, CategoryTable):
        yield slice(0, X.shape[1]), _largest(X, method)
        return
    for part, values in METHODS[method](X[:]):  # a sparse table becomes dense here
        np.abs(values, out=values)
        values[values > 1.0 - _ROUNDING] = 1.0
        yield part, values


def _largest(X: CategoryTable, method: str) -> Floats:
    n_coded, starts = X.coded.shape[1], X.starts[:-1]
    matrix = np.empty((n_coded, n_coded))
    for part, values in absolute_correlations(X.coded, method):
        matrix[part, part.start :], matrix[part.start :, part] = values, values.T
    return np.asarray(np.maximum.reduceat(np.maximum.reduceat(matrix, starts, axis=0), starts, axis=1))


def correlated_pairs(X: Array, threshold: float, method: str = "spearman") -> Pairs:
    """Return all pairs of features whose absolute correlation exceeds a threshold.

    Three arrays of shape (n_pairs,): first < second, in lexicographic order, and the absolute correlation, which is
    exactly 1 when it differs from 1 by rounding only.

    >>> X = np.array([[1.0, 2.0, 5.0], [2.0, 4.0, 1.0], [3.0, 9.0, 4.0]])
    >>> first, second, strength = correlated_pairs(X, threshold=0.6, method="spearman")
    >>> first, second, strength
    (array([0]), array([1]), array([1.]))
    """
    if isinstance(X, CategoryTable):
        first, second, strength = correlated_pairs(X.coded, threshold, method)
        keys = X.owners[first] * X.shape[1] + X.owners[second]
        order = np.lexsort((-strength, keys))
        strongest = order[np.unique(keys[order], return_index=True)[1]]
        strongest = strongest[X.owners[first[strongest]] != X.owners[second[strongest]]]
        return X.owners[first[strongest]], X.owners[second[strongest]], strength[strongest]
    firsts, seconds, strengths = [], [], []
    for part, values in absolute_correlations(X, method):
        above = values > threshold + _ROUNDING
        # Keep j > i only: the diagonal and what lies below it belongs to the same pairs.
        above[:, : len(values)] &= ~np.tri(len(values), dtype=bool)
        row, column = np.nonzero(above)
        firsts.append(row + part.start)
        seconds.append(column + part.start)
        strengths.append(values[row, column])
    return np.concatenate(firsts), np.concatenate(seconds), np.concatenate(strengths)


def correlated(X: Array, first: Ints, second: Ints, threshold: float, method: str = "spearman") -> Mask:
    """Return which of some features are the same as others, or correlate with them above a threshold.

    The result has shape (n_first, n_second); no position stands twice in one of them.

    >>> X = np.array([[1.0, 2.0, 5.0], [2.0, 4.0, 1.0], [3.0, 9.0, 4.0]])
    >>> correlated(X, np.array([0, 2]), np.array([1, 2]), threshold=0.6)
    array([[ True, False],
           [False,  True]])
    """
    alike = first[:, None] == second
    if isinstance(X, CategoryTable):
        i, j, _ = PAIRS.find(X, threshold, method)
        pairs = sparse.csr_array((np.ones(len(i), dtype=bool), (i, j)), shape=(X.shape[1],) * 2)
        return np.asarray(alike | (pairs + pairs.T)[first][:, second].toarray())
    n = len(first)
    # The first ones, with themselves and all others: parts beyond them are not computed.
    for part, values in absolute_correlations(X[:][:, np.concatenate([first, second])], method):
        if part.start >= n:
            break
        inside = slice(part.start, min(part.stop, n))
        alike[inside] |= values[: inside.stop - inside.start, n - part.start :] > threshold + _ROUNDING
    return alike


class PairCache:
    """Correlated pairs of the tables seen last: at most `n_tables` of them, and `n_pairs` pairs in all.

    An expert decides many times on the same data, and on the same halves of them to see what would be selected again;
    correlations take most of the time of a decision. A table is known by its values: one that was changed in place is
    another table.
    """

    def __init__(self, n_tables: int = 256, n_pairs: int = 2**22) -> None:
        self.n_tables, self.n_pairs = n_tables, n_pairs
        self._stored: OrderedDict[tuple[str, float, str], Pairs] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._stored)

    def find(self, X: Array, threshold: float, method: str = "spearman") -> Pairs:
        """Return what :func:`correlated_pairs` returns, read-only; from an earlier call if the values are the same."""
        key = (hash_values(X.coded if isinstance(X, CategoryTable) else X), threshold, method)
        with self._lock:
            if key in self._stored:
                self._stored.move_to_end(key)
                return self._stored[key]
        first, second, strength = correlated_pairs(X, threshold, method)
        pairs = freeze(first), freeze(second), freeze(strength)
        if len(first) <= self.n_pairs // 2:  # else it would push out what is needed next
            with self._lock:
                self._stored[key] = pairs
                while len(self._stored) > self.n_tables or self._total() > self.n_pairs:
                    self._stored.popitem(last=False)
        return pairs

    def _total(self) -> int:
        return sum(len(first) for first, _, _ in self._stored.values())

    def clear(self) -> None:
        """Free the memory."""
        with self._lock:
            self._stored.clear()


# At most 100 MB.
PAIRS = PairCache()


def _pearson(X: Array) -> Iterator[tuple[slice, Floats]]:
    return _paired(X) if np.isnan(X).any() else _products(_standardized(X))


def _spearman(X: Array) -> Iterator[tuple[slice, Floats]]:
    from scipy.stats import rankdata

    ranks = np.empty(X.shape)
    for part in feature_chunks(X.shape[1]):
        absent = np.isnan(X[:, part])
        ranks[:, part] = rankdata(np.where(absent, np.inf, X[:, part]), axis=0)
        ranks[:, part][absent] = np.nan
    return _pearson(ranks)


def _paired(X: Array) -> Iterator[tuple[slice, Floats]]:
    """Correlate the samples that have both features, from sums; where these have too few digits, one by one."""
    present, varies = ~np.isnan(X), varying_columns(X)
    x = np.where(present & varies, X, 0.0).astype(np.float64)
    for _ in range(2):
        x = np.ldexp(x, -np.frexp(np.abs(x).max(axis=0))[1])  # exact; of order one
        x = np.where(present & varies, x - x.sum(axis=0) / np.maximum(present.sum(axis=0), 1), 0.0)
    for part in feature_chunks(X.shape[1], _BLOCK):
        rest = slice(part.start, None)
        sums = PairSums.from_columns(present[:, part].T.astype(np.float64), x[:, part].T, x[:, rest], present[:, rest])
        shared = (sums.n >= _FEWEST_SHARED) & varies[part, None] & varies[rest]
        values = np.where(shared, sums.rho, 0.0)
        doubtful = shared & ~(sums.condition > _CONDITION)
        for row in np.flatnonzero(doubtful.any(axis=1)).tolist():
            columns = part.start + np.flatnonzero(doubtful[row])
            exact = pairwise_correlations(X[:, part.start + row].astype(np.float64), X[:, columns].astype(np.float64))
            values[row, doubtful[row]] = exact
        yield part, values


def _standardized(X: Array) -> Floats:
    """Return the columns of X with mean 0 and length 1; constant ones become 0."""
    standardized = np.asarray(X, dtype=np.float64) - X.mean(axis=0, dtype=np.float64)
    # The mean of equal numbers may be off by rounding, so constant columns are recognized by equality. Dividing by the
    # largest entry first keeps squares of huge or tiny values in range.
    standardized[:, (X[:1] == X).all(axis=0)] = 0.0
    for order in (np.inf, 2):
        scale = np.linalg.norm(standardized, order, axis=0)
        standardized /= np.where(scale > 0, scale, 1.0)
    return standardized


def _products(standardized: Floats) -> Iterator[tuple[slice, Floats]]:
    for part in feature_chunks(standardized.shape[1], _BLOCK):
        yield part, standardized[:, part].T @ standardized[:, part.start :]


def _kendall(X: Array) -> Iterator[tuple[slice, Floats]]:
    """Tau-b: the signs of all differences between samples, correlated without centering.

    Concordant minus discordant pairs of samples is one matrix product of signs. The signs are small integers and a
    chunk has fewer than 2**24 of them, so that single precision is exact.
    """
    from scipy.stats import rankdata

    n_samples, n_features = X.shape
    later, earlier = np.tril_indices(n_samples, -1)
    if np.isnan(X).any():
        yield from _paired_kendall(X, later, earlier)
        return
    untied = np.empty(n_features)
    for part in feature_chunks(n_features):
        # A value that m samples share has m (m - 1) / 2 tied pairs: over its samples, max - min of ranks adds up to
        # m (m - 1).
        tied = rankdata(X[:, part], "max", axis=0) - rankdata(X[:, part], "min", axis=0)
        untied[part] = len(later) - tied.sum(axis=0) / 2.0
    scale = np.sqrt(np.where(untied > 0, untied, 1.0))
    for part in feature_chunks(n_features, _BLOCK):
        balance = np.zeros((part.stop - part.start, n_features - part.start))
        for start in range(0, len(later), _SAMPLE_PAIRS):
            pairs = slice(start, start + _SAMPLE_PAIRS)
            right = X[:, part.start :]
            signs = np.sign(right[later[pairs]] - right[earlier[pairs]]).astype(np.float32)
            balance += signs[:, : len(balance)].T @ signs
        # tau-b = (concordant - discordant) / sqrt(untied pairs of one * untied pairs of the other)
        yield part, balance / scale[part, None] / scale[part.start :]


def _paired_kendall(X: Array, later: Ints, earlier: Ints) -> Iterator[tuple[slice, Floats]]:
    """Do the same over the samples that have both features; these decide which pairs of samples are tied."""
    for part in feature_chunks(X.shape[1], _BLOCK):
        right, k = X[:, part.start :], part.stop - part.start
        balance, untied_left, untied_right, n_pairs = np.zeros((4, k, right.shape[1]))
        for start in range(0, len(later), _SAMPLE_PAIRS):
            pairs = slice(start, start + _SAMPLE_PAIRS)
            signs = np.sign(right[later[pairs]] - right[earlier[pairs]]).astype(np.float32)
            both = (~np.isnan(signs)).astype(np.float32)
            signs = np.nan_to_num(signs, nan=0.0)
            balance += signs[:, :k].T @ signs
            untied_left += np.abs(signs[:, :k]).T @ both
            untied_right += both[:, :k].T @ np.abs(signs)
            n_pairs += both[:, :k].T @ both
        shared = (n_pairs >= _FEWEST_SHARED) & (untied_left > 0) & (untied_right > 0)  # 3 samples make 3 pairs
        yield part, np.where(shared, balance / np.sqrt(np.where(shared, untied_left * untied_right, 1.0)), 0.0)


METHODS: dict[str, Callable[[Array], Iterator[tuple[slice, Floats]]]] = {
    "pearson": _pearson,
    "spearman": _spearman,
    "kendall": _kendall,
}
