"""The directory of a run: what goes in comes out, nothing is overwritten, and damage is told."""

import gzip
import json
import math
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amounts import examples
from ubayfs.exceptions import InputError
from ubayfs_experiments import store
from ubayfs_experiments.tasks import Outcome, Task

SETTINGS = {"2": {"n_splits": 4, "rent": {"l1_ratio": 0.25, "criteria": [0.9, 0.9, 0.975]}, "rho": 1.0}}
ORIGIN = {"started": "2026-01-01", "versions": {"numpy": "2.0"}, "machine": "one"}
TASK = Task("2", "PRO", "rent", 4, settings={"n_models": 5, "grid": (1, 2)})
OTHER = Task("2", "MPE", "rent", 4, "groups")


def outcomes_of(number):
    return [
        Outcome({"scenario": scenario}, (number, number + 7), 0.25, {"svm_tp": 3 + number, "n_blocks": None, "f1": 0.1})
        for scenario in ("standard", "block")
    ]


def fill(directory, numbers, task=TASK):
    """Do what a run does for some splits."""
    store.open_run(directory, 1, False, SETTINGS, ORIGIN)
    store.begin_cell(directory, task, 6033, ORIGIN)
    for number in numbers:
        store.append_split(directory, task, number, outcomes_of(number))
    return directory


def read(directory, experiment):
    return store.read_frames(directory, [experiment])[experiment]


