"""Write a commented study file for a data table.

The target, columns that are no features (row names, identifiers), groups of rows and blocks of features are guessed
from names and values, and the file says so; look at every line before you go on with `ubayfs check`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from .console import say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the arguments."""
    parser.add_argument("data", type=Path, help="table: CSV, TSV (also .gz), Parquet, Excel or AnnData")
    parser.add_argument("--target", help="column to be explained; without it the file lists candidates")
    parser.add_argument("--sheet", help="sheet of an Excel file")
    parser.add_argument("-o", "--output", type=Path, default=Path("study.yaml"), help="default: study.yaml")
    parser.add_argument("--force", action="store_true", help="replace the study file if there is one")


def run(arguments: argparse.Namespace) -> None:
    """Write the file."""
    from .._files import write_atomically
    from ..exceptions import InputError
    from ..study import template
    from ..study.guesses import guess
    from ..study.template import is_undecided
    from ..tables import likely_sheet, read_table

    output: Path = arguments.output
    if output.exists() and not arguments.force:
        raise InputError(f"{output} exists already. Choose another name with -o, or replace it with --force.")
    sheet = arguments.sheet or likely_sheet(arguments.data)
    table = read_table(arguments.data, sheet=sheet)
    text = template(table, _seen_from(output, arguments.data), target=arguments.target, sheet=sheet)
    if not output.parent.is_dir():
        raise InputError(f"there is no directory {output.parent} to write {output.name} to; make it first.")
    write_atomically(output, text.encode())
    found = guess(table, arguments.target)
    if table.other_sheets:
        say(f"The data are taken from the sheet {sheet!r}; other sheets: {', '.join(map(repr, table.other_sheets))}.")
    if is_undecided(found):
        say(f"Which column is to be explained? It may be {', '.join(map(repr, found.candidates))}; say so in the file.")
    elif arguments.target is None:
        told = "No target was found" if found.target is None else f"The target seems to be {found.target!r}"
        say(f"{told}; correct the file if it is another column.")
    say(f"Wrote {output}. Next: edit it, then run: ubayfs check {output}")


def _seen_from(study: Path, data: Path) -> str:
    """Return the path of the data as the study file has to name it."""
    import os

    if data.is_absolute():
        return data.as_posix()
    return Path(os.path.relpath(data, study.parent)).as_posix()
