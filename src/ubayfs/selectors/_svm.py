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

from .._arguments import Floats, Ints, Mask
from ._subsample import solve_positive

# An error of a regression up to this many standard deviations costs nothing; the default of scikit-learn's SVR.
EPSILON = 0.1

# 2 to 15 steps are usual. The limit only guards against rounding errors that move a row to and fro.
_MAX_STEPS = 200
# A line search that goes no further has met the minimum but for rounding errors.
_SMALLEST_STEP = 1e-12


class LinearMachines:
    """One linear machine per output, on centered columns that can be dropped.

    `outputs`, of shape (n_samples, n_outputs), are +1 and -1, or numbers of variance 1 if `regression`.
    """

    def __init__(self, X: Floats, outputs: Floats, C: float, regression: bool) -> None:
        self._columns = np.ascontiguousarray(X.T)
        self._outputs = outputs
        self._C = C
        self._regression = regression
        self._gram = X @ X.T if len(X) < X.shape[1] else None
        # Where the next fit starts. Coordinates are the weights, or, with a Gram matrix, the a of w = X^T a.
        self._coordinates = np.zeros((min(X.shape), outputs.shape[1]))
        self._intercepts = outputs.mean(axis=0)

    def weights(self) -> Floats:
        """Fit to the present columns; return their weights, of shape (n_features, n_outputs)."""
        for k in range(self._outputs.shape[1]):
            self._fit(k)
        return self._coordinates if self._gram is None else self._columns @ self._coordinates

    def keep(self, positions: Ints) -> None:
        """Keep only the columns at these positions."""
        if self._gram is None:
            self._coordinates = self._coordinates[positions]
        elif len(self._outputs) >= len(positions):
            self._coordinates = self._columns[positions] @ self._coordinates
            self._gram = None
        else:
            dropped = np.delete(self._columns, positions, axis=0)
            self._gram -= dropped.T @ dropped
        self._columns = self._columns[positions]

    def _fit(self, k: int) -> None:
        y, a, b = self._outputs[:, k], self._coordinates[:, k], float(self._intercepts[k])
        scores = self._scores(a)
        gap = y - scores - b
        excess = self._excess(y, gap)
        for _ in range(_MAX_STEPS):
            new_a, new_scores, new_b = self._ridge(excess != 0, y - gap + excess, b)
            da, ds, db = new_a - a, new_scores - scores, new_b - b
            new_excess = self._excess(y, gap - ds - db)
            same_piece = bool((np.sign(new_excess) == np.sign(excess)).all())
            # |w|^2 is a^T X X^T a in the space of rows.
            slope = float(da @ (a if self._gram is None else scores))
            curvature = float(da @ (da if self._gram is None else ds))
            step = 1.0 if same_piece else self._line_search(y, gap, ds + db, slope, curvature)
            a, b, scores = a + step * da, b + step * db, scores + step * ds
            if same_piece or step < _SMALLEST_STEP:
                break
            gap = y - scores - b
            excess = self._excess(y, gap)
        self._coordinates[:, k], self._intercepts[k] = a, b

    def _scores(self, a: Floats) -> Floats:
        """Return X w, of shape (n_samples,)."""
        return self._gram @ a if self._gram is not None else a @ self._columns

    def _excess(self, y: Floats, gap: Floats) -> Floats:
        """Return the part of gap = y - f that costs, the loss with the sign of the gap."""
        if self._regression:
            return np.sign(gap) * np.maximum(np.abs(gap) - EPSILON, 0.0)
        return np.where(y * gap > 0, gap, 0.0)

    def _ridge(self, rows: Mask, t: Floats, b: float) -> tuple[Floats, Floats, float]:
        """Return coordinates, scores (of all rows) and intercept of the ridge regression of t on some rows."""
        a = np.zeros(len(rows) if self._gram is not None else len(self._columns))
        chosen = np.flatnonzero(rows)
        n_chosen = len(chosen)
        if n_chosen == 0:
            return a, np.zeros(len(rows)), b
        t = t[chosen]
        deviation, penalty = t - t.sum() / n_chosen, 0.5 / self._C
        if self._gram is not None:
            gram = self._gram[chosen[:, None], chosen]
            average = gram.sum(axis=0) / n_chosen
            # The free intercept centers the rows: H G H with H = I - 11'/n, as the columns are centered below.
            gram -= average + average[:, None] - average.sum() / n_chosen
            gram.flat[:: n_chosen + 1] += penalty
            solution = solve_positive(gram, deviation)
            # Its sum is 0 but for a rounding error, which 1 / penalty has made larger.
            a[chosen] = solution - solution.sum() / n_chosen
        else:
            columns = self._columns[:, chosen]
            columns -= columns.mean(axis=1, keepdims=True)
            covariance = columns @ columns.T
            covariance.flat[:: len(a) + 1] += penalty
            a = solve_positive(covariance, columns @ deviation)
        scores = self._scores(a)
        return a, scores, float((t - scores[chosen]).sum()) / n_chosen

    def _line_search(self, y: Floats, gap: Floats, df: Floats, slope: float, curvature: float) -> float:
        """Return the step, at most 1, at which the objective is least along the way; 0 if it falls no more.

        Its derivative is sought, not its value: values near the minimum agree to half of their digits. It grows
        along the way, and linearly between the steps at which a row begins or ceases to cost something.
        """

        def derivative(step: float) -> float:
            return slope + step * curvature - 2 * self._C * float(self._excess(y, gap - step * df) @ df)

        low, high = 0.0, 1.0
        at_low, at_high = derivative(low), derivative(high)
        if at_low >= 0:
            return 0.0
        if at_high <= 0:
            return 1.0
        turns = self._turns(gap, df)
        while len(turns):
            middle = len(turns) // 2
            at_middle = derivative(turns[middle])
            if at_middle <= 0:
                low, at_low, turns = float(turns[middle]), at_middle, turns[middle + 1 :]
            else:
                high, at_high, turns = float(turns[middle]), at_middle, turns[:middle]
        return low + (high - low) * at_low / (at_low - at_high)  # no turn between them: the derivative is a line

    def _turns(self, gap: Floats, df: Floats) -> Floats:
        """Return, in order, the steps between 0 and 1 at which a row begins or ceases to cost something."""
        ends = np.array([gap - EPSILON, gap + EPSILON]) if self._regression else gap
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):  # rows that hardly move never turn
            turns = ends / df
        return np.sort(turns[(turns > 0) & (turns < 1)])
