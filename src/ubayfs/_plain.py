"""Values outside Python: in plain types, which JSON can hold, and back; as text for people; as cards in a notebook."""

from __future__ import annotations

import math
import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from dataclasses import field as dataclass_field
from functools import lru_cache
from typing import Any, Final, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import numpy as np

from ._listing import listed as listed
from ._listing import listing as listing
from .exceptions import InputError, repr_of

T = TypeVar("T")


def number(value: Any) -> float | None:
    """Return a finite number as a float; what JSON cannot hold becomes None.

    >>> number(np.float32(0.5)), number(np.nan)
    (0.5, None)
    """
    return float(value) if value is not None and math.isfinite(value) else None


def whole(value: Any) -> Any:
    """Return a number without a fraction as an int, which is written without a decimal point.

    >>> whole(3.0), whole(0.5), whole("likely")
    (3, 0.5, 'likely')
    """
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else value


def plain(value: Any) -> Any:
    """Return anything as types that JSON knows; infinite numbers, paths and the like become text.

    Dataclasses become what their `to_dict` returns, or their fields; see :func:`decode`.

    >>> plain({"rho": np.inf, "n": np.int64(3), 4: (1, None)})
    {'rho': 'inf', 'n': 3, '4': [1, None]}
    """
    if is_dataclass(value) and not isinstance(value, type):
        to_dict = getattr(value, "to_dict", None)
        value = to_dict() if to_dict else _fields_of(value)
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(entry) for entry in value]
    if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return str(value)


def _fields_of(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass by their keys, without those that are not written where they are None."""
    entries = ((field, getattr(value, field.name)) for field in fields(value))
    return {_key(field): entry for field, entry in entries if entry is not None or _ABSENT not in field.metadata}


def _key(field: Field[Any]) -> str:
    """Return what a field is called in plain types: names such as ``with`` have an underscore in Python."""
    return str(field.metadata.get(_WRITTEN, field.name.removesuffix("_")))


_ABSENT, _FORMER, _WRITTEN = "absent", "former", "written"


def written_as(key: str) -> dict[str, str]:
    """Return the metadata of a field that has another key in plain types."""
    return {_WRITTEN: key}


def absent_if_none() -> Any:
    """Return the default of a field that is None, and is not written then."""
    return dataclass_field(default=None, metadata={_ABSENT: True})


def formerly(key: str, default: Any = MISSING) -> Any:
    """Return the default of a field that earlier versions wrote under another key."""
    return dataclass_field(default=default, metadata={_FORMER: key})


def decode(kind: type[T], content: Any, *, lenient: bool = False) -> T:
    """Make a dataclass of its fields in plain types, guided by their annotations: the inverse of :func:`plain`.

    Fields with a default may be missing; those that the dataclass does not have are left out if `lenient`. Anything
    else that does not fit is an InputError that names the field. Of a union, the first type that fits is meant.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Line:
    ...     label: str
    ...     counts: tuple[int, ...] = ()
    >>> decode(Line, {"label": "a", "counts": [1, 2]}), decode(Line, {"label": "b", "more": 1}, lenient=True)
    (Line(label='a', counts=(1, 2)), Line(label='b', counts=()))
    """
    return cast(T, _decode_record(kind, content, kind.__name__, lenient))


def _decode(hint: Any, value: Any, place: str, lenient: bool) -> Any:
    origin, options = get_origin(hint), get_args(hint)
    if is_dataclass(hint):
        from_dict = getattr(hint, "from_dict", None)
        return from_dict(value) if from_dict else _decode_record(hint, value, place, lenient)
    if origin in (Union, types.UnionType):
        return _decode_first(options, value, place, lenient)
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise _damaged(place, "a list", value)
        return tuple(_decode(options[0], entry, f"{place}[{i}]", lenient) for i, entry in enumerate(value))
    if origin is Mapping:
        if not isinstance(value, Mapping):
            raise _damaged(place, "a mapping", value)
        return {key: _decode(options[1], entry, f"{place}.{key}", lenient) for key, entry in value.items()}
    if hint is float and (type(value) in (int, float) or value in ("inf", "-inf", "nan")):
        return float(value)
    if hint is Any or type(value) is hint or (origin is Literal and value in options):
        return value
    rule = f"one of {', '.join(options)}" if origin is Literal else hint.__name__
    raise _damaged(place, rule, value)


def _decode_first(options: tuple[Any, ...], value: Any, place: str, lenient: bool) -> Any:
    """Return a value of the first type that fits; None is tried first, and never named."""
    if value is None and type(None) in options:
        return None
    problems = []
    for option in options:
        try:
            return _decode(option, value, place, lenient)
        except InputError as problem:
            problems.append(problem)
    raise problems[0]


def _decode_record(kind: Any, content: Any, place: str, lenient: bool) -> Any:
    if not isinstance(content, Mapping):
        raise _damaged(place, "a mapping", content)
    hints, names, required = _fields(kind)
    content = {**content, **_renamed(kind, content)}
    if missing := required - set(content):
        raise InputError(f"{place} must have the field {min(missing)!r}. Write it again with to_dict.")
    if not lenient and (unknown := sorted(set(content) - set(hints), key=str)):
        raise InputError(
            f"{place} must have the fields {', '.join(hints)}; {unknown[0]!r} is unknown. Write it again with to_dict."
        )
    return kind(
        **{
            names[key]: _decode(hint, content[key], f"{place}.{key}", lenient)
            for key, hint in hints.items()
            if key in content
        }
    )


def _renamed(kind: Any, content: Mapping[str, Any]) -> dict[str, Any]:
    """Return what earlier versions wrote under other keys, by its present one."""
    former = {_key(field): field.metadata[_FORMER] for field in fields(kind) if _FORMER in field.metadata}
    return {key: content[old] for key, old in former.items() if old in content and key not in content}


@lru_cache
def _fields(kind: Any) -> tuple[dict[str, Any], dict[str, str], set[str]]:
    """Return types and names of the fields of a dataclass, and the keys of those without a default."""
    hints, names = get_type_hints(kind), {_key(field): field.name for field in fields(kind)}
    required = {_key(field) for field in fields(kind) if field.default is field.default_factory is MISSING}
    return {key: hints[name] for key, name in names.items()}, names, required


def _damaged(place: str, rule: str, value: Any) -> InputError:
    return InputError(f"{place} must be {rule}; got {repr_of(value)}. Write it again with to_dict.")


def attached(name: str) -> Any:
    """Return a function of :mod:`ubayfs.attached`, the one way from values of the method to what shows them."""
    from . import attached

    return getattr(attached, name)


class ShownAsCard:
    """Shows a value by its card, which :mod:`ubayfs.report.cards` makes when it is asked for."""

    def __str__(self) -> str:
        return str(attached("value_text")(self))

    def _repr_html_(self) -> str:
        return str(attached("value_html")(self))


HARD: Final = "hard"  # an infinite relaxation, in files, tables and messages
Rho = float | Literal["hard"]


def relaxation(rho: float) -> Rho:
    """Return rho of a soft inequality, or "hard".

    >>> relaxation(0.5), relaxation(np.inf)
    (0.5, 'hard')
    """
    return float(rho) if math.isfinite(rho) else HARD


def strictness(lowest: float | str, highest: float | str | None = None) -> str:
    """Return a relaxation or a range of them, as numbers or from :func:`relaxation`, in words.

    >>> strictness(0.5), strictness(np.inf), strictness(0.5, "hard")
    ('rho 0.5', 'hard', 'rho 0.5 to hard')
    """
    text = relaxation_text(lowest, highest)
    return text if text == HARD else f"rho {text}"


def relaxation_text(lowest: float | str, highest: float | str | None = None) -> str:
    """Return a relaxation or a range of them as a cell of a table shows it: rounded numbers, or "hard"."""
    ends = (lowest,) if highest in (None, lowest) else (lowest, highest)
    return " to ".join(HARD if isinstance(rho, str) or math.isinf(rho) else rounded(rho) for rho in ends)


def price_text(price: Any, votes: Any = None) -> str:
    """Return a price or several, as numbers, and what they are in votes if that is known.

    >>> price_text(0.5, 50.0), price_text([0.1, 0.2, 0.1])
    ('0.5 (50 votes)', '0.1 to 0.2')
    """
    text = relaxation_text(*_ends(price))
    return text if votes is None else f"{text} ({relaxation_text(*_ends(votes))} votes)"


def _ends(value: Any) -> tuple[float, float]:
    return (min(value), max(value)) if isinstance(value, list) else (value, value)


def quoted(names: Any, limit: int = 8) -> str:
    """List a few names in quotes and say how many more there are."""
    return listed([repr(str(name)) for name in names[:limit]], limit, len(names))


def aligned(rows: Sequence[Sequence[str]], right: Sequence[bool]) -> str:
    """Return rows of texts as lines with aligned columns, some of them to the right.

    >>> print(aligned([("feature", "votes"), ("age", "9")], [False, True]))
    feature  votes
    age          9
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            text.rjust(width) if to_right else text.ljust(width)
            for text, width, to_right in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in rows
    )


