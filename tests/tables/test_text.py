"""Text tables: as people have them, against the table that was meant; and what is not a table."""

import csv
import gzip
import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ubayfs._files import protected, unprotected
from ubayfs.exceptions import InputError
from ubayfs.tables import MISSING_CODES, read_table
from ubayfs.tables.text import _field_counts, _records

COMMA = "age,dose,outcome\n31,0.5,ill\n40,1.25,well\n"


@pytest.fixture
def table(tmp_path):
    """Function content, name -> Table."""

    def read(content, name="data.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return read_table(path)

    return read


def assert_meant(found):
    assert list(found.frame.columns) == ["age", "dose", "outcome"]
    assert found.frame["age"].dtype == np.int64
    assert found.frame["dose"].dtype == np.float64
    assert found.frame["age"].tolist() == [31, 40]
    assert found.frame["dose"].tolist() == [0.5, 1.25]
    assert found.frame["outcome"].tolist() == ["ill", "well"]
    assert found.annotations == frozenset()
    assert [found.place(0), found.place(1)] == ["line 2", "line 3"]


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (COMMA, "data.csv"),
        (COMMA, "data.CSV"),
        (COMMA, "data.tsv"),
        (COMMA.replace(",", ";"), "data.csv"),
        (COMMA.replace(",", "\t"), "data.tsv"),
        (COMMA.replace(",", "\t"), "data.txt"),
        (COMMA.replace(",", "\t"), "data.csv"),
        (COMMA.replace(",", ";").replace(".", ","), "data.csv"),
        (COMMA.replace(",", "\t").replace(".", ","), "data.txt"),
        (COMMA.replace("\n", "\r\n"), "data.csv"),
        (COMMA.replace("\n", "\r"), "data.csv"),
        ("\ufeff" + COMMA, "data.csv"),
        ("\ufeff" + COMMA.replace(",", ";").replace(".", ",").replace("\n", "\r\n"), "data.csv"),
        (COMMA.rstrip("\n"), "data.csv"),
        (COMMA.replace(",", ", "), "data.csv"),
        (COMMA.replace("ill", '"ill"').replace("age", '"age"').replace("31", '"31"'), "data.csv"),
        (COMMA + ",,\n,,\n", "data.csv"),
        ("".join(f"{line},\n" for line in COMMA.splitlines()), "data.csv"),
        (gzip.compress(COMMA.encode(), mtime=0), "data.csv.gz"),
        (gzip.compress(("\ufeff" + COMMA.replace(",", "\t")).encode(), mtime=0), "data.TSV.gz"),
    ],
)
def test_every_dialect_gives_the_table_that_was_meant(table, content, name):
    assert_meant(table(content, name))


def test_delimiters_inside_quotes_are_text(table):
    found = table('"gene, a";"gene; b"\n1;2\n3;4\n').frame
    assert list(found.columns) == ["gene, a", "gene; b"]
    assert found["gene; b"].tolist() == [2, 4]


def test_commas_in_a_header_do_not_hide_semicolons(table):
    assert list(table("dose, mg;volume, ml\n1;2\n3;4\n").frame.columns) == ["dose, mg", "volume, ml"]


def test_one_decimal_sign_for_the_whole_table(table):
    # 1.500 beside decimal commas may mean one thousand five hundred: it stays text, so that it is asked about.
    found = table("a;b;c\n0,5;1,5;1.500\n0,25;2,5;2.500\n")
    assert found.decimal == ","
    assert found.frame.dtypes.map(pd.api.types.is_numeric_dtype).tolist() == [True, True, False]
    found = table("a;b;id\n0.5;1.5;1,5\n0.25;2.5;2,5\n")
    assert found.decimal == "."
    assert found.frame["id"].tolist() == ["1,5", "2,5"]


def test_a_decimal_comma_below_the_first_rows_is_found(table):
    rows = [f"{i};{i}" for i in range(30)]
    found = table("\n".join(["a;b", *rows, "0,5;1,5"])).frame
    assert found.loc[30].tolist() == [0.5, 1.5]


@pytest.mark.parametrize("code", ["", " ", *MISSING_CODES])
def test_missing_codes(table, code):
    frame = table(f"x,word,y\n1,a,2\n{code},{code},3\n").frame
    assert frame["x"].isna().tolist() == [False, True]
    assert frame["word"].isna().tolist() == [False, True]


