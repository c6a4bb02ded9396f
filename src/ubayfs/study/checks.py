"""Checks of the values of a study: each returns the value in its plainest form, or raises the rule that is broken.

The ranges are those of the package, asked where they are defined.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from .._arguments import as_seed_sequence, check_choice, check_int
from ..data.feature_data import MISSING_RULES
from ..data.target import TASKS
from ..ensemble.collect import check_ensemble
from ..exceptions import InputError
from ..workflow import Decision

FIGURE_FORMATS = ("png", "svg", "pdf")


def text(name: str, value: Any) -> str:
    """Return a text; a column called 2 is read from the file as a number."""
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not value:
        raise InputError.of(name, f"must be a text; got {value!r}.", value)
    return value


def texts(name: str, value: Any) -> tuple[str, ...]:
    """Return a list of texts."""
    if isinstance(value, str | int):
        value = [value]
    if value is not None and (not isinstance(value, Iterable) or isinstance(value, Mapping)):
        raise InputError.of(name, f"must be a list of texts; got {value!r}.", value)
    return tuple(text(name, entry) for entry in value or ())


def columns(name: str, value: Any) -> str | tuple[str, ...]:
    """Return a column, or several (a multi-label target)."""
    several = texts(name, value)
    if not several:
        rule = f"must name a column; got {value!r}. Leave it out for an unsupervised selection."
        raise InputError.of(name, rule, value)
    return several[0] if len(several) == 1 else several


def task(name: str, value: Any) -> str:
    """Return a task."""
    return check_choice(name, value, TASKS)


def missing_rule(name: str, value: Any) -> str:
    """Return what to do about missing values."""
    return check_choice(name, value, MISSING_RULES)


def figures(name: str, value: Any) -> tuple[str, ...]:
    """Return formats of figures."""
    return tuple(check_choice(name, entry, FIGURE_FORMATS) for entry in texts(name, value))


def yes_or_no(name: str, value: Any) -> bool:
    """Return true or false."""
    if not isinstance(value, bool):
        raise InputError.of(name, f"must be true or false; got {value!r}.", value)
    return value


def count(name: str, value: Any) -> int:
    """Return a whole number of at least 0."""
    return check_int(name, value, low=0)


def seed(name: str, value: Any) -> int:
    """Return a seed; generators cannot be written to a file."""
    as_seed_sequence(value)
    return check_int(name, value)


def ensemble_argument(name: str, value: Any) -> Any:
    """Return an argument of :func:`ubayfs.collect_evidence`."""
    check_ensemble(**{name: value})
    return value


def decision_argument(name: str, value: Any) -> Any:
    """Return an argument of :func:`ubayfs.decide`."""
    Decision.check_argument(name, value)
    return value
