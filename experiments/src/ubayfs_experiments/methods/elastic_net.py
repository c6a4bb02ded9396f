"""Elastic-net logistic regressions on many subsamples of one table, at one penalty after the other.

A model minimizes, over the weights w and a free intercept b, the

    mean logistic loss of b + x_i w  +  penalty * (l1_ratio * |w|_1 + (1 - l1_ratio) / 2 * |w|_2^2).

While the signs of the weights stay the same this is a smooth, strictly convex problem, and Newton's method solves it in
a few steps. A step that would change signs ends at zero instead, and columns enter with the sign of their correlation
with the residual (Andrew and Gao 2007 search orthant by orthant in the same way). Two things make it fast for
thousands of columns: each model works on few of them, and what proves that the weights of the others are zero, their
products with the residual, is one matrix product for all models.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dposv

# The conditions of optimality hold to this share of the l1 penalty: a column whose correlation with the residual is
# nearer than that to the penalty may be in the model or not. Newton's method squares the error with each step, so that
# all but such ties are settled long before.
TOLERANCE = 1e-7
_MAX_STEPS = 500
_MAX_HALVINGS = 40
# No coefficient moves farther in a step: where all responses round to 0 or 1 there is no curvature to tell how far.
_LONGEST = 100.0
# Columns that one round adds to a model: at most as many as there are, and these are always allowed.
_MIN_NEW = 16
# Share of the decrease predicted at the start of a step that the step must bring.
_SUFFICIENT = 1e-4
# Copies of a column make the matrix of Newton's equations singular without an l2 penalty; this share keeps it regular.
_LIFT = 1e-10

Array = NDArray[np.float64]


def logistic_loss(linear: Array, signs: Array) -> tuple[float, Array, Array]:
    """Return the mean logistic loss, and by row the residual and the second derivative divided by the number of rows.

    Parameters
    ----------
    linear : ndarray of shape (n_samples,)
        Intercept plus products of the rows with the weights.
    signs : ndarray of shape (n_samples,)
        1 for the class that a large value stands for, -1 for the other.

    Examples
    --------
    >>> loss, residual, curvature = logistic_loss(np.array([0.0, 800.0]), np.array([1.0, 1.0]))
    >>> residual[0], curvature[0], residual[1] > 0
    (np.float64(0.5), np.float64(0.125), np.True_)
    """
    margin = signs * linear
    # In this form nothing overflows or cancels: residuals far below 1e-16 are still right to the last digit.
    decay = np.exp(-np.minimum(np.abs(margin), 600))
    total = 1 + decay
    loss = float((np.log1p(decay) + np.maximum(-margin, 0)).sum()) / len(margin)
    return loss, signs * np.where(margin > 0, decay, 1) / total, decay / (len(margin) * total**2)


class Model(NamedTuple):
    """The solution of one subsample; columns that are not listed have the weight 0."""

    columns: NDArray[np.intp]
    weights: Array
    intercept: float


class ElasticNets:
    """One logistic model per subsample, all under the same penalty.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Standardized columns.
    y : ndarray of shape (n_samples,)
        0 and 1, both in each subsample.
    subsamples : ndarray of bool of shape (n_models, n_samples)
        The rows of each model.
    l1_ratio : float
        Share of the l1 norm in the penalty, in (0, 1].

    Attributes
    ----------
    top : float
        The penalty from which on no model has a column.
    n_unconverged : int
        Models, over all penalties, that were not solved within the limit of steps.
    """

    def __init__(self, X: Array, y: NDArray[np.int64], subsamples: NDArray[np.bool_], l1_ratio: float) -> None:
        self._columns = np.ascontiguousarray(X.T)
        self._y = np.asarray(y, dtype=np.float64)
        self._rows = [np.flatnonzero(inside) for inside in subsamples]
        self._l1_ratio = l1_ratio
        self.n_unconverged = 0
        none = np.empty(0, dtype=np.intp)
        shares = [float(self._y[rows].mean()) for rows in self._rows]
        empty = [Model(none, np.empty(0), float(np.log(share / (1 - share)))) for share in shares]
        residuals = [self._y[rows] - share for rows, share in zip(self._rows, shares, strict=True)]
        self.top = float(np.abs(self._correlations(range(len(empty)), residuals)).max()) / l1_ratio
        self._solved = {self.top: empty}

    def solve(self, penalty: float) -> list[Model]:
        """Return the models at `penalty`; the search begins at the nearest penalty solved before."""
        start = min(self._solved, key=lambda known: abs(np.log(known / penalty)))
        models = list(self._solved[start])
        members = [model.columns for model in models]
        pending = list(range(len(models)))
        while pending:
            residuals = []
            for k in pending:
                models[k], residual = self._solve_one(k, models[k], members[k], penalty)
                residuals.append(residual)
            sizes = np.abs(self._correlations(pending, residuals))
            missed = {k: self._missed(size, members[k], penalty) for k, size in zip(pending, sizes, strict=True)}
            pending = [k for k in pending if len(missed[k])]
            for k in pending:
                # Columns never go while a penalty is solved, so that the rounds come to an end.
                members[k] = np.union1d(members[k], missed[k])
        self._solved[penalty] = models
        return models

    def _correlations(self, which: Sequence[int], residuals: Sequence[Array]) -> Array:
        """Return the mean products of residuals with all columns, of shape (n_residuals, n_features)."""
        spread = np.zeros((len(which), len(self._y)))
        for row, k, residual in zip(spread, which, residuals, strict=True):
            row[self._rows[k]] = residual / len(residual)
        products: Array = spread @ self._columns.T
        return products

    def _missed(self, size: Array, members: NDArray[np.intp], penalty: float) -> NDArray[np.intp]:
        """Return columns outside `members` that correlate too much to stay there, the strongest if there are many."""
        size[members] = 0
        missed = np.flatnonzero(size > (1 + TOLERANCE) * penalty * self._l1_ratio)
        limit = max(_MIN_NEW, len(members))
        if len(missed) > limit:
            missed = missed[np.argpartition(size[missed], -limit)[-limit:]]
        return missed

    def _solve_one(self, k: int, model: Model, members: NDArray[np.intp], penalty: float) -> tuple[Model, Array]:
        """Solve the model of subsample k with the columns `members`; return it and its residual."""
        rows = self._rows[k]
        problem = _Problem(
            self._columns[members][:, rows], self._y[rows], penalty * self._l1_ratio, penalty * (1 - self._l1_ratio)
        )
        coefficients = np.zeros(1 + len(members))
        coefficients[0] = model.intercept
        coefficients[1 + np.searchsorted(members, model.columns)] = model.weights
        point = problem.point(coefficients)
        for _ in range(_MAX_STEPS):
            new = problem.step(point)
            if new is None:
                break
            point = new
        else:
            self.n_unconverged += 1
        weights = point.coefficients[1:]
        kept = np.flatnonzero(weights)
        return Model(members[kept], weights[kept], float(point.coefficients[0])), point.residual


class _Point(NamedTuple):
    coefficients: Array  # intercept first
    residual: Array
    curvature: Array  # second derivative of each row's loss, divided by the number of rows
    value: float  # of the objective


class _Problem:
    """A model restricted to few columns.

    Parameters
    ----------
    columns : ndarray of shape (n_columns, n_samples)
    y : ndarray of shape (n_samples,)
    l1, l2 : float
        Penalties of |w|_1 and |w|_2^2 / 2.
    """

    def __init__(self, columns: Array, y: Array, l1: float, l2: float) -> None:
        self._Z = np.vstack([np.ones(len(y)), columns])
        self._signs = np.where(y > 0, 1.0, -1.0)
        self._l1 = np.full(len(self._Z), l1)
        self._l2 = np.full(len(self._Z), l2)
        self._l1[0] = self._l2[0] = 0
        self._allowed = l1 * TOLERANCE

    def point(self, coefficients: Array) -> _Point:
        """Return what the model is at some coefficients."""
        used = np.flatnonzero(coefficients)
        loss, residual, curvature = logistic_loss(coefficients[used] @ self._Z[used], self._signs)
        penalty = float(self._l1 @ np.abs(coefficients)) + 0.5 * float(self._l2 @ coefficients**2)
        return _Point(coefficients, residual, curvature, loss + penalty)

    def step(self, point: _Point) -> _Point | None:
        """Return a better point, None if `point` is optimal, and `point` itself if no better one can be told."""
        coefficients = point.coefficients
        descent = self._Z @ (point.residual / len(self._signs)) - self._l2 * coefficients
        entering = (coefficients == 0) & (np.abs(descent) > self._l1 + self._allowed)
        entering[0] = False
        signs = np.sign(np.where(entering, descent, coefficients))
        descent -= self._l1 * signs
        free = entering | (coefficients != 0)
        free[0] = True
        if np.abs(descent[free]).max() <= self._allowed:
            return None
        direction = self._direction(point, descent, signs, free, entering)
        direction /= max(1.0, float(np.abs(direction).max()) / _LONGEST)
        allowance = 1e-15 * (1 + abs(point.value))
        # First with all signs that would change at once; then only as far as none does.
        target = coefficients + direction
        target[1:][target[1:] * signs[1:] < 0] = 0
        new = self.point(target)
        predicted = float(descent @ (target - coefficients))
        if predicted >= 0 and new.value <= point.value - _SUFFICIENT * predicted + allowance:
            return new
        return self._feasible_step(point, direction, descent, allowance)

    def _direction(
        self, point: _Point, descent: Array, signs: Array, free: NDArray[np.bool_], entering: NDArray[np.bool_]
    ) -> Array:
        """Return Newton's direction in the free coefficients; those that enter do so with their sign or not at all."""
        direction = np.zeros(len(descent))
        used = np.flatnonzero(free)
        while True:
            Z = self._Z[used]
            hessian = (Z * point.curvature) @ Z.T
            diagonal = np.einsum("ii->i", hessian)  # a view that can be written to
            diagonal *= 1 + _LIFT
            diagonal += self._l2[used]
            found = _solve(hessian, descent[used])
            wrong = entering[used] & (found * signs[used] <= 0)
            if not wrong.any():
                direction[used] = found
                return direction
            used = used[~wrong]

    def _feasible_step(self, point: _Point, direction: Array, descent: Array, allowance: float) -> _Point:
        """Go along `direction` until the first sign would change, or less far."""
        coefficients = point.coefficients
        turning = np.flatnonzero(coefficients[1:] * direction[1:] < 0) + 1
        limits = -coefficients[turning] / direction[turning]
        step = float(min(1.0, limits.min(initial=1.0)))
        target = coefficients + step * direction
        target[turning[limits <= step]] = 0
        slope = _SUFFICIENT * float(descent @ direction)
        for _ in range(_MAX_HALVINGS):
            new = self.point(target)
            if new.value <= point.value - step * slope + allowance:
                return new
            step /= 2
            target = coefficients + step * direction
        return point


def _solve(matrix: Array, right: Array) -> Array:
    """Solve equations by Cholesky's decomposition, with a third of the overhead of ``numpy.linalg.solve``."""
    _, solution, failed = dposv(matrix, right)
    return np.asarray(np.linalg.solve(matrix, right) if failed else solution, dtype=np.float64)
