"""Plain values as YAML that people read: sections apart, short lists and mappings in one line."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from .syntax import TAG, Resolvers, pyyaml, resolvers

_FLOW_LIMIT = 8  # entries of a list or mapping that still stand in one line


@lru_cache
def _dumper() -> Any:
    yaml = pyyaml()

    class Dumper(yaml.SafeDumper):  # type: ignore[name-defined]
        # What either version of YAML takes for something else than text is put into quotes.
        yaml_implicit_resolvers = _joined(yaml.SafeDumper.yaml_implicit_resolvers, resolvers())

        def ignore_aliases(self, data: Any) -> bool:
            return True

        def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
            super().increase_indent(flow, False)  # entries of lists are indented below their key

    # Line breaks and the like are written as escapes: other styles lose some, and let a text leave its comment.
    Dumper.add_representer(
        str, lambda dumper, data: dumper.represent_scalar(TAG + "str", data, None if data.isprintable() else '"')
    )
    Dumper.add_representer(_InLine, lambda dumper, data: dumper.represent_mapping(TAG + "map", data, flow_style=True))
    Dumper.add_representer(
        _ListInLine, lambda dumper, data: dumper.represent_sequence(TAG + "seq", data, flow_style=True)
    )
    return Dumper


class _InLine(dict):
    """A mapping that is written in one line."""


class _ListInLine(list):
    """A list that is written in one line."""


def dump_document(value: Mapping[str, Any]) -> str:
    """Write plain values as YAML: one section after the other, short lists and mappings in one line."""
    yaml = pyyaml()
    sections = [
        yaml.dump(
            {key: _styled(entry, 1)},
            Dumper=_dumper(),
            sort_keys=False,
            allow_unicode=True,
            width=110,
            default_flow_style=False,
        )
        for key, entry in value.items()
    ]
    return "\n".join(sections)


def dump_scalar(value: Any) -> str:
    """Write one text or number so that it may stand anywhere in YAML, also inside a list in one line.

    Examples
    --------
    >>> dump_scalar("mean radius"), dump_scalar("a: b"), dump_scalar("no"), dump_scalar("a, b")
    ('mean radius', "'a: b'", "'no'", "'a, b'")
    """
    text = pyyaml().dump(_ListInLine([value]), Dumper=_dumper(), allow_unicode=True, width=10**9)
    return str(text).strip()[1:-1]


def _styled(value: Any, depth: int) -> Any:
    """Mark what fits into one line: short, below the sections, and with nothing nested but short lists."""
    if isinstance(value, dict):
        entries: Any = {key: _styled(entry, depth + 1) for key, entry in value.items()}
        nested = entries.values()
        inline: Any = _InLine
    elif isinstance(value, list):
        entries = [_styled(entry, depth + 1) for entry in value]
        nested = entries
        inline = _ListInLine
    else:
        return value
    leaf = not any(isinstance(entry, dict | list) and not isinstance(entry, _ListInLine) for entry in nested)
    short = len(entries) <= _FLOW_LIMIT or not entries
    single = depth == 2 and isinstance(value, dict) and len(entries) == 1  # an entry of the list of constraints
    return inline(entries) if (leaf and short and depth > 1 and not single) or not entries else entries


def _joined(old: Resolvers, new: Resolvers) -> Resolvers:
    return {first: [*old.get(first, []), *new.get(first, [])] for first in {*old, *new}}
