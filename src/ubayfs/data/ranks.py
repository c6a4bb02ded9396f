"""Ranks of columns, and scores of a target that they are compared with."""

from __future__ import annotations

import numpy as np

from .._arguments import Array, Floats
from .hazards import RiskSets
from .target import Target


def centered_ranks(block: Array) -> Floats:
    """Return the average ranks of the present values of each column minus their mean, 0 where a value is missing.

    Examples
    --------
    >>> centered_ranks(np.array([[3.0, 1.0], [np.nan, 1.0], [5.0, 0.0]])).tolist()
    [[-0.5, 0.5], [0.0, 0.5], [0.5, -1.0]]
    """
    rows = np.ascontiguousarray(block.T)
    n = rows.shape[1]
    order = np.argsort(rows, axis=1)  # missing values last
    ordered = np.take_along_axis(rows, order, axis=1)
    n_present = n - np.isnan(rows).sum(axis=1)
    ranks = np.arange(n) - (n_present[:, None] - 1) / 2
    tied = ordered[:, 1:] == ordered[:, :-1]
    for j in np.flatnonzero(tied.any(axis=1)).tolist():
        starts = np.flatnonzero(np.concatenate([[True], ~tied[j]]))
        ends = np.append(starts[1:], n)
        ranks[j] = np.repeat((starts + ends - n_present[j]) / 2, ends - starts)
    ranks[np.arange(n) >= n_present[:, None]] = 0.0
    found = np.empty_like(ranks)
    np.put_along_axis(found, order, ranks, axis=1)
    return found.T


def target_scores(target: Target) -> Floats:
    """Return orthonormal columns with mean 0 that span what a target says, of shape (n_samples, n_scores).

    Numbers and ordered classes are ranks, two classes an indicator, more classes and labels an indicator each, and
    survival the event minus the cumulative hazard (Nelson-Aalen) until its time.
    """
    values = np.asarray(target.values)
    if target.task == "survival":
        risk = RiskSets.of(target.time, target.event)
        scores = (target.event - risk.cumulative_hazard(np.ones(len(values))))[:, None]
    elif target.task == "multilabel":
        scores = values.astype(np.float64)
    elif target.n_classes > 2 and not target.ordered:
        scores = (values[:, None] == np.arange(target.n_classes)).astype(np.float64)
    else:
        scores = centered_ranks(values[:, None].astype(np.float64))
    scores = scores - scores.mean(axis=0)
    left, strength, _ = np.linalg.svd(scores, full_matrices=False)
    return np.asarray(left[:, strength > 1e-9 * strength.max(initial=0.0)])
