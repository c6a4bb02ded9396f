"""The errors, warnings and advice of the package.

::

    UBayFSError
    ├── InputError (ValueError)            something the caller handed in is wrong
    │   ├── ColumnTypeError (TypeError)    a column does not hold numbers
    │   ├── ConstraintError                a constraint, block or bound is wrong
    │   ├── InfeasibleError                hard constraints contradict each other
    │   └── StudyError                     a study file is wrong; all its problems at once
    ├── EnsembleError (RuntimeError)       the ensemble could not be run
    ├── OptimizationError (RuntimeError)   no admissible set was found in time
    └── MissingDependencyError (ImportError)

    UBayFSWarning (UserWarning)
    ├── EnsembleWarning                    runs failed or were cancelled
    ├── OptimizationWarning                time limit reached, nothing limits the size, members without votes
    └── ConvergenceWarning                 Markov chains that do not agree

An error carries what it is about, so that no caller has to read its text. Warnings and advice are defined in `advice`,
with their sentences.

>>> import ubayfs
>>> try:
...     ubayfs.max_size(-1)
... except ubayfs.exceptions.UBayFSError as error:
...     print(error)
max_size: n must be a whole number >= 0; got -1.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from ._listing import listed
from .advice import Advice, ConvergenceWarning, EnsembleWarning, OptimizationWarning, UBayFSWarning

__all__ = [
    "Advice",
    "ColumnTypeError",
    "ConstraintError",
    "ConvergenceWarning",
    "EnsembleError",
    "EnsembleWarning",
    "InfeasibleError",
    "InputError",
    "MissingDependencyError",
    "OptimizationError",
    "OptimizationWarning",
    "Problem",
    "StudyError",
    "UBayFSError",
    "UBayFSWarning",
    "printable",
    "repr_of",
    "shortened",
]

# Inequalities of a long list that a message names.
_MOST_SHOWN = 10

# What makes a terminal do something, or show a text in another order than it is written: control characters but tab and
# line feed, separators of lines, marks of direction, halves of characters.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")

_REPR = reprlib.Repr()
_REPR.maxstring = _REPR.maxlong = _REPR.maxother = 1000
_REPR.maxlist = _REPR.maxtuple = _REPR.maxdict = _REPR.maxset = _REPR.maxfrozenset = _REPR.maxdeque = 20


def repr_of(value: Any) -> str:
    """Return the repr of a value for a message: short, and a text even if its own repr raises.

    >>> repr_of([1, "a"]), repr_of(range(3)), repr_of(10**5000)
    ("[1, 'a']", 'range(0, 3)', '<int>')
    """
    try:
        return _REPR.repr(value)
    except Exception:
        return f"<{type(value).__name__}>"


def shortened(text: str, limit: int = 2000) -> str:
    """Return a text without its middle if it is longer than anybody reads, as with names of thousands of characters.

    >>> shortened("abcdefghij" * 10, limit=60)
    'abcdefghijabcdefghij ... (60 characters left out) ... abcdefghijabcdefghij'
    """
    if len(text) <= limit:
        return text
    each = limit // 3
    return f"{text[:each]} ... ({len(text) - 2 * each} characters left out) ... {text[-each:]}"


def printable(text: str) -> str:
    r"""Return a text with escapes such as ``\x1b`` in place of characters that terminals obey.

    >>> print(printable("gene\x1b[31m"))
    gene\x1b[31m
    """
    return _UNPRINTABLE.sub(lambda sign: sign[0].encode("unicode_escape").decode(), text)


class UBayFSError(Exception):
    """Base of every error that the package raises on purpose; its text can be printed, whatever it repeats.

    Examples
    --------
    >>> import ubayfs
    >>> try:
    ...     ubayfs.max_size(-1)
    ... except ubayfs.exceptions.UBayFSError as error:
    ...     print(error)
    max_size: n must be a whole number >= 0; got -1.
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(printable(message))


class InputError(UBayFSError, ValueError):
    """An argument breaks a rule; the message names the argument, the rule, the value and the way out.

    Parameters
    ----------
    message : str
    argument : str, optional
        Name of the argument in question, such as ``n_models``.
    value : object, optional
        What was given for it.
    rule : str, optional
        The message without the name of the argument in front, for callers that name its place themselves; default:
        the whole message.

    Examples
    --------
    >>> import ubayfs
    >>> try:
    ...     ubayfs.collect_evidence([[1, 2], [3, 4]], [0, 1], n_models=0)
    ... except ubayfs.exceptions.InputError as error:
    ...     print(error.argument, error.value)
    n_models 0
    """

    longest: ClassVar[int] = 2000  # characters of a message

    def __init__(
        self, message: str = "", *, argument: str | None = None, value: Any = None, rule: str | None = None
    ) -> None:
        super().__init__(shortened(message, self.longest))
        self.argument = argument
        self.value = value
        self.rule = printable(shortened(message if rule is None else rule, self.longest))

    @classmethod
    def of(cls, argument: str, rule: str, value: Any = None) -> InputError:
        """Make the error of an argument that breaks a rule: ``of("n", "must be positive; got -1.", -1)``."""
        return cls(f"{argument} {rule}", argument=argument, value=value, rule=rule)


class ColumnTypeError(InputError, TypeError):
    """A column of X holds something other than numbers."""


class ConstraintError(InputError):
    """A constraint, a block or a bound is wrong.

    Attributes
    ----------
    position : int or None
        Position of the constraint in the list that was resolved, from 0.
    against : str or None
        Another argument that the argument in question does not fit; either of them may be wrong.

    Examples
    --------
    >>> import ubayfs
    >>> try:
    ...     ubayfs.maximize([0.6, 0.4], ubayfs.require("raduis"), feature_names=["radius", "area"])
    ... except ubayfs.exceptions.ConstraintError as error:
    ...     print(error)
    require names 'raduis', which is not a feature. Did you mean 'radius'?
    """

    position: int | None = None
    against: str | None = None


class InfeasibleError(InputError):
    """Hard constraints contradict each other.

    Attributes
    ----------
    labels : tuple of str
        A group of inequalities that cannot hold together; any proper part of them can if the group is reduced.
    positions : tuple of int
        Positions of the constraints that these inequalities belong to, in the list that was resolved, ascending.
    reduced : bool
        False when a limit ended the search for the group early: then it may hold inequalities that do not matter.

    Examples
    --------
    >>> import ubayfs
    >>> try:
    ...     ubayfs.maximize([0.6, 0.3, 0.1], [ubayfs.max_size(1), ubayfs.require([0, 1])])
    ... except ubayfs.exceptions.InfeasibleError as error:
    ...     print(error.labels)
    ('max-size 1', 'require x0', 'require x1')
    """

    def __init__(
        self, message: str, labels: tuple[str, ...] = (), positions: tuple[int, ...] = (), reduced: bool = True
    ) -> None:
        super().__init__(message, argument="constraints")
        self.labels = labels
        self.positions = positions
        self.reduced = reduced

    @property
    def shown(self) -> str:
        """The labels for a message: all of a reduced group, the first ones of any other."""
        if self.reduced:
            return "; ".join(self.labels)
        first = listed(self.labels, _MOST_SHOWN, separator="; ")
        return f"{first} (not reduced: the time limit was reached)"


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a study or a table.

    Attributes
    ----------
    message : str
        The rule that is broken, the value and the way out.
    path : tuple of str and int
        Keys and positions from the top of the study, such as ``("constraints", 2, "must_link", "rho")``.
    line : int
        Of the study file, from 1; 0 when it has none.
    place : str
        File, line and key, or the option of the command line, as people look for it.
    related : tuple of paths
        Of all constraints that contradict each other.
    """

    message: str
    path: tuple[str | int, ...] = ()
    line: int = 0
    place: str = ""
    related: tuple[tuple[str | int, ...], ...] = ()

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message


class StudyError(InputError):
    """A study is wrong.

    Attributes
    ----------
    problems : tuple of Problem
        All that was found, in the order of the file; each has its message, path and line.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import ubayfs
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "study.yaml")
    ...     _ = path.write_text("evidence: {n_model: 100}", encoding="utf-8")
    ...     try:
    ...         ubayfs.study.load_study(path)
    ...     except ubayfs.exceptions.StudyError as error:
    ...         print([problem.path for problem in error.problems])
    [('data', 'path'), ('evidence', 'n_model')]
    """

    longest = 10**6  # each of its problems is short

    def __init__(self, message: str, problems: Iterable[Problem] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems)


class EnsembleError(UBayFSError, RuntimeError):
    """The ensemble could not be run, or its stored parts do not fit together.

    Examples
    --------
    >>> import ubayfs
    >>> evidence = ubayfs.Evidence.from_sets([[1, 0]], ["radius", "area"])
    >>> try:
    ...     ubayfs.Evidence.join({"part 1": evidence})
    ... except ubayfs.exceptions.EnsembleError as error:
    ...     print(error)
    part 1 is not a part of an ensemble, but evidence that needs no merging.
    """


class OptimizationError(UBayFSError, RuntimeError):
    """No set that keeps the hard constraints was found; none was proved impossible either.

    Examples
    --------
    >>> import ubayfs
    >>> issubclass(ubayfs.exceptions.OptimizationError, ubayfs.exceptions.UBayFSError)
    True
    """


class MissingDependencyError(UBayFSError, ImportError):
    """An optional package is needed; the message names the line that installs it.

    Examples
    --------
    >>> import ubayfs
    >>> issubclass(ubayfs.exceptions.MissingDependencyError, ImportError)
    True
    """


class NotAnsweredError(UBayFSError):
    """A request to the process of a study was given up, or it failed: that says nothing of what was asked.

    Only the app raises it, and asks again or says so.
    """
