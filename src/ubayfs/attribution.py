"""Attribution: which members of a set are there by the data, which by the prior, which by the constraints."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ._arguments import RandomState
from .exceptions import UBayFSError
from .optimize import as_optimizer
from .priors import DEFAULT_WEIGHT, PRIORS, Dirichlet, Posterior
from .selection import Problem, Selection

# Values closer than this, relative above one, differ by rounding only: the tolerance of a closed gap.
_ROUNDING = 1e-9
# Simulated values count as different beyond this many standard errors.
_STANDARD_ERRORS = 3.0


@dataclass(frozen=True)
class Attribution:
    """What would be chosen if less had been said.

    Attributes
    ----------
    chosen : tuple of str
        The set as it was chosen.
    without_prior : tuple of str or None
        The best set with the default weight for every feature, all constraints kept.
    without_constraints : tuple of str
        The best set of the same size with no constraint at all, the prior kept.
    data_alone : tuple of str or None
        The best set of the same size with neither.

    Where several sets are equally good, the one that shares most with the chosen set is meant. Both sets without the
    prior are None when there was none: importances were given.
    """

    chosen: tuple[str, ...]
    without_prior: tuple[str, ...] | None
    without_constraints: tuple[str, ...]
    data_alone: tuple[str, ...] | None

    def reasons(self, feature: str) -> tuple[str, ...]:
        """Return why a chosen feature is there: ("data",), or what it would not be there without.

        ("prior", "constraints") also stands for a feature that needs one of the two, whichever: the data alone would
        not choose it.
        """
        needs_prior = self.without_prior is not None and feature not in self.without_prior
        needs_constraints = feature not in self.without_constraints
        if not needs_prior and not needs_constraints:
            by_data = self.data_alone is None or feature in self.data_alone
            return ("data",) if by_data else ("prior", "constraints")
        return ("prior",) * needs_prior + ("constraints",) * needs_constraints


def attribution(selection: Selection, random_state: RandomState = 0) -> Attribution:
    """Tell what of a selection is data and what is belief.

    Parameters
    ----------
    selection : Selection
        From :func:`~ubayfs.workflow.decide` or :func:`~ubayfs.workflow.maximize`.
    random_state : int, Generator, RandomState or None, default 0
        For the hyperdirichlet prior and the genetic optimizer; the rest has no chance in it.

    Returns
    -------
    attribution : Attribution

    Examples
    --------
    >>> from ubayfs import Evidence, decide, max_size
    >>> evidence = Evidence.from_sets([[1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 1, 0]], ["a", "b", "c", "d"])
    >>> selection = decide(evidence, weights={"b": 5}, constraints=[max_size(2, rho=10)])
    >>> found = attribution(selection)
    >>> found.without_prior
    ('a', 'c')
    >>> [(feature, found.reasons(feature)) for feature in selection.features]
    [('a', ('data',)), ('b', ('prior',))]
    """
    problem = selection.problem
    if problem is None:
        raise UBayFSError("A selection read from a file keeps no constraints; call decide() again to attribute it.")
    mask, names = selection.mask, problem.feature_names
    without_prior = data_alone = None
    if selection.posterior is not None:
        neutral = _neutral(selection.posterior, random_state)
        without_prior = _names(names, _best_of(problem, neutral, mask, random_state))
        data_alone = _names(names, _most_important(neutral.mean, problem.utility.selectable, mask))
    freely = _most_important(problem.utility.theta, problem.utility.selectable, mask)
    return Attribution(selection.features, without_prior, _names(names, freely), data_alone)


def _names(names: NDArray[np.object_], mask: NDArray[np.bool_]) -> tuple[str, ...]:
    return tuple(names[mask].tolist())


def _neutral(posterior: Posterior, random_state: RandomState) -> Posterior:
    """Return the posterior of an expert who has nothing to say; what else a prior can be told falls away, too."""
    kind = PRIORS.get(posterior.prior, Dirichlet)
    if kind is Dirichlet and (posterior.weights == DEFAULT_WEIGHT).all():
        return posterior
    return kind().update(posterior.evidence, DEFAULT_WEIGHT, random_state=random_state)


def _best_of(
    problem: Problem, posterior: Posterior, chosen: NDArray[np.bool_], random_state: RandomState
) -> NDArray[np.bool_]:
    """Return the best set for other importances; the chosen one, when none is better than it."""
    utility = replace(problem.utility, theta=posterior.mean)
    optimizer = as_optimizer("exact" if problem.optimizer is None else problem.optimizer)
    found = optimizer.maximize(utility, random_state)
    # Also when the optimizer has no proof: it may come back with less than what is known already.
    tolerance = _ROUNDING * max(1.0, abs(found.value)) if np.isfinite(found.value) else 0.0
    if posterior.diagnostics is not None:
        errors = posterior.diagnostics.monte_carlo_error[found.chosen ^ chosen]
        tolerance += _STANDARD_ERRORS * float(np.sqrt((errors**2).sum()))
    return chosen if utility(chosen)[0] >= found.value - tolerance else found.chosen


def _most_important(
    theta: NDArray[np.float64], selectable: NDArray[np.bool_], chosen: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return the most important features, as many as are chosen; chosen ones come first among equals."""
    size = int(chosen.sum())
    most = np.zeros_like(chosen)
    if size == 0:
        return most
    candidates = np.flatnonzero(selectable)
    threshold = np.partition(theta[candidates], -size)[-size]
    # Equal importances may differ by rounding: compared as one value, they cannot decide who is in.
    tied = np.abs(theta - threshold) <= _ROUNDING * threshold
    rank = np.where(tied, threshold, theta)[candidates]
    most[candidates[np.lexsort((candidates, ~chosen[candidates], -rank))[:size]]] = True
    return most
