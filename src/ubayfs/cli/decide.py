"""Decide again on the evidence of an earlier result; answers at once.

  ubayfs decide results --max-size 5 --weight "mean radius=likely" -o five
  ubayfs decide results --study edited.yaml

Starts from the study of that result (or from --study); options replace its settings. Without -o nothing is written.
"""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from . import options, steps
from .console import echo_error


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the arguments."""
    parser.add_argument(
        "result", type=Path, help="directory of a result, or of evidence that `ubayfs collect` or `ubayfs merge` wrote"
    )
    parser.add_argument("--study", type=Path, help="use the settings of this study file, not those of the result")
    options.add_decision(parser)
    options.add_output(parser)


def run(arguments: argparse.Namespace) -> None:
    """Decide, show, and write if there is a directory; the data table is read only if something needs it."""
    from ..results import StoredResult, reserve, stored_at
    from ..study import resolve_study
    from ..study.study import read_draft

    stored = stored_at(arguments.result)
    earlier = stored if isinstance(stored, StoredResult) else None
    study, evidence = stored.study, stored.evidence
    steps.check_whole(evidence, arguments.result)
    problems = study.new_problems()
    if arguments.study is not None:
        study, problems = read_draft(arguments.study)
        used = options.with_origin(study, stored.study)
        if used != options.with_origin(study, study):  # the same file has another relative path in another folder
            echo_error(f"Note: data and ensemble are those of {arguments.result}, whatever {arguments.study} has.")
            study, problems.changed = used, frozenset({"data", "evidence"})
    study = options.changed(study, arguments, problems, evidence)
    directory = arguments.output
    with ExitStack() as stack:
        write = None
        if directory is None:
            study = replace(study, outputs=replace(study.outputs, reduced_table=False))
        else:
            study = steps.written_to(study, directory)
            write = stack.enter_context(reserve(directory, study, force=arguments.force, source=arguments.study))
            if earlier is not None:
                _ = earlier.summary  # a result that cannot be compared with is refused before the work
        resolved = resolve_study(
            study, data="if needed", feature_names=evidence.feature_names, n_models=evidence.n_models
        )
        steps.check_fingerprint(study, resolved.data, evidence)
        if earlier is not None:
            stack.enter_context(earlier.damage_named())
        notes = [given for given in evidence.advice if given.category is None]  # `select` has shown them
        steps.finish(resolved.with_seeds(evidence), evidence, directory, write, earlier, notes)
