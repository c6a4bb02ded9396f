"""Ties: members that could be exchanged without any loss."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..selection import Selection
from ..utility import STANDARD_ERRORS, score_tolerance

# Exchanges that are tried for one member: enough where many features have no vote at all.
_TRIED = 200


def as_good(selection: Selection, value: float) -> bool:
    """Tell whether a set of this value is as good as the chosen one, but for rounding."""
    return bool(selection.value - value <= score_tolerance(selection.value))


def tied_members(selection: Selection) -> NDArray[np.bool_]:
    """Return which members could be exchanged for another feature without loss, as a mask of shape (n_features,).

    Known from alternatives that are exactly as good, and from trying features of the same importance in their place.
    """
    chosen = selection.mask
    tied = np.zeros_like(chosen)
    for other in selection.alternatives:
        if as_good(selection, other.value):
            tied |= chosen & ~np.isin(np.arange(len(chosen)), other.indices)
    if selection.problem is None:
        return tied
    for member in np.flatnonzero(chosen & ~tied):
        tied[member] = _exchangeable(selection, int(member))
    return tied


def _exchangeable(selection: Selection, member: int) -> bool:
    assert selection.problem is not None
    utility, theta = selection.problem.utility, selection.importance
    tolerance = score_tolerance(selection.value) + _simulated(selection, member)
    others = np.flatnonzero(~selection.mask & utility.selectable & (np.abs(theta - theta[member]) <= tolerance))[
        :_TRIED
    ]
    if len(others) == 0:
        return False
    kept = selection.indices[selection.indices != member]
    columns = np.column_stack([np.tile(kept, (len(others), 1)), others]).ravel()
    starts = np.arange(len(others) + 1) * (len(kept) + 1)
    sets = sparse.csr_array((np.ones(len(columns)), columns, starts), shape=(len(others), len(theta)))
    loss = selection.value - utility(sets)
    return bool((loss <= np.broadcast_to(tolerance, len(theta))[others]).any())


def _simulated(selection: Selection, member: int) -> NDArray[np.float64] | float:
    """Return by how much simulated importances may seem to differ from that of a member."""
    posterior = selection.posterior
    if posterior is None or posterior.diagnostics is None:
        return 0.0
    error = posterior.diagnostics.monte_carlo_error
    return STANDARD_ERRORS * np.sqrt(error**2 + error[member] ** 2)
