"""Checks of the values of a study; the ranges are those of the package, asked where they are defined.

A check takes the name of a key, its value and a report of problems, and returns the value in its plainest form. Nothing
heavy is imported before a value is checked, so that ``--help`` answers at once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any

from ..exceptions import InputError
from .diagnostics import Report, reported

FIGURE_FORMATS = ("png", "svg", "pdf")

Check = Callable[[str, Any, Report], Any]


def _reporting(check: Callable[[str, Any], Any]) -> Check:
    """Make a check that reports of one that raises."""

    @wraps(check)
    def reporting(name: str, value: Any, report: Report) -> Any:
        with reported(report):
            return check(name, value)
        return None

    return reporting


def _as_text(name: str, value: Any) -> str:
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)  # a column called 2 is read from the file as a number
    if not isinstance(value, str) or not value:
        raise InputError.of(name, f"must be a text; got {value!r}.", value)
    return value


def _as_texts(name: str, value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str | int):
        value = [value]
    if not isinstance(value, Iterable) or isinstance(value, Mapping):
        raise InputError.of(name, f"must be a list of texts; got {value!r}.", value)
    return tuple(_as_text(name, entry) for entry in value)


def _as_choice(name: str, value: Any, known: Iterable[str]) -> str:
    from .._arguments import check_choice

    return check_choice(name, value, known)


text = _reporting(_as_text)
texts = _reporting(_as_texts)


@_reporting
def optional_text(name: str, value: Any) -> str | None:
    """Return a text, or None."""
    return None if value is None else _as_text(name, value)


@_reporting
def columns(name: str, value: Any) -> str | tuple[str, ...] | None:
    """Return a column, or several (a multi-label target)."""
    if value is None or isinstance(value, str | int):
        return None if value is None else _as_text(name, value)
    several = _as_texts(name, value)
    if not several:
        rule = f"must name a column; got {value!r}. Leave it out for an unsupervised selection."
        raise InputError.of(name, rule, value)
    return several[0] if len(several) == 1 else several


@_reporting
def yes_or_no(name: str, value: Any) -> bool:
    """Return true or false."""
    if not isinstance(value, bool):
        raise InputError.of(name, f"must be true or false; got {value!r}.", value)
    return value


@_reporting
def count(name: str, value: Any) -> int:
    """Return a whole number of at least 0."""
    from .._arguments import check_int

    return check_int(name, value, low=0)


@_reporting
def figures(name: str, value: Any) -> tuple[str, ...]:
    """Return formats of figures."""
    return tuple(_as_choice(name, entry, FIGURE_FORMATS) for entry in _as_texts(name, value))


@_reporting
def task(name: str, value: Any) -> str | None:
    """Return a task, or None."""
    from ..data.target import TASKS

    return None if value is None else _as_choice(name, value, TASKS)


@_reporting
def missing_rule(name: str, value: Any) -> str:
    """Return what to do about missing values."""
    from ..data.feature_data import MISSING_RULES

    return _as_choice(name, value, MISSING_RULES)


@_reporting
def seed(name: str, value: Any) -> int | None:
    """Return a seed, or None; generators cannot be written to a file."""
    from .._arguments import as_seed_sequence, check_int

    as_seed_sequence(value)
    return None if value is None else check_int(name, value)


@_reporting
def ensemble_argument(name: str, value: Any) -> Any:
    """Return an argument of :func:`ubayfs.collect_evidence`."""
    from ..ensemble.collect import check_ensemble

    check_ensemble(**{name: value})
    return value


@_reporting
def decision_argument(name: str, value: Any) -> Any:
    """Return an argument of :func:`ubayfs.decide`."""
    from ..workflow import Decision

    Decision.check_argument(name, value)
    return value


def component(family: str) -> Check:
    """Return the check of a selector, a prior or an optimizer."""

    def check(name: str, value: Any, report: Report) -> Any:
        from .components import FAMILIES

        return FAMILIES[family].read(value, report)

    return check


def weights(name: str, value: Any, report: Report) -> Any:
    """Return weights given in Python in any form."""
    from .weights import as_weights

    return as_weights(value, report)


def file_weights(name: str, value: Any, report: Report) -> Any:
    """Return weights as a file has them."""
    from .weights import read_weights

    return read_weights(value, report)


def no_weights() -> Any:
    """Return the weights of a study that has none."""
    from .weights import Weights

    return Weights()
