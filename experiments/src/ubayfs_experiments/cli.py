"""Rerun the experiments of the UBayFS paper, with its competitors beside it.

`list` shows the experiments and which data sets are available, `run` runs them (a stopped run can be resumed by the
same command), and `report` compares the results with the paper's tables in one HTML file. `calibration` shows what
`run calibration fresh` found: whether "related", "selected again" and the intervals of prediction hold. `trial` shows
which elementary selector finds most.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ubayfs.exceptions import UBayFSError

OK, USER_ERROR, INTERRUPTED = 0, 2, 130
_COMMAND = "ubayfs-experiments"
_OUTPUT = "ubayfs-experiments"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; default those of the process.

    Returns
    -------
    code : int
        0 on success, 2 when the user has to change something, 130 after Ctrl-C.
    """
    try:
        arguments = build_parser().parse_args(argv)
    except SystemExit as stop:  # argparse has printed what is wrong, or its help
        return stop.code if isinstance(stop.code, int) else USER_ERROR
    try:
        arguments.run(arguments)
    except (UBayFSError, OSError) as error:
        print(f"{_COMMAND} {arguments.command}: {error}", file=sys.stderr)
        return USER_ERROR
    except KeyboardInterrupt:
        print(f"{_COMMAND} {arguments.command}: stopped.", file=sys.stderr)
        return INTERRUPTED
    return OK


_TABLES = {"calibration": "calibration fresh"} | {name: name for name in ("growth", "questions", "trial")}


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands; nothing heavy is imported for it."""
    parser = argparse.ArgumentParser(
        prog=_COMMAND, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    listed = commands.add_parser("list", help="show the experiments and the data sets")
    ran = commands.add_parser("run", help="run experiments by name, or all of them")
    reported = commands.add_parser("report", help="write the tables and the report (one HTML file) of a run")
    tables = [
        commands.add_parser(name, help=f"print the tables of `run {runs}`, or put them in a page")
        for name, runs in _TABLES.items()
    ]
    for command in tables:
        command.add_argument("--page", type=Path, metavar="FILE", help="Markdown page whose tables are replaced")
    ran.add_argument("names", nargs="+", metavar="NAME", help="experiment: 1a, 1b, 1c, 1d, 2 ... (see `list`), or all")
    for command in (listed, ran):
        command.add_argument(
            "--data-dir",
            type=Path,
            metavar="DIRECTORY",
            help="directory of the paper's data sets (PRO.csv.gz ...); default: environment variable UBAYFS_DATA",
        )
    for command in (ran, reported, *tables):
        command.add_argument(
            "-o",
            "--output",
            type=Path,
            default=Path(_OUTPUT),
            metavar="DIRECTORY",
            help=f"directory of the run (default: {_OUTPUT})",
        )
    ran.add_argument(
        "--quick", action="store_true", help="few splits and small ensembles, to see that everything works"
    )
    ran.add_argument(
        "--jobs", type=_whole(1), default=1, metavar="N", help="number of processes, of one thread each (default: 1)"
    )
    ran.add_argument(
        "--seed", type=_whole(0), metavar="N", help="seed of splits, ensembles and synthetic data (default: 20221)"
    )
    ran.add_argument("--only", metavar="TEXT", help="run only the cells whose names contain TEXT, such as 2/PRO")
    ran.add_argument(
        "--protocol", choices=("ours", "paper"), default="ours",
        help="of experiment 2: ours, or the authors' as their scripts tell it, which is experiment 2-paper",
    )  # fmt: skip
    ran.add_argument("--selector", metavar="NAME", help="selector of calibration and fresh (default: by measure)")
    listed.set_defaults(run=_list)
    ran.set_defaults(run=_run)
    reported.set_defaults(run=_report)
    for command in tables:
        command.set_defaults(run=_tables)
    return parser


def _whole(low: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not text.isdecimal() or int(text) < low:
            raise argparse.ArgumentTypeError(f"must be a whole number >= {low}; got {text}.")
        return int(text)

    return parse


def _list(arguments: argparse.Namespace) -> None:
    from .data.catalogue import SOURCES, data_directory, is_there
    from .registry import EXPERIMENTS, OTHERS
    from .tasks import Scale

    directory = data_directory(arguments.data_dir)
    experiments = [(name, len(found.tasks(Scale())), found.title) for name, found in (EXPERIMENTS | OTHERS).items()]
    data = [
        (name, "yes" if is_there(source, directory) else "no", source.n_samples or "any", source.n_features,
         source.path or "not needed", source.title)
        for name, source in SOURCES.items()
    ]  # fmt: skip
    _print_table(("experiment", "cells", "title"), experiments)
    print()
    _print_table(("data set", "available", "samples", "features", "file", "title"), data)


def _print_table(titles: tuple[str, ...], rows: list[tuple[Any, ...]]) -> None:
    columns = list(zip(titles, *rows, strict=True))
    widths = [max(len(str(cell)) for cell in column) for column in columns]
    for line in (titles, *rows):
        print("  ".join(str(cell).ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def _run(arguments: argparse.Namespace) -> None:
    from .data.catalogue import data_directory
    from .registry import named
    from .runner import SEED, run

    experiments = named(arguments.names, arguments.protocol)
    directory = data_directory(arguments.data_dir)
    try:
        with _progress() as (update, note):
            complete = run(
                experiments,
                arguments.output,
                directory,
                seed=SEED if arguments.seed is None else arguments.seed,
                quick=arguments.quick,
                selector=arguments.selector,
                n_jobs=arguments.jobs,
                only=arguments.only,
                progress=update,
                note=note,
            )
    except KeyboardInterrupt:
        print(f"Finished splits are in {arguments.output}; the same command resumes the run.", file=sys.stderr)
        raise
    cells = "1 cell is" if complete == 1 else f"{complete} cells are"
    print(f"{cells} complete in {arguments.output}; see `{_COMMAND} report -o {arguments.output}`")


@contextmanager
def _progress() -> Iterator[tuple[Callable[[str, int, int], None], Callable[[str], None]]]:
    """Give a callback that draws a bar per cell, where stderr is a terminal, and one that prints a line beside it."""
    from tqdm import tqdm

    with tqdm(unit="splits", disable=None, leave=False, file=sys.stderr, dynamic_ncols=True) as bar:

        def update(cell: str, done: int, total: int) -> None:
            if bar.disable:
                return
            if cell != bar.desc:
                bar.set_description_str(cell, refresh=False)
                bar.reset(total)
                bar.initial = bar.n = done  # what was done before says nothing about the time that is left
                bar.refresh()
            bar.update(done - bar.n)

        yield update, lambda text: tqdm.write(text, file=sys.stderr)


def _report(arguments: argparse.Namespace) -> None:
    from .report.page import write_report

    written = write_report(arguments.output)
    print(f"Wrote {len(written)} files; open {written[-1]}")


def _tables(arguments: argparse.Namespace) -> None:
    import pandas as pd

    from . import store
    from .analysis.calibration import BY_EXPERIMENT, EXPERIMENTS, fill, markdown
    from .files import write_file

    store.read_run(arguments.output)
    experiment = arguments.command
    frame = pd.concat(store.read_frames(arguments.output, EXPERIMENTS[experiment]).values())
    if arguments.page is None:
        print("\n".join(markdown(name, frame) for name in BY_EXPERIMENT[experiment]))
    else:
        write_file(arguments.page, fill(arguments.page.read_text(encoding="utf-8"), frame).encode())
        print(f"Wrote {arguments.page}")
