r"""An inequality that allows few blocks, decomposed: one small program per group of blocks instead of a large one.

Let an inequality count some blocks (max-blocks, cannot-link on blocks), and let :math:`t` be the largest number of them
that a better set may touch: the bound of the inequality, or as many more as its penalty leaves room for. Every better
set touches at most the blocks of one group :math:`G` of :math:`t` of these blocks, so it consists of features that are
in none of the others. The groups therefore cover all better sets, and the best of their optima is the optimum.

A group is bounded by the sizes alone: the s highest importances among its features, the inequalities that depend only
on the size, and the penalty of the inequality itself where :math:`G` exceeds its bound. Groups are solved from the
highest bound on; those bounded by a score already reached need no program. This bound is close where a linear program
is not: there half a block counts half, so that the solver must rule out all mixtures of blocks by branching.
"""

from __future__ import annotations

from itertools import chain, combinations
from math import comb
from typing import NamedTuple

import numpy as np

from .._arguments import Floats, Ints, Mask, mask_of
from ..constraints.utility import Utility, score_tolerance
from .base import Limit
from .cells import CellResult, CellSearch, best_of_all, enumerable, few_sets, has_extreme_range, lowest_log_kappa
from .presolve import reduce, rows_within
from .program import RowGrid
from .size_bounds import SizeBounds

# Groups times features: bounding them all takes a few hundredths of a second at most.
_MOST_ENTRIES = 1e6
# So many groups are solved one by one; what remains then is solved together.
_MOST_PROGRAMS = 32


class Groups(NamedTuple):
    """Parts of a problem that cover every set with a score above the cutoff."""

    members: Mask  # features that a set in this part may contain, (n_groups, n_features)
    log_kappa: Floats  # upper bound for the sets in this part that are in no earlier one, (n_groups,)


def search(utility: Utility, cutoff: float, largest_importance: float, limit: Limit | None = None) -> CellResult:
    """Maximize a utility whose features are all selectable: by enumeration if tiny, by groups of blocks if possible.

    Parameters and result are those of :class:`~ubayfs.optimize.cells.CellSearch`.
    """
    if few_sets(utility) or (enumerable(utility) and has_extreme_range(utility)):
        return best_of_all(utility, cutoff)
    groups = block_groups(utility, min(lowest_log_kappa(utility, cutoff, largest_importance), 0.0))
    if groups is None or np.isneginf(cutoff):  # without a score to beat, every group would have to be solved
        return CellSearch(utility, cutoff, largest_importance, limit).run()
    return _best_of(utility, groups, cutoff, limit or Limit())


def block_groups(utility: Utility, log_kappa: float) -> Groups | None:
    """Return the groups of the inequality that needs fewest; None if there is none such or it needs too many.

    Sets below `log_kappa` are of no interest.
    """
    if utility.system.n_blocks == 0:
        return None
    n, grid = utility.n_features, RowGrid.from_utility(utility)
    highest = grid.highest_level(log_kappa) if np.isfinite(log_kappa) else np.where(grid.hard, 0.0, np.inf)
    fewest, narrowest = _MOST_ENTRIES / max(n, 1), None
    for row in np.flatnonzero(grid.on_grid & (highest < grid.top_level)).tolist():
        part = slice(grid.A.indptr[row], grid.A.indptr[row + 1])
        columns, ceiling = grid.A.indices[part], int(grid.ceiling[row])
        if (columns < n).any() or (grid.A.data[part] != 1.0).any():
            continue  # it does not count blocks
        # The largest groups cover all better sets. Smaller ones cover theirs at a lower penalty, or at none.
        sizes = range(max(ceiling, 0), ceiling + int(highest[row]) + 1)
        count = sum(comb(len(columns), size) for size in sizes)
        if 1 < count <= fewest:
            fewest, narrowest = count, (row, columns - n, sizes)
    if narrowest is None:
        return None
    row, blocks, sizes = narrowest
    inside = np.zeros((int(fewest), len(blocks)), dtype=bool)
    for number, group in enumerate(chain.from_iterable(combinations(range(len(blocks)), size) for size in sizes)):
        inside[number, list(group)] = True
    elsewhere = utility.system.blocks[blocks].T.astype(np.float64) @ (~inside).T.astype(np.float64)
    # A feature is a member where it is in none of the counted blocks outside the group.
    return Groups(elsewhere.T == 0.0, -grid.penalty(row, inside.sum(axis=1) - grid.ceiling[row]))


def group_bounds(utility: Utility, groups: Groups) -> Floats:
    """Bound the score of the sets in each group by their sizes; shape (n_groups,)."""
    sizes = SizeBounds.from_utility(utility)
    # Per group: after the j-th feature by importance, the sum over its members so far bounds sets of as many members.
    ordered = groups.members[:, sizes.order]
    importance = np.cumsum(ordered * utility.theta[sizes.order], axis=1)
    log_kappa = sizes.log_kappa[np.cumsum(ordered, axis=1)] + groups.log_kappa[:, None]
    empty = utility.combine(0.0, sizes.log_kappa[0] + groups.log_kappa)
    return np.maximum(empty, utility.combine(importance, log_kappa).max(axis=1, initial=-np.inf))


def _best_of(utility: Utility, groups: Groups, cutoff: float, limit: Limit) -> CellResult:
    """Solve groups from the highest bound on, until no remaining one may contain a better set."""
    bounds = group_bounds(utility, groups)
    order = np.argsort(-bounds, kind="stable")
    best, chosen, settled, n_programs = cutoff, None, -np.inf, 0
    for number, group in enumerate(order.tolist()):
        if bounds[group] <= best + score_tolerance(best) or limit.reached():
            settled = max(settled, float(bounds[group]))
            break
        last = number == _MOST_PROGRAMS
        rest = order[number:][bounds[order[number:]] > best] if last else order[number : number + 1]
        features = np.flatnonzero(groups.members[rest].any(axis=0))
        part = _solve_part(utility, features, best, limit)
        n_programs += part.n_programs
        settled = max(settled, min(float(bounds[group]), part.bound))
        if part.chosen is not None:
            best, chosen = part.value, part.chosen
        if last:
            break
    return CellResult(chosen, best, max(best, settled), n_programs)


def _solve_part(utility: Utility, features: Ints, best: float, limit: Limit) -> CellResult:
    """Search for a better set among some features."""
    whole = reduce(utility, rows_within(utility.system, features), features).utility
    sizes = SizeBounds.from_utility(whole)
    plausible = sizes.plausible(best)
    if len(plausible) == 0:
        return CellResult(None, best, best, 0)
    contenders = np.sort(sizes.contenders(best))
    part = reduce(whole, rows_within(whole.system, contenders), contenders)
    result = CellSearch(part.utility, best, float(sizes.importance[plausible[-1]]), limit).run()
    if result.chosen is None:
        return result
    return result._replace(chosen=mask_of(features[contenders[result.chosen]], utility.n_features))
