"""Excel, Parquet and AnnData."""

import builtins
import datetime
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from ubayfs import read_data
from ubayfs.exceptions import InputError, MissingDependencyError, StudyError
from ubayfs.tables import read_features, read_table, write_table


def workbook(path, **sheets):
    from openpyxl import Workbook

    book = Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


@pytest.fixture
def excel(tmp_path):
    """Function sheets -> path of an Excel file."""
    return lambda **sheets: workbook(tmp_path / "book.xlsx", **sheets)


class TestExcel:
    def test_types_and_row_numbers(self, excel):
        rows = [["id", "n", "x", "flag"], ["a", 1, 1.5, True], ["b", 2, None, False], ["c", 3, "NA", True]]
        table = read_table(excel(one=rows))
        assert [table.frame[c].dtype.kind for c in ("n", "x", "flag")] == ["i", "f", "b"]
        assert table.frame["x"].isna().tolist() == [False, True, True]
        assert table.frame["id"].tolist() == ["a", "b", "c"]
        assert table.place(2) == "row 4"
        assert table.annotations == frozenset()

    def test_sheets_by_name_and_the_first_by_default(self, excel):
        path = excel(first=[["a"], [1]], second=[["b"], [2]])
        assert list(read_table(path).frame.columns) == ["a"]
        assert list(read_table(path, sheet="second").frame.columns) == ["b"]

    def test_a_sheet_that_does_not_exist(self, excel):
        path = excel(patients=[["a"], [1]], notes=[["b"], [2]])
        with pytest.raises(
            InputError, match=r"no sheet 'patient'\. Did you mean 'patients'\? Its sheets are 'patients', 'notes'\."
        ):
            read_table(path, sheet="patient")

    def test_margins_are_left_out_and_rows_keep_their_number(self, excel):
        rows = [[None], [], ["", "a", "b", None], ["p1", 1, 2, None], ["p2", 3, 4, None], [None, None], []]
        table = read_table(excel(one=rows))
        assert list(table.frame.columns) == ["a", "b"]
        assert table.frame.to_numpy().tolist() == [[1, 2], [3, 4]]
        assert table.frame.dtypes.map(lambda dtype: dtype.kind).tolist() == ["i", "i"]
        assert list(table.frame.index) == ["p1", "p2"]
        assert [table.place(0), table.place(1)] == ["row 4", "row 5"]

    @pytest.mark.parametrize(
        ("rows", "message"),
        [
            ([], "has an empty sheet 'one'"),
            ([["", "NA"], [None]], "has an empty sheet 'one'"),
            ([["a", "b"]], r"has a header \('a', 'b'\), but no rows"),
            ([["a", "b", "a"], [1, 2, 3]], r"names more than once: 'a' \(columns 1 and 3\)"),
            ([["a", None, "b"], [1, 2, 3]], r"values in column\(s\) 2, which have no name"),
        ],
    )
    def test_sheets_without_a_table(self, excel, rows, message):
        with pytest.raises(InputError, match=message):
            read_table(excel(one=rows))

    def test_numbers_stored_as_text_are_named(self, excel):
        path = excel(one=[["x", "y"], [1.5, "a"], ["2,500", "b"], ["3", "a"]])  # or two thousand and five hundred?
        with pytest.raises(
            StudyError, match=r"'x': '2,500' in row 3, '3' in row 4 are not numbers: they are numbers sto"
        ):
            read_features(read_table(path), target="y")

    def test_decimal_commas_typed_as_text_are_numbers(self, excel):
        path = excel(one=[["x", "y"], [1.5, "a"], ["2,5", "b"], ["3", "a"], [None, "b"]])
        assert read_table(path).frame["x"].tolist()[:3] == [1.5, 2.5, 3.0]

    def test_commas_that_may_separate_thousands_stay_text_beside_decimal_commas(self, excel):
        rows = [["x", "w", "y"], ["2,5", "1,234", "a"], ["0,25", "2,500", "b"]]
        table = read_table(excel(one=rows))
        assert table.frame["x"].tolist() == [2.5, 0.25]
        assert table.frame["w"].tolist() == ["1,234", "2,500"]

    def test_error_cells_and_dates_are_named(self, excel):
        day = datetime.datetime(2020, 1, 2)
        path = excel(one=[["x", "d", "y"], [1.5, day, 0], ["#DIV/0!", day, 1], [3, None, 1]])
        with pytest.raises(StudyError) as caught:
            read_features(read_table(path), target="y")
        assert "'#DIV/0!' in row 3 is not a number" in str(caught.value)
        data = read_features(read_table(excel(one=[["x", "d", "y"], [1.5, day, 0], [3, None, 1]])), target="y")
        assert [(note.code, note.facts["kind"]) for note in data.notes] == [("columns_ignored", "dates")]

    @pytest.mark.parametrize("content", [b"", b"rubbish", b"PK\x03\x04 cut short", b"\xd0\xcf\x11\xe0 locked"])
    def test_damage(self, tmp_path, content):
        (tmp_path / "t.xlsx").write_bytes(content)
        with pytest.raises(
            InputError, match=r"t\.xlsx is not a valid Excel file, or it is damaged or protected by a password"
        ):
            read_table(tmp_path / "t.xlsx")

    def test_a_zip_file_that_is_not_a_workbook(self, excel):
        path = excel(one=[["a"], [1]])
        content = path.read_bytes()
        path.write_bytes(content.replace(b"xl/workbook.xml", b"xl/wrongbook.xml"))
        with pytest.raises(InputError, match="is not a valid Excel file, or it is damaged"):
            read_table(path)


