"""Runs that are stopped and go on, in one process or two, with and without data."""

import json
import zlib
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from ubayfs.exceptions import InputError
from ubayfs_experiments import runner, store
from ubayfs_experiments.data.catalogue import load
from ubayfs_experiments.data.splits import make_split
from ubayfs_experiments.registry import named
from ubayfs_experiments.runner import run
from ubayfs_experiments.tasks import Experiment, Outcome, Scale, Task

REAL = named(["2"])
ONLY = "2/BCW/ubayfs_"


def table_of(directory, experiment="2"):
    """Return the table but for what a clock says."""
    return store.read_frames(directory, [experiment])[experiment].drop(columns="seconds")


def rows_of(directory, experiment="2"):
    """Return all rows, with what a clock says: the same only if they were not run again."""
    frame = store.read_frames(directory, [experiment])[experiment]
    return set(frame.astype(str).itertuples(index=False, name=None))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    directory = tmp_path_factory.mktemp("runner") / "run"
    assert run(REAL, directory, None, quick=True, only=ONLY) == 3
    return directory


def numbers_of(task, dataset, split, seed):
    """What a split was given, as outcomes: quick, and different for everything that matters."""
    state = seed.generate_state(2)
    features = tuple(sorted({int(state[0] % 30), int(state[1] % 30)}))
    return [
        Outcome(
            {"scenario": "standard"}, features, 0.0, {"rows": int(split.train.sum()), "sum": float(dataset.X.sum())}
        )
    ]


def small(n_splits=6, data=("BCW",), run_split=numbers_of, name="small"):
    """An experiment that takes no time."""

    def tasks(scale):
        return [Task(name, one, method, scale.splits(n_splits)) for one in data for method in ("a", "b")]

    return Experiment(name, "small", tasks, run_split, {"n_splits": n_splits})


def test_every_split_of_every_cell_is_run(undisturbed):
    frame = table_of(undisturbed)
    assert set(zip(frame["method"], frame["split"], strict=True)) == {
        (f"ubayfs_{name}", number) for name in ("mrmr", "fisher", "tree") for number in range(2)
    }
    run_file = store.read_run(undisturbed)
    assert run_file["seed"] == runner.SEED
    assert run_file["quick"] is True
    assert set(run_file["versions"]) >= {"python", "ubayfs", "numpy", "scipy", "scikit-learn", "pandas"}


def test_two_processes_give_what_one_gives_though_they_were_stopped(undisturbed, tmp_path):
    done = []

    def stop(cell, count, total):
        done.extend([cell] * (count > 0))
        if len(done) == 3:  # one cell, and a split of the next
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(REAL, tmp_path / "run", None, quick=True, only=ONLY, n_jobs=2, progress=stop)
    assert sorted(cell["done"] for cell in store.cells(tmp_path / "run")) == [1, 2]
    # In this process, which has imported everything: two more would take seconds to begin.
    assert run(REAL, tmp_path / "run", None, quick=True, only=ONLY) == 3
    pd.testing.assert_frame_equal(table_of(tmp_path / "run"), table_of(undisturbed))


@pytest.mark.parametrize("stop_after", [1, 3, 5])
def test_a_stopped_run_resumes_to_the_same_result(undisturbed, tmp_path, stop_after):
    done = []

    def stop(cell, count, total):
        if count:
            done.append((cell, count))
        if len(done) == stop_after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(REAL, tmp_path / "run", None, quick=True, only=ONLY, progress=stop)
    assert sum(cell["done"] for cell in store.cells(tmp_path / "run")) == stop_after
    stored = rows_of(tmp_path / "run")
    seen, notes = [], []
    progress = lambda cell, count, total: seen.append(count)  # noqa: E731
    assert run(REAL, tmp_path / "run", None, quick=True, only=ONLY, progress=progress, note=notes.append) == 3
    complete, begun = stop_after // 2, stop_after % 2
    assert notes == [f"Resuming: {complete} of 3 cells are complete already, {begun} in part."]
    assert stored <= rows_of(tmp_path / "run")
    # A call when a cell begins, and one per split that was not done.
    assert len(seen) == (3 - complete) + (6 - stop_after)
    pd.testing.assert_frame_equal(table_of(tmp_path / "run"), table_of(undisturbed))


