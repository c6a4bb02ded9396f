"""A decision made again on a changed problem: without a member, with less of the prior, and as others need it.

Of several sets that are equally good, the one that shares most with the chosen set is meant. What it costs is the
score of the chosen set minus its own; times the total of votes and weights, that is counted in votes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from .._arguments import Floats, Ints, Mask, RandomState, as_generator, check_int
from ..constraints import ConstraintSystem
from ..constraints.sizes import size_limit
from ..constraints.utility import ROUNDING, STANDARD_ERRORS, Utility, score_tolerance
from ..data.blocks import Blocks
from ..data.categories import columns_of
from ..data.correlation import absolute_correlations
from ..decision.problem import DecisionProblem
from ..decision.selection import Selection, problem_of
from ..exceptions import OptimizationError
from ..optimize import Optimizer, Solution, as_optimizer
from ..optimize.alternatives import best_near, nearest_best
from ..priors import DEFAULT_WEIGHT, Posterior
from ..priors.knowledge import AS_STATED, LEARNED, ListTrust
from ..priors.list_trust import learn_trust
from .attribution import reweighted, without_unlikely

# The fewest runs without a member that show what models chose instead, and how many such features are shown.
FEWEST_RUNS = 10
_SHOWN = 3


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
    def from_selection(
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
            solution = nearest_best(best, utility, self.selection.mask) if nearest else best(utility)
        except OptimizationError:  # no set was found in time; the chosen one may do
            mask = self.selection.mask
            solution = Solution(mask, float(utility(mask)[0]) if utility.selectable[mask].all() else -np.inf, np.inf)
        if solution is None or np.isneginf(solution.value):
            return Answer(None, np.inf, np.inf if solution is None else -np.inf, solution is None)
        loss, tolerance = self.selection.value - (solution.value - bonus), score_tolerance(solution.value)
        loss, proved = 0.0 if abs(loss) <= tolerance else loss, bool(solution.gap <= tolerance)
        return Answer(solution.chosen, loss, loss if proved else loss - float(solution.gap), proved)

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
    coefficients_of = {row: A[[row]].toarray()[0, : utility.n_features][selectable] for row in long}
    return {row: coefficients for row, coefficients in coefficients_of.items() if (coefficients != 0).all()}


# -- what can replace a member: the best set without it, and what models chose instead of it ---------------------------


@dataclass(frozen=True)
class StandIn:
    """A feature that models chose more often where they did not choose a member.

    Attributes
    ----------
    feature : str
    chosen : bool
        Whether it is itself a member.
    correlation : float or None
        Absolute Pearson correlation with the member; None without data.
    votes, votes_either : int
        Runs that chose it, and runs that chose it or the member.
    shift : float
        P(it | not the member) - P(it | the member) over runs.
    clear : bool
        Whether the shift is more than three standard errors: chance alone hardly explains it.
    """

    feature: str
    chosen: bool
    correlation: float | None
    votes: int
    votes_either: int
    shift: float
    clear: bool


@dataclass(frozen=True)
class Substitute:
    """What is chosen if a member cannot be.

    Attributes
    ----------
    feature : str
        The member.
    replaceable : bool
        False if no set without it satisfies the hard constraints (or, where not `proved`, if none was found).
    replaced_by : tuple of str
        The best set without it under the same constraints; empty if it is not replaceable.
    removed, added : tuple of str
        How that set differs from the chosen one; the member itself is among the removed.
    loss, loss_votes : float or None
        Score that is lost, and the same in votes (None where importances were given without votes); both None if it is
        not replaceable. Negative only if the chosen set is not proved to be the best.
    proved : bool
        Whether the set is proved to be the best one without the member.
    stand_ins : tuple of StandIn
        At most three, largest shift first; none where fewer than 10 runs lack the member, or no run has it.
    """

    feature: str
    replaceable: bool
    replaced_by: tuple[str, ...]
    removed: tuple[str, ...]
    added: tuple[str, ...]
    loss: float | None
    loss_votes: float | None
    proved: bool
    stand_ins: tuple[StandIn, ...]


def substitutes(
    selection: Selection, random_state: RandomState = 0, node_limit: int | None = None
) -> tuple[Substitute, ...]:
    """Return for each member what is chosen without it, exactly, and which features stood in for it in the ensemble.

    Parameters
    ----------
    selection : Selection
        From :func:`~ubayfs.decide` or :func:`~ubayfs.maximize`; one read from a file does not know the constraints.
    random_state : int, Generator, RandomState or None, default 0
        For the genetic optimizer; the rest has no chance in it.
    node_limit : int, optional
        Nodes of branch and bound in each decision; what is not proved by then is marked as such. Default: no limit.

    Returns
    -------
    substitutes : tuple of Substitute
        One per member, in the order of ``selection.features``.

    Examples
    --------
    >>> from ubayfs import Evidence, decide
    >>> sets = [[1, 1, 0, 0]] * 20 + [[1, 0, 1, 0]] * 15 + [[1, 0, 0, 1]] * 5
    >>> selection = decide(Evidence.from_sets(sets, ["a", "b", "c", "d"]), max_size=2)
    >>> [(each.feature, each.added, round(each.loss_votes, 6)) for each in selection.substitutes()]
    [('a', ('c',), 25.0), ('b', ('c',), 5.0)]
    >>> stand_in = selection.substitutes()[1].stand_ins[0]
    >>> stand_in.feature, stand_in.votes, stand_in.votes_either, stand_in.shift
    ('c', 15, 35, 0.75)
    """
    again = Redecider.from_selection(selection, "substitutes", random_state, node_limit)
    stand_ins = _stand_ins(selection)
    return tuple(
        _substitute(again, int(position), each) for position, each in zip(selection.indices, stand_ins, strict=True)
    )


S = TypeVar("S", bound=Substitute)


def worst_dropout(members: Iterable[S]) -> S | None:
    """Return the member whose failure, as of a probe, costs most even with the best repair; None without members.

    One that cannot be replaced costs more than any other.

    Parameters
    ----------
    members : iterable of Substitute
        From :func:`substitutes`.

    Returns
    -------
    worst : Substitute or None

    Examples
    --------
    >>> from ubayfs import Evidence, decide
    >>> sets = [[1, 1, 0, 0]] * 20 + [[1, 0, 1, 0]] * 15 + [[1, 0, 0, 1]] * 5
    >>> worst = worst_dropout(decide(Evidence.from_sets(sets, ["a", "b", "c", "d"]), max_size=2).substitutes())
    >>> worst.feature, worst.added, round(worst.loss_votes, 6)
    ('a', ('c',), 25.0)
    """
    return max(members, key=lambda each: np.inf if each.loss is None else each.loss, default=None)


def _substitute(again: Redecider, position: int, stand_ins: tuple[StandIn, ...]) -> Substitute:
    name, answer = str(again.problem.feature_names[position]), again.without_feature(position)
    if answer.chosen is None:
        return Substitute(name, False, (), (), (), None, None, answer.proved, stand_ins)
    added, removed = again.changes(answer.chosen)
    loss, replaced_by = answer.loss, again.names(answer.chosen)
    return Substitute(name, True, replaced_by, removed, added, loss, again.votes(loss), answer.proved, stand_ins)


def _stand_ins(selection: Selection) -> list[tuple[StandIn, ...]]:
    """Return the stand-ins of each member."""
    members, posterior = selection.indices, selection.posterior
    if posterior is None or len(members) == 0 or posterior.evidence.votes is not None:
        return [()] * len(members)
    sets, counts = posterior.evidence.sets.astype(np.float64), posterior.counts
    together = (sets.T @ sets[:, members]).toarray()  # (n_features, n_members): runs that chose both
    n_runs = posterior.evidence.n_models
    return [
        _stand_ins_of(selection, posterior, int(i), together[:, k])
        if n_runs - counts[i] >= FEWEST_RUNS and counts[i] > 0
        else ()
        for k, i in enumerate(members)
    ]


def _stand_ins_of(selection: Selection, posterior: Posterior, member: int, together: Floats) -> tuple[StandIn, ...]:
    counts, n_runs = posterior.counts, posterior.evidence.n_models
    n_with = int(counts[member])
    n_without = n_runs - n_with
    # P(it | not the member) - P(it | the member).
    shift = (counts - together) / n_without - together / n_with
    order = np.argsort(-shift, kind="stable")[:_SHOWN]
    order = order[shift[order] > 0]
    # Of a difference of two shares that are equal but for chance: sqrt(q (1 - q) (1/n1 + 1/n0)).
    overall = counts[order] / n_runs
    error = np.sqrt(overall * (1.0 - overall) * (1.0 / n_with + 1.0 / n_without))
    correlations = _correlations(selection, member, order)
    return tuple(
        StandIn(
            feature=str(selection.feature_names[j]),
            chosen=bool(selection.mask[j]),
            correlation=correlation,
            votes=int(counts[j]),
            votes_either=int(counts[j] + n_with - together[j]),
            shift=float(shift[j]),
            clear=bool(shift[j] > STANDARD_ERRORS * e),
        )
        for j, e, correlation in zip(order, error, correlations, strict=True)
    )


def _correlations(selection: Selection, member: int, features: Ints) -> list[float | None]:
    """Return the absolute correlations of a member with some other features; None without data."""
    data = selection.data_of_fit()
    if data is None:
        return [None] * len(features)
    (_, values), *_ = absolute_correlations(columns_of(data.X, np.array([member, *features])), "pearson")
    return [float(value) for value in values[0, 1:]]


# -- do weights and votes agree, and what is chosen with none, half and all of the weights? ----------------------------


@dataclass(frozen=True)
class Agreement:
    """Whether favored features got more votes than random ones would.

    A large p-value is no conflict: votes may be silent about features that matter, and with many features a conflict
    cannot be shown.

    Attributes
    ----------
    statistic : float
        Sum over the features of (weight - smallest weight) times votes.
    p_value : float or None
        Share of random dealings of the weights, the given one included, whose statistic is as large. None if features
        were only stated to be unlikely: there is nothing to deal.
    n_permutations : int
    by_blocks : bool
        Whether whole blocks were dealt, as weights were given by block.
    at : mapping of {"none", "half", "all"} to tuple of str or None
        The features that are chosen with so much of the prior knowledge. Half: the distance of each weight from the
        smallest one, and the penalty on features that are unlikely, are halved. None: the same small weight for all
        features and nothing held unlikely. A set is None only if prices are so high that, with fewer votes in all, hard
        constraints contradict each other.
    trust_in_lists : {"as_stated", "learned"}
        How the lists were used.
    lists : tuple of ListTrust
        What the votes say of each list of three or more features, and the weight that "learned" gives.
    other_trust : tuple of str or None
        The features that are chosen with the other `trust_in_lists`; None without lists, or as in `at`.
    """

    statistic: float
    p_value: float | None
    n_permutations: int
    by_blocks: bool
    at: Mapping[str, tuple[str, ...] | None]
    trust_in_lists: str = AS_STATED
    lists: tuple[ListTrust, ...] = ()
    other_trust: tuple[str, ...] | None = None


def agreement(
    selection: Selection,
    n_permutations: int = 2000,
    random_state: RandomState = 0,
    blocks: Any = None,
    node_limit: int | None = None,
) -> Agreement | None:
    """Test whether features of higher weight got more votes than random ones would, and decide with less weight.

    Parameters
    ----------
    selection : Selection
        From :func:`~ubayfs.decide`; one read from a file does not know the constraints.
    n_permutations : int, default 2000
        How often the weights are dealt to random features; constant ones, which cannot have votes, get none.
    random_state : int, Generator, RandomState or None, default 0
    blocks : mapping, DataFrame or Blocks, optional
        If weights are the same within each of these blocks, and no two overlap, the mean votes of whole blocks are
        dealt: features of a block are alike. Features outside all blocks are one more.
    node_limit : int, optional
        Nodes of branch and bound in each decision. Default: no limit.

    Returns
    -------
    agreement : Agreement or None
        None if nothing was stated: all weights are the same, and no feature is held unlikely.

    Examples
    --------
    >>> from ubayfs import Evidence, decide, explain
    >>> sets = [[1, 1, 0, 0, 0]] * 8 + [[1, 0, 1, 0, 0]] * 9
    >>> evidence = Evidence.from_sets(sets, ["a", "b", "c", "d", "e"])
    >>> agreement = explain.agreement(decide(evidence, weights={"a": 3, "b": 3}, max_size=2))
    >>> agreement.at
    {'none': ('a', 'c'), 'half': ('a', 'b'), 'all': ('a', 'b')}
    >>> round(agreement.statistic, 2), round(agreement.p_value, 1)
    (74.75, 0.2)
    """
    again = Redecider.from_selection(selection, "the agreement of prior and data", random_state, node_limit)
    n_permutations = check_int("n_permutations", n_permutations, low=1)
    posterior, system = selection.posterior, again.problem.utility.system
    if posterior is None:
        return None
    stated = posterior.weights if posterior.knowledge is None else posterior.knowledge.weights
    smallest = stated.min()
    if not ((stated > smallest).any() or system.from_prior.any()):
        return None
    usable = ~posterior.evidence.constant
    excess, votes = (stated - smallest)[usable], posterior.counts[usable].astype(np.float64)
    labels = _block_labels(blocks, posterior, excess)
    units = np.arange(len(votes)) if labels is None else labels
    stake: Floats = np.bincount(units, excess).astype(np.float64)
    mean_votes: Floats = np.bincount(units, votes) / np.bincount(units)
    return Agreement(
        statistic=float(excess @ votes),
        p_value=_p_value(stake, mean_votes, n_permutations, random_state) if excess.any() else None,
        n_permutations=n_permutations,
        by_blocks=labels is not None,
        at={
            "none": again.without_prior(),
            "half": again.with_weights(smallest + (posterior.weights - smallest) / 2.0, _half_unlikely),
            "all": selection.features,
        },
        **_list_facts(again, posterior),
    )


def _list_facts(again: Redecider, posterior: Posterior) -> dict[str, Any]:
    """Return how lists were used, what the votes say of them, and what is chosen with the other trust in them."""
    knowledge = posterior.knowledge
    if knowledge is None:
        return {}
    if knowledge.list_trust is None:
        limit = size_limit(part.constraint for part in again.problem.utility.system.parts)
        trust, (weights, lists) = AS_STATED, learn_trust(knowledge, posterior.evidence, limit)
    else:
        trust, weights, lists = LEARNED, knowledge.weights, knowledge.list_trust
    same = not (weights != posterior.weights).any()
    other = again.selection.features if same else again.with_weights(weights, lambda system: system)
    return {"trust_in_lists": trust, "lists": lists, "other_trust": other if lists else None}


def _p_value(stake: Floats, mean_votes: Floats, n_permutations: int, random_state: RandomState) -> float:
    """Return how often random dealings reach the statistic, one-sided; the given dealing counts as one of them."""
    rng, favored = as_generator(random_state), np.flatnonzero(stake)
    statistic, stake = stake @ mean_votes, stake[favored]
    dealt = np.array([stake @ rng.choice(mean_votes, len(stake), replace=False) for _ in range(n_permutations)])
    # Sums in another order differ by rounding: a dealing as large must count.
    return float((1 + (dealt >= statistic * (1.0 - ROUNDING)).sum()) / (n_permutations + 1))


def _block_labels(blocks: Any, posterior: Posterior, excess: Floats) -> Ints | None:
    """Return the number of the block of each feature that is not constant; None if weights are not by block."""
    resolved = Blocks.of(blocks)
    if not len(resolved):
        return None
    matrix = resolved.matrix(posterior.feature_names)[:, np.flatnonzero(~posterior.evidence.constant)]
    if (matrix.sum(axis=0) > 1).any():
        return None
    # 1 and up in blocks, 0 outside of all: no feature is in two blocks.
    labels = np.unique(np.arange(1, len(resolved) + 1) @ matrix, return_inverse=True)[1]
    n_weights = len(np.unique(np.column_stack([labels, excess]), axis=0))
    # Each block has one weight if there are as many pairs of block and weight as blocks.
    return labels if 1 < labels.max() + 1 == n_weights else None


def _half_unlikely(system: ConstraintSystem) -> ConstraintSystem:
    """Return the constraints with half the penalty, lambda tanh(rho / 2), on features that are unlikely."""
    from_prior = system.from_prior
    if not from_prior.any():
        return system
    # Solved for rho: tanh(rho' / 2) = tanh(rho / 2) / 2.
    halved = 2.0 * np.arctanh(np.tanh(system.rho / 2.0) / 2.0)
    return replace(system, rho=np.where(from_prior, halved, system.rho))
