"""Run the whole method on a real data set: breast cancer, 569 tumors, 30 features.

Writes a table, a spreadsheet of what an expert might know, a study file and a result with its report: all that you
would have with data of your own.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from .console import echo, shell_command

if TYPE_CHECKING:
    import pandas as pd

_KNOWLEDGE = """\
feature,weight,comment
worst smoothness,very likely,rough outlines on the worst nuclei were a finding of an earlier study
mean texture,likely,measured by every laboratory
fractal dimension error,unlikely,hard to reproduce
"""
_STUDY = """\
# What an expert knows of the breast cancer data. Every key is explained in docs/study.md.
data:
  path: cells.csv
  target: diagnosis

evidence:
  selector: [mrmr, tree]  # in turns
  n_models: 100
  n_features_per_model: 5
  seed: 0

prior:
  table: knowledge.csv

blocks:
  mean: ["mean *"]
  error: ["* error"]
  worst: ["worst *"]

constraints:
  - max_size: {n: 8, rho: hard}  # eight values fit on the form
  - must_link: [mean texture, worst texture]  # one measurement gives both
  - cannot_link: [worst radius, worst perimeter, worst area]  # three names for size
  - decorrelate: 0.95  # no two that say the same

decision:
  n_alternatives: 5
  seed: 0

trust:
  n_repeats: 2  # of the 5 folds, for a first look; 5 is usual
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the arguments."""
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("ubayfs-demo"), metavar="DIRECTORY", help="default: ubayfs-demo"
    )
    parser.add_argument("--trust", metavar="LEVEL", help="none, quick or full, as of `ubayfs select`")
    parser.add_argument("--force", action="store_true", help="replace an earlier demo there")


def run(arguments: argparse.Namespace) -> None:
    """Write the files of the demo, then do what `ubayfs select` does."""
    from .._files import write_atomically
    from ..exceptions import InputError
    from ..tables import write_table
    from .main import build_parser

    directory: Path = arguments.output
    files = [directory / name for name in ("cells.csv", "knowledge.csv", "study.yaml")]
    existing = [path for path in files if path.exists()]
    if existing and not arguments.force:
        raise InputError(f"{existing[0]} exists already. Choose another directory with -o, or replace it with --force.")
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise InputError(f"{directory} is a file, not a directory; choose another one with -o.") from None
    write_table(_cells(), files[0])
    write_atomically(files[1], _KNOWLEDGE.encode())
    write_atomically(files[2], _STUDY.encode())
    command: list[str | Path] = ["select", files[2], "-o", directory / "results"]
    command += [] if arguments.trust is None else ["--trust", arguments.trust]
    command += ["--force"] * arguments.force
    echo(f"$ {shell_command('ubayfs', *command)}\n")
    selected = build_parser().parse_args(list(map(str, command)))
    selected.run(selected)


def _cells() -> pd.DataFrame:
    """Return the breast cancer data as a table with the diagnosis in words."""
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer(as_frame=True)
    table = data.data.copy()
    table.insert(0, "diagnosis", data.target.map(dict(enumerate(data.target_names))))
    return table
