"""Scores beyond covariates: what features tell of the target that age, sex, batch and the like do not.

In each run Q is an orthonormal basis of the constant and the covariates over its samples, 0 outside. What is left of a
feature x is x - Q Q'x, and its sum of squares is T = W @ x^2 - sum (Q'x)^2: matrix products for all runs together, and
no copy of the data. With an orthonormal basis G of what is left of the target, sum (G'x)^2 / T is the partial R2 of
least squares, the share of T that the target explains beyond the covariates.

Selectors that do not know covariates get a copy of the samples of a run that has nothing of these any more.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from .._arguments import Array, Floats, Generators, Ints, Mask
from ..data.categories import CategoryTable
from ..data.covariates import DETERMINED, DETERMINED_FEATURE, basis_of, outside, target_left
from ..data.matrix import feature_chunks
from ..data.target import Target
from ..exceptions import UBayFSError
from ._directions import check_events
from ._subsample import power_of_two, standardized
from .base import ElementarySelector
from .categories import NOTHING_LEFT, left_by_levels, whitening
from .scoring import Runs, Statistic, run_scores

_TINY = {dtype: np.finfo(dtype).tiny / np.finfo(dtype).eps for dtype in (np.dtype(np.float32), np.dtype(np.float64))}

# Entries of the samples of a run that are done together, so that they stay in the cache.
_CACHE_ENTRIES = 1 << 15


class Residuals(Runs):
    """The samples of several runs without what covariates, coded in a `design`, explain in each."""

    def __init__(self, design: Floats, subsamples: Mask) -> None:
        super().__init__(subsamples)
        self._run_bases = [basis_of(design[rows]) for rows in subsamples]
        most = max(basis.shape[1] for basis in self._run_bases)
        self._bases = np.zeros((len(subsamples), most, subsamples.shape[1]))
        for bases, basis, rows in zip(self._bases, self._run_bases, subsamples, strict=True):
            bases[: basis.shape[1], rows] = basis.T

    def squares(self, runs: slice, x: Array) -> tuple[Array, Array, Array]:
        """Return columns to be multiplied with directions, their sums of squares T, and the condition of these.

        For k centered columns x, of shape (n_samples, k), T and its condition, the share of it in the raw squares, have
        shape (n_runs, k). Of a single run it is computed from the columns without covariates, which are the first
        result then; what covariates determine has T = 0.
        """
        weights = self.subsamples[runs].astype(x.dtype)
        raw = weights @ x**2
        if len(weights) == 1:
            rows = self.subsamples[runs][0]
            remainder = np.zeros_like(x)
            remainder[rows] = outside(self._run_bases[runs][0].astype(x.dtype, copy=False), x[rows])
            total = (remainder**2).sum(axis=0)
            around_mean = ((x[rows] - x[rows].mean(axis=0)) ** 2).sum(axis=0)
            x, total = remainder, np.where(total > DETERMINED_FEATURE * around_mean, total, 0)[None]
        else:
            bases = self._bases[runs].astype(x.dtype, copy=False)
            inside = (bases.reshape(-1, len(x)) @ x).reshape(*bases.shape[:2], x.shape[1])
            total = raw - (inside**2).sum(axis=1)  # T = W @ x^2 - sum (Q'x)^2
        return x, total, total / np.maximum(raw, _TINY[x.dtype])

    def explained(self, x: Floats, directions: Floats) -> tuple[Floats, Floats]:
        """Return the shares of directions that the coded columns of a category explain, and the rank of these.

        For columns x of shape (n_samples, k), and directions without covariates, of length 1 or 0, of shape
        (n_directions, n_models, n_samples), the results have shape (n_directions, n_models) and (n_models,).
        """
        whitened, ranks = whitening(self.gram(x), self.subsamples.astype(np.float64) @ (x**2).sum(axis=1))
        along = ((directions @ x)[:, :, None, :] @ whitened)[:, :, 0]
        return (along**2).sum(axis=2), ranks

    def gram(self, x: Floats) -> Floats:
        """Return products of columns, of shape (n_samples, k), without covariates in each run: (n_models, k, k)."""
        inside = self._bases @ x
        products = (x[:, :, None] * x[:, None, :]).reshape(len(x), -1)
        raw = (self.subsamples.astype(np.float64) @ products).reshape(-1, x.shape[1], x.shape[1])
        return np.asarray(raw - inside.transpose(0, 2, 1) @ inside)

    @property
    def bases(self) -> list[Floats]:
        """Of each run, an orthonormal basis of the constant and the covariates, of shape (n_samples_of_run, rank)."""
        return self._run_bases

    @property
    def degrees(self) -> Floats:
        """Number of samples of each run minus the rank of constant and covariates, of shape (n_models,)."""
        return np.array([len(basis) - basis.shape[1] for basis in self._run_bases], dtype=np.float64)

    def target_remainders(self, target: Target) -> list[Floats]:
        """Return what is left of the target in each run, of shape (n_samples_of_run, n_columns)."""
        if target.task == "survival":
            check_events(target, self.subsamples)
        remainders = []
        for basis, rows in zip(self._run_bases, self.subsamples, strict=True):
            share, remainder = target_left(basis, target, rows)
            if len(basis) <= basis.shape[1] + 1 or share < DETERMINED:
                raise UBayFSError("covariates determine the target in the subsample; a larger train_size may help.")
            remainders.append(remainder)
        return remainders

    def project(self, runs: slice, values: Floats) -> Floats:
        """Return vectors of some runs, of shape (n_runs, n_samples) and 0 outside the run, without covariates."""
        bases = self._bases[runs]
        for _ in range(2):  # the second time removes what the rounding of the first has left inside
            inside = bases @ values[:, :, None]
            values = values - (inside.transpose(0, 2, 1) @ bases)[:, 0]
        return values

    def _scatter(self, x: Floats) -> tuple[Floats, Floats]:
        _, total, condition = self.squares(slice(None), x)
        return total, condition

    def _vary(self, run: int, block: Floats) -> Mask:
        """Return which columns vary in a run, beyond covariates."""
        vary = super()._vary(run, block)
        if vary.any():
            columns = standardized(block[np.ix_(self.subsamples[run], vary)])
            vary[vary] = (outside(self._run_bases[run], columns) ** 2).sum(axis=0) / len(columns) > DETERMINED_FEATURE
        return vary

    def unit_columns(self, X: Array, run: int, columns: Ints) -> Floats:
        """Return columns from the samples of a run alone, without covariates, of length 1."""
        remainder = outside(self._run_bases[run], standardized(X[np.ix_(self.subsamples[run], columns)]))
        return remainder / np.linalg.norm(remainder, axis=0)


class JointSelector(ElementarySelector):
    """A selector that does all runs at once, and knows what to do about gaps, categories and covariates."""

    joint: ClassVar[bool] = True
    nested: ClassVar[bool] = True
    takes_gaps: ClassVar[bool] = True
    adjusts: ClassVar[bool] = True
    takes_categories: ClassVar[bool] = True

    @abstractmethod
    def _choose(self, X: Array, target: Target, runs: Runs, n_features: int, rngs: Generators) -> list[Ints]:
        """Choose features in all runs, beyond covariates if these are residuals."""

    def select_many(self, X: Array, target: Target, subsamples: Mask, n_features: int, rngs: Generators) -> list[Ints]:
        """Choose features on all subsamples at once."""
        return self._choose(X, target, Runs(subsamples), n_features, rngs)

    def select_adjusted(
        self, X: Array, target: Target, design: Floats, subsamples: Mask, n_features: int, rngs: Generators
    ) -> list[Ints]:
        """Choose features on all subsamples at once, for what they tell beyond covariates."""
        return self._choose(X, target, Residuals(design, subsamples), n_features, rngs)


def share_beyond(residuals: Residuals, target: Target, each: bool = False) -> Statistic:
    """Return the partial R2 of the target as a statistic.

    It is that of all classes together, of shape (n_runs, k), or of `each` of the columns of the target, of shape
    (n_columns, n_runs, k): of each class if there are more than two without an order, else of one.
    """
    directions = _target_directions(residuals, target, each)

    def statistic(runs: slice, x: Array) -> tuple[Array, Array]:
        x, total, condition = residuals.squares(runs, x)
        run_directions = directions[:, runs].astype(x.dtype, copy=False)
        explained = ((run_directions.reshape(-1, len(x)) @ x) ** 2).reshape(*run_directions.shape[:2], -1)
        shares = np.clip((explained if each else explained.sum(axis=0)) / total, 0.0, 1.0)
        return np.where(total > 0, shares, -np.inf), condition

    return statistic


def categories_beyond(residuals: Residuals, target: Target, X: CategoryTable, each: bool = False) -> Floats:
    """Return what :func:`share_beyond` is for categories of three or more levels without order.

    The partial R2 of their levels becomes that of a number with the same p-value, of shape (n_models, n_several), or
    (n_columns, n_models, n_several) of `each`; minus infinity where covariates leave nothing of a category. Of several
    classes together it is Pillai's trace, as in :func:`~ubayfs.selectors.categories.shares_between`.
    """
    directions = _target_directions(residuals, target, each)
    q, degrees = (directions**2).sum(axis=2).round(), residuals.degrees  # 1 for a direction, 0 for none
    shares = np.empty((*(q.shape if each else q.shape[1:]), len(X.several)))
    for place, feature in enumerate(X.several.tolist()):
        columns = X.columns(feature).astype(np.float64)
        trace, p = residuals.explained(columns, directions)
        trace, n_directions = (trace, q) if each else (trace.sum(axis=0), q.sum(axis=0))
        rest = degrees - n_directions
        share = 1.0 - left_by_levels(trace, p, n_directions, rest)
        shares[..., place] = np.where(p > 0, share, -np.inf)
    return shares


def _target_directions(residuals: Residuals, target: Target, each: bool) -> Floats:
    """Return what is left of the target in each run, of shape (n_directions, n_models, n_samples), 0 outside."""
    bases = [target_directions(remainder, each) for remainder in residuals.target_remainders(target)]
    directions = np.zeros((max(basis.shape[1] for basis in bases), *residuals.subsamples.shape))
    for run, (basis, rows) in enumerate(zip(bases, residuals.subsamples, strict=True)):
        directions[: basis.shape[1], run, rows] = basis.T
    return directions


def target_directions(columns: Floats, each: bool = False) -> Floats:
    """Return columns of length 1, or 0 where next to nothing is left; orthogonal ones of their span unless `each`."""
    if columns.shape[1] > 1 and not each:
        U, sizes, _ = np.linalg.svd(columns, full_matrices=False)
        return U[:, sizes**2 > DETERMINED * max((sizes**2).sum(), 1.0)]
    lengths = np.linalg.norm(columns, axis=0)
    return np.where(lengths**2 > DETERMINED, columns / np.maximum(lengths, np.sqrt(DETERMINED)), 0.0)


def associations_beyond(
    residuals: Residuals, target: Target, in_turns: bool
) -> tuple[Callable[[Array], Array], Callable[[CategoryTable], Array]]:
    """Return what tells the correlation of columns with the target beyond covariates in each run, from 0 to 1.

    Of more than two classes without an order it is that of each, of shape (n_classes, n_models, k), or their mean
    weighted by frequency. The second function is for the categories of three or more levels without order of a table,
    and its result has shape (n_classes or 1, n_models, n_several).
    """
    statistic, subsamples = share_beyond(residuals, target, each=True), residuals.subsamples

    def associations(shares: Array) -> Array:
        rho = np.sqrt(np.maximum(shares, 0.0))
        if len(rho) == 1 or in_turns:
            return rho
        counts = np.array([(subsamples & (target.values == code)).sum(axis=1) for code in range(len(rho))])
        weighted = rho * (counts / subsamples.sum(axis=1))[:, :, None]
        return np.asarray(weighted.sum(axis=0, keepdims=True), dtype=rho.dtype)

    def number_associations(block: Array) -> Array:
        rho = associations(run_scores(statistic, subsamples, block))
        return rho if in_turns else rho[0]

    return number_associations, lambda X: associations(categories_beyond(residuals, target, X, each=True))


# -- for selectors that do not know covariates -------------------------------------------------------------------------


def without_covariates(values: Array, basis: Floats) -> Array:
    """Return the samples of one run without what covariates explain, in their precision; a gap becomes 0.

    A gap is filled with what covariates predict from the samples that have the feature, of which nothing is left. The
    orthonormal basis is that of :func:`~ubayfs.data.covariates.basis_of`.
    """
    remainders = np.empty_like(values)
    for part in feature_chunks(values.shape[1], max(1, _CACHE_ENTRIES // max(len(values), 1))):
        x = values[:, part].astype(np.float64)
        absent = np.isnan(x)
        x[absent] = 0.0
        scale = power_of_two(np.abs(x).max(axis=0))
        x *= scale
        around_mean = x - x.sum(axis=0) / np.maximum(len(x) - absent.sum(axis=0), 1)
        around_mean[absent] = 0.0
        least = DETERMINED_FEATURE * np.einsum("ij,ij->j", around_mean, around_mean)
        gaps = absent.any(axis=0)
        if gaps.any():
            x[:, gaps] = _outside_of_present(basis, x[:, gaps], absent[:, gaps])
        if not gaps.all():
            x[:, ~gaps] = outside(basis, x[:, ~gaps])
        x[:, np.einsum("ij,ij->j", x, x) <= least] = 0.0
        remainders[:, part] = x / scale
    return remainders


def _outside_of_present(basis: Floats, x: Floats, absent: Mask) -> Floats:
    """Return what is left of columns, changed in place, in the samples that have them, and 0 elsewhere."""
    products = (basis[:, :, None] * basis[:, None, :]).reshape(len(basis), -1)
    # Without some rows the basis is not orthonormal: each column has normal equations with the rows that it has.
    grams = ((~absent).T.astype(np.float64) @ products).reshape(-1, basis.shape[1], basis.shape[1])
    inverses = np.linalg.pinv(grams, rcond=NOTHING_LEFT, hermitian=True)
    for _ in range(2):  # as in `project`
        coefficients = (inverses @ (basis.T @ x).T[:, :, None])[:, :, 0]
        x -= basis @ coefficients.T
        x[absent] = 0.0
    return x


def target_without_covariates(basis: Floats, target: Target) -> Target:
    """Return the target of one run for a selector that sees features without covariates.

    Numbers are what is left of them. Classes and labels stay: features have nothing of the covariates any more, so that
    what these say of classes is no help.
    """
    if target.values is None:
        return target
    share, remainder = target_left(basis, target)
    if share < DETERMINED:
        raise UBayFSError("covariates determine the target in the subsample; a larger train_size may help.")
    if not target.is_numeric:
        return target
    return Target(target.task, remainder[:, 0], remainder[:, 0])
