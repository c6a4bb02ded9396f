"""A size in place of which the word "supported" stands: as many features as the data support."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..exceptions import ConstraintError
from .constraint import Constraint

SUPPORTED = "supported"


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
    """Return the error of a size that nobody has found yet."""
    rule = "is 'supported', which shuffled targets tell: estimate the noise, and pass max_size(noise.supported)."
    return ConstraintError(f"max_size: n {rule}", argument="n", value=SUPPORTED, rule=rule)
