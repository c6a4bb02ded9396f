"""How sets predict held-out samples: compared with other selections, by size, and survival by risk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from .._plain import counted, rounded
from ..data.survival_curves import kaplan_meier
from ..decision.selection import Selection
from ..exceptions import InputError
from ..trust.prediction_metrics import interval_text, method_name, metric_name
from ..trust.validation import OURS, SampleRisk, Validation
from .base import Display, ReportData
from .style import BLACK, BLUE, SMALL, VERMILION, divided, label_lines, list_features, whole_numbers, write_beside

_GROUPS = (("low risk", BLUE, "-"), ("high risk", VERMILION, "--"))
_N_TIMES = 6  # at which the numbers at risk are written


@dataclass(frozen=True)
class Scored:
    """The score of a way of choosing by one predictor; NaN where an interval is not known."""

    method: str
    predictor: str
    mean: float
    lower: float
    upper: float


@dataclass(frozen=True)
class Baseline(Scored):
    """Another way of choosing, and by how much ours is better."""

    difference: float
    difference_lower: float
    difference_upper: float


@dataclass(frozen=True)
class ValidationDisplay(Display):
    """What folds show of how the sets of this procedure predict."""

    section: ClassVar[str] = "validation"
    report_arguments: ClassVar[Mapping[str, str]] = {"validation": "trust.validation"}

    @classmethod
    def applies(cls, selection: Selection, data: ReportData) -> bool:
        """Return whether a report on this selection has this figure."""
        return data.trust.validation is not None and cls._shows(data.trust.validation)

    @classmethod
    def _shows(cls, validation: Validation) -> bool:
        """Return whether the validation has what the figure shows."""
        raise NotImplementedError


@dataclass(frozen=True)
class ComparisonDisplay(ValidationDisplay):
    """Differences of the scores from those of baselines, with intervals."""

    baselines: tuple[Baseline, ...]
    ours: tuple[Scored, ...]  # one for each predictor
    metric: str
    n_folds: int

    name: ClassVar[str] = "comparison"
    caption: ClassVar[str] = "How much better or worse the set predicts than simpler ways of selecting features."

    @classmethod
    def _shows(cls, validation: Validation) -> bool:
        return any(row.method != OURS for row in validation.records)

    @classmethod
    def from_selection(cls, selection: Selection, validation: Validation) -> ComparisonDisplay:
        """Compute the display from what :func:`~ubayfs.validate` found."""
        scores = validation.scores
        records = scores[scores["metric"] == validation.main_metric].drop(columns="metric").to_dict("records")
        rows = [{str(key): value for key, value in record.items()} for record in records]
        score_fields = [field.name for field in fields(Scored)]
        return cls(
            baselines=tuple(Baseline(**row) for row in rows if row["method"] != OURS),
            ours=tuple(Scored(**{key: row[key] for key in score_fields}) for row in rows if row["method"] == OURS),
            metric=validation.main_metric,
            n_folds=validation.n_done,
        )

    def _heading(self) -> tuple[str, str]:
        metric = metric_name(self.metric)
        ours = "; ".join(
            f"{metric} {interval_text(row.mean, row.lower, row.upper)} by {row.predictor}" for row in self.ours
        )
        title = f"Does the selection help? {metric} on held-out samples, this selection minus others"
        details = (
            f"This selection: {ours}. Right of the line it is better; full mark: the interval excludes zero. "
            f"95 % intervals; of differences, those of Nadeau and Bengio over {counted(self.n_folds, 'fold')}."
        )
        return title, details

    def _height(self) -> float:
        return 1.6 + 0.24 * max(len(self.baselines), 3)

    def _draw(self, ax: Any) -> None:
        from matplotlib.ticker import MaxNLocator

        rows = np.arange(len(self.baselines))
        middle, low, high = (
            np.array([getattr(row, key) for row in self.baselines])
            for key in ("difference", "difference_lower", "difference_upper")
        )
        clear = (low > 0) | (high < 0)
        ax.axvline(0, color="0.4", linewidth=0.8, zorder=0)
        ax.hlines(rows, low, high, color=BLUE, linewidth=1.6, gid="interval")
        for mark, face in ((True, BLUE), (False, "white")):
            some = np.flatnonzero(clear == mark)
            ax.plot(middle[some], rows[some], "s", markersize=5, color=BLUE, markerfacecolor=face,
                    linestyle="none", zorder=3, gid="clear" if mark else "not clear")  # fmt: skip
        ends = np.abs(np.concatenate([middle, low, high]))
        reach = 1.1 * max(np.nanmax(ends, initial=0.0), 1e-3)
        ax.set_xlim(-reach, reach)
        ax.xaxis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 5, 10]))
        several = len({row.predictor for row in self.baselines}) > 1
        names = [method_name(row.method) + (f", {row.predictor}" if several else "") for row in self.baselines]
        list_features(ax, names, longest=48)
        ax.set_xlabel(f"difference in {metric_name(self.metric)} (this selection minus the other)")
        write_beside(ax, 8, "difference", [
            interval_text(row.difference, row.difference_lower, row.difference_upper, "+") for row in self.baselines
        ])  # fmt: skip


@dataclass(frozen=True)
class PerformanceDisplay(ValidationDisplay):
    """Score on held-out samples against the size of the set."""

    sizes: tuple[int, ...]
    mean: tuple[float, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    metric: str
    best_size: int | None
    one_se_size: int | None
    chosen_size: int
    n_folds: int

    name: ClassVar[str] = "performance"
    caption: ClassVar[str] = "How sets of different sizes predict."

    @classmethod
    def _shows(cls, validation: Validation) -> bool:
        return validation.best_size is not None

    @classmethod
    def from_selection(cls, selection: Selection, validation: Validation) -> PerformanceDisplay:
        """Compute the display.

        Parameters
        ----------
        selection : Selection
        validation : Validation
            As :func:`~ubayfs.validate` returns it when it is asked for sizes.
        """
        frame = validation.sizes
        assert frame is not None
        curve = frame[frame["metric"] == validation.main_metric].dropna(subset="mean")
        sizes = curve["size"].tolist()
        return cls(
            sizes=tuple(sizes),
            **{key: tuple(curve[key].tolist()) for key in ("mean", "lower", "upper")},
            metric=validation.main_metric,
            best_size=validation.best_size,
            one_se_size=validation.one_se_size,
            chosen_size=len(selection.features),
            n_folds=validation.n_done,
        )

    def _heading(self) -> tuple[str, str]:
        title = f"How many features? {metric_name(self.metric)} on held-out samples, by size of the set"
        details = (
            f"Band: 95 % interval over {counted(self.n_folds, 'fold')}. Diamond: fewest features within one standard "
            f"error of the best size. Grey line: size of the selected set."
        )
        return title, details

    def _draw(self, ax: Any) -> None:
        ax.fill_between(self.sizes, self.lower, self.upper, color=BLUE, alpha=0.15, linewidth=0, gid="interval")
        ax.plot(self.sizes, self.mean, color=BLUE, marker="o", markersize=3.5, gid="mean")
        if self.one_se_size in self.sizes:
            mean = self.mean[self.sizes.index(self.one_se_size)]
            ax.plot(self.one_se_size, mean, "D", markersize=8, color=BLACK, markerfacecolor="none", gid="one se")
        ax.set_ylabel(metric_name(self.metric))
        ax.axvline(self.chosen_size, color="0.6", linewidth=0.8, zorder=0)
        whole_numbers(ax.xaxis, min_n_ticks=1)
        ax.set_xlabel("number of features")


@dataclass(frozen=True)
class SurvivalDisplay(ValidationDisplay):
    """Kaplan-Meier curves of samples below and above the median risk, predicted by folds that they had no part in."""

    low_times: tuple[float, ...]  # steps of the curve: share without event from each time on
    low_shares: tuple[float, ...]
    low_censored: tuple[float, ...]  # times at which samples were last seen without event
    high_times: tuple[float, ...]
    high_shares: tuple[float, ...]
    high_censored: tuple[float, ...]
    times: tuple[float, ...]
    low_at_risk: tuple[int, ...]  # samples that are followed for at least these times
    high_at_risk: tuple[int, ...]
    n_events: int

    name: ClassVar[str] = "survival"
    caption: ClassVar[str] = "Survival of held-out samples with low and high predicted risk."
    height: ClassVar[float] = 4.2

    @classmethod
    def _shows(cls, validation: Validation) -> bool:
        return all(_group(validation.risks, high) for high in (False, True))

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
        times = round_times(max(sample.time for sample in validation.risks))
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
        # The first time at which at most half of a group is without event.
        halves = [next((t for t, share in zip(*c[:2], strict=True) if share <= 0.5), None) for c in self._curves()]
        medians = [
            f"{word} {'not reached' if t is None else rounded(t)}"
            for (word, *_), t in zip(_GROUPS, halves, strict=True)
        ]
        title = f"Does the predicted risk separate survival? Median: {', '.join(medians)}"
        n = self.low_at_risk[0] + self.high_at_risk[0]
        details = (
            f"Share without event of {counted(n, 'sample')} with {counted(self.n_events, 'event')}; ticks: censored. "
            "The group of a sample is predicted by folds in which the sample was held out."
        )
        return title, details

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


def round_times(longest: float) -> tuple[float, ...]:
    """Return times from 0 on at which the numbers at risk are written.

    >>> round_times(5481.0)
    (0.0, 1000.0, 2000.0, 3000.0, 4000.0, 5000.0)
    """
    if longest <= 0:
        return (0.0,)
    rough = longest / (_N_TIMES - 1)
    unit = 10.0 ** np.floor(np.log10(rough))
    step = next(factor * unit for factor in (1, 2, 2.5, 5, 10) if factor * unit * _N_TIMES > longest)
    return tuple(np.arange(0.0, longest * (1 + 1e-9), step).tolist())
