"""Branch and bound over log kappa: solves a utility whose features are all selectable."""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..utility import Utility
from .budget import Limit
from .program import Programs

# Sets within this distance of the best value count as equally good: "gap 0". Relative for values above one.
GAP = 1e-9


def gap_tolerance(value: float) -> float:
    """Return the difference to the optimum that counts as none."""
    return GAP * max(1.0, abs(value)) if np.isfinite(value) else GAP


def lowest_log_kappa(utility: Utility, known: float, largest_importance: float) -> float:
    """Return the log kappa that a set worth more than `known` must exceed; -inf if importance alone may suffice."""
    surplus = known - largest_importance
    return float(np.log(surplus / utility.constraint_strength)) if surplus > 0 else -np.inf


class Cell(NamedTuple):
    """An interval of log kappa and a bound on the sets in it; the most promising cell sorts first."""

    negative_bound: float
    low: float
    high: float


class CellResult(NamedTuple):
    """Best set worth more than the one known (None if there is none), its value, and a bound on all sets."""

    chosen: NDArray[np.bool_] | None
    value: float
    bound: float
    n_programs: int


class CellSearch:
    """Maximizes a utility by splitting the range of log kappa into cells.

    Parameters
    ----------
    utility : Utility
        All its features are selectable.
    known : float
        Value of a set already known (-inf if none): only better sets are looked for.
    largest_importance : float
        An upper bound of the importance of any set.
    limit : Limit, optional
        When to stop; the bound returned then still holds.
    """

    def __init__(self, utility: Utility, known: float, largest_importance: float, limit: Limit | None = None) -> None:
        self.utility = utility
        self.limit = limit or Limit()
        self.largest_importance = largest_importance
        self.programs = Programs(utility)
        self.best = known
        self.chosen: NDArray[np.bool_] | None = None
        self.settled = -np.inf  # the highest bound among the cells that are done with
        self.cells: list[Cell] = []

    def _floor(self) -> float:
        return lowest_log_kappa(self.utility, self.best, self.largest_importance)

    def _first_cells(self) -> None:
        strength = self.utility.constraint_strength
        # Sets with kappa below this are worth at most their importance and a quarter of the gap.
        negligible = float(np.log(GAP / (4.0 * strength)))
        if self._floor() < negligible:
            # Without a known set the hard rows alone come first: they give one, or prove that there is none.
            bound = self.largest_importance + strength * np.exp(negligible)
            heapq.heappush(self.cells, Cell(-np.inf if np.isneginf(self.best) else -bound, -np.inf, negligible))
        lowest = max(self._floor(), negligible)
        if lowest < 0.0:
            heapq.heappush(self.cells, Cell(-(self.largest_importance + strength), lowest, 0.0))

    def run(self) -> CellResult:
        """Return the best set and a bound on all sets.

        When the bound is at most the known value plus the gap tolerance, nothing better exists. A bound of -inf says
        that no set at all keeps the hard rows.
        """
        self._first_cells()
        while self.cells:
            cell = heapq.heappop(self.cells)
            if -cell.negative_bound <= self.best + gap_tolerance(self.best) or self.limit.reached():
                self.settled = max(self.settled, -cell.negative_bound)  # every other cell is bounded by less
                break
            low = cell.low if np.isneginf(cell.low) else max(cell.low, self._floor())
            if low < cell.high and not self._solve(cell._replace(low=low)):
                return CellResult(None, -np.inf, -np.inf, self.programs.n_solved)
        bound = min(max(self.best, self.settled), self.largest_importance + self.utility.constraint_strength)
        return CellResult(self.chosen, self.best, max(self.best, bound), self.programs.n_solved)

    def _solve(self, cell: Cell) -> bool:
        """Solve the program of a cell and settle or split the cell; return False if no set keeps the hard rows."""
        answer = self.programs.solve(cell.low, cell.high, self.limit)
        if answer.infeasible:
            return not (np.isneginf(cell.low) and np.isneginf(self.best))
        bound = min(-cell.negative_bound, answer.bound)
        if answer.chosen is None:  # the solver gave up, for lack of time or nodes: the bound is all that is known
            self.settled = max(self.settled, bound)
            return True
        value = float(self.utility(answer.chosen)[0])
        if value > self.best:
            self.best, self.chosen = value, answer.chosen
        if bound <= self.best + gap_tolerance(self.best):
            self.settled = max(self.settled, bound)
        else:
            self._split(cell._replace(negative_bound=-bound), answer.chosen)
        return True

    def _split(self, cell: Cell, chosen: NDArray[np.bool_]) -> None:
        log_kappa = float(self.utility.admissibility.log_admissibility(chosen)[0])
        tangents_added = self.programs.refine(chosen)
        if np.isfinite(cell.low) and cell.low < log_kappa < cell.high:
            # At its ends a chord is exact: in both parts this set now counts what it is worth.
            heapq.heappush(self.cells, cell._replace(high=log_kappa))
            heapq.heappush(self.cells, cell._replace(low=log_kappa))
            return
        if not tangents_added:
            # Only the solver's tolerances can explain the difference: leave out this set, whose value is known.
            self.programs.forbidden.append(chosen)
        heapq.heappush(self.cells, cell)
