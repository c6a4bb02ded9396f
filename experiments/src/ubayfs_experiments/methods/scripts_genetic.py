"""The genetic algorithm as the authors' scripts start it, with the usual operators of the R package GA.

The start differs from the paper's Algorithm 1: a chain keeps each constraint with probability rho / (1 + rho), and one
that it keeps is hard; features are then offered in an order drawn by importance. The set of the features of highest
importance is always among the first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ubayfs.optimize import Solution

# Defaults of the R package GA: share of children with two parents, share with one component flipped, share that stays.
_CROSSOVER, _MUTATION, _ELITE = 0.8, 0.1, 0.05
_TIED = 1e-12

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ScriptsGenetic:
    """Improves sets by selection, uniform crossover and mutation; equally good ones are drawn from.

    Parameters
    ----------
    size : int
        The max-size.
    max_blocks : int or None
        The most blocks; None: no such constraint.
    block_of : ndarray of int of shape (n_features,)
        Block of each feature, -1 if it is in none. Blocks do not overlap.
    rho : float
        Of both constraints.
    n_sets, n_generations : int
    """

    size: int
    max_blocks: int | None
    block_of: NDArray[np.intp]
    rho: float = 1.0
    n_sets: int = 100
    n_generations: int = 100

    def maximize(self, utility: Any, random_state: Any = None) -> Solution:
        """Return one of the best sets found; ``info`` has the best score after each generation, the start first."""
        rng = np.random.default_rng(random_state)
        sets = self.first_sets(utility.theta, utility.selectable, rng)
        values = utility(sets)
        best = [float(values.max())]
        n_elite = max(1, round(_ELITE * self.n_sets))
        for _ in range(self.n_generations):
            order = np.argsort(-values, kind="stable")
            children = self._children(sets[order], utility.selectable, rng)[n_elite:]
            sets = np.concatenate([sets[order[:n_elite]], children])
            values = np.concatenate([values[order[:n_elite]], utility(children)])
            best.append(float(values.max()))
        tied = np.unique(sets[values >= values.max() - _TIED], axis=0)
        chosen = tied[rng.integers(len(tied))]
        return Solution(chosen, best[-1], np.inf, info={"best_by_generation": tuple(best)})

    def first_sets(self, theta: NDArray[np.float64], selectable: Mask, rng: np.random.Generator) -> Mask:
        """Draw the first generation, of shape (n_sets, n_features); its last set has the highest importances."""
        sets = np.zeros((self.n_sets, len(theta)), dtype=bool)
        features = np.flatnonzero(selectable)
        keep = self.rho / (1 + self.rho) if np.isfinite(self.rho) else 1.0
        for row in sets[:-1]:
            # The order of exponential times with rates theta is sampling without replacement.
            order = features[np.argsort(rng.standard_exponential(len(features)) / theta[features], kind="stable")]
            if self.max_blocks is not None and rng.random() < keep:
                order = order[self._in_first_blocks(order)]
            row[order[: self.size] if rng.random() < keep else order] = True
        lots = rng.permutation(features)
        sets[-1, lots[np.argsort(-theta[lots], kind="stable")[: self.size]]] = True
        return sets

    def _in_first_blocks(self, order: NDArray[np.intp]) -> Mask:
        """Return which features lie in the blocks that are reached first, or in none."""
        blocks = self.block_of[order]
        reached = [block for block in dict.fromkeys(blocks.tolist()) if block >= 0][: self.max_blocks]
        return np.isin(blocks, [*reached, -1])

    def _children(self, sets: Mask, selectable: Mask, rng: np.random.Generator) -> Mask:
        """Return as many children as there are sets, which come best first: the better, the likelier a parent."""
        n = len(sets)
        chance = np.arange(n, 0, -1) / (n * (n + 1) / 2)
        mother, father = (sets[rng.choice(n, n, p=chance)] for _ in range(2))
        crossed = rng.random(n) < _CROSSOVER
        children = np.where(crossed[:, None] & (rng.random(sets.shape) < 0.5), father, mother)
        changed = np.flatnonzero(rng.random(n) < _MUTATION)
        features = rng.choice(np.flatnonzero(selectable), len(changed))
        children[changed, features] ^= True
        return children
