"""Tables with missing values: what is left of them, what is known of them, their correlations and subsamples."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau, rankdata

from ubayfs import Blocks, Evidence, collect_evidence, decide, decorrelate, max_size
from ubayfs.data.advice import outlying_values
from ubayfs.data.correlation import METHODS, absolute_correlations
from ubayfs.data.feature_data import FeatureData
from ubayfs.data.mapped_array import hash_values
from ubayfs.ensemble.subsampling import missing_blocks, plan_subsamples
from ubayfs.exceptions import InputError, UBayFSWarning
from ubayfs.metrics import redundancy_rate
from ubayfs.plotting.base import signed_correlations
from ubayfs.plotting.correlation import CorrelationDisplay
from ubayfs.report import summarize

GAP = np.nan


@pytest.fixture
def X(rng):
    X = rng.normal(size=(40, 12))
    X[:, 1] = X[:, 0] + 0.1 * X[:, 1]
    X[:, 4:6] = np.round(X[:, 4:6])
    X[:, 7] = 3.0
    X[rng.random(X.shape) < 0.3] = GAP
    X[:, 8] = GAP
    X[2:, 9] = GAP
    X[0, 10], X[1:30, 11] = 1e18, GAP
    return X


def test_rows_go_with_their_target_and_groups():
    X = np.array([[1.0, 2.0], [GAP, 3.0], [4.0, 5.0], [6.0, 7.0], [8.0, 9.5]])
    y = pd.Series(pd.Categorical(list("abbac"), list("cba"), ordered=True), index=list("vwxyz"))
    data = FeatureData.from_table(X, y, groups=[5, 5, 6, 7, 7], missing="drop_rows")
    assert data.X.tolist() == X[[0, 2, 3, 4]].tolist()
    assert data.target.labels.tolist() == list("abac")
    assert data.target.classes.tolist() == list("cba")
    assert data.groups.tolist() == [0, 1, 2, 2]
    assert FeatureData.from_table(X, y.array, missing="drop_rows").target.classes.tolist() == list("cba")
    assert FeatureData.from_table(X, list(y), missing="drop_rows").target.labels.tolist() == list("abac")


@pytest.mark.parametrize(
    ("rule", "most", "zero"), [("drop_columns", 0.5, [0, 1, 3]), ("available", 0.5, [1, 3]), ("median", 1.0, [3])]
)
def test_columns_that_are_left_out_cannot_be_chosen_and_keep_their_position(rule, most, zero):
    X = np.array([[GAP, GAP, 1.0, GAP], [1.0, GAP, 3.0, GAP], [2.0, 1.0, 5.0, GAP], [4.0, 2.0, 6.0, GAP]])
    X[2, 1] = GAP
    before = X.copy()
    data = FeatureData.from_table(X, missing=rule, max_missing=most)
    assert np.flatnonzero((data.X == 0).all(axis=0)).tolist() == zero
    assert data.constant[zero].all()
    np.testing.assert_array_equal(X, before)


def test_a_rule_that_leaves_nothing_is_refused():
    X = np.array([[GAP, 1.0], [2.0, GAP], [3.0, GAP]])
    for rule in ("drop_rows", "drop_columns"):
        with pytest.raises(InputError, match="missing='available'") as caught:
            FeatureData.from_table(X, missing=rule)
        assert caught.value.argument == "missing"
    with pytest.raises(InputError, match="raise max_missing"):
        FeatureData.from_table(X, missing="available", max_missing=0.1)
    for wrong in ({"missing": "mean"}, {"missing": "available", "max_missing": 1.5}):
        with pytest.raises(InputError):
            FeatureData.from_table(X, **wrong)
    with pytest.raises(InputError, match="infinite"):
        FeatureData.from_table(np.array([[np.inf, GAP], [1.0, 2.0]]), missing="available")


def test_nan_in_a_target_is_refused_under_every_rule(X):
    y = np.arange(40.0)
    y[3] = GAP
    with pytest.raises(InputError, match="y contains missing values"):
        FeatureData.from_table(X, y, missing="available")


def test_extremes_constants_and_outlying_values_do_not_count_gaps(X):
    data = FeatureData.from_table(X, missing="available", max_missing=1.0)
    low, high = data.extremes
    used = ~np.isnan(X).all(axis=0)
    np.testing.assert_array_equal(low[used], np.nanmin(X[:, used], axis=0))
    np.testing.assert_array_equal(high[used], np.nanmax(X[:, used], axis=0))
    assert np.flatnonzero(data.constant)[:2].tolist() == [7, 8]
    assert [(outlier.column, outlier.value, outlier.n_samples) for outlier in outlying_values(X, low, high)] == [
        (10, 1e18, 1)
    ]


def test_all_nan_are_one_value_in_a_hash():
    X = np.array([[1.0, GAP], [2.0, 3.0]])
    other = X.copy()
    other.view(np.uint64)[0, 1] |= np.uint64(12345)
    assert np.isnan(other[0, 1])
    assert other.tobytes() != X.tobytes()
    assert hash_values(other) == hash_values(X)
    assert hash_values(np.nan_to_num(X)) != hash_values(X)


def by_loops(X, method):
    """Correlate each pair over the samples that have both, by other software."""
    ranks = np.where(np.isnan(X), GAP, np.column_stack([rankdata(np.nan_to_num(x, nan=np.inf)) for x in X.T]))
    values = ranks if method == "spearman" else X
    matrix = np.zeros((X.shape[1],) * 2)
    for i in range(len(matrix)):
        for j in range(len(matrix)):
            both = ~np.isnan(X[:, i]) & ~np.isnan(X[:, j])
            a, b = values[both, i], values[both, j]
            if both.sum() < 3 or a.min() == a.max() or b.min() == b.max():
                continue
            matrix[i, j] = kendalltau(a, b).statistic if method == "kendall" else np.corrcoef(a, b)[0, 1]
    return matrix


@pytest.mark.parametrize("method", METHODS)
def test_correlations_are_those_of_the_samples_that_have_both(X, method):
    expected = by_loops(X, method)
    found = signed_correlations(X, method)
    off_diagonal = ~np.eye(len(found), dtype=bool)
    np.testing.assert_allclose(found[off_diagonal], expected[off_diagonal], atol=1e-10)
    ((part, values),) = absolute_correlations(X, method)
    assert part == slice(0, 12)
    np.testing.assert_allclose(values, np.abs(expected), atol=1e-10)


@pytest.mark.parametrize("method", METHODS)
def test_correlations_of_complete_data_are_the_same_beside_a_gap(method, rng):
    X = rng.normal(size=(30, 5))
    beside = np.column_stack([X, np.where(np.arange(30) == 3, GAP, X[:, 0])])
    found = signed_correlations(beside, method)
    np.testing.assert_allclose(found[:5, :5], signed_correlations(X, method), atol=1e-12)


def test_decisions_take_the_data_with_their_gaps(rng):
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 6)) + 2 * y[:, None] * (np.arange(6) < 2)
    X[:, 1] = X[:, 0] + 0.01 * rng.normal(size=60)
    X[rng.random(X.shape) < 0.1] = GAP
    evidence = collect_evidence(
        X, y, selector="fisher", n_models=20, n_features_per_model=2, random_state=0, missing="available"
    )
    selection = decide(evidence, constraints=[decorrelate(0.5), max_size(2, rho=1.0)], X=X, min_votes=1)
    assert len({0, 1} & set(selection.indices.tolist())) == 1
    pair = decide(evidence, constraints=max_size(2), X=X)
    assert pair.indices.tolist() == [0, 1]
    assert pair.metrics.redundancy == redundancy_rate(FeatureData.from_table(X, missing="available"), [0, 1]) > 0.99
    display = CorrelationDisplay.from_selection(pair, X)
    assert display.correlation[0][1] == pytest.approx(by_loops(X[:, :2], "spearman")[0, 1])
    assert CorrelationDisplay.from_selection(pair) == display
    assert summarize(pair, X, n_draws=0).correlation.redundancy == pytest.approx(pair.metrics.redundancy)
    with pytest.raises(InputError, match="missing values"):
        decide(Evidence.from_sets(evidence.sets), constraints=max_size(2, rho=1.0), X=X)


def test_files_processes_and_checkpoints(tmp_path, rng):
    from joblib import parallel_config

    y = np.arange(40) % 2
    X = rng.normal(size=(40, 30)).astype(np.float32)
    X[rng.random(X.shape) < 0.2] = GAP
    np.save(tmp_path / "X.npy", X)
    settings = {"selector": ["mrmr", "lasso"], "n_models": 6, "random_state": 0, "missing": "median"}
    here = collect_evidence(X, y, **settings)
    mapped = collect_evidence(tmp_path / "X.npy", y, checkpoint=tmp_path / "runs", **settings)
    with parallel_config(backend="loky", n_jobs=2):
        elsewhere = collect_evidence(tmp_path / "X.npy", y, **settings)
    resumed = collect_evidence(X, y, checkpoint=tmp_path / "runs", **settings)
    for evidence in (mapped, elsewhere, resumed):
        assert (evidence.sets != here.sets).nnz == 0
        assert evidence.settings["data_fingerprint"] == here.settings["data_fingerprint"]


def test_columns_with_too_many_gaps_are_warned_about(rng):
    X = rng.normal(size=(40, 5))
    X[:30, 2] = GAP
    with pytest.warns(UBayFSWarning, match=r"1 feature\(s\) cannot be selected.*50%.*\(x2\)"):
        evidence = collect_evidence(
            X,
            np.arange(40) % 2,
            selector="mrmr",
            n_models=3,
            n_features_per_model=2,
            random_state=0,
            missing="available",
        )
    assert evidence.constant.tolist() == [False, False, True, False, False]
    assert len(evidence.feature_names) == 5


@pytest.mark.parametrize("target", ["classes", "regression"])
def test_subsamples_have_their_share_of_samples_that_lack_a_block(target, rng):
    n = 120
    X = rng.normal(size=(n, 6))
    y = np.arange(n) % 2 if target == "classes" else rng.normal(size=n)
    X[:30, :3] = GAP
    X[30:34, 3:] = GAP
    X[60, :2] = GAP  # not the whole block
    X[61, 3:] = GAP
    data = FeatureData.from_table(X, y, missing="available")
    assert missing_blocks(data) is None
    from dataclasses import replace

    data = replace(data, blocks=Blocks({"a": ["x0", "x1", "x2"], "b": ["x3", "x4", "x5"], "gone": ["y1"]}))
    pattern = missing_blocks(data)
    assert np.bincount(pattern).tolist() in ([85, 5, 30], [85, 30, 5])
    plan = plan_subsamples(data, 0.75)
    plain = plan_subsamples(replace(data, blocks=None), 0.75)
    sizes = {tuple(np.bincount(pattern[plan.draw(np.random.default_rng(s))], minlength=3)) for s in range(20)}
    assert len(sizes) == 1
    assert len({tuple(np.bincount(pattern[plain.draw(np.random.default_rng(s))], minlength=3)) for s in range(20)}) > 1
    rows = plan.draw(np.random.default_rng(0))
    assert rows.sum() == 90
    if target == "classes":
        assert np.bincount(y[rows]).tolist() == [45, 45]


def test_patterns_of_single_samples_do_not_make_strata(rng):
    X = rng.normal(size=(30, 8))
    for sample in range(7):
        X[sample, sample] = GAP
    blocks = Blocks({f"b{i}": [f"x{i}"] for i in range(8)})
    from dataclasses import replace

    data = replace(FeatureData.from_table(X, np.arange(30) % 2, missing="available"), blocks=blocks)
    plan = plan_subsamples(data, 0.5)
    assert np.bincount(plan.strata).min() >= 2
    assert plan.takes.sum() == 15
