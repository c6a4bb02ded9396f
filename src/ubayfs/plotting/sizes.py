"""The best value that each size can reach."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from .._arguments import check_int, check_real
from ..exceptions import InfeasibleError, OptimizationError
from ..optimize.base import Solution
from ..optimize.cells import gap_tolerance
from ..optimize.exact import Exact
from ..selection import Problem, Selection
from ..system import Rows
from ..utility import Utility
from .base import Display, problem_of
from .style import BLACK, BLUE, VERMILION, counted

_AROUND = 10  # sizes below and above the chosen one


@dataclass(frozen=True)
class SizePoint:
    """The best set of one size.

    Attributes
    ----------
    size : int
    value : float
        Its utility: importance + lambda * admissibility.
    bound : float
        No set of this size is worth more.
    importance, admissibility : float
    complete : bool
        False when the time limit ended the search; the set may then not be the best one.
    """

    size: int
    value: float
    bound: float
    importance: float
    admissibility: float
    complete: bool

    @classmethod
    def of(cls, problem: Problem, solution: Solution) -> SizePoint:
        """Make a point of an optimizer's solution."""
        metrics = problem.measure(solution.chosen)
        parts = metrics.importance, metrics.admissibility
        return cls(metrics.cardinality, solution.value, solution.bound, *parts, solution.complete)


@dataclass(frozen=True)
class SizeUtilityDisplay(Display):
    """Best value for each number of features, and the parts that it is the sum of.

    Attributes
    ----------
    points : tuple of SizePoint
        By rising size; sizes that hard constraints forbid are left out.
    chosen_size : int
    chosen_value : float
    constraint_strength : float
        The paper's lambda.
    infeasible : tuple of int
        Sizes that hard constraints forbid.
    omitted : tuple of int
        Sizes that the time limit left no time for.
    """

    points: tuple[SizePoint, ...]
    chosen_size: int
    chosen_value: float
    constraint_strength: float
    infeasible: tuple[int, ...]
    omitted: tuple[int, ...]

    name: ClassVar[str] = "sizes"

    @classmethod
    def from_selection(
        cls, selection: Selection, sizes: Iterable[int] | None = None, time_limit: float | None = 5.0
    ) -> SizeUtilityDisplay:
        """Find the best set of each size, by the exact optimizer and under all constraints.

        Parameters
        ----------
        selection : Selection
            As :func:`~ubayfs.decide` returns it.
        sizes : iterable of int, optional
            Default: up to ten smaller and ten larger than the chosen set.
        time_limit : float or None, default 5.0
            Seconds for all sizes together, those near the chosen one first. Sets that are not proved to be the best
            of their size by then are drawn as such, and sizes that were not begun are left out.
        """
        problem = problem_of(selection, "the size-utility curve")
        utility, chosen = problem.utility, len(selection.features)
        if sizes is None:
            largest = min(chosen + _AROUND, int(utility.selectable.sum()))
            sizes = range(min(max(chosen - _AROUND, 1), chosen), largest + 1)
        asked = {check_int("sizes", size, low=0) for size in sizes}
        if time_limit is not None:
            check_real("time_limit", time_limit, low=0.0, low_open=True)
        solutions, infeasible, omitted = _best_of_sizes(selection, utility, asked, time_limit)
        points = [SizePoint.of(problem, solution) for solution in solutions]
        return cls(
            points=tuple(sorted(points, key=lambda point: point.size)),
            chosen_size=chosen,
            chosen_value=float(selection.value),
            constraint_strength=float(utility.constraint_strength),
            infeasible=tuple(sorted(infeasible)),
            omitted=tuple(sorted(omitted)),
        )

    def _heading(self) -> tuple[str, str]:
        title = f"{counted(self.chosen_size, 'feature')} chosen: the best value that each size can reach"
        details = f"Value = importance + {self.constraint_strength:g} \N{MULTIPLICATION SIGN} admissibility."
        if any(not point.complete for point in self.points):
            details += " Hollow: not proved to be the best of its size within the time limit."
        for sizes, why in ((self.infeasible, "no set keeps the hard constraints"), (self.omitted, "no time was left")):
            if sizes:
                details += f" Left out, since {why}: {_spans(sizes)}."
        return title, details

    def _draw(self, ax: Any) -> None:
        from matplotlib.ticker import MaxNLocator

        size = [point.size for point in self.points]
        strength = "" if self.constraint_strength == 1 else f"{self.constraint_strength:g} \N{MULTIPLICATION SIGN} "
        for values, color, line, marker, words in (
            ([point.value for point in self.points], BLACK, "-", "o", "value of the best set"),
            ([point.importance for point in self.points], BLUE, "--", "s", "its importance"),
            (
                [self.constraint_strength * point.admissibility for point in self.points],
                VERMILION, ":", "^", f"{strength}its admissibility",
            ),
        ):  # fmt: skip
            ax.plot(size, values, color=color, linestyle=line, marker=marker, markersize=3.5, label=words)
        unproved = [point for point in self.points if not point.complete]
        ax.plot(
            [point.size for point in unproved], [point.value for point in unproved], "o", markersize=3.5,
            color=BLACK, markerfacecolor="white", zorder=3, gid="not proved",
        )  # fmt: skip
        ax.axvline(self.chosen_size, color="0.6", linewidth=0.8, zorder=0)
        ax.plot(
            [self.chosen_size], [self.chosen_value], "D", markersize=8, color=BLACK, markerfacecolor="none",
            linestyle="none", label=f"chosen: {counted(self.chosen_size, 'feature')}", gid="chosen",
        )  # fmt: skip
        ax.set_ylim(bottom=0)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        ax.set_xlabel("number of features")
        ax.set_ylabel("utility")


