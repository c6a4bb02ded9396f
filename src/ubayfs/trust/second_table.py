"""A second table: the finished set, with a predictor of the first table, on samples of an independent one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._arguments import Array, FeatureIndex, Floats, Ints, did_you_mean
from .._plain import ShownAsCard, listing, plain
from ..data.covariates import Covariates
from ..data.feature_data import FeatureData
from ..data.look_alikes import identical_rows
from ..data.target import CLASSIFICATION, Target
from ..exceptions import Advice, InputError
from .prediction_metrics import METRICS
from .predictors import RIDGE, Predictor, as_predictors, covariates_of, standardized

if TYPE_CHECKING:
    from pandas import DataFrame

_N_DRAWS, _ENDS = 1000, (0.025, 0.975)
# Of a feature: how far the means may lie apart, in standard deviations, and the ratio of these.
_APART, _RATIO = 3.0, 3.0
# Samples are of both tables if so many times more pairs between the tables are equal than inside them. Where 3 are
# usual, none is seen in 1 of 20 tables.
_TIMES, _UNSEEN = 2, 3


@dataclass(frozen=True)
class NewScore:
    """A score on the second table; the interval of 95 % is that of drawing its samples, or groups, again."""

    predictor: str
    metric: str
    value: float
    lower: float
    upper: float


@dataclass(frozen=True)
class SecondTable(ShownAsCard):
    """How a finished set predicts an independent second table; made by :func:`~ubayfs.validate` with ``X_new=``.

    Attributes
    ----------
    features : tuple of str
        The set; neither it nor the predictor has seen the second table.
    task, main_metric : str
    n_samples, n_new : int
        Of the first and of the second table.
    scores : tuple of NewScore
    scale_differs : tuple of str
        Features of another scale in the second table: means more than three standard deviations apart, or standard
        deviations that differ threefold.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ubayfs import collect_evidence, decide, validate
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> first, second = X[:300], X[300:]
    >>> evidence = collect_evidence(first, y[:300], selector="mrmr", n_models=10, random_state=0)
    >>> found = validate(decide(evidence, max_size=3), first, y[:300], X_new=second, y_new=y[300:])
    >>> found.n_new, found.scores[0].metric, found.scores[0].value > 0.9
    (269, 'auc', True)
    """

    features: tuple[str, ...]
    task: str
    main_metric: str
    n_samples: int
    n_new: int
    scores: tuple[NewScore, ...]
    scale_differs: tuple[str, ...] = ()

    def __repr__(self) -> str:
        first = next((score for score in self.scores if score.metric == self.main_metric), None)
        shown = "" if first is None else f"{first.metric}={first.value:.3f}, "
        return f"SecondTable({shown}{self.n_new} new samples)"

    def table(self) -> DataFrame:
        """Return one row per score."""
        from pandas import DataFrame

        return DataFrame([vars(score) for score in self.scores])

    def to_dict(self) -> dict[str, Any]:
        """Return everything in plain types."""
        return dict(plain(vars(self)))

    @property
    def advice(self) -> tuple[Advice, ...]:
        """What must be known: features of another scale."""
        return (Advice("scale_differs", {"names": list(self.scale_differs)}),) * bool(self.scale_differs)


def read_second_table(
    features: Iterable[str], data: FeatureData, X_new: Any, y_new: Any, groups: Any = None
) -> FeatureData:
    """Return a frame and its target as data: the features of a set, and the covariates of the first table."""
    covariates = [] if data.covariates is None else data.covariates.names
    wanted, columns = [*features, *covariates], [str(name) for name in getattr(X_new, "columns", ())]
    if not columns:
        rule = "must be a frame whose columns have the names of the selected features."
        raise InputError.of("X_new", rule)
    if y_new is None:
        raise InputError.of("y_new", "is missing: the target of the second table.")
    if absent := [name for name in wanted if name not in columns]:
        raise _lacking(absent, len(wanted), columns)
    table = X_new[[label for label in X_new.columns if str(label) in wanted]]
    reading: dict[str, Any] = {"missing": data.missing or "error", "max_missing": 1.0, "groups": groups}
    return FeatureData.from_table(table, y_new, task=data.target.task, adjust_for=covariates or None, **reading)


def _lacking(absent: list[str], n_wanted: int, columns: list[str]) -> InputError:
    hint = did_you_mean(absent[0], columns)
    rule = f"lacks {len(absent)} of the {n_wanted} columns that are needed: {listing(absent, 5)}.{hint}"
    return InputError.of("X_new", f"{rule} Columns are matched by name.", absent)


def predict_second_table(
    features: Iterable[str], data: FeatureData, new: FeatureData, predictor: Any = RIDGE, seed: int = 0
) -> SecondTable:
    """Judge a set on a second table by predictors that learn from the first; columns are matched by name."""
    names = tuple(features)
    predictors = as_predictors(predictor, data.target.task)
    both = _joined(names, data, new)
    train, test = np.arange(data.n_samples), data.n_samples + np.arange(new.n_samples)
    _check_other_samples(both.X, data.n_samples)
    A, B = standardized(both, train, test, slice(None))
    covariates = covariates_of(both, train, test)
    parts = (A, B) if covariates is None else tuple(np.hstack(pair) for pair in zip((A, B), covariates, strict=True))
    truth = both.target.take(test)
    units = np.arange(new.n_samples) if new.groups is None else new.groups
    scores = [
        score for each in predictors for score in _scores(each, parts[0], data.target, parts[1], truth, units, seed)
    ]
    other = _other_scale(names, both, train, test)
    about = (data.target.task, predictors[0].metrics[0], data.n_samples, new.n_samples)
    return SecondTable(names, *about, tuple(scores), other)


def _joined(names: tuple[str, ...], data: FeatureData, new: FeatureData) -> FeatureData:
    """Return the features of a set in both tables, one below the other."""
    new_names = new.feature_names.tolist()
    if absent := [name for name in names if name not in new_names]:
        raise _lacking(absent, len(names), new_names)
    places = [FeatureIndex(each.feature_names).positions(names, "X_new") for each in (data, new)]
    if words := [name for name, j, k in zip(names, *places, strict=True) if j in data.levels or k in new.levels]:
        rule = f"cannot be matched in {words[0]!r}, a category; give its levels as numbers in both tables."
        raise InputError.of("X_new", rule, words)
    X = np.vstack(
        [np.asarray(each.X[:, place], dtype=np.float64) for each, place in zip((data, new), places, strict=True)]
    )
    both = replace(data, X=X, feature_names=np.array(names, dtype=object), path=None)
    parts: dict[str, Any] = {"target": _one_coding(data.target, new.target), "groups": None, "sample_names": None}
    return replace(both, **parts, covariates=_both_covariates(data.covariates, new.covariates))


def _one_coding(target: Target, new: Target) -> Target:
    """Return both targets, in the coding of the first."""
    if new.values is None or (new.task != target.task and not {new.task, target.task} <= set(CLASSIFICATION)):
        rule = f"must be a target of the task {target.task!r}, as in the first table; it is one of {new.task!r}."
        raise InputError.of("y_new", rule)
    values: Array = np.asarray(new.values)
    if target.classes is not None and target.task in CLASSIFICATION:
        codes = {str(label): code for code, label in enumerate(target.classes)}
        labels = [str(label) for label in np.asarray(new.classes)]
        if unknown := [label for label in labels if label not in codes]:
            rule = f"has the class {unknown[0]!r}, which the first table does not have ({listing([*codes], 5)})."
            raise InputError.of("y_new", f"{rule} Give the classes the same names.", unknown)
        values = np.array([codes[label] for label in labels])[values]
    values = np.concatenate([np.asarray(target.values), values])
    survival = target.task == "survival"  # whose labels are records of another form
    both_labels = np.concatenate([np.asarray(each.labels) for each in (target, new)]) if survival else values
    return replace(target, values=values, labels=both_labels)


def _both_covariates(first: Covariates | None, new: Covariates | None) -> Covariates | None:
    if first is None:
        return None
    others = {} if new is None else {item.name: item for item in new.items}
    items = []
    for item in first.items:
        other = others.get(item.name)
        if other is None or (item.levels is None) != (other.levels is None):
            rule = f"lacks the covariate {item.name!r}, or has it in another form than the first table."
            raise InputError.of("X_new", rule, item.name)
        values = other.values
        if item.levels is not None and other.levels is not None:
            codes = {level: code for code, level in enumerate(item.levels)}
            values = np.array([codes.get(level, 0) for level in other.levels], dtype=float)[values.astype(int)]
        items.append(replace(item, values=np.concatenate([item.values, values])))
    return Covariates(tuple(items), measured=first.measured)


def _scores(
    predictor: Predictor, A: Floats, target: Target, B: Floats, truth: Target, units: Ints, seed: int
) -> list[NewScore]:
    """Return the scores of a predictor, with intervals of drawing units of the second table with replacement."""
    predicted, rng = predictor.predicted(A, target, B, seed), np.random.default_rng(seed)
    members = [np.flatnonzero(units == unit) for unit in np.unique(units)]
    drawn: dict[str, list[float]] = {name: [] for name in predictor.metrics}
    for _ in range(_N_DRAWS):
        some = np.concatenate([members[i] for i in rng.integers(len(members), size=len(members))])
        scores = None if predicted.scores is None else predicted.scores[some]
        again, its = replace(predicted, values=predicted.values[some], scores=scores), truth.take(some)
        for name, values in drawn.items():
            values.append(METRICS[name].compute(its, again, np.arange(len(some))).value)
    new_scores = []
    for name, values in drawn.items():
        value = METRICS[name].compute(truth, predicted, np.arange(len(B))).value
        defined = np.array(values)[~np.isnan(values)]
        ends = np.quantile(defined, _ENDS) if len(defined) else (np.nan, np.nan)
        new_scores.append(NewScore(predictor.name, name, float(value), float(ends[0]), float(ends[1])))
    return new_scores


def _check_other_samples(X: Floats, n: int) -> None:
    """Raise if samples of the second table, those after the first n, are of the first table, too."""
    m, between, within, n_shared = len(X) - n, 0, 0, 0
    for rows in identical_rows(X):
        first = sum(row < n for row in rows)
        second = len(rows) - first
        between += first * second
        n_shared += second if first else 0
        within += (first * (first - 1) + second * (second - 1)) // 2
    inside = (n * (n - 1) + m * (m - 1)) / 2
    if between * inside > _TIMES * (within + _UNSEEN) * n * m:  # equal pairs inside the tables are by chance
        rule = f"has {n_shared:,} samples with the same values as a sample of the first table. Leave these samples out."
        raise InputError.of("X_new", rule)


def _other_scale(names: tuple[str, ...], both: FeatureData, train: Ints, test: Ints) -> tuple[str, ...]:
    A, B = (np.asarray(both.X[part], dtype=np.float64) for part in (train, test))
    spread = [np.nanstd(part, axis=0) for part in (A, B)]
    spread_of_first = np.where(spread[0] > 0, spread[0], 1.0)
    apart = np.abs(np.nanmean(B, axis=0) - np.nanmean(A, axis=0)) > _APART * spread_of_first
    ratio = spread[1] / spread_of_first
    differs = apart | (ratio > _RATIO) | (ratio < 1 / _RATIO)
    return tuple(name for name, different in zip(names, differs, strict=True) if different)
