"""Tables are written whole or not at all, and read back as they were."""

import errno
import gzip
import os

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amounts import examples
from ubayfs import Evidence, decide
from ubayfs.exceptions import InputError
from ubayfs.report import render_csv, summarize
from ubayfs.tables import MISSING_CODES, read_table, write_table

WRITABLE = ["t.csv", "t.tsv", "t.txt", "t.csv.gz", "t.tsv.gz", "t.txt.gz", "t.xlsx", "t.parquet"]
# Control characters cannot stand in Excel; surrounding space and lone carriage returns do not survive text tables.
WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=6).filter(
    lambda word: word not in MISSING_CODES and not word.lower().strip("+-").startswith(("inf", "nan"))
)


def is_text(words):
    """Tell whether nobody could take these words for numbers or truth values."""
    return not any(c.isdigit() for word in words for c in word) and not {w.lower() for w in words} & {"true", "false"}


@pytest.mark.parametrize("name", WRITABLE)
@settings(max_examples=examples(30))
@given(
    numbers=st.lists(st.floats(allow_infinity=False, allow_nan=False), min_size=1, max_size=4),
    header=st.lists(WORDS, min_size=3, max_size=3, unique=True),
    words=st.lists(WORDS, min_size=4, max_size=4).filter(is_text),
)
def test_round_trip(tmp_path_factory, name, numbers, header, words):
    n = len(numbers)
    frame = pd.DataFrame(
        {header[0]: numbers, header[1]: words[:n], header[2]: np.arange(n)}, index=[f"row {i}" for i in range(n)]
    )
    path = tmp_path_factory.mktemp("round") / name
    write_table(frame, path)
    found = read_table(path).frame
    assert list(found.columns) == header
    assert list(found.index) == list(frame.index)
    assert found[header[0]].astype(float).tolist() == numbers
    assert found[header[1]].tolist() == words[:n]
    assert found[header[2]].tolist() == list(range(n))


@pytest.mark.parametrize("name", WRITABLE)
def test_missing_values_and_types(tmp_path, name):
    frame = pd.DataFrame({"x": [0.1, np.nan], "b": [True, False], "t": ["a,b;c\td", None]})
    write_table(frame, tmp_path / name)
    found = read_table(tmp_path / name).frame
    assert found["x"].tolist()[0] == 0.1
    assert found.isna().to_numpy().tolist() == frame.isna().to_numpy().tolist()
    assert found["b"].dtype == bool
    assert found["t"].tolist()[0] == "a,b;c\td"
    assert isinstance(found.index, pd.RangeIndex)


@pytest.mark.parametrize("text", ["=1+1", "=cmd|' /C calc'!A0"])
def test_text_never_becomes_a_formula(tmp_path, text):
    from openpyxl import load_workbook

    write_table(pd.DataFrame({text: [text]}), tmp_path / "t.xlsx")
    sheet = load_workbook(tmp_path / "t.xlsx").active
    assert [cell.data_type for column in sheet.columns for cell in column] == ["s", "s"]
    assert read_table(tmp_path / "t.xlsx").frame[text].tolist() == [text]


@pytest.mark.parametrize("sign", ["=", "\ufeff=", "\ufeff", "\uff1d", "\uff0b", "\uff0d", "\uff20"])
def test_what_some_spreadsheets_take_for_a_formula_has_an_apostrophe_in_front(tmp_path, sign):
    text = f"{sign}1+1"
    write_table(pd.DataFrame({"a": [1, 2], text: [text, "b"]}), tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text(encoding="utf-8") == f"a,'{text}\n1,'{text}\n2,b\n"
    assert read_table(tmp_path / "t.csv").frame[text].tolist() == [text, "b"]


@pytest.mark.parametrize("name", ["t.csv", "t.xlsx"])
def test_names_of_rows_keep_their_heading(tmp_path, name):
    index = pd.Index(["s1", "s2"], name="sample")
    write_table(pd.DataFrame({"a": [1, 2]}, index=index), tmp_path / name)
    assert read_table(tmp_path / name).frame.to_dict("list") == {"sample": ["s1", "s2"], "a": [1, 2]}
    write_table(pd.DataFrame({"sample": [1, 2]}, index=index), tmp_path / name)
    assert read_table(tmp_path / name).frame.index.tolist() == ["s1", "s2"]


def test_equal_tables_are_equal_files(tmp_path):
    frame = pd.DataFrame({"a": [1, 2]})
    write_table(frame, tmp_path / "1.csv.gz")
    write_table(frame, tmp_path / "2.csv.gz")
    content = (tmp_path / "1.csv.gz").read_bytes()
    assert content == (tmp_path / "2.csv.gz").read_bytes()
    assert gzip.decompress(content) == b"a\n1\n2\n"


@pytest.mark.parametrize("name", ["t.h5ad", "t.xls", "t", "t.doc"])
def test_formats_that_cannot_be_written(tmp_path, name):
    with pytest.raises(InputError, match=r"not a table that can be written\. Writable are \.csv, .*\.parquet\."):
        write_table(pd.DataFrame({"a": [1]}), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("frame", [pd.DataFrame(np.zeros((1, 16_384)), index=["a"]), pd.DataFrame({"a": ["\x00"]})])
def test_what_excel_cannot_hold(tmp_path, frame):
    with pytest.raises(InputError, match=r"t\.xlsx cannot hold this table(: |, as )Excel .*Write \.csv"):
        write_table(frame, tmp_path / "t.xlsx")
    assert list(tmp_path.iterdir()) == []


def test_what_parquet_cannot_hold(tmp_path):
    with pytest.raises(InputError, match=r"t\.parquet cannot hold this table, as Parquet .*Write \.csv"):
        write_table(pd.DataFrame({"a": [1, "b"]}), tmp_path / "t.parquet")
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_the_earlier_table(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    write_table(pd.DataFrame({"a": [1]}), path)

    def fill_up(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fill_up)
    with pytest.raises(
        InputError, match=r"t\.csv could not be written \(No space left on device\); a file that was th"
    ):
        write_table(pd.DataFrame({"a": [2]}), path)
    assert path.read_text() == "a\n1\n"
    assert list(tmp_path.iterdir()) == [path]


def test_a_directory_that_does_not_exist(tmp_path):
    with pytest.raises(InputError, match="must lie in a directory that exists"):
        write_table(pd.DataFrame({"a": [1]}), tmp_path / "nowhere" / "t.csv")


@pytest.mark.parametrize("name", ["t.csv", "t.tsv"])
def test_a_carriage_return_in_a_text_begins_no_line(tmp_path, name):
    frame = pd.DataFrame({"feature": ["gene\r=A1", "b"], "weight": [1.0, 2.0]})
    write_table(frame, tmp_path / name)
    delimiter = "," if name == "t.csv" else "\t"
    assert (tmp_path / name).read_bytes().split(b"\n")[1] == f'"gene\r=A1"{delimiter}1.0'.encode()
    assert read_table(tmp_path / name).frame["feature"].tolist() == ["gene\n=A1", "b"]  # one kind of line end in memory


def test_a_carriage_return_in_a_chosen_feature_begins_no_line():
    selection = decide(Evidence.from_sets([[1, 0]] * 3, ["gene\r=A1", "b"]), max_size=1)
    assert '\n"gene\r=A1",0,' in render_csv(summarize(selection, n_draws=0))
