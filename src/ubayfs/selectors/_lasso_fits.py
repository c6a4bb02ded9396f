"""Lassos on many subsamples, all columns of which count, though few are looked at.

Each lasso is solved on a working set of columns (:mod:`~ubayfs.selectors._active_sets`), along penalties that fall to
the wanted one. Then one matrix product gives the correlations of all columns with the residuals of all lassos; columns
that violate the penalty join, until there are none. So the working set decides how long it takes, never the solution.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from .._arguments import Floats, Ints
from ..data.matrix import feature_chunks
from ._active_sets import enlarged, minimize
from ._lasso_columns import LassoColumns, Pairs, directions_of, without
from ._subsample import COLLINEAR
from .threads import each_block

# Penalties on the way, each with the same share of the last, and columns that join a working set at a time.
N_STEPS, JOINING = 3, 30

# Entries of columns that are kept, or made at a time; bounds memory only.
COLUMN_ENTRIES = 1 << 22

# Columns whose correlation is within this share of the penalty may be copies of active ones; the first one counts.
NEAR = 1e-7

# Entries of the products of columns of the lassos that are solved side by side, so that they stay in the cache.
CACHE_ENTRIES = 1 << 19

# No column has anything to do with a target when the largest correlation, of order one, is a rounding error.
_UNRELATED = 1e-12


class LassoFits:
    """One lasso for each output of each run.

    `targets`, of shape (n_lassos, n_samples), lie outside of the bases of their `runs`, and are 0 outside of these.
    Of each lasso, `members` are the positions of the columns of its working set, `weights` theirs, and `pairs` the
    features of its products. Of each run, `heads` are the features that products were made with, of largest weight
    first, -1 where there are fewer, and `lassos_of_runs` its lassos.
    """

    def __init__(self, columns: LassoColumns, targets: Floats, runs: Ints) -> None:
        self._columns, self._targets, self._runs = columns, targets, runs
        self.n_features = columns.n_features
        self.lassos_of_runs = [np.flatnonzero(runs == run).tolist() for run in range(len(columns.sizes))]
        self.pairs: list[Pairs] = [() for _ in runs]
        self.heads = np.empty((len(columns.sizes), 0), dtype=np.intp)
        self._root: Floats | None = None  # of the weights of samples, (n_lassos, n_samples)
        self._directions: Floats | None = None  # of weighted samples, (n_models, rank, n_samples)
        self._begin()

    def _begin(self) -> None:
        """Empty the working sets."""
        n_lassos = len(self._runs)
        self._is_member = np.zeros((n_lassos, self._columns.n_columns), dtype=bool)
        self.members = [np.empty(0, dtype=np.intp) for _ in range(n_lassos)]
        self._gram = [np.empty((0, 0)) for _ in range(n_lassos)]  # products of the columns
        self._c, self.weights = ([np.empty(0) for _ in range(n_lassos)] for _ in range(2))
        # The columns of working sets, as far as there is room for them; others are made again when they are needed.
        self._kept: list[Floats | None] = [np.empty((0, self._targets.shape[1])) for _ in range(n_lassos)]
        self._room = COLUMN_ENTRIES

    def top_penalties(self) -> Floats:
        """Return the penalty of each lasso at which the first column of any output of its run enters; (n_lassos,).

        Where no column has anything to do with the target it is 1, above all correlations.
        """
        largest = self._columns.largest(self._gradients(), self._runs)
        largest_of_runs = np.zeros(len(self._columns.sizes))
        np.maximum.at(largest_of_runs, self._runs, largest)
        return np.where(largest_of_runs > _UNRELATED, largest_of_runs, 1.0)[self._runs]

    def descend(self, top: Floats, penalty: Floats) -> None:
        """Solve all lassos, from the penalties `top` where they are 0."""
        # Before each level those columns join that correlate above it with the residual of the last one.
        levels = [top * (penalty / top) ** (k / N_STEPS) for k in range(1, N_STEPS)]
        for level, following in zip([top, *levels], [*levels, penalty], strict=True):
            if level is not top:
                self._solve(level)
            self._join(range(len(top)), following)
        self.settle(penalty)

    def settle(self, penalty: Floats) -> None:
        """Solve all lassos, and look at all columns until none violates the penalty."""
        extended: Iterable[int] = range(len(penalty))
        self._solve(penalty)
        while extended := self._join(extended, (1.0 - NEAR) * penalty):
            self._solve(penalty, extended)
        self._first_of_copies(penalty)

    def add_products(self, heads: Ints, penalty: Floats, n_most: int) -> None:
        """Let products with the first features of each run join that violate the penalty, at most so many."""
        self.heads = heads
        self.pairs = self._columns.best_products(self._gradients(), self._runs, heads, penalty, n_most)
        self._extend([(lasso, 2 * self.n_features + np.arange(len(pairs))) for lasso, pairs in enumerate(self.pairs)])
        self.settle(penalty)

    def reweight(self, targets: Floats, root: Floats, bases: Sequence[Floats]) -> None:
        """Take other targets, and weights of samples; columns that are not active leave the working sets.

        `root`, of shape (n_lassos, n_samples), has the square roots of the weights, `targets` are multiplied with these
        and lie outside of `bases`, those of constant and covariates times them.
        """
        self._targets, self._root = targets, root
        self._directions = directions_of(bases, self._columns.subsamples)
        active = [np.flatnonzero(weights) for weights in self.weights]
        kept = [(self.members[lasso][places], self.weights[lasso][places]) for lasso, places in enumerate(active)]
        self._begin()
        for lasso, (members, _) in enumerate(kept):
            self._is_member[lasso, members[members < self._columns.n_columns]] = True
        self._extend([(lasso, members) for lasso, (members, _) in enumerate(kept)])
        self.weights = [weights for _, weights in kept]

    # -- working sets ------------------------------------------------------------------------------------------------

    def _join(self, lassos: Iterable[int], levels: Floats) -> list[int]:
        """Let columns join that correlate with the residual above the level; return the lassos that got any."""
        asked = np.fromiter(lassos, dtype=np.intp)
        members = self._is_member[asked]
        joining = self._columns.above(self._gradients(asked), self._runs[asked], levels[asked], members, JOINING)
        extended = [(lasso, new) for lasso, new in zip(asked.tolist(), joining, strict=True) if len(new)]
        for lasso, new in extended:
            self._is_member[lasso, new] = True
        self._extend(extended)
        return [lasso for lasso, _ in extended]

    def _extend(self, extended: Sequence[tuple[int, Ints]]) -> None:
        """Let columns join the working sets of some lassos."""
        entries = max((new.size for _, new in extended), default=0) * self._targets.shape[1]
        for part in feature_chunks(len(extended), max(1, COLUMN_ENTRIES // (8 * max(entries, 1)))):
            some = extended[part]
            made, start = self._take(some), 0
            for lasso, new in some:
                self._add(lasso, new, made[start : start + len(new)])
                start += len(new)

    def _add(self, lasso: int, new: Ints, made: Floats) -> None:
        before, k, more = self._kept[lasso], len(self.members[lasso]), len(self.members[lasso]) + len(new)
        columns = np.concatenate([self._take([(lasso, self.members[lasso])]) if before is None else before, made])
        self.members[lasso] = np.concatenate([self.members[lasso], new])
        size = self._columns.sizes[self._runs[lasso]]
        # Only products with new columns are missing: G_new = X_new' X / n and c_new = X_new' y / n.
        gram = enlarged(self._gram[lasso], (more, more))
        gram[k:] = made @ columns.T / size
        gram[:k, k:] = gram[k:, :k].T
        self._gram[lasso], self._c[lasso] = gram, np.append(self._c[lasso], made @ self._targets[lasso] / size)
        self.weights[lasso] = enlarged(self.weights[lasso], (more,))
        if before is not None:
            self._room -= made.size
            self._kept[lasso] = columns if self._room >= 0 else None

    def _take(self, wanted: Sequence[tuple[int, Ints]]) -> Floats:
        """Return columns of some lassos, one below the other, of shape (k, n_samples)."""
        lassos = np.repeat([lasso for lasso, _ in wanted], [len(columns) for _, columns in wanted])
        columns = np.concatenate([columns for _, columns in wanted])
        pairs = np.full((len(columns), 2), -1)
        for i in np.flatnonzero(columns >= 2 * self.n_features).tolist():
            pairs[i] = self.pairs[lassos[i]][columns[i] - 2 * self.n_features]
        runs = self._runs[lassos]
        values = self._columns.take(runs, columns, pairs)
        if self._root is None or self._directions is None:
            return values
        # Weighted least squares is least squares of rows times the roots of their weights.
        return without(self._directions, runs, values * self._root[lassos])

    def _solve(self, penalty: Floats, lassos: Sequence[int] | None = None) -> None:
        """Solve lassos on their working sets."""
        solvable = [lasso for lasso in (range(len(penalty)) if lassos is None else lassos) if len(self.members[lasso])]
        widest = max((len(self.members[lasso]) for lasso in solvable), default=1)

        def solve(part: slice) -> None:
            some = solvable[part]
            width = max(len(self.members[lasso]) for lasso in some)
            gram = np.stack([enlarged(self._gram[lasso], (width, width)) for lasso in some])
            # Columns of zeros fill up: their correlation is 0, so that they never enter.
            c = np.stack([enlarged(self._c[lasso], (width,)) for lasso in some])
            weights = np.stack([enlarged(self.weights[lasso], (width,)) for lasso in some])
            for lasso, solution in zip(some, minimize(gram, c, weights, penalty[some]), strict=True):
                self.weights[lasso] = solution[: len(self.members[lasso])]

        each_block(solve, feature_chunks(len(solvable), max(1, CACHE_ENTRIES // widest**2)))

    def residuals(self, lassos: Ints | None = None) -> Floats:
        """Return what is left of the targets, of shape (n_lassos, n_samples)."""
        asked = np.arange(len(self._runs)) if lassos is None else lassos
        residuals = self._targets[asked].copy()
        for row, lasso in zip(residuals, asked.tolist(), strict=True):
            kept, weights = self._kept[lasso], self.weights[lasso]
            if kept is None:
                active = np.flatnonzero(weights)
                weights, kept = weights[active], self._take([(lasso, self.members[lasso][active])])
            row -= weights @ kept
        return residuals

    def _gradients(self, lassos: Ints | None = None) -> Floats:
        """Return the vectors whose correlations with columns the penalty bounds, of shape (n_lassos, n_samples)."""
        residuals = self.residuals(lassos)
        return residuals if self._root is None else residuals * (self._root if lassos is None else self._root[lassos])

    def _first_of_copies(self, penalty: Floats) -> None:
        """Give the weight of a column to the first of its copies in the run, if it is not that itself."""
        for gram, c, weights, members, level in zip(
            self._gram, self._c, self.weights, self.members, (1.0 - NEAR) * penalty, strict=True
        ):
            others = np.flatnonzero((np.abs(c - gram @ weights) >= level) & (weights == 0))
            for column in np.flatnonzero(weights).tolist() if len(others) else ():
                sizes, square = gram[others, others], gram[column, column]
                same = np.abs(gram[others, column]) >= (1.0 - COLLINEAR) * np.maximum(sizes, square)
                copies = others[same & (members[others] < members[column])]
                if len(copies):
                    first = copies[members[copies].argmin()]
                    weights[first] = weights[column] * np.sign(gram[first, column])
                    weights[column] = 0.0
                    others = others[others != first]
