"""Sparse tables from end to end: the same votes and decisions as the dense table, without its memory."""

import tracemalloc
from functools import cache

import joblib
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from ubayfs import Survival, UBayFSSelector, collect_evidence, decide, decorrelate, max_size
from ubayfs.data.sparse_columns import SparseColumns
from ubayfs.data.target import TASKS
from ubayfs.metrics import redundancy_rate
from ubayfs.selectors import SELECTORS

N_SAMPLES, N_FEATURES = 60, 40


def counts(dtype=np.float64):
    """Counts of cells: mostly zeros, many ties, some columns that are constant in all samples or in most subsamples."""
    rng = np.random.default_rng(5)
    X = rng.poisson(rng.gamma(0.4, 2.0, size=N_FEATURES), size=(N_SAMPLES, N_FEATURES)).astype(dtype)
    X[:, :10] *= rng.lognormal(size=(N_SAMPLES, 1)).astype(dtype)
    X[:, 3], X[:, 4], X[:, 5] = 0, 2, 0
    X[7, 5] = 1
    return X


def targets():
    X = counts()
    signal = X[:, 0] + X[:, 11] - X[:, 23] + np.random.default_rng(6).normal(size=N_SAMPLES)
    return {
        "binary": np.where(signal > np.median(signal), "high", "low"),
        "multiclass": np.digitize(signal, np.quantile(signal, [1 / 3, 2 / 3])),
        "multilabel": np.column_stack([signal > 0, X[:, 8] > 0]).astype(int),
        "regression": signal,
        "survival": Survival(np.exp(-signal / signal.std()), np.arange(N_SAMPLES) % 4 > 0),
        "unsupervised": None,
    }


def first_of_all(X, y, n_features, rng):
    """A callable that sees an ordinary array."""
    assert type(X) is np.ndarray
    return np.argsort(-X.var(axis=0), kind="stable")[:n_features]


CASES = [(name, task) for name in sorted(SELECTORS) for task in TASKS if task in SELECTORS[name].tasks]
OTHERS = [(LogisticRegression(max_iter=50), "binary"), (first_of_all, "regression"), (["mrmr", "tree"], "binary")]


def same_evidence(ours, theirs):
    assert_array_equal(ours.sets.toarray(), theirs.sets.toarray())
    assert (ours.settings, ours.notes, ours.runs) == (theirs.settings, theirs.notes, theirs.runs)
    assert_array_equal(ours.constant, theirs.constant)
    assert not ours.failures


@pytest.mark.filterwarnings("ignore:lbfgs failed", "ignore:x8 alone:ubayfs.exceptions.UBayFSWarning")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("selector", "task"), CASES + OTHERS)
def test_evidence_is_that_of_the_dense_table(selector, task, dtype):
    dense, y = counts(dtype), targets()[task]
    settings = {"y": y, "selector": selector, "n_models": 4, "n_features_per_model": 6, "random_state": 1}
    expected = collect_evidence(dense, **settings)
    assert expected.counts.sum() > 4
    same_evidence(collect_evidence(sparse.csr_matrix(dense), **settings), expected)


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
@pytest.mark.parametrize("selector", ["fisher", "mrmr", "tree"])
def test_threads_change_nothing(selector, n_jobs, monkeypatch):
    monkeypatch.setattr("ubayfs.ensemble.workers._WORTH_A_THREAD", 1)
    dense, y = counts(np.float32), targets()["binary"]
    settings = {"y": y, "selector": selector, "n_models": 12, "n_features_per_model": 6, "random_state": 1}
    same_evidence(
        collect_evidence(sparse.coo_array(dense), n_jobs=n_jobs, **settings), collect_evidence(dense, **settings)
    )


@pytest.mark.parametrize("selector", ["fisher", "tree"])
def test_processes_change_nothing(selector):
    dense, y = counts(), targets()["binary"]
    settings = {"y": y, "selector": selector, "n_models": 8, "n_features_per_model": 6, "random_state": 1}
    with joblib.parallel_config("loky"):
        found = collect_evidence(sparse.csc_array(dense), n_jobs=2, **settings)
    same_evidence(found, collect_evidence(dense, **settings))


