"""YAML as study files use it, read safely into plain values with the line of each key, and written for people.

Read are texts, numbers, true/false, null, lists and mappings, by the rules of YAML 1.2: ``no`` and ``on`` are texts
(they are genes too), ``1e-3`` is a number, ``007`` and ``2024-01-01`` are texts. Nothing else is ever built.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path as FilePath
from typing import Any

from .._arguments import did_you_mean
from .._files import ReadBytes, as_path, read_bytes
from .._plain import whole
from .._problems import Path, collect_errors
from ..exceptions import InputError, MissingDependencyError, StudyError, repr_of
from .diagnostics import Origin, Problems, study_error

_TAG = "tag:yaml.org,2002:"
_SCALARS = {
    "null": re.compile(r"|~|null|Null|NULL"),
    "bool": re.compile(r"true|True|TRUE|false|False|FALSE"),
    "int": re.compile(r"[-+]?(0|[1-9][0-9]*)"),
    "float": re.compile(
        r"[-+]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
    ),
}
# What nodes of each kind are, and what people call them.
_NODES = {**dict.fromkeys((*_SCALARS, "str"), "scalar"), "map": "mapping", "seq": "sequence"}
_WORDS = {"map": "a mapping", "seq": "a list"}
# A study of 100,000 weighted features has about 5 MB and 200,000 values; aliases could make billions of them.
_LARGEST_FILE = 50_000_000
_MOST_VALUES = 1_000_000
_DEEPEST = 50  # values inside of values; aliases make chains
_LONGEST_NUMBER = 1000  # digits; Python refuses to convert much more
_FLOW_LIMIT = 8  # entries of a list or mapping that are still written in one line

# By first character: what a plain text may be.
_Resolvers = dict[str, list[tuple[str, re.Pattern[str]]]]


def _pyyaml() -> Any:
    try:
        import yaml
    except ImportError as error:
        raise MissingDependencyError(
            'Study files need PyYAML, which is not installed: pip install "ubayfs[cli]".'
        ) from error
    return yaml


def _resolvers() -> _Resolvers:
    """Return what kinds of values plain texts may be, in the form that PyYAML wants: by first character."""
    entries = [(_TAG + kind, re.compile(rf"^(?:{pattern.pattern})$")) for kind, pattern in _SCALARS.items()]
    return dict.fromkeys((*"~nNtTfF+-.0123456789", ""), entries)


# -- reading -----------------------------------------------------------------------------------------------------------


def read_document(file: FilePath, read: ReadBytes = read_bytes) -> tuple[Any, Problems]:
    """Read a YAML file into plain values, and what was skipped of it; StudyError if nothing can be read.

    The origin of the problems has the line of each key and list entry.
    """
    problems = Problems(Origin(file.name))
    text = ""
    try:
        with collect_errors(problems):
            text = _content(file, read).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        wrong = error.object[error.start : error.start + 1]
        problems((), f"is not UTF-8 text: byte {wrong!r}. Save it as UTF-8 in your editor.", line)
    problems.raise_any()
    return parse_document(text, problems), problems


def _content(file: FilePath, read: ReadBytes) -> bytes:
    as_path(file)
    if not file.exists():
        near = did_you_mean(file.name, [p.name for p in file.parent.glob("*") if p.suffix in (".yaml", ".yml")])
        raise InputError(f"does not exist in the directory {str(file.parent)!r}.{near}")
    if not file.is_file():
        raise InputError(f"is {'a directory' if file.is_dir() else 'not a file'}; name the study file in it.")
    if file.stat().st_size > _LARGEST_FILE:
        raise InputError(f"has more than {_LARGEST_FILE // 10**6} MB, too much for a study. Is it the data table?")
    return read(file)


def parse_document(text: str, problems: Problems) -> Any:
    """Turn YAML text into plain values; `problems` gets the lines of all keys, and what is wrong.

    A value that is not plain ends it, after all of them are listed: without it nothing can be said of the others.
    """
    yaml = _pyyaml()
    node = None
    try:
        node = _loader()(text).get_single_node()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problems((), f"is not YAML: {_explained(error.problem or error.context)}", mark.line + 1 if mark else 0)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        problems((), f"holds the character {chr(error.character)!r}, which YAML does not allow; remove it.", line)
    except RecursionError:
        problems((), "is nested too deeply for a study.")
    problems.raise_any()
    lines: dict[Path, int] = {}
    problems.origin = replace(problems.origin, lines=lines)
    builder = _Builder(problems, lines)
    value = None if node is None else builder.build(node, ())
    if not builder.is_plain:
        problems.raise_any()
    return value


def _explained(problem: str | None) -> str:
    """Return what PyYAML found, which has no codes, with what to do about it."""
    text = problem or "unknown problem"
    if "'\\t'" in text:
        return f"{text}. This is a tab; indent with spaces."
    if "mapping values are not allowed" in text:
        return f"{text}. Put texts with a colon into quotes, and begin each key on a line of its own."
    if text.startswith("found character"):
        return f"{text}. Put the text into quotes."
    return f"{text}."


class _Builder:
    """Builds plain values of nodes and notes the line of each."""

    def __init__(self, problems: Problems, lines: dict[Path, int]) -> None:
        self.problems = problems
        self.lines = lines
        self.n_values = 0
        self.is_plain = True  # whether all values are texts, numbers, lists and mappings
        self.open: set[int] = set()

    def build(self, node: Any, path: Path) -> Any:
        line = node.start_mark.line + 1
        self.lines.setdefault(path, line)
        self.n_values += 1
        if len(path) > _DEEPEST:
            self.problems(path[:1], f"is nested more than {_DEEPEST} levels deep, too much for a study.", line)
            self.problems.raise_any()
        if self.n_values > _MOST_VALUES:
            self.problems(path, f"holds more than {_MOST_VALUES} values; aliases (*name) multiply them.", line)
            self.problems.raise_any()
        try:
            return self._built(node, node.tag.removeprefix(_TAG), path)
        except StudyError:  # too many values
            raise
        except InputError as error:
            self.problems(path, error.rule, line)
            self.is_plain = False
            return None

    def _built(self, node: Any, kind: str, path: Path) -> Any:
        if kind not in _NODES:
            tag = f"!!{kind}" if kind != node.tag else node.tag
            raise InputError(f"has the tag {tag!r}; a study holds texts, numbers, lists and mappings only.")
        if node.id != _NODES[kind]:
            raise InputError(f"has the tag of {_WORDS.get(kind, kind)}, but is not one.")
        if node.id == "scalar":
            return _scalar(node.value, kind)
        if id(node) in self.open:
            raise InputError("contains itself by an alias; a study holds texts, numbers, lists and mappings only.")
        self.open.add(id(node))
        try:
            if kind == "map":
                return self._mapping(node, path)
            return [self.build(entry, (*path, position)) for position, entry in enumerate(node.value)]
        finally:
            self.open.discard(id(node))

    def _mapping(self, node: Any, path: Path) -> dict[Any, Any]:
        values: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            kind = key_node.tag.removeprefix(_TAG)
            if kind not in ("str", "int") or key_node.id != "scalar":
                shown = repr(key_node.value) if key_node.id == "scalar" else "that is a list or a mapping"
                self.problems(path, f"has a key {shown}; keys are texts, so put it into quotes.", line)
                continue
            key = self.build(key_node, path)
            place = (*path, key)
            if key in values:
                self.problems(place, f"occurs twice, first on line {self.lines[place]}; remove one of them.", line)
                continue
            self.lines[place] = line
            values[key] = self.build(value_node, place)
        return values


def _scalar(text: str, kind: str) -> Any:
    if kind != "str" and not _SCALARS[kind].fullmatch(text):
        raise InputError(f"has the tag of {kind}, but is not one; got {repr_of(text)}.")
    if kind == "int" and len(text) > _LONGEST_NUMBER:
        raise InputError(f"is a number of {len(text)} digits; put it into quotes if it is a name.")
    if kind == "null":
        return None
    if kind == "bool":
        return text.lower() == "true"
    if kind == "float":
        return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
    return int(text) if kind == "int" else text


@lru_cache
def _loader() -> Any:
    yaml = _pyyaml()

    class Loader(yaml.SafeLoader):  # type: ignore[name-defined]
        yaml_implicit_resolvers = _resolvers()

    return Loader


# -- writing -----------------------------------------------------------------------------------------------------------


def plain(value: Any, name: str = "the value") -> Any:
    """Return a value as it is written: lists for tuples, whole numbers without a decimal point.

    Objects that know how they are written have a method of this name; others are refused.
    """
    if isinstance(value, Mapping):
        return {key: plain(entry, name) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry, name) for entry in value]
    if hasattr(value, "plain"):
        return value.plain()
    if value is not None and not isinstance(value, str | int | float):
        raise study_error(
            f"{name} is {value!r}, which cannot be written to a study file. Use a built-in one by its name, with "
            "settings, or keep this study in Python."
        )
    return whole(value)


@lru_cache
def _dumper() -> Any:
    yaml = _pyyaml()
    # What either version of YAML takes for something else than text is put into quotes.
    old, new = yaml.SafeDumper.yaml_implicit_resolvers, _resolvers()
    both = {first: [*old.get(first, []), *new.get(first, [])] for first in {*old, *new}}

    class Dumper(yaml.SafeDumper):  # type: ignore[name-defined]
        yaml_implicit_resolvers = both

        def ignore_aliases(self, data: Any) -> bool:
            return True

        def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
            super().increase_indent(flow, False)  # entries of lists are indented below their key

        def serialize(self, node: Any) -> None:
            if not self.default_flow_style:
                _lay_out(node, 0)
            super().serialize(node)

    # Line breaks and the like are written as escapes: other styles lose some, and let a text leave its comment.
    Dumper.add_representer(
        str, lambda dumper, data: dumper.represent_scalar(_TAG + "str", data, None if data.isprintable() else '"')
    )
    return Dumper


def dump_document(value: Mapping[str, Any]) -> str:
    """Write plain values as YAML: one section after the other, short lists and mappings in one line."""
    layout = {"sort_keys": False, "allow_unicode": True, "width": 110, "default_flow_style": False}
    dump = _pyyaml().dump
    return "\n".join(dump({key: entry}, Dumper=_dumper(), **layout) for key, entry in value.items())


def dump_inline(value: Any) -> str:
    """Write a value in one line, so that it may be anywhere in YAML, also inside a list.

    Examples
    --------
    >>> dump_inline("mean radius"), dump_inline("a: b"), dump_inline("no"), dump_inline(["a, b", 2])
    ('mean radius', "'a: b'", "'no'", "['a, b', 2]")
    """
    layout = {"sort_keys": False, "allow_unicode": True, "width": 10**9, "default_flow_style": True}
    return str(_pyyaml().dump([value], Dumper=_dumper(), **layout)).strip()[1:-1]


def _lay_out(node: Any, depth: int) -> None:
    """Choose what is written in one line: what is short, below the sections, and has nothing nested but short lists."""
    if node.id == "scalar":
        return
    entries = node.value if node.id == "sequence" else [entry for _, entry in node.value]
    for entry in entries:
        _lay_out(entry, depth + 1)
    leaf = all(entry.id == "scalar" or (entry.id == "sequence" and entry.flow_style) for entry in entries)
    single = depth == 2 and node.id == "mapping" and len(entries) == 1  # an entry of the list of constraints
    node.flow_style = not entries or (leaf and len(entries) <= _FLOW_LIMIT and depth > 1 and not single)
