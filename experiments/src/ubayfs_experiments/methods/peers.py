"""Two methods that name features at a target false discovery rate: short versions, from their papers.

- Integrated path stability selection (Melikechi and Miller, Journal of the American Statistical Association 2025), here
  with the lasso: a feature's share of selections in half samples, along the path, enters by its excess over one half,
  cubed; its mean over the path bounds the expected number of false positives.
- Model-X knockoffs (Candes, Fan, Janson and Lv, Journal of the Royal Statistical Society B 2018), Gaussian and
  equicorrelated, with the covariance of the population (which a user would have to estimate) and differences of lasso
  coefficients.

Both fit squared errors; classes are 0 and 1.
"""

from __future__ import annotations

import numpy as np

from ..data.planted import Floats, Mask

N_PAIRS, CUTOFF, PENALTIES = 50, 0.05, np.geomspace(1.0, 0.05, 25)


def integrated_path(X: Floats, y: Floats, rng: np.random.Generator) -> Floats:
    """Return a q-value per feature: the expected share of false ones among those that are at least as stable."""
    share, errors = path_shares(X, y, rng)
    score, p = integrated_score(share), len(share)
    expected = errors / np.maximum(score, 1e-300)
    order = np.argsort(-score, kind="stable")
    q_values = np.empty(p)
    q_values[order] = np.minimum.accumulate((expected[order] / np.arange(1, p + 1))[::-1])[::-1]
    return q_values


def integrated_score(share: Floats) -> Floats:
    """Return the mean over the path of the excess over one half, cubed, of shape (n_features,)."""
    return np.asarray((np.maximum(2 * share - 1, 0.0) ** 3).mean(axis=1), dtype=np.float64)


def path_shares(X: Floats, y: Floats, rng: np.random.Generator) -> tuple[Floats, float]:
    """Return shares of selections in half samples along the lasso path, and the mean bound of false positives on it.

    Returns
    -------
    share : ndarray of shape (n_features, n_penalties)
        As far as the path goes.
    errors : float
    """
    from sklearn.linear_model import lasso_path

    n, p = X.shape
    deviation = X.std(axis=0)
    X, y = (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0), y - y.mean()
    penalties = np.abs(X.T @ y).max() / n * PENALTIES
    times = np.zeros((p, len(penalties)))
    for _ in range(N_PAIRS):
        order = rng.permutation(n)
        for half in (order[: n // 2], order[n // 2 : 2 * (n // 2)]):
            centered = X[half] - X[half].mean(axis=0)
            times += lasso_path(centered, y[half] - y[half].mean(), alphas=penalties, tol=1e-3)[1] != 0
    share, B = times / (2 * N_PAIRS), N_PAIRS
    q = share.sum(axis=0)
    errors = q**2 / (B**2 * p) + 3 * (B - 1) * q**4 / (B**2 * p**3) + (B - 1) * (B - 2) * q**6 / (B**2 * p**5)
    so_far = np.cumsum(errors) / np.arange(1, len(errors) + 1)
    length = max(1, int((so_far <= CUTOFF).sum()))
    return share[:, :length], float(so_far[length - 1])


def knockoffs(X: Floats, y: Floats, covariance: Floats, error: float, rng: np.random.Generator) -> Mask:
    """Return the features that knockoffs name at a false discovery rate; X has mean zero in the population."""
    from sklearn.linear_model import LassoCV

    n, p = X.shape
    s = min(1.0, 2 * float(np.linalg.eigvalsh(covariance)[0]))
    inverse = np.linalg.inv(covariance)
    left = np.linalg.cholesky(2 * s * np.eye(p) - s**2 * inverse + 1e-9 * np.eye(p))
    copies = X - s * X @ inverse + rng.standard_normal((n, p)) @ left.T
    both = np.hstack([X, copies])
    both = (both - both.mean(axis=0)) / both.std(axis=0)
    order = rng.permutation(2 * p)
    coefficients = np.empty(2 * p)
    coefficients[order] = np.abs(LassoCV(cv=5, eps=0.01, alphas=30, tol=1e-3).fit(both[:, order], y).coef_)
    W = coefficients[:p] - coefficients[p:]
    for t in np.sort(np.abs(W[W != 0])):
        named = t <= W
        if (1 + (t <= -W).sum()) <= error * max(1, named.sum()):
            return np.asarray(named)
    return np.zeros(p, dtype=bool)
