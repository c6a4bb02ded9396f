"""The notebook runs from top to bottom, and every value that it shows has a rich representation."""

import json
from pathlib import Path

import pytest

PATH = Path(__file__).parents[1] / "examples" / "whole_story.ipynb"
RICH = {"text/html", "image/png"}
EXPECTED = {
    "Evidence", "Selection", "Constraint", "Related", "Reproducibility", "Validation", "UBayFSSelector", "Drawing",
    "Posterior",
}  # fmt: skip
# Figures of the report, at which nobody looks, are drawn but not rendered; that of `first` stands for them.
NOT_RENDERED = """
from ubayfs.plotting import Drawing
Drawing.render = lambda self, *how, picture=first.plot().render(): picture
"""
# What the cells have shown, by number, as the names of our classes that it is of.
TOLD = """
import json
ours = lambda value: [kind.__name__ for kind in type(value).__mro__ if kind.__module__.startswith("ubayfs")]
print(json.dumps({"features": selection.features, "shown": {number: ours(value) for number, value in Out.items()}}))
"""


def test_the_notebook_is_stored_without_outputs():
    cells = json.loads(PATH.read_text(encoding="utf-8"))["cells"]
    assert all(not cell.get("outputs") and cell.get("execution_count") is None for cell in cells)
    assert len({cell["id"] for cell in cells}) == len(cells)


def test_the_notebook_runs_and_shows_what_it_promises(tmp_path):
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(PATH, as_version=4)
    cells = list(notebook.cells)
    strict = nbformat.v4.new_code_cell("import warnings; warnings.simplefilter('error')")
    (at,) = [place for place, cell in enumerate(cells) if cell.source.startswith("selection.report(")]
    blank = nbformat.v4.new_code_cell(NOT_RENDERED)
    notebook.cells = [strict, *cells[:at], blank, *cells[at:], nbformat.v4.new_code_cell(TOLD)]
    nbclient.NotebookClient(notebook, resources={"metadata": {"path": str(tmp_path)}}, timeout=600).execute()
    told = json.loads(notebook.cells[-1].outputs[0]["text"])
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    results = {output.execution_count: output.data for output in outputs if output.output_type == "execute_result"}
    ours = {int(number): kinds for number, kinds in told["shown"].items() if kinds}
    assert all(RICH & set(results[number]) for number in ours)
    assert {kind for kinds in ours.values() for kind in kinds} >= EXPECTED
    assert sum("image/png" in output.get("data", ()) for output in outputs) == 2
    assert sum("text/html" in output.get("data", ()) for output in outputs) >= 8
    report = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert all(name in report for name in told["features"])
    assert "Not examined yet" not in report  # all three facts are known
