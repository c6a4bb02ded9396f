"""The methods that the paper compares with: random forest, RENT and sparse group lasso.

Each is asked for a number of features. A forest ranks them; the other two have no such number, and their penalty is
searched for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import log, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arguments import RandomState, as_generator, check_int, check_real
from ..data.blocks import Blocks
from ..data.feature_data import FeatureData
from ..ensemble.subsampling import plan_subsamples
from ..exceptions import ConstraintError, InputError
from ..selectors._subsample import standardized
from ._elastic_net import ElasticNets
from ._group_lasso import SparseGroupLasso

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


def random_forest(X: Any, y: Any, n_features: int, *, n_models: int = 100, random_state: RandomState = None) -> Chosen:
    """Choose the features of largest impurity importance in a random forest (Breiman 2001).

    Parameters
    ----------
    X : array-like or DataFrame of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Two classes.
    n_features : int
        How many; fewer are chosen if fewer have any importance. Equal importance: the lowest positions.
    n_models : int
        Number of trees.
    random_state : int, Generator, SeedSequence, RandomState or None
    """
    from sklearn.ensemble import RandomForestClassifier

    data = _read(X, y, n_features)
    check_int("n_models", n_models, low=1)
    seed = int(as_generator(random_state).integers(2**31))
    forest = RandomForestClassifier(n_estimators=n_models, random_state=seed).fit(data.X, data.target.values)
    importances = forest.feature_importances_
    best = np.argsort(-importances, kind="stable")[:n_features]
    indices = np.sort(best[importances[best] > 0])
    return Chosen(indices, {"n_models": n_models, "n_selected": len(indices), "reached": len(indices) == n_features})


def rent(
    X: Any,
    y: Any,
    n_features: int,
    *,
    n_models: int = 100,
    train_size: float = 0.75,
    l1_ratio: float = 0.6,
    criteria: tuple[float, float, float] = (0.9, 0.9, 0.975),
    random_state: RandomState = None,
) -> Chosen:
    """Choose features by the repeated elastic net technique (RENT, Jenul et al. 2021).

    Elastic-net logistic regressions are fitted to random stratified subsamples. A feature is chosen if its weight is
    nonzero in nearly all of them, with nearly always the same sign, and with a mean far from zero.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n_samples, n_features)
        Columns are standardized by these rows.
    y : array-like of shape (n_samples,)
        Two classes.
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
    random_state : int, Generator, SeedSequence, RandomState or None
    """
    data = _read(X, y, n_features)
    check_int("n_models", n_models, low=2)
    check_real("train_size", train_size, low=0, low_open=True, high=1, high_open=True)
    check_real("l1_ratio", l1_ratio, low=0, low_open=True, high=1)
    limits = _check_criteria(criteria)
    plan, rng = plan_subsamples(data, train_size), as_generator(random_state)
    columns, positions = _varying(data)
    nets = ElasticNets(columns, _codes(data), np.array([plan.draw(rng) for _ in range(n_models)]), l1_ratio)

    def choose(penalty: float) -> NDArray[np.intp]:
        weights = np.zeros((n_models, len(positions)))
        for row, model in zip(weights, nets.solve(penalty), strict=True):
            row[model.columns] = model.weights
        return positions[np.all(rent_criteria(weights) >= limits[:, None], axis=0)]

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
    X: Any, y: Any, n_features: int, blocks: Any, *, l1_share: float = 0.5, random_state: RandomState = None
) -> Chosen:
    """Choose features by a logistic regression with the sparse group lasso penalty (Simon et al. 2013).

    Parameters
    ----------
    X : array-like or DataFrame of shape (n_samples, n_features)
        Columns are standardized by these rows.
    y : array-like of shape (n_samples,)
        Two classes.
    n_features : int
        How many; the penalty is searched for that brings the number nearest to it.
    blocks : Blocks, mapping of names to features, or frame with columns feature and block
        They must not overlap. A feature in none of them is a block of its own.
    l1_share : float
        Share of the l1 norm in the penalty, in [0, 1]; the rest is for the lengths of blocks.
    random_state : ignored
        Nothing is drawn; accepted so that all methods are called alike.
    """
    data = _read(X, y, n_features)
    check_real("l1_share", l1_share, low=0, high=1)
    groups = _group_codes(Blocks.of(blocks), data)
    columns, positions = _varying(data)
    _, codes = np.unique(groups[positions], return_inverse=True)
    model = SparseGroupLasso(columns, _codes(data), codes, l1_share)

    def choose(penalty: float) -> NDArray[np.intp]:
        return positions[np.flatnonzero(model.solve(penalty)[1:])]

    indices, info = search_penalty(choose, n_features, model.top)
    n_blocks = len(np.unique(groups[indices]))
    return Chosen(indices, {**info, "n_blocks": n_blocks, "n_unconverged": model.n_unconverged})


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


def _read(X: Any, y: Any, n_features: int) -> FeatureData:
    data = FeatureData.from_table(X, y)
    if data.target.task != "binary":
        raise InputError(
            f"y must have two classes; got a target that is {data.target.task}. Choose two of the classes, or one "
            "against the rest."
        )
    if check_int("n_features", n_features, low=1) > data.n_features:
        raise InputError(f"n_features must be at most {data.n_features}, the columns of X; got {n_features}.")
    return data


def _codes(data: FeatureData) -> NDArray[np.intp]:
    return np.asarray(data.target.values, dtype=np.intp)


def _varying(data: FeatureData) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return the columns that vary, standardized, and their positions."""
    positions = np.flatnonzero(~data.constant)
    if not len(positions):
        raise InputError(f"X must have a column that varies; all {data.n_features} are constant in these rows.")
    return standardized(np.asarray(data.X[:, positions], dtype=np.float64)), positions


def _check_criteria(criteria: Any) -> NDArray[np.float64]:
    values = list(criteria) if isinstance(criteria, tuple | list | np.ndarray) else []
    if len(values) != 3:
        raise InputError(f"criteria must be three numbers in [0, 1], such as (0.9, 0.9, 0.975); got {criteria!r}.")
    return np.array([check_real(f"criteria[{i}]", value, low=0, high=1) for i, value in enumerate(values)])


def _group_codes(blocks: Blocks, data: FeatureData) -> NDArray[np.intp]:
    """Return the number of each feature's block; features in no block have numbers of their own."""
    members = blocks.matrix(data.feature_names).tocoo()
    codes = len(blocks) + np.arange(data.n_features)
    codes[members.col] = members.row
    twice = np.flatnonzero(np.bincount(members.col, minlength=data.n_features) > 1)
    if len(twice):
        first, second = (blocks.names[row] for row in members.row[members.col == twice[0]][:2])
        raise ConstraintError(
            f"blocks must not overlap in a sparse group lasso; feature {data.feature_names[twice[0]]!r} is in "
            f"{first!r} and {second!r}. Leave it in one of them."
        )
    return codes
