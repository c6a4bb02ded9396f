"""Trust in a selection for survival: noise, halves, folds, predictors, the risks that folds predict."""

import numpy as np
import pytest

import ubayfs
from repeating import reproduced, validated
from survivals import planted
from ubayfs import Survival, max_size
from ubayfs.data.feature_data import FeatureData
from ubayfs.data.survival_curves import kaplan_meier
from ubayfs.exceptions import InputError
from ubayfs.metrics import concordance_index
from ubayfs.plotting import ReportData, SurvivalDisplay
from ubayfs.trust.estimators import CoxRidge, ResidualForest
from ubayfs.trust.folds import assign_folds
from ubayfs.trust.halves import draw_half, plan_halves
from ubayfs.trust.predictors import PREDICTION
from ubayfs.trust.procedure import shuffled
from ubayfs.trust.related import related_of
from ubayfs.trust.trust import Trust
from ubayfs.trust.validation import Validation, sample_risks

OPTIONS = {"selector": "cox", "n_models": 6, "constraints": [max_size(2)], "n_features_per_model": 2}


@pytest.fixture(scope="module")
def table():
    return planted(100, 12, strength=1.5)


@pytest.fixture(scope="module")
def validation(table):
    return validated(*table, cv=3, n_repeats=2, random_state=0, control=True, **OPTIONS)


def test_shuffles_keep_time_and_event_together(table):
    data = FeatureData.from_table(*table)
    other = shuffled(data.target, None, np.random.default_rng(0))
    assert sorted(map(tuple, other.values.tolist())) == sorted(map(tuple, data.target.values.tolist()))
    np.testing.assert_array_equal(other.labels["time"], other.time)
    assert (other.time != data.target.time).any()


