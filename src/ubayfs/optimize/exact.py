r"""The best feature set, exactly, with a certificate.

To maximize over all sets :math:`\delta`, with hard inequalities never violated (a *row* is one inequality, a row of
the matrix A; the value of u is the *score* of a set):

.. math:: u(\delta) = \theta^T\delta + \lambda\,\kappa(\delta), \qquad
          \log\kappa(\delta) = \sum_k g_k(a_k^T z - b_k), \qquad
          g_k(v) = \log 2 - \log(1 + e^{\rho_k v}) \text{ for } v > 0, \text{ else } 0.

**Why a linear program bounds it.**

1. Each :math:`g_k` is concave and not increasing: its slope is 0 up to the bound, then falls from
   :math:`-\rho_k/2` towards :math:`-\rho_k`. Hence :math:`s \le \log\kappa(\delta)` is implied by linear rows
   :math:`s \le -\sum_k p_k`, with each :math:`p_k` above some lines that lie below the convex function :math:`-g_k`.
   Where :math:`a_k^T z` takes values on a grid only (integer coefficients), the chords between neighboring grid
   values are exact on the grid. Elsewhere tangents are, at the points where they touch; they are added where a
   solution needs them.
2. What remains is :math:`e^s`, a convex function of one variable. On an interval (a *cell*) :math:`L \le s \le U`
   it lies below its chord. Replacing it by the chord gives a mixed-integer *linear* program whose optimum is an upper
   bound of :math:`u` over all sets with :math:`\log\kappa(\delta)` in the cell: such a set with
   :math:`s = \log\kappa(\delta)` is feasible and its objective is at least :math:`u(\delta)`.
3. The true score of the program's solution is a lower bound. If both agree, the cell is finished. If not, split the
   cell at :math:`\log\kappa` of the solution: a chord is exact at its ends, so in both parts that solution counts with
   its true score only, and is cut off by the score already reached. There are finitely many sets, so this ends;
   ordinary problems take two to fifteen programs.

**Why the cells cover all sets.** Let :math:`T` bound the importance :math:`\theta^T\delta` and let :math:`u^*` be a
score already reached. If :math:`u^* > T`, a better set needs :math:`\kappa > (u^* - T)/\lambda`, which is the lower end
of the first cell. Otherwise sets with :math:`\kappa < \epsilon` form a cell of their own, in which soft rows do not
count at all: the best importance under the hard rows, plus :math:`\lambda\epsilon`, bounds it, and
:math:`\lambda\epsilon` is a quarter of the tolerated gap. No floor on :math:`s` is assumed.
In a cell :math:`[L, U]` no row may be violated so far that :math:`g_k < L`: this makes most soft rows hard
there, which is why the programs are small.

**Why features that exclude each other bound it** much closer than sizes alone do is shown in
:mod:`ubayfs.optimize.size_bounds`.

**Why presolve loses nothing** is shown in :mod:`ubayfs.optimize.presolve`; rows left out there only raise the bound,
and they are put back until the best set of the program has the same score under all rows.

**Why a row that allows few blocks is decomposed** into small programs is shown in
:mod:`ubayfs.optimize.block_decomposition`.

The solver (HiGHS, through :func:`scipy.optimize.milp`) works to tolerances. Its answers are therefore rounded to sets
and evaluated by :class:`~ubayfs.constraints.utility.Utility`; only these scores are reported. A set whose true score is
below the solver's is excluded explicitly (a no-good cut) when nothing else explains the difference. Hard rows
whose coefficients differ by less than the solver can tell are also passed to it on the scale of these differences
(:mod:`ubayfs.optimize.program`), and small problems are enumerated when cuts do not help
(:mod:`ubayfs.optimize.cells`).

**A proof that takes long** gains from a better set. When a first attempt of a few hundred nodes proves nothing, a tabu
search (:mod:`ubayfs.optimize.tabu_search`) looks for one, and the proof starts anew with what it found. Every bound
holds for all sets, so that the attempt's bound remains valid.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._arguments import Mask, check_int, check_real, mask_of
from ..constraints.system import ConstraintSystem
from ..constraints.utility import Utility, as_sparse_sets, score_tolerance
from ..exceptions import InfeasibleError, InputError, OptimizationError
from .base import Limit, Optimizer, Solution
from .block_decomposition import search
from .core import has_core
from .infeasibility import explain_conflict
from .local_search import good_set
from .presolve import Fillers, Reduced, reduce, within_bounds
from .size_bounds import SizeBounds
from .tabu_search import TabuSearch

# Whether hard constraints contradict each other shows at once, as a rule; what takes longer shows when it is decided.
_SECONDS = 10.0
# Sets from which a warm start chooses where to begin.
_MOST_SETS = 100
# A first attempt may take so many nodes of branch and bound (ordinary problems take one to a hundred) and, if time is
# limited, this share of it. If it proves nothing, a longer search for a better set comes next.
_ATTEMPT_NODES, _ATTEMPT_SHARE = 200, 0.15
# Steps of the longer search, and the share of the time that it may take: about a second for a hundred features.
_TABU_STEPS, _TABU_SHARE = 6000, 0.4


@dataclass(frozen=True)
class Exact:
    """Finds the best set and proves it.

    Parameters
    ----------
    time_limit : float or None
        Seconds after which the best set found so far is returned, with a bound that still holds.
    begin_with : array-like of int or None
        Positions of features: a set that may be close to the best one, such as ``selection.indices`` of an earlier
        decision. It makes deciding again faster and the answer no less exact; only among sets of equal score may
        another one be found.

    See Also
    --------
    Genetic : The algorithm of the paper.

    Examples
    --------
    >>> from ubayfs import Evidence, Exact, decide
    >>> evidence = Evidence.from_sets([[1, 1, 0], [1, 0, 0]], ["radius", "area", "texture"])
    >>> decide(evidence, max_size=1, optimizer=Exact(time_limit=60)).gap
    0.0
    """

    time_limit: float | None = None
    begin_with: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.time_limit is not None:
            check_real("time_limit", self.time_limit, low=0.0, low_open=True)
        if self.begin_with is not None:
            values = np.ravel(np.asarray(self.begin_with, dtype=object)).tolist()
            positions = tuple(check_int("begin_with: position", value, low=0) for value in values)
            object.__setattr__(self, "begin_with", positions)

    def maximize(self, utility: Utility, random_state: Any = None) -> Solution:
        """Return the best set.

        Parameters
        ----------
        utility : Utility
        random_state : ignored
            The method is deterministic.

        Returns
        -------
        solution : Solution
            ``gap`` is 0 unless the time limit was reached.
        """
        limit = Limit()  # the search gives it the deadline
        solution = self.search(utility, limit)
        if solution is None:
            raise explain_conflict(utility, limit)
        return solution

    def search(self, utility: Utility, limit: Limit | None = None) -> Solution | None:
        """Return the best set, or None if no set satisfies all hard inequalities: without searching for the reason.

        When the nodes of `limit` are spent, or a program would have too many pairs for it, the best set found so far is
        returned, with a bound that still holds.
        """
        limit, half_time = limit or Limit(), None
        if self.time_limit is not None:
            # The start may take half of the time: the proof needs the rest.
            begin = time.monotonic()
            limit.deadline, half_time = begin + self.time_limit, begin + self.time_limit / 2
        utility = within_bounds(utility)
        begin_with = self._begin_with(utility)
        sizes = SizeBounds.from_utility(utility)
        bound = float(sizes.value.max())
        if np.isneginf(bound):
            return None
        if sizes.only_size:
            return _best_by_size(sizes)
        chosen = good_set(utility, half_time, begin_with)
        best = -np.inf if chosen is None else float(utility(chosen)[0])
        if bound <= best + score_tolerance(best) and chosen is not None:
            return _solution(utility, chosen, max(bound, best), True, n_programs=0)
        # Only sets better than `best` matter from here on: features that exclude each other then bound their scores.
        groups = sizes.grouped(best)
        bound = min(bound, float(groups.value.max()))
        if chosen is None and np.isneginf(bound):
            return None
        return _Rounds(groups, chosen, best, bound, limit).run()

    def _begin_with(self, utility: Utility) -> Mask | None:
        if self.begin_with is None:
            return None
        if max(self.begin_with, default=-1) >= utility.n_features:
            raise InputError(
                f"begin_with must contain positions of features, from 0 to {utility.n_features - 1}; got "
                f"{max(self.begin_with)}. Pass the indices of a set of the same features."
            )
        return mask_of(list(self.begin_with), utility.n_features) & utility.selectable


def contradiction(system: ConstraintSystem, selectable: Mask) -> InfeasibleError | None:
    """Return what contradicts itself among hard constraints, before there are votes; None also if it takes long."""
    hard = system.take(np.flatnonzero(np.isinf(system.rho)))
    if (hard.b >= 0).all():
        return None  # the empty set satisfies them
    try:  # no feature is worth anything: the first set that keeps the hard inequalities is as good as any other
        Exact(_SECONDS).maximize(Utility(np.zeros(system.n_features), hard, 1.0, selectable))
    except OptimizationError:
        pass  # not in this time; the decision may have more
    except InfeasibleError as error:
        return error
    return None


class _Rounds:
    """Solves programs with more and more pair rows until the best set of one has the same score under all rows."""

    def __init__(self, sizes: SizeBounds, chosen: Mask | None, best: float, bound: float, limit: Limit) -> None:
        self.utility, self.sizes, self.limit = sizes.utility, sizes, limit
        self.chosen, self.best, self.bound = chosen, best, bound
        self.attempt: Limit | None = limit.share(_ATTEMPT_SHARE, _ATTEMPT_NODES)
        self.n_programs = self.n_rounds = 0
        self.n_features = self.n_rows = 0

    def run(self) -> Solution | None:
        """Return the best set; None if no set satisfies all hard rows."""
        fillers: Fillers | None = None
        while True:
            plausible = self.sizes.plausible(self.best)
            if len(plausible) == 0 or self._proved():
                return self._finish(True)
            fillers = fillers or Fillers(self.utility, int(plausible[-1]), self.limit.pairs)
            reduced = self._reduce(fillers, max(int(plausible[-1]), 1))
            if reduced is None:
                return self._finish(False)
            if has_core(reduced.utility):
                self.attempt = None  # its programs look for better sets themselves
            largest_importance = float(self.sizes.importance[int(plausible[-1])])
            solved = self._solve_program(reduced, fillers, largest_importance)
            if self._proved():
                return None if self.chosen is None else self._finish(True)
            if self.limit.reached():
                return self._finish(False)
            if self.attempt is not None and self.attempt.reached():
                self.attempt = None
                self._search_longer(reduced, fillers, largest_importance)
            elif solved is None or not fillers.promote(solved):
                return self._finish(self._proved())

    def _reduce(self, fillers: Fillers, largest_size: int) -> Reduced | None:
        """Return the problem with the rows of the next program and the features that a better set may contain.

        None if it has too many pair rows.
        """
        contenders = self.sizes.contenders(self.best)
        rows = fillers.program_rows(contenders)
        if self.limit.pairs is not None and len(rows) - len(fillers.others) > self.limit.pairs:
            return None
        features = fillers.representatives(contenders, rows, largest_size)
        self.n_rounds += 1
        self.n_features, self.n_rows = len(features), len(rows)
        return reduce(self.utility, rows, features)

    def _solve_program(self, reduced: Reduced, fillers: Fillers, largest_importance: float) -> Mask | None:
        """Solve one reduced problem; update best and bound; return its set with fillers exchanged."""
        result = search(reduced.utility, self.best, largest_importance, self.attempt or self.limit)
        self.n_programs += result.n_programs
        self.bound = min(self.bound, result.bound)
        solved = None if result.chosen is None else self._record(reduced, fillers, result.chosen)
        if solved is not None and self.limit.pairs is not None:  # there may be no further round
            self._take(fillers.thinned(solved))
        return solved

    def _record(self, reduced: Reduced, fillers: Fillers, chosen: Mask) -> Mask:
        """Return a set of the reduced problem with fillers exchanged; remember it if it is better."""
        chosen = fillers.complete(reduced.lift(chosen, self.utility.n_features))
        self._take(chosen)
        return chosen

    def _take(self, chosen: Mask) -> None:
        """Remember a set if it is better than the best one so far."""
        value = float(self.utility(chosen)[0])
        if value > self.best:
            self.chosen, self.best = chosen, value

    def _search_longer(self, reduced: Reduced, fillers: Fillers, largest_importance: float) -> None:
        """Look for a better set: it cuts off more of a proof that takes long, and is the answer if time runs out."""
        now, deadline = time.monotonic(), self.limit.deadline
        start = np.zeros(len(reduced.features), dtype=bool) if self.chosen is None else self.chosen[reduced.features]
        tabu = TabuSearch(reduced.utility, start, largest_importance)
        improved = tabu.run(_TABU_STEPS, None if deadline is None else now + _TABU_SHARE * (deadline - now))
        self._record(reduced, fillers, improved)

    def _proved(self) -> bool:
        return self.bound <= self.best + score_tolerance(self.best)

    def _finish(self, complete: bool) -> Solution:
        if self.chosen is None:
            n_hard = int(np.isinf(self.utility.system.rho).sum())
            raise OptimizationError(
                f"time_limit was reached before any set was found that satisfies all {n_hard} hard inequalities; it is "
                "not known whether one exists. Give more time, or make some constraints soft with a finite rho."
            )
        return _solution(
            self.utility, self.chosen, max(self.bound, self.best), complete, n_programs=self.n_programs,
            n_rounds=self.n_rounds, n_features=self.n_features, n_rows=self.n_rows,
        )  # fmt: skip


def _best_by_size(sizes: SizeBounds) -> Solution:
    """Return the best set when all rows depend only on the size: the best set of each size is known, so scan sizes."""
    chosen = mask_of(sizes.order[: sizes.best_size()], sizes.utility.n_features)
    value = float(sizes.utility(chosen)[0])
    return Solution(chosen, value, value, True, {"n_programs": 0})


def _solution(utility: Utility, chosen: Mask, bound: float, complete: bool, **info: Any) -> Solution:
    """Return a set as a Solution, without members of zero importance that no row needs."""
    value = float(utility(chosen)[0])
    for feature in np.flatnonzero(chosen & (utility.theta == 0)):
        smaller = chosen.copy()
        smaller[feature] = False
        if utility(smaller)[0] >= value:
            chosen, value = smaller, float(utility(smaller)[0])
    return Solution(chosen, value, max(bound, value), complete, info)


class WarmStarted:
    """An exact optimizer that begins with the best of the sets it found before.

    For utilities that differ in their importances only. Under random importances no two sets are equally good, so that
    the beginning changes the time and not the answer.
    """

    def __init__(self, optimizer: Exact) -> None:
        self._optimizer = optimizer
        self._sets: list[Mask] = []
        self._admissibility_part: list[float] = []  # of the score of each set: lambda * kappa

    def maximize(self, utility: Utility, random_state: Any = None) -> Solution:
        """Return the best set."""
        solution = self._beginning(utility).maximize(utility, random_state)
        if len(self._sets) < _MOST_SETS and not any(np.array_equal(solution.chosen, chosen) for chosen in self._sets):
            self._sets.append(solution.chosen)
            self._admissibility_part.append(solution.value - float(utility.theta[solution.chosen].sum()))
        return solution

    def _beginning(self, utility: Utility) -> Exact:
        if not self._sets:
            return self._optimizer
        # u = theta^T delta + lambda kappa: the second term does not depend on theta, so it is evaluated once per set.
        values = as_sparse_sets(np.array(self._sets)) @ utility.theta + np.array(self._admissibility_part)
        return replace(self._optimizer, begin_with=np.flatnonzero(self._sets[int(np.argmax(values))]))


def warm_started(optimizer: Optimizer) -> Optimizer:
    """Return an optimizer for many utilities that differ in their importances only; any but Exact is returned as is."""
    return WarmStarted(optimizer) if isinstance(optimizer, Exact) else optimizer
