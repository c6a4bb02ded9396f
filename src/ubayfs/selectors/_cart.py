"""Classification and regression trees on many subsamples of one table, grown together level by level.

The trees see the same columns, so each column is sorted once. The rows of every node stay in the order of every column,
and a split only parts them. One pass over the columns serves the nodes of one level of all trees; its cost is linear in
the rows that are not yet in a leaf.

All impurities are one formula. Gini is the sum of the variances of the indicators of the classes (of two classes, twice
that of one of them), and over several labels scikit-learn takes the mean. Where outputs have mean 0 in a node of N
rows, and S is their sum over the rows that go left, a split removes S^2 N / (n_left n_right) of the sum of squares.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._arguments import Array, Floats, Generators, Ints, Mask
from ._orders import Orders, equal_to_next, most_subsamples, slots_of, sorted_columns
from .base import TIE

# Outputs of a node are scaled to variance 1 and counted in these units. Sums of whole numbers do not depend on their
# order, so a tree is the same alone and among others; and they are several times faster than sums of floats.
_UNIT = 2.0**40

# A share of the impurity below this is the rounding to units, not a gain.
_NO_GAIN = 1e-18

# A variance below this, relative to that of the root, is rounding of the target (scikit-learn: absolute).
_PURE = float(np.finfo(np.float64).eps)

# Entries of the orders of one group of trees (4 bytes each): more trees than fit are grown one group after another.
_GROUP_ENTRIES = 2**25


def tree_importances(
    X: Array,
    outputs: Floats,
    subsamples: Mask,
    rngs: Generators,
    max_depth: int | None = None,
    min_samples_leaf: int = 1,
) -> list[tuple[Ints, Floats]]:
    """Grow a tree on each subsample and say what its features contribute.

    Parameters
    ----------
    outputs : ndarray of shape (n_samples, n_outputs)
        A continuous target, or indicators of classes or labels.
    rngs : sequence of Generator, one per tree
        Decides between features that split a node equally well, uniformly and anew in every node.

    Returns
    -------
    importances : list of (features, shares), one per tree
        The features that remove impurity, in ascending order, and the share of each in what all of them remove.
    """
    n_together = max(min(_GROUP_ENTRIES // X.size, most_subsamples(len(X))), 1)
    columns = sorted_columns(X) if n_together < len(subsamples) else None  # kept only where several groups need them
    importances = []
    for first in range(0, len(subsamples), n_together):
        group = slice(first, first + n_together)
        trees = _Trees(X, columns, outputs, subsamples[group], rngs[group], min_samples_leaf)
        importances.extend(trees.grow(max_depth))
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
        units = np.rint(y[:, in_kept] * np.repeat(_UNIT * np.sqrt(sizes / scatter), sizes)).astype(np.int64)
        # With a sum of exactly 0, one running sum over the slots of all nodes begins anew in each of them.
        units[:, _starts(sizes)] -= np.add.reduceat(units, _starts(sizes), axis=1)
        return cls(slots, sizes, trees, scatter, units)


@dataclass(frozen=True)
class _Splits:
    """How the nodes of one level are split."""

    features: Ints  # (n_nodes,)
    shares: Floats  # of the scatter of the node that the split removes, (n_nodes,); -1: no split
    slots: Ints  # those of the nodes, in the order of the feature within each node, (n_slots,)
    right: Mask  # whether each of them goes right


class _Trees:
    """Trees that grow together."""

    def __init__(
        self,
        X: Array,
        columns: Array | None,
        outputs: Floats,
        subsamples: Mask,
        rngs: Generators,
        min_samples_leaf: int,
    ) -> None:
        self._rngs, self._min_samples_leaf = rngs, min_samples_leaf
        in_trees = np.where(subsamples, outputs.T[:, None, :], 0.0)  # (n_outputs, n_trees, n_samples)
        largest = np.abs(in_trees).max(axis=(0, 2))
        # Of order one in each tree, so that squares are neither too large nor too small for a float.
        self._outputs = (in_trees / np.where(largest > 0, largest, 1.0)[:, None]).reshape(len(in_trees), -1)
        self._units = np.zeros(self._outputs.shape, dtype=np.int64)
        sizes, none = subsamples.sum(axis=1), np.zeros(len(subsamples))
        self._roots = _Nodes.impure(np.flatnonzero(subsamples), sizes, np.arange(len(sizes)), self._outputs, none)
        self._pure = none.copy()
        self._pure[self._roots.trees] = _PURE * self._roots.scatter / self._roots.sizes
        # Nothing of a tree whose root is pure.
        impure = np.isin(np.arange(len(sizes)), self._roots.trees)
        self._orders = Orders(X, subsamples & impure[:, None], columns)

    def grow(self, max_depth: int | None) -> list[tuple[Ints, Floats]]:
        """Split nodes, level by level, and return what :func:`tree_importances` returns."""
        no_node = np.empty(0, dtype=np.intp)
        used = [(no_node, no_node, np.empty(0))]
        nodes = self._roots
        while len(nodes.sizes):
            splits = self._best_splits(nodes)
            gains = np.where(splits.shares > _NO_GAIN, nodes.scatter * splits.shares, 0.0)
            used.append((nodes.trees, splits.features, gains))
            if len(used) - 1 == max_depth:
                break
            nodes = self._children(nodes, splits)
        trees, features, gains = (np.concatenate(levels) for levels in zip(*used, strict=True))
        return [_shares_of_features(features[own], gains[own]) for own in np.arange(len(self._rngs))[:, None] == trees]

    def _best_splits(self, nodes: _Nodes) -> _Splits:
        self._units[:, nodes.slots] = nodes.units
        starts, sizes = _starts(nodes.sizes), nodes.sizes
        positions = np.arange(len(nodes.slots))
        n_left = positions - np.repeat(starts, sizes) + 1
        n_right = np.repeat(sizes, sizes) - n_left
        forbidden = np.minimum(n_left, n_right) < self._min_samples_leaf
        weights = 1.0 / (_UNIT**2 * np.where(forbidden, 1, n_left * n_right))
        ordered = self._orders.codes
        best = np.empty((len(sizes), len(ordered)))
        memory = self._orders.pass_memory(4)
        for part in self._orders.passes():
            shares = self._shares(ordered[part], weights, forbidden, memory)
            best[:, part] = np.maximum.reduceat(shares, starts, axis=1).T
        shares = best.max(axis=1)
        features = np.empty(len(sizes), dtype=np.intp)
        for node, tree in enumerate(nodes.trees):
            tied = np.flatnonzero(best[node] >= shares[node] - TIE)
            features[node] = tied[self._rngs[tree].integers(len(tied))]
        codes = ordered[np.repeat(features, sizes), positions]
        # Of equally good thresholds the lowest, as in scikit-learn.
        of_splits = self._shares(codes[None], weights, forbidden, memory)[0]
        good = np.flatnonzero(of_splits >= np.repeat(shares - TIE, sizes))
        last_left = good[np.searchsorted(good, starts)]
        return _Splits(features, shares, slots_of(codes), positions > np.repeat(last_left, sizes))

    def _shares(self, codes: Array, weights: Floats, forbidden: Mask, memory: NDArray[np.int64]) -> Floats:
        """Return, in `memory`, the share of the scatter that a split behind each slot removes, -1 where impossible."""
        slots, sums, shares, squares = memory[:, : len(codes)]
        slots_of(codes, slots)
        shares, squares = shares.view(np.float64), squares.view(np.float64)
        _squared_sums(self._units[0], slots, sums, shares)
        for units in self._units[1:]:
            shares += _squared_sums(units, slots, sums, squares)
        shares *= weights
        np.copyto(shares, -1.0, where=equal_to_next(codes) | forbidden)
        return shares

    def _children(self, nodes: _Nodes, splits: _Splits) -> _Nodes:
        """Return the children that may be split, first all that are left, and keep no codes but theirs."""
        n_nodes = len(nodes.sizes)
        child = np.repeat(np.arange(n_nodes), nodes.sizes) + n_nodes * splits.right
        sizes = np.bincount(child, minlength=2 * n_nodes)
        eligible = (sizes >= 2 * self._min_samples_leaf) & np.tile(splits.shares >= 0, 2)
        order = np.argsort(child, kind="stable")
        slots = splits.slots[order[eligible[child[order]]]]
        trees = np.tile(nodes.trees, 2)[eligible]
        children = _Nodes.impure(slots, sizes[eligible], trees, self._outputs, self._pure)
        if len(children.sizes):
            sides, is_open = np.zeros((2, self._outputs.shape[1]), dtype=np.int8)
            sides[splits.slots] = 1 + splits.right
            is_open[children.slots] = 1
            self._orders.part(sides * is_open)
        return children


def _squared_sums(units: NDArray[np.int64], slots: Ints, sums: NDArray[np.int64], squares: Floats) -> Floats:
    """Write the running sums of the units of some slots, and their squares; return these."""
    units.take(slots, out=sums, mode="clip")  # "clip" writes there directly
    squares[...] = np.cumsum(sums, axis=1, out=sums)
    squares *= squares
    return squares


def _starts(sizes: Ints) -> Ints:
    """Return the position of the first slot of each node."""
    return np.cumsum(sizes) - sizes


def _shares_of_features(features: Ints, gains: Floats) -> tuple[Ints, Floats]:
    used, which = np.unique(features[gains > 0], return_inverse=True)
    totals = np.bincount(which, weights=gains[gains > 0])
    return used, totals / totals.sum()
