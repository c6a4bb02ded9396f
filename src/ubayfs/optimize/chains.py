"""Chains of growing feature sets, all at once.

A chain is offered features one after another and accepts or refuses each. Between two acceptances it does not change,
so that its next candidates can be judged together: all chains look ahead by a window of candidates and go on
behind the first one that they accept, which gives exactly what offering one by one would give. A chain that is full
passes thousands of features in a few steps. What a feature would change in rows with few entries (pairs, by the
million) is kept up to date in the neighborhood of accepted features only; wide rows and rows on blocks are evaluated
for the candidates.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..utility import RELATIVE_TOLERANCE, Utility, log_row_admissibility

# Rows with at most this many entries are kept up to date at each acceptance.
_NARROW = 32

# Candidates judged at once, over all chains: bounds memory.
_CANDIDATES = 2**18

# Violations of hard rows are measured relative to the size of the row, where a violation is never smaller than
# RELATIVE_TOLERANCE; sums that should be zero are off by rounding, which is smaller by orders of magnitude.
NO_CHANGE = 0.1 * RELATIVE_TOLERANCE


class Chains:
    """Sets that grow feature by feature, and what each further feature would change in them.

    Parameters
    ----------
    utility : Utility
    n_chains : int

    Attributes
    ----------
    harm : ndarray of float of shape (n_chains,)
        By how much each chain violates hard rows now, relative to the size of the rows.
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
        on_blocks = np.zeros(system.n_inequalities, dtype=bool)
        on_blocks[np.repeat(np.arange(system.n_inequalities), np.diff(system.A.indptr))[system.A.indices >= n]] = True
        narrow = (np.diff(system.A.indptr) <= _NARROW) & ~on_blocks
        self._narrow_rows, self._wide_rows = np.flatnonzero(narrow), np.flatnonzero(~narrow)
        self._narrow = sparse.csr_array(system.A[self._narrow_rows][:, :n])
        self._narrow_columns = sparse.csc_array(self._narrow)
        wide = sparse.csc_array(system.A[self._wide_rows])
        self._wide_of_feature = sparse.csr_array(wide[:, :n].T)
        self._wide_of_block = sparse.csr_array(wide[:, n:].T)
        self._blocks_of_feature = sparse.csr_array(system.blocks.T, dtype=np.float64)
        self._falling = np.flatnonzero(sparse.csr_array(wide < 0).sum(axis=1) == 0)
        self._most_importance = float(utility.theta[utility.selectable].sum())
        self._wide_activity = np.zeros((n_chains, len(self._wide_rows)))
        # From the empty set, a feature changes each of its narrow rows from 0 to its coefficient.
        entries = np.repeat(self._narrow_rows, np.diff(self._narrow.indptr))
        change = self._change(np.zeros(self._narrow.nnz), self._narrow.data, entries)
        self._gain, self._harm = (np.tile(_sums(self._narrow.indices, part, n), (n_chains, 1)) for part in change)

        self._start_record(n_chains)

    def _start_record(self, n_chains: int) -> None:
        """Begin an account of the sets that chains pass through, the empty set first."""
        rows = np.arange(len(self._rho))
        excess = self._rows.excess(np.zeros(len(rows)), rows)
        soft = np.where(self._hard, 0.0, log_row_admissibility(excess, np.where(self._hard, 1.0, self._rho)))
        self._log_kappa = np.full(n_chains, soft.sum())
        self.harm = np.full(n_chains, np.where(self._hard, excess / self._size_of_row, 0.0).sum())
        self._importance = np.zeros(n_chains)
        self._size = np.zeros(n_chains, dtype=np.int32)
        self._rank = np.full(self.chosen.shape, np.iinfo(np.int32).max, dtype=np.int32)
        self._best_size = self._size.copy()
        self._best_value, self._best_harm = self._value(), self.harm.copy()

    def _value(self) -> NDArray[np.float64]:
        """Return importance + lambda * kappa of the soft rows, of shape (n_chains,)."""
        return self._importance + self._utility.constraint_strength * np.exp(self._log_kappa)

    @property
    def chosen(self) -> NDArray[np.bool_]:
        """The features of each chain now, of shape (n_chains, n_features)."""
        return self._selected[:, : self._n_features]

    @property
    def best(self) -> NDArray[np.bool_]:
        """The best set each chain passed through: least violation of hard rows, then most utility."""
        return self._rank < self._best_size[:, None]

    def _can_improve(self, chains: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Tell which chains may still come to a better set.

        Wide rows without negative coefficients only get worse as a chain grows. If all importance that there is and
        what these rows leave of kappa are worth less than the best set so far, the chain is past it.
        """
        activity = self._wide_activity[np.ix_(chains, self._falling)]
        rows = self._wide_rows[self._falling]
        excess = self._rows.excess(activity, rows)
        log_kappa = log_row_admissibility(excess, self._rho[rows]).sum(axis=1)
        most = self._most_importance + self._utility.constraint_strength * np.exp(log_kappa)
        return (self._best_harm[chains] > NO_CHANGE) | (most > self._best_value[chains])

    def run(
        self, order: NDArray[np.intp], log_uniform: NDArray[np.float64], while_it_can_improve: bool = False
    ) -> None:
        """Offer features to each chain, in the order of its row of `order`.

        A feature that lessens the violation of hard rows is accepted, one that adds to it is refused; others are
        accepted when `log_uniform` does not exceed the logarithm of the ratio of admissibilities.
        """
        n_chains, n_steps = order.shape
        step = np.zeros(n_chains, dtype=np.intp)
        running, width = np.arange(n_chains if n_steps else 0), 1
        while len(running):
            ahead = step[running, None] + np.arange(width)
            where = running[:, None], np.minimum(ahead, n_steps - 1)
            candidates = order[where]
            gain, harm = self._judge(np.repeat(running, width), candidates.ravel())
            luck = log_uniform[where].ravel()
            accepted = (harm < -NO_CHANGE) | ((harm <= NO_CHANGE) & (luck <= gain))
            accepted = accepted.reshape(candidates.shape) & (ahead < n_steps)
            accepted &= ~self._selected[running[:, None], candidates]
            hit, first = accepted.any(axis=1), accepted.argmax(axis=1)
            at = np.flatnonzero(hit) * width + first[hit]
            self._add(running[hit], candidates.ravel()[at], gain[at], harm[at])
            step[running] += np.where(hit, first + 1, width)
            # Look further ahead when most chains refuse what they are offered, less far when they do not.
            width = max(1, width // 2) if 2 * hit.sum() > len(running) else 2 * width
            running = running[step[running] < n_steps]
            if while_it_can_improve:
                running = running[self._can_improve(running)]
            width = max(1, min(width, _CANDIDATES // max(1, len(running)), n_steps))

    def accept(self, chains: NDArray[np.intp], features: NDArray[np.intp]) -> None:
        """Add one feature to each of some different chains."""
        self._add(chains, features, *self._judge(chains, features))

    def _add(self, chains: NDArray[np.intp], features: NDArray[np.intp], gain: Any, harm: Any) -> None:
        self._log_kappa[chains] += gain
        self.harm[chains] += harm
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
        self._remember_best(chains)

    def _remember_best(self, chains: NDArray[np.intp]) -> None:
        value, harm = self._value()[chains], self.harm[chains]
        before, harm_before = self._best_value[chains], self._best_harm[chains]
        better = (harm < harm_before - NO_CHANGE) | ((harm <= harm_before + NO_CHANGE) & (value > before))
        kept = chains[better]
        self._best_size[kept] = self._size[kept]
        self._best_value[kept], self._best_harm[kept] = value[better], harm[better]

    def _judge(self, chains: NDArray[np.intp], features: NDArray[np.intp]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return how log kappa (soft rows) and the violation of hard rows change when a feature joins a chain."""
        gain, harm = self._gain[chains, features], self._harm[chains, features]
        if len(self._wide_rows):
            added = self._added_to_wide_rows(chains, features)
            owner = np.repeat(np.arange(len(chains)), np.diff(added.indptr))
            activity = self._wide_activity[chains[owner], added.indices]
            change = self._change(activity, added.data, self._wide_rows[added.indices])
            gain += _sums(owner, change[0], len(chains))
            harm += _sums(owner, change[1], len(chains))
        return gain, harm

    def _change(self, activity: Any, added: Any, rows: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the change of log admissibility (soft) and of violation (hard) of rows when a^T z rises by `added`."""
        before, after = self._rows.excess(activity, rows), self._rows.excess(activity + added, rows)
        hard = self._hard[rows]
        harm = np.where(hard, (after - before) / self._size_of_row[rows], 0.0)
        gain = np.zeros(len(rows))
        # Most candidates change no row beyond its bound; the logarithms are for those that do.
        differs = np.flatnonzero((before != after) & ~hard)
        rho = self._rho[rows[differs]]
        gain[differs] = log_row_admissibility(after[differs], rho) - log_row_admissibility(before[differs], rho)
        return gain, harm

    def _added_to_wide_rows(self, chains: NDArray[np.intp], features: NDArray[np.intp]) -> sparse.csr_array:
        """Return what features add to a^T z: their own coefficients and those of blocks they are first to touch."""
        added = self._wide_of_feature[features]
        if self._blocks_of_feature.shape[1]:
            blocks = self._blocks_of_feature[features]
            owner = np.repeat(chains, np.diff(blocks.indptr))
            blocks.data = (~self._selected[owner, self._n_features + blocks.indices]).astype(np.float64)
            added = sparse.csr_array(added + blocks @ self._wide_of_block)
        return added

    def _update_neighbors(self, chains: NDArray[np.intp], features: NDArray[np.intp]) -> None:
        """Correct what other features would change in the narrow rows of features about to be accepted."""
        entries, owner = _expand(self._narrow_columns.indptr, features)
        if len(entries) == 0:
            return
        row, coefficient, chain = (
            self._narrow_columns.indices[entries],
            self._narrow_columns.data[entries],
            chains[owner],
        )
        entries, owner = _expand(self._narrow.indptr, row)
        other, weight = self._narrow.indices[entries], self._narrow.data[entries]
        activity = _sums(owner, weight * self._selected[chain[owner], other], len(row))
        rows = self._narrow_rows[row][owner]
        before = self._change(activity[owner], weight, rows)
        after = self._change((activity + coefficient)[owner], weight, rows)
        for total, old, new in zip((self._gain, self._harm), before, after, strict=True):
            np.add.at(total, (chain[owner], other), new - old)


def _sums(owner: NDArray[Any], values: NDArray[np.float64], n_owners: int) -> NDArray[np.float64]:
    # bincount of nothing counts in integers
    return np.bincount(owner, weights=values, minlength=n_owners).astype(np.float64, copy=False)


def _expand(indptr: NDArray[Any], lines: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the entries of some lines of a compressed matrix, and which of `lines` each entry belongs to."""
    counts = indptr[lines + 1] - indptr[lines]
    owner = np.repeat(np.arange(len(lines)), counts)
    offset = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    return indptr[lines][owner] + offset, owner
