"""Small files that unpack to more than memory holds are refused before they are unpacked."""

import gzip
import io
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ubayfs import Evidence, read_data
from ubayfs._files import check_unpacked
from ubayfs.exceptions import EnsembleError, InputError
from ubayfs.tables import read_lines, read_table

LIMIT = 20_000_000
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


@pytest.fixture(autouse=True)
def limit(monkeypatch):
    monkeypatch.setenv("UBAYFS_MEMORY_LIMIT", "0.02")


def workbook(path, content, part="sheet1.xml"):
    """Write a workbook of which one part has this content."""
    openpyxl = pytest.importorskip("openpyxl")
    buffer = io.BytesIO()
    openpyxl.Workbook().save(buffer)
    with zipfile.ZipFile(buffer) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, content if name.endswith(part) else old.read(name))
    return path


def rows_of(*rows):
    return f'<worksheet xmlns="{_MAIN}"><sheetData>{"".join(rows)}</sheetData></worksheet>'


def compressed(content):
    def write(path):
        path.write_bytes(gzip.compress(content))

    return write


def far_cells(path):
    workbook(path, rows_of(*(f'<row r="{i}"><c r="XFD{i}"><v>1</v></c></row>' for i in range(1, 1025))))


def long_sheet(path):
    workbook(path, rows_of(" " * LIMIT))


def long_styles(path):
    workbook(path, f'<styleSheet xmlns="{_MAIN}">{"<a/>" * 200_000}</styleSheet>', "styles.xml")


def one_long_text(path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 1000, pa.int32()), pa.array(["x" * 100_000]))
    parquet.write_table(pa.table({"a": texts}), path, store_schema=False)


def equal_numbers(path):
    pytest.importorskip("pyarrow")
    pd.DataFrame({f"x{i}": np.zeros(100_000) for i in range(20)}).to_parquet(path)


def matrix_of(sparse):
    def write(path):
        h5py, anndata = pytest.importorskip("h5py"), pytest.importorskip("anndata")
        from scipy.sparse import csr_matrix

        X = csr_matrix((2, 3), dtype=np.float32) if sparse else np.eye(2, 3)
        obs, var = (pd.DataFrame(index=pd.Index([*"abc"[:n]], dtype=object)) for n in X.shape)
        anndata.AnnData(X, obs, var).write_h5ad(path)
        with h5py.File(path, "a") as file:
            if sparse:
                file["X"].attrs["shape"] = (3_000, 3_000)
            else:
                about = dict(file["X"].attrs)
                del file["X"]
                file.create_dataset("X", (3_000, 3_000), "f4", chunks=True, compression="gzip").attrs.update(about)

    return write


