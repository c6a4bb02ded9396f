"""Methods as the authors' published scripts define them, where these differ from ours; written from a description."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .competitors import group_lasso_at

Floats = NDArray[np.float64]
_MOST_STEPS = 20
_CLIPPED = 1 - 1e-7  # of a correlation


def common_penalty(
    tables: Sequence[tuple[Floats, NDArray[np.int64]]],
    n_features: int,
    blocks: Mapping[Any, Iterable[int]],
    l1_share: float,
    between: tuple[float, float],
) -> float:
    """Return the penalty of the sparse group lasso whose mean number of features over several tables is nearest.

    Parameters
    ----------
    tables : sequence of (X, y)
        Training rows of several splits.
    n_features : int
        The wanted mean.
    blocks : mapping of names to positions
    l1_share : float
    between : tuple of (float, float)
        The smallest and the largest penalty, between which logarithms are bisected.
    """
    low, high = between
    tried: dict[float, float] = {}
    for _ in range(_MOST_STEPS):
        penalty = sqrt(low * high)
        sizes = [len(group_lasso_at(X, y, blocks, penalty, l1_share=l1_share)) for X, y in tables]
        tried[penalty] = abs(float(np.mean(sizes)) - n_features)
        if not tried[penalty]:
            break
        low, high = (penalty, high) if np.mean(sizes) > n_features else (low, penalty)
    return min(tried, key=lambda one: (tried[one], -one))


def pearson_mrmr(X: Any, y: Any, n_features: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Choose by mRMR with Pearson's correlation to the class coded 0 and 1, in place of Somers' D."""
    columns = np.asarray(X, dtype=np.float64)
    columns = columns - columns.mean(axis=0)
    columns /= np.maximum(np.sqrt((columns**2).sum(axis=0)), np.finfo(float).tiny)
    target = np.asarray(y, dtype=np.float64) - np.mean(y)
    relevance = _information(target @ columns / np.sqrt(target @ target))
    redundancy, chosen = np.zeros(len(relevance)), list[int]()
    for step in range(min(n_features, len(relevance))):
        score = relevance - redundancy / max(step, 1)
        score[chosen] = -np.inf
        chosen.append(int(score.argmax()))
        redundancy += _information(columns[:, chosen[-1]] @ columns)
    return np.array(chosen, dtype=np.intp)


def _information(rho: Floats) -> Floats:
    return np.asarray(-0.5 * np.log1p(-(np.clip(rho, -_CLIPPED, _CLIPPED) ** 2)))


def rfe_by_forests(X: Any, y: Any, n_features: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Choose by recursive elimination with random forests; two-fold cross-validation decides between some and all.

    In each fold a forest on all features ranks them; one on the best `n_features` and the one on all predict the other
    fold. The size of the higher accuracy wins, and a forest on all rows ranks. So all features may be chosen.
    """
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import StratifiedKFold

    X, y = np.asarray(X, dtype=np.float64), np.asarray(y)

    def forest(columns: Any, rows: Any) -> Any:
        model = RandomForestClassifier(random_state=int(rng.integers(2**31)))
        return model.fit(X[np.ix_(rows, columns)], y[rows])

    every, right = np.arange(X.shape[1]), np.zeros(2)
    folds = StratifiedKFold(2, shuffle=True, random_state=int(rng.integers(2**31)))
    for inside, outside in folds.split(X, y):
        whole = forest(every, inside)
        best = np.argsort(-whole.feature_importances_, kind="stable")[:n_features]
        for i, (columns, model) in enumerate(((best, forest(best, inside)), (every, whole))):
            right[i] += np.sum(model.predict(X[np.ix_(outside, columns)]) == y[outside])
    if right[1] > right[0]:
        return every
    ranked = np.argsort(-forest(every, np.arange(len(y))).feature_importances_, kind="stable")
    return np.asarray(ranked[:n_features])
