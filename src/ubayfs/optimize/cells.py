"""Branch and bound over log kappa: solves a utility whose features are all selectable."""

from __future__ import annotations

import heapq
import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..utility import Utility
from .program import Programs

# Sets within this distance of the best value count as equally good: "gap 0". Relative for values above one.
GAP = 1e-9


class CellResult(NamedTuple):
    """Best set worth more than the cut-off (None if there is none), its value, and a bound on all sets."""

    chosen: NDArray[np.bool_] | None
    value: float
    bound: float
    n_programs: int


def gap_tolerance(value: float) -> float:
    """Return the difference to the optimum that counts as none."""
    return GAP * max(1.0, abs(value)) if np.isfinite(value) else GAP


def maximize_by_cells(
    utility: Utility, cutoff: float, largest_importance: float, deadline: float | None
) -> CellResult:
    """Maximize a utility by splitting the range of log kappa into cells.

    Parameters
    ----------
    utility : Utility
    cutoff : float
        Value of a set already known (-inf if none): only better sets are looked for.
    largest_importance : float
        An upper bound of the importance of any set.
    deadline : float or None
        Time by `time.monotonic` at which to stop; the bound returned then still holds.

    Returns
    -------
    result : CellResult
        ``bound`` holds for every set; when it is at most `cutoff` plus the gap tolerance, nothing better exists.
    """
    programs = Programs(utility)
    strength = utility.constraint_strength
    best, chosen = cutoff, None
    settled = -np.inf  # the highest bound among cells that are done with
    ceiling = largest_importance + strength
    # Sets with kappa below this are worth at most their importance and a quarter of the gap.
    negligible = np.log(GAP / (4.0 * strength))
    # -bound first: the most promising cell is solved first. Without a known set the hard rows alone come first:
    # they give one, or prove that there is none.
    cells: list[tuple[float, float, float]] = []
    if best <= largest_importance:
        first = np.inf if np.isneginf(best) else largest_importance + strength * np.exp(negligible)
        heapq.heappush(cells, (-first, -np.inf, negligible))
        lowest = negligible
    else:
        lowest = max(np.log((best - largest_importance) / strength), negligible)
    if lowest < 0.0:
        heapq.heappush(cells, (-ceiling, lowest, 0.0))
    elif best > largest_importance:
        settled = ceiling
    while cells:
        bound, low, high = heapq.heappop(cells)
        bound = -bound
        tolerance = gap_tolerance(best)
        if bound <= best + tolerance:
            settled = max(settled, bound)
            break  # every other cell is bounded by less
        remaining = None if deadline is None else deadline - time.monotonic()
        if remaining is not None and remaining <= 0:
            settled = max(settled, bound)
            break
        # Nothing below this can still win, now that a better set is known.
        if best > largest_importance and np.isfinite(low):
            low = max(low, np.log((best - largest_importance) / strength))
        if low >= high:
            settled = max(settled, min(bound, largest_importance + strength * np.exp(high)))
            continue
        answer = programs.solve(low, high, best + 0.5 * tolerance, remaining)
        if answer.infeasible:
            settled = max(settled, best + 0.5 * tolerance)
            if np.isneginf(low) and np.isneginf(best):
                return CellResult(None, -np.inf, -np.inf, programs.n_solved)
            continue
        bound = min(bound, answer.bound)
        if answer.chosen is None:  # the solver ran out of time
            heapq.heappush(cells, (-bound, low, high))
            continue
        log_kappa = float(utility.admissibility.log_admissibility(answer.chosen)[0])
        value = float(utility(answer.chosen)[0])
        if value > best:
            best, chosen = value, answer.chosen
        if bound <= best + gap_tolerance(best):
            settled = max(settled, bound)
            continue
        if low < log_kappa < high and not np.isneginf(low):
            # At its ends a chord is exact: in both parts this set now counts what it is worth.
            heapq.heappush(cells, (-bound, low, log_kappa))
            heapq.heappush(cells, (-bound, log_kappa, high))
            programs.refine(answer.chosen)
        else:
            # The bound exceeds the set's value for another reason: missing tangents or the solver's tolerance.
            if not programs.refine(answer.chosen):
                programs.forbidden.append(answer.chosen)
            heapq.heappush(cells, (-bound, low, high))
    if cells:
        settled = max(settled, max(-cell[0] for cell in cells))
    return CellResult(chosen, best, max(best, settled), programs.n_solved)
