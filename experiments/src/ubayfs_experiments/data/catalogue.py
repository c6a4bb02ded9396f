"""The data sets of the experiments: where each comes from, what its file must look like, and reading it.

Breast cancer (BCW) comes with scikit-learn and the synthetic sets are generated; everything else is a file of the data
directory, ``<NAME>.csv.gz``: a header of feature names, one row per sample, and last the target ``y`` (0 or 1).
"""

from __future__ import annotations

import os
import zlib
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd

from ubayfs import Blocks
from ubayfs.exceptions import InputError

from .datasets import DataAbsent, Dataset, Source
from .matrices import SOURCES as _MATRICES
from .matrices import read_matrix
from .planted import SOURCES as _PLANTED
from .planted import load_gauss
from .synthetic import SOURCES as _SYNTHETIC
from .synthetic import generate, read_authors

ENVIRONMENT = "UBAYFS_DATA"

_UCI = "UCI Machine Learning Repository"

_MICE = Source(
    "MPE", "Mice Protein Expression", 552, 77, 5, path="MPE.csv.gz", columns=("DYRK1A_N", "CaNA_N", "c5c9b359"),
    positive="Ts65Dn (trisomic)",
    origin=f"{_UCI}, data set 342 (Higuera et al. 2015): the 552 of 1080 rows without a missing value",
    groups="mouse",
)  # fmt: skip

SOURCES: dict[str, Source] = {
    source.name: source
    for source in (
        Source(
            "BCW", "Breast Cancer Wisconsin (diagnostic)", 569, 30, 5, 1, positive="benign",
            origin=f"comes with scikit-learn; {_UCI}, data set 17", has_blocks=True,
        ),
        Source(
            "HD", "Heart Disease", 101, 46, 5, path="HD.csv.gz",
            columns=("age", "lvf", "0802f06f"),
            positive="disease (num > 0)",
            origin=f"{_UCI}, data set 45: the four raw files stacked, columns with at most 1/3 missing values, rows "
            "without any",
        ),
        Source(
            "HD_longbeach", "Heart Disease, Long Beach alone", 101, 46, 5, path="alt/HD_longbeach.csv.gz",
            columns=("age", "cathef", "006f4c9e"),
            positive="disease (num > 0)", origin=f"{_UCI}, data set 45: the raw file of Long Beach alone",
        ),
        _MICE,
        replace(_MICE, name="MPE_treatment", title="Mice Protein Expression, other target: treatment",
                positive="Memantine", target=("treatment", "Memantine")),
        replace(_MICE, name="MPE_behavior", title="Mice Protein Expression, other target: behavior",
                positive="C/S (stimulated to learn)", target=("behavior", "C/S")),
        Source(
            "COL", "Colon gene expression", 62, 100, 5, 2, path="COL.csv.gz",
            columns=("gene01_bs1", "gene20_bs5", "68147c7d"),
            positive="tumour",
            origin="data `colon` of the R package gglasso: 20 genes by 5 spline bases", has_blocks=True,
        ),
        Source(
            "LSVT", "LSVT Voice Rehabilitation", 126, 310, 10, 2, path="LSVT.csv.gz",
            columns=("Jitter->F0_abs_dif", "det_TKEO_std4_10_coef", "91ac4c4e"),
            positive="acceptable phonation", origin=f"{_UCI}, data set 282 (Tsanas et al. 2014)", groups="subject",
            has_blocks=True,
        ),
        Source(
            "p53", "p53 Mutants", None, 5408, 20, 1, path="p53.csv.gz",
            columns=("A1", "A5408", "0d2f6b7a"),
            positive="active",
            origin=f"{_UCI}, data set 188, file K8.data: its 5408 attributes A1...A5408 and y = 1 for 'active', in the "
            "form of the other files. The paper used a stratified sample of 351 rows that it does not list; any "
            "number of rows is read", has_blocks=True,
        ),
        Source(
            "PRO", "Prostate gene expression", 102, 6033, 20, path="PRO.csv.gz",
            columns=("V1", "V6033", "ed654e63"),
            positive="tumour",
            origin="data `prostate` of the R package spls (Singh et al. 2002)",
        ),
        Source(
            "LEU", "Leukaemia, the paper's source", 72, 7129, 20, path="LEU.csv.gz",
            columns=("AFFX-BioB-5_at", "Z78285_f_at", "3a38b17e"),
            positive="ALL (label 2 of the source)",
            origin="data `leukaemia` of the R package propOverlap; 36 of its 72 rows are copies of others",
        ),
        Source(
            "LEU_golub", "Leukaemia, sound data", 72, 7129, 20, path="alt/LEU_golub.csv.gz",
            columns=("AFFX-BioB-5_at", "Z78285_f_at", "3a38b17e"),
            positive="AML",
            origin="data `golub` of the R package datamicroarray (Golub et al. 1999)",
        ),
        *_SYNTHETIC.values(),
        *_PLANTED.values(),
        *_MATRICES.values(),
    )
}  # fmt: skip


