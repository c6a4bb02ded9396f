"""Blocks of a study: listed, by a rule on names, or in a file; and lists of names as they are read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from .._arguments import check_real
from ..constraints.arguments import as_items
from ..data.blocks import Blocks, members_by_prefix
from ..exceptions import repr_of
from ..knowledge.patterns import InvalidName
from .components import WithFiles
from .diagnostics import Report, below, reported


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
        return members_by_prefix(names, self.prefix)


@dataclass(frozen=True)
class TableBlocks(WithFiles):
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

    path_keys: ClassVar[tuple[str, ...]] = ("table",)


@dataclass(frozen=True)
class GeneSetBlocks(WithFiles):
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

    path_keys: ClassVar[tuple[str, ...]] = ("gene_sets", "aliases")


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
            report(("only",), f"must list names or patterns of gene sets; got {repr_of(value['only'])}.")
            only = ()
        aliases = value.get("aliases")
        if aliases is not None and not isinstance(aliases, str):
            report(("aliases",), f"must be the path of a table; got {repr_of(aliases)}.")
            aliases = None
        return GeneSetBlocks(value["gene_sets"], only, aliases)
    sheet = value.get("sheet")
    if sheet is not None and not isinstance(sheet, str):
        report(("sheet",), f"must be the name of a sheet; got {repr_of(sheet)}.")
    return TableBlocks(value["table"], sheet)


def plain_blocks(blocks: AnyBlocks) -> dict[str, Any]:
    """Return blocks as they are written to a file."""
    if isinstance(blocks, PrefixBlocks | TableBlocks | GeneSetBlocks):
        given = {key: list(value) if isinstance(value, tuple) else value for key, value in vars(blocks).items()}
        return {key: value for key, value in given.items() if value}
    return {} if blocks is None else {name: list(members) for name, members in blocks.members.items()}


def readable(name: str, value: Any, report: Report, lists_names: bool = True) -> Any:
    """Return an argument of a constraint with stand-ins for entries of lists and mappings that cannot be right."""
    if isinstance(value, list | tuple) and (lists_names or name == "blocks"):
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
        found[InvalidName()] = 0.0
    return found


def _readable_item(item: Any, report: Report) -> Any:
    with reported(report):
        return as_items("", [item])[0]
    return InvalidName()
