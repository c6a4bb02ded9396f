"""The lasso at one penalty for each run, and `wide`, which also looks for curves and for pairs of features."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._arguments import Array, Floats, Generators, Ints, Mask, check_bool, check_choice, check_real
from ..data.categories import CategoryTable
from ..data.covariates import outside
from ..data.matrix import feature_chunks
from ..data.missing import filled
from ..data.target import CLASSIFICATION, Target
from ..exceptions import InputError
from ._cox_steps import CoxSteps
from ._directions import check_events
from ._lasso_columns import LassoColumns
from ._lasso_fits import LassoFits
from ._score_columns import ScoreColumns
from ._subsample import output_columns
from .adjusted import JointSelector, Residuals, without_covariates
from .base import CURVE, STRAIGHT, TIE, Choice, best_first
from .category_numbers import numbers_of_several
from .entry_order import EntryOrder
from .scoring import Runs

# The penalty, as a share of the one at which the first column enters.
PENALTY = 0.2

# Of pairs: the features that all others are multiplied with, and the most products of each output.
N_HEADS, MOST_PRODUCTS = 5, 30

# Entries of vectors (runs times samples, and times categories) that are held at once; bounds memory only.
_RUN_ENTRIES = 1 << 23


@dataclass(frozen=True)
class Lasso(JointSelector):
    """The features of largest weight in a lasso (Tibshirani 1996) at a fifth of the penalty at which the first enters.

    Each feature is seen on a scale between its values and their ranks, which neither long tails nor a few absurd values
    decide; see :mod:`~ubayfs.selectors._score_columns`. Every run solves its lasso exactly, and its features are those
    of largest absolute weight. Where fewer have a weight, fewer are selected.

    Parameters
    ----------
    curves : bool
        Whether a feature may also be selected for a U-shaped relation.
    pairs : bool
        Whether features may also be selected for acting together: products of the 5 features of largest weight with all
        others, at most 30 of them, join the lasso.
    penalty_factor : float
        What the penalty of curves and pairs is multiplied by.
    order : {"weight", "entry"}
        "entry" is the selector of the paper: features in the order in which they enter the lasso
        path of their values; see :class:`~ubayfs.selectors.entry_order.EntryOrder`.
    min_penalty : float
        Of order="entry": where the path ends at the latest, as a share of the penalty at which the first feature
        enters. Near 0 the logistic weights of separable classes grow without limit.

    Notes
    -----
    The loss is half the mean of squares; two classes are 0 and 1, of several classes or labels each has a lasso of its
    own under one common penalty, the outputs divided by the largest of their standard deviations. Of survival it is
    that of 4 steps of iteratively reweighted least squares for Cox's partial likelihood. Columns have variance 1 in the
    run; those of curves and pairs are divided by the penalty factor. The score of a feature is its largest absolute
    weight in any column and output; a pair credits both features. Covariates and the constant are in the model without
    a penalty. A missing value is the mean of its feature.
    """

    name: ClassVar[str] = "lasso"
    tasks: ClassVar[frozenset[str]] = CLASSIFICATION | {"multilabel", "regression", "survival"}
    usual_name: ClassVar[str] = "Lasso"
    finds: ClassVar[str] = (
        "Features that together predict the target in a straight line; of several alike it selects one."
    )
    reference: ClassVar[tuple[str, str]] = (
        "Tibshirani, 1996",
        "Tibshirani, R. (1996). Regression shrinkage and selection via the lasso. Journal of the Royal Statistical "
        "Society, Series B, 58(1), 267-288. https://doi.org/10.1111/j.2517-6161.1996.tb02080.x",
    )
    adjusts_gaps: ClassVar[bool] = True
    _scores: ClassVar[ScoreColumns | None] = None  # of the table that a lasso is prepared for

    curves: bool = False
    pairs: bool = False
    penalty_factor: float = 1.5
    order: str = "weight"
    min_penalty: float = 1e-4

    def __post_init__(self) -> None:
        for name in ("curves", "pairs"):
            check_bool(name, getattr(self, name))
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
        unsupported = dict.fromkeys(
            ("joint", "nested", "takes_gaps", "adjusts", "adjusts_gaps", "takes_categories"), False
        )
        vars(self).update(unsupported, tasks=EntryOrder.tasks)

    def prepared(self, X: Array) -> Lasso:
        """Return a selector that has the straight columns of this table."""
        if self.order == "entry":
            return self
        prepared = copy(self)
        object.__setattr__(prepared, "_scores", _scores_of(X))
        return prepared

    def select_many(self, X: Array, target: Target, subsamples: Mask, n_features: int, rngs: Generators) -> list[Ints]:
        """Choose features on all subsamples at once, or along the path of each."""
        if self.order == "entry":
            return EntryOrder(self.min_penalty).select_many(X, target, subsamples, n_features, rngs)
        return super().select_many(X, target, subsamples, n_features, rngs)

    def choices(
        self,
        X: Array,
        target: Target,
        design: Floats | None,
        subsamples: Mask,
        n_features: int,
        rngs: Generators,
    ) -> Sequence[Array | Choice]:
        """Return what all runs choose, and, if there are curves or pairs, which columns carried it."""
        if not (self.curves or self.pairs):
            return super().choices(X, target, design, subsamples, n_features, rngs)
        runs = Runs(subsamples) if design is None else Residuals(design, subsamples)
        return self._vote(X, target, runs, n_features, rngs)

    def _choose(self, X: Array, target: Target, runs: Runs, n_features: int, rngs: Generators) -> list[Ints]:
        return [choice.columns for choice in self._vote(X, target, runs, n_features, rngs)]

    def _vote(self, X: Array, target: Target, runs: Runs, n_features: int, rngs: Generators) -> list[Choice]:
        """Solve the lassos of all runs, as many at once as memory allows."""
        if target.task == "survival":
            check_events(target, runs.subsamples)
        if isinstance(runs, Residuals):
            runs.target_remainders(target)  # raises if covariates determine it
        scores = self._scores or _scores_of(X)
        n_run_columns = len(X.several) if isinstance(X, CategoryTable) else 0
        chosen: list[Choice] = []
        for part in feature_chunks(len(runs.subsamples), max(1, _RUN_ENTRIES // (len(X) * (1 + n_run_columns)))):
            subsamples, bases = runs.subsamples[part], runs.bases[part]
            run_columns = _run_columns(X, target, subsamples, bases, rngs[part], isinstance(runs, Residuals))
            columns = LassoColumns(scores, subsamples, bases, self.curves, self.penalty_factor, run_columns)
            lassos = self._cox(columns, target) if target.task == "survival" else self._squares(columns, target)
            chosen += [
                _choice(*weights, heads, n_features)
                for weights, heads in zip(_weights(lassos), lassos.heads, strict=True)
            ]
        return chosen

    def _squares(self, columns: LassoColumns, target: Target) -> LassoFits:
        """Solve the lassos of all outputs of all runs."""
        fits = LassoFits(columns, *_targets(target, columns))
        top = fits.top_penalties()
        fits.descend(top, PENALTY * top)
        if self.pairs:
            fits.add_products(_heads(fits), PENALTY * top, MOST_PRODUCTS)
        return fits

    def _cox(self, columns: LassoColumns, target: Target) -> LassoFits:
        """Approach the lasso of Cox's partial likelihood by lassos of weighted squares."""
        steps = CoxSteps(columns, target)
        fits = steps.fits
        top = fits.top_penalties()
        fits.descend(top, PENALTY * top)
        for _ in range(steps.n_more):
            steps.reweight()
            fits.settle(PENALTY * top)
        if self.pairs:
            steps.reweight()
            fits.add_products(_heads(fits), PENALTY * top, MOST_PRODUCTS)
        return fits


