"""Trees against a literal CART, which lists every tree that ties allow, and against scikit-learn."""

import tracemalloc
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ubayfs.selectors import _bins, _cart
from ubayfs.selectors._bins import Binning, Kinds

TASKS = ("binary", "multiclass", "multilabel", "regression")


def tree_importances(X, *args, **kwargs):
    return _cart.tree_importances(_cart.column_ranks(X), *args, **kwargs)


def impurity(y, task):
    """Literal: Gini of the classes, mean Gini of the labels, or variance."""
    if task == "regression":
        return np.mean((y - y.mean()) ** 2)
    labels = y.T if task == "multilabel" else [y]
    return np.mean([1.0 - sum(np.mean(label == c) ** 2 for c in np.unique(label)) for label in labels])


def best_splits(X, y, task, min_samples_leaf):
    """Return for every feature that has the best decrease of impurity its first mask of rows that go left."""
    best, masks = -1.0, {}
    for feature, x in enumerate(X.T):
        for threshold in np.unique(x)[:-1]:
            left = x <= threshold
            if min(left.sum(), (~left).sum()) < min_samples_leaf:
                continue
            children = left.mean() * impurity(y[left], task) + (~left).mean() * impurity(y[~left], task)
            decrease = impurity(y, task) - children
            if decrease > best + 1e-11:
                best, masks = decrease, {}
            if decrease > best - 1e-11:
                masks.setdefault(feature, left)
    return best, masks


def all_trees(X, y, task, max_depth=None, min_samples_leaf=1):
    """Return (probability, removed impurity per feature) of each tree that ties between features allow."""
    if max_depth == 0 or impurity(y, task) < 1e-14:
        return [(1.0, np.zeros(X.shape[1]))]
    decrease, masks = best_splits(X, y, task, min_samples_leaf)
    if not masks:
        return [(1.0, np.zeros(X.shape[1]))]
    trees = []
    for feature, left in masks.items():
        own = np.eye(X.shape[1])[feature] * decrease * len(y)
        deeper = None if max_depth is None else max_depth - 1
        below = [all_trees(X[rows], y[rows], task, deeper, min_samples_leaf) for rows in (left, ~left)]
        trees += [(p * q / len(masks), own + a + b) for p, a in below[0] for q, b in below[1]]
    return trees


def importance_probabilities(*args, **kwargs):
    """Return the probability of each vector of importances, rounded."""
    probabilities = Counter()
    for probability, removed in all_trees(*args, **kwargs):
        probabilities[rounded(removed / max(removed.sum(), 1e-300))] += probability
    return probabilities


def rounded(importances):
    return tuple((np.round(importances, 6) + 0.0).tolist())


def outputs_of(y, task):
    if task == "multiclass":
        y = y[:, None] == np.arange(y.max() + 1)
    return y.reshape(len(y), -1).astype(float)


def dense(n_features, features, shares):
    assert (shares > 0).all()
    assert (np.diff(features) > 0).all()
    importances = np.zeros(n_features)
    importances[features] = shares
    return importances


def importances_of(X, y, task, seed=0, **parameters):
    everything, rng = np.ones((1, len(X)), dtype=bool), np.random.default_rng(seed)
    (found,) = tree_importances(X, outputs_of(y, task), everything, [rng], **parameters)
    return dense(X.shape[1], *found)


def reference(X, y, task, seed=0, **parameters):
    kind = DecisionTreeRegressor if task == "regression" else DecisionTreeClassifier
    with config_context(skip_parameter_validation=True):
        fitted = kind(random_state=seed, **parameters).fit(X.astype(np.float32), y, check_input=False)
    return fitted.feature_importances_


def make_target(task, signal, rng):
    return {
        "binary": (signal > 0).astype(int),
        "multiclass": np.digitize(signal, [-0.7, 0.0, 0.9]),
        "multilabel": np.column_stack([signal > 0, signal + rng.normal(size=len(signal)) > 0.5, signal < 99]).astype(
            int
        ),
        "regression": signal,
    }[task]


def make_problem(seed, task, n_samples, n_features):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, n_features)).astype(np.float32)
    return X, make_target(task, X[:, 0] + X[:, 1] * X[:, -1] + 0.5 * rng.normal(size=n_samples), rng)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(
    "parameters",
    [{"max_depth": 1}, {"max_depth": 4, "min_samples_leaf": 20}, {"min_samples_leaf": 35}, {"max_depth": 3}],
)
def test_importances_are_those_of_scikit_learn_where_no_splits_tie(task, parameters):
    n_compared = 0
    for seed in range(8):
        X, y = make_problem(seed, task, 150 + 60 * seed, 2 + seed)
        expected = [reference(X, y, task, s, **parameters) for s in range(6)]
        if np.ptp(expected, axis=0).max() > 1e-9:
            continue  # features tie, and scikit-learn's choice depends on its seed
        np.testing.assert_allclose(importances_of(X, y, task, **parameters), expected[0], rtol=0, atol=1e-10)
        n_compared += np.count_nonzero(expected[0]) > 1 or parameters.get("max_depth") == 1
    assert n_compared >= 3


