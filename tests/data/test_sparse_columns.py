"""Sparse tables read like dense ones: indexing, extremes, hash and what FeatureData makes of them."""

import pickle

import joblib
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from ubayfs.data.advice import outlying_values
from ubayfs.data.correlation import METHODS, correlated_pairs
from ubayfs.data.feature_data import FeatureData
from ubayfs.data.mapped_array import hash_values
from ubayfs.data.sparse_columns import SparseColumns
from ubayfs.exceptions import InputError

FORMATS = [
    f"{name}_{kind}" for name in ("csr", "csc", "coo", "lil", "dok", "dia", "bsr") for kind in ("array", "matrix")
]


def table(n_samples=30, n_features=12, dtype=np.float64, seed=0):
    """Mostly zeros; column 0 has none, column 1 nothing else, column 2 is constant."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n_samples, n_features)), 2) * (rng.random((n_samples, n_features)) < 0.3)
    X[:, 0] = rng.normal(5, 1, size=n_samples)
    X[:, 1], X[:, 2] = 0.0, 3.0
    return (X + 0.0).astype(dtype)  # no negative zeros, which a sparse matrix does not have


mask = np.arange(30) % 3 > 0


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "key",
    [
        slice(None),
        slice(3, 9),
        mask,
        [4, 2],
        (slice(None), slice(2, 5)),
        (slice(None), slice(0, 0)),
        (slice(None), np.array([7, 0, 7])),
        (slice(None), 3),
        (mask, 3),
        (mask, slice(1, 4)),
        (slice(None, None, 4), np.array([5, 1])),
        np.ix_(mask, [5, 1]),
        (np.flatnonzero(mask)[:, None], np.array([5, 1])),
        (np.flatnonzero(mask), 3),
    ],
    ids=str,
)
def test_whatever_is_taken_is_what_the_dense_table_has(key, dtype):
    dense = table(dtype=dtype)
    part = SparseColumns.from_matrix(sparse.csr_array(dense))[key]
    assert part.dtype == dtype
    assert_array_equal(part, dense[key])


def test_blocks_are_stored_by_columns_and_samples_by_rows():
    X = SparseColumns.from_matrix(sparse.csr_array(table()))
    assert X[:, 2:6].flags.f_contiguous
    assert X[mask].flags.c_contiguous


@pytest.mark.parametrize("form", FORMATS)
def test_every_format(form):
    dense = table()
    X = SparseColumns.from_matrix(getattr(sparse, form)(dense))
    assert (X.shape, len(X), X.ndim, X.size, X.dtype) == ((30, 12), 30, 2, 360, np.float64)
    assert_array_equal(np.asarray(X), dense)
    assert_array_equal(np.asarray(X, dtype=np.float32), dense.astype(np.float32))
    assert_array_equal(X.take(np.array([4, 0]))[:], dense[:, [4, 0]])
    assert_array_equal(X.extremes(), [dense.min(axis=0), dense.max(axis=0)])
    assert hash_values(X) == hash_values(dense)


def test_entries_that_stand_twice_are_added_and_the_matrix_of_the_caller_stays():
    data, rows, starts = np.array([1.0, 2.0, 4.0]), np.array([1, 0, 1]), np.array([0, 3])
    given = sparse.csc_array((data, rows, starts), shape=(2, 1))
    assert SparseColumns.from_matrix(given)[:].tolist() == [[2.0], [5.0]]
    assert (data.tolist(), rows.tolist(), given.nnz) == ([1.0, 2.0, 4.0], [1, 0, 1], 3)


def test_memory_is_shared_where_it_can_be():
    given = sparse.csc_matrix(table())
    assert np.shares_memory(SparseColumns.from_matrix(given).values.data, given.data)


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, bool, np.int64])
def test_other_numbers_become_doubles(dtype):
    dense = np.array([[0, 1], [1, 0], [0, 0]], dtype=dtype)
    X = FeatureData.from_table(sparse.csr_matrix(dense)).X
    assert X.dtype == np.float64
    assert_array_equal(X[:], dense)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_feature_data_are_those_of_the_dense_table(dtype):
    dense, y = table(dtype=dtype), np.arange(30) % 2
    dense[4, 5] = 99999.0  # far from all others
    ours, theirs = (FeatureData.from_table(X, y) for X in (sparse.coo_array(dense), dense))
    assert isinstance(ours.X, SparseColumns)
    assert ours.fingerprint == theirs.fingerprint
    assert_array_equal(ours.extremes, theirs.extremes)
    assert_array_equal(ours.constant, theirs.constant)
    assert ours.constant.sum() == 2
    assert ours.advice == theirs.advice
    assert [advice.code for advice in ours.advice] == ["outlying_values"]
    assert list(outlying_values(ours.X, *ours.extremes)) == list(outlying_values(theirs.X, *theirs.extremes))
    assert FeatureData.from_table(ours.X).X is ours.X


def test_another_value_has_another_fingerprint():
    dense = table()
    first = FeatureData.from_table(sparse.csr_array(dense)).fingerprint
    dense[3, 1] = 1e-300
    assert FeatureData.from_table(sparse.csr_array(dense)).fingerprint != first


@pytest.mark.parametrize(
    ("value", "kind"), [(np.nan, "missing values (NaN)"), (np.inf, "infinite values"), (-np.inf, "infinite values")]
)
def test_values_that_are_not_finite_are_refused_by_column(value, kind):
    dense = table()
    dense[3, 1], dense[5, 0] = value, value
    with pytest.raises(InputError) as caught:
        FeatureData.from_table(sparse.csr_array(dense))
    assert kind in str(caught.value)
    assert "column(s) 'x0', 'x1'." in str(caught.value)


def test_columns_of_the_fit_in_another_order_stay_sparse():
    names = [f"x{i}" for i in range(12)]
    order = np.random.default_rng(1).permutation(12)
    found = FeatureData.from_fit(sparse.csr_array(table()), [names[i] for i in order])
    assert isinstance(found.X, SparseColumns)
    assert_array_equal(found.X[:], table()[:, order])


@pytest.mark.parametrize("method", sorted(METHODS))
def test_correlated_pairs_are_those_of_the_dense_table(method):
    dense = table(60, 20)
    for ours, theirs in zip(
        correlated_pairs(SparseColumns.from_matrix(sparse.csr_array(dense)), 0.2, method),
        correlated_pairs(dense, 0.2, method),
        strict=True,
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_pickled_tables_are_the_same():
    X = SparseColumns.from_matrix(sparse.csr_array(table()))
    assert_array_equal(pickle.loads(pickle.dumps(X))[:], table())


def in_a_file(X):
    return [isinstance(part, np.memmap) for part in (X.values.data, X.values.indices, X.values.indptr)]


def test_processes_map_the_three_arrays_from_files_written_once():
    """Joblib does so with every large array, also inside an object."""
    X = SparseColumns.from_matrix(sparse.random_array((400, 300_000), density=0.01, rng=np.random.default_rng(0)))
    with joblib.parallel_config("loky"):
        found = joblib.Parallel(n_jobs=2)(joblib.delayed(in_a_file)(X) for _ in range(4))
    assert found == [[True, True, True]] * 4
