"""Reading of covariates: columns of a table by name, or values that are given beside it.

Numbers are one column, text, booleans and categories one 0/1 column per level but the first. Whole numbers of few
values, such as numbered batches, count as categories: their columns explain whatever a straight line does, and more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._arguments import Array, Mask, as_array, check_names, did_you_mean, made_names, refuse_lazy
from ..exceptions import Advice, InputError
from .covariates import Covariate, Covariates
from .parts import Parts, check_aligned, is_anndata
from .target import check_length

# Whole numbers with at most so many values, of which each has at least so many samples on average, are categories.
_MOST_LEVELS, _SAMPLES_PER_LEVEL = 12, 5


def take_covariates(parts: Parts, adjust_for: Any, measured: Any = ()) -> tuple[Parts, Covariates | None]:
    """Take covariates out of a table, or read those that are given beside it; `measured` are columns, too.

    Samples without a value of a covariate are left out of all parts, with a note; columns that are covariates are no
    features any more.
    """
    if named := check_names("measured", measured):
        return _with_measured(parts, adjust_for, named)
    if adjust_for is None:
        return parts, None
    refuse_lazy("adjust_for", adjust_for)
    names = _as_names(adjust_for, parts)
    if names is None:
        check_aligned("adjust_for", adjust_for, parts.index)
        columns = _columns_of(adjust_for)
    else:
        parts, columns = _named(parts, names)
    if not columns:
        raise InputError.of("adjust_for", "is empty; name at least one covariate, or leave it out.")
    n_samples = _length(parts.values)
    read = []
    for name, column in columns.items():
        check_length("adjust_for", len(column), n_samples)
        read.append(_read_column(name, column))
    absent: Mask = np.any([np.isnan(item.values) for item in read], axis=0)
    notes: list[Advice] = []
    if absent.any():
        if absent.all():
            raise InputError.of("adjust_for", "leaves no sample: each lacks a value of a covariate.", adjust_for)
        lacking = [item.name for item in read if np.isnan(item.values).any()]
        parts, note = parts.without(absent, "samples_without_covariate", {"names": lacking})
        notes.append(note)
        read = [replace(item, values=item.values[~absent]) for item in read]
    items = tuple(_as_category(item) for item in read)
    notes += [
        Advice("covariate_as_category", {"name": item.name, "levels": list(item.levels or ())})
        for item, before in zip(items, read, strict=True)
        if before.levels is None and len(item.levels or ()) > 2
    ]
    return parts, Covariates(items, tuple(notes))


def _with_measured(parts: Parts, adjust_for: Any, measured: tuple[str, ...]) -> tuple[Parts, Covariates | None]:
    """Take covariates out of a table, among them features that are measured anyway."""
    covariate_names = () if adjust_for is None else _as_names(adjust_for, parts)
    if covariate_names is None:
        rule = "names columns of X, so that adjust_for must name columns of X, too."
        raise InputError.of("measured", rule, measured)
    if both := [name for name in measured if name in covariate_names]:
        raise InputError.of("measured", f"has {both[0]!r}, which is in adjust_for, too; name it once.", both[0])
    try:
        parts, covariates = take_covariates(parts, [*covariate_names, *measured])
    except InputError as error:
        if error.value in measured:
            error.argument, rule = "measured", str(error.rule)
            raise InputError.of("measured", rule, error.value) from None
        raise
    return parts, covariates and replace(covariates, measured=tuple(dict.fromkeys(measured)))


def named_in(X: Any, names: Sequence[str], n_features: int) -> list[str]:
    """Return those of some names that are columns of a table, of AnnData of `obs`; an array must have more columns."""
    if not names:
        return []
    columns = X.obs.columns if is_anndata(X) else getattr(X, "columns", ())
    if getattr(X, "ndim", 0) == 2 and not len(columns) and X.shape[1] > n_features:
        columns = made_names(X.shape[1])
    labels = set(map(str, columns))
    return [name for name in names if name in labels]


def check_not_features(covariates: Covariates, feature_names: Array) -> None:
    """Raise if a covariate has the name of a feature."""
    both = [name for name in covariates.names if name in set(feature_names)]
    if both:
        rule = (
            f"has {both[0]!r}, which is a feature, too. Leave it out of the features: a covariate cannot be selected."
        )
        raise InputError.of("adjust_for", rule, both[0])


def _as_names(adjust_for: Any, parts: Parts) -> list[str] | None:
    """Return the names of columns, None if values are given."""
    if isinstance(adjust_for, str):
        return [adjust_for]
    listed = isinstance(adjust_for, list | tuple | set | frozenset) or type(adjust_for).__name__ == "Index"
    if isinstance(adjust_for, np.ndarray) and adjust_for.ndim == 1 and len(adjust_for) != _length(parts.values):
        listed = True
    if not listed or not all(isinstance(name, str) for name in adjust_for):
        return None
    names = list(dict.fromkeys(adjust_for))
    if len(names) < len(adjust_for) and len(adjust_for) == _length(parts.values):
        rule = "has one text per sample; pass an array or a Series of them, since a list holds names of columns."
        raise InputError.of("adjust_for", rule)
    return names


def _columns_of(adjust_for: Any) -> dict[str, Any]:
    """Return the columns of an array, a frame or a Series by name."""
    if hasattr(adjust_for, "columns") and hasattr(adjust_for, "to_numpy"):
        columns = {str(name): adjust_for[name] for name in adjust_for.columns}
        if len(columns) < len(adjust_for.columns):
            raise InputError.of("adjust_for", "has several columns of the same name. Rename them.", adjust_for)
        return columns
    if getattr(adjust_for, "name", None) is not None:
        return {str(adjust_for.name): adjust_for}
    values = as_array("adjust_for", adjust_for, "must have one row per sample of X")
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2:
        rule = f"must be names of columns, or an array of shape (n_samples, n_covariates); got shape {values.shape}."
        raise InputError.of("adjust_for", rule)
    return {f"covariate {number}": column for number, column in enumerate(values.T, start=1)}


def _named(parts: Parts, names: list[str]) -> tuple[Parts, dict[str, Any]]:
    """Take columns out of a table, or of `obs` of AnnData, by their names."""
    table: Any = parts.values if parts.obs is None else parts.obs
    table = table if hasattr(table, "shape") else as_array("X", table)
    is_frame = hasattr(table, "columns")
    if is_frame:
        available = {str(label): label for label in table.columns}
    else:
        available = {
            name: position for position, name in enumerate(made_names(table.shape[1] if table.ndim == 2 else 0))
        }
    for name in names:
        if name not in available:
            where = "X" if parts.obs is None else "obs"
            rule = f"names {name!r}, but {where} has no such column.{did_you_mean(name, available)}"
            raise InputError.of("adjust_for", rule, name)
    if parts.obs is None and len(names) == len(available):
        raise InputError.of("adjust_for", "names all columns of X; no feature is left.", names)
    inside = [available[name] for name in names]
    if is_frame:
        columns = {name: table[label] for name, label in zip(names, inside, strict=True)}
        if parts.obs is None:
            parts = parts._replace(values=table.drop(columns=inside) if hasattr(table, "iloc") else table.drop(inside))
        return parts, columns
    table = table.tocsc() if hasattr(table, "tocsc") else table
    others = [name for name in available if name not in names]
    taken, rest = (table[:, positions] for positions in (inside, [available[name] for name in others]))
    taken = taken.toarray() if hasattr(taken, "toarray") else np.asarray(taken)
    return parts._replace(values=rest, feature_names=others), dict(zip(names, taken.T, strict=True))


def _length(values: Any) -> int:
    return int(values.shape[0]) if hasattr(values, "shape") else len(values)


def _read_column(name: str, column: Any) -> Covariate:
    """Read one column; NaN marks missing values."""
    import pandas as pd

    series = column if isinstance(column, pd.Series) else pd.Series(np.asarray(column))
    series = series.reset_index(drop=True)
    if series.dtype == object:
        series = series.infer_objects()
    absent = series.isna().to_numpy()
    if isinstance(series.dtype, pd.CategoricalDtype):
        labels = series.cat.remove_unused_categories()
    elif pd.api.types.is_bool_dtype(series.dtype) or pd.api.types.is_numeric_dtype(series.dtype):
        if pd.api.types.is_complex_dtype(series.dtype):
            raise InputError.of("adjust_for", f"has complex numbers in {name!r}; use their real part or size.", name)
        values = series.to_numpy(dtype=np.float64, na_value=np.nan)
        if np.isinf(values).any():
            rule = f"has infinite values (inf) in {name!r}. Correct them, or mark them as missing (NaN)."
            raise InputError.of("adjust_for", rule, name)
        return Covariate(name, values)
    elif pd.api.types.is_datetime64_any_dtype(series.dtype):
        rule = f"has dates in {name!r}; pass numbers, such as days, or text, such as the month."
        raise InputError.of("adjust_for", rule, name)
    else:
        texts = [None if gap else str(entry) for gap, entry in zip(absent, series, strict=True)]
        labels = pd.Series(pd.Categorical(texts, categories=sorted({text for text in texts if text is not None})))
    codes = np.where(absent, np.nan, labels.cat.codes)
    return Covariate(name, codes, tuple(map(str, labels.cat.categories)))


def _as_category(item: Covariate) -> Covariate:
    """Return few different whole numbers as levels."""
    if item.levels is not None or (item.values % 1 != 0).any():
        return item
    levels, codes = np.unique(item.values, return_inverse=True)
    if not 2 <= len(levels) <= min(_MOST_LEVELS, len(codes) // _SAMPLES_PER_LEVEL):
        return item
    return Covariate(item.name, codes.astype(np.float64), tuple(f"{level:.0f}" for level in levels))
