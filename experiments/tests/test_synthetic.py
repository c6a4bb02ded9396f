"""Synthetic data: the target follows the formula, blocks lie where they should, and the authors' files are met."""

import gzip

import numpy as np
import pytest
from sklearn.datasets import make_classification

from ubayfs import Blocks
from ubayfs.exceptions import InputError
from ubayfs_experiments.data.datasets import DataAbsent
from ubayfs_experiments.data.synthetic import SOURCES, arrange_blocks, generate, read_authors, relevant_blocks

OURS = [name for name, source in SOURCES.items() if source.path is None and name != "p53-size"]
AUTHORS = [name for name, source in SOURCES.items() if source.path is not None]


@pytest.fixture(scope="module")
def made():
    return {name: generate(name, seed=0) for name in OURS}


def test_sources_have_the_sizes_of_the_paper():
    sizes = {name: (s.n_samples, s.n_features, s.n_select) for name, s in SOURCES.items()}
    assert sizes == {
        "additive": (1000, 1000, 4),
        "non-additive": (1000, 1000, 3),
        "blocks": (512, 256, 16),
        "redundant": (64, 32, 16),
        "blocks-authors": (512, 256, 16),
        "redundant-authors": (64, 32, 16),
        "p53-size": (351, 5408, 20),
    }
    assert all(source.synthetic for source in SOURCES.values())
    assert AUTHORS == ["blocks-authors", "redundant-authors"]


@pytest.mark.parametrize("name", OURS)
def test_shape_names_and_truth(made, name):
    data = made[name]
    source = SOURCES[name]
    assert data.source is source
    assert data.X.shape == (source.n_samples, source.n_features)
    assert data.y.shape == (source.n_samples,)
    assert data.y.dtype == np.int64
    assert set(data.y) == {0, 1}
    assert data.feature_names == tuple(f"x{i}" for i in range(1, source.n_features + 1))
    assert len(data.relevant) == source.n_select
    assert not set(data.relevant) & set(data.redundant)


@pytest.mark.parametrize("name", OURS)
def test_same_seed_same_data(made, name):
    again, other = generate(name, seed=0), generate(name, seed=1)
    assert np.array_equal(made[name].X, again.X)
    assert np.array_equal(made[name].y, again.y)
    assert made[name].relevant == again.relevant
    assert not np.array_equal(made[name].X, other.X)


def test_noise_of_the_size_of_p53_has_two_blocks_and_no_truth():
    data = generate("p53-size", seed=0)
    assert data.X.shape == (351, 5408)
    assert data.y.sum() == 175
    assert data.relevant == ()
    assert [len(data.blocks.members[name]) for name in data.blocks.names] == [4826, 582]
    assert np.abs(np.corrcoef(data.y, data.X[:, :200].T)[0, 1:]).max() < 0.25


def additive(X):
    return -2 * np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 1] + X[:, 2] + 1 / np.exp(X[:, 3])


def non_additive(X):
    return X[:, 0] * np.exp(X[:, 1]) ** 2 + X[:, 2] * X[:, 2]


@pytest.mark.parametrize(
    ("name", "formula", "share"), [("additive", additive, 0.81), ("non-additive", non_additive, 0.65)]
)
def test_target_is_the_formula_with_standard_normal_noise(made, name, formula, share):
    from scipy.stats import norm

    data = made[name]
    z = formula(data.X)
    # P(y = 1 | x) = Phi(z): where |z| > 4.5 the noise cannot turn the class, and elsewhere its probabilities fit.
    sure = np.abs(z) > 4.5
    assert sure.sum() > 150
    assert np.array_equal(data.y[sure], (z[sure] > 0).astype(int))
    probability = norm.cdf(z)
    spread = np.sqrt((probability * (1 - probability)).sum())
    assert abs(data.y.sum() - probability.sum()) < 3 * spread
    # Half of the noise, or twice as much, would fit worse.
    likelihood = {s: norm.logcdf((2 * data.y - 1) * z / s).sum() for s in (0.5, 1.0, 2.0)}
    assert max(likelihood, key=likelihood.get) == 1.0
    assert data.y.mean() == pytest.approx(share, abs=0.04)  # as the docstring says
    assert data.relevant == tuple(range(SOURCES[name].n_select))
    assert data.blocks is None


def test_a_wrong_feature_does_not_determine_the_target(made):
    data = made["additive"]
    z = additive(data.X[:, [4, 5, 6, 7]])
    assert np.corrcoef(z > 0, data.y)[0, 1] < 0.15 < np.corrcoef(additive(data.X) > 0, data.y)[0, 1]