def test_halves_and_folds_have_their_share_of_events(table):
    data = FeatureData.from_table(*table)
    n_events = int(data.target.event.sum())
    folds = assign_folds(data, 4, np.random.default_rng(1))
    assert {int(data.target.event[folds == fold].sum()) for fold in range(4)} <= {n_events // 4, -(-n_events // 4)}
    half = draw_half(plan_halves(data, 0.75), np.random.default_rng(1))
    assert abs(int(data.target.event[half].sum()) - n_events / 2) <= 0.5


def test_related_and_reproducibility_separate_signal_from_chance(table):
    X, y = table
    related = related_of(FeatureData.from_table(X, y), np.zeros(X.shape[1], dtype=bool), 200, 0)
    assert (related.of([0, 1]).at_least, related.of(range(2, X.shape[1])).at_least) == (2, 0)
    again = reproduced(X, y, n_splits=4, random_state=0, **OPTIONS)
    assert again.lower > 0.7


def test_validation_finds_the_planted_order(validation):
    assert validation.main_metric == "c_index"
    means = validation.scores.set_index("method")["mean"]
    assert means["ubayfs"] > 0.75 > means["random"]
    assert abs(validation.control["mean"][0] - 0.5) < 0.2
    assert set(means.index) == {"ubayfs", "most votes", "random", "forest", "all features"}


def test_risks_are_those_of_folds_without_the_sample(table, validation):
    _, y = table
    assert len(validation.risks) == 100
    time, event, risk = np.array([[sample.time, sample.event, sample.risk] for sample in validation.risks]).T
    np.testing.assert_array_equal(time, y.time)
    np.testing.assert_array_equal(event, y.event)
    assert concordance_index(time, event, risk) > 0.75
    assert 30 < np.count_nonzero(risk > 0) < 70
    assert Validation.from_dict(validation.to_dict()).risks == validation.risks


def test_risks_are_means_over_repeats():
    target = FeatureData.from_table(*planted(12, 3)).target
    found = sample_risks(target, [(np.array([0, 1]), (1.0, 2.0)), (np.array([1, 3]), (4.0, -1.0)), (np.array([5]), ())])
    assert [sample.risk for sample in found] == [1.0, 3.0, -1.0]
    assert [sample.time for sample in found] == target.time[[0, 1, 3]].tolist()


def test_the_display_shows_kaplan_meier_curves_and_numbers_at_risk(validation):
    selection = ubayfs.decide(ubayfs.Evidence.from_sets([[1, 0], [1, 1]]), constraints=max_size(1))
    display = SurvivalDisplay.from_selection(selection, validation)
    assert SurvivalDisplay.applies(selection, ReportData(trust=Trust("full", validation=validation)))
    for word, high in (("low", False), ("high", True)):
        group = [sample for sample in validation.risks if (sample.risk > 0) == high]
        time, event = (np.array([getattr(sample, key) for sample in group]) for key in ("time", "event"))
        curve = kaplan_meier(time, event)
        assert getattr(display, f"{word}_times") == tuple(curve.times.tolist())
        assert getattr(display, f"{word}_shares") == tuple(curve.values.tolist())
        assert getattr(display, f"{word}_at_risk") == tuple(int((time >= t).sum()) for t in display.times)
    assert display.low_at_risk[0] + display.high_at_risk[0] == 100
    figure = display.plot().figure
    shown = [text.get_text() for text in figure.axes[1].texts]
    assert shown == [str(n) for n in (*display.low_at_risk, *display.high_at_risk)]


def test_ridge_is_the_penalized_likelihood_and_forests_rank_by_residuals(table):
    X, y = table
    labels = np.asarray(y)
    none, much = (CoxRidge(penalty).fit(X, labels).coef_ for penalty in (0.0, 1e6))
    assert abs(much).max() < 1e-3 < abs(none).max()
    for predictor in (CoxRidge(), ResidualForest(20, 0)):
        assert concordance_index(y.time, y.event, predictor.fit(X, labels).predict(X)) > 0.7
    assert ResidualForest(30, 0).fit(X, labels).feature_importances_.argmax() in (0, 1)


def test_ridge_agrees_with_scikit_survival(table):
    linear_model = pytest.importorskip("sksurv.linear_model")
    X, y = table
    other = linear_model.CoxPHSurvivalAnalysis(alpha=50.0, ties="breslow", tol=1e-12).fit(X, np.asarray(y))
    np.testing.assert_allclose(CoxRidge(50.0).fit(X, np.asarray(y)).predict(X), X @ other.coef_, atol=1e-6)


def test_predictors_of_scikit_survival_and_no_regressors(table):
    from sklearn.linear_model import Ridge

    with pytest.raises(InputError, match="scikit-survival"):
        validated(*table, predictor=Ridge(), **OPTIONS)
    linear_model = pytest.importorskip("sksurv.linear_model")
    foreign = linear_model.CoxPHSurvivalAnalysis(alpha=1.0)
    found = validated(*table, cv=2, n_repeats=1, predictor=foreign, baselines=[], random_state=0, **OPTIONS)
    assert found.scores["mean"][0] > 0.7


@pytest.mark.parametrize("cv", [5, 9])
def test_too_few_events_for_folds_are_refused(cv):
    X, _ = planted(40)
    y = Survival(np.arange(1, 41), np.arange(40) < 8)
    with pytest.raises(InputError, match="8 events") as raised:
        validated(X, y, cv=cv, train_size=0.7, **OPTIONS)
    assert raised.value.argument == "cv"


def test_too_few_events_for_halves_are_refused():
    X, _ = planted(40)
    with pytest.raises(InputError, match="halves"):
        reproduced(X, Survival(np.arange(1, 41), np.arange(40) < 8), **OPTIONS)


def test_one_censored_sample_is_not_an_obstacle(table):
    X, y = table
    found = validated(
        X, Survival(y.time, np.arange(100) > 0), cv=2, n_repeats=1, baselines=[], random_state=0, **OPTIONS
    )
    assert found.n_done == 2
    assert set(PREDICTION) == set(ubayfs.data.TASKS) - {"unsupervised"}
