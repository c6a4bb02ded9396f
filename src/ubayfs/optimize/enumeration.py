"""The best set of a very small problem, by looking at all sets."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..utility import Utility
from .cells import CellResult

# Problems with more features are given to the solver. It takes 10 ms for a problem of ten; this a tenth.
_MOST_FEATURES = 12
# Sets times rows: all of them are evaluated at once.
_MOST_ENTRIES = 2**18


def few_sets(utility: Utility) -> bool:
    """Return whether looking at all sets is the fastest way."""
    n = utility.n_features
    return n <= _MOST_FEATURES and utility.system.n_inequalities << n <= _MOST_ENTRIES


def best_of_all(utility: Utility, known: float) -> CellResult:
    """Return the best of all sets, if it is worth more than the one known; parameters as in CellSearch."""
    sets = _all_sets(utility.n_features)
    values = utility(sets)
    best = int(np.argmax(values))
    value = float(values[best])
    if np.isneginf(value) and np.isneginf(known):
        return CellResult(None, -np.inf, -np.inf, 0)
    return CellResult(sets[best] if value > known else None, max(value, known), max(value, known), 0)


@lru_cache(maxsize=_MOST_FEATURES + 1)
def _all_sets(n_features: int) -> NDArray[np.bool_]:
    """Return every set, the empty one first; shape (2 ** n_features, n_features)."""
    sets = ((np.arange(2**n_features)[:, None] >> np.arange(n_features)) & 1).astype(bool)
    sets.flags.writeable = False
    return sets
