"""Rules of the keys of a study; ranges are those of the package, asked where they stand."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .._arguments import as_seed_sequence, check_choice, check_int
from ..ensemble.collect import check_ensemble
from ..exceptions import InputError
from ..workflow import check_decision
from .problems import Report, reported

Check = Callable[[str, Any, Report], Any]


def rule(check: Check, read: Check | None = None, nullable: bool = False) -> dict[str, Any]:
    """Return the rule of a field, to be its metadata.

    A rule takes the name and the value of the field and a report of problems, and returns the value in its plainest
    form. `read` is the rule for values that come from a file, if it is stricter. A key without a value takes the
    default, unless null says something (`nullable`).
    """
    return {"check": check, "read": read or check, "nullable": nullable}


def raising(check: Callable[[str, Any], Any]) -> Check:
    """Make a rule of a check that raises."""

    def told(name: str, value: Any, report: Report) -> Any:
        with reported(report, (), name):
            return check(name, value)
        return None

    return told


def reading(read: Callable[[Any, Report], Any]) -> Check:
    """Make a rule of a reader that tells its problems itself."""
    return lambda name, value, report: read(value, report)


def text(name: str, value: Any) -> str:
    """Return a text that is not empty."""
    # A column called 2 is read from the file as a number.
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not value:
        raise InputError(f"{name} must be a text; got {value!r}.")
    return value


def optional_text(name: str, value: Any) -> str | None:
    """Return a text, or None."""
    return None if value is None else text(name, value)


def columns(name: str, value: Any) -> str | tuple[str, ...] | None:
    """Return one column, or several (a multi-label target)."""
    if value is None or isinstance(value, str | int):
        return optional_text(name, value)
    several = texts(name, value)
    if not several:
        raise InputError(f"{name} must name a column; got {value!r}. Leave it out for an unsupervised selection.")
    return several[0] if len(several) == 1 else several


def texts(name: str, value: Any) -> tuple[str, ...]:
    """Return one or several texts."""
    if value is None:
        return ()
    if isinstance(value, str | int):
        value = [value]
    if not isinstance(value, Iterable) or isinstance(value, Mapping):
        raise InputError(f"{name} must be a list of texts; got {value!r}.")
    return tuple(text(name, one) for one in value)


def choice(known: Iterable[str], optional: bool = False) -> Check:
    """Return the rule that a value is one of some words; null is one too if `optional`."""
    return raising(lambda name, value: None if optional and value is None else check_choice(name, value, known))


def choices(known: Iterable[str]) -> Check:
    """Return the rule that a value is a list of some words."""
    return raising(lambda name, value: tuple(check_choice(name, one, known) for one in texts(name, value)))


def whole_number(name: str, value: Any) -> int:
    """Return a whole number of at least 0."""
    return check_int(name, value, low=0)


def yes_or_no(name: str, value: Any) -> bool:
    """Return true or false."""
    if not isinstance(value, bool):
        raise InputError(f"{name} must be true or false; got {value!r}.")
    return value


def ensemble(name: str, value: Any) -> Any:
    """Return an argument of :func:`ubayfs.collect_evidence`."""
    check_ensemble(**{name: value})
    return value


def decision(name: str, value: Any) -> Any:
    """Return an argument of :func:`ubayfs.decide`."""
    check_decision(["x"], **{name: value})
    return value


def seed_or_null(name: str, value: Any) -> int | None:
    """Return a seed."""
    try:
        as_seed_sequence(value)
    except InputError as error:
        raise InputError(str(error).replace("random_state", name, 1)) from None
    return None if value is None else check_int(name, value)  # generators cannot be written to a file
