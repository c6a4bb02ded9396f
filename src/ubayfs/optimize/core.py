r"""Many features under few inequalities, such as a budget or twenty: a small program finds what a large one does not.

The linear relaxation of a program with m rows leaves at most m features undecided. Each other one is in or out, and its
reduced cost is what the bound loses at least when it changes sides. Two things follow:

* Where the bound less the reduced cost does not exceed a known score, no better set has the feature on the other side:
  it is fixed there, and nothing is lost.
* Features of small reduced cost are the *core*. The best set that differs from the relaxation in the core alone is, as
  a rule, close to the best one, and a program of thirty or a hundred features finds it in a second.

References
----------
Balas and Zemel, "An algorithm for large zero-one knapsack problems", Operations Research 28 (1980); Angelelli, Mansini
and Speranza, "Kernel search: a general heuristic for the multi-dimensional knapsack problem", Computers & Operations
Research 37 (2010).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import sparse

from .._arguments import Floats, Ints, Mask, mask_of
from ..constraints.utility import Utility, score_tolerance
from .base import Limit
from .solver import SCALE, Answer, Program, solver_output_held_back

# Only problems with so many features, and so many for each inequality, have a core.
_FEWEST_FEATURES, _FEATURES_PER_ROW = 200, 4
# Features in the first core: at least so many, or so many for each inequality. The next one is twice as large.
_FEWEST_IN_CORE, _IN_CORE_PER_ROW = 24, 1.5
# The relaxation is solved over so many features at first: the solver does not look at the clock meanwhile.
_FIRST_COLUMNS = 4000
# A feature whose reduced cost is below this would not raise the bound.
_NOTHING = 1e-11
# Each core may take this share of the time that is left or, if time is not limited, so many nodes of branch and bound.
_SHARE, _NODES = 0.25, 2000


def has_core(utility: Utility) -> bool:
    """Return whether a problem has many features and few inequalities, none of them on blocks."""
    n, system = utility.n_features, utility.system
    return n >= max(_FEWEST_FEATURES, _FEATURES_PER_ROW * system.n_inequalities) and system.n_blocks == 0


class Relaxation(NamedTuple):
    """The optimum of a program whose features may be chosen in part."""

    program: Program
    bound: float  # no set of the program has a higher score
    inside: Mask  # features that are rather in than out, (n_features,)
    loss: Floats  # what the bound loses at least when a feature changes sides, (n_features,)

    @classmethod
    def from_program(cls, program: Program, limit: Limit) -> Relaxation | None:
        """Solve the relaxation over the best features, and again with those that would raise it.

        None if it has no solution, or none within the time.
        """
        n, value = program.n_features, program.objective[: program.n_features]
        free = mask_of(np.argsort(-value, kind="stable")[:_FIRST_COLUMNS], n)
        while True:
            kept = np.append(np.flatnonzero(free), np.arange(n, len(program.objective)))
            solved = _relaxed(program, kept, limit)
            if solved is None and not free.all() and not limit.reached():  # the others may be needed
                free[:] = True
                continue
            if solved is None:
                return None
            bound, x, prices = solved
            gain = value - program.A[:, :n].T @ prices  # reduced costs: of the features left out too
            # A feature left out, at 0, would raise the optimum only if its reduced cost is positive.
            missing = ~free & (gain > _NOTHING * SCALE)
            if not missing.any():
                inside = mask_of(np.flatnonzero(free)[x[: free.sum()] > 0.5], n)
                return cls(program, bound, inside, np.abs(gain) / SCALE)
            free |= missing

    def solve(self, free: Mask, limit: Limit) -> Answer:
        """Solve the program with all features but the free ones on the side that they are on."""
        program, n = self.program, self.program.n_features
        kept = np.append(np.flatnonzero(free), np.arange(n, len(program.objective)))
        ones = self.inside & ~free
        taken = program.A[:, :n] @ ones.astype(np.float64)
        objective, lower, upper = (values[kept] for values in (program.objective, program.lower, program.upper))
        constant = program.constant + float(program.objective[:n][ones].sum()) / SCALE
        A, low, high = program.A[:, kept], program.low - taken, program.high - taken
        answer = Program(objective, A, low, high, lower, upper, int(free.sum()), constant).solve(limit)
        if answer.chosen is None:
            return answer
        chosen = self.inside.copy()
        chosen[free] = answer.chosen
        return answer._replace(chosen=chosen)

    def undecided(self, cutoff: float) -> Mask:
        """Return the features that may be on either side in a set with a score above the cutoff."""
        # A feature on the other side bounds the score by bound - loss.
        return self.loss <= self.bound - cutoff + score_tolerance(self.bound)

    def parts(self, limit: Limit) -> Iterator[tuple[Mask, Limit]]:
        """Give larger and larger cores, each with its limit, until the limit is reached."""
        order = np.argsort(self.loss, kind="stable")
        size = max(_FEWEST_IN_CORE, int(_IN_CORE_PER_ROW * self.program.A.shape[0]))
        while size < len(order) and not limit.reached():
            yield mask_of(order[:size], len(order)), limit.share(_SHARE, _NODES if limit.deadline is None else None)
            size *= 2


def _relaxed(program: Program, kept: Ints, limit: Limit) -> tuple[float, Floats, Floats] | None:
    """Return the optimum of a relaxation with some columns only, their values, and the price of each row."""
    from scipy.optimize import linprog

    # linprog knows rows <= b only: low <= A x becomes -A x <= -low.
    A, at_most, at_least = program.A[:, kept].tocsr(), np.isfinite(program.high), np.isfinite(program.low)
    rows, b = sparse.vstack([A[at_most], -A[at_least]], format="csc"), program.high[at_most]
    bounds = np.column_stack([program.lower[kept], program.upper[kept]])
    with solver_output_held_back, limit.solver_options() as options:
        options.pop("node_limit", None)
        b = np.append(b, -program.low[at_least])
        result = linprog(-program.objective[kept], A_ub=rows, b_ub=b, bounds=bounds, method="highs", options=options)
    if result.status != 0:
        return None
    # The marginals are derivatives of the minimum, which is minus our maximum, by the right-hand sides; those of rows
    # that were negated change their sign again.
    prices, split = np.zeros(len(program.high)), int(at_most.sum())
    prices[at_most] -= result.ineqlin.marginals[:split]
    prices[at_least] += result.ineqlin.marginals[split:]
    return program.constant - result.fun / SCALE, result.x, prices