def data_directory(given: str | os.PathLike[str] | None) -> Path | None:
    """Return the data directory: as given, else that of the environment variable UBAYFS_DATA, else None.

    Raises
    ------
    InputError
        If a directory is named that does not exist.
    """
    named = given if given is not None else os.environ.get(ENVIRONMENT) or None
    if named is None:
        return None
    path = Path(named)
    if not path.is_dir():
        who = "--data-dir" if given is not None else f"the environment variable {ENVIRONMENT}"
        raise InputError(
            f"{who} names {str(path)!r}, which is not a directory. Name the directory that holds PRO.csv.gz and the "
            "other files, or none at all: breast cancer and the synthetic data need no file."
        )
    return path


@lru_cache(maxsize=4)
def load(name: str, directory: Path | None, seed: int) -> Dataset:
    """Read a data set, or generate it.

    Parameters
    ----------
    name : str
        A key of `SOURCES`.
    directory : Path or None
        The data directory.
    seed : int
        Of synthetic data.

    Raises
    ------
    DataAbsent
        If the data set needs a file that is not there.
    InputError
        If the file is not what it should be.
    """
    source = SOURCES[name]
    if name in _PLANTED:
        return load_gauss(name)
    if name in _MATRICES:
        return read_matrix(name, _place(source, directory))
    if source.synthetic:
        return generate(name, seed) if source.path is None else read_authors(name, _place(source, directory))
    if name == "BCW":
        return _breast_cancer(source)
    path = _place(source, directory)
    frame = _read_table(path, source)
    described = _read_rows(path, source, len(frame))
    y = frame.pop("y").to_numpy()
    if source.target is not None and described is not None:
        column, value = source.target
        y = (described[column] == value).to_numpy().astype(np.int64)
    names = tuple(str(one) for one in frame.columns)
    return Dataset(
        source,
        frame.to_numpy(dtype=np.float64),
        y.astype(np.int64),
        names,
        _read_blocks(path, source, names),
        None if described is None or source.groups is None else described[source.groups].to_numpy().astype(str),
    )


def is_there(source: Source, directory: Path | None) -> bool:
    """Return whether a data set needs no file, or all its files are in the data directory."""
    if source.path is None or directory is None:
        return source.path is None
    path = directory / source.path
    beside = [kind for kind, needed in (("groups", source.groups), ("blocks", source.has_blocks)) if needed]
    return path.exists() and all(_beside(path, kind).exists() for kind in beside)


def _beside(path: Path, kind: str) -> Path:
    """Return where the groups or blocks that belong to a file are."""
    return path.parent / kind / path.name.replace(".csv.gz", ".csv")


def _place(source: Source, directory: Path | None) -> Path:
    """Return where a file, or a directory of files, should be."""
    if directory is None:
        raise DataAbsent(
            f"{source.name} needs {source.path} of a data directory, and none is named. Name it with --data-dir, or "
            f"with the environment variable {ENVIRONMENT}."
        )
    path = directory / str(source.path)
    if not path.exists():
        raise DataAbsent(f"{source.name} needs {path}, which does not exist. Where to get it: {source.origin}.")
    return path


def _breast_cancer(source: Source) -> Dataset:
    from sklearn.datasets import load_breast_cancer

    bunch = load_breast_cancer()
    names = tuple(str(name) for name in bunch.feature_names)
    blocks = Blocks({"mean": names[:10], "error": names[10:20], "worst": names[20:]})
    return Dataset(source, bunch.data, bunch.target.astype(np.int64), names, blocks)


