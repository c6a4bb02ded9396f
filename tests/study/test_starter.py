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
from ubayfs.tables import Table, read_table


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


@pytest.mark.filterwarnings("ignore:blood_0 alone:ubayfs.exceptions.UBayFSWarning")
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


def test_a_given_target_is_not_replaced(tmp_path, clinical):
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


def test_check_asks_for_a_target_that_nobody_has_chosen(tmp_path):
    frame = numbers(60, ["u", "v"]).assign(treated=np.arange(60) % 2, sex=np.arange(60) // 7 % 2)
    text = template(table_of(tmp_path, frame), "data.csv")
    study = load_template(tmp_path, text)
    assert study.evidence.selector == "wide"
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
