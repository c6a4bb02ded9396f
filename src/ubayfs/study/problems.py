"""Problems of a study: where each stands, and all of them in one error."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from ..exceptions import InputError, Problem, StudyError

# Keys and positions from the top of the study, such as ("constraints", 2, "must_link", "rho").
Path = tuple[str | int, ...]
# Called with the place of a problem, relative to what is checked, and the rule that is broken.
Report = Callable[[Path, str], None]

T = TypeVar("T")

# Problems that a message lists; the error holds all of them.
_SHOWN = 50

# How a value shows that was refused when the file was read. No text of a file shows so.
REFUSED = "\x00refused\x00"

_PLAIN_KEY = re.compile(r"[\w*-]+")
# How messages for Python say a setting, and how a study file does.
_SETTING = re.compile(r"\b(task|optimizer|missing|on)=['\"](\w+)['\"]")


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
    return text


def below(report: Report, *prefix: str | int) -> Report:
    """Return a report for what stands below a key."""
    return lambda path, message: report((*prefix, *path), message)


def refuse(path: Path, message: str) -> None:
    """Raise at the first problem: the report for values that come from Python."""
    place = key_path(path)
    raise InputError(f"{place}: {message}" if place else message)


@contextmanager
def reported(report: Report, path: Path = (), *names: str) -> Iterator[None]:
    """Report an InputError instead of raising it.

    Parameters
    ----------
    report : Report
    path : Path
    *names : str
        What the message may begin with; the place says it already, so it is cut off.
    """
    try:
        yield
    except StudyError:  # all its problems have their places
        raise
    except InputError as error:
        report(path, without_name(str(error), *names))


def without_name(message: str, *names: str) -> str:
    """Cut off the name of the argument that a message begins with.

    Examples
    --------
    >>> without_name("n_models must be a whole number >= 1; got 0.", "n_models")
    'must be a whole number >= 1; got 0.'
    """
    for name in names:
        if message.startswith(f"{name} "):
            return message[len(name) + 1 :]
    return message


@dataclass
class Problems:
    """Collects problems, each with its file, line and key.

    Attributes
    ----------
    file : str
        Name of the study file; empty for a study made in Python.
    lines : mapping of Path to int
        Line of each key, counted from 1.
    changed : frozenset of str
        Sections that are no longer as in the file: what they say has no line there.
    aliases : mapping of Path to Path or str
        Where else something was said: at another place of the file, or, as a text, by an option of a command.
    wrong : set of Path
        All places that problems were told of.
    """

    file: str = ""
    lines: Mapping[Path, int] = field(default_factory=dict)
    changed: frozenset[str] = frozenset()
    aliases: Mapping[Path, Path | str] = field(default_factory=dict)
    found: list[tuple[Problem, bool]] = field(default_factory=list)  # and whether the file says it
    wrong: set[Path] = field(default_factory=set)
    n_told: int = 0  # all that were told, also those of a value that was refused before

    def __call__(self, path: Path, message: str, line: int | None = None) -> None:
        """Add a problem; without a line it is that of the nearest key above."""
        self.n_told += 1
        self.wrong.add(path)
        if REFUSED in message:
            return  # told already, when the file was read
        in_file, line, place = self._place(path, line)
        # A value that runs over several lines must not break the list of problems into pieces.
        text = _SETTING.sub(r"\1: \2", " ".join(message.splitlines()).replace("rho = inf", "rho: hard"))
        self.found.append((Problem(text, path, line, place), in_file))

    def place(self, path: Path) -> str:
        """Return where something is said, as people look for it: the option, or file, line and key."""
        return self._place(path, None)[2]

    def is_sound(self, *path: str | int) -> bool:
        """Tell whether nothing is wrong at a place, below it or above it."""
        return not any(one[: len(path)] == path or path[: len(one)] == one for one in self.wrong if one)

    def _place(self, path: Path, line: int | None) -> tuple[bool, int, str]:
        for length in range(len(path), 0, -1):
            alias = self.aliases.get(path[:length])
            if isinstance(alias, str):
                return False, 0, alias
            if alias is not None:
                path = (*alias, *path[length:])
                break
        own = bool(path) and path[0] in self.changed
        if line is None:
            line = 0 if own else self.line(path)
        place = [self.file] if self.file and not own else []
        if line:
            place.append(f"line {line}")
        if path:
            place.append(key_path(path))
        return bool(self.file), line, ", ".join(place)

    def line(self, path: Path) -> int:
        """Return the line of a key, or of the nearest one above it; 0 when there is none."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.lines:
                return self.lines[path[:length]]
        return 0

    def unless_any(self, value: T | None) -> T:
        """Return a value, or raise what stood in its way."""
        self.raise_any()
        assert value is not None
        return value

    def raise_any(self) -> None:
        """Raise one StudyError that lists all problems in the order of the file, if there are any."""
        if not self.found:
            return
        problems = tuple(dict.fromkeys(problem for problem, _ in sorted(self.found, key=lambda one: one[0].line)))
        texts = [str(problem) for problem in problems]
        if len(texts) == 1:
            raise StudyError(texts[0], problems)
        listed = "".join(f"\n- {text}" for text in texts[:_SHOWN])
        more = f"\n- and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
        by_options = any(isinstance(alias, str) for alias in self.aliases.values())
        where = self.file if all(in_file for _, in_file in self.found) else ""
        has = f"{where or 'the study'} has" if where or not by_options else "there are"
        raise StudyError(f"{has} {len(texts)} problems:{listed}{more}", problems)
