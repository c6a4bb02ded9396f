"""The weight of each feature: what is stated of it by name, table, list, pattern or block becomes one PriorKnowledge.

The most specific statement counts, in this order; a feature of which nothing is stated has the default weight. Study
files and the functions of Python use the same resolver: it reports what is wrong, and its caller collects or raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from .._arguments import (
    FeatureIndex,
    Floats,
    as_array,
    by_name,
    check_choice,
    entries_of,
    feature_hint,
    freeze,
    nearest,
)
from .._problems import Path, Report, below, collect_errors, key_path
from ..data.blocks import Blocks
from ..exceptions import Advice, InputError, repr_of
from ..knowledge.matching import match_rows
from ..knowledge.patterns import Names, is_pattern
from ..knowledge.rows import Knowledge, Row, is_path, raise_problems, read_knowledge, read_rows
from ..knowledge.scale import DEFAULT_WEIGHT, LARGEST_WEIGHT, UNLIKELY, VOTES, Stated, as_stated, check_range, votes
from .knowledge import POOLS, Experts, FeatureList, PriorKnowledge, pooled
from .weights import LEVELS, Weights, file_form, lists_names, read_weights


class Statement(NamedTuple):
    """A weight of some features."""

    names: list[str]
    stated: Stated
    source: str  # what states it, for messages
    path: Path = ()  # where
    group: tuple[str, str] = ("weight", "")  # what states it of all of them: kind and name of a pattern or block


class Level(NamedTuple):
    """Statements of equal precedence; where they differ the highest counts, or that is a contradiction."""

    statements: list[Statement]
    highest_counts: bool = False


# -- in any form of Python ---------------------------------------------------------------------------------------------


def as_weights(weights: Any) -> Any:
    """Return weights with a path or a frame read; everything else is as it was."""
    is_table = hasattr(weights, "columns") and not isinstance(weights, Knowledge)
    return read_knowledge(weights) if is_table or is_path(weights) else weights


@by_name()
def pool_experts(experts: Mapping[str, Any], *, pool: str = "mean") -> Experts:
    """Return what several experts state of the same features as the `weights` of one decision.

    Parameters
    ----------
    experts : mapping of str to weights
        What each states, by the names of the experts, in any form that :func:`decide` takes.
    pool : {"mean", "lowest"}, default "mean"
        How the votes of experts are combined. An expert who says nothing of a feature gives it the default weight;
        "unlikely" counts 0 votes, and an ``exclude`` of price 0.5 times the share of experts who say it.

    Returns
    -------
    experts : Experts
        ``decide(evidence, weights=experts)`` pools them.

    See Also
    --------
    read_knowledge : Reads what one expert states.

    Examples
    --------
    >>> both = pool_experts({"Ada": {"TP53": "very likely"}, "Ben": {"TP53": "likely", "MYC": 3}})
    >>> resolve_weights(both, ["TP53", "MYC", "ACTB"], n_models=20).tolist()
    [12.5, 1.505, 0.01]
    """
    if not isinstance(experts, Mapping) or not experts:
        raise InputError.of("experts", f"must map names to what each states; got {repr_of(experts)}.", experts)
    check_choice("pool", pool, POOLS)
    return Experts({str(name): as_weights(stated) for name, stated in experts.items()}, pool)


def resolve_weights(weights: Any, feature_names: Any, blocks: Any = None, n_models: int | None = None) -> Floats:
    """Return one prior weight per feature, positive and at most 1e12.

    Parameters
    ----------
    weights : float, array-like, mapping, Series, DataFrame, path or Knowledge
        - a number: the weight of every feature;
        - a sequence of n_features numbers, in the order of the features;
        - a mapping (or Series) of feature names or positions, of patterns such as ``"radius*"``, or of block names, to
          votes or words of the scale ("very likely", "likely", "neutral", "unlikely"); or with the keys of a study
          file: "features", "patterns", "blocks", "default". A feature that is named itself has that weight, whatever
          patterns and blocks say; one that several match needs equal weights there (of gene sets, the highest counts);
          all others get 0.01. A word may also be mapped to a list of names: ``{"likely": ["TP53", "BRCA1"]}``;
        - a table, as :func:`~ubayfs.read_knowledge` reads it: a DataFrame or a path.

        In a Series or table a missing weight leaves the default for that feature.
    feature_names : array-like of str of shape (n_features,)
    blocks : Blocks, mapping or DataFrame, optional
        The blocks that `weights` may name.
    n_models : int, optional
        The number of models that words are measured by; needed only for words.

    Returns
    -------
    weights : ndarray of float of shape (n_features,)

    Examples
    --------
    >>> resolve_weights({"size": 2, "area": "likely"}, ["radius", "area", "texture"], {"size": ["radius", "area"]}, 20)
    array([2.  , 5.  , 0.01])
    """
    return resolve_knowledge(weights, feature_names, blocks, n_models).weights.copy()


def resolve_knowledge(
    weights: Any, feature_names: Any, blocks: Any = None, n_models: int | None = None
) -> PriorKnowledge:
    """Return the weight of each feature, and what else `weights` say of features; see :func:`resolve_weights`."""
    if isinstance(weights, PriorKnowledge):
        return weights
    names = [str(name) for name in feature_names]
    if isinstance(weights, Experts):
        stated = {n: resolve_knowledge(entry, feature_names, blocks, n_models) for n, entry in weights.stated.items()}
        return pooled(stated, names, weights.pool, n_models or 1)
    weights, blocks = as_weights(weights), Blocks.of(blocks)
    problems: list[str] = []

    def report(path: Path, message: str) -> None:
        place = key_path(path[:1] + path[2:] if path[1:2] and path[1] in LEVELS else path)
        problems.append(f"{place}: {message}")

    resolver = WeightResolver(Names(names), blocks, Names(blocks.names, "block"), n_models, report)
    if isinstance(weights, Knowledge):
        _check_columns(weights)
        knowledge = resolver.stated(Weights(), weights)
    elif isinstance(weights, Mapping) or (hasattr(weights, "index") and hasattr(weights, "to_dict")):
        entries = weights.dropna() if hasattr(weights, "dropna") else weights
        levels, files = _by_level(dict(entries.items()), FeatureIndex(feature_names), blocks, report)
        read = read_weights(levels, below(report, "weights"))
        knowledge = replace(resolver, lists=files).stated(read or Weights())
    else:
        return _resolve_numbers(weights, FeatureIndex(feature_names))
    raise_problems(problems, argument="weights")
    return knowledge


def _by_level(
    entries: Mapping[Any, Any], index: FeatureIndex, blocks: Blocks, report: Report
) -> tuple[dict[str, Any], dict[str, Knowledge]]:
    """Return weights with the keys of a study file, and what is in the files that words name.

    A mapping of Python names features, patterns and blocks alike; a word of the scale may have a list of names.
    """
    levels: dict[str, Any] = {level: {} for level in LEVELS}
    lists: dict[str, Any] = {}
    files: dict[str, Knowledge] = {}
    names = {key for key in entries if key in index or key in blocks.members}
    has_levels = not names and file_form(entries) is entries  # as in a study file
    for key, entry in entries.items():
        with collect_errors(report, ("weights",)):
            if lists_names(key, entry) and key not in names:
                lists[str(as_stated(key))] = entry
                rows = read_rows(entry, partial(report, ("weights", key))) if is_path(entry) else None
                files |= {} if rows is None else {str(entry): rows}
            elif has_levels:
                levels[key] = entry
            elif is_pattern(key) and key not in names:
                levels["patterns"][key] = entry
            elif isinstance(key, str) and not is_feature(key, index, blocks, "weights"):
                levels["blocks"][key] = entry
            else:
                name = str(index.names[index.position(key, "weights")])
                if name in levels["features"]:
                    raise InputError.of("weights", f"names feature {name!r} more than once.", name)
                levels["features"][name] = entry
    return {**levels, **lists}, files


def _check_columns(table: Knowledge) -> None:
    """Raise unless a table says something of features, or weights of blocks."""
    if "feature" not in table.columns:
        table.require("block", "weight")
    if not {"weight", "cost", "why", "source"} & set(table.columns):
        raise InputError.of(
            "weights",
            f"cannot be taken from {table.name}, which has no column 'weight'. Give all its features one: "
            "read_knowledge(..., weight='likely').",
        )


def _resolve_numbers(weights: Any, index: FeatureIndex) -> PriorKnowledge:
    """Return the knowledge of one number, or of one per feature: the smallest is the default, larger ones are lists."""
    numbers = _from_numbers(weights, index)
    _check_weights(numbers, index)
    values, number_of, times = np.unique(numbers, return_inverse=True, return_counts=True)
    lists = tuple(
        FeatureList(_as_text(float(values[i])), "weight", np.flatnonzero(number_of == i), *[float(values[i])] * 2)
        for i in np.flatnonzero(times > 2)
        if i
    )
    return PriorKnowledge(freeze(numbers), default=float(values[0]), lists=lists)


def _from_numbers(weights: Any, index: FeatureIndex) -> Floats:
    n_features = len(index.names)
    numbers = None
    if isinstance(weights, Real | Iterable) and not isinstance(weights, bool | str | bytes | Set):
        try:
            array = as_array("weights", weights)
            numbers = array.astype(np.float64) if array.dtype.kind in "iufO" else None
        except (TypeError, ValueError, OverflowError):
            pass  # refused below, with all other things that are not numbers
    if numbers is None:
        names = isinstance(weights, str) or all(isinstance(w, str) for w in entries_of("weights", weights) or [None])
        hint = " Names need a weight: {'likely': names}." if names else ""
        raise InputError.of(
            "weights",
            "must be a number, one number per feature, a mapping by feature or block name, or a table; "
            f"got {repr_of(weights)}.{hint}",
        )
    if numbers.ndim == 0:
        return np.full(n_features, float(numbers))
    if numbers.shape != (n_features,):
        shape = len(numbers) if numbers.ndim == 1 else f"shape {numbers.shape}"
        raise InputError.of("weights", f"must have one number per feature: {n_features}; got {shape}.")
    return numbers.copy()


def _check_weights(resolved: Floats, index: FeatureIndex) -> None:
    wrong = ~(np.isfinite(resolved) & (resolved > 0))
    if not wrong.any():
        wrong = resolved > LARGEST_WEIGHT
    if wrong.any():
        first, n_wrong = int(wrong.argmax()), int(wrong.sum())
        more = f" ({n_wrong} such weights in all)" if n_wrong > 1 else ""
        check_range("weights", float(resolved[first]), f"feature {index.names[first]!r} has", more)


def is_feature(name: str, index: FeatureIndex, blocks: Blocks, argument: str) -> bool:
    """Return whether a name means a feature (True) or a block (False); neither and both are errors."""
    feature, block = name in index, name in blocks.members
    if feature and block:
        raise InputError.of(
            argument,
            f"names {name!r}, which is both a feature and a block; give the feature by its position "
            "(int) or rename the block.",
        )
    if not feature and not block:
        close = nearest(name, blocks.names)
        hint = feature_hint(name, index.names) or (f" Did you mean {close!r}?" if close else "")
        if not hint:
            hint = " No blocks were given; pass blocks= to name them." if not len(blocks) else ""
        raise InputError.of(argument, f"names {name!r}, which is neither a feature nor a block.{hint}")
    return feature


# -- precedence --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class WeightResolver:
    """Finds the weight of each feature: by name, table, list, pattern or block, in this order, or the default."""

    names: Names  # of the features
    blocks: Blocks | None
    block_names: Names  # of all blocks, also of those whose members are wrong
    n_models: int | None  # that words of the scale are measured by; needed only for words
    report: Report
    lists: Mapping[str, Knowledge] = field(default_factory=dict)  # files of names, by their paths
    aliases: Any = None
    at: Path = ("weights",)  # where they are written
    table_at: Path = ("weights",)  # where their table is named

    @cached_property
    def _index(self) -> FeatureIndex:
        return FeatureIndex(self.names.names)

    def stated(self, weights: Weights | tuple[float, ...], table: Knowledge | None = None) -> PriorKnowledge:
        """Return what is stated of the features, in their order."""
        names = self.names.names
        if isinstance(weights, tuple):
            with collect_errors(self.report, self.at):
                return _resolve_numbers(list(weights), self._index)
            return PriorKnowledge(np.full(len(names), DEFAULT_WEIGHT))
        at_table = partial(self.report, self.table_at)
        rows, advice = ([], ()) if table is None or not names else match_rows(table, names, at_table)
        by_list, listed, list_advice = self._lists(weights)
        levels = self._levels(weights, rows, by_list)
        if self.n_models is None and any(VOTES.get(str(s.stated)) for level in levels for s in level.statements):
            self.report(self.at, "in words are measured by the number of models: pass n_models, or give votes.")
        knowledge = resolve_precedence(levels, names, weights.default, self.n_models or 1, self._contradiction)
        costs = None if table is None else _costs_of(table, rows, at_table)
        reasons = self._reasons(weights, rows, listed)
        return replace(knowledge, reasons=reasons, costs=costs, advice=(*advice, *list_advice, *knowledge.advice))

    def _reasons(self, weights: Weights, rows: list[Row], listed: list[Row]) -> dict[str, dict[str, str]]:
        """Return why and source of features; by name, else of the table, else of the files of lists."""
        reasons = _reasons_of(listed) | _reasons_of(rows)
        for item, texts in weights.reasons:
            with collect_errors(self.report, (*self.at, "features", item)):
                reasons[self.names.find(item, False)[0]] = dict(texts)
        return {name: reasons[name] for name in self.names.names if name in reasons} if reasons else {}

    def _lists(self, weights: Weights) -> tuple[list[Statement], list[Row], tuple[Advice, ...]]:
        """Return what the lists of names state; a row of a file that has a weight of its own has that."""
        statements: list[Statement] = []
        rows: list[Row] = []
        advice: tuple[Advice, ...] = ()
        for word, names in weights.lists:
            path: Path = (*self.at, word)
            report = partial(self.report, path)
            table = self.lists.get(names) if isinstance(names, str) else read_rows(names, report)
            if table is None:
                continue
            matched = match_rows(replace(table, aliases=self.aliases), self.names.names, report)
            advice += matched.advice
            rows += matched.rows
            statements += [
                Statement([row.feature], word if row.weight is None else row.weight, row.place, path)
                for row in matched.rows
                if row.feature
            ]
        return statements, rows, advice

    def _levels(self, weights: Weights, rows: list[Row], by_list: list[Statement]) -> list[Level]:
        """Return all statements, the most specific level first; of lists and gene sets the highest weight counts."""
        by_level: dict[str, list[Statement]] = {level: [] for level in LEVELS}
        for key in reversed(LEVELS):
            for item, stated in getattr(weights, key):
                path: Path = (*self.at, key, item)
                level = self._level(key, item)
                names = self.block_names if level == "blocks" else self.names
                source = repr(item) if level == "patterns" else f"{names.kind} {item!r}"
                with collect_errors(self.report, path):
                    matches = names.find(item, {"features": False, "patterns": True}.get(level))
                    group = (level.rstrip("s"), str(item)) if level != "features" else ("weight", "")
                    by_level[level].append(Statement(matches, stated, source, path, group))
        by_row, by_block_row = self._row_levels(rows)
        are_gene_sets = self.blocks is not None and self.blocks.are_gene_sets
        return [
            Level(by_level["features"]),
            Level(by_row),
            Level(by_list, highest_counts=True),
            Level(by_level["patterns"]),
            Level(self._member_statements(by_level["blocks"]), are_gene_sets),
            Level(self._member_statements(by_block_row), are_gene_sets),
        ]

    def _level(self, key: str, item: str | int) -> str:
        """Return what an item is: a mapping in Python names features, patterns and blocks alike, as in decide()."""
        if key != "features" or item in self.names:
            return key
        if item in self.block_names.names:
            return "blocks"
        return "patterns" if is_pattern(item) else key

    def _row_levels(self, rows: list[Row]) -> tuple[list[Statement], list[Statement]]:
        """Return what rows state of features, and of blocks."""
        path = self.table_at
        by_feature: list[Statement] = []
        by_block: list[Statement] = []
        for row in rows:
            if row.feature is not None and row.weight is not None:
                by_feature.append(Statement([row.feature], row.weight, row.place, path))
            elif row.feature is None and row.block is not None:
                try:
                    self.block_names.find(row.block, False)
                except InputError as error:
                    self.report(path, f"{row.place}: {error.rule}")
                    continue
                if row.weight is not None:
                    by_block.append(Statement([row.block], row.weight, row.place, path, ("block", row.block)))
        return by_feature, by_block

    def _member_statements(self, by_block: list[Statement]) -> list[Statement]:
        """Return statements about blocks as statements about their members."""
        members = {} if self.blocks is None else self.blocks.members
        statements = []
        for entry in by_block:
            positions: dict[int, None] = {}
            for block in entry.names:
                with collect_errors(self.report, entry.path):
                    positions |= dict.fromkeys(self._index.positions(members.get(block, ()), "block").tolist())
            statements.append(entry._replace(names=[self.names.names[i] for i in positions]))
        return statements

    def _contradiction(self, name: str, first: Statement, second: Statement) -> None:
        a, b = (f"{s.stated:g}" if isinstance(s.stated, float) else repr(s.stated) for s in (first, second))
        self.report(
            second.path,
            f"gives feature {name!r} the weight {b}, but {first.source} gives it {a}. Give this feature a weight by "
            "name, or remove one of the two.",
        )


def resolve_precedence(
    levels: Iterable[Level],
    names: Sequence[str],
    default: float,
    n_models: int,
    contradiction: Callable[[str, Statement, Statement], None],
) -> PriorKnowledge:
    """Return the weight of each feature in votes, what is stated of features and of lists of them, and advice.

    The most specific level comes first; a feature of which no level states anything has the default. Where statements
    of one level differ, the highest counts, which is advice; or each pair of sources is handed to `contradiction` once.
    """

    def worth(stated: Stated) -> tuple[float, bool]:  # what orders weights: votes, and whether more than unlikely
        return votes(stated, default, n_models), stated != UNLIKELY

    weight_of: dict[str, Stated] = {}  # what the levels so far state
    lists: dict[tuple[str, str, Stated], dict[str, None]] = {}
    several: list[str] = []
    for level in levels:
        for entry in level.statements:
            if worth(entry.stated)[0] > default:
                members = lists.setdefault((*entry.group, entry.stated), {})
                members.update(dict.fromkeys(name for name in entry.names if name not in weight_of))
        taken: dict[str, Statement] = {}
        pairs: set[tuple[str, str]] = set()
        differing: dict[str, None] = {}
        for entry in level.statements:
            for name in entry.names:
                first = taken.setdefault(name, entry)
                if name in weight_of or worth(first.stated) == worth(entry.stated):
                    continue
                if level.highest_counts:
                    differing[name] = None
                    taken[name] = max(first, entry, key=lambda statement: worth(statement.stated))
                elif (pair := (first.source, entry.source)) not in pairs:
                    pairs.add(pair)  # once: two patterns may share a thousand features
                    contradiction(name, first, entry)
        weight_of = {name: entry.stated for name, entry in taken.items()} | weight_of
        several += differing
    weights = np.full(len(names), default, dtype=np.float64)
    stated = {name: weight_of[name] for name in names if name in weight_of} if weight_of else {}
    position_of = {name: position for position, name in enumerate(names)} if stated or lists else {}
    for name, weight in stated.items():
        weights[position_of[name]] = worth(weight)[0]
    facts = {"n": len(several), "names": several}
    return PriorKnowledge(
        freeze(weights),
        stated,
        advice=(Advice("highest_weight", facts),) if several else (),
        default=default,
        lists=tuple(
            FeatureList(name or _as_text(weight), kind, np.array(positions), weight, worth(weight)[0])
            for (kind, name, weight), listed in lists.items()
            if (positions := [position_of[name] for name in listed if name in position_of])
        ),
    )


def _as_text(stated: Stated) -> str:
    return stated if isinstance(stated, str) else f"{stated:g} votes"


def _reasons_of(rows: Iterable[Row]) -> dict[str, dict[str, str]]:
    """Return why and source by feature; those of several rows are put together."""
    entries: dict[str, dict[str, dict[str, None]]] = {}
    for row in rows:
        for key in ("why", "source"):
            text = getattr(row, key)
            if row.feature is not None and text is not None:
                entries.setdefault(row.feature, {}).setdefault(key, {})[text] = None
    return {name: {key: "; ".join(texts) for key, texts in entry.items()} for name, entry in entries.items()}


def _costs_of(table: Knowledge, rows: Iterable[Row], report: Callable[[str], None]) -> dict[str, float] | None:
    """Return the costs of features; None if the table has none. Two costs of one feature are reported."""
    if "cost" not in table.columns:
        return None
    entries: dict[str, tuple[float, str]] = {}
    for row in rows:
        if row.feature is None or row.cost is None:
            continue
        cost, place = entries.setdefault(row.feature, (row.cost, row.place))
        if cost != row.cost:
            report(f"{row.place}: feature {row.feature!r} costs {row.cost:g} here, but {cost:g} in {place}.")
    return {name: cost for name, (cost, _) in entries.items()}
