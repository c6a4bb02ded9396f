"""Presolve: make a problem small without losing its best set.

Three facts are used, each a plain upper bound:

* Rows that weigh all features alike (max-size, min-size) see only the size of a set. A set of size s is worth at
  most ``(sum of the s best importances) + lambda * (admissibility of these rows at s)``. Sizes that cannot beat a
  known set are out, and so is every feature that cannot be part of a better set. The largest size left is K.
* Features with the same column in every row and block are exchangeable but for their importance, so a best set
  takes the most important ones of such a class, at most K of them.
* Leaving rows out never lowers a utility. Pair rows (at most one of two) of features that tie with many others are
  left out at first; :mod:`ubayfs.optimize.exact` puts back what turns out to matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..constraints.system import ConstraintSystem, once_per_system
from ..utility import Utility, log_row_admissibility

# A class of tied features must be this many times larger than any set to count as fillers.
_FILLER_RATIO = 4
# Features whose pair rows enter the first program: so many, or this many times the largest set, but not more than
# the program can be given at once. What else matters is found out round by round.
_SMALLEST_CORE = 100
_CORE_RATIO = 5
_LARGEST_CORE = 1500


@dataclass(frozen=True, eq=False)
class SizeBounds:
    """What is known from sizes alone.

    Attributes
    ----------
    order : ndarray of int
        Selectable features, most important first; ties by position.
    importance : ndarray of float of shape (n_selectable + 1,)
        Sum of the s best importances, for s = 0, 1, ...
    log_kappa : ndarray of float of shape (n_selectable + 1,)
        Log admissibility of the rows that see only the size.
    value : ndarray of float of shape (n_selectable + 1,)
        Upper bound of the utility of sets of each size.
    only_size : bool
        True when all rows see only the size: then the bounds are attained.
    """

    order: NDArray[np.intp]
    importance: NDArray[np.float64]
    log_kappa: NDArray[np.float64]
    value: NDArray[np.float64]
    only_size: bool

    @classmethod
    def of(cls, utility: Utility) -> SizeBounds:
        """Bound the utility by size."""
        system = utility.system
        selectable = np.flatnonzero(utility.selectable)
        order = selectable[np.argsort(-utility.theta[selectable], kind="stable")]
        importance = np.concatenate([[0.0], np.cumsum(utility.theta[order])])
        sizes = np.arange(len(order) + 1)
        log_kappa = np.zeros(len(sizes))
        rows, coefficients = _uniform_rows(utility)
        for row, coefficient in zip(rows.tolist(), coefficients.tolist(), strict=True):
            excess = coefficient * sizes - system.b[row]
            excess[excess <= utility.admissibility.tolerance[row]] = 0.0
            log_kappa += log_row_admissibility(excess, system.rho[row])
        value = utility.combine(importance, log_kappa)
        return cls(order, importance, log_kappa, value, len(rows) == system.n_inequalities)

    def best_size(self) -> int:
        """Return the size with the highest bound; the smallest one among equals."""
        return int(np.argmax(self.value))

    def plausible(self, cutoff: float) -> NDArray[np.intp]:
        """Return the sizes whose bound exceeds a value already reached."""
        return np.flatnonzero(self.value > cutoff)

    def contenders(self, cutoff: float, strength: float) -> NDArray[np.intp]:
        """Return the features that may be part of a set worth more than `cutoff`."""
        sizes = self.plausible(cutoff)
        if len(sizes) == 0:
            return np.empty(0, dtype=np.intp)
        largest = int(sizes[-1])
        # A feature outside the `largest` best replaces the last of the s best.
        grown = sizes[sizes > 0]
        rest = self.importance[grown - 1] + strength * np.exp(self.log_kappa[grown])
        reach = np.diff(self.importance) + (rest.max() if len(rest) else -np.inf)
        keep = reach > cutoff
        keep[:largest] = True
        return self.order[keep]


def _uniform_rows(utility: Utility) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the rows with one and the same coefficient on all selectable features and none on blocks."""
    A, n = utility.system.A, utility.n_features
    long_enough = np.flatnonzero(np.diff(A.indptr) >= utility.selectable.sum())
    rows, coefficients = [], []
    for row in long_enough.tolist():
        part = slice(A.indptr[row], A.indptr[row + 1])
        columns, data = A.indices[part], A.data[part]
        if (columns >= n).any():
            continue
        data = data[utility.selectable[columns]]
        if len(data) == utility.selectable.sum() and (data == data[:1]).all():
            rows.append(row)
            coefficients.append(data[0] if len(data) else 0.0)
    return np.array(rows, dtype=np.intp), np.array(coefficients)


