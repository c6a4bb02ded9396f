"""Data sets as their files should be, and a clear word on every file that is not."""

import gzip
import hashlib
import shutil
import zlib
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

from ubayfs.exceptions import InputError
from ubayfs_experiments.data import catalogue
from ubayfs_experiments.data.catalogue import SOURCES, data_directory, is_there
from ubayfs_experiments.data.datasets import DataAbsent

load = catalogue.load.__wrapped__  # what was read before is not read again otherwise
read = cache(load)  # of the paper's data, which no test changes

FILES = [name for name, source in SOURCES.items() if source.path is not None and not source.synthetic]
PAPER = {  # the paper's table of data sets: features, blocks, rows, b_MS, b_BMS; p53's 5409 counts the class
    "BCW": (30, 3, 569, 5, 1),
    "HD": (46, 1, 101, 5, None),
    "MPE": (77, 1, 552, 5, None),
    "COL": (100, 20, 62, 5, 2),
    "LSVT": (310, 14, 126, 10, 2),
    "p53": (5408, 2, None, 20, 1),
    "PRO": (6033, 1, 102, 20, None),
    "LEU": (7129, 1, 72, 20, None),
}


@pytest.mark.parametrize("name", PAPER)
def test_sources_are_those_of_the_papers_table(name):
    n_features, n_blocks, n_samples, max_size, max_blocks = PAPER[name]
    source = SOURCES[name]
    assert (source.n_features, source.n_samples, source.n_select) == (n_features, n_samples, max_size)
    assert source.max_blocks == max_blocks
    assert source.has_blocks == (n_blocks > 1)


@pytest.mark.parametrize("name", FILES)
def test_every_source_says_where_it_comes_from_and_what_is_positive(name):
    assert SOURCES[name].origin
    assert SOURCES[name].positive


@pytest.mark.parametrize("name", SOURCES)
def test_every_data_set_has_the_shape_that_is_stated(name, data_dir):
    source = SOURCES[name]
    if not is_there(source, data_dir):
        with pytest.raises(DataAbsent, match=source.path):
            load(name, data_dir, 0)
        return
    dataset = read(name, data_dir, 0)
    assert dataset.source is source
    assert dataset.X.shape == (source.n_samples, source.n_features)
    assert dataset.X.dtype == np.float64
    assert np.isfinite(dataset.X).all()
    assert set(dataset.y.tolist()) == {0, 1}
    assert len(dataset.y) == source.n_samples
    assert len(set(dataset.feature_names)) == source.n_features
    if name in PAPER and source.has_blocks:
        assert len(dataset.blocks.names) == PAPER[name][1]
        assert sorted(sum(dataset.blocks.members.values(), ())) == sorted(dataset.feature_names)
    assert (dataset.groups is not None) == (source.groups is not None)


def test_breast_cancer_is_that_of_the_data_directory(data_dir):
    ours = load("BCW", None, 0)
    frame = pd.read_csv(data_dir / "BCW.csv.gz")
    assert tuple(frame.columns) == (*ours.feature_names, "y")
    assert np.array_equal(frame.drop(columns="y").to_numpy(), ours.X)
    assert np.array_equal(frame["y"], ours.y)
    blocks = pd.read_csv(data_dir / "blocks" / "BCW.csv")
    theirs = {name: tuple(part["feature"]) for name, part in blocks.groupby("block")}
    assert {frozenset(members) for members in theirs.values()} == {frozenset(m) for m in ours.blocks.members.values()}


def test_other_targets_of_the_mice_are_columns_of_the_same_rows(data_dir):
    rows = pd.read_csv(data_dir / "groups" / "MPE.csv")
    mice = read("MPE", data_dir, 0)
    assert np.array_equal(mice.y == 1, rows["genotype"] == "Ts65Dn")
    assert np.array_equal(mice.groups, rows["mouse"].astype(str))
    for name, column, value in (("MPE_treatment", "treatment", "Memantine"), ("MPE_behavior", "behavior", "C/S")):
        other = read(name, data_dir, 0)
        assert np.array_equal(other.X, mice.X)
        assert np.array_equal(other.y == 1, rows[column] == value)


