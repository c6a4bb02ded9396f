"""DecisionProblem: everything a decision rests on, the measures of any feature set under it, and advice on it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arguments import Array, FeatureIndex, Floats, Ints, Mask, freeze, mask_of
from ..constraints import Constraint
from ..constraints.sizes import size_limit
from ..constraints.system import ConstraintSystem
from ..constraints.utility import Admissibility, Utility, log_row_admissibility
from ..data.blocks import Blocks
from ..data.feature_data import FeatureData
from ..data.target import Target
from ..exceptions import Advice, OptimizationError
from ..metrics import redundancy_rate
from ..optimize.base import Limit, Optimizer, Solution
from ..optimize.exact import Exact
from ..optimize.infeasibility import find_conflict
from ..optimize.presolve import needed_features
from ..priors import DEFAULT_WEIGHT, Posterior
from ..priors.knowledge import PriorKnowledge

# Below this admissibility, soft constraints change next to nothing in a score: importance alone decides.
_NEGLIGIBLE = 0.01
# What the search for a contradiction may take: the same on every machine, and about a second.
_MOST_NODES = 200


@dataclass(frozen=True)
class Violation:
    """An inequality of a side constraint that a set violates.

    Attributes
    ----------
    label : str
        The inequality in words.
    amount : float
        By how much a^T z exceeds b.
    rho : float
        Relaxation of the inequality; inf when it is hard.
    admissibility : float
        Factor that the inequality contributes to kappa.
    position : int or None
        Position of its constraint in the list that was decided with; None for a member that cannot be selected at all.
    """

    label: str
    amount: float
    rho: float
    admissibility: float
    position: int | None = None


@dataclass(frozen=True)
class SetMetrics:
    """Measures of a feature set, unrounded.

    Attributes
    ----------
    cardinality : int
    utility : float
        importance + lambda * admissibility; -inf when a hard inequality is violated or a member cannot be selected.
    importance : float
        Sum of the posterior expected importances of the members.
    admissibility : float
        kappa, in [0, 1]; may underflow, unlike `log_admissibility`.
    log_admissibility : float
    violations : tuple of Violation
        Inequalities that do not hold; those that cost most first.
    redundancy : float
        Average absolute Pearson correlation between members; nan without data or with fewer than two members.
    without_votes : tuple of str
        Members that no elementary model chose.
    """

    cardinality: int
    utility: float
    importance: float
    admissibility: float
    log_admissibility: float
    violations: tuple[Violation, ...]
    redundancy: float
    without_votes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class DecisionProblem:
    """Everything a decision rests on: utility, names, votes, weights and, if given, the data."""

    utility: Utility
    feature_names: Array  # (n_features,)
    counts: NDArray[Any] | None = None  # (n_features,); None when importances were given without an ensemble
    weights: Floats | None = None  # (n_features,)
    X: Array | None = None  # (n_samples, n_features)
    unselectable: Mapping[str, Mask] = field(default_factory=dict)  # reason or argument -> features, (n_features,)
    min_votes: int = 0
    optimizer: Optimizer | None = None  # what made the decision

    @property
    def data(self) -> FeatureData | None:
        """The data, which were checked when they were read."""
        return None if self.X is None else FeatureData(self.X, Target("unsupervised"), self.feature_names)

    def mask(self, features: Any) -> Mask:
        """Return a set given by names, positions or a bool mask as a mask of shape (n_features,)."""
        return mask_of(FeatureIndex(self.feature_names).members(features, "features"), len(self.feature_names))

    def under(self, posterior: Posterior, theta: Floats, system: ConstraintSystem) -> Utility:
        """Return the utility under other weights and constraints; who may be selected depends on both."""
        masks = [mask for reason, mask in self.unselectable.items() if reason != "min_votes"]
        possible = ~np.logical_or.reduce(masks)
        utility = replace(self.utility, theta=theta, system=system, selectable=possible)
        return replace(utility, selectable=possible & ~lacks_votes(posterior, utility, self.min_votes))

    def measure(self, chosen: Mask) -> SetMetrics:
        """Return the metrics of a set."""
        utility = self.utility
        log_kappa = float(utility.admissibility.log_admissibility(chosen)[0])
        if (chosen & ~utility.selectable).any():
            log_kappa = -np.inf
        importance = float(utility.theta[chosen].sum())
        redundancy = np.nan
        if self.data is not None and chosen.sum() >= 2:
            redundancy = redundancy_rate(self.data, np.flatnonzero(chosen))
        unvoted = chosen & (self.counts == 0) if self.counts is not None else np.zeros_like(chosen)
        return SetMetrics(
            cardinality=int(chosen.sum()),
            utility=float(utility.combine(importance, log_kappa)),
            importance=importance,
            admissibility=float(np.exp(log_kappa)),
            log_admissibility=log_kappa,
            violations=self._violations(chosen),
            redundancy=float(redundancy),
            without_votes=tuple(self.feature_names[unvoted].tolist()),
        )

    def why_unselectable(self, position: int) -> str:
        """Return why a feature cannot be selected: "constant", or the argument that excludes it ("min_votes")."""
        return next(reason for reason, features in self.unselectable.items() if features[position])

    def _violations(self, chosen: Mask) -> tuple[Violation, ...]:
        system = self.utility.system
        amounts = self.utility.admissibility.violations(chosen)[0]
        rows = np.flatnonzero(amounts)
        cost = log_row_admissibility(amounts[rows], system.rho[rows])
        unselectable = tuple(
            Violation(f"{self.feature_names[i]} cannot be selected ({self.why_unselectable(i)})", 1.0, np.inf, 0.0)
            for i in np.flatnonzero(chosen & ~self.utility.selectable).tolist()
        )
        return unselectable + tuple(
            Violation(
                system.label(row), float(amounts[row]), float(system.rho[row]), float(np.exp(log)), system.position(row)
            )
            for row, log in sorted(zip(rows.tolist(), cost.tolist(), strict=True), key=lambda pair: pair[1])
        )


@dataclass(frozen=True, eq=False)
class FeatureSet:
    """One feature set and how good it is.

    Attributes
    ----------
    indices : ndarray of int
        Positions of the members, ascending.
    features : tuple of str
        Names of the members.
    value : float
        Score of the set.
    bound : float
        No set (for an alternative: none but those listed before it) has a higher score.
    complete : bool
        False when a time limit ended the search early.
    metrics : SetMetrics
    """

    indices: Ints
    features: tuple[str, ...]
    value: float
    bound: float
    complete: bool
    metrics: SetMetrics

    @property
    def gap(self) -> float:
        """Bound minus value: 0 proves that the set is the best."""
        return self.bound - self.value

    @classmethod
    def from_solution(cls, problem: DecisionProblem, solution: Solution) -> FeatureSet:
        """Make a FeatureSet of an optimizer's solution."""
        indices = np.flatnonzero(solution.chosen)
        names = tuple(problem.feature_names[indices].tolist())
        metrics = problem.measure(solution.chosen)
        return cls(freeze(indices), names, solution.value, solution.bound, solution.complete, metrics)


