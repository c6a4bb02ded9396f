"""Predictors and metrics by task, in one table, and the form in which predictors get features of a fold.

The named predictors: "ridge", the logistic regression with an L2 penalty (C = 0.1, classes weighted equally) or ridge
regression (penalty by generalized cross-validation), or Cox's model with an L2 penalty (50 times half the squared
coefficients), and "forest", a random forest of 100 trees, of survival one of martingale residuals. Of C = 0.01 to
1, 0.1 was within 0.02 of the best AUC for 10 chosen and for all features on BCW, COL, HD, LSVT and PRO (2 x 5 folds);
1 lost up to 0.05.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from .._arguments import Array, Floats, Ints, check_choice
from ..data.feature_data import FeatureData, feature_chunks
from ..data.target import Target
from ..exceptions import InputError, repr_of
from ..selectors._subsample import power_of_two
from .prediction_metrics import METRICS, Judged, Predicted

RIDGE, FOREST = "ridge", "forest"
N_TREES = 100  # of a forest


@dataclass(frozen=True)
class Prediction:
    """How a task is predicted and judged, in the order of importance."""

    metrics: tuple[str, ...]  # keys of METRICS
    predictors: Mapping[str, Callable[[], Any]]  # estimators by name
    predict: Callable[[Any, Floats, Array, Floats, int], Predicted]  # estimator, X_train, y_train, X_test, n_classes
    kind: str  # of scikit-learn estimators that can do it
    predicts_risks: bool = False  # whether numbers are predicted that order samples by their risk of an event

    def learned(self, target: Target) -> Array:
        """Return what estimators learn from: of risks, times and events."""
        return np.asarray(target.labels if self.predicts_risks else target.values)


@dataclass(frozen=True)
class Predictor:
    """A predictor by name, ready for any fold."""

    name: str
    estimator: Any
    prediction: Prediction

    @property
    def threads(self) -> bool:
        """Whether folds may use it in several threads; those of users may change what belongs to the process."""
        return self.name in self.prediction.predictors

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics that it allows: without scores of classes, there is no AUC."""
        scored = any(hasattr(self.estimator, name) for name in _SCORES)
        return tuple(name for name in self.prediction.metrics if scored or not METRICS[name].needs_scores)

    def scores(self, A: Floats, target: Target, B: Floats, truth: Target, seed: int, units: Ints) -> dict[str, Judged]:
        """Learn from samples A of shape (n_train, n_features), predict B of shape (n_test, n_features), and judge.

        `units`, of shape (n_test,), are positions of the test samples, or of their groups.
        """
        predicted = self.predicted(A, target, B, seed)
        return {name: METRICS[name].compute(truth, predicted, units) for name in self.metrics}

    def predicted(self, A: Floats, target: Target, B: Floats, seed: int) -> Predicted:
        """Return what is predicted of samples B after learning from samples A, as for :meth:`scores`."""
        if A.shape[1] == 0:  # nothing was chosen: it may learn what is most frequent
            A, B = np.zeros((len(A), 1)), np.zeros((len(B), 1))
        return self._predict(A, target, B, seed)

    def risks(self, A: Floats, target: Target, B: Floats, seed: int) -> Floats:
        """Return risks of samples B, of shape (n_test,); 0 is the median of the samples A that it learns from."""
        if A.shape[1] == 0:
            return np.zeros(len(B))
        # Both by one model: risks are comparable within a model only.
        values = self._predict(A, target, np.concatenate([B, A]), seed).values
        return np.asarray(values[: len(B)] - np.median(values[len(B) :]))

    def _predict(self, A: Floats, target: Target, B: Floats, seed: int) -> Predicted:
        estimator, y = seeded(self.estimator, seed), self.prediction.learned(target)
        return self.prediction.predict(estimator, A, y, B, target.n_classes)


def as_predictors(predictor: Any, task: str) -> tuple[Predictor, ...]:
    """Return predictors that are given by name, as a scikit-learn estimator, or as a list of these."""
    if task not in PREDICTION:
        raise InputError.of("y", "is missing: how well features predict cannot be known without a target.")
    prediction = PREDICTION[task]
    predictors: dict[str, Predictor] = {}
    for entry in predictor if isinstance(predictor, list | tuple) else [predictor]:
        name, estimator = _named(entry, prediction)
        n_same = sum(name == other.partition(" ")[0] for other in predictors)
        name = f"{name} {n_same + 1}" if n_same else name
        predictors[name] = Predictor(name, estimator, prediction)
    if not predictors:
        raise InputError.of("predictor", "is empty; name one, such as 'ridge'.", predictor)
    return tuple(predictors.values())


