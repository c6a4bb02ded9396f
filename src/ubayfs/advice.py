"""What a careful reader of a selection must know."""

from __future__ import annotations

import numpy as np

from ._arguments import mask_of
from .exceptions import Advice
from .selection import FeatureSet, Problem
from .utility import Utility


def advice_on(best: FeatureSet, problem: Problem) -> tuple[Advice, ...]:
    """Return the advice on a decision: early end, unlimited size, members without votes."""
    found = []
    if not best.complete:
        found.append(Advice("time_limit", {"value": best.value, "bound": best.bound, "gap": best.gap}))
    n_selectable = int(np.count_nonzero(problem.utility.selectable))
    # Features that nothing speaks against are in the best set; a small one shows that they are few.
    n_free = _unlimited(problem.utility) if 2 * best.metrics.cardinality >= n_selectable else 0
    if 2 * n_free >= n_selectable:
        found.append(Advice("size_not_limited", {"n_free": n_free, "n_selectable": n_selectable}))
    unvoted = best.metrics.without_votes
    if unvoted:
        facts = {"n_unvoted": len(unvoted), "n_chosen": best.metrics.cardinality, "features": list(unvoted)}
        found.append(Advice("without_votes", facts))
    return tuple(found)


def _unlimited(utility: Utility) -> int:
    """Return how many features of some importance no inequality speaks against, however many others are selected."""
    system, n = utility.system, utility.n_features
    row = np.repeat(np.arange(system.n_inequalities), np.diff(system.A.indptr))
    # A must-link has positive entries too, but the set of all features satisfies it.
    limiting = utility.admissibility.violations(np.ones(n))[0] > 0
    columns = system.A.indices[(system.A.data > 0) & limiting[row]]
    limited = mask_of(columns, n + system.n_blocks)
    limited[system.blocks[limited[n:]].indices] = True
    limited = limited[:n]
    return int((utility.selectable & ~limited & (utility.theta > 0)).sum())
