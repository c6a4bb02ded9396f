"""Trust beyond covariates: repeats carry them, and validation tells what features add to them."""

import numpy as np
import pandas as pd
import pytest

from repeating import reproduced, validated
from ubayfs import collect_evidence, decide, estimate_related, max_size
from ubayfs.data.feature_data import FeatureData
from ubayfs.exceptions import InputError
from ubayfs.report.trust_facts import validation_facts
from ubayfs.report.trust_sentences import predicts
from ubayfs.trust.folds import assign_folds
from ubayfs.trust.procedure import take_samples
from ubayfs.trust.validation import Validation

SETTINGS = {"n_models": 10, "n_features_per_model": 3, "constraints": [max_size(2)], "random_state": 0}


def confounded(effect, n=120, p=20, seed=0):
    """Return features of which 5 follow the age, and 0 the class by `effect`; classes differ in age."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    age = 60 + 12 * y + rng.normal(0, 8, n)
    X = rng.normal(size=(n, p))
    X[:, 0] += effect * y
    X[:, 1:6] += (age[:, None] - 60) / 4
    return X, y, pd.DataFrame({"age": age, "site": np.where(np.arange(n) % 4 < 2, "A", "B")})


@pytest.mark.parametrize("effect", [0.0, 2.5])
def test_validation_tells_what_features_add(effect):
    X, y, Z = confounded(effect)
    found = validated(X, y, adjust_for=Z, n_repeats=2, **SETTINGS)
    assert found.adjust_for == ("age", "site")
    auc = found.scores.query("metric == 'auc'").set_index("method")
    assert list(auc.index[:3]) == ["ubayfs", "covariates alone", "features alone"]
    added = auc.loc["covariates alone", "difference"]
    assert added == pytest.approx(auc.loc["ubayfs", "mean"] - auc.loc["covariates alone", "mean"])
    if effect:
        assert auc.loc["covariates alone", "difference_lower"] > 0
    else:
        assert added < 0.03
    answer, sentences = predicts(validation_facts(found))
    text = " ".join(sentences)
    assert answer.startswith("AUC")
    assert "also had age and site" in text
    assert ("is not clear" in text) is (effect == 0)
    again = Validation.from_dict(found.to_dict())
    pd.testing.assert_frame_equal(again.scores, found.scores)
    assert again.adjust_for == found.adjust_for


def test_covariates_alone_are_scores_of_covariates():
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    X, y, Z = confounded(1.0)
    data = FeatureData.from_table(X, y, adjust_for=Z)
    found = validated(data, n_repeats=1, baselines=["covariates alone"], **SETTINGS)
    design = data.covariates.design
    seed = np.random.SeedSequence(0, spawn_key=(0, 0, 0))
    folds = assign_folds(data, 5, np.random.default_rng(seed))
    scores = []
    for fold in range(5):
        train, test = folds != fold, folds == fold
        center, scale = design[train].mean(axis=0), design[train].std(axis=0)
        model = LogisticRegression(C=0.1, class_weight="balanced", max_iter=1000)
        model.fit((design[train] - center) / scale, y[train])
        scores.append(roc_auc_score(y[test], model.decision_function((design[test] - center) / scale)))
    own = found.folds.query("method == 'covariates alone' and metric == 'auc'")["score"].tolist()
    np.testing.assert_allclose(own, scores)


def test_without_covariates_nothing_changes():
    X, y, _ = confounded(1.0)
    found = validated(X, y, n_repeats=1, **SETTINGS)
    assert found.adjust_for == ()
    assert set(found.scores["method"]) == {"ubayfs", "most votes", "random", "forest", "all features"}
    with pytest.raises(InputError, match="no covariates"):
        validated(X, y, n_repeats=1, baselines=["covariates alone"], **SETTINGS)


def test_folds_have_levels_in_proportion():
    X, y, Z = confounded(1.0, n=80)
    data = FeatureData.from_table(X, y, adjust_for=Z)
    folds = assign_folds(data, 4, np.random.default_rng(0))
    for label in (0, 1):
        for site in "AB":
            sizes = np.bincount(folds[(y == label) & (Z["site"] == site)], minlength=4)
            assert np.ptp(sizes) <= 1
        assert np.ptp(np.bincount(folds[y == label], minlength=4)) <= 1


def test_parts_of_the_samples_carry_their_covariates():
    X, y, Z = confounded(1.0)
    data = FeatureData.from_table(X, y, adjust_for=Z)
    samples = np.random.default_rng(0).random(len(y)) < 0.5
    part = take_samples(data, samples)
    np.testing.assert_array_equal(part.covariates.design, data.covariates.design[samples])


def test_related_and_reproducibility_beyond_covariates():
    X, y, Z = confounded(2.0, p=40)
    settings = {"selector": "fisher", "n_models": 20, "n_features_per_model": 3, "random_state": 0}
    evidence = collect_evidence(X, y, adjust_for=Z, **settings)
    selection = decide(evidence, constraints=max_size(2))
    related = estimate_related(selection, X, y, adjust_for=Z)
    assert related.q_values[0] <= 0.1
    assert (related.q_values[1:6] > 0.1).all()
    plain = collect_evidence(X, y, **settings)
    assert plain.counts[1:6].sum() > 5 * evidence.counts[1:6].sum()
    assert (estimate_related(decide(plain, constraints=max_size(2)), X, y).q_values[1:6] <= 0.1).all()
    again = reproduced(X, y, evidence=evidence, adjust_for=Z, n_splits=4, constraints=[max_size(2)], random_state=0)
    assert again.labels[0] == "usually"
    with pytest.raises(InputError, match="adjust_for"):
        estimate_related(selection, X, y)
