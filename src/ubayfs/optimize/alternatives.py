"""Further sets: as good as the best one, or nearly."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from .._arguments import Mask
from ..constraints.constraint import Inequalities
from ..exceptions import InfeasibleError, OptimizationError
from ..utility import Utility
from .base import Optimizer, Solution
from .exact import Exact


def without(utility: Utility, chosen: Mask) -> Utility:
    """Return the utility with one set excluded by a hard inequality (a no-good cut).

    Members count +1 and all others -1: only the set itself reaches its own size, so a bound of one less excludes it
    and no other.
    """
    row = sparse.csr_array(np.where(chosen, 1.0, -1.0)[np.newaxis, :])
    bound = np.array([chosen.sum() - 1.0])
    cut = Inequalities(row, bound, np.array([np.inf]), lambda _: "differs from a set already listed")
    return replace(utility, system=utility.system.with_inequalities(cut))


def find_alternatives(
    optimizer: Optimizer, utility: Utility, best: Solution, n_alternatives: int, random_state: Any = None
) -> tuple[Solution, ...]:
    """Return the next best sets, best first; fewer when no more sets satisfy the hard inequalities.

    The time limit of the optimizer, if it has one, holds for all alternatives to `best` together.
    """
    limit = getattr(optimizer, "time_limit", None)
    deadline = None if limit is None else time.monotonic() + limit
    found: list[Solution] = []
    last = best
    while len(found) < n_alternatives:
        if deadline is not None:
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                break
            optimizer = replace(optimizer, time_limit=remaining)  # type: ignore[type-var]
        utility = without(utility, last.chosen)
        following = _next_best(optimizer, utility, last, random_state)
        # -inf: without proof, but no further set that satisfies the hard inequalities was found
        if following is None or np.isneginf(following.value):
            break
        last = following
        found.append(last)
    return tuple(found)


def _next_best(optimizer: Optimizer, utility: Utility, last: Solution, random_state: Any) -> Solution | None:
    """Return the best set; None if there is none, or none was found in time."""
    try:
        if isinstance(optimizer, Exact):
            # The next best set is, as a rule, a feature or two away; why there is none does not matter here.
            return replace(optimizer, begin_with=np.flatnonzero(last.chosen)).search(utility)
        return optimizer.maximize(utility, random_state)
    except (InfeasibleError, OptimizationError):
        return None
