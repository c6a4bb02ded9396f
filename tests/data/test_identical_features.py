"""Features with equal values in all samples are found, by their definition and no others, and named in advice."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from ubayfs import collect_evidence, decide, max_size
from ubayfs.data import advice as module
from ubayfs.data.advice import identical_columns
from ubayfs.data.feature_data import FeatureData
from ubayfs.data.sparse_columns import SparseColumns
from ubayfs.report import answer_of, render_markdown, summarize


def extremes(X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of columns without any value
        return np.nanmin(X, axis=0), np.nanmax(X, axis=0)


def literal(X):
    """Every pair of columns compared, entry by entry; constant ones are none of them."""
    low, high = extremes(X)
    groups = []
    for j in np.flatnonzero(low < high).tolist():
        for group in groups:
            if np.array_equal(X[:, group[0]], X[:, j], equal_nan=True):
                group.append(j)
                break
        else:
            groups.append([j])
    return [group for group in groups if len(group) > 1]


SHAPES = st.tuples(st.integers(2, 4), st.integers(1, 12))
ENTRIES = st.sampled_from([0.0, -0.0, 1.0, 2.0, -1.0, np.nan, 1e300, 5e-324])


@given(arrays(np.float64, SHAPES, elements=ENTRIES), st.sampled_from("CF"), st.sampled_from([np.float64, np.float32]))
def test_they_are_those_of_the_definition(X, order, dtype):
    with np.errstate(over="ignore"):
        X = np.array(X, order=order, dtype=dtype)
    before = X.copy()
    assert identical_columns(X, *extremes(X)) == literal(X)
    np.testing.assert_array_equal(X, before)


@given(arrays(np.float64, SHAPES, elements=st.sampled_from([0.0, 1.0, 3.0])), st.integers(1, 9))
def test_blocks_and_sparse_tables_change_nothing(X, entries):
    stored = SparseColumns.from_matrix(sparse.csr_array(X))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_HASHED_ENTRIES", entries)
        assert identical_columns(stored, *stored.extremes()) == identical_columns(X, *extremes(X)) == literal(X)


def test_equal_hashes_alone_make_no_identical_columns(monkeypatch):
    monkeypatch.setattr(module.np, "einsum", lambda _, factors, bits: np.zeros(bits.shape[1], dtype=np.uint64))
    X = np.array([[0.0, 0, 1, 0, 1], [0, 1, 0, 1, 0], [1, 0, 0, 0, 0]])
    assert identical_columns(X, *extremes(X)) == [[1, 3], [2, 4]]


def test_hashes_tell_columns_of_few_values_apart():
    """Else every table of counts would be compared column by column."""
    X = np.random.default_rng(0).integers(0, 2, size=(60, 3000)).astype(float)
    X[0], X[1] = 0, 1
    compared = []
    with pytest.MonkeyPatch.context() as patch:
        bits = module.value_bits
        patch.setattr(module, "value_bits", lambda values: (compared.append(values.ndim), bits(values))[1])
        assert identical_columns(X, *extremes(X)) == []
    assert compared.count(1) == 0


def table():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(40, 12)), np.arange(40) % 2
    X[:, 3] += 3 * y
    return X, y


def test_evidence_and_report_name_them(recwarn):
    X, y = table()
    X[:, 7], X[:, 9], X[:, 5], X[:, 11] = X[:, 3], X[:, 3], X[:, 4], 1.0
    evidence = collect_evidence(X, y, selector="fisher", n_models=10, n_features_per_model=3, random_state=0)
    assert not recwarn.list  # it is a note
    (advice,) = evidence.advice
    assert advice == FeatureData.from_table(X, y).advice[0]
    assert (advice.code, advice.category) == ("identical_features", None)
    assert advice.facts["groups"] == [["x3", "x7", "x9"], ["x4", "x5"]]
    assert (advice.facts["n_features"], advice.facts["n_groups"]) == (5, 2)
    selection = decide(evidence, constraints=max_size(1))
    assert [(member.feature, list(member.identical_to)) for member in answer_of(selection).chosen] == [
        ("x3", ["x7", "x9"])
    ]
    report = render_markdown(summarize(selection, n_draws=0))
    assert "Identical to" in report
    assert "x7 and x9" in report


def test_a_value_that_differs_makes_no_identical_columns():
    X, y = table()
    X[:, 7] = X[:, 3]
    X[20, 7] = np.nextafter(X[20, 7], 9)
    evidence = collect_evidence(X, y, selector="fisher", n_models=10, n_features_per_model=3, random_state=0)
    assert evidence.advice == ()
    selection = decide(evidence, constraints=max_size(1))
    assert "Identical to" not in render_markdown(summarize(selection, n_draws=0))
