"""Forecasts with more samples beside weighted least squares and planted curves."""

import numpy as np
import pytest

from ubayfs import assess, collect_evidence, decide
from ubayfs.exceptions import InputError
from ubayfs.trust.growth import FACTORS, SHARES, Growth


def study(n=48, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 30))
    y = (X[:, :3].sum(axis=1) + rng.normal(size=n) > 0).astype(int)
    evidence = collect_evidence(X, y, selector="fisher", n_models=8, n_features_per_model=4, random_state=0)
    return decide(evidence, max_size=4), X, y


def made(means, half=0.1, metric="auc", n=100):
    return Growth(metric, n, tuple(share * n for share in SHARES), tuple(means), 60, 60, half)


def test_a_curve_of_the_assumed_form_is_continued_exactly():
    a, b = 0.9, -0.8
    growth = made([a + b / np.sqrt(share * 100) for share in SHARES])
    assert growth.line == pytest.approx((a, b))
    for factor in FACTORS:
        told = growth.forecast(factor)
        expected = a + b / np.sqrt(factor * 100)
        half = np.hypot(0.1, (expected - growth.means[-1]) / 2) * (1 + 0.15 * np.log2(factor))
        assert (told.value, told.lower, told.upper) == pytest.approx(
            (expected, expected - half, min(expected + half, 1))
        )


def test_the_line_is_weighted_least_squares():
    means = [0.61, 0.74, 0.72]
    x = (np.array(SHARES) * 100) ** -0.5
    slope, intercept = np.polyfit(x, means, 1, w=np.sqrt([1, 1, 2]))
    assert made(means).line == pytest.approx((intercept, slope))


def test_scores_that_fall_are_not_continued_downward():
    growth = made([0.8, 0.7, 0.6])
    assert growth.line == pytest.approx((np.average([0.8, 0.7, 0.6], weights=[1, 1, 2]), 0.0))
    assert growth.forecast(4).value == growth.forecast(1).value


def test_ranges_stay_within_the_metric():
    growth = made([0.5, 0.8, 0.99])
    assert all(told.upper == 1.0 >= told.value for told in growth.forecasts[1:])
    assert made([-2.0, -1.0, -0.5], half=5.0, metric="r2").forecast(2).lower < -4


def test_the_procedure_is_repeated_on_parts_of_the_samples():
    selection, X, y = study()
    found = assess(selection, X, y, level="full", growth=True, n_shuffles=200, n_splits=1)
    growth = found.growth
    assert growth.n_train == (12.0, 24.0, pytest.approx(38.4, abs=0.6))
    assert (growth.n_done, growth.failures, growth.complete) == (60, (), True)
    assert growth.means[0] < growth.means[2]  # signals that a quarter finds less often
    again = assess(selection, X, y, level="full", growth=True, n_shuffles=200, n_splits=1).growth
    assert again == growth
    assert Growth.from_dict(growth.to_dict()) == growth
    assert "With twice the samples: AUC" in str(found)


def test_groups_stay_whole():
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(40), 2)
    y = np.repeat(rng.permutation(np.arange(40) % 2), 2)
    X = rng.normal(size=(80, 10)) + y[:, None]
    evidence = collect_evidence(X, y, selector="fisher", n_models=6, groups=groups, random_state=0)
    selection = decide(evidence, max_size=3)
    found = assess(selection, X, y, level="full", growth=True, groups=groups, n_shuffles=200, n_splits=1)
    assert found.growth.n_train == (20.0, 40.0, 64.0)


def test_what_cannot_be_done_is_said():
    selection, X, y = study()
    with pytest.raises(InputError, match='growth needs the validation; pass level="full"'):
        assess(selection, X, y, growth=True)
    few = np.r_[0:5, 5:40][np.argsort(y[:40], kind="stable")][:30]
    X, y = X[few], np.r_[np.zeros(5, int), np.ones(25, int)]
    evidence = collect_evidence(X, y, selector="fisher", n_models=5, random_state=0)
    found = assess(decide(evidence, max_size=2), X, y, level="full", growth=True, n_shuffles=200, n_splits=1)
    assert found.growth is None
    assert "a quarter of the samples" in found.not_done["growth"]
