"""What a report says must be enough: the study in it repeats the result, and nothing in it is written twice."""

import json
import shutil
from pathlib import Path

import yaml

from ubayfs.plotting import DISPLAYS


def test_the_study_in_the_report_repeats_the_result_without_the_tables(folder, run):
    Path("known.csv").write_text(
        "feature,weight,block\nmean radius,very likely,size\nmean area,unlikely,size\nmean texture,3,look\n",
        encoding="utf-8",
    )
    Path("with_table.yaml").write_text(
        "data: {path: cells.csv, target: diagnosis}\n"
        "evidence: {selector: fisher, n_models: 10, n_features_per_model: 3, seed: 0}\n"
        "prior: {table: known.csv}\nblocks: {table: known.csv}\n"
        "constraints: [{max_size: {n: 3, rho: hard}}, {max_per_block: 1}]\noutputs: {n_draws: 0}\n",
        encoding="utf-8",
    )
    done = run("select", "with_table.yaml", "-o", "first")
    assert done.code == 0, done.err
    listing = Path("first/report.md").read_text(encoding="utf-8").split("The study as used:")[1].split("```")[1]
    summary = json.loads(Path("first/summary.json").read_text(encoding="utf-8"))
    assert yaml.safe_load(listing) == summary["study"]
    # A later version with other defaults reads it with those of this version, as the file beside it.
    stored = yaml.safe_load(Path("first/study.yaml").read_text(encoding="utf-8"))
    assert summary["study"]["versions"] == stored["versions"]
    alone = folder / "alone"
    alone.mkdir()
    shutil.copy("cells.csv", alone)
    (alone / "study.yaml").write_text(listing, encoding="utf-8")
    done = run("select", alone / "study.yaml", "-o", alone / "second")
    assert done.code == 0, done.err
    again = json.loads((alone / "second/summary.json").read_text(encoding="utf-8"))
    assert (again["chosen"], again["value"]) == (summary["chosen"], summary["value"])
    assert again["prior"] == summary["prior"]
    assert summary["prior"]["words"] == {"mean radius": "very likely"}
    assert summary["prior"]["unlikely"] == ["mean area"]


def test_an_empty_choice_is_reported_without_blank_lines(folder, run):
    done = run("select", "cells.csv", "--target", "diagnosis", "--selector", "fisher", "--max-size", 0, "--models", 5,
               "--draws", 0, "-o", "none")  # fmt: skip
    assert done.code == 0, done.err
    assert done.out.startswith("0 of 8 features were selected.\n\nScore 1,")


def test_letters_that_no_font_has_are_noted_once(folder, run, monkeypatch, real_figures):
    for name in set(DISPLAYS) - {"evidence", "posterior"}:  # two are enough to be noted twice
        monkeypatch.delitem(DISPLAYS, name)
    table = Path("cells.csv").read_text(encoding="utf-8").replace("worst radius", "\U00013000")
    Path("signs.csv").write_text(table, encoding="utf-8")
    done = run("select", "signs.csv", "--target", "diagnosis", "--selector", "fisher", "--max-size", 3, "--models", 5,
               "--draws", 0, "-o", "signs")  # fmt: skip
    assert done.code == 0, done.err
    assert done.err.count("some letters are drawn as boxes") == 1
    assert "Note: some letters are drawn as boxes" in done.err