@once_per_system
def pair_rows(system: ConstraintSystem) -> NDArray[np.intp]:
    """Return the rows that ask for at most one of two features."""
    A, n = system.A, system.n_features
    two = np.flatnonzero(np.diff(A.indptr) == 2)
    first, second = A.indptr[two], A.indptr[two] + 1
    a, b, bound = A.data[first], A.data[second], system.b[two]
    on_features = (A.indices[first] < n) & (A.indices[second] < n)
    return two[on_features & (a > 0) & (b > 0) & (a <= bound) & (b <= bound)]


@once_per_system
def _rows_without_pairs(system: ConstraintSystem) -> NDArray[np.intp]:
    return np.setdiff1d(np.arange(system.n_inequalities), pair_rows(system), assume_unique=True)


@once_per_system
def _pair_graph(system: ConstraintSystem) -> sparse.csr_array:
    """Return how many pair rows two features share, a symmetric csr_array of shape (n_features, n_features)."""
    ends = system.A.indptr[pair_rows(system)]
    first, second = system.A.indices[ends], system.A.indices[ends + 1]
    half = sparse.csr_array((np.ones(len(ends)), (first, second)), shape=(system.n_features,) * 2)
    return sparse.csr_array(half + half.T)


def rows_within(system: ConstraintSystem, features: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the rows that matter for sets of some features: all but the pair rows with an end elsewhere.

    At most one of two holds by itself when only one can be selected: a million such rows need not be looked at.
    """
    inside = np.zeros(system.n_features, dtype=bool)
    inside[features] = True
    pairs = pair_rows(system)
    first, columns = system.A.indptr[pairs], system.A.indices
    idle = np.zeros(system.n_inequalities, dtype=bool)
    idle[pairs] = ~(inside[columns[first]] & inside[columns[first + 1]])
    return np.flatnonzero(~idle)


def column_classes(columns: sparse.csc_array, importance: NDArray[np.float64] | None = None) -> NDArray[np.intp]:
    """Label the columns of a matrix so that equal columns (and importances, if given) share a label."""
    columns = sparse.csc_array(columns)
    columns.sort_indices()
    n = columns.shape[1]
    # Equal columns have equal random projections; that unequal ones differ is checked below.
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
    """A smaller utility and where its features stand in the full one."""

    utility: Utility
    features: NDArray[np.intp]

    def lift(self, chosen: NDArray[np.bool_], n_features: int) -> NDArray[np.bool_]:
        """Return the set over all features."""
        full = np.zeros(n_features, dtype=bool)
        full[self.features[chosen]] = True
        return full


def reduce(utility: Utility, rows: NDArray[np.intp], features: NDArray[np.intp]) -> Reduced:
    """Restrict a utility to some rows and features; blocks that no row uses disappear."""
    system, n = utility.system, utility.n_features
    everything = np.ones(len(features), dtype=bool)
    if (
        len(features) == n
        and len(rows) == system.n_inequalities
        and system.n_blocks == 0
        and (np.diff(features) > 0).all()
    ):
        # The same system: what is known of it need not be found out again.
        return Reduced(Utility(utility.theta, system, utility.constraint_strength, everything), features)
    A = sparse.csc_array(system.A[rows])
    used = np.flatnonzero(np.diff(A[:, n:].indptr))
    blocks = sparse.csr_array(system.blocks[used][:, features])
    A = sparse.csr_array(sparse.hstack([A[:, features], A[:, n + used]], format="csr"))
    part = ConstraintSystem(A, system.b[rows], system.rho[rows], blocks)
    return Reduced(Utility(utility.theta[features], part, utility.constraint_strength, everything), features)


class Fillers:
    """Pair rows, and the features whose pair rows are left out as long as they do not matter.

    Attributes
    ----------
    core : ndarray of bool of shape (n_features,)
        Features whose pair rows with each other are part of the programs; only grows.
    """

    def __init__(self, utility: Utility, largest_size: int) -> None:
        system = utility.system
        self.utility = utility
        self.pairs = pair_rows(system)
        self.others = _rows_without_pairs(system)
        ends = system.A.indptr[self.pairs]
        self.first, self.second = system.A.indices[ends], system.A.indices[ends + 1]
        self.graph = _pair_graph(system)
        self.degree = np.diff(self.graph.indptr)
        self.signature = self._signature(self.others)
        self.waiting = np.empty(0, dtype=np.intp)  # features left out of the core for want of room, best first
        self.core = self._initial_core(largest_size)
        self.n_promoted = 0

    def _signature(self, rows: NDArray[np.intp]) -> sparse.csc_array:
        """Columns of rows and blocks, one per feature."""
        system, n = self.utility.system, self.utility.n_features
        return sparse.csc_array(sparse.vstack([system.A[rows][:, :n], system.blocks.astype(np.float64)]))

    def _initial_core(self, largest_size: int) -> NDArray[np.bool_]:
        utility = self.utility
        core = utility.selectable & (self.degree > 0)
        if not core.any():
            return core
        self.tied = column_classes(self.signature, utility.theta)
        counts = np.bincount(self.tied[utility.selectable], minlength=self.tied.max() + 1)
        core &= counts[self.tied] <= max(50, _FILLER_RATIO * largest_size)
        members = np.flatnonzero(core)
        size = min(max(_SMALLEST_CORE, _CORE_RATIO * largest_size), _LARGEST_CORE)
        if len(members) > size:
            self.waiting = members[np.argsort(-utility.theta[members], kind="stable")[size:]]
            core[self.waiting] = False
        return core

    def program_rows(self, contenders: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the rows of the next program: all but the pair rows with an end outside of core and contenders."""
        kept = np.zeros(len(self.core), dtype=bool)
        kept[contenders] = self.core[contenders]
        inside = kept[self.first] & kept[self.second]
        return np.sort(np.concatenate([self.others, self.pairs[inside]]))

    def representatives(self, contenders: NDArray[np.intp], rows: NDArray[np.intp], size: int) -> NDArray[np.intp]:
        """Return, of each class of features with equal columns, the `size` most important contenders."""
        labels = column_classes(self._signature(rows)[:, contenders])
        # Among equals those in few pairs come first: they are the least likely to stand in each other's way.
        order = np.lexsort((contenders, self.degree[contenders], -self.utility.theta[contenders], labels))
        labels = labels[order]
        start = np.flatnonzero(np.concatenate([[True], labels[1:] != labels[:-1]]))
        rank = np.arange(len(order)) - np.repeat(start, np.diff(np.append(start, len(order))))
        return np.sort(contenders[order[rank < size]])

    def complete(self, chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Exchange members outside the core for tied features, so that few pair rows are violated."""
        movable = np.flatnonzero(chosen & ~self.core & (self.degree > 0))
        if len(movable) == 0:
            return chosen
        result = chosen.copy()
        result[movable] = False
        for feature in movable[np.argsort(-self.utility.theta[movable], kind="stable")]:
            blocked = self.graph @ result.astype(np.float64)
            same = np.flatnonzero((self.tied == self.tied[feature]) & self.utility.selectable & ~result & ~self.core)
            result[same[np.lexsort((self.degree[same], blocked[same]))[0]]] = True
        return result

    def promote(self, chosen: NDArray[np.bool_]) -> bool:
        """Take features in violated pairs of a set into the core, and others that may take their place.

        These are features tied with them, and the most important ones that are not in the core yet; ever more of them.

        Returns
        -------
        any_new : bool
            False when the set violates no pair row outside the core: then nothing was left out that matters.
        """
        violated = chosen[self.first] & chosen[self.second]
        ends: NDArray[Any] = np.concatenate([self.first[violated], self.second[violated]])
        new = np.unique(ends[~self.core[ends]])
        if len(new) == 0:
            return False
        self.core[new] = True
        # Doubling keeps the number of rounds logarithmic where ties only take each other's place.
        tied = np.flatnonzero(np.isin(self.tied, self.tied[new]) & self.utility.selectable & ~self.core)
        self.n_promoted = 2 * self.n_promoted + len(new)
        self.core[self.waiting[~self.core[self.waiting]][: self.n_promoted]] = True
        self.core[tied[np.argsort(self.degree[tied], kind="stable")[: self.n_promoted]]] = True
        return True
