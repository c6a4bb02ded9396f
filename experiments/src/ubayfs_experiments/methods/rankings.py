"""The peers of the trial: methods that rank features; each gives a score per feature, 0 for those that it leaves out.

Methods that fit numbers take one model per output of ``Part.outputs``, and the largest score of a feature counts. Each
sees standardized columns.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.stats import norm, rankdata

from ..data.planted import Floats
from ..data.trial import Part, standardized
from .elastic_net import ElasticNets
from .peers import integrated_score, path_shares

FOLDS, N_TREES = 5, 200
BOOSTING = {"n_estimators": 300, "learning_rate": 0.05, "subsample": 0.5, "max_features": 0.2}
PENALTIES = {"lasso": np.geomspace(1.0, 0.01, 50), "logistic": np.geomspace(1.0, 0.03, 20)}
N_HALVES, EXPECTED_FALSE, THRESHOLD = 50, 1.0, 0.9  # of stability selection


def half_ranks(X: Floats) -> Floats:
    """Return the mean of each standardized column and the normal scores of its ranks, standardized."""
    scores = norm.ppf((rankdata(X, axis=0) - 0.5) / len(X))
    return standardized(standardized(X) + scores)


def lasso_cv(part: Part, k: int, rng: np.random.Generator) -> Floats:
    """Rank by the lasso at the penalty of 5-fold cross-validation."""
    return _largest(_lasso_cv(standardized(part.X), y, k) for y in part.outputs.T)


def lasso_cv_half_ranks(part: Part, k: int, rng: np.random.Generator) -> Floats:
    """Do the same on the columns of the new lasso."""
    return _largest(_lasso_cv(half_ranks(part.X), y, k) for y in part.outputs.T)


def _lasso_cv(X: Floats, y: Floats, k: int) -> Floats:
    from sklearn.linear_model import LassoCV, lasso_path

    grid = np.abs(X.T @ (y - y.mean())).max() / len(y) * PENALTIES["lasso"]
    best = LassoCV(alphas=grid, cv=FOLDS, tol=1e-3, max_iter=2000).fit(X, y).alpha_
    path = lasso_path(X, y - y.mean(), alphas=grid, tol=1e-3, max_iter=2000)[1]
    return along_path(path.T[grid <= best * (1 + 1e-9)], k)


def along_path(coefficients: Floats, k: int) -> Floats:
    """Score by size at the first penalty; where fewer than k are not zero, later ones follow in the order of entry.

    Parameters
    ----------
    coefficients : ndarray of shape (n_penalties, n_features)
        From the penalty that was chosen downward.
    k : int

    Examples
    --------
    >>> along_path(np.array([[0.0, 0.5, 0.0], [0.2, 0.6, 0.0]]), 2).round(2).tolist()
    [0.5, 1.5, 0.0]
    """
    first = np.abs(coefficients[0])
    score = np.where(first > 0, 1 + first, 0.0)
    for step, row in enumerate(coefficients[1:], start=2):
        if (score > 0).sum() >= k:
            break
        score[(score == 0) & (row != 0)] = 1 / step
    return score


def logistic_cv(part: Part, k: int, rng: np.random.Generator) -> Floats:
    """Rank by l1-penalized logistic regression at the penalty of 5-fold cross-validation; a class against the rest."""
    X = standardized(part.X)
    return _largest(_logistic_cv(X, y, k, rng) for y in part.outputs.T)


def _logistic_cv(X: Floats, y: Floats, k: int, rng: np.random.Generator) -> Floats:
    fold = np.empty(len(y), dtype=np.int64)
    for value in (0.0, 1.0):
        rows = rng.permutation(np.flatnonzero(y == value))
        fold[rows] = np.arange(len(rows)) % FOLDS
    nets = ElasticNets(X, y.astype(np.int64), fold != np.arange(FOLDS + 1)[:, None], 1.0)  # the last has all rows
    deviance, path = [], []
    for penalty in nets.top * PENALTIES["logistic"]:
        *folds, full = nets.solve(penalty)
        held = [(model.intercept + X[fold == f][:, model.columns] @ model.weights, y[fold == f])
                for f, model in enumerate(folds)]  # fmt: skip
        deviance.append(sum(float(np.logaddexp(0.0, -(2 * truth - 1) * linear).sum()) for linear, truth in held))
        path.append(np.zeros(X.shape[1]))
        path[-1][full.columns] = full.weights
    return along_path(np.array(path[int(np.argmin(deviance)) :]), k)


def stability_selection(part: Part, k: int, rng: np.random.Generator) -> Floats:
    """Rank by how often a feature is among the first q of the lasso path of half of the samples.

    With q the square root of 0.8 p, at most one false feature is expected above a share of 0.9 (Meinshausen and
    Buehlmann, Journal of the Royal Statistical Society B 2010).
    """
    from sklearn.linear_model import lars_path

    X, Y = standardized(part.X), part.outputs
    n, p = X.shape
    q = min(int(np.sqrt((2 * THRESHOLD - 1) * EXPECTED_FALSE * p)), n // 2 - 2)
    times = np.zeros((Y.shape[1], p))
    for _ in range(N_HALVES):
        half = rng.permutation(n)[: n // 2]
        columns = standardized(X[half])
        for output, y in enumerate(Y[half].T):
            active = lars_path(columns, y - y.mean(), method="lasso", max_iter=q)[1]
            times[output, active] += 1
    return np.asarray(times.max(axis=0), dtype=np.float64)


def integrated_paths(part: Part, k: int, rng: np.random.Generator) -> Floats:
    """Rank by integrated path stability selection; where fewer than k have a score, the mean share decides."""
    share, _ = path_shares(standardized(part.X), part.outputs[:, 0], rng)
    return integrated_score(share) + 1e-9 * share.mean(axis=1)


def forest(part: Part, k: int, rng: np.random.Generator) -> Floats:
    """Rank by the importances of 200 trees; a third of the features per split for numbers, their root for classes."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    seed = int(rng.integers(2**31))
    if _is_numeric(part):
        model: Any = RandomForestRegressor(N_TREES, max_features=1 / 3, min_samples_leaf=3, random_state=seed)
        return model.fit(part.X, part.outputs[:, 0]).feature_importances_
    return RandomForestClassifier(N_TREES, random_state=seed).fit(part.X, part.y).feature_importances_


