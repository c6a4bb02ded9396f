"""What a careful reader of a selection must know."""

from __future__ import annotations

import numpy as np

from ._arguments import mask_of
from .constraints.system import ConstraintSystem
from .exceptions import Advice, OptimizationError
from .optimize.base import Limit
from .optimize.exact import Exact
from .optimize.infeasibility import find_conflict
from .selection import DecisionProblem, FeatureSet
from .utility import Utility

# Below this admissibility, soft constraints change next to nothing in a score: importance alone decides.
_NEGLIGIBLE = 0.01
# What the search for a contradiction may take: the same on every machine, and about a second.
_MOST_NODES = 200


def advice_on(
    best: FeatureSet,
    problem: DecisionProblem,
    alternatives: tuple[int, int] | None = None,
    deadline: float | None = None,
) -> tuple[Advice, ...]:
    """Return the advice on a decision: early end, ineffective constraints, unlimited size, members without votes.

    `alternatives` are the numbers of those found and asked for, if time ran out before all were found. Contradictions
    are not searched for beyond the deadline, by `time.monotonic`.
    """
    found = []
    if not best.complete:
        found.append(Advice("time_limit", {"value": best.value, "bound": best.bound, "gap": best.gap}))
    if alternatives is not None:
        found.append(
            Advice("alternatives_incomplete", dict(zip(("n_found", "n_alternatives"), alternatives, strict=True)))
        )
    labels = _contradicting(best, problem.utility, deadline)
    if labels:
        facts = {"admissibility": best.metrics.admissibility, "labels": list(labels)}
        found.append(Advice("soft_constraints_ineffective", facts))
    n_selectable = int(np.count_nonzero(problem.utility.selectable))
    # Features that nothing speaks against are in the best set; a small one shows that they are few.
    n_free = _unlimited(problem.utility) if 2 * best.metrics.cardinality >= n_selectable else 0
    if 2 * n_free >= n_selectable:
        found.append(Advice("size_not_limited", {"n_free": n_free, "n_selectable": n_selectable}))
    unvoted = best.metrics.without_votes
    if unvoted:
        counts = {"n_unvoted": len(unvoted), "n_chosen": best.metrics.cardinality, "features": list(unvoted)}
        found.append(Advice("without_votes", counts))
    return tuple(found)


def _contradicting(best: FeatureSet, utility: Utility, deadline: float | None) -> tuple[str, ...]:
    """Return the inequalities that contradict each other, if they make the soft ones count for nothing.

    None do when some set satisfies all inequalities: then its importance is simply too low. A single soft inequality
    affects no other.
    """
    system = utility.system
    if best.metrics.admissibility >= _NEGLIGIBLE or np.isfinite(system.rho).sum() < 2:
        return ()
    all_hard = ConstraintSystem(
        system.A, system.b, np.full(system.n_inequalities, np.inf), system.blocks, system.parts, system.numbers
    )
    strict = Utility(np.zeros(utility.n_features), all_hard, 1.0, utility.selectable)
    try:
        if Exact().search(strict, Limit(deadline, _MOST_NODES)) is not None:
            return ()
    except OptimizationError:  # not known
        return ()
    conflict = find_conflict(strict, Limit(deadline, _MOST_NODES))
    return tuple(system.label(int(row)) for row in conflict.rows) if conflict.reduced else ()


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
