r"""What the size of a set says about its score: alone, and with features that exclude each other.

Inequalities with one coefficient for all features (max-size, min-size) depend only on the size of a set. A set of s
features scores at most ``(sum of the s highest importances) + lambda * (admissibility of these inequalities at s)``.
Sizes that cannot beat a known set are ruled out, and so is every feature that cannot be part of a better set. When all
inequalities are of this kind, the bounds are attained and no solver is needed.

A set with a higher score than a known one has log kappa above some floor (see :mod:`ubayfs.optimize.exact`). Two
features that together violate inequalities so far that log kappa falls below it are in no better set together. Features
any two of which exclude each other form a *conflict group*; a better set contains at most one feature of each. Once all
features are divided into groups, a better set of s features scores at most the sum of the s highest of the groups' best
importances, plus :math:`\lambda` times the admissibility of the inequalities that depend only on the size
(:meth:`SizeBounds.grouped`).

A linear program gives a much weaker bound here: it takes half of each of two features that exclude each other. With a
thousand features in a hundred thousand correlated pairs, groups leave a few dozen features that a better set may
contain.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from .._arguments import Floats, Ints, Mask
from ..constraints.system import ConstraintSystem, once_per_system
from ..constraints.utility import Admissibility, Utility, log_row_admissibility
from .cells import lowest_log_kappa
from .presolve import reduce, rows_within

# Rows (inequalities) with more entries are not searched for pairs.
_WIDEST_ROW = 8
# So many of the most important features are put into groups; each of the others is a group of its own.
_MOST_GROUPED = 300


@dataclass(frozen=True, eq=False)
class SizeBounds:
    """Upper bounds of the score by the size of a set: s = 0, 1, ...

    Once features are grouped, they hold for sets better than a known one, and features that are in none may be absent.
    """

    utility: Utility
    order: Ints  # selectable features, most important first; ties by position
    group: Ints  # of each of them; groups are numbered by their most important feature
    importance: Floats  # highest sum of importances of s features, at most one of each group
    log_kappa: Floats  # of the inequalities that depend only on the size
    value: Floats  # upper bound of the score
    only_size: bool  # whether all inequalities depend only on the size: then the bounds are attained

    @classmethod
    def from_utility(cls, utility: Utility) -> SizeBounds:
        """Bound the score by size alone: each feature is a group of its own."""
        system = utility.system
        selectable = np.flatnonzero(utility.selectable)
        order = selectable[np.argsort(-utility.theta[selectable], kind="stable")]
        importance = np.concatenate([[0.0], np.cumsum(utility.theta[order])])  # of the s most important features
        sizes = np.arange(len(order) + 1)
        log_kappa = np.zeros(len(sizes))
        uniform = _uniform_rows(utility)
        for row, coefficient in uniform.items():
            excess = coefficient * sizes - system.b[row]
            excess[excess <= utility.admissibility.tolerance[row]] = 0.0
            log_kappa += log_row_admissibility(excess, system.rho[row])
        value = utility.combine(importance, log_kappa)
        return cls(utility, order, sizes[:-1], importance, log_kappa, value, len(uniform) == system.n_inequalities)

    def grouped(self, cutoff: float) -> SizeBounds:
        """Bound the score of sets above `cutoff`, for which at least one size must be plausible."""
        largest = int(self.plausible(cutoff)[-1])
        floor = lowest_log_kappa(self.utility, cutoff, float(self.importance[largest]))
        group = _groups(self, cutoff, largest, floor)
        order = self.order[: len(group)]
        _, best = np.unique(group, return_index=True)  # features are sorted by importance: the first is the best
        importance = np.concatenate([[0.0], np.cumsum(self.utility.theta[order[best]])])[: largest + 1]
        log_kappa = self.log_kappa[: len(importance)]
        return SizeBounds(
            self.utility, order, group, importance, log_kappa, self.utility.combine(importance, log_kappa), False
        )

    def best_size(self) -> int:
        """Return the size with the highest bound; the smallest one among equals."""
        return int(np.argmax(self.value))

    def plausible(self, cutoff: float) -> Ints:
        """Return the sizes whose bound exceeds a score already reached."""
        return np.flatnonzero(self.value > cutoff)

    def contenders(self, cutoff: float) -> Ints:
        """Return the features that may be part of a set with a score above `cutoff`, most important first."""
        likely = self.value > cutoff
        if len(self.order) == 0 or not likely.any():
            return np.empty(0, dtype=np.intp)
        theta, strength = self.utility.theta[self.order], self.utility.constraint_strength
        # A feature of one of the s best groups takes the place of the best of its group, ...
        inside = np.where(likely, self.value, -np.inf)
        # ... any other one the place of the last group.
        without_last = np.concatenate([[-np.inf], self.importance[:-1] + strength * np.exp(self.log_kappa[1:])])
        outside = np.where(likely, without_last, -np.inf)
        larger = np.append(np.maximum.accumulate(inside[::-1])[::-1][1:], -np.inf)  # sizes beyond the group's number
        smaller = np.maximum.accumulate(outside)
        rank = np.minimum(self.group, len(self.value) - 1)
        _, first = np.unique(self.group, return_index=True)
        among_best = theta - theta[first][self.group] + larger[rank]
        return self.order[np.maximum(among_best, theta + smaller[rank]) > cutoff]


def _uniform_rows(utility: Utility) -> dict[int, float]:
    """Return the inequalities with one coefficient for all selectable features and none on blocks, and this."""
    A, n_selectable = utility.system.A, int(utility.selectable.sum())
    coefficients: dict[int, float] = {}
    for row in np.flatnonzero(np.diff(A.indptr) >= n_selectable).tolist():
        part = slice(A.indptr[row], A.indptr[row + 1])
        columns, data = A.indices[part], A.data[part]
        if (columns >= utility.n_features).any():
            continue
        data = data[utility.selectable[columns]]
        if len(data) == n_selectable and (data == data[:1]).all():
            coefficients[row] = float(data[0]) if n_selectable else 0.0
    return coefficients


# -- groups of features that exclude each other ------------------------------------------------------------------------


@once_per_system
def exclusions(system: ConstraintSystem) -> Floats:
    """Return an upper bound of log kappa of sets with both of two features, from rows without negative coefficients.

    It is a symmetric matrix of shape (n_features, n_features); -inf where two features together violate a hard row.
    """
    A, n = system.A, system.n_features
    tolerance = Admissibility(system).tolerance
    lengths = np.diff(A.indptr)
    log_kappa = np.zeros((n, n))
    for length in np.unique(lengths[(lengths >= 2) & (lengths <= _WIDEST_ROW)]).tolist():
        rows = np.flatnonzero(lengths == length)
        entries = A.indptr[rows][:, None] + np.arange(length)
        usable = (A.data[entries] >= 0).all(axis=1) & (A.indices[entries] < n).all(axis=1)
        rows, entries = rows[usable], entries[usable]
        for i, j in combinations(range(length), 2):
            excess = A.data[entries[:, i]] + A.data[entries[:, j]] - system.b[rows]
            excess = np.where(excess > tolerance[rows], excess, 0.0)
            ends = A.indices[entries[:, i]], A.indices[entries[:, j]]
            # Rows on the same two features multiply their admissibilities.
            np.add.at(log_kappa, ends, log_row_admissibility(excess, system.rho[rows]))
    return log_kappa + log_kappa.T


def _exclusions_among(utility: Utility, features: Ints) -> Floats:
    """Return :func:`exclusions` of some features only."""
    system = utility.system
    if utility.n_features <= _MOST_GROUPED:
        return exclusions(system)[np.ix_(features, features)]
    rows = rows_within(system, features)
    # Features not among them may compensate for two that are: rows with negative coefficients exclude no pair.
    return exclusions(reduce(utility, rows[_only_rising(system)[rows]], features).utility.system)


@once_per_system
def _only_rising(system: ConstraintSystem) -> Mask:
    """Return which rows have no negative coefficient and no blocks; shape (n_inequalities,)."""
    owner = np.repeat(np.arange(system.n_inequalities), np.diff(system.A.indptr))
    wrong = (system.A.data < 0) | (system.A.indices >= system.n_features)
    return np.bincount(owner[wrong], minlength=system.n_inequalities) == 0


def _groups(sizes: SizeBounds, cutoff: float, largest: int, floor: float) -> Ints:
    """Return the group of each feature in `sizes.order`, up to the first one that no better set can contain."""
    utility, head = sizes.utility, sizes.order[:_MOST_GROUPED]
    cost = _exclusions_among(utility, head)
    excluded = (cost < floor) | np.isneginf(cost)
    theta, strength = utility.theta[head].tolist(), utility.constraint_strength
    group = np.arange(len(sizes.order))
    members: list[int] = []  # of each group
    total, rest = 0.0, -np.inf  # importance of the groups so far; score of the best set but for one feature
    for place in range(len(head)):
        if len(members) >= largest and theta[place] + rest <= cutoff:
            return group[:place]
        # A feature joins the first group all of whose members it excludes.
        n_excluded = np.bincount(group[:place][excluded[place, :place]], minlength=len(members))
        fitting = np.flatnonzero(n_excluded == members)
        if len(fitting):
            group[place] = fitting[0]
            members[fitting[0]] += 1
            continue
        group[place] = len(members)
        members.append(1)
        if len(members) <= largest and sizes.value[len(members)] > cutoff:
            rest = max(rest, total + strength * float(np.exp(sizes.log_kappa[len(members)])))
        total += theta[place]
    group[len(head) :] += len(members) - len(head)
    return group
