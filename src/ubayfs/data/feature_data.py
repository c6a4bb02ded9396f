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
from .missing import FILLS, MAX_MISSING, Gaps, check_missing, samples_of
from .sparse_columns import SparseColumns
from .target import Target, check_aligned, read_groups, read_target
from .twins import twin_advice

# Features per pass over the data: bounds the size of temporary arrays, never changes a result.
_CHUNK = 4096


def feature_chunks(n_features: int, size: int = _CHUNK) -> Iterator[slice]:
    """Yield slices of at most `size` consecutive features."""
    for start in range(0, n_features, size):
        yield slice(start, min(start + size, n_features))


@dataclass(frozen=True, eq=False)
class FeatureData:
    """A checked table: numbers (finite, or NaN where a value is missing), distinct names, a target that fits.

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
    missing : {"available", "drop_rows", "drop_columns", "median"} or None
        The rule that was applied to missing values; None if there were none.
    notes : tuple of Advice
        What became of missing values, and whatever else the reader of the table did.
    blocks : Blocks or None
        Groups of features that were measured together, such as those of one file.
    sample_names : ndarray of str (object) of shape (n_samples,) or None
        Ids of the samples, where the files have them.
    """

    X: Array
    target: Target
    feature_names: Array
    groups: Ints | None = None
    path: str | None = None
    missing: str | None = None
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
        missing: str = "error",
        max_missing: float = MAX_MISSING,
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
        missing : {"error", "available", "drop_rows", "drop_columns", "median"}
            What to do about missing values (NaN) of X: refuse them; let each feature count with the samples that have
            it; leave out the samples, or the features, that lack any; as "available", but with medians where a
            selector needs complete data.
        max_missing : float in [0, 1]
            With "available" and "median": features of which a larger share is missing are left out.

        Notes
        -----
        Samples count by position. When X and `y` (or `groups`) both come from pandas, their indexes must agree: the
        same labels in another order and other labels are refused, nothing is put in order silently. An index that was
        made up (0, 1, 2, ...) agrees with every other one that is not a permutation of it.

        A feature that is left out keeps its position: it is 0 in all samples, and so it cannot be chosen. `notes` lists
        all of them.
        """
        missing, max_missing = check_missing(missing, max_missing)
        path = None
        if isinstance(X, str | os.PathLike):
            path = os.path.abspath(os.fsdecode(X))
            X = map_table(path)
        parts = parts_of(X, y, groups, target, layer)
        y, groups = parts.y, parts.groups
        for name, labeled in (("y", y), ("groups", groups)):
            check_aligned(name, labeled, parts.samples)
        matrix, names = _read_matrix(parts.values, missing, parts.feature_names)
        read, own_groups = read_target(y, len(matrix), task), read_groups(groups, len(matrix))
        no_gaps = missing == "error" or isinstance(matrix, SparseColumns)
        gaps = None if no_gaps else Gaps.of(matrix, names, missing, max_missing)
        if gaps is None:
            return cls(matrix, read, names, own_groups, path, notes=parts.notes)
        left = gaps.left_of(matrix, missing)
        if len(left) < len(matrix):
            y, groups = (samples_of(values, gaps.rows) for values in (y, groups))
            read, own_groups = read_target(y, len(left), task), read_groups(groups, len(left))
        return cls(
            left, read, names, own_groups, path if left is matrix else None, missing, (*parts.notes, *gaps.notes)
        )

    @classmethod
    def of_fit(cls, X: Any, feature_names: Any, missing: str | None = None) -> FeatureData:
        """Read the data that features were chosen on: one column per feature, in their order.

        Parameters
        ----------
        X : array-like, DataFrame or FeatureData of shape (n_samples, n_features)
            Columns of a frame are put into the order of the features by name. When they share no name with the
            features (those of an array are made up), columns count by position.
        feature_names : array-like of str of shape (n_features,)
        missing : str, optional
            The rule for missing values at the fit; all features with any value stay.
        """
        data = X if isinstance(X, FeatureData) else cls.from_table(X, missing=missing or "error", max_missing=1.0)
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
        """Smallest and largest present value of each column, both of shape (n_features,); NaN if there is none."""
        if isinstance(self.X, SparseColumns):
            return self.X.extremes()
        low, high = np.empty((2, self.n_features), dtype=self.X.dtype)
        for part in feature_chunks(self.n_features):
            low[part], high[part] = (extreme.reduce(self.X[:, part], axis=0) for extreme in (np.fmin, np.fmax))
        return low, high

    @cached_property
    def constant(self) -> Mask:
        """Mask of columns that have one value in all samples (that have any), of shape (n_features,)."""
        low, high = self.extremes
        return np.asarray(~(low < high))

    @property
    def fill(self) -> str | None:
        """What selectors that need complete data see in gaps, "mean" or "median"; None: there are no gaps."""
        return FILLS.get(self.missing or "")

    @property
    def about_missing(self) -> Advice | None:
        """The note on missing values, None if there were none."""
        return next((note for note in self.notes if note.code == f"missing_{self.missing}"), None)

    @cached_property
    def advice(self) -> tuple[Advice, ...]:
        """What must be known: how files were read, many or small classes, values far from all others, twins."""
        # What a rule did about missing values is what was asked for; nobody has to be warned of it.
        notes = tuple(note for note in self.notes if note is not self.about_missing)
        columns = (self.X, *self.extremes, self.feature_names)
        return (*notes, *class_advice(self.target), *lone_value_advice(*columns), *twin_advice(*columns))

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


def _read_matrix(X: Any, missing: str, labels: Any = None) -> tuple[Any, Array]:
    """Return X as a matrix of finite floats, or NaN if `missing` allows it, dense or sparse, and its feature names.

    These are those of a frame, or `labels`.
    """
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
    if isinstance(values, SparseColumns):  # what is not finite shows in the extremes of its column
        _check_finite(np.stack(values.extremes()), names, "error", "Missing values need a dense table, X.toarray(). ")
    else:
        _check_finite(values, names, missing)
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


def _check_finite(values: Array, names: Array, missing: str, about: str = "") -> None:
    # A finite sum proves finite entries; only a suspicious part is looked at entry by entry.
    bad: list[str] = []
    kinds: set[str] = set()
    for part in feature_chunks(values.shape[1]):
        chunk = values[:, part]
        with np.errstate(all="ignore"):
            if np.isfinite(chunk.sum(dtype=np.float64)):
                continue
        wrong = ~np.isfinite(chunk) if missing == "error" else np.isinf(chunk)
        bad.extend(names[part][wrong.any(axis=0)])
        if missing == "error" and np.isnan(chunk).any():
            kinds.add("missing values (NaN)")
        if np.isinf(chunk).any():
            kinds.add("infinite values (inf)")
    if bad:
        nan = "missing values (NaN)" in kinds
        ways = [
            f"{about}Use missing='available', by which each feature counts with the samples that have it (other rules: "
            "'drop_rows', 'drop_columns', 'median'). Or drop or fill them first, for example with "
            "sklearn.impute.SimpleImputer in a pipeline: make_pipeline(SimpleImputer(), UBayFSSelector())."
        ] * nan
        ways += ["Correct infinite values, or mark them as missing (NaN)."] * (len(kinds) > nan)
        found = f"contains {' and '.join(sorted(kinds, reverse=True))} in column(s) {_some(bad)}."
        raise InputError.of("X", " ".join([found, *ways]))
