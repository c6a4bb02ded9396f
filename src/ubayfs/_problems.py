"""Mistakes at a place: what checks a mapping of keys calls a report, which collects each mistake or raises the first.

A check takes the value and a `Report`; the caller chooses what becomes of mistakes. :func:`raise_problem` is the report
of values given in Python; a study file collects all of its mistakes, each with its line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ._arguments import did_you_mean
from .exceptions import InputError, StudyError, repr_of, shortened

# Keys and positions from the top, such as ("constraints", 2, "must_link", "rho").
Path = tuple[str | int, ...]
# Called with the place of a problem, relative to what is checked, and the rule that is broken.
Report = Callable[[Path, str], None]

_PLAIN_KEY = re.compile(r"[\w*-]+")


def key_path(path: Path) -> str:
    """Return a place as people write it.

    Examples
    --------
    >>> key_path(("constraints", 2, "must_link", "rho")), key_path(("blocks", "mean values"))
    ('constraints[2].must_link.rho', "blocks['mean values']")
    """
    text = ""
    for part in path:
        if isinstance(part, str) and _PLAIN_KEY.fullmatch(part):
            text += f".{part}" if text else part
        else:
            text += f"[{part!r}]"
    return shortened(text, 300)


def below(report: Report, *prefix: str | int) -> Report:
    """Return a report for what is below a key."""
    return lambda path, message: report((*prefix, *path), message)


class CountedReport:
    """A report that counts the problems that go through it."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.n_problems = 0

    def __call__(self, path: Path, message: str) -> None:
        self.n_problems += 1
        self.report(path, message)


def raise_problem(path: Path, message: str) -> None:
    """Raise at the first problem: the report for values given in Python."""
    place = key_path(path)
    raise InputError(f"{place}: {message}" if place else message, argument=place or None, rule=message)


@contextmanager
def collect_errors(report: Report, path: Path = ()) -> Iterator[None]:
    """Report an InputError at a place instead of raising it."""
    try:
        yield
    except StudyError:  # all its problems have their places
        raise
    except InputError as error:
        report(path, error.rule)


def check_keys(entries: Mapping[Any, Any], keys: Iterable[str], what: str, report: Report) -> dict[Any, Any]:
    """Return the entries with one of the keys; each other key is reported, with the one that was probably meant.

    Examples
    --------
    >>> check_keys({"path": 1, "taget": 2}, ["path", "target"], "a key of data", lambda path, rule: print(path, rule))
    ('taget',) is not a key of data; got 'taget'. Did you mean 'target'?
    {'path': 1}
    """
    names = list(keys)
    for key in entries:
        if key not in names:
            hint = did_you_mean(key, names) or f" Known: {', '.join(names) or 'none'}."
            report((key,), f"is not {what}; got {repr_of(key)}.{hint}")
    return {key: value for key, value in entries.items() if key in names}
