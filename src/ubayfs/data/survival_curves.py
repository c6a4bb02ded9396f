"""Survival curves: the share of samples without an event by time, by Kaplan and Meier; the median follow-up."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._arguments import Array, Floats
from .hazards import RiskSets


def median_follow_up(time: Array, event: Array) -> float | None:
    """Return the median time for which samples were followed, had there been no events; None if it is not reached.

    >>> median_follow_up([1, 2, 3, 4], [1, 0, 0, 0])
    3.0
    """
    curve = kaplan_meier(time, event, censoring=True)
    reached = np.flatnonzero(curve.values <= 0.5)
    return float(curve.times[reached[0]]) if len(reached) else None


class Curve(NamedTuple):
    """A step function of time: its value from each of these times on; each of shape (n_times,)."""

    times: Floats
    values: Floats

    def at(self, times: Array) -> Floats:
        """Return the values at some times, 1 before the first step."""
        return np.append(1.0, self.values)[np.searchsorted(self.times, times, side="right")]


def kaplan_meier(time: Array, event: Array, censoring: bool = False) -> Curve:
    """Estimate the share without event at each time, or the share that is not yet censored.

    At equal times events come before censoring.

    >>> kaplan_meier([1, 2, 2, 3], [1, 1, 0, 0])
    Curve(times=array([1., 2., 3.]), values=array([0.75, 0.5 , 0.5 ]))
    """
    risk_sets = RiskSets.from_times(time, event)
    times, where = np.unique(risk_sets.time, return_inverse=True)
    n_events = np.bincount(where, risk_sets.event, len(times))
    n_all = np.bincount(where, minlength=len(times))
    # Events come first: who has one is no longer at risk of being censored at the same time.
    n_at_risk = np.cumsum(n_all[::-1])[::-1] - (n_events if censoring else 0.0)
    leaving = n_all - n_events if censoring else n_events
    return Curve(times, np.cumprod(1.0 - leaving / np.maximum(n_at_risk, 1.0)))
