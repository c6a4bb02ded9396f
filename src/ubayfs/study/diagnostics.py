"""Problems of a study: the place of each in its file, and all those of one phase in one error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any

from .._listing import bulleted
from .._problems import Path, key_path
from ..exceptions import Problem, StudyError, shortened

# Problems that a message lists; the error holds all of them.
_SHOWN = 50
_CHARACTERS = 5000

# A study is checked in three phases; each lists all of its mistakes, and says what is checked after it.
AFTER_FILE = "Tables, and the names in them, are checked after {these} fixed."
AFTER_TABLES = "Names are compared with the tables after {these} fixed."


def study_error(message: str) -> StudyError:
    """Return the error of a study that cannot be written."""
    return StudyError(message, (Problem(message),))


@dataclass(frozen=True)
class Origin:
    """Where a study was read from, for messages."""

    file: str = ""  # name of the study file; empty for a study made in Python
    lines: Mapping[Path, int] = field(default_factory=dict)  # of each key, counted from 1
    # The sections as read; those of a changed copy of the study have no line.
    parts: Mapping[str, Any] = field(default_factory=dict)
    # Where something is written instead: at another place of the file, or in an option of a command (a text).
    aliases: Mapping[Path, Path | str] = field(default_factory=dict)


@dataclass
class Problems:
    """Collects problems, each with its file, line and key."""

    origin: Origin = field(default_factory=Origin)
    changed: frozenset[str] = frozenset()  # sections that are no longer as in the file
    entries: list[Problem] = field(default_factory=list)
    elsewhere: bool = False  # whether some are not in the file, but in options or in Python

    def __call__(self, path: Path, message: str, line: int | None = None, related: tuple[Path, ...] = ()) -> None:
        """Add a problem; without a line it is that of the nearest key above."""
        # A value that runs over several lines must not break the list of problems into pieces.
        problem = self._located(path, shortened(" ".join(message.splitlines()), 1000), line)
        self.entries.append(replace(problem, related=related) if related else problem)

    def written_in(self, path: Path, place: Path | str) -> None:
        """Note that something is written elsewhere: at another place of the file, or in an option of a command."""
        self.origin = replace(self.origin, aliases={**self.origin.aliases, path: place})

    def place(self, path: Path) -> str:
        """Return where something is written, as people look for it: the option, or file, line and key."""
        return self._located(path, "", None).place

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

    def raise_any(self, then: str = "") -> None:
        """Raise one StudyError that lists all problems in the order of the file, if there are any.

        `then` says what is checked once they are mended: `AFTER_FILE` or `AFTER_TABLES`.
        """
        if not self.entries:
            return
        problems = tuple(dict.fromkeys(sorted(self.entries, key=lambda problem: problem.line)))
        texts = [str(problem) for problem in problems]
        then = then and "\n" + then.format(these="this is" if len(texts) == 1 else "these are")
        if len(texts) == 1:
            raise StudyError(texts[0] + then, problems)
        # A problem may list all that is known: the first ones are enough to begin with.
        n_shown = min(_SHOWN, 1 + sum(length <= _CHARACTERS for length in accumulate(map(len, texts))), len(texts))
        subject = "there are" if self.elsewhere else f"{self.origin.file} has"
        raise StudyError(bulleted(f"{subject} {len(texts)} problems", texts, n_shown) + then, problems)
