"""Nested validation: in every fold evidence and decision see the training part alone, the test part only judges."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, fields, replace
from itertools import chain
from threading import Event
from typing import Any, TypeVar

import numpy as np

from .._arguments import (
    Array,
    Floats,
    Ints,
    Mask,
    RandomState,
    as_seed_sequence,
    check_choice,
    check_int,
    check_random_state,
    mask_of,
)
from ..constraints.sizes import max_size
from ..data.feature_data import FeatureData
from ..data.target import Target
from ..ensemble.collect import Progress, check_ensemble, check_progress, gather, run_ensemble, seed_of
from ..ensemble.evidence import Evidence, check_failures
from ..ensemble.workers import _blas_limit as blas_limit
from ..exceptions import EnsembleError, InfeasibleError, InputError, UBayFSError
from ..priors import DEFAULT_WEIGHT, PriorKnowledge
from ..workflow import Decision
from .folds import assign_folds, check_folds
from .predictors import FOREST, PREDICTION, RIDGE, Predictor, as_predictors, rotated, seeded, standardized
from .procedure import Procedure, read_data, shuffled, split_arguments, take_samples
from .validation import OURS, FoldScore, Validation

# Baselines, in the order of the table: the most votes without weights and constraints; random features; those that a
# random forest finds most important; each as many as were chosen; and all features, by the ridge predictor.
BASELINES = ("most votes", "random", "forest", "all features")
_N_RANDOM = 5  # sets per fold, whose scores are averaged

# Constraints that a size asked for takes the place of.
_SIZES = frozenset({"max_size", "min_size", "exact_size"})
# What seeds are for, in their keys: of a repeat, and of a fold.
_ASSIGN, _SHUFFLE, _FOLD = range(3)
_EVIDENCE, _DECISION, _RANDOM_SETS, _FOREST, _PREDICTOR = range(5)

T = TypeVar("T")

# The decision of a fold where it depends on the data or the evidence, such as a size that the data support.
DecideFor = Callable[[FeatureData, Evidence], Decision]


def validate(
    X: Any,
    y: Any = None,
    *,
    cv: int = 5,
    n_repeats: int = 5,
    predictor: Any = RIDGE,
    baselines: Any = True,
    sizes: Iterable[int] | None = None,
    control: bool = False,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    on_progress: Progress | None = None,
    **arguments: Any,
) -> Validation:
    """Tell how well the chosen features predict samples that had no part in choosing them, beside simpler ways.

    In each of `cv` folds, `n_repeats` times, ensemble and decision are made anew on the training part, a predictor
    learns from the chosen features of the same samples, in units of theirs, and the test part judges it.

    Parameters
    ----------
    X : array-like, DataFrame, sparse matrix, AnnData or FeatureData of shape (n_samples, n_features)
    y : array-like of shape (n_samples,) or (n_samples, n_labels)
    cv : int, default 5
        Folds; classes in proportion, groups never divided.
    n_repeats : int, default 5
        How often the samples are dealt into folds.
    predictor : {"ridge", "forest"}, scikit-learn estimator, or list of these, default "ridge"
        "ridge" is the logistic regression with an L2 penalty (C = 0.1, classes weighted equally), or ridge regression
        (penalty by generalized cross-validation); "forest" a random forest of 100 trees. An AUC needs an estimator
        with `predict_proba` or `decision_function`.
    baselines : bool or sequence of {"most votes", "random", "forest", "all features"}, default True
        What to compare with: as many features by most votes, without weights and constraints; at random; by importance
        in a random forest; and all features, by the ridge predictor.
    sizes : iterable of int, optional
        Also decide with each of these sizes as the largest, instead of all constraints on the size.
    control : bool, default False
        Also repeat everything with a shuffled target, which should be at chance.
    random_state : int, Generator, SeedSequence, RandomState or None
    n_jobs : int, optional
        Threads over folds; -1 for all processors. They do not change the result.
    on_progress : callable, optional
        Called as ``on_progress(done, total)`` after each fold; returning False ends the validation, and what is done
        makes the result.
    **arguments
        Those of :func:`collect_evidence` and :func:`decide`, such as `selector`, `groups`, `weights`, `constraints`.

    Returns
    -------
    validation : Validation
        Folds that could not be done, for example because hard constraints contradict each other there, are left out
        and listed in `failures`.

    Raises
    ------
    InputError
        If an argument breaks a rule, or a class or the groups are too few for so many folds; before any work.
    EnsembleError
        If more than half of the folds cannot be done.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ubayfs import max_size, validate
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> options = {"n_models": 10, "constraints": [max_size(3)], "random_state": 0}
    >>> found = validate(X, y, n_repeats=1, baselines=["random"], **options)
    >>> found.scores[["method", "metric", "mean"]].round(2).values.tolist()
    [['ubayfs', 'auc', 0.99], ['ubayfs', 'balanced_accuracy', 0.95], ['random', 'auc', 0.9...], ['random', ...]]
    """
    given = locals()
    options = Options(**{option.name: given[option.name] for option in fields(Options)})
    ensemble, decision = split_arguments("validate", arguments)
    return validate_procedure(Procedure.of(read_data(X, y, ensemble), ensemble), decision, options)


@dataclass(frozen=True, kw_only=True, eq=False)
class Options:
    """The arguments of :func:`validate` that say how to validate, checked."""

    cv: int = 5
    n_repeats: int = 5
    predictor: Any = RIDGE
    baselines: Any = True
    sizes: Any = None
    control: bool = False
    random_state: RandomState = None
    n_jobs: int | None = None
    on_progress: Progress | None = None

    def __post_init__(self) -> None:
        check_int("cv", self.cv, low=2)
        check_int("n_repeats", self.n_repeats, low=1)
        check_random_state(self.random_state)
        check_ensemble(n_jobs=self.n_jobs)
        check_progress(self.on_progress)
        names = (
            {True: BASELINES, False: (), None: ()}[self.baselines] if self.baselines in (True, False, None) else None
        )
        given = [self.baselines] if isinstance(self.baselines, str) else self.baselines
        chosen = tuple(check_choice("baselines", name, BASELINES) for name in given) if names is None else names
        object.__setattr__(self, "baselines", tuple(name for name in BASELINES if name in chosen))
        sizes = () if self.sizes is None else [self.sizes] if np.isscalar(self.sizes) else self.sizes
        object.__setattr__(self, "sizes", tuple(sorted({check_int("sizes", size, low=1) for size in sizes})))


def validate_procedure(
    procedure: Procedure,
    decision: Decision,
    options: Options,
    knowledge: PriorKnowledge | None = None,
    decide_for: DecideFor | None = None,
) -> Validation:
    """Do what :func:`validate` does with data that are read already.

    `knowledge` is what else is known of the features, if it is more than the weights of the decision; `decide_for`
    takes the place of the decision where that depends on the training part: ``(data, evidence) -> Decision``.
    """
    data, cv, seed = procedure.data, options.cv, as_seed_sequence(options.random_state)
    predictors = as_predictors(options.predictor, data.target.task)
    check_folds(data, cv)
    decision.check(data.feature_names)
    folds = [fold for repeat in range(options.n_repeats) for fold in _folds(data, cv, repeat, _child(seed, 0, repeat))]
    for repeat in range(options.n_repeats if options.control else 0):
        of_repeat = _child(seed, 1, repeat)
        target = shuffled(data.target, data.groups, np.random.default_rng(_child(of_repeat, _SHUFFLE)))
        folds += _folds(replace(data, target=target), cv, repeat, of_repeat, control=True)
    trial = _Trial(procedure, decision, knowledge, decide_for, predictors, options.baselines, options.sizes)
    outcomes, cancelled = _run_all(trial, folds, options.n_jobs, options.on_progress)
    own, shuffles = ([found for fold, found in outcomes if fold.control is control] for control in (False, True))
    found = Validation(
        task=data.target.task,
        main_metric=predictors[0].metrics[0],
        cv=cv,
        n_repeats=options.n_repeats,
        feature_names=tuple(map(str, data.feature_names)),
        sets=tuple(outcome.chosen for outcome in own if outcome.chosen is not None),
        records=_joined(outcome.records for outcome in own),
        size_records=_joined(outcome.size_records for outcome in own) if options.sizes else None,
        control_records=_joined(outcome.records for outcome in shuffles) if options.control else None,
        failures=_joined(outcome.failures for outcome in (*own, *shuffles)),
        cancelled=cancelled,
    )
    for advice in found.advice:
        advice.warn()
    return found


def _joined(parts: Iterable[tuple[T, ...]]) -> tuple[T, ...]:
    return tuple(chain.from_iterable(parts))


def _child(seed: np.random.SeedSequence, *key: int) -> np.random.SeedSequence:
    """Return a seed that depends on nothing but `seed` and the key."""
    return np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, *key))


@dataclass(frozen=True, eq=False)
class _Fold:
    """Training and test samples of one fold; with a shuffled target in a control."""

    data: FeatureData
    repeat: int
    fold: int
    train: Ints
    test: Ints
    seed: np.random.SeedSequence
    control: bool = False

    def number(self, purpose: int) -> int:
        """Return a seed for scikit-learn."""
        return int(_child(self.seed, purpose).generate_state(1)[0])

    def records(
        self, method: str, predictor: str, scores: Mapping[str, float], n_features: int, size: int | None = None
    ) -> tuple[FoldScore, ...]:
        """Return the scores of a predictor with the features of a method."""
        return tuple(
            FoldScore(self.repeat, self.fold, method, predictor, metric, score, n_features, size)
            for metric, score in scores.items()
        )

    def failure(self, error: Exception, where: str = "") -> str:
        """Return what could not be done, and why."""
        reason = str(error) if isinstance(error, UBayFSError) else f"{type(error).__name__}: {error}"
        return f"repeat {self.repeat + 1}, fold {self.fold + 1}{', shuffled' * self.control}{where}: {reason}"


def _folds(data: FeatureData, cv: int, repeat: int, seed: np.random.SeedSequence, control: bool = False) -> list[_Fold]:
    number = assign_folds(data, cv, np.random.default_rng(_child(seed, _ASSIGN)))
    parts = [(np.flatnonzero(number != fold), np.flatnonzero(number == fold)) for fold in range(cv)]
    return [
        _Fold(data, repeat, fold, train, test, _child(seed, _FOLD, fold), control)
        for fold, (train, test) in enumerate(parts)
    ]


@dataclass(frozen=True)
class _Outcome:
    """What was found in a fold; nothing was chosen (None) where it failed."""

    chosen: tuple[int, ...] | None = None
    records: tuple[FoldScore, ...] = ()
    size_records: tuple[FoldScore, ...] = ()
    failures: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class _Trial:
    """What is done in every fold."""

    procedure: Procedure
    decision: Decision
    knowledge: PriorKnowledge | None
    decide_for: DecideFor | None
    predictors: tuple[Predictor, ...]
    baselines: tuple[str, ...]
    sizes: tuple[int, ...]

    def run(self, fold: _Fold, stop: Event) -> _Outcome | None:
        """Return what was found, or None if it was stopped."""
        try:
            train = take_samples(fold.data, mask_of(fold.train, fold.data.n_samples))
            evidence = None if stop.is_set() else self._evidence(fold, train, stop)
            if evidence is None or stop.is_set():
                return None
            decision = self.decision if self.decide_for is None else self.decide_for(train, evidence)
            decision = replace(decision, random_state=_child(fold.seed, _DECISION))
            selection = decision.make(evidence, train, knowledge=self.knowledge)
            judge = _Judge(fold, train.target, fold.data.target.take(fold.test), ~evidence.constant)
            chosen = tuple(selection.indices.tolist())
            records = [fold.records(OURS, own.name, judge.scores(own, chosen), len(chosen)) for own in self.predictors]
            if fold.control:
                return _Outcome(chosen, _joined(records))
            for method in self.baselines:
                records += judge.baseline(method, len(chosen), evidence.counts, self.predictors)
            return _Outcome(
                chosen, _joined(records), *self._over_sizes(fold, judge, decision, selection.posterior, train)
            )
        except Exception as error:  # also of selectors and predictors of the user
            return _Outcome(failures=(fold.failure(error),))

    def _evidence(self, fold: _Fold, data: FeatureData, stop: Event) -> Evidence:
        values = np.asarray(data.target.values)
        if (values == values[0]).all():
            raise InputError.of("y", "is constant in the training part.")
        seed = seed_of(_child(fold.seed, _EVIDENCE), None)
        settings = {**self.procedure.settings, "n_samples": data.n_samples, "seed": seed}
        runs = run_ensemble(data, self.procedure.selectors, settings, 1, lambda done, total: not stop.is_set())
        evidence = gather(runs, data.feature_names, data.constant, settings)
        check_failures(evidence.failures, len(runs))
        return evidence

    def _over_sizes(
        self, fold: _Fold, judge: _Judge, decision: Decision, posterior: Any, data: FeatureData
    ) -> tuple[tuple[FoldScore, ...], tuple[str, ...]]:
        """Return the scores at all sizes, and those sizes that the constraints do not allow."""
        others = tuple(constraint for constraint in decision.constraints if constraint.kind not in _SIZES)
        # Weights are in the posterior.
        free = replace(decision, weights=DEFAULT_WEIGHT, prior="dirichlet")
        records, failures = list[tuple[FoldScore, ...]](), list[str]()
        for size in self.sizes:
            limited = replace(free, constraints=(*others, max_size(size, rho=math.inf)))
            try:
                chosen = tuple(limited.make(posterior, data).indices.tolist())
            except InfeasibleError as error:
                failures.append(fold.failure(error, f", size {size}"))
                continue
            scores = judge.scores(self.predictors[0], chosen)
            records.append(fold.records(OURS, self.predictors[0].name, scores, len(chosen), size))
        return _joined(records), tuple(failures)


@dataclass(frozen=True, eq=False)
class _Judge:
    """Scores of any set of features in one fold."""

    fold: _Fold
    target: Target  # of the training samples
    truth: Target  # of the test samples
    varying: Mask  # features that may be chosen, (n_features,)
    known: dict[tuple[str, tuple[int, ...]], dict[str, float]] = field(default_factory=dict)

    def scores(self, predictor: Predictor, chosen: tuple[int, ...]) -> dict[str, float]:
        """Return the scores of a set by metric."""
        key = (predictor.name, chosen)
        if key not in self.known:
            columns = np.array(chosen, dtype=np.intp)
            self.known[key] = self._judged(
                predictor, standardized(self.fold.data, self.fold.train, self.fold.test, columns)
            )
        return self.known[key]

    def _judged(self, predictor: Predictor, parts: tuple[Floats, Floats]) -> dict[str, float]:
        return predictor.scores(parts[0], self.target, parts[1], self.truth, self.fold.number(_PREDICTOR))

    def baseline(
        self, method: str, size: int, counts: Array, predictors: Sequence[Predictor]
    ) -> list[tuple[FoldScore, ...]]:
        """Return the scores of a baseline with so many features."""
        fold = self.fold
        if method == "all features":
            ridge = as_predictors(RIDGE, fold.data.target.task)[0]
            scores = self._judged(ridge, rotated(fold.data, fold.train, fold.test))
            return [fold.records(method, RIDGE, scores, fold.data.n_features)]
        if method == "random":
            rng, able = np.random.default_rng(_child(fold.seed, _RANDOM_SETS)), np.flatnonzero(self.varying)
            sets = [rng.choice(able, min(size, len(able)), replace=False) for _ in range(_N_RANDOM)]
        else:
            merit = counts if method == "most votes" else self._importances()
            order = np.argsort(np.where(self.varying, -merit.astype(np.float64), np.inf), kind="stable")
            sets = [order[:size]]
        chosen, found = [tuple(sorted(columns.tolist())) for columns in sets], []
        for own in predictors:
            scored = [self.scores(own, columns) for columns in chosen]
            means = {metric: float(np.mean([scores[metric] for scores in scored])) for metric in own.metrics}
            found.append(fold.records(method, own.name, means, size))
        return found

    def _importances(self) -> Floats:
        data = self.fold.data
        forest = seeded(PREDICTION[data.target.task].predictors[FOREST](), self.fold.number(_FOREST))
        X = standardized(data, self.fold.train, self.fold.test[:0], slice(None))[0]
        importances: Floats = forest.fit(X, self.target.values).feature_importances_
        return importances


def _run_all(
    trial: _Trial, folds: Sequence[_Fold], n_jobs: int | None, on_progress: Progress | None
) -> tuple[list[tuple[_Fold, _Outcome]], bool]:
    """Return what was found in the folds that were done, in their order, and whether the caller ended it early."""
    from joblib import effective_n_jobs

    n_threads, stop, found = min(effective_n_jobs(n_jobs), len(folds)), Event(), dict[int, _Outcome]()
    n_main = sum(not fold.control for fold in folds)
    with blas_limit(1 if n_threads > 1 else None), ThreadPoolExecutor(n_threads, "ubayfs-folds") as pool:
        try:
            running = {pool.submit(trial.run, fold, stop): position for position, fold in enumerate(folds)}
            for done in as_completed(running):
                outcome = done.result()
                if outcome is None:
                    continue
                found[running[done]] = outcome
                failed = [at for at, own in found.items() if own.chosen is None and not folds[at].control]
                if 2 * len(failed) > n_main:
                    why = found[min(failed)].failures[0]
                    raise EnsembleError(f"{len(failed)} of {n_main} folds could not be done, the first: {why}")
                if on_progress is not None and not stop.is_set() and on_progress(len(found), len(folds)) is False:
                    stop.set()
        finally:
            cancelled = stop.is_set()
            stop.set()
    return [(folds[position], found[position]) for position in sorted(found)], cancelled and len(found) < len(folds)
