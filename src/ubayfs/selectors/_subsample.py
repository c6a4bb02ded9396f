"""What several selectors do with the samples of one subsample before they begin."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.target import CLASSIFICATION, Target
from ..exceptions import UBayFSError
from .base import TIE


def standardized(X: NDArray[Any]) -> NDArray[np.float64]:
    """Return the columns of `X`, none of them constant, with mean 0 and (population) variance 1.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features) or (n_samples,)

    Examples
    --------
    >>> standardized(np.array([[1.0, 1e-300], [3.0, 3e-300]]))
    array([[-1., -1.],
           [ 1.,  1.]])
    """
    centered = X - X.mean(axis=0, dtype=np.float64)
    # Before squares are taken the columns are of order one, so none of them vanishes by underflow; the second
    # centering removes what the rounding of a mean far from 0 has left.
    centered /= np.abs(centered).max(axis=0)
    centered -= centered.mean(axis=0)
    centered /= centered.std(axis=0)
    return centered


def classes_present(target: Target) -> NDArray[np.intp]:
    """Return the codes of the classes that have samples here, at least 2, in ascending order."""
    codes = np.unique(np.asarray(target.values))
    if len(codes) < 2:
        raise UBayFSError("the subsample holds one class only; a larger train_size keeps samples of every class.")
    return codes


def output_columns(target: Target) -> NDArray[np.float64]:
    """Return what linear models are fitted to, one column per model.

    Returns
    -------
    outputs : ndarray of shape (n_samples, n_outputs)
        Regression: the standardized target. Binary: the class of higher code against the other, as +1 and -1.
        Multi-class: each class present against the rest. Multi-label: each label that is not constant here.
    """
    values = np.asarray(target.values)
    if target.task == "regression":
        return standardized_target(values)[:, None]
    if target.task in CLASSIFICATION:
        present = classes_present(target)
        members = values[:, None] == (present[1:] if len(present) == 2 else present)
    else:
        members = values[:, (values != values[0]).any(axis=0)] > 0
        if members.shape[1] == 0:
            raise UBayFSError("every label is constant in the subsample; a larger train_size keeps both kinds.")
    return np.where(members, 1.0, -1.0)


def standardized_target(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return a regression target of shape (n_samples,) with mean 0 and variance 1."""
    if values.min() == values.max():
        raise UBayFSError("the target is constant in the subsample; a larger train_size keeps samples that differ.")
    return standardized(values)


def ranking(scores: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return all positions, highest score first; scores of order one, ties (see ``TIE``) by position.

    Examples
    --------
    >>> ranking(np.array([0.5, 0.9 - 1e-12, 0.9, 0.1]))
    array([1, 2, 0, 3])
    """
    order = np.argsort(-scores, kind="stable")
    level = np.concatenate(([0], np.cumsum(-np.diff(scores[order]) > TIE)))
    return order[np.lexsort((order, level))]
