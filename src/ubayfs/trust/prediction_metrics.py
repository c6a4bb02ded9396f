"""Metrics of predictions: how they are computed, what they can be, and what people call them; scores as text."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arguments import Array, Floats
from ..data.target import Target
from ..metrics import concordance_index


@dataclass(frozen=True)
class Predicted:
    """What a predictor finds for test samples."""

    values: Array  # class codes, 0/1 labels, numbers or risks, of shape (n_test,) or (n_test, n_labels)
    scores: Floats | None = None  # (n_test, n_classes) or (n_test, n_labels), the higher the more likely, if it has any


def _indicators(target: Target) -> Array:
    """Return 0/1 of shape (n_samples, n_classes) or (n_samples, n_labels)."""
    values = np.asarray(target.values)
    return values if values.ndim == 2 else values[:, None] == np.arange(target.n_classes)


def _mean(values: Array) -> float:
    return float(values.mean()) if len(values) else float("nan")


def _auc(truth: Target, found: Predicted) -> float:
    """Return the mean over classes (one against all others) or labels of which there are and are not test samples."""
    from scipy.stats import rankdata

    inside = _indicators(truth).astype(bool)
    n_inside = inside.sum(axis=0)
    known = (n_inside > 0) & (n_inside < len(inside))
    inside, n = inside[:, known], n_inside[known]
    ranks = rankdata(np.asarray(found.scores)[:, known], axis=0)
    return _mean((np.where(inside, ranks, 0.0).sum(axis=0) - n * (n + 1) / 2) / (n * (len(inside) - n)))


def _balanced_accuracy(truth: Target, found: Predicted) -> float:
    """Return the mean share of right predictions over the classes, or over both values of each label."""
    right = np.asarray(truth.values) == found.values
    if right.ndim == 1:
        right, inside = right[:, None], _indicators(truth).astype(bool)
    else:
        yes = np.asarray(truth.values, dtype=bool)
        varies = yes.any(axis=0) & ~yes.all(axis=0)
        right = np.tile(right[:, varies], 2)
        inside = np.hstack([yes[:, varies], ~yes[:, varies]])
    n = inside.sum(axis=0)
    return _mean((right & inside).sum(axis=0)[n > 0] / n[n > 0])


def _r2(truth: Target, found: Predicted) -> float:
    values = np.asarray(truth.values)
    spread = ((values - values.mean()) ** 2).sum()
    return float(1 - ((values - found.values) ** 2).sum() / spread) if spread > 0 else float("nan")


def _mean_absolute_error(truth: Target, found: Predicted) -> float:
    return _mean(np.abs(np.asarray(truth.values) - found.values))


def _c_index(truth: Target, found: Predicted) -> float:
    return concordance_index(truth.time, truth.event, found.values)


@dataclass(frozen=True)
class Metric:
    """A metric of predictions."""

    compute: Callable[[Target, Predicted], float]  # NaN where the test samples do not allow it, as an AUC of one class
    title: str  # what it is called
    meaning: str  # of its numbers
    guessing: float | None = None  # what guessing reaches, if it is always the same
    low: float = 0.0  # the range of values; intervals do not reach beyond
    high: float = 1.0
    of_scores: bool = False  # whether it needs scores of the predictor, beside predicted values


METRICS = {
    "auc": Metric(_auc, "AUC", "0.5 is guessing, 1 is perfect", 0.5, of_scores=True),
    "balanced_accuracy": Metric(_balanced_accuracy, "balanced accuracy", "1 is perfect"),
    "c_index": Metric(_c_index, "C-index", "0.5 is guessing, 1 is perfect", 0.5),
    "r2": Metric(_r2, "R2", "0 is guessing the mean, 1 is perfect", 0.0, low=-math.inf),
    "mean_absolute_error": Metric(_mean_absolute_error, "mean absolute error", "0 is perfect", high=math.inf),
}


# Ways to choose features, as a validation names them.
METHODS = {
    "ubayfs": "ours",
    "most votes": "the votes alone (no weights or constraints)",
    "random": "as many random features",
    "forest": "as many features by a random forest",
    "features alone": "our features without covariates",
}


def metric_name(metric: str) -> str:
    """Return what a metric is called."""
    return METRICS[metric].title if metric in METRICS else metric.replace("_", " ")


def method_name(method: str) -> str:
    """Return what a way to choose features is called."""
    return METHODS.get(method, method)


def score_text(value: float, sign: str = "") -> str:
    """Return a score with two decimals, a small difference with three.

    >>> score_text(0.9487), score_text(0.0061, "+"), score_text(-0.0004, "+"), score_text(1e-9, "+")
    ('0.95', '+0.006', '-0.0004', '0')
    """
    if not sign or abs(value) >= 0.0095:
        return f"{value:{sign}.2f}"
    return "0" if abs(value) < 5e-5 else f"{value:+.{3 if abs(value) >= 5e-4 else 4}f}"


def interval_text(value: float | None, low: float | None, high: float | None, sign: str = "") -> str:
    """Return a score with its interval; nothing of what is not known.

    >>> interval_text(0.95, 0.89, 1.0), interval_text(0.95, None, None)
    ('0.95 (0.89 to 1.00)', '0.95')
    """
    if value is None or value != value:
        return ""
    if low is None or high is None or low != low:
        return score_text(value, sign)
    return f"{score_text(value, sign)} ({score_text(low, sign)} to {score_text(high, sign)})"


def mean_text(row: Mapping[str, Any]) -> str:
    """Return the mean of a score over folds with its interval."""
    return interval_text(row["mean"], row["lower"], row["upper"])


def difference_text(row: Mapping[str, Any]) -> str:
    """Return by how much ours is better than a baseline, with the interval."""
    return interval_text(row["difference"], row["difference_lower"], row["difference_upper"], "+")
