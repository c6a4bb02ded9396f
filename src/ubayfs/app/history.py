"""Edits of a study as a log: one line of JSON each, on disk before the edit is answered; undo and redo survive an end.

The first line holds a whole state, each further line an edit (label, time and difference), an undo or redo, or what no
undo takes back. An edit that belongs to somebody, such as the words of an expert, is undone by nobody else. If others
have edited since, it is undone out of order, which is refused where they changed the same place.
A line that was cut short by the end of the program was never answered, and is removed when the log is opened.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .._files import write_atomically
from ..exceptions import InputError, UBayFSError

_MOST_STEPS = 1000  # edits that can be undone after the study was opened again
# What reading plain types that are no state may raise; InputError is a ValueError.
_WRONG = (LookupError, TypeError, ValueError, AttributeError)
_PAIRS = "\0pairs"  # stands for a mapping whose keys are not all texts, which JSON does not have

# Each place that differs: keys from the top, and the values before and after it; none where the key is absent.
Difference = list[tuple[list[Any], list[Any], list[Any]]]


def now() -> str:
    """Return the time in UTC, as it is recorded."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def difference(before: Mapping[Any, Any], after: Mapping[Any, Any]) -> Difference:
    """Return where two plain values differ.

    Examples
    --------
    >>> difference({"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"c": 5, "d": 3}})
    [(['a'], [1], []), (['b', 'c'], [2], [5])]
    """
    differences: Difference = []
    for key in dict.fromkeys([*before, *after]):
        old, new = ([side[key]] if key in side else [] for side in (before, after))
        if old and new and isinstance(old[0], dict) and isinstance(new[0], dict):
            differences += [([key, *path], *values) for path, *values in difference(old[0], new[0])]  # type: ignore[misc]
        elif old != new:
            differences.append(([key], old, new))
    return differences


def _apart(first: Difference, second: Difference) -> bool:
    """Return whether two differences are about other places: then their order does not matter."""
    shortest = ((path, place, min(len(path), len(place))) for path, *_ in first for place, *_ in second)
    return not any(path[:n] == place[:n] for path, place, n in shortest)


def applied(value: Mapping[Any, Any], changes: Difference, back: bool = False) -> dict[Any, Any]:
    """Return a plain value with a difference, or as it was before it; nothing is changed in place."""
    result = dict(value)
    for path, before, after in changes:
        inside = result
        for key in path[:-1]:
            inside[key] = dict(inside[key])
            inside = inside[key]
        entry = before if back else after
        if entry:
            inside[path[-1]] = entry[0]
        else:
            inside.pop(path[-1], None)
    return result


