"""Hazards: sums over the samples at risk, and what is made of them.

A sample is at risk up to its time. Of events at the same time, each sees the others at risk (Breslow's rule), and a
sample that is censored at the time of an event was still at risk. With e = exp(linear predictor), d the events and S0
the sum of e at risk, Lambda = sum of d / S0 over times up to t, and d - e * Lambda is the martingale residual.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from .._arguments import Array, Floats, Ints
from ..exceptions import UBayFSError

_MAX_STEPS = 100
# Newton's method ends where a step promises less than this share of the loss, and a line search at this step; a step is
# taken if the loss falls by this share of what its slope promises (Armijo).
_LAST_GAIN, _SMALLEST_STEP, _ENOUGH = 1e-10, 1e-10, 1e-4
# Linear predictors beyond this are cut, so that squares of exp stay above 0; hazards of exp(300) mean nothing.
_LARGEST = 300.0


@dataclass(frozen=True, eq=False)
class RiskSets:
    """Samples by time and event, both of shape (n_samples,); sums are over the last axis of what is given."""

    time: Floats
    event: Floats  # 0 and 1

    @classmethod
    def from_times(cls, time: Array, event: Array) -> RiskSets:
        """Take times and events of any types."""
        return cls(np.asarray(time, dtype=np.float64), np.asarray(event, dtype=np.float64))

    @cached_property
    def _places(self) -> tuple[Ints, Ints, Ints]:
        """The samples by time, and of each sample the first and the last place of its time among them."""
        order = np.argsort(self.time, kind="stable")
        ordered = self.time[order]
        first, last = (np.searchsorted(ordered, self.time, side=side) for side in ("left", "right"))
        return order, first, last - 1

    def at_risk(self, values: Array) -> Floats:
        """Return, for the time of each sample, the sum over samples of this time or a later one.

        >>> RiskSets.from_times([3, 1, 1, 2], [1, 1, 0, 1]).at_risk(np.ones(4))
        array([1., 4., 4., 2.])
        """
        order, first, _ = self._places
        return np.cumsum(values[..., order[::-1]], axis=-1)[..., ::-1][..., first]

    def until(self, values: Array) -> Floats:
        """Return, for the time of each sample, the sum over samples of this time or an earlier one."""
        order, _, last = self._places
        return np.cumsum(values[..., order], axis=-1)[..., last]

    def cumulative_hazard(self, e: Array) -> Floats:
        """Return Lambda at the times of the samples; `e`, of shape (..., n_samples), are relative hazards, 0 for none.

        With ones it is the estimate of Nelson and Aalen; with the 0/1 weights of subsamples that within each of them.
        """
        events = self.event * (e > 0)
        return self.until(events / np.where(events > 0, self.at_risk(e), 1.0))

    def null_residuals(self, subsamples: Array) -> Floats:
        """Return martingale residuals without any feature inside each subsample, 0 outside; (n_models, n_samples).

        Those of a subsample have the sum 0.

        >>> RiskSets.from_times([1, 2, 3], [1, 0, 1]).null_residuals(np.ones((1, 3))).round(3)
        array([[ 0.667, -0.333, -0.333]])
        """
        weights = np.asarray(subsamples, dtype=np.float64)
        return weights * (self.event - self.cumulative_hazard(weights))


class CoxPoint(NamedTuple):
    """The partial likelihood of Cox's model at some linear predictor."""

    risk_sets: RiskSets
    e: Floats  # exp(linear predictor), (n_samples,)
    hazard: Floats  # Lambda, (n_samples,)
    residual: Floats  # the gradient of the log-likelihood in the linear predictor, (n_samples,)
    loss: float  # minus the log-likelihood

    @classmethod
    def at(cls, risk_sets: RiskSets, linear: Floats) -> CoxPoint:
        """Evaluate it at a linear predictor of shape (n_samples,)."""
        linear = np.clip(linear - linear.max(initial=0.0), -_LARGEST, None)  # a constant changes nothing
        e = np.exp(linear)
        hazard = risk_sets.cumulative_hazard(e)
        d = risk_sets.event
        loss = float(d @ (np.log(risk_sets.at_risk(e)) - linear))  # sum of d (log S0 - linear)
        return cls(risk_sets, e, hazard, d - e * hazard, loss)

    def curved(self, z: Floats) -> Floats:
        """Return the second derivative of the loss times z, of shape (n_samples,) or (n_samples, k)."""
        risk_sets, z = self.risk_sets, z.T
        # diag(e Lambda) z - e * sum of d / S0^2 (sum of e z at risk) over times up to t
        rates = risk_sets.event / risk_sets.at_risk(self.e) ** 2
        product: Floats = self.e * (self.hazard * z - risk_sets.until(rates * risk_sets.at_risk(self.e * z)))
        return product.T


