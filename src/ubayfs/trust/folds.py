"""Folds: each sample is in the test part of one of them; classes in proportion, groups never divided.

In a fold evidence and decision see the training part alone, and the scores of any set are those on the test part.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import TypeVar

import numpy as np

from .._arguments import Floats, Ints, mask_of
from ..constraints.sizes import SIZES, max_size
from ..data.feature_data import FeatureData
from ..data.target import TASKS, Target
from ..decision.workflow import Decision
from ..ensemble.collect import seed_of
from ..ensemble.evidence import Evidence
from ..ensemble.workers import blas_limit
from ..exceptions import EnsembleError, InfeasibleError, InputError, UBayFSError
from ..priors import DEFAULT_WEIGHT, Posterior, PriorKnowledge
from .intervals import FoldTerms
from .prediction_metrics import Judged, roc_curve
from .predictors import (
    FOREST,
    PREDICTION,
    RIDGE,
    Predictor,
    as_predictors,
    covariates_of,
    features_of_columns,
    rotated,
    seeded,
    standardized,
)
from .procedure import Procedure, check_varies, smallest_class, take_samples
from .related import SizedInParts
from .repeats import Cancelled, Repeats
from .validation import COVARIATES_ALONE, FEATURES_ALONE, OF_COVARIATES, OURS, FoldScore

# Up to so many entries of the table the products of predictors are too small for threads of BLAS, which spend most of
# their time waiting for each other: four times the processor time of one thread on 102 samples of 6,033 genes.
_LITTLE = 1 << 22
# Baselines, in the order of the table: the most votes without weights and constraints; random features; those that a
# random forest finds most important; each as many as were chosen; and all features, by the ridge predictor.
BASELINES = ("most votes", "random", "forest", "all features")
_N_RANDOM = 5  # sets per fold, whose scores are averaged

# What seeds of a fold are for, in their keys.
_EVIDENCE, _DECISION, _RANDOM_SETS, _FOREST, _PREDICTOR = range(5)

T = TypeVar("T")


def check_folds(data: FeatureData, cv: int, train_size: float = 1.0) -> None:
    """Raise unless every fold can have test and training samples of every class, events enough, and whole groups."""
    kind, argument = ("samples", "y") if data.groups is None else ("groups", "groups")
    n_units = data.n_samples if data.groups is None else len(np.unique(data.groups))
    needed, fewest = cv, TASKS[data.target.task].fewest_in_test
    if data.n_samples < fewest * cv:
        kind, n_units, needed = "samples", data.n_samples, fewest * cv
    if n_units < needed:
        way_out = "Use fewer folds." if n_units >= 2 * needed // cv else "Collect more."
        raise InputError.of("cv", f"is {cv}, which needs at least {needed} {kind}; there are {n_units}. {way_out}", cv)
    if data.target.is_numeric:
        _check_squares(np.asarray(data.target.values, dtype=np.float64))
    if TASKS[data.target.task].fewest_events:
        _check_events(data.target, cv, train_size)
    if data.target.strata is None or TASKS[data.target.task].fewest_events:
        return
    # With two folds, half of a class must be enough for subsamples to differ in it.
    fewest = 4 if cv == 2 and data.groups is None else cv
    name, size, shown = smallest_class(data)
    if size >= fewest:
        return
    smaller = f"Use cv={size}{' or less' * (cv > size)}"
    way_out = smaller if size > 2 else "Merge it with another class, or drop its samples"
    rule = f"has {shown} of class {name!r}, but cv={cv} needs at least {fewest} of each class. {way_out}."
    raise InputError.of(argument, rule, cv)


def _check_squares(y: Floats) -> None:
    """Raise if squared errors of the prediction of a target may leave the range of numbers."""
    largest = float(np.abs(y).max())
    if not 1e-140 < largest < 1e140:
        rule = f"has values up to {largest:.3g}, whose squares leave the range of numbers. Give it in other units."
        raise InputError.of("y", rule, largest)


def _check_events(target: Target, cv: int, train_size: float) -> None:
    """Raise unless each test part can have an event, and subsamples of each training part events enough."""
    n_events, fewest = int(target.event.sum()), TASKS[target.task].fewest_events
    # A test part takes at most ceil(E / cv) of E events; subsamples have train_size of the others.
    n_inside = round(train_size * (n_events - math.ceil(n_events / cv)))
    if n_events < cv or n_inside < fewest:
        rule = f"is {cv}, and y has {n_events} events: each fold needs one, and subsamples of the others need {fewest}"
        raise InputError.of("cv", f"{rule}; they would have {n_inside}. Raise train_size, or wait for more events.", cv)


def fold_strata(target: Target) -> Ints:
    """Return codes of what test parts shall represent in proportion, of shape (n_samples,).

    The classes; of labels, the rarest one that a sample has; nothing of numbers.

    >>> fold_strata(Target("multilabel", np.array([[1, 1], [1, 0], [1, 0], [0, 0]])))
    array([2, 1, 1, 0])
    """
    values = np.asarray(target.values)
    if target.strata is not None:
        return target.strata
    if values.ndim == 1:
        return np.zeros(len(values), dtype=np.intp)
    # Labels that a sample does not have count as more frequent than any.
    how_often = np.where(values == 1, values.sum(axis=0), len(values) + 1)
    return np.asarray(np.where(values.any(axis=1), 1 + how_often.argmin(axis=1), 0), dtype=np.intp)


def assign_folds(data: FeatureData, cv: int, rng: np.random.Generator) -> Ints:
    """Return the fold, 0 to cv - 1, whose test part each sample is in, of shape (n_samples,).

    Folds of a stratum differ by at most one sample, and so do all folds; with groups as far as these allow it. Strata
    are divided by levels of covariates.
    """
    strata = fold_strata(data.target)
    if data.groups is None:
        strata = rng.permutation(int(strata.max()) + 1)[strata]
        levels = None if data.covariates is None else data.covariates.strata
        within = [] if levels is None else [rng.permutation(int(levels.max()) + 1)[levels]]
        order = np.lexsort((rng.random(len(strata)), *within, strata))
        folds = np.empty(len(strata), dtype=np.intp)
        # Dealt in turn along the strata: neither within a stratum nor in all do folds differ by more than one.
        folds[order] = np.arange(len(strata)) % cv
        return folds
    return _grouped(strata, data.groups, cv, rng)


def _grouped(strata: Ints, groups: Ints, cv: int, rng: np.random.Generator) -> Ints:
    """Give groups, those of the most samples first, to the fold that has the fewest of their strata."""
    n_groups = int(groups.max()) + 1
    content = np.zeros((n_groups, int(strata.max()) + 1))
    np.add.at(content, (groups, strata), 1.0)
    content /= content.sum(axis=0).clip(min=1)  # as shares of the strata, so that rare ones count as much
    filled, n_in, fold_of = np.zeros((cv, content.shape[1])), np.zeros(cv, dtype=np.intp), np.empty(n_groups, np.intp)
    for n_before, group in enumerate(np.lexsort((rng.random(n_groups), -content.max(axis=1)))):
        # Where least of the same is, and of these anywhere; no fold stays empty.
        cost = filled @ content[group] + 1e-9 * rng.random(cv)
        if n_groups - n_before <= np.count_nonzero(n_in == 0):
            cost[n_in > 0] = np.inf
        fold = int(cost.argmin())
        fold_of[group] = fold
        filled[fold] += content[group]
        n_in[fold] += 1
    return fold_of[groups]


# -- what is done in one fold ------------------------------------------------------------------------------------------


def joined(parts: Iterable[tuple[T, ...]]) -> tuple[T, ...]:
    """Put tuples together."""
    return tuple(chain.from_iterable(parts))


def child(seed: np.random.SeedSequence, *key: int) -> np.random.SeedSequence:
    """Return a seed that depends on nothing but `seed` and the key."""
    return np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, *key))


@dataclass(frozen=True, eq=False)
class Fold:
    """Training and test samples of one fold; with a shuffled target in a control."""

    data: FeatureData
    repeat: int
    fold: int
    train: Ints
    test: Ints
    seed: np.random.SeedSequence
    control: bool = False

    @property
    def units(self) -> Ints:
        """Return the positions of the test samples, or their groups, of shape (n_test,)."""
        return self.test if self.data.groups is None else self.data.groups[self.test]

    def number(self, purpose: int) -> int:
        """Return a seed for scikit-learn."""
        return int(child(self.seed, purpose).generate_state(1)[0])

    def records_of(
        self, method: str, predictor: str, scores: Mapping[str, Judged], n_features: int, size: int | None = None
    ) -> Scores:
        """Return the scores of a predictor with the features of a method."""
        records = (
            FoldScore(self.repeat, self.fold, method, predictor, metric, each.value, n_features, size, each.weight)
            for metric, each in scores.items()
        )
        terms = (
            FoldTerms(
                method, predictor, metric, tuple(each.terms[:, 0].tolist()), tuple(each.terms[:, 1].tolist()), size
            )
            for metric, each in scores.items()
            if each.terms is not None
        )
        return Scores(tuple(records), tuple(terms))

    def failure(self, error: Exception, where: str = "") -> str:
        """Return what could not be done, and why."""
        reason = str(error) if isinstance(error, UBayFSError) else f"{type(error).__name__}: {error}"
        return f"repeat {self.repeat + 1}, fold {self.fold + 1}{', shuffled' * self.control}{where}: {reason}"


@dataclass(frozen=True)
class Scores:
    """Scores in a fold, and what its test units add to them."""

    records: tuple[FoldScore, ...] = ()
    terms: tuple[FoldTerms, ...] = ()

    @classmethod
    def joined(cls, parts: Iterable[Scores]) -> Scores:
        """Put scores together."""
        several = tuple(parts)
        return cls(joined(part.records for part in several), joined(part.terms for part in several))


@dataclass(frozen=True)
class Outcome:
    """What was found in a fold; failures are sizes that the constraints do not allow.

    By our first predictor: `risks` of the test samples, of survival (0 is the median of the training part), `predicted`
    numbers of them, and the ROC curve of classes or labels.
    """

    chosen: tuple[int, ...]
    scores: Scores
    over_sizes: Scores = field(default_factory=Scores)
    failures: tuple[str, ...] = ()
    risks: tuple[float, ...] = ()
    predicted: tuple[float, ...] = ()
    roc: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False)
class FoldEvaluation:
    """What is done in every fold."""

    procedure: Procedure
    decision: Decision
    knowledge: PriorKnowledge | None
    decide_for: SizedInParts | None  # makes the decision of a fold where it depends on its data
    predictors: tuple[Predictor, ...]
    baselines: tuple[str, ...]
    sizes: tuple[int, ...]

    def run(self, fold: Fold, repeats: Repeats) -> Outcome:
        """Return what is found in a fold; EnsembleError that names the fold if it cannot be done."""
        try:
            return self._run(fold, repeats)
        except Cancelled:
            raise
        except Exception as error:  # also of selectors and predictors of the user
            raise EnsembleError(fold.failure(error)) from error

    def _run(self, fold: Fold, repeats: Repeats) -> Outcome:
        train = take_samples(fold.data, mask_of(fold.train, fold.data.n_samples))
        check_varies(train.target, "the training part")
        evidence = repeats.ensemble(self.procedure, train, seed_of(child(fold.seed, _EVIDENCE), None))
        # A size by the data is that of the training part: the size of all samples has seen the test part.
        decision = self.decision if self.decide_for is None else self.decide_for(train, evidence)
        decision = decision.replace(random_state=child(fold.seed, _DECISION), n_alternatives=0)
        selection = decision.make(evidence, train, knowledge=self.knowledge)
        chosen = tuple(selection.indices.tolist())
        judge = _Judge(fold, train.target, evidence, chosen, self.predictors)
        with blas_limit(1 if fold.data.X.size <= _LITTLE else None):
            if fold.control:
                return Outcome(chosen, judge.scores_of(OURS))
            scores = Scores.joined(judge.scores_of(method) for method in (OURS, *self.baselines))
            assert selection.posterior is not None  # there is evidence
            over_sizes, failures = self._over_sizes(judge, decision, selection.posterior, train)
            predicted, roc = judge.predictions()
            return Outcome(chosen, scores, over_sizes, failures, judge.risks(), predicted, roc)

    def _over_sizes(
        self, judge: _Judge, decision: Decision, posterior: Posterior, data: FeatureData
    ) -> tuple[Scores, tuple[str, ...]]:
        """Return the scores at all sizes, and those sizes that the constraints do not allow."""
        fold, predictor = judge.fold, self.predictors[0]
        kept = tuple(constraint for constraint in decision.constraints if constraint.kind not in SIZES)
        # Weights are in the posterior.
        free = decision.replace(weights=DEFAULT_WEIGHT, prior="dirichlet")
        curve, failures = list[Scores](), list[str]()
        for size in self.sizes:
            limited = free.replace(constraints=(*kept, max_size(size)))
            try:
                chosen = tuple(limited.make(posterior, data).indices.tolist())
            except InfeasibleError as error:
                failures.append(fold.failure(error, f", size {size}"))
                continue
            scores = judge.scores(predictor, chosen)
            curve.append(fold.records_of(OURS, predictor.name, scores, len(chosen), size))
        return Scores.joined(curve), tuple(failures)


@dataclass(frozen=True, eq=False)
class _Judge:
    """Scores of any set of features in one fold."""

    fold: Fold
    target: Target  # of the training samples
    evidence: Evidence
    chosen: tuple[int, ...]
    predictors: tuple[Predictor, ...]
    cache: dict[tuple[str, tuple[int, ...], bool], dict[str, Judged]] = field(default_factory=dict)

    def scores_of(self, method: str) -> Scores:
        """Return the scores of a way to choose features, by all predictors; of several sets, their means."""
        fold = self.fold
        if method == "all features":
            ridge = as_predictors(RIDGE, fold.data.target.task)[0]
            scores = self._scores(ridge, self._with_covariates(rotated(fold.data, fold.train, fold.test)))
            return fold.records_of(method, RIDGE, scores, fold.data.n_features)
        sets, parts = self._sets(method), list[Scores]()
        for predictor in self.predictors:
            scored = [self.scores(predictor, columns, alone=method == FEATURES_ALONE) for columns in sets]
            means = {metric: _mean([scores[metric] for scores in scored]) for metric in predictor.metrics}
            size = 0 if method == COVARIATES_ALONE else len(self.chosen)
            parts.append(fold.records_of(method, predictor.name, means, size))
        return Scores.joined(parts)

    def _sets(self, method: str) -> list[tuple[int, ...]]:
        """Return the sets of a way to choose as many features as were chosen, but never constant ones."""
        if method in (OURS, *OF_COVARIATES):
            return [() if method == COVARIATES_ALONE else self.chosen]
        size, varying = len(self.chosen), ~self.evidence.constant
        if method == "random":
            rng, able = np.random.default_rng(child(self.fold.seed, _RANDOM_SETS)), np.flatnonzero(varying)
            sets = [rng.choice(able, min(size, len(able)), replace=False) for _ in range(_N_RANDOM)]
        else:
            merit = self.evidence.counts if method == "most votes" else self._importances()
            # Stable: of equal merit, the feature that comes first. Constant ones are last.
            sets = [np.argsort(np.where(varying, -merit.astype(np.float64), np.inf), kind="stable")[:size]]
        return [tuple(sorted(columns.tolist())) for columns in sets]

    def scores(self, predictor: Predictor, chosen: tuple[int, ...], alone: bool = False) -> dict[str, Judged]:
        """Return the scores of a set by metric; `alone`: without covariates."""
        key = (predictor.name, chosen, alone)
        if key not in self.cache:
            self.cache[key] = self._scores(predictor, self._parts(chosen, alone))
        return self.cache[key]

    def _scores(self, predictor: Predictor, parts: tuple[Floats, Floats]) -> dict[str, Judged]:
        truth, seed = self.fold.data.target.take(self.fold.test), self.fold.number(_PREDICTOR)
        return predictor.scores(parts[0], self.target, parts[1], truth, seed, self.fold.units)

    def risks(self) -> tuple[float, ...]:
        """Return the risks of the test samples by the first predictor, none where no risks are predicted."""
        predictor = self.predictors[0]
        if not predictor.prediction.predicts_risks:
            return ()
        A, B = self._parts(self.chosen)
        return tuple(predictor.risks(A, self.target, B, self.fold.number(_PREDICTOR)).tolist())

    def predictions(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Return what the first predictor says of the test samples: numbers, or a ROC curve if there can be one."""
        predictor, task = self.predictors[0], self.target.task
        with_curve = "auc" in predictor.metrics
        if not with_curve and task != "regression":
            return (), ()
        A, B = self._parts(self.chosen)
        predicted = predictor.predicted(A, self.target, B, self.fold.number(_PREDICTOR))
        if not with_curve:
            return tuple(np.asarray(predicted.values, dtype=np.float64).tolist()), ()
        curve = roc_curve(self.fold.data.target.take(self.fold.test), predicted)
        return (), () if np.isnan(curve).any() else tuple(curve.tolist())

    def _parts(self, chosen: tuple[int, ...], alone: bool = False) -> tuple[Floats, Floats]:
        """Return what predictors see of training and test samples: features, and covariates unless `alone`."""
        parts = standardized(self.fold.data, self.fold.train, self.fold.test, np.array(chosen, dtype=np.intp))
        return parts if alone else self._with_covariates(parts)

    def _with_covariates(self, parts: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
        covariates = covariates_of(self.fold.data, self.fold.train, self.fold.test)
        if covariates is None:
            return parts
        return np.hstack([covariates[0], parts[0]]), np.hstack([covariates[1], parts[1]])

    def _importances(self) -> Floats:
        data = self.fold.data
        prediction = PREDICTION[data.target.task]
        forest = seeded(prediction.predictors[FOREST](), self.fold.number(_FOREST))
        X = standardized(data, self.fold.train, self.fold.test[:0], slice(None))[0]
        importances: Floats = forest.fit(X, prediction.learned(self.target)).feature_importances_
        if data.levels:  # several columns may belong to one feature
            owners = features_of_columns(data, self.fold.train)
            importances = np.bincount(owners, importances, minlength=data.n_features).astype(np.float64)
        return importances


def _mean(several: list[Judged]) -> Judged:
    """Return the mean of the scores of several sets on the same test samples, on which alone their weight depends."""
    terms = [each.terms for each in several if each.terms is not None]
    value = float(np.mean([each.value for each in several]))
    return Judged(value, several[0].weight, np.mean(terms, axis=0) if terms else None)
