"""Test how far a result can be trusted: related to the target, selected again by another study, able to predict.

  ubayfs trust results
  ubayfs trust results --level quick

Adds the missing tests to the result, in place; finished ones are not repeated. Quick tests what is related
to the target and what would be selected again; full also validates. Ctrl-C ends the work; finished tests are used.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from . import options, steps
from .console import shell_command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the arguments."""
    parser.add_argument("result", type=Path, help="directory of a result, as `ubayfs select` writes it")
    parser.add_argument(
        "--level", dest="trust", choices=("quick", "full"), default="full", help="which tests (default: full)"
    )
    options.add_section(parser, "trust", without=("level", "max_supported"))


def run(arguments: argparse.Namespace) -> None:
    """Decide again, find out what is missing, and write the result again."""
    from ..exceptions import InputError
    from ..results import StoredResult, reserve
    from ..results.finishing import check_fingerprint, runs_directory
    from ..study import resolve_study
    from ..trust.trust import higher

    directory: Path = arguments.result
    stored = StoredResult(directory)
    evidence, section = stored.evidence, options.section_alone(stored.study, "trust", arguments)
    steps.check_has_samples(stored.study, "ubayfs trust")
    if stored.of_another_version:
        again = shell_command("ubayfs", "decide", directory, "--trust", arguments.trust, "-o", f"{directory}-again")
        raise InputError(
            f"{directory} is of another version of ubayfs, and this one may decide otherwise. To make a new result "
            f"from its ensemble, run: {again}"
        )
    _ = stored.trust, stored.summary  # read before they are replaced
    recorded = replace(section, level=higher(arguments.trust, stored.study.trust.level or "none"))
    study = steps.written_to(replace(stored.study, trust=recorded), directory)
    with reserve(directory, study, force=True) as write:
        resolved = resolve_study(study, feature_names=evidence.feature_names, n_models=evidence.n_models)
        check_fingerprint(study, resolved.data, evidence)
        runs = runs_directory(directory, resolved)
        with steps.resumable(runs, "What is finished is"):
            used, notes = resolved.with_seeds(evidence), (*resolved.advice, *evidence.advice)
            steps.finish(used, evidence, directory, write, stored, notes, arguments.trust, runs)
