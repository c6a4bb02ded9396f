"""The one place that composes the stages: evidence -> posterior -> constraints -> best set -> selection.

The arguments of a decision stand here, once: a field of :class:`Decision`, with its check, and a parameter of
:func:`decide`, with its description. Estimator, study, command line and comparison take them from there.

>>> from ubayfs import Evidence, max_size
>>> from ubayfs.decision.workflow import Decision
>>> decision = Decision(constraints=[max_size(1)])
>>> decision.make(Evidence.from_sets([[1, 1, 0], [1, 0, 0]], ["radius", "area", "texture"])).features
('radius',)
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any

import numpy as np

from .._arguments import (
    RandomState,
    by_name,
    check_choice,
    check_feature_names,
    check_int,
    check_random_state,
    check_real,
)
from ..constraints import Constraint, ConstraintSystem, as_constraints, resolve, sizes
from ..constraints.links import unlikely_constraints
from ..constraints.utility import Utility, check_importance, log_admissibility, priced
from ..constraints.weighted_sums import with_costs, without_costs_of
from ..data.blocks import Blocks
from ..data.feature_data import FeatureData
from ..ensemble.collect import collect_evidence
from ..ensemble.evidence import Evidence
from ..exceptions import Advice, InfeasibleError, InputError
from ..knowledge.scale import VERY_LIKELY, votes
from ..optimize import OPTIMIZERS, Optimizer, Solution, as_optimizer
from ..optimize.alternatives import find_alternatives
from ..optimize.base import best_solution
from ..optimize.exact import contradiction
from ..priors import DEFAULT_WEIGHT, Posterior, PriorKnowledge, as_prior, as_weights, resolve_knowledge
from ..priors.knowledge import AS_STATED, LEARNED, TRUST_IN_LISTS
from ..priors.list_trust import learn_trust
from .problem import DecisionProblem, FeatureSet, advice_on, knowledge_advice, lacks_votes, votes_stand_in_the_way
from .selection import Selection

__all__ = [
    "Decision",
    "collect_evidence",
    "decide",
    "log_admissibility",
    "maximize",
    "selection_probabilities",  # noqa: F822 - by __getattr__
]


def _checked(check: Callable[[Any], Any], value: Any) -> Any:
    """Return a value as it is, if it passes the check."""
    check(value)
    return value


def _limit(value: Any) -> float | None:
    return None if value is None else as_optimizer("exact", value).time_limit  # type: ignore[attr-defined]


def _as(check: Callable[[Any], Any] | None, part: str, in_posterior: bool = False) -> dict[str, Any]:
    """Describe an argument: its check, the part of the knowledge it belongs to, and whether the posterior needs it."""
    return {"check": check, "part": part, "in_posterior": in_posterior}


_TRUST_IN_LISTS = partial(check_choice, "trust_in_lists", choices=TRUST_IN_LISTS)
_STRENGTH = partial(check_real, "constraint_strength", low=0.0, low_open=True, high_open=True)


@dataclass(frozen=True, kw_only=True)
class Decision:
    """The arguments of a decision, each checked by itself; see :func:`decide` for what they mean."""

    weights: Any = field(default=DEFAULT_WEIGHT, metadata=_as(as_weights, "prior", True))
    prior: Any = field(default="dirichlet", metadata=_as(partial(_checked, as_prior), "prior", True))
    trust_in_lists: str = field(default=AS_STATED, metadata=_as(_TRUST_IN_LISTS, "prior", True))
    constraints: tuple[Constraint, ...] = field(default=(), metadata=_as(as_constraints, "constraints"))
    blocks: Any = field(default=None, metadata=_as(Blocks.of, "constraints", True))
    constraint_strength: float = field(default=1.0, metadata=_as(_STRENGTH, "constraints"))
    optimizer: Any = field(default="exact", metadata=_as(partial(_checked, as_optimizer), "constraints"))
    min_votes: int = field(default=1, metadata=_as(partial(check_int, "min_votes", low=0), "constraints"))
    time_limit: float | None = field(default=None, metadata=_as(_limit, "constraints"))
    n_alternatives: int = field(default=0, metadata=_as(partial(check_int, "n_alternatives", low=0), "search"))
    differ_by: int = field(default=1, metadata=_as(partial(check_int, "differ_by", low=1), "search"))
    random_state: RandomState = field(default=None, metadata=_as(check_random_state, "search", True))

    def __post_init__(self) -> None:
        for name in self.names():
            object.__setattr__(self, name, self.check_argument(name, getattr(self, name)))
        as_optimizer(self.optimizer, self.time_limit)  # do the two go together?

    @classmethod
    def from_arguments(cls, arguments: Mapping[str, Any]) -> Decision:
        """Make a decision of those entries that are arguments of one, such as the parameters of a function."""
        return cls(**{name: arguments[name] for name in cls.names() if name in arguments})

    def replace(self, **changes: Any) -> Decision:
        """Return a copy with other values of some arguments; only these are checked."""
        other = copy(self)
        for name, value in changes.items():
            object.__setattr__(other, name, self.check_argument(name, value))
        if not {"optimizer", "time_limit"}.isdisjoint(changes):
            as_optimizer(other.optimizer, other.time_limit)
        return other

    @classmethod
    def check_argument(cls, name: str, value: Any) -> Any:
        """Return one argument in the form in which it is used, or raise if it breaks a rule whatever the data are."""
        check = cls.__dataclass_fields__[name].metadata["check"]
        return value if check is None else check(value)

    @classmethod
    def names(cls, part: str | None = None, in_posterior: bool | None = None) -> tuple[str, ...]:
        """Return the names of all arguments, or of those that belong to one part or to the posterior."""
        return tuple(
            field.name
            for field in fields(cls)
            if part in (None, field.metadata["part"]) and in_posterior in (None, field.metadata["in_posterior"])
        )

    def check(self, feature_names: Any) -> None:
        """Raise what :meth:`make` would raise for these arguments, before there is any evidence.

        A misspelled feature is better reported before a long ensemble than after it. What depends on data or votes
        (correlations, hard constraints that no features with votes satisfy) shows in :meth:`make` only.
        """
        knowledge = resolve_knowledge(self.weights, feature_names, self.blocks, n_models=1)
        named = [constraint for constraint in self._constraints(knowledge) if not constraint.needs_data]
        system = resolve(named, feature_names, self.blocks)
        self.check_differ_by(system.n_features)
        if (error := contradiction(system, np.ones(system.n_features, dtype=bool))) is not None:
            raise error

    def check_differ_by(self, n_features: int | None = None) -> None:
        """Raise if alternatives must differ by more features than a set can have."""
        most = sizes.size_limit(constraint for constraint in self.constraints if constraint.rho == math.inf)
        most = n_features if most is None else most
        if self.n_alternatives and most is not None and self.differ_by > max(most, 1):
            rule = f"must be at most {most}, the most features of a set; got {self.differ_by}."
            raise InputError.of("differ_by", rule, self.differ_by)

    def make(
        self,
        evidence: Evidence | Posterior,
        X: Any = None,
        system: ConstraintSystem | None = None,
        knowledge: PriorKnowledge | None = None,
    ) -> Selection:
        """Decide, without a warning: `advice` of the selection says what must be known.

        `system` are the constraints, if they are tied to features and data already, `knowledge` what else is known of
        the features, if it is more than the weights.
        """
        posterior = self.posterior(evidence, knowledge)
        return self._select(self._problem(posterior, X, system), posterior)

    def posterior(self, evidence: Evidence | Posterior, knowledge: PriorKnowledge | None = None) -> Posterior:
        """Return the posterior that :meth:`make` decides on."""
        return self._posterior(evidence, self.weights if knowledge is None else knowledge)

    def _constraints(self, knowledge: PriorKnowledge | None) -> tuple[Constraint, ...]:
        """Return the constraints with the costs of a table, and with what the prior holds unlikely."""
        if knowledge is None:
            return self.constraints
        demands = tuple(with_costs(constraint, knowledge.costs) for constraint in self.constraints)
        if knowledge.unlikely and not any(constraint.from_prior for constraint in demands):
            demands += unlikely_constraints(knowledge.unlikely)
        return demands

    def _posterior(self, evidence: Any, weights: Any) -> Posterior:
        if isinstance(evidence, Posterior):
            if not (np.isscalar(weights) and weights == DEFAULT_WEIGHT):
                rule = "are part of a posterior; pass the evidence to decide with other weights."
                raise InputError.of("weights", rule, weights)
            if self.prior != "dirichlet":
                rule = "is part of a posterior; pass the evidence to decide with another prior."
                raise InputError.of("prior", rule, self.prior)
            knowledge = evidence.knowledge
            if self.trust_in_lists == LEARNED and (knowledge is None or knowledge.list_trust is None):
                rule = "is part of a posterior; pass the evidence to decide with 'learned'."
                raise InputError.of("trust_in_lists", rule, self.trust_in_lists)
            return evidence
        if not isinstance(evidence, Evidence):
            raise InputError.of(
                "evidence",
                "must be Evidence (from collect_evidence or Evidence.from_sets) or a Posterior; "
                f"got {type(evidence).__name__}.",
                evidence,
            )
        prior, further = as_prior(self.prior), (self.blocks, self.random_state)
        if self.trust_in_lists == AS_STATED:
            return prior.update(evidence, weights, *further)
        stated = resolve_knowledge(weights, evidence.feature_names, self.blocks, evidence.n_models)
        learned, list_trust = learn_trust(stated, evidence, sizes.size_limit(self.constraints))
        posterior = prior.update(evidence, replace(stated, weights=learned), *further)
        return replace(posterior, knowledge=replace(stated, list_trust=list_trust))

    def _problem(self, posterior: Posterior, X: Any, system: ConstraintSystem | None = None) -> DecisionProblem:
        names, counts = posterior.feature_names, posterior.counts
        data = None if X is None else FeatureData.from_fit(X, names, *posterior.evidence.reading)
        if system is None:
            measured = posterior.evidence.measured
            demands = [without_costs_of(each, measured) for each in self._constraints(posterior.knowledge)]
            system = resolve(demands, names, self.blocks, data)
        # A price in votes becomes a relaxation here, as it depends on the total of votes and weights.
        system = priced(system, posterior.evidence.n_models, posterior.total, self.constraint_strength)
        # Evidence from another ensemble does not know which columns are constant; the data do.
        constant = posterior.evidence.constant if data is None else posterior.evidence.constant | data.constant
        utility = Utility(posterior.mean, system, self.constraint_strength, ~constant)
        lacking = lacks_votes(posterior, utility, self.min_votes) & ~constant
        unselectable = {"min_votes": lacking, "constant": constant}
        selectable = ~np.logical_or.reduce([*unselectable.values()])
        excluded_by = tuple(reason for reason, features in unselectable.items() if features.any())
        if constant.all():
            source = "evidence" if posterior.evidence.constant.all() else "X"
            raise InputError.of(
                source, f"has no feature to select: all {len(counts)} columns are constant. Check the data."
            )
        if not selectable.any():
            argument = next(reason for reason in excluded_by if reason != "constant")
            value = getattr(self, argument)
            raise InputError(
                f"{argument}={value} leaves no feature to select: the highest count is {counts.max(initial=0)}, and "
                f"{constant.sum()} of {len(counts)} columns are constant. Lower it, or check the data.",
                argument=argument,
                value=value,
            )
        utility = replace(utility, selectable=selectable, excluded_by=excluded_by)
        X = None if data is None else data.X
        return DecisionProblem(utility, names, counts, posterior.weights, X, unselectable, self.min_votes)

    def _select(self, problem: DecisionProblem, posterior: Posterior | None) -> Selection:
        self.check_differ_by(len(problem.feature_names))
        optimizer = as_optimizer(self.optimizer, self.time_limit)
        seconds = getattr(optimizer, "time_limit", None)
        deadline = None if seconds is None else time.monotonic() + seconds  # of the set and its alternatives together
        try:
            solution = best_solution(optimizer, problem.utility, self.random_state)
        except InfeasibleError as error:
            if not votes_stand_in_the_way(problem, deadline):
                raise
            way_out = "Use min_votes=0 to let features without votes fill the set."
            raise InfeasibleError(f"{error} {way_out}", error.labels, error.positions, error.reduced) from None
        alternatives = find_alternatives(
            optimizer, problem.utility, solution, self.n_alternatives, self.random_state, deadline, self.differ_by
        )
        best = FeatureSet.from_solution(problem, solution)
        numbers = {"n_found": len(alternatives.solutions), "n_alternatives": self.n_alternatives}
        return Selection(
            best=best,
            alternatives=tuple(FeatureSet.from_solution(problem, other) for other in alternatives.solutions),
            alternatives_complete=alternatives.complete,
            feature_names=problem.feature_names,
            importance=problem.utility.theta,
            counts=problem.counts,
            weights=problem.weights,
            provenance=self._provenance(optimizer, solution, posterior),
            posterior=posterior,
            problem=replace(problem, optimizer=optimizer),
            decision=None if posterior is None else self.replace(prior=posterior.made_by or self.prior),
            advice=(
                *self._knowledge_advice(problem, posterior),
                *advice_on(best, problem, None if alternatives.complete else numbers, deadline),
            ),
        )

    def _knowledge_advice(self, problem: DecisionProblem, posterior: Posterior | None) -> tuple[Advice, ...]:
        knowledge, blocks = None if posterior is None else posterior.knowledge, self.blocks
        if knowledge is None:
            return tuple(blocks.notes)
        system = problem.utility.system
        if knowledge.list_trust is not None and posterior is not None:  # what was stated may have lost its weight
            weights = dict(zip(posterior.feature_names.tolist(), posterior.weights.tolist(), strict=True))
            full = votes(VERY_LIKELY, knowledge.default, posterior.evidence.n_models)
            kept = {
                name: word for name, word in knowledge.stated.items() if word != VERY_LIKELY or weights[name] >= full
            }
            knowledge = replace(knowledge, stated=kept)
        return knowledge_advice(knowledge, blocks, self._constraints(knowledge), system, problem.feature_names)

    def _provenance(self, optimizer: Optimizer, solution: Solution, posterior: Posterior | None) -> dict[str, Any]:
        """Return how the selection is made, in plain types; values of the posterior are in the posterior."""
        settings = [name for name in self.names(in_posterior=False) if name not in ("constraints", "optimizer")]
        source = {} if posterior is None else {"prior": posterior.prior, "evidence": dict(posterior.evidence.settings)}
        stated = None if posterior is None else posterior.knowledge
        return {
            "constraints": [constraint.to_dict() for constraint in self._constraints(stated)],
            **source,
            **({} if stated is None else stated.provenance()),
            **{name: getattr(self, name) for name in settings},
            "optimizer": repr(optimizer),
            "optimizer_kind": next((name for name, kind in OPTIMIZERS.items() if type(optimizer) is kind), ""),
            "solver": dict(solution.info),
        }


@by_name("weights", "prior", "constraints", "blocks", "constraint_strength", "optimizer", "X", "min_votes")
def decide(
    evidence: Evidence | Posterior,
    *,
    max_size: int | None = None,
    weights: Any = DEFAULT_WEIGHT,
    prior: Any = "dirichlet",
    constraints: Any = (),
    blocks: Any = None,
    constraint_strength: float = 1.0,
    optimizer: Any = "exact",
    X: Any = None,
    min_votes: int = 1,
    time_limit: float | None = None,
    n_alternatives: int = 0,
    random_state: RandomState = None,
    trust_in_lists: str = AS_STATED,
    differ_by: int = 1,
) -> Selection:
    """Select the best feature set from evidence, prior weights and constraints.

    Parameters
    ----------
    evidence : Evidence or Posterior
        A posterior already updated saves the sampling when only constraints change; `weights` and `prior` are part
        of it and must not be given again.
    max_size : int, optional
        The most features to select, short for a hard :func:`max_size` among the constraints. None, with no constraint
        that limits the size, warns that the best set is everything.
    weights : number, array-like, mapping, DataFrame, path or Knowledge, default 0.01
        Prior weight of each feature, in votes: a weight of 5 counts like five models that selected the feature (under
        the hyperdirichlet prior: that selected it alone); or in words: ``{"TP53": "very likely", "ACTB": "unlikely"}``.
        A table may also have costs and reasons; see :func:`read_knowledge`.
    prior : {"dirichlet", "generalized", "hyperdirichlet"} or Prior
        The generalized prior is the Dirichlet unless it has a `beta`.
    constraints : Constraint or iterable of Constraint
        Made by :func:`must_link`, :func:`max_per_block` and the other builders. A constraint is hard unless it has
        ``price=`` or ``rho=``. ``price=0.2``: one unit of violation costs as much as the votes of a fifth of the
        models. ``rho=`` is the paper's relaxation.
    blocks : mapping of name to features, DataFrame (feature, block) or Blocks, optional
    constraint_strength : float, default 1.0
        The paper's lambda, positive; below 1, soft constraints may weigh less than all importances together.
    optimizer : {"exact", "genetic"} or Optimizer
    X : array-like of shape (n_samples, n_features), optional
        The data of the fit; needed by :func:`decorrelate`, :func:`max_per_cluster` and for the redundancy rate.
        Correlations of features with missing values are those over the samples that have both.
    min_votes : int, default 1
        Features with fewer votes cannot be selected. What their weight exceeds the default by counts as votes. Exempt
        are features that hard constraints require, and those that they need beside a feature with enough votes
        (:func:`must_link`, :func:`implies`). 0: places may be filled with features that no model voted for, as in the
        paper.
    time_limit : float, optional
        Seconds after which the best set so far is returned, with its gap. The limit includes the alternatives
        and the reason why hard constraints contradict each other.
    n_alternatives : int, default 0
        How many further sets to list, next best first; ``selection.alternatives_complete`` says whether the time
        sufficed for them.
    random_state : int, Generator, RandomState or None
        For the hyperdirichlet prior and the genetic optimizer; everything else is deterministic.
    trust_in_lists : {"as_stated", "learned"}, default "as_stated"
        Weight of lists of three or more features: a block or gene set, or all features with the same word or number.
        "learned" keeps the stated weight only if the list has more votes than random features (p at most 0.2;
        Benjamini-Hochberg for several lists), and gives the default weight otherwise. A list longer than the size limit
        gets at most half of the models' votes. Single features and "unlikely" are not changed.
    differ_by : int, default 1
        Each alternative lacks at least so many features of the best set, and of every alternative before it. 1: any
        other set.

    Returns
    -------
    selection : Selection

    See Also
    --------
    collect_evidence : Runs the ensemble.
    maximize : The same for any vector of importances.
    assess : How far the answer can be trusted.

    References
    ----------
    Jenul, A., Schrunner, S., Pilz, J., Tomic, O. (2022). A user-guided Bayesian framework for ensemble feature
    selection in life science applications (UBayFS). Machine Learning, 111, 3897-3923.

    Examples
    --------
    >>> from ubayfs import Evidence, decide
    >>> evidence = Evidence.from_sets([[1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 1, 0]], ["a", "b", "c", "d"])
    >>> selection = decide(evidence, max_size=2)
    >>> selection.features, selection.gap
    (('a', 'c'), 0.0)
    >>> decide(evidence, weights={"b": 5}, max_size=2).features
    ('a', 'b')
    """
    decision = Decision.from_arguments({**locals(), "constraints": with_max_size(constraints, max_size)})
    return _with_warnings(decision.make(evidence, X), decision.blocks.notes)


def with_max_size(constraints: Any, n: Any, argument: str = "max_size") -> tuple[Constraint, ...]:
    """Return constraints, and a hard limit of the size if a number is given for `argument`."""
    listed = as_constraints(constraints)
    return listed if n is None else (*listed, sizes.max_size(sizes.as_size(argument, n, low=1)))


def decide_with(decision: Decision, evidence: Evidence | Posterior, X: Any, knowledge: PriorKnowledge) -> Selection:
    """Decide with arguments and knowledge that are tied to the features already, with warnings."""
    return _with_warnings(decision.make(evidence, X, knowledge=knowledge), decision.blocks.notes)


@by_name()
def maximize(
    theta: Any,
    constraints: Any = (),
    *,
    constraint_strength: float = 1.0,
    optimizer: Any = "exact",
    feature_names: Any = None,
    blocks: Any = None,
    X: Any = None,
    time_limit: float | None = None,
    n_alternatives: int = 0,
    random_state: RandomState = None,
    differ_by: int = 1,
) -> Selection:
    """Choose the best feature set for any vector of importances.

    Parameters
    ----------
    theta : array-like of float of shape (n_features,)
        Importance of each feature, not negative; from a model, a test, another method. A pandas Series also names
        the features.
    feature_names : array-like of str of shape (n_features,), optional
        Default: x0, x1, ...
    constraints, constraint_strength, optimizer, blocks, X, time_limit, n_alternatives, random_state, differ_by
        As in :func:`decide`. Without votes constraints have no price: give `rho`.

    Returns
    -------
    selection : Selection

    See Also
    --------
    decide : The same from evidence and prior weights.

    Examples
    --------
    >>> from ubayfs import cannot_link, max_size, maximize
    >>> maximize([0.5, 0.4, 0.3], [max_size(2), cannot_link([0, 1])]).indices
    array([0, 2])
    """
    decision = Decision.from_arguments(locals())
    if feature_names is None and hasattr(theta, "index") and hasattr(theta, "to_numpy"):
        feature_names = [str(name) for name in theta.index]
    importance = check_importance(theta)
    names = check_feature_names(feature_names, len(importance))
    data = None if X is None else FeatureData.from_fit(X, names)
    system = resolve(decision.constraints, names, decision.blocks, data)
    constant = np.zeros(len(importance), dtype=bool) if data is None else data.constant
    utility = Utility(importance, system, decision.constraint_strength, ~constant, ("constant",))
    X = None if data is None else data.X
    problem = DecisionProblem(utility, names, X=X, unselectable={"constant": constant})
    return _with_warnings(decision._select(problem, None))


def _with_warnings(selection: Selection, shown: tuple[Advice, ...] = ()) -> Selection:
    """Warn of all advice but what was shown before: blocks have their own notes."""
    for advice in selection.advice:
        if advice not in shown:
            advice.warn()
    return selection