def test_a_split_that_fails_loses_nothing_that_is_done(tmp_path):
    def failing(task, dataset, split, seed):
        if task.method == "b" and split.number == 2:
            raise KeyboardInterrupt
        return numbers_of(task, dataset, split, seed)

    with pytest.raises(KeyboardInterrupt):
        run([small(run_split=failing)], tmp_path / "run", None)
    assert {cell["name"]: cell["done"] for cell in store.cells(tmp_path / "run")} == {
        "small/BCW/a": 6,
        "small/BCW/b": 2,
    }
    run([small()], tmp_path / "run", None)
    run([small()], tmp_path / "whole", None)
    pd.testing.assert_frame_equal(table_of(tmp_path / "run", "small"), table_of(tmp_path / "whole", "small"))


def test_a_line_that_was_cut_off_is_run_again(tmp_path):
    def stop(cell, count, total):
        if count == 3:
            raise KeyboardInterrupt

    run([small()], tmp_path / "whole", None)
    with pytest.raises(KeyboardInterrupt):
        run([small()], tmp_path / "run", None, progress=stop)
    path = store.cell_path(tmp_path / "run", "small/BCW/a")
    path.write_bytes(path.read_bytes()[:-40])
    assert store.cells(tmp_path / "run")[0]["done"] == 2
    assert run([small()], tmp_path / "run", None) == 2
    pd.testing.assert_frame_equal(table_of(tmp_path / "run", "small"), table_of(tmp_path / "whole", "small"))


def test_a_finished_run_is_not_touched(undisturbed, state_of):
    before, seen, notes = state_of(undisturbed), [], []
    assert (
        run(REAL, undisturbed, None, quick=True, only=ONLY, progress=lambda *a: seen.append(a), note=notes.append) == 3
    )
    assert seen == []
    assert notes == ["Resuming: 3 of 3 cells are complete already, 0 in part."]
    assert state_of(undisturbed) == before


def test_a_new_run_says_nothing_of_going_on(tmp_path):
    notes = []
    run([small()], tmp_path / "run", None, note=notes.append)
    assert notes == []


def test_progress_names_the_cell_and_its_place(tmp_path):
    seen = []
    run([small(n_splits=2)], tmp_path / "run", None, progress=lambda *a: seen.append(a))
    assert seen == [
        (f"small/BCW/{name} ({place} of 2)", done, 2) for place, name in ((1, "a"), (2, "b")) for done in range(3)
    ]


def test_outcomes_depend_on_the_seed_and_on_nothing_that_was_run_before(tmp_path):
    run([small()], tmp_path / "one", None, seed=1)
    run([small()], tmp_path / "two", None, seed=2)
    run([small()], tmp_path / "part", None, seed=1, only="/b")
    one, two, part = (table_of(tmp_path / name, "small") for name in ("one", "two", "part"))
    assert not one["rows"].equals(two["rows"])
    pd.testing.assert_frame_equal(one[one["method"] == "b"].reset_index(drop=True), part)
    # The same rows and the same seed for every method: they are compared in pairs.
    assert one[one["method"] == "a"]["rows"].tolist() == part["rows"].tolist()
    assert one[one["method"] == "a"]["features"].tolist() == part["features"].tolist()


def test_a_split_has_its_own_rows_and_its_own_seed(tmp_path):
    """Written out, because a run of today must go on tomorrow with the same ones."""
    seen = {}

    def look(task, dataset, split, seed):
        seen[split.number] = (seed.generate_state(4).tolist(), split.test.tolist())
        return []

    run([small(n_splits=3, run_split=look)], tmp_path / "run", None, seed=7, only="/a")
    for number in range(3):
        parts = [zlib.crc32(b"BCW"), zlib.crc32(b"random"), number, zlib.crc32(b"method")]
        seed = np.random.SeedSequence([7, *parts])
        assert seen[number][0] == seed.generate_state(4).tolist()
        rows = make_split(load("BCW", None, 7), "random", number, 7)
        assert seen[number][1] == rows.test.tolist()
    assert len({tuple(test) for _, test in seen.values()}) == 3