def test_no_other_word_is_missing(table):
    # pandas would take these for missing as well
    assert table("x,y\n1,-NaN\n2,<NA>\n3,1.#IND\n").frame["y"].tolist() == ["-NaN", "<NA>", "1.#IND"]


def test_types_are_kept_and_text_is_not_guessed(table):
    frame = table("i,f,b,t,n\n1,1.5,True,x1,1e3\n2,2.5,False,007a,2e3\n").frame
    assert [frame[c].dtype.kind for c in "ifbn"] == ["i", "f", "b", "f"]
    assert frame["t"].tolist() == ["x1", "007a"]


@pytest.mark.parametrize("header", [",a,b", "Unnamed: 0,a,b", '"",a,b'])
def test_an_unnamed_first_column_names_the_rows(table, header):
    found = table(f"{header}\np1,1,2\np2,3,4\n")
    assert list(found.frame.columns) == ["a", "b"]
    assert list(found.frame.index) == ["p1", "p2"]


def test_row_names_without_a_header_as_r_writes_them(table):
    frame = table('"a"\t"b"\n"p1"\t1\t2\n"p2"\t3\t4\n', "data.txt").frame
    assert list(frame.index) == ["p1", "p2"]
    assert frame.to_numpy().tolist() == [[1, 2], [3, 4]]


def test_numbers_are_not_row_names(table):
    with pytest.raises(InputError, match=r"2 column\(s\), separated by comma, but line 2 has 3, line 3 has 3\. Every"):
        table("a,b\n1,5,2\n2,5,3\n")


def test_lines_are_counted_as_in_the_file(table):
    found = table('\na,b\n\n1,"two\nlines"\n   \n3,4\n')
    assert [found.place(0), found.place(1)] == ["line 4", "line 7"]
    assert found.places([0, 1, 1, 1], limit=2) == "line 4, line 7 and 2 more"


def test_one_column_is_a_table(table):
    assert table("gene\nTP53\nEGFR\n", "genes.txt").frame["gene"].tolist() == ["TP53", "EGFR"]


@given(
    st.lists(st.lists(st.text(alphabet='ab1,;\t "\n.é', max_size=4), min_size=1, max_size=4), min_size=1, max_size=5),
    st.sampled_from(",;\t"),
)
def test_records_are_those_that_were_written(rows, delimiter):
    buffer = io.StringIO(newline="")
    csv.writer(buffer, delimiter=delimiter, quoting=csv.QUOTE_ALL).writerows(rows)
    found = [fields for _, fields in _records(buffer.getvalue().encode(), delimiter)]
    assert found == rows


@given(st.text(alphabet="ab,;\t \n1", max_size=40), st.sampled_from(",;\t"))
def test_counting_delimiters_is_parsing_where_nothing_is_quoted(text, delimiter):
    content = text.encode()
    parsed = [(line, len(fields), not "".join(fields).strip()) for line, fields in _records(content, delimiter)]
    assert list(_field_counts(content, delimiter)) == parsed


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=5), st.sampled_from([",", "."]))
def test_numbers_are_read_exactly(tmp_path_factory, values, decimal):
    path = tmp_path_factory.mktemp("exact") / "t.csv"
    path.write_text("\n".join(["x;y", *(f"{value!r};1".replace(".", decimal) for value in values)]))
    frame = read_table(path).frame
    assert frame["x"].tolist() == values


