"""Classification and regression trees on many subsamples of one table, grown together level by level.

The trees see the same columns, so each column is sorted once. The rows of every node stay in the order of every column,
and a split only parts them. One pass over the columns serves the nodes of one level of all trees; its cost is linear in
the rows that are not yet in a leaf.

All impurities are one formula. Gini is the sum of the variances of the indicators of the classes (of two classes, twice
that of one of them), and over several labels scikit-learn takes the mean. Where outputs have mean 0 in a node of N
rows, and S is their sum over the rows that go left, a split removes S^2 N / (n_left n_right) of the sum of squares.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data import feature_chunks
from .base import TIE

# Outputs of a node are scaled to variance 1 and counted in these units. Sums of whole numbers do not depend on their
# order, so a tree is the same alone and among others; and they are several times faster than sums of floats.
_UNIT = 2.0**40

# A share of the impurity below this is the rounding to units, not a gain.
_NO_GAIN = 1e-18

# A variance below this, relative to that of the root, is rounding of the target (scikit-learn: absolute).
_PURE = float(np.finfo(np.float64).eps)

# Entries (slots times columns) of one pass, so that its temporary arrays stay in the cache.
_PASS_ENTRIES = 2**16

# Entries of the orders of one group of trees (4 bytes each): more trees than fit are grown one group after another.
_GROUP_ENTRIES = 2**25


def tree_importances(
    X: NDArray[Any],
    outputs: NDArray[np.float64],
    subsamples: NDArray[np.bool_],
    rngs: Sequence[np.random.Generator],
    *,
    max_depth: int | None = None,
    min_samples_leaf: int = 1,
) -> list[tuple[NDArray[np.intp], NDArray[np.float64]]]:
    """Grow a tree on each subsample and say what its features contribute.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    outputs : ndarray of shape (n_samples, n_outputs)
        A continuous target, or indicators of classes or labels.
    subsamples : ndarray of bool of shape (n_trees, n_samples)
    rngs : sequence of Generator, one per tree
        Decides between features that split a node equally well, uniformly and anew in every node.
    max_depth : int, optional
    min_samples_leaf : int

    Returns
    -------
    importances : list of (features, shares), one per tree
        The features that remove impurity, in ascending order, and the share of each in what all of them remove.
    """
    columns = _sorted_columns(X)
    n_together = max(min(_GROUP_ENTRIES // columns.size, 2 ** _slot_bits(columns) // len(X)), 1)
    importances = []
    for first in range(0, len(subsamples), n_together):
        group = slice(first, first + n_together)
        trees = _Trees(columns, outputs, subsamples[group], rngs[group], min_samples_leaf)
        importances.extend(trees.grow(max_depth))
    return importances


def _slot_bits(codes: NDArray[Any]) -> int:
    """Return the number of low bits, which hold the row or slot; the high bits hold the rank."""
    return 4 * codes.itemsize


def _sorted_columns(X: NDArray[Any]) -> NDArray[Any]:
    """Return the rows in the order of each column, with their ranks among the different values of the column.

    Returns
    -------
    codes : ndarray of unsigned int of shape (n_features, n_samples)
        Rank in the high half of the bits, row in the low half.

    Examples
    --------
    >>> codes = _sorted_columns(np.array([[1e9 + 1, 0.5], [1e9, 0.5], [1e9 + 2, -1e-9]]))
    >>> codes >> 16
    array([[0, 1, 2],
           [0, 1, 1]], dtype=uint32)
    >>> codes[0] & 0xFFFF
    array([1, 0, 2], dtype=uint32)
    """
    n_samples, n_features = X.shape
    codes = np.empty((n_features, n_samples), dtype=np.uint32 if n_samples <= 2**16 else np.uint64)
    for part in feature_chunks(n_features, max(_PASS_ENTRIES // n_samples, 1)):
        columns = np.ascontiguousarray(X[:, part].T)
        rows = np.argsort(columns, axis=1)
        ascending = np.take_along_axis(columns, rows, axis=1)
        ranks = codes[part]
        ranks[:, 0] = 0
        np.cumsum(ascending[:, 1:] != ascending[:, :-1], axis=1, out=ranks[:, 1:])
        ranks <<= _slot_bits(codes)
        ranks |= rows.astype(codes.dtype)
    return codes


@dataclass(frozen=True)
class _Nodes:
    """Nodes of one level that may be split; the slots of each follow those of the one before.

    Attributes
    ----------
    slots : ndarray of int of shape (n_slots,)
        The rows of each node; a slot is tree * n_samples + row.
    sizes, trees : ndarray of int of shape (n_nodes,)
    scatter : ndarray of shape (n_nodes,)
        Sum of squares around the mean, over all outputs.
    units : ndarray of int of shape (n_outputs, n_slots)
        Outputs of the slots in units of their node, in which they have sum 0 and variance 1 (over all outputs).
    """

    slots: NDArray[np.intp]
    sizes: NDArray[np.intp]
    trees: NDArray[np.intp]
    scatter: NDArray[np.float64]
    units: NDArray[np.int64]

    @classmethod
    def impure(
        cls,
        slots: NDArray[np.intp],
        sizes: NDArray[np.intp],
        trees: NDArray[np.intp],
        outputs: NDArray[np.float64],
        pure: NDArray[np.float64],
    ) -> _Nodes:
        """Describe those of some nodes whose variance is larger than that of a pure one.

        Parameters
        ----------
        slots, sizes, trees
            Of the nodes, none of them empty; as above.
        outputs : ndarray of shape (n_outputs, n_slots_of_all_trees)
        pure : ndarray of shape (n_trees,)
            The variance that is mere rounding.
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
    """How the nodes of one level are split.

    Attributes
    ----------
    features : ndarray of int of shape (n_nodes,)
    shares : ndarray of shape (n_nodes,)
        Share of the scatter of the node that the split removes; -1 where no split is possible.
    slots : ndarray of int of shape (n_slots,)
        Those of the nodes, in the order of the feature within each node.
    right : ndarray of bool of shape (n_slots,)
        Whether each of them goes right.
    """

    features: NDArray[np.intp]
    shares: NDArray[np.float64]
    slots: NDArray[np.intp]
    right: NDArray[np.bool_]


