"""The published results: small, complete, and what the report and the code of today make of them."""

from pathlib import Path

import pandas as pd
import pytest

from ubayfs_experiments import runner, store
from ubayfs_experiments.analysis import differences, tables
from ubayfs_experiments.registry import EXPERIMENTS
from ubayfs_experiments.tasks import Scale

RESULTS = Path(__file__).parents[1] / "results"


@pytest.fixture(scope="module")
def frames():
    return store.read_frames(RESULTS, EXPERIMENTS)


def test_they_are_one_table_and_what_is_made_of_it():
    files = [path.relative_to(RESULTS).as_posix() for path in RESULTS.rglob("*") if path.is_file()]
    assert sorted(name for name in files if not name.startswith("tables/")) == [
        "calibration/cells.csv", "calibration/run.json", "calibration/splits.csv.gz",
        "cells.csv", "growth/cells.csv", "growth/run.json", "growth/splits.csv.gz", "growth/table.md",
        "questions/cells.csv", "questions/run.json", "questions/splits.csv.gz", "questions/table.md",
        "report.html", "run.json", "splits.csv.gz",
        "trial/by_design.md", "trial/cells.csv", "trial/run.json", "trial/splits.csv.gz",
    ]  # fmt: skip
    assert sum((RESULTS / name).stat().st_size for name in files) < 5e6


def test_every_cell_is_complete_but_those_of_data_that_are_not_public():
    expected = {task.name for one in EXPERIMENTS.values() for task in one.tasks(Scale()) if task.data != "p53"}
    cells = store.cells(RESULTS)
    assert {cell["name"] for cell in cells} == expected
    assert all(cell["done"] == cell["n_splits"] for cell in cells)


def test_a_run_can_be_resumed_from_them():
    work = [task for one in EXPERIMENTS.values() for task in one.tasks(Scale()) if task.data != "p53"]
    settings = {name: one.settings for name, one in EXPERIMENTS.items()}
    store.check_run(RESULTS, runner.SEED, False, settings)
    done = store.done_splits(RESULTS, work)
    assert all(len(done[task.name]) == task.n_splits for task in work)


@pytest.mark.parametrize("name", ["1a", "2_against_paper", "2-paper", "optimizers_compared", "controls_compared"])
def test_the_tables_are_those_of_the_splits(frames, name):
    make = {
        "1a": lambda: tables.tidy("1a", frames["1a"]),
        "2-paper": lambda: tables.tidy("2-paper", frames["2-paper"]),
        "2_against_paper": lambda: differences.compare(frames["2"]),
        "optimizers_compared": lambda: tables.optimizer_table(frames["optimizers"]),
        "controls_compared": lambda: tables.control_table(frames["controls"]),
    }
    published = pd.read_csv(RESULTS / "tables" / f"{name}.csv")
    pd.testing.assert_frame_equal(make[name](), published, check_dtype=False, rtol=1e-8)


@pytest.mark.parametrize("method", ["rent", "group_lasso", "ubayfs_fisher"])
def test_a_split_that_is_run_again_gives_the_published_sets(frames, method):
    (task,) = [one for one in EXPERIMENTS["2"].tasks(Scale()) if one.name == f"2/BCW/{method}"]
    _, outcomes = runner._run_one(task, EXPERIMENTS["2"].run_split, 3, None, runner.SEED)
    rows = frames["2"].query("data == 'BCW' and method == @method and split == 3")
    assert [(one.setting["scenario"], one.features) for one in outcomes] == list(
        rows[["scenario", "features"]].itertuples(index=False, name=None)
    )


@pytest.mark.parametrize("method", ["random_forest", "group_lasso", "ubayfs_tree"])
def test_so_does_one_by_the_authors_protocol(frames, method):
    (task,) = [one for one in EXPERIMENTS["2-paper"].tasks(Scale()) if one.name == f"2-paper/BCW/{method}"]
    _, outcomes = runner._run_one(task, EXPERIMENTS["2-paper"].run_split, 3, None, runner.SEED)
    rows = frames["2-paper"].query("data == 'BCW' and method == @method and split == 3")
    assert [(one.setting["scenario"], one.features) for one in outcomes] == list(
        rows[["scenario", "features"]].itertuples(index=False, name=None)
    )
