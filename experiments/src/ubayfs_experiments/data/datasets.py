"""What a data set of the experiments is, before and after it is read."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ubayfs import Blocks
from ubayfs.exceptions import UBayFSError


class DataAbsent(UBayFSError):  # noqa: N818  (not an error of the user: a run reports it and continues)
    """A data set is not in the data directory."""


@dataclass(frozen=True)
class Source:
    """What is known of a data set before it is read.

    Attributes
    ----------
    name : str
    title : str
    n_samples : int or None
        A file of another number of rows is refused; None: any.
    n_features : int
        A file of another number of features is refused.
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
        Column of ``groups/<NAME>.csv`` that says whose row it is; rows of one animal or subject are near copies.
    target : tuple of (str, str) or None
        A column of the same file, and the value that is y = 1, in place of the column y.
    columns : tuple of (str, str, str) or None
        First and last feature of the file, and the CRC-32 of all names, one per line: a file with other columns is
        refused.
    has_blocks : bool
        Whether ``blocks/<NAME>.csv`` (columns feature and block) belongs to it.
    synthetic : bool
    """

    name: str
    title: str
    n_samples: int | None
    n_features: int
    n_select: int
    max_blocks: int | None = None
    path: str | None = None
    positive: str = ""
    origin: str = ""
    groups: str | None = None
    target: tuple[str, str] | None = None
    columns: tuple[str, str, str] | None = None
    has_blocks: bool = False
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

    @cached_property
    def digest(self) -> str:
        """Tells tables apart: of the values, the target and the names."""
        content = hashlib.sha256(np.ascontiguousarray(self.X).tobytes())
        content.update(np.ascontiguousarray(self.y).tobytes())
        content.update("\n".join(self.feature_names).encode())
        return content.hexdigest()[:16]
