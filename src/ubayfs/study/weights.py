"""Prior weights of a study, in votes or in words, from its file and its table, and those of the features at hand.

==============  ====================================================================================
neutral         the default weight: the models decide
likely          as if a quarter of the models had chosen the feature
very likely     as if all models had chosen it
unlikely        a soft ``exclude`` (rho 1), since a weight below the default changes next to nothing
==============  ====================================================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Real
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._arguments import check_choice, did_you_mean
from ..data.blocks import Blocks
from ..exceptions import InputError
from ..priors.weights import DEFAULT_WEIGHT, check_weight, key_column, resolve_weights
from .diagnostics import Path, Report, below, known_only, refuse, reported
from .names import Names, is_pattern
from .yaml_io import plain

if TYPE_CHECKING:
    from ..tables import Table

# Share of the models whose votes a word is worth; None: the default weight.
VERY_LIKELY = "very likely"
VOTES: dict[str, float | None] = {VERY_LIKELY: 1.0, "likely": 0.25, "neutral": None, "unlikely": None}
UNLIKELY = "unlikely"
UNLIKELY_RHO = 1.0

# A weight as it was stated: votes, or a word of the scale.
Stated = float | str
StatedOf = tuple[tuple[str | int, Stated], ...]

_LEVELS = ("features", "patterns", "blocks")
_COLUMNS = ("feature", "weight", "block")  # of a table of knowledge
# Wrong rows of a table that are reported one by one; a table of another data set has nothing but such rows.
_MOST_ROWS = 20


def as_stated(value: Any) -> Stated:
    """Return a weight as votes or as a word of the scale, or raise naming the rule.

    Examples
    --------
    >>> as_stated(5), as_stated("Very_likely")
    (5.0, 'very likely')
    """
    if isinstance(value, str):
        word = " ".join(value.lower().replace("_", " ").replace("-", " ").split())
        try:
            return check_choice("weight", word, VOTES)
        except InputError as error:
            raise InputError.of("weight", f"{error.rule} Or give a number of votes.", value) from None
    if not isinstance(value, Real) or isinstance(value, bool):
        rule = f"must be a number of votes or one of {', '.join(map(repr, VOTES))}; got {value!r}."
        raise InputError.of("weight", rule, value)
    return check_weight("weight", value)


def votes(stated: Stated, default: float, n_models: int) -> float:
    """Return what a stated weight is worth in votes.

    Examples
    --------
    >>> votes("likely", 0.01, 200), votes("unlikely", 0.01, 200), votes(3.0, 0.01, 200)
    (50.0, 0.01, 3.0)
    """
    if not isinstance(stated, str):
        return stated
    share = VOTES[stated]
    return default if share is None else share * n_models


@dataclass(frozen=True)
class Weights:
    """What is known of the features.

    A feature has the weight that is stated by its name; else by a row of the table of the study; else by a pattern that
    matches its name; else by its blocks; else the default.

    Attributes
    ----------
    default : float
        Weight, in votes, of every feature of which nothing is stated.
    features, patterns, blocks : tuple of (str, votes or word of the scale)
        Features may also be given by position.
    """

    default: float = DEFAULT_WEIGHT
    features: StatedOf = ()
    patterns: StatedOf = ()
    blocks: StatedOf = ()

    def plain(self) -> Any:
        """Return the weights as they are written to a file: one number if nothing else is stated."""
        levels = {level: plain(dict(stated)) for level in _LEVELS if (stated := getattr(self, level))}
        if not levels:
            return plain(self.default)
        return levels if self.default == DEFAULT_WEIGHT else {"default": plain(self.default), **levels}


def file_form(value: Any) -> Any:
    """Return weights given in Python in any form as a study file has them.

    A frame has the columns feature (or block) and weight; a mapping may also name features and blocks at once.
    """
    if hasattr(value, "columns"):
        return _levels_of_frame(value, below(refuse, "prior", "weights"))
    if hasattr(value, "dropna"):  # a Series
        return {"features": value.dropna().to_dict()}
    if not isinstance(value, Mapping):
        return Weights() if value is None else value
    nested = all(isinstance(value.get(level, {}), Mapping) for level in _LEVELS)
    return value if nested and set(value) <= {"default", *_LEVELS} else {"features": value}


def read_weights(value: Any, report: Report) -> Weights | tuple[float, ...] | None:
    """Return weights as a study file has them: one number, one for each feature, or the keys of :class:`Weights`."""
    if not isinstance(value, Mapping):
        return value if isinstance(value, Weights) else _read_numbers(value, report)
    value = known_only(value, ("default", *_LEVELS), "a key of weights (names belong below 'features')", report)
    default = DEFAULT_WEIGHT
    if value.get("default") is not None:
        with reported(report, ("default",)):
            default = check_weight("default", value["default"])
    return Weights(default, **{level: _stated(value.get(level), below(report, level)) for level in _LEVELS})


def _read_numbers(value: Any, report: Report) -> Weights | tuple[float, ...] | None:
    """Return one number for all features, or one for each."""
    if isinstance(value, Real):
        with reported(report):
            return Weights(default=check_weight("weights", value))
    elif isinstance(value, str) or not isinstance(value, Iterable):
        report((), f"must be a number, one number per feature, or hold keys such as 'features'; got {value!r}.")
    else:
        numbers = []
        for position, entry in enumerate(values := list(value)):
            with reported(report, (position,)):
                numbers.append(check_weight("weights", entry))
        return tuple(numbers) if len(numbers) == len(values) else None
    return None


def _stated(value: Any, report: Report) -> StatedOf:
    if value is None:
        return ()
    if not isinstance(value, Mapping):
        report((), f"must map names to weights, such as radius: 5 or radius: likely; got {value!r}.")
        return ()
    found = []
    for name, weight in value.items():
        name = name.item() if isinstance(name, np.generic) else name
        if isinstance(name, bool) or not isinstance(name, str | int):
            report((), f"must be given by names (str) or positions (int); got {name!r}.")
            continue
        with reported(report, (name,)):
            found.append((name, as_stated(weight)))
    return tuple(found)


def _levels_of_frame(frame: Any, report: Report) -> dict[str, Any]:
    with reported(report):
        key = key_column(frame)
    rows = frame.dropna(subset=["weight"])
    twice = rows[key][rows[key].duplicated()]
    if len(twice):
        report((), f"has more than one weight for {key} {twice.iloc[0]!r}; keep one row.")
    return {f"{key}s": dict(zip(rows[key].tolist(), rows["weight"].tolist(), strict=True))}


# -- the table of knowledge --------------------------------------------------------------------------------------------


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
    rows: list[Row]  # those that state something, without the cells that were reported

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
        header = [str(name) for name in table.frame.columns]
        known: dict[str, str] = {}
        for name in header:
            column = name.strip().lower()
            if column in known:
                raise InputError(f"{path.name} has two columns for {column!r}: {known[column]!r} and {name!r}.")
            if column in _COLUMNS:
                known[column] = name
        cells = [_cells(table, known.get(column)) for column in _COLUMNS]
        rows = [
            _read_row(f"{path.name}, {table.place(i)}", row, report) for i, row in enumerate(zip(*cells, strict=True))
        ]
        return KnowledgeTable(path.name, header, known, [row for row in rows if row.feature or row.block])
    return None


def _cells(table: Table, name: str | None) -> list[Any]:
    """Return the cells of a column; None where they are empty, or the column is not there."""
    if name is None:
        return [None] * len(table.frame)
    column = table.frame[name].astype(object)
    stripped = [cell.strip() if isinstance(cell, str) else cell for cell in column.where(column.notna(), None)]
    return [None if cell == "" else cell for cell in stripped]


def _read_row(place: str, cells: tuple[Any, ...], report: Report) -> Row:
    feature, weight, block = cells
    feature, block = _name(feature), _name(block)
    stated = None
    if weight is not None:
        try:
            stated = as_stated(number_or_word(weight))
        except InputError as error:
            report((), f"{place}: the weight {error.rule}")
        if feature is None and block is None:
            report((), f"{place}: a weight without a feature and without a block.")
    return Row(place, feature, stated, block)


def _name(value: Any) -> str | None:
    """Return a name; in a column of whole numbers with gaps 2.0 is still 2."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return None if value is None else str(value)


