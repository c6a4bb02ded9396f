"""Names of features and blocks: what ``radius*`` matches, blocks by a rule, and the files that knowledge is in."""

from __future__ import annotations

import fnmatch
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path as FilePath
from typing import Any

from .._arguments import check_real, did_you_mean, feature_hint
from ..constraints.arguments import as_items
from ..data.blocks import Blocks
from ..exceptions import InputError
from ..knowledge.damaged_names import symbols_before_damage
from ..knowledge.matching import Aliases
from ..knowledge.rows import Knowledge, read_aliases, read_rows, restricted
from ..knowledge.tied import blocks_of
from .diagnostics import Path, Problems, Report, below, reported

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


@dataclass(frozen=True)
class GeneSetBlocks:
    """Blocks from a file of gene sets.

    Attributes
    ----------
    gene_sets : str
        Path, relative to the study file, of a GMT file, or of a CSV of gene sets as cellxgene has it.
    only : tuple of str
        Names or patterns of the gene sets that are wanted; default all.
    aliases : str or None
        Path of a table of other names of features.
    """

    gene_sets: str
    only: tuple[str, ...] = ()
    aliases: str | None = None


AnyBlocks = Blocks | PrefixBlocks | TableBlocks | GeneSetBlocks | None
_RULES = {"prefix": {"prefix"}, "table": {"table", "sheet"}, "gene_sets": {"gene_sets", "only", "aliases"}}


def as_blocks(value: Any, report: Report) -> AnyBlocks:
    """Return blocks given in any form.

    Parameters
    ----------
    value : mapping, DataFrame or Blocks
        Name -> features; {"prefix": separator}; {"table": path, "sheet": name}; {"gene_sets": path, "only": names}.
    report : Report
    """
    if value is None or isinstance(value, PrefixBlocks | TableBlocks | GeneSetBlocks):
        return value
    if isinstance(value, Mapping):
        for rule, keys in _RULES.items():
            # A block that is called so lists its features.
            if isinstance(value.get(rule), str):
                return _rule_blocks(rule, keys, value, report)
    else:
        with reported(report):
            value = Blocks.of(value).members
    members = {}
    for name, features in value.items() if isinstance(value, Mapping) else ():
        with reported(report, (name,)):
            members[str(name)] = as_items(str(name), readable("blocks", features, below(report, name)))
    return Blocks(members) if members else None


def _rule_blocks(rule: str, keys: set[str], value: Mapping[Any, Any], report: Report) -> Any:
    for key in value:
        if key not in keys:
            report((key,), f"cannot be given beside {rule!r}, which makes all blocks; list all blocks, or none.")
    if not value[rule]:
        report((rule,), "must not be empty.")
    if rule == "prefix":
        return PrefixBlocks(value["prefix"])
    if rule == "gene_sets":
        only = value.get("only") or ()
        only = (only,) if isinstance(only, str) else tuple(only) if isinstance(only, Iterable) else (only,)
        if not all(isinstance(name, str) for name in only):
            report(("only",), f"must list names or patterns of gene sets; got {value['only']!r}.")
            only = ()
        aliases = value.get("aliases")
        if aliases is not None and not isinstance(aliases, str):
            report(("aliases",), f"must be the path of a table; got {aliases!r}.")
            aliases = None
        return GeneSetBlocks(value["gene_sets"], only, aliases)
    sheet = value.get("sheet")
    if sheet is not None and not isinstance(sheet, str):
        report(("sheet",), f"must be the name of a sheet; got {sheet!r}.")
    return TableBlocks(value["table"], sheet)


def plain_blocks(blocks: AnyBlocks) -> dict[str, Any]:
    """Return blocks as they are written to a file."""
    if isinstance(blocks, PrefixBlocks | TableBlocks | GeneSetBlocks):
        given = {key: list(value) if isinstance(value, tuple) else value for key, value in vars(blocks).items()}
        return {key: value for key, value in given.items() if value}
    return {} if blocks is None else {name: list(members) for name, members in blocks.members.items()}


class Unreadable(str):
    """Stands for a name that cannot be one and was reported, so that those beside it are still checked."""


def readable(name: str, value: Any, report: Report) -> Any:
    """Return an argument of a constraint with stand-ins for entries of lists and mappings that cannot be right."""
    if isinstance(value, list | tuple) and (name.endswith("features") or name == "blocks"):
        return [_readable_item(item, below(report, position)) for position, item in enumerate(value)]
    if not isinstance(value, Mapping):
        return value
    if name == "blocks":
        return {block: readable(name, items, below(report, block)) for block, items in value.items()}
    found: dict[Any, Any] = {}
    for item, number in value.items():
        found[_readable_item(item, report)] = 0.0
        with reported(report, (item,)):
            found[item] = check_real(str(item), number, low_open=True, high_open=True)
            continue
        found[Unreadable()] = 0.0
    return found


def _readable_item(item: Any, report: Report) -> Any:
    with reported(report):
        return as_items("", [item])[0]
    return Unreadable()


def is_pattern(item: object) -> bool:
    """Tell whether a text may match several names: it holds ``*``, ``?`` or ``[``."""
    return isinstance(item, str) and _WILDCARD.search(item) is not None


