"""Blocks and constraints of a study, tied to the features at hand; problems of names are all told at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arguments import FeatureIndex
from ..constraints import Constraint, resolve
from ..constraints.links import exclude
from ..data.blocks import Blocks
from ..ensemble.evidence import Evidence
from ..exceptions import ConstraintError
from .beliefs import Beliefs, members_by_name
from .knowledge import PrefixBlocks, TableBlocks, Weights
from .knowledge_table import KnowledgeTable, read_knowledge, report_unknown
from .named import PRIOR, Named, build
from .patterns import AnyNames, Names, is_pattern
from .problems import Problems, Report, below, reported
from .scale import UNLIKELY_RHO
from .sections import PriorSection
from .terms import arguments_of, builder


class Resolver:
    """Ties what a study says to the features of a data set.

    Parameters
    ----------
    feature_names : iterable of str
    folder : path
        Where tables are looked for.
    problems : Problems
    """

    def __init__(self, feature_names: Iterable[Any], folder: FilePath, problems: Problems) -> None:
        self.names = Names([str(name) for name in feature_names])
        self.folder = folder
        self.problems = problems
        self.block_names = Names((), "block")

    def blocks(self, blocks: Blocks | PrefixBlocks | TableBlocks | None) -> Blocks | None:
        """Return the blocks with their members by name; patterns are replaced by what they match."""
        was_sound = self.problems.is_sound("blocks")
        if isinstance(blocks, PrefixBlocks):
            members = self._by_prefix(blocks.prefix)
        elif isinstance(blocks, TableBlocks):
            members = self._by_table(blocks)
        else:
            given = {} if blocks is None else blocks.members
            members = {
                name: self.expand(items, self.names, below(self.problems, "blocks", name))
                for name, items in given.items()
            }
            # A block whose members are wrong is a block all the same.
            self.block_names = Names(given, "block")
        if not was_sound or (not members and not self.problems.is_sound("blocks")):
            self.block_names = AnyNames("block")
        elif not self.block_names.names:
            self.block_names = Names(members, "block")
        return Blocks({name: tuple(items) for name, items in members.items() if items}) if members else None

    def _by_prefix(self, separator: str) -> dict[str, list[Any]]:
        members: dict[str, list[Any]] = {}
        for name in self.names.names:
            prefix, found, _ = name.partition(separator)
            if found and prefix:
                members.setdefault(prefix, []).append(name)
        if not members:
            self.problems(
                ("blocks", "prefix"), f"no feature has {separator!r} in its name, so that there are no blocks."
            )
        return members

    def _by_table(self, blocks: TableBlocks) -> dict[str, list[Any]]:
        report = below(self.problems, "blocks", "table")
        table = read_knowledge(self.folder / blocks.table, blocks.sheet, ("feature", "block"), report)
        members: dict[str, list[Any]] = {}
        report_unknown(table, self.names, None, report)
        for row in table.rows:
            if row.block is not None and row.feature in self.names:
                members.setdefault(row.block, []).append(row.feature)
        return {name: list(dict.fromkeys(features)) for name, features in members.items()}

    def weights(
        self, prior: PriorSection, blocks: Blocks | None, n_models: int
    ) -> tuple[NDArray[np.float64], list[str]]:
        """Return one weight per feature and the names of the features held unlikely."""
        beliefs, table = self._beliefs(prior, blocks, n_models)
        return beliefs.resolve(prior.weights, table)

    def said(self, prior: PriorSection, blocks: Blocks | None, n_models: int) -> Weights | tuple[float, ...]:
        """Return the weights of a prior without its table: what is said of each feature, by name."""
        if isinstance(prior.weights, tuple) or prior.table is None:
            return prior.weights
        beliefs, table = self._beliefs(prior, blocks, n_models)
        settled = beliefs.settled(prior.weights, table)
        in_order = [(name, settled[name]) for name in self.names.names if name in settled]
        return Weights(prior.weights.default, features=tuple(in_order))

    def _beliefs(
        self, prior: PriorSection, blocks: Blocks | None, n_models: int
    ) -> tuple[Beliefs, KnowledgeTable | None]:
        table: KnowledgeTable | None = None
        if prior.table is not None:
            report = below(self.problems, "prior", "table")
            table = read_knowledge(self.folder / prior.table, prior.sheet, ("weight",), report)
        members = members_by_name(blocks, self.names)
        return Beliefs(self.names, members, self.block_names, n_models, self.problems), table

    def prior(self, choice: Any, weights: NDArray[np.float64], blocks: Blocks | None) -> Any:
        """Return the prior, ready for :func:`ubayfs.decide`."""
        prior = build(PRIOR, choice)
        if isinstance(choice, Named):
            with reported(below(self.problems, "prior", "kind"), (), *(name for name, _ in choice.settings)):
                if "set_weights" in dict(choice.settings):
                    prior.resolve_set_weights(FeatureIndex(self.names.names), Blocks.of(blocks))
                else:
                    nothing = Evidence.from_sets(np.zeros((1, len(weights)), dtype=bool), self.names.names)
                    prior.update(nothing, weights, blocks, 0)
        return prior

    def constraints(
        self, given: tuple[Constraint, ...], blocks: Blocks | None, unlikely: list[str]
    ) -> list[Constraint]:
        """Return the constraints with patterns replaced, and a soft exclusion of what is unlikely."""
        n_before = self.problems.n_told
        found = []
        for position, one in enumerate(given):
            report = below(self.problems, "constraints", position, one.kind)
            expanded = self._constraint(one, self.block_names, report)
            if expanded is not None:
                found.append((expanded, report))
        if self.problems.n_told == n_before and self.problems.is_sound("blocks"):
            self._check_rows(found, blocks)
        made = [one for one, _ in found]
        return [*made, replace(exclude(unlikely, rho=UNLIKELY_RHO), from_prior=True)] if unlikely else made

    def _constraint(self, one: Constraint, block_names: Names, report: Report) -> Constraint | None:
        n_before = self.problems.n_told
        given = dict(one.arguments)
        changed: dict[str, Any] = {}
        columns = block_names if given.get("on") == "blocks" else self.names
        own = given.get("blocks")
        if one.kind == "linear" and own is not None:
            columns = block_names
            if isinstance(own, tuple):
                columns = Names([name for name, _ in own], "block")
                changed["blocks"] = tuple(
                    (name, tuple(self.expand(items, self.names, below(report, "blocks", name)))) for name, items in own
                )
        for name, value in given.items():
            if name.endswith("features"):
                changed[name] = tuple(self.expand(value, columns, below(report, name)))
            elif name == "blocks" and one.kind != "linear" and value is not None:
                changed[name] = tuple(self.expand(value, block_names, below(report, name)))
            elif isinstance(value, tuple) and value and isinstance(value[0], tuple) and name != "blocks":
                changed[name] = tuple(self._expand_pairs(value, columns, below(report, name)).items())
        if all(given[name] == value for name, value in changed.items()):
            return one
        if self.problems.n_told > n_before:
            return None
        with reported(report, (), f"{one.kind}:", one.kind):
            return builder(one.kind)(**arguments_of(Constraint(one.kind, tuple((given | changed).items()))))
        return None

    def expand(self, items: Iterable[Any], names: Names, report: Report) -> list[Any]:
        """Return items with each pattern replaced by the names that it matches; a name stands only once."""
        found: list[list[str]] = []
        kept: list[Any] = []
        for position, item in enumerate(items):
            with reported(report, (position,)):
                found.append(names.find(item))
                kept.append(item)
        said = {name for item, matches in zip(kept, found, strict=True) if _is_one(item, matches) for name in matches}
        expanded: list[Any] = []
        for item, matches in zip(kept, found, strict=True):
            if _is_one(item, matches):
                # A position stays one, unless the number is a name.
                expanded.append(matches[0] if str(item) == matches[0] else item)
            else:
                expanded += [name for name in matches if name not in said]
                said.update(matches)
        return expanded

    def _expand_pairs(self, pairs: Iterable[tuple[Any, float]], names: Names, report: Report) -> dict[Any, float]:
        literal: dict[Any, float] = {}
        matched: dict[str, tuple[str, float]] = {}
        for item, number in pairs:
            with reported(report, (item,)):
                matches = names.find(item)
                if _is_one(item, matches):
                    literal[matches[0] if str(item) == matches[0] else item] = number
                    continue
                for name in matches:
                    first, before = matched.setdefault(name, (item, number))
                    if before != number:
                        report((item,), f"gives {name!r} {number:g}, but {first!r} gives it {before:g}.")
        said = {names.names[item] if isinstance(item, int) else item for item in literal}
        return literal | {name: number for name, (_, number) in matched.items() if name not in said}

    def _check_rows(self, found: list[tuple[Constraint, Report]], blocks: Blocks | None) -> None:
        # decorrelate names no feature, and needs data.
        checked = [(one, report) for one, report in found if one.kind != "decorrelate"]
        try:
            resolve([one for one, _ in checked], self.names.names, blocks)
        except ConstraintError:
            for one, report in checked:
                with reported(report, (), f"{one.kind}:", one.kind):
                    resolve(one, self.names.names, blocks)


def _is_one(item: Any, matches: list[str]) -> bool:
    """Tell whether an item names one thing, rather than matches it."""
    return not is_pattern(item) or matches == [item]
