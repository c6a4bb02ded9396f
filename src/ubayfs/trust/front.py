"""Front: the best set for each size and each budget, what it costs, and what other samples would say of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._arguments import Floats, by_name, check_int, check_real, entries_of
from .._plain import ShownAsCard, decode, number, plain
from ..constraints import Constraint, ConstraintSystem, resolve
from ..constraints.constraint import inequalities
from ..constraints.sizes import SIZES, exact_size, exactly
from ..constraints.utility import Utility
from ..constraints.weighted_sums import cost_budget
from ..decision.problem import DecisionProblem
from ..decision.selection import Selection, problem_of
from ..decision.workflow import Decision
from ..exceptions import EnsembleError, InputError, OptimizationError
from ..optimize.base import Limit
from ..optimize.exact import Exact
from ..priors.base import Posterior
from .related import Related
from .reproducibility import Reproducibility, reproducibility_of
from .validation import Validation

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class FrontPoint:
    """The best set of one size, or within one budget, or both.

    Attributes
    ----------
    size, budget : int or None, float or None
        What was asked for: exactly so many features, at most this cost.
    features : tuple of str
        Empty where there is no such set.
    value : float or None
        Its score; None if no set satisfies all hard constraints (or, where not `proved`, if none was found).
    proved : bool
        Whether no other such set has a higher score.
    cost : float or None
        None where no costs are known.
    related : int or None
        How many of its features are related to the target, at least.
    selected_again : tuple of float
        How many of them another study would select, from and to; empty if not known.
    performance : tuple of float
        Main metric of the validation at this size, with its interval; empty if not known.
    """

    size: int | None
    budget: float | None
    features: tuple[str, ...]
    value: float | None
    proved: bool
    cost: float | None = None
    related: int | None = None
    selected_again: tuple[float, ...] = ()
    performance: tuple[float, ...] = ()

    @property
    def is_set(self) -> bool:
        """Whether there is such a set."""
        return self.value is not None


@dataclass(frozen=True)
class Front(ShownAsCard):
    """What :func:`front` found.

    Attributes
    ----------
    points : tuple of FrontPoint
        By budget, then by size.
    metric : str
        Main metric of the validation; empty without one.

    Examples
    --------
    >>> from ubayfs import Evidence, decide, front
    >>> evidence = Evidence.from_sets([[1, 1, 0], [1, 0, 0], [1, 0, 1]], ["mri", "blood", "age"])
    >>> found = front(decide(evidence, max_size=2), budgets=[5, 100], costs={"mri": 90, "blood": 5})
    >>> [(point.budget, point.features, point.cost) for point in found.points]
    [(5.0, ('blood', 'age'), 5.0), (100.0, ('mri', 'blood'), 95.0)]
    """

    points: tuple[FrontPoint, ...]
    metric: str = ""

    def __repr__(self) -> str:
        n = sum(point.is_set for point in self.points)
        return f"Front({n} sets for {len(self.points)} combinations of size and budget)"

    def table(self) -> DataFrame:
        """Return one row per point: its fields, and the number of features."""
        from pandas import DataFrame

        frame = DataFrame([vars(point) | {"n_features": len(point.features)} for point in self.points])
        return frame.dropna(axis=1, how="all")

    def to_dict(self) -> dict[str, Any]:
        """Return everything in plain types."""
        return {"points": plain(self.points), "metric": self.metric}

    @classmethod
    def from_dict(cls, content: Any) -> Front:
        """Make a front of what :meth:`to_dict` gave."""
        return decode(cls, content)


@by_name()
def front(
    posterior: Posterior | Selection,
    *,
    sizes: Iterable[int] | None = None,
    budgets: Iterable[float] | None = None,
    costs: Any = None,
    constraints: Any = (),
    blocks: Any = None,
    constraint_strength: float = 1.0,
    X: Any = None,
    min_votes: int = 1,
    related: Related | None = None,
    reproducibility: Reproducibility | None = None,
    validation: Validation | None = None,
    node_limit: int | None = None,
) -> Front:
    """Return the best set for each size and each budget, exactly, and what is known of it on other samples.

    Parameters
    ----------
    posterior : Selection or Posterior
        A selection from :func:`~ubayfs.decide` brings everything it was decided with. A posterior, from
        ``selection.posterior``, needs the following arguments.
    sizes : iterable of int, optional
        Exactly so many features; in place of the constraints on the size, if given.
    budgets : iterable of float, optional
        At most so much, in place of the budget among the constraints; with `sizes`, each combination.
    costs : mapping of features to float, Series or array-like of shape (n_features,), optional
        Default: those of a :func:`cost_budget` among the constraints, or of the table that the weights are in.
    constraints, blocks, constraint_strength, X, min_votes
        As in :func:`~ubayfs.decide`.
    related, reproducibility, validation : optional
        From :func:`~ubayfs.estimate_related`, :func:`~ubayfs.estimate_reproducibility` and :func:`~ubayfs.validate`
        with `sizes`, of this selection: each set is judged by the same tests, halves and folds.
    node_limit : int, optional
        Nodes of branch and bound in each decision; what is not proved by then is marked as such. Default: no limit.

    Returns
    -------
    front : Front

    See Also
    --------
    cost_budget : One budget.
    assess : What other samples say of one set.

    Examples
    --------
    >>> from ubayfs import Evidence, decide
    >>> evidence = Evidence.from_sets([[1, 1, 0], [1, 0, 0], [1, 0, 1]], ["mri", "blood", "age"])
    >>> [point.features for point in front(decide(evidence, max_size=1), sizes=[1, 2]).points]
    [('mri',), ('mri', 'blood')]
    """
    decision = Decision.from_arguments(locals())
    asked = _asked(sizes, budgets)
    if isinstance(posterior, Selection):
        if (again := next((name for name in ("constraints", "blocks") if getattr(decision, name)), None)) is not None:
            rule = "is part of a selection; pass selection.posterior to decide with another."
            raise InputError.of(again, rule)
        problem, source = problem_of(posterior, "a front"), posterior.posterior
        decision = posterior.decision or decision
    elif isinstance(posterior, Posterior):
        problem, source = decision._problem(posterior, X), posterior
    else:
        rule = f"must be a Posterior, as in selection.posterior, or a Selection; got {type(posterior).__name__}."
        raise InputError.of("posterior", rule, posterior)
    priced_out = _costs(costs, [part.constraint for part in problem.utility.system.parts], source)
    if priced_out is None and asked[1] != (None,):
        rule = "must be given for budgets, as the cost of each feature, or be a column of the table of weights."
        raise InputError.of("costs", rule)
    if node_limit is not None:
        check_int("node_limit", node_limit, low=1)
    panels = _Panels(problem, source, decision, priced_out, asked, node_limit)
    trust = (related, reproducibility, validation)
    points = [panels.with_trust(point, utility, *trust) for point, utility in panels.points()]
    return Front(tuple(points), "" if validation is None else validation.main_metric)


Asked = tuple[tuple[int | None, ...], tuple[float | None, ...]]


def _asked(sizes: Any, budgets: Any) -> Asked:
    """Return sizes and budgets, each once and ascending; (None,) where a kind was not asked for."""
    if sizes is None and budgets is None:
        raise InputError.of("sizes", "or budgets must be given; the best set is found for each.")
    listed = {}
    for name, values in (("sizes", sizes), ("budgets", budgets)):
        if (entries := entries_of(name, (None,) if values is None else values)) is None or not len(entries):
            raise InputError.of(name, f"must be a list of numbers; got {values!r}.", values)
        listed[name] = entries
    wanted = {None if size is None else check_int("sizes", size, low=1) for size in listed["sizes"]}
    limits = {
        None if budget is None else check_real("budgets", budget, low=0.0, high_open=True)
        for budget in listed["budgets"]
    }
    return tuple(sorted(wanted, key=lambda n: n or 0)), tuple(sorted(limits, key=lambda b: b or 0.0))


def _costs(costs: Any, constraints: Iterable[Constraint | None], posterior: Posterior | None) -> Any:
    """Return the costs as a constraint has them: those given, of a budget, or of the table of weights."""
    if costs is not None:
        return costs
    for constraint in constraints:
        if constraint is not None and constraint.kind == "cost_budget":
            stated = dict(constraint.arguments)["costs"]
            return dict(stated) if isinstance(stated[0], tuple) else stated
    knowledge = None if posterior is None else posterior.knowledge
    return None if knowledge is None or not knowledge.costs else dict(knowledge.costs)


@dataclass(frozen=True, eq=False)
class _Panels:
    """Decides for sizes and budgets in place of those of a decision."""

    problem: DecisionProblem
    posterior: Posterior | None
    decision: Decision
    costs: Any
    asked: Asked
    node_limit: int | None

    def points(self) -> Iterator[tuple[FrontPoint, Utility]]:
        """Decide for each combination; with the utility that is maximized."""
        names = self.problem.feature_names
        row = None if self.costs is None else resolve(cost_budget(self.costs, 1.0), names).A
        prices = None if row is None else row.toarray()[0]
        for budget in self.asked[1]:
            for size in self.asked[0]:
                system = self._kept(size, budget)
                if budget is not None and row is not None:
                    system = system.with_inequalities(inequalities(row, budget, np.inf, f"cost budget {budget:g}"))
                utility = self._utility(system)
                yield self._point(utility, size, budget, prices), utility

    def _replaced(self, size: int | None, budget: float | None) -> frozenset[str]:
        """Return the kinds of constraints that a size and a budget take the place of."""
        return (SIZES if size is not None else frozenset()) | ({"cost_budget"} if budget is not None else set())

    def _kept(self, size: int | None, budget: float | None) -> ConstraintSystem:
        """Return the constraints with a size, and without what size and budget take the place of."""
        system, replaced = self.problem.utility.system, self._replaced(size, budget)
        dropped = [system.rows_of(part) for part in system.parts if part.kind in replaced]
        if dropped:
            system = system.take(np.setdiff1d(np.arange(system.n_inequalities), np.concatenate(dropped)))
        return system if size is None else system.with_inequalities(exactly(self.problem.utility.n_features, size))

    def _point(self, utility: Utility, size: int | None, budget: float | None, prices: Floats | None) -> FrontPoint:
        try:
            limit = None if self.node_limit is None else Limit(nodes=self.node_limit)
            solution = Exact().search(utility, limit)
        except OptimizationError:  # no set was found in time; there may be one
            return FrontPoint(size, budget, (), None, False)
        if solution is None or np.isneginf(solution.value):
            return FrontPoint(size, budget, (), None, solution is None)
        names = tuple(self.problem.feature_names[solution.chosen].tolist())
        cost = None if prices is None else float(prices[solution.chosen].sum())
        return FrontPoint(size, budget, names, float(solution.value), solution.gap == 0, cost)

    def _utility(self, system: ConstraintSystem) -> Utility:
        """Return the utility under other constraints; who may be selected depends on them."""
        utility = self.problem.utility
        if self.posterior is None:
            return replace(utility, system=system)
        return self.problem.under(self.posterior, utility.theta, system)

    def with_trust(
        self,
        point: FrontPoint,
        utility: Utility,
        related: Related | None,
        reproducibility: Reproducibility | None,
        validation: Validation | None,
    ) -> FrontPoint:
        """Return a point with what is known of its set on other samples."""
        if not point.is_set:
            return point
        if related is not None:
            point = replace(point, related=related.of(point.features).at_least)
        if reproducibility is not None and reproducibility.halves is not None and self.posterior is not None:
            problem = replace(self.problem, utility=utility)
            selection = self._decision(point)._select(problem, self.posterior)
            with suppress(EnsembleError):  # most halves have no such set
                again = reproducibility_of(selection, reproducibility.halves, problem.data)
                point = replace(point, selected_again=again.selected_again)
        curve = {} if validation is None or point.budget is not None else validation.curve
        if point.size is not None and (mean := curve.get(point.size)) is not None:
            ends = tuple(number(end) for end in (mean.mean, mean.lower, mean.upper))
            point = replace(point, performance=tuple(end for end in ends if end is not None))
        return point

    def _decision(self, point: FrontPoint) -> Decision:
        """Return the decision whose best set a point is."""
        replaced = self._replaced(point.size, point.budget)
        constraints = [each for each in self.decision.constraints if each.kind not in replaced]
        constraints += [] if point.size is None else [exact_size(point.size)]
        constraints += [] if point.budget is None else [cost_budget(self.costs, point.budget)]
        return self.decision.replace(constraints=constraints, n_alternatives=0)
