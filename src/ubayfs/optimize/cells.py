"""Branch and bound over log kappa, for a utility whose features are all selectable.

Why cells (intervals of log kappa) cover all sets, and why the program of a cell bounds them, is shown in
:mod:`ubayfs.optimize.exact`. A problem of a dozen features is solved faster by evaluating all sets.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np

from .._arguments import Mask
from ..constraints.utility import Utility, score_tolerance
from .base import Limit
from .core import Relaxation, has_core
from .program import Programs, negligible_log_kappa
from .solver import Answer

# Problems with more features are given to the solver. It takes 10 ms for a problem of ten; enumeration a tenth.
_MOST_FEATURES = 12
# Sets times inequalities: all of them are evaluated at once.
_MOST_ENTRIES = 2**18
# So many sets that the solver's tolerances alone let through show that inequalities are closer to their bounds than it
# can tell. Then, when it gives up, or where coefficients of a row differ by this factor, larger problems are enumerated
# too, so many sets at once.
_MOST_FORBIDDEN = 3
_EXTREME_RANGE = 1e12
_MOST_FEATURES_OTHERWISE, _MOST_ENTRIES_OTHERWISE, _SETS_AT_ONCE = 18, 2**23, 2**14


def lowest_log_kappa(utility: Utility, cutoff: float, largest_importance: float) -> float:
    """Return the log kappa that a set with a score above `cutoff` must exceed; -inf if importance may suffice."""
    surplus = cutoff - largest_importance  # theta^T delta + lambda kappa > cutoff needs lambda kappa > surplus
    return float(np.log(surplus / utility.constraint_strength)) if surplus > 0 else -np.inf


class Cell(NamedTuple):
    """An interval of log kappa and a bound on the sets in it; the most promising cell sorts first."""

    negative_bound: float
    low: float
    high: float


class CellResult(NamedTuple):
    """What a search found."""

    chosen: Mask | None  # the best set; None if no set has a score above the cutoff
    value: float  # the highest score: of `chosen`, or the cutoff
    bound: float  # no set has a higher score; -inf if none satisfies the hard inequalities
    n_programs: int


class CellSearch:
    """Maximizes the score by splitting the range of log kappa into cells.

    Only sets with a score above `cutoff` (-inf if none is known) are searched for; `largest_importance` bounds the
    importance of any set. The bound holds also where the limit ends the search.
    """

    def __init__(self, utility: Utility, cutoff: float, largest_importance: float, limit: Limit | None = None) -> None:
        self.utility = utility
        self.limit = limit or Limit()
        self.largest_importance = largest_importance
        self.programs, self.has_core = Programs(utility), has_core(utility)
        self.best = cutoff
        self.chosen: Mask | None = None
        self.gave_up = False  # whether the solver found nothing although there was time
        self.settled = -np.inf  # the highest bound among the finished cells
        self.cells: list[Cell] = []

    def _floor(self) -> float:
        return lowest_log_kappa(self.utility, self.best, self.largest_importance)

    def _first_cells(self) -> None:
        strength = self.utility.constraint_strength
        negligible = negligible_log_kappa(self.utility)
        if self._floor() < negligible:
            # Without a known set the hard inequalities alone come first: they give one, or prove that there is none.
            bound = self.largest_importance + strength * np.exp(negligible)
            heapq.heappush(self.cells, Cell(-np.inf if np.isneginf(self.best) else -bound, -np.inf, negligible))
        lowest = max(self._floor(), negligible)
        if lowest < 0.0:
            heapq.heappush(self.cells, Cell(-(self.largest_importance + strength), lowest, 0.0))

    def run(self) -> CellResult:
        """Return the best set and a bound on all sets.

        When the bound is at most the cutoff plus its tolerance, there is no better set. A bound of -inf means that no
        set satisfies the hard inequalities.
        """
        self._first_cells()
        while self.cells:
            cell = heapq.heappop(self.cells)
            if -cell.negative_bound <= self.best + score_tolerance(self.best) or self.limit.reached():
                self.settled = max(self.settled, -cell.negative_bound)  # every other cell has a lower bound
                break
            if (self.gave_up or len(self.programs.forbidden) >= _MOST_FORBIDDEN) and enumerable(self.utility):
                result = best_of_all(self.utility, self.best)
                chosen = self.chosen if result.chosen is None else result.chosen
                return result._replace(chosen=chosen, n_programs=self.programs.n_solved)
            # The score reached meanwhile may have raised the floor above the cell's lower end, or above the whole cell.
            low = cell.low if np.isneginf(cell.low) else max(cell.low, self._floor())
            if low < cell.high and not self._solve(cell._replace(low=low)):
                return CellResult(None, -np.inf, -np.inf, self.programs.n_solved)
        bound = min(max(self.best, self.settled), self.largest_importance + self.utility.constraint_strength)
        return CellResult(self.chosen, self.best, max(self.best, bound), self.programs.n_solved)

    def _solve(self, cell: Cell) -> bool:
        """Solve the program of a cell, finish or split it; return False if no set satisfies the hard inequalities."""
        answer = (self._solve_core if self.has_core else self.programs.solve)(cell.low, cell.high, self.limit)
        if answer.infeasible:
            return not (np.isneginf(cell.low) and np.isneginf(self.best))
        bound = min(-cell.negative_bound, answer.bound)
        if answer.chosen is None:  # the solver gave up: the bound is all that is known
            if not self.limit.reached() and enumerable(self.utility):  # not for lack of time or nodes
                self.gave_up = True
                heapq.heappush(self.cells, cell._replace(negative_bound=-bound))
            else:
                self.settled = max(self.settled, bound)
            return True
        self._take(answer.chosen)
        if bound <= self.best + score_tolerance(self.best):
            self.settled = max(self.settled, bound)
        else:
            self._split(cell._replace(negative_bound=-bound), answer.chosen)
        return True

    def _take(self, chosen: Mask) -> None:
        """Remember a set if it is better than the best one."""
        value = float(self.utility(chosen)[0])
        if value > self.best:
            self.best, self.chosen = value, chosen

    def _solve_core(self, low: float, high: float, limit: Limit) -> Answer:
        """Solve small parts of the program of a cell for better sets, then what these leave of it."""
        relaxation = Relaxation.from_program(self.programs.program(low, high), limit)
        if relaxation is None:
            return self.programs.solve(low, high, limit)
        for core, share in relaxation.parts(limit):
            undecided = relaxation.undecided(self.best)
            if not (undecided & ~core).any():
                break
            if (chosen := relaxation.solve(core & undecided, share).chosen) is not None:
                self._take(chosen)
        answer = relaxation.solve(relaxation.undecided(self.best), limit)
        return answer._replace(bound=min(answer.bound, relaxation.bound))

    def _split(self, cell: Cell, chosen: Mask) -> None:
        log_kappa = float(self.utility.admissibility.log_admissibility(chosen)[0])
        tangents_added = self.programs.refine(chosen)
        if np.isfinite(cell.low) and cell.low < log_kappa < cell.high:
            # A chord is exact at its ends: in both parts this set now counts with its true score.
            heapq.heappush(self.cells, cell._replace(high=log_kappa))
            heapq.heappush(self.cells, cell._replace(low=log_kappa))
            return
        if not tangents_added:
            # Only the solver's tolerances can explain the difference: exclude this set, whose score is known.
            self.programs.forbidden.append(chosen)
        heapq.heappush(self.cells, cell)


def few_sets(utility: Utility) -> bool:
    """Return whether evaluating all sets is the fastest way."""
    n = utility.n_features
    return n <= _MOST_FEATURES and utility.system.n_inequalities << n <= _MOST_ENTRIES


def enumerable(utility: Utility) -> bool:
    """Return whether evaluating all sets takes less than a second."""
    n = utility.n_features
    return n <= _MOST_FEATURES_OTHERWISE and utility.system.n_inequalities << n <= _MOST_ENTRIES_OTHERWISE


def has_extreme_range(utility: Utility) -> bool:
    """Return whether a row has coefficients of so different size that the solver's bounds cannot be relied on."""
    A = abs(utility.system.A)
    smallest = np.full(A.shape[0], np.inf)
    np.minimum.at(smallest, np.repeat(np.arange(A.shape[0]), np.diff(A.indptr)), A.data)
    return bool((A.max(axis=1).toarray().ravel() > _EXTREME_RANGE * smallest).any())


def best_of_all(utility: Utility, cutoff: float) -> CellResult:
    """Return the best of all sets, if its score is above the cutoff; parameters as in CellSearch."""
    n = utility.n_features
    best, chosen = -np.inf, None
    for first in range(0, 2**n, _SETS_AT_ONCE):
        numbers = np.arange(first, min(first + _SETS_AT_ONCE, 2**n))
        sets = ((numbers[:, None] >> np.arange(n)) & 1).astype(bool)  # bit j of its number: feature j; the empty first
        values = utility(sets)
        number = int(np.argmax(values))
        if values[number] > best:
            best, chosen = float(values[number]), sets[number]
    if np.isneginf(best) and np.isneginf(cutoff):
        return CellResult(None, -np.inf, -np.inf, 0)
    return CellResult(chosen if best > cutoff else None, max(best, cutoff), max(best, cutoff), 0)
