"""Prior weights for the features at hand, from everything that a study says of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..data.blocks import Blocks
from ..priors.weights import resolve_weights
from .knowledge import Weights
from .knowledge_table import KnowledgeTable, report_unknown
from .patterns import Names, is_pattern
from .problems import Path, Report, below, reported
from .scale import UNLIKELY, Belief, votes


class Said(NamedTuple):
    """A belief about some features.

    Attributes
    ----------
    names : list of str
    belief : Belief
    source : str
        Who says it, for messages.
    path : Path
        Where.
    """

    names: list[str]
    belief: Belief
    source: str
    path: Path


class Beliefs:
    """Finds the weight of each feature: said by its name, by the table, by a pattern, by a block, or the default.

    Parameters
    ----------
    names : Names
        Of the features.
    blocks : mapping of str to list of str
        Members of each block.
    block_names : Names
        Of all blocks, also of those whose members are wrong.
    n_models : int
        What the words of the scale are measured by.
    report : Report
    """

    def __init__(
        self,
        names: Names,
        blocks: Mapping[str, Iterable[str]],
        block_names: Names,
        n_models: int,
        report: Report,
    ) -> None:
        self.names = names
        self.blocks = blocks
        self.block_names = block_names
        self.n_models = n_models
        self.report = report

    def resolve(
        self, weights: Weights | tuple[float, ...], table: KnowledgeTable | None
    ) -> tuple[NDArray[np.float64], list[str]]:
        """Return the weights, of shape (n_features,), and the names of the features held unlikely."""
        if isinstance(weights, tuple):
            with reported(self.report, ("prior", "weights"), "weights"):
                return resolve_weights(list(weights), self.names.names), []
            return np.ones(len(self.names.names)), []
        settled = self.settled(weights, table)
        resolved = np.full(len(self.names.names), weights.default)
        for position, name in enumerate(self.names.names):
            if name in settled:
                resolved[position] = votes(settled[name], weights.default, self.n_models)
        return resolved, [name for name in self.names.names if settled.get(name) == UNLIKELY]

    def settled(self, weights: Weights, table: KnowledgeTable | None) -> dict[str, Belief]:
        """Return what is believed of each feature of which anything is said, as it is said."""
        settled: dict[str, Belief] = {}
        for level in self._levels(weights, table):
            self._settle(level, settled, weights.default)
        return settled

    def _levels(self, weights: Weights, table: KnowledgeTable | None) -> list[list[Said]]:
        """Return what is said, the most specific first."""
        by_name: list[Said] = []
        patterns = [("patterns", item, belief) for item, belief in weights.patterns]
        blocks = [("blocks", item, belief) for item, belief in weights.blocks]
        for item, belief in weights.features:
            # A mapping in Python names features and blocks alike, as in decide().
            if isinstance(item, str) and item not in self.names and item in self.block_names.names:
                blocks.append(("features", item, belief))
            elif is_pattern(item) and item not in self.names:
                patterns.append(("features", item, belief))
            else:
                by_name += self._said("features", item, belief, self.names, False)
        by_pattern = [one for key, item, belief in patterns for one in self._said(key, item, belief, self.names, True)]
        by_block = [
            one for key, item, belief in blocks for one in self._said(key, item, belief, self.block_names, None)
        ]
        by_row, by_block_row = self._table_levels(table)
        return [by_name, by_row, by_pattern, self._members(by_block), self._members(by_block_row)]

    def _said(self, key: str, item: str | int, belief: Belief, names: Names, pattern: bool | None) -> list[Said]:
        path: Path = ("prior", "weights", key, item)
        with reported(self.report, path):
            return [
                Said(names.find(item, pattern), belief, f"{names.kind} {item!r}" if not pattern else repr(item), path)
            ]
        return []

    def _table_levels(self, table: KnowledgeTable | None) -> tuple[list[Said], list[Said]]:
        by_row: list[Said] = []
        by_block: list[Said] = []
        path: Path = ("prior", "table")
        if table is not None:
            report_unknown(table, self.names, self.block_names, below(self.report, *path))
        for row in () if table is None else table.rows:
            names, item = (self.names, row.feature) if row.feature is not None else (self.block_names, row.block)
            if row.weight is not None and item in names:
                level = by_row if names is self.names else by_block
                level.append(Said([str(item)], row.weight, row.place, path))
        return by_row, by_block

    def _members(self, by_block: list[Said]) -> list[Said]:
        return [
            one._replace(
                names=list(dict.fromkeys(member for block in one.names for member in self.blocks.get(block, ())))
            )
            for one in by_block
        ]

    def _settle(self, level: list[Said], settled: dict[str, Belief], default: float) -> None:
        """Take over what a level says of features of which no level before it spoke."""
        sources: dict[str, Said] = {}
        told: set[tuple[str, str]] = set()
        for one in level:
            for name in one.names:
                if name in settled:
                    continue
                first = sources.setdefault(name, one)
                if self._worth(first.belief, default) != self._worth(one.belief, default):
                    pair = (first.source, one.source)
                    if pair not in told:  # two patterns may share a thousand features
                        told.add(pair)
                        self.report(
                            one.path,
                            f"gives feature {name!r} the weight {_shown(one.belief)}, but {first.source} gives it "
                            f"{_shown(first.belief)}. Give this feature a weight of its own by name, or drop one.",
                        )
        settled.update({name: one.belief for name, one in sources.items()})

    def _worth(self, belief: Belief, default: float) -> tuple[float, bool]:
        return votes(belief, default, self.n_models), belief == UNLIKELY


def _shown(belief: Belief) -> str:
    return repr(belief) if isinstance(belief, str) else f"{belief:g}"


def members_by_name(blocks: Blocks | None, names: Names) -> dict[str, list[str]]:
    """Return the names of the members of each block."""
    if blocks is None:
        return {}
    return {
        block: [member if isinstance(member, str) else names.names[member] for member in members]
        for block, members in blocks.members.items()
    }