class TestParquet:
    def test_types_and_index(self, tmp_path):
        frame = pd.DataFrame(
            {"i": [1, 2], "f": np.float32([0.1, 0.2]), "b": [True, False], "c": pd.Categorical(["u", "v"])},
            index=["p1", "p2"],
        )
        frame.to_parquet(tmp_path / "t.parquet")
        table = read_table(tmp_path / "t.parquet")
        pd.testing.assert_frame_equal(table.frame, frame, check_index_type=False, check_column_type=False)
        assert table.place(0) == "row 1"

    def test_single_precision_stays(self, tmp_path):
        pd.DataFrame(np.eye(3, dtype=np.float32), columns=list("abc")).to_parquet(tmp_path / "t.parquet")
        assert read_features(read_table(tmp_path / "t.parquet")).X.dtype == np.float32

    def test_text_that_shows_digits_is_text(self, tmp_path):
        pd.DataFrame({"code": ["1", "2"], "x": [1, 2]}).to_parquet(tmp_path / "t.parquet")
        with pytest.raises(
            StudyError, match=r"column 'code': '1' in row 1, '2' in row 2 are not numbers: they are num"
        ):
            read_features(read_table(tmp_path / "t.parquet"))

    def test_nullable_and_decimal_columns_are_numbers(self, tmp_path):
        from decimal import Decimal

        frame = pd.DataFrame(
            {
                "i": pd.array([1, None], dtype="Int64"),
                "b": pd.array([True, None], dtype="boolean"),
                "d": [Decimal("1.5"), Decimal("2")],
            }
        )
        frame.to_parquet(tmp_path / "t.parquet")
        data = read_features(read_table(tmp_path / "t.parquet"), missing="median")
        np.testing.assert_array_equal(data.X, [[1, 1, 1.5], [np.nan, np.nan, 2]])

    def test_duplicate_columns(self, tmp_path):
        import pyarrow as pa
        from pyarrow import parquet

        table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
        parquet.write_table(table, tmp_path / "t.parquet")
        with pytest.raises(InputError, match=r"names more than once: 'a' \(columns 1 and 2\)"):
            read_table(tmp_path / "t.parquet")

    def test_no_rows_and_no_columns(self, tmp_path):
        pd.DataFrame({"a": []}).to_parquet(tmp_path / "t.parquet")
        with pytest.raises(InputError, match=r"has a header .* no rows"):
            read_table(tmp_path / "t.parquet")
        pd.DataFrame(index=[1, 2]).to_parquet(tmp_path / "t.parquet")
        with pytest.raises(InputError, match="is empty"):
            read_table(tmp_path / "t.parquet")

    @pytest.mark.parametrize("cut", [0, 4, 200])
    def test_damage(self, tmp_path, cut):
        path = tmp_path / "t.parquet"
        pd.DataFrame({"a": range(100)}).to_parquet(path)
        path.write_bytes(path.read_bytes()[:cut])
        with pytest.raises(
            InputError, match=r"t\.parquet is not a valid Parquet file, or it is damaged \(.*\)\. Write it again"
        ):
            read_table(path)


def annotated(path, X, obs, var_names):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from anndata import AnnData

        # Not all versions of anndata can write the text columns of newer pandas; objects they can.
        rows = pd.Index([f"cell{i}" for i in range(len(obs))], dtype=object)
        obs = obs.set_axis(rows).astype({"kind": object})
        obs.columns = obs.columns.astype(object)
        AnnData(X, obs=obs, var=pd.DataFrame(index=pd.Index(var_names, dtype=object))).write_h5ad(path)
    return path


