"""Run the ensemble, find the best feature set, write a report.

Takes a study file, or a table and a few options:

  ubayfs select study.yaml
  ubayfs select cells.csv --target diagnosis --max-size 10 --selector mrmr -o out

Options on top of a study file replace its settings. Finished runs are stored while the ensemble works: after Ctrl-C
or SIGTERM, rerun the same command to resume. Once there is an answer, Ctrl-C ends the tests
of --trust; those that are finished are used.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import console, options, steps

if TYPE_CHECKING:
    from ..study import Study


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the arguments."""
    options.add_study(parser)
    options.add_section(parser, "trust")
    options.add_output(parser)


def run(arguments: argparse.Namespace) -> None:
    """Collect evidence, decide, show and write."""
    from ..report import advice_facts
    from ..results import reserve
    from ..results.finishing import runs_directory
    from ..study import resolve_study
    from ..study.trust_work import chosen_level

    study = options.requested_study(arguments)
    # The command line names a directory relative to here, the study one relative to its file.
    directory = arguments.output or study.folder / study.outputs.directory
    study = steps.written_to(study, directory)
    with reserve(directory, study, force=arguments.force, source=arguments.source) as write:
        if study.cohorts is not None:
            _select_pooled(study, directory, write)
            return
        resolved = resolve_study(study)
        steps.echo_advice(advice_facts(resolved.advice))
        runs = runs_directory(directory, resolved)
        with steps.resumable(runs):
            with console.progress("ensemble", "runs") as update, console.advice_as_values():
                update(0, study.evidence.n_models)
                evidence = resolved.collect(on_progress=update, checkpoint=runs)
            level = chosen_level(resolved)
            resolved = steps.votes_seen(resolved, steps.replaced_result(Path(directory), resolved))
            used = steps.with_level(resolved.with_seeds(evidence), level)
            steps.finish(used, evidence, directory, write, shown=resolved.advice, level=level, runs=runs)


def _select_pooled(study: Study, directory: Path, write: Callable[..., Any]) -> None:
    """Pool what sites sent, decide, show and write."""
    from ..results import pooled_evidence
    from ..study import resolve_study

    with console.advice_as_values():
        evidence = pooled_evidence(study)
    resolved = resolve_study(study, data=None, feature_names=evidence.feature_names, n_models=evidence.n_models)
    steps.finish(resolved.with_seeds(evidence), evidence, directory, write)