def _named(predictor: Any, prediction: Prediction) -> tuple[str, Any]:
    if isinstance(predictor, str):
        name = check_choice("predictor", predictor, prediction.predictors)
        return name, prediction.predictors[name]()
    if isinstance(predictor, type) or not all(
        hasattr(predictor, method) for method in ("fit", "predict", "get_params")
    ):
        rule = f"must be 'ridge', 'forest' or a scikit-learn estimator that can predict; got {repr_of(predictor)}."
        raise InputError.of("predictor", rule, predictor)
    kind = _kind(predictor)
    if kind not in (None, prediction.kind):
        raise InputError.of(
            "predictor", f"must be a {prediction.kind} for this target; got {repr_of(predictor)}.", predictor
        )
    last = predictor.steps[-1][1] if hasattr(predictor, "steps") else predictor
    return type(last).__name__, predictor


def _kind(estimator: Any) -> str | None:
    if not hasattr(estimator, "__sklearn_tags__"):
        return None
    from sklearn.utils import get_tags

    return get_tags(estimator).estimator_type


def seeded(estimator: Any, seed: int) -> Any:
    """Return a fresh copy that draws from a seed wherever its own is not fixed."""
    from sklearn.base import clone

    copy = clone(estimator)
    open_seeds = [name for name, value in copy.get_params().items() if name.endswith("random_state") and value is None]
    return copy.set_params(**dict.fromkeys(open_seeds, seed))


def standardized(data: FeatureData, train: Ints, test: Ints, columns: Any) -> tuple[Floats, Floats]:
    """Return features of training and test samples in units of the training samples, gaps at their medians.

    Both are of shape (n_samples, n_columns); `columns` are positions or a slice. A category without order has a 0/1
    column for each level that training samples have, but for the first; other levels count as that one.
    """
    if data.levels:
        A, B = _coded(data, train, test, columns)
    elif isinstance(columns, slice):
        A, B = (np.asarray(data.X[samples, columns], dtype=np.float64) for samples in (train, test))
    else:
        A, B = (np.asarray(data.X[np.ix_(samples, columns)], dtype=np.float64) for samples in (train, test))
    if data.fill is not None:
        empty = np.isnan(A).all(axis=0)
        # A column without any value is 0 throughout, as it does not vary.
        middle = np.nanmedian(np.where(empty, 0.0, A), axis=0)
        A, B = (np.where(np.isnan(values), middle, values) for values in (A, B))
    return _in_units(A, B)


def covariates_of(data: FeatureData, train: Ints, test: Ints) -> tuple[Floats, Floats] | None:
    """Return the coded covariates of training and test samples in units of the training samples; None without any."""
    return None if data.covariates is None else _in_units(data.covariates.design[train], data.covariates.design[test])


def _in_units(A: Floats, B: Floats) -> tuple[Floats, Floats]:
    """Return columns of training and test samples in units of the training samples; those that do not vary are 0."""
    low, high = A.min(axis=0, initial=np.inf), A.max(axis=0, initial=-np.inf)
    varies = low < high
    to_order_1 = power_of_two(np.where(varies, np.maximum(high, -low), 1.0))  # squares stay in the range of numbers
    A, B = A * to_order_1, B * to_order_1
    center, scale = A.mean(axis=0), np.where(varies, A.std(axis=0), 1.0)
    return np.where(varies, (A - center) / scale, 0.0), np.where(varies, (B - center) / scale, 0.0)


def _coded(data: FeatureData, train: Ints, test: Ints, columns: Any) -> tuple[Floats, Floats]:
    """Return numbers, codes and 0/1 columns of training and test samples."""
    coded: list[Floats] = []
    for position in np.arange(data.n_features)[columns].tolist():
        values = np.asarray(data.X[:, position], dtype=np.float64)[:, None]
        if (levels := _coded_levels(data, train, position)) is not None:
            values = np.where(np.isnan(values), np.nan, values == levels)
        coded.append(values)
    table = np.hstack(coded) if coded else np.empty((data.n_samples, 0))
    return table[train], table[test]


def _coded_levels(data: FeatureData, train: Ints, position: int) -> Floats | None:
    """Return the levels that have a column, of a category without order: those of training samples but the first."""
    levels = data.levels.get(position)
    if levels is None or levels.n_columns == 1:
        return None
    seen = np.unique(np.asarray(data.X[train, position], dtype=np.float64))
    return seen[~np.isnan(seen)][1:]


def features_of_columns(data: FeatureData, train: Ints) -> Ints:
    """Return the feature of each column that :func:`standardized` makes of all features."""
    widths = np.ones(data.n_features, dtype=np.intp)
    for position in data.levels:
        levels = _coded_levels(data, train, position)
        widths[position] = 1 if levels is None else len(levels)
    return np.repeat(np.arange(data.n_features), widths)


