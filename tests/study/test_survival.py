"""Survival in study files, tables, on the command line and in the report."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from survivals import planted
from ubayfs import Survival, collect_evidence, read_data
from ubayfs.cli.main import main
from ubayfs.data.hazards import fit_cox
from ubayfs.exceptions import InputError, StudyError
from ubayfs.results import read_result
from ubayfs.study import load_study, resolve_study
from ubayfs.tables import Table
from ubayfs.tables.column_roles import infer_columns

STUDY = """\
data:
  path: patients.csv
  target: {time: days, event: vital status}
evidence: {selector: cox, n_models: 10, seed: 1}
constraints:
  - max_size: {n: 2, rho: hard}
trust: {level: none}
outputs: {figures: [], n_draws: 0}
"""


def frame(n=80, **columns):
    X, y = planted(n, 6, strength=1.5)
    found = pd.DataFrame(X, columns=[f"g{j}" for j in range(6)]).assign(days=np.round(1 + 1000 * y.time))
    return found.assign(**{"vital status": np.where(y.event, "Dead", "Alive")}).assign(**columns)


@pytest.fixture
def folder(tmp_path, monkeypatch, blank_figures):
    monkeypatch.chdir(tmp_path)
    frame().to_csv("patients.csv", index=False)
    Path("study.yaml").write_text(STUDY, encoding="utf-8")
    return tmp_path


def test_a_study_finds_what_python_finds(folder):
    table = frame()
    main(["select", "study.yaml", "-o", "out"])
    result = read_result("out")
    y = Survival(table["days"], table["vital status"])
    with pytest.warns(match="taken as the event"):
        expected = collect_evidence(table[[f"g{j}" for j in range(6)]], y, selector="cox", n_models=10, random_state=1)
    np.testing.assert_array_equal(result.evidence.counts, expected.counts)
    assert set(result.selection.features) == {"g0", "g1"}
    assert result.study.data.target == {"time": "days", "event": "vital status"}
    assert load_study("out/study.yaml").data.target == result.study.data.target
    summary = json.loads(Path("out/summary.json").read_text(encoding="utf-8"))
    assert {part["label"]: part["count"] for part in summary["data"]["classes"]} == {
        "censored": int((~y.event).sum()),
        "event": int(y.event.sum()),
    }
    ratios = {record["feature"]: record["hazard_ratio"] for record in summary["chosen"]}
    assert ratios["g0"] > 1 > ratios["g1"]
    x = table["g0"].to_numpy()
    alone = fit_cox(((x - x.mean()) / x.std())[:, None], y.time, y.event).coefficients[0]
    assert ratios["g0"] == pytest.approx(np.exp(alone))
    report = Path("out/report.md").read_text(encoding="utf-8")
    for words in ("days, event vital status", "higher risk", "lower risk", "Median follow-up"):
        assert words in report
    main(["decide", "out", "--max-size", "1", "-o", "one"])
    again = json.loads(Path("one/summary.json").read_text(encoding="utf-8"))
    assert again["chosen"][0]["hazard_ratio"] == ratios[again["chosen"][0]["feature"]]
    main(["compare", "out", "one"])


def test_the_command_line_names_time_and_event(folder, capsys):
    main(["check", "patients.csv", "--target", "time=days,event=vital status", "--selector", "cox", "--max-size", "2"])
    shown = capsys.readouterr().out
    assert "days, event vital status, task survival: censored" in shown
    assert "follow-up" in shown


@pytest.mark.parametrize("options", [[], ["--time", "days", "--event", "vital status"]])
def test_init_writes_a_study_that_runs(folder, options):
    main(["init", "patients.csv", *options, "--force"])
    data = load_study("study.yaml").data
    assert data.target == {"time": "days", "event": "vital status"} or not options
    if not options:  # "days" alone may be anything
        frame().rename(columns={"days": "OS_DAYS", "vital status": "OS_STATUS"}).assign(PFS_DAYS=range(80)).to_csv(
            "more.csv", index=False
        )
        main(["init", "more.csv", "-o", "more.yaml"])
        data = load_study("more.yaml").data
        assert data.target == {"time": "OS_DAYS", "event": "OS_STATUS"}
        assert data.ignore == ("PFS_DAYS",)
        assert resolve_study(load_study("more.yaml")).data.target.task == "survival"


def test_init_refuses_half_of_a_target(folder):
    assert main(["init", "patients.csv", "--time", "days", "--force"]) == 2
    assert main(["init", "patients.csv", "--time", "days", "--event", "vital status", "--target", "g0", "--force"]) == 2


def test_classes_beside_a_time_stay_the_target():
    table = frame().rename(columns={"days": "time"}).assign(diagnosis=["a", "b"] * 40)
    assert infer_columns(Table(table, frozenset(), Path("t.csv"))).target == "diagnosis"


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"days": -1.0}, "negative values in 80 sample"),
        ({"days": ["long"] * 80}, "holds no numbers"),
        ({"vital status": ["alive", "dead", "dead of other causes", "lost"] * 20}, "Competing risks"),
        ({"vital status": "alive"}, "0 event"),
    ],
)
def test_wrong_columns_are_problems_of_the_target(folder, columns, words):
    frame(**columns).to_csv("patients.csv", index=False)
    with pytest.raises(StudyError, match=words) as raised:
        resolve_study(load_study("study.yaml"))
    assert raised.value.problems[0].path == ("data", "target")
    assert raised.value.problems[0].line == 3


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("{time: days}", "COLUMN"),
        ("{entry: g0, time: days, event: vital status}", "Delayed entry"),
        ("{lower: g0, upper: days, event: vital status}", "Interval censoring"),
        ("{time: dais, event: vital status}", "Did you mean 'days'"),
        ("{time: days, event: vital status}\n  task: binary", "does not fit"),
        ("days\n  task: survival", "does not fit"),
    ],
)
def test_wrong_targets_are_refused(folder, target, words):
    Path("study.yaml").write_text(STUDY.replace("{time: days, event: vital status}", target), encoding="utf-8")
    with pytest.raises(StudyError, match=words):
        resolve_study(load_study("study.yaml"))


def test_samples_without_time_or_event_leave_with_notice(folder):
    table = frame()
    table.loc[3, "days"] = np.nan
    table.loc[[3, 4, 5], "vital status"] = np.nan
    table.loc[7, "vital status"] = "  dead"
    table.to_csv("patients.csv", index=False)
    data = read_data("patients.csv", target={"time": "days", "event": "vital status"})
    assert data.n_samples == 77
    assert [note.code for note in data.notes] == ["samples_without_target", "labels_merged"]


def test_a_sample_sheet_with_padded_numbers(folder):
    table = frame()
    table.index = [f"s{i}" for i in range(80)]
    table[[f"g{j}" for j in range(6)]].T.to_csv("genes.tsv", sep="\t", index_label="gene")
    sheet = pd.DataFrame(
        {
            "survival": [f"  {t:.0f}" for t in table["days"]],
            "status": [f" {int(e == 'Dead')}" for e in table["vital status"]],
        },
        index=table.index,
    )
    sheet.T.to_csv("clinical.tsv", sep="\t", index_label="attribute")
    data = read_data(
        "genes.tsv", samples="clinical.tsv", features_in="rows", target={"time": "survival", "event": "status"}
    )
    np.testing.assert_array_equal(data.target.time, table["days"])
    assert data.target.event.sum() == (table["vital status"] == "Dead").sum()
    main(["init", "genes.tsv", "--samples", "clinical.tsv", "-o", "both.yaml"])
    assert load_study("both.yaml").data.target == {"time": "survival", "event": "status"}


def test_anndata_names_its_columns():
    anndata = pytest.importorskip("anndata")
    table = frame()
    table.index = [f"s{i}" for i in range(80)]
    table.loc["s3", "days"] = np.nan
    adata = anndata.AnnData(table[[f"g{j}" for j in range(6)]], obs=table[["days", "vital status"]])
    with pytest.warns():
        evidence = collect_evidence(
            adata, target={"time": "days", "event": "vital status"}, selector="cox", n_models=4, random_state=0
        )
    assert evidence.settings["task"] == "survival"
    assert evidence.settings["n_samples"] == 79
    with pytest.raises(InputError, match="time"):
        collect_evidence(adata, target={"event": "vital status"})


@pytest.mark.data
def test_ovarian_cancer(data_dir):
    folder = data_dir / "tcga_ov"
    data = read_data(
        {"miRNA": folder / "mirna.txt.gz", "RPPA": folder / "rppa.txt.gz"},
        samples=folder / "clinical.txt.gz",
        features_in="rows",
        target={"time": "overall_survival", "event": "status"},
        missing="available",
    )
    assert (data.n_samples, int(data.target.event.sum())) == (531, 312)
    for name in ("cox", "mrmr"):
        assert collect_evidence(data, selector=name, n_models=5, random_state=0).n_models == 5
