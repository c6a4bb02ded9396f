"""What flipping each feature of a set would change, kept up to date while features are flipped one by one.

A *row* is one inequality a^T z <= b. Flipping a feature changes only the rows that contain it or one of its blocks, so
that only the features of these rows have to be looked at again: a flip costs the entries of a few rows, not of all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._arguments import Mask
from .local_search import LocalSearch
from .presolve import entries_of


class Entries:
    """The pairs of a row and a feature that may change it: by its own coefficient, or through blocks.

    Sorted by row and then by feature. A feature in several blocks of a row may change their indicators at once: the
    coefficients of these are the `parts` of the pair.
    """

    def __init__(self, search: LocalSearch) -> None:
        n = search.n
        own = sparse.coo_array(search.columns[:, :n])
        # (row, block) times (block, member): each pair once for each block through which it may change.
        on_blocks = sparse.csr_array(search.columns[:, n:])
        members = sparse.csr_array(search.blocks)
        through, owner = entries_of(members.indptr, on_blocks.indices)
        part_row = np.repeat(np.arange(on_blocks.shape[0]), np.diff(on_blocks.indptr))[owner]
        part_pair = part_row * n + members.indices[through]
        pairs, place = np.unique(np.concatenate([own.coords[0] * n + own.coords[1], part_pair]), return_inverse=True)
        self.row, self.column = np.divmod(pairs, max(n, 1))
        self.own = np.bincount(place[: own.nnz], weights=own.data, minlength=len(pairs)).astype(np.float64)
        order = np.argsort(place[own.nnz :], kind="stable")
        self.part_of = place[own.nnz :][order]
        self.part_block, self.part_value = on_blocks.indices[owner][order], on_blocks.data[owner][order]
        n_rows = len(search.b)
        self.starts = np.searchsorted(self.row, np.arange(n_rows + 1))
        self.part_starts = np.searchsorted(self.row[self.part_of], np.arange(n_rows + 1))
        self.by_column = np.argsort(self.column, kind="stable")
        self.column_starts = np.searchsorted(self.column[self.by_column], np.arange(n + 1))

    def of_feature(self, feature: int) -> Any:
        """Return the entries of a feature."""
        return self.by_column[self.column_starts[feature] : self.column_starts[feature + 1]]


class Flips:
    """A set of features, and for each feature the change of log kappa and of hard violations if it is flipped.

    Attributes
    ----------
    chosen : ndarray of bool of shape (n_features,)
    importance, log_kappa, violation : float
        Of the set: theta^T delta, log kappa by the soft rows alone, and the measure of violated hard rows.
    log_gain, violation_gain : ndarray of float of shape (n_features,)
        Their changes with one feature flipped.
    """

    def __init__(self, search: LocalSearch, chosen: Mask) -> None:
        self.search = search
        self.theta = search.utility.theta
        self.entries = Entries(search)
        self.reset(chosen)

    def reset(self, chosen: Mask) -> None:
        """Begin with another set; everything is computed anew, without the rounding errors of updates."""
        search, n_entries = self.search, len(self.entries.row)
        self.chosen = chosen.copy()
        self.sign = np.where(chosen, -1.0, 1.0)
        members = np.flatnonzero(chosen)
        self.n_chosen = search.members_of_blocks(members)
        self.activity = search.activity(members, self.n_chosen)
        self.log_terms, self.hard_terms = search.terms(self.activity, slice(None))
        self.importance = float(self.theta[chosen].sum())
        self.log_kappa, self.violation = float(self.log_terms.sum()), float(self.hard_terms.sum())
        self.log_gain, self.violation_gain = np.zeros(search.n), np.zeros(search.n)
        self.coefficient = np.zeros(n_entries)  # of each entry: its own, and those of blocks that would change
        self.log_change, self.hard_change = np.zeros(n_entries), np.zeros(n_entries)
        self._update(np.arange(len(search.b)))

    def flip(self, feature: int) -> None:
        """Add a feature, or drop it if it is a member."""
        search, entries = self.search, self.entries.of_feature(feature)
        rows, sign = self.entries.row[entries], self.sign[feature]
        self.activity[rows] += sign * self.coefficient[entries]
        self.importance += float(sign * self.theta[feature])
        if search.n_blocks:
            self.n_chosen += int(sign) * search.members_of_blocks(np.array([feature]))
        self.chosen[feature] = sign > 0
        self.sign[feature] = -sign
        log_terms, hard_terms = search.terms(self.activity[rows], rows)
        self.log_kappa += float((log_terms - self.log_terms[rows]).sum())
        self.violation += float((hard_terms - self.hard_terms[rows]).sum())
        self.log_terms[rows], self.hard_terms[rows] = log_terms, hard_terms
        self._update(rows)

    def _update(self, rows: Any) -> None:
        """Compute the changes of all entries of some rows anew."""
        entries, owner = entries_of(self.entries.starts, rows)
        column, owner = self.entries.column[entries], rows[owner]
        self.coefficient[entries] = self.entries.own[entries]
        if len(self.entries.part_of):
            parts, _ = entries_of(self.entries.part_starts, rows)
            block, pair = self.entries.part_block[parts], self.entries.part_of[parts]
            # The first member that is added touches a block, the last one that is dropped leaves it.
            turned = self.n_chosen[block] == (self.sign[self.entries.column[pair]] < 0)
            np.add.at(self.coefficient, pair, turned * self.entries.part_value[parts])
        activity = self.activity[owner] + self.sign[column] * self.coefficient[entries]
        log_terms, hard_terms = self.search.terms(activity, owner)
        n = self.search.n
        log_change = log_terms - self.log_terms[owner]
        self.log_gain += np.bincount(column, weights=log_change - self.log_change[entries], minlength=n)
        self.log_change[entries] = log_change
        if self.search.any_hard:
            hard_change = hard_terms - self.hard_terms[owner]
            self.violation_gain += np.bincount(column, weights=hard_change - self.hard_change[entries], minlength=n)
            self.hard_change[entries] = hard_change
