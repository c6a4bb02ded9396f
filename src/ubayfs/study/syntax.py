"""YAML as study files use it: which plain texts are numbers, true, false or null, by the rules of YAML 1.2."""

from __future__ import annotations

import re
from typing import Any

from ..exceptions import MissingDependencyError

TAG = "tag:yaml.org,2002:"
SCALARS = {
    "null": re.compile(r"|~|null|Null|NULL"),
    "bool": re.compile(r"true|True|TRUE|false|False|FALSE"),
    "int": re.compile(r"[-+]?(0|[1-9][0-9]*)"),
    "float": re.compile(
        r"[-+]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
    ),
}

# By first character: what a plain text may be.
Resolvers = dict[str, list[tuple[str, re.Pattern[str]]]]


def resolvers() -> Resolvers:
    """Return how plain texts are told apart, in the form PyYAML wants: by first character."""
    entries = [(TAG + kind, re.compile(rf"^(?:{pattern.pattern})$")) for kind, pattern in SCALARS.items()]
    return dict.fromkeys((*"~nNtTfF+-.0123456789", ""), entries)


def pyyaml() -> Any:
    """Return PyYAML, or raise naming the line that installs it."""
    try:
        import yaml
    except ImportError as error:
        raise MissingDependencyError(
            'Study files need PyYAML, which is not installed: pip install "ubayfs[cli]".'
        ) from error
    return yaml
