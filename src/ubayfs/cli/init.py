"""Write a commented study file for a data table.

The target, columns that are not features (identifiers, text), groups of samples and blocks of features are inferred
from names and values; comments in the file say where. Look at every line, then run `ubayfs check`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from .console import echo, shell_command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the arguments."""
    parser.add_argument("data", type=Path, help="table: CSV, TSV (also .gz), Parquet, Excel or AnnData")
    parser.add_argument("--target", help="column to explain; without it the file lists candidates")
    parser.add_argument("--sheet", help="sheet of an Excel file")
    parser.add_argument("-o", "--output", type=Path, default=Path("study.yaml"), help="default: study.yaml")
    parser.add_argument("--force", action="store_true", help="replace the study file if there is one")


def run(arguments: argparse.Namespace) -> None:
    """Write the file."""
    from .._files import write_atomically
    from ..exceptions import InputError
    from ..study.starter import starter_text
    from ..study.study import moved_path
    from ..tables import read_table
    from ..tables.table import quoted

    output: Path = arguments.output
    if output.exists() and not arguments.force:
        raise InputError(f"{output} exists already. Choose another name with -o, or replace it with --force.")
    table = read_table(arguments.data, sheet=arguments.sheet, choose_sheet=True)
    sheet = arguments.sheet or (table.sheet if table.other_sheets else None)
    data_path = moved_path(arguments.data.as_posix(), Path.cwd(), Path.cwd() / output.parent)
    text, roles = starter_text(table, data_path, arguments.target, sheet)
    if not output.parent.is_dir():
        raise InputError(f"there is no directory {output.parent} to write {output.name} to; make it first.")
    write_atomically(output, text.encode())
    if table.other_sheets:
        echo(f"The data are those of the sheet {sheet!r}; other sheets: {quoted(table.other_sheets)}.")
    if roles.is_undecided:
        echo(f"Which column is the target? It may be {quoted(roles.candidates)}; name it in the file.")
    elif arguments.target is None:
        found = "No target was found" if roles.target is None else f"The target seems to be {roles.target!r}"
        echo(f"{found}; correct the file if it is another column.")
    echo(f"Wrote {output}. Next: edit it, then run: {shell_command('ubayfs', 'check', output)}")