def test_a_checkpoint_of_the_dense_table_is_continued(tmp_path):
    dense, y = counts(), targets()["binary"]
    settings = {"y": y, "selector": "fisher", "random_state": 1, "checkpoint": tmp_path}
    collect_evidence(dense, n_models=3, **settings)
    found = collect_evidence(sparse.csr_array(dense), n_models=6, **settings)
    expected = collect_evidence(dense, n_models=6, y=y, selector="fisher", random_state=1)
    assert_array_equal(found.sets.toarray(), expected.sets.toarray())


def test_decisions_are_those_of_the_dense_table():
    dense, y = counts(), targets()["binary"]
    evidence = collect_evidence(dense, y, selector="mrmr", n_models=10, random_state=1)
    limits = [max_size(6), decorrelate(0.3)]
    ours, theirs = (decide(evidence, constraints=limits, X=X) for X in (sparse.csr_array(dense), dense))
    assert ours.features == theirs.features
    assert ours.value == pytest.approx(theirs.value, rel=1e-12)
    assert ours.metrics.redundancy == pytest.approx(theirs.metrics.redundancy, rel=1e-12)
    assert len(ours.problem.utility.system.b) == len(theirs.problem.utility.system.b) > 2
    assert redundancy_rate(sparse.csr_array(dense), [0, 1, 2]) == pytest.approx(redundancy_rate(dense, [0, 1, 2]))


@pytest.mark.parametrize("form", ["csr_array", "csc_matrix", "coo_array"])
def test_the_estimator_fits_and_transforms(form):
    dense, y = counts(), targets()["binary"]
    given = getattr(sparse, form)(dense)
    selector = UBayFSSelector("mrmr", max_features=5, n_models=10, constraints=decorrelate(0.5), random_state=0)
    expected = selector.fit_transform(dense, y)
    found = selector.fit_transform(given, y)
    assert sparse.issparse(found)
    assert_array_equal(found.toarray(), expected)
    assert_array_equal(selector.transform(dense), expected)
    other = selector.redecide(max_features=3, X=given)
    assert other.transform(given).shape == (N_SAMPLES, 3)


@cache
def large(dtype=np.float32):
    """A table of which the dense form takes 24 MB in single precision, with a signal in the first columns."""
    n_samples, n_features = 300, 20_000
    rng = np.random.default_rng(3)
    ones = {"data_sampler": lambda size: np.ones(size, dtype=dtype)}
    X = sparse.random_array((n_samples, n_features), density=0.02, rng=rng, dtype=dtype, format="lil", **ones)
    y = np.arange(n_samples) % 2
    X[np.ix_(np.flatnonzero(y), range(4))] = rng.normal(3, 1, size=(n_samples // 2, 4)).astype(dtype)
    return sparse.csr_array(X), y


@pytest.mark.filterwarnings("ignore:x0 alone:ubayfs.exceptions.UBayFSWarning")
@pytest.mark.parametrize("selector", ["fisher", "mrmr"])
def test_filters_never_have_the_dense_table(selector, monkeypatch):
    """No dense array of a twentieth of the table is made of it, and all memory stays below its size."""
    X, y = large()
    largest = 0

    def watched(self, key, original=SparseColumns.__getitem__):
        nonlocal largest
        part = original(self, key)
        largest = max(largest, part.size)
        return part

    monkeypatch.setattr(SparseColumns, "__getitem__", watched)
    tracemalloc.start()
    try:
        evidence = collect_evidence(X, y, selector=selector, n_models=5, n_features_per_model=4, random_state=0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert 0 < largest < X.shape[0] * X.shape[1] / 20
    assert peak < X.shape[0] * X.shape[1] * 4 * 0.75

    assert evidence.counts[:4].tolist() == [5, 5, 5, 5]


def test_the_watch_sees_a_table_that_is_made_dense(monkeypatch):
    """What the test above relies on: a selector that takes whole runs is far above its limits."""
    dense, y = counts(), targets()["binary"]
    sizes = []

    def watched(self, key, original=SparseColumns.__getitem__):
        part = original(self, key)
        sizes.append(part.size)
        return part

    monkeypatch.setattr(SparseColumns, "__getitem__", watched)
    collect_evidence(sparse.csr_array(dense), y, selector="rfe", n_models=2, random_state=0)
    assert 45 * N_FEATURES in sizes
