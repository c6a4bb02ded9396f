"""Repeats of one patient that nobody named: samples that look alike, equal samples, columns named like patients."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import rankdata

from ubayfs import collect_evidence
from ubayfs.data import look_alikes as module
from ubayfs.data.feature_data import FeatureData
from ubayfs.data.look_alikes import group_advice, identical_rows, look_alikes
from ubayfs.data.reading_rules import names_groups
from ubayfs.exceptions import UBayFSWarning
from ubayfs.tables import read_features, read_table
from ubayfs.tables.column_roles import infer_columns


def repeats(rng, n_patients, n_repeats, icc, n_features=200):
    """Samples of patients, whose effect has this share of the variance; classes of patients."""
    patient = np.repeat(np.arange(n_patients), n_repeats)
    effect = rng.normal(size=(n_patients, n_features))[patient]
    noise = rng.normal(size=(len(patient), n_features))
    return np.sqrt(icc) * effect + np.sqrt(1 - icc) * noise, (np.arange(n_patients) % 2)[patient], patient


def codes(X, y=None, **reading):
    return [advice.code for advice in FeatureData.from_table(X, y, **reading).advice]


def literal(X, classes=None):
    """The definition, sample by sample and feature by feature."""
    n, p = X.shape
    z = np.full((n, p), np.nan)
    for j in range(p):
        there = ~np.isnan(X[:, j])
        ranks = rankdata(X[there, j])
        z[there, j] = (ranks - ranks.mean()) / ranks.std()
    for code in set(classes.tolist()) if classes is not None else ():
        z[classes == code] -= np.nanmean(z[classes == code], axis=0)
    clusters = {}
    for i in range(n):
        distances = []
        for k in range(n):
            shared = ~np.isnan(z[i]) & ~np.isnan(z[k])
            distance = np.sqrt(((z[i] - z[k])[shared] ** 2).mean()) if shared.sum() >= 20 else np.inf
            distances += [(distance, k)] if k != i else []
        distances.sort()
        ratios = [distances[k][0] / distances[k - 1][0] for k in range(1, min(20, n // 5) + 1)]
        last = int(np.argmax(ratios))
        clusters[i] = (frozenset([i, *(k for _, k in distances[: last + 1])]), ratios[last])
    return sorted({
        tuple(sorted(cluster))
        for cluster, _ in clusters.values()
        if all(clusters[k][0] == cluster and clusters[k][1] >= 1.2 for k in cluster)
    })  # fmt: skip


@pytest.mark.parametrize("gaps", [0.0, 0.1, 0.7])
@pytest.mark.parametrize("kind", ["classes", "numbers", "none"])
def test_clusters_are_those_of_the_definition(rng, kind, gaps, monkeypatch):
    monkeypatch.setattr(module, "_ENTRIES", 999)  # several blocks, the first of which may have no gaps
    X, y, _ = repeats(rng, 12, 3, 0.6, 60)
    X[:, 30:][rng.random((36, 30)) < gaps] = np.nan
    X = X.round(1)  # some ties
    target = {"classes": y, "numbers": rng.normal(size=36), "none": None}[kind]
    data = FeatureData.from_table(X, target, missing="available", max_missing=1.0)
    found, n_compared = look_alikes(data.X, data.target, data.constant)
    assert [tuple(cluster) for cluster in found] == literal(X, y if kind == "classes" else None)
    assert n_compared == 36
    assert found


@pytest.mark.parametrize("task", ["classes", "numbers", "survival"])
@pytest.mark.parametrize(("n_patients", "n_repeats"), [(20, 4), (40, 2), (10, 3)])
def test_repeats_are_found_from_a_share_of_two_thirds_on(rng, task, n_patients, n_repeats):
    for icc, found in ((0.64, True), (0.3, False), (0.0, False)):
        X, y, _ = repeats(rng, n_patients, n_repeats, icc)
        event = pd.DataFrame({"time": rng.exponential(size=len(y)), "event": np.arange(len(y)) % 2})
        target = {"classes": y, "numbers": rng.normal(size=len(y)), "survival": event}[task]
        settings = {"task": "survival"} if task == "survival" else {}
        assert ("look_alikes" in codes(X, target, **settings)) is found


@pytest.mark.parametrize("seed", range(6))
def test_measurements_of_mice_are_found_with_fewer_mice(data_dir, seed):
    table = pd.read_csv(data_dir / "MPE.csv.gz")
    mouse = pd.read_csv(data_dir / "groups" / "MPE.csv")["mouse"].to_numpy()
    kept = np.random.default_rng(seed).choice(np.unique(mouse), 29, replace=False)
    part = table[np.isin(mouse, kept)]
    assert "look_alikes" in codes(part.drop(columns="y").to_numpy(), part["y"].to_numpy())


@pytest.mark.parametrize("name", ["BCW", "COL", "HD", "alt/HD_longbeach", "multiclass/KHAN"])
def test_other_real_tables_do_not_look_alike(data_dir, rng, name):
    table = pd.read_csv(data_dir / f"{name}.csv.gz")
    rows = np.sort(rng.choice(len(table), int(0.8 * len(table)), replace=False))
    X, y = table.iloc[rows, :-1].to_numpy(float), table.iloc[rows, -1].to_numpy()
    assert "look_alikes" not in codes(X, y)


def test_the_advice_has_numbers_and_a_way_out(rng):
    X, y, patient = repeats(rng, 20, 4, 0.8)
    (advice,) = FeatureData.from_table(X, y).advice
    assert advice.facts["groups"][1] == ["row 5", "row 6", "row 7", "row 8"]
    assert str(advice) == (
        "20 groups of samples look like repeats of the same patient (80 of 80 samples). If so, name the patient column "
        "as `groups`; without it, all estimates here are too optimistic."
    )
    with pytest.warns(UBayFSWarning, match="look like repeats"):
        evidence = collect_evidence(X, y, selector="mrmr", n_models=3, random_state=0)
    assert advice in evidence.advice
    assert FeatureData.from_table(X, y, groups=patient).advice == ()


def test_sparse_tables_and_categories_are_compared_too(rng):
    X, y, _ = repeats(rng, 20, 3, 0.9)
    assert codes(sparse.csr_array(X), y) == ["look_alikes"]
    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(200)]).assign(kind=np.resize(["a", "b", "c"], 60))
    assert "look_alikes" in codes(frame, y)


@pytest.mark.parametrize("as_sparse", [False, True])
def test_of_many_samples_some_are_compared(rng, monkeypatch, as_sparse):
    monkeypatch.setattr(module, "_MOST_SAMPLES", 60)
    monkeypatch.setattr(module, "_MOST_PRODUCTS", 60**2 * 100)
    X, y, patient = repeats(rng, 20, 4, 0.9)
    (advice,) = FeatureData.from_table(sparse.csr_array(X) if as_sparse else X, y).advice
    assert advice.facts["n_compared"] == 60
    assert "of 60 samples that were drawn of 80)" in str(advice)
    rows = [[int(name.removeprefix("row ")) - 1 for name in group] for group in advice.facts["groups"]]
    assert all(len(set(patient[group])) == 1 for group in rows)


@pytest.mark.parametrize("kind", ["normal", "lognormal", "rare", "counts", "halves", "line", "walk"])
def test_noise_does_not_look_alike(rng, kind):
    for n, p in ((20, 20), (30, 40), (60, 30), (100, 200)):
        normal = rng.normal(size=(n, p))
        X = {
            "normal": normal,
            "lognormal": np.exp(2 * normal),
            "rare": normal > 1.7,
            "counts": rng.poisson(rng.gamma(0.5, 1.0, size=p), size=(n, p)),
            "halves": normal > 0,
            "line": normal[:, :1] + 1e-3 * normal,
            "walk": np.cumsum(normal, axis=1),
        }[kind]
        assert not {"look_alikes", "identical_samples"} & set(codes(X.astype(float), np.arange(n) % 2))


def test_small_tables_are_not_judged(rng):
    X, y, _ = repeats(rng, 20, 4, 0.9)
    assert codes(X[:, :19], y) == []
    assert "look_alikes" not in codes(X[:16], y[:16])


# Equal samples


def test_identical_rows_are_those_of_a_comparison_of_all_pairs(rng):
    for _ in range(20):
        X = rng.integers(0, 3, size=(rng.integers(2, 12), 3)).astype(float)
        X[X == 2] = np.nan
        expected = {}
        for row, values in enumerate(X):
            expected.setdefault(str(values.tolist()), []).append(row)
        groups = [rows for rows in expected.values() if len(rows) > 1]
        assert identical_rows(X) == groups
    X = np.zeros((5, 300))
    X[1, 299] = X[3, 299] = -1.0
    X[2, 0] = -0.0
    assert identical_rows(X) == [[0, 2, 4], [1, 3]]


def test_equal_samples_are_named_unless_they_are_of_one_group(rng):
    X = rng.normal(size=(40, 30))
    X[7], X[9] = X[3], X[8]
    y = np.arange(40) % 2
    (advice,) = FeatureData.from_table(X, y).advice
    assert advice.facts["groups"] == [["row 4", "row 8"], ["row 9", "row 10"]]
    assert str(advice).startswith("4 samples have the same values in all features as another sample: row 4 and row 8; ")
    groups = np.arange(40)
    groups[7] = 3
    (advice,) = FeatureData.from_table(X, y, groups=groups).advice
    assert advice.facts["groups"] == [["row 9", "row 10"]]
    assert codes(X[:, :19], y) == []
    assert codes(sparse.csr_array(X), y) == ["identical_samples"]


# Columns named like patients


def test_names_of_groups():
    names = ["patient", "SubjectID", "mouse_nr", "donor.2", "patient_age", "ratio", "mousetrap", "sample", "x rat"]
    assert [names[j] for j in names_groups(names)] == ["patient", "SubjectID", "mouse_nr", "donor.2"]


def test_only_repeated_labels_or_whole_numbers_are_groups():
    values = {
        "patient": [1, 1, 2, 2, 3, 3, 4, 4],
        "subject": list("aabbccdd"),
        "mouse": [0.5, 0.5, 1, 1, 2, 2, 3, 3],
        "donor": range(8),
        "rat": [1, 1, 1, 1, 2, 2, 2, 2],
    }
    assert [advice.facts["column"] for advice in group_advice(values)] == ["patient", "subject"]


def test_a_feature_named_patient_is_suspected(rng):
    frame = pd.DataFrame(rng.normal(size=(24, 3)), columns=list("abc")).assign(patient=np.repeat(np.arange(8), 3))
    y = np.arange(24) % 2
    (advice,) = FeatureData.from_table(frame, y).advice
    assert (advice.code, advice.facts) == ("named_like_groups", {"column": "patient", "n_values": 8, "n_samples": 24})
    assert codes(frame, y, groups=frame["patient"]) == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        collect_evidence(frame, y, selector="mrmr", groups=frame["patient"], n_models=2, random_state=0)


@pytest.mark.parametrize("named", [False, True])
def test_an_unused_column_of_a_file_is_suspected(rng, tmp_path, named):
    frame = pd.DataFrame(rng.normal(size=(24, 3)), columns=list("abc"))
    frame["patient"] = [f"P{i // 2}" for i in range(24)]
    frame["status"] = np.resize(["case", "control"], 24)
    frame.to_csv(tmp_path / "data.csv", index=False)
    table = read_table(tmp_path / "data.csv")
    roles = {"groups": "patient"} if named else {"ignore": "patient"}
    data = read_features(table, target="status", **roles)
    found = [advice.facts for advice in data.advice if advice.code == "named_like_groups"]
    assert found == [{"column": "patient", "n_values": 12, "n_samples": 24}] * (not named)


@pytest.mark.parametrize("of_file", [False, True])
@pytest.mark.parametrize(("n_mice", "n_samples", "said"), [(12, 24, True), (6, 60, True), (3, 60, False)])
def test_a_category_named_mouse_is_suspected_by_its_labels(rng, tmp_path, of_file, n_mice, n_samples, said):
    """Labels of few samples become one level: 12 mice are a category of one level."""
    frame = pd.DataFrame(rng.normal(size=(n_samples, 3)), columns=list("abc"))
    frame["mouse"] = [f"M{i % n_mice}" for i in range(n_samples)]
    y = np.where(rng.random(n_samples) < 0.5, "case", "control")

    def data(**options):
        if not of_file:
            return FeatureData.from_table(frame, y, **{name: frame[column] for name, column in options.items()})
        frame.assign(status=y).to_csv(tmp_path / "data.csv", index=False)
        return read_features(read_table(tmp_path / "data.csv"), target="status", **options)

    found = [advice.facts for advice in data().advice if advice.code == "named_like_groups"]
    assert found == [{"column": "mouse", "n_values": n_mice, "n_samples": n_samples}] * said
    assert "named_like_groups" not in [advice.code for advice in data(groups="mouse").advice]


def test_what_is_said_of_patients_is_no_group(tmp_path):
    frame = pd.DataFrame({"patient": list("aabbccddee"), "patient_age": [40, 41] * 5, "g": range(10), "y": [0, 1] * 5})
    for patient, groups in (("patient", "patient"), ("sample_site", None)):
        frame.rename(columns={"patient": patient}).to_csv(tmp_path / "data.csv", index=False)
        assert infer_columns(read_table(tmp_path / "data.csv")).groups == groups
