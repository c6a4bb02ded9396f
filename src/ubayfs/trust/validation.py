"""Validation: how well selected sets predict held-out samples, compared with simpler ways to select."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from .._arguments import Floats, Ints
from .._plain import ShownAsCard, decode, plain
from ..data.target import Target
from ..exceptions import Advice, InputError
from .intervals import FoldMean, Key, SampleSpread
from .repeats import repeats_advice

if TYPE_CHECKING:
    from pandas import DataFrame, Series

OURS = "ubayfs"
# With covariates, which predictors get besides the features of every set, also: covariates without features, and our
# features without covariates.
COVARIATES_ALONE, FEATURES_ALONE = OF_COVARIATES = ("covariates alone", "features alone")

_OF_EARLIER = (
    "this validation was made by an earlier version of ubayfs, without what R2 and intervals are computed from now. "
    "Make it again with 'ubayfs validate STUDY', 'ubayfs trust RESULT' or ubayfs.validate."
)
_FOLD_COLUMNS = ("repeat", "fold", "method", "predictor", "metric", "score", "n_features")
_MEAN_COLUMNS = ("mean", "lower", "upper")


@dataclass(frozen=True)
class FoldScore:
    """One number: how a predictor did on the test part of a fold with the features that a method chose.

    Attributes
    ----------
    repeat, fold : int
        From 0.
    method, predictor, metric : str
    score : float
        NaN where the test part does not allow it, such as an AUC with one class.
    n_features : int
    size : int or None
        The size that was asked for, in the curve over sizes.
    weight : float
        Of the fold in the mean over folds.
    """

    repeat: int
    fold: int
    method: str
    predictor: str
    metric: str
    score: float
    n_features: int
    size: int | None = None
    weight: float = 1.0


@dataclass(frozen=True)
class SampleRisk:
    """A sample of a survival target with the risk that folds predicted in which it had no part in choosing or learning.

    Attributes
    ----------
    time, event : float
    risk : float
        Mean over repeats; 0 is the median of the samples that a fold learned from.
    """

    time: float
    event: float
    risk: float


@dataclass(frozen=True)
class SamplePrediction:
    """A sample of a target of numbers with the mean of what folds predicted in which it had no part."""

    true: float
    predicted: float


def sample_predictions(
    target: Target, predicted: Iterable[tuple[Ints, Sequence[float]]]
) -> tuple[SamplePrediction, ...]:
    """Return what was predicted of samples, from test parts (positions) and their predictions, in their order."""
    true = np.asarray(target.values)
    means = _means_of_samples(len(true), predicted)
    return tuple(SamplePrediction(float(true[i]), float(means[i])) for i in np.flatnonzero(~np.isnan(means)).tolist())


def _means_of_samples(n: int, predicted: Iterable[tuple[Ints, Sequence[float]]]) -> Floats:
    """Return the mean of what was predicted of each of n samples, NaN of those of which nothing was."""
    total, times = np.zeros(n), np.zeros(n)
    for test, values in predicted:
        if len(values):
            np.add.at(total, test, values)
            np.add.at(times, test, 1)
    return np.asarray(total / np.where(times > 0, times, np.nan))


def sample_risks(target: Target, predicted: Iterable[tuple[Ints, Sequence[float]]]) -> tuple[SampleRisk, ...]:
    """Return the risks of samples from test parts (positions) and what was predicted for them, in their order.

    Samples for which nothing was predicted are left out.
    """
    if target.task != "survival":
        return ()
    means = _means_of_samples(len(target.event), predicted)
    return tuple(
        SampleRisk(float(target.time[i]), float(target.event[i]), float(means[i]))
        for i in np.flatnonzero(~np.isnan(means)).tolist()
    )


@dataclass(frozen=True, eq=False)
class Validation(ShownAsCard):
    """What :func:`validate` found.

    Attributes
    ----------
    task, main_metric : str
        The main metric is one of which more is better.
    cv, n_repeats : int
    n_units : int
        Samples; groups if there are any.
    feature_names : tuple of str
    sets : tuple of tuple of int
        Positions of the features that were chosen in each fold that was done.
    records : tuple of FoldScore
        Scores of all methods in these folds, ours first.
    size_records, control_records : tuple of FoldScore or None
        Scores over sizes, and with a shuffled target; None if they were not asked for.
    failures : tuple of str
        Where and why something could not be done.
    cancelled : bool
        Whether the caller ended it early.
    adjust_for : tuple of str
        Covariates, which predictors got besides the features of every set.
    risks : tuple of SampleRisk
        Of survival: risks that were predicted out of fold; empty for other tasks.
    predictions : tuple of SamplePrediction
        Of a target of numbers: what was predicted out of fold; empty for other tasks.
    roc : tuple of float
        Of classes or labels: the mean over folds of ROC curves of the first predictor, as shares of samples of a class
        that are recognized at 0, 0.01, ..., 1 of false alarms; empty for other tasks.
    spreads : tuple of SampleSpread
        How AUC (of two classes) and R2 vary by the samples that are predicted.

    Examples
    --------
    >>> import numpy as np
    >>> from ubayfs import collect_evidence, decide, validate
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 20)
    >>> X = rng.normal(size=(40, 20))
    >>> X[:, :2] += 3 * y[:, None]
    >>> selection = decide(collect_evidence(X, y, selector="mrmr", n_models=5, random_state=0), max_size=2)
    >>> validation = validate(selection, X, y, cv=2, n_repeats=1, baselines=[])
    >>> validation.main_metric, validation.n_done
    ('auc', 2)
    >>> bool(validation.scores["mean"][0] > 0.9)
    True
    """

    task: str
    main_metric: str
    cv: int
    n_repeats: int
    n_units: int
    feature_names: tuple[str, ...]
    sets: tuple[tuple[int, ...], ...]
    records: tuple[FoldScore, ...]
    size_records: tuple[FoldScore, ...] | None = None
    control_records: tuple[FoldScore, ...] | None = None
    failures: tuple[str, ...] = ()
    cancelled: bool = False
    adjust_for: tuple[str, ...] = ()
    risks: tuple[SampleRisk, ...] = ()
    spreads: tuple[SampleSpread, ...] = ()
    predictions: tuple[SamplePrediction, ...] = ()
    roc: tuple[float, ...] = ()

    def __repr__(self) -> str:
        return f"Validation(task={self.task!r}, metric={self.main_metric!r}, folds={self.n_done} of {self.n_folds})"

    @property
    def n_folds(self) -> int:
        """How many folds were asked for."""
        return self.cv * self.n_repeats

    @property
    def n_done(self) -> int:
        """How many folds the scores rest on."""
        return len(self.sets)

    @property
    def complete(self) -> bool:
        """Whether nothing was left out because of a cancel."""
        return not self.cancelled

    @property
    def advice(self) -> tuple[Advice, ...]:
        """What must be known: folds that were cancelled or could not be done."""
        return repeats_advice("folds", self.n_folds, self.n_done, self.failures, self.cancelled)

    @cached_property
    def scores(self) -> DataFrame:
        """Scores by method, predictor and metric; ours first, `difference` is ours minus this baseline.

        Columns: method, predictor, metric, mean, lower, upper, difference, difference_lower, difference_upper.

        `mean` is the mean over folds. R2 and the C-index are pooled: 1 minus all squared errors over all squared
        distances from the means of the training parts, and concordant over usable pairs of all folds. For intervals of
        95 % see :mod:`ubayfs.trust.intervals`.

        `difference` is that of the means shown, with the interval of Nadeau and Bengio of what the folds add to it, see
        :meth:`~ubayfs.trust.intervals.FoldMean.from_values`. It is paired by fold, with ours by the same predictor, or
        by our first one if there is none.
        """
        from pandas import DataFrame

        by_score = _by_fold(self.records, "method", "predictor", "metric")
        first = next((predictor for _, predictor, _ in by_score), "")
        rows = []
        for (method, predictor, metric), scores in by_score.items():
            mean = self._mean_of(scores)
            ours = by_score.get((OURS, predictor, metric)) or by_score.get((OURS, first, metric))
            paired = [] if method == OURS or ours is None else [(ours[fold], scores[fold]) for fold in scores]
            # A weight depends on the test samples alone: ours has the same.
            weights = [their.weight for _, their in paired]
            apart = FoldMean.from_values([our.score - their.score for our, their in paired], self.cv, weights=weights)
            ends = (each for part in (mean, apart) for each in (part.mean, part.lower, part.upper))
            rows.append([method, predictor, metric, *ends])
        columns = ("difference", "difference_lower", "difference_upper")
        return DataFrame(rows, columns=["method", "predictor", "metric", *_MEAN_COLUMNS, *columns])

    @cached_property
    def _spread_of(self) -> dict[Key, SampleSpread]:
        return {spread.key: spread for spread in self.spreads}

    def _mean_of(self, scores: Mapping[Fold, FoldScore], control: bool = False) -> FoldMean:
        """Return the mean of one score over folds; how that of a control varies by samples is not known."""
        records = [*scores.values()]
        first = records[0]
        spread = None if control else self._spread_of.get((first.method, first.predictor, first.metric, first.size))
        values, weights = ([getattr(record, name) for record in records] for name in ("score", "weight"))
        return FoldMean.from_scores(values, weights, self.cv, first.metric, self.n_units, spread)

    @cached_property
    def folds(self) -> DataFrame:
        """Scores of each fold: repeat, fold, method, predictor, metric, score, n_features."""
        from pandas import DataFrame

        rows = [[getattr(record, column) for column in _FOLD_COLUMNS] for record in self.records]
        return DataFrame(rows, columns=list(_FOLD_COLUMNS))

    @cached_property
    def frequency(self) -> Series[float]:
        """In which share of the folds each feature was chosen, by feature name; NaN if no fold was done."""
        from pandas import Series

        times = np.bincount([i for chosen in self.sets for i in chosen], minlength=len(self.feature_names))
        with np.errstate(invalid="ignore"):
            share = times / np.float64(self.n_done)
        return Series(share, index=list(self.feature_names), name="frequency")

    @cached_property
    def _size_means(self) -> dict[tuple[int, str], FoldMean]:
        by_size = _by_fold(self.size_records or (), "size", "metric")
        # Stable: metrics of a size stay in their order.
        return {key: self._mean_of(by_size[key]) for key in sorted(by_size, key=itemgetter(0))}

    @cached_property
    def sizes(self) -> DataFrame | None:
        """Means over folds by size: size, metric, mean, lower, upper, standard_error; None without sizes."""
        if self.size_records is None:
            return None
        from pandas import DataFrame

        rows = [[*key, *astuple(mean)] for key, mean in self._size_means.items()]
        return DataFrame(rows, columns=["size", "metric", *_MEAN_COLUMNS, "standard_error"])

    @property
    def best_size(self) -> int | None:
        """The smallest size of the highest mean of the main metric; None without sizes."""
        curve = self.curve
        return max(curve, key=lambda size: (curve[size].mean, -size)) if curve else None

    @property
    def one_se_size(self) -> int | None:
        """The smallest size whose mean is within one standard error of the best; None without sizes."""
        if self.best_size is None:
            return None
        best = self.curve[self.best_size]
        # With one fold there is no error: only the best mean is enough.
        enough = best.mean if math.isnan(best.standard_error) else best.mean - best.standard_error
        return min(size for size, mean in self.curve.items() if mean.mean >= enough)

    @property
    def curve(self) -> dict[int, FoldMean]:
        """Means of the main metric by size, as far as they are defined."""
        return {
            size: mean
            for (size, metric), mean in self._size_means.items()
            if metric == self.main_metric and not math.isnan(mean.mean)
        }

    @cached_property
    def control(self) -> DataFrame | None:
        """Means over folds with a shuffled target: predictor, metric, mean, lower, upper; None without a control."""
        if self.control_records is None:
            return None
        from pandas import DataFrame

        by_predictor = _by_fold(self.control_records, "predictor", "metric")
        means = {key: self._mean_of(scores, control=True) for key, scores in by_predictor.items()}
        rows = [[*key, mean.mean, mean.lower, mean.upper] for key, mean in means.items()]
        return DataFrame(rows, columns=["predictor", "metric", *_MEAN_COLUMNS])

    def to_dict(self) -> dict[str, Any]:
        """Return the fields in plain types; all else follows from them."""
        return {field.name: plain(getattr(self, field.name)) for field in fields(self)}

    @staticmethod
    def of_earlier_version(content: Mapping[str, Any]) -> bool:
        """Return whether :meth:`to_dict` of ubayfs before 0.3 returned this."""
        return "records" in content and "n_units" not in content

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Validation:
        """Make it of what :meth:`to_dict` returned; InputError says what to do with that of an earlier version."""
        if cls.of_earlier_version(content):
            raise InputError(_OF_EARLIER)
        return decode(cls, content)


Fold = tuple[int, int]


def _by_fold(records: Sequence[FoldScore], *names: str) -> dict[tuple[Any, ...], dict[Fold, FoldScore]]:
    """Return the scores by fold, for all records that are the same in the fields of these names, in their order."""
    by_key: dict[tuple[Any, ...], dict[Fold, FoldScore]] = {}
    for record in records:
        key = tuple(getattr(record, name) for name in names)
        by_key.setdefault(key, {})[record.repeat, record.fold] = record
    return by_key
