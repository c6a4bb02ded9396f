import itertools
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse, stats

from ubayfs.data.feature_data import FeatureData
from ubayfs.exceptions import InputError
from ubayfs.metrics import feature_f1, jaccard, redundancy_rate, stability


def kuncheva(a, b):
    """Kuncheva's consistency of two sets of the same size."""
    d, k, r = len(a), int(a.sum()), int((a & b).sum())
    return (r * d - k * k) / (k * (d - k))


def test_stability_by_hand():
    # p = (1, 2/3, 1/3, 0); mean of M/(M-1) p(1-p) = (3/2)(2/9 + 2/9) / 4 = 1/6; k/d = 1/2; 1 - (1/6) / (1/4) = 1/3.
    sets = np.array([[1, 1, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0]])
    found = stability(sets)
    assert found.value == pytest.approx(1 / 3, abs=1e-15)
    # phi_i = 4 (z_i . p / 4 - 1/4 + (1/6)(2/4 - 1/2 - 1/2 + 1)): z_i . p = 5/3, 5/3, 4/3.
    phi = [4 * (Fraction(5, 12) - Fraction(1, 4) + Fraction(1, 12))] * 2
    phi += [4 * (Fraction(4, 12) - Fraction(1, 4) + Fraction(1, 12))]
    mean = sum(phi) / 3
    variance = float(Fraction(4, 9) * sum((f - mean) ** 2 for f in phi))
    assert variance == pytest.approx(8 / 243)
    assert found.variance == pytest.approx(variance, rel=1e-12)
    assert (found.lower, found.upper) == pytest.approx(
        (1 / 3 - 1.959963985 * variance**0.5, 1 / 3 + 1.959963985 * variance**0.5)
    )


def test_stability_with_equal_sizes_is_the_mean_of_kunchevas_consistency(rng):
    sets = np.array([rng.permutation(12) < 4 for _ in range(7)])
    expected = np.mean([kuncheva(a, b) for a, b in itertools.combinations(sets, 2)])
    assert stability(sets).value == pytest.approx(expected)


def test_stability_of_equal_sets_is_one_with_certainty():
    assert stability(np.tile([True, False, True], (5, 1))) == pytest.approx((1.0, 1.0, 1.0, 0.0))


def test_stability_of_random_sets_is_about_zero(rng):
    found = stability(rng.random((400, 300)) < 0.1)
    assert abs(found.value) < 0.005
    assert found.lower < 0 < found.upper


def test_variance_agrees_with_the_jackknife(rng):
    sets = rng.random((300, 15)) < np.linspace(0.05, 0.95, 15)
    left_out = [stability(np.delete(sets, i, axis=0)).value for i in range(len(sets))]
    jackknife = (len(sets) - 1) * np.var(left_out)
    assert stability(sets).variance == pytest.approx(jackknife, rel=0.03)


def test_interval_covers_the_true_stability_as_often_as_it_says(rng):
    p = np.array([0.9, 0.8, 0.7, 0.2, 0.1, 0.05, 0.05, 0.0])
    true = 1 - np.mean(p * (1 - p)) / (p.mean() * (1 - p.mean()))
    found = [stability(rng.random((80, 8)) < p, confidence=0.9) for _ in range(400)]
    covered = np.mean([f.lower <= true <= f.upper for f in found])
    assert 0.85 < covered < 0.94


@pytest.mark.parametrize("value", [False, True])
def test_stability_is_undefined_when_all_sets_are_empty_or_full(value):
    assert np.isnan(stability(np.full((3, 4), value))).all()


def test_stability_of_sparse_sets_is_the_same(rng):
    sets = rng.random((6, 9)) < 0.4
    assert stability(sparse.csr_array(sets)) == stability(sets)


@given(st.integers(2, 6), st.integers(2, 6), st.integers(0, 2**16))
def test_stability_never_exceeds_one(n_sets, n_features, seed):
    found = stability(np.random.default_rng(seed).random((n_sets, n_features)) < 0.5)
    assert np.isnan(found.value) or (found.value <= 1 + 1e-12 and found.variance >= 0)


