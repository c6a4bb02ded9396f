"""The paper's synthetic data, made from a seed, and the authors' own files of two of them.

The authors' files are what :func:`sklearn.datasets.make_classification` gives with its default settings (class_sep 1,
two clusters per class, 1 % of the labels drawn anew), unshuffled, for ``random_state=1``: every value and every label
of both files is met exactly, with no free choice left. So ours are made in the same way from other seeds.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ubayfs import Blocks
from ubayfs.exceptions import InputError

from ..tasks import seed_of
from .datasets import DataAbsent, Dataset, Source

N_BLOCKS, BLOCK_SIZE = 8, 32
_PUBLIC = "https://github.com/annajenul/UBayFS_experiments"

SOURCES: dict[str, Source] = {
    source.name: source
    for source in (
        Source("additive", "Additive model", 1000, 1000, 4, synthetic=True),
        Source("non-additive", "Non-additive model", 1000, 1000, 3, synthetic=True),
        Source("blocks", "Block data", 512, 256, 16, 4, synthetic=True),
        Source("redundant", "Redundant features", 64, 32, 16, synthetic=True),
        # The paper's p53 is not public: noise of its size, of which the run time is measured and nothing else.
        Source("p53-size", "Noise of p53's size, labels at random", 351, 5408, 20, 1, has_blocks=True, synthetic=True),
    )
}
for _name, _path in (("blocks", "simulated/SIMULATED_1"), ("redundant", "simulated/SIMULATED_2")):
    _ours = SOURCES[_name]
    SOURCES[f"{_name}-authors"] = replace(
        _ours, name=f"{_name}-authors", title=f"{_ours.title}, authors' file", path=_path, origin=_PUBLIC
    )


def generate(name: str, seed: int) -> Dataset:
    """Make one of the synthetic data sets.

    Parameters
    ----------
    name : {"additive", "non-additive", "blocks", "redundant", "p53-size"}
    seed : int

    Returns
    -------
    dataset : Dataset
        With its truth: `relevant` and `redundant` positions. Features are named x1, x2, ... as in the paper.

    Notes
    -----
    The additive model is not balanced: exp(-x4) and x2^2 are never negative, so that y = 1 in 81 % of the rows (counted
    on two million); in the non-additive one, where x3^2 is never negative, in 65 %. The paper's formulas are kept.

    Examples
    --------
    >>> dataset = generate("blocks", seed=0)
    >>> dataset.X.shape, len(dataset.relevant), len(dataset.redundant)
    ((512, 256), 16, 6)
    """
    made = {
        "additive": _additive, "non-additive": _non_additive, "blocks": _block_data, "redundant": _redundant,
        "p53-size": _noise,
    }  # fmt: skip
    return made[name](np.random.default_rng(seed_of(seed, name)))


def relevant_blocks(dataset: Dataset) -> tuple[str, ...]:
    """Return the names of the blocks that hold a relevant feature, in the order of the blocks."""
    if dataset.blocks is None or dataset.relevant is None:
        raise InputError(
            f"relevant_blocks needs a data set with blocks and known truth; {dataset.source.name!r} has not both."
        )
    truth = np.zeros(dataset.X.shape[1], dtype=bool)
    truth[list(dataset.relevant)] = True
    touched = dataset.blocks.matrix(dataset.feature_names) @ truth
    return tuple(name for name, hit in zip(dataset.blocks.names, touched, strict=True) if hit)


def _additive(rng: np.random.Generator) -> Dataset:
    X = rng.standard_normal((1000, 1000))
    z = -2 * np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + X[:, 2] + np.exp(-X[:, 3]) + rng.standard_normal(1000)
    return _dataset("additive", X, z >= 0, range(4))


def _non_additive(rng: np.random.Generator) -> Dataset:
    X = rng.standard_normal((1000, 1000))
    z = X[:, 0] * np.exp(2 * X[:, 1]) + X[:, 2] ** 2 + rng.standard_normal(1000)
    return _dataset("non-additive", X, z >= 0, range(3))


def _block_data(rng: np.random.Generator) -> Dataset:
    order = rng.permutation(N_BLOCKS).tolist()
    return arrange_blocks("blocks", int(rng.integers(2**32)), order[:4], order[4:6])


def arrange_blocks(name: str, random_state: int, relevant: Sequence[int], redundant: Sequence[int]) -> Dataset:
    """Make block data: eight blocks of 32 consecutive features.

    Each relevant block begins with 4 informative features and each redundant one with 3 linear combinations of all 16
    informative ones; the rest is noise.

    Parameters
    ----------
    name : str
        Whose source the data set names.
    random_state : int
        Seed of make_classification.
    relevant, redundant : sequence of int
        Four and two positions of blocks.
    """
    X, y = _classification(512, 256, 6, random_state)
    signal = {**dict.fromkeys(relevant, 4), **dict.fromkeys(redundant, 3)}
    rest = [block for block in range(N_BLOCKS) if block not in signal]
    columns = np.empty((N_BLOCKS, BLOCK_SIZE), dtype=np.intp)
    next_signal, next_noise = 0, 22
    for block in (*signal, *rest):
        own = signal.get(block, 0)
        columns[block, :own] = np.arange(next_signal, next_signal + own)
        columns[block, own:] = np.arange(next_noise, next_noise + BLOCK_SIZE - own)
        next_signal, next_noise = next_signal + own, next_noise + BLOCK_SIZE - own
    places = columns.ravel()
    informative = np.flatnonzero(places < 16)
    combined = np.flatnonzero((places >= 16) & (places < 22))
    return _dataset(name, X[:, places], y, informative, combined)


def _redundant(rng: np.random.Generator) -> Dataset:
    X, y = _classification(64, 32, 16, int(rng.integers(2**32)))
    return _dataset("redundant", X, y, range(16), range(16, 32))


def _noise(rng: np.random.Generator) -> Dataset:
    source = SOURCES["p53-size"]
    X = rng.standard_normal((source.n_samples or 0, source.n_features))
    dataset = _dataset("p53-size", X, rng.permutation(len(X)) < len(X) // 2, ())
    return replace(dataset, blocks=Blocks({"2D": tuple(range(4826)), "3D": tuple(range(4826, source.n_features))}))


def _classification(
    n_samples: int, n_features: int, n_redundant: int, random_state: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    from sklearn.datasets import make_classification

    # The three values are the defaults of today; named, so that they stay.
    X, y = make_classification(
        n_samples, n_features, n_informative=16, n_redundant=n_redundant, n_clusters_per_class=2, class_sep=1.0,
        flip_y=0.01, shuffle=False, random_state=random_state,
    )  # fmt: skip
    return X, y


def _dataset(
    name: str, X: NDArray[np.float64], y: NDArray[Any], relevant: Iterable[int], redundant: Iterable[int] = ()
) -> Dataset:
    source = SOURCES[name]
    blocks = None
    if source.n_features == N_BLOCKS * BLOCK_SIZE:
        blocks = Blocks({f"block {b + 1}": tuple(range(b * BLOCK_SIZE, (b + 1) * BLOCK_SIZE)) for b in range(N_BLOCKS)})
    return Dataset(
        source=source,
        X=np.ascontiguousarray(X, dtype=np.float64),
        y=y.astype(np.int64),
        feature_names=tuple(f"x{i + 1}" for i in range(source.n_features)),
        blocks=blocks,
        relevant=tuple(int(i) for i in relevant),
        redundant=tuple(int(i) for i in redundant),
    )


def read_authors(name: str, directory: Path) -> Dataset:
    """Read the authors' file of block data or of redundant features.

    Parameters
    ----------
    name : {"blocks-authors", "redundant-authors"}
    directory : Path
        ``simulated/SIMULATED_1`` or ``simulated/SIMULATED_2`` of the data directory. It holds ``data.csv.gz`` or
        ``data.csv`` (header 0, 1, ..., one row per sample) and, each with a header line, ``labels.csv`` (0 or 1 per
        sample), ``idx.csv`` and ``redundant_idx.csv`` (1 for a relevant and for a redundant feature); for block data
        also ``important_groups.csv``, the numbers of the relevant blocks, from 1.

    Returns
    -------
    dataset : Dataset
    """
    source = SOURCES[name]
    folder = Path(directory)
    X = _table(folder, ("data.csv.gz", "data.csv"), source)
    if X.shape != (source.n_samples, source.n_features) or not np.isfinite(X).all():
        raise InputError(
            f"{folder}/data.csv must hold {source.n_samples} rows of {source.n_features} finite numbers; got "
            f"{X.shape[0]} x {X.shape[1]}, {int((~np.isfinite(X)).sum())} of them missing or infinite. "
            f"Fetch it again: {source.origin}"
        )
    y = _marks(folder, "labels.csv", source, len(X))
    relevant = np.flatnonzero(_marks(folder, "idx.csv", source, source.n_features, n_marked=source.n_select))
    redundant = np.flatnonzero(_marks(folder, "redundant_idx.csv", source, source.n_features))
    dataset = _dataset(name, X, y, relevant, redundant)
    if dataset.blocks is not None:
        listed = sorted(_table(folder, ("important_groups.csv",), source).ravel().tolist())
        found = [float(dataset.blocks.names.index(block) + 1) for block in relevant_blocks(dataset)]
        if listed != found:
            raise InputError(
                f"{folder}/important_groups.csv must number, from 1, the blocks of the features that idx.csv marks, "
                f"{found}; got {listed}. Fetch both again: {source.origin}"
            )
    return dataset


def _table(folder: Path, names: tuple[str, ...], source: Source) -> NDArray[np.float64]:
    path = next((folder / name for name in names if (folder / name).is_file()), None)
    if path is None:
        raise DataAbsent(
            f"{source.name} needs {folder / names[0]}, which is not there. Get the folder from {source.origin}"
        )
    try:
        return pd.read_csv(path).to_numpy(dtype=np.float64)
    except (ValueError, OSError, EOFError, zlib.error) as error:  # pandas' parser errors are ValueErrors
        rule = f"{path} must be a table of numbers below one header line"
        raise InputError(f"{rule}; {error}. Fetch it again: {source.origin}") from error


def _marks(folder: Path, name: str, source: Source, length: int, n_marked: int | None = None) -> NDArray[np.int64]:
    """Return a column of zeros and ones."""
    values = _table(folder, (name,), source)
    rule = f"{folder / name} must hold one column of {length} values 0 or 1"
    if values.shape != (length, 1):
        raise InputError(f"{rule}; got {values.shape[0]} x {values.shape[1]}. Fetch it again: {source.origin}")
    wrong = np.flatnonzero(~np.isin(values[:, 0], (0.0, 1.0)))
    if len(wrong):
        raise InputError(f"{rule}; row {wrong[0] + 1} is {values[wrong[0], 0]:g}. Fetch it again: {source.origin}")
    if n_marked is not None and values.sum() != n_marked:
        raise InputError(f"{rule}, {n_marked} of them 1; got {values.sum():g}. Fetch it again: {source.origin}")
    return values[:, 0].astype(np.int64)