def lacks_votes(posterior: Posterior, utility: Utility, min_votes: int) -> Mask:
    """Return the features that cannot be selected for lack of votes, a mask of shape (n_features,).

    What the prior weight of a feature exceeds the default by counts as votes. Exempt are features that hard constraints
    require, and those that they need beside a feature with enough votes, as by `must_link` and `implies`.
    """
    knowledge = posterior.knowledge
    default = max(DEFAULT_WEIGHT, DEFAULT_WEIGHT if knowledge is None else knowledge.default)
    enough = posterior.counts + np.maximum(posterior.weights - default, 0.0) >= min_votes
    return ~enough if enough.all() else ~needed_features(utility, enough)


def advice_on(
    best: FeatureSet,
    problem: DecisionProblem,
    alternatives: Mapping[str, int] | None = None,
    deadline: float | None = None,
) -> tuple[Advice, ...]:
    """Return the advice on a decision: early end, ineffective constraints, unlimited size, members without votes.

    `alternatives` has the numbers of those found and asked for, if time ran out before all were found. Contradictions
    are not searched for beyond the deadline, by `time.monotonic`.
    """
    advice = []
    if not best.complete:
        advice.append(Advice("time_limit", {"value": best.value, "bound": best.bound, "gap": best.gap}))
    if alternatives is not None:
        advice.append(Advice("alternatives_incomplete", alternatives))
    utility = problem.utility
    if utility.constraint_strength < 1.0 and np.isfinite(utility.system.rho).any():  # the paper's caution
        advice.append(Advice("weak_constraints", {"constraint_strength": utility.constraint_strength}))
    advice += _collapse(best, utility, deadline)
    # Features that no constraint excludes are in the best set; a small one shows that they are few. One that votes keep
    # small, below a limit that nothing reaches, is no cause for concern.
    size, constant = best.metrics.cardinality, problem.unselectable.get("constant", np.zeros(utility.n_features))
    limit = size_limit(part.constraint for part in utility.system.parts)
    if limit is not None and limit >= utility.n_features and 1 < (constant == 0).sum() == size:
        advice.append(Advice("all_selected", {"n_features": size, "limit": limit}))
    if 2 * size >= np.count_nonzero(utility.selectable):
        advice += size_advice(utility.system, utility.selectable, utility.theta > 0)
    unvoted = best.metrics.without_votes
    if unvoted:
        counts = {"n_unvoted": len(unvoted), "n_chosen": best.metrics.cardinality, "features": list(unvoted)}
        advice.append(Advice("asked_for_without_votes" if problem.min_votes else "without_votes", counts))
    return tuple(advice)


