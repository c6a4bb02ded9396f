"""All experiments in small, from the command line to the report, as a newcomer without the data directory runs them."""

from dataclasses import replace

import pytest

from ubayfs import Genetic
from ubayfs_experiments import store
from ubayfs_experiments.analysis.tables import GUIDED, TO_THE_LETTER
from ubayfs_experiments.cli import OK, main
from ubayfs_experiments.data.catalogue import ENVIRONMENT, SOURCES
from ubayfs_experiments.designs import causes, controls, optimizers, real_world, simulation
from ubayfs_experiments.registry import EXPERIMENTS
from ubayfs_experiments.report import content
from ubayfs_experiments.report.content import Content
from ubayfs_experiments.report.page import as_csv
from ubayfs_experiments.tasks import Scale


@pytest.fixture(scope="module", autouse=True)
def smaller():
    """All experiments, competitors, splits and figures of a quick run; few models and selectors, empty pictures."""
    one = {"ubayfs_fisher": "fisher"}  # beside experiment 2, which has all
    others = set(real_world.SELECTORS) - set(one)
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(ENVIRONMENT, raising=False)
        patch.setattr(Scale, "models", lambda self, full: min(full, 2))
        patch.setattr(simulation, "QUICK_SELECTORS", ("fisher",))
        for design in (controls, optimizers):
            patch.setattr(design, "SELECTORS", one)
        for name, variant in list(causes.VARIANTS.items()):
            methods = tuple(method for method in variant.methods if method not in others) or variant.methods
            options = (("optimizer", Genetic(5, 5)),) if variant.cause == "optimizer" else variant.options
            patch.setitem(causes.VARIANTS, name, replace(variant, methods=methods, options=options))
        for name in (GUIDED, TO_THE_LETTER):
            patch.setitem(optimizers.SETTINGS, name, {**optimizers.SETTINGS[name], "n_sets": 5})
        patch.setattr(content, "png", lambda drawing: b"a picture: test_figures.py")
        yield


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The directory of a quick run of everything that needs no file."""
    directory = tmp_path_factory.mktemp("experiments") / "run"
    assert main(["run", "all", "--quick", "-o", str(directory)]) == OK
    assert main(["report", "-o", str(directory)]) == OK
    return directory


def test_every_cell_whose_data_need_no_file_is_complete(ran):
    expected = {
        task.name
        for experiment in EXPERIMENTS.values()
        for task in experiment.tasks(Scale(True))
        if SOURCES[task.data].path is None
    }
    found = store.cells(ran)
    assert {cell["name"] for cell in found} == expected
    assert all(cell["done"] == cell["n_splits"] for cell in found)


def test_the_report_tells_every_experiment_and_needs_nothing_else(ran):
    page = (ran / "report.html").read_text(encoding="utf-8")
    for word in ("random forest", "RENT", "genetic", "shuffled", "unknown", "p53"):
        assert word in page
    # 1a and its draws, 1b, 1c, 1d, 2 with its blocks, trade-off and seconds, and the optimizers: what needs no file.
    assert page.count("data:image/") == 10
    assert page.count("<script") == page.count("<script>") == 1  # the one of every report, which loads nothing
    assert 'src="http' not in page
    for experiment in EXPERIMENTS:
        assert (ran / "tables" / f"{experiment}.csv").is_file(), experiment


def test_what_a_run_leaves(ran):
    assert sorted(path.name for path in ran.iterdir()) == [
        "cells.csv", "report.html", "run.json", "splits.csv.gz", "tables",
    ]  # fmt: skip


def test_a_second_run_and_a_second_report_change_nothing(ran, state_of):
    before = state_of(ran)
    assert main(["run", "all", "--quick", "-o", str(ran)]) == OK
    assert state_of(ran) == before
    tables = Content.read(ran).tables()
    assert {f"{name}.csv" for name in tables} == {path.name for path in (ran / "tables").iterdir()}
    for name, table in tables.items():
        assert (ran / "tables" / f"{name}.csv").read_bytes() == as_csv(table)
