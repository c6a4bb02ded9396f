"""Names and patterns: what ``radius*`` stands for among the features at hand."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable
from typing import Any

from .._arguments import FeatureIndex, did_you_mean
from ..exceptions import InputError

_WILDCARD = re.compile(r"[*?\[]")
# Looking for the nearest name takes a while among many features; a long list of wrong names needs no hint for each.
_MOST_HINTS = 10


def is_pattern(item: object) -> bool:
    """Tell whether a text may stand for several names: it holds one of ``* ? [``."""
    return isinstance(item, str) and _WILDCARD.search(item) is not None


class Names:
    """The names that a study may use, of features or of blocks.

    Parameters
    ----------
    names : iterable of str
    kind : str
        What they are names of, for messages: "feature" or "block".
    """

    def __init__(self, names: Iterable[str], kind: str = "feature") -> None:
        self.index = FeatureIndex(list(names))
        self.names = self.index.names
        self.kind = kind
        self._n_hints = 0

    def __contains__(self, name: object) -> bool:
        return name in self.index

    def find(self, item: Any, pattern: bool | None = None) -> list[str]:
        """Return the names that an item stands for.

        Parameters
        ----------
        item : str or int
            A name, a pattern or a position. A name that exists is that name, whatever characters it holds.
        pattern : bool, optional
            True: it is a pattern, even without a wildcard. False: it is a name. Default: what it looks like.

        Raises
        ------
        InputError
            If it stands for nothing.

        Examples
        --------
        >>> names = Names(["radius", "radius*", "radio"])
        >>> names.find("radi*"), names.find("radius*")
        (['radius', 'radius*', 'radio'], ['radius*'])
        """
        if isinstance(item, str) and item in self.index:
            return [item]
        if is_pattern(item) if pattern is None else pattern:
            matches = re.compile(fnmatch.translate(item)).match
            found = [name for name in self.names if matches(name)]
            if not found:
                raise InputError(f"{item!r} matches no {self.kind}.{self._hint(item)}")
            return found
        if isinstance(item, str):
            raise InputError(f"{item!r} is not a {self.kind}.{self._hint(item)}")
        return [self._at(item)]

    def _at(self, position: Any) -> str:
        if isinstance(position, int) and not isinstance(position, bool) and 0 <= position < len(self.names):
            name: str = self.names[position]
            if str(position) in self.index and name != str(position):
                raise InputError(
                    f"{position} is a position here, that of {self.kind} {name!r} (positions count from 0), but there "
                    f"is also a {self.kind} called {str(position)!r}. Put it into quotes if you mean that one, else "
                    f"write {name!r}."
                )
            return name
        if str(position) in self.index:
            return str(position)
        raise InputError(
            f"{position!r} is neither the name of a {self.kind} nor a position (they count from 0 to "
            f"{len(self.names) - 1})."
        )

    def _hint(self, item: str) -> str:
        self._n_hints += 1
        if self._n_hints > _MOST_HINTS:
            return ""
        if not self.names:
            return f" There are no {self.kind}s."
        nearest = did_you_mean(item, self.names) or did_you_mean(re.sub(r"[*?\[\]]", "", item), self.names)
        return nearest or f" There are {len(self.names)} {self.kind}s, {self.names[0]!r} first."


class AnyNames(Names):
    """Stands for names that are not known, because what defines them is wrong: everything is one of them."""

    def __init__(self, kind: str) -> None:
        super().__init__((), kind)

    def __contains__(self, name: object) -> bool:
        return True

    def find(self, item: Any, pattern: bool | None = None) -> list[str]:
        """Return the item itself."""
        return [item]
