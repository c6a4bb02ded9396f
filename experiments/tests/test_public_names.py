"""The experiments use ubayfs as anybody does: public names only."""

import ast
import inspect
from importlib import import_module
from pathlib import Path

import pytest

import ubayfs
import ubayfs_experiments

# Modules of ubayfs whose `__all__` is public beside that of ubayfs itself.
PUBLIC = {
    "decision",
    "exceptions",
    "metrics",
    "optimize",
    "plotting",
    "priors",
    "report",
    "selectors",
    "tables",
    "workers",
}
ROOT = Path(ubayfs_experiments.__file__).parent
SOURCES = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in sorted(ROOT.rglob("*.py"))}


def names_of(module):
    """Return the public names of ubayfs (module "") or of one of its modules; none of a module that is not public."""
    if not module:
        return {name for name in ubayfs.__all__ if not inspect.ismodule(getattr(ubayfs, name))} | PUBLIC
    return set(getattr(import_module(f"ubayfs.{module}"), "__all__", ())) if module in PUBLIC else set()


def dotted(node):
    """Return the parts of an expression such as ``ubayfs.metrics.stability``; nothing for any other."""
    if isinstance(node, ast.Name):
        return [node.id]
    above = dotted(node.value) if isinstance(node, ast.Attribute) else []
    return [*above, node.attr] if above else []


def private_names(source):
    """Return what a source imports or uses of ubayfs that is not public."""
    used = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            used |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            used |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Attribute):
            used.add(".".join(dotted(node)))
    found = set()
    for name in used:
        package, *parts = name.split(".")
        if package == "ubayfs" and parts:
            first, *rest = parts
            public = first in names_of("") and not (first in PUBLIC and rest and rest[0] not in names_of(first))
            if not public:
                found.add(name)
    return found


@pytest.mark.parametrize("path", SOURCES)
def test_only_public_names_of_ubayfs_are_used(path):
    assert private_names(SOURCES[path]) == set()


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import ubayfs\nubayfs.decide(ubayfs.Evidence.from_sets([]))", set()),
        ("from ubayfs import max_size\nfrom ubayfs.exceptions import InputError", set()),
        ("from ubayfs import InputError", {"ubayfs.InputError"}),
        ("import ubayfs\nubayfs.metrics.stability([])", set()),
        ("from ubayfs._files import write_atomically", {"ubayfs._files.write_atomically"}),
        ("def f():\n    from ubayfs.subsampling import plan_subsamples", {"ubayfs.subsampling.plan_subsamples"}),
        ("from ubayfs.plotting.style import house_style", {"ubayfs.plotting.style.house_style"}),
        ("from ubayfs.metrics import _as_sets", {"ubayfs.metrics._as_sets"}),
        ("import ubayfs.selectors._svm", {"ubayfs.selectors._svm"}),
        ("import ubayfs\nubayfs._arguments.check_int", {"ubayfs._arguments", "ubayfs._arguments.check_int"}),
        ("from ubayfs import utility", {"ubayfs.utility"}),
        ("from .ubayfs import anything\nimport ubayfs_experiments.store", set()),
    ],
)
def test_private_names_are_found(source, expected):
    assert private_names(source) == expected
