"""Data drawn anew for each simulation of the calibration: pure noise of many kinds, and planted signals."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

import ubayfs

from .planted import Floats, Mask

TARGETS = ("two classes", "four classes", "ordered classes", "numbers", "survival", "labels")
KINDS = (
    "independent", "correlated blocks", "heavy tails", "sparse", "gaps", "categories", "categories with gaps",
    "groups, constant target", "groups, varying target", "covariates", "covariates and categories",
    "covariates and groups, constant target", "covariates and groups, varying target",
)  # fmt: skip
PLANTED_TARGETS = {"two classes": 3.0, "three classes": 3.0, "numbers": 2.0, "survival": 2.0}  # strength of signals
CORRELATION, BLOCK = 0.7, 5
SAME = 0.6  # share of the variance of repeated samples that is that of their patient
N_CATEGORIES = 100  # at most, half of the features of a small table
_LETTERS = np.array(list("abcde"))


@dataclass(frozen=True, eq=False)
class Study:
    """Data of one simulation and their truth.

    Attributes
    ----------
    X, y : as of ``ubayfs.collect_evidence``
    options : dict
        Further arguments of it: groups, adjust_for, missing.
    related : ndarray of bool of shape (n_features,)
        Features that depend on the target (beyond groups and covariates).
    signals : ndarray of bool of shape (n_features,)
        Features that the target is made from.
    block_correlation : float
        Within blocks of five, in the population.
    """

    X: Any
    y: Any
    related: Mask
    signals: Mask
    options: dict[str, Any] = field(default_factory=dict)
    block_correlation: float = 0.0

    @property
    def correlation(self) -> Floats:
        """Correlations of the features in the population, of shape (n_features, n_features)."""
        block = np.full((BLOCK, BLOCK), self.block_correlation) + (1 - self.block_correlation) * np.eye(BLOCK)
        return np.asarray(np.kron(np.eye(len(self.related) // BLOCK), block), dtype=np.float64)


def blocks_of(n_features: int) -> dict[str, list[int]]:
    """Return blocks of five neighbors: those that correlate, if any do."""
    return {f"block {b}": list(range(b * BLOCK, (b + 1) * BLOCK)) for b in range(n_features // BLOCK)}


def _normal(n: int, n_features: int, correlation: float, rng: np.random.Generator) -> Floats:
    own, common = rng.standard_normal((n, n_features)), rng.standard_normal((n, n_features // BLOCK))
    return np.sqrt(1 - correlation) * own + np.sqrt(correlation) * np.repeat(common, BLOCK, axis=1)


# -- pure noise --------------------------------------------------------------------------------------------------------


def noise(kind: str, target: str, n: int, n_features: int, rng: np.random.Generator) -> Study:
    """Draw a target and features that have nothing to do with each other, beyond groups and covariates.

    Groups and covariates act on features and target alike: without regard to them all features were related.

    Parameters
    ----------
    kind : str
        Of `KINDS`.
    target : str
        Of `TARGETS`.
    n, n_features : int
        Samples; where the target is constant in groups, groups of 1 to 4 samples.
    rng : Generator
    """
    constant, options = "constant" in kind, dict[str, Any]()
    grouped = rng.integers(1, 5, n) if constant else rng.integers(3, 10, n // 6)
    group = np.repeat(np.arange(len(grouped)), grouped) if "groups" in kind else np.arange(n)
    X = _normal(len(group), n_features, CORRELATION if kind == "correlated blocks" else 0.0, rng)
    if kind == "heavy tails":
        X = rng.standard_t(1.5, X.shape)
    own = rng.standard_normal((len(group), 3))[group if constant else slice(None)]
    if "groups" in kind:
        options["groups"] = group
        X, own = (values + rng.standard_normal((len(grouped), values.shape[1]))[group] for values in (X, own))
    if "covariates" in kind:
        Z = rng.standard_normal((len(group), 2)) + rng.standard_normal((group.max() + 1, 2))[group]
        options["adjust_for"] = Z
        X = X + Z @ rng.standard_normal((2, n_features))
        seen = pd.DataFrame(Z).groupby(group).transform("mean").to_numpy() if constant else Z
        own = own + seen @ rng.standard_normal((2, 3))
    if kind == "sparse":
        X = np.where(rng.random(X.shape) < 0.85, 0.0, np.exp(X))
    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(n_features)])
    if "categories" in kind:
        categories = {f"x{j}": _category(X[:, j], rng) for j in range(min(N_CATEGORIES, n_features // 2))}
        table = table.assign(**categories)
    if "gaps" in kind:
        table = table.mask(rng.random(X.shape) < rng.uniform(0.0, 0.3, n_features))
        options["missing"] = "available"
    none = np.zeros(n_features, dtype=bool)
    return Study(table, _target(target, own), none, none, options)


def _category(values: Floats, rng: np.random.Generator) -> Any:
    """Cut numbers into three to five levels of different sizes, in no order."""
    n_levels = int(rng.integers(3, 6))
    cuts = np.quantile(values, np.sort(rng.uniform(0.1, 0.9, n_levels - 1)))
    return pd.Categorical(rng.permutation(_LETTERS[:n_levels])[np.digitize(values, cuts)])


def _target(target: str, values: Floats) -> Any:
    first, levels = values[:, 0], np.digitize(values[:, 0], np.quantile(values[:, 0], (0.2, 0.45, 0.7)))
    if target == "numbers":
        return np.exp(first)
    if target == "survival":
        censored = values[:, 1] - np.quantile(values[:, 1] - first, 0.6)  # so that there are 60 % of events
        return ubayfs.Survival(np.exp(-np.maximum(first, censored)), first > censored)
    if target == "labels":
        return (values > np.quantile(values, 0.6, axis=0)).astype(np.int64)
    if target == "two classes":
        return (first > np.quantile(first, 0.6)).astype(np.int64)
    return _LETTERS[[2, 0, 3, 1]][levels] if target == "four classes" else pd.Categorical(levels, ordered=True)


# -- planted signals ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PlantedPopulation:
    """Normal features, and a target that is made from some of them: whatever is drawn from it is a study of the same.

    Attributes
    ----------
    target : str
        Of `PLANTED_TARGETS`.
    weights : ndarray of shape (n_features, n_columns)
        Of the features in what makes the target; one column, or one per class.
    block_correlation : float
        Within blocks of five.
    grouped : bool
        Whether samples are repeats, which have the target of their patient.
    """

    target: str
    weights: Floats
    block_correlation: float = 0.0
    grouped: bool = False

    @classmethod
    def random(
        cls, target: str, r: float, n_features: int, n_signals: int, rng: np.random.Generator, grouped: bool = False
    ) -> PlantedPopulation:
        """Choose the signals at random; `r` is the correlation within blocks."""
        signals = rng.choice(n_features, n_signals, replace=False)
        W = np.zeros((n_features, 3 if target == "three classes" else 1))
        W[signals] = rng.standard_normal((n_signals, 3)) if W.shape[1] == 3 else rng.choice([-1.0, 1.0], (n_signals, 1))
        W -= W.mean(axis=1, keepdims=True) if W.shape[1] == 3 else 0.0
        return cls(target, W, r, grouped)

    @property
    def covariance(self) -> Floats:
        """Of each feature with what makes the target, of the shape of the weights."""
        together = self.weights.reshape(-1, BLOCK, self.weights.shape[1]).sum(axis=1)
        return np.asarray(
            (1 - self.block_correlation) * self.weights + self.block_correlation * np.repeat(together, BLOCK, axis=0)
        )

    @property
    def related(self) -> Mask:
        """Features whose correlation with what makes the target is not zero, of shape (n_features,)."""
        return np.asarray((np.abs(self.covariance) > 1e-9).any(axis=1))

    def draw(self, n: int, rng: np.random.Generator) -> Study:
        """Draw a study of n samples; of repeats, of half as many patients with 1 to 3 samples each."""
        n_features = len(self.weights)
        if not self.grouped:
            return self.observed(_normal(n, n_features, self.block_correlation, rng), rng)
        group = np.repeat(np.arange(n // 2), rng.integers(1, 4, n // 2))
        patients = self.observed(_normal(n // 2, n_features, self.block_correlation, rng), rng)
        X = np.sqrt(SAME) * patients.X[group] + np.sqrt(1 - SAME) * rng.standard_normal((len(group), n_features))
        y = patients.y[group] if self.target != "survival" else ubayfs.Survival(
            patients.y.time[group], patients.y.event[group]
        )  # fmt: skip
        return Study(X, y, patients.related, patients.signals, {"groups": group}, self.block_correlation)

    def observed(self, X: Floats, rng: np.random.Generator) -> Study:
        """Make the target of samples, of shape (n_samples, n_features)."""
        n, W, covariance = len(X), self.weights, self.covariance
        scale = np.sqrt((W * covariance).sum(axis=0))
        predictors = PLANTED_TARGETS[self.target] * X @ (W / np.where(scale > 0, scale, 1.0))
        first = predictors[:, 0]
        if self.target == "three classes":
            y: Any = (predictors + rng.gumbel(size=predictors.shape)).argmax(axis=1)
        elif self.target == "two classes":
            y = (first + rng.logistic(size=n) > 0).astype(np.int64)
        elif self.target == "numbers":
            y = first + rng.standard_normal(n)
        else:
            time, censored = np.exp(-first) * rng.exponential(size=n), 3 * rng.exponential(size=n)
            y = ubayfs.Survival(np.minimum(time, censored), time <= censored)
        signals = np.asarray((np.abs(W) > 1e-9).any(axis=1))
        return Study(X, y, self.related, signals, block_correlation=self.block_correlation)


def planted(target: str, correlated: bool, n: int, n_features: int, n_signals: int, rng: np.random.Generator) -> Study:
    """Draw normal features, and a target that is made from some of them.

    Related is every feature whose correlation with what makes the target is not zero in the population: neighbors of
    a signal in its block, too, unless signals of a block cancel.

    Parameters
    ----------
    target : str
        Of `PLANTED_TARGETS`.
    correlated : bool
        Whether features correlate with 0.7 within blocks of five.
    n, n_features, n_signals : int
    rng : Generator
    """
    r = CORRELATION if correlated else 0.0
    X = _normal(n, n_features, r, rng)
    return PlantedPopulation.random(target, r, n_features, n_signals, rng).observed(X, rng)