@given(st.text(alphabet='ab, \n\r1"', max_size=40))
def test_pandas_sees_the_same_records(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("records") / "t.csv"
    path.write_text(f"x,y\n1,2\n{text}", newline="")
    try:
        found = read_table(path)
    except InputError:
        return
    content = path.read_bytes().replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    lines, records = zip(*list(_records(content, ","))[1 : 1 + len(found.frame)], strict=True)
    assert found.numbers.tolist() == list(lines)
    for row, fields in zip(found.frame.astype(object).to_numpy(), records, strict=True):
        for entry, field in zip(row, fields, strict=True):
            if isinstance(entry, str):
                assert entry == field.strip()
            else:
                assert float(entry) == float(field) if field.strip() else pd.isna(entry)


@pytest.mark.parametrize(
    ("above", "n_skipped"),
    [
        ("Experiment 12\n\n", 1),
        ("#Patient,Dose,State\n#STRING,NUMBER,STRING\n#1,1,1\n", 3),  # cBioPortal
        ("# made by a program\n", 1),
        ("Experiment 12,,\nof 2024,,\n", 2),
    ],
)
def test_rows_above_the_header_are_skipped_with_a_note(table, above, n_skipped):
    found = table(above + COMMA)
    assert found.frame["dose"].tolist() == [0.5, 1.25]
    assert found.place(0) == f"line {above.count(chr(10)) + 2}"
    (note,) = found.notes
    assert (note.code, len(note.facts["rows"])) == ("title_rows_skipped", n_skipped)


@pytest.mark.parametrize("content", ["#a,b\nx,y\nu,v\n", ",b\nx,y\nu,v\n", "#a,b\n1,2\n", "a,,\n1,2,3\n"])
def test_headers_are_not_taken_for_titles(table, content):
    try:
        assert table(content).notes == ()
    except InputError as error:
        assert "which have no name in the header" in str(error)  # noqa: PT017


# What is not a table


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        ("", "t.csv", r"t\.csv is empty; a table with a header and rows is needed"),
        (" \n\n", "t.csv", "is empty"),
        ("\ufeff", "t.csv", "is empty"),
        (b"", "t.csv.gz", r"t\.csv\.gz is empty"),
        (gzip.compress(b"", mtime=0), "t.csv.gz", "is empty"),
        (b"a,b\n1,2\n", "t.csv.gz", r"is not a gzip file, or it is damaged \(Not a gzipped.*name the uncompressed"),
        (gzip.compress(b"a,b\n1,2\n" * 50, mtime=0)[:-9], "t.csv.gz", "is not a gzip file, or it is damaged"),
        (gzip.compress(b"a,b\n1,2\n", mtime=0), "t.csv", r"is compressed by gzip.*rename it to 't\.csv\.gz'"),
        ("a,b,c\n", "t.csv", r"has a header \('a', 'b', 'c'\), but no rows of data"),
        ("a,b,c", "t.csv", "has a header"),
        ("a,b\n,\n,\n", "t.csv", "has a header"),
        ("a,b,a,a,b\n1,2,3,4,5\n", "t.csv", r"more than once: 'a' \(columns 1, 3 and 4\), 'b' \(columns 2 and 5\)"),
        ("a, a\n1,2\n", "t.csv", r"'a' \(columns 1 and 2\)"),
        ("a,,c\n1,2,3\n", "t.csv", r"values in column\(s\) 2, which have no name in the header"),
        (
            "a,b\n1,2\n\n3,4,5\n6,7\n8\n",
            "t.csv",
            "line 1 of 2.*separated by comma, but line 4 has 3, line 6 has 1. Lo",
        ),
        ("a\tb\n1\t2\n3\t4\t5\n", "t.tsv", r"separated by tab, but line 3 has 3\."),
        (
            "Experiment 12\n\n1,2,3\n4,5,6\n",
            "t.csv",
            r"line 1 of 1 .* line 3 has 3, line 4 has 3\. The header must be",
        ),
        ('a,b\n1,"2\n3,4\n5,6\n', "t.csv", r"line 2 has 2|line 1 of 2 column\(s\)|EOF inside string"),
        (
            "a b c\n1 2 3\n4 5 6\n",
            "t.txt",
            r"one column, 'a b c': no comma, semicolon or tab.*separated by spaces; save",
        ),
        ("a|b\n1|2\n", "t.csv", r"one column, 'a\|b'.*separated by '\|'"),
        (
            "a,b\n1,M\u00fcller\n".encode("latin-1"),
            "t.csv",
            r"byte 0xfc at position 7, in line 2, after '1,M'.*CSV UTF-8",
        ),
        ("a,b\r\n1,2\r\n3,\u00b5g\r\n".encode("cp1252"), "t.csv", r"byte 0xb5 at position 12, in line 3, after '3,'"),
        (b"\xef\xbb\xbfa,b\n1,\xff\n", "t.csv", r"byte 0xff at position 9, in line 2"),
        ("a,b\n1,2\n".encode("utf-16-le"), "t.csv", "holds zero bytes, so it is not a text table"),
        (b"a,b\n\0\1,2\n", "t.csv", "holds zero bytes, so it is not a text table"),
        ("a,b\n" + '"' + "x" * 200_000, "t.csv", "cannot be read as a table"),
    ],
)
def test_what_is_not_a_table_is_stated_with_its_place(table, content, name, message):
    with pytest.raises(InputError, match=f"(?s){message}") as caught:
        table(content, name)
    assert name in str(caught.value)


