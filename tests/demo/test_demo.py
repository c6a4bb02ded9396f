"""The data that the package ships: what they are, where they come from, and how large they make it."""

import io
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import rankdata

import ubayfs.demo
from ubayfs.demo import FILES, write_demo
from ubayfs.exceptions import InputError
from ubayfs.priors.weights import raised
from ubayfs.study import load_study, resolve_study

PACKAGE = Path(ubayfs.__file__).parent
HALLMARK = "HALLMARK_P53_PATHWAY"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    assert write_demo(folder) == folder / "study.yaml"
    return folder


@pytest.fixture(scope="module")
def table(folder):
    return pd.read_csv(folder / "cell_lines.csv")


@pytest.fixture(scope="module")
def source(data_dir):
    return pd.read_csv(data_dir / "P53_NCI60.csv.gz")


def test_rounding_left_every_gene_in_its_order(table, source):
    genes = source.drop(columns="y")
    shipped = table.drop(columns="p53")
    assert list(shipped) == list(genes)
    assert np.array_equal(rankdata(shipped, axis=0), rankdata(genes, axis=0))
    assert np.abs(shipped.to_numpy() - genes.to_numpy()).max() <= 0.005 + 1e-9


def test_labels_are_words_for_those_of_the_source(table, source):
    assert np.array_equal(table["p53"], source["y"].map({0: "wild type", 1: "mutated"}))


def test_the_list_has_the_measured_genes_of_its_set(folder, table, data_dir):
    sets = (data_dir / "genesets" / "hallmark.gmt").read_text().splitlines()
    (genes,) = (line.split("\t")[2:] for line in sets if line.startswith(f"{HALLMARK}\t"))
    assert pd.read_csv(folder / "knowledge.csv")["feature"].tolist() == [gene for gene in genes if gene in table]


def test_every_statement_has_a_reason_and_a_source(folder):
    known = pd.read_csv(folder / "knowledge.csv")
    assert not known.isna().any(axis=None)
    assert known["feature"].is_unique
    assert set(known["weight"]) == {"likely"}


def test_the_study_takes_all_of_the_list_and_defaults_of_this_version(folder):
    resolved = resolve_study(load_study(folder / "study.yaml"))
    assert (resolved.data.n_samples, resolved.data.n_features) == (50, 10_100)
    stated = pd.read_csv(folder / "knowledge.csv")["feature"]
    assert set(resolved.feature_names[raised(resolved.prior.weights)]) == set(stated)
    assert resolved.advice == ()


def test_source_and_license_are_beside_the_data():
    text = (PACKAGE / "demo" / "README.md").read_text(encoding="utf-8")
    for named in ("10.1073/pnas.0506580102", "datamicroarray", "Permission is hereby granted", HALLMARK, "CC BY 4.0"):
        assert named in text


def test_the_wheel_has_at_most_four_megabytes():
    """A wheel is the package, compressed: see tests/test_packaging.py."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path in PACKAGE.rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                wheel.write(path, path.relative_to(PACKAGE))
    assert len(content.getvalue()) < 4e6


def test_files_are_replaced_and_a_file_is_no_directory(tmp_path, folder):
    for name in FILES:
        (tmp_path / name).write_text("old")
    write_demo(tmp_path)
    assert [(tmp_path / name).read_bytes() for name in FILES] == [(folder / name).read_bytes() for name in FILES]
    with pytest.raises(InputError, match="is a file"):
        write_demo(tmp_path / FILES[0])