@pytest.mark.parametrize("seed", range(5))
def test_layout_of_the_blocks(seed):
    data = generate("blocks", seed)
    assert isinstance(data.blocks, Blocks)
    assert data.blocks.names == tuple(f"block {b}" for b in range(1, 9))
    assert [list(data.blocks.members[f"block {b + 1}"]) for b in range(8)] == np.arange(256).reshape(8, 32).tolist()
    held, combined = (np.bincount(np.array(p) // 32, minlength=8) for p in (data.relevant, data.redundant))
    assert sorted(held) == [0, 0, 0, 0, 4, 4, 4, 4]
    assert sorted(combined) == [0, 0, 0, 0, 0, 0, 3, 3]
    assert not (held * combined).any()
    assert relevant_blocks(data) == tuple(f"block {b + 1}" for b in np.flatnonzero(held))
    assert all(p % 32 < 4 for p in data.relevant)
    assert all(p % 32 < 3 for p in data.redundant)


def test_relevant_blocks_lie_elsewhere_with_another_seed():
    assert len({relevant_blocks(generate("blocks", seed)) for seed in range(5)}) > 1


@pytest.mark.parametrize("name", ["blocks", "redundant"])
def test_redundant_features_and_only_these_are_linear_combinations(made, name):
    data = made[name]
    inside = data.X[:, data.relevant]
    residual = data.X - inside @ np.linalg.lstsq(inside, data.X, rcond=None)[0]
    size = np.linalg.norm(residual, axis=0) / np.linalg.norm(data.X, axis=0)
    exact = set(np.flatnonzero(size < 1e-10).tolist())
    assert exact == {*data.relevant, *data.redundant}
    assert np.linalg.matrix_rank(inside) == 16


def test_relevant_blocks_needs_blocks_and_truth(made):
    with pytest.raises(InputError, match="blocks and known truth; 'additive' has not both"):
        relevant_blocks(made["additive"])


# The authors' own files -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("blocks-authors", lambda: arrange_blocks("blocks-authors", 1, [1, 5, 0, 7], [2, 4])),
        ("redundant-authors", None),
    ],
)
def test_authors_files_are_make_classification_with_seed_1(data_dir, name, make):
    data = read_authors(name, data_dir / SOURCES[name].path)
    if make is None:
        X, y = make_classification(64, 32, n_informative=16, n_redundant=16, shuffle=False, random_state=1)
    else:
        ours = make()
        X, y = ours.X, ours.y
        assert (data.relevant, data.redundant) == (ours.relevant, ours.redundant)
        assert relevant_blocks(data) == ("block 1", "block 2", "block 6", "block 8")
    np.testing.assert_allclose(data.X, X, rtol=0, atol=1e-9)
    assert np.array_equal(data.y, y)
    assert data.feature_names[0] == "x1"
    assert len(data.relevant) == 16


def write_authors(folder, data, compress=False):
    """Write a data set in the form of the authors' files."""
    folder.mkdir()
    n = data.X.shape[1]
    table = "\n".join([",".join(map(str, range(n))), *(",".join(map(repr, row)) for row in data.X.tolist())])
    if compress:
        (folder / "data.csv.gz").write_bytes(gzip.compress(table.encode()))
    else:
        (folder / "data.csv").write_text(table)
    columns = {"labels": data.y.tolist()}
    for file, members in (("idx", data.relevant), ("redundant_idx", data.redundant)):
        columns[file] = [int(i in members) for i in range(n)]
    if data.blocks is not None:
        # Not in order, as in the authors' file.
        columns["important_groups"] = [int(name.split()[1]) for name in relevant_blocks(data)][::-1]
    for file, values in columns.items():
        (folder / f"{file}.csv").write_text("\n".join(map(str, [0, *values])))
    return folder


@pytest.mark.parametrize(("name", "compress"), [("blocks", True), ("blocks", False), ("redundant", False)])
def test_files_are_read_back(tmp_path, made, name, compress):
    data = read_authors(f"{name}-authors", write_authors(tmp_path / "set", made[name], compress))
    assert np.array_equal(data.X, made[name].X)
    assert np.array_equal(data.y, made[name].y)
    assert (data.relevant, data.redundant) == (made[name].relevant, made[name].redundant)
    assert data.source.name == f"{name}-authors"
    assert (data.blocks is None) == (name == "redundant")


def test_absent_files_are_reported_as_absent(tmp_path, made):
    with pytest.raises(
        DataAbsent, match=r"blocks-authors needs .*data.csv.gz, which is not there. Get the folder from"
    ):
        read_authors("blocks-authors", tmp_path / "nothing")
    folder = write_authors(tmp_path / "set", made["blocks"])
    (folder / "important_groups.csv").unlink()
    with pytest.raises(DataAbsent, match=r"important_groups\.csv"):
        read_authors("blocks-authors", folder)


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("data.csv", "0,1\n1.0,2.0", "64 rows of 32 finite numbers; got 1 x 2"),
        ("data.csv", "0,1\n1.0,oops", "data.csv must be a table of numbers below one header line; could not convert"),
        ("data.csv", "", "data.csv must be a table of numbers below one header line; No columns"),
        ("labels.csv", "0\n" + "1\n" * 63, "labels.csv must hold one column of 64 values 0 or 1; got 63 x 1"),
        ("labels.csv", "0\n" + "1\n" * 63 + "2\n", "row 64 is 2"),
        ("idx.csv", "0\n" + "1\n" * 32, r"idx.csv .* 16 of them 1; got 32"),
        ("redundant_idx.csv", "0\n" + "0.5\n" * 32, "redundant_idx.csv must hold .*; row 1 is 0.5"),
    ],
)
def test_wrong_files_are_refused(tmp_path, made, file, content, message):
    folder = write_authors(tmp_path / "set", made["redundant"])
    (folder / file).write_text(content)
    with pytest.raises(InputError, match=message + ".*Fetch it again: https://"):
        read_authors("redundant-authors", folder)


def test_missing_values_are_refused(tmp_path, made):
    folder = write_authors(tmp_path / "set", made["redundant"])
    lines = (folder / "data.csv").read_text().split("\n")
    lines[1] = "," + lines[1].split(",", 1)[1]
    (folder / "data.csv").write_text("\n".join(lines))
    with pytest.raises(InputError, match="64 x 32, 1 of them missing or infinite"):
        read_authors("redundant-authors", folder)


def test_blocks_that_contradict_the_marks_are_refused(tmp_path, made):
    folder = write_authors(tmp_path / "set", made["blocks"])
    (folder / "important_groups.csv").write_text("0\n9\n2\n3\n4")
    with pytest.raises(InputError, match=r"from 1, the blocks of the features that idx.csv marks, .*; got \[2.0, 3.0"):
        read_authors("blocks-authors", folder)
