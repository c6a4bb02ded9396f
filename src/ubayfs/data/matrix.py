"""Matrices of numbers from tables: the only reader of X, and the only checker of its shape and its values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .._arguments import Array, Floats, as_array, as_names, check_not_complex, made_names
from .._plain import quoted
from ..exceptions import ColumnTypeError, InputError
from .categories import ReadCategory, is_category
from .sparse_columns import SparseColumns

# Features per pass over the data: bounds the size of temporary arrays, never changes a result.
_CHUNK = 4096


def feature_chunks(n_features: int, size: int = _CHUNK) -> Iterator[slice]:
    """Yield slices of at most `size` consecutive features."""
    for start in range(0, n_features, size):
        yield slice(start, min(start + size, n_features))


def read_matrix(X: Any, missing: str, labels: Any = None) -> tuple[Any, Array, dict[int, ReadCategory]]:
    """Return X as a matrix of finite floats, or NaN if `missing` allows it, dense or sparse, and its feature names.

    These are those of a frame, or `labels`. Categories of a frame, by their positions, stand as codes in the matrix.
    """
    if X is None:
        raise InputError.of("X", "is missing; pass a table of shape (n_samples, n_features).")
    names = None if labels is None else _distinct(labels)
    categories: dict[int, ReadCategory] = {}
    if hasattr(X, "columns") and hasattr(X, "to_numpy"):
        values, names, categories = _read_frame(X)
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
        names = made_names(n_features)
    if isinstance(values, SparseColumns):  # what is not finite shows in the extremes of its column
        _check_finite(np.stack(values.extremes()), names, "error", "Missing values need a dense table, X.toarray(). ")
    else:
        _check_finite(values, names, missing)
    return values, names, categories


def _read_array(X: Any) -> Any:
    if isinstance(X, SparseColumns):
        return X
    if issparse(X):
        return SparseColumns.from_matrix(X) if X.ndim == 2 else X
    if isinstance(X, np.ma.MaskedArray):
        X = np.where(np.ma.getmaskarray(X), np.nan, X.data)
    values = as_array("X", X, "must be a table whose rows have the same length")
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
        f"X has non-numeric columns: {quoted(columns, 5)} (type {', '.join(sorted(types))}). Drop them or convert them "
        "to numbers; words and categoricals in columns of a DataFrame are categories."
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
    names = as_names("X", labels)
    unique, counts = np.unique(names.astype(str), return_counts=True)
    if (counts > 1).any():
        raise InputError.of(
            "X", f"has duplicate feature names: {quoted(unique[counts > 1], 5)}. Rename them so that each is unique."
        )
    return names


def _read_frame(frame: Any) -> tuple[Array, Array, dict[int, ReadCategory]]:
    """Read a pandas or polars frame; dates and mixtures of text and numbers are refused by name."""
    import pandas as pd

    names, dtypes, is_pandas = _distinct(frame.columns), list(frame.dtypes), isinstance(frame, pd.DataFrame)

    def column_at(j: int) -> Any:
        return frame.iloc[:, j] if is_pandas else frame[:, j]

    numeric = [_is_number_type(dtype) if is_pandas else dtype.is_numeric() for dtype in dtypes]
    # Columns of objects may still be numbers, e.g. after reading a table row by row.
    for j, dtype in enumerate(dtypes):
        if str(dtype) in ("object", "Object"):
            numeric[j] = _why_not_numbers(column_at(j).to_numpy()) is None
    others = [j for j, number in enumerate(numeric) if not number]
    columns = {j: column_at(j) if is_pandas else _from_polars(column_at(j)) for j in others}
    refused = [j for j, column in columns.items() if not is_category(column)]
    if refused:
        raise ColumnTypeError(_not_numeric(names[refused], {str(dtypes[j]) for j in refused}), argument="X")
    single = {str(dtype).lower() for dtype, number in zip(dtypes, numeric, strict=True) if number} == {"float32"}
    wanted: Any = np.float32 if single else np.float64
    if not columns and is_pandas:
        return frame.to_numpy(dtype=wanted, na_value=np.nan), names, {}
    if not columns:
        values = frame.to_numpy()
        return (_as_floats(values) if values.dtype == object else values.astype(wanted, copy=False)), names, {}
    categories = {
        j: ReadCategory.from_column(f"column {str(names[j])!r} of X", column) for j, column in columns.items()
    }
    values = np.empty((len(frame), len(names)), dtype=wanted, order="F")
    for j, number in enumerate(numeric):
        values[:, j] = _numbers(column_at(j)) if number else categories[j].codes
    return values, names, categories


def _is_number_type(dtype: Any) -> bool:
    from pandas.api import types

    return types.is_numeric_dtype(dtype) and not types.is_complex_dtype(dtype) and not types.is_bool_dtype(dtype)


def _numbers(column: Any) -> Floats:
    return (
        column.to_numpy(dtype=np.float64, na_value=np.nan) if hasattr(column, "iloc") else _as_floats(column.to_numpy())
    )


def _from_polars(column: Any) -> Any:
    """Return a polars column of text, categories or truth values as one of pandas; any other with its type."""
    import pandas as pd

    kind = str(column.dtype).partition("(")[0]
    if kind in ("Categorical", "Enum"):
        return pd.Series(pd.Categorical(column.to_list()))
    return pd.Series(column.to_list(), dtype="boolean" if kind == "Boolean" else object)


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
        rule = f"contains {' and '.join(sorted(kinds, reverse=True))} in column(s) {quoted(bad, 5)}."
        raise InputError.of("X", " ".join([rule, *ways]))
