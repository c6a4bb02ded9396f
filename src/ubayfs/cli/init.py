"""Write a commented study file for a data table, or for several files of the same samples.

Whether features are in columns or rows, the target, columns that are not features (identifiers, text), groups of
samples and blocks of features are inferred from names and values; comments in the file say where. Look at every line,
then run `ubayfs check`.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from .console import echo, shell_command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the arguments."""
    parser.add_argument(
        "data", type=Path, nargs="+", help="table: CSV, TSV (also .gz), GEO series matrix, Parquet, Excel or AnnData"
    )
    parser.add_argument("--samples", type=Path, metavar="FILE", help="sample sheet, which has the target")
    parser.add_argument("--features-in", choices=("columns", "rows"), help="default: a guess, which is shown")
    parser.add_argument("--id", help="column of the sample ids, or of the features if they are in rows")
    parser.add_argument("--encoding", help="of text that is not UTF-8, such as latin-1")
    parser.add_argument("--target", help="column to explain; without it the file lists candidates")
    parser.add_argument("--time", metavar="COLUMN", help="of survival: the time to the event or the last observation")
    parser.add_argument("--event", metavar="COLUMN", help="of survival: whether the event happened then")
    parser.add_argument("--sheet", help="sheet of an Excel file")
    parser.add_argument(
        "--samples-sheet", metavar="SHEET", help="sheet that describes the samples, of the same Excel file or --samples"
    )
    parser.add_argument("-o", "--output", type=Path, default=Path("study.yaml"), help="default: study.yaml")
    parser.add_argument("--force", action="store_true", help="replace the study file if there is one")


def run(arguments: argparse.Namespace) -> None:
    """Write the file."""
    from .._files import write_atomically
    from .._plain import quoted
    from ..exceptions import InputError
    from ..report import advice_facts
    from ..study.starter import starter_text
    from ..study.study import moved_path
    from ..tables.reading import inspect_files
    from .steps import echo_advice

    output: Path = arguments.output
    if output.exists() and not arguments.force:
        raise InputError(f"{output} exists already. Choose another name with -o, or replace it with --force.")
    target = _target(arguments)
    inspected = inspect_files(
        arguments.data, samples=arguments.samples, sheet=arguments.sheet,
        samples_sheet=arguments.samples_sheet, features_in=arguments.features_in, id=arguments.id,
        encoding=arguments.encoding, target=target,
    )  # fmt: skip
    table = inspected.table
    sheet = arguments.sheet or (inspected.sheet if inspected.other_sheets else None)

    def moved(path: Path) -> str:
        return moved_path(path.as_posix(), Path.cwd(), Path.cwd() / output.parent)

    paths = {block: moved(path) for block, path in inspected.files.items()}
    layout = inspected.keys if arguments.samples is None else {"samples": moved(arguments.samples), **inspected.keys}
    data_path = paths if len(paths) > 1 else next(iter(paths.values()))
    text, roles = starter_text(table, data_path, target, sheet, layout)
    if not output.parent.is_dir():
        raise InputError(f"there is no directory {output.parent} to write {output.name} to; make it first.")
    write_atomically(output, text.encode())
    for line in inspected.orientation:
        echo(line)
    echo_advice(advice_facts(table.notes))
    if inspected.other_sheets:
        described = arguments.samples or arguments.samples_sheet
        way_out = "" if described else " If one of them describes the samples, name it with --samples-sheet."
        echo(f"The data are those of the sheet {sheet!r}; other sheets: {quoted(inspected.other_sheets)}.{way_out}")
    if roles.is_undecided:
        echo(f"Which column is the target? It may be {quoted(roles.candidates)}; name it in the file.")
    elif target is None:
        if roles.is_unsupervised:
            echo("No target was found; if there is one, name it in the file.")
        elif roles.survival is not None:
            echo(f"The target seems to be survival ({roles.survival}); correct the file if it is something else.")
        else:
            echo(f"The target seems to be {roles.target!r}; correct the file if it is another column.")
    echo(f"Wrote {output}. Next: edit it, then run: {shell_command('ubayfs', 'check', output)}")


def _target(arguments: argparse.Namespace) -> Any:
    """Return the column to explain, or those of time and event; None if none is given."""
    from ..data.reading_rules import SurvivalColumns, as_target
    from ..exceptions import InputError

    parts = {part: column for part in ("time", "event") if (column := getattr(arguments, part)) is not None}
    if parts and arguments.target is not None:
        raise InputError.of("--target", "cannot be combined with --time and --event; give one or the other.")
    if parts:
        return SurvivalColumns.from_mapping("--time and --event", parts)
    return None if arguments.target is None else as_target("--target", arguments.target)
