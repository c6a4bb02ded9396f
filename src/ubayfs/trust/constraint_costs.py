"""What each constraint costs: the score that is gained by deciding without it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .._arguments import Mask, RandomState
from ..constraints.system import ConstraintSystem, Part
from ..selection import Selection
from ..utility import Utility
from .redecide import Redecider

# Without a limit on the size, a decision in which other constraints touch more features than this is not made: the
# number of pairs to be weighed against each other grows without bound.
MOST_FREE_FEATURES = 200


@dataclass(frozen=True)
class Change:
    """What a changed constraint brings.

    Attributes
    ----------
    gain, gain_votes : float or None
        Score gained, and the same in votes (None where importances were given without votes); 0 if the chosen set stays
        the best one. Both None if the decision was not made, since it would take too long.
    added, removed : tuple of str
        How the best set differs from the chosen one.
    proved : bool
        Whether that set is proved to be the best one; if not, the gain is the least that is known.
    """

    gain: float | None
    gain_votes: float | None
    added: tuple[str, ...]
    removed: tuple[str, ...]
    proved: bool


@dataclass(frozen=True)
class ConstraintCost(Change):
    """What would be gained without a constraint; see :class:`Change`.

    Attributes
    ----------
    position : int
        In the list of constraints that was decided with.
    title : str
    from_prior : bool
        Whether it stands for features that were stated to be unlikely.
    limits_size : bool
        Whether all features compete for places under it, as under max_size: without it, usually everything is chosen.
        Where other constraints touch very many features, that decision is not made, and `gain` is None.
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
    """Tell what each constraint costs, exactly: by deciding without it.

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
    costs : tuple of ConstraintCost
        One per constraint, in their order.

    Examples
    --------
    >>> from ubayfs import Evidence, cannot_link, decide, max_size, trust
    >>> sets = [[1, 1, 0, 0]] * 20 + [[1, 0, 1, 0]] * 15 + [[1, 0, 0, 1]] * 5
    >>> evidence = Evidence.from_sets(sets, ["a", "b", "c", "d"])
    >>> selection = decide(evidence, constraints=[max_size(2, rho=10), cannot_link(["a", "b"], rho=10)])
    >>> selection.features
    ('a', 'c')
    >>> for cost in trust.constraint_costs(selection):
    ...     print(cost.title, round(cost.gain_votes, 6), cost.added, cost.removed)
    max-size 2 5.01 ('d',) ()
    cannot-link a, b 5.0 ('b',) ('c',)
    """
    again = Redecider.of(selection, "the costs of constraints", random_state, node_limit)
    utility = again.problem.utility
    limits = size_limits(utility)
    return tuple(_cost(again, position, part, limits) for position, part in enumerate(utility.system.parts))


def size_limits(utility: Utility) -> Mask:
    """Return the inequalities in which every selectable feature counts, of shape (n_inequalities,)."""
    A, limits = utility.system.A, np.zeros(utility.system.n_inequalities, dtype=bool)
    for row in np.flatnonzero(np.diff(A.indptr) >= max(utility.selectable.sum(), 2)):
        limits[row] = (A[[row]].toarray()[0, : utility.n_features][utility.selectable] > 0).all()
    return limits


def _cost(again: Redecider, position: int, part: Part, limits: Mask) -> ConstraintCost:
    utility = again.problem.utility
    system, others = utility.system, np.ones(utility.system.n_inequalities, dtype=bool)
    others[system.rows_of(part)] = False
    rest, own = system.take(np.flatnonzero(others)), limits & ~others
    change, one_more = Change(None, None, (), (), False), None
    if others.all():
        change = Change(0.0, again.votes(0.0), (), (), True)
    elif not own.any() or limits[others].any() or _n_touched(rest, utility) <= MOST_FREE_FEATURES:
        change = _change(again, rest)
    if own.any() and (system.A[np.flatnonzero(own)].data == 1.0).all():
        one_more = _change(again, replace(system, b=system.b + own))
    return ConstraintCost(
        **vars(change), position=position, title=part.title, from_prior=part.from_prior, limits_size=bool(own.any()),
        one_more=one_more,
    )  # fmt: skip


def _change(again: Redecider, system: ConstraintSystem) -> Change:
    """Decide under other constraints, which the chosen set satisfies as well."""
    answer = again.decide(replace(again.problem.utility, system=system), again.selection.mask)
    assert answer.chosen is not None
    gain = 0.0 - answer.loss  # 0, not -0, where nothing is lost
    return Change(gain, again.votes(gain), *again.changes(answer.chosen), answer.proved)


def _n_touched(system: ConstraintSystem, utility: Utility) -> int:
    """Return how many selectable features inequalities speak of."""
    columns = np.zeros(system.A.shape[1], dtype=bool)
    columns[system.A.indices] = True
    touched = columns[: system.n_features] | (columns[system.n_features :] @ system.blocks > 0)
    return int((touched & utility.selectable).sum())
