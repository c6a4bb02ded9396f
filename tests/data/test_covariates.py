"""Covariates: read by name or as values, coded, and refused where nothing can be adjusted."""

import anndata
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse, stats

from ubayfs.data.covariates import association, basis_of
from ubayfs.data.feature_data import FeatureData
from ubayfs.data.survival import Survival
from ubayfs.ensemble.collect import collect_evidence
from ubayfs.exceptions import EnsembleWarning, InputError

N = 30


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(N, 3)), columns=["a", "b", "c"])
    frame.insert(1, "age", rng.normal(60, 5, N))
    frame["batch"] = np.array(["x", "y", "z"])[np.arange(N) % 3]
    return frame, rng.integers(0, 2, N)


def codes(notes):
    return [note.code for note in notes]


def test_named_columns_of_a_frame_are_not_features(table):
    frame, y = table
    data = FeatureData.from_table(frame, y, adjust_for=["batch", "age"])
    assert data.feature_names.tolist() == ["a", "b", "c"]
    assert data.covariates.names == ["batch", "age"]
    np.testing.assert_array_equal(data.X, frame[["a", "b", "c"]])
    expected = np.c_[frame["batch"] == "y", frame["batch"] == "z", frame["age"]]
    np.testing.assert_array_equal(data.covariates.design, expected)
    assert data.covariates.basis.shape == (N, 4)
    assert data.covariates.strata.tolist() == [0, 1, 2] * (N // 3)


def test_all_forms_give_the_same_covariates(table):
    frame, y = table
    features, own = frame[["a", "b", "c"]], frame[["age", "batch"]]
    want = FeatureData.from_table(frame, y, adjust_for=["age", "batch"])
    adata = anndata.AnnData(features.to_numpy(), obs=own.set_index(own.index.astype(str)))
    adata.var_names = list("abc")
    numbers = own.assign(batch=np.arange(N) % 3)
    forms = [
        FeatureData.from_table(features, y, adjust_for=own),
        FeatureData.from_table(pl.DataFrame(frame.to_dict("list")), y, adjust_for=["age", "batch"]),
        FeatureData.from_table(adata, y, adjust_for=["age", "batch"]),
        FeatureData.from_table(features, y, adjust_for=own.astype({"batch": "category"})),
        FeatureData.from_table(features, y, adjust_for=numbers),
        FeatureData.from_table(features, y, adjust_for=numbers.to_numpy()),
    ]
    for data in forms:
        assert data.feature_names.tolist() == ["a", "b", "c"]
        np.testing.assert_allclose(data.covariates.design, want.covariates.design)
        np.testing.assert_array_equal(data.covariates.strata, want.covariates.strata)
    assert "covariate_as_category" in codes(forms[-1].notes)
    assert "covariate_as_category" not in codes(forms[0].notes)


def test_columns_of_arrays_are_named_by_position(table):
    frame, y = table
    X = frame[["a", "age", "b", "c"]].to_numpy()
    for values in (X, sparse.csr_array(X)):
        data = FeatureData.from_table(values, y, adjust_for="x1")
        assert data.feature_names.tolist() == ["x0", "x2", "x3"]
        np.testing.assert_array_equal(np.asarray(data.X), X[:, [0, 2, 3]])
        np.testing.assert_array_equal(data.covariates.design[:, 0], X[:, 1])


def test_one_column_of_text_is_one_covariate(table):
    frame, y = table
    for labels in (frame["batch"], frame["batch"].to_numpy(dtype=str), frame["batch"].to_numpy()):
        data = FeatureData.from_table(frame[["a", "b"]], y, adjust_for=labels)
        assert data.covariates.design.shape == (N, 2)
    with pytest.raises(InputError, match="one text per sample") as caught:
        FeatureData.from_table(frame[["a", "b"]], y, adjust_for=frame["batch"].tolist())
    assert caught.value.argument == "adjust_for"


def test_samples_without_a_covariate_are_left_out(table):
    frame, y = table
    frame.loc[3, "age"] = np.nan
    frame.loc[7, "batch"] = None
    groups = np.arange(N) // 2
    data = FeatureData.from_table(frame, y, groups=groups, adjust_for=["age", "batch"])
    kept = np.setdiff1d(np.arange(N), [3, 7])
    assert data.n_samples == N - 2
    np.testing.assert_array_equal(data.target.values, y[kept])
    np.testing.assert_array_equal(np.unique(data.groups), np.arange(N // 2))
    note = next(note for note in data.notes if note.code == "samples_without_covariate")
    assert (note.facts["samples"], note.facts["n_left"], note.facts["names"]) == (["3", "7"], N - 2, ["age", "batch"])
    with pytest.warns(EnsembleWarning, match="age, batch are left out: 2"):
        collect_evidence(frame, y, selector="fisher", n_models=2, adjust_for=["age", "batch"], random_state=0)
    with_gaps = frame.copy()
    with_gaps.loc[5, "a"] = np.nan
    dropped = FeatureData.from_table(with_gaps, y, missing="drop_rows", adjust_for=["age", "batch"])
    assert (dropped.n_samples, len(dropped.covariates.design)) == (N - 3, N - 3)


def test_few_whole_numbers_are_levels_and_many_are_numbers(table):
    frame, y = table
    stage, years = np.arange(N) % 4 + 1, np.arange(N) + 40
    data = FeatureData.from_table(frame[["a"]], y, adjust_for=np.c_[stage, years])
    assert [item.levels for item in data.covariates.items] == [("1", "2", "3", "4"), None]
    sex = FeatureData.from_table(frame[["a"]], y, adjust_for=np.arange(N) % 2)
    assert sex.covariates.strata.tolist() == [0, 1] * (N // 2)
    assert codes(sex.notes) == []  # two values are coded in one way only


@pytest.mark.parametrize(
    ("adjust_for", "match"),
    [
        (["agee"], "no such column. Did you mean 'age'"),
        ([], "empty"),
        (["a", "b", "c", "age", "batch"], "no feature is left"),
        (np.zeros((N, 2, 2)), "array of shape"),
        (np.zeros(N - 1), "one entry per sample"),
        (np.ones(N), "nothing to adjust for"),
        (np.full(N, np.nan), "leaves no sample"),
        (np.where(np.arange(N) == 2, np.inf, 1.0), "infinite"),
        (np.arange(N) * 1j, "complex"),
        (pd.Series(pd.date_range("2020-01-01", periods=N), name="day"), "dates"),
        (pd.DataFrame({"b": np.arange(N) / 7}), "a feature, too"),
        (np.random.default_rng(0).normal(size=(N, N)), "determines the target.*too many"),
    ],
    ids=["unknown", "none", "all", "shape", "length", "constant", "absent", "inf", "complex", "dates", "both", "many"],
)
def test_bad_covariates(table, adjust_for, match):
    frame, y = table
    with pytest.raises(InputError, match=match) as caught:
        FeatureData.from_table(frame, y, adjust_for=adjust_for) if isinstance(adjust_for, list) else (
            FeatureData.from_table(frame[["a", "b", "c"]], y, adjust_for=adjust_for)
        )
    assert caught.value.argument == "adjust_for"


def test_covariates_that_determine_the_target_are_refused_and_nearly_so_bring_advice(table):
    frame, y = table
    with pytest.raises(InputError, match="determines the target"):
        FeatureData.from_table(frame[["a"]], y, adjust_for=np.c_[y * 3.0 + 1, frame["age"]])
    rng = np.random.default_rng(1)
    z = rng.normal(size=N)
    for noise, said in ((0.05, True), (3.0, False)):
        data = FeatureData.from_table(frame[["a"]], z + noise * rng.normal(size=N), adjust_for=z)
        assert ("covariates_explain_target" in codes(data.advice)) is said


@pytest.mark.parametrize("made", [np.asarray, np.log, np.negative])
def test_a_covariate_that_determines_survival_is_refused(table, made):
    frame, _ = table
    rng = np.random.default_rng(0)
    time, event = rng.exponential(size=N), rng.random(N) < 0.6
    with pytest.raises(InputError, match="determines the target"):
        FeatureData.from_table(frame[["a"]], Survival(time, event), adjust_for=made(time))


def test_covariates_that_explain_most_of_survival_are_reported(table):
    """Kent and O'Quigley: times of exponential distribution around a line, whose share of the log time is known."""
    frame, _ = table
    rng = np.random.default_rng(3)
    z, noise = rng.normal(size=N), np.log(rng.exponential(size=N))
    for slope, reported in ((8.0, True), (1.0, False)):
        data = FeatureData.from_table(frame[["a"]], Survival(np.exp(slope * z + noise), np.ones(N)), adjust_for=z)
        found = [advice for advice in data.advice if advice.code == "covariates_explain_target"]
        assert bool(found) is reported
        if reported:
            variance = slope**2 * np.var(z)
            assert found[0].facts["share"] == pytest.approx(variance / (variance + np.pi**2 / 6), abs=0.02)


def test_association_of_categories():
    """Eta of a number, whichever side the levels are on; Cramer's V of two categories, here without covariates."""
    rng = np.random.default_rng(0)
    codes, others, z = rng.integers(0, 3, N), rng.integers(0, 4, N), rng.normal(size=N)
    levels, constant = np.eye(3)[codes], basis_of(np.zeros((N, 0)))
    between = sum((codes == c).sum() * (z[codes == c].mean() - z.mean()) ** 2 for c in range(3))
    eta = np.sqrt(between / ((z - z.mean()) ** 2).sum())
    assert association(levels, z[:, None], constant) == pytest.approx(eta)
    assert association(z, levels, constant) == pytest.approx(eta)
    counts = np.eye(3)[codes].T @ np.eye(4)[others]
    v = stats.contingency.association(counts.astype(int), method="cramer")
    assert association(levels, np.eye(4)[others], constant) == pytest.approx(v)


def test_a_constant_covariate_is_noted(table):
    frame, y = table
    data = FeatureData.from_table(frame.assign(site="here").drop(columns="batch"), y, adjust_for=["age", "site"])
    assert [note.facts["names"] for note in data.notes if note.code == "constant_covariate"] == [["site"]]
    assert data.covariates.basis.shape == (N, 2)


def test_fingerprints_know_covariates(table):
    frame, y = table
    plain = FeatureData.from_table(frame[["a", "b", "c"]], y)
    found = {plain.fingerprint}
    for adjust_for in (frame[["age"]], frame[["batch"]], frame[["age", "batch"]], frame[["age"]] + 1):
        found.add(FeatureData.from_table(frame[["a", "b", "c"]], y, adjust_for=adjust_for).fingerprint)
    assert len(found) == 5


def test_other_order_of_samples_is_refused(table):
    frame, y = table
    named = frame.set_index(pd.Index([f"s{i}" for i in range(N)]))
    with pytest.raises(InputError, match="another order"):
        FeatureData.from_table(named[["a", "b"]], y, adjust_for=named["age"].iloc[::-1])


def test_the_basis_spans_constant_and_columns_once():
    rng = np.random.default_rng(2)
    Z = np.c_[rng.normal(size=20), np.ones(20), 1e12 + rng.normal(size=20), np.zeros(20)]
    basis = basis_of(np.c_[Z, Z[:, 0] * 3 - 2])
    assert basis.shape == (20, 3)
    np.testing.assert_allclose(basis.T @ basis, np.eye(3), atol=1e-14)
    assert basis_of(np.zeros((4, 0))).tolist() == [[0.5]] * 4


def test_data_of_the_fit_may_have_the_covariates(table):
    frame, _ = table
    adata = anndata.AnnData(
        frame[["a", "b", "c"]].to_numpy(), obs=frame[["age", "batch"]].set_index(frame.index.astype(str))
    )
    adata.var_names = list("abc")
    for X in (frame, frame[["a", "b", "c"]], frame[["a", "b", "c"]].to_numpy(), adata):
        data = FeatureData.from_fit(X, ["a", "b", "c"], None, ("age", "batch"))
        np.testing.assert_array_equal(data.X, frame[["a", "b", "c"]])


def test_covariates_of_one_name_are_refused():
    X = np.random.default_rng(0).normal(size=(20, 3))
    both = pd.DataFrame(np.arange(40.0).reshape(20, 2), columns=["age", "age"])
    with pytest.raises(InputError, match="several columns of the same name"):
        FeatureData.from_table(X, np.arange(20) % 2, adjust_for=both)


def test_a_column_of_obs_as_y_points_to_target():
    adata = anndata.AnnData(np.eye(4), obs=pd.DataFrame({"geno": [*"aabb"]}, index=[*"wxyz"]))
    with pytest.raises(InputError, match="pass target='geno'") as caught:
        collect_evidence(adata, "geno")
    assert caught.value.argument == "y"
