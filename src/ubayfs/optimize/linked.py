"""Features that hard rows tie together, merged into one, so that a search can move them whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..constraints.system import ConstraintSystem
from ..utility import Utility


@dataclass(frozen=True, eq=False)
class LinkedUtility:
    """A utility over units: single features, or groups that hard rows allow only as a whole.

    Attributes
    ----------
    utility : Utility
        Over units; every set of units is worth what the set of their members is.
    unit_of : ndarray of int of shape (n_features,)
    required : ndarray of int
        Units that hard rows demand, directly or because a required one needs them.
    """

    utility: Utility
    unit_of: NDArray[np.intp]
    required: NDArray[np.intp]

    @classmethod
    def of(cls, utility: Utility) -> LinkedUtility:
        """Merge the linked features of a utility."""
        needs = _needs(utility)
        n_units, unit_of = sparse.csgraph.connected_components(needs, directed=True, connection="strong")
        if n_units < utility.n_features:
            # Number the units by their first feature: without links, units are the features in their order.
            _, first = np.unique(unit_of, return_index=True)
            unit_of = np.argsort(np.argsort(first))[unit_of].astype(np.intp)
        else:
            unit_of = np.arange(utility.n_features)
        members = sparse.csr_array(
            (np.ones(len(unit_of)), (np.arange(len(unit_of)), unit_of)), shape=(len(unit_of), n_units)
        )
        required = np.unique(unit_of[_required(utility, needs)])
        return cls(_over_units(utility, members), unit_of, required)

    def expand(self, units: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return sets of units, of shape (..., n_units), as sets of features."""
        return units[..., self.unit_of]


def _hard_rows_of_length(utility: Utility, length: int) -> NDArray[np.intp]:
    """Return the hard rows with exactly `length` entries, all of them on features."""
    system = utility.system
    rows = np.flatnonzero(np.isinf(system.rho) & (np.diff(system.A.indptr) == length))
    entries = system.A.indptr[rows][:, None] + np.arange(length)
    return rows[(system.A.indices[entries] < utility.n_features).all(axis=1)]


def _needs(utility: Utility) -> sparse.csr_array:
    """Return the graph with an edge from i to j when i alone breaks a hard row on i and j and j mends it."""
    system, n = utility.system, utility.n_features
    rows = _hard_rows_of_length(utility, 2)
    start = system.A.indptr[rows]
    first, second = system.A.indices[start], system.A.indices[start + 1]
    a, c = system.A.data[start], system.A.data[start + 1]
    bound = system.b[rows] + utility.admissibility.tolerance[rows]
    both = a + c <= bound
    forward, backward = both & (a > bound), both & (c > bound)
    origin = np.concatenate([first[forward], second[backward]])
    target = np.concatenate([second[forward], first[backward]])
    return sparse.csr_array((np.ones(len(origin), dtype=bool), (origin, target)), shape=(n, n))


def _required(utility: Utility, needs: sparse.csr_array) -> NDArray[np.bool_]:
    """Return the mask of features that every set keeping the hard rows must contain."""
    system = utility.system
    rows = _hard_rows_of_length(utility, 1)
    entries = system.A.indptr[rows]
    demanding = utility.admissibility.excess(np.zeros(len(rows)), rows) > 0
    required = np.zeros(utility.n_features, dtype=bool)
    required[system.A.indices[entries[demanding]]] = True
    needed_by = sparse.csr_array(needs.T, dtype=np.float64)
    while True:
        more = required | (needed_by @ required.astype(np.float64) > 0)
        if (more == required).all():
            return required
        required = more


def _over_units(utility: Utility, members: sparse.csr_array) -> Utility:
    n_features, n_units = members.shape
    if n_units == n_features:
        return utility
    system = utility.system
    A = sparse.hstack([system.A[:, :n_features] @ members, system.A[:, n_features:]], format="csr")
    A = sparse.csr_array(A)
    A.eliminate_zeros()
    A.sort_indices()
    blocks = sparse.csr_array(system.blocks.astype(np.float64) @ members > 0)
    selectable: Any = members.T @ (~utility.selectable).astype(np.float64) == 0
    return Utility(
        members.T @ utility.theta,
        ConstraintSystem(A, system.b, system.rho, blocks, system.parts, system.numbers),
        utility.constraint_strength,
        selectable,
    )
