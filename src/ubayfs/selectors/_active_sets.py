"""Lassos of a few columns each, many side by side: the least of w'Gw / 2 - c'w + penalty |w|_1, exactly.

Active columns are those whose weight is not 0. While they and their signs stay the same, the least is where
G_AA w_A = c_A - penalty * signs. Weights move there, or as far as none of them changes its sign; one that would do so
becomes 0 and leaves. From the least among active columns, those whose correlation c - Gw violates the penalty most
enter. Each move makes the objective smaller, so that nothing repeats, and the end is exact: the solution of linear
equations, at which no column violates the penalty (Osborne et al. 2000; Lee et al. 2006). Inverses of G_AA are updated
with each column that enters or leaves, for all lassos in one NumPy expression.
"""

from __future__ import annotations

import numpy as np

from .._arguments import Array, Floats, Ints, Mask
from ..exceptions import UBayFSError
from ._subsample import COLLINEAR

# A column outside violates the penalty when its correlation exceeds it by more than this share of it.
VIOLATION = 1e-9

# Columns that enter before weights move.
_TOGETHER = 4
_ROOM = 8  # free slots to begin with, and each time that there are too few


def minimize(gram: Floats, c: Floats, weights: Floats, penalty: Floats) -> Floats:
    """Return the weights at the least, from others that are nearby.

    `gram` has shape (n_problems, k, k), `c` and `weights` have shape (n_problems, k). Columns with a weight must not
    determine each other.

    >>> gram = np.array([[[1.0, 0.5], [0.5, 1.0]]])
    >>> minimize(gram, np.array([[1.0, 0.7]]), np.zeros((1, 2)), np.array([0.4]))
    array([[0.6, 0. ]])
    """
    active = ActiveSets(gram, c, weights, penalty)
    for _ in range(100 * (gram.shape[1] + 10)):
        if active.improve():
            return active.weights
    raise UBayFSError("the lasso did not converge.")


