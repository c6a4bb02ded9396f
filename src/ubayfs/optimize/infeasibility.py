"""Why hard inequalities cannot hold together: an irreducible contradicting group of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._arguments import Ints
from ..constraints.utility import Utility
from ..exceptions import InfeasibleError
from .base import Limit
from .cells import best_of_all, few_sets
from .presolve import reduce
from .program import Programs


class Conflict(NamedTuple):
    """Hard inequalities that contradict each other."""

    rows: Ints  # of the system
    reduced: bool  # whether any proper part of them can hold; False when a limit ended the search


def explain_conflict(utility: Utility, limit: Limit | None = None) -> InfeasibleError:
    """Return the error that names a group of hard inequalities which contradict each other.

    The hard inequalities of the utility cannot all hold. Once the limit is reached, the smallest group found so far is
    named, as not reduced.
    """
    conflict = find_conflict(utility, limit)
    labels = tuple(utility.system.label(int(row)) for row in conflict.rows)
    positions = tuple(sorted({utility.system.position(int(row)) for row in conflict.rows}))
    shown = InfeasibleError("", labels, positions, conflict.reduced).shown
    message = f"No feature set satisfies all hard constraints. These cannot hold together: {shown}."
    blocked = int((~utility.selectable).sum())
    if blocked:
        reasons = utility.excluded_by
        kinds = ["constant columns" if reason == "constant" else f"those that {reason} excludes" for reason in reasons]
        which = f": {' and '.join(kinds)}" if kinds else ""
        message += f" ({blocked} feature(s) may not be selected at all{which}.)"
    message += " Drop one of them, or soften it with a price."
    return InfeasibleError(message, labels, positions, conflict.reduced)


def find_conflict(utility: Utility, limit: Limit | None = None) -> Conflict:
    """Return a group of the hard inequalities that contradicts itself: irreducible, unless the limit is reached."""
    hard = np.flatnonzero(np.isinf(utility.system.rho))
    search = _Reduction(utility, hard, limit or Limit())
    try:
        return Conflict(search.irreducible(np.empty(0, dtype=np.intp), hard, False), True)
    except _LimitReachedError:
        return Conflict(np.sort(search.smallest), False)


class _LimitReachedError(Exception):
    """It is not known whether some inequalities contradict each other."""


class _Reduction:
    """Looks for an irreducible part of inequalities that contradict each other."""

    def __init__(self, utility: Utility, rows: Ints, limit: Limit) -> None:
        self.utility = utility
        self.limit = limit
        self.smallest = rows  # the smallest group known to contradict itself

    def irreducible(self, fixed: Ints, rows: Ints, check: bool) -> Ints:
        """Return an irreducible part of `rows` (inequalities) that contradicts itself and `fixed`.

        Halves the rows instead of leaving them out one by one: a group of g among n rows takes about
        ``g log(n / g)`` programs.

        References
        ----------
        Junker, "QuickXplain: preferred explanations and relaxations for over-constrained problems", AAAI 2004.
        """
        if check and not self._feasible(fixed):
            return np.empty(0, dtype=np.intp)
        if len(rows) == 1:
            return rows
        head, tail = rows[: len(rows) // 2], rows[len(rows) // 2 :]
        # First what of the tail is needed beside the whole head, then what of the head is needed beside that.
        from_tail = self.irreducible(np.concatenate([fixed, head]), tail, len(head) > 0)
        from_head = self.irreducible(np.concatenate([fixed, from_tail]), head, len(from_tail) > 0)
        return np.sort(np.concatenate([from_head, from_tail]))

    def _feasible(self, rows: Ints) -> bool:
        if self.limit.reached():
            raise _LimitReachedError
        part = reduce(self.utility, rows, np.flatnonzero(self.utility.selectable)).utility
        if few_sets(part):
            feasible = bool(np.isfinite(best_of_all(part, -np.inf).value))
        else:
            # A cell that begins at -inf has the hard inequalities alone; its upper end only changes the score.
            answer = Programs(part).solve(-np.inf, -1.0, self.limit)
            if answer.chosen is None and not answer.infeasible:
                raise _LimitReachedError
            feasible = not answer.infeasible
        if not feasible and len(rows) < len(self.smallest):
            self.smallest = rows
        return feasible