@pytest.mark.parametrize("task", TASKS)
def test_one_column_is_grown_to_the_end(task):
    X, y = make_problem(3, task, 300, 2)
    np.testing.assert_allclose(importances_of(X[:, :1], y, task), [1.0])


@given(
    seed=st.integers(0, 10**6),
    task=st.sampled_from(TASKS),
    max_depth=st.sampled_from([1, 2, None]),
    min_samples_leaf=st.integers(1, 3),
)
def test_every_tree_is_one_that_ties_allow(seed, task, max_depth, min_samples_leaf):
    rng = np.random.default_rng(seed)
    n_samples, n_features = int(rng.integers(2, 15)), int(rng.integers(1, 5))
    X = rng.integers(0, rng.integers(2, 8), size=(n_samples, n_features)).astype(float)
    y = make_target(task, np.round(X[:, 0] - X[:, -1] + rng.normal(size=n_samples), 1), rng)
    assume(impurity(y, task) > 0)
    parameters = {"max_depth": max_depth, "min_samples_leaf": min_samples_leaf}
    allowed = np.array(list(importance_probabilities(X, y, task, **parameters)))
    for s in range(3):
        for importances in (importances_of(X, y, task, s, **parameters), reference(X, y, task, s, **parameters)):
            assert np.abs(allowed - importances).max(axis=1).min() < 2e-6


@pytest.mark.parametrize("task", TASKS)
def test_tied_features_are_drawn_uniformly_and_anew_in_every_node(task):
    rng = np.random.default_rng(5)
    X = rng.integers(0, 3, size=(14, 3)).astype(float)
    X = np.column_stack([X, X[:, 1], -X[:, 0]])
    y = make_target(task, X[:, 0] - X[:, 1] + np.round(rng.normal(size=14), 1), rng)
    expected = importance_probabilities(X, y, task)
    assert len(expected) > 4
    n_draws = 800
    everything = np.ones((n_draws, len(X)), dtype=bool)
    found = tree_importances(X, outputs_of(y, task), everything, [np.random.default_rng(s) for s in range(n_draws)])
    counts = Counter(rounded(dense(X.shape[1], *tree)) for tree in found)
    assert set(counts) <= set(expected)
    for importances, probability in expected.items():
        deviation = abs(counts[importances] / n_draws - probability)
        assert deviation < 5 * np.sqrt(probability * (1 - probability) / n_draws) + 1e-9


def subsampled(seed, task, n_trees=7, n_samples=60, n_features=9):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, n_features))
    X[:, 1] = np.round(X[:, 1])
    X[:, 2] = 4.2
    y = make_target(task, X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=n_samples), rng)
    return X, outputs_of(y, task), rng.random((n_trees, n_samples)) < 0.7


def generators(n_trees):
    return [np.random.default_rng([4, tree]) for tree in range(n_trees)]


def assert_same(found, expected):
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a[0], b[0])
        np.testing.assert_allclose(a[1], b[1], rtol=0, atol=1e-11)


@pytest.mark.parametrize("task", TASKS)
def test_trees_of_a_batch_do_not_touch_each_other(task):
    X, y, subsamples = subsampled(0, task)
    together = tree_importances(X, y, subsamples, generators(7))
    for tree, rng in enumerate(generators(7)):
        rows = subsamples[tree]
        assert_same(tree_importances(X, y, rows[None], [rng]), together[tree : tree + 1])
        (rng,) = generators(7)[tree : tree + 1]
        everything = np.ones((1, rows.sum()), dtype=bool)
        assert_same(tree_importances(X[rows], y[rows], everything, [rng]), together[tree : tree + 1])
        assert 2 not in together[tree][0]


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(("pass_entries", "group_entries"), [(1, 2**20), (200, 2**20), (2**16, 1200), (200, 1)])
def test_sizes_of_passes_and_groups_change_nothing(task, pass_entries, group_entries, monkeypatch):
    X, y, subsamples = subsampled(1, task)
    expected = tree_importances(X, y, subsamples, generators(7))
    for module in (_cart, _bins):
        monkeypatch.setattr(module, "_PASS_ENTRIES", pass_entries)
    monkeypatch.setattr(_cart, "_GROUP_ENTRIES", group_entries)
    monkeypatch.setattr(_cart, "_READ_ENTRIES", pass_entries)
    monkeypatch.setattr(_cart, "_READ_COLUMNS", 2)
    monkeypatch.setattr(_bins, "_READ_COLUMNS", 3)
    monkeypatch.setattr(_cart, "_WRITTEN_COLUMNS", 2)
    assert_same(tree_importances(X, y, subsamples, generators(7)), expected)


