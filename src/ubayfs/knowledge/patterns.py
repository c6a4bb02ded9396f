"""Names in a study: of features or blocks, given as they are, by patterns such as ``radius*``, or by position."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable
from typing import Any

from .._arguments import did_you_mean, feature_hint
from ..data.damaged_names import symbols_before_damage
from ..exceptions import InputError

EVERY = "*"  # the pattern of all names
_WILDCARD = re.compile(r"[*?\[]")
# Looking for the nearest name takes a while among many features; a long list of wrong names needs no hint for each.
_MOST_HINTS = 10


def is_pattern(item: object) -> bool:
    """Return whether a text may match several names: it holds ``*``, ``?`` or ``[``."""
    return isinstance(item, str) and _WILDCARD.search(item) is not None


class Names:
    """The names that a study may use, of features or of blocks (the kind, for messages).

    None: what defines them is wrong or not read yet, and every name is accepted.
    """

    def __init__(self, names: Iterable[str] | None, kind: str = "feature") -> None:
        self.names = list(names or ())
        self.kind = kind
        self._unknown = names is None
        self._set = frozenset(self.names)
        self._n_hints = 0

    def __contains__(self, name: object) -> bool:
        return self._unknown or name in self._set

    def find(self, item: Any, pattern: bool | None = None) -> list[str]:
        """Return the names that an item (a name, a pattern or a position) means; raise if it means nothing.

        A name that exists is that name, whatever characters it holds; other texts are patterns if `pattern` is True, or
        None and they look like one.

        Examples
        --------
        >>> names = Names(["radius", "radius*", "radio"])
        >>> names.find("radi*"), names.find("radius*")
        (['radius', 'radius*', 'radio'], ['radius*'])
        """
        if self._unknown or (isinstance(item, str) and item in self._set):
            return [item]
        if is_pattern(item) if pattern is None else pattern:
            matches = re.compile(fnmatch.translate(item)).match
            matching = [name for name in self.names if matches(name)]
            if not matching:
                raise InputError(f"{item!r} matches no {self.kind}.{self._hint(item)}", value=item)
            return matching
        if isinstance(item, str):
            raise InputError(f"{item!r} is not a {self.kind}.{self._hint(item)}", value=item)
        return [self._at(item)]

    def _at(self, position: Any) -> str:
        if isinstance(position, int) and not isinstance(position, bool) and 0 <= position < len(self.names):
            name: str = self.names[position]
            if str(position) in self._set and name != str(position):
                raise InputError(
                    f"{position} is a position here, that of {self.kind} {name!r} (positions count from 0), but there "
                    f"is also a {self.kind} called {str(position)!r}. Put it into quotes if you mean that one, else "
                    f"write {name!r}.",
                    value=position,
                )
            return name
        if str(position) in self._set:
            return str(position)
        raise InputError(
            f"{position!r} is neither the name of a {self.kind} nor a position (they count from 0 to "
            f"{len(self.names) - 1}).",
            value=position,
        )

    def _hint(self, item: str) -> str:
        self._n_hints += 1
        if self._n_hints > _MOST_HINTS:
            return ""
        if not self.names:
            return f" There are no {self.kind}s."
        before = symbols_before_damage(item) if self.kind == "feature" else ()
        if before:
            return f" A spreadsheet may have turned a gene symbol into this date: {' or '.join(before)}?"
        hint = feature_hint if self.kind == "feature" else did_you_mean
        nearest = hint(item, self.names) or hint(re.sub(r"[*?\[\]]", "", item), self.names)
        return nearest or f" There are {len(self.names)} {self.kind}s, {self.names[0]!r} first."

    def expand(self, items: Iterable[Any], report: Callable[[tuple[int], str], None]) -> list[Any]:
        """Return items with each pattern replaced by the names that it matches; no name occurs twice by patterns.

        `report` is called with the position of each item that means nothing, which is left out, and the broken rule.
        """
        matches_of: list[tuple[Any, list[str]]] = []
        for position, item in enumerate(items):
            try:
                matches_of.append((item, self.find(item)))
            except InputError as error:
                report((position,), error.rule)
        listed = {name for item, matches in matches_of if is_single(item, matches) for name in matches}
        expanded: list[Any] = []
        for item, matches in matches_of:
            if is_single(item, matches):
                expanded.append(as_named(item, matches))
            else:
                expanded += [name for name in matches if name not in listed]
                listed.update(matches)
        return expanded


def is_single(item: Any, matches: list[str]) -> bool:
    """Return whether an item names one thing, rather than matches it as a pattern."""
    return not is_pattern(item) or matches == [item]


def as_named(item: Any, matches: list[str]) -> Any:
    """Return a single item: a position stays one, unless the number is a name."""
    return matches[0] if str(item) == matches[0] else item
