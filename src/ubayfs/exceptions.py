"""The errors and warnings of the package.

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
"""

from __future__ import annotations


class UBayFSError(Exception):
    """Base of every error that the package raises on purpose."""


class InputError(UBayFSError, ValueError):
    """An argument breaks a rule; the message names the argument, the rule, the value and the way out."""


class ColumnTypeError(InputError, TypeError):
    """A column of X holds something other than numbers."""


class ConstraintError(InputError):
    """A constraint, a block or a bound is wrong."""


class InfeasibleError(InputError):
    """Hard constraints contradict each other.

    Attributes
    ----------
    labels : tuple of str
        An irreducible group of rows: they cannot hold together, any proper part of them can.
    """

    def __init__(self, message: str, labels: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.labels = labels


class StudyError(InputError):
    """A study is wrong.

    Attributes
    ----------
    problems : tuple of str
        All that was found, each with its place, its rule and the way out.
    """

    def __init__(self, message: str, problems: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.problems = problems


class EnsembleError(UBayFSError, RuntimeError):
    """The ensemble could not be run, or its stored parts do not fit together."""


class OptimizationError(UBayFSError, RuntimeError):
    """No set that keeps the hard constraints was found; none was proved impossible either."""


class MissingDependencyError(UBayFSError, ImportError):
    """An optional package is needed; the message names the line that installs it."""


class UBayFSWarning(UserWarning):
    """Base of every warning that the package issues."""


class EnsembleWarning(UBayFSWarning):
    """Elementary runs failed or were cancelled."""


class OptimizationWarning(UBayFSWarning):
    """The answer needs a second look: time limit, unlimited size, members without a vote."""


class ConvergenceWarning(UBayFSWarning):
    """Markov chains do not agree; their means cannot be trusted yet."""
