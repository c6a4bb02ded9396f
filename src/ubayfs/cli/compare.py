"""Show what changed between two results, and why.

For every feature that was added or removed, the first decision is made again with only the evidence, only the prior or
only the constraints of the second; what already makes the change then is its cause.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from .console import echo


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the arguments."""
    parser.add_argument("first", type=Path, help="directory of a result, as `ubayfs select` writes it")
    parser.add_argument("second", type=Path, help="directory of another result")
    parser.add_argument("--json", action="store_true", help="print the comparison as JSON")


def run(arguments: argparse.Namespace) -> None:
    """Print the comparison."""
    from ..results import StoredResult
    from ..results.comparison import compare

    comparison = compare(StoredResult(arguments.first), StoredResult(arguments.second))
    if arguments.json:
        import json

        echo(json.dumps(comparison.to_dict(), indent=2))
    else:
        echo(comparison.to_text())
