"""Predictors on the selected features, to see how well they tell the classes of rows that were held out.

The paper names logistic regression (GLM) and a support vector machine. Both are fitted to columns that are standardized
by the training rows. Two further ones only serve to test why a figure differs from the paper's.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_MOST_STEPS = 25  # of R's glm, which stops there without a word when classes are separable
_RIDGE = 1e-10  # relative to the largest diagonal entry: keeps nearly singular systems solvable


def _logistic() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=np.inf, max_iter=1000)


def _svm(kernel: str) -> Callable[[], Any]:
    def build() -> Any:
        from sklearn.svm import SVC

        return SVC(kernel=kernel, C=1.0, gamma="auto")

    return build


class ScoringLogistic:
    """Unpenalized logistic regression by at most 25 Fisher scoring steps from zero, as R's ``glm`` does it."""

    def fit(self, X: Floats, y: NDArray[np.int64]) -> ScoringLogistic:
        """Fit coefficients; on separable classes they are those of the last step."""
        design = np.column_stack([np.ones(len(X)), X])
        self.coefficients = np.zeros(design.shape[1])
        deviance = np.inf
        for _ in range(_MOST_STEPS):
            probability = _probability(design @ self.coefficients)
            weight = probability * (1 - probability)
            gram = design.T @ (design * weight[:, None])
            gram[np.diag_indices_from(gram)] += _RIDGE * max(gram.diagonal().max(), np.finfo(float).tiny)
            self.coefficients = self.coefficients + np.linalg.lstsq(gram, design.T @ (y - probability), rcond=None)[0]
            probability = _probability(design @ self.coefficients)
            before, deviance = deviance, -2 * np.log(np.where(y == 1, probability, 1 - probability)).sum()
            if abs(deviance - before) < 1e-8 * (abs(deviance) + 0.1):
                break
        return self

    def predict(self, X: Floats) -> NDArray[np.int64]:
        """Return the likelier class of each row."""
        return (self.coefficients[0] + X @ self.coefficients[1:] > 0).astype(np.int64)


def _probability(score: Floats) -> Floats:
    from scipy.special import expit

    # Never 0 or 1: their logarithms and weights would vanish.
    return np.clip(expit(score), 1e-12, 1 - 1e-12)


PREDICTORS: dict[str, Callable[[], Any]] = {
    "logistic": _logistic,
    "svm": _svm("linear"),
    "logistic_irls": ScoringLogistic,
    "svm_radial": _svm("rbf"),
}


def confusion(
    X: Floats, y: NDArray[np.int64], train: NDArray[np.intp], test: NDArray[np.intp], features: tuple[int, ...]
) -> dict[str, float | None]:
    """Return the confusion counts of every predictor on the test rows, with y = 1 as the positive class.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of int of shape (n_samples,)
    train, test : ndarray of int
        Rows.
    features : tuple of int
        Columns to predict from. Without any, every predictor says the more frequent class of the training rows.

    Returns
    -------
    counts : dict
        ``logistic_tp``, ``logistic_fp``, ``logistic_fn``, ``logistic_tn``, ``svm_tp`` ...
    """
    columns = list(features)
    # Columns first: no copy of all of them.
    inside, outside = X[:, columns][train], X[:, columns][test]
    center, scale = inside.mean(axis=0), inside.std(axis=0)
    scale[scale == 0] = 1.0
    inside, outside = (inside - center) / scale, (outside - center) / scale
    counts: dict[str, float | None] = {}
    for name, build in PREDICTORS.items():
        if columns:
            with warnings.catch_warnings():
                # Unpenalized coefficients of separable classes are infinite: the direction counts, which is found.
                warnings.simplefilter("ignore")
                predicted = build().fit(inside, y[train]).predict(outside)
        else:
            predicted = np.full(len(test), np.bincount(y[train]).argmax())
        truth = y[test]
        for label, guess, true in (("tp", 1, 1), ("fp", 1, 0), ("fn", 0, 1), ("tn", 0, 0)):
            counts[f"{name}_{label}"] = int(np.sum((predicted == guess) & (truth == true)))
    return counts
