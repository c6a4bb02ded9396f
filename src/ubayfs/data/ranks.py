"""Ranks of columns, and scores of a target that they are compared with."""

from __future__ import annotations

import numpy as np

from .._arguments import Array, Floats, Mask
from .hazards import RiskSets
from .target import Target


def centered_ranks(block: Array) -> Floats:
    """Return the average ranks of the present values of each column minus their mean, 0 where a value is missing.

    >>> centered_ranks(np.array([[3.0, 1.0], [np.nan, 1.0], [5.0, 0.0]])).tolist()
    [[-0.5, 0.5], [0.0, 0.5], [0.5, -1.0]]
    """
    rows = np.ascontiguousarray(block.T)
    k, n = rows.shape
    order = np.argsort(rows, axis=1)  # missing values last
    order += np.arange(0, k * n, n)[:, None]  # places in all of it
    ordered = rows.take(order)
    absent = np.isnan(ordered[:, -1])
    n_present = np.full(k, n)
    n_present[absent] -= np.isnan(ordered[absent]).sum(axis=1)
    ranks = np.arange(n) - (n_present[:, None] - 1) / 2
    ties = ordered[:, 1:] == ordered[:, :-1]
    tied = np.flatnonzero(ties.any(axis=1))
    if len(tied):
        ranks[tied] = _averaged(ranks[tied], ties[tied])
    ranks[absent] *= np.arange(n) < n_present[absent, None]
    in_place = np.empty(k * n)
    in_place[order.ravel()] = ranks.ravel()
    return in_place.reshape(k, n).T


def _averaged(ranks: Floats, ties: Mask) -> Floats:
    """Return the mean of the first and the last rank of each run of ties, of rows in ascending order."""
    first, last = ranks.copy(), ranks.copy()
    # Only the first and the last of a run of ties keep their ranks, which spread over it from either end.
    first[:, 1:][ties] = -np.inf
    last[:, :-1][ties] = np.inf
    first = np.maximum.accumulate(first, axis=1)
    last = np.minimum.accumulate(last[:, ::-1], axis=1)[:, ::-1]
    return np.asarray((first + last) / 2)


def target_columns(target: Target) -> Floats:
    """Return what features are compared with, of shape (n_samples, n_columns).

    Numbers and ordered classes are ranks, two classes an indicator (up to scale), more classes and labels an indicator
    each, and survival the event minus the cumulative hazard (Nelson-Aalen) until its time.
    """
    values = np.asarray(target.values)
    if target.task == "survival":
        return RiskSets.from_times(target.time, target.event).null_residuals(np.ones((1, len(values)))).T
    if target.task == "multilabel":
        return values.astype(np.float64)
    if target.n_classes > 2 and not target.ordered:
        return (values[:, None] == np.arange(target.n_classes)).astype(np.float64)
    return centered_ranks(values[:, None].astype(np.float64))


def target_scores(target: Target) -> Floats:
    """Return orthonormal columns with mean 0 that span :func:`target_columns`, of shape (n_samples, n_scores)."""
    columns = target_columns(target)
    scores = columns - columns.mean(axis=0)
    basis, strength, _ = np.linalg.svd(scores, full_matrices=False)
    return np.asarray(basis[:, strength > 1e-9 * strength.max(initial=0.0)])
