"""A size in place of which the word "supported" stands: as many features as the data support."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from .._arguments import check_int, did_you_mean
from ..exceptions import ConstraintError, InputError, repr_of
from .constraint import Constraint

SUPPORTED = "supported"
_MOST = 2**53  # that a float holds exactly


def as_size(name: str, value: Any, low: int) -> int | str:
    """Return the most features: a whole number, or the word; any other word is refused with the one that was meant."""
    if not isinstance(value, str):
        return check_int(name, value, low=low, high=_MOST)
    if value != SUPPORTED:
        hint = did_you_mean(value, [SUPPORTED])
        rule = f"must be a whole number >= {low} or {SUPPORTED!r}; got {repr_of(value)}.{hint}"
        raise InputError.of(name, rule, value)
    return value


def asks_for_supported(constraint: Constraint) -> bool:
    """Tell whether a size is the number of features that the data support, whichever number stands there now."""
    return constraint.kind == "max_size" and SUPPORTED in (constraint.note, dict(constraint.arguments).get("n"))


def with_supported(constraints: Iterable[Constraint], n: int | str) -> tuple[Constraint, ...]:
    """Return constraints with the number that "supported" stands for; another one can take its place later.

    >>> from ubayfs import max_size
    >>> with_supported([max_size("supported"), max_size(9)], 3)
    (max_size(3), max_size(9))
    """
    return tuple(
        replace(given, arguments=tuple((dict(given.arguments) | {"n": n}).items()), note=SUPPORTED)
        if asks_for_supported(given)
        else given
        for given in constraints
    )


def unknown_size() -> ConstraintError:
    """Return the error of a size that is not estimated yet."""
    rule = "is 'supported', a number that is estimated with shuffled targets: pass max_size(noise.supported)."
    return ConstraintError(f"max_size: n {rule}", argument="n", value=SUPPORTED, rule=rule)
