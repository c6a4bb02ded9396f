"""Study files: data, ensemble, knowledge, constraints and decision in one YAML file that reproduces a result.

`schema` has the keys, `study` the value that is read and written, `resolve` ties it to its data and finds all problems.
"""

import ast
from importlib import import_module
from pathlib import Path

# The public names are in the stub beside this file. Each is imported when it is first used: the options of the command
# line need the keys, not the machinery.
_HOME = {
    alias.name: node.module
    for node in ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")).body
    if isinstance(node, ast.ImportFrom)
    for alias in node.names
}
__all__ = sorted(_HOME)


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
