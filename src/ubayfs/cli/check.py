"""Validate a study and its data, and tell what would run.

Lists all problems of the study at once. With --time one elementary run is tried, to tell how long the ensemble takes.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import options
from .console import say

if TYPE_CHECKING:
    from ..data.feature_data import FeatureData
    from ..study import Study


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the arguments."""
    parser.add_argument("source", type=Path, help="study file (.yaml), or a table")
    options.add_data(parser)
    options.add_evidence(parser)
    options.add_decision(parser)
    parser.add_argument("--time", action="store_true", help="try one run of each selector and estimate the time")


def run(arguments: argparse.Namespace) -> None:
    """Check and tell."""
    from ..study import check_study

    study = options.requested_study(arguments)
    data = check_study(study)
    asked = study.arguments(data.feature_names)
    for line in [*_data(study, data), *_ensemble(study, data), *_decision(asked, data)]:
        say(line)
    if arguments.time:
        say(_time(study, data))
    say("\nEverything is all right.")


def _data(study: Study, data: FeatureData) -> list[str]:
    import numpy as np

    target = data.target
    lines = [f"data        {study.data.path}: {data.n_samples:,} rows, {data.n_features:,} features"]
    told = f"target      {study.data.target or 'none'}, task {target.task}"
    if target.values is not None and target.classes is not None and target.values.ndim == 1:
        counts = np.bincount(target.values, minlength=len(target.classes)).tolist()
        told += ": " + ", ".join(f"{name} {count}" for name, count in zip(target.classes, counts, strict=True))
    lines.append(told)
    if data.groups is not None:
        lines.append(
            f"groups      {len(np.unique(data.groups)):,} by {study.data.groups}; rows of a group stay together"
        )
    if data.missing is not None:
        lines.append(f"missing     {data.missing}")
    constant = data.feature_names[data.constant].tolist()
    if constant:
        shown = ", ".join(constant[:5]) + (" ..." if len(constant) > 5 else "")
        lines.append(f"constant    {len(constant):,} features can never be chosen: {shown}")
    return lines


def _ensemble(study: Study, data: FeatureData) -> list[str]:
    from ..selectors.adapters import as_selector, check_task

    section = study.evidence
    selectors = as_selector(study.selector)
    check_task(selectors, data.target.task)
    names = ", ".join(selector.name for selector in selectors)
    per_model = section.n_features_per_model or min(10, data.n_features)
    rows = round(section.train_size * data.n_samples)
    return [
        f"ensemble    {section.n_models:,} runs of {names} on about {rows:,} rows each, {per_model} features per run",
        f"work        {section.n_models * rows * data.n_features:,} values to look at",
    ]


def _decision(asked: dict[str, Any], data: FeatureData) -> list[str]:
    import numpy as np

    from ..priors.weights import DEFAULT_WEIGHT

    weights = np.asarray(asked["weights"])
    n_heavy = int((weights != DEFAULT_WEIGHT).sum()) if weights.ndim else 0
    lines = [f"prior       {n_heavy:,} of {data.n_features:,} features have a weight of their own"]
    blocks = asked["blocks"]
    if blocks:
        lines.append(f"blocks      {len(blocks):,}")
    lines += [f"constraint  {one!r}" for one in asked["constraints"]]
    return lines


def _time(study: Study, data: FeatureData) -> str:
    import time
    from dataclasses import replace

    n = len(study.evidence.selector) if isinstance(study.evidence.selector, list | tuple) else 1
    trial = replace(study, evidence=replace(study.evidence, n_models=n, seed=0))
    trial.collect(data)  # imports are not part of the estimate
    started = time.perf_counter()
    trial.collect(data)
    seconds = (time.perf_counter() - started) / n * study.evidence.n_models
    return f"time        at most about {seconds:.1f} s on one processor; runs that are done together take less"
