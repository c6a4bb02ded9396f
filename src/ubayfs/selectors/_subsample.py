"""What several selectors do with the samples of one subsample, with small equations and with scores."""

from __future__ import annotations

import numpy as np

from .._arguments import Array, Floats, Ints
from ..data.target import CLASSIFICATION, Target
from ..exceptions import UBayFSError
from .base import TIE

# A feature is left out of a path for good when those on it explain all of it (its variance, its kernel) but this share.
COLLINEAR = 1e-10

# Above this, columns are scaled before anything is added up.
_LARGE = 1e280


def power_of_two(largest: Array) -> Array:
    """Return, for each largest absolute value, the power of two that brings it below 1, and to 1/2 if it can.

    Products with it are exact, so that scaling rounds nothing that is not tiny beside the largest value.

    >>> power_of_two(np.array([0.75, 5.0, 0.0])) * [0.75, 5.0, 0.0]
    array([0.75 , 0.625, 0.   ])
    """
    most = 100 if largest.dtype == np.float32 else 1000
    return np.ldexp(largest.dtype.type(1), np.minimum(-np.frexp(largest)[1], most))


def standardized(X: Array) -> Floats:
    """Return the columns of `X`, none of them constant, with mean 0 and (population) variance 1.

    >>> standardized(np.array([[1.0, 1e-300, -1e308], [3.0, 3e-300, 1.5e308]]))
    array([[-1., -1., -1.],
           [ 1.,  1.,  1.]])
    """
    if X.dtype == np.float64 and max(X.max(), -X.min()) > _LARGE:  # sums might leave the range of numbers
        X = X * power_of_two(np.abs(X).max(axis=0))
    centered = np.subtract(X, X.mean(axis=0, dtype=np.float64), dtype=np.float64)  # NumPy 1 lets scalars give way
    # Before squares are taken the columns are of order one, so none of them vanishes by underflow; the second
    # centering removes what the rounding of a mean far from 0 has left.
    centered /= np.abs(centered).max(axis=0)
    centered -= centered.mean(axis=0)
    centered /= centered.std(axis=0)
    return centered


def classes_present(target: Target) -> Ints:
    """Return the codes of the classes that have samples here, at least 2, in ascending order."""
    codes = np.unique(np.asarray(target.values))
    if len(codes) < 2:
        raise UBayFSError("the subsample holds one class only; a larger train_size keeps samples of every class.")
    return codes


def output_columns(target: Target) -> Floats:
    """Return what linear models are fitted to, of shape (n_samples, n_outputs), one column per model.

    Numbers: the standardized target. Binary: the class of higher code against the other, as +1 and -1.
    Multi-class: each class present against the rest. Multi-label: each label that is not constant here.
    """
    values = np.asarray(target.values)
    if target.is_numeric:
        return standardized_target(values)[:, None]
    if target.task in CLASSIFICATION:
        present = classes_present(target)
        members = values[:, None] == (present[1:] if len(present) == 2 else present)
    else:
        members = values[:, (values != values[0]).any(axis=0)] > 0
        if members.shape[1] == 0:
            raise UBayFSError("every label is constant in the subsample; a larger train_size keeps both kinds.")
    return np.where(members, 1.0, -1.0)


def standardized_target(values: Array) -> Floats:
    """Return a target of numbers, of shape (n_samples,), with mean 0 and variance 1."""
    if values.min() == values.max():
        raise UBayFSError("the target is constant in the subsample; a larger train_size keeps samples that differ.")
    return standardized(values)


def ranking(scores: Floats) -> Ints:
    """Return all positions, highest score first; scores of order one, ties (see ``TIE``) by position.

    >>> ranking(np.array([0.5, 0.9 - 1e-12, 0.9, 0.1]))
    array([1, 2, 0, 3])
    """
    order = np.argsort(-scores, kind="stable")
    level = np.concatenate(([0], np.cumsum(-np.diff(scores[order]) > TIE)))
    return order[np.lexsort((order, level))]


def solve_positive(matrix: Floats, right: Floats) -> Floats:
    """Solve matrix @ x = right by Cholesky's decomposition, at a third of the overhead of ``numpy.linalg.solve``.

    Where rounding errors have made the matrix not quite positive definite, elimination with pivots takes over; where
    they have made it singular, the shortest of the nearest solutions is returned.

    >>> solve_positive(np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([3.0, 3.0]))
    array([1., 1.])
    >>> solve_positive(np.zeros((1, 1)), np.ones(1))
    array([0.])
    """
    from scipy.linalg.lapack import dposv

    _, solution, failed = dposv(matrix, right)
    if failed:
        try:
            solution = np.linalg.solve(matrix, right)
        except np.linalg.LinAlgError:
            solution = np.linalg.lstsq(matrix, right, rcond=None)[0]
    return np.asarray(solution, dtype=np.float64)
