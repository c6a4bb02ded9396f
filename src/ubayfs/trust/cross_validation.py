"""Nested validation: in every fold evidence and decision see the training part alone, the test part only judges."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from .._arguments import MOST_REPEATS, RandomState, by_name, check_bool, check_choice, check_int, check_random_state
from .._files import read_json, save_content
from .._plain import decode, plain
from ..data.feature_data import FeatureData
from ..data.missing import MAX_MISSING
from ..decision.selection import Selection
from ..decision.workflow import Decision
from ..ensemble.checkpoint import Checkpoint, as_directory
from ..ensemble.collect import check_ensemble, seed_of
from ..ensemble.progress import Progress, as_progress
from ..ensemble.workers import threads_for
from ..exceptions import EnsembleError, InputError
from ..priors import PriorKnowledge, resolve_knowledge
from .folds import BASELINES, Fold, FoldEvaluation, Outcome, assign_folds, check_folds, child, joined
from .intervals import SampleSpread, spreads_of
from .predictors import RIDGE, as_predictors
from .procedure import Procedure, check_repeatable, data_of_evidence, ensemble_of, shuffled
from .related import SizedInParts, sized_in_parts
from .repeats import Repeats, processes_for
from .second_table import SecondTable, predict_second_table, read_second_table
from .validation import OF_COVARIATES, Validation, sample_predictions, sample_risks

# What seeds of a repeat are for, in their keys.
_ASSIGN, _SHUFFLE, _FOLD = range(3)


@by_name()
def validate(
    selection: Selection,
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    adjust_for: Any = None,
    target: Any = None,
    layer: str | None = None,
    max_missing: float = MAX_MISSING,
    selector: Any = None,
    cv: int = 5,
    n_repeats: int = 5,
    predictor: Any = RIDGE,
    baselines: Any = True,
    sizes: Iterable[int] | None = None,
    control: bool = False,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    on_progress: Progress | bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    X_new: Any = None,
    y_new: Any = None,
    groups_new: Any = None,
) -> Validation | SecondTable:
    """Estimate how well the selected features predict held-out samples, in comparison with simpler ways to select.

    In each of `cv` folds, `n_repeats` times, ensemble and decision are repeated on the training part, with the settings
    of the evidence and the weights and constraints of the selection. A predictor learns from the selected features of
    the same samples, in units of theirs, and the test part judges it.

    Parameters
    ----------
    selection : Selection
        From :func:`~ubayfs.decide`, on evidence of :func:`~ubayfs.collect_evidence`.
    X, y, groups, adjust_for, target, layer, max_missing
        The data that the evidence was collected on, as in :func:`~ubayfs.collect_evidence`; a target is needed.
    selector : optional
        The selector of the evidence; needed for a custom one.
    cv : int, default 5
        Folds, with classes in proportion and groups whole.
    n_repeats : int, default 5
        How often the samples are split into folds.
    predictor : {"ridge", "forest"}, scikit-learn estimator, or list of these, default "ridge"
        "ridge" is the logistic regression with an L2 penalty (C = 0.1, classes weighted equally), or ridge regression
        (penalty by generalized cross-validation), or Cox's model with an L2 penalty; "forest" a random forest of 100
        trees, of survival one of martingale residuals. An AUC needs an estimator with `predict_proba` or
        `decision_function`; for survival estimators of scikit-survival can be given.
    baselines : bool or sequence of {"most votes", "random", "forest", "all features"}, default True
        What to compare with: as many features by most votes, without weights and constraints; at random; by importance
        in a random forest; and all features, by the ridge predictor. With `adjust_for`, predictors get the covariates
        besides the features of whichever set, and there are also "covariates alone" (what do features add to them?) and
        "features alone" (the chosen ones without covariates).
    sizes : iterable of int, optional
        Also decide with each of these sizes as the largest, instead of all constraints on the size.
    control : bool, default False
        Also repeat everything with a shuffled target, which should be at chance.
    random_state : int, Generator, SeedSequence, RandomState or None, default 0
    n_jobs : int, optional
        Threads over folds (processes, where they take long and ensemble and predictors are those of ubayfs), or over an
        ensemble with predictors of your own; -1 for all processors. They do not change
        the result.
    on_progress : callable or bool, optional
        True shows a progress bar (needs tqdm). A function is called as ``on_progress(done, total)``, first with 0 and
        whenever runs or folds are finished. When it returns False, the folds that are done make the result.
    checkpoint : path of a directory, optional
        Every finished fold is stored there, and the same call continues from there, also with more repeats.
    X_new, y_new, groups_new : optional
        An independent second table, a frame whose columns are matched by name. Then nothing is repeated: the finished
        set, with a predictor that learns from all samples of X, is measured on it.

    Returns
    -------
    validation : Validation, or SecondTable with `X_new`
        Folds that could not be done, for example because hard constraints contradict each other there, are left out
        and listed in `failures`.

    Raises
    ------
    InputError
        If the data are not those of the evidence, the selection cannot be repeated, an argument breaks a rule, or a
        class or the groups are too few for so many folds; before any work.
    EnsembleError
        If more than half of the folds cannot be done, or the checkpoint is of another validation.

    See Also
    --------
    assess : All parts at once.

    References
    ----------
    Nadeau, C., Bengio, Y. (2003). Inference for the generalization error. Machine Learning, 52, 239-281.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ubayfs import collect_evidence, decide, validate
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> selection = decide(collect_evidence(X, y, selector="mrmr", n_models=10, random_state=0), max_size=3)
    >>> validation = validate(selection, X, y, n_repeats=1, baselines=["random"])
    >>> validation.scores.query("metric == 'auc'")[["method", "mean"]].round(2).values.tolist()
    [['ubayfs', 0.98], ['random', 0.93]]
    """
    arguments = locals()
    options = Options(**{option.name: arguments[option.name] for option in fields(Options)})
    check_repeatable(selection)
    reading = {"groups": groups, "adjust_for": adjust_for, "target": target, "layer": layer, "max_missing": max_missing}
    data = data_of_evidence(selection, X, y, **reading)
    if X_new is None:
        return validate_selection(selection, data, options, selector, checkpoint)
    new = read_second_table(selection.features, data, X_new, y_new, groups_new)
    result = predict_second_table(selection.features, data, new, predictor)
    for advice in result.advice:
        advice.warn()
    return result


def validate_selection(
    selection: Selection,
    data: FeatureData,
    options: Options,
    selector: Any = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Validation:
    """Do what :func:`validate` does with data that are read already."""
    procedure, decision, knowledge, decide_for = procedure_of(selection, data, selector)
    return validate_procedure(procedure, decision, options, knowledge, decide_for, checkpoint)


def procedure_of(
    selection: Selection, data: FeatureData, selector: Any = None
) -> tuple[Procedure, Decision, PriorKnowledge | None, SizedInParts | None]:
    """Return what made a selection, to be repeated: ensemble, decision, knowledge, and what sets the size in parts."""
    decision, posterior = check_repeatable(selection), selection.posterior
    assert posterior is not None
    procedure = Procedure.from_arguments(data, ensemble_of(posterior.evidence, selector))
    decision, decide_for = sized_in_parts(procedure, decision, knowledge=posterior.knowledge)
    return procedure, decision, posterior.knowledge, decide_for


@dataclass(frozen=True, kw_only=True, eq=False)
class Options:
    """The arguments of :func:`validate` that say how to validate, checked."""

    cv: int = 5
    n_repeats: int = 5
    predictor: Any = RIDGE
    baselines: Any = True
    sizes: Any = None
    control: bool = False
    random_state: RandomState = 0
    n_jobs: int | None = None
    on_progress: Progress | bool | None = None

    def __post_init__(self) -> None:
        check_int("cv", self.cv, low=2)
        check_int("n_repeats", self.n_repeats, low=1, high=MOST_REPEATS)
        check_bool("control", self.control)
        check_random_state(self.random_state)
        check_ensemble(n_jobs=self.n_jobs)
        as_progress(self.on_progress, "folds")
        all_or_none = self.baselines is None or isinstance(self.baselines, bool)
        possible = (*OF_COVARIATES, *BASELINES)
        names = (possible if self.baselines else ()) if all_or_none else _several(self.baselines)
        chosen = {check_choice("baselines", name, possible) for name in names}
        object.__setattr__(self, "baselines", tuple(name for name in possible if name in chosen))
        sizes = {check_int("sizes", size, low=1) for size in ([] if self.sizes is None else _several(self.sizes))}
        object.__setattr__(self, "sizes", tuple(sorted(sizes)))

    def baselines_for(self, data: FeatureData) -> tuple[str, ...]:
        """Return the baselines that there are with these data."""
        possible = tuple(name for name in self.baselines if data.covariates is not None or name not in OF_COVARIATES)
        if len(possible) < len(self.baselines) < len((*OF_COVARIATES, *BASELINES)):
            rule = f"has {self.baselines[0]!r}, but there are no covariates; name them by adjust_for."
            raise InputError.of("baselines", rule, self.baselines)
        return possible


def _several(value: Any) -> list[Any]:
    return list(value) if np.iterable(value) and not isinstance(value, str) else [value]


def validate_procedure(
    procedure: Procedure,
    decision: Decision,
    options: Options,
    knowledge: PriorKnowledge | None = None,
    decide_for: SizedInParts | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Validation:
    """Do what :func:`validate` does with data that are read already.

    `knowledge` is what else is known of the features, if it is more than the weights of the decision; `decide_for`
    takes the place of the decision where the size depends on the training part. Finished
    folds are stored in `checkpoint`, and read from there; that of another validation is refused.
    """
    data, directory = procedure.data, None if checkpoint is None else as_directory(checkpoint)
    plain_seed = seed_of(options.random_state, directory)
    seed = np.random.SeedSequence(plain_seed["entropy"], spawn_key=plain_seed["spawn_key"])
    predictors = as_predictors(options.predictor, data.target.task)
    check_folds(data, options.cv, procedure.settings["train_size"])
    baselines, sizes = options.baselines_for(data), options.sizes
    evaluation = FoldEvaluation(procedure, decision, knowledge, decide_for, predictors, baselines, sizes)
    if directory is not None:
        about = {"folds of": options.cv, **_identity(evaluation)}
        Checkpoint.open(directory, {**procedure.settings, "seed": plain_seed, **about})
    folds = _folds(data, options, seed) + (_folds(data, options, seed, control=True) if options.control else [])
    n_threads, n_processes = 1, 1
    if all(predictor.threads for predictor in predictors):
        n_threads = min(threads_for(options.n_jobs), len(folds))
        n_processes = processes_for(options.n_jobs, procedure, len(folds))
    watch = as_progress(options.on_progress, "folds")
    repeats = Repeats("folds", len(folds), options.n_jobs, watch, n_threads, n_processes)
    outcomes, failures = run_folds(evaluation, folds, repeats, directory)
    n_units = data.n_samples if data.groups is None else int(data.groups.max()) + 1
    risks = sample_risks(data.target, [(folds[k].test, outcome.risks) for k, outcome in outcomes.items()])
    numbers = [(folds[k].test, outcome.predicted) for k, outcome in outcomes.items()]
    curves = [outcome.roc for outcome in outcomes.values() if outcome.roc]
    evaluated, shuffles = (
        [outcome for k, outcome in outcomes.items() if folds[k].control is control] for control in (False, True)
    )
    validation = Validation(
        task=data.target.task,
        main_metric=predictors[0].metrics[0],
        cv=options.cv,
        n_repeats=options.n_repeats,
        n_units=n_units,
        feature_names=tuple(map(str, data.feature_names)),
        adjust_for=() if data.covariates is None else tuple(data.covariates.names),
        sets=tuple(outcome.chosen for outcome in evaluated),
        records=joined(outcome.scores.records for outcome in evaluated),
        size_records=joined(outcome.over_sizes.records for outcome in evaluated) if options.sizes else None,
        control_records=joined(outcome.scores.records for outcome in shuffles) if options.control else None,
        spreads=_spreads(outcomes, folds, n_units),
        failures=(*failures.values(), *joined(outcome.failures for outcome in evaluated)),
        cancelled=len(outcomes) + len(failures) < len(folds),
        risks=risks,
        predictions=sample_predictions(data.target, numbers),
        roc=tuple(np.mean(curves, axis=0).tolist()) if curves else (),
    )
    for advice in validation.advice:
        advice.warn()
    return validation


def _spreads(outcomes: Mapping[int, Outcome], folds: Sequence[Fold], n_units: int) -> tuple[SampleSpread, ...]:
    """Return how scores vary by test samples; of a control, whose target differs by repeat, nothing is known."""
    evaluated = [(folds[k], outcome) for k, outcome in outcomes.items() if not folds[k].control]
    parts = [(np.unique(fold.units), (*outcome.scores.terms, *outcome.over_sizes.terms)) for fold, outcome in evaluated]
    return spreads_of(parts, n_units)


def _folds(data: FeatureData, options: Options, seed: np.random.SeedSequence, control: bool = False) -> list[Fold]:
    """Return all folds of all repeats; in a control the target is shuffled anew for each repeat."""
    folds = list[Fold]()
    for repeat in range(options.n_repeats):
        repeat_seed = child(seed, int(control), repeat)
        rngs = [np.random.default_rng(child(repeat_seed, purpose)) for purpose in (_SHUFFLE, _ASSIGN)]
        table = replace(data, target=shuffled(data.target, data.groups, rngs[0])) if control else data
        number = assign_folds(table, options.cv, rngs[1])
        for fold in range(options.cv):
            train, test = np.flatnonzero(number != fold), np.flatnonzero(number == fold)
            folds.append(Fold(table, repeat, fold, train, test, child(repeat_seed, _FOLD, fold), control))
    return folds


def _identity(evaluation: FoldEvaluation) -> dict[str, Any]:
    """Return what decides on the outcome of a fold beside data, ensemble and seed; long contents as digests."""
    procedure, decision, knowledge = evaluation.procedure, evaluation.decision, evaluation.knowledge
    n_models, decide_for = procedure.settings["n_models"], evaluation.decide_for
    if knowledge is None:
        knowledge = resolve_knowledge(decision.weights, procedure.data.feature_names, decision.blocks, n_models)
    n_shuffles = None if decide_for is None else decide_for.n_shuffles  # the most features are in the constraint
    settings = {name: getattr(decision, name) for name in decision.names(part="constraints") if name != "constraints"}
    digests = {
        "weights": [plain(knowledge), repr(decision.prior)],
        "constraints": [[constraint.kind, plain(constraint.arguments)] for constraint in decision.constraints],
        "decision": [plain(settings | {"optimizer": repr(decision.optimizer)}), n_shuffles],
        "predictor": [[predictor.name, plain(predictor.estimator.get_params())] for predictor in evaluation.predictors],
    }
    return {
        "models of each": n_models,
        "baselines": list(evaluation.baselines),
        "sizes": list(evaluation.sizes),
        **{name: hashlib.sha256(json.dumps(content).encode()).hexdigest()[:12] for name, content in digests.items()},
    }


def run_folds(
    evaluation: FoldEvaluation, folds: Sequence[Fold], repeats: Repeats, directory: Path | None
) -> tuple[dict[int, Outcome], dict[int, str]]:
    """Return what is found in folds, and why others could not be done, by position; a fold that is stored is read."""

    def path(position: int) -> Path:
        assert directory is not None
        fold = folds[position]
        return directory / f"{'control' if fold.control else 'fold'}-{fold.repeat}-{fold.fold}.json"

    def load(position: int) -> Outcome | None:
        with suppress(InputError):  # absent or damaged
            return None if directory is None else decode(Outcome, read_json(path(position)))
        return None

    def save(position: int, outcome: Outcome) -> None:
        if directory is not None:
            save_content(path(position), json.dumps(plain(outcome)).encode(), EnsembleError)

    # Folds of a control come last, and may fail without ending the validation.
    n_needed = sum(not fold.control for fold in folds)
    return repeats.run(lambda position: evaluation.run(folds[position], repeats), load, save, n_needed)
