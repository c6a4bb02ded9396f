"""Predictors and metrics: against scikit-learn, and the rotation against the direct computation."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import metrics
from sklearn.linear_model import Lasso, LogisticRegression, Perceptron, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ubayfs.data.feature_data import FeatureData
from ubayfs.data.target import TASKS, Target
from ubayfs.exceptions import InputError
from ubayfs.trust.prediction_metrics import METRICS, Predicted
from ubayfs.trust.predictors import PREDICTION, as_predictors, rotated, standardized


def classes_of(codes, n_classes):
    return Target("binary" if n_classes == 2 else "multiclass", codes, codes, np.arange(n_classes))


def score(task, metric, truth, values, scores=None, middle=np.nan):
    assert metric in PREDICTION[task].metrics
    predicted = Predicted(np.asarray(values), scores, middle)
    return METRICS[metric].compute(truth, predicted, np.arange(len(predicted.values))).value


def test_every_task_with_a_target_can_be_predicted():
    assert set(PREDICTION) == {name for name, task in TASKS.items() if task.read is not None}
    for prediction in PREDICTION.values():
        assert {"ridge", "forest"} <= set(prediction.predictors)
        assert set(prediction.metrics) <= set(METRICS)


def test_metrics_of_two_classes_are_those_of_scikit_learn(rng):
    y, guess, d = rng.integers(0, 2, 40), rng.integers(0, 2, 40), rng.integers(0, 5, 40) / 5  # with ties
    both = np.stack([-d, d], axis=1)
    truth = classes_of(y, 2)
    assert score("binary", "auc", truth, guess, both) == pytest.approx(metrics.roc_auc_score(y, d))
    assert score("binary", "balanced_accuracy", truth, guess) == pytest.approx(
        metrics.balanced_accuracy_score(y, guess)
    )


def test_metrics_of_several_classes_are_those_of_scikit_learn(rng):
    y, guess, p = rng.integers(0, 4, 60), rng.integers(0, 4, 60), rng.dirichlet(np.ones(4), 60)
    truth = classes_of(y, 4)
    expected = metrics.roc_auc_score(y, p, multi_class="ovr", average="macro")
    assert score("multiclass", "auc", truth, guess, p) == pytest.approx(expected)
    assert score("multiclass", "balanced_accuracy", truth, guess) == pytest.approx(
        metrics.balanced_accuracy_score(y, guess)
    )


def test_classes_without_test_samples_are_left_out(rng):
    y, p = np.array([0, 0, 1, 1, 1]), rng.dirichlet(np.ones(3), 5)
    expected = np.mean([metrics.roc_auc_score(y == c, p[:, c]) for c in (0, 1)])
    assert score("multiclass", "auc", classes_of(y, 3), y, p) == pytest.approx(expected)
    assert score("multiclass", "balanced_accuracy", classes_of(y, 3), np.array([0, 2, 1, 1, 1])) == pytest.approx(0.75)
    assert np.isnan(score("binary", "auc", classes_of(np.zeros(3, dtype=int), 2), [0, 0, 0], np.zeros((3, 2))))


def test_metrics_of_labels_are_means_over_those_that_vary(rng):
    y, guess, p = rng.integers(0, 2, (40, 3)), rng.integers(0, 2, (40, 3)), rng.random((40, 3))
    y[:, 2] = 1
    truth = Target("multilabel", y, y)
    auc = np.mean([metrics.roc_auc_score(y[:, label], p[:, label]) for label in (0, 1)])
    balanced = np.mean([metrics.balanced_accuracy_score(y[:, label], guess[:, label]) for label in (0, 1)])
    assert score("multilabel", "auc", truth, guess, p) == pytest.approx(auc)
    assert score("multilabel", "balanced_accuracy", truth, guess) == pytest.approx(balanced)


def test_metrics_of_numbers_are_those_of_scikit_learn(rng):
    y, guess = rng.random(20), rng.random(20)
    truth = Target("regression", y, y)
    assert score("regression", "r2", truth, guess, middle=y.mean()) == pytest.approx(metrics.r2_score(y, guess))
    other = 1 - ((y - guess) ** 2).sum() / ((y - 0.3) ** 2).sum()  # with another mean of the training samples
    assert score("regression", "r2", truth, guess, middle=0.3) == pytest.approx(other)
    assert score("regression", "mean_absolute_error", truth, guess) == pytest.approx(
        metrics.mean_absolute_error(y, guess)
    )
    assert np.isnan(score("regression", "r2", Target("regression", np.ones(1), np.ones(1)), [2.0], middle=1.0))


@pytest.mark.parametrize("form", ["dense", "float32", "sparse", "missing"])
def test_rotated_features_give_the_predictions_of_all_features(rng, form):
    n, p = 40, 5000  # more than one chunk
    X = rng.normal(size=(n, p)) * (rng.random((n, p)) < 0.3)
    X[:, 7] = 3.0  # constant
    y = np.tile([0, 1], n // 2)
    if form == "missing":
        X[rng.random((n, p)) < 0.05] = np.nan
    given = {"dense": X, "float32": X.astype(np.float32), "sparse": sparse.csr_array(X), "missing": X}[form]
    data = FeatureData.from_table(given, y, missing="available" if form == "missing" else "error")
    train, test = np.arange(30), np.arange(30, 40)
    (A, B), (R, T) = standardized(data, train, test, np.arange(p)), rotated(data, train, test)
    assert R.shape[1] < len(train)
    number = y[train] + 0.3 * rng.normal(size=30)
    assert Ridge(5.0).fit(R, number).predict(T) == pytest.approx(Ridge(5.0).fit(A, number).predict(B), abs=1e-8)
    options = {"C": 0.1, "tol": 1e-10, "max_iter": 10_000}
    direct = LogisticRegression(**options).fit(A, y[train]).decision_function(B)
    assert LogisticRegression(**options).fit(R, y[train]).decision_function(T) == pytest.approx(direct, abs=1e-5)


def test_units_and_medians_are_those_of_the_training_samples():
    X = np.array([[1.0, 2.0, np.nan], [3.0, 2.0, np.nan], [np.nan, 2.0, np.nan], [100.0, 7.0, 5.0], [np.nan, 1.0, 1.0]])
    data = FeatureData.from_table(X, [0.1, 0.2, 0.3, 0.4, 0.5], missing="available", max_missing=1.0)
    A, B = standardized(data, np.arange(3), np.arange(3, 5), [0, 1, 2])
    spread = np.std([1.0, 3.0, 2.0])
    assert pytest.approx(np.array([[-1 / spread, 0, 0], [1 / spread, 0, 0], [0, 0, 0]])) == A
    assert pytest.approx(np.array([[98 / spread, 0, 0], [0, 0, 0]])) == B


@pytest.mark.parametrize("scale", [2.0**-996, 2.0**990])
def test_units_of_tiny_and_huge_values_are_the_same(scale):
    X = np.random.default_rng(0).normal(size=(30, 4))
    train, test = np.arange(20), np.arange(20, 30)
    plain, scaled = (
        standardized(FeatureData.from_table(values, np.arange(30) % 2), train, test, slice(None))
        for values in (X, X * [scale, 1, 1 / scale, 1])
    )
    for found, expected in zip(scaled, plain, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_predictors_by_name_and_as_estimators():
    named = as_predictors(["ridge", make_pipeline(StandardScaler(), Perceptron()), Perceptron()], "binary")
    assert [predictor.name for predictor in named] == ["ridge", "Perceptron", "Perceptron 2"]
    assert named[0].metrics == ("auc", "balanced_accuracy")
    assert as_predictors("forest", "regression")[0].metrics == ("r2", "mean_absolute_error")


class Nearest:
    """A classifier without scores, and without anything of scikit-learn but parameters."""

    def get_params(self, deep=True):
        return {}

    def set_params(self):
        return self

    def fit(self, X, y):
        self.X, self.y = X, y
        return self

    def predict(self, X):
        return self.y[((X[:, None] - self.X) ** 2).sum(axis=2).argmin(axis=1)]


def test_without_scores_there_is_no_auc(rng):
    (predictor,) = as_predictors(Nearest(), "binary")
    X = np.array([[0.0], [0.1], [1.0], [1.1]])
    codes = classes_of(np.array([0, 0, 1, 1]), 2)
    found = predictor.scores(X, codes, X + 0.01, codes, 0, np.arange(4))
    assert {name: judged.value for name, judged in found.items()} == {"balanced_accuracy": 1.0}


def test_without_features_nothing_is_known():
    codes = classes_of(np.array([0, 0, 0, 1, 1, 1]), 2)
    nothing = np.empty((6, 0))
    for name in ("ridge", "forest"):
        found = as_predictors(name, "binary")[0].scores(nothing, codes, nothing, codes, 0, np.arange(6))
        values = {metric: judged.value for metric, judged in found.items()}
        assert values == {"auc": 0.5, "balanced_accuracy": 0.5}


@pytest.mark.parametrize(
    ("given", "task", "argument", "words"),
    [
        ("ridgee", "binary", "predictor", "Did you mean 'ridge'"),
        (Lasso(), "binary", "predictor", "must be a classifier"),
        (LogisticRegression(), "regression", "predictor", "must be a regressor"),
        (StandardScaler(), "binary", "predictor", "scikit-learn estimator that can predict"),
        (LogisticRegression, "binary", "predictor", "scikit-learn estimator that can predict"),
        ([], "binary", "predictor", "is empty"),
        ("ridge", "unsupervised", "y", "cannot be known without a target"),
    ],
)
def test_wrong_predictors_are_refused(given, task, argument, words):
    with pytest.raises(InputError, match=words) as caught:
        as_predictors(given, task)
    assert caught.value.argument == argument
