"""How far inequalities may be violated, and at which penalty: inequalities prepared for linear programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .._arguments import Floats, Ints, Mask
from ..utility import RELATIVE_TOLERANCE, ROUNDING, Utility, log_row_admissibility

# Bounds beyond this many units are out of reach, whichever side of zero they are on.
_LARGEST_LEVEL = 1e15
# A row with larger multiples of its smallest coefficient has too many levels to be a grid.
_LARGEST_MULTIPLE = 1e6


def largest_violation(log_kappa: float, rho: Any) -> Any:
    """Return the violation at which the admissibility of an inequality has fallen to exp(log_kappa)."""
    # log 2 - log(1 + e^(rho v)) = L  <=>  rho v = log(2 e^(-L) - 1) = log(2 - e^L) - L, safe for very low L
    return (np.log(2.0 - np.exp(log_kappa)) - log_kappa) / rho


@dataclass(frozen=True, eq=False)
class RowGrid:
    """Inequalities (rows of the matrix A) in the form that programs need, prepared once for all cells.

    Where the coefficients are multiples of one unit, a^T z takes only values on a grid. Such a row is stored in its
    unit, with the bound rounded down to the grid (`ceiling`), and at level j, counted from the ceiling, it is violated
    by ``j * unit + offset``. Other rows are divided by their largest coefficient; their levels are real numbers.
    """

    A: sparse.csr_array  # coefficients, in the unit of each row, (n_rows, n_features + n_blocks)
    ceiling: Floats  # bounds, in the unit of each row, (n_rows,)
    unit: Floats
    offset: Floats
    top_level: Floats  # the highest level that any set reaches
    on_grid: Mask
    hard: Mask
    rho: Floats

    @classmethod
    def of(cls, utility: Utility) -> RowGrid:
        """Prepare the inequalities of a utility; those that no set can violate are left out."""
        system, tolerance = utility.system, utility.admissibility.tolerance
        A, n_rows = sparse.csr_array(system.A, copy=True), system.n_inequalities
        owner = np.repeat(np.arange(n_rows), np.diff(A.indptr))
        on_grid, unit = _units(A, owner)
        A.data = np.where(on_grid[owner], np.round(A.data / unit[owner]), A.data / unit[owner])
        with np.errstate(over="ignore"):
            bound = np.clip((system.b + tolerance) / unit, -_LARGEST_LEVEL, _LARGEST_LEVEL)
        ceiling = np.where(on_grid, np.floor(bound), bound)
        offset = np.where(on_grid, ceiling * unit - system.b, 0.0)
        offset[np.abs(offset) <= tolerance] = 0.0
        highest = np.bincount(owner, weights=np.maximum(A.data, 0.0), minlength=n_rows).astype(np.float64)
        top = highest - ceiling
        rows = np.flatnonzero(top > 0)
        rho = system.rho[rows]
        return cls(A[rows], ceiling[rows], unit[rows], offset[rows], top[rows], on_grid[rows], np.isinf(rho), rho)

    def highest_level(self, log_kappa: float) -> Floats:
        """Return how far each row may exceed its ceiling, in its unit, when log kappa is at least this."""
        with np.errstate(invalid="ignore"):
            level = (largest_violation(log_kappa, np.where(self.hard, 1.0, self.rho)) - self.offset) / self.unit
        # Rounding may only widen the cell. Off the grid a smaller excess is within the tolerance of the row, so that a
        # row which may not exceed its bound by more (rho beyond 1e10) may not exceed it at all.
        widened = level + RELATIVE_TOLERANCE
        off_grid = np.where(level < 0.5 * RELATIVE_TOLERANCE, 0.0, widened)
        level = np.where(self.on_grid, np.floor(widened), off_grid)
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


def _units(A: sparse.csr_array, owner: Ints) -> tuple[Mask, Floats]:
    """Return which rows take values on a grid only, and the unit of each row; `owner` is the row of each entry."""
    n_rows, size = A.shape[0], np.abs(A.data)
    smallest, largest = np.full(n_rows, np.inf), np.zeros(n_rows)
    np.minimum.at(smallest, owner, size)
    np.maximum.at(largest, owner, size)
    with np.errstate(invalid="ignore", divide="ignore"):
        multiple = size / smallest[owner]
    off_grid = (np.abs(multiple - np.round(multiple)) > ROUNDING * multiple) | (multiple > _LARGEST_MULTIPLE)
    on_grid = np.bincount(owner, weights=off_grid, minlength=n_rows) == 0
    return on_grid, np.where(np.diff(A.indptr) == 0, 1.0, np.where(on_grid, smallest, largest))