class History:
    """The log of a study.

    Attributes
    ----------
    plain : dict
        The state now, in plain types.
    state : object
        What `read` made of it when the log was opened, and of the last undo or redo.
    steps : list of dict
        Edits with ``label``, ``time`` and ``change``, and ``by`` if only that person undoes them; those that are undone
        stand last.
    position : int
        How many of them are done.
    damaged : bool
        Whether a line in the middle could not be read, or led to something that is not a state (`read` raised
        InputError): then `plain` is an earlier state.
    copy : Path
        Where the log is as it was, if it was damaged.
    """

    def __init__(self, path: Path, plain: Mapping[str, Any] | None = None, read: Callable[..., Any] = dict) -> None:
        self.path, self._read = path, read
        content = _line({"start": plain}) if plain is not None else path.read_bytes()
        entries, self.damaged = _entries(content)
        try:
            self._replay(entries)
        except _WRONG:
            self.damaged = True
            try:
                self._replay(entries[:1])
            except _WRONG:
                raise InputError(f"{path} does not begin with a state of a study: it is damaged.") from None
        self.copy = path.with_name(f"history-damaged-{hashlib.sha256(content).hexdigest()[:8]}.jsonl")
        if self.damaged:
            self._written(lambda: write_atomically(self.copy, content))
        else:
            self.compact()

    def _replay(self, entries: list[dict[str, Any]]) -> None:
        self.plain, self.steps, self.position = entries[0]["start"], list[dict[str, Any]](), 0
        for entry in entries[1:]:
            self._do(entry)
        self.state = self._read(self.plain)

    def _do(self, entry: dict[str, Any]) -> None:
        if "change" in entry:
            del self.steps[self.position :]
            self.steps.append(entry)
            self._go(1)
        elif "fixed" in entry:
            self.plain = {**self.plain, **entry["fixed"]}
        elif 0 <= self.position + (by := 1 if "redo" in entry else -1) <= len(self.steps):
            self._go(by, entry.get("at"))

    def _go(self, by: int, at: int | None = None) -> None:
        """Undo or redo the next edit, or one at a position, which is moved there first."""
        nearest = self.position - (by < 0)
        if at is not None:
            self.steps.insert(nearest, self.steps.pop(at))
        self.plain = applied(self.plain, self.steps[nearest]["change"], back=by < 0)
        self.position += by

    def compact(self) -> None:
        """Write the log anew: the state at the earliest edit that can still be undone, and the edits since."""
        first = max(0, self.position - _MOST_STEPS)
        start = self.plain
        for step in reversed(self.steps[first : self.position]):
            start = applied(start, step["change"], back=True)
        n_undone = len(self.steps) - self.position
        self.steps, self.position = self.steps[first:], self.position - first
        entries = [{"start": start, "time": now()}, *self.steps, *({"undo": 1, "time": now()} for _ in range(n_undone))]
        self._written(lambda: write_atomically(self.path, b"".join(map(_line, entries))))
        self._size = self.path.stat().st_size

    def add(self, label: str, plain: Mapping[str, Any], by: str = "") -> bool:
        """Log an edit that leads to a state; False if it changes nothing."""
        change = difference(self.plain, plain)
        if not change:
            return False
        step = {"label": label, "time": now(), "change": change, **({"by": by} if by else {})}
        self._append(step)
        del self.steps[self.position :]
        self.steps.append(step)
        self.plain, self.position = dict(plain), self.position + 1
        return True

    def fix(self, **values: Any) -> None:
        """Log values of the state that no undo takes back, such as the time at which votes were shown."""
        self._append({"fixed": values, "time": now()})
        self.plain = {**self.plain, **values}

    def step(self, by: int, who: str = "") -> str | None:
        """Undo (-1) or redo (1) an edit of everybody or of one person, and return its label; None if there is none."""
        at = self._next(by, who)
        if at is None:
            return None
        step, nearest = self.steps[at], self.position - (by < 0)
        passed = self.steps[at + 1 : nearest + 1] if by < 0 else self.steps[nearest:at]
        if not all(_apart(step["change"], other["change"]) for other in passed):
            rule = "has been built upon by another expert since; state something else instead."
            raise InputError(f"This change cannot be {'re' if by > 0 else 'un'}done: it {rule}")
        state = self._read(applied(self.plain, step["change"], back=by < 0))  # raises if it is none
        moved = {} if at == nearest else {"at": at}
        self._append({"redo" if by > 0 else "undo": 1, "time": now(), **moved})
        self._go(by, at)
        self.state = state
        return str(step["label"])

    def _next(self, by: int, who: str) -> int | None:
        """Return the position of the nearest edit that somebody may undo or redo."""
        places = range(self.position - 1, -1, -1) if by < 0 else range(self.position, len(self.steps))
        return next((at for at in places if self.steps[at].get("by", who) == who), None)

    def label(self, by: int, who: str = "") -> str:
        """Return the label of the edit that :meth:`step` would undo or redo; empty if there is none."""
        at = self._next(by, who)
        return "" if at is None else str(self.steps[at]["label"])

    def _append(self, entry: Mapping[str, Any]) -> None:
        """Write a line and wait until it is on disk; on failure the log is as it was."""

        def write() -> None:
            with open(self.path, "r+b") as file:
                file.truncate(self._size)  # without what an append that failed may have left
                file.seek(self._size)
                file.write(line)
                file.flush()
                os.fsync(file.fileno())

        line = _line(entry)
        self._written(write)
        self._size += len(line)

    def _written(self, write: Any) -> None:
        try:
            write()
        except OSError as error:
            reason = error.strerror or error
            raise UBayFSError(
                f"The edit could not be written to {self.path} ({reason}); nothing was changed. Free space, or restore "
                "the right to write there, and repeat it."
            ) from error


def _entries(content: bytes) -> tuple[list[dict[str, Any]], bool]:
    """Return the entries of a log up to the first one that cannot be read, and whether others follow it."""
    lines = content.split(b"\n")
    entries: list[dict[str, Any]] = []
    for number, line in enumerate(lines):
        try:
            entry = _unpacked(json.loads(line))
            if not isinstance(entry, dict):
                raise ValueError("not an entry of the log")
            entries.append(entry)
        except (ValueError, RecursionError):
            return entries, any(map(bytes.strip, lines[number + 1 :]))
    return entries, False


def _line(entry: Mapping[str, Any]) -> bytes:
    return (
        json.dumps(_packed(entry), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass") + b"\n"
    )


def _packed(value: Any) -> Any:
    if isinstance(value, Mapping):
        if all(isinstance(key, str) for key in value):
            return {key: _packed(entry) for key, entry in value.items()}
        return {_PAIRS: [[key, _packed(entry)] for key, entry in value.items()]}
    return [_packed(entry) for entry in value] if isinstance(value, list | tuple) else value


def _unpacked(value: Any) -> Any:
    if isinstance(value, dict):
        if _PAIRS in value:
            return {key: _unpacked(entry) for key, entry in value[_PAIRS]}
        return {key: _unpacked(entry) for key, entry in value.items()}
    return [_unpacked(entry) for entry in value] if isinstance(value, list) else value
