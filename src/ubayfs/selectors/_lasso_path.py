"""The lasso path of a linear, logistic or Cox model, event by event.

The model minimizes mean loss(y_i, b + x_i w) + penalty * |w|_1 with a free intercept b (none in Cox's model). While the
active columns A and the signs s of their weights stay the same, the solution is that of the smooth equations

    X_A^T r / n = penalty * s,   sum r = 0,   r = y - mean response,

which Newton's method solves from nearby in two or three small steps. What ends such a stretch is an event: the
correlation |x_j^T r| / n of another column reaches the penalty (it enters), or an active weight reaches zero (it
leaves). The derivative of the solution predicts the penalty of the next event, exactly in the linear model (which
makes it the LARS-lasso of Efron et al. 2004), and to second order in the others (Park and Hastie 2007). There the
prediction is corrected, repeated from the corrected point, and kept between a penalty known to lie before and one known
to lie behind the event, until the event is met. Each repetition costs two products with the columns of X.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from .._arguments import Floats
from ..data.hazards import CoxPoint, RiskSets
from ._subsample import COLLINEAR, solve_positive

# Penalties closer than this share of the first one are the same; rounding errors are a thousand times smaller.
_TIE = 1e-11
# Correlations that fall as fast as the penalty, but for rounding errors, never reach it.
_FLAT = 1e-9
# No column has anything to do with the target when the largest correlation, of order one, is a rounding error.
_UNRELATED = 1e-12
# What rounding may add to the loss, as a share of it, and the smallest step of a line search.
_LOSS_ROUNDING, _SMALLEST_STEP = 1e-14, 1e-10
_MAX_REPETITIONS = 100


class Event(NamedTuple):
    """At `penalty`, going down, `feature` enters the model or leaves it."""

    penalty: float
    feature: int
    enters: bool


class Point(NamedTuple):
    """A loss at some linear predictor."""

    residual: Floats  # minus the derivative of the sum, (n_samples,)
    curved: Callable[[Floats], Floats]  # second derivative of the mean times z, (n_samples,) or (n_samples, k)
    loss: float  # mean over samples


class Loss(NamedTuple):
    """What a path minimizes."""

    free: Floats  # the intercept to begin with; empty if the model has none
    at: Callable[[Floats], Point]  # of a linear predictor
    curves: bool = True  # whether the second derivative changes


def squares(y: Floats) -> Loss:
    """Return half the squared difference from numbers with mean 0 and variance 1, of shape (n_samples,)."""
    n = len(y)

    def at(linear: Floats) -> Point:
        residual = y - linear
        return Point(residual, _times(np.full(n, 1 / n)), 0.5 * float(residual @ residual) / n)

    return Loss(np.array([float(y.mean())]), at, curves=False)


def logistic(y: Floats) -> Loss:
    """Return the logistic loss of classes 0 and 1, of shape (n_samples,)."""
    n, share = len(y), float(y.mean())

    def at(linear: Floats) -> Point:
        # In this form nothing overflows, and the curvature stays positive where the response rounds to 0 or 1.
        decay = np.exp(-np.minimum(np.abs(linear), 600))
        total = 1 + decay
        residual = y - np.where(linear > 0, 1, decay) / total
        loss = np.log1p(decay) + np.maximum(linear, 0) - y * linear
        return Point(residual, _times(decay / (n * total**2)), float(loss.sum()) / n)

    return Loss(np.array([np.log(share / (1 - share))]), at)


def partial_likelihood(risk_sets: RiskSets) -> Loss:
    """Return minus the log of Cox's partial likelihood; a constant changes nothing, so that there is no intercept.

    Its curvature is no vector, but an operator: samples are at risk together.
    """

    def at(linear: Floats) -> Point:
        n, point = len(linear), CoxPoint.at(risk_sets, linear)
        return Point(point.residual, lambda z: point.curved(z) / n, point.loss / n)

    return Loss(np.empty(0), at)


def _times(curvature: Floats) -> Callable[[Floats], Floats]:
    return lambda z: curvature[:, None] * z if z.ndim == 2 else curvature * z


class LassoPath:
    """The path of one output, by the loss of its target; `X` has standardized columns.

    Attributes
    ----------
    top : float
        The penalty at which the first column enters.
    active : list of int
        The columns in the model, in the order in which they entered.
    """

    def __init__(self, X: Floats, loss: Loss) -> None:
        self._X = np.asfortranarray(X)
        self._loss, self._n = loss, len(X)
        self._n_free = len(loss.free)  # coefficients without a penalty, the first ones
        self.active: list[int] = []
        self._signs = np.zeros(self._n_free)  # of the coefficients; the intercept has none
        self._barred = np.zeros(X.shape[1], dtype=bool)
        self._update_active()
        self._coefficients, self._point = loss.free, loss.at(self._Z @ loss.free)
        self.top = float(np.abs(self._correlations()).max())
        self._tie = _TIE * self.top

    @property
    def intercept(self) -> float:
        """The free constant of the model."""
        return float(self._coefficients[: self._n_free].sum())

    @property
    def weights(self) -> Floats:
        """Weights of the active columns."""
        return self._coefficients[self._n_free :]

    def events(self, floor: float) -> Iterator[Event]:
        """Walk the path from the penalty `top` down to `floor`."""
        if self.top <= _UNRELATED:
            return
        penalty = self.top
        # Cycling needs ties that rounding errors break now this way, now that; then the walk just ends.
        for _ in range(10 * min(self._X.shape) + 100):
            event = self._next_event(penalty, floor)
            if event is None:
                return
            penalty, feature = event
            enters = feature not in self.active
            if not enters:
                self._drop(feature)
                self._solve_at(penalty)  # without what rounding had left of its weight
            elif not self._admit(feature):
                continue
            yield Event(penalty, feature, enters)

    # -- the active columns ------------------------------------------------------------------------------------------

    def _update_active(self) -> None:
        """Recompute what depends on the active columns only."""
        self._Z = np.column_stack([np.ones((self._n, self._n_free)), self._X[:, self.active]])
        self._update_candidates()

    def _update_candidates(self) -> None:
        """List the columns whose events are sought: those outside by either sign, then active ones."""
        closed = self._barred.copy()
        closed[self.active] = True
        everything = np.arange(len(closed))
        self._columns = np.concatenate([everything, everything, np.array(self.active, dtype=np.intp)])
        self._closed = np.flatnonzero(np.tile(closed, 2))

    def _admit(self, feature: int) -> bool:
        """Let a column enter with weight 0; bar it instead if the active ones determine it."""
        point, column = self._point, self._X[:, feature]
        weighted = point.curved(column)
        cross = self._Z.T @ weighted
        square = float(weighted @ column)
        # What is left of the column, weighted by the curvature, beyond the active ones: the Schur complement.
        if square - cross @ self._newton_direction(cross) <= COLLINEAR * square:
            self._barred[feature] = True
            self._update_candidates()
            return False
        self._signs = np.append(self._signs, np.sign(column @ point.residual))
        self.active.append(feature)
        self._coefficients = np.append(self._coefficients, 0.0)
        self._update_active()
        return True

    def _drop(self, feature: int) -> None:
        position = self._n_free + self.active.index(feature)
        self.active.remove(feature)
        self._signs = np.delete(self._signs, position)
        self._update_active()
        self._move_to(np.delete(self._coefficients, position))

    # -- the model ---------------------------------------------------------------------------------------------------

    def _move_to(self, coefficients: Floats) -> None:
        """Take other coefficients, intercept first."""
        self._coefficients, self._point = coefficients, self._loss.at(self._Z @ coefficients)

    def _correlations(self) -> Floats:
        return (self._point.residual @ self._X) / self._n

    def _objective(self, penalty: float) -> float:
        return self._point.loss + penalty * float(self._signs @ self._coefficients)

    def _newton_direction(self, right: Floats) -> Floats:
        if len(right) == 0:  # no intercept, and no column yet
            return right
        return solve_positive(self._Z.T @ self._point.curved(self._Z), right)

    def _solve_at(self, penalty: float) -> None:
        """Move the coefficients to the solution at `penalty` with the present columns and signs."""
        n, last_size = self._n, np.inf
        for _ in range(_MAX_REPETITIONS):
            # Minus the gradient of the objective; the equations of the module ask for 0.
            gradient = self._Z.T @ self._point.residual / n - penalty * self._signs
            size = float(np.abs(gradient).max(initial=0.0))
            # Near the solution a step squares the error, unless only rounding errors are left.
            if size <= 1e-3 * self._tie or 0.5 * last_size < size < 1e2 * self._tie:
                return
            last_size = size
            before, start = (self._coefficients, self._point), self._objective(penalty)
            direction, step = self._newton_direction(gradient), 1.0
            allowance = _LOSS_ROUNDING * (1 + abs(start))
            self._move_to(before[0] + direction)
            while step > _SMALLEST_STEP and self._objective(penalty) > start + allowance:
                step /= 2
                self._move_to(before[0] + step * direction)
            if step <= _SMALLEST_STEP:  # rounding errors hide what is still to be gained, here and in every repetition
                self._coefficients, self._point = before
                return

    # -- the next event ----------------------------------------------------------------------------------------------

    def _next_event(self, penalty: float, floor: float) -> tuple[float, int] | None:
        """Move to the next event at or below `penalty`; return its penalty and column, None if there is none."""
        if not self.active:
            correlations = np.where(self._barred, -np.inf, np.abs(self._correlations()))
            best = float(correlations.max())
            return None if best < floor else (best, int(np.argmax(correlations >= best - self._tie)))
        before, behind, late = penalty, floor, None
        for repetition in range(_MAX_REPETITIONS):
            # Where classes are separable, weights grow like -log(penalty): no straight line is good for long.
            lowest = max(floor, 0.5 * penalty if self._loss.curves else 0.0)
            direction = self._newton_direction(self._signs)  # of the coefficients while the penalty falls by 1
            distance, feature = self._nearest(penalty, direction)
            if feature is not None and 0 <= distance <= self._tie:
                return penalty, feature
            if distance < 0:
                behind, late = penalty, feature
            elif penalty <= floor:
                return None
            else:
                before = penalty
            if late is not None and before - behind <= self._tie:
                return penalty, late
            new = max(penalty - distance, lowest)
            if late is not None and (repetition > 20 or not behind < new < before):
                new = 0.5 * (before + behind)
            self._move_to(self._coefficients + (penalty - new) * direction)
            penalty = new
            self._solve_at(penalty)
        return None

    def _nearest(self, penalty: float, direction: Floats) -> tuple[float, int | None]:
        """Predict how far the penalty must fall to the first event, and whose it is.

        The distance is negative when the event lies behind: a column outside correlates more than the penalty
        allows, or a weight has the wrong sign. Equal distances go to the lowest column. Without any event the distance
        is infinite.
        """
        vectors = np.array([self._point.residual / self._n, self._point.curved(self._Z @ direction)])
        correlations, changes = vectors @ self._X
        # While the penalty falls by t, a correlation c becomes c - t * change: c - penalty grows at the rate
        # 1 - change, -c - penalty at the rate 1 + change, and an active weight times its sign falls to 0.
        excess = np.concatenate(
            [correlations - penalty, -penalty - correlations, -(self._signs * self._coefficients)[self._n_free :]]
        )
        rate = np.concatenate([1 - changes, 1 + changes, -(self._signs * direction)[self._n_free :]])
        excess[self._closed] = -np.inf
        return self._first(excess, rate)

    def _first(self, excess: Floats, rate: Floats) -> tuple[float, int | None]:
        """Return how far the penalty falls until the first `excess`, growing by `rate`, is zero, and whose it is."""
        approaching = rate > _FLAT
        distance = np.full(len(excess), np.inf)
        np.divide(-excess, rate, out=distance, where=approaching)
        if excess.max() <= self._tie:
            np.maximum(distance, 0, out=distance)
        else:
            late = excess > self._tie * np.maximum(np.abs(rate), 1)
            np.maximum(distance, 0, out=distance, where=~late)
            # Behind the event but not coming from it by the linear prediction: far away, to be found by halving.
            distance[late & ~approaching] = -np.inf
        first = float(distance.min())
        if not np.isfinite(first):
            return first, int(self._columns[np.argmin(distance)]) if first < 0 else None
        return first, int(self._columns[distance <= first + self._tie].min())
