"""A good set to begin with: greedy moves and swaps on the true score.

The exact method does not need it, but a good set cuts off most of its work. The search follows a merit function: the
score, less a penalty for violated hard inequalities (rows of the matrix A), which leads it to sets that satisfy them.
Violations are measured in the largest coefficient of their row, and however small one is, it outweighs every score.
"""

from __future__ import annotations

import time
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from .._arguments import Array, Floats, Ints, Mask, mask_of
from ..constraints.system import ConstraintSystem, once_per_system
from ..constraints.utility import ROUNDING, Utility, log_row_admissibility
from .presolve import entries_of, reduce, required_features, rows_within

# Features considered for moves: the most important ones, and those that rows with a negative bound require.
_POOL = 400
# Sets to begin with are at most this large: dropping and swapping features one by one would take too long to pay.
_LARGEST_START = 200
# Where the best set has a log kappa below this, soft rows are nearly without effect: another start looks for a set
# where they are not.
LOW_LOG_KAPPA = -3.0
# What the smallest violation of a hard row counts: with the penalty below, twice as much as the best conceivable score.
SMALLEST_MEASURE = 0.2


@once_per_system
def _by_columns(system: ConstraintSystem) -> tuple[sparse.csc_array, sparse.csc_array]:
    """Return the rows and the blocks by columns."""
    return sparse.csc_array(system.A), sparse.csc_array(system.blocks)


_Entries = tuple[Ints, Floats, Ints]  # rows, values, and the number of the column


def _entries(matrix: sparse.csc_array, columns: Ints) -> _Entries:
    """Return rows and values of the entries of some columns, and the number of the column of each.

    Indexing plain arrays is ten times as fast as slicing sparse ones, which a search does thousands of times.
    """
    entries, owner = entries_of(matrix.indptr, columns)
    return matrix.indices[entries], matrix.data[entries], owner


def _measure(excess: Floats) -> Floats:
    """Return what violations of hard rows, in their largest coefficients, count: never less than the smallest measure.

    A penalty per unit alone would let a set win that exceeds a budget of 5 by 1e-7.
    """
    return np.maximum(excess, SMALLEST_MEASURE + (1.0 - SMALLEST_MEASURE) * excess)


def _before_and_after(terms: Floats, gains: Floats, owner: Ints, n_changes: int) -> Floats:
    """Return the sum of all terms, then that sum with the gains of each change."""
    sums = np.zeros(n_changes + 1)
    sums[1:] = np.bincount(owner, weights=gains, minlength=n_changes)
    sums += terms.sum()
    return sums