def test_jaccard_by_hand():
    sets = [[1, 1, 1, 0], [0, 1, 1, 1], [0, 0, 0, 0], [1, 0, 0, 0]]
    third = 1 / 3
    expected = [[1, 0.5, 0, third], [0.5, 1, 0, 0], [0, 0, 1, 0], [third, 0, 0, 1]]
    assert_allclose(jaccard(sets), expected)
    assert_allclose(jaccard(sets[:1], sparse.csr_array(sets)), expected[:1])


def test_redundancy_rate_is_the_mean_over_pairs(cancer):
    X, _ = cancer
    chosen = [0, 3, 7, 20]
    expected = np.mean(
        [abs(stats.pearsonr(X.iloc[:, i], X.iloc[:, j])[0]) for i, j in itertools.combinations(chosen, 2)]
    )
    for same in (chosen, X.columns[chosen], np.isin(range(30), chosen)):
        assert redundancy_rate(X, same) == pytest.approx(expected)
    assert redundancy_rate(X.to_numpy(), chosen) == pytest.approx(expected)
    assert redundancy_rate(FeatureData.from_table(X), chosen) == pytest.approx(expected)


def test_redundancy_rate_counts_constant_features_as_uncorrelated(rng):
    X = rng.normal(size=(10, 3))
    X[:, 2] = 5.0
    assert redundancy_rate(X, [0, 1, 2]) == pytest.approx(redundancy_rate(X, [0, 1]) / 3)


@pytest.mark.parametrize("few", [[], [1]])
def test_redundancy_rate_without_pairs_is_undefined(few, rng):
    assert np.isnan(redundancy_rate(rng.normal(size=(5, 3)), few))


def test_feature_f1_by_hand():
    # 2 hits, precision 2/3, recall 2/4: F1 = 4/7.
    for selected in ([0, 1, 5], np.array([True, True, False, False, False, True]), {0, 1, 5}):
        assert feature_f1(selected, [0, 1, 2, 3]) == pytest.approx(4 / 7)
    assert feature_f1(["a", "b"], pd.Index(["b", "a"])) == 1.0
    assert feature_f1([0], []) == 0.0
    assert feature_f1([], np.zeros(3, dtype=bool)) == 1.0


@given(st.sets(st.integers(0, 9)), st.sets(st.integers(0, 9)))
def test_feature_f1_is_a_function_of_jaccard(a, b):
    masks = np.array([np.isin(range(10), list(s)) for s in (a, b)])
    similarity = jaccard(masks)[0, 1]
    assert feature_f1(a, b) == pytest.approx(2 * similarity / (1 + similarity))


def test_f1_agrees_with_scikit_learn(rng):
    from sklearn.metrics import f1_score

    a, b = rng.random((2, 40)) < 0.3
    assert feature_f1(a, b) == pytest.approx(f1_score(b, a))
    assert_array_equal(feature_f1(np.flatnonzero(a), b), feature_f1(a, b))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: stability([[1, 0]]), r"sets must have at least 2 rows to show stability; got 1"),
        (lambda: stability([[1, 2], [0, 1]]), r"sets must hold only True/False or 0/1"),
        (lambda: stability([[1, 0], [0, 1]], confidence=1), r"confidence must be a number in \(0, 1\); got 1"),
        (lambda: stability(np.empty((2, 0))), r"sets must have shape \(n_sets, n_features\); got \(2, 0\)"),
        (lambda: jaccard([[1, 0]], [[1, 0, 0]]), r"others must have as many columns as sets, 2; got 3"),
        (
            lambda: redundancy_rate(np.eye(3), [True, False]),
            r"features as a mask must have one entry per feature, 3",
        ),
        (lambda: redundancy_rate(np.eye(3), ["x7"]), r"features names 'x7', which is not a feature"),
        (lambda: feature_f1(["a"], [1]), r"selected and truth must both be names, or both be positions or masks"),
        (lambda: feature_f1([0.5], [1]), r"selected must be names \(str\), positions \(int\) or a mask"),
        (
            lambda: feature_f1([[1]], [1]),
            r"selected must be one list of names or positions, or one mask; got shape \(1, 1\)",
        ),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(InputError, match=message):
        call()
