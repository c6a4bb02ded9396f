r"""Features that exclude each other, and how they bound the score of sets of each size.

A set with a higher score than a known one has log kappa above some floor (see :mod:`ubayfs.optimize.exact`). Two
features that together violate inequalities so far that log kappa falls below it are in no better set together. Features
any two of which exclude each other form a *group*; a better set contains at most one feature of each group. Once all
features are divided into groups, a better set of s features scores at most the sum of the s highest of the groups' best
importances, plus :math:`\lambda` times the admissibility of the inequalities that depend only on the size.

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
from ..utility import Admissibility, Utility, log_row_admissibility
from .cells import lowest_log_kappa
from .presolve import reduce, rows_within
from .size_bounds import SizeBounds

# Rows (inequalities) with more entries are not searched for pairs.
_WIDEST_ROW = 8
# So many of the most important features are put into groups; each of the others is a group of its own.
_MOST_GROUPED = 300


@once_per_system
def exclusions(system: ConstraintSystem) -> Floats:
    """Return an upper bound of log kappa of sets with both of two features, from rows without negative coefficients.

    It is a symmetric matrix of shape (n_features, n_features); -inf where two features together violate a hard row.
    """
    A, n = system.A, system.n_features
    tolerance = Admissibility(system).tolerance
    lengths = np.diff(A.indptr)
    log_kappa = np.zeros((n, n))
    for length in range(2, _WIDEST_ROW + 1):
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


@dataclass(frozen=True, eq=False)
class GroupBounds:
    """Upper bounds of the score by size, for sets better than a known one; from features that exclude each other."""

    features: Ints  # most important first; features that are in no better set may be absent
    theta: Floats  # importance of each of them
    group: Ints  # of each of them; groups are numbered by their most important feature
    # For s = 0, 1, ...: highest importance of s features, log admissibility of the inequalities that depend only on the
    # size, and the bound of the score that follows.
    importance: Floats
    log_kappa: Floats
    value: Floats

    @classmethod
    def of(cls, utility: Utility, sizes: SizeBounds, cutoff: float) -> GroupBounds:
        """Bound the score of sets above `cutoff`, for which at least one size must be plausible."""
        largest = int(sizes.plausible(cutoff)[-1])
        floor = lowest_log_kappa(utility, cutoff, float(sizes.importance[largest]))
        group = _groups(utility, sizes, cutoff, largest, floor)
        features = sizes.order[: len(group)]
        theta = utility.theta[features]
        _, best = np.unique(group, return_index=True)  # features are sorted by importance: the first is the best
        importance = np.concatenate([[0.0], np.cumsum(theta[best])])[: largest + 1]
        log_kappa = sizes.log_kappa[: len(importance)]
        return cls(features, theta, group, importance, log_kappa, utility.combine(importance, log_kappa))

    def plausible(self, cutoff: float) -> Ints:
        """Return the sizes whose bound exceeds a score already reached."""
        return np.flatnonzero(self.value > cutoff)

    def contenders(self, cutoff: float, strength: float) -> Ints:
        """Return the features that may be part of a set with a score above `cutoff`, most important first."""
        if len(self.features) == 0 or len(self.plausible(cutoff)) == 0:
            return np.empty(0, dtype=np.intp)
        likely = self.value > cutoff
        # A feature of one of the s best groups takes the place of the best of its group, ...
        inside = np.where(likely, self.value, -np.inf)
        # ... any other one the place of the last group.
        without_last = np.concatenate([[-np.inf], self.importance[:-1] + strength * np.exp(self.log_kappa[1:])])
        outside = np.where(likely, without_last, -np.inf)
        larger = np.append(np.maximum.accumulate(inside[::-1])[::-1][1:], -np.inf)  # sizes beyond the group's number
        smaller = np.maximum.accumulate(outside)
        rank = np.minimum(self.group, len(self.value) - 1)
        _, first = np.unique(self.group, return_index=True)
        among_best = self.theta - self.theta[first][self.group] + larger[rank]
        return self.features[np.maximum(among_best, self.theta + smaller[rank]) > cutoff]


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


def _groups(utility: Utility, sizes: SizeBounds, cutoff: float, largest: int, floor: float) -> Ints:
    """Return the group of each feature in `sizes.order`, up to the first one that no better set can contain."""
    head = sizes.order[:_MOST_GROUPED]
    cost = _exclusions_among(utility, head)
    excluded = (cost < floor) | np.isneginf(cost)
    theta, strength = utility.theta[head].tolist(), utility.constraint_strength
    group = np.arange(len(sizes.order))
    members: list[int] = []  # of each group
    total, rest = 0.0, -np.inf  # importance of the groups so far; score of the best set but for one feature
    for place in range(len(head)):
        if len(members) >= largest and theta[place] + rest <= cutoff:
            return group[:place]
        found = np.bincount(group[:place][excluded[place, :place]], minlength=len(members))
        fitting = np.flatnonzero(found == members)
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
