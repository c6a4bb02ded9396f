"""Data sets of the benchmark: those of the data directory, and synthetic ones of any size."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .timing import REPOSITORY

FEATURES_PER_MODEL = {"PRO": 20, "alt/LEU_golub": 20, "BCW": 5, "HD": 5, "MPE": 5, "COL": 10, "LSVT": 10}
LARGE = ("PRO", "alt/LEU_golub")
SMALL = ("BCW", "HD", "MPE", "COL", "LSVT")


def path(name: str) -> Path:
    """Return where a data set is: in UBAYFS_DATA, or in shared/data beside the repository."""
    return Path(os.environ.get("UBAYFS_DATA", REPOSITORY.parent / "shared" / "data")) / f"{name}.csv.gz"


def present(name: str) -> bool:
    """Return whether a data set is there."""
    return path(name).exists()


@cache
def load(name: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return X and y of a data set."""
    import pandas as pd

    frame = pd.read_csv(path(name))
    return frame.drop(columns="y").to_numpy(dtype=np.float64), frame["y"].to_numpy()


def shown(name: str) -> str:
    """Return the name that the tables show."""
    return name.removeprefix("alt/")


def absent(name: str) -> str:
    """Return what the table says of a set that is not there."""
    return f"skipped: no {name}.csv.gz in the data directory (UBAYFS_DATA)"


def synthetic(n_samples: int, n_features: int, path: Path, dtype: type = np.float32) -> dict[str, str]:
    """Write data with two balanced classes and 20 informative features; return the paths of X and y.

    Samples are written one by one, so that a set larger than memory can be made.
    """
    rng = np.random.default_rng(0)
    y = np.arange(n_samples) % 2
    X = np.lib.format.open_memmap(path / "X.npy", "w+", dtype, (n_samples, n_features))
    for sample in X:
        sample[:] = rng.standard_normal(n_features, dtype=np.float32)
    X[:, :20] += y[:, None]
    X.flush()
    np.save(path / "y.npy", y)
    return {"X": str(path / "X.npy"), "y": str(path / "y.npy")}


def saved(name: str, path: Path) -> dict[str, str]:
    """Write a loaded set where a fresh process can read it; return the paths of X and y."""
    X, y = load(name)
    np.save(path / "X.npy", X)
    np.save(path / "y.npy", y)
    return {"X": str(path / "X.npy"), "y": str(path / "y.npy")}