def test_many_wrong_lines_are_counted(table):
    with pytest.raises(InputError, match=r"line 2 has 3, .*line 6 has 3 and 45 more"):
        table("a,b\n" + "1,2,3\n" * 50 + "1,2\n")


def test_wide_tables_are_read(table):
    n = 5000
    X = np.random.default_rng(0).random((3, n))
    lines = [",".join(f"g{i}" for i in range(n)), *(",".join(map(repr, row)) for row in X.tolist())]
    np.testing.assert_array_equal(table("\n".join(lines)).frame.to_numpy(), X)


# Where there is no file


def test_a_missing_file_with_the_nearest_name(tmp_path):
    (tmp_path / "patients.csv").write_text(COMMA)
    with pytest.raises(InputError, match=r"patient\.csv does not exist\. Did you mean 'patients\.csv'\?"):
        read_table(tmp_path / "patient.csv")
    with pytest.raises(InputError, match=r"zzz\.tsv does not exist\. The directory is '"):
        read_table(tmp_path / "zzz.tsv")
    with pytest.raises(InputError, match=r"there is no directory '.*nowhere'"):
        read_table(tmp_path / "nowhere" / "t.csv")


def test_a_directory_is_not_a_table(tmp_path):
    (tmp_path / "t.csv").mkdir()
    with pytest.raises(InputError, match=r"t\.csv is a directory; name the file"):
        read_table(tmp_path / "t.csv")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("t.doc", r"suffix '\.doc', which is not a table that can be read\. Readable are \.csv, .*\.h5ad\.$"),
        ("t", r"suffix ''"),
        ("t.parquet.gz", r"suffix '\.parquet\.gz'"),
        ("t.xls", r"Save it as \.xlsx first"),
    ],
)
def test_unknown_suffixes(table, name, message):
    with pytest.raises(InputError, match=message):
        table(COMMA, name)


def test_a_file_that_may_not_be_read(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text(COMMA)

    def refuse(self):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(type(path), "read_bytes", refuse)
    with pytest.raises(InputError, match=r"t\.csv cannot be read \(Permission denied\)"):
        read_table(path)


def test_a_sheet_is_for_excel_only(tmp_path):
    (tmp_path / "t.csv").write_text(COMMA)
    with pytest.raises(InputError, match=r"t\.csv is not an Excel file, and has no sheet 'a'"):
        read_table(tmp_path / "t.csv", sheet="a")


@pytest.mark.parametrize("n", [10_000, 300_000])
def test_many_equal_names_are_found_before_the_work_and_reported_briefly(tmp_path, monkeypatch, n):
    monkeypatch.setattr(pd, "read_csv", None)  # takes minutes for so many columns
    path = tmp_path / "t.csv"
    path.write_text(",".join(["a"] * n) + "\n" + ",".join("1" * n) + "\n", encoding="utf-8")
    with pytest.raises(
        InputError, match=rf"more than once: 'a' \(columns 1, 2, 3, 4, 5 and {n - 5:,} more\)"
    ) as caught:
        read_table(path)
    assert len(str(caught.value)) < 400


def test_many_pairs_of_equal_names_are_reported_briefly(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(",".join(f"a{i // 2}" for i in range(10_000)) + "\n" + ",".join("1" * 10_000), encoding="utf-8")
    with pytest.raises(InputError, match=r"'a9' \(columns 19 and 20\) and 4,990 more\. Names must") as caught:
        read_table(path)
    assert len(str(caught.value)) < 600


@given(st.text(max_size=8) | st.from_regex(r"\A'*[=+@\t\r-].{0,5}\Z"))
def test_protected_texts_are_not_formulas_and_come_back(text):
    safe = protected(text)
    assert unprotected(safe) == text
    assert safe[:1] not in tuple("=@\t\r")
    if safe[:1] in ("+", "-") and safe.strip("+-"):
        float(safe.replace(",", ".", 1))  # a number at most
