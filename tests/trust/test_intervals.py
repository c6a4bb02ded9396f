"""Intervals of scores: against literal versions of their formulas, and at their ends."""

import math

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.metrics import roc_auc_score

from repeating import validated
from ubayfs import Survival, max_size
from ubayfs.data.feature_data import FeatureData
from ubayfs.metrics import concordance_index
from ubayfs.trust.intervals import (
    FoldMean,
    FoldTerms,
    SampleSpread,
    delong,
    hanley_mcneil,
    logit_interval,
    ratio_interval,
    ratio_variance,
    spreads_of,
)
from ubayfs.trust.prediction_metrics import placements

CORRECTION = 1 / 6 + 1 / 2  # two repeats of three folds


class Given:
    """A predictor that says what stands in the first column."""

    def get_params(self, deep=True):
        return {}

    def set_params(self):
        return self

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        return self

    def decision_function(self, X):
        return X[:, 0]

    def predict(self, X):
        return (X[:, 0] > 0).astype(int)


def one_feature(X, y, **options):
    """Validate with the first feature alone."""
    usual = {"n_models": 2, "constraints": [max_size(1)], "cv": 3, "n_repeats": 2, "random_state": 0}
    return validated(X, y, **{"selector": lambda *given: [0], "n_features_per_model": 1, **usual, **options})


# AUC


def literal_delong(positive, negative):
    """The variance by all n1 n0 comparisons, term by term."""
    n1, n0 = len(positive), len(negative)
    psi = [[1.0 if x > y else 0.5 if x == y else 0.0 for y in negative] for x in positive]
    auc = sum(map(sum, psi)) / (n1 * n0)
    of_positive = [sum(row) / n0 for row in psi]
    of_negative = [sum(row[j] for row in psi) / n1 for j in range(n0)]
    s10 = sum((v - auc) ** 2 for v in of_positive) / (n1 - 1)
    s01 = sum((v - auc) ** 2 for v in of_negative) / (n0 - 1)
    return auc, s10 / n1 + s01 / n0


@pytest.mark.parametrize("levels", [3, 10**9])  # with and without ties
def test_delong_is_that_of_all_comparisons(rng, levels):
    positive = rng.random(40) < 0.4
    score = rng.integers(levels, size=40) + 0.3 * levels * positive
    auc, variance = literal_delong(score[positive], score[~positive])
    found = placements(positive, score)
    assert np.isnan(found).sum(axis=0).tolist() == [positive.sum(), (~positive).sum()]
    assert np.nanmean(found, axis=0) == pytest.approx([auc, auc])
    assert roc_auc_score(positive, score) == pytest.approx(auc)
    assert delong(found[positive, 1], found[~positive, 0]) == pytest.approx(variance)


@pytest.mark.parametrize("value", [0.0, 0.5, 0.99, 1.0])
@pytest.mark.parametrize("error", [0.0, 0.1, 5.0])
def test_intervals_on_the_logit_scale_hold_the_value_and_stay_between_0_and_1(value, error):
    low, high = logit_interval(value, error, 40, SampleSpread("ubayfs", "ridge", "auc", 0.0, 20, 20))
    assert 0 <= low <= value <= high <= 1
    assert low < high  # also where no error was seen
    mirrored = logit_interval(1 - value, error, 40, SampleSpread("ubayfs", "ridge", "auc", 0.0, 20, 20))
    assert mirrored == pytest.approx((1 - high, 1 - low))


