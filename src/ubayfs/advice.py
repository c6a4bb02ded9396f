"""What a user should be told about a selection without asking."""

from __future__ import annotations

import warnings

import numpy as np

from .exceptions import OptimizationWarning
from .selection import Problem, Selection
from .utility import Utility


def advise(selection: Selection, problem: Problem) -> None:
    """Warn of what a careful reader of the result must know: early end, unlimited size, members without votes."""
    best = selection.best
    if not best.complete:
        _say(
            f"time_limit was reached: the set returned is worth {best.value:.6g}, and no set is worth more than "
            f"{best.bound:.6g} (gap {best.gap:.3g}). Give more time to close the gap."
        )
    n_selectable = int(np.count_nonzero(problem.utility.selectable))
    # Features that nothing stands against are in the best set; a small one tells that they are few.
    free = _unlimited(problem.utility) if 2 * best.metrics.cardinality >= n_selectable else 0
    if 2 * free >= n_selectable:
        _say(
            f"No constraint limits the size of the set: {free} of {n_selectable} features are selected simply because "
            "nothing stands against them. Add max_size(n), or lower max_features of UBayFSSelector."
        )
    unvoted = best.metrics.without_votes
    if unvoted:
        shown = ", ".join(unvoted[:5]) + (f" and {len(unvoted) - 5} more" if len(unvoted) > 5 else "")
        _say(
            f"{len(unvoted)} of {best.metrics.cardinality} chosen features have no vote of any model ({shown}): "
            "weights or constraints alone bring them in. Use min_votes=1 to keep such features out."
        )


def _say(message: str) -> None:
    # _say <- advise <- decide <- the caller
    warnings.warn(message, OptimizationWarning, stacklevel=4)


def _unlimited(utility: Utility) -> int:
    """Return how many features of some importance no row speaks against, however many others are selected."""
    system, n = utility.system, utility.n_features
    row = np.repeat(np.arange(system.n_rows), np.diff(system.A.indptr))
    # A must-link has positive entries too, but everything together keeps it.
    limiting = utility.admissibility.violations(np.ones(n))[0] > 0
    columns = system.A.indices[(system.A.data > 0) & limiting[row]]
    limited = np.zeros(n + system.n_blocks, dtype=bool)
    limited[columns] = True
    limited[system.blocks[limited[n:]].indices] = True
    limited = limited[:n]
    return int((utility.selectable & ~limited & (utility.theta > 0)).sum())
