"""Covariates in study files, tables, on the command line and in the report."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ubayfs import collect_evidence, read_data
from ubayfs.cli.main import main
from ubayfs.exceptions import StudyError
from ubayfs.report.relations import beyond
from ubayfs.results import read_result
from ubayfs.study import check_study, load_study, resolve_study
from ubayfs.tables import Table
from ubayfs.tables.column_roles import infer_columns

STUDY = """\
data:
  path: values.csv
  samples: patients.csv
  target: group
  adjust_for: [age, batch]
evidence: {selector: fisher, n_models: 10, n_features_per_model: 3, seed: 1}
constraints:
  - max_size: {n: 2, rho: hard}
trust: {level: none}
outputs: {figures: [], n_draws: 0}
"""


def frames(n=80):
    """Return values by sample, and what is known of the samples."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    batch = np.where(rng.random(n) < np.where(y, 0.8, 0.2), "B1", "B2")
    age = np.round(60 + 10 * y + rng.normal(0, 6, n))
    X = rng.normal(size=(n, 8))
    X[:, :2] += 1.5 * y[:, None]
    X[:, 2:4] += 3 * (batch == "B1")[:, None]
    X[:, 4:6] += (age[:, None] - 60) / 3
    ids = [f"S{i}" for i in range(n)]
    values = pd.DataFrame(X, columns=[f"g{j}" for j in range(8)], index=pd.Index(ids, name="id"))
    sheet = pd.DataFrame(
        {"group": np.where(y, "ill", "well"), "age": age, "batch": batch, "city": "X"}, index=values.index
    )
    return values, sheet


@pytest.fixture
def folder(tmp_path, monkeypatch, blank_figures):
    monkeypatch.chdir(tmp_path)
    values, sheet = frames()
    values.to_csv("values.csv")
    sheet.to_csv("patients.csv")
    Path("study.yaml").write_text(STUDY, encoding="utf-8")
    return tmp_path


def test_a_study_finds_what_python_finds(folder, capsys):
    values, sheet = frames()
    main(["check", "study.yaml"])
    assert "adjusted    for age and batch" in capsys.readouterr().out
    main(["select", "study.yaml", "-o", "out"])
    result = read_result("out")
    settings = {"selector": "fisher", "n_models": 10, "n_features_per_model": 3, "random_state": 1}
    expected = collect_evidence(values, sheet["group"], adjust_for=sheet[["age", "batch"]], **settings)
    np.testing.assert_array_equal(result.evidence.counts, expected.counts)
    assert set(result.selection.features) == {"g0", "g1"}
    assert load_study("out/study.yaml").data.adjust_for == ("age", "batch")
    plain = collect_evidence(values, sheet["group"], **settings)
    assert plain.counts[2:6].sum() > expected.counts[2:6].sum()


def test_the_report_shows_associations_before_and_after(folder):
    values, sheet = frames()
    main(["select", "study.yaml", "-o", "out"])
    summary = json.loads(Path("out/summary.json").read_text(encoding="utf-8"))
    assert summary["data"]["adjust_for"] == ["age", "batch"]
    assert "Adjusted for age and batch." in summary["lead"]
    record = next(record for record in summary["chosen"] if record["feature"] == "g0")
    y = (sheet["group"] == "ill").to_numpy().astype(float)
    Z = np.c_[np.ones(80), sheet["age"], sheet["batch"] == "B2"].astype(float)
    x = values["g0"].to_numpy()

    def left(v):
        return v - Z @ np.linalg.lstsq(Z, v, rcond=None)[0]

    assert record["beyond"]["before"] == pytest.approx(np.corrcoef(x, y)[0, 1])
    assert record["beyond"]["after"] == pytest.approx(np.corrcoef(left(x), left(y))[0, 1])
    assert record["beyond"]["covariates"]["age"] == pytest.approx(np.corrcoef(x, sheet["age"])[0, 1])
    assert record["beyond"]["covariates"]["batch"] == pytest.approx(abs(np.corrcoef(x, sheet["batch"] == "B2")[0, 1]))
    assert "scored after adjusting for age and batch." in summary["methods"]["text"]
    page = Path("out/report.html").read_text(encoding="utf-8")
    assert "Association with age and batch, and with the target before and after adjusting for them" in page
    assert "when age and batch have explained what they can" in page
    assert "Adjusted for" in page