def _read_table(path: Path, source: Source) -> pd.DataFrame:
    try:
        frame = pd.read_csv(path)
    except (OSError, ValueError, EOFError, zlib.error) as error:
        raise InputError(f"{path} could not be read as a table ({error}). Where to get it: {source.origin}.") from error
    if not isinstance(frame.index, pd.RangeIndex):  # pandas takes the first column for names of rows then
        raise InputError(f"the rows of {path} must be as long as its header; they are longer.")
    form = "It must have a header, one row per sample, the features and, last, the target y (0 or 1)"
    if len(frame.columns) == 0 or frame.columns[-1] != "y":
        last = frame.columns[-1] if len(frame.columns) else "nothing"
        raise InputError(f"the last column of {path} must be 'y'; it is {last!r}. {form}.")
    if len(frame.columns) != source.n_features + 1:
        raise InputError(
            f"{path} must have {source.n_features} features and y; it has {len(frame.columns) - 1} and y. {form}; "
            f"where to get it: {source.origin}."
        )
    names = [str(name) for name in frame.columns[:-1]]
    if source.columns is not None and format(zlib.crc32("\n".join(names).encode()), "08x") != source.columns[2]:
        first, last, _ = source.columns
        raise InputError(
            f"the features of {path} must be the {source.n_features} from {first!r} to {last!r}, in the order of the "
            f"source; the file has {names[0]!r} to {names[-1]!r}, and not all of them are the same. Name and order its "
            f"columns so, or results could not be compared; where to get it: {source.origin}."
        )
    if source.n_samples is not None and len(frame) != source.n_samples:
        raise InputError(
            f"{path} must have {source.n_samples} rows; it has {len(frame)}. Where to get it: {source.origin}."
        )
    are_numbers = np.array([dtype.kind in "iufb" for dtype in frame.dtypes])
    are_numbers[are_numbers] = np.isfinite(frame.loc[:, are_numbers].to_numpy(dtype=np.float64)).all(axis=0)
    if not are_numbers.all():
        wrong = frame.columns[int(are_numbers.argmin())]
        raise InputError(f"column {wrong!r} of {path} must hold finite numbers, none missing. {form}.")
    if set(frame["y"].unique()) != {0, 1}:
        raise InputError(f"y in {path} must be 0 and 1, both; it holds {sorted(frame['y'].unique())[:5]}.")
    return frame


def _read_rows(path: Path, source: Source, n_samples: int) -> pd.DataFrame | None:
    """Read what is known of the rows: the animal or subject, and other targets."""
    if source.groups is None:
        return None
    place = _beside(path, "groups")
    frame = _read_side_table(place, source, (source.groups, *(source.target or ())[:1]))
    if len(frame) != n_samples:
        raise InputError(
            f"{place} must have one line for each of the {n_samples} rows of {path.name}; got {len(frame)}."
        )
    if source.target is not None and (frame[source.target[0]] == source.target[1]).nunique() < 2:
        column, value = source.target
        raise InputError(f"column {column!r} of {place} must be {value!r} for some rows, but not for all.")
    return frame


def _read_blocks(path: Path, source: Source, names: tuple[str, ...]) -> Blocks | None:
    if not source.has_blocks:
        return None
    place = _beside(path, "blocks")
    frame = _read_side_table(place, source, ("feature", "block"))
    if sorted(frame["feature"]) != sorted(names):
        twice = frame["feature"][frame["feature"].duplicated()]
        what = f"{twice.iloc[0]!r} is there twice" if len(twice) else f"{min({*frame['feature']} ^ {*names})!r} differs"
        raise InputError(f"{place} must name every feature of {path.name} once; {what}.")
    return Blocks.of(frame[["feature", "block"]])


def _read_side_table(place: Path, source: Source, columns: tuple[str, ...]) -> pd.DataFrame:
    if not place.exists():
        raise DataAbsent(f"{source.name} needs {place}, which does not exist (columns: {', '.join(columns)}).")
    try:
        frame = pd.read_csv(place, dtype=str)
    except (OSError, ValueError) as error:
        raise InputError(f"{place} could not be read as a table ({error}).") from error
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        raise InputError(f"{place} must have a column {missing[0]!r}; it has {', '.join(map(repr, frame.columns))}.")
    gaps = [column for column in columns if frame[column].isna().any()]
    if gaps:
        raise InputError(f"column {gaps[0]!r} of {place} must have a value in every line; some are missing.")
    return frame
