"""Covariates: what features must tell something beyond, such as age, sex or batch; read, checked and coded once.

Numbers are one column, text, booleans and categories one 0/1 column per level but the first. Whole numbers of few
values, such as numbered batches, count as categories: their columns explain whatever a straight line does, and more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._arguments import Array, Floats, Ints, Mask, did_you_mean
from ..exceptions import Advice, InputError, UBayFSError
from .anndata_object import Parts, is_anndata
from .groups import check_aligned
from .hazards import fit_cox
from .missing import samples_of
from .target import CLASSIFICATION, Target, check_length

# Whole numbers with at most so many values, of which each has at least so many samples on average, are categories.
_MOST_LEVELS, _SAMPLES_PER_LEVEL = 12, 5

# Columns of a run that are a combination of others, up to this share of their length, add nothing.
_RANK = 1e-8

# The share of a target, or of a feature, outside of what covariates explain: below this, they determine it.
DETERMINED, DETERMINED_FEATURE = 1e-6, 1e-10
_NEARLY_DETERMINED = 0.1


@dataclass(frozen=True, eq=False)
class Covariate:
    """One covariate.

    Attributes
    ----------
    name : str
    values : ndarray of float of shape (n_samples,)
        Numbers, or codes of levels.
    levels : tuple of str or None
        Of a category, in the order of their codes.
    """

    name: str
    values: Floats
    levels: tuple[str, ...] | None = None

    @property
    def columns(self) -> Floats:
        """The coded columns, of shape (n_samples, n_columns)."""
        if self.levels is None:
            return self.values[:, None]
        return (self.values[:, None] == np.arange(1, len(self.levels))).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Covariates:
    """What is adjusted for: complete, one value per sample.

    Attributes
    ----------
    items : tuple of Covariate
    notes : tuple of Advice
        How they were read.
    """

    items: tuple[Covariate, ...]
    notes: tuple[Advice, ...] = field(default=())

    @property
    def names(self) -> list[str]:
        """The names."""
        return [item.name for item in self.items]

    @cached_property
    def design(self) -> Floats:
        """All coded columns, of shape (n_samples, n_columns)."""
        return np.hstack([item.columns for item in self.items])

    @cached_property
    def basis(self) -> Floats:
        """What is left out of features: an orthonormal basis of constant and covariates, (n_samples, rank)."""
        return basis_of(self.design)

    @property
    def strata(self) -> Ints | None:
        """Codes of samples with the same levels of all categories, of shape (n_samples,); None without categories."""
        levels = [item.values for item in self.items if item.levels is not None]
        if not levels:
            return None
        return np.unique(np.stack(levels, axis=1), axis=0, return_inverse=True)[1].ravel().astype(np.intp)

    def take(self, samples: Array) -> Covariates:
        """Return those of some samples (positions or a mask)."""
        return replace(self, items=tuple(replace(item, values=item.values[samples]) for item in self.items))


def basis_of(design: Floats) -> Floats:
    """Return an orthonormal basis of the constant, its first column, and some columns, of shape (n_samples, rank).

    Examples
    --------
    >>> basis = basis_of(np.array([[0.0, 1e9], [0.0, 1e9], [1.0, 1e9], [1.0, 1e9]]))
    >>> outside(basis, np.array([[1.0], [3.0], [10.0], [14.0]])).ravel().round(9)
    array([-1.,  1., -2.,  2.])
    """
    constant = np.full((len(design), 1), len(design) ** -0.5)
    columns = design[:, (design != design[:1]).any(axis=0)]
    columns = columns / np.abs(columns).max(axis=0, initial=0.0)
    for _ in range(2):  # the second time removes what the rounding of a mean far from 0 has left
        columns = columns - columns.mean(axis=0)
        columns = columns / np.linalg.norm(columns, axis=0)
    U, S, _ = np.linalg.svd(columns, full_matrices=False)
    return np.hstack([constant, U[:, S > _RANK]])


def outside(basis: Floats, values: Floats) -> Floats:
    """Return what is left of columns, of shape (n_samples, k), outside of the span of an orthonormal basis."""
    for _ in range(2):
        values = values - basis @ (basis.T @ values)
    return values


def target_columns(basis: Floats, target: Target, samples: Any = slice(None)) -> Floats:
    """Return the target of some samples as columns of numbers: 0/1 of each class, labels, or the target itself.

    Ordered classes are one column, their position in the order; survival is that of the martingale residuals of Cox's
    model of the covariates.
    """
    values = np.asarray(target.values)[samples]
    if target.task == "survival":
        Z = basis[:, 1:] * np.sqrt(len(basis))
        return fit_cox(Z, target.time[samples], target.event[samples]).residual[:, None]
    if target.task in CLASSIFICATION and not target.ordered:
        first = 1 if target.n_classes == 2 else 0
        return (values[:, None] == np.arange(first, target.n_classes)).astype(np.float64)
    return values.reshape(len(values), -1).astype(np.float64)


def target_left(basis: Floats, target: Target, samples: Any = slice(None)) -> tuple[float, Floats]:
    """Return the share of a target that lies outside of a basis, and the target there, of shape (n_samples, k).

    Columns of the target are scaled, so that their largest distance from the mean is 1.
    """
    columns = target_columns(basis, target, samples)
    for _ in range(2):
        columns = columns - columns.mean(axis=0)
        largest = np.abs(columns).max(axis=0)
        columns = columns / np.where(largest > 0, largest, 1.0)
    left = outside(basis, columns)
    whole = (columns**2).sum()
    return float((left**2).sum() / whole) if whole > 0 else 0.0, left


def covariate_advice(covariates: Covariates, target: Target) -> tuple[Advice, ...]:
    """Return what must be known of covariates and a target; InputError if these determine it or there is none left."""
    n_samples, rank = covariates.basis.shape
    if rank == 1:
        rule = f"has the same value in all samples ({', '.join(covariates.names)}): there is nothing to adjust for."
        raise InputError.of("adjust_for", rule, covariates.names)
    constant = [item.name for item in covariates.items if (item.values == item.values[0]).all()]
    notes = [*covariates.notes, *(Advice("constant_covariate", {"names": constant}) for _ in constant[:1])]
    if target.values is None:
        return (*notes, Advice("adjusted_without_target", {"names": covariates.names}))
    try:
        share, _ = target_left(covariates.basis, target)
    except UBayFSError:  # Cox's model has no fit
        share = 0.0
    names = ", ".join(map(repr, covariates.names))
    if n_samples - rank < 2 or share < DETERMINED:
        many = f" {rank - 1} coded columns are too many for {n_samples} samples." if 2 * rank > n_samples else ""
        rule = f"determines the target: nothing of it is left beyond {names}, so that no feature can add to them.{many}"
        raise InputError.of("adjust_for", f"{rule} Leave out the covariate that says the same as the target.")
    if share < _NEARLY_DETERMINED:
        notes.append(Advice("covariates_explain_target", {"names": covariates.names, "share": 1 - share}))
    return tuple(notes)


# -- reading -----------------------------------------------------------------------------------------------------------


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
    try:
        values = np.asarray(adjust_for)
    except ValueError as error:
        raise InputError.of("adjust_for", f"must have one row per sample of X; {error}.") from error
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
        values = values if hasattr(values, "shape") else np.asarray(values)
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
    kept, values = ~absent, parts.values
    index = parts.samples.index if hasattr(parts.samples, "index") and hasattr(parts.samples, "iloc") else None
    left_out = [str(label) for label in (np.flatnonzero(absent) if index is None else index[absent])]
    facts = {"names": names, "n_samples": len(left_out), "samples": left_out, "n_left": int(kept.sum())}
    if hasattr(values, "columns") and not hasattr(values, "iloc"):
        values = values.filter(kept)
    elif hasattr(values, "iloc"):
        values = values.iloc[np.flatnonzero(kept)]
    else:
        values = values[np.flatnonzero(kept)] if hasattr(values, "shape") else np.asarray(values)[kept]

    def of_kept(other: Any) -> Any:  # of another length: refused where it is read
        return samples_of(other, kept) if other is not None and np.ndim(other) and len(other) == len(kept) else other

    samples = parts.samples.iloc[np.flatnonzero(kept)] if index is not None else values
    y, groups = (of_kept(other) for other in (parts.y, parts.groups))
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
