"""What a set rests on: members that data, rules and weights brought in, those that fill a place; how sure each is.

>>> from ubayfs import Evidence, decide
>>> from ubayfs.explain.attribution import attribution
>>> evidence = Evidence.from_sets([[1, 1, 0], [1, 0, 0]], ["radius", "area", "texture"])
>>> selection = decide(evidence, weights={"area": 5}, max_size=1)
>>> attribution(selection).why
{'area': 'weight'}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from .._arguments import (
    MOST_REPEATS,
    Array,
    Floats,
    Ints,
    Mask,
    RandomState,
    as_generator,
    by_name,
    check_int,
    unknown_argument,
)
from ..constraints import ConstraintSystem
from ..constraints.sizes import exactly
from ..constraints.utility import RELATIVE_TOLERANCE, STANDARD_ERRORS, Admissibility, Utility, priced
from ..decision.problem import DecisionProblem
from ..decision.selection import Selection, problem_of
from ..decision.workflow import Decision
from ..ensemble.progress import Progress, as_progress
from ..exceptions import InfeasibleError, InputError, OptimizationError
from ..optimize import Solution, as_optimizer
from ..optimize.alternatives import nearest_best
from ..optimize.base import best_solution
from ..optimize.exact import warm_started
from ..optimize.presolve import required_features
from ..priors import DEFAULT_WEIGHT, PRIORS, Dirichlet, Posterior
from ..priors.weights import raised

# Constraints that ask for more features, whichever.
_SIZES = ("min_size", "exact_size")

# What brought a member in: the same word in reports, cards, app, command line and reproducibility.
Reason = Literal["data", "rule", "weight", "fill"]


@dataclass(frozen=True)
class Attribution:
    """What brought each member in, and what would be chosen with less knowledge.

    Where several sets are equally good, the one that shares most with the chosen set is meant. Both sets without the
    prior are None when there was none: importances were given.

    A member is there by

    - **data** if it has votes and the same decision without weights selects it, also where constraints that limit,
      such as `cannot_link`, `max_per_block` and budgets, keep out features with more votes;
    - **rule** if hard constraints require it, by itself or together with a required feature; or if a constraint asks
      for it (`require`, `must_link`, `min_size` ...), and without that demand the votes would not select it, nor
      would they without any constraint;
    - **weight** if the decision without weights drops it, or if it has no votes but a raised weight;
    - **fill** if it has no votes, and nothing asks for it: any feature would do in its place.
    """

    chosen: tuple[str, ...]
    # With the default weight for every feature and nothing held unlikely, under all constraints.
    without_prior: tuple[str, ...] | None
    # Of the same size with no constraint at all, under the prior; smaller where both speak for fewer features.
    without_constraints: tuple[str, ...]
    # Of the same size with neither: features with votes only.
    data_alone: tuple[str, ...] | None
    # What brought each member in.
    why: Mapping[str, Reason] = field(default_factory=dict)

    @property
    def filling(self) -> tuple[str, ...]:
        """Members that only the prior speaks for, but that stay without it: a place was left, and any would do."""
        return tuple(name for name in self.without_prior or () if self.why.get(name) == "weight")


def attribution(selection: Selection, random_state: RandomState = 0) -> Attribution:
    """Return what of a selection is due to the data, to the prior and to the constraints.

    Parameters
    ----------
    selection : Selection
        From :func:`~ubayfs.decide` or :func:`~ubayfs.maximize`.
    random_state : int, Generator, RandomState or None, default 0
        For the hyperdirichlet prior and the genetic optimizer; the rest has no chance in it.

    Examples
    --------
    >>> from ubayfs import Evidence, decide, require
    >>> evidence = Evidence.from_sets([[1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 1, 1]], ["a", "b", "c", "d"])
    >>> selection = decide(evidence, weights={"b": 5}, max_size=3, constraints=require("d"))
    >>> parts = attribution(selection)
    >>> parts.without_prior
    ('a', 'c', 'd')
    >>> parts.why
    {'a': 'data', 'b': 'weight', 'd': 'rule'}
    """
    problem, posterior = problem_of(selection, "the attribution"), selection.posterior
    utility, mask, names = problem.utility, selection.mask, problem.feature_names
    optimizer = as_optimizer("exact" if problem.optimizer is None else problem.optimizer)
    best = partial(optimizer.maximize, random_state=random_state)
    favored = _in_favor(utility.theta, mask, _errors(posterior))
    plain, nearest = replace(utility, theta=favored), mask
    without_prior = data_alone = None
    alone = np.zeros_like(mask)
    if posterior is not None:
        plain, voted = reweighted(selection, DEFAULT_WEIGHT, without_unlikely, random_state), posterior.counts > 0
        try:
            nearest = _nearest(best, plain, mask)
        except (InfeasibleError, OptimizationError):  # too few features have votes: others may fill the set
            plain = replace(plain, selectable=utility.selectable)
            nearest = _nearest(best, plain, mask)
        without_prior = _names(names, nearest)
        # Without any constraint, no size is given either.
        alone = (
            _most_important(plain.theta, utility.selectable & voted, mask)
            if plain.system.n_inequalities
            else nearest & voted
        )
        data_alone = _names(names, alone)
    why = _why(problem, plain, nearest, mask, alone, best)
    freely = _without_constraints(problem, favored, mask, [i for i, word in why.items() if word == "fill"], best)
    reasons = {str(names[position]): word for position, word in why.items()}
    return Attribution(selection.features, without_prior, _names(names, freely), data_alone, reasons)


def _why(
    problem: DecisionProblem,
    plain: Utility,
    without_weights: Mask,
    chosen: Mask,
    alone: Mask,
    best: Callable[[Utility], Solution],
) -> dict[int, Reason]:
    """Return what brought each member in, by position.

    `plain` is the utility without weights, `alone` what votes select with neither weights nor constraints.
    """
    required, asking = required_features(problem.utility), _Asking.from_set(plain.system, chosen)
    voted = np.ones_like(chosen) if problem.counts is None else problem.counts > 0
    favored = np.zeros_like(chosen) if problem.weights is None else raised(problem.weights)
    by_rule = asking.brings(plain, chosen, required | ~without_weights | ~voted | alone, best)

    def reason(i: int) -> Reason:
        if required[i]:
            return "rule"
        if not without_weights[i]:
            return "weight"
        if voted[i]:
            return "rule" if by_rule[i] else "data"
        return "rule" if asking.by_name[i] else "weight" if favored[i] else "fill"

    return {i: reason(i) for i in np.flatnonzero(chosen).tolist()}


@dataclass(frozen=True, eq=False)
class _Asking:
    """Which inequalities would be violated (more) without which members."""

    members: Ints  # (n_members,)
    rows: Ints  # of inequalities that features can satisfy, (n_rows,)
    asks: Mask  # (n_members, n_rows)
    by_name: Mask  # features that another inequality than one on the size asks for, (n_features,)

    @classmethod
    def from_set(cls, system: ConstraintSystem, chosen: Mask) -> _Asking:
        """Take each member out of the set."""
        owner, members = np.repeat(np.arange(system.n_inequalities), np.diff(system.A.indptr)), np.flatnonzero(chosen)
        # A feature can only satisfy an inequality in which its coefficient is negative.
        rows = np.unique(owner[system.A.data < 0])
        demands = system.take(rows)
        without = np.repeat(chosen[None, :], len(members), axis=0)
        without[np.arange(len(members)), members] = False
        admissibility = Admissibility(demands)
        asks = admissibility.violations(without) > admissibility.violations(chosen)
        sizes = [part.position for part in system.parts if part.kind in _SIZES]
        by_name = np.zeros_like(chosen)
        by_name[members] = asks[:, ~np.isin(demands.owner, sizes)].any(axis=1)
        return cls(members, rows, asks, by_name)

    def brings(self, plain: Utility, chosen: Mask, decided: Mask, best: Callable[[Utility], Solution]) -> Mask:
        """Return the members that votes do not select without the inequalities that ask for them, (n_features,).

        Those that are `decided`, as their reason is clear, are not looked at.
        """
        brought = np.zeros_like(chosen)
        # Members that the same inequalities ask for take one decision together.
        patterns, pattern_of = np.unique(self.asks, axis=0, return_inverse=True)
        for number, pattern in enumerate(patterns):
            members = self.members[(pattern_of.ravel() == number) & ~decided[self.members]]
            if len(members) and pattern.any():
                kept = np.setdiff1d(np.arange(plain.system.n_inequalities), self.rows[pattern])
                brought[members] = ~_nearest(best, replace(plain, system=plain.system.take(kept)), chosen)[members]
        return brought


def _names(names: Array, mask: Mask) -> tuple[str, ...]:
    return tuple(names[mask].tolist())


def _without_constraints(
    problem: DecisionProblem,
    theta: Floats,
    chosen: Mask,
    filling: list[int],
    best: Callable[[Utility], Solution],
) -> Mask:
    """Return the best set of the same size under the prior alone, of features that something speaks for.

    Those that fill a place may do so: without constraints nothing would keep them out.
    """
    utility = problem.utility
    system, from_prior = utility.system, utility.system.from_prior
    if from_prior.all():
        return chosen
    candidates = utility.selectable.copy()
    if problem.counts is not None:
        assert problem.weights is not None
        candidates &= (problem.counts > 0) | raised(problem.weights)
        candidates[filling] = True
    if not from_prior.any():
        return _most_important(theta, candidates, chosen)
    size = min(int(chosen.sum()), int(candidates.sum()))
    limited = system.take(np.flatnonzero(from_prior)).with_inequalities(exactly(utility.n_features, size))
    return _nearest(best, replace(utility, theta=theta, system=limited, selectable=candidates), chosen)


def _nearest(best: Callable[[Utility], Solution], utility: Utility, chosen: Mask) -> Mask:
    solution = nearest_best(best, utility, chosen)
    assert solution is not None  # an optimizer raises if there is no set
    return solution.chosen


def reweighted(
    selection: Selection,
    weights: Any,
    change: Callable[[ConstraintSystem], ConstraintSystem],
    random_state: RandomState,
) -> Utility:
    """Return the utility of a decision under other weights; other settings of a prior have their defaults, too.

    Prices are those of the same number of votes; `change` is applied to the constraints after that.
    """
    problem, posterior = problem_of(selection, "a decision with other weights"), selection.posterior
    assert posterior is not None
    utility, kind, other = problem.utility, PRIORS.get(posterior.prior, Dirichlet), posterior
    if kind is not Dirichlet or (posterior.weights != weights).any():
        other = kind().update(posterior.evidence, weights, random_state=random_state)
    theta = _in_favor(other.mean, selection.mask, _errors(other, posterior))
    system = priced(utility.system, posterior.evidence.n_models, other.total, utility.constraint_strength)
    return problem.under(other, theta, change(system))


def without_unlikely(system: ConstraintSystem) -> ConstraintSystem:
    """Return the constraints without those that stand for prior knowledge."""
    from_prior = system.from_prior
    return system.take(np.flatnonzero(~from_prior)) if from_prior.any() else system


def _errors(*posteriors: Posterior | None) -> Floats | None:
    """Return the standard error of simulated means, together of all, of shape (n_features,); None if none is."""
    squares = [p.diagnostics.monte_carlo_error**2 for p in posteriors if p is not None and p.diagnostics is not None]
    return np.sqrt(np.sum(squares, axis=0)) if squares else None


def _in_favor(theta: Floats, chosen: Mask, errors: Floats | None) -> Floats:
    """Return importances that speak for chosen features as far as simulated ones may be wrong.

    A chosen feature then gives way only to one that is better beyond the error of their difference.
    """
    if errors is None:
        return theta
    margin = STANDARD_ERRORS / np.sqrt(2.0) * errors
    raised: Floats = np.where(chosen, theta + margin, np.maximum(theta - margin, 0.0))
    return raised


def _most_important(theta: Floats, selectable: Mask, chosen: Mask) -> Mask:
    """Return the most important features, as many as are chosen if there are; chosen ones first among equals."""
    candidates = np.flatnonzero(selectable)
    size = min(int(chosen.sum()), len(candidates))
    most = np.zeros_like(chosen)
    if size == 0:
        return most
    threshold = np.partition(theta[candidates], -size)[-size]
    # Equal importances may differ by rounding: compared as one value, they cannot decide who is in.
    tied = np.abs(theta - threshold) <= RELATIVE_TOLERANCE * threshold
    rank = np.where(tied, threshold, theta)[candidates]
    most[candidates[np.lexsort((candidates, ~chosen[candidates], -rank))[:size]]] = True
    return most


# -- draws from the posterior ------------------------------------------------------------------------------------------


@by_name()
def selection_probabilities(
    posterior: Posterior | Selection,
    *,
    constraints: Any = (),
    blocks: Any = None,
    constraint_strength: float = 1.0,
    optimizer: Any = None,
    X: Any = None,
    min_votes: int = 1,
    n_draws: int = 100,
    random_state: RandomState = None,
    on_progress: Progress | bool | None = None,
    **others: Any,
) -> Floats:
    """Return how often each feature is selected when the decision is made on draws from the posterior.

    A feature close to 1 is chosen whatever the exact importances are; one near 0.5 is a matter of chance. Like
    credible intervals this tells how sure the *ensemble* is: it sharpens with the number of models, not with the
    number of samples in the data.

    Parameters
    ----------
    posterior : Posterior or Selection
        A selection from :func:`decide` brings its posterior and everything it was decided with. A posterior, from
        ``selection.posterior``, needs the following arguments.
    constraints, blocks, constraint_strength, X, min_votes, random_state
        As in :func:`decide`.
    optimizer : {"exact", "genetic"} or Optimizer, optional
        Default: that of the selection, else "exact".
    n_draws : int, default 100
        Each takes one decision.
    on_progress : callable or bool, optional
        True shows a progress bar (needs tqdm). A function is called as ``on_progress(done, total)`` after each
        decision. When it returns False the draws so far count.
    **others
        Further arguments of :func:`decide` that do not belong to the posterior, such as `time_limit` for each draw.

    Returns
    -------
    probability : ndarray of float of shape (n_features,)

    See Also
    --------
    estimate_reproducibility : What other samples would say, which draws cannot.

    Examples
    --------
    >>> from ubayfs import Evidence, decide
    >>> evidence = Evidence.from_sets([[1, 1, 0], [1, 0, 1], [1, 1, 0]] * 5, ["a", "b", "c"])
    >>> selection = decide(evidence, max_size=2)
    >>> selection_probabilities(selection, n_draws=50, random_state=0)
    array([1.  , 0.88, 0.12])
    """
    names = Decision.names(part="constraints")
    for name in others.keys() - set(names):
        raise unknown_argument("selection_probabilities", name, names)
    decision = Decision.from_arguments({**locals(), **others, "optimizer": "exact", "random_state": None})
    n_draws = check_int("n_draws", n_draws, low=1, high=MOST_REPEATS)
    if isinstance(posterior, Selection):
        problem, posterior = _decided(posterior, decision, X)
    elif isinstance(posterior, Posterior):
        problem, optimizer = decision._problem(posterior, X), "exact" if optimizer is None else optimizer
    else:
        rule = f"must be a Posterior, as in selection.posterior, or a Selection; got {type(posterior).__name__}."
        raise InputError.of("posterior", rule, posterior)
    if optimizer is not None:
        problem = replace(problem, optimizer=as_optimizer(optimizer, decision.time_limit))
    return decide_on_draws(problem, posterior, n_draws, random_state, as_progress(on_progress, "draws"))


def decide_on_draws(
    problem: DecisionProblem,
    posterior: Posterior,
    n_draws: int,
    random_state: RandomState,
    on_progress: Progress | None,
) -> Floats:
    """Return how often each feature is selected; see :func:`selection_probabilities`, which checks its arguments."""
    chooser = warm_started(as_optimizer("exact" if problem.optimizer is None else problem.optimizer))
    rng = as_generator(random_state)
    times = np.zeros(posterior.n_features)
    for done, theta in enumerate(posterior.draws(n_draws, rng), start=1):
        times += best_solution(chooser, replace(problem.utility, theta=theta), rng).chosen
        if on_progress is not None and on_progress(done, n_draws) is False:
            break
    return times / done


def _decided(selection: Selection, decision: Decision, X: Any) -> tuple[DecisionProblem, Posterior]:
    """Return what a selection was decided with; none of it can be given a second time."""
    names, default = Decision.names(part="constraints"), Decision()
    again = [name for name in names if getattr(decision, name) != getattr(default, name)] + ["X"] * (X is not None)
    if again:
        raise InputError.of(again[0], "is part of a selection; pass selection.posterior to decide with another.")
    if selection.posterior is None or selection.problem is None:
        raise InputError(
            "a selection by maximize() or from a file has no posterior to draw from; use one that decide() returned.",
            argument="posterior",
        )
    return selection.problem, selection.posterior
