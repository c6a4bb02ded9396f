"""Presolve: make a problem small without losing its best set.

A *row* is a row of the matrix A, that is one inequality a^T z <= b. Three facts are used:

* Features with the same column in every row and block are exchangeable but for their importance, so a best set of at
  most K features takes the most important ones of such a class, at most K of them. (How large K is, and which features
  matter at all, follows from :mod:`ubayfs.optimize.size_bounds`.)
* Leaving rows out never lowers a score. Pair rows (at most one of two) of features that tie with many others are left
  out at first; :mod:`ubayfs.optimize.exact` puts back those that turn out to matter.
* Features that hard rows allow only together (must-link) are one unit, with the sum of their importances and columns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from .._arguments import Array, Floats, Ints, Mask, mask_of
from ..constraints.system import ConstraintSystem, once_per_system
from ..constraints.utility import ROUNDING, Admissibility, Utility

# A class of tied features must be this many times larger than any set to count as fillers.
_FILLER_RATIO = 4
# Features whose pair rows enter the first program: at least so many, or this many times the largest set, but not more
# than one program can handle. Others that matter are added round by round.
_SMALLEST_CORE = 100
_CORE_RATIO = 5
_LARGEST_CORE = 1500


@once_per_system
def _beyond_bounds(system: ConstraintSystem) -> Mask:
    """Return the features that alone exceed the bound of a hard row, whatever compensates for them; (n_features,)."""
    hard = np.isinf(system.rho)
    row = np.repeat(np.arange(system.n_inequalities), np.diff(system.A.indptr))
    a, lowest = system.A.data, np.bincount(row, np.minimum(system.A.data, 0.0), system.n_inequalities)
    # Where the lowest sum of the others does not bring a row back within its bound, nothing does. Rounding may only
    # keep a feature.
    room = system.b + Admissibility(system).tolerance - (1.0 + ROUNDING) * lowest
    columns = system.A.indices[hard[row] & (a > 0.0) & ((1.0 - ROUNDING) * a > room[row])]
    beyond = mask_of(columns[columns < system.n_features], system.n_features)
    beyond[system.blocks[columns[columns >= system.n_features] - system.n_features].indices] = True
    return beyond


def within_bounds(utility: Utility) -> Utility:
    """Return the utility without the features that no set within the hard bounds contains: dearer than a budget."""
    within = utility.selectable & ~_beyond_bounds(utility.system)
    return utility if (within == utility.selectable).all() else replace(utility, selectable=within)


@once_per_system
def pair_rows(system: ConstraintSystem) -> Ints:
    """Return the rows that allow at most one of two features."""
    A, n = system.A, system.n_features
    two = np.flatnonzero(np.diff(A.indptr) == 2)
    first, second = A.indptr[two], A.indptr[two] + 1
    a, b, bound = A.data[first], A.data[second], system.b[two]
    on_features = (A.indices[first] < n) & (A.indices[second] < n)
    return two[on_features & (a > 0) & (b > 0) & (a <= bound) & (b <= bound)]


@once_per_system
def _rows_without_pairs(system: ConstraintSystem) -> Ints:
    return np.setdiff1d(np.arange(system.n_inequalities), pair_rows(system), assume_unique=True)


@once_per_system
def _pair_ends(system: ConstraintSystem) -> tuple[Ints, Ints]:
    """Return the two features of each pair row."""
    first = system.A.indptr[pair_rows(system)]
    return system.A.indices[first], system.A.indices[first + 1]


@once_per_system
def _pair_graph(system: ConstraintSystem) -> sparse.csr_array:
    """Return how many pair rows two features share, a symmetric csr_array of shape (n_features, n_features)."""
    ends = _pair_ends(system)
    half = sparse.csr_array((np.ones(len(ends[0])), ends), shape=(system.n_features,) * 2)
    return sparse.csr_array(half + half.T)


def rows_within(system: ConstraintSystem, features: Ints) -> Ints:
    """Return the rows that matter for sets of some features: all but the pair rows with an end elsewhere.

    "At most one of two" cannot be violated when only one of them is selectable: a million such rows are skipped.
    """
    inside = mask_of(features, system.n_features)
    first, second = _pair_ends(system)
    matters = np.ones(system.n_inequalities, dtype=bool)
    matters[pair_rows(system)] = inside[first] & inside[second]
    return np.flatnonzero(matters)


def entries_of(starts: Array, lines: Ints) -> tuple[Ints, Ints]:
    """Return the entries of some lines (rows or columns) of a compressed sparse matrix, and the number of the line.

    Line j has the entries from ``starts[j]`` to ``starts[j + 1]``; lines are numbered by their place in `lines`.
    """
    first = starts[lines]
    lengths = starts[lines + 1] - first
    owner = np.arange(len(lines)).repeat(lengths)
    # Entry i of the result is entry i - (entries of the lines before) of its line.
    return np.arange(len(owner)) + (first - lengths.cumsum() + lengths)[owner], owner


def column_classes(columns: sparse.csc_array, importance: Floats | None = None) -> Ints:
    """Label the columns of a matrix so that equal columns (and importances, if given) share a label."""
    columns = sparse.csc_array(columns)
    columns.sort_indices()
    n = columns.shape[1]
    # Equal columns have equal random projections; whether unequal columns differ in theirs is checked below.
    weights = np.random.default_rng(0).standard_normal(columns.shape[0])
    keys = [columns.T @ weights] + ([] if importance is None else [importance])
    _, first, labels = np.unique(np.column_stack(keys), axis=0, return_index=True, return_inverse=True)
    labels = labels.ravel()
    different = sparse.csc_array(columns - columns[:, first[labels]])
    different.eliminate_zeros()
    odd = np.flatnonzero(np.diff(different.indptr))
    labels[odd] = n + np.arange(len(odd))
    return labels


@dataclass(frozen=True, eq=False)
class Reduced:
    """A smaller utility, and the positions of its features in the full one."""

    utility: Utility
    features: Ints

    def lift(self, chosen: Mask, n_features: int) -> Mask:
        """Return the set over all features."""
        return mask_of(self.features[chosen], n_features)


def reduce(utility: Utility, rows: Ints, features: Ints) -> Reduced:
    """Restrict a utility to some rows and features; blocks that no row uses disappear."""
    system, n = utility.system, utility.n_features
    everything = np.ones(len(features), dtype=bool)
    if (
        len(features) == n
        and len(rows) == system.n_inequalities
        and system.n_blocks == 0
        and (np.diff(features) > 0).all()
    ):
        # The same system: what is derived from it need not be computed again.
        return Reduced(Utility(utility.theta, system, utility.constraint_strength, everything), features)
    A = system.A[rows]
    used = np.unique(A.indices[A.indices >= n])
    blocks = system.blocks[used - n][:, features]
    A = A[:, np.concatenate([features, used])]
    A.sort_indices()
    part = ConstraintSystem(A, system.b[rows], system.rho[rows], blocks)
    return Reduced(Utility(utility.theta[features], part, utility.constraint_strength, everything), features)


class Fillers:
    """Pair rows, and the features whose pair rows are left out as long as they do not matter.

    Those of the features in the mask `core`, which only grows, with each other are part of the programs.
    """

    def __init__(self, utility: Utility, largest_size: int, most_pairs: int | None = None) -> None:
        system = utility.system
        self.utility = utility
        self.pairs = pair_rows(system)
        self.others = _rows_without_pairs(system)
        self.first, self.second = _pair_ends(system)
        self.graph = _pair_graph(system)
        self.degree = np.diff(self.graph.indptr)
        self.waiting = np.empty(0, dtype=np.intp)  # features for which the core has no room yet, best first
        self.core = self._initial_core(largest_size, most_pairs)
        self.n_promoted = 0

    def _signature(self, rows: Ints) -> sparse.csc_array:
        """Columns of rows and blocks, one per feature."""
        system, n = self.utility.system, self.utility.n_features
        return sparse.csc_array(sparse.vstack([system.A[rows][:, :n], system.blocks.astype(np.float64)]))

    def _initial_core(self, largest_size: int, most_pairs: int | None) -> Mask:
        utility = self.utility
        core = utility.selectable & (self.degree > 0)
        if not core.any():
            return core
        self.tied = column_classes(self._signature(self.others), utility.theta)
        counts = np.bincount(self.tied[utility.selectable], minlength=self.tied.max() + 1)
        core &= counts[self.tied] <= max(50, _FILLER_RATIO * largest_size)
        members = self._by_importance(core)
        size = min(max(_SMALLEST_CORE, _CORE_RATIO * largest_size), _LARGEST_CORE)
        if most_pairs is not None:
            size = min(size, self._most_within(members, most_pairs))
        if len(members) > size:
            self.waiting = members[size:]
            core[self.waiting] = False
        return core

    def _by_importance(self, members: Mask) -> Ints:
        features = np.flatnonzero(members)
        return features[np.argsort(-self.utility.theta[features], kind="stable")]

    def _most_within(self, members: Ints, most_pairs: int) -> int:
        """Return how many of some features, from the first one on, have at most so many pair rows with each other."""
        place = np.full(len(self.degree), len(members))
        place[members] = np.arange(len(members))
        last = np.maximum(place[self.first], place[self.second])
        return len(members) if len(last) <= most_pairs else int(np.partition(last, most_pairs)[most_pairs])

    def program_rows(self, contenders: Ints) -> Ints:
        """Return the rows of the next program: all but the pair rows with an end outside of core and contenders."""
        present = np.zeros(len(self.core), dtype=bool)
        present[contenders] = self.core[contenders]
        inside = present[self.first] & present[self.second]
        return np.sort(np.concatenate([self.others, self.pairs[inside]]))

    def representatives(self, contenders: Ints, rows: Ints, size: int) -> Ints:
        """Return, of each class of features with equal columns, the `size` most important contenders."""
        labels = column_classes(self._signature(rows)[:, contenders])
        # Among equals those in few pairs come first: they are the least likely to exclude each other.
        order = np.lexsort((contenders, self.degree[contenders], -self.utility.theta[contenders], labels))
        labels = labels[order]
        start = np.flatnonzero(np.concatenate([[True], labels[1:] != labels[:-1]]))
        rank = np.arange(len(order)) - np.repeat(start, np.diff(np.append(start, len(order))))
        return np.sort(contenders[order[rank < size]])

    def complete(self, chosen: Mask) -> Mask:
        """Exchange members outside the core for tied features, so that few pair rows are violated."""
        movable, result, blocked = self._taken_out(chosen)
        for feature in movable:
            same = np.flatnonzero((self.tied == self.tied[feature]) & self.utility.selectable & ~result & ~self.core)
            self._add(same[np.lexsort((self.degree[same], blocked[same]))[0]], result, blocked)
        return result

    def thinned(self, chosen: Mask) -> Mask:
        """Drop members outside the core that are in a pair with another one: of each pair the less important."""
        movable, result, blocked = self._taken_out(chosen)
        for feature in movable:
            if blocked[feature] == 0:
                self._add(feature, result, blocked)
        return result

    def _taken_out(self, chosen: Mask) -> tuple[Ints, Mask, Floats]:
        """Return the members outside the core, the set without them, and the pairs of each feature with that set."""
        movable = self._by_importance(chosen & ~self.core & (self.degree > 0))
        result = chosen.copy()
        result[movable] = False
        return movable, result, self.graph @ result.astype(np.float64)

    def _add(self, feature: int, result: Mask, blocked: Floats) -> None:
        """Add a feature to a set, and its pairs to those with the set."""
        result[feature] = True
        entries = slice(self.graph.indptr[feature], self.graph.indptr[feature + 1])
        blocked[self.graph.indices[entries]] += self.graph.data[entries]

    def promote(self, chosen: Mask) -> bool:
        """Add features in violated pairs of a set to the core, and others that may replace them.

        The latter are features tied with them and the most important ones outside the core, more in each round. False
        when the set violates no pair row that was left out: then its score holds under all rows.
        """
        violated = chosen[self.first] & chosen[self.second]
        ends: Array = np.concatenate([self.first[violated], self.second[violated]])
        new = np.unique(ends[~self.core[ends]])
        if len(new) == 0:
            return False
        self.core[new] = True
        # Doubling makes the number of rounds logarithmic where tied features only replace each other.
        tied = np.flatnonzero(np.isin(self.tied, self.tied[new]) & self.utility.selectable & ~self.core)
        self.n_promoted = 2 * self.n_promoted + len(new)
        self.core[self.waiting[~self.core[self.waiting]][: self.n_promoted]] = True
        self.core[tied[np.argsort(self.degree[tied], kind="stable")[: self.n_promoted]]] = True
        return True


@dataclass(frozen=True, eq=False)
class LinkedUtility:
    """A utility over units: single features, or groups that hard rows allow only as a whole."""

    utility: Utility  # over units; a set of units has the score of the set of their members
    unit_of: Ints  # (n_features,)
    required: Ints  # units that hard rows require, directly or because a required unit needs them

    @classmethod
    def from_utility(cls, utility: Utility) -> LinkedUtility:
        """Merge the linked features of a utility."""
        needs = _needs(utility)
        n_units, unit_of = sparse.csgraph.connected_components(needs, directed=True, connection="strong")
        # Number the units by their first feature: without links, units are the features in their order.
        _, first = np.unique(unit_of, return_index=True)
        unit_of = np.argsort(np.argsort(first))[unit_of]
        # Features that need each other, directly or through others, are in a set together or not at all.
        members = sparse.csr_array(
            (np.ones(len(unit_of)), (np.arange(len(unit_of)), unit_of)), shape=(len(unit_of), n_units)
        )
        required = np.unique(unit_of[required_features(utility, needs)])
        return cls(_over_units(utility, members), unit_of, required)

    def expand(self, units: Mask) -> Mask:
        """Return sets of units, of shape (..., n_units), as sets of features."""
        return units[..., self.unit_of]


def _hard_rows_of_length(utility: Utility, length: int) -> Ints:
    """Return the hard rows with exactly `length` entries, all of them on features."""
    system = utility.system
    rows = np.flatnonzero(np.isinf(system.rho) & (np.diff(system.A.indptr) == length))
    entries = system.A.indptr[rows][:, None] + np.arange(length)
    return rows[(system.A.indices[entries] < utility.n_features).all(axis=1)]


def _needs(utility: Utility) -> sparse.csr_array:
    """Return the graph with an edge from i to j when i violates a hard row on i and j alone, but not with j."""
    system, n = utility.system, utility.n_features
    rows = _hard_rows_of_length(utility, 2)
    start = system.A.indptr[rows]
    first, second = system.A.indices[start], system.A.indices[start + 1]
    a, c = system.A.data[start], system.A.data[start + 1]
    bound = system.b[rows] + utility.admissibility.tolerance[rows]
    both = a + c <= bound
    forward, backward = both & (a > bound), both & (c > bound)
    # i needs j if a_i alone exceeds the bound and a_i + a_j does not.
    origin = np.concatenate([first[forward], second[backward]])
    target = np.concatenate([second[forward], first[backward]])
    return sparse.csr_array((np.ones(len(origin), dtype=bool), (origin, target)), shape=(n, n))


def required_features(utility: Utility, needs: sparse.csr_array | None = None) -> Mask:
    """Return the mask of features that hard rows on one or two features require; `needs` is the graph of the latter."""
    system, needs = utility.system, _needs(utility) if needs is None else needs
    rows = _hard_rows_of_length(utility, 1)
    entries = system.A.indptr[rows]
    demanding = utility.admissibility.excess(np.zeros(len(rows)), rows) > 0
    return _with_needed(mask_of(system.A.indices[entries[demanding]], utility.n_features), needs)


def needed_features(utility: Utility, features: Mask) -> Mask:
    """Return some features, those that hard rows on one or two features require, and those that any of these need."""
    needs = _needs(utility)
    return _with_needed(features | required_features(utility, needs), needs)


def _with_needed(features: Mask, needs: sparse.csr_array) -> Mask:
    """Return features and all that they need, in as many steps as it takes."""
    needed_by = sparse.csr_array(needs.T, dtype=np.float64)
    while True:
        more = features | (needed_by @ features.astype(np.float64) > 0)
        if (more == features).all():
            return features
        features = more


def _over_units(utility: Utility, members: sparse.csr_array) -> Utility:
    n_features, n_units = members.shape
    if n_units == n_features:
        return utility
    system = utility.system
    A = sparse.hstack([system.A[:, :n_features] @ members, system.A[:, n_features:]], format="csr")
    A = sparse.csr_array(A)
    A.eliminate_zeros()
    A.sort_indices()
    blocks = sparse.csr_array(system.blocks.astype(np.float64) @ members > 0)
    selectable: Any = members.T @ (~utility.selectable).astype(np.float64) == 0
    over_units = replace(system, A=A, blocks=blocks)
    return Utility(members.T @ utility.theta, over_units, utility.constraint_strength, selectable)
