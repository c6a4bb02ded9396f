"""FeatureData: the only reader of tables and the only checker of missing values, shapes and labels."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ._arguments import check_choice
from .exceptions import InputError

TASKS = ("binary", "multiclass", "multilabel", "regression", "unsupervised")
CLASSIFICATION = frozenset({"binary", "multiclass"})

_TASK_OF_TARGET = {
    "binary": "binary",
    "multiclass": "multiclass",
    "multilabel-indicator": "multilabel",
    "continuous": "regression",
}

# Features per pass over the data: bounds the size of temporary arrays, never changes a result.
_CHUNK = 4096


def feature_chunks(n_features: int, size: int = _CHUNK) -> Iterator[slice]:
    """Yield slices of at most `size` consecutive features."""
    for start in range(0, n_features, size):
        yield slice(start, min(start + size, n_features))


@dataclass(frozen=True)
class Target:
    """What is to be predicted, in the form that selectors compute with.

    Attributes
    ----------
    task : str
        One of ``binary``, ``multiclass``, ``multilabel``, ``regression``, ``unsupervised``.
    values : ndarray or None
        Class codes 0..n_classes-1 of shape (n_samples,) for classification, an int indicator matrix of shape
        (n_samples, n_labels) for multi-label, floats of shape (n_samples,) for regression, None without target.
    labels : ndarray or None
        The target as it was given; foreign selectors receive it.
    classes : ndarray or None
        Label of each code; in category order when `ordered`.
    ordered : bool
        True when the classes have an order (an ordered pandas categorical was given).
    """

    task: str
    values: NDArray[Any] | None = None
    labels: NDArray[Any] | None = None
    classes: NDArray[Any] | None = None
    ordered: bool = False

    @property
    def n_classes(self) -> int:
        """Number of classes; 0 when the task is not a classification into one of several classes."""
        return 0 if self.classes is None else len(self.classes)

    def take(self, rows: NDArray[Any]) -> Target:
        """Return the target of some rows (positions or a mask); classes and their codes stay."""
        if self.values is None or self.labels is None:
            return self
        return Target(self.task, self.values[rows], self.labels[rows], self.classes, self.ordered)


@dataclass(frozen=True, eq=False)
class FeatureData:
    """A checked table: finite numbers, distinct names, a target that fits.

    Attributes
    ----------
    X : ndarray of float32 or float64 of shape (n_samples, n_features)
        Shares memory with the caller's array where it could; never written to.
    target : Target
    feature_names : ndarray of str (object) of shape (n_features,)
    groups : ndarray of int of shape (n_samples,) or None
        Rows with the same number stay together in every subsample.
    """

    X: NDArray[Any]
    target: Target
    feature_names: NDArray[Any]
    groups: NDArray[np.intp] | None = None

    @classmethod
    def from_table(cls, X: Any, y: Any = None, *, task: str | None = None, groups: Any = None) -> FeatureData:
        """Read and check a table.

        Parameters
        ----------
        X : array-like or DataFrame (pandas, polars) of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_labels), optional
        task : str, optional
            Said, or inferred from `y` like :func:`sklearn.utils.multiclass.type_of_target`.
        groups : array-like of shape (n_samples,), optional
            Patient, mouse, subject... of each row.
        """
        matrix, names = _read_matrix(X)
        n_samples = matrix.shape[0]
        return cls(matrix, _read_target(y, n_samples, task), names, _read_groups(groups, n_samples))

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.X.shape[1])

    @cached_property
    def constant(self) -> NDArray[np.bool_]:
        """Mask of columns that have one value in all rows, of shape (n_features,)."""
        mask = np.empty(self.n_features, dtype=bool)
        for part in feature_chunks(self.n_features):
            mask[part] = (self.X[:, part] == self.X[0, part]).all(axis=0)
        return mask

    @cached_property
    def fingerprint(self) -> str:
        """Hash of values, names, target and groups: tells data sets apart in checkpoints and merges."""
        digest = hashlib.sha256(f"{self.X.shape} {self.X.dtype} {self.target.task}".encode())
        for rows in range(0, self.n_samples, 64):
            digest.update(np.ascontiguousarray(self.X[rows : rows + 64]).data)
        digest.update("\0".join(self.feature_names).encode())
        for extra in (self.target.values, self.groups):
            if extra is not None:
                digest.update(np.ascontiguousarray(extra).data)
        return digest.hexdigest()


def _some(names: Any, limit: int = 5) -> str:
    """List a few names and say how many more there are."""
    shown = ", ".join(repr(str(n)) for n in names[:limit])
    return shown + (f" and {len(names) - limit} more" if len(names) > limit else "")


def _read_matrix(X: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return X as a finite float matrix, and its feature names."""
    if X is None:
        raise InputError("X is missing; pass a table of shape (n_samples, n_features).")
    if hasattr(X, "columns") and hasattr(X, "to_numpy"):
        values, names = _read_frame(X)
    else:
        values, names = _read_array(X), None
    if values.ndim != 2:
        raise InputError(
            f"X must be a table with rows and columns; got an array of shape {values.shape}. "
            "Reshape your data: X.reshape(-1, 1) for one feature, X.reshape(1, -1) for one sample."
        )
    n_samples, n_features = values.shape
    if n_samples == 0:
        raise InputError(f"X has no rows (0 samples, shape {values.shape}); at least 2 are needed.")
    if n_features == 0:
        raise InputError(f"X has no columns (0 feature(s), shape {values.shape}) while a minimum of 1 is required.")
    if n_samples == 1:
        raise InputError("X has one row (1 sample); subsamples need at least 2, in practice many more.")
    if names is None:
        names = np.array([f"x{i}" for i in range(n_features)], dtype=object)
    _check_finite(values, names)
    return values, names