class Names:
    """The names that a study may use, of features or of blocks (the kind, for messages).

    None: they are not known, because what defines them is wrong, and every name is among them. Names may also be
    without their order, so that positions tell nothing; or `guessed`: there may be others, too.
    """

    def __init__(
        self, names: Iterable[str] | None, kind: str = "feature", ordered: bool = True, guessed: bool = False
    ) -> None:
        self.names = list(names or ())
        self.kind = kind
        self.guessed = guessed
        self._ordered = ordered
        self._unknown = names is None
        self._set = frozenset(self.names)
        self._n_hints = 0

    def __contains__(self, name: object) -> bool:
        return self._unknown or self.guessed or name in self._set

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
        if isinstance(item, Unreadable):
            raise InputError("")  # reported already
        if self._unknown or (isinstance(item, str) and item in self._set):
            return [item]
        if self.guessed or (not self._ordered and isinstance(item, int) and 0 <= item < len(self.names)):
            raise InputError("")  # nobody can tell
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
            return f" A spreadsheet may have made this date of a gene symbol: {' or '.join(before)}?"
        hint = feature_hint if self.kind == "feature" else did_you_mean
        nearest = hint(item, self.names) or hint(re.sub(r"[*?\[\]]", "", item), self.names)
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


def is_single(item: Any, matches: list[str]) -> bool:
    """Tell whether an item names one thing, rather than matches it as a pattern."""
    return not is_pattern(item) or matches == [item]


def as_found(item: Any, matches: list[str]) -> Any:
    """Return a single item: a position stays one, unless the number is a name."""
    return matches[0] if str(item) == matches[0] else item


# -- files of knowledge ------------------------------------------------------------------------------------------------


class KnowledgeFiles:
    """Reads tables, lists of names, aliases and gene sets of a study, each once; what is wrong with them is reported.

    Parameters
    ----------
    folder : Path
        Where their paths start.
    problems : Problems
    unknown : {"skip", "error"}
        What is done with names of tables that are not in the data.
    inputs : iterable of str
        The paths of all files of the study; the content of those that are named several times is stored.
    """

    def __init__(self, folder: FilePath, problems: Problems, unknown: str = "skip", inputs: Iterable[str] = ()) -> None:
        self.folder, self.problems, self.unknown = folder, problems, unknown
        self._n_uses = Counter(os.path.normpath(folder / path) for path in inputs)
        self._contents: dict[str, bytes] = {}
        self._rows: dict[tuple[str, str | None], tuple[Knowledge | None, list[str]]] = {}
        self._aliases: dict[str, tuple[Aliases | None, list[str]]] = {}

    def read(self, path: FilePath) -> bytes:
        """Return the content of a file."""
        place = os.path.normpath(path)
        if self._n_uses[place] < 2:
            return path.read_bytes()
        if place not in self._contents:
            self._contents[place] = path.read_bytes()
        return self._contents[place]

    def rows(self, source: str, at: Path, sheet: str | None = None) -> Knowledge | None:
        """Return the rows of a file that is named at a place of the study."""
        file = self.folder / source
        place = (os.path.normpath(file), sheet)
        return self._once(self._rows, place, at, lambda report: read_rows(file, report, sheet=sheet, read=self.read))

    def aliases(self, source: str | None, key: str) -> Aliases | None:
        """Return the aliases of a section, if it names a file of them."""
        if source is None:
            return None
        file, at = self.folder / source, (key, "aliases")
        place = os.path.normpath(file)
        return self._once(self._aliases, place, at, lambda report: read_aliases(file, report, read=self.read))

    def _once(self, known: dict[Any, Any], key: Any, at: Path, read: Callable[[Callable[[str], None]], Any]) -> Any:
        """Return what is in a file; if it cannot be read, that is reported wherever it is named."""
        is_new = key not in known
        if is_new:
            messages: list[str] = []
            known[key] = read(messages.append), messages
        found, messages = known[key]
        for message in messages if is_new or found is None else ():
            self.problems(at, message)
        return found

    @property
    def features(self) -> list[str]:
        """The features that are named in files that were read."""
        found = [table for table, _ in self._rows.values() if table is not None]
        return [row.feature for table in found for row in table.rows if row.feature is not None]

    def table(self, source: Any, at: Path, *columns: str) -> Knowledge | None:
        """Return the table of a section or of an expert, if it is there and has the columns that are needed."""
        if source.table is None:
            return None
        path: Path = (*at, "table")
        table = self.rows(source.table, path, source.sheet)
        with reported(self.problems, path):
            if table is None:
                return None
            if not (at[0] == "prior" and {"cost", "why", "source"} & set(table.columns)):
                table.require(*columns)
            return replace(table, unknown=self.unknown)
        return None

    def check_costs(self, table: Knowledge | None) -> None:
        """Report features of a table without a cost, which a budget needs."""
        for row in table.rows if table is not None and "cost" in table.columns else ():
            if row.feature is not None and row.cost is None:
                self.problems(("prior", "table"), f"{row.place}: feature {row.feature!r} has no cost; 0 if it is free.")

    def block_rows(self, given: AnyBlocks) -> Knowledge | None:
        """Return the rows of a table of blocks, or of a file of gene sets; None if there is neither, or it is wrong."""
        if isinstance(given, TableBlocks):
            return self.table(given, ("blocks",), "feature", "block")
        if not isinstance(given, GeneSetBlocks):
            return None
        table, aliases = self.rows(given.gene_sets, ("blocks", "gene_sets")), self.aliases(given.aliases, "blocks")
        with reported(self.problems, ("blocks", "gene_sets")):
            if table is not None:
                table.require("feature", "block")
                return replace(restricted(table, given.only), aliases=aliases)
        return None

    def blocks(self, given: TableBlocks | GeneSetBlocks, table: Knowledge | None, features: Sequence[str]) -> Blocks:
        """Return the blocks that rows of a table, or of a file of gene sets, put features into."""
        path = ("blocks", "table" if isinstance(given, TableBlocks) else "gene_sets")
        if table is None or not self.problems.is_sound(*path):
            return Blocks({})
        return blocks_of(table, features, partial(self.problems, path), isinstance(given, GeneSetBlocks))
