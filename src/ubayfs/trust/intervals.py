"""Intervals of scores over folds: every formula of them.

Two things vary: the training parts, as seen by folds (Nadeau and Bengio), and the test samples, as seen by what each of
them adds to a score (DeLong for an AUC, errors for R2). Folds share test samples over repeats, so that they show little
of the second; an interval takes the larger of both, times a factor for what the other adds. Where groups of samples
belong together, a unit is a group, otherwise a sample. Factors and clipping were calibrated on planted truth.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arguments import Array, Floats, Ints
from .prediction_metrics import LOGIT, METRICS, RATIO

LEVEL = 0.95
_Z = 1.96  # (1 + LEVEL) / 2 of the normal distribution
_LOGIT_FACTOR, _RATIO_FACTOR = 1.5, 2.0  # of the larger variance


# Way to choose features, predictor, metric, and the size that was asked for in the curve over sizes.
Key = tuple[str, str, str, int | None]


@dataclass(frozen=True)
class FoldTerms:
    """What each test unit of a fold adds to a score; see :class:`~ubayfs.trust.prediction_metrics.Judged`.

    Attributes
    ----------
    method, predictor, metric : str
    first, second : tuple of float
        By unit, in the order of their positions.
    size : int or None
    """

    method: str
    predictor: str
    metric: str
    first: tuple[float, ...]
    second: tuple[float, ...]
    size: int | None = None

    @property
    def key(self) -> Key:
        """Return which score they belong to."""
        return self.method, self.predictor, self.metric, self.size


@dataclass(frozen=True)
class SampleSpread:
    """How much a score varies by its test samples, for a way to choose features, a predictor and a metric.

    Attributes
    ----------
    method, predictor, metric : str
    variance : float
        Of the AUC (:func:`delong`), or of log(E / D), where R2 = 1 - E / D (:func:`ratio_variance`); NaN if unknown.
    n_positive, n_negative : int
        Units of the second and of the first class; 0 without classes.
    size : int or None
        The size that was asked for, in the curve over sizes.
    """

    method: str
    predictor: str
    metric: str
    variance: float
    n_positive: int = 0
    n_negative: int = 0
    size: int | None = None

    @property
    def key(self) -> Key:
        """Return which score it belongs to."""
        return self.method, self.predictor, self.metric, self.size

    @classmethod
    def from_terms(cls, key: Key, terms: Floats) -> SampleSpread:
        """Summarize the terms of all units, means over repeats of shape (n_units, 2)."""
        method, predictor, metric, size = key
        if METRICS[metric].interval == RATIO:
            variance = ratio_variance(terms[~np.isnan(terms).any(axis=1)])
            return cls(method, predictor, metric, variance, size=size)
        negative, positive = (column[~np.isnan(column)] for column in terms.T)
        return cls(method, predictor, metric, delong(positive, negative), len(positive), len(negative), size)


@dataclass(frozen=True)
class FoldMean:
    """Mean of a score, or of a paired difference of scores, over folds, with its corrected error and interval.

    Attributes
    ----------
    mean, lower, upper : float
    standard_error : float
        That of Nadeau and Bengio, whatever the interval is made of.
    """

    mean: float
    lower: float
    upper: float
    standard_error: float

    @classmethod
    def from_values(cls, values: Any, cv: int, metric: str = "", weights: Any = None) -> FoldMean:
        """Summarize one value per fold, of shape (n_folds,), weighted by `weights` of the same shape; NaN are left out.

        The interval is that of Nadeau and Bengio (2003), d +- t(J-1) sqrt((1/J + 1/(K-1)) s^2): d and s^2 are mean and
        variance of the J values, 1/(K-1) is the ratio of test to training samples with K = `cv` folds. Training parts
        share most of their samples, so that 1/J alone would be far too sure. It is cut to the values that a metric can
        have, if one is named.

        With weights w_f, d = sum w_f x_f / sum w_f is a ratio of sums, and s^2 the variance of what each fold adds to
        it, d + w_f (x_f - d) / mean w, of which the mean is d. With equal weights these are the values x_f.

        >>> summary = FoldMean.from_values([0.8, 0.9, 1.0, 0.9], cv=2)
        >>> round(summary.mean, 6), round(summary.standard_error, 6), round(summary.lower, 3), round(summary.upper, 3)
        (0.9, 0.091287, 0.609, 1.191)
        >>> FoldMean.from_values([0.8, 0.9, 1.0, 0.9], cv=2, metric="auc").upper
        1.0
        """
        scores = np.asarray(values, dtype=np.float64)
        weights = np.ones(len(scores)) if weights is None else np.asarray(weights, dtype=np.float64)
        usable = ~np.isnan(scores) & (weights > 0)
        scores, weights = scores[usable], weights[usable]
        if len(scores) < 2:
            return cls(float(scores.sum()) if len(scores) else math.nan, math.nan, math.nan, math.nan)
        from scipy.special import stdtrit

        n, mean = len(scores), float(np.average(scores, weights=weights))
        # What each fold adds to d; the constant d is left out, as it does not change the variance.
        added = weights * (scores - mean) / weights.mean()
        # (1/J + 1/(K-1)) s^2: of K folds one is tested and K - 1 are learned from.
        error = math.sqrt((1 / n + 1 / (cv - 1)) * float(added.var(ddof=1)))
        half = float(stdtrit(n - 1, (1 + LEVEL) / 2)) * error
        low, high = (METRICS[metric].low, METRICS[metric].high) if metric in METRICS else (-math.inf, math.inf)
        return cls(mean, max(mean - half, low), min(mean + half, high), error)

    @classmethod
    def from_scores(
        cls, values: Any, weights: Any, cv: int, metric: str, n_units: int, spread: SampleSpread | None = None
    ) -> FoldMean:
        """Summarize the scores of a metric, with the interval of this metric.

        Balanced accuracy and mean absolute error: that of :meth:`from_values`. AUC and C-index: :func:`logit_interval`;
        R2: :func:`ratio_interval`. Either takes the error of folds alone where the spread over samples is not known.
        """
        by_folds = cls.from_values(values, cv, metric, weights)
        form = METRICS[metric].interval if metric in METRICS else ""
        if not form or math.isnan(by_folds.standard_error):
            return by_folds
        make = logit_interval if form == LOGIT else ratio_interval
        return cls(
            by_folds.mean, *make(by_folds.mean, by_folds.standard_error, n_units, spread), by_folds.standard_error
        )


def logit_interval(value: float, error: float, n_units: int, spread: SampleSpread | None) -> tuple[float, float]:
    """Return the interval of a score A between 0 and 1, expit(logit A +- 1.96 sqrt(v) / (A (1 - A))).

    v = 1.5 max(Nadeau-Bengio, DeLong, Hanley-McNeil), the latter two for the AUC of two classes. A is clipped to
    [1/2n, 1 - 1/2n] with n units, as 1 out of n samples does not prove that no other sample would be wrong; the
    interval holds the score also where it was clipped.

    >>> [round(end, 3) for end in logit_interval(0.8, 0.05, 40, None)]
    [0.654, 0.894]
    """
    near = min(max(value, 0.5 / n_units), 1 - 0.5 / n_units)
    variances = [error**2]
    if spread is not None:
        variances += [] if math.isnan(spread.variance) else [spread.variance]
        numbers = spread.n_positive, spread.n_negative
        variances += [hanley_mcneil(near, *numbers)] if all(numbers) else []
    # Delta method: the derivative of logit A is 1 / (A (1 - A)).
    half = _Z * math.sqrt(_LOGIT_FACTOR * max(variances)) / (near * (1 - near))
    middle = math.log(near / (1 - near))
    return min(_expit(middle - half), value), max(_expit(middle + half), value)


def _expit(x: float) -> float:
    # By the sign of x, so that exp cannot overflow.
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def ratio_interval(value: float, error: float, n_units: int, spread: SampleSpread | None) -> tuple[float, float]:
    """Return the interval of R2 = 1 - E / D, which is 1 - (E / D) exp(+-1.96 sqrt v).

    v = 2 max(s^2(E_i/E - D_i/D) / n, (1/J + 1/(K-1)) s^2(E_f/E - D_f/D)): the variance of log(E / D) by units i and by
    folds f. The latter is the squared error of Nadeau and Bengio over (E / D)^2.

    >>> [round(end, 3) for end in ratio_interval(0.5, 0.05, 40, None)]
    [0.34, 0.621]
    """
    ratio = 1 - value
    if ratio <= 0:  # without any error
        return value, value
    by_samples = 0.0 if spread is None or math.isnan(spread.variance) else spread.variance
    # Of log(E / D): the error of R2 is that of E / D, and d log r = dr / r.
    half = _Z * math.sqrt(_RATIO_FACTOR * max(by_samples, (error / ratio) ** 2))
    return 1 - ratio * math.exp(half), 1 - ratio * math.exp(-half)


def delong(positive: Array, negative: Array) -> float:
    """Return the variance of an AUC by placements of units, s^2(positive) / n1 + s^2(negative) / n0; NaN if too few.

    Placements are of shape (n1,) and (n0,): the shares of units of the other class that are scored on the right side
    of it (DeLong, DeLong and Clarke-Pearson 1988).

    >>> delong([1.0, 1.0, 0.5, 1.0], [1.0, 0.75])
    0.03125
    """
    if min(len(positive), len(negative)) < 2:
        return math.nan
    return float(sum(np.var(values, ddof=1) / len(values) for values in (positive, negative)))


def hanley_mcneil(auc: float, n_positive: int, n_negative: int) -> float:
    """Return the variance of an AUC by its value and the numbers of both classes alone (Hanley and McNeil 1982).

    (A (1 - A) + (n1 - 1)(Q1 - A^2) + (n0 - 1)(Q2 - A^2)) / (n1 n0), Q1 = A / (2 - A), Q2 = 2 A^2 / (1 + A).

    >>> hanley_mcneil(0.5, 1, 1)
    0.25
    """
    # Q1: two positive units are above one negative; Q2: two negative units are below one positive.
    both_above, both_below = auc / (2 - auc), 2 * auc**2 / (1 + auc)
    total = auc * (1 - auc) + (n_positive - 1) * (both_above - auc**2) + (n_negative - 1) * (both_below - auc**2)
    return total / (n_positive * n_negative)


def ratio_variance(terms: Floats) -> float:
    """Return s^2(E_i/E - D_i/D) / n of terms E_i, D_i of shape (n, 2), with E and D their means; NaN if too few.

    >>> float(ratio_variance(np.array([[1.0, 2.0], [3.0, 2.0]])))
    0.25
    """
    if len(terms) < 2 or not (means := terms.mean(axis=0)).all():
        return math.nan
    # Delta method: log(E / D) changes by dE/E - dD/D.
    errors, distances = (terms / means).T
    return float(np.var(errors - distances, ddof=1) / len(terms))


def spreads_of(folds: Iterable[tuple[Ints, Sequence[FoldTerms]]], n_units: int) -> tuple[SampleSpread, ...]:
    """Return the spread of each score from the test units of folds (positions) and their terms; means over repeats."""
    total: dict[Key, Floats] = {}
    times: dict[Key, Floats] = {}
    for units, terms_of_fold in folds:
        for each in terms_of_fold:
            terms = np.stack([each.first, each.second], axis=1)
            present = ~np.isnan(terms)
            total.setdefault(each.key, np.zeros((n_units, 2)))[units] += np.where(present, terms, 0.0)
            times.setdefault(each.key, np.zeros((n_units, 2)))[units] += present
    with np.errstate(invalid="ignore"):  # units without a term stay NaN
        return tuple(SampleSpread.from_terms(key, total[key] / times[key]) for key in total)
