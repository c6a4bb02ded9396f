"""Gaussian data sets with planted truth, as many as are wanted: every draw of a population has new samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..tasks import seed_of
from .datasets import Dataset, Source

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

SOURCES: dict[str, Source] = {
    source.name: source
    for source in (
        Source("gauss", "Independent normal features", 100, 500, 10, synthetic=True),
        Source("gauss_blocks", "Normal features, correlated 0.7 in blocks of 10", 100, 500, 10, synthetic=True),
        Source("drawn", "Drawn anew by each simulation, of any size", 10, 0, 10, synthetic=True),
    )
}
KINDS: dict[str, tuple[int, float]] = {  # number of signals, standard deviation of the predictor on the logit scale
    "planted": (10, 4.0),
    "few": (3, 4.0),
    "many": (30, 4.0),
}
N_REFERENCE = 2000
CORRELATION, BLOCK = 0.7, 10
STAND_IN = 0.5  # correlation with a signal above which a feature is not noise
_SEED = 13  # of what is planted; the data of a simulation have the seed of the run


@dataclass(frozen=True, eq=False)
class Population:
    """A distribution of samples and its truth.

    Attributes
    ----------
    samples_of : callable
        ``samples_of(n, rng)`` gives X.
    n_samples : int
        Of one data set.
    signals : ndarray of int of shape (n_signals,)
    weights : ndarray of shape (n_signals,)
        Of the signals, so that the predictor has the wanted standard deviation.
    center : float
        Median of the predictor, so that the classes are even.
    unrelated : ndarray of bool of shape (n_features,)
        Not correlated above 0.5 with a signal, nor one itself.
    """

    samples_of: Callable[[int, np.random.Generator], Floats]
    n_samples: int
    signals: NDArray[np.intp]
    weights: Floats
    center: float
    unrelated: Mask

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Floats, NDArray[np.int64]]:
        """Return `n` samples and their target, 0 or 1: logistic in the predictor."""
        X = self.samples_of(n, rng)
        predictor = X[:, self.signals] @ self.weights - self.center
        return X, (predictor + rng.logistic(size=len(X)) > 0).astype(np.int64)


@lru_cache(maxsize=2)
def population(dataset: Dataset, kind: str, version: int) -> Population:
    """Plant signals; other versions have other signals.

    Parameters
    ----------
    dataset : Dataset
    kind : str
        A key of `KINDS`.
    version : int
    """
    name, (n_signals, strength) = dataset.source.name, KINDS[kind]
    rng = np.random.default_rng(seed_of(_SEED, name, kind, version))
    samples_of = _normal(dataset.source, CORRELATION if name == "gauss_blocks" else 0.0)
    X = samples_of(N_REFERENCE, rng)
    signals = np.sort(rng.choice(X.shape[1], n_signals, replace=False))
    weights = rng.choice([-1.0, 1.0], n_signals) / X[:, signals].std(axis=0)
    weights = weights * (strength / (X[:, signals] @ weights).std())
    unrelated = _correlations(X, X[:, signals]).max(axis=1) <= STAND_IN
    center = float(np.median(X[:, signals] @ weights))
    return Population(samples_of, len(dataset.y), signals, weights, center, unrelated)


def load_gauss(name: str) -> Dataset:
    """Return the description of Gaussian data as a data set; its samples are never used."""
    source = SOURCES[name]
    n = source.n_samples or 0
    names = tuple(f"x{position}" for position in range(source.n_features))
    return Dataset(source, np.zeros((n, source.n_features)), np.arange(n, dtype=np.int64) % 2, names)


def _normal(source: Source, correlation: float) -> Callable[[int, np.random.Generator], Floats]:
    def draw(n: int, rng: np.random.Generator) -> Floats:
        own = rng.standard_normal((n, source.n_features))
        common = np.repeat(rng.standard_normal((n, source.n_features // BLOCK)), BLOCK, axis=1)
        return np.sqrt(1 - correlation) * own + np.sqrt(correlation) * common

    return draw


def _correlations(X: Floats, others: Floats) -> Floats:
    """Return absolute correlations of all columns with some others."""
    first, second = (columns - columns.mean(axis=0) for columns in (X, others))
    first, second = (columns / np.linalg.norm(columns, axis=0) for columns in (first, second))
    return np.abs(first.T @ second)
