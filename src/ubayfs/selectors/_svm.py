"""Linear support vector machines on a shrinking set of columns, solved exactly.

A machine minimizes, over weights w and a free intercept b,

    |w|^2 / 2 + C * sum_i loss_i^2,   loss_i = max(0, 1 - y_i f_i)  or  max(0, |y_i - f_i| - epsilon),   f = X w + b.

The objective is convex and piecewise quadratic. On the piece where the rows S have a loss its minimum is the ridge
regression, with penalty 1 / (2 C), of t on the rows S, where t_i is the near end of the interval in which f_i costs
nothing: y_i for a class, y_i -+ epsilon for a number. A Newton step is one such regression; with an exact line search
the steps reach the minimum after finitely many (Mangasarian 2002, Chapelle 2007), as soon as a whole step leaves S
and t as they are. With fewer rows than columns, w = X^T a and the regression is done on the Gram matrix X X^T, from
which dropped columns are subtracted: its cost depends on the number of rows only.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# An error of a regression up to this many standard deviations costs nothing; the default of scikit-learn's SVR.
EPSILON = 0.1

# 2 to 15 steps are usual. The limit only guards against rounding errors that move a row to and fro.
_MAX_STEPS = 200

Array = NDArray[np.float64]


class LinearMachines:
    """One linear machine per output, on columns that can be dropped.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Centered columns.
    outputs : ndarray of shape (n_samples, n_outputs)
        +1 and -1, or numbers of variance 1 if `regression`.
    C : float
    regression : bool
    """

    def __init__(self, X: Array, outputs: Array, C: float, regression: bool) -> None:
        self._columns = np.ascontiguousarray(X.T)
        self._outputs = outputs
        self._C = C
        self._regression = regression
        self._gram = X @ X.T if len(X) < X.shape[1] else None
        # Where the next fit starts. Coordinates are the weights, or, with a Gram matrix, the a of w = X^T a.
        self._coordinates = np.zeros((min(X.shape), outputs.shape[1]))
        self._intercepts = outputs.mean(axis=0)

    def weights(self) -> Array:
        """Fit to the present columns; return their weights, of shape (n_features, n_outputs)."""
        for k in range(self._outputs.shape[1]):
            self._fit(k)
        return self._coordinates if self._gram is None else self._columns @ self._coordinates

    def keep(self, kept: NDArray[np.intp]) -> None:
        """Keep only the columns at these positions."""
        if self._gram is None:
            self._coordinates = self._coordinates[kept]
        elif len(self._outputs) >= len(kept):
            self._coordinates = self._columns[kept] @ self._coordinates
            self._gram = None
        else:
            dropped = np.delete(self._columns, kept, axis=0)
            self._gram -= dropped.T @ dropped
        self._columns = self._columns[kept]

    def _fit(self, k: int) -> None:
        y, a, b = self._outputs[:, k], self._coordinates[:, k], float(self._intercepts[k])
        scores = self._scores(a)
        for _ in range(_MAX_STEPS):
            excess = self._excess(y, y - scores - b)
            lossy = excess != 0
            da, db = self._ridge(lossy, (scores + b + excess)[lossy], b)
            da, db = da - a, db - b
            ds = self._scores(da)
            same_piece = np.array_equal(np.sign(self._excess(y, y - scores - b - ds - db)), np.sign(excess))
            # |w|^2 is a^T X X^T a in the space of rows.
            slope = float(da @ (a if self._gram is None else scores))
            curvature = float(da @ (da if self._gram is None else ds))
            step = 1.0 if same_piece else self._line_search(y, y - scores - b, ds + db, slope, curvature)
            a, b, scores = a + step * da, b + step * db, scores + step * ds
            if same_piece or step == 0:
                break
        self._coordinates[:, k], self._intercepts[k] = a, b

    def _scores(self, a: Array) -> Array:
        """Return X w, of shape (n_samples,)."""
        return self._gram @ a if self._gram is not None else a @ self._columns

    def _excess(self, y: Array, gap: Array) -> Array:
        """Return the part of gap = y - f that costs, the loss with the sign of the gap."""
        if self._regression:
            return np.sign(gap) * np.maximum(np.abs(gap) - EPSILON, 0.0)
        return np.where(y * gap > 0, gap, 0.0)

    def _ridge(self, rows: NDArray[np.bool_], t: Array, b: float) -> tuple[Array, float]:
        """Return coordinates and intercept of the ridge regression of t on some rows."""
        a = np.zeros(len(rows) if self._gram is not None else len(self._columns))
        if len(t) == 0:
            return a, b
        deviation, penalty = t - t.mean(), 0.5 / self._C
        if self._gram is not None:
            gram = self._gram[np.ix_(rows, rows)]
            average = gram.mean(axis=0)
            gram -= average + average[:, None] - average.mean()
            gram.flat[:: len(t) + 1] += penalty
            solution = np.linalg.solve(gram, deviation)
            # Its sum is 0 but for a rounding error, which 1 / penalty has made larger.
            a[rows] = solution - solution.mean()
        else:
            columns = self._columns[:, rows]
            columns = columns - columns.mean(axis=1, keepdims=True)
            covariance = columns @ columns.T
            covariance.flat[:: len(a) + 1] += penalty
            a = np.linalg.solve(covariance, columns @ deviation)
        return a, float((t - self._scores(a)[rows]).mean())

    def _line_search(self, y: Array, gap: Array, df: Array, slope: float, curvature: float) -> float:
        """Return the step, at most 1, at which the objective is least along the way; 0 if it falls no more.

        Its derivative is sought, not its value: values near the minimum agree to half of their digits.
        """

        def derivative(step: float) -> float:
            return slope + step * curvature - 2 * self._C * float(self._excess(y, gap - step * df) @ df)

        if derivative(0.0) >= 0:
            return 0.0
        if derivative(1.0) <= 0:
            return 1.0
        low, high = 0.0, 1.0
        for _ in range(40):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if derivative(middle) <= 0 else (low, middle)
        return low
