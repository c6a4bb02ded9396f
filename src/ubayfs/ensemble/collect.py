"""The ensemble: many elementary selectors on many subsamples, gathered into Evidence."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from functools import lru_cache
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import SeedSequence

from .. import __version__
from .._arguments import Array, Mask, RandomState, as_seed_sequence, by_name, check_int, check_real
from ..data.blocks import sets_matrix
from ..data.feature_data import FeatureData
from ..data.missing import MAX_MISSING
from ..data.parts import parts_of
from ..exceptions import Advice, InputError
from ..selectors.adapters import as_selector, check_task, describe, kind_of, selectors_for
from ..selectors.base import ElementarySelector
from ..selectors.registry import DEFAULT_SELECTOR
from .batches import Batch, EnsembleTask
from .checkpoint import Checkpoint, as_directory, identity, read_manifest
from .evidence import Evidence, RunFailure, check_failures, joined_carriers
from .features_per_model import RANDOM, check_per_model, features_per_model, most_features
from .parts import part_settings, runs_of
from .progress import Progress, as_progress
from .site import Site
from .subsampling import plan_subsamples
from .workers import Units, completed_batches

MOST_MODELS = 1_000_000  # of one ensemble, about a gigabyte of records


@by_name("selector", "n_models", "train_size", "n_features_per_model", "task", "groups")
def collect_evidence(
    X: Any,
    y: Any = None,
    *,
    selector: Any = DEFAULT_SELECTOR,
    n_models: int = 100,
    train_size: float = 0.75,
    n_features_per_model: int | str | None = None,
    task: str | None = None,
    groups: Any = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    on_progress: Progress | bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    part: tuple[int, int] | None = None,
    target: str | Sequence[str] | Mapping[str, str] | None = None,
    layer: str | None = None,
    missing: str = "error",
    max_missing: float = MAX_MISSING,
    adjust_for: Any = None,
    measured: Any = (),
) -> Evidence:
    """Run elementary selectors on subsamples of the data and collect the feature sets that they select.

    Parameters
    ----------
    X : array-like, DataFrame, sparse matrix, AnnData or FeatureData of shape (n_samples, n_features)
        FeatureData bring their own target, groups, covariates and rule for missing values; `y`, `task`, `groups`,
        `missing`, `max_missing` and `adjust_for` are ignored then. "fisher", "mrmr" and "laplacian" never make a sparse
        matrix dense as a whole; the result is that of the dense one.
    y : array-like of shape (n_samples,) or (n_samples, n_labels), or Survival, optional
    selector : str, estimator, callable or list of these, default "wide"
        Name of a selector, a scikit-learn estimator or selector, a callable ``(X, y, n_features, rng) -> indices``;
        run m of a list uses its entry m modulo its length.
    n_models : int
        Number of runs.
    train_size : float in (0, 1)
        Share of the samples in a subsample; share of the groups when `groups` is given.
    n_features_per_model : int or "random", optional
        The most that a run may choose. Default: a quarter of the features, at least 1 and at most 10. "random" draws
        a number for each run, from 1 to half of the features, at most 20.
    task : str, optional
        The kind of target, a key of ``ubayfs.data.TASKS`` such as "regression". Default: inferred from `y`.
    groups : array-like of shape (n_samples,), optional
        Patient, mouse, subject... of each sample; all samples of one stay on one side of every subsample. Of AnnData
        also the name of a column of `obs`.
    random_state : int, Generator, SeedSequence, RandomState or None
        The same one gives the same result, whatever `n_jobs`; run m is the same for every `n_models`. None takes
        fresh entropy, which ``Evidence.settings["seed"]`` records.
    n_jobs : int, optional
        Workers (threads unless ``joblib.parallel_config`` says otherwise); -1 for all processors. Inside
        ``joblib.parallel_config(backend="dask")`` the ensemble runs on all threads of the cluster.
    on_progress : callable or bool, optional
        True shows a progress bar (needs tqdm). A function is called as ``on_progress(done, total)`` whenever runs are
        finished, up to 100 at a time, in the thread of the caller. When it returns False the ensemble stops, and the
        runs that are finished make the evidence.
    checkpoint : path of a directory, optional
        Every finished run is stored there at once, and the same call continues from there: only runs under way can be
        lost. `n_models` may be larger (or smaller) then, and so may `n_jobs`; other data or other settings are refused.
        With ``random_state=None`` the stored seed is used again.
    part : (int, int), optional
        ``(3, 20)`` does the third of 20 parts of the ensemble, for example in a job of its own; it needs a
        `random_state`. :meth:`Evidence.join` puts all parts together to what one call finds.
    target : str or sequence of str, optional
        Of AnnData, instead of `y`: the column of `obs` that is the target, several 0/1 columns for a multi-label task,
        ``{"time": ..., "event": ...}`` for survival.
    layer : str, optional
        Of AnnData: the layer that holds the values, instead of `X`.
    missing : {"error", "available", "drop_rows", "drop_columns", "median"}
        What to do about missing values (NaN) of X. "error" refuses them. With "available" a feature counts with the
        samples that have it: `fisher` multiplies its scores, and `mrmr` the squared association, by their share;
        `lasso` and `wide` see the mean on their scale in the gaps, and other selectors the mean of their own samples.
        "median" is the same with medians for these others. "drop_rows" and "drop_columns" leave out the samples, or the
        features, that lack any value.
    max_missing : float in [0, 1], default 0.5
        With "available" and "median": features of which a larger share is missing cannot be chosen; a warning lists
        them.
    adjust_for : str, sequence of str, or array-like of shape (n_samples,) or (n_samples, n_covariates), optional
        Covariates, such as age, sex or batch, for which features are adjusted: columns of X by name (of AnnData: of
        `obs`), or their values. Text, categories and few whole numbers are coded by level.
        Covariates are never features. `fisher` and `mrmr` adjust exactly, by partial correlations, `lasso` and `wide`
        by covariates in their models. Other selectors get the samples of each run without what covariates explain
        there, which is an approximation. Samples without a value of a covariate are left out. See docs/features.md.
    measured : str or sequence of str, optional
        Features that are measured anyway, such as those of a panel that exists: columns of X by name. They are part of
        every set (``selection.panel``), cost nothing and need no place: what is selected is added to them. Features
        count for what they add to these, as with `adjust_for`.

    Returns
    -------
    evidence : Evidence
        Runs that raised are in ``evidence.failures``.

    Raises
    ------
    InputError
        If an argument breaks a rule; before any run.
    EnsembleError
        If more than half of the runs fail, worker processes or the cluster are lost for good, or `checkpoint`
        belongs to another ensemble.

    See Also
    --------
    decide : Selects features by the evidence.
    UBayFSSelector : Both in one estimator.

    References
    ----------
    Jenul, A., Schrunner, S., Pilz, J., Tomic, O. (2022). A user-guided Bayesian framework for ensemble feature
    selection in life science applications (UBayFS). Machine Learning, 111, 3897-3923.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> collect_evidence(X, y, selector="fisher", n_models=10, n_features_per_model=2, random_state=0).counts
    array([ 0,  0, 10, 10])
    """
    n_models, train_size = check_ensemble(n_models, train_size, n_features_per_model, n_jobs)
    watch = as_progress(on_progress, "models")
    directory = None if checkpoint is None else as_directory(checkpoint)
    selectors = as_selector(selector)
    if y is None and target is None and task is None and not isinstance(X, FeatureData):
        _check_target_optional(selectors)
    reading: dict[str, Any] = {"missing": missing, "max_missing": max_missing, "adjust_for": adjust_for}
    reading["measured"] = measured
    data = as_data(X, y, task=task, groups=groups, target=target, layer=layer, **reading)
    settings = ensemble_settings(data, selectors, n_models, train_size, n_features_per_model)
    part_entry = {} if part is None else part_settings(part, n_models, random_state)
    settings |= {"seed": seed_of(random_state, directory), **part_entry}
    outcomes = run_ensemble(data, selectors, settings, n_jobs, watch, directory)
    notes = {note.code: note for elementary in selectors for note in elementary.advice(data.target)}
    all_notes = (*data.advice, *notes.values())
    evidence = gather(outcomes, data.feature_names, data.constant, settings, all_notes)
    check_failures(evidence.failures, len(outcomes) if part is None else n_models)
    evidence = replace(evidence, site=Site.of(data, np.flatnonzero(evidence.counts)))
    for advice in evidence.advice:
        advice.warn()
    return evidence


def _check_target_optional(selectors: Sequence[ElementarySelector]) -> None:
    """Raise if a selector needs the target, which was not passed."""
    for selector in selectors:
        if "unsupervised" not in selector.tasks:
            able = " or ".join(f"selector={name!r}" for name in selectors_for("unsupervised"))
            rule = f"is missing, and selector {selector.name!r} needs it. Pass y, or use {able}."
            raise InputError.of("y", rule)


def as_data(X: Any, y: Any = None, *, target: Any = None, layer: str | None = None, **reading: Any) -> FeatureData:
    """Return anything that :func:`collect_evidence` takes as checked data; FeatureData as they are."""
    if not isinstance(X, FeatureData):
        return FeatureData.from_table(X, y, target=target, layer=layer, **reading)
    parts_of(X, target=target, layer=layer)  # refuses both
    return X


def ensemble_settings(
    data: FeatureData,
    selectors: Sequence[ElementarySelector],
    n_models: int,
    train_size: float,
    n_features_per_model: int | str | None,
) -> dict[str, Any]:
    """Return how evidence is made, in plain types, without the seed; InputError if selectors cannot do the task."""
    check_task(selectors, data.target.task)
    settings: dict[str, Any] = {
        "selector": [describe(elementary) for elementary in selectors],
        "selector_kinds": [kind_of(elementary) for elementary in selectors],
        "n_models": n_models,
        "train_size": train_size,
        "n_features_per_model": features_per_model(n_features_per_model, data.n_features),
        "task": data.target.task,
        "n_samples": data.n_samples,
        "n_features": data.n_features,
        "grouped": data.groups is not None,
        "data_fingerprint": data.fingerprint,
        "versions": versions(),
    }
    if data.missing is not None:
        settings["missing"] = data.missing
    if data.covariates is not None:
        on_residuals = [selector.name for selector in selectors if not selector.adjusts]
        settings |= {"adjust_for": data.covariates.names, "on_residuals": on_residuals}
        settings |= {"measured": list(data.covariates.measured)} if data.covariates.measured else {}
        if data.covariates.site is not None:
            settings["sites"] = data.covariates.site.name
    return settings


def run_ensemble(
    data: FeatureData,
    selectors: tuple[ElementarySelector, ...],
    settings: Mapping[str, Any],
    n_jobs: int | None = None,
    on_progress: Progress | None = None,
    directory: Path | None = None,
) -> Batch:
    """Return what the runs have found, with settings that are checked.

    Nothing of the data is looked at but values, target and groups: whoever repeats an ensemble on a part of the samples
    or with another target knows the rest.
    """
    per_model, seed = settings["n_features_per_model"], settings["seed"]
    plan = plan_subsamples(data, settings["train_size"])
    store = None if directory is None else Checkpoint.open(directory, settings)
    most, key = most_features(per_model, data.n_features), tuple(seed["spawn_key"])
    design = None if data.covariates is None else data.covariates.design
    task: dict[str, Any] = {"random_sizes": per_model == RANDOM, "fill": data.fill, "design": design}
    ensemble = EnsembleTask(data.target, plan, selectors, most, seed["entropy"], key, **task)
    with nullcontext() if store is None else closing(store):
        return _run_all(data, ensemble, *runs_of(settings), n_jobs, on_progress, store)


def check_ensemble(
    n_models: Any = 1, train_size: Any = 0.5, n_features_per_model: Any = None, n_jobs: Any = None
) -> tuple[int, float]:
    """Return `n_models` and `train_size`, or raise what :func:`collect_evidence` would, before there are any data."""
    n_models = check_int("n_models", n_models, low=1)
    if n_models > MOST_MODELS:
        rule = f"must be at most {MOST_MODELS:,}; got {n_models}. Merge evidence of several ensembles to have more."
        raise InputError.of("n_models", rule, n_models)
    train_size = check_real("train_size", train_size, low=0, high=1, low_open=True, high_open=True)
    check_per_model(n_features_per_model)
    if n_jobs is not None and check_int("n_jobs", n_jobs) == 0:
        raise InputError.of("n_jobs", "must be a whole number other than 0, or None; got 0. Use -1 for all processors.")
    return n_models, train_size


def seed_of(random_state: RandomState, directory: Path | None) -> dict[str, Any]:
    """Return the seed in plain types: that of the checkpoint in `directory` when the caller leaves the choice."""
    stored = read_manifest(directory) if random_state is None and directory is not None else None
    if stored is not None and "seed" in stored["settings"]:
        seed = stored["settings"]["seed"]
        try:
            SeedSequence(seed["entropy"], spawn_key=seed["spawn_key"])
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            rule = f"has a damaged manifest: {seed!r} is not a seed ({error!r}). Name another directory."
            raise InputError.of("checkpoint", rule, directory) from error
        return dict(seed)
    sequence = as_seed_sequence(random_state)
    entropy: Any = sequence.entropy
    plain = int(entropy) if isinstance(entropy, Integral) else [int(word) for word in entropy]
    return {"entropy": plain, "spawn_key": [int(key) for key in sequence.spawn_key]}


def versions() -> dict[str, str]:
    """Return the versions of the packages that a result may depend on."""
    return {"ubayfs": __version__, **{package: _version(package) for package in ("numpy", "scipy", "scikit-learn")}}


@lru_cache  # reading metadata takes longer than a small ensemble's share of anything else
def _version(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:  # run from a source tree
        return "unknown"


def _run_all(
    data: FeatureData,
    ensemble: EnsembleTask,
    runs: range,
    n_models: int,
    n_jobs: int | None,
    on_progress: Progress | None,
    store: Checkpoint | None,
) -> Batch:
    """Return what the runs have found, in their order: those of the checkpoint, and those that are done now."""
    stored, damage = ({}, []) if store is None else store.load()
    for reason in damage:
        Advice("checkpoint_damaged", {"reason": reason}).warn()
    outcomes = {run: outcome for run, outcome in stored.items() if run in runs}
    done = frozenset(outcomes)
    units = Units((run for run in runs if run not in done), len(runs) - len(done))
    watch = _Watch(units, len(runs), n_models, on_progress)
    if outcomes:
        watch.report(outcomes)
    with closing(completed_batches(data, ensemble, units, n_jobs, recorded=store is not None)) as completed:
        for batch in completed:
            if store is not None:
                store.save(batch)
            outcomes |= batch
            watch.report(batch)
    return dict(sorted(outcomes.items()))


@dataclass(eq=False)
class _Watch:
    """Tells the caller how far the ensemble is, and the ensemble when to stop."""

    units: Units
    n_runs: int
    n_models: int  # of the whole ensemble, also when these runs are a part of it
    on_progress: Progress | None
    n_done: int = 0
    n_failed: int = 0

    def report(self, batch: Batch) -> None:
        """Count finished runs."""
        self.n_done += len(batch)
        self.n_failed += sum(isinstance(outcome, RunFailure) for outcome in batch.values())
        stopped = self.units.stopped
        if self.on_progress is not None and not stopped and self.on_progress(self.n_done, self.n_runs) is False:
            stopped = True
        # Past half of the runs the ensemble has failed, whatever the others find.
        self.units.stopped = stopped or 2 * self.n_failed > self.n_models


def gather(
    outcomes: Batch,
    feature_names: Array,
    constant: Mask,
    settings: Mapping[str, Any],
    notes: tuple[Advice, ...] = (),
) -> Evidence:
    """Return what runs have found as evidence over features of these names, some of them constant."""
    choices = {run: outcome for run, outcome in outcomes.items() if not isinstance(outcome, RunFailure)}
    failures = tuple(outcome for outcome in outcomes.values() if isinstance(outcome, RunFailure))
    sets = sets_matrix([choice.columns for choice in choices.values()], len(feature_names))
    carriers = joined_carriers((choice.carriers, len(choice.columns)) for choice in choices.values())
    ensemble = identity(settings)
    runs = tuple(f"{ensemble}:{run}" for run in choices)
    return Evidence(sets, feature_names, constant, runs, failures, dict(settings), notes, carriers)