@pytest.mark.parametrize("task", ["binary", "multiclass", "multilabel"])
@pytest.mark.parametrize("digits", [0, 1, 9])
def test_columns_that_need_not_be_sorted_change_nothing(task, digits, monkeypatch):
    rng = np.random.default_rng(digits)
    X = np.round(rng.normal(size=(400, 60)), digits)
    X[:, 3] = X[:, 0]  # features that tie
    y = outputs_of(make_target(task, X[:, 0] * (X[:, 1] > 0) + X[:, 2] + 0.3 * rng.normal(size=400), rng), task)
    subsamples = rng.random((3, 400)) < 0.75
    n_sorted = []
    shares = _cart._Group.shares
    monkeypatch.setattr(_cart._Group, "shares", lambda own, ranks: n_sorted.append(ranks.size) or shares(own, ranks))
    expected = tree_importances(X, y, subsamples, generators(3))
    n_all = sum(n_sorted)
    n_sorted.clear()
    for name, value in {"_COUNTED_ROWS": 8, "_COUNTED_ENTRIES": 0, "_PASS_ENTRIES": 256, "_FIRST_COLUMNS": 1}.items():
        monkeypatch.setattr(_cart, name, value)
    monkeypatch.setattr(_bins, "BIN_ROWS", 4)
    monkeypatch.setattr(_bins, "FEW_VALUES", 5)
    assert_same(tree_importances(X, y, subsamples, generators(3)), expected)
    assert sum(n_sorted) < (0.9 if digits == 0 else 0.6) * n_all


@given(
    seed=st.integers(0, 10**6),
    n_outputs=st.integers(1, 3),
    bin_rows=st.sampled_from([1, 3, 8, 1000]),
    small_node=st.sampled_from([5, 2**15]),
    few_values=st.sampled_from([1, 10, 64]),
)
def test_no_split_exceeds_the_bound_of_its_column(seed, n_outputs, bin_rows, small_node, few_values):
    rng = np.random.default_rng(seed)
    n_samples = int(rng.integers(4, 90))
    X = rng.integers(0, rng.integers(2, 100, size=4), size=(n_samples, 4)).astype(float)
    high = (rng.random((n_samples, n_outputs)) < rng.random()) | (X[:, :1] > X[:, 1:2])
    kinds = Kinds.from_outputs(7.0 * high - 2.0)
    rows = np.flatnonzero(rng.random(n_samples) < 0.7)
    assume(len(rows) > 1)
    y = high[rows] - high[rows].mean(axis=0)
    assume(np.abs(y).max() > 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_bins, "BIN_ROWS", bin_rows)
        patch.setattr(_bins, "_SMALL_NODE", small_node)
        patch.setattr(_bins, "FEW_VALUES", few_values)
        binning = Binning(_cart.column_ranks(X))
        counts = binning.count(rows, kinds)
        finest = [replace(some, shifts=some.shifts * 0) for some in counts]
        finer = binning.count(rows, kinds, finest)
        left_out = binning.count(np.setdiff1d(np.arange(n_samples), rows), kinds, finest)
        everything = binning.count(np.arange(n_samples), kinds, finest)
        for some, others, expected in zip(everything, left_out, finer, strict=True):
            np.testing.assert_array_equal(some.without(others).in_bins, expected.in_bins)
        coarser = [some.coarser(len(rows)) for some in finer]
        bounds = [_bins.bounds_of(some, kinds) for some in (counts, finer, coarser)]
    for feature, x in enumerate(X[rows].T):
        shares = [0.0]
        for threshold in np.unique(x)[:-1]:
            left = x <= threshold
            n_left, n_right = left.sum(), (~left).sum()
            shares.append((y[left].sum(axis=0) ** 2).sum() * len(rows) / (n_left * n_right) / (y**2).sum())
        assert all(max(shares) <= bound[feature] for bound in bounds)
        assert bounds[1][feature] <= max(shares) * (1 + 1e-5) + 1e-12  # each value has a bin: nothing is in doubt


