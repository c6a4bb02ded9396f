"""Categories from the table to the answer: read, chosen, decided, transformed, validated."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import ubayfs
from repeating import reproduced, validated
from ubayfs import UBayFSSelector, collect_evidence, decide, max_size
from ubayfs.data.categories import CategoryTable
from ubayfs.data.correlation import absolute_correlations, correlated_pairs
from ubayfs.data.feature_data import FeatureData
from ubayfs.exceptions import InputError, StudyError
from ubayfs.tables import read_features, read_table
from ubayfs.trust.predictors import standardized

N = 90


@pytest.fixture(scope="module")
def mixed():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(N, 6)), columns=[f"gene{i}" for i in range(6)])
    X["tissue"] = rng.permutation(np.resize(["liver", "lung", "skin", "brain"], N))
    X["smoker"] = rng.random(N) < 0.4
    X["stage"] = pd.Categorical(rng.permutation(np.resize(["I", "II", "III"], N)), ["I", "II", "III"], ordered=True)
    X["blood"] = pd.Categorical(rng.permutation(np.resize(["A", "B", "0"], N)))
    y = np.where(X["tissue"].isin(["liver", "skin"]) ^ (rng.random(N) < 0.1), "ill", "well")
    return X, y


def test_frames_are_read(mixed):
    data = FeatureData.from_table(*mixed)
    found = {data.feature_names[j]: (levels.labels, levels.ordered) for j, levels in data.levels.items()}
    assert found == {
        "tissue": (("brain", "liver", "lung", "skin"), False),
        "smoker": (("False", "True"), False),
        "stage": (("I", "II", "III"), True),
        "blood": (("0", "A", "B"), False),
    }
    np.testing.assert_array_equal(data.X[:, 7], mixed[0]["smoker"])
    assert [note.code for note in data.notes] == ["text_as_categories"]
    assert data.notes[0].facts["columns"] == ["tissue"]
    other = FeatureData.from_table(mixed[0].replace({"tissue": {"liver": "kidney"}}), mixed[1])
    assert other.fingerprint != data.fingerprint


def test_polars_frames_are_read_the_same(mixed):
    frame = mixed[0].drop(columns=["stage"])
    ours, theirs = FeatureData.from_table(frame), FeatureData.from_table(pl.from_dicts(frame.to_dict("records")))
    assert dict(ours.levels) == dict(theirs.levels)
    np.testing.assert_array_equal(ours.X[:], theirs.X[:])


def test_numbers_alone_are_not_copied():
    values = np.asfortranarray(np.random.default_rng(0).normal(size=(20, 4)))
    assert FeatureData.from_table(values).X is values
    assert not isinstance(FeatureData.from_table(pd.DataFrame(values)).X, CategoryTable)
    single = pd.DataFrame(values.astype(np.float32)).assign(sex=np.resize(["f", "m"], 20))
    single.columns = list("abcds")
    assert FeatureData.from_table(single).X.dtype == np.float32


def test_rare_levels_are_pooled_and_a_single_one_is_named():
    labels = ["a"] * 10 + ["b"] * 8 + ["c"] * 3 + ["d"]
    data = FeatureData.from_table(pd.DataFrame({"x": np.arange(22.0), "kind": labels}))
    assert data.levels[1].labels == ("a", "b", "other")
    assert data.X[-4:, 1].tolist() == [2, 2, 2, 2]
    pooled = next(note for note in data.notes if note.code == "levels_pooled")
    assert pooled.facts["labels"] == [["c", "d"]]
    lone = FeatureData.from_table(pd.DataFrame({"x": np.arange(22.0), "kind": ["a"] * 11 + ["b"] * 10 + ["c"]}))
    assert lone.levels[1].labels == ("a", "b", "c")
    assert [note.code for note in lone.notes][-1] == "level_seen_once"


def test_many_levels_are_refused_with_the_way_out():
    frame = pd.DataFrame({"x": np.arange(40.0), "city": [f"town {i % 13}" for i in range(40)]})
    with pytest.raises(InputError, match=r"column 'city' of X has 13 different labels.*at most 12.*ignore"):
        FeatureData.from_table(frame)
    FeatureData.from_table(frame.assign(city=[f"town {i % 12}" for i in range(40)]))


@pytest.mark.parametrize("selector", ["mrmr", "fisher", "tree", "lasso", "rfe", "hsic"])
def test_every_selector_finds_the_category(mixed, selector):
    X, y = mixed
    evidence = collect_evidence(X, y, selector=selector, n_models=8, n_features_per_model=2, random_state=0)
    assert evidence.counts[6] >= 7
    assert evidence.counts.sum() <= 16
    assert not evidence.failures


@pytest.mark.parametrize("selector", ["laplacian", lambda X, y, n, rng: rng.permutation(X.shape[1])[:n]])
def test_other_selectors_choose_features(mixed, selector):
    evidence = collect_evidence(mixed[0], selector=selector, n_models=5, n_features_per_model=4, random_state=0)
    assert not evidence.failures
    assert (np.diff(evidence.sets.indptr) == 4).all()


@pytest.mark.parametrize("rule", ["available", "median", "drop_rows"])
@pytest.mark.parametrize("selector", ["mrmr", "lasso"])
def test_missing_categories(mixed, selector, rule):
    X, y = mixed[0].copy(), mixed[1]
    X.loc[::9, "tissue"] = None
    X.loc[::7, "gene0"] = np.nan
    with pytest.raises(InputError, match=r"missing values .*'gene0', 'tissue'"):
        collect_evidence(X, y)
    evidence = collect_evidence(
        X, y, selector=selector, missing=rule, n_models=6, n_features_per_model=2, random_state=0
    )
    assert evidence.counts[6] >= 5


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_workers_change_nothing(mixed, n_jobs):
    from joblib import parallel_config

    X, y = mixed
    ensemble = {"selector": ["mrmr", "tree"], "n_models": 6, "n_features_per_model": 3, "random_state": 0}
    with parallel_config(backend="loky", n_jobs=n_jobs):
        found = collect_evidence(X, y, **ensemble, n_jobs=n_jobs)
    np.testing.assert_array_equal(found.counts, collect_evidence(X, y, **ensemble).counts)


def test_transform_selects_columns_as_they_are(mixed):
    X, y = mixed
    selector = (
        UBayFSSelector("mrmr", max_features=2, n_models=10, random_state=0).set_output(transform="pandas").fit(X, y)
    )
    found = selector.transform(X)
    assert "tissue" in found.columns
    pd.testing.assert_frame_equal(found, X[list(found.columns)])
    plain = UBayFSSelector("mrmr", max_features=2, n_models=10, random_state=0).fit(X, y)
    assert plain.transform(X).shape == (N, 2)
    assert "liver" in plain.transform(X)


def test_correlations_are_the_largest_of_the_columns(mixed):
    X = mixed[0].copy()
    X["organ"] = X["tissue"].map({"liver": "x", "lung": "y", "skin": "z", "brain": "z"})
    X["skin"] = (X["tissue"] == "skin") * 1.0
    data = FeatureData.from_table(X)
    ((_, values),) = absolute_correlations(data.X, "pearson")
    place = list(data.feature_names).index
    assert values[place("tissue"), place("organ")] == 1.0
    assert values[place("tissue"), place("skin")] == 1.0
    assert values[place("gene0"), place("gene1")] == pytest.approx(abs(np.corrcoef(X["gene0"], X["gene1"])[0, 1]))
    first, second, _ = correlated_pairs(data.X, 0.9, "spearman")
    pairs = set(zip(first.tolist(), second.tolist(), strict=True))
    assert {(place("tissue"), place("organ")), (place("tissue"), place("skin"))} <= pairs
    assert len(pairs) == len(first)
    assert (first < second).all()
    evidence = collect_evidence(X, mixed[1], selector="mrmr", n_models=6, random_state=0)
    apart = decide(evidence, constraints=[max_size(5), ubayfs.decorrelate(0.9)], X=X)
    assert len({"tissue", "organ", "skin"} & set(apart.features)) <= 1


def test_predictors_see_the_levels_of_the_training_samples():
    frame = pd.DataFrame({"x": np.arange(15.0), "kind": list("aaaaabbbbbccccc")})
    data = FeatureData.from_table(frame, np.arange(15) % 2)
    A, B = standardized(data, np.arange(10), np.arange(10, 15), np.array([0, 1]))
    assert A.shape == (10, 2)  # a number, and b against a; c is unknown there
    assert len(np.unique(A[:, 1])) == 2
    assert set(B[:, 1]) == {A[:, 1].min()}


def test_validation_and_halves(mixed):
    X, y = mixed
    ensemble = {"selector": "mrmr", "n_models": 6, "random_state": 0, "constraints": [max_size(2)]}
    found = validated(X, y, cv=3, n_repeats=1, baselines=("random", "forest", "all features"), **ensemble)
    assert found.scores.query("metric == 'auc'")["mean"].iloc[0] > 0.8
    assert reproduced(X, y, n_splits=3, **ensemble).lower > 0


def test_regression_with_a_category():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"x": rng.normal(size=80), "kind": rng.permutation(np.resize(list("abcd"), 80))})
    y = rng.normal(size=80) + 3 * (frame["kind"] == "c")
    assert collect_evidence(
        frame, y, selector="mrmr", n_models=5, n_features_per_model=1, random_state=0
    ).counts.tolist() == [0, 5]


@pytest.fixture
def clinic(tmp_path):
    rng = np.random.default_rng(3)
    n = 60
    frame = pd.DataFrame({"sample": [f"s{i}" for i in range(n)], "age": rng.integers(30, 80, n)})
    frame["stage"] = rng.permutation(np.resize(["I", "II", "III", "IV"], n))
    frame["sex"] = rng.permutation(np.resize(["f", " m", "F"], n))
    frame["ill"] = np.where(frame["stage"].isin(["III", "IV"]) ^ (rng.random(n) < 0.1), "yes", "no")
    frame.to_csv(tmp_path / "clinic.csv", index=False)
    return tmp_path / "clinic.csv"


def test_files_have_categories(clinic):
    data = read_features(read_table(clinic), target="ill", ordered={"stage": ["I", "II", "III", "IV"]})
    assert data.feature_names.tolist() == ["age", "stage", "sex"]
    assert data.levels[1].ordered
    assert sorted(data.levels[2].labels) == ["f", "m"]
    codes = [note.code for note in data.notes]
    assert codes == ["columns_ignored", "labels_merged", "text_as_categories"]
    assert collect_evidence(data, selector="mrmr", n_models=5, n_features_per_model=1, random_state=0).counts[1] == 5


def test_mistakes_about_categories_are_problems_of_their_keys(clinic):
    frame = pd.read_csv(clinic)
    frame["city"] = [f"town {i % 20}" for i in range(60)]
    frame.to_csv(clinic, index=False)
    table = read_table(clinic)
    with pytest.raises(StudyError) as caught:
        read_features(table, target="ill", ordered={"stage": ["I", "II", "III"], "grade": ["1", "2"]})
    found = {problem.path: problem.message for problem in caught.value.problems}
    assert set(found) == {("ordered", "grade"), ("ordered", "stage"), ("ignore", "city")}
    assert "'IV'" in found["ordered", "stage"]
    assert "20 different labels" in found["ignore", "city"]
    assert read_features(table, target="ill", ignore=["city"]).n_features == 3


def test_a_study_with_categories(clinic, tmp_path):
    from ubayfs.study import load_study

    text = "data: {path: clinic.csv, target: ill, ordered: {stage: [I, II, III, IV]}}\n"
    (tmp_path / "study.yaml").write_text(
        text + "evidence: {n_models: 5, n_features_per_model: 1}\nconstraints: [{max_size: 1}]\n"
    )
    study = load_study(tmp_path / "study.yaml")
    data = study.read_data()
    assert study.decide(study.collect(data), data).features == ("stage",)
    assert study.data.ordered == {"stage": ("I", "II", "III", "IV")}