BOMBS = {
    "rows.csv.gz": compressed(b"a,b\n" + b"1,2\n" * (LIMIT // 4)),
    "cells.csv.gz": compressed(b"a" + b",b" * 9 + (b"\n" + b"," * 9) * 300_000),
    "columns.csv.gz": compressed(b",".join(b"%d" % i for i in range(30_000)) + b"\n1"),
    "far.xlsx": far_cells,
    "long.xlsx": long_sheet,
    "styles.xlsx": long_styles,
    "text.parquet": one_long_text,
    "numbers.parquet": equal_numbers,
    "dense.h5ad": matrix_of(sparse=False),
    "sparse.h5ad": matrix_of(sparse=True),
}


@pytest.mark.filterwarnings("ignore::Warning")  # of anndata, while it writes
@pytest.mark.parametrize("name", BOMBS)
def test_a_small_file_that_unpacks_to_too_much_is_refused(tmp_path, name):
    path = tmp_path / name
    BOMBS[name](path)
    assert path.stat().st_size < LIMIT / 20
    with pytest.raises(InputError, match=r"when it is unpacked.*for one file is 0\.02 GB.*UBAYFS_") as caught:
        read_table(path)
    assert caught.value.value == path
    assert str(path) in str(caught.value)
    assert "draws" not in str(caught.value)


def test_read_data_and_lists_of_names_have_the_same_limit(tmp_path):
    BOMBS["rows.csv.gz"](tmp_path / "rows.csv.gz")
    with pytest.raises(InputError, match="when it is unpacked"):
        read_data(tmp_path / "rows.csv.gz")
    compressed(b"set\tabout\tTP53\n" * (LIMIT // 300))(tmp_path / "sets.gmt.gz")
    with pytest.raises(InputError, match="when it is unpacked"):
        read_lines(tmp_path / "sets.gmt.gz")


def test_a_file_that_is_too_large_as_it_is(tmp_path):
    with open(tmp_path / "large.csv", "wb") as file:
        file.truncate(LIMIT + 1)  # takes no place on disk
    with pytest.raises(InputError, match=r"takes 0\.02 GB of memory when it is unpacked"):
        read_table(tmp_path / "large.csv")


def test_one_cell_in_the_last_row_and_column_costs_nothing(tmp_path):
    path = workbook(tmp_path / "last.xlsx", rows_of('<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'))
    with pytest.raises(InputError, match="no rows of data"):
        read_table(path)
    path = workbook(tmp_path / "beyond.xlsx", rows_of('<row r="2000000000"><c><v>1</v></c></row>'))
    with pytest.raises(InputError, match="more rows than a sheet can have"):
        read_table(path)


def test_elements_without_a_meaning_are_not_held_without_end(tmp_path, monkeypatch):
    from ubayfs import _files

    used = iter(range(0, 10**12, 10**6))
    monkeypatch.setattr(_files, "_most_memory", lambda: next(used))  # grows while the file is read
    noise = np.random.default_rng(0).integers(10**9, size=20_000)  # hardly compressible
    path = workbook(tmp_path / "elements.xlsx", rows_of(*(f"<a b='{number}'/>" for number in noise)))
    with pytest.raises(InputError, match="takes more than"):
        read_table(path)


def test_the_size_that_gzip_declares_does_not_matter(tmp_path):
    content = bytearray(gzip.compress(b"a,b\n" + b"1,2\n" * 10))
    content[-4:] = b"\xff\xff\xff\x7f"
    (tmp_path / "lies.csv.gz").write_bytes(content)
    with pytest.raises(InputError, match="damaged"):
        read_table(tmp_path / "lies.csv.gz")


def test_what_is_not_part_of_evidence_is_not_unpacked(tmp_path):
    path = tmp_path / "evidence.npz"
    Evidence.from_sets([[1, 0], [1, 1]]).save(path)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("more.npy", bytes(10))
    with pytest.raises(EnsembleError, match=r"it has a part 'more'"):
        Evidence.load(path)


@pytest.mark.parametrize("member", ["indices", "metadata"])
def test_a_part_of_evidence_that_unpacks_to_too_much(tmp_path, member):
    path = tmp_path / "evidence.npz"
    Evidence.from_sets([[1, 0], [1, 1]]).save(path)
    with np.load(path) as archive:
        arrays = dict(archive)
    arrays[member] = np.zeros(LIMIT // 20, dtype=np.uint8 if member == "metadata" else np.int64)
    arrays["indptr"] = np.zeros(LIMIT // 10, dtype=np.int64) if member == "indices" else arrays["indptr"]
    np.savez_compressed(path, **arrays)
    with pytest.raises(EnsembleError, match="when it is unpacked"):
        Evidence.load(path)


@pytest.mark.parametrize(("given", "limit"), [("1", 10**9), ("0.5", 5 * 10**8), ("16", 16 * 10**9)])
def test_the_limit_can_be_set(monkeypatch, given, limit):
    monkeypatch.setenv("UBAYFS_MEMORY_LIMIT", given)
    assert check_unpacked(Path("x"), 0) == limit


@pytest.mark.parametrize("given", ["much", "8GB", "nan", "inf", "0", "-1", "1e-12"])
def test_a_limit_that_is_no_size_is_named(monkeypatch, given):
    monkeypatch.setenv("UBAYFS_MEMORY_LIMIT", given)
    with pytest.raises(InputError, match=r"must be a number of gigabytes above 0, such as 16") as caught:
        check_unpacked(Path("x"), 0)
    assert caught.value.argument == "UBAYFS_MEMORY_LIMIT"


def test_by_default_the_limit_is_a_share_of_the_memory_that_is_free(monkeypatch):
    monkeypatch.delenv("UBAYFS_MEMORY_LIMIT")
    assert 10**7 < check_unpacked(Path("x"), 0) < 10**14


def test_memory_that_is_not_there_is_said_of_the_file(tmp_path):
    (tmp_path / "cells.csv").write_text("a,b\n1,2\n")

    def none_left(path):
        raise MemoryError

    with pytest.raises(InputError, match="no memory is left"):
        read_table(tmp_path / "cells.csv", read=none_left)


@pytest.mark.parametrize("kind", ["link to a file", "link to a part", "virtual", "stored elsewhere"])
def test_what_an_hdf5_file_takes_from_others_is_refused(tmp_path, kind):
    h5py, anndata = pytest.importorskip("h5py"), pytest.importorskip("anndata")
    secret = tmp_path / "secret.h5ad"
    names = [pd.DataFrame(index=pd.Index([f"n{i}" for i in range(n)], dtype=object)) for n in (3, 2)]
    anndata.AnnData(np.ones((3, 2), dtype=np.float32), *names).write_h5ad(secret)
    assert len(read_table(secret).frame) == 3
    sent = tmp_path / "sent.h5ad"
    sent.write_bytes(secret.read_bytes())
    with h5py.File(sent, "a") as file:
        about = dict(file["X"].attrs)
        del file["X"]
        if kind == "link to a file":
            file["X"] = h5py.ExternalLink(str(secret), "X")
        elif kind == "link to a part":
            file["X"] = h5py.SoftLink("/obs")
        elif kind == "virtual":
            layout = h5py.VirtualLayout((3, 2), np.float32)
            layout[:] = h5py.VirtualSource(str(secret), "X", (3, 2))
            file.create_virtual_dataset("X", layout).attrs.update(about)
        else:
            file.create_dataset("X", (3, 2), np.float32, external=[(str(secret), 0, 24)]).attrs.update(about)
    with pytest.raises(InputError, match="'X' that is not in this file"):
        read_table(sent)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"\xff\xfe\n\0"])
def test_a_file_with_nothing_but_a_mark_is_empty(tmp_path, content):
    (tmp_path / "b.csv").write_bytes(content)
    with pytest.raises(InputError, match="is empty; a table is needed"):
        read_table(tmp_path / "b.csv")
