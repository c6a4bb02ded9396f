"""Surrogate splits (Breiman et al. 1984): columns that send the rows of a node almost the same way as its split."""

from __future__ import annotations

import numpy as np

from .._arguments import Array, Floats, Ints, Mask
from ..data.matrix import feature_chunks

N_SURROGATES = 5  # of a split, at most
_PASS_ENTRIES = 2**16  # rows times columns of one pass, so that its temporary arrays stay in the cache


def adjusted_agreement(ranks: Array, right: Mask) -> Floats:
    """Return how well the best split of each column sends rows the same way as a given split.

    Parameters
    ----------
    ranks : ndarray of unsigned int of shape (n_rows, n_features)
    right : ndarray of bool of shape (n_rows,)
        Which rows the split sends to the right; some, but not all.

    Returns
    -------
    agreement : ndarray of float of shape (n_features,)
        1: all rows go the same way; 0 or less: no better than sending all rows to the larger side.

    Examples
    --------
    >>> ranks = np.array([[0, 2], [1, 1], [2, 3], [3, 0]], dtype=np.uint16)
    >>> adjusted_agreement(ranks, np.array([False, False, True, True]))
    array([1. , 0.5])
    """
    n_rows, n_features = ranks.shape
    n_right = int(right.sum())
    larger = max(n_right, n_rows - n_right)
    n_left = np.arange(1, n_rows)  # rows below a threshold of the column
    best = np.empty(n_features)
    for part in feature_chunks(n_features, max(_PASS_ENTRIES // n_rows, 1)):
        codes = ranks[:, part].T.astype(np.uint64, order="C") << 1 | right
        codes.sort(axis=1)
        rights = np.cumsum(codes[:, :-1] & 1, axis=1, dtype=np.intp)
        # Lefts among the lowest rows and rights among the others; or the other way round.
        agreeing = (n_left - rights) + (n_right - rights)
        agreeing = np.maximum(agreeing, n_rows - agreeing)
        agreeing[codes[:, 1:] >> 1 == codes[:, :-1] >> 1] = 0  # equal values cannot be split
        best[part] = agreeing.max(axis=1)
    return (best - larger) / (n_rows - larger)


def best_surrogates(ranks: Array, right: Mask, feature: int) -> tuple[Ints, Floats]:
    """Return the best surrogates of a split on a feature that are better than no split, and their agreements."""
    agreement = adjusted_agreement(ranks, right)
    agreement[feature] = 0.0
    best = np.argsort(-agreement, kind="stable")[:N_SURROGATES]
    best = best[agreement[best] > 0.0]
    return best, agreement[best]
