"""Optimizers: the feature set with the highest score.

`Exact` finds it with a proof: exact (the method and why it is right) -> size_bounds, local_search, tabu_search,
presolve -> block_decomposition -> cells -> program. `Genetic` is the paper's method: genetic -> algorithm1.
Both are used through `base`; alternatives lists further sets, infeasibility explains why there is none.

>>> from ubayfs import maximize, max_size
>>> from ubayfs.optimize import OPTIMIZERS, Exact
>>> sorted(OPTIMIZERS)
['exact', 'genetic']
>>> maximize([0.5, 0.3, 0.2], max_size(1), optimizer=Exact(time_limit=10)).indices.tolist()
[0]
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .._arguments import check_choice
from ..exceptions import InputError, repr_of
from .base import Optimizer, Solution
from .exact import Exact
from .genetic import Genetic

__all__ = ["OPTIMIZERS", "Exact", "Genetic", "Optimizer", "Solution", "as_optimizer"]

OPTIMIZERS: dict[str, type[Any]] = {"exact": Exact, "genetic": Genetic}


def as_optimizer(optimizer: Any, time_limit: float | None = None) -> Optimizer:
    """Return an optimizer given by name or as a configured object, with a time limit if one is given."""
    if isinstance(optimizer, str):
        optimizer = OPTIMIZERS[check_choice("optimizer", optimizer, OPTIMIZERS)]()
    if not isinstance(optimizer, Optimizer) or isinstance(optimizer, type):
        names = ", ".join(map(repr, OPTIMIZERS))
        raise InputError.of(
            "optimizer", f"must be one of {names} or a configured object such as Exact(); got {repr_of(optimizer)}."
        )
    if time_limit is None:
        return optimizer
    if not hasattr(optimizer, "time_limit"):
        raise InputError.of(
            "time_limit",
            f"is not supported by {type(optimizer).__name__}; use the optimizer 'exact', or fewer generations.",
        )
    return replace(optimizer, time_limit=time_limit)  # type: ignore[type-var]
