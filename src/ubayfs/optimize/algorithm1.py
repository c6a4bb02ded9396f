r"""Sets to begin a search with: the paper's Algorithm 1, and a variant that copes with hard inequalities.

**Algorithm 1.** A chain starts from the empty set and is offered every feature once, in the order of a random
permutation in which important features tend to come early. A feature is accepted with probability
:math:`\kappa(\delta^\dagger) / \kappa(\delta)`, the admissibility with it over that without it.
:func:`initial_sets` is Algorithm 1 as printed (``Genetic(start="paper")``), :func:`feasible_start` the variant
(``Genetic(start="guided")``, the default).

**All chains at once.** Between two acceptances a chain does not change, so that its next candidates can be evaluated
together: all chains look ahead by a window of candidates and continue behind the first one that they accept, with
exactly the result of offering one by one. A chain that is full passes thousands of features in a few steps. What a
feature would change in *rows* (inequalities, rows of the matrix A) with few entries, pairs by the million, is updated
in the neighborhood of accepted features only; wide rows and rows on blocks are evaluated for the candidates.

References
----------
Jenul et al., "A user-guided Bayesian framework for ensemble feature selection in life science applications (UBayFS)",
Machine Learning 111 (2022), Algorithm 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._arguments import Array, Floats, Ints, Mask
from ..constraints.utility import RELATIVE_TOLERANCE, Utility, log_row_admissibility
from .presolve import LinkedUtility, entries_of

# What features change in rows with at most this many entries is updated at each acceptance.
_NARROW = 32

# Candidates evaluated at once, over all chains: bounds memory.
_CANDIDATES = 2**18

# Violations of hard rows are measured relative to the size of the row, where a violation is never smaller than
# RELATIVE_TOLERANCE; sums that should be zero are off by rounding, which is smaller by orders of magnitude.
NO_CHANGE = 0.1 * RELATIVE_TOLERANCE


def initial_sets(utility: Utility, n_sets: int, rng: np.random.Generator) -> Mask:
    """Sample sets by the paper's Algorithm 1, as printed, of shape (n_sets, n_features).

    Importances weight the permutations (features of weight 0 come last), and the inequalities decide on acceptance. All
    sets are empty when the empty set violates a hard inequality: its admissibility is 0, and the algorithm then accepts
    nothing. :func:`feasible_start` copes with that.
    """
    order, log_uniform = draw_offers(utility, n_sets, rng)
    chains = Chains(utility, n_sets)
    if not (chains.violation > NO_CHANGE).any():
        chains.run(order, log_uniform)
    return chains.chosen


def feasible_start(linked: LinkedUtility, n_sets: int, rng: np.random.Generator) -> Mask:
    """Sample sets of units to begin with, (n_sets, n_units): the best that each chain of Algorithm 1 passes through.

    Where a soft inequality limits the size, Algorithm 1 continues to accept features at a rate of exp(-rho) long after
    the limit is exceeded (with max-size 10 and rho = 1 it ends with 3,700 of 10,000 features), so that the last set of
    a chain is a poor start. Two more things differ, and only where there are hard inequalities: chains begin with the
    required features and are offered features that are allowed only together as a whole; and while hard inequalities
    are violated (at least one of these, at least five in all, ...), features that reduce the violation are accepted
    first. The sets may still violate hard inequalities; whether these can hold at all is not decided here.
    """
    order, log_uniform = draw_offers(linked.utility, n_sets, rng)
    chains = Chains(linked.utility, n_sets)
    every_chain = np.arange(n_sets)
    for unit in linked.required[linked.utility.selectable[linked.required]]:
        chains.accept(every_chain, np.full(n_sets, unit))
    if (chains.violation > NO_CHANGE).any():
        chains.run(order, np.full_like(log_uniform, np.inf))
    chains.run(order, log_uniform, while_it_can_improve=True)
    return chains.best


def draw_offers(utility: Utility, n_sets: int, rng: np.random.Generator) -> tuple[Ints, Floats]:
    """Draw the random numbers of Algorithm 1, two arrays of shape (n_sets, n_selectable).

    The order of the features is one permutation per set, sampled without replacement with probabilities proportional to
    theta; the logarithm of a uniform number decides on the feature offered at each step.
    """
    selectable = np.flatnonzero(utility.selectable)
    theta = utility.theta[selectable]
    # The order of independent exponential times with rates theta is sampling without replacement.
    times = rng.standard_exponential((n_sets, len(selectable)))
    times /= np.where(theta > 0, theta, 1.0)
    never = np.broadcast_to(theta <= 0, times.shape)
    order = selectable[np.lexsort((times, never), axis=-1)]
    # Minus an exponential variable is the logarithm of a uniform one.
    return order, -rng.standard_exponential(order.shape)


class Chains:
    """Sets that grow feature by feature, and what each further feature would change in them.

    The attribute `violation`, of shape (n_chains,), is by how much each chain violates hard rows now, relative to the
    size of these rows.
    """

    def __init__(self, utility: Utility, n_chains: int) -> None:
        system, n = utility.system, utility.n_features
        self._utility = utility
        self._rows = utility.admissibility
        self._rho = system.rho
        self._hard = np.isinf(system.rho)
        self._size_of_row = np.where(self._rows.tolerance > 0, self._rows.tolerance / RELATIVE_TOLERANCE, 1.0)
        self._n_features = n
        self._selected = np.zeros((n_chains, n + system.n_blocks), dtype=bool)
        on_blocks = np.diff(sparse.csr_array(system.A[:, n:]).indptr) > 0
        narrow = (np.diff(system.A.indptr) <= _NARROW) & ~on_blocks
        self._narrow_rows, self._wide_rows = np.flatnonzero(narrow), np.flatnonzero(~narrow)
        self._narrow = sparse.csr_array(system.A[self._narrow_rows][:, :n])
        self._narrow_columns = sparse.csc_array(self._narrow)
        wide = sparse.csc_array(system.A[self._wide_rows])
        self._wide_of_feature = sparse.csr_array(wide[:, :n].T)
        self._wide_of_block = sparse.csr_array(wide[:, n:].T)
        self._blocks_of_feature = sparse.csr_array(system.blocks.T, dtype=np.float64)
        self._falling = np.flatnonzero(sparse.csr_array(wide < 0).sum(axis=1) == 0)
        self._total_importance = float(utility.theta[utility.selectable].sum())
        self._wide_activity = np.zeros((n_chains, len(self._wide_rows)))
        # From the empty set, a feature changes each of its narrow rows from 0 to its coefficient.
        entries = np.repeat(self._narrow_rows, np.diff(self._narrow.indptr))
        change = self._change(np.zeros(self._narrow.nnz), self._narrow.data, entries)
        totals = (np.tile(_sums(self._narrow.indices, part, n), (n_chains, 1)) for part in change)
        self._gain, self._added_violation = totals
        self._start_record(n_chains)

    def _start_record(self, n_chains: int) -> None:
        """Begin to record the best set that each chain passes through; the first one is the empty set."""
        excess = self._rows.excess(np.zeros(len(self._rho)), slice(None))
        soft = np.where(self._hard, 0.0, log_row_admissibility(excess, np.where(self._hard, 1.0, self._rho)))
        self._log_kappa = np.full(n_chains, soft.sum())
        self.violation = np.full(n_chains, np.where(self._hard, excess / self._size_of_row, 0.0).sum())
        self._importance = np.zeros(n_chains)
        self._size = np.zeros(n_chains, dtype=np.int32)
        self._rank = np.full(self.chosen.shape, np.iinfo(np.int32).max, dtype=np.int32)
        self._best_size = self._size.copy()
        self._best_value, self._best_violation = self._value(), self.violation.copy()

    def _value(self) -> Floats:
        """Return importance + lambda * kappa of the soft rows, of shape (n_chains,)."""
        return self._importance + self._utility.constraint_strength * np.exp(self._log_kappa)

    @property
    def chosen(self) -> Mask:
        """The features of each chain now, of shape (n_chains, n_features)."""
        return self._selected[:, : self._n_features]

    @property
    def best(self) -> Mask:
        """The best set each chain passed through: least violation of hard rows, then highest score."""
        return self._rank < self._best_size[:, None]

    def _can_improve(self, chains: Ints) -> Mask:
        """Return which chains may still reach a better set than their best one.

        Wide rows without negative coefficients are only violated more as a chain grows. If the importance of all
        features plus lambda times what these rows leave of kappa is below the best score so far, none will follow.
        """
        activity = self._wide_activity[np.ix_(chains, self._falling)]
        rows = self._wide_rows[self._falling]
        excess = self._rows.excess(activity, rows)
        log_kappa = log_row_admissibility(excess, self._rho[rows]).sum(axis=1)
        highest = self._total_importance + self._utility.constraint_strength * np.exp(log_kappa)
        return (self._best_violation[chains] > NO_CHANGE) | (highest > self._best_value[chains])

    def run(self, order: Ints, log_uniform: Floats, while_it_can_improve: bool = False) -> None:
        """Offer features to each chain, in its own order; see :func:`draw_offers`.

        A feature that reduces the violation of hard rows is accepted, one that increases it is refused; others are
        accepted when `log_uniform` does not exceed the logarithm of the ratio of admissibilities. A chain may stop as
        soon as it cannot reach a better set than its best one.
        """
        n_chains, n_steps = order.shape
        step = np.zeros(n_chains, dtype=np.intp)
        running, width = np.arange(n_chains if n_steps else 0), 1
        while len(running):
            ahead = step[running, None] + np.arange(width)
            where = running[:, None], np.minimum(ahead, n_steps - 1)
            candidates = order[where]
            gain, violation = self._effect(np.repeat(running, width), candidates.ravel())
            by_chance = log_uniform[where].ravel() <= gain  # U <= kappa(with it) / kappa(without it)
            accepted = (violation < -NO_CHANGE) | ((violation <= NO_CHANGE) & by_chance)
            accepted = accepted.reshape(candidates.shape) & (ahead < n_steps)
            accepted &= ~self._selected[running[:, None], candidates]
            hit, first = accepted.any(axis=1), accepted.argmax(axis=1)
            at = np.flatnonzero(hit) * width + first[hit]
            self._add(running[hit], candidates.ravel()[at], gain[at], violation[at])
            step[running] += np.where(hit, first + 1, width)
            # Look further ahead when most chains refuse their candidates, less far when they do not.
            width = max(1, width // 2) if 2 * hit.sum() > len(running) else 2 * width
            running = running[step[running] < n_steps]
            if while_it_can_improve:
                running = running[self._can_improve(running)]
            width = max(1, min(width, _CANDIDATES // max(1, len(running)), n_steps))

    def accept(self, chains: Ints, features: Ints) -> None:
        """Add one feature to each of some different chains."""
        self._add(chains, features, *self._effect(chains, features))

    def _add(self, chains: Ints, features: Ints, gain: Any, violation: Any) -> None:
        self._log_kappa[chains] += gain
        self.violation[chains] += violation
        self._importance[chains] += self._utility.theta[features]
        self._rank[chains, features] = self._size[chains]
        self._size[chains] += 1
        self._update_neighbors(chains, features)
        added = self._added_to_wide_rows(chains, features)
        owner = np.repeat(chains, np.diff(added.indptr))
        self._wide_activity[owner, added.indices] += added.data
        self._selected[chains, features] = True
        touched = self._blocks_of_feature[features]
        owner = np.repeat(chains, np.diff(touched.indptr))
        self._selected[owner, self._n_features + touched.indices] = True
        self._record_best(chains)

    def _record_best(self, chains: Ints) -> None:
        value, violation, lowest = self._value(), self.violation[chains], self._best_violation[chains]
        higher = value[chains] > self._best_value[chains]
        better = chains[(violation < lowest - NO_CHANGE) | ((violation <= lowest + NO_CHANGE) & higher)]
        self._best_size[better] = self._size[better]
        self._best_value[better], self._best_violation[better] = value[better], self.violation[better]

    def _effect(self, chains: Ints, features: Ints) -> tuple[Array, Array]:
        """Return how log kappa (soft rows) and the violation of hard rows change when a feature joins a chain."""
        gain, violation = self._gain[chains, features], self._added_violation[chains, features]
        if len(self._wide_rows):
            added = self._added_to_wide_rows(chains, features)
            owner = np.repeat(np.arange(len(chains)), np.diff(added.indptr))
            activity = self._wide_activity[chains[owner], added.indices]
            change = self._change(activity, added.data, self._wide_rows[added.indices])
            gain += _sums(owner, change[0], len(chains))
            violation += _sums(owner, change[1], len(chains))
        return gain, violation

    def _change(self, activity: Any, added: Any, rows: Any) -> tuple[Array, Array]:
        """Return the change of log admissibility (soft) and of violation (hard) of rows when a^T z rises by `added`."""
        before, after = self._rows.excess(activity, rows), self._rows.excess(activity + added, rows)
        hard = self._hard[rows]
        violation = np.where(hard, (after - before) / self._size_of_row[rows], 0.0)
        gain = np.zeros(len(rows))
        # Most candidates change no row beyond its bound; logarithms are computed for those that do.
        differs = np.flatnonzero((before != after) & ~hard)
        rho = self._rho[rows[differs]]
        gain[differs] = log_row_admissibility(after[differs], rho) - log_row_admissibility(before[differs], rho)
        return gain, violation

    def _added_to_wide_rows(self, chains: Ints, features: Ints) -> sparse.csr_array:
        """Return what features add to a^T z: their own coefficients and those of blocks they are the first to touch."""
        added = self._wide_of_feature[features]
        if self._blocks_of_feature.shape[1]:
            blocks = self._blocks_of_feature[features]
            owner = np.repeat(chains, np.diff(blocks.indptr))
            blocks.data = (~self._selected[owner, self._n_features + blocks.indices]).astype(np.float64)
            added = sparse.csr_array(added + blocks @ self._wide_of_block)
        return added

    def _update_neighbors(self, chains: Ints, features: Ints) -> None:
        """Update what other features would change in the narrow rows of features about to be accepted."""
        entries, owner = entries_of(self._narrow_columns.indptr, features)
        if len(entries) == 0:
            return
        row, coefficient = self._narrow_columns.indices[entries], self._narrow_columns.data[entries]
        chain = chains[owner]
        entries, owner = entries_of(self._narrow.indptr, row)
        other, weight = self._narrow.indices[entries], self._narrow.data[entries]
        activity = _sums(owner, weight * self._selected[chain[owner], other], len(row))
        rows = self._narrow_rows[row][owner]
        # What the other features of these rows would change, before and after the accepted one: the totals move by the
        # difference.
        before = self._change(activity[owner], weight, rows)
        after = self._change((activity + coefficient)[owner], weight, rows)
        for total, old, new in zip((self._gain, self._added_violation), before, after, strict=True):
            np.add.at(total, (chain[owner], other), new - old)


def _sums(owner: Array, values: Floats, n_owners: int) -> Floats:
    # without weights to add, bincount returns integers
    return np.bincount(owner, weights=values, minlength=n_owners).astype(np.float64, copy=False)