@pytest.mark.parametrize("strength", [100.0, 0.0])  # a perfect and a useless predictor
@pytest.mark.parametrize("groups", [None, np.repeat(np.arange(15), 3)])
def test_the_interval_of_an_auc_is_that_of_a_plain_loop(rng, strength, groups):
    X, y = rng.normal(size=(45, 4)), (np.arange(45) if groups is None else groups) % 2
    X[:, 0] += strength * y
    found = one_feature(X, y, predictor=Given(), baselines=False, groups=groups)
    unit = np.arange(45) if groups is None else groups
    row, n_units, (spread,) = found.scores.iloc[0], unit.max() + 1, found.spreads
    placed, auc = {0: {}, 1: {}}, []
    for _, _, test in parts(X, y, groups):  # the predictor orders samples by their values
        right = {i: [(X[i, 0] > X[j, 0]) == (y[i] > y[j]) for j in test if y[j] != y[i]] for i in test}
        auc.append(np.mean([share for i in test if y[i] for share in right[i]]))
        for g in np.unique(unit[test]):
            for c in {y[i] for i in test if unit[i] == g}:
                own = [np.mean(right[i]) for i in test if unit[i] == g and y[i] == c]
                placed[c].setdefault(g, []).append(np.mean(own))
    by_unit = {c: [np.mean(repeats) for repeats in placed[c].values()] for c in placed}
    n0, n1 = map(len, by_unit.values())
    assert (found.n_units, spread.n_positive, spread.n_negative) == (n_units, n1, n0)
    assert spread.variance == pytest.approx(sum(np.var(own, ddof=1) / len(own) for own in by_unit.values()))
    auc = np.array(auc)
    assert found.folds.query("metric == 'auc'")["score"].to_numpy() == pytest.approx(auc)
    A = min(max(auc.mean(), 0.5 / n_units), 1 - 0.5 / n_units)
    v = 1.5 * max(spread.variance, hanley_mcneil(A, n1, n0), CORRECTION * auc.var(ddof=1))
    x, half = math.log(A / (1 - A)), 1.96 * math.sqrt(v) / (A * (1 - A))
    assert row["mean"] == pytest.approx(auc.mean())
    assert row["lower"] == pytest.approx(1 / (1 + math.exp(half - x)))
    assert row["upper"] == pytest.approx(max(1 / (1 + math.exp(-half - x)), auc.mean()))
    assert row["upper"] == row["mean"] == 1 if strength else row["lower"] < 0.5 < row["upper"]


def test_placements_are_averaged_over_repeats_and_classes_of_units():
    nan = math.nan
    first = FoldTerms("ubayfs", "ridge", "auc", (1.0, nan, 0.5), (nan, 0.2, 0.4))
    second = FoldTerms("ubayfs", "ridge", "auc", (0.5, nan), (nan, 1.0))
    third = FoldTerms("ubayfs", "ridge", "auc", (0.7, 0.3), (nan, nan))
    (spread,) = spreads_of([(np.array([0, 1, 2]), [first]), (np.array([0, 1]), [second]), ([3, 4], [third])], 6)
    expected = delong([0.6, 0.4], [0.75, 0.5, 0.7, 0.3])
    assert (spread.n_positive, spread.n_negative, spread.variance) == (2, 4, pytest.approx(expected))


# R2


@pytest.mark.parametrize("groups", [None, np.repeat(np.arange(16), 3)])
def test_pooled_r2_and_its_interval_are_those_of_a_plain_loop(rng, groups):
    X = rng.normal(size=(48, 4))
    y = X[:, 0] + rng.normal(size=48)
    options = {"predictor": LinearRegression(), "baselines": ["random"], "groups": groups}
    found = one_feature(X, y, **options)
    row = found.scores.query("method == 'ubayfs' and metric == 'r2'").iloc[0]
    unit = np.arange(48) if groups is None else groups
    E, D = np.zeros((2, unit.max() + 1)), np.zeros((2, unit.max() + 1))
    E_f, D_f = [], []
    for repeat, train, test in parts(X, y, groups):
        model = LinearRegression().fit(X[train, :1], y[train])
        error, distance = (model.predict(X[test, :1]) - y[test]) ** 2, (y[test] - y[train].mean()) ** 2
        inside = np.unique(unit[test])
        for i in inside:
            E[repeat, i], D[repeat, i] = error[unit[test] == i].mean(), distance[unit[test] == i].mean()
        E_f.append(E[repeat, inside].mean())
        D_f.append(D[repeat, inside].mean())
    E_i, D_i = E.mean(axis=0), D.mean(axis=0)
    by_unit = np.var(E_i / E_i.mean() - D_i / D_i.mean(), ddof=1) / len(E_i)
    by_fold = CORRECTION * np.var(E_f / E_i.mean() - D_f / D_i.mean(), ddof=1)
    ratio, factor = E_i.mean() / D_i.mean(), math.exp(1.96 * math.sqrt(2 * max(by_unit, by_fold)))
    assert row["mean"] == pytest.approx(1 - ratio)
    if groups is None:  # of groups, folds do not have the same number
        assert [row["lower"], row["upper"]] == pytest.approx([1 - ratio * factor, 1 - ratio / factor])
    assert found.spreads[0].variance == pytest.approx(by_unit)
    assert row["lower"] < 1 - ratio < row["upper"] < 1


