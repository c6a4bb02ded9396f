"""Names of features and blocks: what ``radius*`` matches among the features at hand, and blocks given by a rule."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .._arguments import FeatureIndex, did_you_mean
from ..constraints.arguments import as_items
from ..data.blocks import Blocks
from ..exceptions import InputError
from .diagnostics import Report, reported

_WILDCARD = re.compile(r"[*?\[]")
# Looking for the nearest name takes a while among many features; a long list of wrong names needs no hint for each.
_MOST_HINTS = 10


@dataclass(frozen=True)
class PrefixBlocks:
    """Blocks of all features whose names are the same up to the first separator.

    Attributes
    ----------
    prefix : str
        The separator.
    """

    prefix: str

    def members(self, names: Iterable[str]) -> dict[str, list[str]]:
        """Return the features of each block."""
        found: dict[str, list[str]] = {}
        for name in names:
            prefix, separator, _ = name.partition(self.prefix)
            if separator and prefix:
                found.setdefault(prefix, []).append(name)
        return found


@dataclass(frozen=True)
class TableBlocks:
    """Blocks from a table with the columns feature and block.

    Attributes
    ----------
    table : str
        Path, relative to the study file.
    sheet : str or None
        Of an Excel file; default the first.
    """

    table: str
    sheet: str | None = None


AnyBlocks = Blocks | PrefixBlocks | TableBlocks | None


def as_blocks(value: Any, report: Report) -> AnyBlocks:
    """Return blocks given in any form.

    Parameters
    ----------
    value : mapping of name to features, {"prefix": separator}, {"table": path, "sheet": name}, DataFrame, Blocks, ...
    report : Report
    """
    if value is None or isinstance(value, PrefixBlocks | TableBlocks):
        return value
    if isinstance(value, Mapping):
        for rule, keys in (("prefix", {"prefix"}), ("table", {"table", "sheet"})):
            # A block that is called so lists its features.
            if isinstance(value.get(rule), str):
                return _rule_blocks(rule, keys, value, report)
    else:
        try:
            value = Blocks.of(value).members
        except InputError as error:
            report((), error.rule)
            return None
    members = {}
    for name, features in value.items():
        with reported(report, (name,)):
            members[str(name)] = as_items(str(name), features)
    return Blocks(members) if members else None


def _rule_blocks(rule: str, keys: set[str], value: Mapping[Any, Any], report: Report) -> Any:
    for key in value:
        if key not in keys:
            report((key,), f"cannot be given beside {rule!r}, which makes all blocks; list all blocks, or none.")
    if not value[rule]:
        report((rule,), "must not be empty.")
    if rule == "prefix":
        return PrefixBlocks(value["prefix"])
    sheet = value.get("sheet")
    if sheet is not None and not isinstance(sheet, str):
        report(("sheet",), f"must be the name of a sheet; got {sheet!r}.")
    return TableBlocks(value["table"], sheet)


def plain_blocks(blocks: AnyBlocks) -> dict[str, Any]:
    """Return blocks as they are written to a file."""
    if isinstance(blocks, PrefixBlocks):
        return {"prefix": blocks.prefix}
    if isinstance(blocks, TableBlocks):
        return {"table": blocks.table} | ({} if blocks.sheet is None else {"sheet": blocks.sheet})
    return {} if blocks is None else {name: list(members) for name, members in blocks.members.items()}


def is_pattern(item: object) -> bool:
    """Tell whether a text may match several names: it holds ``*``, ``?`` or ``[``."""
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
        """Return the names that an item means.

        Parameters
        ----------
        item : str or int
            A name, a pattern or a position. A name that exists is that name, whatever characters it holds.
        pattern : bool, optional
            True: it is a pattern, even without a wildcard. False: it is a name. Default: what it looks like.

        Raises
        ------
        InputError
            If it means nothing.

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
                raise InputError(f"{item!r} matches no {self.kind}.{self._hint(item)}", value=item)
            return found
        if isinstance(item, str):
            raise InputError(f"{item!r} is not a {self.kind}.{self._hint(item)}", value=item)
        return [self._at(item)]

    def _at(self, position: Any) -> str:
        if isinstance(position, int) and not isinstance(position, bool) and 0 <= position < len(self.names):
            name: str = self.names[position]
            if str(position) in self.index and name != str(position):
                raise InputError(
                    f"{position} is a position here, that of {self.kind} {name!r} (positions count from 0), but there "
                    f"is also a {self.kind} called {str(position)!r}. Put it into quotes if you mean that one, else "
                    f"write {name!r}.",
                    value=position,
                )
            return name
        if str(position) in self.index:
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
        nearest = did_you_mean(item, self.names) or did_you_mean(re.sub(r"[*?\[\]]", "", item), self.names)
        return nearest or f" There are {len(self.names)} {self.kind}s, {self.names[0]!r} first."

    def expand(self, items: Iterable[Any], report: Report) -> list[Any]:
        """Return items with each pattern replaced by the names that it matches; no name occurs twice by patterns."""
        found: list[tuple[Any, list[str]]] = []
        for position, item in enumerate(items):
            with reported(report, (position,)):
                found.append((item, self.find(item)))
        listed = {name for item, matches in found if is_single(item, matches) for name in matches}
        expanded: list[Any] = []
        for item, matches in found:
            if is_single(item, matches):
                expanded.append(as_found(item, matches))
            else:
                expanded += [name for name in matches if name not in listed]
                listed.update(matches)
        return expanded


class AnyNames(Names):
    """Replaces names that are not known, because what defines them is wrong: every name is among them."""

    def __init__(self, kind: str) -> None:
        super().__init__((), kind)

    def __contains__(self, name: object) -> bool:
        return True

    def find(self, item: Any, pattern: bool | None = None) -> list[str]:
        """Return the item itself."""
        return [item]


def is_single(item: Any, matches: list[str]) -> bool:
    """Tell whether an item names one thing, rather than matches it as a pattern."""
    return not is_pattern(item) or matches == [item]


def as_found(item: Any, matches: list[str]) -> Any:
    """Return a single item: a position stays one, unless the number is a name."""
    return matches[0] if str(item) == matches[0] else item
