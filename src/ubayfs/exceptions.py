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

An error carries what it is about, so that no caller has to read its text. Advice is what a careful reader of a result
must know: a value with a code and numbers, which `warnings.warn` and every face render in their own way.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ._notes import NOTES

# Inequalities of a long list that a message names.
_MOST_SHOWN = 10


def shortened(text: str, limit: int = 2000) -> str:
    """Return a text without its middle if it is longer than anybody reads, as with names of thousands of characters.

    >>> shortened("abcdefghij" * 10, limit=60)
    'abcdefghijabcdefghij ... (60 characters left out) ... abcdefghijabcdefghij'
    """
    if len(text) <= limit:
        return text
    each = limit // 3
    return f"{text[:each]} ... ({len(text) - 2 * each} characters left out) ... {text[-each:]}"


class UBayFSError(Exception):
    """Base of every error that the package raises on purpose."""


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
    """

    longest: ClassVar[int] = 2000  # characters of a message

    def __init__(
        self, message: str = "", *, argument: str | None = None, value: Any = None, rule: str | None = None
    ) -> None:
        super().__init__(shortened(message, self.longest))
        self.argument = argument
        self.value = value
        self.rule = shortened(message if rule is None else rule, self.longest)

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
        first = "; ".join(self.labels[:_MOST_SHOWN])
        more = f" and {len(self.labels) - _MOST_SHOWN} more" if len(self.labels) > _MOST_SHOWN else ""
        return f"{first}{more} (not reduced: there was no time to find out which of them matter)"


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
    """

    message: str
    path: tuple[str | int, ...] = ()
    line: int = 0
    place: str = ""

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message


class StudyError(InputError):
    """A study is wrong.

    Attributes
    ----------
    problems : tuple of Problem
        All that was found, in the order of the file; each has its message, path and line.
    """

    longest = 10**6  # each of its problems is short

    def __init__(self, message: str, problems: Iterable[Problem] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems)


class EnsembleError(UBayFSError, RuntimeError):
    """The ensemble could not be run, or its stored parts do not fit together."""


class OptimizationError(UBayFSError, RuntimeError):
    """No set that keeps the hard constraints was found; none was proved impossible either."""


class MissingDependencyError(UBayFSError, ImportError):
    """An optional package is needed; the message names the line that installs it."""


class UBayFSWarning(UserWarning):
    """Base of every warning that the package issues; `advice` has what it is about as a value."""

    advice: Advice | None = None


class EnsembleWarning(UBayFSWarning):
    """Elementary runs failed or were cancelled."""


class OptimizationWarning(UBayFSWarning):
    """The answer needs a second look: time limit, unlimited size, members without a vote."""


class ConvergenceWarning(UBayFSWarning):
    """Markov chains do not agree; their means cannot be trusted yet."""