def parts(X, y, groups):
    """Return repeat, training and test samples of the folds of :func:`one_feature`."""
    from ubayfs.trust.cross_validation import Options, _folds

    options = Options(cv=3, n_repeats=2, random_state=0)
    seed = np.random.SeedSequence(0)
    folds = _folds(FeatureData.from_table(X, y, groups=groups), options, seed)
    return [(fold.repeat, fold.train, fold.test) for fold in folds]


def test_the_difference_of_pooled_values_is_that_of_the_values_shown(rng):
    X = rng.normal(size=(50, 6))
    y = X[:, 0] + rng.normal(size=50)
    time = Survival(np.exp(rng.normal(size=50) - X[:, 0]), rng.random(50) < 0.7)
    for target, metric in ((y, "r2"), (time, "c_index")):
        found = one_feature(X, target, baselines=["random"], n_repeats=3)
        rows = found.scores[found.scores["metric"] == metric].set_index("method")
        random = rows.loc["random"]
        assert random["difference"] == pytest.approx(rows.loc["ubayfs", "mean"] - random["mean"])
        assert random["difference_lower"] < random["difference"] < random["difference_upper"]


def test_weights_make_a_mean_of_folds_a_ratio_of_sums(rng):
    above, below = rng.random(6), rng.random(6) + 0.5
    found = FoldMean.from_values(above / below, cv=3, weights=below)
    ratio = above.sum() / below.sum()
    residuals = (above - ratio * below) / below.mean()  # of a ratio of means, to first order
    assert found.mean == pytest.approx(ratio)
    assert found.standard_error == pytest.approx(math.sqrt(CORRECTION * residuals.var(ddof=1)))
    assert FoldMean.from_values(above, cv=3, weights=np.full(6, 4.0)) == FoldMean.from_values(above, cv=3)
    assert FoldMean.from_values([0.5, math.nan, 0.7], cv=3, weights=[1, 2, 0]).mean == 0.5


def test_an_r2_without_error_has_no_interval_to_speak_of():
    assert ratio_interval(1.0, 0.0, 20, None) == (1.0, 1.0)
    assert math.isnan(ratio_variance(np.array([[0.0, 1.0], [0.0, 2.0]])))
    low, high = ratio_interval(-0.2, 0.1, 20, SampleSpread("ubayfs", "ridge", "r2", math.nan))
    assert (1 - low) * (1 - high) == pytest.approx(1.2**2)


# C-index and several classes


def test_the_c_index_is_pooled_over_usable_pairs_of_folds(rng):
    X = rng.normal(size=(50, 4))
    time, event = np.exp(rng.normal(size=50) - X[:, 0]), rng.random(50) < 0.7
    found = one_feature(X, Survival(time, event), baselines=False)
    right = usable = 0
    for record in found.records:
        usable += record.weight
        right += record.weight * record.score
    pairs = 0
    for _, _, test in parts(X, Survival(time, event), None):
        for i in test:
            pairs += sum(event[i] and (time[i] < time[j]) for j in test)
    row = found.scores.iloc[0]
    assert usable == pairs
    assert row["mean"] == pytest.approx(right / usable)
    assert 0 <= row["lower"] < row["mean"] < row["upper"] <= 1
    scores, weights = (np.array([getattr(record, name) for record in found.records]) for name in ("score", "weight"))
    error = FoldMean.from_values(scores, 3, weights=weights).standard_error
    assert [row["lower"], row["upper"]] == pytest.approx(logit_interval(row["mean"], error, 50, None))
    assert found.spreads == ()
    assert row["mean"] == pytest.approx(concordance_index(time, event, X[:, 0]), abs=0.1)


def test_several_classes_have_the_interval_of_folds_on_the_logit_scale(rng):
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 4)) + y[:, None]
    found = one_feature(X, y, baselines=False)
    auc = found.folds.query("metric == 'auc'")["score"].to_numpy()
    row, error = found.scores.iloc[0], math.sqrt(CORRECTION * auc.var(ddof=1))
    assert found.spreads == ()
    assert [row["mean"], row["lower"], row["upper"]] == pytest.approx(
        [auc.mean(), *logit_interval(auc.mean(), error, 60, None)]
    )
