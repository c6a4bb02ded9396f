r"""The mixed-integer linear program of one cell: the best set with log kappa in an interval, from above.

A *row* is one inequality a^T z <= b. Variables: one binary per feature, one indicator per block, one penalty
:math:`p_k \ge -\log ad_k` (minus the log admissibility of row k) per soft row that may be violated in the cell, and
:math:`s \le -\sum_k p_k`, which stands for :math:`\log\kappa`. The objective replaces :math:`e^s` by its chord over the
cell. See :mod:`ubayfs.optimize.exact` for why this is an upper bound.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._arguments import Array, Floats, Ints, Mask
from ..constraints.utility import RELATIVE_TOLERANCE, ROUNDING, Utility, log_row_admissibility
from .base import Limit
from .solver import SCALE, Answer, Program

# Rows with more pieces than this get a variable for their activity a^T z, so that each piece is a short row.
_PIECES_WITHOUT_ACTIVITY = 2

# Rows with more levels than this (costs in cents) get lines only where they are needed.
_ALL_CHORDS = 40

# Bounds beyond this many units are out of reach, whichever side of zero they are on.
_LARGEST_LEVEL = 1e15
# A row with larger multiples of its smallest coefficient has too many levels to be a grid.
_LARGEST_MULTIPLE = 1e6
# Coefficients are nearly on a grid when they are so close to multiples of the smallest one, divided by up to so much.
_NEARLY, _LARGEST_DIVISOR = 1e-4, 6
# Rows looked at for this, and their length.
_MOST_SPLIT, _LONGEST_SPLIT = 100, 10_000


class Layout(NamedTuple):
    """The columns of the variables of a program: features, blocks, penalties, activities, then s.

    `penalized` are the rows with a penalty, `stepped` those among them with a variable for their activity.
    """

    n_indicators: int
    penalized: Ints
    stepped: Ints

    def penalty(self, row: int) -> int:
        """Column of the penalty of a row."""
        return self.n_indicators + int(np.searchsorted(self.penalized, row))

    def activity(self, row: int) -> int:
        """Column of the activity of a row."""
        return self.n_indicators + len(self.penalized) + int(np.searchsorted(self.stepped, row))

    @property
    def s(self) -> int:
        """Column of s; it is the last one."""
        return self.n_indicators + len(self.penalized) + len(self.stepped)


@dataclass(eq=False)
class _Rows:
    """Collects sparse rows ``low <= a x <= high``."""

    n_columns: int
    parts: list[tuple[sparse.csr_array, Array, Array]] = field(default_factory=list)

    def add(self, A: Any, low: Any, high: Any) -> None:
        """Add rows over the first columns; the columns that `A` lacks are zero."""
        matrix = sparse.csr_array(np.atleast_2d(A) if isinstance(A, np.ndarray) else A)
        full = np.ones(matrix.shape[0])
        if len(full):
            entries = (matrix.data, matrix.indices, matrix.indptr)
            matrix = sparse.csr_array(entries, shape=(len(full), self.n_columns))
            self.parts.append((matrix, low * full, high * full))

    def stacked(self) -> tuple[sparse.csc_array, Floats, Floats]:
        """Return all rows as one matrix, with their lowest and highest values."""
        if not self.parts:
            return sparse.csc_array((0, self.n_columns)), np.empty(0), np.empty(0)
        matrix = sparse.csc_array(sparse.vstack([part[0] for part in self.parts]))
        # The solver's interface takes 32-bit indices.
        matrix.indices, matrix.indptr = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
        return matrix, *(np.concatenate([part[side] for part in self.parts]) for side in (1, 2))


class Programs:
    """Builds and solves the programs of one utility, all of whose features are selectable."""

    def __init__(self, utility: Utility) -> None:
        self.utility = utility
        self.grid = RowGrid.from_utility(utility)
        # Levels at which rows off the grid, or with very many levels, have a tangent; grows while cells are solved.
        self.tangents: dict[int, list[float]] = {}
        self.forbidden: list[Mask] = []  # sets already evaluated that the solver must not return again
        self.n_solved = 0
        self._block_rows = _block_rows(utility)

    def program(self, low: float, high: float) -> Program:
        """Return the program that bounds the score of sets with log kappa in [low, high].

        ``low = -inf`` gives the best importance under the hard rows alone, with exp(high) for kappa.
        """
        relaxed = bool(np.isneginf(low))
        highest = np.where(self.grid.hard, 0.0, np.inf) if relaxed else self.grid.highest_level(low)
        layout = self._layout(highest, relaxed)
        n, s = self.utility.n_features, layout.s
        strength = self.utility.constraint_strength
        # The chord of e^s over [low, high], e^high + slope (s - high), stands for kappa; its constant part is below.
        slope = 0.0 if relaxed else (np.exp(high) - np.exp(low)) / (high - low)
        objective = np.zeros(s + 1)
        objective[:n], objective[s] = SCALE * self.utility.theta, strength * slope
        lower, upper = np.zeros(s + 1), np.ones(s + 1)
        penalties = slice(layout.n_indicators, layout.n_indicators + len(layout.penalized))
        upper[penalties] = -SCALE * low  # a larger penalty would leave the cell
        lower[penalties.stop : s], upper[penalties.stop : s] = -np.inf, np.inf
        # Without penalties nothing refers to s; away from zero it only makes the solver repair its first guesses.
        lower[s], upper[s] = (0.0, 0.0) if relaxed else (SCALE * low, SCALE * high)
        self.n_solved += 1
        rows = self._rows(layout, highest).stacked()
        return Program(objective, *rows, lower, upper, n, strength * (np.exp(high) - slope * high))

    def solve(self, low: float, high: float, limit: Limit | None = None) -> Answer:
        """Bound the score of sets with log kappa in [low, high]."""
        return self.program(low, high).solve(limit)

    def _layout(self, highest: Array, relaxed: bool) -> Layout:
        grid = self.grid
        penalized = np.flatnonzero((highest > 0) & ~grid.hard & (not relaxed))
        pieces = np.where(grid.on_grid, highest, 0.0)
        for row, points in self.tangents.items():
            pieces[row] = len(points)
        stepped = penalized[pieces[penalized] > _PIECES_WITHOUT_ACTIVITY]
        system = self.utility.system
        return Layout(system.n_features + system.n_blocks, penalized, stepped)

    def _rows(self, layout: Layout, highest: Array) -> _Rows:
        grid = self.grid
        rows = _Rows(layout.s + 1)
        rows.add(self._block_rows, -np.inf, 0.0)
        capped = np.flatnonzero(highest < grid.top_level)
        rows.add(grid.A[capped], -np.inf, (grid.ceiling + highest)[capped])
        for chosen in self.forbidden:  # only the set itself reaches its size: members count 1, all others -1
            rows.add(np.where(chosen, 1.0, -1.0), -np.inf, chosen.sum() - 1.0)
        if len(layout.penalized):
            total = np.zeros(layout.s + 1)  # s + sum of penalties <= 0
            total[layout.n_indicators : layout.n_indicators + len(layout.penalized)] = total[layout.s] = 1.0
            rows.add(total, -np.inf, 0.0)
            self._add_penalties(rows, layout, highest)
        return rows

    def _add_penalties(self, rows: _Rows, layout: Layout, highest: Array) -> None:
        """Add p >= slope * (a z - ceiling) + intercept for every piece of every penalty."""
        grid = self.grid
        one_level = grid.on_grid[layout.penalized] & (highest[layout.penalized] == 1)
        single = layout.penalized[one_level]
        # Rows with a single level (thousands of pairs are normal) are added at once.
        slopes = -SCALE * log_row_admissibility(grid.unit[single] + grid.offset[single], grid.rho[single])
        lines = sparse.coo_array(sparse.diags_array(-slopes) @ grid.A[single])
        columns = layout.n_indicators + np.flatnonzero(one_level)
        entries = np.concatenate([lines.data, np.ones(len(single))])
        where = (np.append(lines.coords[0], np.arange(len(single))), np.append(lines.coords[1], columns))
        rows.add(sparse.coo_array((entries, where), shape=(len(single), rows.n_columns)),
                 -slopes * grid.ceiling[single], np.inf)  # fmt: skip
        for row in layout.penalized[~one_level].tolist():
            self._add_curve(rows, layout, row, highest[row])

    def _add_curve(self, rows: _Rows, layout: Layout, row: int, highest: float) -> None:
        """Add the pieces of one row's penalty."""
        slopes, intercepts = (SCALE * part for part in self._pieces(row, highest))
        A = self.grid.A
        entries = slice(A.indptr[row], A.indptr[row + 1])
        columns, values = A.indices[entries], A.data[entries]
        if row in layout.stepped:
            activity = layout.activity(row)
            rows.add(_same_columns(np.append(columns, activity), np.append(values, -1.0), rows.n_columns), 0.0, 0.0)
            columns, values = np.array([activity]), np.ones(1)
        lines = np.column_stack([-np.outer(slopes, values), np.ones(len(slopes))])
        rows.add(_same_columns(np.append(columns, layout.penalty(row)), lines, rows.n_columns),
                 intercepts - slopes * self.grid.ceiling[row], np.inf)  # fmt: skip

    def _pieces(self, row: int, highest: float) -> tuple[Floats, Floats]:
        """Return slopes and intercepts of lines in the level above the ceiling, below the row's penalty."""
        grid = self.grid
        if grid.on_grid[row] and highest <= _ALL_CHORDS:
            # Chords between neighboring levels: the penalty is convex, so their maximum is exact on the grid.
            start = np.arange(highest)
            values = grid.penalty(row, start)
            slopes = grid.penalty(row, start + 1.0) - values
            return slopes, values - slopes * start
        points = {float(highest), *self.tangents.get(row, ())}
        if grid.on_grid[row]:
            # The penalty bends most just above the ceiling: tangents are closer to each other there.
            points.update(np.floor(np.geomspace(1.0, highest, _ALL_CHORDS // 2)).tolist())
        else:
            points.add(0.0)
        # Tangents of a convex function lie below it, so that the program's optimum remains an upper bound.
        at = np.array(sorted(points))
        slopes = grid.penalty_slope(row, at)
        return slopes, grid.penalty(row, at) - slopes * at

    def refine(self, chosen: Mask) -> bool:
        """Add tangents where a set violates rows that do not have all their lines; return whether any was new."""
        grid = self.grid
        rows = np.flatnonzero(~grid.hard & ~(grid.on_grid & (grid.top_level <= _ALL_CHORDS)))
        if len(rows) == 0:
            return False
        z = self.utility.admissibility.indicators(chosen).toarray().ravel()
        level = grid.A[rows] @ z - grid.ceiling[rows]
        new = False
        for row, at in zip(rows.tolist(), level.tolist(), strict=True):
            if at > 0 and at not in self.tangents.get(row, ()):
                self.tangents.setdefault(row, []).append(at)
                new = True
        return new


def _same_columns(columns: Array, values: Array, n_columns: int) -> sparse.coo_array:
    """Return a sparse matrix with one row per row of `values`, all of them in the same columns."""
    values = np.atleast_2d(values)
    where = (np.repeat(np.arange(len(values)), len(columns)), np.tile(columns, len(values)))
    return sparse.coo_array((values.ravel(), where), shape=(len(values), n_columns))


def _block_rows(utility: Utility) -> sparse.csr_array:
    """Return rows <= 0 that tie block indicators to their members: d_n <= z_w, and z_w <= sum of the members."""
    n, n_blocks = utility.n_features, utility.system.n_blocks
    if n_blocks == 0:
        return sparse.csr_array((0, n))
    blocks = sparse.coo_array(utility.system.blocks)
    block, member = blocks.coords
    count = len(block)
    entries = (np.tile(np.arange(count), 2), np.concatenate([member, block + n]))
    at_least = sparse.coo_array((np.repeat([1.0, -1.0], count), entries), shape=(count, n + n_blocks))
    at_most = sparse.hstack([-blocks.astype(np.float64), sparse.eye_array(n_blocks)])
    return sparse.csr_array(sparse.vstack([at_least, at_most]))


# -- how far rows may be violated, and at which penalty ----------------------------------------------------------------


def negligible_log_kappa(utility: Utility) -> float:
    """Return the log kappa below which the score of a set is its importance and a quarter of the tolerated gap."""
    return float(np.log(RELATIVE_TOLERANCE / (4.0 * utility.constraint_strength)))


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
    def from_utility(cls, utility: Utility) -> RowGrid:
        """Prepare the inequalities of a utility; those that no set can violate are left out."""
        system, tolerance = utility.system, utility.admissibility.tolerance
        A, n_rows = sparse.csr_array(system.A, copy=True), system.n_inequalities
        owner = np.repeat(np.arange(n_rows), np.diff(A.indptr))
        A.data = _cut_to_size(A, owner, utility)
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
        short = np.diff(self.A.indptr) <= _LONGEST_SPLIT
        nearly = np.flatnonzero(self.hard & ~self.on_grid & short)[:_MOST_SPLIT].tolist()
        split = [part for row in nearly for part in _split(self.A[[row]].toarray().ravel(), float(self.ceiling[row]))]
        if not split:
            return self
        A, bound, on_grid = (np.array(values) for values in zip(*split, strict=True))
        n_new = len(split)
        return RowGrid(
            A=sparse.csr_array(sparse.vstack([self.A, sparse.csr_array(A)])),
            ceiling=np.append(self.ceiling, bound),
            unit=np.append(self.unit, np.ones(n_new)),
            offset=np.append(self.offset, np.zeros(n_new)),
            top_level=np.append(self.top_level, np.maximum(A, 0.0).sum(axis=1) - bound),
            on_grid=np.append(self.on_grid, on_grid),
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
        # d/dv log(1 + e^(rho v)) = rho / (1 + e^(-rho v)), and dv / dlevel = unit
        return self.rho[row] * self.unit[row] * expit(self.rho[row] * violation)


def _split(a: Floats, b: float) -> list[tuple[Floats, float, bool]]:
    r"""Return rows that are together equivalent to a^T z <= b if a is nearly on a grid; none if it is not.

    Of each the coefficients, the bound, and whether it is on a grid.

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
        return [(p, level - 1.0, True)]
    if rest >= highest:  # none does
        return [(p, level, True)]
    scale = float(np.abs(e).max())
    # One level below P the right-hand side is the highest e^T z, and higher further below; all in units of `scale`.
    m = (highest - rest) / scale
    return [(p, level, True), (e / scale + m * p, rest / scale + m * level, False)]


def _nearly_multiples(coefficients: Floats) -> float | None:
    """Return a unit of which all coefficients are nearly, but not quite, multiples; None if there is none."""
    size = np.abs(coefficients)
    for divisor in range(1, _LARGEST_DIVISOR + 1):
        unit = size.min() / divisor
        multiple = np.round(size / unit)
        unit = float(size @ multiple / (multiple @ multiple))  # least squares: closest to all, not to the smallest only
        apart = np.abs(size - unit * multiple)
        if size.max() <= _LARGEST_MULTIPLE * unit and apart.max() <= _NEARLY * unit and apart.sum() < 0.25 * unit:
            return unit
    return None


def _cut_to_size(A: sparse.csr_array, owner: Ints, utility: Utility) -> Floats:
    """Return the coefficients, cut where they are larger than what decides: beside 1e12 the solver sees no 40.

    A negative one that outweighs all positive ones together satisfies its row, and so does a smaller one. A positive
    one may be cut to what still exceeds the bound, however much compensates for it, by more than any cell allows.
    """
    system, n_rows = utility.system, A.shape[0]
    smallest = np.full(n_rows, np.inf)
    np.minimum.at(smallest, owner, np.abs(A.data))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        needed = np.bincount(owner, np.maximum(A.data, 0.0), n_rows) - system.b
        # A multiple of the smallest coefficient keeps a row on its grid.
        lowest = -smallest * np.maximum(np.ceil(needed / smallest), 1.0)
        data = np.maximum(A.data, lowest[owner])
        room = system.b - np.bincount(owner, np.minimum(data, 0.0), n_rows)
        room += np.where(np.isinf(system.rho), 0.0, largest_violation(negligible_log_kappa(utility), system.rho))
        highest = smallest * np.maximum(np.ceil(2.0 * room / smallest), 1.0)
    return np.where(data > highest[owner], highest[owner], data)


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