@dataclass(frozen=True)
class Advice:
    """What a careful reader of a result must know.

    Attributes
    ----------
    code : str
        What it is about; one of `CODES`.
    facts : mapping of str to value
        The numbers and names that the sentence needs, in plain types.
    """

    code: str
    facts: Mapping[str, Any] = field(default_factory=dict)

    # The category of the Python warning (None: not a warning, such as notes on how data were read) and its sentence.
    CODES: ClassVar[Mapping[str, tuple[type[UBayFSWarning] | None, str]]] = {
        "time_limit": (
            OptimizationWarning,
            "time_limit was reached: the set returned has the score {value:.6g}, and no set has a higher one than "
            "{bound:.6g} (gap {gap:.3g}). Give more time to close the gap.",
        ),
        "alternatives_incomplete": (
            OptimizationWarning,
            "time_limit was reached after {n_found} of {n_alternatives} alternatives: there may be more. Give more "
            "time to list them.",
        ),
        "soft_constraints_ineffective": (
            OptimizationWarning,
            "Violations that no set can avoid make all soft constraints together count for almost nothing in this set "
            "(admissibility {admissibility:.2g}). No set satisfies all of: {labels}. Change one of these or lower its "
            "rho, and make constraints that must hold hard (rho=inf).",
        ),
        "size_not_limited": (
            OptimizationWarning,
            "No constraint limits the size of the set: {n_free} of {n_selectable} features are selected simply because "
            "nothing speaks against them. Add max_size(n), or lower max_features of UBayFSSelector.",
        ),
        "without_votes": (
            OptimizationWarning,
            "{n_unvoted} of {n_chosen} chosen features have no vote of any model ({features}): weights or constraints "
            "alone bring them in. Use min_votes=1 to exclude such features.",
        ),
        "runs_failed": (
            EnsembleWarning,
            "{n_failed} of {n_runs} elementary runs failed; the most frequent error ({times}x) was {error}; see "
            "Evidence.failures.",
        ),
        "runs_cancelled": (
            EnsembleWarning,
            "the ensemble was cancelled after {n_runs} of {n_models} runs; the evidence holds those.",
        ),
        "no_votes": (
            EnsembleWarning,
            "no run chose a single feature: the selector found nothing, or every column is constant; the evidence is "
            "empty.",
        ),
        "runs_without_choice": (
            EnsembleWarning,
            "{n_empty} of {n_runs} runs chose no feature: their selector found nothing in the subsample. They count as "
            "runs without a vote.",
        ),
        "many_features_per_model": (
            None,
            "a run may choose {n_features_per_model} of {n_features} features, more than a quarter: then features that "
            "tell nothing get many votes too. Use n_features_per_model={quarter}, or fewer.",
        ),
        "changed_default": (
            None,
            "the study rests on {key}, which now means: {default}. In ubayfs {written}, which wrote the "
            "study, it was: {former}. Set the key in the study to choose.",
        ),
        "other_version": (
            None,
            "the study was written by ubayfs {written}, this is {present}; results may differ.",
        ),
        "lone_values": (
            UBayFSWarning,
            "features with one value far from all others, which decides every score of theirs where it is in a "
            "subsample: {n_features} ({shown}). If it stands for a missing value, mark it as missing or correct it.",
        ),
        "names_skipped": (
            UBayFSWarning,
            "{n} of {n_names} names of {source} are not in the data and were left out: {names}.",
        ),
        "names_translated": (
            UBayFSWarning,
            "Names of {source} that were found by an alias, or by an Ensembl id of another version: {names}.",
        ),
        "names_ambiguous": (
            UBayFSWarning,
            "Names of {source} that mean several features and were left out: {names}. Name the one that is meant.",
        ),
        "names_damaged": (
            UBayFSWarning,
            "Names of {source} that a spreadsheet turned into dates; what they were cannot be known: {names}. Correct "
            "them in the file.",
        ),
        "names_in_other_case": (
            UBayFSWarning,
            "Names of {source} that differ from features only in upper and lower case and were left out: {names}.",
        ),
        "highest_weight": (
            UBayFSWarning,
            "{n} features are in several lists or gene sets of different weight and have the highest: {names}.",
        ),
        "without_cost": (
            UBayFSWarning,
            "{n} of {n_features} features have no cost in the table and count as free: {names}.",
        ),
        "missing_available": (
            UBayFSWarning,
            "missing values: {n_values:,} in {n_features:,} feature(s) ({features}) and {n_samples:,} sample(s). A "
            "feature counts with the samples that have it; selectors that need complete data get means of their own "
            "samples.",
        ),
        "missing_median": (
            UBayFSWarning,
            "missing values: {n_values:,} in {n_features:,} feature(s) ({features}) and {n_samples:,} sample(s). "
            "Filters use the samples that have a feature; all other selectors get medians of their own samples.",
        ),
        "missing_drop_rows": (
            UBayFSWarning,
            "missing values: {n_values:,} in {n_features:,} feature(s) ({features}); the {n_samples:,} sample(s) that "
            "lack any are left out.",
        ),
        "missing_drop_columns": (
            UBayFSWarning,
            "missing values: {n_values:,} in {n_samples:,} sample(s); the {n_features:,} feature(s) that lack any are "
            "left out ({features}).",
        ),
        "mostly_missing": (
            UBayFSWarning,
            "{n_features:,} feature(s) cannot be chosen, since more than {max_missing:.0%} of their values, or all, "
            "are missing ({features}). Raise max_missing to let those with any value take part.",
        ),
        "many_classes": (
            UBayFSWarning,
            "The target has {n_classes} classes in {n_samples} samples, almost as many. If it is a measured number, "
            "use the task 'regression'; if it names samples or patients, take another column as the target.",
        ),
        "few_samples_per_class": (
            UBayFSWarning,
            "Classes with fewer than {least} samples: {shown}. What sets them apart from others may be chance. Merge "
            "them with other classes, leave them out, or use the task 'regression' if the target is a measured number.",
        ),
        "missing_letters": (
            UBayFSWarning,
            "some letters are drawn as boxes, since no font of this machine has them ({letters}); install one that "
            "does, such as Noto Sans CJK.",
        ),
        "switch_finished": (
            UBayFSWarning,
            "a program was stopped while it replaced the files in {directory}; the new ones are in their places now.",
        ),
        "staging_removed": (
            UBayFSWarning,
            "a program was stopped before its files in {directory} were complete; what it left there is removed.",
        ),
        "no_manifest": (
            UBayFSWarning,
            "{directory} has no manifest.json, as results of earlier versions: whether its files are as they were "
            "written cannot be checked.",
        ),
        "chains_disagree": (
            ConvergenceWarning,
            "The chains of the hyperdirichlet posterior disagree (R-hat {r_hat:.2f}, above {limit}) after {n_draws} "
            "draws each; its means cannot be trusted yet. Raise max_draws (and n_warmup) of Hyperdirichlet, use larger "
            "weights, or take prior='dirichlet'.",
        ),
        **{code: (None, sentence) for code, sentence in NOTES.items()},
    }

    def __str__(self) -> str:
        return self.in_words(self.CODES[self.code][1])

    def in_words(self, sentence: str) -> str:
        """Return a sentence with the facts in their places; of a list, the first five entries.

        >>> Advice("without_votes", {"features": list("abcdefg")}).in_words("No votes: {features}.")
        'No votes: a, b, c, d, e and 2 more.'
        """
        return sentence.format(
            **{key: _first(fact) if isinstance(fact, list) else fact for key, fact in self.facts.items()}
        )

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Advice:
        """Make advice of its code and facts; numbers that JSON has no sign for come back from strings."""
        infinite = ("inf", "-inf", "nan")
        facts = {key: float(fact) if fact in infinite else fact for key, fact in content["facts"].items()}
        return cls(str(content["code"]), facts)

    @property
    def category(self) -> type[UBayFSWarning] | None:
        """The kind of Python warning; None if it is shown by reports and commands only."""
        return self.CODES[self.code][0]

    def warn(self, stacklevel: int = 2) -> None:
        """Issue the advice as a Python warning; with ``stacklevel=2`` it points to the caller of the caller."""
        if self.category is None:
            return
        warning = self.category(str(self))
        warning.advice = self
        warnings.warn(warning, stacklevel=stacklevel + 1)


def _first(entries: Sequence[Any], limit: int = 5) -> str:
    more = f" and {len(entries) - limit:,} more" if len(entries) > limit else ""
    first = [str(entry) for entry in entries[:limit]]
    return ("; " if any("," in entry for entry in first) else ", ").join(first) + more
