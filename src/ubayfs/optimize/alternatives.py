"""Further sets, as good as the best one or nearly; and the best set of a changed problem that is nearest to another."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._arguments import Mask
from ..constraints.constraint import inequalities
from ..constraints.utility import Utility, score_tolerance
from ..exceptions import InfeasibleError, OptimizationError
from .base import Limit, Optimizer, Solution
from .exact import Exact

# What a shared member adds to the score among equally good sets, in units of the tolerance of scores: enough to be
# seen by an optimizer that works to it.
_SHARED = 4.0

# Pairs in a program of a search whose nodes are limited: with so many it takes a second or two.
_MOST_PAIRS = 2000


def best_near(
    optimizer: Optimizer, utility: Utility, begin: Mask, random_state: Any, node_limit: int | None = None
) -> Solution | None:
    """Return the best set, which is probably near to `begin`; None if hard inequalities contradict each other.

    The exact optimizer returns the best set that it has found after `node_limit` nodes of branch and bound, or where a
    program has too many pairs for such a limit.
    """
    if isinstance(optimizer, Exact):
        # Why there is no set does not matter here.
        limit = Limit(nodes=node_limit, pairs=None if node_limit is None else _MOST_PAIRS)
        return replace(optimizer, begin_with=np.flatnonzero(begin)).search(utility, limit)
    try:
        return optimizer.maximize(utility, random_state)
    except InfeasibleError:
        return None


def nearest_best(best: Callable[[Utility], Solution | None], utility: Utility, chosen: Mask) -> Solution | None:
    """Return the best set; among equally good ones the one that shares most with the chosen set.

    `best` is what finds the best set. None if it does: hard inequalities contradict each other.
    """
    solution = best(utility)
    if solution is None:
        return None
    tolerance, shareable = score_tolerance(solution.value), chosen & utility.selectable
    # Also when the optimizer has no proof: it may return less than what is known already.
    sets = [solution.chosen, chosen] if utility.selectable[chosen].all() else [solution.chosen]
    if len(sets) == 2 and utility(chosen)[0] >= solution.value - tolerance:
        return _evaluated(utility, chosen, solution)
    if (solution.chosen & chosen).sum() == shareable.sum() or not solution.complete:  # without proof none is the best
        return solution
    nearer = replace(utility, theta=utility.theta + _SHARED * tolerance * chosen)
    again = best(nearer)
    candidates = np.array([*sets, solution.chosen if again is None else again.chosen])
    values = utility(candidates)
    rank = np.where(values >= values.max() - tolerance, nearer(candidates), -np.inf)
    return _evaluated(utility, np.asarray(candidates[int(rank.argmax())], dtype=bool), solution)


def _evaluated(utility: Utility, chosen: Mask, solution: Solution) -> Solution:
    value = float(utility(chosen)[0])
    return replace(solution, chosen=chosen, value=value, bound=max(solution.bound, value))


def without(utility: Utility, chosen: Mask, differ_by: int = 1) -> Utility:
    """Return the utility with a set excluded by a hard inequality, and all sets that share too many features with it.

    Members count +1, so that a bound of `differ_by` less than the size limits what is shared. For 1, all others count
    -1 (a no-good cut): only the set itself reaches its own size, and no other set is excluded.
    """
    size, alone = float(chosen.sum()), differ_by == 1 or not chosen.any()
    row = sparse.csr_array(np.where(chosen, 1.0, -1.0 if alone else 0.0)[np.newaxis, :])
    row.eliminate_zeros()
    bound = size - 1.0 if alone else max(size - differ_by, 0.0)
    cut = inequalities(row, bound, np.inf, "differs from a set already listed")
    return replace(utility, system=utility.system.with_inequalities(cut))


class Alternatives(NamedTuple):
    """Further sets."""

    solutions: tuple[Solution, ...]  # best first
    complete: bool  # False when a time limit ended the search before as many were found as asked for


def find_alternatives(
    optimizer: Optimizer,
    utility: Utility,
    best: Solution,
    n_alternatives: int,
    random_state: Any = None,
    deadline: float | None = None,
    differ_by: int = 1,
) -> Alternatives:
    """Return the next best sets, each without so many features of every one before; fewer when no more are possible.

    The deadline, by `time.monotonic`, holds for all of them together, in place of the time limit of the optimizer.
    """
    solutions: list[Solution] = []
    last = best
    while len(solutions) < n_alternatives:
        if deadline is not None:
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                return Alternatives(tuple(solutions), False)
            optimizer = replace(optimizer, time_limit=remaining)  # type: ignore[type-var]
        utility = without(utility, last.chosen, differ_by)
        try:  # the next best set is, as a rule, a feature or two away
            following = best_near(optimizer, utility, last.chosen, random_state)
        except OptimizationError:  # no set was found in time; there may be one
            return Alternatives(tuple(solutions), False)
        # -inf: without proof, but no further set that satisfies the hard inequalities was found
        if following is None or np.isneginf(following.value):
            break
        last = following
        solutions.append(last)
    return Alternatives(tuple(solutions), True)
