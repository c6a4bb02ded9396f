"""Survival of samples whose predicted risk is low or high."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._plain import counted, rounded
from ..data.hazards import kaplan_meier
from ..exceptions import InputError
from ..selection import Selection
from ..trust.validation import SampleRisk, Validation
from .base import Display, ReportData
from .style import BLUE, SMALL, VERMILION, divided, label_lines

_GROUPS = (("low risk", BLUE, "-"), ("high risk", VERMILION, "--"))
_N_TIMES = 6  # at which the numbers at risk are written


@dataclass(frozen=True)
class SurvivalDisplay(Display):
    """Kaplan-Meier curves of samples below and above the median risk, predicted by folds that they had no part in.

    Attributes
    ----------
    low_times, low_shares, high_times, high_shares : tuple of float
        Steps of both curves: share without event from each time on.
    low_censored, high_censored : tuple of float
        Times at which samples were last seen without event.
    times : tuple of float
    low_at_risk, high_at_risk : tuple of int
        Samples that are followed for at least these times.
    n_events : int
    """

    low_times: tuple[float, ...]
    low_shares: tuple[float, ...]
    low_censored: tuple[float, ...]
    high_times: tuple[float, ...]
    high_shares: tuple[float, ...]
    high_censored: tuple[float, ...]
    times: tuple[float, ...]
    low_at_risk: tuple[int, ...]
    high_at_risk: tuple[int, ...]
    n_events: int

    name: ClassVar[str] = "survival"
    section: ClassVar[str] = "validation"
    caption: ClassVar[str] = "Survival of samples with low and high risk, predicted by folds that they had no part in."
    report_arguments: ClassVar[Mapping[str, str]] = {"validation": "trust.validation"}

    @classmethod
    def applies(cls, selection: Selection, data: ReportData) -> bool:
        """Tell whether a report on this selection has this figure: if risks were predicted."""
        found = data.trust.validation
        return found is not None and all(_group(found.risks, high) for high in (False, True))

    @classmethod
    def from_selection(cls, selection: Selection, validation: Validation) -> SurvivalDisplay:
        """Compute the display.

        Parameters
        ----------
        selection : Selection
        validation : Validation
            Of a survival target.
        """
        groups = [_group(validation.risks, high) for high in (False, True)]
        if not all(groups):
            raise InputError.of("validation", "has no risks of two groups; it must be of a survival target.")
        # All samples, each once: a risk of exactly 0 is low.
        times = _round_times(max(sample.time for sample in validation.risks))
        parts: dict[str, Any] = {}
        for word, group in zip(("low", "high"), groups, strict=True):
            time, event = (np.array([getattr(sample, key) for sample in group]) for key in ("time", "event"))
            curve = kaplan_meier(time, event)
            parts[f"{word}_times"], parts[f"{word}_shares"] = (tuple(values.tolist()) for values in curve)
            parts[f"{word}_censored"] = tuple(np.sort(time[event == 0]).tolist())
            parts[f"{word}_at_risk"] = tuple(int((time >= t).sum()) for t in times)
        n_events = sum(int(sample.event) for sample in validation.risks)
        return cls(**parts, times=times, n_events=n_events)

    def _curves(self) -> list[tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...], tuple[int, ...]]]:
        return [
            (self.low_times, self.low_shares, self.low_censored, self.low_at_risk),
            (self.high_times, self.high_shares, self.high_censored, self.high_at_risk),
        ]

    def _heading(self) -> tuple[str, str]:
        halves = [next((t for t, share in zip(*c[:2], strict=True) if share <= 0.5), None) for c in self._curves()]
        known = [
            f"{word} {'not reached' if t is None else rounded(t)}"
            for (word, *_), t in zip(_GROUPS, halves, strict=True)
        ]
        title = f"Does the risk tell who lives longer? Median: {', '.join(known)}"
        n = self.low_at_risk[0] + self.high_at_risk[0]
        details = (
            f"Share without event of {counted(n, 'sample')} with {counted(self.n_events, 'event')}; ticks: censored. "
            "Each sample is in the group that folds predicted in which it had no part in choosing features or "
            "learning."
        )
        return title, details

    def _height(self) -> float:
        return 4.2

    def _draw(self, ax: Any) -> None:
        below = divided(ax, (5, 1))
        ends = []
        for (word, color, line), (times, shares, censored, _) in zip(_GROUPS, self._curves(), strict=True):
            steps, values = np.append(0.0, times), np.append(1.0, shares)
            ax.step(steps, values, where="post", color=color, linestyle=line, gid=word)
            at = values[np.searchsorted(steps, censored, side="right") - 1]
            ax.plot(censored, at, "|", color=color, markersize=4, markeredgewidth=0.6, gid=f"{word} censored")
            ends.append(float(values[-1]))
        ax.set(ylim=(0, 1.02), xlim=(0, 1.02 * max(*self.low_times, *self.high_times)))
        ax.set_ylabel("share without event")
        ax.set_xticks(self.times)
        ax.tick_params(labelbottom=False)
        label_lines(ax, ends, [word for word, *_ in _GROUPS], [color for _, color, _ in _GROUPS])
        self._draw_numbers(below)

    def _draw_numbers(self, ax: Any) -> None:
        for row, ((_, color, _), (*_, at_risk)) in enumerate(zip(_GROUPS, self._curves(), strict=True)):
            for time, n in zip(self.times, at_risk, strict=True):
                ax.text(time, 1 - row, f"{n:,}", ha="center", va="center", size=SMALL, color=color)
        ax.set(ylim=(-0.6, 1.6), yticks=[1, 0], xlabel="time")
        ax.set_yticklabels([word for word, *_ in _GROUPS])
        ax.set_title("number at risk", size=SMALL, loc="left", pad=2, fontweight="normal")
        ax.tick_params(axis="y", length=0, pad=14)
        for side in ("left", "right", "top"):
            ax.spines[side].set_visible(False)


def _group(risks: Sequence[SampleRisk], high: bool) -> list[SampleRisk]:
    return [sample for sample in risks if (sample.risk > 0) == high]


def _round_times(longest: float) -> tuple[float, ...]:
    """Return times from 0 on at which the numbers at risk are written.

    >>> _round_times(5481.0)
    (0.0, 1000.0, 2000.0, 3000.0, 4000.0, 5000.0)
    """
    if longest <= 0:
        return (0.0,)
    rough = longest / (_N_TIMES - 1)
    unit = 10.0 ** np.floor(np.log10(rough))
    step = next(factor * unit for factor in (1, 2, 2.5, 5, 10) if factor * unit * _N_TIMES > longest)
    return tuple(np.arange(0.0, longest * (1 + 1e-9), step).tolist())
