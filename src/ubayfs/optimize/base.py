"""What an optimizer returns, and what it must offer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..utility import Utility


@dataclass(frozen=True, eq=False)
class Solution:
    """A feature set and what is known of it.

    Attributes
    ----------
    chosen : ndarray of bool of shape (n_features,)
    value : float
        Its utility.
    bound : float
        No set is worth more than this.
    complete : bool
        False when a time limit ended the search early.
    info : mapping
        What a person may want to see: number of programs, generations, ...
    """

    chosen: NDArray[np.bool_]
    value: float
    bound: float
    complete: bool = True
    info: Mapping[str, Any] = field(default_factory=dict)

    @property
    def gap(self) -> float:
        """Bound minus value."""
        return self.bound - self.value


@runtime_checkable
class Optimizer(Protocol):
    """Finds a set of high utility."""

    def maximize(self, utility: Utility, random_state: Any = None) -> Solution:
        """Return the best set that it finds; raise InfeasibleError when hard rows contradict each other."""
