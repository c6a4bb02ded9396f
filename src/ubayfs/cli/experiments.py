"""Rerun the experiments of the paper, with its competitors beside it.

`list` shows the experiments and which data sets are at hand, `run` runs them (a stopped run goes on where it was), and
`report` puts the results beside the paper's tables in one HTML file.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from .console import progress, say, table, tell, tell_beside_bar

_OUTPUT = "ubayfs-experiments"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the arguments."""
    steps = parser.add_subparsers(dest="step", metavar="step", required=True)
    shown = steps.add_parser("list", help="show the experiments, their cells and the data sets")
    _add_data_dir(shown)
    shown.set_defaults(of_step=_list)
    ran = steps.add_parser("run", help="run experiments by name, or all of them")
    ran.add_argument("names", nargs="+", metavar="NAME", help="1a, 1b, 1c, 1d, 2 ...; see `list`; all: everything")
    _add_data_dir(ran)
    _add_output(ran)
    ran.add_argument("--quick", action="store_true", help="everything in small, to see that it works")
    ran.add_argument("--jobs", type=int, default=1, metavar="N", help="processes, of one thread each (1)")
    ran.add_argument("--seed", type=int, metavar="N", help="of splits, ensembles and synthetic data (20221)")
    ran.add_argument("--only", metavar="TEXT", help="only cells whose names contain this, such as 2/PRO")
    ran.set_defaults(of_step=_run)
    reported = steps.add_parser("report", help="write tables, figures and one HTML file from what was run")
    _add_output(reported)
    reported.set_defaults(of_step=_report)


def run(arguments: argparse.Namespace) -> None:
    """Do one of the steps."""
    arguments.of_step(arguments)


def _add_data_dir(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data-dir", type=Path, metavar="DIRECTORY", help="with PRO.csv.gz and the others; default: UBAYFS_DATA"
    )


def _add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o", "--output", type=Path, default=Path(_OUTPUT), metavar="DIRECTORY", help=f"of the run ({_OUTPUT})"
    )


def _list(arguments: argparse.Namespace) -> None:
    from ..experiments.catalogue import SOURCES, data_directory, is_there
    from ..experiments.registry import EXPERIMENTS
    from ..experiments.tasks import Scale

    directory = data_directory(arguments.data_dir)
    cells = {name: experiment.tasks(Scale()) for name, experiment in EXPERIMENTS.items()}
    say(
        table(
            [
                {"experiment": name, "cells": len(cells[name]), "what": experiment.title}
                for name, experiment in EXPERIMENTS.items()
            ]
        )
    )
    say()
    say(
        table(
            [
                {
                    "data set": name,
                    "at hand": is_there(source, directory),
                    "rows": source.n_samples,
                    "features": source.n_features,
                    "file": source.path or "none needed",
                    "what": source.title,
                }
                for name, source in SOURCES.items()
            ]
        )
    )


def _run(arguments: argparse.Namespace) -> None:
    from .._arguments import check_int
    from ..experiments.catalogue import data_directory
    from ..experiments.registry import named
    from ..experiments.runner import SEED, run

    experiments = named(arguments.names)
    directory = data_directory(arguments.data_dir)
    seed = SEED if arguments.seed is None else check_int("--seed", arguments.seed, low=0)
    n_jobs = check_int("--jobs", arguments.jobs, low=1)
    try:
        with progress("cells", "splits") as bar:
            complete = run(
                experiments,
                arguments.output,
                directory,
                seed=seed,
                quick=arguments.quick,
                n_jobs=n_jobs,
                only=arguments.only,
                progress=lambda cell, done, total: bar(done, total, cell),
                note=tell_beside_bar,
            )
    except KeyboardInterrupt:
        tell(f"What is done is kept in {arguments.output}; the same command goes on from there.")
        raise
    cells = "1 cell is" if complete == 1 else f"{complete} cells are"
    say(f"{cells} complete in {arguments.output}; see `ubayfs experiments report -o {arguments.output}`")


def _report(arguments: argparse.Namespace) -> None:
    from ..experiments.page import write_report

    written = write_report(arguments.output)
    report = next(path for path in written if path.name == "report.html")
    say(f"Wrote {len(written)} files; open {report}")
