"""The notebook runs from top to bottom, and every value that it shows has a rich representation."""

import ast
import json
from pathlib import Path

import pytest

import ubayfs

PATH = Path(__file__).parents[1] / "examples" / "whole_story.ipynb"
RICH = ("_repr_html_", "_repr_png_", "_repr_mimebundle_")


def sources(kind):
    cells = json.loads(PATH.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == kind]


def run(code, namespace):
    """Run a cell; return the value of its last line, if that is an expression."""
    *body, last = ast.parse(code).body
    is_value = isinstance(last, ast.Expr)
    exec(compile(ast.Module(body if is_value else [*body, last], []), "cell", "exec"), namespace)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), namespace) if is_value else None


def test_the_notebook_is_stored_without_outputs():
    cells = json.loads(PATH.read_text(encoding="utf-8"))["cells"]
    assert all(not cell.get("outputs") and cell.get("execution_count") is None for cell in cells)
    assert len({cell["id"] for cell in cells}) == len(cells)


def test_the_notebook_runs_and_shows_what_it_promises(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ubayfs.plotting.Drawing, "render", lambda drawing, *how, **more: b"a picture: see below")
    namespace, shown = {}, []
    for code in sources("code"):
        value = run(code, namespace)
        if type(value).__module__.startswith("ubayfs"):
            found = [getattr(value, name)() for name in RICH if hasattr(value, name)]
            assert any(found)
            shown.append(type(value))
    expected = {
        ubayfs.Evidence, ubayfs.Selection, ubayfs.Constraint, ubayfs.Noise, ubayfs.Reproducibility, ubayfs.Validation,
        ubayfs.UBayFSSelector, ubayfs.plotting.Drawing,
    }  # fmt: skip
    assert expected <= set(shown)
    assert any(issubclass(kind, ubayfs.Posterior) for kind in shown)
    report = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert all(name in report for name in namespace["selection"].features)
    assert "Not examined yet" not in report  # all three facts are known


def test_the_notebook_runs_in_a_kernel(tmp_path):
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(PATH, as_version=4)
    nbclient.NotebookClient(notebook, resources={"metadata": {"path": str(tmp_path)}}, timeout=600).execute()
    kinds = [set(output.data) for cell in notebook.cells for output in cell.get("outputs", []) if "data" in output]
    assert sum("image/png" in data for data in kinds) == 2
    assert sum("text/html" in data for data in kinds) >= 8
