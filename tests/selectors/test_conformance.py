"""What every selector in the registry promises; a new one joins with its line there."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ubayfs import Survival
from ubayfs.data.feature_data import FeatureData
from ubayfs.data.target import TASKS
from ubayfs.exceptions import UBayFSError
from ubayfs.selectors import SELECTORS, ElementarySelector, Lasso

N_SAMPLES, N_COLUMNS, N_MODELS, N_FEATURES = 48, 12, 5, 4


def make_data(task, dtype=np.float64):
    """A table in which columns 1, 5 and 8 explain the target, 3 is constant and 4 varies only in the last row."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=(N_SAMPLES, N_COLUMNS))
    X[:, 2] = np.round(X[:, 2])
    X[:, 3] = 0.1
    X[:, 4] = 0.1
    X[-1, 4] = 1.0
    signal = X[:, 1] + 0.7 * X[:, 5] - 0.5 * X[:, 8] + 0.2 * rng.normal(size=N_SAMPLES)
    y = {
        "binary": np.where(signal > np.median(signal), "high", "low"),
        "multiclass": np.digitize(signal, np.quantile(signal, [1 / 3, 2 / 3])),
        "multilabel": np.column_stack([signal > 0, X[:, 8] > 0]).astype(int),
        "regression": signal,
        "survival": Survival(np.exp(-signal), rng.random(N_SAMPLES) < 0.7) if task == "survival" else None,
        "unsupervised": None,
    }[task]
    return FeatureData.from_table(X.astype(dtype), y)


def make_subsamples():
    mask = np.random.default_rng(12).random((N_MODELS, N_SAMPLES)) < 0.75
    mask[:, -1] = False
    mask[0, -1] = True
    return mask


def generators(seed=0):
    return [np.random.default_rng([seed, run]) for run in range(N_MODELS)]


@cache
def usual_choice(name, task):
    """What other ways to choose are compared with."""
    data = make_data(task)
    return SELECTORS[name].select_many(data.X, data.target, make_subsamples(), N_FEATURES, generators())


cases = pytest.mark.parametrize(
    ("name", "task"), [(name, task) for name in sorted(SELECTORS) for task in TASKS if task in SELECTORS[name].tasks]
)


@cases
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_choices_are_valid(name, task, dtype):
    data, subsamples = make_data(task, dtype), make_subsamples()
    original = data.X.copy()
    chosen = SELECTORS[name].select_many(data.X, data.target, subsamples, N_FEATURES, generators())
    assert len(chosen) == N_MODELS
    for rows, picks in zip(subsamples, chosen, strict=True):
        assert picks.dtype.kind == "i"
        assert 1 <= len(picks) <= N_FEATURES
        assert len(set(picks.tolist())) == len(picks)
        assert ((picks >= 0) & (picks < N_COLUMNS)).all()
        assert (np.ptp(data.X[rows][:, picks], axis=0) > 0).all()
    np.testing.assert_array_equal(data.X, original)


@cases
def test_constant_columns_are_left_out_even_when_all_are_asked_for(name, task):
    data, subsamples = make_data(task), make_subsamples()
    chosen = SELECTORS[name].select_many(data.X, data.target, subsamples, N_COLUMNS, generators())
    for rows, picks in zip(subsamples, chosen, strict=True):
        varying = np.flatnonzero(np.ptp(data.X[rows], axis=0) > 0)
        assert set(picks.tolist()) <= set(varying.tolist())


@cases
def test_same_seed_same_choice(name, task):
    data, subsamples = make_data(task), make_subsamples()
    again = SELECTORS[name].select_many(data.X, data.target, subsamples, N_FEATURES, generators())
    for a, b in zip(again, usual_choice(name, task), strict=True):
        np.testing.assert_array_equal(a, b)


@cases
def test_many_at_once_equals_one_by_one(name, task):
    data, subsamples = make_data(task), make_subsamples()
    together = usual_choice(name, task)
    for run, rng in enumerate(generators()):
        (alone,) = SELECTORS[name].select_many(data.X, data.target, subsamples[[run]], N_FEATURES, [rng])
        np.testing.assert_array_equal(alone, together[run])


