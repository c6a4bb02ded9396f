"""What an optimizer must offer, what it returns, and how much work it may do."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from .._arguments import Mask
from ..constraints.utility import Utility, score_tolerance
from ..exceptions import OptimizationError


@dataclass(frozen=True, eq=False)
class Solution:
    """A feature set and what is known about it.

    Attributes
    ----------
    chosen : ndarray of bool of shape (n_features,)
    value : float
        Its score, that is its utility.
    bound : float
        No set has a higher score than this; it equals the value where the tolerance of scores cannot tell them apart.
    complete : bool
        False when a limit ended the search early.
    info : mapping
        Facts about the search for people: number of programs, generations, ...
    """

    chosen: Mask
    value: float
    bound: float
    complete: bool = True
    info: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.bound <= self.value + score_tolerance(self.value):
            object.__setattr__(self, "bound", self.value)

    @property
    def gap(self) -> float:
        """Bound minus value."""
        return self.bound - self.value


@runtime_checkable
class Optimizer(Protocol):
    """Finds a set with a high score."""

    def maximize(self, utility: Utility, random_state: Any = None) -> Solution:
        """Return the best set found; raise InfeasibleError when hard inequalities contradict each other."""


@dataclass(eq=False)
class Limit:
    """The work that an exact search has left; every program uses some of it."""

    deadline: float | None = None  # by time.monotonic
    # Branch-and-bound nodes; each program takes at least one. Unlike time, they end the search at the same place on
    # every machine.
    nodes: int | None = None
    # Inequalities "at most one of two" in one program: with very many it may take minutes for its first node.
    pairs: int | None = None
    # Seconds by which the solver came too late, of all parts of the work.
    overruns: list[float] = field(default_factory=lambda: [0.0])
    whole: Limit | None = None  # of which this one is a share

    def reached(self) -> bool:
        """Return whether nothing is left."""
        return self.seconds() <= 0.0 or (self.nodes is not None and self.nodes <= 0)

    def seconds(self) -> float:
        """Return the seconds left, less by how late the solver, which rarely looks at the clock, came before."""
        return np.inf if self.deadline is None else self.deadline - time.monotonic() - max(self.overruns)

    def spend(self, nodes: int) -> None:
        """Subtract the nodes of one program."""
        if self.nodes is not None:
            self.nodes -= max(nodes, 1)
        if self.whole is not None:
            self.whole.spend(nodes)

    def share(self, share: float, nodes: int | None = None) -> Limit:
        """Return a limit for a part of the work: this share of the time if it is limited, and so many nodes."""
        now = 0.0 if self.deadline is None else time.monotonic()
        deadline = None if self.deadline is None else now + share * max(self.deadline - now, 0.0)
        few = min((limit for limit in (nodes, self.nodes) if limit is not None), default=None)
        return Limit(deadline, few, self.pairs, self.overruns, self)

    @contextmanager
    def solver_options(self) -> Iterator[dict[str, Any]]:
        """Give what is left as options for the solver, which runs meanwhile."""
        options: dict[str, Any] = {} if self.nodes is None else {"node_limit": max(self.nodes, 1)}
        if self.deadline is not None:
            options["time_limit"] = max(self.seconds(), 1e-3)
        yield options
        if self.deadline is not None:
            self.overruns.append(time.monotonic() - self.deadline)


def best_solution(optimizer: Optimizer, utility: Utility, random_state: Any) -> Solution:
    """Return what the optimizer finds, unless it violates a hard constraint."""
    solution = optimizer.maximize(utility, random_state)
    if np.isneginf(solution.value):
        raise OptimizationError(
            f"{type(optimizer).__name__} found no set that keeps all hard constraints; use "
            "optimizer='exact', which finds one or names the constraints that contradict each other."
        )
    return solution