def test_ranks_of_the_table_are_all_that_is_held_of_it():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(8000, 300)), rng.integers(0, 2, size=(8000, 1)).astype(float)
    subsamples = rng.random((1, 8000)) < 0.75
    tracemalloc.start()
    tree_importances(X, y, subsamples, generators(1), max_depth=1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # The ranks have a quarter of the size of the table; temporary arrays are some megabytes of 19.
    assert peak < 0.65 * X.nbytes


def test_precision_scale_and_offset_of_columns_change_nothing():
    X, y, subsamples = subsampled(2, "binary")
    X = np.round(X * 64).astype(np.float32)
    expected = tree_importances(X, y, subsamples, generators(7))
    exact = X.astype(float)
    for same in (exact, exact * 1e-300, exact + 1e15, exact**3, np.asfortranarray(X)):
        assert_same(tree_importances(same, y, subsamples, generators(7)), expected)


@pytest.mark.parametrize(("scale", "offset"), [(1e-200, 0.0), (1e250, 0.0), (-1.0, 0.0), (1.0, 2.0**40)])
def test_scale_and_offset_of_a_continuous_target_change_nothing(scale, offset):
    X, y, subsamples = subsampled(3, "regression")
    y = np.round(y * 64) / 64
    expected = tree_importances(X, y, subsamples, generators(7))
    for (features, shares), (same_features, same_shares) in zip(
        tree_importances(X, y * scale + offset, subsamples, generators(7)), expected, strict=True
    ):
        np.testing.assert_array_equal(features, same_features)
        np.testing.assert_allclose(shares, same_shares, rtol=1e-6)


def test_a_huge_value_outside_the_subsample_does_not_hide_the_others():
    X, y, subsamples = subsampled(4, "regression", n_trees=1)
    subsamples[0, 5] = False
    y *= 1e-30
    expected = tree_importances(X, y, subsamples, generators(1))
    y[5] = 1e300
    assert_same(tree_importances(X, y, subsamples, generators(1)), expected)


def test_rounding_of_the_target_is_not_explained():
    X = np.column_stack([[0, 0, 1, 1], [0, 1, 0, 1]]).astype(float)
    y = np.array([0.3, 0.1 + 0.2, 7.0, 7.0])
    assert y[0] != y[1]
    np.testing.assert_array_equal(importances_of(X, y, "regression"), [1.0, 0.0])


@pytest.mark.parametrize("task", ["binary", "regression"])
def test_a_split_without_gain_is_made_but_not_counted(task):
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 3, dtype=float)
    y = (X[:, 0] != X[:, 1]) * (0.7 if task == "regression" else 1)
    found = {tuple(importances_of(X, y, task, seed).tolist()) for seed in range(20)}
    assert found == {(1.0, 0.0), (0.0, 1.0)}


def test_equal_means_are_not_a_gain_however_they_are_rounded():
    X = np.array([[0], [0], [0], [0], [1], [1], [1], [1]], dtype=float)
    y = np.array([1.8, 1.2, 1.3, 1.7, 1.1, 1.5, 1.6, 1.8])
    np.testing.assert_array_equal(importances_of(X, y, "regression", max_depth=1), [0.0])


def test_a_pure_root_does_not_disturb_the_other_trees():
    X, y, subsamples = subsampled(5, "binary")
    expected = tree_importances(X, y, subsamples, generators(7))
    subsamples[3] = y[:, 0] > 0
    found = tree_importances(X, y, subsamples, generators(7))
    assert len(found[3][0]) == 0
    assert_same(found[:3] + found[4:], expected[:3] + expected[4:])


def test_nothing_to_split_on():
    X, y = np.ones((6, 2)), np.array([0, 1, 0, 1, 0, 1])
    np.testing.assert_array_equal(importances_of(X, y, "binary"), [0.0, 0.0])
    np.testing.assert_array_equal(importances_of(X + y[:, None], y, "binary", min_samples_leaf=4), [0.0, 0.0])


@pytest.mark.parametrize("n_samples", [30_000, 2**16, 2**16 + 1])
def test_more_slots_or_rows_than_half_a_word_can_number(n_samples):
    X, y = make_problem(0, "binary", n_samples, 2)
    X[:, 1] = np.round(X[:, 1], 1)
    parameters = {"max_depth": 3, "min_samples_leaf": 100}
    everything = np.ones((3, n_samples), dtype=bool)
    expected = reference(X, y, "binary", **parameters)
    for features, shares in tree_importances(X, outputs_of(y, "binary"), everything, generators(3), **parameters):
        np.testing.assert_allclose(dense(2, features, shares), expected, rtol=0, atol=1e-10)
