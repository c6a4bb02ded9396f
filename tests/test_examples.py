"""The examples run without a warning, and print and draw what they promise."""

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

import ubayfs
from ubayfs.plotting.figures import encode_png

pytest.importorskip("matplotlib")

FOLDER = Path(__file__).parents[1] / "examples"
# Script -> something that it must print.
EXAMPLES = {
    "plot_constraints": "max_size(5): 5 features, admissibility 1.000",
    "plot_convergence": "the same set: True",
    "plot_correlation": "one per cluster  mean correlation",
    "plot_custom_selector": "selected by the mixed ensemble: bmi, bp, ",
    "plot_expert_weights": "-> [0, 0, 0, 0, 1, 1] of 1 selected",
    "plot_first_selection": "worst smoothness",
    "plot_grid_search": "with a weight on mean texture: mean texture, ",
    "plot_multi_omics": "two assays: ",
    "plot_related": "at least 4 of 10 are related to the target (90 % confidence)",
    "plot_penalties": "price 0.2: a, b, c",
    "plot_posterior": "worst perimeter: ",
    "plot_report": "Are they related to the target?",
    "plot_reproducibility": "of these 6 would be selected again",
    "plot_sizes": "features are supported",
    "plot_substitutes": "worst area (",
    "plot_survival": "selected: x0, x1, x2",
    "plot_validation": "all features",
}


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Function that runs a script as a program in an empty folder and returns what it prints.

    The script runs in this process, where pytest turns every warning into an error. What its figures look like is seen
    in the gallery, which `make docs` builds from the same scripts: they are drawn, but not rendered.
    """
    import matplotlib.pyplot as plt

    from ubayfs.plotting import Drawing

    monkeypatch.setattr(Drawing, "render", lambda self, *how: encode_png(np.zeros((1, 1, 4), dtype=np.uint8), 100))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plt, "show", lambda: None)
    plt.switch_backend("Agg")

    def run_script(path):
        monkeypatch.setattr(sys, "argv", [str(path)])
        runpy.run_path(str(path), run_name="__main__")
        figures = [plt.figure(number) for number in plt.get_fignums()]
        titles = [axes.get_title(place) for figure in figures for axes in figure.axes for place in ("center", "left")]
        assert not figures or any(titles)  # which the gallery takes for the description of the picture
        plt.close("all")
        printed = capsys.readouterr()
        assert printed.err == ""
        return printed.out

    return run_script


def test_every_example_is_tested():
    assert set(EXAMPLES) == {path.stem for path in FOLDER.glob("*.py")}


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_example(name, run):
    path = FOLDER / f"{name}.py"
    assert EXAMPLES[name] in run(path)
    title, underline = path.read_text(encoding="utf-8").splitlines()[1:3]
    assert underline == "=" * len(title), "the gallery takes the title from here"


@pytest.mark.parametrize(
    ("statements", "error"),
    [
        ("warnings.warn('odd', ubayfs.exceptions.UBayFSWarning)", ubayfs.exceptions.UBayFSWarning),
        ("ubayfs.max_size('ten')", ubayfs.exceptions.InputError),
        ("sys.stderr.write('odd')", AssertionError),
    ],
)
def test_an_example_that_warns_raises_or_complains_would_fail(statements, error, run, tmp_path):
    path = tmp_path / "example.py"
    path.write_text(f"import sys, warnings, ubayfs\nif __name__ == '__main__': {statements}\n", encoding="utf-8")
    with pytest.raises(error):
        run(path)
