"""Fisher score against its literal definition and a published fact."""

import numpy as np
import pytest

from ubayfs.data.feature_data import FeatureData
from ubayfs.exceptions import InputError
from ubayfs.selectors import scoring
from ubayfs.selectors.fisher import Fisher


def literal_fisher(X, y):
    """Between-class over within-class scatter of each column; NaN for a constant one."""
    scores = np.full(X.shape[1], np.nan)
    for j, x in enumerate(X.astype(np.float64).T):
        if x.min() == x.max():
            continue
        parts = [x[y == c] for c in np.unique(y)]
        between = sum(len(p) * (p.mean() - x.mean()) ** 2 for p in parts)
        within = sum(len(p) * p.var() for p in parts)
        scores[j] = between / within if within > 1e-20 * between else np.inf
    return scores


def literal_choice(X, y, n_features):
    scores = literal_fisher(X, y)
    with np.errstate(invalid="ignore"):
        shares = np.where(np.isinf(scores), 1.0, scores / (1.0 + scores))
    left = {j: s for j, s in enumerate(shares) if not np.isnan(s)}
    chosen = []
    while left and len(chosen) < n_features:
        best = max(left.values())
        chosen.append(min(j for j, s in left.items() if s >= best - 1e-9))
        del left[chosen[-1]]
    return chosen


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_equals_literal_definition(seed, n_classes, dtype, awkward):
    rng = np.random.default_rng(seed)
    X = awkward(seed)
    y = rng.permutation(np.arange(len(X)) % n_classes)
    X[:, 11] = y * 2.5  # no scatter within classes
    X[:, 12] = -X[:, 11]
    X[:, 13] += 3 * y
    data = FeatureData.from_table(X.astype(dtype), y)
    subsamples = rng.random((6, len(X))) < 0.7
    subsamples[0, y == 0] = False  # a class is absent
    chosen = Fisher().select_many(data.X, data.target, subsamples, 11, [])
    for rows, picks in zip(subsamples, chosen, strict=True):
        assert picks.tolist() == literal_choice(data.X[rows], y[rows], 11)
    assert chosen[1][:2].tolist() == [11, 12]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("seed", [0, 1])
def test_classes_in_turns(seed, dtype, awkward):
    rng = np.random.default_rng(seed)
    X = awkward(seed, n_columns=20)
    y = rng.permutation(np.arange(len(X)) % 4)
    X[:, 11:15] += 2 * (y[:, None] == np.arange(4))
    data = FeatureData.from_table(X.astype(dtype), y)
    subsamples = rng.random((5, len(X))) < 0.7
    subsamples[0, y == 0] = False  # a class is absent: it has no turn
    generators = [np.random.default_rng(run) for run in range(5)]
    chosen = Fisher(classes="turns").select_many(data.X, data.target, subsamples, 9, generators)
    for run, (rows, picks) in enumerate(zip(subsamples, chosen, strict=True)):
        order = [c for c in np.random.default_rng(run).permutation(4) if c in y[rows]]
        expected = []
        for step in range(9):
            ranked = literal_choice(data.X[rows], y[rows] == order[step % len(order)], 20)
            expected += [column for column in ranked if column not in expected][:1]
        assert picks.tolist() == expected


def test_two_classes_and_ordered_ones_have_no_turns(cancer, stratified):
    data = FeatureData.from_table(*cancer)
    subsamples = stratified(cancer[1], 3, 0.75, 0)
    turns, weighted = (
        Fisher(classes=rule).select_many(data.X, data.target, subsamples, 5, []) for rule in ("turns", "weighted")
    )
    np.testing.assert_array_equal(turns, weighted)


def test_unknown_rule_for_classes_is_refused():
    with pytest.raises(InputError, match="classes must be one of 'turns', 'weighted'") as caught:
        Fisher(classes="both")
    assert caught.value.argument == "classes"


def test_perfect_separation_is_best_and_ties_go_to_the_first(rng):
    y = np.arange(20) % 2
    X = rng.normal(size=(20, 6)) + 50 * y[:, None]
    X[:, 2] = X[:, 4] = y * 1e-3
    data = FeatureData.from_table(X, y)
    (picks,) = Fisher().select_many(data.X, data.target, np.ones((1, 20), dtype=bool), 3, [])
    assert picks[:2].tolist() == [2, 4]


def test_single_class_in_a_subsample_does_not_break(rng):
    y = np.arange(20) % 2
    data = FeatureData.from_table(rng.normal(size=(20, 4)), y)
    (picks,) = Fisher().select_many(data.X, data.target, (y == 0)[None], 2, [])
    assert picks.tolist() == [0, 1]  # nothing separates anything: all scores are 0


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_chunk_size_changes_nothing(dtype, awkward, monkeypatch):
    X = awkward(8, n_samples=40, n_columns=50).astype(dtype)
    data = FeatureData.from_table(X, np.arange(40) % 3)
    subsamples = np.random.default_rng(0).random((5, 40)) < 0.7
    expected = Fisher().select_many(data.X, data.target, subsamples, 20, [])
    monkeypatch.setattr(scoring, "BLOCK_ENTRIES", 1)
    for a, b in zip(Fisher().select_many(data.X, data.target, subsamples, 20, []), expected, strict=True):
        np.testing.assert_array_equal(a, b)


def test_single_precision_gives_the_choice_of_double_precision(rng):
    """Scores far closer to each other than single precision can tell are still told apart."""
    y = np.arange(60) % 2
    base = (rng.normal(size=60) + y).astype(np.float32)
    X = np.repeat(base[:, None], 40, axis=1)
    for j in range(40):
        X[j, j] = np.nextafter(X[j, j], np.float32(np.inf))
    single, double = FeatureData.from_table(X, y), FeatureData.from_table(X.astype(np.float64), y)
    subsamples = rng.random((4, 60)) < 0.8
    a = Fisher().select_many(single.X, single.target, subsamples, 5, [])
    b = Fisher().select_many(double.X, double.target, subsamples, 5, [])
    assert [p.tolist() for p in a] == [p.tolist() for p in b]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_extreme_scales(dtype, rng):
    y = np.arange(30) % 2
    X = rng.normal(size=(30, 8)) + np.linspace(0, 2, 8) * y[:, None]
    expected = literal_choice(X.astype(dtype), y, 8)
    exponent = 200 if dtype is np.float64 else 30
    for factor in (10.0**exponent, 10.0**-exponent):
        data = FeatureData.from_table((X * factor).astype(dtype), y)
        (picks,) = Fisher().select_many(data.X, data.target, np.ones((1, 30), dtype=bool), 8, [])
        assert picks.tolist() == expected


def test_breast_cancer(cancer, stratified):
    """At least 95 % of runs choose exactly these ten; with 1000 runs the standard error of the share is 0.5 %."""
    data = FeatureData.from_table(*cancer)
    chosen = Fisher().select_many(data.X, data.target, stratified(cancer[1], 1000, 0.75, 3), 10, [])
    expected = {1, 3, 4, 7, 8, 21, 23, 24, 27, 28}
    assert np.mean([set(picks + 1) == expected for picks in chosen]) >= 0.95
