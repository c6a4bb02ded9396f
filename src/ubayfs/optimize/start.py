r"""Good sets to begin with: the paper's Algorithm 1, and a variant that copes with hard rows.

**Algorithm 1.** A chain starts from the empty set and is offered every feature once, in the order of a random
permutation in which important features tend to come early. A feature is accepted with probability
:math:`\kappa(\delta^\dagger) / \kappa(\delta)`, the admissibility with it over that without it.

The implementation gives exactly what the literal loop gives for the same permutation and the same random numbers.
Between two acceptances a chain does not change, so that the next candidates can be judged together: all
chains look ahead by a window of candidates and go on behind the first one that they accept. A chain that is
full passes thousands of features in a few steps. What a feature would change in rows with few entries (pairs, by
the million) is kept up to date in the neighborhood of accepted features only; wide rows and rows on blocks are
evaluated for the candidates.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..utility import RELATIVE_TOLERANCE, Utility, log_row_admissibility
from .linked import LinkedUtility

# Rows with at most this many entries are kept up to date at each acceptance.
_NARROW = 32

# Candidates judged at once, over all chains: bounds memory.
_CANDIDATES = 2**18

# Violations of hard rows are measured relative to the size of the row, where a violation is never smaller than
# RELATIVE_TOLERANCE; sums that should be zero are off by rounding, which is smaller by orders of magnitude.
_NO_CHANGE = 0.1 * RELATIVE_TOLERANCE


def initial_sets(utility: Utility, n_sets: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Sample sets by the paper's Algorithm 1, to the letter.

    Parameters
    ----------
    utility : Utility
        Its `theta` weighs the permutations (features of weight 0 come last); its rows decide on acceptance.
    n_sets : int
    rng : Generator

    Returns
    -------
    sets : ndarray of bool of shape (n_sets, n_features)
        Only selectable features. All sets are empty when the empty set violates a hard row: its admissibility is 0,
        and the algorithm then accepts nothing. :func:`feasible_start` copes with that.
    """
    order, log_uniform = draw_offers(utility, n_sets, rng)
    chains = _Chains(utility, n_sets)
    if not chains.hard_violated().any():
        chains.run(order, log_uniform)
    return chains.chosen


def feasible_start(utility: Utility, n_sets: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Sample sets like Algorithm 1 that keep hard rows where possible.

    Chains begin with the required features and offer features that hard rows tie together as a whole. While hard
    rows are violated (at least one of these, at least five in all, ...), features that mend them are accepted first.
    Without hard rows this is Algorithm 1.

    Returns
    -------
    sets : ndarray of bool of shape (n_sets, n_features)
        They may still violate hard rows; whether these can hold at all is not decided here.
    """
    linked = LinkedUtility.of(utility)
    order, log_uniform = draw_offers(linked.utility, n_sets, rng)
    chains = _Chains(linked.utility, n_sets)
    everyone = np.arange(n_sets)
    for unit in linked.required[linked.utility.selectable[linked.required]]:
        chains.accept(everyone, np.full(n_sets, unit))
    if chains.hard_violated().any():
        chains.run(order, np.full_like(log_uniform, np.inf))
    chains.run(order, log_uniform)
    return linked.expand(chains.chosen)


def draw_offers(
    utility: Utility, n_sets: int, rng: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Draw what chance decides in Algorithm 1: the order of the features, and a uniform number for each.

    Returns
    -------
    order : ndarray of int of shape (n_sets, n_selectable)
        Each row a permutation, sampled without replacement with probabilities proportional to theta.
    log_uniform : ndarray of float of shape (n_sets, n_selectable)
        Logarithm of the number that decides on the feature offered at that step.
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


class _Chains:
    """The sets of all chains, and what each further feature would change in them."""

    def __init__(self, utility: Utility, n_chains: int) -> None:
        system, n = utility.system, utility.n_features
        self._rows = utility.admissibility
        self._rho = system.rho
        self._hard = np.isinf(system.rho)
        self._size_of_row = np.where(self._rows.tolerance > 0, self._rows.tolerance / RELATIVE_TOLERANCE, 1.0)
        self._n_features = n
        self._selected = np.zeros((n_chains, n + system.n_blocks), dtype=bool)
        on_blocks = np.zeros(system.n_rows, dtype=bool)
        on_blocks[np.repeat(np.arange(system.n_rows), np.diff(system.A.indptr))[system.A.indices >= n]] = True
        narrow = (np.diff(system.A.indptr) <= _NARROW) & ~on_blocks
        self._narrow_rows, self._wide_rows = np.flatnonzero(narrow), np.flatnonzero(~narrow)
        self._narrow = sparse.csr_array(system.A[self._narrow_rows][:, :n])
        self._narrow_columns = sparse.csc_array(self._narrow)
        wide = sparse.csc_array(system.A[self._wide_rows])
        self._wide_of_feature = sparse.csr_array(wide[:, :n].T)
        self._wide_of_block = sparse.csr_array(wide[:, n:].T)
        self._blocks_of_feature = sparse.csr_array(system.blocks.T, dtype=np.float64)
        self._wide_activity = np.zeros((n_chains, len(self._wide_rows)))
        # From the empty set, a feature changes each of its narrow rows from 0 to its coefficient.
        entries = np.repeat(self._narrow_rows, np.diff(self._narrow.indptr))
        change = self._change(np.zeros(self._narrow.nnz), self._narrow.data, entries)
        self._gain, self._harm = (np.tile(_sums(self._narrow.indices, part, n), (n_chains, 1)) for part in change)

    @property
    def chosen(self) -> NDArray[np.bool_]:
        """The features of each chain, of shape (n_chains, n_features)."""
        return self._selected[:, : self._n_features]

    def hard_violated(self) -> NDArray[np.bool_]:
        """Tell for each chain whether it violates a hard row."""
        return np.isneginf(self._rows.log_admissibility(self.chosen))

    def run(self, order: NDArray[np.intp], log_uniform: NDArray[np.float64]) -> None:
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
            accepted = (harm < -_NO_CHANGE) | ((harm <= _NO_CHANGE) & (luck <= gain))
            accepted = accepted.reshape(candidates.shape) & (ahead < n_steps)
            accepted &= ~self._selected[running[:, None], candidates]
            hit, first = accepted.any(axis=1), accepted.argmax(axis=1)
            self.accept(running[hit], candidates[hit, first[hit]])
            step[running] += np.where(hit, first + 1, width)
            # Look further ahead when most chains refuse what they are offered, less far when they do not.
            width = max(1, width // 2) if 2 * hit.sum() > len(running) else 2 * width
            running = running[step[running] < n_steps]
            width = max(1, min(width, _CANDIDATES // max(1, len(running)), n_steps))

    def accept(self, chains: NDArray[np.intp], features: NDArray[np.intp]) -> None:
        """Add one feature to each of some different chains."""
        self._update_neighbors(chains, features)
        added = self._added_to_wide_rows(chains, features)
        owner = np.repeat(chains, np.diff(added.indptr))
        self._wide_activity[owner, added.indices] += added.data
        self._selected[chains, features] = True
        touched = self._blocks_of_feature[features]
        owner = np.repeat(chains, np.diff(touched.indptr))
        self._selected[owner, self._n_features + touched.indices] = True

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