class _Trees:
    """Trees that grow together.

    Its state are the codes of the open nodes, of shape (n_features, n_slots): the slots in the order of every column,
    node by node, with the rank in the high half of the bits and the slot in the low half.
    """

    def __init__(
        self,
        columns: NDArray[Any],
        outputs: NDArray[np.float64],
        subsamples: NDArray[np.bool_],
        rngs: Sequence[np.random.Generator],
        min_samples_leaf: int,
    ) -> None:
        self._rngs, self._min_samples_leaf = rngs, min_samples_leaf
        self._slot_mask = columns.dtype.type(2 ** _slot_bits(columns) - 1)
        # Of order one in each tree, so that squares are neither too large nor too small for a float.
        largest = np.where(subsamples, np.abs(outputs).max(axis=1), 0.0).max(axis=1, keepdims=True)
        scaled = outputs.T[:, None, :] / np.where(largest > 0, largest, 1.0)
        self._outputs = scaled.reshape(outputs.shape[1], -1)
        self._units = np.zeros(self._outputs.shape, dtype=np.int64)
        sizes, nothing = subsamples.sum(axis=1), np.zeros(len(subsamples))
        self._roots = _Nodes.impure(np.flatnonzero(subsamples), sizes, np.arange(len(sizes)), self._outputs, nothing)
        self._pure = nothing.copy()
        self._pure[self._roots.trees] = _PURE * self._roots.scatter / self._roots.sizes
        self._plant(columns, subsamples)

    def grow(self, max_depth: int | None) -> list[tuple[NDArray[np.intp], NDArray[np.float64]]]:
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

    def _plant(self, columns: NDArray[Any], subsamples: NDArray[np.bool_]) -> None:
        """Take the slots of the roots out of the sorted columns."""
        n_features, n_samples = columns.shape
        roots = self._roots
        self._codes = np.empty((n_features, len(roots.slots)), dtype=columns.dtype)
        self._memory = self._codes.reshape(-1)
        for part in _passes(columns):
            codes = columns[part]
            rows = self._slots(codes)
            for tree, start, size in zip(roots.trees, _starts(roots.sizes), roots.sizes, strict=True):
                own = codes.take(np.flatnonzero(subsamples[tree].take(rows))).reshape(-1, size)
                self._codes[part, start : start + size] = own + columns.dtype.type(tree * n_samples)

    def _best_splits(self, nodes: _Nodes) -> _Splits:
        self._units[:, nodes.slots] = nodes.units
        starts, sizes = _starts(nodes.sizes), nodes.sizes
        positions = np.arange(len(nodes.slots))
        n_left = positions - np.repeat(starts, sizes) + 1
        n_right = np.repeat(sizes, sizes) - n_left
        forbidden = np.minimum(n_left, n_right) < self._min_samples_leaf
        weights = 1.0 / (_UNIT**2 * np.where(forbidden, 1, n_left * n_right))
        best = np.empty((len(sizes), len(self._codes)))
        for part in _passes(self._codes):
            best[:, part] = np.maximum.reduceat(self._shares(self._codes[part], weights, forbidden), starts, axis=1).T
        shares = best.max(axis=1)
        features = np.empty(len(sizes), dtype=np.intp)
        for node, tree in enumerate(nodes.trees):
            tied = np.flatnonzero(best[node] >= shares[node] - TIE)
            features[node] = tied[self._rngs[tree].integers(len(tied))]
        codes = self._codes[np.repeat(features, sizes), positions]
        # Of equally good thresholds the lowest, as in scikit-learn.
        good = np.flatnonzero(self._shares(codes[None], weights, forbidden)[0] >= np.repeat(shares - TIE, sizes))
        last_left = good[np.searchsorted(good, starts)]
        return _Splits(features, shares, self._slots(codes), positions > np.repeat(last_left, sizes))

    def _shares(
        self, codes: NDArray[Any], weights: NDArray[np.float64], forbidden: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Return the share of the scatter that a split behind each slot removes, -1 where it is not possible."""
        slots = self._slots(codes)
        shares = np.zeros(codes.shape)
        for units in self._units:
            sums = units.take(slots)
            squares = np.cumsum(sums, axis=1, out=sums).astype(np.float64)
            squares *= squares
            shares += squares
        shares *= weights
        ranks = codes >> _slot_bits(codes)
        impossible = np.empty(codes.shape, dtype=bool)
        np.equal(ranks[:, :-1], ranks[:, 1:], out=impossible[:, :-1])
        impossible[:, -1] = True
        impossible |= forbidden
        np.copyto(shares, -1.0, where=impossible)
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
            is_open, goes_right = np.zeros((2, self._outputs.shape[1]), dtype=bool)
            is_open[children.slots] = True
            goes_right[splits.slots] = splits.right
            self._part(is_open & ~goes_right, is_open & goes_right)
        return children

    def _part(self, left: NDArray[np.bool_], right: NDArray[np.bool_]) -> None:
        """Keep the codes of the slots in `left`, then of those in `right`, both in their order; drop the others."""
        n_features = len(self._codes)
        n_left, n_right = np.count_nonzero(left), np.count_nonzero(right)
        # In the same memory: what is written lies before all that is still to be read.
        kept = self._memory[: n_features * (n_left + n_right)].reshape(n_features, n_left + n_right)
        for part in _passes(self._codes):
            codes = self._codes[part]
            slots = self._slots(codes)
            lefts = codes.take(np.flatnonzero(left.take(slots)))
            rights = codes.take(np.flatnonzero(right.take(slots)))
            kept[part, :n_left] = lefts.reshape(len(codes), n_left)
            kept[part, n_left:] = rights.reshape(len(codes), n_right)
        self._codes = kept

    def _slots(self, codes: NDArray[Any]) -> NDArray[np.intp]:
        return (codes & self._slot_mask).astype(np.intp)


def _starts(sizes: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the position of the first slot of each node."""
    return np.cumsum(sizes) - sizes


def _passes(codes: NDArray[Any]) -> Iterator[slice]:
    """Yield slices of as many columns as one pass takes."""
    return feature_chunks(len(codes), max(_PASS_ENTRIES // codes.shape[1], 1))


def _shares_of_features(
    features: NDArray[np.intp], gains: NDArray[np.float64]
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    used, which = np.unique(features[gains > 0], return_inverse=True)
    totals = np.bincount(which, weights=gains[gains > 0])
    return used, totals / totals.sum()
