"""Further sets: as good as the best one, or nearly."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._arguments import Mask
from ..constraints.constraint import Inequalities
from ..exceptions import OptimizationError
from ..utility import Utility
from .base import Optimizer, Solution
from .nearest import best_near


def without(utility: Utility, chosen: Mask) -> Utility:
    """Return the utility with one set excluded by a hard inequality (a no-good cut).

    Members count +1 and all others -1: only the set itself reaches its own size, so a bound of one less excludes it
    and no other.
    """
    row = sparse.csr_array(np.where(chosen, 1.0, -1.0)[np.newaxis, :])
    bound = np.array([chosen.sum() - 1.0])
    cut = Inequalities(row, bound, np.array([np.inf]), lambda _: "differs from a set already listed")
    return replace(utility, system=utility.system.with_inequalities(cut))


class Alternatives(NamedTuple):
    """Further sets."""

    found: tuple[Solution, ...]  # best first
    complete: bool  # False when a time limit ended the search before as many were found as asked for


def find_alternatives(
    optimizer: Optimizer,
    utility: Utility,
    best: Solution,
    n_alternatives: int,
    random_state: Any = None,
    deadline: float | None = None,
) -> Alternatives:
    """Return the next best sets; fewer when no more sets satisfy the hard inequalities or time runs out.

    Parameters
    ----------
    deadline : float, optional
        By `time.monotonic`. Default: the time limit of the optimizer, if it has one, from now on. It holds for all
        alternatives to `best` together.
    """
    limit = getattr(optimizer, "time_limit", None)
    if deadline is None and limit is not None:
        deadline = time.monotonic() + limit
    found: list[Solution] = []
    last = best
    while len(found) < n_alternatives:
        if deadline is not None:
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                return Alternatives(tuple(found), False)
            optimizer = replace(optimizer, time_limit=remaining)  # type: ignore[type-var]
        utility = without(utility, last.chosen)
        try:  # the next best set is, as a rule, a feature or two away
            following = best_near(optimizer, utility, last.chosen, random_state)
        except OptimizationError:  # no set was found in time; there may be one
            return Alternatives(tuple(found), False)
        # -inf: without proof, but no further set that satisfies the hard inequalities was found
        if following is None or np.isneginf(following.value):
            break
        last = following
        found.append(last)
    return Alternatives(tuple(found), True)
