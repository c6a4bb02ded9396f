"""Data sets of the trial of selectors: features of many kinds or a real table, and a target made from a few of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import norm, rankdata

import ubayfs

from .planted import Floats

FRESH = 300  # samples of drawn data that neither of the two parts has
TIES = 0.9  # a column of a real table in which one value is more frequent is not used
N_CLASSES = 3  # and labels
EVENTS = 0.6  # share of samples with an event, of survival


@dataclass(frozen=True)
class Design:
    """One design: what features look like, and how some of them make the target.

    Attributes
    ----------
    name : str
    kind : {"L", "M", "N"}
        Linear on the scale that is seen; monotone, but bent; not monotone, or of pairs, or of steps.
    features : str
        A key of `FEATURES`, or the name of a real table.
    effect : str
        A key of `EFFECTS`.
    target : {"numbers", "two classes", "three classes", "labels", "survival"}
    n, p, k : int
        Samples of one part, features, and those that make the target.
    strength : float
        Standard deviation of what the signals say; the noise is standard normal, logistic, Gumbel or exponential.
    """

    name: str
    kind: str
    features: str
    effect: str
    target: str
    n: int
    p: int
    k: int
    strength: float

    @property
    def is_real(self) -> bool:
        """Whether the features are a real table."""
        return self.features not in FEATURES


@dataclass(frozen=True, eq=False)
class Part:
    """Samples of one data set.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
    y : as of ``ubayfs.collect_evidence``
    target : str
        As of the design.
    """

    X: Floats
    y: Any
    target: str

    def of(self, rows: slice) -> Part:
        """Return some of the samples."""
        y = ubayfs.Survival(self.y.time[rows], self.y.event[rows]) if self.target == "survival" else self.y[rows]
        return Part(self.X[rows], y, self.target)

    @property
    def outputs(self) -> Floats:
        """Targets for methods that fit numbers, of shape (n_samples, n_outputs).

        Numbers as they are, two classes 0 and 1, one indicator per class or label, and martingale residuals of the
        model without features for survival.
        """
        if self.target == "survival":
            return martingale_residuals(self.y.time, self.y.event)[:, None]
        if self.target == "three classes":
            return (self.y[:, None] == np.arange(N_CLASSES)).astype(np.float64)
        return np.asarray(self.y, dtype=np.float64).reshape(len(self.X), -1)


def martingale_residuals(time: Floats, event: Any) -> Floats:
    """Return events minus the cumulative hazard of Nelson and Aalen.

    >>> martingale_residuals(np.array([1.0, 2.0, 3.0]), np.array([True, False, True])).round(2).tolist()
    [0.67, -0.33, -0.33]
    """
    at_risk = (time[:, None] <= time).sum(axis=1)
    hazard = ((time <= time[:, None]) * (event / at_risk)).sum(axis=1)
    return np.asarray(event - hazard, dtype=np.float64)


# -- features ----------------------------------------------------------------------------------------------------------


def _independent(n: int, p: int, rng: np.random.Generator) -> Floats:
    return rng.standard_normal((n, p))


def _neighbors(r: float) -> Callable[[int, int, np.random.Generator], Floats]:
    """Make an autoregressive process over the columns."""

    def draw(n: int, p: int, rng: np.random.Generator) -> Floats:
        X = rng.standard_normal((n, p))
        for j in range(1, p):
            X[:, j] = r * X[:, j - 1] + np.sqrt(1 - r**2) * X[:, j]
        return X

    return draw


def _blocks(n: int, p: int, rng: np.random.Generator) -> Floats:
    """Correlate 0.7 within blocks of ten."""
    common = np.repeat(rng.standard_normal((n, -(-p // 10))), 10, axis=1)[:, :p]
    return np.sqrt(0.3) * rng.standard_normal((n, p)) + np.sqrt(0.7) * common


def _factors(n: int, p: int, rng: np.random.Generator) -> Floats:
    """Make half of the variance from five factors that all features share."""
    loadings = rng.standard_normal((5, p))
    loadings /= np.linalg.norm(loadings, axis=0)
    return np.sqrt(0.5) * (rng.standard_normal((n, 5)) @ loadings + rng.standard_normal((n, p)))


def _counts(n: int, p: int, rng: np.random.Generator) -> Floats:
    """Draw negative binomial counts of different means, in samples of different depth."""
    mean = np.exp(rng.uniform(0.5, 5.0, p) + 0.3 * rng.standard_normal((n, 1)))
    return rng.poisson(mean * rng.gamma(2.0, 0.5, (n, p))).astype(np.float64)


def _genotypes(n: int, p: int, rng: np.random.Generator) -> Floats:
    """Draw 0, 1 or 2 rare alleles; neighbors in blocks of five share half of their haplotypes."""
    rare = np.repeat(rng.uniform(0.1, 0.5, -(-p // 5)), 5)[:p]

    def haplotype() -> Any:
        shared = np.repeat(rng.random((n, -(-p // 5))), 5, axis=1)[:, :p]
        return np.where(rng.random((n, p)) < 0.5, shared, rng.random((n, p))) < rare

    return haplotype().astype(np.float64) + haplotype()


FEATURES: dict[str, Callable[[int, int, np.random.Generator], Floats]] = {
    "independent": _independent,
    "neighbors .6": _neighbors(0.6),
    "neighbors .8": _neighbors(0.8),
    "blocks": _blocks,
    "factors": _factors,
    "heavy tails": lambda n, p, rng: rng.standard_t(3.0, (n, p)),
    "very heavy tails": lambda n, p, rng: rng.standard_t(1.5, (n, p)),
    "log-normal": lambda n, p, rng: np.exp(_independent(n, p, rng)),
    "log-normal blocks": lambda n, p, rng: np.exp(1.2 * _blocks(n, p, rng)),
    "log-normal factors": lambda n, p, rng: np.exp(1.2 * _factors(n, p, rng)),
    "counts": _counts,
    "binary": lambda n, p, rng: (rng.random((n, p)) < rng.uniform(0.1, 0.9, p)).astype(np.float64),
    "genotypes": _genotypes,
}


def _of_table(table: Floats, p: int, rng: np.random.Generator) -> Floats:
    """Return all samples of a real table in random order, and some of its columns."""
    same = (table == np.median(table, axis=0)).mean(axis=0)
    columns = rng.permutation(np.flatnonzero((same <= TIES) & (table.std(axis=0) > 0)))[:p]
    return table[rng.permutation(len(table))][:, columns]


# -- what the signals say ----------------------------------------------------------------------------------------------


def standardized(X: Floats) -> Floats:
    """Return columns of mean 0 and standard deviation 1; constant ones are 0."""
    centered = X - X.mean(axis=0)
    deviation = centered.std(axis=0)
    return np.asarray(centered / np.where(deviation > 0, deviation, 1.0), dtype=np.float64)


def _u_shaped(X: Floats) -> Floats:
    """Let every other signal be U-shaped, the others straight."""
    Z = standardized(X)
    return np.where(np.arange(Z.shape[1]) % 2 == 0, np.minimum(Z**2, 9.0), Z)


def _products(X: Floats) -> Floats:
    """Let signals act in pairs: the first straight, the second only through the product with the first."""
    Z = np.clip(standardized(X), -3.0, 3.0)
    C = Z.copy()
    C[:, 1::2] = Z[:, 0::2] * Z[:, 1::2]
    return C


EFFECTS: dict[str, Callable[[Floats], Floats]] = {
    "linear": lambda X: X,
    "log": lambda X: np.log(X + 0.5 * (X.min() == 0)),
    "ranks": lambda X: norm.ppf((rankdata(X, axis=0) - 0.5) / len(X)),
    "saturated": lambda X: np.tanh(2 * standardized(X)),
    "u": _u_shaped,
    "products": _products,
    "steps": lambda X: (standardized(X) > 0.7).astype(np.float64),
}


def draw(design: Design, table: Floats | None, rng: np.random.Generator) -> tuple[Part, Any]:
    """Draw a data set.

    Parameters
    ----------
    design : Design
    table : ndarray of shape (n_rows, n_columns), optional
        The real table, if the design has one.
    rng : Generator

    Returns
    -------
    everything : Part
        All samples: the first n and the last n are two data sets of the same truth. They overlap if a real table has
        fewer than 2 n rows.
    signals : ndarray of int of shape (k,)
    """
    if design.is_real:
        assert table is not None
        X = _of_table(table, design.p, rng)
    else:
        X = FEATURES[design.features](2 * design.n + FRESH, design.p, rng)
    signals = rng.choice(X.shape[1], design.k, replace=False)
    says = standardized(EFFECTS[design.effect](X[:, signals]))
    q = N_CLASSES if design.target in ("three classes", "labels") else 1
    W = _weights(design.k, design.target, q, rng)
    predictors = design.strength * standardized(says @ W)
    return Part(X, _target(design.target, predictors, rng), design.target), signals


def _weights(k: int, target: str, q: int, rng: np.random.Generator) -> Floats:
    """Return weights of shape (k, q), of either sign, from 0.6 to 1.4 (of classes and labels: as a whole)."""
    size = rng.uniform(0.6, 1.4, (k, 1))
    if target == "three classes":
        W = rng.standard_normal((k, q))
        W -= W.mean(axis=1, keepdims=True)
        return np.asarray(size * W / np.linalg.norm(W, axis=1, keepdims=True), dtype=np.float64)
    W = rng.choice([-1.0, 1.0], (k, q))
    if target == "labels":  # each signal acts on one or two of the three
        left_out = rng.permuted(np.tile([True, False, False], (k, 1)), axis=1)
        W[left_out | (rng.permuted(np.tile([True, False, False], (k, 1)), axis=1))] = 0.0
    return np.asarray(size * W, dtype=np.float64)


def _target(target: str, predictors: Floats, rng: np.random.Generator) -> Any:
    first, shape = predictors[:, 0], predictors.shape
    if target == "numbers":
        return first + rng.standard_normal(len(first))
    if target == "two classes":
        return (first - np.median(first) + rng.logistic(size=len(first)) > 0).astype(np.int64)
    if target == "three classes":
        return (predictors + rng.gumbel(size=shape)).argmax(axis=1)
    if target == "labels":
        return (predictors - np.median(predictors, axis=0) + rng.logistic(size=shape) > 0).astype(np.int64)
    time, last = np.exp(-first) * rng.exponential(size=len(first)), rng.exponential(size=len(first))
    last *= np.quantile(time / last, EVENTS)
    return ubayfs.Survival(np.minimum(time, last), time <= last)
