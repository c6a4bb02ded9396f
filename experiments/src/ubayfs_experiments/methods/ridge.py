"""The ridge predictors of ``ubayfs.validate``, and their scores on other samples: an own version, to judge it by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ubayfs.metrics import concordance_index

from ..data.planted import Floats

PENALTY = 50.0  # of Cox's model: half of it times the squared coefficients

# score(A, y, B, truth): learn from A of shape (n_samples, n_features) and y, predict B, and compare with the truth.
Score = Callable[[Floats, Any, Floats, Any], float]


def auc(A: Floats, y: Any, B: Floats, truth: Any) -> float:
    """Return the AUC of a logistic regression."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    model = LogisticRegression(C=0.1, class_weight="balanced", max_iter=1000).fit(A, y)
    return float(roc_auc_score(truth, model.decision_function(B)))


def r2(A: Floats, y: Any, B: Floats, truth: Any) -> float:
    """Return R2 of a ridge regression, in comparison with the mean of the training samples."""
    from sklearn.linear_model import RidgeCV

    found = RidgeCV(alphas=np.logspace(-2, 6, 17)).fit(A, y).predict(B)
    return float(1 - ((truth - found) ** 2).sum() / ((truth - np.mean(y)) ** 2).sum())


def c_index(A: Floats, y: Any, B: Floats, truth: Any) -> float:
    """Return the C-index of Cox's model."""
    return float(concordance_index(truth.time, truth.event, B @ cox(A, y.time, y.event)))


def cox(A: Floats, time: Floats, event: Any) -> Floats:
    """Return the coefficients of Cox's model with a ridge penalty (Breslow), of shape (n_features,)."""
    from scipy.optimize import minimize

    at_risk, event = time[:, None] <= time, np.asarray(event, dtype=np.float64)

    def loss(b: Floats) -> tuple[float, Floats]:
        risk = A @ b
        weights = at_risk * np.exp(risk)
        total = weights.sum(axis=1)
        value = PENALTY / 2 * b @ b - event @ (risk - np.log(total))
        return float(value), PENALTY * b - event @ (A - weights @ A / total[:, None])

    return np.asarray(minimize(loss, np.zeros(A.shape[1]), jac=True).x)


SCORES: dict[str, Score] = {"two classes": auc, "numbers": r2, "survival": c_index}
