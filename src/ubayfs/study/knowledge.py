"""The weights of the features at hand, from everything that a study and its table of knowledge state of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._arguments import did_you_mean
from ..data.blocks import Blocks
from ..exceptions import InputError
from ..priors.weights import DEFAULT_WEIGHT, resolve_weights
from .diagnostics import Path, Report, below, reported
from .names import Names, is_pattern
from .weights import UNLIKELY, Stated, Weights, as_stated, votes

if TYPE_CHECKING:
    from ..tables import Table

_COLUMNS = ("feature", "weight", "block")
# Wrong rows of a table that are reported one by one; a table of another data set has nothing but such rows.
_MOST_ROWS = 20


class Row(NamedTuple):
    """What a row of a table states; None where its cell is empty."""

    place: str  # file and line, for messages
    feature: str | None
    weight: Stated | None
    block: str | None


class KnowledgeTable(NamedTuple):
    """A table with some of the columns feature, weight and block."""

    name: str  # of the file
    header: list[str]
    known: Mapping[str, str]  # name in the header of each known column
    rows: tuple[Row, ...]  # those that state something, without the cells that were reported

    def require(self, *columns: str) -> None:
        """Raise unless the table has these columns."""
        for column in columns:
            if column not in self.known:
                listed = ", ".join(map(repr, self.header[:8]))
                raise InputError(
                    f"{self.name} has no column {column!r}, among {listed}.{did_you_mean(column, self.header)} Its "
                    f"header must name {' and '.join(map(repr, columns))}."
                )

    def report_unknown(self, features: Names, blocks: Names | None, report: Report) -> None:
        """Report rows whose names are not in the data; rows without a feature are about `blocks`, if there are any."""
        named = [(row, features if row.feature is not None else blocks) for row in self.rows]
        unknown = [(row, names) for row, names in named if names and (row.feature or row.block) not in names]
        for row, names in unknown[:_MOST_ROWS]:
            with reported(_at(row.place, report)):
                names.find(row.feature or row.block, False)
        if len(unknown) > _MOST_ROWS:
            report((), f"and {len(unknown) - _MOST_ROWS} more rows with names that are not in the data.")


def _at(place: str, report: Report) -> Report:
    return lambda path, message: report(path, f"{place}: {message}")


def read_knowledge(path: FilePath, sheet: str | None, report: Report) -> KnowledgeTable | None:
    """Read a table of knowledge; None if it cannot be read."""
    from ..tables import read_table

    with reported(report):
        table = read_table(path, sheet=sheet)
        known = _known_columns(table)
        cells = {column: _cells(table, name) for column, name in known.items()}
        rows = [_read_row(table, position, cells, report) for position in range(len(table.frame))]
        header = [str(name) for name in table.frame.columns]
        return KnowledgeTable(path.name, header, known, tuple(row for row in rows if row.feature or row.block))
    return None


def _known_columns(table: Table) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in table.frame.columns:
        known = str(name).strip().lower()
        if known not in _COLUMNS:
            continue
        if known in found:
            raise InputError(f"{table.path.name} has two columns for {known!r}: {found[known]!r} and {name!r}.")
        found[known] = name
    return found


def _cells(table: Table, name: str) -> list[Any]:
    """Return the cells of a column; None where they are empty."""
    column = table.frame[name]
    return [
        None if empty or (isinstance(cell, str) and not cell.strip()) else cell
        for cell, empty in zip(column.tolist(), column.isna().tolist(), strict=True)
    ]


def _read_row(table: Table, position: int, cells: Mapping[str, list[Any]], report: Report) -> Row:
    feature, weight, block = (cells[column][position] if column in cells else None for column in _COLUMNS)
    feature, block = _name(feature), _name(block)
    place = f"{table.path.name}, {table.place(position)}"
    stated = None
    if weight is not None:
        try:
            stated = as_stated(feature or block, _number(weight))
        except InputError as error:
            report((), f"{place}: the weight {error.rule}")
        if feature is None and block is None:
            report((), f"{place}: a weight without a feature and without a block.")
    return Row(place, feature, stated, block)


def _name(value: Any) -> str | None:
    """Return a name; in a column of whole numbers with gaps 2.0 is still 2."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return None if value is None else str(value).strip()


def _number(value: Any) -> Any:
    """Return a number that is written as text beside words of the scale."""
    if isinstance(value, str):
        try:
            return float(value.replace(",", ".")) if value.count(",") <= 1 else value
        except ValueError:
            pass
    return value


# -- the weights of the features at hand -------------------------------------------------------------------------------


class Statement(NamedTuple):
    """A weight of some features."""

    names: list[str]
    stated: Stated
    source: str  # what states it, for messages
    path: Path


