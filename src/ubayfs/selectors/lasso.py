"""The lasso on straight columns, and `wide`, which also looks for curves and for pairs of features."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._arguments import Array, Floats, Generators, Ints, Mask, check_choice, check_real
from ..data.categories import CategoryTable
from ..data.covariates import outside
from ..data.matrix import feature_chunks
from ..data.target import CLASSIFICATION, Target
from ..exceptions import InputError
from ._directions import martingale_residuals
from ._lasso_columns import LassoColumns
from ._lasso_fits import LassoFits
from ._score_columns import ScoreColumns
from ._subsample import output_columns
from .adjusted import JointSelector
from .base import best_first
from .entry_order import EntryOrder
from .scoring import Runs

# The penalty, as a share of the one at which the first column enters.
PENALTY = 0.2

# Of pairs: the first features that all others are multiplied with, and the most products of each output.
N_HEADS, MOST_PRODUCTS = 5, 30

# Entries of vectors (runs times samples) of runs that are done together.
_RUN_ENTRIES = 1 << 23


@dataclass(frozen=True)
class Lasso(JointSelector):
    """The features of largest weight in a lasso at one fifth of the penalty at which the first one enters."""

    name: ClassVar[str] = "lasso"
    tasks: ClassVar[frozenset[str]] = CLASSIFICATION | {"multilabel", "regression", "survival"}
    usual_name: ClassVar[str] = "Lasso"
    reference: ClassVar[tuple[str, str]] = (
        "Tibshirani, 1996",
        "Tibshirani, R. (1996). Regression shrinkage and selection via the lasso. Journal of the Royal Statistical "
        "Society, Series B, 58(1), 267-288. https://doi.org/10.1111/j.2517-6161.1996.tb02080.x",
    )
    _scores: ClassVar[tuple[Any, ScoreColumns] | None] = None  # of the table that a lasso is prepared for

    curves: bool = False
    pairs: bool = False
    penalty_factor: float = 1.5
    order: str = "weight"
    min_penalty: float = 1e-4

    def __post_init__(self) -> None:
        check_real("penalty_factor", self.penalty_factor, low=0, low_open=True)
        check_choice("order", self.order, ("weight", "entry"))
        check_real("min_penalty", self.min_penalty, low=0, low_open=True, high=1, high_open=True)
        if self.order != "entry":
            if self.min_penalty != Lasso.min_penalty:
                raise InputError.of("min_penalty", 'belongs to order="entry"; leave it out, or pass order="entry".')
            return
        if self.curves or self.pairs:
            raise InputError.of("order", '"entry" has neither curves nor pairs; leave out order, or both of them.')
        # The path is that of one run, and knows only complete numbers.
        of_path = dict.fromkeys(("joint", "nested", "takes_gaps", "adjusts", "takes_categories"), False)
        vars(self).update(of_path, tasks=EntryOrder.tasks)

    def select_many(self, X: Array, target: Target, subsamples: Mask, n_features: int, rngs: Generators) -> list[Ints]:
        """Choose features on all subsamples at once, or on each along its path."""
        if self.order == "entry":
            return EntryOrder(self.min_penalty).select_many(X, target, subsamples, n_features, rngs)
        return super().select_many(X, target, subsamples, n_features, rngs)

    def prepared(self, X: Array) -> Lasso:
        """Return a selector with the straight columns of this table."""
        if self.order == "entry":
            return self
        prepared = copy(self)
        object.__setattr__(prepared, "_scores", _scores_of(X))
        return prepared

    def _choose(self, X: Array, target: Target, runs: Runs, n_features: int, rngs: Generators) -> list[Ints]:
        scores = self._scores or _scores_of(X)
        together = max(1, _RUN_ENTRIES // len(X))
        chosen: list[Ints] = []
        for part in feature_chunks(len(runs.subsamples), together):
            chosen += self._choose_some(scores, target, runs, part, n_features)
        return chosen

    def _choose_some(self, scores: Any, target: Target, runs: Runs, part: slice, n_features: int) -> list[Ints]:
        subsamples, bases = runs.subsamples[part], runs.bases[part]
        own = np.empty((len(subsamples), 0, subsamples.shape[1]))
        columns = LassoColumns(
            scores, subsamples, bases, self.curves, self.penalty_factor, own, np.empty(0, dtype=np.intp)
        )
        targets, of_run = _targets(target, subsamples, bases)
        fits = LassoFits(columns, targets, of_run)
        top = fits.top_penalties()
        penalty = PENALTY * top
        fits.descend(top, penalty)
        if self.pairs:
            heads = np.full((len(subsamples), N_HEADS), -1)
            for run, sizes in enumerate(_sizes(fits, columns, of_run)):
                first = _best(sizes, N_HEADS)
                heads[run, : len(first)] = first
            fits.add_products(heads, penalty, MOST_PRODUCTS)
        return [_best(sizes, n_features) for sizes in _sizes(fits, columns, of_run)]


def _best(sizes: Floats, n_features: int) -> Ints:
    largest = sizes.max(initial=0.0)
    return best_first(np.where(sizes > 0, sizes / (largest or 1.0), -np.inf), n_features)


def _sizes(fits: LassoFits, columns: LassoColumns, of_run: Ints) -> Floats:
    p = columns.n_features
    sizes = np.zeros((len(columns.sizes), p))
    for lasso, run in enumerate(of_run.tolist()):
        members, weights = fits.members[lasso], np.abs(fits.weights[lasso, : len(fits.members[lasso])])
        single = members < 2 * p
        np.maximum.at(sizes[run], members[single] % p, weights[single])
        if not single.all():
            both = np.array(fits.pairs[lasso])[members[~single] - 2 * p]
            np.maximum.at(sizes[run], both, weights[~single][:, None])
    return sizes


@dataclass(frozen=True)
class Wide(Lasso):
    """The lasso with curves and pairs."""

    name: ClassVar[str] = "wide"

    curves: bool = True
    pairs: bool = True


def _scores_of(X: Array) -> ScoreColumns:
    return ScoreColumns.of(X)


def _targets(target: Target, subsamples: Mask, bases: list[Floats]) -> tuple[Floats, Ints]:
    found, of_run = [], []
    if target.task == "survival":
        residuals = martingale_residuals(target, subsamples)
    for run, (rows, basis) in enumerate(zip(subsamples, bases, strict=True)):
        own = residuals[run, rows][:, None] if target.task == "survival" else output_columns(target.take(rows))
        left = outside(basis, own)
        left = left / max(left.std(axis=0).max(), np.finfo(float).tiny)
        values = np.zeros((left.shape[1], len(rows)))
        values[:, rows] = left.T
        found.append(values)
        of_run += [run] * len(values)
    return np.vstack(found), np.array(of_run, dtype=np.intp)
