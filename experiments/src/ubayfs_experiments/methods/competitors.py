"""The methods that the paper compares with: random forest, RENT and sparse group lasso.

Each is asked for a number of features. A forest ranks them; the other two have no such number, and their penalty is
searched for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import log, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .elastic_net import ElasticNets
from .group_lasso import SparseGroupLasso

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

# Penalties are tried down to this share of the one from which on there are no features. So small a penalty is needed:
# with few rows, twenty genes are in nine of ten elastic nets only when it is almost gone.
_SMALLEST = 1e-8
# First the penalty falls by this factor at a time: starting from the top, what is found is the *first* penalty of the
# wanted size, where the number of features may go up and down further below.
_FACTOR = 4.0
# Penalties whose logarithms differ by less are not worth another step.
_RESOLUTION = 1e-5
# Nothing has anything to do with the target when the largest correlation with it, of order one, is a rounding error.
_UNRELATED = 1e-12


@dataclass(frozen=True, eq=False)
class Chosen:
    """What a method chose.

    Attributes
    ----------
    indices : ndarray of int of shape (n_chosen,)
        Positions of the features, in ascending order.
    info : mapping of str to plain values
        How it was found.
    """

    indices: NDArray[np.intp]
    info: Mapping[str, Any]


def random_forest(X: Floats, y: Codes, n_features: int, *, n_models: int = 100, random_state: int) -> Chosen:
    """Choose the features of largest impurity importance in a random forest (Breiman 2001).

    Parameters
    ----------
    X : ndarray of float of shape (n_samples, n_features)
    y : ndarray of int of shape (n_samples,)
        0 and 1, both.
    n_features : int
        How many; fewer are chosen if fewer have any importance. Equal importance: the lowest positions.
    n_models : int
        Number of trees.
    random_state : int
    """
    from sklearn.ensemble import RandomForestClassifier

    seed = int(np.random.default_rng(random_state).integers(2**31))
    forest = RandomForestClassifier(n_estimators=n_models, random_state=seed).fit(X, y)
    importances = forest.feature_importances_
    best = np.argsort(-importances, kind="stable")[:n_features]
    indices = np.sort(best[importances[best] > 0])
    return Chosen(indices, {"n_models": n_models, "n_selected": len(indices), "reached": len(indices) == n_features})


def rent(
    X: Floats,
    y: Codes,
    n_features: int,
    *,
    n_models: int = 100,
    train_size: float = 0.75,
    l1_ratio: float = 0.6,
    criteria: tuple[float, float, float] = (0.9, 0.9, 0.975),
    random_state: int,
) -> Chosen:
    """Choose features by the repeated elastic net technique (RENT, Jenul et al. 2021).

    Elastic-net logistic regressions are fitted to random stratified subsamples. A feature is chosen if its weight is
    nonzero in nearly all of them, with nearly always the same sign, and with a mean far from zero.

    Parameters
    ----------
    X : ndarray of float of shape (n_samples, n_features)
        Columns are standardized by these rows.
    y : ndarray of int of shape (n_samples,)
        0 and 1, both.
    n_features : int
        How many; the penalty is searched for that brings the number nearest to it.
    n_models : int
        Number of subsamples and regressions.
    train_size : float
        Share of the rows in each subsample.
    l1_ratio : float
        Share of the l1 norm in the penalty, in (0, 1].
    criteria : tuple of three floats in [0, 1]
        Smallest share of nonzero weights, smallest absolute mean of their signs, smallest level of the t test.
    random_state : int
    """
    columns, positions = _varying(X)
    nets = ElasticNets(columns, y, stratified_subsamples(y, train_size, n_models, random_state), l1_ratio)

    def choose(penalty: float) -> NDArray[np.intp]:
        weights = np.zeros((n_models, len(positions)))
        for row, model in zip(weights, nets.solve(penalty), strict=True):
            row[model.columns] = model.weights
        return positions[np.all(rent_criteria(weights) >= np.array(criteria)[:, None], axis=0)]

    indices, info = search_penalty(choose, n_features, nets.top)
    return Chosen(indices, {**info, "n_models": n_models, "n_unconverged": nets.n_unconverged})


def rent_criteria(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the three criteria of RENT for each feature.

    Parameters
    ----------
    weights : ndarray of shape (n_models, n_features)

    Returns
    -------
    criteria : ndarray of shape (3, n_features)
        Share of nonzero weights; absolute mean of the signs; probability that a variable of Student's t distribution
        is smaller than the statistic of the test that the mean is zero. Equal weights other than zero pass any test.

    Examples
    --------
    >>> rent_criteria(np.array([[1.0, 0.0, 1.0], [1.0, 0.0, -1.0]]))
    array([[1. , 0. , 1. ],
           [1. , 0. , 0. ],
           [1. , 0.5, 0.5]])
    """
    from scipy.special import stdtr

    n_models = len(weights)
    mean, error = np.abs(weights.mean(axis=0)), weights.std(axis=0, ddof=1) / sqrt(n_models)
    statistic = np.where(mean > 0, np.inf, 0.0)
    # Equal numbers may have a standard deviation that is a rounding error.
    np.divide(mean, error, out=statistic, where=error > 1e-14 * mean)
    return np.array(
        [
            np.mean(weights != 0, axis=0),
            np.abs(np.sign(weights).mean(axis=0)),
            stdtr(n_models - 1, statistic),
        ]
    )