@dataclass(frozen=True, eq=False)
class WeightResolver:
    """Finds the weight of each feature: by its name, by the table, by a pattern, by a block, or the default."""

    names: Names  # of the features
    blocks: Blocks | None
    block_names: Names  # of all blocks, also of those whose members are wrong
    n_models: int  # that words of the scale are measured by
    report: Report

    def resolve(
        self, weights: Weights | tuple[float, ...], table: KnowledgeTable | None
    ) -> tuple[NDArray[np.float64], dict[str, Stated]]:
        """Return the weights, of shape (n_features,), and what is stated of features, in their order."""
        names = self.names.names
        if isinstance(weights, tuple):
            with reported(self.report, ("prior", "weights")):
                resolved = resolve_weights(list(weights), names)
                return resolved, dict(zip(names, resolved.tolist(), strict=True))
            return np.full(len(names), DEFAULT_WEIGHT), {}
        found: dict[str, Stated] = {}
        for level in self._levels(weights, table):
            self._settle(level, found, weights.default)
        stated = {name: found[name] for name in names if name in found}
        worth = [votes(stated.get(name, weights.default), weights.default, self.n_models) for name in names]
        return np.array(worth, dtype=np.float64), stated

    def _levels(self, weights: Weights, table: KnowledgeTable | None) -> list[list[Statement]]:
        """Return all statements, the most specific level first."""
        by_name: list[Statement] = []
        patterns = [("patterns", item, stated) for item, stated in weights.patterns]
        blocks = [("blocks", item, stated) for item, stated in weights.blocks]
        for item, stated in weights.features:
            # A mapping in Python names features and blocks alike, as in decide().
            if isinstance(item, str) and item not in self.names and item in self.block_names.names:
                blocks.append(("features", item, stated))
            elif is_pattern(item) and item not in self.names:
                patterns.append(("features", item, stated))
            else:
                by_name += self._statement("features", item, stated, self.names, False)
        by_pattern = [entry for pattern in patterns for entry in self._statement(*pattern, self.names, True)]
        by_block = [entry for block in blocks for entry in self._statement(*block, self.block_names, None)]
        by_row, by_block_row = self._table_levels(table)
        return [by_name, by_row, by_pattern, self._of_members(by_block), self._of_members(by_block_row)]

    def _statement(
        self, key: str, item: str | int, stated: Stated, names: Names, pattern: bool | None
    ) -> list[Statement]:
        path: Path = ("prior", "weights", key, item)
        with reported(self.report, path):
            source = repr(item) if pattern else f"{names.kind} {item!r}"
            return [Statement(names.find(item, pattern), stated, source, path)]
        return []

    def _table_levels(self, table: KnowledgeTable | None) -> tuple[list[Statement], list[Statement]]:
        by_feature: list[Statement] = []
        by_block: list[Statement] = []
        path: Path = ("prior", "table")
        if table is not None:
            table.report_unknown(self.names, self.block_names, below(self.report, *path))
        for row in () if table is None else table.rows:
            names, item = (self.names, row.feature) if row.feature is not None else (self.block_names, row.block)
            if row.weight is not None and item in names:
                level = by_feature if names is self.names else by_block
                level.append(Statement([str(item)], row.weight, row.place, path))
        return by_feature, by_block

    def _of_members(self, by_block: list[Statement]) -> list[Statement]:
        """Return statements about blocks as statements about their members."""
        members = {} if self.blocks is None else self.blocks.members
        return [
            entry._replace(names=list(dict.fromkeys(
                member if isinstance(member, str) else self.names.names[member]
                for block in entry.names for member in members.get(block, ())
            )))
            for entry in by_block
        ]  # fmt: skip

    def _settle(self, level: list[Statement], found: dict[str, Stated], default: float) -> None:
        """Add what a level states of features of which no level before it states anything."""
        sources: dict[str, Statement] = {}
        contradicting: set[tuple[str, str]] = set()
        for entry in level:
            for name in entry.names:
                if name in found:
                    continue
                first = sources.setdefault(name, entry)
                pair = (first.source, entry.source)
                if self._worth(first, default) != self._worth(entry, default) and pair not in contradicting:
                    contradicting.add(pair)  # once: two patterns may share a thousand features
                    self.report(
                        entry.path,
                        f"gives feature {name!r} the weight {_shown(entry.stated)}, but {first.source} gives it "
                        f"{_shown(first.stated)}. Give this feature a weight of its own by name, or remove one.",
                    )
        found.update({name: entry.stated for name, entry in sources.items()})

    def _worth(self, entry: Statement, default: float) -> tuple[float, bool]:
        return votes(entry.stated, default, self.n_models), entry.stated == UNLIKELY


def _shown(stated: Stated) -> str:
    return repr(stated) if isinstance(stated, str) else f"{stated:g}"
