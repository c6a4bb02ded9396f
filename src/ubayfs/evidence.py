"""Evidence: what the ensemble found, M feature sets over named features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .exceptions import InputError


@dataclass(frozen=True)
class RunFailure:
    """An elementary run that raised: its index, the selector's name and the error's text."""

    run: int
    selector: str
    error: str


@dataclass(frozen=True, eq=False)
class Evidence:
    """M feature sets, one per elementary run.

    Attributes
    ----------
    sets : csr_array of bool of shape (n_models, n_features)
        Row m marks the features that run m chose.
    feature_names : ndarray of str (object) of shape (n_features,)
    constant : ndarray of bool of shape (n_features,)
        Columns that are constant in the whole data set; never chosen.
    runs : tuple of str
        Identity of each run; runs that two pieces of evidence share cannot be counted twice.
    failures : tuple of RunFailure
    settings : mapping
        How the evidence was made, in plain types (selector, train_size, seed, versions, data fingerprint...).
    """

    sets: sparse.csr_array
    feature_names: NDArray[Any]
    constant: NDArray[np.bool_]
    runs: tuple[str, ...] = ()
    failures: tuple[RunFailure, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_sets(cls, sets: Any, feature_names: Any = None) -> Evidence:
        """Make evidence of the sets of any other ensemble.

        Parameters
        ----------
        sets : array-like or sparse array of bool of shape (n_models, n_features)
        feature_names : array-like of str of shape (n_features,), optional
            Default: the columns of a DataFrame, else x0, x1, ...

        Examples
        --------
        >>> Evidence.from_sets([[True, False, True], [True, False, False]]).counts
        array([2, 0, 1])
        """
        if feature_names is None and hasattr(sets, "columns"):
            feature_names = [str(c) for c in sets.columns]
        matrix = sets if sparse.issparse(sets) else np.asarray(sets)
        if matrix.ndim != 2 or 0 in matrix.shape:
            raise InputError(f"sets must be a matrix of shape (n_models, n_features); got shape {matrix.shape}.")
        values = matrix.data if sparse.issparse(matrix) else matrix
        if not np.isin(values, (0, 1)).all():
            raise InputError("sets must hold only True/False or 0/1, one row per model.")
        csr = sparse.csr_array(matrix, dtype=bool)
        csr.eliminate_zeros()
        csr.sort_indices()
        n_features = csr.shape[1]
        if feature_names is None:
            feature_names = [f"x{i}" for i in range(n_features)]
        names = np.array([str(n) for n in feature_names], dtype=object)
        if len(names) != n_features:
            raise InputError(f"feature_names must have one name per feature: {n_features}; got {len(names)}.")
        if len(set(names)) < n_features:
            raise InputError("feature_names has duplicate names; each must be unique.")
        return cls(csr, names, np.zeros(n_features, dtype=bool))

    @property
    def n_models(self) -> int:
        """Number of runs that finished."""
        return int(self.sets.shape[0])

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.sets.shape[1])

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """How many runs chose each feature, of shape (n_features,)."""
        return np.bincount(self.sets.indices, minlength=self.n_features).astype(np.int64)
