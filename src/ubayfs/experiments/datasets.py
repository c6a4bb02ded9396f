"""The data sets of the experiments: what each file must look like, where it comes from, and reading it.

Breast cancer (BCW) comes with scikit-learn and the synthetic sets are generated; everything else is a file of the data
directory, ``<NAME>.csv.gz``: a header of feature names, one row per sample, the target in the last column ``y`` (0 or 1).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._arguments import check_choice
from ..blocks import Blocks
from ..exceptions import InputError, UBayFSError

ENVIRONMENT = "UBAYFS_DATA"


class DataAbsent(UBayFSError):  # noqa: N818  (not an error of the user: a run says so and goes on)
    """A data set is not in the data directory."""


@dataclass(frozen=True)
class Source:
    """What is known of a data set before it is read.

    Attributes
    ----------
    name : str
    title : str
    n_samples, n_features : int
        A file of another shape is refused.
    n_select : int
        The paper's b_MS: features per model, and the max-size.
    max_blocks : int or None
        The paper's b_BMS.
    path : str or None
        In the data directory; None: needs no file.
    positive : str
        What y = 1 means.
    origin : str
        Where to get it publicly.
    groups : str or None
        Column of groups/<NAME>.csv whose rows belong together.
    synthetic : bool
    """

    name: str
    title: str
    n_samples: int
    n_features: int
    n_select: int
    max_blocks: int | None = None
    path: str | None = None
    positive: str = ""
    origin: str = ""
    groups: str | None = None
    synthetic: bool = False


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set that has been read.

    Attributes
    ----------
    source : Source
    X : ndarray of float of shape (n_samples, n_features)
    y : ndarray of int of shape (n_samples,)
        0 or 1.
    feature_names : tuple of str
    blocks : Blocks or None
    groups : ndarray of str of shape (n_samples,) or None
        Animal or subject of each row.
    relevant, redundant : tuple of int or None
        Positions of the features that make the target, and of linear combinations of them; None for real data.
    """

    source: Source
    X: NDArray[np.float64]
    y: NDArray[np.int64]
    feature_names: tuple[str, ...]
    blocks: Blocks | None = None
    groups: NDArray[np.str_] | None = None
    relevant: tuple[int, ...] | None = None
    redundant: tuple[int, ...] | None = None
