"""The files of a study that hold knowledge: tables, aliases and gene sets, each read once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path as FilePath
from typing import Any

from ..data.blocks import Blocks
from ..knowledge.matching import Aliases
from ..knowledge.rows import Knowledge, read_aliases, read_rows
from ..knowledge.tied import blocks_of
from .diagnostics import Path, Problems, reported
from .names import GeneSetBlocks, TableBlocks


@dataclass(frozen=True, eq=False)
class KnowledgeFiles:
    """Reads the files of a study; what is wrong with them is reported."""

    folder: FilePath  # where their paths start
    problems: Problems
    unknown: str = "skip"  # what is done with names of tables that are not in the data
    _tables: dict[tuple[str, str | None], Knowledge | None] = field(default_factory=dict)

    def aliases(self, source: str | None, key: str) -> Aliases | None:
        """Return the aliases of a section, if it names a file of them."""
        return read_aliases(source, partial(self.problems, (key, "aliases")), self.folder)

    def table(self, source: Any, at: Path, *columns: str) -> Knowledge | None:
        """Return the table of a section or of an expert, if it is there and has the columns that are needed."""
        if source.table is None:
            return None
        path: Path = (*at, "table")
        place = (source.table, source.sheet)
        if place not in self._tables:
            file = self.folder / source.table
            self._tables[place] = read_rows(file, partial(self.problems, path), sheet=source.sheet)
        table = self._tables[place]
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

    def blocks(self, given: TableBlocks | GeneSetBlocks, features: Sequence[str]) -> Blocks:
        """Return the blocks of a table, or of a file of gene sets."""
        if isinstance(given, TableBlocks):
            path: Path = ("blocks", "table")
            table = self.table(given, ("blocks",), "feature", "block")
        else:
            path = ("blocks", "gene_sets")
            table = read_rows(self.folder / given.gene_sets, partial(self.problems, path), only=given.only)
            aliases = self.aliases(given.aliases, "blocks")
            with reported(self.problems, path):
                if table is not None:
                    table.require("feature", "block")
                    table = replace(table, aliases=aliases)
        if table is None or not self.problems.is_sound(*path):
            return Blocks({})
        return blocks_of(table, features, partial(self.problems, path), isinstance(given, GeneSetBlocks))