def test_half_of_the_papers_leukaemia_rows_are_copies_and_none_of_the_sound_ones(data_dir):
    distinct = {name: len({row.tobytes() for row in read(name, data_dir, 0).X}) for name in ("LEU", "LEU_golub")}
    assert distinct == {"LEU": 36, "LEU_golub": 72}


def test_the_data_directory_is_named_by_option_or_environment(tmp_path, monkeypatch):
    monkeypatch.delenv("UBAYFS_DATA", raising=False)
    assert data_directory(None) is None
    assert data_directory(tmp_path) == tmp_path
    (tmp_path / "other").mkdir()
    monkeypatch.setenv("UBAYFS_DATA", str(tmp_path / "other"))
    assert data_directory(None) == tmp_path / "other"
    assert data_directory(str(tmp_path)) == tmp_path
    monkeypatch.setenv("UBAYFS_DATA", "")
    assert data_directory(None) is None


def test_a_data_directory_that_does_not_exist(tmp_path, monkeypatch):
    with pytest.raises(InputError, match=r"^--data-dir names '.*nowhere', which is not a directory\. .*PRO\.csv\.gz"):
        data_directory(tmp_path / "nowhere")
    monkeypatch.setenv("UBAYFS_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match=r"^the environment variable UBAYFS_DATA names '.*nowhere'"):
        data_directory(None)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", [*FILES, "blocks-authors", "redundant-authors"])
def test_absent_files_are_reported_with_their_origin(name, tmp_path):
    source = SOURCES[name]
    with pytest.raises(DataAbsent, match=rf"{source.path} of a data directory.*--data-dir.*UBAYFS_DATA"):
        load(name, None, 0)
    with pytest.raises(DataAbsent) as told:
        load(name, tmp_path, 0)
    assert str(tmp_path / source.path) in str(told.value)
    assert source.origin in str(told.value)
    assert not is_there(source, tmp_path)
    assert not is_there(source, None)
    assert list(tmp_path.iterdir()) == []


def test_what_needs_no_file_is_there():
    assert is_there(SOURCES["BCW"], None)
    assert is_there(SOURCES["blocks"], None)
    assert load("blocks", None, 0).X.shape == (512, 256)


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A data directory with sound files of COL and MPE, of invented values."""
    folder, rng = tmp_path_factory.mktemp("data"), np.random.default_rng(0)
    for name in ("COL", "MPE"):
        source = SOURCES[name]
        frame = pd.DataFrame(rng.normal(size=(source.n_samples, source.n_features)))
        frame = frame.add_prefix("f").assign(y=np.arange(source.n_samples) % 2)
        frame.to_csv(folder / source.path, index=False)
    (folder / "blocks").mkdir()
    (folder / "groups").mkdir()
    blocks = pd.DataFrame({"feature": [f"f{i}" for i in range(100)], "block": np.repeat(np.arange(20), 5)})
    blocks.to_csv(folder / "blocks" / "COL.csv", index=False)
    rows = pd.DataFrame(
        {"mouse": np.arange(552) // 12, "treatment": np.where(np.arange(552) % 3, "Saline", "Memantine")}
    )
    rows.to_csv(folder / "groups" / "MPE.csv", index=False)
    return folder


@pytest.fixture
def made(sound, tmp_path, monkeypatch):
    """The same, to be spoiled; names are not looked at."""
    for name in ("COL", "MPE", "MPE_treatment"):
        monkeypatch.setitem(SOURCES, name, replace(SOURCES[name], columns=None))
    return shutil.copytree(sound, tmp_path / "data")


def change(path, edit):
    """Rewrite a table after a change."""
    frame = pd.read_csv(path)
    edit(frame).to_csv(path, index=False)


def state_of(directory):
    return {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in directory.rglob("*") if path.is_file()}


def test_sound_files_are_read(made):
    dataset = load("COL", made, 0)
    assert dataset.X.shape == (62, 100)
    assert dataset.feature_names[:2] == ("f0", "f1")
    assert len(dataset.blocks.names) == 20
    assert load("MPE_treatment", made, 0).y.sum() == 184
    assert all(is_there(SOURCES[name], made) for name in ("COL", "MPE", "MPE_treatment"))


BAD_TABLES = {
    "a feature less": (lambda f: f.drop(columns="f3"), r"must have 100 features and y; it has 99 and y.*gglasso"),
    "a feature more": (
        lambda f: pd.concat([f["f0"].rename("more"), f], axis=1),
        "100 features and y; it has 101 and y",
    ),
    "y not last": (lambda f: f[["y", *f.columns[:-1]]], r"the last column of .*COL.csv.gz must be 'y'; it is 'f99'"),
    "y named otherwise": (lambda f: f.rename(columns={"y": "class"}), "must be 'y'; it is 'class'"),
    "y is 1 and 2": (lambda f: f.assign(y=f["y"] + 1), r"y in .*COL.csv.gz must be 0 and 1, both; it holds \[.*1.*2"),
    "y is constant": (lambda f: f.assign(y=0), "must be 0 and 1, both"),
    "y is text": (lambda f: f.assign(y=np.where(f["y"], "yes", "no")), "column 'y' of .* must hold finite numbers"),
    "y is missing": (lambda f: f.assign(y=f["y"].where(f.index > 0)), "column 'y' of .* none missing"),
    "text": (lambda f: f.assign(f7="much"), "column 'f7' of .* must hold finite numbers, none missing"),
    "missing": (lambda f: f.assign(f7=f["f7"].where(f.index != 5)), "column 'f7' of .* must hold finite numbers"),
    "infinite": (lambda f: f.assign(f7=np.inf), "column 'f7' of .* must hold finite numbers"),
    "a row less": (lambda f: f.iloc[1:], "must have 62 rows; it has 61.*gglasso"),
    "a row more": (lambda f: pd.concat([f, f.iloc[:1]]), "must have 62 rows; it has 63"),
    "no rows": (lambda f: f.iloc[:0], "must have 62 rows; it has 0"),
}


@pytest.mark.parametrize("kind", BAD_TABLES)
def test_a_file_that_is_not_what_it_should_be(made, kind):
    edit, message = BAD_TABLES[kind]
    change(made / "COL.csv.gz", edit)
    before = state_of(made)
    with pytest.raises(InputError, match=message):
        load("COL", made, 0)
    assert state_of(made) == before


def test_a_file_with_other_columns(sound):
    with pytest.raises(
        InputError,
        match=r"features of .*COL.csv.gz must be the 100 from 'gene01_bs1' to 'gene20_bs5'.*has 'f0' to 'f99'",
    ):
        load("COL", sound, 0)


def test_two_columns_that_changed_places(data_dir, tmp_path):
    frame = pd.read_csv(data_dir / "COL.csv.gz")
    names = list(frame.columns)
    names[3], names[4] = names[4], names[3]
    frame[names].to_csv(tmp_path / "COL.csv.gz", index=False)
    with pytest.raises(InputError, match="in the order of the source"):
        load("COL", tmp_path, 0)


def test_names_of_p53_are_those_of_its_attributes():
    names = "\n".join(f"A{i}" for i in range(1, 5409))
    assert SOURCES["p53"].columns == ("A1", "A5408", f"{zlib.crc32(names.encode()):08x}")


def damage(content):
    """Overwrite the middle of a compressed stream."""
    middle = len(content) // 2
    return content[:middle] + bytes(100) + content[middle + 100 :]


BAD_BYTES = {
    "empty": lambda content: b"",
    "empty inside": lambda content: gzip.compress(b""),
    "no gzip": gzip.decompress,
    "cut short": lambda content: content[: len(content) // 2],
    "damaged": damage,
    "not UTF-8": lambda content: gzip.compress(b"gr\xf6\xdfe,y\n1,0\n"),
}


@pytest.mark.parametrize("kind", BAD_BYTES)
def test_a_file_that_cannot_be_read(made, kind):
    path = made / "COL.csv.gz"
    path.write_bytes(BAD_BYTES[kind](path.read_bytes()))
    with pytest.raises(InputError, match=r"COL\.csv\.gz could not be read as a table .*Where to get it: .*gglasso"):
        load("COL", made, 0)


def test_an_authors_file_that_is_damaged(tmp_path):
    folder = tmp_path / SOURCES["redundant-authors"].path
    folder.mkdir(parents=True)
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(64, 32)))
    (folder / "data.csv.gz").write_bytes(damage(gzip.compress(table.to_csv(index=False).encode())))
    with pytest.raises(InputError, match=r"data\.csv\.gz must be a table of numbers below one header line"):
        load("redundant-authors", tmp_path, 0)


def test_rows_longer_than_the_header(made):
    """Pandas would take the first column for names of rows, and shift all others."""
    path = made / "COL.csv.gz"
    header, *rows = gzip.decompress(path.read_bytes()).decode().splitlines()
    path.write_bytes(gzip.compress("\n".join([header, *(f"9,{row}" for row in rows)]).encode()))
    with pytest.raises(InputError, match=r"the rows of .*COL.csv.gz must be as long as its header"):
        load("COL", made, 0)


BAD_BLOCKS = {
    "another feature": (lambda f: f.replace("f3", "f333"), r"must name every feature of COL.csv.gz once; 'f3' differs"),
    "a feature less": (lambda f: f.iloc[1:], "'f0' differs"),
    "a feature twice": (lambda f: pd.concat([f, f.iloc[:1]]), "once; 'f0' is there twice"),
    "other columns": (lambda f: f.rename(columns={"block": "b"}), "must have a column 'block'; it has 'feature', 'b'"),
    "a block missing": (lambda f: f.assign(block=f["block"].where(f.index > 0)), "column 'block' of .* every line"),
}


@pytest.mark.parametrize("kind", BAD_BLOCKS)
def test_blocks_that_do_not_fit(made, kind):
    edit, message = BAD_BLOCKS[kind]
    change(made / "blocks" / "COL.csv", edit)
    with pytest.raises(InputError, match=message):
        load("COL", made, 0)


BAD_GROUPS = {
    "short": (lambda f: f.iloc[1:], "one line for each of the 552 rows of MPE.csv.gz; got 551"),
    "other columns": (lambda f: f.rename(columns={"mouse": "animal"}), "must have a column 'mouse'"),
    "a mouse missing": (lambda f: f.assign(mouse=f["mouse"].where(f.index > 0)), "column 'mouse' of .* every line"),
    "no target": (lambda f: f.drop(columns="treatment"), "must have a column 'treatment'"),
    "one treatment": (lambda f: f.assign(treatment="Memantine"), "'Memantine' for some rows, but not for all"),
    "other treatments": (lambda f: f.assign(treatment="Placebo"), "'Memantine' for some rows, but not for all"),
}


@pytest.mark.parametrize("kind", BAD_GROUPS)
def test_groups_that_do_not_fit(made, kind):
    edit, message = BAD_GROUPS[kind]
    change(made / "groups" / "MPE.csv", edit)
    with pytest.raises(InputError, match=message):
        load("MPE_treatment", made, 0)


@pytest.mark.parametrize(("name", "path"), [("COL", "blocks/COL.csv"), ("MPE", "groups/MPE.csv")])
def test_a_table_beside_that_is_absent_or_unreadable(made, name, path):
    (made / path).write_bytes(b"")
    with pytest.raises(InputError, match=rf"{path} could not be read as a table"):
        load(name, made, 0)
    (made / path).unlink()
    with pytest.raises(DataAbsent, match=rf"{name} needs .*{path}, which does not exist \(columns: "):
        load(name, made, 0)
    assert not is_there(SOURCES[name], made)


def test_a_data_set_is_read_once(made, monkeypatch):
    catalogue.load.cache_clear()
    first = catalogue.load("COL", made, 0)
    monkeypatch.setattr(catalogue, "_read_table", None)
    assert catalogue.load("COL", made, 0) is first
    catalogue.load.cache_clear()
