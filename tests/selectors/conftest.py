"""Fixtures shared by the tests of selectors."""

import numpy as np
import pytest


@pytest.fixture(scope="session")
def stratified():
    """Function (y, n_models, train_size, seed) -> (n_models, n_samples) mask, the same share of every class."""

    def draw(y, n_models, train_size, seed):
        rng = np.random.default_rng(seed)
        y = np.asarray(y)
        mask = np.zeros((n_models, len(y)), dtype=bool)
        for run in range(n_models):
            for label in np.unique(y):
                rows = np.flatnonzero(y == label)
                mask[run, rng.permutation(rows)[: round(train_size * len(rows))]] = True
        return mask

    return draw


@pytest.fixture(scope="session")
def awkward():
    """Function (seed, n_samples, n_columns) -> X with tied, copied, constant and nearly constant columns."""

    def make(seed, n_samples=30, n_columns=14):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n_samples, n_columns)) * 10.0 ** rng.integers(-3, 4, n_columns)
        X[:, 1] = np.round(rng.normal(size=n_samples))  # ties
        X[:, 2] = rng.integers(0, 2, n_samples)  # two values
        X[:, 3] = 7.7  # constant
        X[:, 4] = 0.0
        X[rng.integers(n_samples), 4] = 1e6  # constant in every subsample without that row
        X[:, 5] = X[:, 0]  # copy
        X[:, 6] = 1e5 + rng.normal(size=n_samples)  # far from zero
        X[:, 7] = rng.normal(size=n_samples)
        X[rng.integers(n_samples), 7] = 1e7  # an outlier that hides the others
        X[:, 8] = -3.0 * X[:, 0] + 1.0  # perfectly correlated
        return X

    return make