def test_associations_of_driven_features_vanish(folder):
    data = resolve_study(load_study("study.yaml")).data
    for position in (2, 3, 4, 5):
        found = beyond(data, position)
        assert abs(found.before) > 0.3
        assert abs(found.after) < 0.25
        assert max(abs(value) for value in found.covariates.values()) > 0.6


def test_other_ways_to_name_covariates(folder):
    values, sheet = frames()
    values.join(sheet[["group", "age", "batch"]]).to_csv("all.csv", index=False)
    one = read_data("all.csv", target="group", adjust_for=["age", "batch"])
    two = read_data("values.csv", samples="patients.csv", target="group", adjust_for=["age", "batch"])
    np.testing.assert_array_equal(one.covariates.design, two.covariates.design)
    np.testing.assert_array_equal(one.feature_names, two.feature_names)
    options = ["all.csv", "--target", "group", "--adjust-for", "age", "batch", "--models", "10", "--selector", "fisher"]
    main(["select", *options, "--features-per-model", "3", "--seed", "1", "--trust", "none", "-o", "other"])
    assert read_result("other").evidence.adjust_for == ("age", "batch")


def test_samples_without_a_covariate_and_labels_in_two_spellings(folder):
    _, sheet = frames()
    sheet = sheet.astype({"age": object})
    sheet.loc["S3", "age"] = None
    sheet.loc["S5", "batch"] = " b1"
    sheet.to_csv("patients.csv")
    data = check_study(load_study("study.yaml"))
    assert data.n_samples == 79
    assert "S3" not in data.sample_names
    notes = {note.code: note.facts for note in data.notes}
    assert notes["samples_without_covariate"]["samples"] == ["S3"]
    assert notes["labels_merged"]["column"] == "batch"
    assert [item.levels for item in data.covariates.items] == [None, ("B1", "B2")]


@pytest.mark.parametrize(
    ("change", "key", "match"),
    [
        ("[age, bach]", "adjust_for", "no column 'bach' to be the covariate. Did you mean 'batch'"),
        ("[age, group]", "adjust_for", "cannot be a covariate and the target"),
        ("[city]", "adjust_for", "nothing to adjust for"),
        ("[same]", "adjust_for", "determines the target"),
        ("[mixed]", "adjust_for", "is not a number"),
    ],
)
def test_bad_covariates(folder, change, key, match):
    _, sheet = frames()
    sheet.insert(0, "same", sheet["group"].str.upper())
    sheet["mixed"] = sheet["age"].astype(object)
    sheet.loc["S7", "mixed"] = "old"
    sheet.to_csv("patients.csv")
    Path("study.yaml").write_text(STUDY.replace("[age, batch]", change), encoding="utf-8")
    with pytest.raises(StudyError, match=match) as caught:
        check_study(load_study("study.yaml"))
    assert [problem.path[:2] for problem in caught.value.problems] == [("data", key)]


def test_init_suggests_what_to_adjust_for(folder):
    main(["init", "values.csv", "--samples", "patients.csv", "--target", "group", "-o", "new.yaml"])
    assert "# adjust_for: [age, batch]" in Path("new.yaml").read_text(encoding="utf-8")
    values, sheet = frames()
    roles = infer_columns(Table(values.join(sheet), frozenset(), Path("t.csv")), "group")
    assert roles.covariates == ("age", "batch")


def test_validation_of_a_study_tells_what_features_add(folder, capsys):
    main(["validate", "study.yaml", "--cv", "2", "--repeats", "1"])
    out = capsys.readouterr().out
    assert "covariates alone" in out
    assert "age and batch" in out
