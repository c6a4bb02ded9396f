"""Losses of lasso paths: squares, logistic, and Cox's partial likelihood, each at a linear predictor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from .._arguments import Floats
from ..data.hazards import CoxPoint, RiskSets


class LossPoint(NamedTuple):
    """A loss at some linear predictor."""

    residual: Floats  # minus the derivative of the sum, (n_samples,)
    curved: Callable[[Floats], Floats]  # second derivative of the mean times z, (n_samples,) or (n_samples, k)
    loss: float  # mean over samples


def _times(curvature: Floats) -> Callable[[Floats], Floats]:
    return lambda z: curvature[:, None] * z if z.ndim == 2 else curvature * z


@dataclass(frozen=True, eq=False)
class Squares:
    """Half the squared difference from numbers with mean 0 and variance 1, of shape (n_samples,)."""

    y: Floats
    curves: ClassVar[bool] = False  # whether the second derivative changes

    @property
    def free(self) -> Floats:
        """The intercept to begin with; empty if the model has none."""
        return np.array([float(self.y.mean())])

    def at(self, linear: Floats) -> LossPoint:
        """Evaluate the loss."""
        n, residual = len(self.y), self.y - linear
        return LossPoint(residual, _times(np.full(n, 1 / n)), 0.5 * float(residual @ residual) / n)


@dataclass(frozen=True, eq=False)
class Logistic:
    """The logistic loss of classes 0 and 1, of shape (n_samples,)."""

    y: Floats
    curves: ClassVar[bool] = True

    @property
    def free(self) -> Floats:
        """The intercept to begin with."""
        share = float(self.y.mean())
        return np.array([np.log(share / (1 - share))])

    def at(self, linear: Floats) -> LossPoint:
        """Evaluate the loss."""
        # In this form nothing overflows, and the curvature stays positive where the response rounds to 0 or 1.
        n, y = len(self.y), self.y
        decay = np.exp(-np.minimum(np.abs(linear), 600))
        total = 1 + decay
        residual = y - np.where(linear > 0, 1, decay) / total
        loss = np.log1p(decay) + np.maximum(linear, 0) - y * linear
        return LossPoint(residual, _times(decay / (n * total**2)), float(loss.sum()) / n)


@dataclass(frozen=True, eq=False)
class PartialLikelihood:
    """Minus the log of Cox's partial likelihood; a constant changes nothing, so that there is no intercept.

    Its curvature is no vector, but an operator: samples are at risk together.
    """

    risk_sets: RiskSets
    curves: ClassVar[bool] = True

    @property
    def free(self) -> Floats:
        """No intercept."""
        return np.empty(0)

    def at(self, linear: Floats) -> LossPoint:
        """Evaluate the loss."""
        n, point = len(linear), CoxPoint.at(self.risk_sets, linear)
        return LossPoint(point.residual, lambda z: point.curved(z) / n, point.loss / n)


Loss = Squares | Logistic | PartialLikelihood