def counted(n: int, singular: str, plural: str | None = None) -> str:
    """Return a number with its noun.

    >>> counted(1, "model"), counted(6033, "feature"), counted(2, "class", "classes")
    ('1 model', '6,033 features', '2 classes')
    """
    return f"{n:,} {singular if n == 1 else plural or singular + 's'}"


def rounded(value: float, digits: int = 3) -> str:
    """Return a number for people: so many significant digits, never in powers of ten unless it is tiny or huge.

    >>> rounded(0.123456), rounded(12345.6), rounded(2), rounded(1.5e-9)
    ('0.123', '12,346', '2', '1.5e-09')
    """
    if value and not 1e-4 <= abs(value) < 1e9:
        return f"{value:.{digits - 1}g}" if digits > 1 else f"{value:.0e}"
    if abs(value) >= 10 ** (digits - 1):
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


def cost_text(votes: float | None, score: float | None, *bound: float | None) -> str:
    """Return a cost in votes; in units of the score where there are no votes. `bound`: the most it may be, likewise.

    >>> cost_text(2.0, 0.1), cost_text(None, 0.1), cost_text(None, None), cost_text(2.0, 0.1, 4.0, 0.2)
    ('2 votes', '0.1', '', 'at least 2 votes, at most 4 votes')
    """
    text = counted_votes(votes) if votes is not None else "" if score is None else rounded(score)
    most = cost_text(*bound) if bound else ""
    return text if most in ("", text) else f"at least {text}, at most {most}"


def counted_votes(n: float) -> str:
    """Return a number of votes, which need not be whole.

    >>> counted_votes(1.0), counted_votes(2.48), counted_votes(30.2)
    ('1 vote', '2.5 votes', '30 votes')
    """
    n += 0.0  # no minus before a zero
    text = f"{n:,.0f}" if abs(n) >= 9.95 or abs(n - round(n)) < 0.05 else f"{n:,.1f}"
    return f"{text} vote{'' if text == '1' else 's'}"
