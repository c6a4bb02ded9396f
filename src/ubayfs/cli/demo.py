"""Run the whole method on a real data set: breast cancer, 569 tumors, 30 features.

Writes a table, a spreadsheet of what an expert might know, a study file and a result with its report: all that you
would have with data of your own.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from .console import echo, shell_command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the arguments."""
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("ubayfs-demo"), metavar="DIRECTORY", help="default: ubayfs-demo"
    )
    parser.add_argument("--trust", metavar="LEVEL", help="none, quick or full, as of `ubayfs select`")
    parser.add_argument("--force", action="store_true", help="replace an earlier demo there")


def run(arguments: argparse.Namespace) -> None:
    """Write the files of the demo, then do what `ubayfs select` does."""
    from ..exceptions import InputError
    from ..study.starter import DEMO_FILES, write_demo
    from .main import build_parser

    directory: Path = arguments.output
    files = [directory / name for name in DEMO_FILES]
    existing = [path for path in files if path.exists()]
    if existing and not arguments.force:
        raise InputError(f"{existing[0]} exists already. Choose another directory with -o, or replace it with --force.")
    write_demo(directory)
    command: list[str | Path] = ["select", files[2], "-o", directory / "results"]
    command += [] if arguments.trust is None else ["--trust", arguments.trust]
    command += ["--force"] * arguments.force
    echo(f"$ {shell_command('ubayfs', *command)}\n")
    selected = build_parser().parse_args(list(map(str, command)))
    selected.run(selected)