class LocalSearch:
    """Adds, drops and swaps features, all of them selectable, as long as the merit rises.

    If `linear`, the merit has ``1 + log kappa`` in place of kappa: its tangent where all rows hold, never above it.
    Among sets that violate much kappa is nearly 0 and shows no way out; its logarithm does.
    """

    def __init__(self, utility: Utility, linear: bool = False) -> None:
        self.utility, self.linear = utility, linear
        system = utility.system
        self.n = utility.n_features
        self.hard = np.isinf(system.rho)
        self.any_hard = bool(self.hard.any())
        self.rho = np.where(self.hard, 1.0, system.rho)
        self.b, self.tolerance = system.b, utility.admissibility.tolerance
        self.columns, self.blocks = _by_columns(system)
        self.n_blocks = system.n_blocks
        largest = abs(system.A).max(axis=1).toarray().ravel()
        self.scale = np.where(largest > 0.0, largest, 1.0)  # of a row without coefficients no set changes anything
        self.hard_penalty = 10.0 * (utility.theta.sum() + utility.constraint_strength)

    @cached_property
    def groups(self) -> sparse.csr_array:
        """Features to add together: each with all others that rows ``d_i - d_j <= 0`` then require.

        A matrix with one row for each group, of shape (n_groups, n_features).
        """
        system = self.utility.system
        A = system.A
        pairs = np.flatnonzero((np.diff(A.indptr) == 2) & (np.abs(system.b) <= self.tolerance))
        first, second = A.indptr[pairs], A.indptr[pairs] + 1
        opposite = (A.data[first] * A.data[second] < 0) & (A.indices[first] < self.n) & (A.indices[second] < self.n)
        first, second = first[opposite], second[opposite]
        if len(first) == 0:
            return sparse.csr_array((0, self.n), dtype=bool)
        # a d_i - c d_j <= 0 with a, c > 0: i asks for j.
        up = np.where(A.data[first] > 0, A.indices[first], A.indices[second])
        down = np.where(A.data[first] > 0, A.indices[second], A.indices[first])
        graph = sparse.csr_array((np.ones(len(up)), (up, down)), shape=(self.n, self.n))
        groups: dict[tuple[int, ...], None] = {}
        for start in np.unique(up).tolist():
            members = sparse.csgraph.breadth_first_order(graph, start, return_predecessors=False)
            groups[tuple(sorted(members.tolist()))] = None
        members = np.concatenate([np.array(group, dtype=np.intp) for group in groups])
        starts = np.cumsum([0, *map(len, groups)])
        return sparse.csr_array((np.ones(len(members), dtype=bool), members, starts), shape=(len(groups), self.n))

    def terms(self, activity: Array, rows: Any) -> tuple[Array, Array]:
        """Return log admissibility of soft rows and the measure of violation of hard rows at some activities a^T z."""
        excess = activity - self.b[rows]
        log_terms, hard_terms = np.zeros(len(excess)), np.zeros(len(excess))
        violated = (excess > self.tolerance[rows]).nonzero()[0]
        if len(violated) == 0:
            return log_terms, hard_terms
        excess, rows = excess[violated], violated if isinstance(rows, slice) else rows[violated]
        log_cost = log_row_admissibility(excess, self.rho[rows])
        if not self.any_hard:
            log_terms[violated] = log_cost
            return log_terms, hard_terms
        hard = self.hard[rows]
        log_terms[violated] = np.where(hard, 0.0, log_cost)
        hard_terms[violated] = np.where(hard, _measure(excess / self.scale[rows]), 0.0)
        return log_terms, hard_terms

    def merit(self, chosen: Mask) -> float:
        """Return the score of a set, less a penalty for violated hard rows."""
        return float(self.one_flipped(chosen, np.empty(0, dtype=np.intp))[0])

    def one_flipped(self, chosen: Mask, features: Ints, entries: _Entries | None = None) -> Floats:
        """Return the merit of a set, then of the set with each one of `features` added, or dropped if a member."""
        return self.flipped(chosen, features, np.arange(len(features)), len(features), entries)

    def flipped(
        self, chosen: Mask, features: Ints, change: Ints, n_changes: int, entries: _Entries | None = None
    ) -> Floats:
        """Return the merit of a set, then of the set after each change: some features added, or some dropped.

        `change` is the number of the change that each one of `features` belongs to, ascending; `entries` are those of
        their columns, for callers that have them.
        """
        members = chosen.nonzero()[0]
        n_chosen = self.members_of_blocks(members)
        activity = self.activity(members, n_chosen)
        log_terms, hard_terms = self.terms(activity, slice(None))
        sign = np.where(chosen[features], -1.0, 1.0)
        entries = _entries(self.columns, features) if entries is None else entries
        rows, values, owner = self._changes(features, sign, change, n_chosen, entries)
        log_new, hard_new = self.terms(activity[rows] + values, rows)
        log_all = _before_and_after(log_terms, log_new - log_terms[rows], owner, n_changes)
        theta = self.utility.theta
        importances = _before_and_after(theta[members], sign * theta[features], change, n_changes)
        kappa = 1.0 + log_all if self.linear else np.exp(log_all)
        merit = importances + self.utility.constraint_strength * kappa
        if not self.any_hard:
            return merit
        hard_all = _before_and_after(hard_terms, hard_new - hard_terms[rows], owner, n_changes)
        # Sums of gains may miss zero by rounding; a violation is at least SMALLEST_MEASURE.
        return merit - self.hard_penalty * np.where(hard_all < 0.5 * SMALLEST_MEASURE, 0.0, hard_all)

    def members_of_blocks(self, members: Ints) -> Ints:
        """Return how many of some features are in each block."""
        if self.n_blocks == 0:
            return np.empty(0, dtype=np.intp)
        return np.bincount(_entries(self.blocks, members)[0], minlength=self.n_blocks)

    def activity(self, members: Ints, n_chosen: Ints) -> Floats:
        """Return a^T z of every row; `n_chosen` are the members of each block."""
        columns = np.concatenate([members, self.n + np.flatnonzero(n_chosen)]) if self.n_blocks else members
        rows, values, _ = _entries(self.columns, columns)
        return np.bincount(rows, weights=values, minlength=len(self.b)).astype(np.float64)

    def _changes(
        self, features: Ints, sign: Floats, change: Ints, n_chosen: Ints, entries: _Entries
    ) -> tuple[Ints, Floats, Ints]:
        """Return what each change changes in a^T z: rows, differences, and the number of the change.

        These are the columns of its features, and those of blocks that these are the first or the last to touch.
        """
        rows, values, number = entries
        values, owner = sign[number] * values, change[number]
        single = bool((change[1:] > change[:-1]).all())  # one feature for each change
        if self.n_blocks == 0 and single:
            return rows, values, owner
        if self.n_blocks:
            blocks, _, toucher = _entries(self.blocks, features)
            # Members of one block may change together: what counts is whether any, or none, remains.
            touched, first, count = np.unique(
                change[toucher] * self.n_blocks + blocks, return_index=True, return_counts=True
            )
            touched_by, block = np.divmod(touched, self.n_blocks)
            added = sign[toucher[first]] > 0
            turned = np.flatnonzero(n_chosen[block] == np.where(added, 0, count))
            more_rows, more_values, number = _entries(self.columns, self.n + block[turned])
            rows = np.concatenate([rows, more_rows])
            values = np.concatenate([values, np.where(added[turned], 1.0, -1.0)[number] * more_values])
            owner = np.concatenate([owner, touched_by[turned][number]])
        # A row may hold several features and blocks of a change: one difference for each change and row.
        pairs, place = np.unique(owner * len(self.b) + rows, return_inverse=True)
        values = np.bincount(place, weights=values, minlength=len(pairs)).astype(np.float64)
        owner, rows = np.divmod(pairs, max(len(self.b), 1))
        return rows, values, owner

    def improve(self, chosen: Mask, deadline: float | None = None, max_moves: int = 200) -> Mask:
        """Follow the best move (add, add a group, drop, swap) until none helps or the deadline, by `monotonic`."""
        chosen = chosen.copy()
        best = self.merit(chosen)
        for _ in range(max_moves):
            if deadline is not None and time.monotonic() >= deadline:
                break
            candidate, value = self._best_move(chosen)
            if value <= best + ROUNDING:
                candidate, value = self._best_swap(chosen, best, deadline)
            if value <= best + ROUNDING:
                break
            chosen, best = candidate, value
        return chosen

    def _best_move(self, chosen: Mask) -> tuple[Mask, float]:
        features = np.argsort(chosen, kind="stable")  # those outside first
        values = self.one_flipped(chosen, features)
        pick = int(np.argmax(values))
        best, value = chosen.copy(), float(values[pick])
        if pick:
            flipped = features[pick - 1]
            best[flipped] = ~best[flipped]
        if len(self.groups.indices):
            owner = np.repeat(np.arange(self.groups.shape[0]), np.diff(self.groups.indptr))
            missing = ~chosen[self.groups.indices]
            merits = self.flipped(chosen, self.groups.indices[missing], owner[missing], self.groups.shape[0])[1:]
            group = int(np.argmax(merits))
            if merits[group] > value:
                best, value = chosen.copy(), float(merits[group])
                best[self.groups[[group]].indices] = True
        return best, value

    def _best_swap(self, chosen: Mask, best: float, deadline: float | None = None) -> tuple[Mask, float]:
        """Return the best set reached by one feature out and one in, of those tried before the deadline."""
        result = chosen
        outside = np.flatnonzero(~chosen)
        entries = _entries(self.columns, outside)
        for out in np.flatnonzero(chosen):
            if deadline is not None and time.monotonic() >= deadline:
                break
            base = chosen.copy()
            base[out] = False
            values = self.one_flipped(base, outside, entries)
            pick = int(np.argmax(values))
            if values[pick] > best + ROUNDING:
                best, result = float(values[pick]), base
                if pick:
                    result = base.copy()
                    result[outside[pick - 1]] = True
        return result, best


