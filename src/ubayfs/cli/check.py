"""Check a study and its data, and show what would run.

Lists all problems of the study at once. With --time one elementary run is tried, to estimate how long the ensemble
takes.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from . import options
from .console import echo

if TYPE_CHECKING:
    from ..data.categories import Levels
    from ..study import ResolvedStudy, Study


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the arguments."""
    options.add_study(parser)
    options.add_section(parser, "trust")
    parser.add_argument("--time", action="store_true", help="try one run of each selector and estimate the time")


def run(arguments: argparse.Namespace) -> None:
    """Check and print."""
    from ..report import advice_facts
    from ..study import resolve_study
    from .steps import echo_advice

    study = options.requested_study(arguments)
    if study.cohorts is not None:
        _check_pooled(study)
        return
    resolved = resolve_study(study)
    for line in [*_data(resolved), *_ensemble(resolved), *_decision(resolved), _trust(resolved)]:
        echo(line)
    echo_advice(advice_facts((*resolved.default_advice, *resolved.advice)))
    if arguments.time:
        echo(_time(resolved))
    echo("\nThe study is valid.")


def _check_pooled(study: Study) -> None:
    """Check what sites sent and the decision on it, and print."""
    from ..results import pooled_evidence
    from ..study import resolve_study
    from .console import advice_as_values, echo_error

    with advice_as_values():
        evidence = pooled_evidence(study)
    resolved = resolve_study(study, data=None, feature_names=evidence.feature_names, n_models=evidence.n_models)
    for name, sent in evidence.cohorts.items():
        assert sent.site is not None
        n_measured = int((~sent.constant).sum())
        echo(f"site        {name}: {sent.site.n_samples:,} samples, {n_measured:,} features, {sent.n_models:,} models")
    for line in _decision(resolved):
        echo(line)
    for advice in evidence.advice:
        echo_error(f"Note: {advice}")
    echo("\nThe study is valid.")


def _data(resolved: ResolvedStudy) -> list[str]:
    import numpy as np

    from .._plain import listing
    from ..data.survival_curves import median_follow_up
    from ..report.sentences import target_words

    section, data = resolved.study.data, resolved.data
    assert data is not None
    target = data.target
    lines = [f"data        {section.source}: {data.n_samples:,} samples, {data.n_features:,} features"]
    classes = ", ".join(f"{name} {count}" for name, count in target.class_counts)
    named = target_words(section.target) or "none"
    lines.append(f"target      {named}, task {target.task}{classes and ': ' + classes}")
    if target.task == "survival":
        follow_up = median_follow_up(target.time, target.event)
        median = "not reached" if follow_up is None else f"{follow_up:g}"
        lines.append(f"follow-up   {target.time.min():g} to {target.time.max():g}, median {median}")
    if data.groups is not None:
        n_groups = len(np.unique(data.groups))
        lines.append(f"groups      {n_groups:,} by {section.groups}; samples of a group stay together")
    if data.covariates is not None:
        lines.append(f"adjusted    for {listing(data.covariates.names)}; features count for what they add")
    if data.levels:
        shown = [f"{data.feature_names[j]} ({_levels(levels)})" for j, levels in list(data.levels.items())[:5]]
        more = ", ..." * (len(data.levels) > 5)
        lines.append(f"categories  {len(data.levels):,}: {', '.join(shown)}{more}")
    if data.about_missing is not None:
        lines.append(f"missing     {data.about_missing}")
    constant = data.feature_names[data.constant].tolist()
    if constant:
        some = ", ".join(constant[:5]) + (" ..." if len(constant) > 5 else "")
        lines.append(f"constant    {len(constant):,} features can never be selected: {some}")
    return lines


def _levels(levels: Levels) -> str:
    return (" < " if levels.ordered else ", ").join(levels.labels)


def _ensemble(resolved: ResolvedStudy) -> list[str]:
    from ..ensemble.features_per_model import RANDOM, most_features
    from ..selectors import as_selector

    section, data = resolved.study.evidence, resolved.data
    assert data is not None
    names = ", ".join(selector.name for selector in as_selector(resolved.study.selector))
    per_model: Any = resolved.features_per_model
    if per_model == RANDOM:
        per_model = f"at random 1 to {most_features(per_model, data.n_features)}"
    n = round(section.train_size * data.n_samples)
    return [f"ensemble    {section.n_models:,} models by {names}, each of {per_model} features on about {n:,} samples"]


def _decision(resolved: ResolvedStudy) -> list[str]:
    from ..constraints.sizes import SUPPORTED, with_supported
    from ..priors import DEFAULT_WEIGHT

    decision = resolved.decision
    n_weighted = int((resolved.prior.weights != DEFAULT_WEIGHT).sum())
    lines = [f"prior       {n_weighted:,} of {len(resolved.feature_names):,} features have a prior weight"]
    if len(decision.blocks):
        lines.append(f"blocks      {len(decision.blocks):,}")
    return lines + [f"constraint  {constraint!r}" for constraint in with_supported(decision.constraints, SUPPORTED)]


def _trust(resolved: ResolvedStudy) -> str:
    from ..study.trust_work import chosen_level

    section, level = resolved.study.trust, chosen_level(resolved)
    parts = [f"{section.n_shuffles:,} shuffles of the target", f"{section.n_splits} pairs of halves"]
    parts += [f"{section.cv} x {section.n_repeats} folds"] * (level == "full")
    return f"trust       {level}" + ("" if level == "none" else f": {', '.join(parts)}")


def _time(resolved: ResolvedStudy) -> str:
    import time
    from dataclasses import replace

    study, data = resolved.study, resolved.data
    n = len(study.evidence.selector) if isinstance(study.evidence.selector, list | tuple) else 1
    trial = replace(study, evidence=replace(study.evidence, n_models=n, seed=0))
    trial.collect(data)  # imports are not part of the estimate
    started = time.perf_counter()
    trial.collect(data)
    seconds = (time.perf_counter() - started) / n * study.evidence.n_models
    return f"time        at most about {seconds:.1f} s on one processor; less when runs are done together"
