"""Stand-ins: matching against all assignments, chance against random sets, and what they add to the headline."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from repeating import reproduced
from ubayfs import max_size
from ubayfs.data.correlation import correlated
from ubayfs.data.feature_data import FeatureData
from ubayfs.trust.reproducibility import agreement
from ubayfs.trust.stand_ins import n_matched, stand_in_agreement


def brute_force(close):
    """The most pairs over all ways to assign columns to rows."""
    if close.shape[0] > close.shape[1]:
        close = close.T
    n, m = close.shape
    return max(sum(close[i, j] for i, j in enumerate(columns)) for columns in permutations(range(m), n))


def test_matching_is_that_of_all_assignments(rng):
    for _ in range(150):
        close = rng.random((rng.integers(1, 5), rng.integers(1, 6))) < rng.random()
        assert n_matched(close) == brute_force(close)


@pytest.mark.parametrize("gaps", [False, True])
def test_correlated_features_are_those_of_scipy(rng, gaps):
    X = rng.normal(size=(40, 12))
    X[:, 6:] = X[:, :6] * rng.choice([-1, 1], 6) + 0.5 * rng.normal(size=(40, 6))
    first, second = np.array([7, 0, 3]), np.array([1, 3, 6, 9, 11])
    if gaps:
        X[0, 0] = np.nan
    present = ~np.isnan(X).any(axis=1)
    found = correlated(X, first, second, 0.7)
    for i, a in enumerate(first):
        for j, b in enumerate(second):
            rho = abs(spearmanr(X[present, a], X[present, b]).statistic)
            if not gaps or abs(rho - 0.7) > 0.05:  # ranks are those among all present values
                assert found[i, j] == (a == b or rho > 0.7)


def test_categories_can_stand_for_each_other(rng):
    kind = rng.choice(list("abc"), 60)
    frame = pd.DataFrame(
        {"x": rng.normal(size=60), "kind": kind, "same": np.char.add(kind, "2"), "z": rng.normal(size=60)}
    )
    data = FeatureData.from_table(frame, np.arange(60) % 2)
    assert correlated(data.X, np.array([1, 0]), np.array([2, 3, 0]), 0.8).tolist() == [
        [True, False, False], [False, False, True]
    ]  # fmt: skip


def test_without_correlations_it_is_the_agreement_beyond_chance(rng):
    X = rng.normal(size=(200, 30))
    sets = np.argsort(rng.random((40, 2, 30)), axis=2) < 6
    chance, found = stand_in_agreement(X, sets[0, 0], sets, np.ones(30, dtype=bool))
    exact = agreement(sets[:, 0], sets[:, 1], 30)
    assert found == pytest.approx(exact)
    assert chance == pytest.approx(6 / 30)


def test_random_sets_agree_by_chance_alone_where_features_have_stand_ins(rng):
    values = rng.normal(size=(100, 10))
    X = np.hstack([values + 0.05 * rng.normal(size=(100, 10)) for _ in range(3)])
    sets = np.argsort(rng.random((300, 2, 30)), axis=2) < 6
    _, found = stand_in_agreement(X, sets[0, 0], sets, np.ones(30, dtype=bool))
    assert abs(found.mean()) < 0.05


def test_empty_sets_have_no_agreement(rng):
    X, one = rng.normal(size=(20, 5)), np.arange(5) < 2
    _, found = stand_in_agreement(X, one, np.array([[one, ~one & one], [one, one]]), np.ones(5, dtype=bool))
    assert np.isnan(found).tolist() == [True, False]
    assert found[1] == 1.0
    chance, none = stand_in_agreement(X, one, np.zeros((0, 2, 5), dtype=bool), np.ones(5, dtype=bool))
    assert len(none) == 0
    assert 0 <= chance <= 1


def test_twins_are_selected_again_as_stand_ins(rng):
    y = np.arange(80) % 2
    signals = rng.normal(size=(80, 3)) + 2 * y[:, None]
    X = np.hstack([*(signals + 0.1 * rng.normal(size=(80, 3)) for _ in range(4)), rng.normal(size=(80, 40))])
    found = reproduced(X, y, n_models=20, n_features_per_model=3, n_splits=6, constraints=max_size(3))
    assert found.stand_ins.size == found.size == 3
    assert found.stand_ins.lower > found.lower + 0.2
    assert found.stand_ins.selected_again[0] > found.selected_again[0] + 0.5
    assert "if a close stand-in, with a correlation above 0.8, counts" in str(found)
