"""Agreement of prior weights and votes; and what is chosen with none, half and all of the weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._arguments import Floats, Ints, RandomState, as_generator, check_int
from ..constraints import ConstraintSystem
from ..data.blocks import Blocks
from ..priors import Posterior
from ..selection import Selection
from ..utility import ROUNDING
from .redecide import Redecider


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
    """

    statistic: float
    p_value: float | None
    n_permutations: int
    by_blocks: bool
    at: Mapping[str, tuple[str, ...] | None]


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
    >>> from ubayfs import Evidence, decide, max_size, trust
    >>> sets = [[1, 1, 0, 0, 0]] * 8 + [[1, 0, 1, 0, 0]] * 9
    >>> evidence = Evidence.from_sets(sets, ["a", "b", "c", "d", "e"])
    >>> found = trust.agreement(decide(evidence, {"a": 3, "b": 3}, constraints=max_size(2, rho=10)))
    >>> found.at
    {'none': ('a', 'c'), 'half': ('a', 'b'), 'all': ('a', 'b')}
    >>> round(found.statistic, 2), round(found.p_value, 1)
    (74.75, 0.2)
    """
    again = Redecider.of(selection, "the agreement of prior and data", random_state, node_limit)
    n_permutations = check_int("n_permutations", n_permutations, low=1)
    posterior, system = selection.posterior, again.problem.utility.system
    if posterior is None or not ((posterior.weights > posterior.weights.min()).any() or system.from_prior.any()):
        return None
    smallest = posterior.weights.min()
    usable = ~posterior.evidence.constant
    excess, votes = (posterior.weights - smallest)[usable], posterior.counts[usable].astype(np.float64)
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
    )


def _p_value(stake: Floats, mean_votes: Floats, n_permutations: int, random_state: RandomState) -> float:
    """Return how often random dealings reach the statistic, one-sided; the given dealing counts as one of them."""
    rng, favored = as_generator(random_state), np.flatnonzero(stake)
    statistic, stake = stake @ mean_votes, stake[favored]
    dealt = np.array([stake @ rng.choice(mean_votes, len(stake), replace=False) for _ in range(n_permutations)])
    return float((1 + (dealt >= statistic * (1.0 - ROUNDING)).sum()) / (n_permutations + 1))


def _block_labels(blocks: Any, posterior: Posterior, excess: Floats) -> Ints | None:
    """Return the number of the block of each feature that is not constant; None if weights are not by block."""
    known = Blocks.of(blocks)
    if not len(known):
        return None
    matrix = known.matrix(posterior.feature_names)[:, np.flatnonzero(~posterior.evidence.constant)]
    if (matrix.sum(axis=0) > 1).any():
        return None
    labels = np.unique(np.arange(1, len(known) + 1) @ matrix, return_inverse=True)[1]
    n_weights = len(np.unique(np.column_stack([labels, excess]), axis=0))
    return labels if 1 < labels.max() + 1 == n_weights else None


def _half_unlikely(system: ConstraintSystem) -> ConstraintSystem:
    """Return the constraints with half the penalty, lambda tanh(rho / 2), on features that are unlikely."""
    from_prior = system.from_prior
    if not from_prior.any():
        return system
    halved = 2.0 * np.arctanh(np.tanh(system.rho / 2.0) / 2.0)
    return replace(system, rho=np.where(from_prior, halved, system.rho))
