"""Covariates, such as age, sex or batch, that features are adjusted for; coded, and taken out of columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._arguments import Array, Floats, Ints
from ..exceptions import Advice, InputError, UBayFSError
from .hazards import fit_cox
from .target import CLASSIFICATION, Target

# Columns of a run that are a combination of others, up to this share of their length, add nothing.
_RANK = 1e-8

# The share of a target, or of a feature, outside of what covariates explain: below this, they determine it.
DETERMINED, DETERMINED_FEATURE = 1e-6, 1e-10
_NEARLY_DETERMINED = 0.1


@dataclass(frozen=True, eq=False)
class Covariate:
    """One covariate."""

    name: str
    values: Floats  # numbers, or codes of levels, of shape (n_samples,)
    levels: tuple[str, ...] | None = None  # of a category, in the order of their codes
    is_site: bool = False  # whether its levels are sites, whose ensembles are pooled

    @property
    def columns(self) -> Floats:
        """The coded columns, of shape (n_samples, n_columns)."""
        if self.levels is None:
            return self.values[:, None]
        return (self.values[:, None] == np.arange(1, len(self.levels))).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Covariates:
    """What is adjusted for: complete, one value per sample."""

    items: tuple[Covariate, ...]
    notes: tuple[Advice, ...] = ()  # how they were read
    measured: tuple[str, ...] = ()  # those that are features of a panel already, which others are to be added to

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

    def with_sites(self, name: str | None) -> Covariates:
        """Return the same with one of them as the sites of the samples."""
        return replace(self, items=tuple(replace(item, is_site=item.name == name) for item in self.items))

    @property
    def site(self) -> Covariate | None:
        """The sites that samples are of, if these are pooled."""
        return next((item for item in self.items if item.is_site), None)

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
    for _ in range(2):  # the second time removes what the rounding of the first has left inside
        values = values - basis @ (basis.T @ values)
    return values


def _target_numbers(basis: Floats, target: Target, samples: Any = slice(None)) -> Floats:
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
    columns = _target_numbers(basis, target, samples)
    for _ in range(2):
        columns = columns - columns.mean(axis=0)
        largest = np.abs(columns).max(axis=0)
        columns = columns / np.where(largest > 0, largest, 1.0)
    remainder = outside(basis, columns)
    whole = (columns**2).sum()
    return float((remainder**2).sum() / whole) if whole > 0 else 0.0, remainder


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
        nearly = 1 - _explained_of_survival(covariates.basis, target) if target.task == "survival" else share
    except UBayFSError:  # Cox's model has no fit
        share = nearly = 0.0
    names = ", ".join(map(repr, covariates.names))
    if n_samples - rank < 2 or share < DETERMINED:
        many = f" {rank - 1} coded columns are too many for {n_samples} samples." if 2 * rank > n_samples else ""
        rule = f"determines the target: nothing of it is left beyond {names}, so that no feature can add to them.{many}"
        raise InputError.of("adjust_for", f"{rule} Leave out the covariate that says the same as the target.")
    if nearly < _NEARLY_DETERMINED:
        notes.append(Advice("covariates_explain_target", {"names": covariates.names, "share": 1 - nearly}))
    return tuple(notes)


def _explained_of_survival(basis: Floats, target: Target) -> float:
    """Return the explained variation of Cox's model of the covariates (Kent and O'Quigley 1988).

    It is V / (V + pi^2 / 6) with the variance V of the linear predictor: on a scale of time where hazards are constant,
    pi^2 / 6 is the variance of the logarithm of times around it.
    """
    Z = basis[:, 1:] * np.sqrt(len(basis))
    variance = float(np.var(Z @ fit_cox(Z, target.time, target.event).coefficients))
    return variance / (variance + np.pi**2 / 6)


def association(x: Floats, columns: Floats, basis: Floats) -> float:
    """Return how a feature is related to some columns, when a basis has explained what it can of both.

    Of one column with another it is the (partial) correlation; of one with several, such as the levels of a category on
    either side, the root of the share of it that they explain (eta); of several with several the root of the mean share
    (from Pillai's trace). Samples have no gaps. NaN if nothing is left of either.

    Examples
    --------
    >>> x, basis = np.array([1.0, 2.0, 4.0, 3.0]), basis_of(np.zeros((4, 0)))
    >>> round(association(x, np.array([[0.0], [0.0], [1.0], [1.0]]), basis), 3)
    0.894
    """
    x = x.reshape(len(x), -1)
    remainder, others = outside(basis, x), outside(basis, columns)
    around_mean = ((x - x.mean(axis=0)) ** 2).sum()
    ours, theirs = _span(remainder, around_mean), _span(others, (columns**2).sum())
    if min(ours.shape[1], theirs.shape[1]) == 0:
        return float("nan")
    # |U'V|^2 is the sum of squared canonical correlations, Pillai's trace; over their number, its mean share.
    size = float(np.linalg.norm(theirs.T @ ours) / np.sqrt(min(ours.shape[1], theirs.shape[1])))
    return float(np.copysign(size, others[:, 0] @ remainder[:, 0])) if x.shape[1] == columns.shape[1] == 1 else size


def _span(remainder: Floats, whole: float) -> Floats:
    """Return an orthonormal basis of columns, but for directions that are next to nothing of a sum of squares."""
    U, sizes, _ = np.linalg.svd(remainder, full_matrices=False)
    return U[:, sizes**2 > DETERMINED_FEATURE * max(whole, np.finfo(np.float64).tiny)]
