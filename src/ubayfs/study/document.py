"""YAML files, read safely: plain values and the line of each key.

Read are texts, numbers, true/false, null, lists and mappings, by the rules of YAML 1.2: ``no`` and ``on`` are texts
(they are genes too), ``1e-3`` is a number, ``007`` and ``2024-01-01`` are texts. Nothing else is ever built.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path as FilePath
from typing import Any

from .._arguments import did_you_mean
from .problems import REFUSED, Path, Problems
from .syntax import SCALARS, TAG, pyyaml, resolvers

# A study of 100,000 weighted features has about 5 MB and 200,000 values; aliases could make billions of them.
_LARGEST_FILE = 50_000_000
_MOST_VALUES = 1_000_000
_LONGEST_NUMBER = 1000  # digits; Python refuses to convert much more


class Refused:
    """Stands for a value that was refused, so that the rest can still be checked."""

    def __repr__(self) -> str:
        return REFUSED


@dataclass
class Document:
    """A YAML file as plain values.

    Attributes
    ----------
    value : None, bool, int, float, str, list, dict or Refused
    problems : Problems
        Its `lines` know the line of each key and list entry.
    """

    value: Any
    problems: Problems = field(default_factory=Problems)


def read_document(file: FilePath) -> Document:
    """Read a YAML file; what cannot be read at all raises a StudyError, what can be skipped is in `problems`."""
    problems = Problems(file.name)
    text = _text(file, problems)
    problems.raise_any()
    return parse_document(text, problems)


def parse_document(text: str, problems: Problems) -> Document:
    """Turn YAML text into plain values; the lines and problems go to `problems`."""
    yaml = pyyaml()
    try:
        node = _loader()(text).get_single_node()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problems((), f"is not YAML: {_explained(error.problem or error.context)}", mark.line + 1 if mark else 0)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        problems((), f"holds the character {chr(error.character)!r}, which YAML does not allow; remove it", line)
    except RecursionError:
        problems((), "is nested too deeply for a study", 0)
    problems.raise_any()
    lines: dict[Path, int] = {}
    problems.lines = lines
    return Document(None if node is None else _Builder(problems, lines).build(node, ()), problems)


def _text(file: FilePath, problems: Problems) -> str:
    try:
        if not file.exists():
            near = did_you_mean(file.name, [p.name for p in file.parent.glob("*") if p.suffix in (".yaml", ".yml")])
            problems((), f"does not exist in the directory {str(file.parent)!r}.{near}", 0)
            return ""
        if file.is_dir():
            problems((), "is a directory; name the study file in it, for example study.yaml.", 0)
            return ""
        if file.stat().st_size > _LARGEST_FILE:
            problems((), f"has more than {_LARGEST_FILE // 10**6} MB, which is no study file. Is it the data table?", 0)
            return ""
        content = file.read_bytes()
    except OSError as error:
        problems((), f"could not be read ({error.strerror or error}).", 0)
        return ""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        wrong = content[error.start : error.start + 1]
        problems((), f"is not UTF-8 text: byte {wrong!r}. Save it as UTF-8 in your editor.", line)
        return ""


def _explained(problem: str | None) -> str:
    text = problem or "unknown problem"
    if "'\\t'" in text:
        return f"{text}. A tab stands here; indent with spaces."
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
        self.open: set[int] = set()

    def build(self, node: Any, path: Path) -> Any:
        line = node.start_mark.line + 1
        self.lines.setdefault(path, line)
        self.n_values += 1
        if self.n_values > _MOST_VALUES:
            self.problems(path, f"holds more than {_MOST_VALUES} values; aliases (*name) multiply them.", line)
            self.problems.raise_any()
        kind = node.tag.removeprefix(TAG)
        if kind in SCALARS or kind == "str":
            return self._scalar(node, kind, path)
        if kind not in ("map", "seq") or id(node) in self.open:
            told = "contains itself by an alias" if id(node) in self.open else f"has the tag {_tag_text(node.tag)!r}"
            self.problems(path, f"{told}; a study holds texts, numbers, lists and mappings only.", line)
            return Refused()
        self.open.add(id(node))
        try:
            return self._mapping(node, path) if kind == "map" else self._list(node, path)
        finally:
            self.open.discard(id(node))

    def _scalar(self, node: Any, kind: str, path: Path) -> Any:
        text = node.value
        if not isinstance(text, str) or (kind != "str" and not SCALARS[kind].fullmatch(text)):
            return self._refused(path, f"is no {kind}, as its tag says; got {text!r}.", node)
        if kind == "int" and len(text) > _LONGEST_NUMBER:
            return self._refused(path, f"is a number of {len(text)} digits; put it into quotes if it is a name.", node)
        if kind == "null":
            return None
        if kind == "bool":
            return text.lower() == "true"
        if kind == "float":
            return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
        return int(text) if kind == "int" else text

    def _refused(self, path: Path, message: str, node: Any) -> Refused:
        self.problems(path, message, node.start_mark.line + 1)
        return Refused()

    def _list(self, node: Any, path: Path) -> Any:
        if not isinstance(node.value, list) or any(isinstance(entry, tuple) for entry in node.value):
            return self._refused(path, "is no list, as its tag says.", node)
        return [self.build(entry, (*path, position)) for position, entry in enumerate(node.value)]

    def _mapping(self, node: Any, path: Path) -> Any:
        if not isinstance(node.value, list) or not all(isinstance(entry, tuple) for entry in node.value):
            return self._refused(path, "is no mapping, as its tag says.", node)
        found: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            key = key_node.value
            kind = key_node.tag.removeprefix(TAG)
            if kind not in ("str", "int") or not isinstance(key, str):
                shown = repr(key) if isinstance(key, str) else "that is a list or a mapping"
                self.problems(path, f"has a key {shown}; keys are texts, so put it into quotes.", line)
                continue
            key = self._scalar(key_node, kind, path)
            if isinstance(key, Refused):
                continue
            place = (*path, key)
            if key in found:
                self.problems(place, f"stands twice, first on line {self.lines[place]}; keep one of them.", line)
                continue
            self.lines[place] = line
            found[key] = self.build(value_node, place)
        return found


def _tag_text(tag: str) -> str:
    return f"!!{tag.removeprefix(TAG)}" if tag.startswith(TAG) else tag


@lru_cache
def _loader() -> Any:
    yaml = pyyaml()

    class Loader(yaml.SafeLoader):  # type: ignore[name-defined]
        yaml_implicit_resolvers = resolvers()

    return Loader
