"""Data sets with planted truth, as many as are wanted: Gaussian ones and ones of real gene matrices.

A population is a distribution of samples with a planted linear predictor. On the Gaussian data, and on the genes of the
kind "fresh", every draw has new samples; those of genes come from a Gaussian copula of the real matrix (the values of
every gene, and the correlations of normal scores, shrunk a fifth towards none). On genes of the other kinds the samples
are the real ones and only the target is new: then nothing is known of other samples.
"""

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
    )
}
KINDS: dict[str, tuple[int, float]] = {  # number of signals, standard deviation of the predictor on the logit scale
    "planted": (10, 4.0),
    "fresh": (10, 4.0),
    "few": (3, 4.0),
    "many": (30, 4.0),
    "noise": (0, 0.0),
}
N_GENES, N_REFERENCE = 1000, 2000
CORRELATION, BLOCK, SHRINKAGE = 0.7, 10, 0.2
STAND_IN, SHADOW = 0.5, 0.3  # correlation with a signal, or with the predictor, above which a feature is not noise
_SEED = 13  # of what is planted; the data of a simulation have the seed of the run


@dataclass(frozen=True, eq=False)
class Population:
    """A distribution of samples and its truth.

    Attributes
    ----------
    samples_of : callable
        ``samples_of(n, rng)`` gives X; where `real_samples`, always the same ones, whatever n is.
    n_samples : int
        Of one data set.
    real_samples : bool
    signals : ndarray of int of shape (n_signals,)
    weights : ndarray of shape (n_signals,)
        Of the signals as they are measured, so that the predictor has the wanted standard deviation.
    center : float
        Median of the predictor, so that the classes are even.
    unrelated : ndarray of bool of shape (n_features,)
        T1 of the tables: not correlated above 0.5 with a signal, nor one itself.
    no_shadow : ndarray of bool of shape (n_features,)
        T2: of these, the ones not correlated above 0.3 with the predictor either.
    """

    samples_of: Callable[[int, np.random.Generator], Floats]
    n_samples: int
    real_samples: bool
    signals: NDArray[np.intp]
    weights: Floats
    center: float
    unrelated: Mask
    no_shadow: Mask

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Floats, NDArray[np.int64]]:
        """Return `n` samples and their target, 0 or 1: logistic in the predictor, or a coin without signals."""
        X = self.samples_of(n, rng)
        predictor = X[:, self.signals] @ self.weights - self.center
        return X, (predictor + rng.logistic(size=len(X)) > 0).astype(np.int64)


@lru_cache(maxsize=2)
def population(dataset: Dataset, kind: str, version: int) -> Population:
    """Plant signals in a data set; other versions have other signals, and other genes where there are many.

    Parameters
    ----------
    dataset : Dataset
    kind : str
        A key of `KINDS`.
    version : int
    """
    name, (n_signals, strength) = dataset.source.name, KINDS[kind]
    rng = np.random.default_rng(seed_of(_SEED, name, kind, version))
    real = name not in SOURCES and kind != "fresh"
    if name in SOURCES:
        samples_of = _normal(dataset.source, CORRELATION if name == "gauss_blocks" else 0.0)
    else:
        columns = rng.choice(dataset.X.shape[1], min(N_GENES, dataset.X.shape[1]), replace=False)
        genes = dataset.X[:, np.sort(columns)]
        samples_of = (lambda _n, _rng: genes) if real else _copula(genes)
    X = samples_of(N_REFERENCE, rng)
    varying = np.flatnonzero(X.std(axis=0) > 0)
    signals = np.sort(rng.choice(varying, n_signals, replace=False))
    weights = rng.choice([-1.0, 1.0], n_signals) / X[:, signals].std(axis=0)
    predictor = X[:, signals] @ weights
    weights = weights * (strength / predictor.std() if n_signals else 1.0)
    unrelated = _correlations(X, X[:, signals]).max(axis=1, initial=0.0) <= STAND_IN
    shadow = _correlations(X, predictor[:, None])[:, 0] > SHADOW
    center = float(np.median(X[:, signals] @ weights))
    return Population(
        samples_of, len(dataset.y), real, signals, weights, center, unrelated, unrelated & ~shadow
    )  # fmt: skip


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


def _copula(genes: Floats) -> Callable[[int, np.random.Generator], Floats]:
    """Return samples with the margins of a matrix and the correlations of its normal scores, shrunk."""
    from scipy.stats import norm, rankdata

    n_real = len(genes)
    ordered = np.sort(genes, axis=0)
    scores = norm.ppf((rankdata(genes, axis=0) - 0.5) / n_real)
    scores = (scores - scores.mean(axis=0)) / np.maximum(scores.std(axis=0), 1e-12)

    def draw(n: int, rng: np.random.Generator) -> Floats:
        common = rng.standard_normal((n, n_real)) @ scores / np.sqrt(n_real)
        own = rng.standard_normal(common.shape)
        drawn = np.sqrt(1 - SHRINKAGE) * common + np.sqrt(SHRINKAGE) * own
        place = np.clip(norm.cdf(drawn) * n_real - 0.5, 0, n_real - 1)
        below = np.minimum(place.astype(np.intp), n_real - 2)
        low, high = (np.take_along_axis(ordered, below + step, axis=0) for step in (0, 1))
        return low + (place - below) * (high - low)

    return draw


def _correlations(X: Floats, others: Floats) -> Floats:
    """Return absolute correlations of all columns with some others, 0 for constant ones."""
    first, second = (columns - columns.mean(axis=0) for columns in (X, others))
    first, second = (columns / np.maximum(np.linalg.norm(columns, axis=0), 1e-12) for columns in (first, second))
    return np.abs(first.T @ second)
