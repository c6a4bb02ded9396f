"""Pool the evidence of several sites that `ubayfs collect --for-pooling` has stored.

  ubayfs pool oslo graz -o pooled
  ubayfs decide pooled -o results

No row of data leaves its site. Each directory is a site and has its name. Sites whose targets are coded differently, or
that have the same data, are named, and nothing is written.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from pathlib import Path

from . import console, options, steps
from .console import echo, shell_command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the arguments."""
    parser.add_argument("sites", type=Path, nargs="+", help="directories that `ubayfs collect --for-pooling` wrote")
    options.add_directory(parser, "evidence", "evidence", required=True)


def run(arguments: argparse.Namespace) -> None:
    """Read what all sites sent, pool it, and write evidence that `ubayfs decide` takes."""
    from .._problems import raise_problem
    from ..ensemble.pooling import pool_evidence
    from ..results import read_sites, reserve_evidence
    from ..study import DataSection, EvidenceSection
    from ..study.schema import as_cohorts

    directory: Path = arguments.output
    cohorts = as_cohorts([str(path) for path in arguments.sites], lambda path, rule: raise_problem(("sites",), rule))
    assert cohorts is not None
    stored = read_sites(cohorts.directories)
    with console.advice_as_values():
        evidence = pool_evidence({name: site.evidence for name, site in stored.items()})
    first, *others = stored.values()
    asked = steps.asked_for(first.study)
    different = [str(site.directory) for site in others if _decision(steps.asked_for(site.study)) != _decision(asked)]
    steps.echo_notes(evidence, first.directory, different)
    moved = cohorts.with_paths(lambda path: Path(os.path.relpath(path, first.study.folder)).as_posix())
    study = replace(first.study, data=DataSection(""), evidence=EvidenceSection(), cohorts=moved)
    inputs = [path for site in stored.values() for path in site.sources]
    with reserve_evidence(directory, force=arguments.force, inputs=inputs) as write:
        write(study, evidence)
    n_samples, then = evidence.settings["n_samples"], shell_command("ubayfs", "decide", directory)
    echo(f"{len(stored)} sites, {n_samples:,} samples in {directory}; decide on it with: {then}")


def _decision(asked: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in asked.items() if key != "evidence"}
