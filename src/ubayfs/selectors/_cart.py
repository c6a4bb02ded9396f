"""Classification and regression trees on many subsamples of one table, grown together level by level.

The trees see the same columns, so each column is sorted once: from then on a value is its rank, a whole number. The
rows of a node are sorted anew by every column that may split it; whole numbers are sorted in less time than it takes
to keep the order of every column through all splits.

All impurities are one formula. Gini is the sum of the variances of the indicators of the classes (of two classes, twice
that of one of them), and over several labels scikit-learn takes the mean. Where outputs have mean 0 in a node of N
rows, and S is their sum over the n rows that go left, a split removes S^2 N / (n (N - n)) of the sum of squares.

Most columns of a large node are never sorted where all outputs have two values: its rows are counted in bins, which
gives bounds of what a column can do (:mod:`._bins`). A column whose bound is below what another one reaches cannot
split the node. Only the smaller child of a counted node is counted; the larger one is the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .._arguments import Array, Floats, Generators, Ints, Mask
from ..data.matrix import feature_chunks
from ._bins import Binning, Counts, Kinds, bounds_of
from ._squares import UNIT, Outputs, equal_to_next, ranks_of
from ._surrogates import best_surrogates
from .base import TIE
from .threads import each_block

# A share of the impurity below this is the rounding to units, not a gain.
_NO_GAIN = 1e-18

# A variance below this, relative to that of the root, is rounding of the target (scikit-learn: absolute).
_PURE = float(np.finfo(np.float64).eps)

# Entries (rows times columns) of one pass, so that its temporary arrays stay in the cache; and columns that it has at
# least, where several nodes share it.
_PASS_ENTRIES = 2**16
_PASS_COLUMNS = 256

# Entries of ranks that are read together, and columns of them at least.
_READ_ENTRIES = 2**20
_READ_COLUMNS = 16

# Columns whose ranks are written together at least: a part of a row is a part of the cache then.
_WRITTEN_COLUMNS = 16

# Entries of all ranks, times trees that are grown together: more trees are grown one group after another.
_GROUP_ENTRIES = 2**25

# Nodes of at least so many rows, and rows times columns, are counted in bins; in others sorting takes less time. As
# many more for each kind of rows beyond three: bounds add up what each kind could do, and exclude fewer columns.
_COUNTED_ROWS = 128
_COUNTED_ENTRIES = 2**16

# Kinds of rows that are counted at most, and columns of the highest bounds that are looked at first.
_MOST_KINDS = 64
_FIRST_COLUMNS = 16

# Bounds are computed from counts, shares from units: they may differ by sqrt(N) / UNIT and some roundings.
_MARGIN = 1e-8


def column_ranks(X: Array) -> Array:
    """Return how many different values of its column are lower than each value, of the shape of `X`.

    Rows are contiguous: where some of them are read, far more memory is read otherwise.

    >>> column_ranks(np.array([[1e9 + 1, 0.5], [1e9, 0.5], [1e9 + 2, -1e-9]]))
    array([[1, 1],
           [0, 1],
           [2, 0]], dtype=uint16)
    """
    n_samples, n_features = X.shape
    ranks = np.empty(X.shape, dtype=np.uint16 if n_samples < 2**16 else np.uint32)

    def rank(part: slice) -> None:
        columns = np.ascontiguousarray(X[:, part].T)
        rows = np.argsort(columns, axis=1)
        ascending = np.take_along_axis(columns, rows, axis=1)
        lower = np.zeros(columns.shape, dtype=ranks.dtype)
        np.cumsum(ascending[:, 1:] != ascending[:, :-1], axis=1, out=lower[:, 1:])
        in_rows = np.empty_like(lower)
        np.put_along_axis(in_rows, rows, lower, axis=1)
        ranks[:, part] = in_rows.T

    each_block(rank, feature_chunks(n_features, max(_PASS_ENTRIES // n_samples, _WRITTEN_COLUMNS)))
    return ranks


def tree_importances(
    ranks: Array,
    outputs: Floats,
    subsamples: Mask,
    rngs: Generators,
    max_depth: int | None = None,
    min_samples_leaf: int = 1,
    surrogates: bool = False,
) -> list[tuple[Ints, Floats]]:
    """Return, of a tree on each subsample, the features that remove impurity, and their shares in what all remove.

    With `surrogates`, the surrogates of a split count too: each for the part of its gain that is their agreement.

    `outputs` are a continuous target, or indicators of classes or labels, of shape (n_samples, n_outputs); or one
    continuous target per tree, (n_outputs, n_trees, n_samples). The generator of a tree decides between features that
    split a node equally well, uniformly and anew in every node.
    """
    importances = []
    for group in feature_chunks(len(subsamples), max(_GROUP_ENTRIES // ranks.size, 1)):
        targets = outputs[:, group] if outputs.ndim == 3 else outputs
        trees = _Trees(ranks, targets, subsamples[group], rngs[group], min_samples_leaf)
        importances.extend(trees.grow(max_depth, surrogates))
    return importances


@dataclass(frozen=True)
class _Nodes:
    """Nodes of one level that may be split; the slots of each follow those of the one before."""

    slots: Ints  # rows of each node, (n_slots,); a slot is tree * n_samples + row
    sizes: Ints  # (n_nodes,)
    trees: Ints  # (n_nodes,)
    scatter: Floats  # sum of squares around the mean, over all outputs, (n_nodes,)
    units: NDArray[np.int64]  # outputs in units of their node: sum 0, variance 1; (n_outputs, n_slots)

    @classmethod
    def impure(cls, slots: Ints, sizes: Ints, trees: Ints, outputs: Floats, pure: Floats) -> _Nodes:
        """Describe those of some nodes, none of them empty, whose variance is more than the rounding of a `pure` one.

        `outputs` has shape (n_outputs, n_slots_of_all_trees), `pure` shape (n_trees,); the others are as above.
        """
        starts = _starts(sizes)
        y = outputs[:, slots]
        for _ in range(2):  # the second time removes what the rounding of a mean far from 0 has left
            y = y - np.repeat(np.add.reduceat(y, starts, axis=1) / sizes, sizes, axis=1)
        scatter = np.add.reduceat((y * y).sum(axis=0), starts)
        kept = scatter > pure[trees] * sizes
        in_kept = np.repeat(kept, sizes)
        slots, sizes, trees, scatter = slots[in_kept], sizes[kept], trees[kept], scatter[kept]
        units = np.rint(y[:, in_kept] * np.repeat(UNIT * np.sqrt(sizes / scatter), sizes)).astype(np.int64)
        # With a sum of exactly 0, one running sum over the slots of all nodes begins anew in each of them.
        units[:, _starts(sizes)] -= np.add.reduceat(units, _starts(sizes), axis=1)
        return cls(slots, sizes, trees, scatter, units)


@dataclass(frozen=True)
class _Group:
    """Nodes of similar size side by side, each filled up to the same width."""

    nodes: Ints  # their numbers in the level, (n_nodes,)
    first: int  # slot of the first of them
    rows: Ints  # (n_nodes, width); where absent, any
    absent: Mask  # what only fills up, (n_nodes, width)
    outputs: Outputs
    weights: Floats  # what makes shares of squares, of a split behind each place, (n_nodes, width)
    forbidden: Mask  # where there may be no split, (n_nodes, width)

    @classmethod
    def from_nodes(cls, level: _Nodes, nodes: Ints, ranks: Array, min_samples_leaf: int) -> _Group:
        """Describe some nodes of a level."""
        sizes = level.sizes[nodes][:, None]
        places = np.arange(sizes.max())
        absent = places >= sizes
        slots = np.where(absent, 0, _starts(level.sizes)[nodes][:, None] + places)
        rows = level.slots[slots] % len(ranks)
        outputs = Outputs(np.where(absent, 0, level.units[:, slots]), absent, ranks)
        n_left, n_right = places + 1, sizes - places - 1
        forbidden = np.minimum(n_left, n_right) < min_samples_leaf
        weights = 1.0 / (UNIT**2 * np.where(forbidden, 1.0, n_left * n_right))
        return cls(nodes, int(level.slots[slots[0, 0]]), rows, absent, outputs, weights, forbidden)

    def shares(self, ranks: Array) -> tuple[Floats, Array]:
        """Return the share of the scatter that a split behind each place removes, -1 where impossible, and the codes.

        All have shape (n_columns, n_nodes, width); the codes are the ranks in ascending order.
        """
        shares, codes = self.outputs.squares(ranks)
        shares *= self.weights
        impossible = equal_to_next(codes)
        impossible |= self.forbidden
        np.putmask(shares, impossible, -1.0)
        return shares, codes

    def best_shares(self, ranks: Array) -> Floats:
        """Return the largest share of each column in each node, of shape (n_columns, n_nodes)."""
        n_nodes, width = self.rows.shape
        shares, _ = self.shares(ranks.reshape(-1, n_nodes, width))
        return np.maximum.reduceat(shares.reshape(len(shares), -1), np.arange(n_nodes) * width, axis=1)


class _Trees:
    """Trees that grow together; `ranks` has shape (n_samples, n_features)."""

    def __init__(
        self, ranks: Array, outputs: Floats, subsamples: Mask, rngs: Generators, min_samples_leaf: int
    ) -> None:
        self._ranks, self._rngs, self._min_samples_leaf = ranks, rngs, min_samples_leaf
        self._kinds = Kinds.from_outputs(outputs) if outputs.ndim == 2 else None  # None where nothing is counted
        self._counts: dict[int, list[Counts]] = {}  # of nodes of this level, by their first slots
        by_tree = outputs.T[:, None, :] if outputs.ndim == 2 else outputs
        in_trees = np.where(subsamples, by_tree, 0.0)  # (n_outputs, n_trees, n_samples)
        largest = np.abs(in_trees).max(axis=(0, 2))
        # Of order one in each tree, so that squares are neither too large nor too small for a float.
        self._outputs = (in_trees / np.where(largest > 0, largest, 1.0)[:, None]).reshape(len(in_trees), -1)
        sizes, none = subsamples.sum(axis=1), np.zeros(len(subsamples))
        self._roots = _Nodes.impure(np.flatnonzero(subsamples), sizes, np.arange(len(sizes)), self._outputs, none)
        self._pure = none.copy()
        self._pure[self._roots.trees] = _PURE * self._roots.scatter / self._roots.sizes

    def grow(self, max_depth: int | None, surrogates: bool) -> list[tuple[Ints, Floats]]:
        """Split nodes, level by level, and return what :func:`tree_importances` returns."""
        no_node = np.empty(0, dtype=np.intp)
        used = [(no_node, no_node, np.empty(0))]
        nodes, depth = self._roots, 0
        while len(nodes.sizes):
            features, shares, right = self._best_splits(nodes)
            gains = np.where(shares > _NO_GAIN, nodes.scatter * shares, 0.0)
            used.append((nodes.trees, features, gains))
            if surrogates:
                used.extend(self._surrogates(nodes, features, gains, right))
            depth += 1
            if depth == max_depth:
                break
            nodes = self._children(nodes, shares, right)
        trees, features, gains = (np.concatenate(levels) for levels in zip(*used, strict=True))
        return [
            _shares_of_features(features[in_tree], gains[in_tree])
            for in_tree in np.arange(len(self._rngs))[:, None] == trees
        ]

    def _surrogates(
        self, nodes: _Nodes, features: Ints, gains: Floats, right: Mask
    ) -> Iterator[tuple[Ints, Ints, Floats]]:
        """Yield the tree, the features and the gains of the surrogates of each split."""
        starts = _starts(nodes.sizes)
        for node in np.flatnonzero(gains > 0):
            places = slice(starts[node], starts[node] + nodes.sizes[node])
            ranks = self._ranks[nodes.slots[places] % len(self._ranks)]
            best, agreement = best_surrogates(ranks, right[places], int(features[node]))
            yield np.full(len(best), nodes.trees[node]), best, gains[node] * agreement

    def _best_splits(self, nodes: _Nodes) -> tuple[Ints, Floats, Mask]:
        """Return the feature that splits each node, the share of its scatter (-1: none), and which slots go right."""
        shares = np.empty(len(nodes.sizes))
        tied = np.empty((len(shares), self._ranks.shape[1]), dtype=bool)
        groups = [
            _Group.from_nodes(nodes, numbers, self._ranks, self._min_samples_leaf)
            for numbers in self._similar(nodes.sizes)
        ]
        for group in groups:
            best = self._best_shares(group)
            shares[group.nodes] = best.max(axis=0)
            tied[group.nodes] = (best >= shares[group.nodes] - TIE).T
        n_tied = tied.sum(axis=1)
        chances = zip(nodes.trees.tolist(), n_tied.tolist(), strict=True)
        draws = [self._rngs[tree].integers(n) if n > 1 else 0 for tree, n in chances]
        features = np.nonzero(tied)[1][_starts(n_tied) + draws]
        right = np.empty(len(nodes.slots), dtype=bool)
        starts = _starts(nodes.sizes)
        for group in groups:
            ranks = self._ranks[group.rows, features[group.nodes][:, None]]
            split_shares, codes = group.shares(ranks[None])
            # Of equally good thresholds the lowest, as in scikit-learn.
            last_left = np.argmax(split_shares[0] >= shares[group.nodes][:, None] - TIE, axis=1)[:, None]
            threshold = ranks_of(np.take_along_axis(codes[0], last_left, axis=1))
            places = starts[group.nodes][:, None] + np.arange(ranks.shape[1])
            right[places[~group.absent]] = (ranks > threshold)[~group.absent]
        return features, shares, right

    def _similar(self, sizes: Ints) -> Iterator[Ints]:
        """Yield the numbers of nodes that one group takes: of similar size, and together not too large."""
        n_slots = _PASS_ENTRIES // min(self._ranks.shape[1], _PASS_COLUMNS)
        ordered = np.argsort(-sizes, kind="stable")
        while len(ordered):
            width = sizes[ordered[0]]
            n_similar = np.count_nonzero(2 * sizes[ordered] >= width - 16)
            n_nodes = max(min(n_similar, n_slots // width), 1)
            yield ordered[:n_nodes]
            ordered = ordered[n_nodes:]

    def _best_shares(self, group: _Group) -> Floats:
        """Return the largest share of each feature in each node, of shape (n_features, n_nodes).

        Features that certainly are not among the best of a node, nor within ``TIE`` of them, may have -1.
        """
        if self._kinds is not None and self._is_counted(group, self._kinds):
            return self._best_of_promising(group, self._kinds)
        n_slots, n_features = group.rows.size, self._ranks.shape[1]
        best = np.empty((n_features, len(group.nodes)))
        for block in feature_chunks(n_features, max(_READ_ENTRIES // n_slots, _READ_COLUMNS)):
            node_ranks, block_best = self._ranks[group.rows.reshape(-1), block], best[block]
            for part in feature_chunks(len(block_best), max(_PASS_ENTRIES // n_slots, 1)):
                block_best[part] = group.best_shares(node_ranks[:, part].T)
        return best

    def _is_counted(self, group: _Group, kinds: Kinds) -> bool:
        n_nodes, width = group.rows.shape
        large = width >= _fewest_counted(kinds) and width * self._ranks.shape[1] >= _COUNTED_ENTRIES
        return large and n_nodes == 1 and len(kinds.high) <= _MOST_KINDS

    @cached_property
    def _binning(self) -> Binning:
        return Binning(self._ranks)

    def _best_of_promising(self, group: _Group, kinds: Kinds) -> Floats:
        """Return the shares of those features in a single node whose bounds leave them a chance."""
        if group.first not in self._counts:
            self._counts[group.first] = self._binning.count(group.rows[0], kinds)
        best, bounds = np.full((self._ranks.shape[1], 1), -1.0), bounds_of(self._counts[group.first], kinds)
        order, n_columns = np.argsort(-bounds, kind="stable"), _FIRST_COLUMNS
        while len(order):
            promising, order = order[:n_columns], order[n_columns:]
            promising = promising[bounds[promising] >= best.max() - TIE - _MARGIN]
            if not len(promising):
                break
            best[promising] = group.best_shares(self._ranks[group.rows, promising[:, None]])
            n_columns = max(_PASS_ENTRIES // group.rows.size, 1)
        return best

    def _pass_on_counts(self, nodes: _Nodes, right: Mask, kinds: Kinds) -> None:
        """Replace the counts of the nodes by those of their children."""
        inherited = {}
        starts, n_samples = _starts(nodes.sizes), len(self._ranks)
        for number in np.flatnonzero(np.isin(nodes.slots[starts], list(self._counts))):
            places = slice(starts[number], starts[number] + nodes.sizes[number])
            slots, goes_right = nodes.slots[places], right[places]
            smaller, larger = sorted((slots[goes_right], slots[~goes_right]), key=len)
            if len(larger) < _fewest_counted(kinds):
                continue
            counts = self._counts[slots[0]]
            smaller_counts = self._binning.count(smaller % n_samples, kinds, counts)
            rest = [some.without(few) for some, few in zip(counts, smaller_counts, strict=True)]
            inherited[larger[0]] = [some.coarser(len(larger)) for some in rest]
            if len(smaller) >= _fewest_counted(kinds):
                inherited[smaller[0]] = [some.coarser(len(smaller)) for some in smaller_counts]
        self._counts = inherited

    def _children(self, nodes: _Nodes, shares: Floats, right: Mask) -> _Nodes:
        """Return the children that may be split, first all that are left."""
        if self._kinds is not None:
            self._pass_on_counts(nodes, right, self._kinds)
        n_nodes = len(nodes.sizes)
        child = np.repeat(np.arange(n_nodes), nodes.sizes) + n_nodes * right
        sizes = np.bincount(child, minlength=2 * n_nodes)
        eligible = (sizes >= 2 * self._min_samples_leaf) & np.tile(shares >= 0, 2)
        order = np.argsort(child, kind="stable")
        slots = nodes.slots[order[eligible[child[order]]]]
        return _Nodes.impure(slots, sizes[eligible], np.tile(nodes.trees, 2)[eligible], self._outputs, self._pure)


def _fewest_counted(kinds: Kinds) -> int:
    return _COUNTED_ROWS * max(len(kinds.high) - 2, 1)


def _starts(sizes: Ints) -> Ints:
    """Return the position of the first slot of each node."""
    return np.cumsum(sizes) - sizes


def _shares_of_features(features: Ints, gains: Floats) -> tuple[Ints, Floats]:
    used, which = np.unique(features[gains > 0], return_inverse=True)
    totals = np.bincount(which, weights=gains[gains > 0])
    return used, totals / totals.sum()
