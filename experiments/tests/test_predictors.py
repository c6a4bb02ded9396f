"""Predictors against other solvers, confusion counts against scikit-learn, and no influence of test rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix
from sklearn.svm import SVC

from amounts import examples
from ubayfs_experiments.methods import predictors
from ubayfs_experiments.methods.predictors import PREDICTORS, ScoringLogistic, confusion


def make(seed, n=200, p=4, noise=1.0):
    """Standardized rows whose classes overlap."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, (X[:, 0] - 0.5 * X[:, 1] + 0.3 + noise * rng.logistic(size=n) > 0).astype(np.int64)


def most_likely(X, y):
    """Maximize the log-likelihood with a general solver."""
    design = np.column_stack([np.ones(len(X)), X])
    sign = 2 * y - 1

    def loss(beta):
        margin = sign * (design @ beta)
        return np.logaddexp(0, -margin).sum(), -design.T @ (sign / (1 + np.exp(margin)))

    return minimize(loss, np.zeros(design.shape[1]), jac=True, method="BFGS", options={"gtol": 1e-9}).x


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of BFGS, when it cannot get any nearer
@pytest.mark.parametrize("seed", range(5))
def test_scoring_finds_the_most_likely_coefficients(seed):
    X, y = make(seed)
    found = ScoringLogistic().fit(X, y).coefficients
    assert found == pytest.approx(most_likely(X, y), abs=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_the_logistic_predictor_is_unpenalized(seed):
    X, y = make(seed)
    model = PREDICTORS["logistic"]().fit(X, y)
    assert [*model.intercept_, *model.coef_[0]] == pytest.approx(ScoringLogistic().fit(X, y).coefficients, abs=1e-3)


@settings(max_examples=examples(20))
@given(st.integers(0, 10_000), st.integers(2, 6))
def test_both_logistic_predictors_agree_where_classes_overlap(seed, p):
    X, y = make(seed, p=p, noise=2.0)
    new = np.random.default_rng(seed + 1).normal(size=(50, X.shape[1]))
    other = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000).fit(X, y)
    clear = np.abs(other.decision_function(new)) > 1e-3
    assert np.array_equal(ScoringLogistic().fit(X, y).predict(new)[clear], other.predict(new)[clear])


def test_separable_classes_take_at_most_25_steps_and_no_warning(monkeypatch):
    X, y = make(0, n=40, noise=0.0)
    steps = []
    solve = np.linalg.lstsq
    monkeypatch.setattr(predictors.np.linalg, "lstsq", lambda *a, **k: steps.append(1) or solve(*a, **k))
    model = ScoringLogistic().fit(X, y)
    assert 5 < len(steps) <= 25
    assert np.isfinite(model.coefficients).all()
    assert np.array_equal(model.predict(X), y)


def test_columns_that_repeat_and_more_columns_than_rows_are_fitted():
    X, y = make(0, n=40)
    twice = np.column_stack([X, X])
    assert np.array_equal(ScoringLogistic().fit(twice, y).predict(twice), ScoringLogistic().fit(X, y).predict(X))
    wide = np.random.default_rng(0).normal(size=(10, 30))
    assert np.array_equal(ScoringLogistic().fit(wide, y[:10]).predict(wide), y[:10])


def literal(X, y, train, test, features):
    """Counts by scikit-learn's own matrix, of models that are built here."""
    inside, outside = X[np.ix_(train, features)], X[np.ix_(test, features)]
    mean, scale = inside.mean(axis=0), inside.std(axis=0)
    models = {
        "logistic": LogisticRegression(C=np.inf, max_iter=1000),
        "svm": SVC(kernel="linear", C=1.0),
        "svm_radial": SVC(kernel="rbf", C=1.0, gamma=1 / len(features)),
    }
    counts = {}
    for name, model in models.items():
        said = model.fit((inside - mean) / scale, y[train]).predict((outside - mean) / scale)
        tn, fp, fn, tp = confusion_matrix(y[test], said, labels=[0, 1]).ravel().tolist()
        counts |= {f"{name}_tp": tp, f"{name}_fp": fp, f"{name}_fn": fn, f"{name}_tn": tn}
    return counts


@pytest.fixture
def halves():
    X, y = load_breast_cancer(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(y))
    return X, y, np.sort(rows[:400]), np.sort(rows[400:])


@pytest.mark.parametrize("features", [(0,), (3, 8, 21), (1, 4, 9, 17, 28)])
def test_counts_are_those_of_scikit_learn(halves, features):
    X, y, train, test = halves
    found = confusion(X, y, train, test, features)
    assert set(found) == {f"{name}_{count}" for name in PREDICTORS for count in ("tp", "fp", "fn", "tn")}
    expected = literal(X, y, train, test, features)
    assert {key: found[key] for key in expected} == expected
    for name in PREDICTORS:
        assert found[f"{name}_tp"] + found[f"{name}_fn"] == y[test].sum()
        assert found[f"{name}_fp"] + found[f"{name}_tn"] == (1 - y[test]).sum()


def test_without_features_the_more_frequent_class_of_the_training_rows_is_predicted(halves):
    X, y, train, test = halves
    found = confusion(X, y, train, test, ())
    assert y[train].mean() > 0.5
    for name in PREDICTORS:
        assert [found[f"{name}_{count}"] for count in ("tp", "fp", "fn", "tn")] == [
            y[test].sum(),
            (1 - y[test]).sum(),
            0,
            0,
        ]
    rare = np.sort(np.r_[train[y[train] == 0], train[y[train] == 1][:20]])
    assert confusion(X, y, rare, test, ())["svm_tn"] == (1 - y[test]).sum()


def test_a_constant_column_does_no_harm(halves):
    X, y, train, test = halves
    constant = np.column_stack([X[:, 21], np.full(len(y), 3.0)])
    # The radial kernel's width is that of the number of columns; the others do not see the column.
    with_it, without = (confusion(constant, y, train, test, features) for features in ((0, 1), (0,)))
    compared = [name for name in without if "radial" not in name]
    assert [with_it[name] for name in compared] == [without[name] for name in compared]


class Recorded:
    """Keeps what a predictor is fitted to."""

    seen: list = []  # noqa: RUF012

    def fit(self, X, y):
        self.seen.append((X.copy(), y.copy()))
        return self

    def predict(self, X):
        return np.zeros(len(X), dtype=np.int64)


def test_test_rows_and_other_columns_do_not_touch_what_is_fitted(halves, monkeypatch):
    X, y, train, test = halves
    monkeypatch.setattr(predictors, "PREDICTORS", {"recorded": Recorded})
    monkeypatch.setattr(Recorded, "seen", [])
    features = (3, 8, 21)
    confusion(X, y, train, test, features)
    garbled, noise = X.copy(), np.random.default_rng(1)
    garbled[test] = noise.normal(1e6, 1e6, size=garbled[test].shape)
    garbled[:, [i for i in range(X.shape[1]) if i not in features]] = np.nan
    other_y = y.copy()
    other_y[test] = 1 - other_y[test]
    confusion(garbled, other_y, train, test, features)
    (X_before, y_before), (X_after, y_after) = Recorded.seen
    assert np.array_equal(X_before, X_after)
    assert np.array_equal(y_before, y_after)
    assert X_before.mean(axis=0) == pytest.approx(0, abs=1e-9)
    assert X_before.std(axis=0) == pytest.approx(1)
