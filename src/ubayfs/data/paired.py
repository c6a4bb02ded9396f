"""Correlations over the samples that have both values: many at once from sums, and a few with all digits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._arguments import Array, Floats, Mask
from .missing import varying_columns

# Smaller sums of squares have lost digits.
_TINY = float(np.finfo(np.float64).tiny / np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class PairSums:
    """Pearson's correlation of one vector per run with k columns, each of shape (n_runs, k).

    The sums are of products of the values, so that vectors and columns shall be of order one.

    Attributes
    ----------
    n : ndarray
        Samples that have both values.
    rho : ndarray
        NaN, or without digits, where the condition is bad.
    condition : ndarray
        Share of the sum of squares that is left when the mean is subtracted, the smaller one of both.
    """

    n: Floats
    rho: Floats
    condition: Floats

    @classmethod
    def of(cls, w: Array, v: Array, x: Array, present: Mask) -> PairSums:
        """Compute them in six products.

        Parameters
        ----------
        w : ndarray of shape (n_runs, n_samples)
            1 for samples of the run that have the vector, 0 for others.
        v : ndarray of shape (n_runs, n_samples)
            The vectors, about centered; 0 where `w` is.
        x : ndarray of shape (n_samples, k)
            The columns, about centered; 0 where not `present`.
        present : ndarray of bool of shape (n_samples, k)
        """
        both = np.concatenate([w, v]).astype(x.dtype, copy=False)
        (n, sum_v), (sum_x, products) = (np.split(both @ of, 2) for of in (present.astype(x.dtype), x))
        with np.errstate(all="ignore"):
            weights, vectors = np.split(both, 2)
            squares_x, squares_v = weights @ x**2, vectors**2 @ present.astype(x.dtype)
            scatter_x, scatter_v = squares_x - sum_x**2 / n, squares_v - sum_v**2 / n
            rho = (products - sum_v * sum_x / n) / np.sqrt(scatter_x * scatter_v)
            condition = np.minimum(scatter_x / np.maximum(squares_x, _TINY), scatter_v / np.maximum(squares_v, _TINY))
        return cls(n, rho, condition)


def own_correlations(v: Floats, block: Floats) -> Floats:
    """Return the correlation of a vector with k columns over the samples that have both, in shape (k,).

    NaN marks gaps. It is 0 where either is constant over these samples. Slower than sums and safe against cancellation.

    Examples
    --------
    >>> block = np.array([[2.0, 1.0], [4.0, np.nan], [8.0, 1.0], [0.0, 2.0]])
    >>> own_correlations(np.array([1.0, 2.0, 4.0, np.nan]), block)
    array([1., 0.])
    """
    absent = np.isnan(block) | np.isnan(v)[:, None]
    sides = []
    for values in (np.repeat(v[:, None], block.shape[1], axis=1), block):
        values = np.where(absent, np.nan, values)
        varies = varying_columns(values)
        values = np.where(absent | ~varies, 0.0, values)
        values = np.ldexp(values, -np.frexp(np.abs(values).max(axis=0, initial=0.0))[1])  # exact; of order one
        n = np.maximum((~absent).sum(axis=0), 1)
        for _ in range(2):  # the second time removes what the rounding of a mean far from 0 has left
            values = np.where(absent, 0.0, values - values.sum(axis=0) / n)
            largest = np.abs(values).max(axis=0, initial=0.0)
            values /= np.where(largest > 0, largest, 1.0)
        length = np.sqrt((values**2).sum(axis=0))
        sides.append(np.where(varies, values / np.where(length > 0, length, 1.0), 0.0))
    return np.asarray((sides[0] * sides[1]).sum(axis=0))
