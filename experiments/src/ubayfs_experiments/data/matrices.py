"""Real tables whose own targets are not used: the trial of selectors plants targets on them."""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np
import pandas as pd

from ubayfs.exceptions import InputError

from .datasets import Dataset, Source

_ARRAYS = "R package datamicroarray"
_TARGET = "none: the target is not used"

SOURCES: dict[str, Source] = {
    source.name: source
    for source in (
        Source("KHAN", "Small round blue cell tumors", 63, 2308, 10, path="multiclass/KHAN.csv.gz", positive=_TARGET,
               origin=f"data `khan` of the {_ARRAYS} (Khan et al. 2001)"),
        Source("TOX171", "Toxicology, gene expression", 171, 5748, 10, path="multiclass/TOX171.csv.gz",
               positive=_TARGET, origin="TOX-171 of the Python package scikit-feature"),
        Source("P53_NCI60", "Cell lines NCI-60, gene expression", 50, 10100, 10, path="P53_NCI60.csv.gz",
               positive=_TARGET, origin=f"data `subramanian` of the {_ARRAYS} (Subramanian et al. 2005)"),
        Source("TCGA_mirna", "Ovarian cancer of TCGA, microRNA", 453, 588, 10, path="tcga_ov/mirna.txt.gz",
               positive=_TARGET, origin="examples of the Python package ipss; features in rows"),
    )
}  # fmt: skip


def read_matrix(name: str, path: Path) -> Dataset:
    """Read a table: samples in rows and the target last, or (text files) features in rows and their names first.

    Raises
    ------
    InputError
        If the file is not of the form or the size that it should be.
    """
    source = SOURCES[name]
    try:
        if path.name.endswith(".csv.gz"):
            frame = pd.read_csv(path).iloc[:, :-1]
        else:
            frame = pd.read_csv(path, sep="\t", index_col=0).T
        X = frame.to_numpy(dtype=np.float64)
    except (OSError, ValueError, EOFError, zlib.error) as error:
        raise InputError(f"{path} could not be read as a table ({error}). Where to get it: {source.origin}.") from error
    if X.shape != (source.n_samples, source.n_features) or not np.isfinite(X).all():
        raise InputError(
            f"{path} must hold {source.n_samples} samples and {source.n_features} features, finite numbers without "
            f"gaps; it has the shape {X.shape}. Where to get it: {source.origin}."
        )
    return Dataset(source, X, np.arange(len(X)) % 2, tuple(map(str, frame.columns)))
