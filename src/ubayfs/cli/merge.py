"""Join the parts of an ensemble that `ubayfs collect` has stored.

  ubayfs merge parts/* -o evidence
  ubayfs decide evidence -o results

Together the parts are what one command would have found. Parts that are missing, there twice, unfinished or of another
ensemble are named, and nothing is written.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from . import options, steps
from .console import echo, shell_command

if TYPE_CHECKING:
    from ..results import StoredEvidence


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the arguments."""
    parser.add_argument("parts", type=Path, nargs="+", help="directories that `ubayfs collect --part` wrote")
    options.add_directory(parser, "evidence", "evidence", required=True)


def run(arguments: argparse.Namespace) -> None:
    """Read all parts, put them together, and write evidence that `ubayfs decide` takes."""
    from ..ensemble.evidence import Evidence
    from ..results import reserve_evidence

    directory: Path = arguments.output
    stored = _opened(arguments.parts)
    evidence = Evidence.join({name: part.evidence for name, part in stored.items()})
    first, *others = sorted(stored.values(), key=lambda part: int(part.evidence.settings["part"]["number"]))
    asked = steps.asked_for(first.study)
    different = [str(part.directory) for part in others if steps.asked_for(part.study) != asked]
    steps.echo_notes(evidence, first.directory, different)
    inputs = [path for part in stored.values() for path in part.sources]
    with reserve_evidence(directory, force=arguments.force, inputs=inputs) as write:
        write(first.study, evidence)
    then = shell_command("ubayfs", "decide", directory)
    echo(f"{len(stored)} parts, {evidence.settings['n_models']} runs in {directory}; decide on it with: {then}")


def _opened(paths: list[Path]) -> dict[str, StoredEvidence]:
    """Return the parts by their directories; raise all that is wrong with them at once."""
    from ..exceptions import InputError, UBayFSError
    from ..results import StoredEvidence

    repeated = [str(path) for path, times in Counter(paths).items() if times > 1]
    stored, problems = {}, [f"{name} is named more than once. Name each part once." for name in repeated]
    for path in dict.fromkeys(paths):
        try:
            stored[str(path)] = part = StoredEvidence(path)
            _ = part.study, part.evidence
        except UBayFSError as error:
            problems.append(str(error))
    if problems:
        raise InputError(
            "\n  ".join(["cannot merge:", *problems]) if len(problems) > 1 else f"cannot merge: {problems[0]}"
        )
    return stored