def _read_array(X: Any) -> NDArray[Any]:
    if hasattr(X, "toarray") and hasattr(X, "nnz"):
        raise InputError("X is a sparse matrix; dense data are needed, for example X.toarray().")
    values = np.asarray(X)
    if values.dtype.kind == "c":
        raise InputError("Complex data not supported: X must hold real numbers.")
    if values.dtype in (np.float32, np.float64):
        return values
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        bad = [f"x{j}" for j in range(values.shape[1]) if not _is_numeric(values[:, j])] if values.ndim == 2 else []
        where = f" in column(s) {_some(bad)}" if bad else ""
        raise InputError(
            f"X must hold numbers (argument must be a string or a number that reads as one){where}; {error}. "
            "Encode text columns first, for example with sklearn.preprocessing.OrdinalEncoder in a pipeline."
        ) from error


def _is_numeric(column: NDArray[Any]) -> bool:
    try:
        column.astype(np.float64)
    except (TypeError, ValueError):
        return False
    return True


def _read_frame(frame: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Read a pandas or polars frame; text, dates and categories are refused by name."""
    names = np.array([str(c) for c in frame.columns], dtype=object)
    unique, counts = np.unique(names.astype(str), return_counts=True)
    if (counts > 1).any():
        raise InputError(
            f"X has duplicate feature names: {_some(unique[counts > 1])}. Rename them so that each is unique."
        )
    dtypes = list(frame.dtypes)
    if isinstance(frame, pd.DataFrame):
        numeric = [pd.api.types.is_numeric_dtype(t) and not pd.api.types.is_complex_dtype(t) for t in dtypes]
    else:
        numeric = [t.is_numeric() or str(t) == "Boolean" for t in dtypes]
    # Columns of objects may still be numbers, e.g. after reading a table row by row.
    for j, (ok, dtype) in enumerate(zip(numeric, dtypes, strict=True)):
        if not ok and str(dtype) in ("object", "Object"):
            numeric[j] = _is_numeric(
                np.asarray(frame.iloc[:, j] if isinstance(frame, pd.DataFrame) else frame[names[j]])
            )
    if not all(numeric):
        bad = names[~np.array(numeric)]
        kinds = sorted({str(t) for t, ok in zip(dtypes, numeric, strict=True) if not ok})
        raise InputError(
            f"X has non-numeric columns: {_some(bad)} (type {', '.join(kinds)}). Drop them or encode them first, "
            "for example with sklearn.preprocessing.OrdinalEncoder or OneHotEncoder in a pipeline."
        )
    single = {str(t).lower() for t in dtypes} == {"float32"}
    wanted = np.float32 if single else np.float64
    if isinstance(frame, pd.DataFrame):
        values = frame.to_numpy(dtype=wanted, na_value=np.nan)
    else:
        values = np.asarray(frame.to_numpy()).astype(wanted, copy=False)
    return values, names


def _check_finite(values: NDArray[Any], names: NDArray[Any]) -> None:
    # A finite sum proves finite entries; only a suspicious part is looked at entry by entry.
    bad: list[str] = []
    missing = False
    for part in feature_chunks(values.shape[1]):
        chunk = values[:, part]
        with np.errstate(all="ignore"):
            if np.isfinite(chunk.sum(dtype=np.float64)):
                continue
        wrong = ~np.isfinite(chunk)
        bad.extend(names[part][wrong.any(axis=0)])
        missing = missing or bool(np.isnan(chunk).any())
    if bad:
        kind = "missing values (NaN)" if missing else "infinite values (inf)"
        raise InputError(
            f"X contains {kind} in column(s) {_some(bad)}. Drop or fill them first, for example with "
            "sklearn.impute.SimpleImputer in a pipeline: make_pipeline(SimpleImputer(), UBayFSSelector())."
        )


def _check_length(name: str, length: int, n_samples: int) -> None:
    if length != n_samples:
        raise InputError(f"{name} must have one entry per row of X: {n_samples} rows, but {length} entries in {name}.")


def _read_target(y: Any, n_samples: int, task: str | None) -> Target:
    if task is not None:
        check_choice("task", task, TASKS)
    if task == "unsupervised" or y is None:
        if task not in (None, "unsupervised"):
            raise InputError(f"task={task!r} requires y to be passed, but the target y is None.")
        return Target("unsupervised")
    ordered_categories = None
    if isinstance(y, pd.DataFrame) and y.shape[1] == 1:
        y = y.iloc[:, 0]
    if isinstance(y, pd.Series) and isinstance(y.dtype, pd.CategoricalDtype) and y.dtype.ordered:
        ordered_categories = y.dtype.categories
    elif isinstance(y, pd.Categorical) and y.ordered:
        ordered_categories = y.categories
    labels = np.asarray(y)
    if labels.ndim == 0:
        raise InputError(f"y must have one entry per row of X; got the single value {y!r}.")
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    _check_length("y", len(labels), n_samples)
    _check_target_complete(labels)
    kind = task or _infer_task(labels)
    if kind == "regression":
        return _regression_target(labels)
    if kind == "multilabel":
        return _multilabel_target(labels)
    return _class_target(labels, kind, task is not None, ordered_categories)


def _check_target_complete(labels: NDArray[Any]) -> None:
    if pd.isna(labels).any():
        raise InputError("y contains missing values (NaN); drop those rows before the selection.")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise InputError("y contains infinite values (inf); drop or correct those rows.")
    if labels.dtype.kind == "c":
        raise InputError("Complex data not supported: y must hold real numbers or class labels.")


def _infer_task(labels: NDArray[Any]) -> str:
    from sklearn.utils.multiclass import type_of_target

    try:
        kind = type_of_target(labels, input_name="y")
    except (TypeError, ValueError) as error:
        raise InputError(f"y is not a target that can be used: {error}") from error
    if kind not in _TASK_OF_TARGET:
        raise InputError(
            f"Unknown label type: y is of kind {kind!r}. Usable are class labels, a 0/1 matrix of labels, or one "
            "column of numbers; say task='regression' or convert the labels to strings."
        )
    return _TASK_OF_TARGET[kind]


def _regression_target(labels: NDArray[Any]) -> Target:
    try:
        values = labels.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"task='regression' needs a numeric y; got {labels.dtype} ({error}).") from error
    if values.ndim != 1:
        raise InputError(f"task='regression' needs one target column; got y of shape {values.shape}.")
    if not np.isfinite(values).all():
        raise InputError("y contains missing or infinite values; drop those rows.")
    if values.min() == values.max():
        raise InputError(f"y is constant ({values[0]:g} in all rows); there is nothing to explain.")
    return Target("regression", values, labels)


def _multilabel_target(labels: NDArray[Any]) -> Target:
    try:
        values = labels.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"task='multilabel' needs a 0/1 matrix y of shape (n_samples, n_labels); {error}.") from error
    if values.ndim != 2 or not np.isin(values, (0, 1)).all():
        raise InputError(
            f"task='multilabel' needs a 0/1 matrix y of shape (n_samples, n_labels); got shape {values.shape}."
        )
    if (values.min(axis=0) == values.max(axis=0)).all():
        raise InputError("every label column of y is constant (one class each); there is nothing to explain.")
    return Target("multilabel", values.astype(np.int64), labels)


def _class_target(labels: NDArray[Any], kind: str, said: bool, ordered: Any) -> Target:
    if labels.ndim != 1:
        raise InputError(f"task={kind!r} needs one column of class labels; got y of shape {labels.shape}.")
    try:
        classes, codes = np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise InputError(f"y mixes labels that cannot be compared ({error}); convert them to strings.") from error
    if ordered is not None:
        present = [c for c in ordered if c in set(classes.tolist())]
        classes, codes = np.array(present), pd.Categorical(labels, categories=present).codes
    if len(classes) < 2:
        raise InputError(f"y has only one class ({classes[0]!r}); a classification needs at least 2 classes.")
    if kind == "binary" and len(classes) > 2:
        raise InputError(f"task='binary' needs 2 classes; y has {len(classes)}. Use task='multiclass'.")
    if kind == "multiclass" and len(classes) == 2 and said:
        kind = "binary"
    return Target(kind, np.asarray(codes, dtype=np.intp), labels, classes, ordered is not None)


def _read_groups(groups: Any, n_samples: int) -> NDArray[np.intp] | None:
    if groups is None:
        return None
    values = np.asarray(groups)
    if values.ndim != 1:
        raise InputError(f"groups must be one column; got shape {values.shape}.")
    _check_length("groups", len(values), n_samples)
    if pd.isna(values).any():
        raise InputError("groups contains missing values; give each row its group.")
    codes = np.asarray(pd.factorize(values)[0], dtype=np.intp)
    if codes.max() == 0:
        raise InputError(f"groups has a single group ({values[0]!r}); at least 2 are needed to subsample by group.")
    return codes
