"""Problems of a study: where each stands, and all of them in one error."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from ..exceptions import InputError, StudyError

# Keys and positions from the top of the study, such as ("constraints", 2, "must_link", "rho").
Path = tuple[str | int, ...]
# Called with the place of a problem, relative to what is checked, and the rule that is broken.
Report = Callable[[Path, str], None]

# Problems that a message lists; the error holds all of them.
_SHOWN = 50

# How a value shows that was refused when the file was read. No text of a file shows so.
REFUSED = "\x00refused\x00"

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
    """

    file: str = ""
    lines: Mapping[Path, int] = field(default_factory=dict)
    changed: frozenset[str] = frozenset()
    found: list[tuple[int, str]] = field(default_factory=list)
    n_told: int = 0  # all that were told, also those of a value that was refused before

    def __call__(self, path: Path, message: str, line: int | None = None) -> None:
        """Add a problem; without a line it is that of the nearest key above."""
        self.n_told += 1
        if REFUSED in message:
            return  # told already, when the file was read
        own = bool(path) and path[0] in self.changed
        if line is None:
            line = 0 if own else self.line(path)
        place = [self.file] if self.file and not own else []
        if line:
            place.append(f"line {line}")
        if path:
            place.append(key_path(path))
        # A value that runs over several lines must not break the list of problems into pieces.
        self.found.append((line, f"{', '.join(place)}: {' '.join(message.splitlines())}" if place else message))

    def line(self, path: Path) -> int:
        """Return the line of a key, or of the nearest one above it; 0 when there is none."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.lines:
                return self.lines[path[:length]]
        return 0

    def raise_any(self) -> None:
        """Raise one StudyError that lists all problems in the order of the file, if there are any."""
        if not self.found:
            return
        texts = tuple(dict.fromkeys(text for _, text in sorted(self.found, key=lambda problem: problem[0])))
        if len(texts) == 1:
            raise StudyError(texts[0], texts)
        listed = "".join(f"\n- {text}" for text in texts[:_SHOWN])
        more = f"\n- and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
        raise StudyError(f"{self.file or 'the study'} has {len(texts)} problems:{listed}{more}", texts)
