"""Columns with one value far from all others are found, by their definition and no others, and named in advice."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ubayfs import Evidence, collect_evidence, decide, max_size
from ubayfs.data.advice import outlying_values
from ubayfs.data.feature_data import FeatureData
from ubayfs.exceptions import UBayFSWarning
from ubayfs.report import advice_facts


def found_in(X):
    return list(outlying_values(X, X.min(axis=0), X.max(axis=0)))


def literal(x):
    """The value whose distance from the others is at least 1,000 times (nines: 10 times) their range, or None."""
    for value in (x.max(), x.min()):
        others = x[x != value] / 8
        if len(others) < len(x) / 2 or len(others) == 0 or others.min() == others.max():
            continue
        nines = value == np.rint(value) and 9 < abs(value) < 1e15 and set(str(abs(int(value)))) == {"9"}
        distance = np.abs(others - value / 8).min()
        if distance / (10 if nines else 1000) >= others.max() - others.min():
            return value
    return None


ENTRIES = st.one_of(
    st.sampled_from([-999.0, 9999.0, 99.0, 1e18, -1e300, 1.7e308, 0.0, 1.0, 5000.0, 9999999999.0]), st.floats(-20, 20)
)


@given(st.lists(ENTRIES, min_size=2, max_size=60), st.sampled_from([np.float64, np.float32]))
def test_they_are_those_of_the_definition(entries, dtype):
    x = np.clip(entries, -3e38, 3e38).astype(dtype) if dtype == np.float32 else np.array(entries)
    found = found_in(x[:, None])
    assert [outlier.value for outlier in found] == (
        [] if literal(x.astype(float)) is None else [literal(x.astype(float))]
    )
    for outlier in found:
        others = x[x != outlier.value].astype(float)
        assert (outlier.low, outlier.high, outlier.n_samples) == (others.min(), others.max(), len(x) - len(others))


@pytest.mark.parametrize("value", [1e18, -1e30, 9999999999, -999, 1e300])
def test_one_of_many_columns_is_named(value):
    X = np.random.default_rng(0).normal(10, 3, size=(300, 700))
    X[123, 456] = value
    (outlier,) = found_in(X)
    assert (outlier.column, outlier.value, outlier.n_samples) == (456, value, 1)
    X[7, 456] = value  # a code stands in more than one place
    assert found_in(X)[0].n_samples == 2


def test_ordinary_columns_are_not_named():
    rng = np.random.default_rng(1)
    n = 400
    tables = [
        rng.normal(size=(n, 300)),
        np.exp(2 * rng.normal(size=(n, 300))),
        rng.poisson(0.02, size=(n, 300)).astype(float),
        rng.negative_binomial(1, 0.01, size=(n, 300)).astype(float),
        rng.standard_t(2, size=(n, 300)),
        (rng.random((n, 300)) < 0.005).astype(float),
        np.ones((n, 3)),
    ]
    assert [found_in(X) for X in tables] == [[]] * len(tables)


def test_evidence_names_them_in_every_form(tmp_path):
    rng = np.random.default_rng(2)
    X, y = rng.normal(10, 3, size=(40, 8)), np.arange(40) % 2
    X[3, 5] = 1e18
    with pytest.warns(UBayFSWarning, match=r"'x5': 1e\+18 in 1 sample, the others from .* to"):
        evidence = collect_evidence(X, y, selector="fisher", n_models=10, n_features_per_model=2, random_state=0)
    (advice,) = evidence.advice
    assert advice.code == "outlying_values"
    assert advice.facts["n_features"] == 1
    assert (advice.facts["features"], advice.facts["values"], advice.facts["n_samples"]) == (["x5"], [1e18], [1])
    assert advice == FeatureData.from_table(X, y).advice[0]
    evidence.save(tmp_path / "evidence.npz")
    loaded = Evidence.load(tmp_path / "evidence.npz")
    assert loaded.advice == evidence.advice
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = collect_evidence(X, y, selector="fisher", n_models=10, n_features_per_model=2, random_state=1)
    assert evidence.merge(other).advice == evidence.advice
    selection = decide(loaded, constraints=max_size(2))
    (given,) = advice_facts(selection.posterior.evidence.advice)
    assert "'x5': 1e+18 in 1 sample" in given.message


def test_runs_that_choose_nothing_are_counted():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(40, 8)), np.arange(40) % 2

    def moody(X, y, n_features, rng):
        return [0, 1] if rng.random() < 0.5 else []

    with pytest.warns(UBayFSWarning, match=r"\d+ of 20 runs selected no feature"):
        evidence = collect_evidence(X, y, selector=moody, n_models=20, random_state=0)
    n_empty = int((np.asarray(evidence.sets.sum(axis=1)) == 0).sum())
    assert 0 < evidence.n_empty == n_empty < 20
    assert evidence.n_models == 20
    assert [(advice.code, advice.facts) for advice in evidence.advice] == [
        ("runs_without_choice", {"n_empty": n_empty, "n_runs": 20})
    ]
