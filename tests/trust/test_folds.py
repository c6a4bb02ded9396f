"""Folds: every sample is tested once, groups are never divided, classes are in proportion."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_info, threadpool_limits

from repeating import validated
from ubayfs.data.feature_data import FeatureData
from ubayfs.exceptions import InputError
from ubayfs.trust import folds as of_folds
from ubayfs.trust.folds import assign_folds, check_folds


def data_of(y, groups=None, task=None):
    return FeatureData.from_table(np.arange(2.0 * len(y)).reshape(-1, 2), np.asarray(y), groups=groups, task=task)


@given(st.lists(st.integers(5, 9), min_size=2, max_size=4), st.integers(2, 5), st.integers(0, 99))
def test_classes_are_in_proportion(sizes, cv, seed):
    y = np.repeat(np.arange(len(sizes)), sizes)
    folds = assign_folds(data_of(y), cv, np.random.default_rng(seed))
    in_fold = np.array([np.bincount(y[folds == fold], minlength=len(sizes)) for fold in range(cv)])
    assert (in_fold.max(axis=0) - in_fold.min(axis=0) <= 1).all()
    assert np.ptp(in_fold.sum(axis=1)) <= 1


@given(st.integers(2, 5), st.integers(0, 10**6), st.booleans())
def test_groups_are_never_divided_and_no_fold_is_empty(cv, seed, regression):
    rng = np.random.default_rng(seed)
    groups = np.concatenate([np.arange(cv), rng.integers(0, rng.integers(cv, 12), 30)])
    y = rng.random(len(groups)) if regression else np.concatenate([[0, 1], rng.integers(0, 2, len(groups) - 2)])
    folds = assign_folds(data_of(y, groups), cv, rng)
    assert all(len(np.unique(folds[groups == group])) == 1 for group in np.unique(groups))
    assert set(folds) == set(range(cv))


def test_groups_of_one_class_are_spread_over_the_folds():
    groups = np.repeat(np.arange(20), 3)
    y = (groups < 5).astype(int)  # one group of the rare class for each of five folds
    for seed in range(5):
        folds = assign_folds(data_of(y, groups), 5, np.random.default_rng(seed))
        assert [int(y[folds == fold].sum()) for fold in range(5)] == [3] * 5
        assert [int((folds == fold).sum()) for fold in range(5)] == [12] * 5


def test_rare_labels_are_spread_over_the_folds():
    labels = np.zeros((30, 2), dtype=int)
    labels[:5] = 1
    labels[5:25, 0] = 1
    folds = assign_folds(data_of(labels), 5, np.random.default_rng(0))
    assert [labels[folds == fold].sum(axis=0).tolist() for fold in range(5)] == [[5, 1]] * 5


@pytest.mark.parametrize(
    ("y", "groups", "cv", "argument", "words"),
    [
        (["a"] * 9 + ["b"] * 3, None, 5, "y", "3 samples of class 'b', but cv=5 .* Use cv=3"),
        (["a"] * 9 + ["b"] * 2, None, 3, "y", "2 samples of class 'b', .* Merge it"),
        (["a"] * 9 + ["b"] * 3, None, 2, "y", r"'b', but cv=2 needs at least 4 of each class. Use cv=3\."),
        (["a"] * 9 + ["b"] * 9, [0, 1, 2] * 6, 4, "cv", "cv is 4, which needs at least 4 groups; there are 3"),
        ([0] * 12 + [1] * 3, [0, 1, 2, 3] * 3 + [0, 1, 2], 4, "groups", "3 groups of class 0?1?, but cv=4"),
        (np.arange(11) / 3, None, 3, "cv", r"needs at least 12 samples; there are 11\. Use fewer folds"),
        (np.arange(7) / 3, None, 2, "cv", r"needs at least 8 samples; there are 7\. Collect more"),
        (np.arange(20) * 1e299, None, 3, "y", r"y has values up to 1\.9e\+300, whose squares .* other units"),
        (np.arange(20) * 1e-301, None, 3, "y", r"y has values up to 1\.9e-300, whose squares .* other units"),
        (np.arange(11) / 3, [0, 1, 2, 3] * 2 + [0, 1, 2], 3, "cv", "needs at least 12 samples; there are 11"),
    ],
)
def test_too_few_are_named_with_the_way_out(y, groups, cv, argument, words):
    with pytest.raises(InputError, match=words) as caught:
        check_folds(data_of(y, groups), cv)
    assert caught.value.argument == argument


@pytest.mark.parametrize(("y", "cv"), [([0] * 4 + [1] * 4, 2), ([0] * 3 + [1] * 3, 3), (np.arange(12) / 4, 3)])
def test_just_enough_will_do(y, cv):
    check_folds(data_of(y), cv)


@pytest.mark.parametrize(("little", "n_threads"), [(of_folds._LITTLE, 1), (0, 2)])
def test_predictors_of_small_tables_leave_threads_of_blas_alone(monkeypatch, little, n_threads):
    seen = set()

    class Watching(LogisticRegression):
        def fit(self, X, y):
            seen.update(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")
            return super().fit(X, y)

    monkeypatch.setattr(of_folds, "_LITTLE", little)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 8)), np.arange(30) % 2
    with threadpool_limits(2, user_api="blas"):
        validated(X, y, cv=2, n_repeats=1, n_models=5, predictor=Watching(), baselines=(), n_jobs=1, random_state=0)
    assert seen == {n_threads}