@dataclass(frozen=True)
class Wide(Lasso):
    """The lasso with curves and pairs: features of U-shaped relations, and such that act together, count as well."""

    name: ClassVar[str] = "wide"
    usual_name: ClassVar[str] = "Lasso with curves and pairs"
    finds: ClassVar[str] = "Features with straight or U-shaped relations to the target, and pairs that act together."

    curves: bool = True
    pairs: bool = True


def _scores_of(X: Array) -> ScoreColumns:
    return ScoreColumns.from_table(X, X.several if isinstance(X, CategoryTable) else np.empty(0, dtype=np.intp))


def _targets(target: Target, columns: LassoColumns) -> tuple[Floats, Ints]:
    """Return the outputs of each run, of shape (n_lassos, n_samples), and the run of each."""
    outputs, runs = [], []
    for run, (rows, basis) in enumerate(zip(columns.subsamples, columns.bases, strict=True)):
        remainder = outside(basis, output_columns(target.take(rows)))
        values = np.zeros((remainder.shape[1], len(rows)))
        values[:, rows] = remainder.T / remainder.std(axis=0).max()
        outputs.append(values)
        runs += [run] * len(values)
    return np.vstack(outputs), np.array(runs, dtype=np.intp)


def _run_columns(
    X: Array, target: Target, subsamples: Mask, bases: Sequence[Floats], rngs: Generators, adjusted: bool
) -> tuple[Floats, Ints]:
    """Return a number of each run for categories of three or more levels without order, and which these are.

    The columns have shape (n_models, n_several, n_samples), variance 1 in the run and 0 outside.
    """
    if not isinstance(X, CategoryTable) or len(X.several) == 0:
        return np.empty((len(subsamples), 0, len(X))), np.empty(0, dtype=np.intp)
    several = X.take(X.several)
    numbers_of_runs = np.zeros((len(subsamples), len(X.several), len(X)))
    for columns, rows, basis, rng in zip(numbers_of_runs, subsamples, bases, rngs, strict=True):
        coded = without_covariates(several.coded[rows], basis) if adjusted else filled(several.coded[rows], "mean")
        numbers = numbers_of_several(several, coded, basis, target.take(rows), rng)
        spread = numbers.std(axis=0)
        columns[:, rows] = (numbers / np.where(spread > 0, spread, 1.0)).T
    return numbers_of_runs, X.several


