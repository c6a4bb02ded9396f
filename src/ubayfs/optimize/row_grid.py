"""How far inequalities may be violated, and at which penalty: inequalities prepared for linear programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._arguments import Floats, Ints, Mask
from ..utility import RELATIVE_TOLERANCE, ROUNDING, Utility, log_row_admissibility

# Bounds beyond this many units are out of reach, whichever side of zero they are on.
_LARGEST_LEVEL = 1e15
# A row with larger multiples of its smallest coefficient has too many levels to be a grid.
_LARGEST_MULTIPLE = 1e6
# Coefficients are nearly on a grid when they are so close to multiples of the smallest one, divided by up to so much.
_NEARLY, _LARGEST_DIVISOR = 1e-4, 6
# Rows looked at for this.
_MOST_SPLIT = 100


def largest_violation(log_kappa: float, rho: Any) -> Any:
    """Return the violation at which the admissibility of an inequality has fallen to exp(log_kappa)."""
    # log 2 - log(1 + e^(rho v)) = L  <=>  rho v = log(2 e^(-L) - 1) = log(2 - e^L) - L, safe for very low L
    return (np.log(2.0 - np.exp(log_kappa)) - log_kappa) / rho


@dataclass(frozen=True, eq=False)
class RowGrid:
    """Inequalities (rows of the matrix A) in the form that programs need, prepared once for all cells.

    Where the coefficients are multiples of one unit, a^T z takes only values on a grid. Such a row is stored in its
    unit, with the bound rounded down to the grid (`ceiling`), and at level j, counted from the ceiling, it is violated
    by ``j * unit + offset``. Other rows are divided by their largest coefficient; their levels are real numbers. Hard
    rows that are nearly on a grid are followed, behind all others, by rows that are together equivalent to them.
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
        grid = cls(A[rows], ceiling[rows], unit[rows], offset[rows], top[rows], on_grid[rows], np.isinf(rho), rho)
        return grid._with_split_rows()

    def _with_split_rows(self) -> RowGrid:
        """Add to hard rows that are nearly on a grid rows that say the same on separate scales."""
        nearly = np.flatnonzero(self.hard & ~self.on_grid)[:_MOST_SPLIT].tolist()
        split = [part for row in nearly for part in _split(self.A[[row]].toarray().ravel(), float(self.ceiling[row]))]
        if not split:
            return self
        A = np.array([part.coefficients for part in split])
        bound, n_new = np.array([part.bound for part in split]), len(split)
        return RowGrid(
            A=sparse.csr_array(sparse.vstack([self.A, sparse.csr_array(A)])),
            ceiling=np.append(self.ceiling, bound),
            unit=np.append(self.unit, np.ones(n_new)),
            offset=np.append(self.offset, np.zeros(n_new)),
            top_level=np.append(self.top_level, np.maximum(A, 0.0).sum(axis=1) - bound),
            on_grid=np.append(self.on_grid, [part.on_grid for part in split]),
            hard=np.append(self.hard, np.ones(n_new, dtype=bool)),
            rho=np.append(self.rho, np.full(n_new, np.inf)),
        )

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


class SplitRow(NamedTuple):
    """One of the rows that are together equivalent to a hard row which is nearly on a grid."""

    coefficients: Floats
    bound: float
    on_grid: bool


def _split(a: Floats, b: float) -> list[SplitRow]:
    r"""Return rows that are together equivalent to a^T z <= b if a is nearly on a grid; none if it is not.

    Let :math:`a = u p + e` with whole numbers p and :math:`\sum |e_i| < u / 4`. Then :math:`a^T z \le b` can depend on
    e at one value P of :math:`p^T z` only, the whole number next to :math:`b / u`: below it the row holds, above it
    does not. So it is equivalent to :math:`p^T z \le P` and, if e decides at P, to
    :math:`e^T z \le b - u P + m (P - p^T z)` with an m that makes this hold at every value below P. Divided by the
    largest :math:`|e_i|`, differences that the solver would tolerate in a are of the order of one here.
    """
    unit = _nearly_multiples(a[a != 0.0])
    if unit is None:
        return []
    p = np.round(a / unit)
    e = a - unit * p
    level = float(np.round(b / unit))
    rest = b - unit * level
    lowest, highest = np.minimum(e, 0.0).sum(), np.maximum(e, 0.0).sum()
    if rest < lowest:  # every set at this level exceeds the bound
        return [SplitRow(p, level - 1.0, True)]
    if rest >= highest:  # none does
        return [SplitRow(p, level, True)]
    scale = float(np.abs(e).max())
    m = (highest - rest) / scale
    return [SplitRow(p, level, True), SplitRow(e / scale + m * p, rest / scale + m * level, False)]


def _nearly_multiples(coefficients: Floats) -> float | None:
    """Return a unit of which all coefficients are nearly, but not quite, multiples; None if there is none."""
    size = np.abs(coefficients)
    for divisor in range(1, _LARGEST_DIVISOR + 1):
        unit = size.min() / divisor
        multiple = np.round(size / unit)
        unit = float(size @ multiple / (multiple @ multiple))
        apart = np.abs(size - unit * multiple)
        if size.max() <= _LARGEST_MULTIPLE * unit and apart.max() <= _NEARLY * unit and apart.sum() < 0.25 * unit:
            return unit
    return None


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
