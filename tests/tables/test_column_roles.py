"""The roles of columns that a table suggests."""

import numpy as np
import pandas as pd
import pytest

from ubayfs.tables import Table, read_table
from ubayfs.tables.column_roles import infer_columns


def table_of(tmp_path, frame):
    frame.to_csv(tmp_path / "data.csv", index=False)
    return read_table(tmp_path / "data.csv")


def numbers(n_rows, names):
    return pd.DataFrame(np.random.default_rng(0).normal(size=(n_rows, len(names))), columns=names)


def test_the_roles_of_columns_are_guessed(tmp_path):
    frame = numbers(60, [f"{part}_{i}" for part in ("blood", "mri") for i in range(4)])
    frame.insert(0, "sample_id", range(60))
    frame.insert(1, "patient", np.arange(60) // 3)
    frame.insert(2, "hospital", np.tile(["north", "south", "east"], 20))
    frame["diagnosis"] = np.where(frame["blood_0"] > 0, "ill", "well")
    found = infer_columns(table_of(tmp_path, frame))
    assert found.target == "diagnosis"
    assert found.candidates == ("hospital",)
    assert found.groups == "patient"
    assert found.ignored == ("sample_id",)
    assert found.features == (*frame.columns[3:-1], "hospital")
    assert found.separator == "_"
    assert found.task is None


@pytest.mark.parametrize(
    ("columns", "target", "task"),
    [
        ({"class": np.arange(60) % 3}, "class", None),
        ({"outcome": np.linspace(0.5, 9, 60)}, "outcome", None),  # fractions: regression is inferred
        ({"outcome": np.arange(60)}, "outcome", "regression"),
        ({"y": np.arange(60) % 2, "status": ["a", "b"] * 30}, "y", None),
        ({"species": ["cat", "dog", "fox"] * 20}, "species", None),
        ({"tissue": ["liver", "lung"] * 30}, "tissue", None),  # text with few values
        ({"comment": [f"text {i}" for i in range(60)]}, None, None),
        ({"class": [1] * 60}, None, None),  # constant
        ({"body_y": np.arange(60)}, None, None),
        ({"body_y": np.arange(60) % 2}, "body_y", None),  # the only column of classes
        ({"tumor_type": np.arange(60.0) % 3}, "tumor_type", None),
        ({"count": np.arange(60) % 30}, None, None),  # too many values
        ({"dose": np.arange(60) % 2 + 0.5}, None, None),  # no whole numbers
        ({"rare": np.arange(60) == 7}, None, None),  # a class of one row
        ({"sex": np.arange(60) % 2, "severity": np.arange(60) % 5}, None, None),  # nothing tells them apart
        ({"sex": np.arange(60) % 2, "diagnosis": ["a", "b"] * 30}, "diagnosis", None),
        ({"Disease Status": ["yes", "no"] * 30}, "Disease Status", None),
    ],
)
def test_targets(tmp_path, columns, target, task):
    frame = numbers(60, ["u", "v"]).assign(**columns)
    found = infer_columns(table_of(tmp_path, frame))
    assert (found.target, found.task) == (target, task)


def test_columns_of_a_few_whole_numbers_may_be_the_target(tmp_path):
    codes = {"Survival": np.arange(60) % 2, "severity": np.arange(60) % 5, "sex": np.arange(60) // 7 % 2}
    frame = numbers(60, ["u", "v"]).assign(**codes)
    assert infer_columns(table_of(tmp_path, frame)).candidates == ("sex", "severity")
    frame = frame.rename(columns={"Survival": "treated"})
    found = infer_columns(table_of(tmp_path, frame))
    assert (found.target, found.candidates) == (None, ("sex", "treated", "severity"))
    found = infer_columns(table_of(tmp_path, frame.assign(diagnosis=["ill", "well", "well"] * 20)))
    assert (found.target, found.candidates) == ("diagnosis", ("sex", "treated", "severity"))


@pytest.mark.parametrize(
    ("names", "separator"),
    [
        (["a_1", "a_2", "b_1", "b_2"], "_"),
        (["a.1_x", "a.2_y", "b.1_z", "b.2_w"], "."),
        (["mean radius", "mean area", "worst radius", "worst area"], " "),
        (["a-1", "a-2", "b-1", "b-2", "c"], "-"),
        (["a_1", "a_2", "a_3"], None),  # one block
        ([f"gene{i}_x" for i in range(80)], None),  # nothing but blocks of one
        (["mrna:p_53", "mrna:myc", "mirna:a_1", "mirna:b_2"], ":"),
        (["a_1", "a_2", "b_1", "b_2", *"cdefgh"], None),  # most features have no prefix
        ([f"{i}_{j}" for i in range(51) for j in range(2)], None),  # too many
        (["radius", "area"], None),
        # The prefixes of the last ones are blocks of one: the space is part of the names only.
        (["mean radius", "mean area", "worst radius", "worst area", "radius error", "area error"], None),
        ([*(f"{i}_{j}" for i in range(9) for j in range(2)), "lone_1"], "_"),
    ],
)
def test_separators(tmp_path, names, separator):
    assert infer_columns(table_of(tmp_path, numbers(5, names))).separator == separator


def test_columns_of_annotations_are_targets_but_no_features(tmp_path):
    frame = numbers(30, ["g1", "g2"]).assign(cell_type=["T", "B", "NK"] * 10, batch=np.arange(30) % 2)
    found = infer_columns(Table(frame, frozenset({"cell_type", "batch"}), tmp_path / "cells.h5ad"))
    assert found.features == ("g1", "g2")
    assert found.ignored == ()
    assert found.target == "cell_type"


def test_a_few_wrong_cells_do_not_make_a_column_text(tmp_path):
    frame = numbers(30, ["u", "v"]).astype(object)
    frame.loc[3, "u"] = "missing?"
    assert infer_columns(table_of(tmp_path, frame)).features == ("u", "v")


@pytest.mark.parametrize(
    ("columns", "survival"),
    [
        (["Months_from_Diagnosis", "Survival_in_days", "Status"], ("Survival_in_days", "Status")),
        (["age_at_diagnosis", "time", "cens"], ("time", "cens")),
        (["diagnosis", "time", "status"], None),
        (["dose", "time", "batch"], None),
    ],
)
def test_survival_is_recognized_beside_times_since_the_diagnosis(tmp_path, columns, survival):
    values = {name: np.arange(60) * 7 % 31 + 1 for name in columns[:-1]} | {columns[-1]: np.arange(60) % 2}
    found = infer_columns(table_of(tmp_path, pd.DataFrame(values))).survival
    assert (found and (found["time"], found["event"])) == survival
