"""What can replace a member: the best set without it, and the features that the models chose in its stead."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._arguments import Floats, Ints, RandomState
from ..data.categories import columns_of
from ..data.correlation import absolute_correlations
from ..priors import Posterior
from ..selection import Selection
from ..utility import STANDARD_ERRORS
from .redecide import Redecider

# The fewest runs without a member that show what models chose instead, and how many such features are shown.
FEWEST_RUNS = 10
_SHOWN = 3


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
    """Tell for each member what is chosen without it, exactly, and which features stood in for it in the ensemble.

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
    >>> from ubayfs import Evidence, decide, max_size
    >>> sets = [[1, 1, 0, 0]] * 20 + [[1, 0, 1, 0]] * 15 + [[1, 0, 0, 1]] * 5
    >>> selection = decide(Evidence.from_sets(sets, ["a", "b", "c", "d"]), constraints=max_size(2, rho=10))
    >>> [(found.feature, found.added, round(found.loss_votes, 6)) for found in selection.substitutes()]
    [('a', ('c',), 25.0), ('b', ('c',), 5.0)]
    >>> stand_in = selection.substitutes()[1].stand_ins[0]
    >>> stand_in.feature, stand_in.votes, stand_in.votes_either, stand_in.shift
    ('c', 15, 35, 0.75)
    """
    again = Redecider.of(selection, "substitutes", random_state, node_limit)
    stand_ins = _stand_ins(selection)
    return tuple(
        _substitute(again, int(position), found) for position, found in zip(selection.indices, stand_ins, strict=True)
    )


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
    if posterior is None or len(members) == 0:
        return [()] * len(members)
    sets, counts = posterior.evidence.sets.astype(np.float64), posterior.counts
    together = (sets.T @ sets[:, members]).toarray()  # (n_features, n_members): runs that chose both
    n_runs = posterior.evidence.n_models
    return [
        _of_member(selection, posterior, int(i), together[:, k])
        if n_runs - counts[i] >= FEWEST_RUNS and counts[i] > 0
        else ()
        for k, i in enumerate(members)
    ]


def _of_member(selection: Selection, posterior: Posterior, member: int, together: Floats) -> tuple[StandIn, ...]:
    counts, n_runs = posterior.counts, posterior.evidence.n_models
    n_with = int(counts[member])
    n_without = n_runs - n_with
    shift = (counts - together) / n_without - together / n_with
    order = np.argsort(-shift, kind="stable")[:_SHOWN]
    order = order[shift[order] > 0]
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


def _correlations(selection: Selection, member: int, others: Ints) -> list[float | None]:
    """Return the absolute correlations of a member with some other features; None without data."""
    data = selection.data_of_fit()
    if data is None:
        return [None] * len(others)
    (_, values), *_ = absolute_correlations(columns_of(data.X, np.array([member, *others])), "pearson")
    return [float(value) for value in values[0, 1:]]
