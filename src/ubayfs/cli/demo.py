"""Run the whole method on real data: p53 in 50 cancer cell lines, 10,100 genes.

Writes a table, a spreadsheet with genes of the p53 pathway, a study file, and a result with its report: all that you
would have with data of your own. It takes about a minute.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from .console import echo, shell_command

if TYPE_CHECKING:
    from ..results import StoredResult


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the arguments."""
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("ubayfs-demo"), metavar="DIRECTORY", help="default: ubayfs-demo"
    )
    parser.add_argument("--trust", metavar="LEVEL", default="quick", help="none, quick (default) or full")
    parser.add_argument("--force", action="store_true", help="replace an earlier demo there")


def run(arguments: argparse.Namespace) -> None:
    """Write the files of the demo, do what `ubayfs check` and `ubayfs select` do, and tell what the list changed."""
    from ..demo import FILES, write_demo
    from ..exceptions import InputError
    from ..results import StoredResult

    directory: Path = arguments.output
    existing = [directory / name for name in FILES if (directory / name).exists()]
    if existing and not arguments.force:
        raise InputError(f"{existing[0]} exists already. Choose another directory with -o, or replace it with --force.")
    study, result = write_demo(directory), directory / "results"
    echo(f"Wrote {', '.join(FILES)} to {directory}.")
    _command("check", study)
    _command("select", study, "--trust", arguments.trust, "-o", result, *["--force"] * arguments.force)
    _tell_difference(StoredResult(result))
    _tell_next(directory, study, result)


def _command(*words: str | Path) -> None:
    """Do what a command does, below the line that a user would type."""
    from .main import build_parser

    echo(f"\n$ {shell_command('ubayfs', *words)}")
    arguments = build_parser().parse_args(list(map(str, words)))
    arguments.run(arguments)


def _tell_difference(result: StoredResult) -> None:
    """Print what the votes alone would select, and how much of it is on the list."""
    echo(f"\nDid your knowledge make the difference?\n  {_votes_alone(result)}")


def _votes_alone(result: StoredResult) -> str:
    """Return what is selected on the same votes without the list, and how many of it are on the list."""
    from .._plain import listing

    selection, agreement, prior = result.selection, result.summary.agreement, result.summary.prior
    assert selection.counts is not None
    assert agreement is not None
    assert prior is not None
    votes = dict(zip(selection.feature_names.tolist(), selection.counts.tolist(), strict=True))
    alone = sorted(agreement.at["none"] or (), key=lambda name: -votes[name])
    members = listing([f"{name} ({votes[name]})" for name in alone], len(alone))
    n_alone, n_with = (sum(name in prior.weights for name in chosen) for chosen in (alone, selection.features))
    return (
        f"The votes of the {result.evidence.n_models} models alone select {members}: {n_alone} of these {len(alone)} "
        f"are on your list. With the list, {n_with} of {len(selection.features)} are."
    )


def _tell_next(directory: Path, study: Path, result: Path) -> None:
    """Print what to try now."""
    probes = shell_command("ubayfs", "decide", result, "--exclude", "*_at", "-o", directory / "symbols")
    predicts = shell_command("ubayfs", "trust", result, "--level", "full")
    echo(f"\nNext\n  Open {result / 'report.html'}.")
    for text, command in {
        "Change your mind: leave out probes without a gene symbol. Only the decision is made again.": probes,
        "Test how the set predicts; this takes about another minute.": predicts,
        "Go on in a browser.": shell_command("ubayfs", "app", study),
    }.items():
        echo(f"  {text}\n  $ {command}")
