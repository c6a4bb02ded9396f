"""Folds: each sample is in the test part of one of them; classes in proportion, groups never divided."""

from __future__ import annotations

import numpy as np

from .._arguments import Ints
from ..data.feature_data import FeatureData
from ..data.target import Target
from ..exceptions import InputError
from .procedure import smallest_class

# Test samples of a fold without classes; of a regression: with fewer, the mean of R2 over folds is infinite (it has the
# variance of the test samples in the denominator, and E[1/chi2] exists from 3 degrees of freedom on).
_FEWEST, _FEWEST_NUMBERS = 2, 4


def check_folds(data: FeatureData, cv: int) -> None:
    """Raise unless every fold can have test and training samples of every class, and whole groups."""
    kind, argument = ("samples", "y") if data.groups is None else ("groups", "groups")
    n_units = data.n_samples if data.groups is None else len(np.unique(data.groups))
    needed = cv if data.target.strata is not None or data.groups is not None else _FEWEST * cv
    if data.target.task == "regression" and data.n_samples < _FEWEST_NUMBERS * cv:
        kind, n_units, needed = "samples", data.n_samples, _FEWEST_NUMBERS * cv
    if n_units < needed:
        way_out = "Use fewer folds." if n_units >= 2 * needed // cv else "Collect more."
        raise InputError.of("cv", f"is {cv}, which needs at least {needed} {kind}; there are {n_units}. {way_out}", cv)
    if data.target.strata is None:
        return
    # With two folds, half of a class must be enough for subsamples to differ in it.
    fewest = 4 if cv == 2 and data.groups is None else cv
    name, size, shown = smallest_class(data)
    if size >= fewest:
        return
    smaller = f"Use cv={size}{' or less' * (cv > size)}"
    way_out = smaller if size > 2 else "Merge it with another class, or drop its samples"
    rule = f"has {shown} of class {name!r}, but cv={cv} needs at least {fewest} of each class. {way_out}."
    raise InputError.of(argument, rule, cv)


def fold_strata(target: Target) -> Ints:
    """Return codes of what test parts shall represent in proportion, of shape (n_samples,).

    The classes; of labels, the rarest one that a sample has; nothing of numbers.

    Examples
    --------
    >>> fold_strata(Target("multilabel", np.array([[1, 1], [1, 0], [1, 0], [0, 0]])))
    array([2, 1, 1, 0])
    """
    values = np.asarray(target.values)
    if target.strata is not None:
        return target.strata
    if values.ndim == 1:
        return np.zeros(len(values), dtype=np.intp)
    how_often = np.where(values == 1, values.sum(axis=0), len(values) + 1)
    return np.asarray(np.where(values.any(axis=1), 1 + how_often.argmin(axis=1), 0), dtype=np.intp)


def assign_folds(data: FeatureData, cv: int, rng: np.random.Generator) -> Ints:
    """Return the fold, 0 to cv - 1, whose test part each sample is in, of shape (n_samples,).

    Folds of a stratum differ by at most one sample, and so do all folds; with groups as far as these allow it.
    """
    strata = fold_strata(data.target)
    if data.groups is None:
        strata = rng.permutation(int(strata.max()) + 1)[strata]
        order = np.lexsort((rng.random(len(strata)), strata))
        folds = np.empty(len(strata), dtype=np.intp)
        folds[order] = np.arange(len(strata)) % cv
        return folds
    return _grouped(strata, data.groups, cv, rng)


def _grouped(strata: Ints, groups: Ints, cv: int, rng: np.random.Generator) -> Ints:
    """Give groups, those of the most samples first, to the fold that has the fewest of their strata."""
    n_groups = int(groups.max()) + 1
    content = np.zeros((n_groups, int(strata.max()) + 1))
    np.add.at(content, (groups, strata), 1.0)
    content /= content.sum(axis=0).clip(min=1)  # as shares of the strata, so that rare ones count as much
    filled, n_in, fold_of = np.zeros((cv, content.shape[1])), np.zeros(cv, dtype=np.intp), np.empty(n_groups, np.intp)
    for n_before, group in enumerate(np.lexsort((rng.random(n_groups), -content.max(axis=1)))):
        # Where least of the same is, and of these anywhere; no fold stays empty.
        cost = filled @ content[group] + 1e-9 * rng.random(cv)
        if n_groups - n_before <= np.count_nonzero(n_in == 0):
            cost[n_in > 0] = np.inf
        fold = int(cost.argmin())
        fold_of[group] = fold
        filled[fold] += content[group]
        n_in[fold] += 1
    return fold_of[groups]
