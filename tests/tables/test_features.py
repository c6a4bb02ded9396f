"""Columns in their roles: features, target, groups; and all that stands in the way, at once."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ubayfs.data.feature_data import FeatureData
from ubayfs.data.missing import MISSING_RULES
from ubayfs.exceptions import InputError, StudyError
from ubayfs.tables import Table, read_features, read_table

PATIENTS = """id,clinic,age,dose,weight,ill
p1,north,30,0.5,70,yes
p2,north,41,0.7,82,no
p3,south,27,0.1,64,no
p4,south,55,0.9,90,yes
"""


@pytest.fixture
def table(tmp_path):
    """Function content -> Table of a CSV file."""

    def read(content):
        (tmp_path / "t.csv").write_text(content)
        return read_table(tmp_path / "t.csv")

    return read


def problems(table, **roles):
    with pytest.raises(StudyError) as caught:
        read_features(table, **roles)
    assert all(problem.message.startswith(str(table.path)) for problem in caught.value.problems)
    return str(caught.value)


def test_roles(table):
    data = read_features(table(PATIENTS), target="ill", groups="clinic", ignore=["id"])
    assert data.feature_names.tolist() == ["age", "dose", "weight"]
    assert data.X.tolist() == [[30, 0.5, 70], [41, 0.7, 82], [27, 0.1, 64], [55, 0.9, 90]]
    assert data.X.dtype == np.float64
    assert data.target.task == "binary"
    assert data.target.labels.tolist() == ["yes", "no", "no", "yes"]
    assert data.groups.tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("ignore", "left"),
    [
        (["id", "clinic"], ["age", "dose", "weight"]),
        (["[ic]*", "dose"], ["age", "weight"]),
        (["?d", "clinic", "*g*"], ["dose"]),
        (("id", "clinic", "id"), ["age", "dose", "weight"]),
    ],
)
def test_ignored_names_and_patterns(table, ignore, left):
    assert read_features(table(PATIENTS), target="ill", ignore=ignore).feature_names.tolist() == left


def test_one_pattern_may_stand_alone(table):
    found = read_features(table("a,b1,b2\n1,2,3\n4,5,6\n"), ignore="b*")
    assert found.feature_names.tolist() == ["a"]


def test_patterns_spare_target_and_groups_and_names_with_brackets_are_names(table):
    content = "x,p[1],pp,pg\n1,2,a,u\n3,4,b,v\n"
    data = read_features(table(content), target="pp", groups="pg", ignore=["p*"])
    assert data.feature_names.tolist() == ["x"]
    data = read_features(table(content), target="pp", groups="pg", ignore=["p[1]"])
    assert data.feature_names.tolist() == ["x"]


@pytest.mark.parametrize(
    ("values", "task", "inferred"),
    [
        (["a", "b", "c"], None, "multiclass"),
        (["1", "2", "1"], None, "binary"),
        (["1.5", "2.5", "3.25"], None, "regression"),
        (["1", "2", "3"], "regression", "regression"),
        (["True", "False", "True"], None, "binary"),
        (["a", "b", "c"], "unsupervised", "unsupervised"),
    ],
)
def test_tasks(table, values, task, inferred):
    content = "x,y\n" + "".join(f"{i},{value}\n" for i, value in enumerate(values))
    assert read_features(table(content), target="y", task=task).target.task == inferred


def test_without_target(table):
    data = read_features(table("a,b\n1,2\n3,5\n"))
    assert data.target.task == "unsupervised"
    assert data.feature_names.tolist() == ["a", "b"]


def test_several_targets_are_labels(table):
    data = read_features(table("x,u,v\n1,0,1\n2,1,1\n3,1,0\n"), target=["u", "v"])
    assert data.target.task == "multilabel"
    assert data.target.values.tolist() == [[0, 1], [1, 1], [1, 0]]


def test_ordered_categories_of_a_target_stay_ordered(tmp_path):
    stage = pd.Categorical(["late", "early", "middle"], categories=["early", "middle", "late"], ordered=True)
    pd.DataFrame({"x": [1.0, 2, 3], "stage": stage}).to_parquet(tmp_path / "t.parquet")
    target = read_features(read_table(tmp_path / "t.parquet"), target="stage").target
    assert target.ordered
    assert target.values.tolist() == [2, 0, 1]


# What stands in the way


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        ({"target": "il"}, "there is no column 'il' to be the target. Did you mean 'ill'?"),
        ({"target": "outcome"}, "no column 'outcome' to be the target. The columns are 'id', 'clinic', 'age', 'dose'"),
        ({"groups": "clinics"}, "there is no column 'clinics' to be the groups. Did you mean 'clinic'?"),
        ({"ignore": ["idd"]}, "ignore 'idd' matches no column. Did you mean 'id'?"),
        ({"ignore": ["gene*"]}, "ignore 'gene*' matches no column. The columns are 'id'"),
        ({"target": "ill", "groups": "ill"}, "column 'ill' cannot be target and groups at once"),
        ({"target": "ill", "ignore": ["ill"]}, "column 'ill' is to be ignored, but it is the target or groups too"),
        ({"target": "id", "task": "regression"}, "target column 'id' holds no numbers, which regression needs"),
        ({"target": "ill", "ignore": ["*"]}, "ignore leaves no feature"),
    ],
)
def test_roles_that_cannot_be(table, roles, message):
    found = problems(table(PATIENTS), **roles)
    assert message in found
    assert "t.csv" in found


def test_a_misspelled_target_is_not_blamed_twice(table):
    found = problems(table("x,outcome\n1,a\n2,b\n"), target="outcme")
    assert found.endswith("t.csv: there is no column 'outcme' to be the target. Did you mean 'outcome'?")


@pytest.mark.parametrize("argument", [{"missing": "mean"}, {"task": "classify"}])
def test_choices(table, argument):
    (name,) = argument
    with pytest.raises(InputError, match=f"{name} must be one of"):
        read_features(table(PATIENTS), target="ill", **argument)


def test_one_column_where_several_are_expected(table):
    found = problems(table("x+y\n1\n2\n"), target="y")
    assert "no column 'y' to be the target. Columns must be separated by commas, semicolons or tabs" in found


@pytest.mark.parametrize(("value", "task"), [("a", None), ("1", None), ("2.5", "regression")])
def test_a_constant_target(table, value, task):
    found = problems(table(f"x,y\n1,{value}\n2,{value}\n"), target="y", task=task)
    shown = value if value[0].isdigit() else repr(value)
    assert f"target column 'y' has the same value, {shown}, in every sample: there is nothing to explain" in found


def test_a_target_that_dropped_rows_make_constant(table):
    found = problems(table("x,y\n1,a\n2,a\n,b\n"), target="y", missing="drop_rows")
    assert "target column 'y': has only one class ('a')" in found


def test_rows_without_group_are_named(table):
    found = problems(table("x,y,g\n1,a,u\n2,,u\n3,NA,v\n4,b,\n"), target="y", groups="g")
    assert "groups column 'g' has no value in 1 row(s): line 5." in found


def test_samples_without_target_are_left_out_and_named(table):
    data = read_features(table("x,y,g\n1,a,u\n2,,u\n3,NA,v\n4,b,v\n"), target="y", groups="g")
    assert data.X.tolist() == [[1], [4]]
    assert data.groups.tolist() == [0, 1]
    (note,) = data.notes
    assert (note.code, note.facts["samples"]) == ("samples_without_target", ["line 3", "line 4"])
    assert "has no value in any sample" in problems(table("x,y\n1,\n2,\n"), target="y")


def test_whole_numbers_beside_gaps_are_classes_as_they_stand(table):
    assert read_features(table("x,y\n1,0\n2,\n3,1\n"), target="y").target.classes.tolist() == [0, 1]


def test_columns_of_text_are_left_out_and_named(table):
    data = read_features(table(PATIENTS), target="ill")
    assert data.feature_names.tolist() == ["clinic", "age", "dose", "weight"]
    left_out, words, *_ = data.notes
    assert left_out.code == "columns_ignored"
    assert left_out.facts == {"kind": "text", "n_columns": 1, "columns": ["id"]}
    assert (words.code, words.facts["columns"]) == ("text_as_categories", ["clinic"])


@pytest.mark.parametrize(
    ("name", "values", "left_out"),
    [
        ("id", [7, 8, 9], True),
        ("Patient", [3, 1, 2], True),
        ("sampleNo", [3, 1, 2], True),
        ("study_id", [10, 20, 30], True),
        ("id", [7, 7, 9], False),  # not unique
        ("id", [7.5, 8, 9], False),  # not whole
        ("sample volume", [1, 2, 3], False),
        ("age", [31, 40, 50], False),
        ("n lesions", [1, 2, 3], False),
    ],
)
def test_columns_that_number_samples_are_left_out_and_named(table, name, values, left_out):
    content = f"x,{name},y\n" + "".join(f"{i},{value},{'ab'[i % 2]}\n" for i, value in enumerate(values))
    data = read_features(table(content), target="y")
    assert (name in data.feature_names) != left_out
    assert [(note.code, note.facts["columns"]) for note in data.notes] == [("ids_ignored", [name])] * left_out


def test_labels_that_differ_only_in_case_and_blanks_are_one(table):
    labels = ["tumor", "Tumor", "'TUMOR '", "Tumor", "normal", "normal "]
    content = "x,y\n" + "".join(f"{i},{label}\n" for i, label in enumerate(labels)).replace("'", '"')
    data = read_features(table(content), target="y")
    assert data.target.labels.tolist() == ["Tumor"] * 4 + ["normal"] * 2
    assert [(note.code, note.facts["labels"]) for note in data.notes] == [
        ("labels_merged", ["'Tumor' = 'tumor' = 'TUMOR'"])
    ]
    data = read_features(table("x,y\n1,a\n2,b \n3,b\n"), target="y")
    assert (data.target.classes.tolist(), data.notes) == (["a", "b"], ())


def test_mixed_columns_with_their_lines(table):
    content = "age,dose,y\n31,1,a\nn/a?,1,b\n\n40,2,a\nunknown,3,b\n,4,a\n"
    found = problems(table(content), target="y", missing="median")
    assert found.endswith(
        "column 'age': 'n/a?' in line 3, 'unknown' in line 6 are not numbers: correct them, or empty the cell if the "
        "value is missing."
    )


def test_ids_that_are_only_partly_numbers_are_no_wrong_numbers(table):
    """Mice are called 3415 and 50810A: neither cell is to be corrected."""
    found = problems(table("mouse,x,y\n3415,1,a\n3415,2,b\n50810A,3,a\n50810A,4,b\n"), target="y")
    assert "name the column as groups" in found
    assert "correct" not in found


def test_a_regression_target_with_words(table):
    found = problems(table("x,y\n1,0.5\n2,high\n3,0.7\n"), target="y", task="regression")
    assert "column 'y': 'high' in line 3 is not a number" in found


def test_decimal_signs_are_reported(table):
    found = problems(table("x;w;z;y\n1,2;1,2;1.500;1\n2,2;2,2;3.500;2\n"), target="y")
    assert "column 'z': '1.500' in line 2, '3.500' in line 3 are not numbers: write all numbers of the table" in found


def test_mixed_columns_beside_decimal_commas(table):
    found = problems(table("x;w;y\n1,2;1,2;1\n2,2;none yet;2\n"), target="y")
    assert found.endswith("column 'w': 'none yet' in line 3 is not a number: correct it, or empty the cell if the "
                          "value is missing.")  # fmt: skip


def test_what_is_the_same_with_many_columns_is_said_once(table):
    names = [f"x{i}" for i in range(9)]
    text = "\n".join([",".join([*names, "y"]), ",".join(["1", *["?!"] * 8, "u"]), ",".join([*["2"] * 9, "v"])])
    found = problems(table(text), target="y")
    assert found.count("?!") == 1
    assert "column 'x1': '?!' in line 2 is not a number: correct it" in found
    assert "The same holds for 'x2', 'x3', 'x4' and 4 more." in found


def test_missing_values_with_their_place_and_the_ways_out(table):
    found = problems(table("a,b,c,y\n1,,1,u\n2,3,,v\n3,NA,2,u\n4,1,1,v\n"), target="y")
    assert "3 value(s) are missing in 2 feature column(s): 'b' (2: line 2, line 4), 'c' (1: line 3)." in found
    assert found.index("missing: available") < found.index("median (")
    assert "drop_rows (keeps 1 of 4 rows)" in found
    assert "drop_columns (keeps 1 of 3 feature columns)" in found


def test_infinite_values(table):
    found = problems(table("a,b,y\n1,inf,u\n2,3,v\n-inf,4,u\n"), target="y")
    assert "values are infinite in 'a' (line 4), 'b' (line 2): correct them" in found


def test_all_problems_at_once_and_ten_at_most(table):
    header = ",".join(f"c{i}" for i in range(30))
    rows = [",".join(["1"] * 30), ",".join(["?"] * 30), ",".join(["2"] * 30)]
    found = table("\n".join([header, *rows]))
    with pytest.raises(StudyError) as caught:
        read_features(found, target="nothing", ignore=[f"zz{i}" for i in range(30)])
    assert len(caught.value.problems) == 32
    message = str(caught.value)
    assert "t.csv has 32 problems:\n- there is no column 'nothing'" in message
    assert message.count("\n- ") == 11
    assert message.endswith("\n- and 22 more")


# Missing values of features

GAPS = "a,b,c,y\n1,,1,0\n2,3,5,1\n6,NA,2,0\n,1,1,1\n4,5,1,1\n"


@pytest.mark.parametrize("rule", ["median", "available"])
def test_gaps_stay_where_runs_know_what_to_do_about_them(table, rule):
    data = read_features(table(GAPS), target="y", missing=rule)
    gap = np.nan
    np.testing.assert_array_equal(data.X, [[1, gap, 1], [2, 3, 5], [6, gap, 2], [gap, 1, 1], [4, 5, 1]])
    assert data.target.labels.tolist() == [0, 1, 0, 1, 1]


def test_features_that_are_mostly_missing_leave_and_are_listed(table):
    content = "a,b,c,d,y\n1,,,1,u\n2,3,,2,v\n,,,2,u\n3,4,,1,v\n"
    data = read_features(table(content), target="y", missing="available")
    assert data.feature_names.tolist() == ["a", "b", "d"]
    assert [note.code for note in data.notes] == ["missing_available", "mostly_missing"]
    assert data.notes[1].facts == {"n_features": 1, "max_missing": 0.5, "features": ["c"]}
    stricter = read_features(table(content), target="y", missing="median", max_missing=0.3)
    assert stricter.feature_names.tolist() == ["a", "d"]
    # A column without any value leaves whatever the limit is.
    assert "c" not in read_features(table(content), target="y", missing="median", max_missing=1.0).feature_names


def test_drop_rows(table):
    data = read_features(table(GAPS.replace("2,3,5,1", "2,3,5,0")), target="y", missing="drop_rows")
    assert data.X.tolist() == [[2, 3, 5], [4, 5, 1]]
    assert data.target.labels.tolist() == [0, 1]


def test_dropped_rows_take_their_groups_along(table):
    data = read_features(table("x,y,g\n1,0,u\n,1,u\n3,1,v\n4,0,w\n"), target="y", groups="g", missing="drop_rows")
    assert data.groups.tolist() == [0, 1, 2]
    assert data.target.labels.tolist() == [0, 1, 0]


def test_drop_columns(table):
    data = read_features(table(GAPS), target="y", missing="drop_columns")
    assert data.feature_names.tolist() == ["c"]
    assert data.X.tolist() == [[1], [5], [2], [1], [1]]


@pytest.mark.parametrize("rule", ["available", "median", "drop_rows", "drop_columns"])
def test_what_became_of_missing_values_is_known(table, rule):
    data = read_features(table(GAPS.replace("2,3,5,1", "2,3,5,0")), target="y", missing=rule)
    assert data.missing == rule
    (note,) = data.notes
    assert note.code == f"missing_{rule}"
    assert note.facts == {"n_values": 3, "n_samples": 3, "n_features": 2, "features": ["a", "b"]}
    assert str(note).startswith("missing values: 3 in ")
    reordered = FeatureData.from_fit(data, data.feature_names[::-1])
    assert (reordered.missing, reordered.notes) == (rule, data.notes)


@pytest.mark.parametrize("rule", MISSING_RULES)
def test_there_are_no_notes_where_nothing_is_missing(table, rule):
    data = read_features(table("a,y\n1,u\n2,v\n"), target="y", missing=rule)
    assert data.missing is None
    assert data.notes == ()


@pytest.mark.parametrize(
    ("content", "rule", "message"),
    [
        ("a,b,y\n,,u\n,,v\n", "median", "median leaves no feature; raise max_missing"),
        ("a,b,y\n1,,u\n,2,v\n3,4,u\n", "drop_rows", "drop_rows leaves 1 of 3 samples; choose available"),
        ("a,b,y\n1,,u\n,2,v\n", "drop_columns", "drop_columns leaves no feature; choose available"),
    ],
)
def test_rules_that_leave_nothing(table, content, rule, message):
    assert message in problems(table(content), target="y", missing=rule)


def test_a_table_of_one_sample_is_refused_for_that_and_not_for_its_gaps(table):
    with pytest.raises(StudyError, match="only 1 sample"):
        read_features(table("a,b\n1,\n"), missing="available", max_missing=1.0)


@given(
    st.lists(
        st.lists(st.one_of(st.none(), st.integers(-9, 9)), min_size=3, max_size=3), min_size=2, max_size=6
    ).filter(lambda rows: all(any(row[j] is not None for row in rows) for j in range(3)))
)  # fmt: skip
def test_missing_rules_against_pandas(rows):
    frame = pd.DataFrame(rows, columns=["a", "b", "c"], dtype="float64")
    table = Table(frame, frozenset(), "t.csv")
    expected = {
        "available": frame,
        "drop_rows": frame.dropna(),
        "drop_columns": frame.dropna(axis=1),
    }
    for rule, wanted in expected.items():
        if len(wanted) >= 2 and wanted.shape[1]:
            data = read_features(table, missing=rule, max_missing=1.0)
            np.testing.assert_array_equal(data.X, wanted.to_numpy())
            assert data.feature_names.tolist() == list(wanted.columns)
        else:
            with pytest.raises(StudyError, match=rf"{rule} leaves"):
                read_features(table, missing=rule)


def test_booleans_with_gaps_and_huge_integers_are_numbers(table):
    data = read_features(
        table("b,n,y\nTrue,123456789012345678901234567890,0\n,1,1\nFalse,2,1\n"), target="y", missing="drop_rows"
    )
    assert data.X.tolist() == [[1.0, 123456789012345678901234567890.0], [0.0, 2.0]]


def test_the_table_is_left_alone(table):
    found = table(GAPS)
    before = found.frame.copy()
    read_features(found, target="y", missing="median")
    pd.testing.assert_frame_equal(found.frame, before)


@pytest.mark.parametrize(
    ("days", "kind"),
    [
        (["31.12.2024", "1.2.24", None, "31.12.2024"], "dates"),
        (["2024-12-31", "2024-12-31T10:30:00Z", "2024-01-01 09:15", "2024-12-31"], "dates"),
        (["12/31/2024", "1/2/24", "12/31/2024", "1/2/24"], "dates"),
        (["31.12.2024", "soon", "31.12.2024", "soon"], None),
        (["41.12.2024", "1.2.2024", "41.12.2024", "1.2.2024"], None),
        (["1.2.3.24", "v1", "1.2.3.24", "v1"], None),
        (["12-34-56", "1-2-34", "12-34-56", "1-2-34"], None),
    ],
)
def test_dates_that_are_text_are_no_features(tmp_path, days, kind):
    frame = pd.DataFrame({"x": [1.0, 2.5, 3.0, 2.0], "day": days, "y": [0, 1, 0, 1]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    table = read_table(tmp_path / "t.csv")
    data = read_features(table, target="y")
    assert data.feature_names.tolist() == ["x", "day"][: 1 if kind else 2]
    assert [note.facts["kind"] for note in data.notes if note.code == "columns_ignored"] == ([kind] if kind else [])
    if kind and None not in days:  # an order makes them a scale
        ordered = {"day": sorted(set(days))}
        assert read_features(table, target="y", ordered=ordered).feature_names.tolist() == ["x", "day"]
