"""Reading of covariates: columns of a table by name, or values that are given beside it.

Numbers are one column, text, booleans and categories one 0/1 column per level but the first. Whole numbers of few
values, such as numbered batches, count as categories: their columns explain whatever a straight line does, and more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._arguments import Array, Mask, as_array, did_you_mean
from ..exceptions import Advice, InputError
from .anndata_object import Parts, is_anndata
from .covariates import Covariate, Covariates
from .groups import check_aligned
from .missing import samples_of
from .target import check_length

# Whole numbers with at most so many values, of which each has at least so many samples on average, are categories.
_MOST_LEVELS, _SAMPLES_PER_LEVEL = 12, 5


def take_covariates(parts: Parts, adjust_for: Any) -> tuple[Parts, Covariates | None]:
    """Take covariates out of a table, or read those that are given beside it.

    Samples without a value of a covariate are left out of all parts, with a note; columns that are covariates are no
    features any more.
    """
    if adjust_for is None:
        return parts, None
    names = _as_names(adjust_for, parts)
    if names is None:
        check_aligned("adjust_for", adjust_for, parts.samples)
        columns = _given(adjust_for)
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
        parts, note = _without(parts, absent, [item.name for item in read if np.isnan(item.values).any()])
        notes.append(note)
        read = [replace(item, values=item.values[~absent]) for item in read]
    items = tuple(_as_category(item) for item in read)
    notes += [
        Advice("covariate_as_category", {"name": item.name, "levels": list(item.levels or ())})
        for item, before in zip(items, read, strict=True)
        if before.levels is None and len(item.levels or ()) > 2
    ]
    return parts, Covariates(items, tuple(notes))


def named_in(X: Any, names: Sequence[str], n_features: int) -> list[str]:
    """Return those of some names that are columns of a table, of AnnData of `obs`; an array must have more columns."""
    if not names:
        return []
    columns = X.obs.columns if is_anndata(X) else getattr(X, "columns", ())
    if getattr(X, "ndim", 0) == 2 and not len(columns) and X.shape[1] > n_features:
        columns = [f"x{position}" for position in range(X.shape[1])]
    known = set(map(str, columns))
    return [name for name in names if name in known]


def check_not_features(covariates: Covariates | None, feature_names: Array) -> None:
    """Raise if a covariate has the name of a feature."""
    both = [] if covariates is None else [name for name in covariates.names if name in set(feature_names)]
    if both:
        rule = f"has {both[0]!r}, which is a feature, too. Leave it out of the features: a covariate cannot be chosen."
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


def _given(adjust_for: Any) -> dict[str, Any]:
    """Return the columns of an array, a frame or a Series by name."""
    if hasattr(adjust_for, "columns"):
        return {str(name): adjust_for[name] for name in adjust_for.columns}
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
    """Take columns out of a table by their names."""
    values = parts.values
    if parts.obs is not None:  # of AnnData, from its obs
        known: dict[str, Any] = {str(label): label for label in parts.obs.columns}
    elif hasattr(values, "columns"):
        known = {str(label): label for label in values.columns}
    else:
        values = values if hasattr(values, "shape") else as_array("X", values)
        known = {f"x{position}": position for position in range(values.shape[1] if values.ndim == 2 else 0)}
    for name in names:
        if name not in known:
            where = "obs" if parts.obs is not None else "X"
            rule = f"names {name!r}, but {where} has no such column.{did_you_mean(name, known)}"
            raise InputError.of("adjust_for", rule, name)
    if parts.obs is not None:
        return parts, {name: parts.obs[known[name]] for name in names}
    if len(names) == len(known):
        raise InputError.of("adjust_for", "names all columns of X; no feature is left.", names)
    if hasattr(values, "columns"):
        columns = {name: values[known[name]] for name in names}
        labels = [known[name] for name in names]
        rest = values.drop(columns=labels) if hasattr(values, "iloc") else values.drop(labels)
        return parts._replace(values=rest), columns
    inside = np.array([known[name] for name in names])
    others = np.setdiff1d(np.arange(len(known)), inside)
    values = values.tocsc() if hasattr(values, "tocsc") else values
    taken = values[:, inside]
    taken = taken.toarray() if hasattr(taken, "toarray") else np.asarray(taken)
    own_names = [f"x{position}" for position in others]
    return parts._replace(values=values[:, others], feature_names=own_names), dict(zip(names, taken.T, strict=True))


def _length(values: Any) -> int:
    return int(values.shape[0]) if hasattr(values, "shape") else len(values)


def _without(parts: Parts, absent: Mask, names: list[str]) -> tuple[Parts, Advice]:
    """Leave samples out of all parts."""
    complete, values = ~absent, parts.values
    index = parts.samples.index if hasattr(parts.samples, "index") and hasattr(parts.samples, "iloc") else None
    left_out = [str(label) for label in (np.flatnonzero(absent) if index is None else index[absent])]
    facts = {"names": names, "n_samples": len(left_out), "samples": left_out, "n_left": int(complete.sum())}
    if hasattr(values, "columns") and not hasattr(values, "iloc"):
        values = values.filter(complete)
    elif hasattr(values, "iloc"):
        values = values.iloc[np.flatnonzero(complete)]
    else:
        values = values[np.flatnonzero(complete)] if hasattr(values, "shape") else np.asarray(values)[complete]

    def taken(other: Any) -> Any:
        as_long = other is not None and np.ndim(other) > 0 and len(other) == len(complete)
        return samples_of(other, complete) if as_long else other  # of another length: refused where it is read

    samples = parts.samples.iloc[np.flatnonzero(complete)] if index is not None else values
    y, groups = (taken(other) for other in (parts.y, parts.groups))
    return parts._replace(values=values, samples=samples, y=y, groups=groups), Advice(
        "samples_without_covariate", facts
    )


def _read_column(name: str, column: Any) -> Covariate:
    """Read one column; NaN marks missing values."""
    import pandas as pd

    series = column if isinstance(column, pd.Series) else pd.Series(np.asarray(column))
    series = series.reset_index(drop=True)
    if series.dtype == object:
        series = series.infer_objects()
    absent = series.isna().to_numpy()
    if isinstance(series.dtype, pd.CategoricalDtype):
        present = [level for level in series.dtype.categories if (series == level).any()]
        series = series.astype(object)
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
        present = sorted(set(series[~absent].map(str)))
        series = series.map(str)
    code_of = {level: code for code, level in enumerate(present)}
    codes = np.array(
        [np.nan if gap else code_of[entry] for gap, entry in zip(absent, series, strict=True)], dtype=float
    )
    return Covariate(name, codes, tuple(map(str, present)))


def _as_category(item: Covariate) -> Covariate:
    """Return few different whole numbers as levels."""
    if item.levels is not None or (item.values % 1 != 0).any():
        return item
    levels, codes = np.unique(item.values, return_inverse=True)
    if not 2 <= len(levels) <= min(_MOST_LEVELS, len(codes) // _SAMPLES_PER_LEVEL):
        return item
    return Covariate(item.name, codes.astype(np.float64), tuple(f"{level:.0f}" for level in levels))