def sparse_group_lasso(
    X: Floats, y: Codes, n_features: int, blocks: Mapping[Any, Iterable[int]], *, l1_share: float = 0.5
) -> Chosen:
    """Choose features by a logistic regression with the sparse group lasso penalty (Simon et al. 2013).

    Parameters
    ----------
    X : ndarray of float of shape (n_samples, n_features)
        Columns are standardized by these rows.
    y : ndarray of int of shape (n_samples,)
        0 and 1, both.
    n_features : int
        How many; the penalty is searched for that brings the number nearest to it.
    blocks : mapping of names to positions
        They do not overlap. A feature in none of them is a block of its own.
    l1_share : float
        Share of the l1 norm in the penalty, in [0, 1]; the rest is for the lengths of blocks.
    """
    model, positions, groups = _group_model(X, y, blocks, l1_share)

    def choose(penalty: float) -> NDArray[np.intp]:
        return positions[np.flatnonzero(model.solve(penalty)[1:])]

    indices, info = search_penalty(choose, n_features, model.top)
    n_blocks = len(np.unique(groups[indices]))
    return Chosen(indices, {**info, "n_blocks": n_blocks, "n_unconverged": model.n_unconverged})


def group_lasso_at(
    X: Floats, y: Codes, blocks: Mapping[Any, Iterable[int]], penalty: float, *, l1_share: float
) -> NDArray[np.intp]:
    """Return the positions of the features that the sparse group lasso chooses at one penalty; see above."""
    model, positions, _ = _group_model(X, y, blocks, l1_share)
    return positions[np.flatnonzero(model.solve(penalty)[1:])] if penalty < model.top else positions[:0]


def _group_model(
    X: Floats, y: Codes, blocks: Mapping[Any, Iterable[int]], l1_share: float
) -> tuple[SparseGroupLasso, NDArray[np.intp], NDArray[np.intp]]:
    """Return the model, the positions of its columns, and the group of every feature."""
    groups = len(blocks) + np.arange(X.shape[1])
    for number, members in enumerate(blocks.values()):
        groups[list(members)] = number
    columns, positions = _varying(X)
    _, codes = np.unique(groups[positions], return_inverse=True)
    return SparseGroupLasso(columns, y, codes, l1_share), positions, groups


def search_penalty(
    choose: Callable[[float], NDArray[np.intp]], n_features: int, top: float
) -> tuple[NDArray[np.intp], dict[str, Any]]:
    """Search for a penalty at which a wanted number of features is chosen.

    From `top` on it falls in equal ratios until there are too many; between the last two, logarithms are bisected.

    Parameters
    ----------
    choose : callable
        Penalty -> positions of the chosen features.
    n_features : int
        The wanted number.
    top : float
        A penalty from which on nothing is chosen.

    Returns
    -------
    indices : ndarray of int
        The set nearest to the wanted size; of two such the smaller, then that of the larger penalty. It is empty only
        if all are.
    info : dict
        ``penalty``, ``relative_penalty`` (divided by `top`), ``n_selected``, ``reached`` (the wanted size), ``n_steps``
        and ``sizes``, the pairs of penalty and size in the order tried.
    """
    tried = {top: np.empty(0, dtype=np.intp)}
    above, below = top, None
    smallest = _SMALLEST * top if top > _UNRELATED else top
    while above > smallest and (below is None or log(above / below) > _RESOLUTION):
        penalty = max(above / _FACTOR, smallest) if below is None else sqrt(above * below)
        tried[penalty] = choose(penalty)
        if len(tried[penalty]) == n_features:
            break
        if len(tried[penalty]) < n_features:
            above = penalty
        else:
            below = penalty
    best = min(tried, key=lambda p: (not len(tried[p]), abs(len(tried[p]) - n_features), len(tried[p]), -p))
    return tried[best], {
        "penalty": best,
        "relative_penalty": best / top if top else 1.0,
        "n_selected": len(tried[best]),
        "reached": len(tried[best]) == n_features,
        "n_steps": len(tried) - 1,
        "sizes": [[penalty, len(chosen)] for penalty, chosen in tried.items()],
    }


def stratified_subsamples(y: Codes, train_size: float, n_models: int, random_state: int) -> NDArray[np.bool_]:
    """Draw subsamples with the same share of rows of each class, to the nearest row.

    Returns
    -------
    inside : ndarray of bool of shape (n_models, n_samples)

    Examples
    --------
    >>> stratified_subsamples(np.array([0, 0, 0, 0, 1, 1, 1, 1]), 0.75, n_models=2, random_state=0).sum(axis=1)
    array([6, 6])
    """
    # The smaller remainder gives way, so that all subsamples have the same number of rows.
    n_ones = int(np.sum(y))
    total = round(train_size * len(y))
    n_inside = np.array([len(y) - n_ones, n_ones]) * total
    takes, remainders = np.divmod(n_inside, len(y))
    takes[np.argmax(remainders)] += total - takes.sum()
    rng = np.random.default_rng(random_state)
    inside = np.zeros((n_models, len(y)), dtype=bool)
    for row in inside:
        lots = rng.random(len(y))
        for code, take in enumerate(takes.tolist()):
            members = np.flatnonzero(y == code)
            row[members[np.argpartition(lots[members], take - 1)[:take]]] = True
    return inside


def _varying(X: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """Return the columns that vary, with mean 0 and variance 1, and their positions."""
    positions = np.flatnonzero((X[0] != X).any(axis=0))
    centered = X[:, positions] - X[:, positions].mean(axis=0)
    # Of order one before squares are taken, so that none underflows; centered again, since a mean is rounded.
    centered /= np.abs(centered).max(axis=0)
    centered -= centered.mean(axis=0)
    return centered / centered.std(axis=0), positions
