"""Frozen dataclasses to plain types for JSON and back, guided by their annotations."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from .._plain import plain
from ..exceptions import InputError

T = TypeVar("T")


def encode(record: Any) -> dict[str, Any]:
    """Return the fields of a dataclass, nested ones too, in plain types; infinite numbers become strings."""
    return dict(plain(asdict(record)))


def decode(kind: type[T], content: Any) -> T:
    """Make a dataclass of what :func:`encode` gave; anything else is an InputError that names the field."""
    return _decode(kind, content, kind.__name__)


def _decode(hint: Any, value: Any, place: str) -> Any:
    if is_dataclass(hint):
        return _decode_record(hint, value, place)
    if isinstance(hint, types.UnionType):  # X | None is the only union in use
        (inner,) = (option for option in get_args(hint) if option is not type(None))
        return None if value is None else _decode(inner, value, place)
    if get_origin(hint) is tuple:
        if not isinstance(value, list | tuple):
            raise _damaged(place, "a list", value)
        return tuple(_decode(get_args(hint)[0], entry, f"{place}[{i}]") for i, entry in enumerate(value))
    if hint is float and (type(value) in (int, float) or value in ("inf", "-inf", "nan")):
        return float(value)
    if type(value) is hint:
        return value
    raise _damaged(place, hint.__name__, value)


def _decode_record(kind: Any, content: Any, place: str) -> Any:
    if not isinstance(content, Mapping):
        raise _damaged(place, "a mapping", content)
    names = [field.name for field in fields(kind)]
    wrong = sorted(set(content) ^ set(names), key=str)
    if wrong:
        raise InputError(
            f"{place} must have the fields {', '.join(names)}; {wrong[0]!r} is missing or unknown. Write it again with "
            "to_dict."
        )
    hints = get_type_hints(kind)
    return kind(**{name: _decode(hints[name], content[name], f"{place}.{name}") for name in names})


def _damaged(place: str, rule: str, value: Any) -> InputError:
    return InputError(f"{place} must be {rule}; got {value!r}. Write it again with to_dict.")
