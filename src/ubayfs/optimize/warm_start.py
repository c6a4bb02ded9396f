"""Deciding again and again under the same rows, with other importances each time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..utility import Utility, as_sparse_sets
from .base import Optimizer, Solution
from .exact import Exact

# Sets to choose a beginning from.
_MOST_SETS = 100


class Again:
    """An exact optimizer that begins with the best of the sets it found before.

    Under random importances no two sets are equally good, so that the beginning changes the time and not the answer.

    Parameters
    ----------
    optimizer : Exact
    """

    def __init__(self, optimizer: Exact) -> None:
        self._optimizer = optimizer
        self._sets: list[NDArray[np.bool_]] = []
        self._admissible: list[float] = []  # what the rows add to the value of each

    def maximize(self, utility: Utility, random_state: Any = None) -> Solution:
        """Return the best set; utilities may differ in their importances only."""
        solution = self._beginning(utility).maximize(utility, random_state)
        if len(self._sets) < _MOST_SETS and not any(np.array_equal(solution.chosen, one) for one in self._sets):
            self._sets.append(solution.chosen)
            self._admissible.append(solution.value - float(utility.theta[solution.chosen].sum()))
        return solution

    def _beginning(self, utility: Utility) -> Exact:
        if not self._sets:
            return self._optimizer
        values = as_sparse_sets(np.array(self._sets)) @ utility.theta + np.array(self._admissible)
        return replace(self._optimizer, begin_with=np.flatnonzero(self._sets[int(np.argmax(values))]))


def deciding_again(optimizer: Optimizer) -> Optimizer:
    """Return an optimizer for many utilities that differ in their importances only; others than Exact as they are."""
    return Again(optimizer) if isinstance(optimizer, Exact) else optimizer