def _collapse(best: FeatureSet, utility: Utility, deadline: float | None) -> tuple[Advice, ...]:
    """Return advice if violations make all soft inequalities together count for nothing, and what contradicts itself.

    Nothing does when some set satisfies all inequalities: then its importance is simply too low, as with a small
    constraint strength. A single soft inequality affects no other.
    """
    system, admissibility = utility.system, best.metrics.admissibility
    if admissibility >= _NEGLIGIBLE or np.isfinite(system.rho).sum() < 2:
        return ()
    all_hard = replace(system, rho=np.full(system.n_inequalities, np.inf))
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


def votes_stand_in_the_way(problem: DecisionProblem, deadline: float | None = None) -> bool:
    """Return whether hard constraints that no set satisfies could be satisfied if votes did not matter."""
    if not problem.unselectable.get("min_votes", np.zeros(1, dtype=bool)).any():
        return False
    utility = problem.utility
    hard = utility.system.take(np.flatnonzero(np.isinf(utility.system.rho)))
    freely = Utility(np.zeros(utility.n_features), hard, 1.0, ~problem.unselectable["constant"])
    try:
        return Exact().search(freely, Limit(deadline, _MOST_NODES)) is not None
    except OptimizationError:  # not known
        return False


def size_advice(system: ConstraintSystem, selectable: Mask, important: Mask | None = None) -> tuple[Advice, ...]:
    """Return advice if no constraint limits the size of a set, before a decision or after it.

    Then no inequality speaks against half of the selectable features, however many others are selected. Only those of
    some importance count, if that is known; both masks are of shape (n_features,).
    """
    if size_limit(part.constraint for part in system.parts) is not None:
        return ()
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


def knowledge_advice(
    knowledge: PriorKnowledge,
    blocks: Blocks,
    constraints: Iterable[Constraint],
    system: ConstraintSystem,
    feature_names: Any,
) -> tuple[Advice, ...]:
    """Return what must be known about names, weights and costs; `system` are the constraints, tied to the features."""
    return (
        *(note for note in blocks.notes if note not in knowledge.advice),  # both may be of one table
        *knowledge.advice,
        *cost_advice(constraints, knowledge.costs, feature_names),
        *very_likely_advice(system, knowledge.very_likely, feature_names),
    )


def very_likely_advice(system: ConstraintSystem, features: Collection[str], feature_names: Any) -> tuple[Advice, ...]:
    """Return advice if not all features that were stated to be very likely fit into one set.

    That is so by inequalities with a positive number for every feature, hard or soft: sizes, and costs of all features.
    The one that allows the fewest is named.
    """
    if not features:
        return ()
    A, limits, likely = system.A, [], np.array([name in features for name in feature_names])
    for row in np.flatnonzero(np.diff(A.indptr) == system.n_features).tolist():
        entries = slice(A.indptr[row], A.indptr[row + 1])
        costs, columns = A.data[entries], A.indices[entries]
        if (costs > 0).all() and columns.max() < system.n_features:
            # The cheapest first: so many of them fit into one set at most.
            total = np.cumsum(np.sort(costs[likely[columns]]))
            room = system.b[row] + Admissibility(system).tolerance[row]
            limits.append((int(np.searchsorted(total, room, side="right")), row))
    limit, row = min(limits, default=(len(features), 0))
    if len(features) <= limit:
        return ()
    facts = {"n_features": len(features), "limit": limit, "label": system.label(row), "features": list(features)}
    return (Advice("many_very_likely", facts),)


def cost_advice(
    constraints: Iterable[Constraint], costs: Mapping[str, float] | None, feature_names: Any
) -> tuple[Advice, ...]:
    """Return advice on features that a table gives no cost, if a budget takes its costs from there."""
    if not costs or not any(
        dict(constraint.arguments).get("costs") == tuple(costs.items()) for constraint in constraints
    ):
        return ()
    free = [str(name) for name in feature_names if name not in costs]
    return (Advice("without_cost", {"n": len(free), "n_features": len(feature_names), "names": free}),) if free else ()
