"""Run the ensemble, or one part of it, and store the evidence without deciding.

  ubayfs collect study.yaml -o evidence
  ubayfs collect study.yaml --part 3/20 -o parts/3
  ubayfs collect study.yaml --for-pooling -o sent

In a job array of Slurm the part is that of the task, so that --part is not needed. `ubayfs merge` puts parts together,
`ubayfs decide` decides. --for-pooling writes what a site sends to be pooled with others by `ubayfs pool`: votes and
directions of features, no row of data; a model selects up to 20 features then. Finished runs are stored while the
ensemble works: repeat the same command to resume.
"""

from __future__ import annotations

import argparse
import os
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import console, options, steps
from .console import echo, echo_error, shell_command

if TYPE_CHECKING:
    from ..study import ResolvedStudy, Study

# Variables of a task; one without a default must be there, except that of the last task, which follows from the others.
_SLURM = "SLURM_ARRAY_TASK_"
_VARIABLES = {"ID": "", "MIN": "", "MAX": "", "COUNT": "", "STEP": "1"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the arguments."""
    options.add_study(parser)
    parser.add_argument(
        "--part",
        type=_as_part,
        metavar="K/N",
        help="do part K of N (default: the task of a Slurm array, else all runs)",
    )
    parser.add_argument("--for-pooling", action="store_true", help="write what a site sends, for `ubayfs pool`")
    parser.add_argument(
        "--min-votes-sent", type=int, metavar="N", help="features with fewer votes are not sent (default: 5)"
    )
    options.add_directory(parser.add_argument_group("results"), "evidence", "evidence", required=True)


def run(arguments: argparse.Namespace) -> None:
    """Collect evidence and write it; a part that is finished already is left as it is."""
    from ..results import reserve_evidence
    from ..results.finishing import runs_directory
    from ..study import resolve_study

    study = options.requested_study(arguments)
    steps.check_has_samples(study, "ubayfs collect")
    if arguments.for_pooling or arguments.min_votes_sent is not None:
        _collect_for_pooling(arguments, study)
        return
    part = arguments.part or slurm_part(os.environ)
    directory: Path = arguments.output
    _check_part(part, study.evidence, arguments.source)
    resolved = resolve_study(study)
    title = "All runs" if part is None else f"Part {part[0]} of {part[1]}"
    if not arguments.force and _is_finished(directory, resolved, part):
        echo(f"{title}: finished already in {directory}")
        return
    with reserve_evidence(directory, force=arguments.force, inputs=[arguments.source]) as write:
        runs = runs_directory(directory, resolved)
        with steps.resumable(runs), console.progress("ensemble", "runs") as update, console.advice_as_values():
            evidence = resolved.collect(on_progress=update, checkpoint=runs, part=part)
        for advice in (*resolved.version_advice, *evidence.advice):
            echo_error(f"Note: {advice}")
        used = resolved.standalone
        write(replace(used, evidence=replace(used.evidence, seed=evidence.settings["seed"]["entropy"])), evidence)
        shutil.rmtree(runs, ignore_errors=True)  # the evidence holds them all now
    then = "put all parts together with ubayfs merge"
    if part is None:
        then = f"decide on it with: {shell_command('ubayfs', 'decide', directory)}"
    echo(f"{title}: {evidence.settings['n_models']} runs in {directory}; {then}")


def _collect_for_pooling(arguments: argparse.Namespace, study: Study) -> None:
    """Write what a site sends."""
    from ..exceptions import InputError
    from ..results import reserve_evidence
    from ..results.finishing import runs_directory
    from ..study import resolve_study
    from ..trust.cohorts import MIN_VOTES_SENT, collect_for_pooling

    if arguments.part is not None or not arguments.for_pooling:
        which, rule = ("part", "cannot be combined with") if arguments.for_pooling else ("min-votes-sent", "needs")
        raise InputError(f"--{which} {rule} --for-pooling.", argument=which)
    directory, least = arguments.output, arguments.min_votes_sent
    resolved = resolve_study(study)
    assert resolved.data is not None
    with reserve_evidence(directory, force=arguments.force, inputs=[arguments.source]) as write:
        runs = runs_directory(directory, resolved)
        settings = {**study.evidence.arguments(), "selector": study.selector}
        with steps.resumable(runs), console.progress("ensembles", "ensembles") as update, console.advice_as_values():
            evidence = collect_for_pooling(
                resolved.data,
                **settings,
                min_votes_sent=MIN_VOTES_SENT if least is None else least,
                on_progress=update,
                checkpoint=runs,
            )
        for advice in (*resolved.advice, *evidence.advice):
            echo_error(f"Note: {advice}")
        write(resolved.standalone, evidence)
        shutil.rmtree(runs, ignore_errors=True)
    n_samples, then = resolved.data.n_samples, shell_command("ubayfs", "pool", directory, "...")
    echo(
        f"{directory} is what this site sends: votes and directions of features on {n_samples:,} samples. "
        "No row of data is in it, but it is not anonymous: whoever has a person's measurements may find out whether "
        f"that person took part. Where the directories of all sites arrive, run: {then}"
    )


def slurm_part(environment: Mapping[str, str]) -> tuple[int, int] | None:
    """Return the part that a task of a Slurm job array has, as (number, of how many); None if this is not such a task.

    Examples
    --------
    >>> names = {"ID": "7", "MIN": "5", "MAX": "24", "COUNT": "20", "STEP": "1"}
    >>> slurm_part({f"SLURM_ARRAY_TASK_{name}": value for name, value in names.items()})
    (3, 20)
    """
    from ..exceptions import InputError

    if f"{_SLURM}ID" not in environment:
        return None
    variables = {name: environment.get(f"{_SLURM}{name}", default) for name, default in _VARIABLES.items()}
    try:
        task, first, count, step = (int(variables[name]) for name in _VARIABLES if name != "MAX")
        last = int(variables["MAX"] or first + step * (count - 1))
    except ValueError:
        shown = ", ".join(f"{_SLURM}{name}={value!r}" for name, value in variables.items())
        rule = f"the variables of the Slurm array are not numbers ({shown}). Name the part by --part K/N."
        raise InputError(rule) from None
    if step != 1 or last - first + 1 != count:
        raise InputError(
            f"the Slurm array has {count} tasks from {first} to {last} with a step of {step}; parts need tasks without "
            f"gaps, such as --array=1-{count}. Submit it so, or name the part by --part K/N."
        )
    return task - first + 1, count


def _as_part(text: str) -> tuple[int, int]:
    number, separator, n_parts = text.partition("/")
    if not (separator and number.isdecimal() and n_parts.isdecimal()):
        raise argparse.ArgumentTypeError(f"must be K/N, such as 3/20 for the third of 20 parts; got {text!r}")
    return int(number), int(n_parts)


def _check_part(part: tuple[int, int] | None, section: Any, source: Path) -> None:
    """Refuse a part that is none, and parts that would not agree for lack of a seed."""
    from ..ensemble.parts import part_runs
    from ..exceptions import InputError

    if part is None:
        return
    part_runs(part, section.n_models)
    if section.seed is None:
        raise InputError(
            f"{source} has no seed, so that the parts would not belong together. Write a number behind 'seed:' in its "
            "section 'evidence', or give all parts the same --seed.",
            argument="seed",
        )


def _is_finished(directory: Path, study: ResolvedStudy, part: tuple[int, int] | None) -> bool:
    """Return whether a directory holds exactly this evidence already, as when a task is started again."""
    from ..exceptions import UBayFSError
    from ..results import StoredEvidence

    try:
        stored = StoredEvidence(directory)
        settings, earlier = stored.evidence.settings, stored.study
    except UBayFSError:
        return False
    stored_part = None if "part" not in settings else (settings["part"]["number"], settings["part"]["of"])
    assert study.data is not None
    same_runs = stored_part == part and settings["data_fingerprint"] == study.data.fingerprint
    same_runs = same_runs and settings["n_features_per_model"] == study.features_per_model
    return same_runs and steps.asked_for(earlier) == steps.asked_for(study.standalone)
