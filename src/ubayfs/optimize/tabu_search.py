"""A better set where the proof takes long: tabu search on the true score.

Each step flips one feature: the best one that was not flipped a moment ago, even when the score falls. So the search
leaves sets that no single move improves. Violations of hard inequalities cost more the longer the search stays among
sets that violate some, and less the longer it stays among sets that do not: it crosses the border again and again.
When it finds nothing for a while it continues from the best set with some members exchanged at random. Its length is a
number of steps: without a deadline the result is the same on every machine.

References
----------
Glover, "Tabu search, part I", ORSA Journal on Computing 1 (1989); Gendreau, Hertz and Laporte, "A tabu search heuristic
for the vehicle routing problem", Management Science 40 (1994), for the price of violations.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from scipy import sparse

from .._arguments import Floats, Mask
from ..constraints.utility import Utility, score_tolerance
from .cells import lowest_log_kappa
from .local_search import LOW_LOG_KAPPA, SMALLEST_MEASURE, LocalSearch
from .presolve import entries_of

# A feature just flipped stays as it is for so many steps, drawn for each flip.
_TENURE = (3, 10)
# Steps without a better set after which the search starts anew: at least so many, and so many for each feature.
_PATIENCE = (100, 2)
# Factors of log kappa, in turns: where soft inequalities count less the search crosses sets that violate several of
# them, as it must to exchange features that need each other.
_RELAXATIONS = (1.0, 0.3, 0.1)
# A start anew exchanges this share of the members, and at least so many.
_EXCHANGED = (0.15, 3)
# Steps on one side of the border of the hard inequalities after which the price of violations changes, and by how much.
_SAME_SIDE, _PRICE_FACTOR = 10, 2.0


class TabuSearch:
    """Improves a set by flipping one feature at a time, all of them selectable.

    `largest_importance` bounds the importance of sets better than the start. Sets whose kappa is too low to be better
    are avoided like those that violate hard inequalities: otherwise the search ends up among sets so large that only
    their importance counts.
    """

    def __init__(self, utility: Utility, start: Mask, largest_importance: float | None = None) -> None:
        self.utility = utility
        self.largest_importance = float(utility.theta.sum()) if largest_importance is None else largest_importance
        self.flips = Flips(LocalSearch(utility), start)
        self.rng = np.random.default_rng(0)
        # No score is higher; a violation of one unit costs as much to begin with.
        self.worth = float(utility.theta.sum()) + utility.constraint_strength
        self.best, self.best_value = start.copy(), float(utility(start)[0])
        self.step, self.n_starts = 0, 0
        self._begin()

    def _begin(self) -> None:
        self.free_from = np.zeros(self.utility.n_features, dtype=np.int64)  # the step from which each may be flipped
        self.relaxation = _RELAXATIONS[self.n_starts % len(_RELAXATIONS)]
        # While soft inequalities have no effect on the best set, the search follows log kappa, as `LocalSearch` does.
        self.linear = self.utility.admissibility.log_admissibility(self.best)[0] < LOW_LOG_KAPPA
        self.n_starts += 1
        self.idle = 0  # steps since the best set was found or the search started anew
        self.price, self.same_side = self.worth, 0  # steps among sets that violate hard inequalities; < 0: that do not

    def run(self, n_steps: int, deadline: float | None = None) -> Mask:
        """Return the best set after so many steps or at the deadline, by `time.monotonic`."""
        patience = max(_PATIENCE[0], _PATIENCE[1] * self.utility.n_features)
        for _ in range(n_steps):
            if deadline is not None and time.monotonic() >= deadline:
                break
            if self.idle >= patience:
                self.flips.reset(self._exchanged())
                self._begin()
            self._flip_best()
        return self.best

    def _values(self) -> tuple[Floats, Floats, Floats]:
        """Return score, score with relaxed penalties and measure of violations with each one feature flipped."""
        flips, strength = self.flips, self.utility.constraint_strength
        importance = flips.importance + flips.sign * flips.theta
        log_kappa = flips.log_kappa + flips.log_gain
        relaxed = score = importance + strength * np.exp(log_kappa)
        if self.linear:
            relaxed = importance + strength * (1.0 + log_kappa)
        elif self.relaxation < 1.0:
            relaxed = importance + strength * np.exp(self.relaxation * log_kappa)
        violation = flips.violation + flips.violation_gain
        # Sums of changes may miss zero by rounding.
        violation = np.where(violation < 0.5 * SMALLEST_MEASURE, 0.0, violation)
        # Sets below this log kappa cannot be better however important their features are: a violation too.
        floor = lowest_log_kappa(self.utility, self.best_value, self.largest_importance)
        return score, relaxed, violation + np.maximum(floor - log_kappa, 0.0)

    def _flip_best(self) -> None:
        score, relaxed, violation = self._values()
        merit = relaxed - self.price * violation
        better = (score > self.best_value + score_tolerance(self.best_value)) & (violation == 0.0)
        merit[(self.free_from > self.step) & ~better] = -np.inf
        if better.any():  # such a flip is allowed even if the feature is tabu, and goes before all others
            merit[~better] = -np.inf
        feature = int(np.argmax(merit))
        self.step += 1
        self.idle += 1
        if np.isneginf(merit[feature]):
            return
        self.flips.flip(feature)
        self.free_from[feature] = self.step + self.rng.integers(_TENURE[0], _TENURE[1] + 1)
        if better[feature]:
            self._record()
        self._change_price(violation[feature] > 0.0)

    def _record(self) -> None:
        """Keep a set that is the best one so far, by its true score: sums of changes may miss it by rounding."""
        value = float(self.utility(self.flips.chosen)[0])
        if value > self.best_value:
            self.best, self.best_value, self.idle = self.flips.chosen.copy(), value, 0

    def _change_price(self, violated: bool) -> None:
        self.same_side = max(self.same_side, 0) + 1 if violated else min(self.same_side, 0) - 1
        if abs(self.same_side) >= _SAME_SIDE:
            factor = _PRICE_FACTOR if violated else 1.0 / _PRICE_FACTOR
            self.price = float(np.clip(self.price * factor, 1e-6 * self.worth, 10.0 * self.worth))
            self.same_side = 0

    def _exchanged(self) -> Mask:
        """Return the best set with some members exchanged for others."""
        n_out = max(_EXCHANGED[1], int(_EXCHANGED[0] * self.best.sum()))
        chosen = self.best.copy()
        for group in (np.flatnonzero(self.best), np.flatnonzero(~self.best)):
            flipped = self.rng.permutation(group)[:n_out]
            chosen[flipped] = ~chosen[flipped]
        return chosen


# -- what flipping each feature would change ---------------------------------------------------------------------------


class Entries:
    """The pairs of a row and a feature that may change it: by a coefficient on the feature, or through blocks.

    Sorted by row and then by feature. A feature in several blocks of a row may change their indicators at once: the
    coefficients of these are the `parts` of the pair.
    """

    def __init__(self, search: LocalSearch) -> None:
        n = search.n
        direct = sparse.coo_array(search.columns[:, :n])
        # (row, block) times (block, member): each pair once for each block through which it may change.
        on_blocks = sparse.csr_array(search.columns[:, n:])
        members = sparse.csr_array(search.blocks)
        through, owner = entries_of(members.indptr, on_blocks.indices)
        part_row = np.repeat(np.arange(on_blocks.shape[0]), np.diff(on_blocks.indptr))[owner]
        part_pair = part_row * n + members.indices[through]
        pairs, place = np.unique(
            np.concatenate([direct.coords[0] * n + direct.coords[1], part_pair]), return_inverse=True
        )
        self.row, self.column = np.divmod(pairs, max(n, 1))
        self.direct = np.bincount(place[: direct.nnz], weights=direct.data, minlength=len(pairs)).astype(np.float64)
        order = np.argsort(place[direct.nnz :], kind="stable")
        self.part_of = place[direct.nnz :][order]
        self.part_block, self.part_value = on_blocks.indices[owner][order], on_blocks.data[owner][order]
        n_rows = len(search.b)
        self.starts = np.searchsorted(self.row, np.arange(n_rows + 1))
        self.part_starts = np.searchsorted(self.row[self.part_of], np.arange(n_rows + 1))
        self.by_column = np.argsort(self.column, kind="stable")
        self.column_starts = np.searchsorted(self.column[self.by_column], np.arange(n + 1))

    def entries_of_feature(self, feature: int) -> Any:
        """Return the entries of a feature."""
        return self.by_column[self.column_starts[feature] : self.column_starts[feature + 1]]


class Flips:
    """A set of features, and for each feature the change of log kappa and of hard violations if it is flipped.

    It stays up to date while features are flipped one by one. A *row* is one inequality a^T z <= b. Flipping a feature
    changes only the rows that contain it or one of its blocks, so that only the features of these rows have to be
    looked at again: a flip costs the entries of a few rows, not of all.

    Of the set these are known: `importance` theta^T delta, `log_kappa` by the soft rows alone, and the measure
    `violation` of violated hard rows; `log_gain` and `violation_gain` are the changes of the latter two with one
    feature flipped, of shape (n_features,).
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
        search, entries = self.search, self.entries.entries_of_feature(feature)
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
        self.coefficient[entries] = self.entries.direct[entries]
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
