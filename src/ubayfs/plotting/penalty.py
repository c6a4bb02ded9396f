"""What a violation costs: the admissibility of an inequality against the amount by which it is violated.

It is 2 xi / (1 + xi) with xi = exp(-rho v) for a violation v > 0, and 1 where the inequality holds; a hard one has 0 at
any violation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._arguments import Floats, Ints
from .._plain import HARD, counted, rounded, strictness
from ..constraints.system import ConstraintSystem
from ..constraints.utility import log_row_admissibility
from ..decision.problem import Violation
from ..decision.selection import Selection, problem_of
from .base import Display, ReportData
from .links import kind_in_words
from .style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION, short, whole_numbers

_MOST_CURVES = 7
_MOST_VIOLATIONS = 6
_N_POINTS = 101
_FARTHEST = 3.0  # amount that is shown of inequalities that can be violated by any number of features
_COLORS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, GREY)
_LINES: tuple[Any, ...] = ("--", "-.", ":", (0, (6, 2)), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 3)), (0, (8, 2, 1, 2)))


@dataclass(frozen=True)
class PenaltyCurve:
    """Inequalities that are drawn together: all of one relaxation, or a kind of constraint with many relaxations."""

    kinds: tuple[str, ...]  # such as must-link
    rho: float  # the median; inf for hard inequalities
    lowest: float
    highest: float
    n_inequalities: int
    largest: float  # amount by which one of them can be violated at most, by the set of all features
    whole: bool  # whether they can be violated by whole numbers only

    def relaxation(self, digits: int) -> str:
        """Return rho in words."""
        if np.isinf(self.rho):
            return HARD
        if self.lowest == self.highest:
            return f"rho {rounded(self.rho, digits)}"
        lowest, median, highest = (rounded(rho, digits) for rho in (self.lowest, self.rho, self.highest))
        return f"rho {lowest} to {highest}, median {median}"

    def words(self, digits: int) -> str:
        """Return what the curve stands for."""
        return f"{short(', '.join(self.kinds), 32)}: {self.relaxation(digits)}"


@dataclass(frozen=True)
class PenaltyDisplay(Display):
    """Admissibility against the amount of violation, with the violated inequalities of the selected set."""

    curves: tuple[PenaltyCurve, ...]  # by rising rho, which is from the highest curve to the lowest
    farthest: float  # largest amount that is shown
    violations: tuple[Violation, ...]  # of the chosen set, those that cost most first
    n_inequalities: int  # of the whole system, as the next
    n_violations: int

    name: ClassVar[str] = "penalty"
    section: ClassVar[str] = "constraints"
    caption: ClassVar[str] = "What it costs to violate a constraint, by its relaxation or its kind."

    @classmethod
    def applies(cls, selection: Selection, data: ReportData) -> bool:
        """Return whether a report has this figure: if something can be violated at a price; a hard limit never is."""
        return selection.problem is not None and not np.isinf(selection.problem.utility.system.rho).all()

    @classmethod
    def from_selection(cls, selection: Selection) -> PenaltyDisplay:
        """Compute the display of a selection that :func:`~ubayfs.decide` returned."""
        system = problem_of(selection, "the penalty curve").utility.system
        violations = selection.metrics.violations
        listed = violations[:_MOST_VIOLATIONS]
        curves = _curves(system)
        # Hard ones leave nothing at any amount: how far they can be violated is of no interest beside others.
        possible = [min(curve.largest, _FARTHEST) for curve in curves if not np.isinf(curve.rho)] or [1.0]
        farthest = 1.1 * max([*possible, *(violation.amount for violation in listed)])
        return cls(curves, float(farthest), listed, system.n_inequalities, len(violations))

    def _heading(self) -> tuple[str, str]:
        if self.n_inequalities == 0:
            return "There are no constraints, so nothing is penalized", ""
        number = counted(self.n_violations, "inequality", "inequalities") if self.n_violations else "nothing"
        title = f"What a violation costs; the selected set violates {number}"
        details = "Numbered: what the selected set violates." if self.violations else ""
        if any(curve.whole for curve in self.curves):
            details += " Dots: whole amounts; a line ends at the largest possible one."
        if any(curve.lowest < curve.highest for curve in self.curves):
            details += " Bands: from the lowest rho to the highest, with the median as a line."
        for position, violation in enumerate(self.violations, start=1):
            factor = f"costs {100 * (1 - violation.admissibility):.3g} %"
            cost = f"by {violation.amount:g}, {strictness(violation.rho)}, {factor}"
            details += f"\n{position}  {short(violation.label, 62)}, {cost}"
        more = self.n_violations - len(self.violations)
        return title, (details + (f"\nand {more:,} more" if more else "")).strip()

    def _height(self) -> float:
        return 3.2 + 0.13 * len(self.violations) + 0.16 * len(self.curves)

    def _draw(self, ax: Any) -> None:
        ax.set_xlim(-0.02 * self.farthest, self.farthest)  # the step of hard inequalities stands off the axis
        ax.set_ylim(-0.03, 1.05)
        whole_numbers(ax.xaxis)
        ax.set_xlabel("amount by which an inequality is violated (in its own unit, mostly features)")
        ax.set_ylabel("its admissibility (1: holds)")
        for place, (curve, words) in enumerate(zip(self.curves, self._labels(), strict=True)):
            color = BLACK if np.isinf(curve.rho) else _COLORS[place % len(_COLORS)]
            self._draw_curve(ax, curve, words, color, _LINES[place % len(_LINES)])
        for (amount, value), numbers in self._marks().items():
            ax.plot([amount], [value], "o", color=BLACK, markersize=5, zorder=4, gid="violated")
            ax.annotate(
                ", ".join(numbers), (amount, value), xytext=(5, 4), textcoords="offset points", fontweight="bold"
            )

    def _draw_curve(self, ax: Any, curve: PenaltyCurve, words: str, color: str, line: Any) -> None:
        end = min(curve.largest, self.farthest)
        name = HARD if np.isinf(curve.rho) else f"rho {curve.rho:g}"
        if np.isinf(curve.rho):  # a step: any violation at all leaves nothing
            ax.plot((0.0, 0.0, end), (1.0, 0.0, 0.0), color=color, clip_on=False, label=words, gid=name)
            return
        x = np.linspace(0.0, end, _N_POINTS)
        # Of whole amounts the points count, and the line only joins them.
        weight = 0.8 if curve.whole else 1.4
        ax.plot(x, _admissibility(x, curve.rho), color=color, linestyle=line, linewidth=weight, label=words, gid=name)
        if curve.lowest < curve.highest:
            low, high = _admissibility(x, curve.highest), _admissibility(x, curve.lowest)
            ax.fill_between(x, low, high, color=color, alpha=0.2, linewidth=0, gid=f"band {name}")
        if curve.whole:
            at = np.arange(1, int(end) + 1)
            for rho in sorted({curve.lowest, curve.rho, curve.highest}):
                ax.plot(at, _admissibility(at, rho), "o", markersize=5.5, color=color, gid=f"points {name}")

    def _labels(self) -> list[str]:
        """Return the words of the curves, with as many digits as it takes to tell them apart."""
        distinct = len({(curve.lowest, curve.rho, curve.highest) for curve in self.curves})
        enough = (n for n in (3, 6, 9) if len({curve.relaxation(n) for curve in self.curves}) == distinct)
        digits = next(enough, 17)
        return [curve.words(digits) for curve in self.curves]

    def _marks(self) -> dict[tuple[float, float], list[str]]:
        """Return the numbers of the violations at each point; points too close to be seen as two are one."""
        marks: dict[tuple[float, float], list[str]] = {}
        apart = 0.03 * self.farthest, 0.05
        for number, violation in enumerate(self.violations, start=1):
            here = violation.amount, violation.admissibility
            close = (mark for mark in marks if all(abs(a - b) < c for a, b, c in zip(mark, here, apart, strict=True)))
            marks.setdefault(next(close, here), []).append(str(number))
        return marks


def _admissibility(violation: Any, rho: float) -> Floats:
    return np.exp(log_row_admissibility(violation, rho))


def _curves(system: ConstraintSystem) -> tuple[PenaltyCurve, ...]:
    """Return the inequalities that some set can violate, in at most seven curves by rising rho.

    Constraints with one relaxation share a curve with others of the same. Those with many (every pair of correlated
    features has its own) are a curve for each kind; and so are all, where there would be too many curves otherwise.
    """
    A = system.A
    owner = np.repeat(np.arange(system.n_inequalities), np.diff(A.indptr))
    # The largest violation: everything with a positive coefficient is selected, and nothing else.
    largest = np.bincount(owner, weights=np.maximum(A.data, 0.0), minlength=system.n_inequalities) - system.b
    fractional = np.bincount(owner, weights=A.data != np.round(A.data), minlength=system.n_inequalities) > 0
    whole = ~fractional & (system.b == np.round(system.b))
    constraints = [
        (kind_in_words(constraint), part)
        for constraint in system.parts
        for rows in [system.rows_of(constraint)]
        for hard in (False, True)
        if len(part := rows[(largest[rows] > 0) & (np.isinf(system.rho[rows]) == hard)])
    ]
    curves = []
    for members in _few_groups(system, constraints):
        rows = np.concatenate([part for _, part in members])
        rho = np.sort(system.rho[rows])
        curves.append(
            PenaltyCurve(
                kinds=tuple(dict.fromkeys(kind for kind, _ in members)),
                # The lower median: a value that an inequality has.
                rho=float(rho[(len(rho) - 1) // 2]),
                lowest=float(rho[0]),
                highest=float(rho[-1]),
                n_inequalities=len(rows),
                largest=float(largest[rows].max()),
                whole=bool(whole[rows].all()),
            )
        )
    return tuple(sorted(curves, key=lambda curve: (curve.rho, curve.lowest, curve.highest)))


def _few_groups(system: ConstraintSystem, constraints: list[tuple[str, Ints]]) -> list[list[tuple[str, Ints]]]:
    """Divide constraints into groups: by relaxation, or if these are too many by kind, or else into soft and hard."""
    for by in ("relaxation", "kind", "nothing"):
        groups: dict[Any, list[tuple[str, Ints]]] = {}
        for kind, rows in constraints:
            rho = system.rho[rows]
            if np.isinf(rho[0]):
                key: Any = HARD
            elif by == "nothing":
                key = "soft"
            else:
                key = float(rho[0]) if by == "relaxation" and (rho == rho[0]).all() else kind
            groups.setdefault(key, []).append((kind, rows))
        if len(groups) <= _MOST_CURVES:
            break
    return list(groups.values())
