"""Problems of a study: where each of them is, and all of them in one error."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any

from .._arguments import did_you_mean
from ..exceptions import InputError, Problem, StudyError, repr_of, shortened

# Keys and positions from the top of the study, such as ("constraints", 2, "must_link", "rho").
Path = tuple[str | int, ...]
# Called with the place of a problem, relative to what is checked, and the rule that is broken.
Report = Callable[[Path, str], None]

# Problems that a message lists; the error holds all of them.
_SHOWN = 50
_CHARACTERS = 5000

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


def refuse(path: Path, message: str) -> None:
    """Raise at the first problem: the report for values given in Python."""
    place = key_path(path)
    raise InputError(f"{place}: {message}" if place else message, argument=place or None, rule=message)


def study_error(message: str) -> StudyError:
    """Return the error of a study that cannot be written."""
    return StudyError(message, (Problem(message),))


@contextmanager
def reported(report: Report, path: Path = ()) -> Iterator[None]:
    """Report an InputError at a place instead of raising it."""
    try:
        yield
    except StudyError:  # all its problems have their places
        raise
    except InputError as error:
        report(path, error.rule)


def known_only(given: Mapping[Any, Any], known: Iterable[str], what: str, report: Report) -> dict[Any, Any]:
    """Return the entries whose keys are known; each other key is reported, with the one that was probably meant.

    Examples
    --------
    >>> known_only({"path": 1, "taget": 2}, ["path", "target"], "a key of data", lambda path, rule: print(path, rule))
    ('taget',) is not a key of data; got 'taget'. Did you mean 'target'?
    {'path': 1}
    """
    names = list(known)
    for key in given:
        if key not in names:
            hint = did_you_mean(key, names) or f" Known: {', '.join(names) or 'none'}."
            report((key,), f"is not {what}; got {repr_of(key)}.{hint}")
    return {key: value for key, value in given.items() if key in names}


@dataclass(frozen=True)
class Origin:
    """Where a study was read from, for messages."""

    file: str = ""  # name of the study file; empty for a study made in Python
    lines: Mapping[Path, int] = field(default_factory=dict)  # of each key, counted from 1
    # The sections as read; those of a changed copy of the study have no line.
    parts: Mapping[str, Any] = field(default_factory=dict)
    # Where something is written instead: at another place of the file, or in an option of a command (a text).
    aliases: Mapping[Path, Path | str] = field(default_factory=dict)


class Places:
    """A set of places that knows those above and below it, at once also when there are thousands."""

    def __init__(self) -> None:
        self._members: set[Path] = set()
        self._above: set[Path] = set()  # of which a member is below

    def add(self, path: Path) -> None:
        """Add a place."""
        self._members.add(path)
        self._above.update(path[:length] for length in range(len(path)))

    def keys_below(self, key: str) -> set[Any]:
        """Return the keys of a section that are members, or above one."""
        return {path[1] for path in self._members if len(path) > 1 and path[0] == key}

    def has_related(self, path: Path) -> bool:
        """Tell whether a place is a member, or below or above one."""
        return path in self._above or any(path[:length] in self._members for length in range(len(path) + 1))


@dataclass
class Problems:
    """Collects problems, each with its file, line and key."""

    origin: Origin = field(default_factory=Origin)
    changed: frozenset[str] = frozenset()  # sections that are no longer as in the file
    found: list[Problem] = field(default_factory=list)
    wrong: Places = field(default_factory=Places)  # all that have a problem
    # Values that were refused when the file was read. What follows from them is not reported a second time.
    unreadable: Places = field(default_factory=Places)
    n_reports: int = 0  # also those that follow from an unreadable value
    elsewhere: bool = False  # whether some are not in the file, but in options or in Python

    def __call__(self, path: Path, message: str, line: int | None = None, related: tuple[Path, ...] = ()) -> None:
        """Add a problem; without a line it is that of the nearest key above, without a message it was added before."""
        self.n_reports += 1
        if path:
            self.wrong.add(path)
        if not message or self.unreadable.has_related(path):
            return
        # A value that runs over several lines must not break the list of problems into pieces.
        found = self._located(path, shortened(" ".join(message.splitlines()), 1000), line)
        self.found.append(replace(found, related=related) if related else found)

    def refuse_value(self, path: Path, message: str, line: int) -> None:
        """Add the problem of a value that cannot be read."""
        self(path, message, line)
        self.unreadable.add(path)

    def written_in(self, path: Path, place: Path | str) -> None:
        """Note that something is written elsewhere: at another place of the file, or in an option of a command."""
        self.origin = replace(self.origin, aliases={**self.origin.aliases, path: place})

    def place(self, path: Path) -> str:
        """Return where something is written, as people look for it: the option, or file, line and key."""
        return self._located(path, "", None).place

    def is_sound(self, *path: str | int) -> bool:
        """Tell whether nothing is wrong at a place, below it or above it."""
        return not self.wrong.has_related(path)

    def _located(self, path: Path, message: str, line: int | None) -> Problem:
        origin = self.origin
        for length in range(len(path), 0, -1):
            alias = origin.aliases.get(path[:length])
            if isinstance(alias, str):
                self.elsewhere = True
                return Problem(message, path, 0, alias)
            if alias is not None:
                path = (*alias, *path[length:])
                break
        in_file = bool(origin.file) and not (path and path[0] in self.changed)
        self.elsewhere |= not in_file
        if line is None:
            line = self._line(path) if in_file else 0
        place = [origin.file] if in_file else []
        place += [f"line {line}"] if line else []
        place += [key_path(path)] if path else []
        return Problem(message, path, line, ", ".join(place))

    def _line(self, path: Path) -> int:
        """Return the line of a key, or of the nearest one above it; 0 when there is none."""
        lines = self.origin.lines
        return next((lines[path[:n]] for n in range(len(path), 0, -1) if path[:n] in lines), 0)

    def raise_any(self) -> None:
        """Raise one StudyError that lists all problems in the order of the file, if there are any."""
        if not self.found:
            return
        problems = tuple(dict.fromkeys(sorted(self.found, key=lambda problem: problem.line)))
        texts = [str(problem) for problem in problems]
        if len(texts) == 1:
            raise StudyError(texts[0], problems)
        # A problem may list all that is known: the first ones are enough to begin with.
        n_shown = min(_SHOWN, 1 + sum(length <= _CHARACTERS for length in accumulate(map(len, texts))), len(texts))
        listed = "".join(f"\n- {text}" for text in texts[:n_shown])
        more = f"\n- and {len(texts) - n_shown} more" if len(texts) > n_shown else ""
        subject = "there are" if self.elsewhere else f"{self.origin.file} has"
        raise StudyError(f"{subject} {len(texts)} problems:{listed}{more}", problems)
