"""The random forest of validation: against that of scikit-learn."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import r2_score, roc_auc_score

from ubayfs.trust.estimators import ForestClassifier, ForestRegressor


def planted(rng, n):
    X, y = rng.normal(size=(n, 12)), np.arange(n) % 3 == 0
    X[:, :2] += 1.5 * y[:, None]
    return X, y.astype(int)


def test_classes_are_predicted_as_by_scikit_learn(rng):
    (X, y), (T, truth) = planted(rng, 150), planted(rng, 300)
    ours = ForestClassifier(random_state=0).fit(X, y)
    theirs = RandomForestClassifier(100, class_weight="balanced", random_state=0).fit(X, y)
    aucs = [roc_auc_score(truth, forest.predict_proba(T)[:, 1]) for forest in (ours, theirs)]
    assert aucs[0] == pytest.approx(aucs[1], abs=0.03)
    assert ours.feature_importances_ == pytest.approx(theirs.feature_importances_, abs=0.1)
    assert set(np.argsort(ours.feature_importances_)[-2:]) == {0, 1}
    assert (ours.predict(T) == ours.predict_proba(T).argmax(axis=1)).all()


def test_numbers_are_predicted_as_by_scikit_learn(rng):
    X, T = rng.normal(size=(2, 200, 6))
    ours = ForestRegressor(random_state=0).fit(X, X[:, 0] - X[:, 1])
    theirs = RandomForestRegressor(100, max_features=1 / 3, random_state=0).fit(X, X[:, 0] - X[:, 1])
    scores = [r2_score(T[:, 0] - T[:, 1], forest.predict(T)) for forest in (ours, theirs)]
    assert scores[0] == pytest.approx(scores[1], abs=0.05)


def test_labels_have_importances_together(rng):
    X, y = planted(rng, 60)
    found = ForestClassifier(20, random_state=0).fit(X, np.stack([y, 1 - y], axis=1)).feature_importances_
    assert set(np.argsort(found)[-2:]) == {0, 1}
