"""Large tables: mapped from files, in bounded memory; results that do not depend on how they were computed."""

import os
import tracemalloc
from pathlib import Path

import joblib
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import make_classification
from threadpoolctl import threadpool_limits

from ubayfs.constraints import max_size
from ubayfs.data.feature_data import FeatureData
from ubayfs.data.mapped_array import TableFile
from ubayfs.decision.workflow import decide
from ubayfs.ensemble import workers
from ubayfs.ensemble.collect import collect_evidence
from ubayfs.exceptions import EnsembleError, InputError
from ubayfs.selectors import concordance, scoring
from ubayfs.selectors.registry import SELECTORS

N_SAMPLES, N_FEATURES = 40, 20_000
LABELS = np.arange(N_SAMPLES) % 2


def save_table(path, n_features=N_FEATURES, dtype=np.float32):
    """Write noise with a few columns that follow the labels, row by row as a large table would be."""
    rng = np.random.default_rng(0)
    X = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=(N_SAMPLES, n_features))
    for row, label in zip(X, LABELS, strict=True):
        row[:] = rng.standard_normal(n_features)
        row[:: n_features // 20] += 2 * label
    X.flush()
    return path


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return save_table(tmp_path_factory.mktemp("large") / "X.npy")


def collect(X, selector="fisher", **arguments):
    arguments = {"n_models": 30, "n_features_per_model": 10, "random_state": 3, **arguments}
    return collect_evidence(X, LABELS, selector=selector, **arguments)


def rows_of(evidence):
    return [tuple(row) for row in np.split(evidence.sets.indices, evidence.sets.indptr[1:-1])]


# Tables by path


@pytest.mark.parametrize("selector", ["fisher", "mrmr"])
def test_a_path_is_as_good_as_the_table(path, selector):
    evidence, loaded = collect(path, selector), collect(np.load(path), selector)
    assert rows_of(evidence) == rows_of(loaded)
    assert evidence.runs == loaded.runs  # the same data, the same ensemble
    assert len(evidence.merge(collect(path, selector, random_state=4)).runs) == 60
    assert set(np.flatnonzero(evidence.counts >= 15)) <= set(range(0, N_FEATURES, N_FEATURES // 20))


def test_the_table_is_mapped_and_not_loaded(path):
    data = FeatureData.from_table(path, LABELS)
    assert isinstance(data.X.base, np.memmap)
    assert not data.X.flags.writeable
    assert data.file == TableFile(str(path), data.values_hash)
    assert FeatureData.from_table(np.load(path), LABELS).file is None


def test_any_kind_of_path(path, monkeypatch):
    monkeypatch.chdir(path.parent)
    absolute = FeatureData.from_table(path, LABELS)
    for other in (str(path), "X.npy", Path("X.npy"), os.fsencode(path).decode()):
        data = FeatureData.from_table(other, LABELS)
        assert (data.path, data.fingerprint) == (str(path), absolute.fingerprint)


def test_a_decision_from_a_file(path):
    selection = decide(collect(path), constraints=[max_size(5)], X=path)
    assert len(selection.indices) == 5


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (np.arange(12), r"holds int64 values of shape \(12,\), but float32 or float64 values.*astype\(numpy.float32\)"),
        (np.ones((4, 3), dtype=np.int8), r"holds int8 values of shape \(4, 3\), but float32 or float64"),
        (np.ones((4, 3), dtype=np.float16), r"holds float16 values of shape \(4, 3\), but float32 or float64"),
        (np.ones((4, 3), dtype=complex), r"holds complex128 values"),
        (np.ones((4, 3), dtype=">f4"), r"holds >f4 values"),
        (np.ones(4), r"holds float64 values of shape \(4,\), but .*of shape \(n_samples, n_features\)"),
        (np.ones((4, 3, 2)), r"holds float64 values of shape \(4, 3, 2\)"),
        (np.array([["a", None]], dtype=object), "cannot be mapped as a .npy file .*Write it again with numpy.save"),
        (b"", "cannot be mapped as a .npy file"),
        (b"x0,x1\n1.0,2.0\n", "cannot be mapped as a .npy file"),
        (np.ones((1, 3)), r"X has only 1 sample"),
        (np.ones((0, 3)), "X has 0 samples"),
        (np.full((4, 3), np.nan), r"X contains missing values \(NaN\) in column\(s\) 'x0'"),
        (np.ones((4, 3)), "y must have one entry per sample of X, 4; got 40"),
    ],
    ids=lambda value: value[:12] if isinstance(value, str) else None,
)
def test_files_that_cannot_be_used(tmp_path, content, message):
    path = tmp_path / "bad.npy"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        np.save(path, content)
    with pytest.raises(InputError, match=message):
        collect(path)


def test_a_file_that_was_cut_short(path, tmp_path):
    cut = tmp_path / "cut.npy"
    cut.write_bytes(path.read_bytes()[:100_000])
    with pytest.raises(InputError, match=r"cut.npy', which cannot be mapped as a .npy file .*numpy.save"):
        collect(cut)


def test_an_archive_is_not_a_table(tmp_path):
    with open(tmp_path / "several.npy", "wb") as file:
        np.savez(file, X=np.ones((3, 2)))
    with pytest.raises(InputError, match=r"several.npy', which is an archive of arrays \(.npz\).*numpy.save"):
        collect_evidence(tmp_path / "several.npy", [0, 1, 0])


def test_paths_that_lead_nowhere(tmp_path):
    with pytest.raises(InputError, match=r"X is the path '.*none.npy', which does not exist"):
        collect(tmp_path / "none.npy")
    (tmp_path / "directory.npy").mkdir()
    with pytest.raises(InputError, match=r"directory.npy', which cannot be mapped"):
        collect(tmp_path / "directory.npy")
    with pytest.raises(InputError, match=r"or the path of a .npy file.*got the path '.*table.csv'.*pandas.read_csv"):
        collect("table.csv")


def test_a_worker_reads_a_file_once_and_only_the_right_one(path, tmp_path):
    file = FeatureData.from_table(path, LABELS).file
    assert_array_equal(file.open(), np.load(path))
    assert file.open() is file.open()
    with pytest.raises(EnsembleError, match=r"a worker on '.*' finds other values in '.*X.npy'\. Put the file where"):
        TableFile(file.path, "another hash").open()
    with pytest.raises(EnsembleError, match=r"cannot use the data: .*none.npy', which does not exist\. Put the file"):
        TableFile(str(tmp_path / "none.npy"), file.values_hash).open()


def test_a_mapped_table_is_never_written_to(path, tmp_path):
    before = path.read_bytes()
    writable = tmp_path / "writable.npy"
    writable.write_bytes(before)
    for selector in ("fisher", "mrmr"):
        assert rows_of(collect(np.load(writable, mmap_mode="r+"), selector)) == rows_of(collect(path, selector))
    assert writable.read_bytes() == path.read_bytes() == before


# Memory


def peak_bytes(X, selector, n_models=25):
    """Most memory that Python and numpy held beyond the mapped table."""
    tracemalloc.start()
    try:
        collect(X, selector, n_models=n_models)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("selector", ["fisher", "mrmr"])
def test_memory_beyond_the_table(path, tmp_path, selector, monkeypatch):
    monkeypatch.setattr(workers, "_MOST_TOGETHER", 25)  # this table is small enough for 100 runs at once
    collect(save_table(tmp_path / "small.npy", 100), selector)  # imports are not counted
    size = np.load(path, mmap_mode="r").nbytes
    once = peak_bytes(path, selector)
    # The table and three times as much would be the limit. With the 40 rows here, scores (25 runs x features) and
    # names weigh five times more against the table than with 200 rows.
    assert once < 3 * size
    # Neither more models nor, beyond proportion, more features.
    assert peak_bytes(path, selector, n_models=50) < 1.1 * once
    double = save_table(tmp_path / "double.npy", 2 * N_FEATURES)
    assert peak_bytes(double, selector) < 2.1 * once


# Results do not depend on how they are computed


@pytest.mark.parametrize("selector", ["fisher", "mrmr"])
def test_chunks_change_nothing(path, selector, monkeypatch):
    X = np.load(path)[:, ::10]
    expected = rows_of(collect(X, selector))
    monkeypatch.setattr(scoring, "BLOCK_ENTRIES", 999)
    monkeypatch.setattr(concordance, "_CACHE_ENTRIES", 700)
    assert rows_of(collect(X, selector)) == expected
    monkeypatch.setattr(concordance, "MAX_PAIRS", 0)
    assert rows_of(collect(X, selector)) == expected


@pytest.fixture(scope="module")
def problem():
    X, y = make_classification(60, 80, n_informative=6, n_redundant=4, random_state=1)
    return X.astype(np.float32), y


def collect_all(problem, dtype=np.float32, n_jobs=None):
    """What four runs of each selector choose."""
    X, y = problem
    selectors = sorted(name for name, selector in SELECTORS.items() if "binary" in selector.tasks)
    arguments = {"n_models": 4 * len(selectors), "n_features_per_model": 6, "random_state": 3, "n_jobs": n_jobs}
    return rows_of(collect_evidence(X.astype(dtype), y, selector=selectors, **arguments))


@pytest.fixture(scope="module")
def expected(problem):
    with threadpool_limits(1):
        return collect_all(problem)


def test_threads_change_nothing(problem, expected):
    with threadpool_limits(2):
        assert collect_all(problem) == expected
    assert collect_all(problem, n_jobs=2) == expected


def test_processes_change_nothing(problem, expected):
    with joblib.parallel_config(backend="loky", n_jobs=2):
        assert collect_all(problem) == expected


def test_the_same_numbers_in_double_precision_give_the_same_sets(problem, expected):
    assert collect_all(problem, np.float64) == expected


def test_rounding_to_single_precision_moves_near_ties_only():
    """Rounding changes a value by 6e-8 of itself; Fisher scores F / (1 + F) that differ by 1e-6 keep their order."""
    rng = np.random.default_rng(2)
    y = np.arange(50) % 2
    X = rng.normal(size=(50, 20_000)) + 0.3 * y[:, None]
    everything = np.ones((1, 50), dtype=bool)
    chosen = [
        SELECTORS["fisher"].select_many(data.X, data.target, everything, 50, [rng])[0]
        for data in (FeatureData.from_table(X, y), FeatureData.from_table(X.astype(np.float32), y))
    ]
    means = np.stack([X[y == c].mean(axis=0) for c in (0, 1)])
    between = 25 * ((means - X.mean(axis=0)) ** 2).sum(axis=0)
    scores = between / ((X - X.mean(axis=0)) ** 2).sum(axis=0)
    for double, single in zip(*chosen, strict=True):
        assert abs(scores[double] - scores[single]) < 1e-6
    assert len(np.setxor1d(*chosen)) <= 2
