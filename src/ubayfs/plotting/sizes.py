"""The highest score that each size can reach."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from .._arguments import Mask, check_int
from .._plain import counted
from ..constraints.sizes import exactly
from ..constraints.utility import Utility, score_tolerance
from ..decision.problem import DecisionProblem
from ..decision.selection import Selection, problem_of
from ..exceptions import OptimizationError
from ..optimize.base import Limit, Solution
from ..optimize.exact import Exact
from ..optimize.size_bounds import SizeBounds
from .base import Display, ReportData
from .style import BLACK, BLUE, VERMILION, divided, label_lines, whole_numbers

_MOST_SIZES = 25
# Branch-and-bound nodes for all sizes together; most sizes need one or none. A number of nodes, unlike seconds, gives
# the same figure on every machine, busy or not.
_NODES = 500


@dataclass(frozen=True)
class SizePoint:
    """The best set of one size: its score is importance + lambda * admissibility."""

    size: int
    value: float
    bound: float  # no set of this size has a higher score
    importance: float
    admissibility: float
    complete: bool  # False when the search was ended early: a better set, within the bound, may exist

    @classmethod
    def from_solution(cls, problem: DecisionProblem, solution: Solution) -> SizePoint:
        """Make a point of an optimizer's solution."""
        metrics = problem.measure(solution.chosen)
        parts = metrics.importance, metrics.admissibility
        return cls(metrics.cardinality, solution.value, solution.bound, *parts, solution.complete)


@dataclass(frozen=True)
class SizeUtilityDisplay(Display):
    """Highest score for each number of features, and the parts that it is the sum of."""

    points: tuple[SizePoint, ...]  # by rising size
    chosen_size: int
    chosen_value: float
    constraint_strength: float  # the paper's lambda
    infeasible: tuple[int, ...]  # sizes that hard constraints forbid
    omitted: tuple[int, ...]  # sizes for which the search was ended before it found any set

    name: ClassVar[str] = "sizes"
    section: ClassVar[str] = "quality"
    caption: ClassVar[str] = "The highest score that a set of each size can reach; that of the selected set is marked."
    height: ClassVar[float] = 4.4

    @classmethod
    def applies(cls, selection: Selection, data: ReportData) -> bool:
        """Return whether a report on this selection has this figure."""
        return selection.problem is not None and len(selection.features) > 0

    @classmethod
    def from_selection(
        cls, selection: Selection, sizes: Iterable[int] | None = None, node_limit: int = _NODES
    ) -> SizeUtilityDisplay:
        """Find the best set of each size, by the exact optimizer and under all constraints.

        Parameters
        ----------
        selection : Selection
            As :func:`~ubayfs.decide` returns it.
        sizes : iterable of int, optional
            Default: from one feature to a quarter more than are chosen, at most 25 sizes.
        node_limit : int, default 500
            Branch-and-bound nodes for all sizes together. Sets that are not proved to be the best of their size by
            then are drawn as such, with the interval that the highest score lies in.
        """
        problem = problem_of(selection, "the size-utility curve")
        utility, chosen = problem.utility, len(selection.features)
        if sizes is None:
            sizes = default_sizes(chosen, int(utility.selectable.sum()))
        wanted = {check_int("sizes", size, low=0) for size in sizes}
        node_limit = check_int("node_limit", node_limit, low=1)
        solutions, infeasible, omitted = best_of_sizes(selection, utility, wanted, node_limit)
        without_data = replace(problem, X=None)  # redundancy takes time, and is not shown
        points = [SizePoint.from_solution(without_data, solution) for solution in solutions]
        return cls(
            points=tuple(sorted(points, key=lambda point: point.size)),
            chosen_size=chosen,
            chosen_value=float(selection.value),
            constraint_strength=float(utility.constraint_strength),
            infeasible=tuple(sorted(infeasible)),
            omitted=tuple(sorted(omitted)),
        )

    def _heading(self) -> tuple[str, str]:
        title = f"{counted(self.chosen_size, 'feature')} selected: the highest score that each size can reach"
        details = (
            "Diamond: selected. "
            f"Score = importance + {self.constraint_strength:g} \N{MULTIPLICATION SIGN} admissibility."
        )
        if any(not point.complete for point in self.points):
            details += " Hollow: not proved to be the best of its size; it lies within the line above the mark."
        if self.infeasible:
            details += f" No set of {_spans(self.infeasible)} features satisfies the hard constraints."
        if self.omitted:
            details += f" The search found no set of {_spans(self.omitted)} features."
        return title, details

    def _draw(self, ax: Any) -> None:
        # Two panels: the score is mostly far from zero and would be a flat line between its own parts.
        parts = divided(ax, (3, 2))
        size = [point.size for point in self.points]
        value, style = [point.value for point in self.points], {"color": BLACK, "markersize": 3.5}
        ax.plot(size, value, marker="o", gid="value", **style)
        open_points = [(point.size, point.value, point.bound) for point in self.points if not point.complete]
        if open_points:
            sizes, values, bounds = zip(*open_points, strict=True)
            ax.vlines(sizes, values, bounds, color=BLACK, linewidth=0.8, gid="bound")
            ax.plot(sizes, values, "o", markerfacecolor="white", zorder=3, gid="not proved", **style)
        ax.plot(self.chosen_size, self.chosen_value, "D", markersize=8, color=BLACK, markerfacecolor="none",
                gid="selected")  # fmt: skip
        ax.margins(y=0.12)
        ax.set_ylabel("score of the best set")
        ax.tick_params(labelbottom=False)
        self._draw_parts(parts, size)
        for panel in (ax, parts):
            panel.axvline(self.chosen_size, color="0.6", linewidth=0.8, zorder=0)
        whole_numbers(parts.xaxis, min_n_ticks=1)
        parts.set_xlabel("number of features")

    def _draw_parts(self, ax: Any, size: list[int]) -> None:
        """Draw importance and admissibility, whose sum is the score."""
        strength = "" if self.constraint_strength == 1 else f"{self.constraint_strength:g} \N{MULTIPLICATION SIGN} "
        ax.plot(size, [point.importance for point in self.points], color=BLUE, linestyle="--", marker="s",
                markersize=3.5, gid="importance")  # fmt: skip
        ax.plot(size, [self.constraint_strength * point.admissibility for point in self.points], color=VERMILION,
                linestyle=":", marker="^", markersize=3.5, gid="admissibility")  # fmt: skip
        ax.set_ylim(bottom=0)
        ax.margins(y=0.15)
        ax.set_ylabel("its parts")
        if self.points:
            last = self.points[-1]
            label_lines(
                ax, [last.importance, self.constraint_strength * last.admissibility],
                ["importance", f"{strength}admissibility"], [BLUE, VERMILION],
            )  # fmt: skip