def number_or_word(value: Any) -> Any:
    """Return a number that is written as text, as beside words of the scale; the decimal sign may be a comma."""
    try:
        return float(value.replace(",", ".", 1)) if isinstance(value, str) else value
    except ValueError:
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
        found: dict[str, list[Statement]] = {level: [] for level in _LEVELS}
        for key in reversed(_LEVELS):
            for item, stated in getattr(weights, key):
                path: Path = ("prior", "weights", key, item)
                level = self._level(key, item)
                names = self.block_names if level == "blocks" else self.names
                source = repr(item) if level == "patterns" else f"{names.kind} {item!r}"
                with reported(self.report, path):
                    matches = names.find(item, {"features": False, "patterns": True}.get(level))
                    found[level].append(Statement(matches, stated, source, path))
        by_row, by_block_row = self._table_levels(table)
        by_block = self._of_members(found["blocks"])
        return [found["features"], by_row, found["patterns"], by_block, self._of_members(by_block_row)]

    def _level(self, key: str, item: str | int) -> str:
        """Return what an item is: a mapping in Python names features, patterns and blocks alike, as in decide()."""
        if key != "features" or item in self.names:
            return key
        if item in self.block_names.names:
            return "blocks"
        return "patterns" if is_pattern(item) else key

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
        found = []
        for entry in by_block:
            items = [member for block in entry.names for member in members.get(block, ())]
            names = [item if isinstance(item, str) else self.names.names[item] for item in items]
            found.append(entry._replace(names=list(dict.fromkeys(names))))
        return found

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
