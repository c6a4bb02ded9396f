"""Pages look once at what another thread may replace meanwhile, so that what they show fits together."""

import ast
from pathlib import Path

import pytest

import ubayfs

REPLACED = {"answer", "evidence", "facts", "problems", "progress", "table", "votes"}  # by the worker of a study
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
FILES = sorted((Path(ubayfs.__file__).parent / "app").rglob("*.py"))


def looks(function):
    """Return the names that a function, without those inside it, reads of a workbench, as often as it does."""
    found, nodes = [], list(ast.iter_child_nodes(function))
    while nodes:
        node = nodes.pop()
        if isinstance(node, FUNCTIONS):
            continue
        if isinstance(node, ast.Attribute) and node.attr in REPLACED and ast.unparse(node.value).endswith("bench"):
            found.append(node.attr)
        nodes += ast.iter_child_nodes(node)
    return found


def twice(source):
    """Return the functions that look twice, by line, and at what."""
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, FUNCTIONS)]
    every = [(function.lineno, name) for function in functions for name in looks(function)]
    return sorted({each for each in every if every.count(each) > 1})


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_page_looks_twice(path):
    assert twice(path.read_text("utf-8")) == []


def test_a_second_look_is_found():
    source = "def draw(bench):\n    if bench.facts is not None:\n        return bench.facts['task']\n"
    assert twice(source) == [(1, "facts")]
    assert twice("def draw(bench):\n    return [bench.facts, lambda: bench.facts]\n") == []
