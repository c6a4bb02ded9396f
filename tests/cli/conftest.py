"""A small study on disk, and a way to run commands in it."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from sklearn.datasets import load_breast_cancer

from ubayfs.cli.main import main

STUDY = """\
data:
  path: cells.csv
  target: diagnosis
evidence:
  selector: fisher
  n_models: 30
  n_features_per_model: 4
  seed: 0
prior:
  weights:
    features: {worst smoothness: likely}
constraints:
  - max_size: {n: 4, rho: hard}
  - cannot_link: [worst radius, worst area]
decision:
  n_alternatives: 2
trust:
  level: none
outputs:
  figures: []
  n_draws: 3
"""


@pytest.fixture(scope="session")
def cells():
    """Return 8 columns of the breast cancer data, with the diagnosis in words."""
    data = load_breast_cancer(as_frame=True)
    names = [f"{block} {what}" for block in ("mean", "worst") for what in ("radius", "texture", "area", "smoothness")]
    return data.data[names].assign(diagnosis=data.target.map({0: "malignant", 1: "benign"}))


@pytest.fixture(scope="session")
def table(cells):
    """Return the same as the text of a file."""
    return cells.to_csv(index=False)


@pytest.fixture
def folder(tmp_path, monkeypatch, table):
    """An own folder with a table and a study, which is the current one."""
    monkeypatch.chdir(tmp_path)
    Path("cells.csv").write_text(table, encoding="utf-8")
    Path("study.yaml").write_text(STUDY, encoding="utf-8")
    return tmp_path


@pytest.fixture
def real_figures():
    """Asked for by tests that look at figures."""


@pytest.fixture(autouse=True)
def figures_where_asked_for(request):
    """Most commands are not tested for their figures, which take longer than everything else."""
    if "real_figures" not in request.fixturenames:
        request.getfixturevalue("blank_figures")


@pytest.fixture(autouse=True)
def trust_where_asked_for(monkeypatch):
    """Repeating everything takes longer than most of what is tested; commands that ask for a level do it."""
    monkeypatch.setattr("ubayfs.study.trust_work.level_for", lambda *work: "none")
    small_forests(monkeypatch)


def small_forests(patch):
    """Let validations have forests of few trees."""
    patch.setattr("ubayfs.trust.predictors.N_TREES", 5)


@pytest.fixture
def run(capsys):
    """Return a function that runs a command and gives its code and what it printed."""

    def command(*arguments):
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return SimpleNamespace(code=code, out=printed.out, err=printed.err)

    return command


@pytest.fixture(scope="session")
def finished(tmp_path_factory, table, without_figures):
    """The directory of a result that tests only read."""
    folder = tmp_path_factory.mktemp("finished")
    (folder / "cells.csv").write_text(table, encoding="utf-8")
    (folder / "study.yaml").write_text(STUDY, encoding="utf-8")
    with without_figures():
        assert main(["select", str(folder / "study.yaml")]) == 0
    return folder / "results"


@pytest.fixture
def chosen(folder, finished):
    """The same folder after ``select study.yaml``."""
    shutil.copytree(finished, folder / "results")
    return folder


def summary_of(directory):
    return json.loads((directory / "summary.json").read_text(encoding="utf-8"))
