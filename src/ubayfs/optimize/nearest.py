"""Deciding again: the best set of a changed problem; among equally good ones the nearest to a set chosen before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from .._arguments import Mask
from ..exceptions import InfeasibleError
from ..utility import Utility, score_tolerance
from .base import Limit, Optimizer, Solution
from .exact import Exact

# What a shared member adds to the score among equally good sets, in units of the tolerance of scores: enough to be
# seen by an optimizer that works to it.
_SHARED = 4.0


def best_near(
    optimizer: Optimizer, utility: Utility, begin: Mask, random_state: Any, node_limit: int | None = None
) -> Solution | None:
    """Return the best set, which is probably near to `begin`; None if hard inequalities contradict each other.

    After `node_limit` nodes of branch and bound the exact optimizer returns the best set that it has found.
    """
    if isinstance(optimizer, Exact):
        # Why there is no set does not matter here.
        return replace(optimizer, begin_with=np.flatnonzero(begin)).search(utility, Limit(nodes=node_limit))
    try:
        return optimizer.maximize(utility, random_state)
    except InfeasibleError:
        return None


def nearest_best(best: Callable[[Utility], Solution | None], utility: Utility, chosen: Mask) -> Solution | None:
    """Return the best set; among equally good ones the one that shares most with the chosen set.

    `best` is what finds the best set. None if it does: hard inequalities contradict each other.
    """
    found = best(utility)
    if found is None:
        return None
    tolerance, shareable = score_tolerance(found.value), chosen & utility.selectable
    # Also when the optimizer has no proof: it may return less than what is known already.
    known = [found.chosen, chosen] if utility.selectable[chosen].all() else [found.chosen]
    if len(known) == 2 and utility(chosen)[0] >= found.value - tolerance:
        return _evaluated(utility, chosen, found)
    if (found.chosen & chosen).sum() == shareable.sum():
        return found
    nearer = replace(utility, theta=utility.theta + _SHARED * tolerance * chosen)
    again = best(nearer)
    candidates = np.array([*known, found.chosen if again is None else again.chosen])
    values = utility(candidates)
    rank = np.where(values >= values.max() - tolerance, nearer(candidates), -np.inf)
    return _evaluated(utility, np.asarray(candidates[int(rank.argmax())], dtype=bool), found)


def _evaluated(utility: Utility, chosen: Mask, found: Solution) -> Solution:
    value = float(utility(chosen)[0])
    return replace(found, chosen=chosen, value=value, bound=max(found.bound, value))