class ActiveSets:
    """The active columns of each problem, in slots that are filled in any order."""

    def __init__(self, gram: Floats, c: Floats, weights: Floats, penalty: Floats) -> None:
        self._gram, self._c, self._penalty = gram, c, penalty[:, None]
        self._problems = np.arange(len(gram))
        n_active = (weights != 0).sum(axis=1)
        self._columns = np.argsort(weights == 0, axis=1, kind="stable")[:, : n_active.max(initial=0)]
        self._filled = np.arange(self._columns.shape[1]) < n_active[:, None]
        self._weights = self._in_slots(weights)
        self._signs = np.sign(self._weights)
        self._rows = gram[self._problems[:, None], self._columns] * self._filled[:, :, None]
        self._right = self._in_slots(c)
        inside = np.take_along_axis(self._rows, self._columns[:, None, :], axis=2) * self._filled[:, None, :]
        empty = np.eye(inside.shape[1]) * ~self._filled[:, None, :]
        self._inverse = np.linalg.inv(inside + empty) - empty
        self._add_slots()

    @property
    def weights(self) -> Floats:
        """Weights of all columns, of shape (n_problems, k)."""
        weights = np.zeros_like(self._c)
        problems, slots = np.nonzero(self._filled)
        weights[problems, self._columns[problems, slots]] = self._weights[problems, slots]
        return weights

    def improve(self) -> bool:
        """Move weights, and let columns leave or enter; return whether all problems are solved."""
        # G_AA^-1 (c_A - penalty * signs), and how far each weight may go on the way there before its sign changes.
        best = (self._inverse @ (self._right - self._penalty * self._signs)[:, :, None])[:, :, 0]
        crossing = self._filled & (best * self._signs <= 0)
        falls = np.where(crossing, np.abs(self._weights) + np.abs(best), 1.0)
        way = np.where(crossing, np.abs(self._weights) / np.where(falls > 0, falls, 1.0), np.inf)
        first = way.argmin(axis=1)
        shortest = way[self._problems, first]
        self._weights += np.minimum(shortest, 1.0)[:, None] * (best - self._weights)
        blocked = np.isfinite(shortest)
        if blocked.any():
            self._drop(np.flatnonzero(blocked), first[blocked])
            if blocked.all():
                return False
        entering = self._violators(~blocked)
        for rank in range(_TOGETHER):
            column = entering.argmax(axis=1)
            late = np.flatnonzero(entering[self._problems, column] > VIOLATION)
            if len(late) == 0:
                return rank == 0 and not blocked.any()
            entering[late, column[late]] = 0.0
            self._admit(late, column[late], swap=rank == 0)
        return False

    def _in_slots(self, values: Array) -> Array:
        return np.take_along_axis(values, self._columns, axis=1) * self._filled

    def _correlations(self) -> Floats:
        return self._c - (self._weights[:, None, :] @ self._rows)[:, 0]

    def _violators(self, settled: Mask) -> Floats:
        """Return by which share of the penalty inactive columns exceed it, 0 in problems that are not settled."""
        self._last = self._correlations()
        excess = np.abs(self._last) / self._penalty - 1.0
        problems, slots = np.nonzero(self._filled)
        excess[problems, self._columns[problems, slots]] = 0.0
        excess[~settled] = 0.0
        return excess

    def _drop(self, problems: Ints, slots: Ints) -> None:
        """Let the column of one slot leave in each of some problems."""
        # Without slot s the inverse is P - P_s P_s' / P_ss, by the formula of block inverses.
        column = self._inverse[problems, :, slots]
        pivot = column[np.arange(len(problems)), slots]
        self._inverse[problems] -= column[:, :, None] * (column / pivot[:, None])[:, None, :]
        self._inverse[problems, slots] = 0.0
        self._inverse[problems, :, slots] = 0.0
        self._filled[problems, slots] = False
        for array in (self._weights, self._signs, self._right, self._rows):
            array[problems, slots] = 0.0

    def _admit(self, problems: Ints, columns: Ints, swap: bool) -> None:
        """Let a column enter in each of some problems, with weight 0 and the sign of its correlation.

        One that active columns determine may `swap` places with one of them: their weights give way to it, which leaves
        the fit as it is and makes the weights smaller, until one of them is 0. Without that it stays outside.
        """
        across = self._rows[problems, :, columns]
        squares = self._gram[problems, columns, columns]
        explained = (self._inverse[problems] @ across[:, :, None])[:, :, 0]
        remainder = squares - (across * explained).sum(axis=1)  # what active columns leave of its length: G_jj - g'Pg
        signs = np.sign(self._last[problems, columns])
        dependent, start = remainder <= COLLINEAR * squares, np.zeros(len(problems))
        if dependent.any():
            if swap:
                start[dependent] = self._give_way(problems[dependent], explained[dependent], signs[dependent])
            free = ~dependent | (start != 0)
            problems, columns, signs, start = problems[free], columns[free], signs[free], start[free]
            if len(problems) == 0:
                return
            across, squares = self._rows[problems, :, columns], squares[free]
            explained = (self._inverse[problems] @ across[:, :, None])[:, :, 0]
            remainder = squares - (across * explained).sum(axis=1)
        if self._filled[problems].all(axis=1).any():
            self._add_slots()
            explained = enlarged(explained, (len(explained), self._filled.shape[1]))
        # With the new column the inverse gains v v' / remainder, where v = (Pg, -1).
        slots = self._filled[problems].argmin(axis=1)
        explained[np.arange(len(problems)), slots] = -1.0
        self._inverse[problems] += explained[:, :, None] * (explained / remainder[:, None])[:, None, :]
        self._filled[problems, slots] = True
        self._columns[problems, slots] = columns
        self._weights[problems, slots] = start
        self._signs[problems, slots] = signs
        self._right[problems, slots] = self._c[problems, columns]
        self._rows[problems, slots] = self._gram[problems, columns]

    def _give_way(self, problems: Ints, explained: Floats, signs: Floats) -> Floats:
        """Move weights along what explains a column until one of them is 0, and return the weight for the column."""
        # x_j is the sum of explained_i x_i: a weight on it, and explained_i times less on these, fits the same.
        direction = -explained * signs[:, None]
        weights = self._weights[problems]
        shrinking = weights * direction < 0
        way = np.where(shrinking, -weights / np.where(shrinking, direction, 1.0), np.inf)
        slots = way.argmin(axis=1)
        length = way[np.arange(len(problems)), slots]
        possible = np.isfinite(length)
        moved, slots, length = problems[possible], slots[possible], length[possible]
        self._weights[moved] += length[:, None] * direction[possible]
        self._drop(moved, slots)
        start = np.zeros(len(problems))
        start[possible] = length * signs[possible]
        return start

    def _add_slots(self) -> None:
        for name in ("_columns", "_filled", "_weights", "_signs", "_right", "_rows"):
            array = getattr(self, name)
            setattr(self, name, enlarged(array, (len(array), array.shape[1] + _ROOM, *array.shape[2:])))
        self._inverse = enlarged(self._inverse, (len(self._problems), *[self._filled.shape[1]] * 2))


def enlarged(array: Array, shape: tuple[int, ...]) -> Array:
    """Return an array of a larger shape that begins with this one, and is 0 elsewhere."""
    larger = np.zeros(shape, dtype=array.dtype)
    larger[tuple(map(slice, array.shape))] = array
    return larger
