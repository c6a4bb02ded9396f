"""Tables in .npy files: mapped into memory instead of loaded, and opened by each worker that needs them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from socket import gethostname
from typing import Any

import numpy as np

from .._arguments import Array
from ..exceptions import EnsembleError, InputError
from .sparse_columns import SparseColumns


@dataclass(frozen=True)
class TableFile:
    """A table in a .npy file, by name: small enough to send to any machine that can read the file."""

    path: str
    values_hash: str  # of the values that are expected in it

    def open(self) -> Array:
        """Map the file; EnsembleError if this machine cannot read it, or finds other values in it."""
        return _open_checked(self)


@lru_cache(maxsize=1)  # a worker runs many batches on one file; it reads the file through to check it once
def _open_checked(file: TableFile) -> Array:
    way_out = "Put the file where every worker reads it under the same path, or send its values: X=numpy.load(path)."
    try:
        X = map_table(file.path)
    except InputError as error:
        raise EnsembleError(f"a worker on {gethostname()!r} cannot use the data: {error} {way_out}") from error
    if hash_values(X) != file.values_hash:
        raise EnsembleError(f"a worker on {gethostname()!r} finds other values in {file.path!r}. {way_out}")
    return X


def map_table(path: str) -> Array:
    """Memory-map a .npy file of float32 or float64, of shape (n_samples, n_features), for reading only."""
    if not path.endswith(".npy"):
        raise InputError.of(
            "X",
            f"must be a table of numbers, or the path of a .npy file (made with numpy.save); got the path {path!r}. "
            "Read other files first, for example with pandas.read_csv or pandas.read_parquet.",
        )

    def refused(reason: str) -> InputError:
        return InputError.of("X", f"is the path {path!r}, which {reason}")

    try:
        X = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError as error:
        raise refused("does not exist.") from error
    except (OSError, ValueError, EOFError) as error:
        raise refused(f"cannot be mapped as a .npy file ({error}). Write it again with numpy.save.") from error
    if not isinstance(X, np.ndarray):
        X.close()
        raise refused("is an archive of arrays (.npz). Write one with numpy.save.")
    if X.dtype not in (np.float32, np.float64) or X.ndim != 2:
        raise refused(
            f"holds {X.dtype} values of shape {X.shape}, but float32 or float64 values of shape "
            "(n_samples, n_features) are needed. Convert the file once, for example with numpy.save(new_path, "
            "numpy.load(path).astype(numpy.float32))."
        )
    return X


def hash_values(X: Any) -> str:
    """Return a hash of the shape, the precision and the values of a table, whatever its layout, dense or sparse.

    All NaN are the same: a missing value, whichever bits it has.
    """
    digest = hashlib.sha256(f"{X.shape} {X.dtype}".encode())
    sparse = isinstance(X, SparseColumns)
    for rows in X.row_blocks() if sparse else (X[start : start + 64] for start in range(0, len(X), 64)):
        values = np.ascontiguousarray(rows)
        if np.isnan(values.min()):
            values = np.where(np.isnan(values), values.dtype.type(np.nan), values)
        digest.update(values.data)
    return digest.hexdigest()