@pytest.fixture
def directory(tmp_path):
    return fill(tmp_path / "run", range(4))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A finished run that is only read, and its table."""
    directory = fill(tmp_path_factory.mktemp("store") / "whole", range(4))
    return directory, read(directory, "2")


def test_the_table_has_a_row_per_split_and_setting(whole):
    frame = whole[1]
    assert list(frame.columns) == [
        "experiment", "data", "scheme", "method", "split", "n_features", "features", "size", "seconds", "scenario",
        "svm_tp", "n_blocks", "f1",
    ]  # fmt: skip
    assert frame["split"].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert frame["features"].tolist() == [(n, n + 7) for n in range(4) for _ in range(2)]
    assert frame["svm_tp"].tolist() == [3, 3, 4, 4, 5, 5, 6, 6]
    assert frame["n_blocks"].isna().all()
    assert (frame["size"] == 2).all()
    assert set(frame["scheme"]) == {"random"}


def test_the_table_does_not_depend_on_the_order_of_splits(whole, tmp_path):
    pd.testing.assert_frame_equal(read(fill(tmp_path / "run", (2, 0, 3, 1)), "2"), whole[1])


def test_experiments_and_cells_are_apart(directory):
    fill(directory, (1,), OTHER)
    assert store.done_splits(directory, [OTHER])[OTHER.name] == {1}
    assert len(read(directory, "2")) == 10
    assert read(directory, "optimizers").empty
    found = {one["name"]: (one["done"], one["n_splits"]) for one in store.cells(directory)}
    assert found == {"2/PRO/rent": (4, 4), "2/MPE-groups/rent": (1, 4)}


def test_a_split_that_two_processes_did_counts_once(directory, whole):
    store.append_split(directory, TASK, 2, outcomes_of(2))
    assert store.cells(directory)[0]["done"] == 4
    pd.testing.assert_frame_equal(read(directory, "2"), whole[1])


def test_a_new_cell_has_no_splits(tmp_path):
    assert store.done_splits(tmp_path, [TASK])[TASK.name] == set()
    assert store.cells(tmp_path) == []


@settings(max_examples=examples(60))
@given(st.data())
def test_a_run_stopped_at_any_byte_resumes_to_the_same_table(whole, tmp_path_factory, data):
    content = store.cell_path(whole[0], TASK.name).read_bytes()
    header = content.index(b"\n") + 1
    cut = data.draw(st.integers(header, len(content)))
    directory = tmp_path_factory.mktemp("cut") / "run"
    shutil.copytree(whole[0], directory)
    store.cell_path(directory, TASK.name).write_bytes(content[:cut])
    store.open_run(directory, 1, False, SETTINGS, ORIGIN)
    done = store.done_splits(directory, [TASK])[TASK.name]
    assert done == set(range(content[header:cut].count(b"\n")))
    store.begin_cell(directory, TASK, 6033, ORIGIN)
    for number in sorted(set(range(4)) - done):
        store.append_split(directory, TASK, number, outcomes_of(number))
    pd.testing.assert_frame_equal(read(directory, "2"), whole[1])
    assert store.cell_path(directory, TASK.name).read_bytes() == content


def test_values_come_back_as_they_were(tmp_path):
    store.open_run(tmp_path, 1, False, SETTINGS, ORIGIN)
    store.begin_cell(tmp_path, TASK, 6033, ORIGIN)
    setting = {"rho": np.float64(0.1), "n": np.int64(3), "flag": np.bool_(True), "text": 'a\nb \u2264 "c"'}
    infinite = {"up": math.inf, "down": -np.float64(np.inf)}
    scores = {"a": np.float32(0.5), "nan": math.nan, **infinite, "none": None, "n": np.int64(7)}
    store.append_split(tmp_path, TASK, 0, [Outcome(setting, (np.int64(4),), np.float64(0.25), scores)])
    row = read(tmp_path, "2").iloc[0]
    assert (row["rho"], row["n"], row["text"]) == (0.1, 7, 'a\nb \u2264 "c"')  # a score of the same name wins
    assert row["flag"] in (True,)
    assert row["features"] == (4,)
    assert row["a"] == 0.5
    assert math.isnan(row["nan"])
    assert math.isnan(row["none"])
    assert (row["up"], row["down"]) == (math.inf, -math.inf)


@given(st.floats(), st.integers(-(2**60), 2**60))
def test_numbers_go_through_json_exactly(real, whole_number):
    line = json.loads(store._line({"real": np.float64(real), "whole": np.int64(whole_number)}))
    assert line["whole"] == whole_number
    back = store._number(line["real"])
    assert back == real or (math.isnan(back) and math.isnan(real))


def test_the_same_run_resumes_and_is_not_touched(directory, state_of):
    before = state_of(directory)
    store.open_run(directory, 1, False, SETTINGS, {"started": "later"})
    assert store.done_splits(directory, [TASK])[TASK.name] == {0, 1, 2, 3}
    store.begin_cell(directory, TASK, 6033, {"started": "later"})
    assert state_of(directory) == before
    assert store.read_run(directory)["started"] == "2026-01-01"


def test_experiments_may_be_added_later(directory, state_of):
    before = state_of(directory)
    more = {"optimizers": {"n_splits": 40}}
    store.open_run(directory, 1, False, more, {"started": "later"})
    run = store.read_run(directory)
    assert run["settings"] == {**SETTINGS, **more}
    assert run["started"] == "2026-01-01"
    store.open_run(directory, 1, False, SETTINGS, {"started": "later"})
    store.open_run(directory, 1, False, {**SETTINGS, **more}, {})
    changed = {path.name for path, state in state_of(directory).items() if before[path] != state}
    assert changed == {"run.json"}


def test_tuples_and_lists_and_numpy_numbers_are_the_same_settings(directory):
    same = {"2": {"n_splits": np.int64(4), "rent": {"l1_ratio": 0.25, "criteria": (0.9, 0.9, 0.975)}, "rho": 1}}
    store.check_run(directory, 1, False, same)


def with_setting(**changed):
    return {"2": {**SETTINGS["2"], **changed}}


OTHERS = {
    "seed": ((2, False, SETTINGS), "another seed: 1 there, 2 now"),
    "quick": ((1, True, SETTINGS), "another quick: False there, True now"),
    "setting": ((1, False, with_setting(rho=2.0)), r"another rho of experiment 2: 1\.0 there, 2\.0 now"),
    "new setting": ((1, False, with_setting(more=1)), "another more of experiment 2: None there, 1 now"),
    "old setting": (
        (1, False, {"2": {"n_splits": 4, "rho": 1.0}}),
        r"another rent of experiment 2: \{.*there, None now",
    ),
    "nested": ((1, False, with_setting(rent={"l1_ratio": 0.5})), "another rent of experiment 2"),
    "added": ((1, False, {"1a": {}, **with_setting(n_splits=9)}), "another n_splits of experiment 2: 4 there, 9 now"),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_another_run_in_the_same_directory_is_refused(directory, kind, state_of):
    arguments, message = OTHERS[kind]
    before = state_of(directory)
    with pytest.raises(InputError, match=message + r".*--output.*nothing was changed"):
        store.open_run(directory, *arguments, ORIGIN)
    assert state_of(directory) == before


def test_a_newer_format_is_refused(directory):
    path = directory / "run.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"format": 1', '"format": 2'), encoding="utf-8")
    with pytest.raises(InputError, match="another format: 2 there, 1 now"):
        store.open_run(directory, 1, False, SETTINGS, ORIGIN)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_splits": 5}, "another n_splits of the cell 2/PRO/rent: 4 there, 5 now"),
        (
            {"settings": {"n_models": 100, "grid": (1, 2)}},
            r"another settings of the cell 2/PRO/rent: .*5.* there, .*100",
        ),
    ],
)
def test_a_cell_of_another_task_is_refused(directory, change, message, state_of):
    before = state_of(directory)
    with pytest.raises(InputError, match=message):
        store.done_splits(directory, [replace(TASK, **change)])
    assert state_of(directory) == before


def test_a_directory_with_other_things_is_refused(tmp_path, state_of):
    (tmp_path / "thesis.tex").write_text("mine", encoding="utf-8")
    before = state_of(tmp_path)
    with pytest.raises(InputError, match=r"holds files, but no run of the experiments \(no run.json\).*--output"):
        store.open_run(tmp_path, 1, False, SETTINGS, ORIGIN)
    assert state_of(tmp_path) == before


def test_a_file_is_not_a_directory(tmp_path):
    path = tmp_path / "file"
    path.write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match=r"the output '.*file' is a file; name a directory with --output"):
        store.open_run(path, 1, False, SETTINGS, ORIGIN)
    assert path.read_text(encoding="utf-8") == "mine"


def test_directories_are_made_and_empty_ones_taken(tmp_path):
    store.open_run(tmp_path / "a" / "b", 1, False, SETTINGS, ORIGIN)
    (tmp_path / "empty").mkdir()
    store.open_run(tmp_path / "empty", 1, False, SETTINGS, ORIGIN)
    assert store.read_run(tmp_path / "a" / "b") == store.read_run(tmp_path / "empty")


def test_checking_makes_nothing(tmp_path):
    store.check_run(tmp_path / "new", 1, False, SETTINGS)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", ["", "{", "[]", "3", "{}", '{"settings": []}', '{"settings": {"2": 3}}', "\xff"])
def test_a_damaged_run_is_reported(directory, content, state_of):
    (directory / "run.json").write_bytes(content.encode("latin-1"))
    before = state_of(directory)
    with pytest.raises(InputError, match=r"run\.json is damaged .*--output"):
        store.open_run(directory, 1, False, SETTINGS, ORIGIN)
    assert state_of(directory) == before


def test_no_run_is_reported(tmp_path):
    for directory in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(InputError, match=r"holds no run of the experiments .*`ubayfs-experiments run`"):
            store.read_run(directory)


@pytest.mark.parametrize(
    "line", [b"{", b"", b"3", b"[]", b"\xff\xfe", b"{}", b'{"split":1}', b'"split outcomes"', b"null"]
)
@pytest.mark.parametrize("place", [0, 2])
def test_a_damaged_cell_is_reported(directory, line, place, state_of):
    path = store.cell_path(directory, TASK.name)
    lines = path.read_bytes().split(b"\n")
    lines[place] = line
    path.write_bytes(b"\n".join(lines))
    before = state_of(directory)
    for read, *more in ((store.done_splits, [TASK]), (store.read_frames, ["2"]), (store.cells,)):
        with pytest.raises(InputError, match=r"rent\.jsonl is damaged .*Move it away.*nothing was changed"):
            read(directory, *more)
    assert state_of(directory) == before


@pytest.mark.parametrize(
    ("place", "old", "new"),
    [
        (0, b'"task":{', b'"task":3,"was":{'),
        (0, b'"n_splits"', b'"splits"'),
        (1, b'"features"', b'"fetures"'),
        (1, b'"scores"', b'"score"'),
        (1, b'"split":', b'"split":[],"was":'),
        (1, b'"outcomes":', b'"outcomes":3,"was":'),
        (1, b'"outcomes":[', b'"outcomes":[null,'),
    ],
)
def test_a_cell_damaged_inside_a_line_is_reported(directory, place, old, new):
    path = store.cell_path(directory, TASK.name)
    lines = path.read_bytes().split(b"\n")
    assert old in lines[place]
    lines[place] = lines[place].replace(old, new, 1)
    path.write_bytes(b"\n".join(lines))
    for read, *more in ((store.done_splits, [TASK]), (store.read_frames, ["2"]), (store.cells,)):
        with pytest.raises(InputError, match=r"rent\.jsonl is damaged .*Move it away"):
            read(directory, *more)


def test_a_cell_without_a_first_line_is_reported(directory):
    store.cell_path(directory, TASK.name).write_bytes(b'{"task":{"exp')
    with pytest.raises(InputError, match="is damaged"):
        store.done_splits(directory, [TASK])[TASK.name]


def test_a_cell_of_other_data_is_refused(tmp_path):
    store.begin_cell(tmp_path, TASK, 6033, ORIGIN, "0123456789abcdef")
    store.check_data(tmp_path, TASK, "0123456789abcdef")
    with pytest.raises(InputError, match=r"another table .* \(digest\) in the cell .*0123.*there, 'ffff"):
        store.check_data(tmp_path, TASK, "ffff")


def test_a_cell_without_digest_continues(tmp_path):
    store.check_data(tmp_path, TASK, "ffff")
    store.begin_cell(tmp_path, TASK, 6033, ORIGIN)
    store.check_data(tmp_path, TASK, "ffff")


# -- the table of all splits -------------------------------------------------------------------------------------------


def files_of(directory):
    return sorted(path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file())


def test_complete_cells_move_to_one_table_that_reads_alike(directory):
    fill(directory, (1,), OTHER)
    before, cells = read(directory, "2"), store.cells(directory)
    store.pack(directory)
    assert files_of(directory) == ["cells.csv", "cells/2/MPE-groups/rent.jsonl", "run.json", "splits.csv.gz"]
    assert not (directory / "cells" / "2" / "PRO").exists()
    pd.testing.assert_frame_equal(read(directory, "2"), before)
    packed = store.cells(directory)
    assert [{key: cell[key] for key in cell if key != "n_rows"} for cell in packed] == cells
    assert store.done_splits(directory, [TASK, OTHER]) == {TASK.name: {0, 1, 2, 3}, OTHER.name: {1}}


def test_packing_again_changes_nothing(directory, state_of):
    store.pack(directory)
    before = state_of(directory)
    store.pack(directory)
    assert state_of(directory) == before


def test_a_cell_completed_later_joins_the_table(directory, whole):
    fill(directory, (1,), OTHER)
    store.pack(directory)
    fill(directory, (0, 2, 3), OTHER)
    before = read(directory, "2")
    store.pack(directory)
    assert files_of(directory) == ["cells.csv", "run.json", "splits.csv.gz"]
    pd.testing.assert_frame_equal(read(directory, "2"), before)
    assert [cell["name"] for cell in store.cells(directory)] == [OTHER.name, TASK.name]


def test_the_same_results_are_the_same_bytes(directory, tmp_path):
    other = fill(tmp_path / "other", (3, 1, 0, 2))
    for one in (directory, other):
        store.pack(one)
    for name in ("splits.csv.gz", "cells.csv"):
        assert (directory / name).read_bytes() == (other / name).read_bytes()


def test_the_table_is_plain_csv(directory):
    store.pack(directory)
    table = pd.read_csv(directory / "splits.csv.gz")
    assert len(table) == 8
    assert table["features"].tolist()[:3] == ["0 7", "0 7", "1 8"]
    assert table["svm_tp"].tolist() == [3, 3, 4, 4, 5, 5, 6, 6]


SCALARS = st.one_of(st.text(), st.integers(-(2**53), 2**53), st.floats(allow_nan=False), st.booleans())


@settings(max_examples=examples(30))
@given(st.lists(st.tuples(SCALARS, st.floats(), st.sets(st.integers(0, 99))), min_size=1, max_size=4))
def test_any_values_read_alike_before_and_after(tmp_path_factory, values):
    directory = tmp_path_factory.mktemp("values")
    task = replace(TASK, n_splits=len(values))
    store.begin_cell(directory, task, 100, ORIGIN)
    for number, (word, score, chosen) in enumerate(values):
        outcome = Outcome({"word": word}, tuple(sorted(chosen)), 0.1, {"score": score})
        store.append_split(directory, task, number, [outcome])
    before = read(directory, "2")
    store.pack(directory)
    pd.testing.assert_frame_equal(read(directory, "2"), before)


def test_a_crash_between_table_and_index_loses_and_doubles_nothing(directory, whole, monkeypatch):
    write, written = store.write_file, []

    def crash(path, content):
        if path.name == "cells.csv" and not written:
            written.append(path)
            raise OSError("no space left")
        write(path, content)

    monkeypatch.setattr(store, "write_file", crash)
    with pytest.raises(OSError, match="no space"):
        store.pack(directory)
    assert (directory / "splits.csv.gz").exists()
    pd.testing.assert_frame_equal(read(directory, "2"), whole[1])
    store.pack(directory)
    pd.testing.assert_frame_equal(read(directory, "2"), whole[1])


def test_a_split_of_a_packed_cell_is_not_stored_twice(directory, whole):
    store.pack(directory)
    store.append_split(directory, TASK, 2, outcomes_of(2))
    assert files_of(directory) == ["cells.csv", "run.json", "splits.csv.gz"]
    pd.testing.assert_frame_equal(read(directory, "2"), whole[1])


@pytest.mark.parametrize("name", ["split", "data", "features"])
def test_a_score_with_the_name_of_a_column_is_refused(directory, name):
    with pytest.raises(ValueError, match=f"may be called '{name}'"):
        store.append_split(directory, TASK, 3, [Outcome({}, (1,), 0.1, {name: 1.0})])


def test_a_packed_cell_of_another_task_is_refused(directory):
    store.pack(directory)
    with pytest.raises(InputError, match="another n_splits of the cell 2/PRO/rent: 4 there, 5 now"):
        store.done_splits(directory, [replace(TASK, n_splits=5)])


DAMAGES = {
    "no table": lambda table, index: table.unlink(),
    "no gzip file": lambda table, index: table.write_bytes(b"experiment,data"),
    "cut": lambda table, index: table.write_bytes(table.read_bytes()[:-20]),
    "no rows": lambda table, index: table.write_bytes(
        gzip.compress(b"experiment,data,scheme,method,split,features,seconds\n")
    ),
    "no columns": lambda table, index: table.write_bytes(gzip.compress(b"experiment,data\n2,PRO\n")),
    "long row": lambda table, index: table.write_bytes(
        gzip.compress(gzip.decompress(table.read_bytes()).rstrip() + b",1\n")
    ),
    "no index column": lambda table, index: index.write_text("experiment\n2\n", encoding="utf-8"),
    "no text": lambda table, index: index.write_bytes(b"\xff\xfe"),
}


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_damaged_table_is_reported(directory, state_of, kind):
    store.pack(directory)
    DAMAGES[kind](directory / "splits.csv.gz", directory / "cells.csv")
    before = state_of(directory)
    with pytest.raises(InputError, match=r"(splits\.csv\.gz|cells\.csv) is damaged .*Restore it.*nothing was changed"):
        read(directory, "2")
    assert state_of(directory) == before