def boosting(part: Part, k: int, rng: np.random.Generator) -> Floats:
    """Rank by the importances of 300 boosted trees of depth 3, each on half of the samples; one model per label."""
    from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor

    kind: Any = GradientBoostingRegressor if _is_numeric(part) else GradientBoostingClassifier
    targets = part.outputs.T if _is_numeric(part) or part.target == "labels" else [part.y]
    seed = int(rng.integers(2**31))
    models = [kind(**BOOSTING, random_state=seed).fit(part.X, y) for y in targets]
    return np.asarray(np.mean([model.feature_importances_ for model in models], axis=0), dtype=np.float64)


def univariate(part: Part, k: int, rng: np.random.Generator) -> Floats:
    """Rank by F tests, the largest one over labels; by score tests of Cox models for survival."""
    from sklearn.feature_selection import f_classif, f_regression

    varying = part.X.std(axis=0) > 0
    X, score = part.X[:, varying], np.zeros(len(varying))
    if part.target == "survival":
        score[varying] = cox_scores(X, part.y.time, part.y.event)
    elif part.target == "numbers":
        score[varying] = f_regression(X, part.y)[0]
    else:
        targets = part.y.T if part.target == "labels" else [part.y]
        score[varying] = np.max([f_classif(X, y)[0] for y in targets], axis=0)
    return score


def cox_scores(X: Floats, time: Floats, event: Any) -> Floats:
    """Return the squared score of each column at 0 over its information: chi-squared with one degree of freedom.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    time, event : ndarray of shape (n_samples,)
    """
    at_risk = (time >= time[event][:, None]).astype(np.float64)
    at_risk /= at_risk.sum(axis=1, keepdims=True)
    Z = standardized(X)
    mean = at_risk @ Z
    information = (at_risk @ Z**2 - mean**2).sum(axis=0)
    return np.asarray((Z[event] - mean).sum(axis=0) ** 2 / information, dtype=np.float64)


def _is_numeric(part: Part) -> bool:
    return part.target in ("numbers", "survival")


def _largest(scores: Iterable[Floats]) -> Floats:
    return np.asarray(np.max(list(scores), axis=0), dtype=np.float64)
