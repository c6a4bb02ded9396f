"""How far rows may be violated, and what that costs: rows prepared for linear programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..utility import RELATIVE_TOLERANCE, Utility, log_row_admissibility

# Bounds beyond this many units are out of reach, whichever side of zero they are on.
_LARGEST_LEVEL = 1e15


def largest_violation(log_kappa: float, rho: Any) -> Any:
    """Return the violation at which the admissibility of a row has fallen to exp(log_kappa)."""
    # log 2 - log(1 + e^(rho v)) = L  <=>  rho v = log(2 e^(-L) - 1) = log(2 - e^L) - L, safe for very low L
    return (np.log(2.0 - np.exp(log_kappa)) - log_kappa) / rho


@dataclass(frozen=True, eq=False)
class Levels:
    """Rows in the form that programs need, prepared once for all cells.

    Rows whose coefficients are multiples of one unit take only values on a grid: they are kept in that unit, with
    the bound rounded down to the grid (`ceiling`), and violation level j exceeds the bound by ``j * unit + offset``.
    Other rows are divided by their largest coefficient; their violations are not a grid.
    """

    A: sparse.csr_array
    ceiling: NDArray[np.float64]
    unit: NDArray[np.float64]
    offset: NDArray[np.float64]
    top_level: NDArray[np.float64]
    on_grid: NDArray[np.bool_]
    hard: NDArray[np.bool_]
    rho: NDArray[np.float64]

    @classmethod
    def of(cls, utility: Utility) -> Levels:
        """Prepare the rows of a utility; rows that no set can violate are left out."""
        system, tolerance = utility.system, utility.admissibility.tolerance
        A = sparse.csr_array(system.A, copy=True)
        lengths = np.diff(A.indptr)
        owner = np.repeat(np.arange(system.n_inequalities), lengths)
        size = np.abs(A.data)
        smallest = np.full(system.n_inequalities, np.inf)
        np.minimum.at(smallest, owner, size)
        largest = np.zeros(system.n_inequalities)
        np.maximum.at(largest, owner, size)
        with np.errstate(invalid="ignore", divide="ignore"):
            in_units = size / smallest[owner]
        off_grid = (np.abs(in_units - np.round(in_units)) > 1e-12 * in_units) | (in_units > 1e6)
        on_grid = np.bincount(owner, weights=off_grid, minlength=system.n_inequalities) == 0
        unit = np.where(lengths == 0, 1.0, np.where(on_grid, smallest, largest))
        A.data = np.where(on_grid[owner], np.round(A.data / unit[owner]), A.data / unit[owner])
        with np.errstate(over="ignore"):
            bound = np.clip((system.b + tolerance) / unit, -_LARGEST_LEVEL, _LARGEST_LEVEL)
        ceiling = np.where(on_grid, np.floor(bound), bound)
        offset = np.where(on_grid, ceiling * unit - system.b, 0.0)
        offset[np.abs(offset) <= tolerance] = 0.0
        highest = np.bincount(owner, weights=np.maximum(A.data, 0.0), minlength=system.n_inequalities).astype(
            np.float64
        )
        top = highest - ceiling
        keep = np.flatnonzero(top > 0)
        return cls(
            A[keep], ceiling[keep], unit[keep], offset[keep], top[keep], on_grid[keep],
            np.isinf(system.rho[keep]), system.rho[keep],
        )  # fmt: skip

    def highest_level(self, log_kappa: float) -> NDArray[np.float64]:
        """Return how far each row may exceed its ceiling, in its unit, when log kappa is at least this."""
        with np.errstate(invalid="ignore"):
            level = (largest_violation(log_kappa, np.where(self.hard, 1.0, self.rho)) - self.offset) / self.unit
        # Rounding may only widen the cell. Off the grid less than 1e-9 is within the tolerance of the row, so that a
        # row which may not exceed its bound by more (rho beyond 1e10) may not exceed it at all.
        off_grid = np.where(level < 0.5 * RELATIVE_TOLERANCE, 0.0, level + 1e-9)
        level = np.where(self.on_grid, np.floor(level + 1e-9), off_grid)
        return np.where(self.hard, 0.0, np.clip(level, 0.0, self.top_level))

    def penalty(self, row: int, level: Any) -> Any:
        """Return -log admissibility of a row at some levels above its ceiling."""
        violation = np.where(np.asarray(level) > 0, np.asarray(level) * self.unit[row] + self.offset[row], 0.0)
        return -log_row_admissibility(violation, self.rho[row])

    def penalty_slope(self, row: int, level: Any) -> Any:
        """Return the derivative of the penalty by the level; at level 0 from the right."""
        from scipy.special import expit

        violation = np.asarray(level) * self.unit[row] + self.offset[row]
        return self.rho[row] * self.unit[row] * expit(self.rho[row] * violation)