class CoxFit(NamedTuple):
    """Cox's model of standardized or other columns."""

    coefficients: Floats  # log hazard ratios per unit, (n_features,)
    residual: Floats  # martingale residuals, (n_samples,)


def fit_cox(Z: Floats, time: Array, event: Array, penalty: float = 0.0) -> CoxFit:
    """Fit Cox's proportional hazards by Newton's method: minus log-likelihood + penalty / 2 * |coefficients|^2.

    `Z`, of shape (n_samples, n_features), is about centered and of order one. Columns that others determine need a
    penalty; without one the fit fails (UBayFSError) where hazards can be told apart perfectly.

    >>> fit_cox(np.array([[1.0], [0.0], [1.0], [0.0]]), [1, 2, 3, 4], [1, 1, 1, 1]).coefficients.round(4)
    array([0.9406])
    """
    risk_sets, n_features = RiskSets.from_times(time, event), Z.shape[1]
    w = np.zeros(n_features)
    point = CoxPoint.at(risk_sets, Z @ w)
    if n_features == 0:
        return CoxFit(w, point.residual)
    for _ in range(_MAX_STEPS):
        gradient = Z.T @ point.residual - penalty * w
        curvature = Z.T @ point.curved(Z)
        curvature[np.diag_indices(n_features)] += penalty
        try:
            direction = np.linalg.solve(curvature, gradient)
        except np.linalg.LinAlgError as error:
            raise UBayFSError("Cox's model has no unique fit; columns determine each other.") from error
        decrement, step, start = float(gradient @ direction), 1.0, point.loss + penalty / 2 * float(w @ w)
        if decrement <= _LAST_GAIN * (1 + abs(start)):  # the last step squares what error is left
            w = w + direction
            return CoxFit(w, CoxPoint.at(risk_sets, Z @ w).residual)
        while step > _SMALLEST_STEP:
            new = w + step * direction
            point = CoxPoint.at(risk_sets, Z @ new)
            if point.loss + penalty / 2 * float(new @ new) <= start - _ENOUGH * step * decrement:
                break
            step /= 2
        else:
            return CoxFit(w, CoxPoint.at(risk_sets, Z @ w).residual)  # no digits are left to improve
        w = new
        if penalty == 0 and np.ptp(Z @ w) > _LARGEST:
            break
    raise UBayFSError("Cox's model did not converge: some feature predicts perfectly who has the event first.")


def cox_errors(Z: Floats, time: Array, event: Array, coefficients: Floats) -> Floats:
    """Return the standard errors of the coefficients of :func:`fit_cox` without a penalty, from the information.

    >>> Z, time, event = np.array([[1.0], [0.0], [1.0], [0.0]]), [1, 2, 3, 4], [1, 1, 1, 1]
    >>> cox_errors(Z, time, event, fit_cox(Z, time, event).coefficients).round(4)
    array([1.2403])
    """
    point = CoxPoint.at(RiskSets.from_times(time, event), Z @ coefficients)
    # The inverse of the information; a coefficient without any has an infinite error.
    inverse = np.linalg.pinv(Z.T @ point.curved(Z))
    variances = np.diag(inverse)
    return np.where(variances > 0, np.sqrt(np.maximum(variances, 0.0)), np.inf)