def _spans(sizes: tuple[int, ...]) -> str:
    """Return rising numbers in words, neighbors as one span.

    >>> _spans((1, 2, 3, 7))
    '1 to 3, 7'
    """
    starts = [i for i, size in enumerate(sizes) if i == 0 or size > sizes[i - 1] + 1]
    spans = [sizes[a:b] for a, b in zip(starts, [*starts[1:], len(sizes)], strict=True)]
    return ", ".join(f"{span[0]} to {span[-1]}" if len(span) > 1 else f"{span[0]}" for span in spans)


def _best_of_sizes(
    selection: Selection, utility: Utility, sizes: set[int], time_limit: float | None
) -> tuple[list[Solution], list[int], list[int]]:
    """Return the best sets of some sizes, the sizes that have none, and those that the time did not reach."""
    deadline = None if time_limit is None else time.monotonic() + time_limit
    solutions: list[Solution] = []
    infeasible: list[int] = []
    omitted: list[int] = []
    chosen = len(selection.features)
    left = sorted(sizes, key=lambda size: (abs(size - chosen), size))
    if chosen in left and selection.gap <= gap_tolerance(selection.value):
        left.remove(chosen)  # the best set of all is the best one of its size
        solutions.append(Solution(selection.mask, selection.value, selection.bound))
    for i, size in enumerate(left):
        # What is left of the time is shared by the sizes that are left.
        share = None if deadline is None else (deadline - time.monotonic()) / (len(left) - i)
        try:
            if share is not None and share <= 0:
                omitted.append(size)
            else:
                solutions.append(_best_of_size(utility, size, share))
        except InfeasibleError:
            infeasible.append(size)
        except OptimizationError:  # the time was too short for any set
            omitted.append(size)
    return solutions, infeasible, omitted


def _best_of_size(utility: Utility, size: int, time_limit: float | None) -> Solution:
    """Return the best set of exactly this size: two hard rows, at most and at least."""
    ones = np.ones((1, utility.n_features))
    rows = Rows(
        sparse.csr_array(np.vstack([ones, -ones])),
        np.array([size, -size], dtype=np.float64),
        np.array([np.inf, np.inf]),
        lambda _: f"exact-size {size}",
    )
    return Exact(time_limit).maximize(replace(utility, system=utility.system.with_rows(rows)))
