"""A number in place of each category, for selectors that know only numbers.

Such a selector would see one 0/1 column per level, and many columns have many chances. So in each run a category
becomes one column x, made of v, the combination of its levels that goes best with the target, and of noise e that has
nothing to do with either:

    x = a v + sqrt(1 - a^2) e        (v and e of length 1)

v is fitted to the target; a takes back what the fit gains by chance: the share of x that the target explains is that of
a number with the same p-value as the category (see :mod:`~ubayfs.selectors.categories`). If a category is noise, x is
distributed like a number that is noise, with a direction that is uniform; if it is strong, a is nearly 1.

A category of two levels, or with an order, is one column already, and a is 1. Its ties are broken at random: a tree
compares all places where a column can be cut, of which ties would leave a category fewer than a number has.
"""

from __future__ import annotations

import numpy as np

from .._arguments import Array, Floats
from ..data.categories import CategoryTable
from ..data.covariates import outside, target_left
from ..data.target import Target
from .adjusted import target_directions
from .categories import NOTHING_LEFT, left_by_levels, whitening

# Noise that breaks ties, as a share of the standard deviation of a column; correlations hardly change.
_BREAKS_TIES = 2.0**-12


def numbers_for(X: CategoryTable, coded: Array, basis: Floats, target: Target, rng: np.random.Generator) -> Array:
    """Return the samples of one run with a number for each category, of shape (n_samples_of_run, n_features).

    `X` tells which coded columns belong to which feature; the others are those of the run. The coded columns have no
    gaps; the basis of the constant and the covariates, of shape (n_samples_of_run, rank), is orthonormal, see
    :func:`~ubayfs.data.covariates.basis_of`.
    """
    numbers = np.asfortranarray(coded[:, X.starts[:-1]])
    single = np.setdiff1d(list(X.levels), X.several)
    spread = numbers[:, single].std(axis=0)
    numbers[:, single] += _BREAKS_TIES * spread * rng.standard_normal((len(numbers), len(single)))
    if len(X.several):
        numbers[:, X.several] = numbers_of_several(X, coded, basis, target, rng)
    return numbers


def numbers_of_several(
    X: CategoryTable, coded: Array, basis: Floats, target: Target, rng: np.random.Generator
) -> Floats:
    """Return the numbers of categories of three or more levels without order, of shape (n_samples, n_several)."""
    directions = target_directions(target_left(basis, target)[1])
    if directions.shape[1] == 0:
        return np.zeros((len(coded), len(X.several)))
    return _diluted(_indicators(X, coded), directions, basis, rng)


def _indicators(X: CategoryTable, coded: Array) -> Floats:
    """Return the columns of categories, filled up with 0, of shape (n_categories, n_samples, n_levels)."""
    widths = np.diff(X.starts)[X.several]
    columns = np.zeros((len(widths), len(coded), widths.max()))
    for padded, start, width in zip(columns, X.starts[X.several], widths, strict=True):
        padded[:, :width] = coded[:, start : start + width]
    return columns


def _diluted(columns: Floats, directions: Floats, basis: Floats, rng: np.random.Generator) -> Floats:
    """Return x of each category, of variance 1, of shape (n_samples, n_categories); see the module.

    `directions`, of shape (n_samples, q), are orthonormal: what is left of the target outside of the basis.
    """
    n_samples, q = directions.shape
    squares, columns = (columns**2).sum(axis=(1, 2)), outside(basis, columns)
    whitened, p = whitening(columns.transpose(0, 2, 1) @ columns, squares)
    # Canonical correlations of levels and target, the largest one first, and what belongs to that.
    U, correlations, _ = np.linalg.svd(whitened.transpose(0, 2, 1) @ (columns.transpose(0, 2, 1) @ directions))
    fitted = (columns @ (whitened @ U[:, :, :1]))[:, :, 0].T
    trace, largest = (correlations**2).sum(axis=1), correlations[:, 0]
    share = 1.0 - left_by_levels(trace, p, np.full(len(p), q), np.full(len(p), n_samples - basis.shape[1] - q))
    a = np.minimum(np.sqrt(share) / np.maximum(largest, np.finfo(np.float64).tiny), 1.0)
    noise = outside(np.hstack([basis, directions]), rng.standard_normal(fitted.shape))
    beside = outside(directions, fitted)  # noise must be orthogonal to this, too
    for _ in range(2):
        noise -= beside * (beside * noise).sum(axis=0) / np.maximum((beside**2).sum(axis=0), np.finfo(np.float64).tiny)
    lengths = np.linalg.norm(noise, axis=0)
    noise /= np.where(lengths > NOTHING_LEFT, lengths, np.inf)
    return np.where(p > 0, a * fitted + np.sqrt(1.0 - a**2) * noise, 0.0) * np.sqrt(n_samples)