class TestAnnData:
    X = np.array([[0, 1.5, 2], [3, 0, 0], [0, 0, 4]])
    obs = pd.DataFrame({"kind": ["t", "b", "t"], "batch": [1, 2, 1], "age": [30.0, 41.5, 27.0]})
    genes = ("CD4", "CD8", "CD19")

    @pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix, sparse.csc_matrix, np.float32])
    def test_matrix_and_annotations(self, tmp_path, kind):
        table = read_table(annotated(tmp_path / "t.h5ad", kind(self.X), self.obs, list(self.genes)))
        assert list(table.frame.columns) == [*self.genes, "kind", "batch", "age"]
        assert list(table.frame.index) == ["cell0", "cell1", "cell2"]
        assert table.annotations == {"kind", "batch", "age"}
        data = read_features(table, target="kind", groups="batch")
        assert data.X.dtype == np.float32
        np.testing.assert_array_equal(data.X, self.X.astype(np.float32))
        assert data.feature_names.tolist() == list(self.genes)
        assert data.target.labels.tolist() == ["t", "b", "t"]
        assert data.groups.tolist() == [0, 1, 0]

    def test_numbers_of_obs_are_not_features(self, tmp_path):
        table = read_table(annotated(tmp_path / "t.h5ad", self.X, self.obs, list(self.genes)))
        assert read_features(table, target="age", task="regression").feature_names.tolist() == list(self.genes)

    def test_a_name_in_obs_and_var(self, tmp_path):
        path = annotated(tmp_path / "t.h5ad", self.X, self.obs, ["CD4", "age", "CD19"])
        with pytest.raises(InputError, match=r"has 'age' both in obs and in var; rename"):
            read_table(path)

    def test_features_named_twice(self, tmp_path):
        path = annotated(tmp_path / "t.h5ad", self.X, self.obs, ["CD4", "CD8", "CD4"])
        with pytest.raises(InputError, match=r"feature names more than once: 'CD4' \(features 1 and 3\)"):
            read_table(path)

    def test_without_a_matrix(self, tmp_path):
        path = annotated(tmp_path / "t.h5ad", None, self.obs, list(self.genes))
        with pytest.raises(InputError, match="has no matrix X"):
            read_table(path)

    @pytest.mark.parametrize("content", [b"", b"rubbish", b"\x89HDF\r\n\x1a\n"])
    def test_damage(self, tmp_path, content):
        (tmp_path / "t.h5ad").write_bytes(content)
        with pytest.raises(InputError, match=r"t\.h5ad is not a valid AnnData \(\.h5ad\) file, or it is damaged"):
            read_table(tmp_path / "t.h5ad")

    def test_an_hdf5_file_that_is_not_anndata(self, tmp_path):
        import h5py

        with h5py.File(tmp_path / "t.h5ad", "w") as file:
            file["numbers"] = np.arange(3)
        with pytest.raises(InputError, match=r"is not a valid AnnData|has no matrix X|is empty"):
            read_table(tmp_path / "t.h5ad")


@pytest.mark.parametrize(
    ("name", "package", "extra"),
    [
        ("t.parquet", "pyarrow", "parquet"),
        ("t.xlsx", "openpyxl", "excel"),
        ("t.h5ad", "anndata", "anndata"),
    ],
)
def test_a_package_that_is_not_installed_is_named(tmp_path, monkeypatch, name, package, extra):
    (tmp_path / name).write_bytes(b"x")
    real = builtins.__import__

    def without(module, *arguments, **keywords):
        if module.split(".")[0] == package:
            raise ImportError(f"No module named {module!r}")
        return real(module, *arguments, **keywords)

    monkeypatch.setattr(builtins, "__import__", without)
    message = rf'{package}, which is not installed: pip install "ubayfs\[{extra}\]"'
    with pytest.raises(MissingDependencyError, match=message):
        read_table(tmp_path / name)
    if package != "anndata":
        with pytest.raises(MissingDependencyError, match=message):
            write_table(pd.DataFrame({"a": [1]}), tmp_path / f"new.{name}")


@pytest.mark.parametrize(
    ("name", "content", "sheet", "argument"),
    [
        ("t.csv", "", None, "path"),
        ("t.csv", "a,b\n", None, "path"),
        ("t.csv", "a,a\n1,2\n", None, "path"),
        ("t.doc", "a,b\n1,2\n", None, "path"),
        ("t.xlsx", "a,b\n1,2\n", None, "path"),
        ("t.csv", "a,b\n1,2\n", "first", "sheet"),
    ],
)
def test_an_error_carries_what_it_is_about(tmp_path, name, content, sheet, argument):
    file = tmp_path / name
    file.write_text(content)
    with pytest.raises(InputError) as caught:
        read_table(file, sheet=sheet)
    assert caught.value.argument == argument
    assert caught.value.value == {"path": file, "sheet": sheet}[argument]


def test_a_word_among_decimal_commas_is_what_is_wrong(tmp_path):
    """Not the numbers beside it, of which the column would be a category with too many labels."""
    path = tmp_path / "table.xlsx"
    crp = [f"{value},5" for value in range(20)]
    pd.DataFrame({"CRP": [*crp[:7], "unklar", *crp[8:]], "grade": ["a", "b"] * 10}).to_excel(path, index=False)
    frame = read_table(path).frame
    assert frame["CRP"].tolist() == [value + 0.5 if value != 7 else "unklar" for value in range(20)]
    with pytest.raises(StudyError) as caught:
        read_data(path, target="grade")
    [problem] = caught.value.problems
    assert problem.path == ("path",)
    assert "'unklar' in row 9 is not a number" in problem.message
