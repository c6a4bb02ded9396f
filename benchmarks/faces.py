"""The command line beside the imports that nobody who works with these packages can do without."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from . import data
from .report import Row, Section
from .timing import REPOSITORY, compare

IMPORTS = "import numpy, scipy.optimize, pandas, sklearn.feature_selection, matplotlib.figure"
LIMITS = {"--help": 0.1, "decide": 0.7, "decide -o": 1.8, "select": 2.2}
_READING = (
    f"CPU time (user and system) of a whole command, as a multiple (`times`) of that of `python -c '{IMPORTS}'`, in "
    "turns. `select` runs 100 models of mRMR and writes the report with its figures, without repeating anything on "
    "other samples (`--trust none`); `decide` asks for half as many features on its evidence, and judges its set by "
    "the p-values and (with `-o`) the halves that are stored with it."
)


def faces(quick: bool = False) -> Section:
    """Measure --help, decide, decide -o and select."""
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        name, table, note = _table(directory)
        results = directory / "results"
        select = ["select", str(table), "--target", "y", "--selector", "mrmr", "--max-size", "20", "--force"]
        decide = ["decide", str(results), "--max-size", "10"]
        # Also fills the caches of fonts and of compiled modules.
        _run(_command([*select, "--trust", "quick", "-o", str(results)]))
        commands = {
            "--help": ["--help"],
            "decide": decide,
            "decide -o": [*decide, "-o", str(directory / "again"), "--force"],
            "select": [*select, "--trust", "none", "-o", str(directory / "alone")],
        }
        rounds = (1, 1) if quick else (5, 5)
        rows = []
        for what, arguments in commands.items():
            work, reference = partial(_run, _command(arguments)), partial(_run, [sys.executable, "-c", IMPORTS])
            found = compare(work, reference, rounds=rounds, clock=_cpu_seconds)
            values = {"seconds": found.seconds, "ratio": found.ratio}
            rows.append(Row(name, f"ubayfs {what}", values, {"ratio": LIMITS[what]}, note))
    return Section("The command line", _READING, rows)


def _table(directory: Path) -> tuple[str, Path, str]:
    """Return name and path of the leukemia data; without them those of scikit-learn, and a note."""
    if data.present("LEU"):
        return "LEU", data.path("LEU"), ""
    from sklearn.datasets import load_breast_cancer

    path = directory / "cells.csv"
    load_breast_cancer(as_frame=True).frame.rename(columns={"target": "y"}).to_csv(path, index=False)
    return "breast cancer", path, f"{data.absent('LEU')}; measured on 30 features instead"


def _command(arguments: list[str]) -> list[str]:
    return [sys.executable, "-m", "ubayfs", *arguments]


def _run(command: list[str]) -> None:
    one_thread = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    source = os.pathsep.join([str(REPOSITORY / "src"), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, **one_thread, "PYTHONPATH": source}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # installed packages are compiled
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)


def _cpu_seconds(work: partial[None]) -> float:
    """Return the CPU time of the processes that a call starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
