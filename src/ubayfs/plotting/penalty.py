"""What a violation costs: the admissibility of a row for each relaxation in use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..selection import Selection, Violation
from ..utility import log_row_admissibility
from .base import Display, problem_of
from .style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION, counted, label_lines, relaxation, short

_MOST_CURVES = 7
_MOST_VIOLATIONS = 6
_N_POINTS = 101
_COLORS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, GREY)
_LINES: tuple[Any, ...] = ("--", "-.", ":", (0, (6, 2)), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 3)), (0, (8, 2, 1, 2)))


@dataclass(frozen=True)
class PenaltyCurve:
    """Admissibility of the rows with one relaxation.

    Attributes
    ----------
    rho : float
        inf for hard rows.
    n_rows : int
        Rows that have it.
    admissibility : tuple of float
        At each violation of the display.
    """

    rho: float
    n_rows: int
    admissibility: tuple[float, ...]


@dataclass(frozen=True)
class PenaltyDisplay(Display):
    """Admissibility against the amount of violation, with the violated rows of the chosen set.

    Attributes
    ----------
    violation : tuple of float
        Horizontal positions.
    curves : tuple of PenaltyCurve
        By rising rho.
    violations : tuple of Violation
        Of the chosen set, those that cost most first.
    n_relaxations, n_rows, n_violations : int
        Of the whole system: distinct values of rho, rows, violated rows.
    """

    violation: tuple[float, ...]
    curves: tuple[PenaltyCurve, ...]
    violations: tuple[Violation, ...]
    n_relaxations: int
    n_rows: int
    n_violations: int

    name: ClassVar[str] = "penalty"

    @classmethod
    def from_selection(cls, selection: Selection) -> PenaltyDisplay:
        """Compute the display.

        Parameters
        ----------
        selection : Selection
            As :func:`~ubayfs.decide` returns it.
        """
        system = problem_of(selection, "the penalty curve").utility.system
        violations = selection.metrics.violations
        listed = violations[:_MOST_VIOLATIONS]
        rhos, n_rows = np.unique(system.rho, return_counts=True)
        farthest = max([4.0, *(1.15 * row.amount for row in listed)])
        violation = np.linspace(0.0, farthest, _N_POINTS)
        curves = tuple(
            PenaltyCurve(
                float(rhos[i]), int(n_rows[i]), tuple(np.exp(log_row_admissibility(violation, rhos[i])).tolist())
            )
            for i in _representative(rhos, np.array([row.rho for row in listed]))
        )
        return cls(tuple(violation.tolist()), curves, listed, len(rhos), system.n_rows, len(violations))

    def _heading(self) -> tuple[str, str]:
        if not self.curves:
            return "There are no constraints, so nothing is penalized", ""
        title = f"What a violation costs: {self.n_violations:,} of {counted(self.n_rows, 'row')} violated"
        details = (
            "Numbered: rows that the chosen set violates." if self.violations else "The chosen set keeps all rows."
        )
        if self.n_relaxations > len(self.curves):
            details += f" {len(self.curves)} of {self.n_relaxations:,} values of rho shown."
        for number, row in enumerate(self.violations, start=1):
            cost = f"by {row.amount:g}, {relaxation(row.rho)}, costs {100 * (1 - row.admissibility):.3g} %"
            details += f"\n{number}  {short(row.label, 62)}: {cost}"
        more = self.n_violations - len(self.violations)
        return title, details + (f"\nand {more:,} more" if more else "")

    def _height(self) -> float:
        return 3.3 + 0.13 * len(self.violations)

    def _draw(self, ax: Any) -> None:
        ax.set_xlim(-0.02 * self.violation[-1], self.violation[-1])  # the step of hard rows stands off the axis
        ax.set_ylim(-0.03, 1.05)
        ax.set_xlabel("amount by which a row is violated (in its own unit, mostly features)")
        ax.set_ylabel("admissibility of the row (1: holds)")
        colors = [BLACK if np.isinf(curve.rho) else color for curve, color in zip(self.curves, _COLORS, strict=False)]
        for curve, color, line in zip(self.curves, colors, _LINES, strict=False):
            x, y = self.violation, curve.admissibility
            if np.isinf(curve.rho):  # a step: any violation at all leaves nothing
                x, y, line = (0.0, 0.0, x[-1]), (1.0, 0.0, 0.0), "-"
            ax.plot(x, y, color=color, linestyle=line, clip_on=False, gid=f"rho {curve.rho:g}")
        label_lines(
            ax,
            [curve.admissibility[-1] for curve in self.curves],
            [f"{relaxation(curve.rho)} ({counted(curve.n_rows, 'row')})" for curve in self.curves],
            colors,
        )
        for (amount, value), numbers in self._marks().items():
            ax.plot([amount], [value], "o", color=BLACK, markersize=5, zorder=4, gid="violated")
            ax.annotate(
                ", ".join(numbers), (amount, value), xytext=(5, 4), textcoords="offset points", fontweight="bold"
            )

    def _marks(self) -> dict[tuple[float, float], list[str]]:
        """Return the numbers of the violated rows at each point; points too close to be told apart are one."""
        marks: dict[tuple[float, float], list[str]] = {}
        apart = 0.03 * self.violation[-1], 0.05
        for number, row in enumerate(self.violations, start=1):
            here = row.amount, row.admissibility
            close = (mark for mark in marks if all(abs(a - b) < c for a, b, c in zip(mark, here, apart, strict=True)))
            marks.setdefault(next(close, here), []).append(str(number))
        return marks


def _representative(rhos: NDArray[np.float64], violated: NDArray[np.float64]) -> list[int]:
    """Return which relaxations to draw: all when they are few, else the violated ones and some between the extremes."""
    if len(rhos) <= _MOST_CURVES:
        return list(range(len(rhos)))
    kept = dict.fromkeys(np.searchsorted(rhos, violated).tolist())
    # The extremes first, then the middle, then the quarters: as many as there is room for.
    for share in (0.0, 1.0, 0.5, 0.25, 0.75, 0.125, 0.875):
        kept.setdefault(round(share * (len(rhos) - 1)))
    return sorted(list(kept)[:_MOST_CURVES])
