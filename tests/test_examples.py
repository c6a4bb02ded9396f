"""The examples run without a warning, and print and draw what they promise."""

import runpy
import sys
from pathlib import Path

import pytest

import ubayfs

pytest.importorskip("matplotlib")

FOLDER = Path(__file__).parents[1] / "examples"
# Script -> figures that it draws, and something it must find.
EXAMPLES = {
    "plot_expert_weights": (["expert_weights.png"], "-> [0, 0, 0, 0, 1, 1] of 1 chosen"),
    "plot_constraints": (["constraints.png"], "max_size(5, rho=inf): 5 features, admissibility 1.000"),
    "custom_selector": ([], "chosen by the mixed ensemble: bmi, bp, "),
    "pipeline": ([], "after a word with the expert: mean texture, "),
}


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Function that runs a script as a program in an empty folder and returns what it prints.

    The script runs in this process, where pytest turns every warning into an error.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")

    def run_script(path, *arguments):
        monkeypatch.setattr(sys, "argv", [str(path), *arguments])
        runpy.run_path(str(path), run_name="__main__")
        printed = capsys.readouterr()
        assert printed.err == ""
        return printed.out

    return run_script


def test_every_example_is_tested():
    assert set(EXAMPLES) == {path.stem for path in FOLDER.glob("*.py")}


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_example(name, run, tmp_path):
    figures, text = EXAMPLES[name]
    output = run(FOLDER / f"{name}.py", *(["--output", "figures"] if figures else []))
    assert text in output
    for figure in figures:
        content = (tmp_path / "figures" / figure).read_bytes()
        assert content.startswith(b"\x89PNG")
        assert len(content) > 10_000


@pytest.mark.parametrize(
    ("statements", "error"),
    [
        ("warnings.warn('odd', ubayfs.UBayFSWarning)", ubayfs.UBayFSWarning),
        ("ubayfs.max_size('ten')", ubayfs.InputError),
        ("sys.stderr.write('odd')", AssertionError),
    ],
)
def test_an_example_that_warns_raises_or_complains_would_fail(statements, error, run, tmp_path):
    path = tmp_path / "example.py"
    path.write_text(f"import sys, warnings, ubayfs\nif __name__ == '__main__': {statements}\n", encoding="utf-8")
    with pytest.raises(error):
        run(path)
