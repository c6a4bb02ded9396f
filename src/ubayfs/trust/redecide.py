"""A decision made again on a changed problem: the nearest of the best sets, and what it costs in votes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._arguments import Floats, Mask, RandomState
from ..attribution import reweighted, without_unlikely
from ..constraints import ConstraintSystem
from ..decision_problem import DecisionProblem
from ..exceptions import OptimizationError
from ..optimize import Optimizer, Solution, as_optimizer
from ..optimize.alternatives import best_near, nearest_best
from ..priors import DEFAULT_WEIGHT
from ..selection import Selection, problem_of
from ..utility import Utility, score_tolerance


@dataclass(frozen=True, eq=False)
class Answer:
    """The best set of a changed problem."""

    chosen: Mask | None  # None: no set satisfies all hard constraints, or none was found
    loss: float  # score of the chosen set minus that of this one; negative if this one is better
    lowest_loss: float  # no set has a lower one; the same where that is proved
    proved: bool  # whether there is no better one, or no set at all


@dataclass(frozen=True, eq=False)
class Redecider:
    """Decides again, with the optimizer of a selection."""

    selection: Selection
    problem: DecisionProblem
    optimizer: Optimizer
    random_state: RandomState
    node_limit: int | None = None  # of branch and bound, in each decision

    @classmethod
    def of(
        cls, selection: Selection, purpose: str, random_state: RandomState, node_limit: int | None = None
    ) -> Redecider:
        """Prepare for what changes of a selection are made for."""
        problem = problem_of(selection, purpose)
        optimizer = as_optimizer("exact" if problem.optimizer is None else problem.optimizer)
        return cls(selection, problem, optimizer, random_state, node_limit)

    def decide(self, utility: Utility, begin: Mask, nearest: bool = True, bonus: float = 0.0) -> Answer:
        """Return the best set; among equally good ones the one that shares most with the chosen set, or any of them.

        `bonus` is what importances have been raised by in this set, and does not count as score.
        """

        def best(changed: Utility) -> Solution | None:
            return best_near(self.optimizer, changed, begin, self.random_state, self.node_limit)

        try:
            found = nearest_best(best, utility, self.selection.mask) if nearest else best(utility)
        except OptimizationError:  # no set was found in time; the chosen one may do
            mask = self.selection.mask
            found = Solution(mask, float(utility(mask)[0]) if utility.selectable[mask].all() else -np.inf, np.inf)
        if found is None or np.isneginf(found.value):
            return Answer(None, np.inf, np.inf if found is None else -np.inf, found is None)
        loss, tolerance = self.selection.value - (found.value - bonus), score_tolerance(found.value)
        loss, proved = 0.0 if abs(loss) <= tolerance else loss, bool(found.gap <= tolerance)
        return Answer(found.chosen, loss, loss if proved else loss - float(found.gap), proved)

    def without_feature(self, position: int) -> Answer:
        """Decide with one feature excluded."""
        utility, chosen = self.problem.utility, self.selection.mask.copy()
        selectable = utility.selectable.copy()
        chosen[position] = selectable[position] = False
        return self.decide(replace(utility, selectable=selectable), chosen)

    def with_feature(self, position: int, utility: Utility | None = None, nearest: bool = True) -> Answer:
        """Decide with one feature required, under all constraints or those of another utility.

        Its importance is raised by more than all others and the constraints can make up for. Unlike a further
        inequality, that leaves what is derived from millions of inequalities as it is.
        """
        utility = self.problem.utility if utility is None else utility
        theta, begin = utility.theta.copy(), self.selection.mask.copy()
        bonus = utility.constraint_strength + float(theta[utility.selectable].sum())
        theta[position] += bonus
        begin[position] = True
        answer = self.decide(replace(utility, theta=theta), begin, nearest, bonus)
        has_it = answer.chosen is not None and answer.chosen[position]
        return answer if has_it else Answer(None, np.inf, np.inf, answer.proved)

    def with_weights(
        self, weights: Any, change: Callable[[ConstraintSystem], ConstraintSystem]
    ) -> tuple[str, ...] | None:
        """Return what is chosen under other weights and changed constraints; None if no set satisfies the hard ones."""
        utility = reweighted(self.selection, weights, change, self.random_state)
        chosen = self.decide(utility, self.selection.mask).chosen
        return None if chosen is None else self.names(chosen)

    def without_prior(self) -> tuple[str, ...] | None:
        """Return what is chosen with the default weight for all features and nothing held unlikely."""
        if self.selection.posterior is None:
            return self.selection.features
        return self.with_weights(DEFAULT_WEIGHT, without_unlikely)

    def votes(self, score: float) -> float | None:
        """Return a difference of scores in votes; None where importances were given and there are no votes."""
        posterior = self.selection.posterior
        return None if posterior is None else score * posterior.total

    def changes(self, chosen: Mask) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the names of the features that a set has beyond the chosen one, and of those that it lacks."""
        mask = self.selection.mask
        return self.names(chosen & ~mask), self.names(mask & ~chosen)

    def names(self, mask: Mask) -> tuple[str, ...]:
        """Return the names of the members of a set."""
        return tuple(self.problem.feature_names[mask].tolist())


def full_rows(utility: Utility) -> dict[int, Floats]:
    """Return the inequalities in which every selectable feature counts, with the coefficients of these features."""
    A, selectable = utility.system.A, utility.selectable
    long = np.flatnonzero(np.diff(A.indptr) >= max(int(selectable.sum()), 2)).tolist()
    found = {row: A[[row]].toarray()[0, : utility.n_features][selectable] for row in long}
    return {row: coefficients for row, coefficients in found.items() if (coefficients != 0).all()}