@cases
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_nested_choices_begin_with_those_of_fewer_features(name, task, dtype):
    if not SELECTORS[name].nested:
        return
    data, subsamples = make_data(task, dtype), make_subsamples()
    most = SELECTORS[name].select_many(data.X, data.target, subsamples, N_COLUMNS, generators())
    for n_features in {1, 2, N_FEATURES, N_COLUMNS - 1}:
        fewer = SELECTORS[name].select_many(data.X, data.target, subsamples, n_features, generators())
        for picks, all_picks in zip(fewer, most, strict=True):
            np.testing.assert_array_equal(picks, all_picks[:n_features])


@cases
def test_memory_layout_changes_nothing(name, task):
    data, subsamples = make_data(task), make_subsamples()
    assert data.X.flags.c_contiguous
    for X in (np.asfortranarray(data.X), np.repeat(data.X, 2, axis=1)[:, ::2]):
        found = SELECTORS[name].select_many(X, data.target, subsamples, N_FEATURES, generators())
        for a, b in zip(found, usual_choice(name, task), strict=True):
            np.testing.assert_array_equal(a, b)


@cases
def test_order_of_rows_changes_nothing(name, task):
    """On data without ties, so trees have no equal splits to draw between."""
    data, subsamples = make_data(task), make_subsamples()
    order = np.random.default_rng(13).permutation(N_SAMPLES)
    shuffled = SELECTORS[name].select_many(
        data.X[order], data.target.take(order), subsamples[:, order], N_FEATURES, generators()
    )
    for a, b in zip(shuffled, usual_choice(name, task), strict=True):
        assert set(a.tolist()) == set(b.tolist())


@pytest.mark.parametrize("name", sorted(SELECTORS))
def test_finds_what_explains_the_target(name):
    """Every supervised selector puts at least one of the three explaining columns into every choice."""
    selector = SELECTORS[name]
    for task in sorted(selector.tasks - {"unsupervised"}):
        if "unsupervised" in selector.tasks:
            continue  # it does not look at the target
        for picks in usual_choice(name, task):
            assert {1, 5, 8} & set(picks.tolist())


@pytest.mark.parametrize("name", sorted(SELECTORS))
def test_declares_itself(name):
    selector = SELECTORS[name]
    assert isinstance(selector, ElementarySelector)
    assert selector.name == name
    assert selector.tasks
    assert selector.tasks <= set(TASKS)
    assert selector == type(selector)()  # frozen values with defaults


@pytest.mark.parametrize("name", sorted(name for name in SELECTORS if "binary" in SELECTORS[name].tasks))
def test_call_on_a_table(name, cancer):
    X, y = cancer
    picks = SELECTORS[name](X.iloc[::4], y.iloc[::4], 3, np.random.default_rng(0))
    assert 1 <= len(picks) <= 3


# What looks at each run by itself: a run that lacks samples of a class has nothing to say on it.
RUN_BY_RUN = [SELECTORS["hsic"], Lasso(order="entry"), SELECTORS["rfe"], SELECTORS["tree"]]


@pytest.mark.parametrize("selector", RUN_BY_RUN)
@given(
    seed=st.integers(0, 10**6), n=st.integers(3, 10), p=st.integers(1, 8), task=st.sampled_from(["two", "three", "y"])
)
def test_coarse_data_with_many_ties_never_fail(selector, seed, n, p, task):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, size=(n, p)).astype(float)
    y = {"two": np.arange(n) % 2, "three": np.arange(n) % 3, "y": np.arange(n) + 0.5}[task]
    chosen = selector(X, y, p, rng)
    assert len(set(chosen)) == len(chosen) <= p
    assert (X[:, chosen] != X[0, chosen]).any(axis=0).all()


@pytest.mark.parametrize("selector", RUN_BY_RUN)
def test_an_absent_class_is_ignored_and_nothing_to_explain_is_refused(selector, rng):
    X, y = rng.normal(size=(30, 12)), np.repeat([0, 1, 2], 10)

    def choose(target, rows):
        data = FeatureData.from_table(X, target)
        return selector.select_many(data.X, data.target, rows[None], 4, [np.random.default_rng(0)])[0]

    alone = selector(X[y < 2], y[y < 2], 4, np.random.default_rng(0))
    np.testing.assert_array_equal(choose(y, y < 2), alone)
    with pytest.raises(UBayFSError, match="one class only"):
        choose(y, y == 1)
    with pytest.raises(UBayFSError, match="target is constant"):
        choose(np.where(y == 2, 0.5, X[:, 0]), y == 2)
    if "multilabel" in selector.tasks:
        with pytest.raises(UBayFSError, match="every label is constant"):
            choose(np.column_stack([y == 0, y == 1]).astype(int), y == 1)
