r"""The mixed-integer linear program of one cell: the best set with log kappa in an interval, from above.

Variables: one binary per feature, one indicator per block, one penalty :math:`p_k \ge -\log ad_k` per soft row that
may be violated in the cell, and :math:`s \le -\sum_k p_k`, which stands for :math:`\log\kappa`. The objective
replaces :math:`e^s` by its chord over the cell. See :mod:`ubayfs.optimize.exact` for why this is an upper bound.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..utility import Utility, log_row_admissibility

# HiGHS stops at an absolute gap of 1e-6 and accepts rows up to 1e-6 off. Utilities and logarithms of admissibility
# are handed over multiplied by this, so that its tolerances stay at 1e-10 in utility.
SCALE = 1e4

# Rows with more violation levels than this get a variable for their activity, so that each level is a short row.
_LEVELS_WITHOUT_ACTIVITY = 2


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
        owner = np.repeat(np.arange(system.n_rows), lengths)
        size = np.abs(A.data)
        smallest = np.full(system.n_rows, np.inf)
        np.minimum.at(smallest, owner, size)
        largest = np.zeros(system.n_rows)
        np.maximum.at(largest, owner, size)
        with np.errstate(invalid="ignore", divide="ignore"):
            in_units = size / smallest[owner]
        off_grid = (np.abs(in_units - np.round(in_units)) > 1e-12 * in_units) | (in_units > 1e6)
        on_grid = np.bincount(owner, weights=off_grid, minlength=system.n_rows) == 0
        unit = np.where(lengths == 0, 1.0, np.where(on_grid, smallest, largest))
        A.data = np.where(on_grid[owner], np.round(A.data / unit[owner]), A.data / unit[owner])
        bound = (system.b + tolerance) / unit
        ceiling = np.where(on_grid, np.floor(bound), bound)
        offset = np.where(on_grid, ceiling * unit - system.b, 0.0)
        offset[np.abs(offset) <= tolerance] = 0.0
        top = np.bincount(owner, weights=np.maximum(A.data, 0.0), minlength=system.n_rows) - ceiling
        keep = np.flatnonzero(top > 0)
        return cls(
            A[keep], ceiling[keep], unit[keep], offset[keep], top[keep], on_grid[keep],
            np.isinf(system.rho[keep]), system.rho[keep],
        )  # fmt: skip

    def highest_level(self, log_kappa: float) -> NDArray[np.float64]:
        """Return how far each row may exceed its ceiling, in its unit, when log kappa is at least this."""
        with np.errstate(invalid="ignore"):
            level = (largest_violation(log_kappa, np.where(self.hard, 1.0, self.rho)) - self.offset) / self.unit
        # Rounding may only widen the cell.
        level = np.where(self.on_grid, np.floor(level + 1e-9), level + 1e-9)
        return np.where(self.hard, 0.0, np.clip(level, 0.0, self.top_level))

    def penalty(self, row: int, level: Any) -> Any:
        """Return -log admissibility of a row at some levels above its ceiling."""
        violation = np.where(np.asarray(level) > 0, np.asarray(level) * self.unit[row] + self.offset[row], 0.0)
        return -log_row_admissibility(violation, self.rho[row])

    def penalty_slope(self, row: int, level: float) -> float:
        """Return the derivative of the penalty by the level; at level 0 from the right."""
        from scipy.special import expit

        return float(self.rho[row] * self.unit[row] * expit(self.rho[row] * level * self.unit[row]))


class Answer(NamedTuple):
    """What the solver said of a program: a set (or None), an upper bound, whether the cell is empty."""

    chosen: NDArray[np.bool_] | None
    bound: float
    infeasible: bool


@dataclass(eq=False)
class _Assembly:
    """Collects sparse rows ``low <= a x <= high`` of a program."""

    n_columns: int
    parts: list[tuple[sparse.csr_array, NDArray[Any], NDArray[Any]]] = field(default_factory=list)

    def add(self, A: Any, low: Any, high: Any) -> None:
        matrix = sparse.coo_array(np.atleast_2d(A) if isinstance(A, np.ndarray) else A)
        if matrix.shape[0] == 0:
            return
        matrix = sparse.coo_array((matrix.data, matrix.coords), shape=(matrix.shape[0], self.n_columns))
        full = np.ones(matrix.shape[0])
        self.parts.append((sparse.csr_array(matrix), low * full, high * full))

    def constraint(self) -> Any:
        from scipy.optimize import LinearConstraint

        if not self.parts:
            return ()
        stacked = sparse.csc_array(sparse.vstack([part[0] for part in self.parts]))
        # the solver's interface takes 32-bit indices
        stacked.indices, stacked.indptr = stacked.indices.astype(np.int32), stacked.indptr.astype(np.int32)
        low = np.concatenate([part[1] for part in self.parts])
        return LinearConstraint(stacked, low, np.concatenate([part[2] for part in self.parts]))


@dataclass(eq=False)
class Programs:
    """Builds and solves the programs of one utility.

    Attributes
    ----------
    utility : Utility
        All its features are selectable.
    tangents : dict of int to list of float
        Levels at which rows off the grid have a tangent; grows while cells are solved.
    forbidden : list of ndarray of bool
        Sets already evaluated that the solver must not return again.
    """

    utility: Utility
    tangents: dict[int, list[float]] = field(default_factory=dict)
    forbidden: list[NDArray[np.bool_]] = field(default_factory=list)
    n_solved: int = 0

    def __post_init__(self) -> None:
        self.levels = Levels.of(self.utility)
        self.n = self.utility.n_features
        self.n_blocks = self.utility.system.n_blocks
        self.block_rows = self._block_rows()
        self.cliques = None

    def _block_rows(self) -> tuple[sparse.csr_array, NDArray[Any], NDArray[Any]]:
        """Rows that tie block indicators to their members: d_n <= z_w for each member, z_w <= sum of members."""
        blocks = sparse.coo_array(self.utility.system.blocks)
        block, member = blocks.coords
        count = len(block)
        at_least = sparse.coo_array(
            (np.repeat([1.0, -1.0], count), (np.tile(np.arange(count), 2), np.concatenate([member, block + self.n]))),
            shape=(count, self.n + self.n_blocks),
        )
        at_most = sparse.hstack([-blocks.astype(np.float64), sparse.eye_array(self.n_blocks)])
        rows = sparse.csr_array(sparse.vstack([at_least, at_most]))
        return rows, np.full(rows.shape[0], -np.inf), np.zeros(rows.shape[0])

    def solve(self, low: float, high: float, cutoff: float, time_limit: float | None) -> Answer:
        """Bound the utility of sets with log kappa in [low, high] that are worth more than `cutoff`.

        ``low = -inf`` asks for the best importance under the hard rows alone, kappa counting as exp(high).
        """
        from scipy.optimize import Bounds, milp

        relaxed = np.isneginf(low)
        levels, theta = self.levels, self.utility.theta
        highest = np.where(levels.hard, 0.0, np.inf) if relaxed else levels.highest_level(low)
        penalized = np.flatnonzero((highest > 0) & ~levels.hard) if not relaxed else np.empty(0, dtype=np.intp)
        n_z, n_p = self.n + self.n_blocks, len(penalized)
        many = [i for i in range(n_p) if self._needs_activity(penalized[i], highest[penalized[i]])]
        s = n_z + n_p + len(many)
        program = _Assembly(s + 1)
        program.parts.append(self._padded(self.block_rows, s + 1))
        capped = np.flatnonzero(highest < levels.top_level)
        program.add(levels.A[capped], -np.inf, (levels.ceiling + highest)[capped])
        self._add_penalties(program, penalized, highest, many, n_z, n_p)
        if not relaxed:  # s + sum p <= 0
            program.add(np.concatenate([np.zeros(n_z), np.ones(n_p), np.zeros(len(many)), [1.0]]), -np.inf, 0.0)
        for chosen in self.forbidden:
            program.add(np.concatenate([np.where(chosen, 1.0, -1.0)]), -np.inf, chosen.sum() - 1.0)

        strength = self.utility.constraint_strength
        slope = 0.0 if relaxed or high - low < 1e-15 else (np.exp(high) - np.exp(low)) / (high - low)
        constant = strength * (np.exp(high) - slope * high)
        objective = np.zeros(s + 1)
        objective[: self.n] = SCALE * theta
        objective[s] = strength * slope
        if np.isfinite(cutoff):
            program.add(objective, SCALE * (cutoff - constant), np.inf)
        lower, upper = np.zeros(s + 1), np.ones(s + 1)
        upper[n_z : n_z + n_p] = -SCALE * low if not relaxed else 0.0
        lower[n_z + n_p : s], upper[n_z + n_p : s] = -np.inf, np.inf
        lower[s], upper[s] = SCALE * (high if relaxed else low), SCALE * high
        options: dict[str, Any] = {"mip_rel_gap": 0.0}
        if time_limit is not None:
            options["time_limit"] = max(time_limit, 1e-3)
        integrality = np.zeros(s + 1)
        integrality[: self.n] = 1
        self.n_solved += 1
        result = milp(
            -objective, integrality=integrality, bounds=Bounds(lower, upper),
            constraints=program.constraint(), options=options,
        )  # fmt: skip
        bound = np.inf
        if result.mip_dual_bound is not None and np.isfinite(result.mip_dual_bound):
            bound = -result.mip_dual_bound / SCALE + constant
        chosen = None if result.x is None else result.x[: self.n] > 0.5
        return Answer(chosen, bound, result.status == 2)

    @staticmethod
    def _padded(rows: tuple[sparse.csr_array, Any, Any], n_columns: int) -> tuple[sparse.csr_array, Any, Any]:
        A = rows[0]
        return sparse.csr_array((A.data, A.indices, A.indptr), shape=(A.shape[0], n_columns)), rows[1], rows[2]

    def _needs_activity(self, row: int, highest: float) -> bool:
        if self.levels.on_grid[row]:
            return bool(highest > _LEVELS_WITHOUT_ACTIVITY)
        return len(self.tangents.get(int(row), ())) > _LEVELS_WITHOUT_ACTIVITY

    def _add_penalties(
        self, program: _Assembly, penalized: NDArray[np.intp], highest: NDArray[Any], many: list[int], n_z: int, n_p: int
    ) -> None:
        """Add p >= slope * (a z - ceiling) + intercept for every piece of every penalty."""
        levels = self.levels
        activity = {i: n_z + n_p + j for j, i in enumerate(many)}
        # All rows with a single level at once: thousands of pairs are normal.
        single = [i for i in range(n_p) if levels.on_grid[penalized[i]] and highest[penalized[i]] == 1]
        if single:
            rows = penalized[single]
            slope = -SCALE * self._first_penalty(rows)
            lines = sparse.diags_array(-slope) @ levels.A[rows]
            marks = sparse.coo_array((np.ones(len(rows)), (np.arange(len(rows)), n_z + np.array(single))),
                                     shape=(len(rows), program.n_columns))  # fmt: skip
            lines = sparse.coo_array(lines)
            wide = sparse.coo_array((lines.data, lines.coords), shape=marks.shape)
            program.add(sparse.csr_array(wide) + sparse.csr_array(marks), -slope * levels.ceiling[rows], np.inf)
        for i in range(n_p):
            row = int(penalized[i])
            if levels.on_grid[row] and highest[row] == 1:
                continue
            slopes, intercepts = (SCALE * part for part in self._pieces(row, highest[row]))
            coefficients = levels.A[[row]].toarray().ravel()
            line = np.zeros((len(slopes), program.n_columns))
            if i in activity:
                tie = np.zeros(program.n_columns)
                tie[: len(coefficients)] = coefficients
                tie[activity[i]] = -1.0
                program.add(tie, 0.0, 0.0)
                line[:, activity[i]] = -slopes
            else:
                line[:, : len(coefficients)] = -np.outer(slopes, coefficients)
            line[:, n_z + i] = 1.0
            program.add(line, intercepts - slopes * levels.ceiling[row], np.inf)

    def _first_penalty(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        violation = self.levels.unit[rows] + self.levels.offset[rows]
        return log_row_admissibility(violation, self.levels.rho[rows])

    def _pieces(self, row: int, highest: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return slopes and intercepts of lines in the level above the ceiling, below the row's penalty."""
        levels = self.levels
        if levels.on_grid[row]:
            # Chords between neighbouring levels: the penalty is convex, so their maximum is exact on the grid.
            grid = np.arange(int(highest) + 1)
            values = levels.penalty(row, grid)
            slopes = np.diff(values)
            return slopes, values[:-1] - slopes * grid[:-1]
        points = sorted({0.0, float(highest), *self.tangents.get(row, ())})
        slopes = np.array([levels.penalty_slope(row, point) for point in points])
        return slopes, np.array([levels.penalty(row, point) for point in points]).ravel() - slopes * points

    def refine(self, chosen: NDArray[np.bool_]) -> bool:
        """Add tangents where rows off the grid are violated by a set; return whether any was new."""
        levels = self.levels
        rows = np.flatnonzero(~levels.on_grid & ~levels.hard)
        if len(rows) == 0:
            return False
        z = self.utility.admissibility.indicators(chosen)
        level = (levels.A[rows] @ z.toarray().ravel()) - levels.ceiling[rows]
        new = False
        for row, at in zip(rows.tolist(), level.tolist(), strict=True):
            if at > 0 and at not in self.tangents.get(row, ()):
                self.tangents.setdefault(row, []).append(at)
                new = True
        return new
