"""Plain values as YAML, for people to read and to run again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..exceptions import MissingDependencyError


def as_yaml(content: Mapping[str, Any]) -> str:
    """Return a mapping of plain types as YAML, keys in their order."""
    try:
        import yaml
    except ImportError as error:
        raise MissingDependencyError('a report needs PyYAML; install it with pip install "ubayfs[cli]".') from error
    return str(yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)).rstrip()
