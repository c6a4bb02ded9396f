"""Run the ensemble, find the best feature set, write a report.

Takes a study file, or a table and a few options:

  ubayfs select study.yaml
  ubayfs select cells.csv --target diagnosis --max-size 10 --selector mrmr -o out

Options on top of a study file replace what it says. Finished runs are kept while the ensemble works: after Ctrl-C the
same command goes on where it was.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from . import console, options, steps
from .console import notes, tell


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the arguments."""
    parser.add_argument("source", type=Path, help="study file (.yaml), or a table: CSV, TSV, Parquet, Excel, AnnData")
    options.add_data(parser)
    options.add_evidence(parser)
    options.add_decision(parser)
    options.add_output(parser)


def run(arguments: argparse.Namespace) -> None:
    """Collect evidence, decide, write and tell."""
    from ..study import check_study

    study = options.requested_study(arguments)
    directory = options.output_directory(arguments, study)
    study = steps.written_to(study, directory)
    steps.check_output(directory, study, arguments.force, source=arguments.source)
    data = check_study(study)  # whatever is wrong is better found before the ensemble than after it
    runs = steps.runs_directory(directory, study, data)
    try:
        with notes() as found:
            with console.progress("ensemble", "runs") as update:
                update(0, study.evidence.n_models)
                evidence = study.collect(data, on_progress=update, checkpoint=runs)
            study = steps.with_seeds(study, evidence)
            selection = study.decide(evidence, data)
        steps.finish(study, evidence, selection, data, found, directory, force=arguments.force)
    except KeyboardInterrupt:
        tell(f"\nFinished runs are kept in {runs}; the same command goes on from there.")
        raise
    steps.forget_runs(runs)
