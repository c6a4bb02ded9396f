"""Decide again on the evidence of an earlier result, in a moment.

  ubayfs decide results --max-size 5 --weight "mean radius=likely" -o five
  ubayfs decide results --study edited.yaml

Starts from the study of that result (or from --study); options replace its settings. Without -o nothing is written.
Tests of `--trust quick` are used for the new decision, too; a validation must be done again: --trust full.
"""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from . import options, steps
from .console import echo_error, shell_command

if TYPE_CHECKING:
    from ..results import StoredResult


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the arguments."""
    parser.add_argument(
        "result", type=Path, help="directory of a result, or of evidence that `ubayfs collect` or `ubayfs merge` wrote"
    )
    parser.add_argument("--study", type=Path, help="use the settings of this study file, not those of the result")
    options.add_decision(parser)
    options.add_section(parser, "trust")
    options.add_output(parser)


def run(arguments: argparse.Namespace) -> None:
    """Decide, show, and write if there is a directory; the data table is read only if something needs it."""
    from ..results import StoredResult, reserve, stored_at
    from ..results.finishing import check_fingerprint, runs_directory
    from ..study import resolve_study
    from ..study.study import read_draft

    level = _asked_level(arguments)
    stored = stored_at(arguments.result)
    earlier = steps.comparable(stored) if isinstance(stored, StoredResult) else None
    study, evidence = stored.study, stored.evidence
    steps.check_whole(evidence, arguments.result)
    if level is not None:
        steps.check_has_samples(study, f"--trust {level}")
    problems = study.new_problems()
    if arguments.study is not None:
        study, problems = read_draft(arguments.study)
        used = options.with_origin(study, stored.study)
        if used != options.with_origin(study, study):  # the same file has another relative path in another folder
            echo_error(
                f"Note: data and ensemble are those of {arguments.result}; those of {arguments.study} are not used."
            )
            study, problems.changed = used, frozenset({"data", "evidence"})
    study = options.changed(study, arguments, problems)
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
        names, n_models = evidence.feature_names, evidence.n_models
        table = "if needed" if level is None else "read"
        resolved = resolve_study(study, data=table, feature_names=names, n_models=n_models)
        if resolved.needs_related and level is None:
            _check_related(earlier, arguments.result)
        check_fingerprint(study, resolved.data, evidence)
        resolved = steps.votes_seen(resolved, earlier)
        notes = [note for note in evidence.advice if note.category is None]  # `select` has shown them
        runs = None if directory is None or level is None else runs_directory(directory, resolved)
        steps.finish(resolved.with_seeds(evidence), evidence, directory, write, earlier, notes, level, runs)


def _asked_level(arguments: argparse.Namespace) -> str | None:
    """Return the level of trust to find out, None for what is known already; refuse work whose outcome is lost."""
    from ..exceptions import InputError

    level = getattr(arguments, "trust", None)
    if level in (None, "none"):
        return None
    if arguments.output is None:
        raise InputError(
            f"--trust {level} repeats the ensemble many times, and without -o nothing of it is stored. Add "
            "-o DIRECTORY; what the result knows already is shown without --trust.",
            argument="trust",
        )
    return str(level)


def _check_related(earlier: StoredResult | None, directory: Path) -> None:
    """Refuse a size that needs p-values of all features, if the result does not have them."""
    from ..exceptions import InputError

    if earlier is None or earlier.trust is None or earlier.trust.related is None:
        way = shell_command("ubayfs", "trust", directory, "--level", "quick")
        raise InputError(
            f"max_size: supported needs p-values of all features, which {directory} does not have. Add them with: "
            f"{way}, or with --trust quick and -o here.",
            argument="constraints",
        )