def _pool(utility: Utility) -> Ints:
    """Return the features that moves consider."""
    theta, system, n = utility.theta, utility.system, utility.n_features
    candidates = np.flatnonzero(utility.selectable)
    if len(candidates) <= _POOL:
        return candidates
    considered = mask_of(candidates[np.argsort(-theta[candidates], kind="stable")[:_POOL]], n)
    demanding = np.flatnonzero(system.b < -utility.admissibility.tolerance)[:_POOL]
    rows = sparse.coo_array(system.A[demanding])
    required = rows.coords[1][rows.data < 0]
    members = system.blocks[required[required >= n] - n].indices
    required = np.unique(np.concatenate([required[required < n], members]))
    considered[required[np.argsort(-theta[required], kind="stable")[:_POOL]]] = True
    return np.flatnonzero(considered & utility.selectable)


def good_set(utility: Utility, deadline: float | None = None, begin_with: Mask | None = None) -> Mask | None:
    """Return a good set that satisfies all hard inequalities, or None when none is found by the deadline.

    `begin_with` is a set of selectable features to improve; other starts are tried only if it leads to no set or is too
    large.
    """
    pool = _pool(utility)
    if begin_with is not None and begin_with.sum() > _LARGEST_START:
        begin_with = None
    if begin_with is not None:
        pool = np.union1d(pool, np.flatnonzero(begin_with))
    small = reduce(utility, rows_within(utility.system, pool), pool)
    search = LocalSearch(small.utility)
    starts = [np.zeros(len(pool), dtype=bool)]
    if len(pool) <= _LARGEST_START:
        starts.append(np.ones(len(pool), dtype=bool))
    if begin_with is not None:
        starts.insert(0, begin_with[pool])
    best, best_value = None, -np.inf
    for number, start in enumerate(starts):
        candidate = small.lift(search.improve(start, deadline), utility.n_features)
        value = float(utility(candidate)[0])
        if value > best_value:
            best, best_value = candidate, value
        if number == 0 and begin_with is not None and best is not None:
            break
    low = best is not None and utility.admissibility.log_admissibility(best)[0] < LOW_LOG_KAPPA
    if best is not None and low and begin_with is None:
        way_out = LocalSearch(small.utility, linear=True).improve(best[pool], deadline)
        candidate = small.lift(search.improve(way_out, deadline), utility.n_features)
        best = max(best, candidate, key=lambda chosen: float(utility(chosen)[0]))
    if best is None:  # the last try: only what hard rows on one or two features require
        required = required_features(utility) & utility.selectable
        return required if np.isfinite(utility(required)[0]) else None
    return best
