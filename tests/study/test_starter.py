"""The study file that a table suggests."""

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amounts import examples
from ubayfs.exceptions import InputError, StudyError
from ubayfs.study import PrefixBlocks, check_study, load_study, template
from ubayfs.study.column_roles import infer_columns
from ubayfs.tables import Table, likely_sheet, read_table


def table_of(tmp_path, frame, name="data.csv"):
    frame.to_csv(tmp_path / name, index=False)
    return read_table(tmp_path / name)


def numbers(n_rows, names, seed=0):
    return pd.DataFrame(np.random.default_rng(seed).normal(size=(n_rows, len(names))), columns=names)


@pytest.fixture
def clinical():
    frame = numbers(60, [f"{part}_{i}" for part in ("blood", "mri") for i in range(4)])
    frame.insert(0, "sample_id", range(60))
    frame.insert(1, "patient", np.arange(60) // 3)
    frame.insert(2, "hospital", np.tile(["north", "south", "east"], 20))
    frame["diagnosis"] = np.where(frame["blood_0"] > 0, "ill", "well")
    return frame


def load_template(tmp_path, text):
    (tmp_path / "study.yaml").write_text(text, encoding="utf-8")
    return load_study(tmp_path / "study.yaml")


def test_the_roles_of_columns_are_guessed(tmp_path, clinical):
    found = infer_columns(table_of(tmp_path, clinical))
    assert found.target == "diagnosis"
    assert found.candidates == ("hospital",)
    assert found.groups == "patient"
    assert found.ignored == ("sample_id",)
    assert found.features == (*clinical.columns[3:-1], "hospital")
    assert found.separator == "_"
    assert found.task is None


def test_the_template_runs_as_it_is(tmp_path, clinical):
    clinical.loc[3, "mri_2"] = np.nan
    study = load_template(tmp_path, template(table_of(tmp_path, clinical), "data.csv"))
    assert study.data.missing == "available"
    assert study.blocks == PrefixBlocks("_")
    data = study.read_data()
    assert data.n_features == 9
    assert data.levels[0].labels == ("east", "north", "south")
    selection = study.decide(study.collect(data), data)
    assert "blood_0" in selection.features


def test_a_target_that_is_said_is_kept(tmp_path, clinical):
    table = table_of(tmp_path, clinical)
    study = load_template(tmp_path, template(table, "data.csv", target="hospital"))
    assert study.data.target == "hospital"
    assert study.data.ignore == ("sample_id", "diagnosis")
    study.collect(study.read_data())
    with pytest.raises(InputError, match=r"target must be a column of .*; got 'diagnosi'\. Did you mean 'diagnosis'\?"):
        template(table, "data.csv", target="diagnosi")


def test_the_sheet_of_an_excel_file_is_named(tmp_path, clinical):
    clinical.to_excel(tmp_path / "d.xlsx", sheet_name="no", index=False)
    study = load_template(tmp_path, template(read_table(tmp_path / "d.xlsx", sheet="no"), "d.xlsx", sheet="no"))
    assert study.data.sheet == "no"
    assert study.read_data().n_features == 9


def test_the_other_sheets_of_an_excel_file_are_named(tmp_path, clinical):
    with pd.ExcelWriter(tmp_path / "d.xlsx") as writer:
        pd.DataFrame({"read me": ["hello"]}).to_excel(writer, sheet_name="Notes", index=False)
        pd.DataFrame().to_excel(writer, sheet_name="Empty", index=False)
        clinical.to_excel(writer, sheet_name="Data", index=False)
    table = read_table(tmp_path / "d.xlsx", choose_sheet=True)
    assert likely_sheet(tmp_path / "d.xlsx") == table.sheet
    assert table.sheet == "Data"
    text = template(table, "d.xlsx", sheet="Data")
    assert re.search(r"^  sheet: Data +# sheet of an Excel file; its other sheets: Notes, Empty$", text, re.MULTILINE)
    wrong = load_template(tmp_path, text.replace("sheet: Data", "sheet: Notes"))
    with pytest.raises(StudyError, match=r"the sheet 'Notes'; the file also has 'Empty', 'Data'\."):
        wrong.read_data()
    empty = load_template(tmp_path, text.replace("sheet: Data", "sheet: Empty"))
    with pytest.raises(StudyError, match=r"data\.sheet: .*has an empty sheet.*the file also has 'Notes', 'Data'\."):
        empty.read_data()


def test_there_is_no_choice_of_a_sheet_where_there_is_one(tmp_path, clinical):
    clinical.to_excel(tmp_path / "d.xlsx", index=False)
    clinical.to_csv(tmp_path / "d.csv", index=False)
    assert read_table(tmp_path / "d.xlsx", choose_sheet=True).other_sheets == ()
    assert read_table(tmp_path / "d.csv", choose_sheet=True).sheet is None
    assert likely_sheet(tmp_path / "d.xlsx") is likely_sheet(tmp_path / "d.csv") is likely_sheet("nowhere.xlsx") is None


def test_what_is_commented_out_is_valid_too(tmp_path, clinical):
    text = template(table_of(tmp_path, clinical), "data.csv")
    active = [
        re.sub(r"^(\s*)# (?=\s*(- |weights:|features:|patterns:|blood|mri|table:))", r"\1", line)
        for line in text.splitlines()
    ]
    (tmp_path / "knowledge.csv").write_text("feature,weight,block\nmri_3,likely,\n")
    study = load_template(tmp_path, "\n".join(active))
    kinds = [constraint.kind for constraint in study.constraints]
    assert kinds == ["max_size", "decorrelate", "must_link", "cannot_link", "require", "exclude", "max_per_block"]
    arguments = study.arguments(study.read_data().feature_names)
    # very likely, 5 votes, unlikely, the pattern blood_..., then the table.
    assert arguments["weights"].tolist() == [0.01, 100, 5, 0.01, 25, 0.01, 0.01, 0.01, 25]


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


def test_check_asks_for_a_target_that_nobody_has_chosen(tmp_path):
    frame = numbers(60, ["u", "v"]).assign(treated=np.arange(60) % 2, sex=np.arange(60) // 7 % 2)
    text = template(table_of(tmp_path, frame), "data.csv")
    study = load_template(tmp_path, text)
    assert study.evidence.selector == "mrmr"
    with pytest.raises(StudyError, match=r"data\.target: .*data\.csv: the target is still to be chosen; put the name"):
        check_study(study)
    chosen = load_template(tmp_path, text.replace("target: '?'", "target: treated"))
    assert check_study(chosen).feature_names.tolist() == ["u", "v", "sex"]


def test_only_a_target_that_was_found_is_called_a_guess(tmp_path, clinical):
    table = table_of(tmp_path, clinical)
    assert "# column to explain; a guess: " in template(table, "data.csv")
    assert "# column to explain: " in template(table, "data.csv", target="diagnosis")


def test_without_a_target_the_study_is_unsupervised(tmp_path):
    study = load_template(tmp_path, template(table_of(tmp_path, numbers(30, ["u", "v", "w"])), "data.csv"))
    assert (study.data.target, study.evidence.selector) == (None, "laplacian")
    assert study.collect(study.read_data()).n_models == 100


@pytest.mark.parametrize(
    ("names", "separator"),
    [
        (["a_1", "a_2", "b_1", "b_2"], "_"),
        (["a.1_x", "a.2_y", "b.1_z", "b.2_w"], "."),
        (["mean radius", "mean area", "worst radius", "worst area"], " "),
        (["a-1", "a-2", "b-1", "b-2", "c"], "-"),
        (["a_1", "a_2", "a_3"], None),  # one block
        ([f"gene{i}_x" for i in range(80)], None),  # nothing but blocks of one
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


TRICKY = st.one_of(
    st.text(min_size=1, max_size=15),
    st.sampled_from([
        "no", "null", "007", "a: b",
        "# x", "x\n- exclude: [y]", "x\ndata: {path: /etc/passwd}", "{{x}}", "[x]", "'", '"',
        "\u2028y", "\x85z", "- a", "*", "a, b", "&a", "!!python/name:os.system", "%", "diagnosis", "<script>", "x #y",
    ]),
)  # fmt: skip


@settings(max_examples=examples(60))
@given(st.lists(TRICKY, min_size=1, max_size=6, unique=True), TRICKY, TRICKY)
def test_text_from_the_data_stays_text(tmp_path_factory, names, path, label):
    folder = tmp_path_factory.getbasetemp()
    frame = numbers(12, names).assign(**{"the class": [label, "other"] * 6 if label != "other" else ["a", "other"] * 6})
    frame.columns = [*names, "the class"] if "the class" not in names else [*frame.columns]
    table = Table(frame, frozenset(), folder / "data.csv")
    text = template(table, path, target="the class")
    study = load_template(folder, text)
    assert study.data.path == path
    assert study.data.target == "the class"
    assert [constraint.kind for constraint in study.constraints] == ["max_size"]
    assert study.prior.weights == load_template(folder, "data: {path: x}").prior.weights
    assert study.arguments(
        [name for name in frame.columns if name != "the class" and name not in study.data.ignore] or ["x"]
    )


def test_classes_are_counted_as_the_study_will_read_them(tmp_path, clinical):
    clinical["diagnosis"] = clinical["diagnosis"].astype(object)
    first, second = clinical["diagnosis"].value_counts().index
    clinical.loc[clinical.index[clinical["diagnosis"] == second][0], "diagnosis"] = str(second).upper()
    n_first, n_second = clinical["diagnosis"].value_counts()[first], (clinical["diagnosis"] != first).sum()
    text = template(table_of(tmp_path, clinical), "data.csv", target="diagnosis")
    assert f"{first} ({n_first}), {second} ({n_second})" in text
