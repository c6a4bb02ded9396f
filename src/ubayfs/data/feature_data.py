"""FeatureData: the only reader of tables and the only checker of missing values, shapes and labels."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .._arguments import Array, FeatureIndex, Floats, Ints, Mask, check_not_complex
from ..exceptions import Advice, ColumnTypeError, InputError
from .anndata_object import parts_of
from .blocks import Blocks
from .class_sizes import class_advice
from .lone_values import lone_value_advice
from .mapped_array import TableFile, hash_values, map_table
from .sparse_columns import SparseColumns
from .target import Target, check_aligned, read_groups, read_target
from .twins import twin_advice

# What may be done about missing values of a table.
MISSING_RULES = ("error", "drop_rows", "drop_columns", "median")
# Features per pass over the data: bounds the size of temporary arrays, never changes a result.
_CHUNK = 4096


def feature_chunks(n_features: int, size: int = _CHUNK) -> Iterator[slice]:
    """Yield slices of at most `size` consecutive features."""
    for start in range(0, n_features, size):
        yield slice(start, min(start + size, n_features))


@dataclass(frozen=True)
class MissingValues:
    """What became of values that a table did not have.

    Attributes
    ----------
    rule : {"drop_rows", "drop_columns", "median"}
    n_values : int
        Values of features that were missing.
    n_rows : int
        Rows that had any; with the first rule they are gone.
    columns : tuple of str
        Columns that had any; with the second rule they are gone.
    """

    rule: str
    n_values: int
    n_rows: int
    columns: tuple[str, ...]

    def __str__(self) -> str:
        n = len(self.columns)
        found = f"{self.n_values:,} value{'s were' if self.n_values > 1 else ' was'} missing in " + (
            f"{n:,} feature column{'s' if n > 1 else ''} ({_some(self.columns)})"
        )
        if self.rule == "drop_rows":
            return f"{found}: {self.n_rows:,} sample{'s were' if self.n_rows > 1 else ' was'} dropped."
        if self.rule == "drop_columns":
            return f"{found}: {'these columns were' if n > 1 else 'this column was'} dropped."
        return f"{found}: {'each' if self.n_values > 1 else 'it'} was filled with the median of its column."


@dataclass(frozen=True, eq=False)
class FeatureData:
    """A checked table: finite numbers, distinct names, a target that fits.

    Attributes
    ----------
    X : ndarray of float32 or float64 of shape (n_samples, n_features), or SparseColumns
        Shares memory with the caller's array where it could; never written to. A sparse table stays sparse.
    target : Target
    feature_names : ndarray of str (object) of shape (n_features,)
    groups : ndarray of int of shape (n_samples,) or None
        Rows with the same number stay together in every subsample.
    path : str or None
        The file that X is mapped from, when the caller named one.
    missing : MissingValues or None
        What the reader of the table did about missing values; None if there were none.
    notes : tuple of Advice
        What else the reader did: samples and columns left out, labels merged, names changed.
    blocks : Blocks or None
        The features of each file, when there were several.
    sample_names : ndarray of str (object) of shape (n_samples,) or None
        Ids of the samples, where the files have them.
    """

    X: Array
    target: Target
    feature_names: Array
    groups: Ints | None = None
    path: str | None = None
    missing: MissingValues | None = None
    notes: tuple[Advice, ...] = ()
    blocks: Blocks | None = None
    sample_names: Array | None = None

    @classmethod
    def from_table(
        cls,
        X: Any,
        y: Any = None,
        *,
        task: str | None = None,
        groups: Any = None,
        target: Any = None,
        layer: str | None = None,
    ) -> FeatureData:
        """Read and check a table.

        Parameters
        ----------
        X : array-like, DataFrame, sparse matrix, AnnData or path of a .npy file, of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_labels), optional
        task : str, optional
            Default: inferred from `y` like :func:`sklearn.utils.multiclass.type_of_target`.
        groups : array-like of shape (n_samples,), optional
            Patient, mouse, subject... of each sample; of AnnData also the name of a column of `obs`.
        target : str or list of str, optional
            Of AnnData, instead of `y`: the column of `obs` that is the target, several 0/1 columns for multi-label.
        layer : str, optional
            Of AnnData: the layer that holds the values, instead of `X`.

        Notes
        -----
        Samples count by position. When X and `y` (or `groups`) both come from pandas, their indexes must agree: the
        same labels in another order and other labels are refused, nothing is put in order silently. An index that was
        made up (0, 1, 2, ...) agrees with every other one that is not a permutation of it.
        """
        path = None
        if isinstance(X, str | os.PathLike):
            path = os.path.abspath(os.fsdecode(X))
            X = map_table(path)
        parts = parts_of(X, y, groups, target, layer)
        y, groups = parts.y, parts.groups
        for name, labeled in (("y", y), ("groups", groups)):
            check_aligned(name, labeled, parts.samples)
        matrix, names = _read_matrix(parts.values, parts.feature_names)
        n_samples = matrix.shape[0]
        return cls(matrix, read_target(y, n_samples, task), names, read_groups(groups, n_samples), path)

    @classmethod
    def of_fit(cls, X: Any, feature_names: Any) -> FeatureData:
        """Read the data that features were chosen on: one column per feature, in their order.

        Parameters
        ----------
        X : array-like, DataFrame or FeatureData of shape (n_samples, n_features)
            Columns of a frame are put into the order of the features by name. When they share no name with the
            features (those of an array are made up), columns count by position.
        feature_names : array-like of str of shape (n_features,)
        """
        data = X if isinstance(X, FeatureData) else cls.from_table(X)
        names = np.asarray(feature_names, dtype=object)
        if data.n_features != len(names):
            raise InputError.of(
                "X", f"must have one column per feature, {len(names)}; got {data.n_features}. Pass the data of the fit."
            )
        shared = set(data.feature_names) & set(names)
        if not shared or np.array_equal(data.feature_names, names):
            return data
        unknown = [name for name in data.feature_names if name not in shared]
        if unknown:
            raise InputError.of("X", f"has a column {unknown[0]!r}, which is not a feature. Pass the data of the fit.")
        order = FeatureIndex(data.feature_names).positions(names, "X")
        ordered = data.X.take(order) if isinstance(data.X, SparseColumns) else data.X[:, order]
        return replace(data, X=ordered, feature_names=names, path=None)

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.X.shape[1])

    @cached_property
    def extremes(self) -> tuple[Array, Array]:
        """Smallest and largest value of each column, both of shape (n_features,)."""
        if isinstance(self.X, SparseColumns):
            return self.X.extremes()
        low, high = np.empty((2, self.n_features), dtype=self.X.dtype)
        for part in feature_chunks(self.n_features):
            low[part], high[part] = self.X[:, part].min(axis=0), self.X[:, part].max(axis=0)
        return low, high

    @cached_property
    def constant(self) -> Mask:
        """Mask of columns that have one value in all samples, of shape (n_features,)."""
        low, high = self.extremes
        return np.asarray(low == high)

    @cached_property
    def advice(self) -> tuple[Advice, ...]:
        """What must be known: how files were read, many or small classes, values far from all others, twins."""
        columns = (self.X, *self.extremes, self.feature_names)
        return (*self.notes, *class_advice(self.target), *lone_value_advice(*columns), *twin_advice(*columns))

    @cached_property
    def values_hash(self) -> str:
        """Hash of the shape, the precision and the values of X."""
        return hash_values(self.X)

    @property
    def file(self) -> TableFile | None:
        """The file of X in a form that can be sent to other machines; None when X is not a file."""
        return None if self.path is None else TableFile(self.path, self.values_hash)

    @cached_property
    def fingerprint(self) -> str:
        """Hash of values, names, target and groups: tells data sets apart in checkpoints and merges."""
        digest = hashlib.sha256(f"{self.values_hash} {self.target.task}".encode())
        # Classes and their order count too: foreign selectors see the labels, concordance the order.
        classes = None if self.target.classes is None else [str(c) for c in self.target.classes]
        digest.update(json.dumps([list(self.feature_names), classes, self.target.ordered]).encode())
        for extra in (self.target.values, self.groups):
            digest.update(b"-" if extra is None else f"{extra.dtype} {extra.shape}".encode())
            if extra is not None:
                digest.update(np.ascontiguousarray(extra).data)
        return digest.hexdigest()


def _some(names: Any, limit: int = 5) -> str:
    """List a few names and say how many more there are."""
    shown = ", ".join(repr(str(n)) for n in names[:limit])
    return shown + (f" and {len(names) - limit} more" if len(names) > limit else "")


def _read_matrix(X: Any, labels: Any = None) -> tuple[Any, Array]:
    """Return X as a finite float matrix, dense or sparse, and its feature names, those of a frame or `labels`."""
    if X is None:
        raise InputError.of("X", "is missing; pass a table of shape (n_samples, n_features).")
    names = None if labels is None else _distinct(labels)
    if hasattr(X, "columns") and hasattr(X, "to_numpy"):
        values, names = _read_frame(X)
    else:
        values = _read_array(X)
    if values.ndim != 2:
        raise InputError.of(
            "X",
            f"must be a table with rows and columns; got an array of shape {values.shape}. "
            "Reshape your data: X.reshape(-1, 1) for one feature, X.reshape(1, -1) for one sample.",
        )
    n_samples, n_features = values.shape
    if n_samples == 0:
        raise InputError.of("X", f"has 0 samples (shape {values.shape}); at least 2 are needed.")
    if n_features == 0:
        raise InputError.of(
            "X",
            f"has no columns (0 feature(s) (shape={values.shape}) while a minimum of 1 is required). Pass a table "
            "with one column per feature.",
        )
    if n_samples == 1:
        raise InputError.of("X", "has only 1 sample; subsamples need at least 2, in practice many more.")
    if names is None:
        names = np.array([f"x{i}" for i in range(n_features)], dtype=object)
    # What is not finite shows in the extremes of its column.
    _check_finite(np.stack(values.extremes()) if isinstance(values, SparseColumns) else values, names)
    return values, names


def _read_array(X: Any) -> Any:
    if isinstance(X, SparseColumns):
        return X
    if issparse(X):
        return SparseColumns.of(X) if X.ndim == 2 else X
    if isinstance(X, np.ma.MaskedArray):
        X = np.where(np.ma.getmaskarray(X), np.nan, X.data)
    try:
        values = np.asarray(X)
    except ValueError as error:
        raise InputError.of("X", f"must be a table whose rows have the same length; {error}.") from error
    if values.dtype.kind == "c":
        check_not_complex("X", values)
    if values.dtype in (np.float32, np.float64):
        return values
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    if values.ndim == 2:
        reasons = {f"x{j}": reason for j in range(values.shape[1]) if (reason := _why_not_numbers(values[:, j]))}
        if reasons:
            raise ColumnTypeError(_not_numeric(list(reasons), set(reasons.values())), argument="X")
    try:
        return _as_floats(values)
    except (TypeError, ValueError, ArithmeticError) as error:
        raise InputError.of("X", f"must be a table of numbers; {error}.") from error


def _not_numeric(columns: Any, types: set[str]) -> str:
    return (
        f"X has non-numeric columns: {_some(columns)} (type {', '.join(sorted(types))}). Drop them or encode them "
        "first, for example with sklearn.preprocessing.OrdinalEncoder or OneHotEncoder in a pipeline."
    )


def _as_floats(values: Array) -> Floats:
    """Convert to floats; None and NA among objects become NaN, to be reported as missing."""
    if values.dtype == object:
        from pandas import isna

        values = np.where(isna(values), np.nan, values)
    return values.astype(np.float64)


def _why_not_numbers(column: Array) -> str | None:
    """Return why a column holds more than numbers and missing values, or None; text never is a number."""
    if column.dtype != object:
        return None if column.dtype.kind in "biuf" else str(column.dtype)
    try:
        _as_floats(column)
    except (TypeError, ValueError, ArithmeticError) as error:
        return f"object: {error}"
    wrong = {type(entry).__name__ for entry in column if isinstance(entry, str | bytes | complex)}
    return f"object: {', '.join(sorted(wrong))}" if wrong else None


def _distinct(labels: Any) -> Array:
    """Return labels of columns as names of features, or raise if one stands there twice."""
    names = np.array([str(label) for label in labels], dtype=object)
    unique, counts = np.unique(names.astype(str), return_counts=True)
    if (counts > 1).any():
        raise InputError.of(
            "X", f"has duplicate feature names: {_some(unique[counts > 1])}. Rename them so that each is unique."
        )
    return names


def _read_frame(frame: Any) -> tuple[Array, Array]:
    """Read a pandas or polars frame; text, dates and categories are refused by name."""
    import pandas as pd

    names = _distinct(frame.columns)
    dtypes = list(frame.dtypes)
    is_pandas = isinstance(frame, pd.DataFrame)
    if is_pandas:
        numeric = [pd.api.types.is_numeric_dtype(t) and not pd.api.types.is_complex_dtype(t) for t in dtypes]
    else:
        numeric = [t.is_numeric() or str(t) == "Boolean" for t in dtypes]
    # Columns of objects may still be numbers, e.g. after reading a table row by row.
    for j, dtype in enumerate(dtypes):
        if str(dtype) in ("object", "Object"):
            column = (frame.iloc[:, j] if is_pandas else frame[:, j]).to_numpy()
            numeric[j] = _why_not_numbers(column) is None
    if not all(numeric):
        types = {str(t) for t, ok in zip(dtypes, numeric, strict=True) if not ok}
        raise ColumnTypeError(_not_numeric(names[~np.array(numeric)], types), argument="X")
    single = {str(t).lower() for t in dtypes} == {"float32"}
    wanted = np.float32 if single else np.float64
    if is_pandas:
        return frame.to_numpy(dtype=wanted, na_value=np.nan), names
    values = frame.to_numpy()
    return (_as_floats(values) if values.dtype == object else values.astype(wanted, copy=False)), names


def _check_finite(values: Array, names: Array) -> None:
    # A finite sum proves finite entries; only a suspicious part is looked at entry by entry.
    bad: list[str] = []
    kinds: set[str] = set()
    for part in feature_chunks(values.shape[1]):
        chunk = values[:, part]
        with np.errstate(all="ignore"):
            if np.isfinite(chunk.sum(dtype=np.float64)):
                continue
        wrong = ~np.isfinite(chunk)
        bad.extend(names[part][wrong.any(axis=0)])
        if np.isnan(chunk).any():
            kinds.add("missing values (NaN)")
        if np.isinf(chunk).any():
            kinds.add("infinite values (inf)")
    if bad:
        way = (
            " Imputers fill NaN only: turn infinite values into NaN before." if "infinite values (inf)" in kinds else ""
        )
        raise InputError.of(
            "X",
            f"contains {' and '.join(sorted(kinds, reverse=True))} in column(s) {_some(bad)}. Drop or fill them "
            "first, for example with sklearn.impute.SimpleImputer in a pipeline: make_pipeline(SimpleImputer(), "
            f"UBayFSSelector()).{way}",
        )
