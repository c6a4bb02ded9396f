"""Why hard inequalities cannot hold together: an irreducible contradicting group of them."""

from __future__ import annotations

import numpy as np

from .._arguments import Ints
from ..exceptions import InfeasibleError
from ..utility import Utility
from .cells import best_of_all, few_sets
from .presolve import reduce
from .program import Programs


def explain_conflict(utility: Utility) -> InfeasibleError:
    """Return the error that names an irreducible group of hard inequalities which contradict each other.

    The hard inequalities of the utility cannot all hold.
    """
    hard = np.flatnonzero(np.isinf(utility.system.rho))
    group = _irreducible(utility, np.empty(0, dtype=np.intp), hard, False)
    labels = tuple(utility.system.label(int(row)) for row in group)
    blocked = int((~utility.selectable).sum())
    message = (
        f"No feature set satisfies all hard constraints (rho = inf). These cannot hold together: {'; '.join(labels)}."
    )
    if blocked:
        message += (
            f" ({blocked} feature(s) may not be selected at all: constant columns, or fewer votes than min_votes.)"
        )
    message += " Drop one of them or make it soft with a finite rho."
    positions = sorted({utility.system.position(int(row)) for row in group})
    return InfeasibleError(message, labels, tuple(positions))


def _feasible(utility: Utility, rows: Ints) -> bool:
    part = reduce(utility, rows, np.flatnonzero(utility.selectable)).utility
    if few_sets(part):
        return bool(np.isfinite(best_of_all(part, -np.inf).value))
    return not Programs(part).solve(-np.inf, -1.0, None).infeasible


def _irreducible(utility: Utility, fixed: Ints, rows: Ints, check: bool) -> Ints:
    """Return an irreducible part of `rows` (inequalities) that contradicts itself and `fixed`.

    Halves the rows instead of leaving them out one by one: a group of g among n rows takes about
    ``g log(n / g)`` programs.

    References
    ----------
    Junker, "QuickXplain: preferred explanations and relaxations for over-constrained problems", AAAI 2004.
    """
    if check and not _feasible(utility, fixed):
        return np.empty(0, dtype=np.intp)
    if len(rows) == 1:
        return rows
    left, right = rows[: len(rows) // 2], rows[len(rows) // 2 :]
    from_right = _irreducible(utility, np.concatenate([fixed, left]), right, len(left) > 0)
    from_left = _irreducible(utility, np.concatenate([fixed, from_right]), left, len(from_right) > 0)
    return np.sort(np.concatenate([from_left, from_right]))
