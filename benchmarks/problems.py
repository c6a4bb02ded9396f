"""Decision problems from a fixed generator, of the size of the paper's data and beyond.

Importances are those of 100 models with 20 features each: the feature of rank r is chosen by each model with
probability proportional to r ** -decay (decay 1: few features take all votes; 0.3: votes are spread thin).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

import ubayfs

N_MODELS, PER_MODEL = 100, 20
DECAYS = (1.0, 0.3)
VOTES = {1.0: "steep", 0.3: "flat"}


def importance(n_features: int, decay: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return importances in random order; they sum to 1."""
    probability = np.arange(1, n_features + 1) ** -decay
    counts = rng.binomial(N_MODELS, np.minimum(1.0, PER_MODEL * probability / probability.sum()))
    theta = 0.01 + rng.permutation(counts)
    return theta / theta.sum()


def evidence(n_features: int, decay: float, rng: np.random.Generator) -> ubayfs.Evidence:
    """Return models whose sets are drawn in the same way (a feature drawn twice counts once)."""
    probability = np.arange(1, n_features + 1) ** -decay
    chosen = rng.choice(n_features, (N_MODELS, PER_MODEL), p=probability / probability.sum())
    model = np.repeat(np.arange(N_MODELS), PER_MODEL)
    sets = sparse.coo_array((np.ones(chosen.size), (model, chosen.ravel())), shape=(N_MODELS, n_features))
    return ubayfs.Evidence.from_sets(sets.tocsr() > 0)


def soft_pairs(theta: NDArray[np.float64], n_pairs: int, n_best: int, rng: np.random.Generator) -> ubayfs.Constraint:
    """At most one of each of some pairs of the best features."""
    best = np.argsort(-theta)[:n_best]
    first, second = np.triu_indices(n_best, k=1)
    picked = rng.choice(len(first), n_pairs, replace=False)
    return _at_most_one(best[np.column_stack([first[picked], second[picked]])], len(theta), rng)


def clustered_pairs(order: NDArray[Any], cluster: int, n_pairs: int, rng: np.random.Generator) -> ubayfs.Constraint:
    """At most one of each of `n_pairs` pairs within every cluster: so many features in a row of the order given."""
    n_features = len(order)
    members = order[: n_features // cluster * cluster].reshape(-1, cluster)
    first, second = np.triu_indices(cluster, k=1)
    pairs = []
    for one in members:
        picked = rng.choice(len(first), n_pairs, replace=False)
        pairs.append(np.column_stack([one[first[picked]], one[second[picked]]]))
    return _at_most_one(np.concatenate(pairs), n_features, rng)


def _at_most_one(pairs: NDArray[Any], n_features: int, rng: np.random.Generator) -> ubayfs.Constraint:
    """One soft row per pair; rho is the odds of a correlation between 0.4 and 0.95."""
    starts = np.arange(0, pairs.size + 1, 2)
    A = sparse.csr_array((np.ones(pairs.size), pairs.ravel(), starts), shape=(len(pairs), n_features))
    tau = rng.uniform(0.4, 0.95, len(pairs))
    return ubayfs.linear(A, 1.0, rho=tau / (1 - tau))


def random_blocks(n_features: int, n_blocks: int, rng: np.random.Generator) -> dict[str, list[int]]:
    """Return blocks that share the features out at random."""
    block = rng.integers(n_blocks, size=n_features)
    return {f"block {number}": np.flatnonzero(block == number).tolist() for number in range(n_blocks)}
