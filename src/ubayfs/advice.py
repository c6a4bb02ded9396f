"""What a careful reader of a selection must know."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np

from ._arguments import Mask, mask_of
from .constraints import Constraint
from .constraints.system import ConstraintSystem
from .decision_problem import DecisionProblem
from .exceptions import Advice, OptimizationError
from .optimize.base import Limit
from .optimize.exact import Exact
from .optimize.infeasibility import find_conflict
from .selection import FeatureSet
from .utility import Admissibility, Utility

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
    found += _strength_advice(problem.utility)
    found += _collapse(best, problem.utility, deadline)
    # Features that no constraint excludes are in the best set; a small one shows that they are few.
    utility = problem.utility
    if 2 * best.metrics.cardinality >= np.count_nonzero(utility.selectable):
        found += size_advice(utility.system, utility.selectable, utility.theta > 0)
    unvoted = best.metrics.without_votes
    if unvoted:
        counts = {"n_unvoted": len(unvoted), "n_chosen": best.metrics.cardinality, "features": list(unvoted)}
        found.append(Advice("without_votes", counts))
    return tuple(found)


def _strength_advice(utility: Utility) -> tuple[Advice, ...]:
    """Return the paper's caution about a constraint strength below 1, if there is a soft constraint."""
    strength = utility.constraint_strength
    weak = strength < 1.0 and bool(np.isfinite(utility.system.rho).any())
    return (Advice("weak_constraints", {"constraint_strength": strength}),) * weak


def _collapse(best: FeatureSet, utility: Utility, deadline: float | None) -> tuple[Advice, ...]:
    """Return advice if violations make all soft inequalities together count for nothing, and what contradicts itself.

    Nothing does when some set satisfies all inequalities: then its importance is simply too low, as with a small
    constraint strength. A single soft inequality affects no other.
    """
    system, admissibility = utility.system, best.metrics.admissibility
    if admissibility >= _NEGLIGIBLE or np.isfinite(system.rho).sum() < 2:
        return ()
    all_hard = ConstraintSystem(
        system.A, system.b, np.full(system.n_inequalities, np.inf), system.blocks, system.parts, system.numbers
    )
    strict = Utility(np.zeros(utility.n_features), all_hard, 1.0, utility.selectable)
    try:
        possible = Exact().search(strict, Limit(deadline, _MOST_NODES)) is not None
    except OptimizationError:  # not known
        return ()
    if possible:
        n_violated, strength = len(best.metrics.violations), utility.constraint_strength
        facts = {"admissibility": admissibility, "n_violated": n_violated, "constraint_strength": strength}
        return (Advice("soft_constraints_outweighed", facts),) * (n_violated > 1)
    conflict = find_conflict(strict, Limit(deadline, _MOST_NODES))
    if not conflict.reduced:
        return ()
    labels = [system.label(int(row)) for row in conflict.rows]
    return (Advice("soft_constraints_ineffective", {"admissibility": admissibility, "labels": labels}),)


def size_advice(system: ConstraintSystem, selectable: Mask, important: Mask | None = None) -> tuple[Advice, ...]:
    """Return advice if no constraint limits the size of a set, before a decision or after it.

    Then no inequality speaks against half of the selectable features, however many others are selected. Only those of
    some importance count, if that is known; both masks are of shape (n_features,).
    """
    n = system.n_features
    row = np.repeat(np.arange(system.n_inequalities), np.diff(system.A.indptr))
    # A must-link has positive entries too, but the set of all features satisfies it.
    limiting = Admissibility(system).violations(np.ones(n))[0] > 0
    limited = mask_of(system.A.indices[(system.A.data > 0) & limiting[row]], n + system.n_blocks)
    limited[system.blocks[limited[n:]].indices] = True
    n_free = int((selectable & ~limited[:n] & (True if important is None else important)).sum())
    n_selectable = int(np.count_nonzero(selectable))
    return (Advice("size_not_limited", {"n_free": n_free, "n_selectable": n_selectable}),) * (
        2 * n_free >= n_selectable
    )


def very_likely_advice(system: ConstraintSystem, features: Collection[str], feature_names: Any) -> tuple[Advice, ...]:
    """Return advice if not all features that were stated to be very likely fit into one set.

    That is so by inequalities with a positive number for every feature, hard or soft: sizes, and costs of all features.
    The one that allows the fewest is named.
    """
    if not features:
        return ()
    A, found, likely = system.A, [], np.array([name in features for name in feature_names])
    for row in np.flatnonzero(np.diff(A.indptr) == system.n_features).tolist():
        entries = slice(A.indptr[row], A.indptr[row + 1])
        costs, columns = A.data[entries], A.indices[entries]
        if (costs > 0).all() and columns.max() < system.n_features:
            total = np.cumsum(np.sort(costs[likely[columns]]))
            room = system.b[row] + Admissibility(system).tolerance[row]
            found.append((int(np.searchsorted(total, room, side="right")), row))
    limit, row = min(found, default=(len(features), 0))
    if len(features) <= limit:
        return ()
    facts = {"n_features": len(features), "limit": limit, "label": system.label(row), "features": list(features)}
    return (Advice("many_very_likely", facts),)


def cost_advice(
    constraints: Iterable[Constraint], costs: Mapping[str, float] | None, feature_names: Any
) -> tuple[Advice, ...]:
    """Return advice on features that a table gives no cost, if a budget takes its costs from there."""
    if not costs or not any(dict(given.arguments).get("costs") == tuple(costs.items()) for given in constraints):
        return ()
    free = [str(name) for name in feature_names if name not in costs]
    return (Advice("without_cost", {"n": len(free), "n_features": len(feature_names), "names": free}),) if free else ()
