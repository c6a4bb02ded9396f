"""Plots of an answer as values: selected features in the data, and predictions of held-out samples.

They are computed once, by :mod:`.plot_facts`, and stored with the answer; report and app draw them by :mod:`.svg`.
Values have four significant digits; points are of the samples that the heat map shows, at most about 120. Boxes,
curves and shares are of all samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["classes", "share", "target", "levels", "halves", "ends", "pair", "roc", "predicted", "risk"]
Values = tuple[float, ...]


@dataclass(frozen=True)
class Series:
    """Points, or a curve, of one group of samples."""

    name: str  # class, level, third of the target, half; empty: there are no groups
    n: int  # samples of the group
    x: Values = ()
    y: Values = ()
    box: Values = ()  # minimum, quartiles, maximum
    at_risk: tuple[int, ...] = ()  # samples that have neither had the event nor left, before each time of the plot


@dataclass(frozen=True)
class Plot:
    """What one plot shows, by its kind.

    - ``classes``: a feature (y) and its box in each class; ``levels``: the target (y) in each level of a category.
    - ``share``: a feature (x) in two classes; the curve is the share of the second class, a local mean.
    - ``target``: a feature (x) and the target (y); the curve is a local mean.
    - ``halves``: shares without event (y) over time (x), Kaplan and Meier, of samples with values up to the median
      ``cut`` and above; of a category, of its levels. ``ends``: of samples near the middle rank, and far from it.
    - ``pair``: two features (x, y) in the groups of the target.
    - ``roc``: share of samples outside (x) and inside (y) of a class that are called inside, the mean over folds;
      ``predicted``: true (x) and predicted (y) numbers; ``risk``: shares without event by predicted risk. These three
      are of held-out samples.
    """

    kind: Kind
    features: tuple[str, ...] = ()
    series: tuple[Series, ...] = ()
    curve: Series | None = None
    cut: float | None = None
    times: Values = ()  # at which curves of survival have numbers at risk

    @property
    def n_points(self) -> tuple[int, int]:
        """Samples whose points are shown, and all of them; (0, 0) where none are."""
        shown = [] if self.kind in ("halves", "ends", "risk", "roc") else [*self.series]
        return sum(max(len(each.x), len(each.y)) for each in shown), sum(each.n for each in shown)