def rotated(data: FeatureData, train: Ints, test: Ints) -> tuple[Floats, Floats]:
    """Return all features such that a predictor with an L2 penalty does the same, with at most n_train columns.

    With the singular value decomposition Z = U S V' of the standardized training samples, these are Z V = U S and the
    test samples times V: coefficients outside of the span of V do not change any prediction and only cost penalty.
    """
    if data.n_features <= len(train):
        return standardized(data, train, test, slice(None))
    # Z Z' = U S^2 U' is summed over chunks of features: neither Z nor V, as large as the table, is ever whole.
    gram, products = np.zeros((len(train), len(train))), np.zeros((len(test), len(train)))
    for part in feature_chunks(data.n_features):
        A, B = standardized(data, train, test, part)
        gram += A @ A.T
        products += B @ A.T
    values, U = np.linalg.eigh(gram)
    # Directions that the data have beyond rounding.
    seen = values > values[-1] * len(train) * np.finfo(np.float64).eps
    S = np.sqrt(values[seen])
    # V = Z' U / S, so that test samples times V are their products with Z' times U / S.
    return U[:, seen] * S, products @ (U[:, seen] / S)


_SCORES = ("predict_proba", "decision_function")


def _class_scores(model: Any, X: Floats, n_classes: int) -> Floats | None:
    """Return scores of shape (n_samples, n_classes); classes that the model never saw have the lowest."""
    method = next((getattr(model, name) for name in _SCORES if hasattr(model, name)), None)
    if method is None:
        return None
    values = np.asarray(method(X), dtype=np.float64)
    if values.ndim == 1:
        # A decision function of two classes, positive for the second.
        values = np.stack([-values, values], axis=1)
    scores = np.full((len(X), n_classes), values.min(initial=0.0))
    scores[:, np.asarray(model.classes_, dtype=np.intp)] = values
    return scores


def _predict_classes(estimator: Any, A: Floats, y: Array, B: Floats, n_classes: int) -> Predicted:
    model = estimator.fit(A, y)
    return Predicted(np.asarray(model.predict(B)), _class_scores(model, B, n_classes))


def _predict_labels(estimator: Any, A: Floats, y: Array, B: Floats, _: int) -> Predicted:
    from sklearn.base import clone

    values, scores = list[Array](), list[Any]()
    for labels in y.T:
        if labels.min() == labels.max():  # nothing to learn
            values.append(np.full(len(B), labels[0]))
            scores.append(np.zeros(len(B)))
            continue
        model = clone(estimator).fit(A, labels)
        values.append(model.predict(B))
        label_scores = _class_scores(model, B, 2)
        scores.append(None if label_scores is None else label_scores[:, 1])
    stacked = None if any(column is None for column in scores) else np.stack(scores, axis=1)
    return Predicted(np.stack(values, axis=1), stacked)


def _predict_risks(estimator: Any, A: Floats, y: Array, B: Floats, _: int) -> Predicted:
    return Predicted(np.asarray(estimator.fit(A, y).predict(B), dtype=np.float64).ravel())


def _predict_numbers(estimator: Any, A: Floats, y: Array, B: Floats, n_classes: int) -> Predicted:
    return replace(_predict_risks(estimator, A, y, B, n_classes), middle=float(np.mean(y, dtype=np.float64)))


def _later(module: str, name: str, **settings: Any) -> Callable[[], Any]:
    """Return a function that makes an estimator; scikit-learn is not imported before that."""
    return lambda: getattr(import_module(module), name)(**settings)


def _forest(name: str) -> Callable[[], Any]:
    return lambda: _estimator(name, n_trees=N_TREES)()


# Estimators of scikit-learn, and those of this package.
_linear, _estimator = partial(_later, "sklearn.linear_model"), partial(_later, "ubayfs.trust.estimators")

_FOR_CLASSES = {
    RIDGE: _linear("LogisticRegression", C=0.1, class_weight="balanced", max_iter=1000),
    FOREST: _forest("ForestClassifier"),
}
_FOR_NUMBERS = {
    RIDGE: _linear("RidgeCV", alphas=np.logspace(-2, 6, 17)),
    FOREST: _forest("ForestRegressor"),
}
_FOR_RISKS = {RIDGE: _estimator("CoxRidge"), FOREST: _forest("ResidualForest")}

_OF_CLASSES = ("auc", "balanced_accuracy")
_RISKS = "predictor of risks, such as those of scikit-survival,"

# Every task that has a target; each has the predictors of the baselines, "ridge" and "forest".
PREDICTION = {
    "binary": Prediction(_OF_CLASSES, _FOR_CLASSES, _predict_classes, "classifier"),
    "multiclass": Prediction(_OF_CLASSES, _FOR_CLASSES, _predict_classes, "classifier"),
    "multilabel": Prediction(_OF_CLASSES, _FOR_CLASSES, _predict_labels, "classifier"),
    "regression": Prediction(("r2", "mean_absolute_error"), _FOR_NUMBERS, _predict_numbers, "regressor"),
    "survival": Prediction(("c_index",), _FOR_RISKS, _predict_risks, _RISKS, predicts_risks=True),
}
