"""The best set for each size and budget: what a larger or a dearer panel brings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..decision.selection import Selection, problem_of
from ..trust.front import Front, FrontPoint, front
from .base import Display, ReportData
from .sizes import default_sizes
from .style import BLACK, BLUE, GREY, VERMILION, divided, whole_numbers


@dataclass(frozen=True)
class FrontDisplay(Display):
    """Score of the best set against its cost, or against its size where no budget was asked for."""

    points: tuple[FrontPoint, ...]  # for which there is a set
    by_cost: bool
    chosen: tuple[str, ...]  # the selected features
    n_without_set: int

    name: ClassVar[str] = "front"
    section: ClassVar[str] = "front"
    caption: ClassVar[str] = "The best set for each size and budget; no set on the line is worse and not cheaper."
    height: ClassVar[float] = 4.0
    report_arguments: ClassVar[Mapping[str, str]] = {"found": "front"}

    @classmethod
    def applies(cls, selection: Selection, data: ReportData) -> bool:
        """Return whether a report has this figure: if it was asked for sizes or budgets."""
        return data.front is not None and any(point.is_set for point in data.front.points)

    @classmethod
    def from_selection(cls, selection: Selection, found: Front | None = None, **arguments: Any) -> FrontDisplay:
        """Compute the display of a front, or of that which :func:`~ubayfs.front` finds with these arguments.

        Default: sizes up to a quarter more than are selected.
        """
        if found is None and not arguments:
            n_selectable = int(problem_of(selection, "a front").utility.selectable.sum())
            arguments = {"sizes": [size for size in default_sizes(len(selection.features), n_selectable) if size]}
        points = (front(selection, **arguments) if found is None else found).points
        sets = tuple(point for point in points if point.is_set)
        by_cost = any(point.budget is not None for point in points)
        return cls(sets, by_cost, selection.features, len(points) - len(sets))

    def _heading(self) -> tuple[str, str]:
        title = f"The best set for each {'budget' if self.by_cost else 'size'}: {len(self.points)} sets"
        details = "Line: sets that no smaller or cheaper one reaches." + " Numbers: features." * self.by_cost
        details += " Diamond: the selected set." * any(point.features == self.chosen for point in self.points)
        if self._judged:
            details += (
                " Below: features of the set (dash), related to the target, at least (square), selected again (bar)."
            )
        details += " Hollow: not proved to be the best." * (not all(point.proved for point in self.points))
        if self.n_without_set:
            details += f" No set satisfies the hard constraints in {self.n_without_set} of the cases."
        return title, details

    @property
    def _judged(self) -> list[FrontPoint]:
        """The sets of which it is known what other samples would say."""
        return [point for point in self.points if point.related is not None or point.selected_again]

    def _x(self, point: FrontPoint) -> float:
        return float(point.cost or 0.0) if self.by_cost else len(point.features)

    def _reached(self) -> list[FrontPoint]:
        """Return the sets that are better than all that are smaller or cheaper."""
        best: list[FrontPoint] = []
        for point in sorted(self.points, key=lambda point: (self._x(point), -(point.value or 0.0))):
            if not best or (point.value or 0.0) > (best[-1].value or 0.0):
                best.append(point)
        return best

    def _draw(self, ax: Any) -> None:
        judged = self._judged
        below = divided(ax, (3, 2)) if judged else None
        best, label = self._reached(), "cost of the set" if self.by_cost else "number of features"
        x, value = [self._x(point) for point in best], [point.value for point in best]
        ax.step(x, value, where="post", color=BLACK, linewidth=1.0, gid="reached")
        for point in self.points:
            face = BLUE if point.proved else "white"
            ax.plot(self._x(point), point.value, "o", color=BLUE, markerfacecolor=face, markersize=4, gid="set")
            if point.features == self.chosen:
                ax.plot(self._x(point), point.value, "D", color=BLACK, markerfacecolor="none", markersize=9)
        if self.by_cost:
            for point in best:
                place = {"xytext": (4, -9), "textcoords": "offset points", "size": 7.0}
                ax.annotate(f"{len(point.features)}", (self._x(point), point.value), **place)
        ax.margins(y=0.12)
        ax.set_ylabel("score of the best set")
        if below is not None:
            ax.tick_params(labelbottom=False)
            self._draw_trust(below, [point for point in best if point in judged])
        last = ax if below is None else below
        last.set_xlabel(label)
        if not self.by_cost:
            whole_numbers(last.xaxis, min_n_ticks=1)

    def _draw_trust(self, ax: Any, points: list[FrontPoint]) -> None:
        """Draw how many features of each set are related to the target, and would be selected again."""
        ax.plot([self._x(point) for point in points], [len(point.features) for point in points], "_", color=GREY,
                markersize=14, gid="features")  # fmt: skip
        for point in points:
            if len(point.selected_again) == 2:
                ax.vlines(self._x(point), *point.selected_again, color=VERMILION, linewidth=3.0, alpha=0.6)
            if point.related is not None:
                ax.plot(self._x(point), point.related, "s", color=BLUE, markersize=3.5, gid="related")
        ax.set_ylim(bottom=0)
        ax.set_ylabel("features")
        whole_numbers(ax.yaxis)
