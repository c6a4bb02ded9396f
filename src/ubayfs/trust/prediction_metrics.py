"""Metrics of predictions: how they are computed, what they can be, and what people call them; scores as text."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._arguments import Array, Floats, Ints
from ..data.ordered_pairs import OrderedPairs
from ..data.target import Target
from ..metrics import concordance_index

# Shares of false alarms at which ROC curves are known.
ROC_GRID = np.linspace(0.0, 1.0, 101)
# Forms of intervals, see :mod:`~ubayfs.trust.intervals`.
LOGIT, RATIO = "logit", "ratio"


@dataclass(frozen=True)
class Predicted:
    """What a predictor finds for test samples."""

    values: Array  # class codes, 0/1 labels, numbers or risks, of shape (n_test,) or (n_test, n_labels)
    scores: Floats | None = None  # (n_test, n_classes) or (n_test, n_labels), the higher the more likely, if it has any
    middle: float = math.nan  # of numbers: the mean of the training samples


@dataclass(frozen=True, eq=False)
class Judged:
    """A score of test samples with what its mean over folds and its interval need.

    Attributes
    ----------
    value : float
        NaN where the test samples do not allow it, as an AUC of one class.
    weight : float
        Of the fold: the score over all folds is sum weight * value / sum weight. R2: sum of D_i; C-index: usable pairs.
    terms : ndarray of shape (n_test_units, 2) or None
        By unit (sample, or group): R2: squared errors E_i and squared distances D_i from the mean of the training
        samples; AUC of two classes: placements of samples of the first and of the second class, NaN for the other one.
    """

    value: float
    weight: float = 1.0
    terms: Floats | None = None


def _indicators(target: Target) -> Array:
    """Return 0/1 of shape (n_samples, n_classes) or (n_samples, n_labels)."""
    values = np.asarray(target.values)
    return values if values.ndim == 2 else values[:, None] == np.arange(target.n_classes)


def _mean(values: Array) -> float:
    return float(values.mean()) if len(values) else float("nan")


def _by_unit(values: Floats, units: Ints) -> Floats:
    """Return means over the samples of each unit, (n_units, n_columns), in the order of positions; NaN are left out."""
    _, codes = np.unique(units, return_inverse=True)
    present, shape = ~np.isnan(values), (int(codes.max()) + 1, values.shape[1])
    total, times = np.zeros(shape), np.zeros(shape)
    np.add.at(total, codes, np.where(present, values, 0.0))
    np.add.at(times, codes, present)
    with np.errstate(invalid="ignore"):
        return np.asarray(total / times)


def placements(positive: Array, score: Array) -> Floats:
    """Return the share of samples of the other class that are scored on the right side of each sample; ties are half.

    Of shape (n_samples, 2): those of samples that are not `positive` and of those that are, NaN for the other ones. The
    mean of each column is the AUC.

    >>> placements(np.array([False, False, True]), np.array([0.1, 0.7, 0.7])).tolist()
    [[1.0, nan], [0.5, nan], [nan, 0.75]]
    """
    from scipy.stats import rankdata

    shares, ranks = np.full((len(score), 2), np.nan), rankdata(score)
    for column, (in_class, sign) in enumerate(((~positive, -1), (positive, 1))):
        n_others = len(score) - np.count_nonzero(in_class)
        if n_others:
            # The rank among all less that within the class: how many of the other class are below, ties as half.
            below = (ranks[in_class] - rankdata(score[in_class])) / n_others
            shares[in_class, column] = below if sign > 0 else 1 - below
    return shares


def _auc(truth: Target, predicted: Predicted, units: Ints) -> Judged:
    value = _mean_auc(truth, predicted)
    if truth.task != "binary":
        return Judged(value)
    positive, score = np.asarray(truth.values) == 1, np.asarray(predicted.scores)[:, 1]
    return Judged(value, terms=_by_unit(placements(positive, score), units))


def _mean_auc(truth: Target, predicted: Predicted) -> float:
    """Return the mean over classes (one against all others) or labels of which there are and are not test samples."""
    from scipy.stats import rankdata

    inside = _indicators(truth).astype(bool)
    n_inside = inside.sum(axis=0)
    varies = (n_inside > 0) & (n_inside < len(inside))
    inside, n = inside[:, varies], n_inside[varies]
    ranks = rankdata(np.asarray(predicted.scores)[:, varies], axis=0)
    # Mann and Whitney: (sum of ranks - n (n + 1) / 2) / (n n'), with n samples inside and n' outside.
    return _mean((np.where(inside, ranks, 0.0).sum(axis=0) - n * (n + 1) / 2) / (n * (len(inside) - n)))


def roc_curve(truth: Target, predicted: Predicted) -> Floats:
    """Return the ROC curve at :data:`ROC_GRID`, the mean over classes (each against all others) or labels.

    It is straight between neighboring scores, so that the area below it is the AUC, but for the grid. NaN where there
    is no class of which there are and are not test samples.
    """
    inside, scores = _indicators(truth).astype(bool), np.asarray(predicted.scores)
    if truth.task == "binary":
        inside, scores = inside[:, 1:], scores[:, 1:]
    curves = []
    for member, score in zip(inside.T, scores.T, strict=True):
        if member.all() or not member.any():
            continue
        # From the highest score on: samples of each side up to each value, and at both ends.
        _, value = np.unique(-score, return_inverse=True)
        counts = [np.bincount(value[side], minlength=value.max() + 1) for side in (~member, member)]
        x, y = (np.append(0.0, np.cumsum(n) / n.sum()) for n in counts)
        before = np.searchsorted(x, ROC_GRID, side="right") - 1
        after = np.minimum(before + 1, len(x) - 1)
        step = np.where(x[after] > x[before], x[after] - x[before], 1.0)
        curves.append(y[before] + (y[after] - y[before]) * (ROC_GRID - x[before]) / step)
    return np.mean(curves, axis=0) if curves else np.full(len(ROC_GRID), np.nan)


def _balanced_accuracy(truth: Target, predicted: Predicted) -> float:
    """Return the mean share of right predictions over the classes, or over both values of each label."""
    right = np.asarray(truth.values) == predicted.values
    if right.ndim == 1:
        right, inside = right[:, None], _indicators(truth).astype(bool)
    else:
        # Yes and no of each label are two classes.
        yes = np.asarray(truth.values, dtype=bool)
        varies = yes.any(axis=0) & ~yes.all(axis=0)
        right = np.tile(right[:, varies], 2)
        inside = np.hstack([yes[:, varies], ~yes[:, varies]])
    n = inside.sum(axis=0)
    return _mean((right & inside).sum(axis=0)[n > 0] / n[n > 0])


def _r2(truth: Target, predicted: Predicted, units: Ints) -> Judged:
    """Return 1 - sum E_i / sum D_i; D_i is to the mean of the training samples, which predicts without features."""
    values = np.asarray(truth.values, dtype=np.float64)
    terms = _by_unit(np.stack([(values - predicted.values) ** 2, (values - predicted.middle) ** 2], axis=1), units)
    error, distance = terms.sum(axis=0).tolist()
    return Judged(1 - error / distance if distance > 0 else math.nan, distance, terms)


def _mean_absolute_error(truth: Target, predicted: Predicted) -> float:
    return _mean(np.abs(np.asarray(truth.values) - predicted.values))


def _c_index(truth: Target, predicted: Predicted, units: Ints) -> Judged:
    # Weighted by usable pairs, the mean over folds is the share of concordant ones among those of all folds.
    n_pairs = OrderedPairs.from_times(truth.time, truth.event).n_all
    return Judged(concordance_index(truth.time, truth.event, predicted.values), float(n_pairs))


def _by_folds(compute: Callable[[Target, Predicted], float]) -> Callable[[Target, Predicted, Ints], Judged]:
    """Make a metric of a function: all folds weigh the same, and they alone make its interval."""
    return lambda truth, predicted, units: Judged(compute(truth, predicted))


@dataclass(frozen=True)
class Metric:
    """A metric of predictions."""

    compute: Callable[[Target, Predicted, Ints], Judged]  # with the unit of each test sample
    title: str  # what it is called
    meaning: str  # of its numbers
    guessing: float | None = None  # what guessing reaches, if it is always the same
    low: float = 0.0  # the range of values; intervals do not reach beyond
    high: float = 1.0
    needs_scores: bool = False  # whether it needs scores of the predictor, beside predicted values
    interval: str = ""  # its form, if it is not that of the mean over folds


METRICS = {
    "auc": Metric(_auc, "AUC", "0.5 is guessing, 1 is perfect", 0.5, needs_scores=True, interval=LOGIT),
    "balanced_accuracy": Metric(_by_folds(_balanced_accuracy), "balanced accuracy", "1 is perfect"),
    "c_index": Metric(_c_index, "C-index", "0.5 is guessing, 1 is perfect", 0.5, interval=LOGIT),
    "r2": Metric(_r2, "R2", "0 is guessing the mean, 1 is perfect", 0.0, low=-math.inf, interval=RATIO),
    "mean_absolute_error": Metric(
        _by_folds(_mean_absolute_error), "mean absolute error", "0 is perfect", high=math.inf
    ),
}


# Ways to choose features, as a validation names them.
METHODS = {
    "ubayfs": "ours",
    "most votes": "as many features by votes (no weights or other constraints)",
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