# -- weights of columns, and features --------------------------------------------------------------------------------


def _weights(fits: LassoFits) -> list[tuple[Floats, Ints, Ints]]:
    """Return, for each run, absolute weights that are not 0, their features, and what carries them.

    Entries of straight columns come first, then those of bent ones and of products, which have two each.
    """
    p = fits.n_features
    weights = []
    for lassos in fits.lassos_of_runs:
        parts = []
        for lasso in lassos:
            active = np.flatnonzero(fits.weights[lasso])
            members, sizes = fits.members[lasso][active], np.abs(fits.weights[lasso][active])
            single = members < 2 * p
            carriers = np.where(members[single] < p, STRAIGHT, CURVE)
            parts.append((sizes[single], members[single] % p, carriers, members[single]))
            if not single.all():
                first, second = np.array(fits.pairs[lasso])[members[~single] - 2 * p].T
                parts += [(sizes[~single], *pair, members[~single]) for pair in ((first, second), (second, first))]
        sizes, features, carriers, members = (np.concatenate(entries) for entries in zip(*parts, strict=True))
        order = np.lexsort((carriers, features, members))
        weights.append((sizes[order], features[order], carriers[order]))
    return weights


def _scores(sizes: Floats, features: Ints) -> tuple[Ints, Ints, Floats]:
    """Return the features that have a weight, the place of each entry among them, and the largest weight of each.

    Weights are over that of all.
    """
    candidates, places = np.unique(features, return_inverse=True)
    scores = np.zeros(len(candidates))
    np.maximum.at(scores, places, sizes)
    return candidates, places, scores / (scores.max(initial=0.0) or 1.0)


def _heads(fits: LassoFits) -> Ints:
    """Return the features of largest weight in each run, of shape (n_models, N_HEADS), -1 where there are fewer."""
    heads = np.full((len(fits.lassos_of_runs), N_HEADS), -1)
    for run_heads, (sizes, features, _) in zip(heads, _weights(fits), strict=True):
        candidates, _, scores = _scores(sizes, features)
        first = candidates[best_first(np.where(scores > 0, scores, -np.inf), N_HEADS)]
        run_heads[: len(first)] = first
    return heads


def _choice(sizes: Floats, features: Ints, carriers: Ints, heads: Ints, n_most: int) -> Choice:
    candidates, places, scores = _scores(sizes, features)
    # A product gives both of its features the same score: the one that had more weight before comes first, so that the
    # order of the columns does not decide which of them has the last place.
    ranks = scores.copy()
    for bonus, head in enumerate(heads[heads >= 0][::-1].tolist(), 1):
        ranks[candidates == head] += 3 * TIE * bonus
    columns = candidates[best_first(np.where(scores > 0, ranks, -np.inf), n_most)]
    reached = sizes / sizes.max(initial=0.0) >= scores[places] - TIE if len(sizes) else np.empty(0, dtype=bool)
    first: dict[int, int] = {}
    for feature, carrier in zip(features[reached].tolist(), carriers[reached].tolist(), strict=True):
        first.setdefault(feature, carrier)
    return Choice(columns, np.array([first[feature] for feature in columns.tolist()], dtype=np.intp))
