"""The examples run, without a warning of ours, and print and draw what they promise."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ubayfs import exceptions

FOLDER = Path(__file__).parents[1] / "examples"
# Script -> figures that it draws, and something it must find.
EXAMPLES = {
    "plot_expert_weights": (["expert_weights.png"], "-> [0, 0, 0, 0, 1, 1] of 1 chosen"),
    "plot_constraints": (["constraints.png"], "max_size(5, rho=inf): 5 features, admissibility 1.000"),
    "custom_selector": ([], "chosen by the mixed ensemble: bmi, bp, "),
    "pipeline": ([], "after a word with the expert: mean texture, "),
}


def run(name, folder, *arguments):
    """Run an example in an empty folder and return what it prints; none of our warnings may appear."""
    environment = {**os.environ, "MPLBACKEND": "Agg", "MPLCONFIGDIR": str(folder), "COLUMNS": "100"}
    command = [sys.executable, str(FOLDER / f"{name}.py"), *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    ours = [name for name, value in vars(exceptions).items() if isinstance(value, type) and issubclass(value, Warning)]
    assert not [name for name in ours if name in done.stderr], done.stderr
    return done.stdout


def test_every_example_is_tested():
    assert set(EXAMPLES) == {path.stem for path in FOLDER.glob("*.py")}


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_example(name, tmp_path):
    figures, text = EXAMPLES[name]
    output = run(name, tmp_path, *(["--output", "figures"] if figures else []))
    assert text in output
    for figure in figures:
        content = (tmp_path / "figures" / figure).read_bytes()
        assert content.startswith(b"\x89PNG")
        assert len(content) > 10_000