def test_absent_data_are_reported_once_and_left_out(tmp_path):
    notes = []
    experiment = small(data=("HD", "BCW", "PRO"))
    assert run([experiment], tmp_path / "run", None, note=notes.append) == 2
    assert [note.split(":")[0] for note in notes] == ["HD is left out", "PRO is left out"]
    assert "--data-dir" in notes[0]
    assert {cell["name"] for cell in store.cells(tmp_path / "run")} == {"small/BCW/a", "small/BCW/b"}
    (tmp_path / "data").mkdir()
    notes.clear()
    assert run([experiment], tmp_path / "run", tmp_path / "data", note=notes.append) == 2
    assert notes[0] == "Resuming: 2 of 6 cells are complete already, 0 in part."
    assert "UCI" in notes[1]
    assert "spls" in notes[2]


def test_complete_cells_need_no_data(data_dir, tmp_path):
    experiment, notes = small(data=("HD",)), []
    run([experiment], tmp_path / "run", data_dir)
    assert run([experiment], tmp_path / "run", None, note=notes.append) == 2
    assert len(notes) == 1


def test_a_file_that_is_not_what_it_should_be_stops_the_run(tmp_path):
    (tmp_path / "HD.csv.gz").write_bytes(b"")
    with pytest.raises(InputError, match=r"HD\.csv\.gz could not be read"):
        run([small(data=("HD",))], tmp_path / "run", tmp_path)


@pytest.mark.parametrize("only", ["2/PRX", "2\\BCW", "bcw"])
def test_no_cell_of_the_name(tmp_path, only):
    with pytest.raises(
        InputError, match="--only must be a part of the name of a cell, such as '2/PRO'; no cell contains"
    ):
        run(REAL, tmp_path / "run", None, only=only)
    assert list(tmp_path.iterdir()) == []


OTHERS = {
    "seed": ({"seed": 5}, small(), "another seed: 20221 there, 5 now"),
    "quick": ({"quick": True}, small(), "another quick: False there, True now"),
    "n_splits": ({}, small(n_splits=7), "another n_splits of experiment small: 6 there, 7 now"),
    "task": ({}, replace(small(), tasks=lambda scale: [Task("small", "BCW", "b", 6, settings={"n_models": 9})]),
             r"another settings of the cell small/BCW/b: \{\} there, \{'n_models': 9\} now"),
}  # fmt: skip


@pytest.mark.parametrize("kind", OTHERS)
@pytest.mark.parametrize("with_another", [False, True])
def test_another_run_in_the_same_directory_changes_no_byte(tmp_path, kind, with_another, state_of):
    run([small()], tmp_path / "run", None)
    before = state_of(tmp_path)
    options, experiment, message = OTHERS[kind]
    experiments = [small(name="new"), experiment] if with_another else [experiment]
    with pytest.raises(InputError, match=message):
        run(experiments, tmp_path / "run", None, **options)
    assert state_of(tmp_path) == before


def test_experiments_are_added_to_a_run(tmp_path):
    run([small()], tmp_path / "run", None)
    before = rows_of(tmp_path / "run", "small")
    assert run([small(name="new")], tmp_path / "run", None) == 2
    assert rows_of(tmp_path / "run", "small") == before
    assert [cell["name"].split("/")[0] for cell in store.cells(tmp_path / "run")] == ["new", "new", "small", "small"]
    assert set(store.read_run(tmp_path / "run")["settings"]) == {"small", "new"}


def test_settings_of_all_experiments_go_through_json():
    """Otherwise a run that goes on would differ from itself."""
    for experiment in named(["all"]):
        plain = store._plain(experiment.settings)
        assert json.loads(json.dumps(plain, allow_nan=False)) == plain
        for task in experiment.tasks(Scale()):
            settings = store._plain(task.settings)
            assert json.loads(json.dumps(settings, allow_nan=False)) == settings


def test_methods_use_one_thread(tmp_path):
    """Seconds are those of one processor."""
    from threadpoolctl import threadpool_info

    threads = []

    def look(task, dataset, split, seed):
        np.ones((2, 2)) @ np.ones((2, 2))
        threads.extend(one["num_threads"] for one in threadpool_info())
        return []

    run([small(n_splits=1, run_split=look)], tmp_path / "run", None)
    assert set(threads) == {1}