def _spans(sizes: tuple[int, ...]) -> str:
    """Return rising numbers in words, neighbors as one span.

    >>> _spans((1, 2, 3, 7))
    '1 to 3, 7'
    """
    starts = [i for i, size in enumerate(sizes) if i == 0 or size > sizes[i - 1] + 1]
    spans = [sizes[a:b] for a, b in zip(starts, [*starts[1:], len(sizes)], strict=True)]
    return ", ".join(f"{span[0]} to {span[-1]}" if len(span) > 1 else f"{span[0]}" for span in spans)


def default_sizes(chosen: int, n_selectable: int) -> list[int]:
    """Return sizes up to a quarter more than are selected, all of them or evenly spread, that of the set among them.

    >>> default_sizes(8, 30)
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
    """
    largest = min(chosen + max(3, chosen // 4), n_selectable)
    sizes = range(min(1, chosen), largest + 1)
    near = {size for size in (chosen - 1, chosen, chosen + 1) if size in sizes}
    if len(sizes) <= _MOST_SIZES:
        return list(sizes)
    spread = np.linspace(sizes[0], sizes[-1], _MOST_SIZES - len(near)).round().astype(int)
    return sorted(near.union(spread.tolist()))


def best_of_sizes(
    selection: Selection, utility: Utility, sizes: set[int], node_limit: int = _NODES
) -> tuple[list[Solution], list[int], list[int]]:
    """Return the best sets of some sizes, the sizes that have none, and those for which none was found.

    `utility` may lack the limit of the size that the selection was decided with.
    """
    solutions: dict[int, Solution] = {}
    infeasible: list[int] = []
    omitted: list[int] = []
    chosen = len(selection.features)
    remaining = sorted(sizes, key=lambda size: (abs(size - chosen), size))
    if chosen in remaining and selection.gap <= score_tolerance(selection.value):
        remaining.remove(chosen)  # the best set of all is the best one of its size
        solutions[chosen] = Solution(selection.mask, selection.value, selection.bound)
    possible = np.isfinite(SizeBounds.from_utility(utility).value)
    for i, size in enumerate(remaining):
        if size >= len(possible) or not possible[size]:  # inequalities on the size rule it out
            infeasible.append(size)
            continue
        # A set is close to the best one of the next size. What is left of the nodes is shared by the sizes left.
        nearest = min(solutions, key=lambda solved: abs(solved - size), default=None)
        begin_with = selection.mask if nearest is None else solutions[nearest].chosen
        share = Limit(nodes=max(node_limit // (len(remaining) - i), 1))
        node_limit -= share.nodes or 0
        try:
            solution = _best_of_size(utility, size, begin_with, share)
        except OptimizationError:
            omitted.append(size)
            continue
        node_limit += max(share.nodes or 0, 0)
        if solution is None:
            infeasible.append(size)
        else:
            solutions[size] = solution
    return list(solutions.values()), infeasible, omitted


def _best_of_size(utility: Utility, size: int, begin_with: Mask, limit: Limit) -> Solution | None:
    """Return the best set of exactly this size, or None if there is none."""
    limited = replace(utility, system=utility.system.with_inequalities(exactly(utility.n_features, size)))
    return Exact(begin_with=np.flatnonzero(begin_with)).search(limited, limit)
