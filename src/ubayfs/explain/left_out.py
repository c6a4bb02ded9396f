"""What each constraint costs, and why strong features are not chosen: which constraint, or which rival, exactly.

A constraint costs the score of the best set without it minus that of the chosen set. Times the total of votes and
weights, that is the cost in votes.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from .._arguments import Ints, Mask, RandomState, check_int, mask_of
from ..constraints.constraint import inequalities, one_row
from ..constraints.system import ConstraintSystem, Part
from ..constraints.utility import Utility, score_tolerance
from ..decision.problem import Violation
from ..decision.selection import Selection
from ..optimize.base import Limit
from ..optimize.infeasibility import explain_conflict
from .redecide import Redecider, full_rows

# Nodes of branch and bound for a decision without any limit on the size, which may take much longer than the one that
# was asked for.
_NODES_WITHOUT_LIMIT = 20


@dataclass(frozen=True)
class Change:
    """What a changed constraint brings.

    Attributes
    ----------
    gain, gain_votes : float
        Score gained, and the same in votes (None where importances were given without votes); 0 if the chosen set stays
        the best one.
    gain_bound, gain_bound_votes : float or None
        No set gains more: the same as the gain where that is proved, None if the optimizer gives no bound.
    added, removed : tuple of str
        How the best set differs from the chosen one.
    proved : bool
        Whether that set is proved to be the best one; if not, the gain is at least `gain` and at most `gain_bound`.
    """

    gain: float
    gain_votes: float | None
    gain_bound: float | None
    gain_bound_votes: float | None
    added: tuple[str, ...]
    removed: tuple[str, ...]
    proved: bool


@dataclass(frozen=True)
class ConstraintCost(Change):
    """What would be gained without a constraint, with the same features to select from; see :class:`Change`.

    Attributes
    ----------
    position : int
        In the list of constraints that was decided with.
    title : str
    from_prior : bool
        Whether it stands for features that were stated to be unlikely.
    limits_size : bool
        Whether all features compete for places under it, as under max_size: without it, usually everything is chosen.
        Where that decision is too large to be proved, there are only limits of the gain.
    one_more : Change or None
        What one more place brings; None if the constraint does not limit the number of features.
    """

    position: int
    title: str
    from_prior: bool
    limits_size: bool
    one_more: Change | None


def constraint_costs(
    selection: Selection, random_state: RandomState = 0, node_limit: int | None = None
) -> tuple[ConstraintCost, ...]:
    """Return what each constraint costs, exactly: by deciding without it.

    Parameters
    ----------
    selection : Selection
        From :func:`~ubayfs.decide` or :func:`~ubayfs.maximize`; one read from a file does not know the constraints.
    random_state : int, Generator, RandomState or None, default 0
        For the genetic optimizer; the rest has no chance in it.
    node_limit : int, optional
        Nodes of branch and bound in each decision; what is not proved by then is marked as such. Default: no limit. A
        decision without any limit on the size takes at most 20.

    Returns
    -------
    costs : tuple of ConstraintCost
        One per constraint, in their order.

    Examples
    --------
    >>> from ubayfs import Evidence, cannot_link, decide, explain, max_size
    >>> sets = [[1, 1, 0, 0]] * 20 + [[1, 0, 1, 0]] * 15 + [[1, 0, 0, 1]] * 5
    >>> evidence = Evidence.from_sets(sets, ["a", "b", "c", "d"])
    >>> selection = decide(evidence, constraints=[max_size(2), cannot_link(["a", "b"])])
    >>> selection.features
    ('a', 'c')
    >>> for cost in explain.constraint_costs(selection):
    ...     print(cost.title, round(cost.gain_votes, 6), cost.added, cost.removed)
    max-size 2 5.01 ('d',) ()
    cannot-link a, b 5.0 ('b',) ('c',)
    """
    again = Redecider.from_selection(selection, "the costs of constraints", random_state, node_limit)
    utility = again.problem.utility
    rows = [row for row, coefficients in full_rows(utility).items() if (coefficients > 0).all()]
    limits = mask_of(rows, utility.system.n_inequalities)
    return tuple(_cost(again, position, part, limits) for position, part in enumerate(utility.system.parts))


def _cost(again: Redecider, position: int, part: Part, limits: Mask) -> ConstraintCost:
    utility = again.problem.utility
    system, its_rows = utility.system, mask_of(utility.system.rows_of(part), utility.system.n_inequalities)
    limits_size, one_more = bool(limits[its_rows].any()), None
    # A size, not a budget: one more is room for one more feature.
    if limits_size and (system.A[np.flatnonzero(limits & its_rows)].data == 1.0).all():
        one_more = _change(again, replace(system, b=system.b + (limits & its_rows)))
    # Without the last limit on the size the search has far more sets to look at.
    if limits_size and not limits[~its_rows].any():
        again = replace(again, node_limit=min(again.node_limit or _NODES_WITHOUT_LIMIT, _NODES_WITHOUT_LIMIT))
    nothing = Change(0.0, again.votes(0.0), 0.0, again.votes(0.0), (), (), True)
    change = _change(again, system.take(np.flatnonzero(~its_rows))) if its_rows.any() else nothing
    return ConstraintCost(
        **vars(change), position=position, title=part.title, from_prior=part.from_prior, limits_size=limits_size,
        one_more=one_more,
    )  # fmt: skip


def _change(again: Redecider, system: ConstraintSystem) -> Change:
    """Decide under other constraints, which the chosen set satisfies as well."""
    answer = again.decide(replace(again.problem.utility, system=system), again.selection.mask)
    assert answer.chosen is not None
    gain, most = 0.0 - answer.loss, 0.0 - answer.lowest_loss  # 0, not -0, where nothing is lost
    bound, bound_votes = (most, again.votes(most)) if np.isfinite(most) else (None, None)
    return Change(gain, again.votes(gain), bound, bound_votes, *again.changes(answer.chosen), answer.proved)


# -- features that are left out ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LeftOut:
    """Why a feature is not chosen.

    Attributes
    ----------
    feature : str
    count : int or None
        Its votes; None where importances were given without votes.
    because : str
        "constant" or "min_votes"
            It cannot be selected at all.
        "contradiction"
            Hard constraints contradict every set with it.
        "tie"
            A set with it is just as good.
        "constraint"
            It would be chosen without any one of `constraints`, or a set with it were as good as the best one. Where
            none alone suffices: without all of them together, or no member has to leave for it, but it violates these.
        "prior"
            It would be chosen with the same weight for all features and nothing held unlikely.
        "rival"
            Places are limited, and `rivals` have them.
        "search"
            A set with it is better, or may be: the optimizer has no proof.
    constraints : tuple of int
        Positions of the constraints that keep it out: for a rival those that limit the size, for a contradiction those
        that exclude it together.
    titles : tuple of str
        The same constraints in words.
    rivals : tuple of str
        Members that leave the best set with it.
    violated : tuple of str
        Inequalities that the best set with it violates, or violates more than the chosen set does.
    loss, loss_votes : float or None
        Score that the best set with it lacks, and the same in votes; None if there is no such set.
    proved : bool
        Whether that is proved; if not, the loss is at most this.
    """

    feature: str
    count: int | None
    because: str
    constraints: tuple[int, ...]
    titles: tuple[str, ...]
    rivals: tuple[str, ...]
    violated: tuple[str, ...]
    loss: float | None
    loss_votes: float | None
    proved: bool


def left_out(
    selection: Selection,
    n: int = 5,
    costs: tuple[ConstraintCost, ...] | None = None,
    random_state: RandomState = 0,
    node_limit: int | None = None,
) -> tuple[LeftOut, ...]:
    """Return why the strongest features that are not chosen are out, exactly: by deciding with each one required.

    Parameters
    ----------
    selection : Selection
        From :func:`~ubayfs.decide` or :func:`~ubayfs.maximize`; one read from a file does not know the constraints.
    n : int, default 5
        How many features, those with the most votes first; fewer if votes or weights speak for fewer.
    costs : tuple of ConstraintCost, optional
        Of the same selection, if they are known already.
    random_state : int, Generator, RandomState or None, default 0
        For the hyperdirichlet prior and the genetic optimizer; everything else is deterministic.
    node_limit : int, optional
        Nodes of branch and bound in each decision; what is not proved by then is marked as such. Default: no limit.

    Returns
    -------
    left_out : tuple of LeftOut

    Examples
    --------
    >>> from ubayfs import Evidence, cannot_link, decide, explain, max_size
    >>> sets = [[1, 1, 0, 0]] * 20 + [[1, 0, 1, 0]] * 15 + [[1, 0, 0, 1]] * 5
    >>> evidence = Evidence.from_sets(sets, ["a", "b", "c", "d"])
    >>> selection = decide(evidence, constraints=[max_size(2), cannot_link(["a", "b"])])
    >>> for out in explain.left_out(selection):
    ...     print(out.feature, out.count, out.because, out.titles, out.rivals, round(out.loss_votes, 6))
    b 20 constraint ('cannot-link a, b',) ('a',) 20.0
    d 5 rival ('max-size 2',) ('c',) 10.0
    """
    again = Redecider.from_selection(selection, "the reason why a feature is left out", random_state, node_limit)
    positions = strongest(selection, check_int("n", n, low=0))
    if len(positions) == 0:
        return ()
    costs = constraint_costs(selection, random_state, node_limit) if costs is None else costs
    neutral = again.without_prior() or ()
    return tuple(_reason(again, int(position), costs, neutral) for position in positions)


def strongest(selection: Selection, n: int) -> Ints:
    """Return the features with the most votes that are not chosen and that votes or weights speak for."""
    out = ~selection.mask & (selection.importance > 0)
    if selection.counts is not None and selection.weights is not None:
        out &= (selection.counts > 0) | (selection.weights > selection.weights.min())
    positions = np.flatnonzero(out)
    votes = selection.importance if selection.counts is None else selection.counts
    return positions[np.lexsort((-selection.importance[positions], -votes[positions]))][:n]


def _reason(again: Redecider, position: int, costs: tuple[ConstraintCost, ...], neutral: tuple[str, ...]) -> LeftOut:
    selection, name = again.selection, str(again.problem.feature_names[position])
    count = None if selection.counts is None else round(float(selection.counts[position]))
    rivals: tuple[str, ...] = ()
    violated: tuple[Violation, ...] = ()
    loss: float | None = None
    keep_out: tuple[int, ...] = ()
    proved = True
    if not again.problem.utility.selectable[position]:
        because = again.problem.why_unselectable(position)
    else:
        answer = again.with_feature(position)
        proved = answer.proved
        if answer.chosen is None:
            because, keep_out = ("contradiction", _conflict(again, position)) if answer.proved else ("search", ())
        else:
            loss, rivals = answer.loss, again.changes(answer.chosen)[1]
            violated = _newly_violated(again, answer.chosen)
            lets_in = _lets_in(again, position, costs) if loss > 0 else []
            because, keep_out = _cause(name in neutral, loss, rivals, violated, lets_in, costs)
    titles, labels = tuple(costs[k].title for k in keep_out), tuple(violation.label for violation in violated)
    votes = None if loss is None else again.votes(loss)
    return LeftOut(name, count, because, keep_out, titles, rivals, labels, loss, votes, proved)


def _cause(
    by_prior: bool,
    loss: float,
    rivals: tuple[str, ...],
    violated: tuple[Violation, ...],
    lets_in: list[ConstraintCost],
    costs: tuple[ConstraintCost, ...],
) -> tuple[str, tuple[int, ...]]:
    """Return the reason, and the constraints that keep a feature out."""
    if loss <= 0:
        return ("tie" if loss == 0 else "search"), ()
    demands = tuple(cost.position for cost in lets_in if not cost.from_prior)
    unlikely = tuple(cost.position for cost in lets_in if cost.from_prior)
    if demands:
        return "constraint", demands
    if unlikely or by_prior:
        return "prior", unlikely
    if rivals:
        return "rival", tuple(cost.position for cost in costs if cost.limits_size and cost.gain != 0)
    return "constraint", tuple(sorted({v.position for v in violated if v.position is not None}))


def _lets_in(again: Redecider, position: int, costs: tuple[ConstraintCost, ...]) -> list[ConstraintCost]:
    """Return the constraints, limits of the size aside, without one of which, or else all, a feature is chosen.

    Where it is in no best set without one of them, a set as good as the best one suffices; or those are dropped
    together that the chosen set violates with one more feature.
    """
    selection, utility = again.selection, again.problem.utility
    costs = tuple(cost for cost in costs if not cost.limits_size)
    name = str(again.problem.feature_names[position])
    if suffice := [cost for cost in costs if name in cost.added]:
        return suffice
    begin = selection.mask | mask_of([position], len(selection.mask))
    violated = {violation.position for violation in _newly_violated(again, begin)}
    in_the_way = [cost for cost in costs if cost.position in violated]
    for cost in in_the_way:
        answer = again.with_feature(position, _without(utility, [cost]), nearest=False)
        # Without the constraint a set with the feature gains as much as the best one.
        if answer.loss + cost.gain <= score_tolerance(selection.value + cost.gain):
            suffice.append(cost)
    demands = [cost for cost in in_the_way if not cost.from_prior]
    if suffice or len(demands) < 2:
        return suffice
    together = again.decide(_without(utility, demands), begin)
    return demands if together.chosen is not None and together.chosen[position] else []


def _without(utility: Utility, dropped: list[ConstraintCost]) -> Utility:
    system = utility.system
    rows = np.concatenate([system.rows_of(system.parts[cost.position]) for cost in dropped])
    return replace(utility, system=system.take(np.setdiff1d(np.arange(system.n_inequalities), rows)))


def _newly_violated(again: Redecider, chosen: Mask) -> tuple[Violation, ...]:
    """Return what a set violates more than the chosen one does."""
    before = {violation.label: violation.amount for violation in again.selection.metrics.violations}
    after = again.problem.measure(chosen).violations
    return tuple(violation for violation in after if violation.amount > before.get(violation.label, 0.0))


def _conflict(again: Redecider, position: int) -> tuple[int, ...]:
    """Return the constraints that together exclude a feature."""
    utility = again.problem.utility
    row = inequalities(one_row([position], -1.0, utility.n_features), -1.0, np.inf, "required")
    required = replace(utility, system=utility.system.with_inequalities(row))
    seconds = getattr(again.optimizer, "time_limit", None)
    conflict = explain_conflict(required, Limit(None if seconds is None else time.monotonic() + seconds))
    return tuple(position for position in conflict.positions if position < len(utility.system.parts))
