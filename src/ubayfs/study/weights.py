"""Prior weights of a study, of one expert or of several, in votes or in words, and what they mean for the features."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from .._problems import Path, Report, below, check_keys, collect_errors, raise_problem
from ..data.blocks import Blocks
from ..exceptions import Advice, InputError, repr_of
from ..knowledge.matching import match_rows
from ..knowledge.patterns import Names, is_pattern
from ..knowledge.rows import Knowledge, Row, is_path, read_rows
from ..knowledge.scale import DEFAULT_WEIGHT, VOTES, Stated, as_stated, check_weight
from ..priors.knowledge import PriorKnowledge, pooled
from ..priors.weights import Contradiction, Statement, costs_of, is_list, reasons_of, resolve_knowledge, settle_levels
from .components import WithFiles, text, time
from .yaml_io import plain

StatedOf = tuple[tuple[str | int, Stated], ...]

LEVELS = ("features", "patterns", "blocks")


@dataclass(frozen=True)
class Weights(WithFiles):
    """What is known of the features.

    A feature has the weight that is stated by its name; else by a row of the table of the study; else by a list of
    names; else by a pattern that matches its name; else by its blocks; else the default.

    Attributes
    ----------
    default : float
        Weight, in votes, of every feature of which nothing is stated.
    features, patterns, blocks : tuple of (str, votes or word of the scale)
        Features may also be given by position.
    lists : tuple of (word, tuple of str, or path)
        Features of each word, by name, or the file that lists them.
    reasons : tuple of (str, tuple of (str, str))
        Why and source of features.
    """

    default: float = DEFAULT_WEIGHT
    features: StatedOf = ()
    patterns: StatedOf = ()
    blocks: StatedOf = ()
    lists: tuple[tuple[str, str | tuple[str, ...]], ...] = ()
    reasons: tuple[tuple[str | int, tuple[tuple[str, str], ...]], ...] = ()

    def with_paths(self, changed: Callable[[str], str]) -> Weights:
        """Return the weights with other paths of the same files."""
        lists = tuple((word, changed(names) if isinstance(names, str) else names) for word, names in self.lists)
        return replace(self, lists=lists)

    def plain(self) -> Any:
        """Return the weights as they are written to a file: one number if nothing else is stated."""
        levels = {level: plain(dict(stated)) for level in LEVELS if (stated := getattr(self, level))}
        for name, reasons in self.reasons:
            features = levels.setdefault("features", {})
            features[name] = ({"weight": features[name]} if name in features else {}) | dict(reasons)
        levels |= {word: names if isinstance(names, str) else list(names) for word, names in self.lists}
        if not levels:
            return plain(self.default)
        return levels if self.default == DEFAULT_WEIGHT else {"default": plain(self.default), **levels}


def file_form(value: Any) -> Any:
    """Return weights given in Python in any form as a study file has them.

    A frame has the columns feature (or block) and weight; a mapping may also name features and blocks at once.
    """
    if hasattr(value, "columns"):
        return _levels_of_frame(value)
    if hasattr(value, "dropna"):  # a Series
        return {"features": value.dropna().to_dict()}
    if not isinstance(value, Mapping):
        return Weights() if value is None else value
    lists = {key for key, entry in value.items() if is_list(key, entry)}
    nested = all(isinstance(value.get(level, {}), Mapping) for level in LEVELS)
    if nested and set(value) <= {"default", *LEVELS, *lists}:
        return value
    return {"features": {k: v for k, v in value.items() if k not in lists}, **{key: value[key] for key in lists}}


def read_weights(value: Any, report: Report) -> Weights | tuple[float, ...] | None:
    """Return weights as a study file has them: one number, one for each feature, or the keys of :class:`Weights`."""
    if not isinstance(value, Mapping):
        return value if isinstance(value, Weights) else _read_numbers(value, report)
    known = ("default", *LEVELS, *VOTES)
    value = check_keys(value, known, "a key of weights (names belong below 'features')", report)
    default = DEFAULT_WEIGHT
    if value.get("default") is not None:
        with collect_errors(report, ("default",)):
            default = check_weight("default", value["default"])
    reasons: dict[str | int, dict[str, str]] = {}
    levels = {level: _stated(value.get(level), below(report, level), reasons) for level in LEVELS}
    lists = tuple((word, _names(value[word], below(report, word))) for word in VOTES if value.get(word) is not None)
    given = tuple((name, tuple(texts.items())) for name, texts in reasons.items())
    return Weights(default, **levels, lists=tuple(pair for pair in lists if pair[1]), reasons=given)


def _read_numbers(value: Any, report: Report) -> Weights | tuple[float, ...] | None:
    """Return one number for all features, or one for each."""
    if isinstance(value, Real):
        with collect_errors(report):
            return Weights(default=check_weight("weights", value))
    elif isinstance(value, str) or not isinstance(value, Iterable):
        report((), f"must be a number, one number per feature, or hold keys such as 'features'; got {repr_of(value)}.")
    else:
        numbers = []
        for position, entry in enumerate(values := list(value)):
            with collect_errors(report, (position,)):
                numbers.append(check_weight("weights", entry))
        return tuple(numbers) if len(numbers) == len(values) else None
    return None


def _names(value: Any, report: Report) -> str | tuple[str, ...]:
    """Return the names of a list, or the path of its file."""
    if is_path(value):
        return str(value)
    found = read_rows(value, partial(report, ()))
    return () if found is None else tuple(row.feature for row in found.rows if row.feature is not None)


def _stated(value: Any, report: Report, reasons: dict[str | int, dict[str, str]]) -> StatedOf:
    """Return the weights of a level; why and source of features are added to the reasons."""
    if value is None:
        return ()
    if not isinstance(value, Mapping):
        report((), f"must map names to weights, such as radius: 5 or radius: likely; got {repr_of(value)}.")
        return ()
    found = []
    for name, weight in value.items():
        name = name.item() if isinstance(name, np.generic) else name
        if isinstance(name, bool) or not isinstance(name, str | int):
            report((), f"must be given by names (str) or positions (int); got {repr_of(name)}.")
            continue
        if isinstance(weight, Mapping):
            entry = check_keys(weight, ("weight", "why", "source"), "known of a feature", below(report, name))
            reasons[name] = {key: str(entry[key]) for key in ("why", "source") if entry.get(key) is not None}
            weight = entry.get("weight")
            if weight is None and reasons[name]:
                continue
        with collect_errors(report, (name,)):
            found.append((name, as_stated(weight)))
    return tuple(found)


def _levels_of_frame(frame: Any) -> dict[str, Any]:
    table = read_rows(frame, partial(raise_problem, ("prior", "weights")))
    assert table is not None
    if not {"feature", "block"} & set(table.columns) or "weight" not in table.columns:
        raise_problem(
            ("prior", "weights"), f"as a DataFrame need the columns 'feature' and 'weight'; got {list(table.header)}."
        )
    levels: dict[str, dict[str, Any]] = {"features": {}, "blocks": {}}
    for row in table.rows:
        level, name = ("features", row.feature) if row.feature is not None else ("blocks", str(row.block))
        if row.weight is None:
            continue
        if levels[level].setdefault(str(name), row.weight) != row.weight:
            raise_problem(("prior", "weights"), f"has more than one weight for {level[:-1]} {name!r}; keep one row.")
    return levels


# -- several experts ---------------------------------------------------------------------------------------------------

_OF_EXPERT: dict[str, Callable[[str, Any], str]] = {"table": text, "sheet": text, "confirmed": time}


@dataclass(frozen=True)
class Expert(WithFiles):
    """What one expert states.

    Attributes
    ----------
    weights : Weights
        Its default is not used: that of the study counts for everybody.
    table : str or None
        Path of a table with the columns feature, weight, why and source.
    sheet : str or None
        Of an Excel file.
    confirmed : str or None
        When the expert confirmed this, before seeing votes.
    """

    weights: Weights = field(default_factory=Weights)
    table: str | None = None
    sheet: str | None = None
    confirmed: str | None = None

    path_keys: ClassVar[tuple[str, ...]] = ("table", "weights")

    def plain(self) -> dict[str, Any]:
        """Return what is stated as it is written to a file."""
        stated = self.weights.plain()
        more = {key: value for key in _OF_EXPERT if (value := getattr(self, key)) is not None}
        return {**more, **(stated if isinstance(stated, dict) else {})}


def expert_form(value: Any) -> Any:
    """Return what an expert states, given in Python in any form of weights, as a study file has it."""
    if isinstance(value, Expert | Weights) or is_path(value):
        return value
    own = {key: value[key] for key in _OF_EXPERT if key in value} if isinstance(value, Mapping) else {}
    stated = file_form({key: entry for key, entry in value.items() if key not in own} if own else value)
    return {**own, **stated} if isinstance(stated, Mapping) else stated


def read_experts(value: Any, report: Report) -> dict[str, Expert] | None:
    """Return what experts state, by their names; all that is wrong is reported."""
    if not isinstance(value, Mapping):
        report((), f"must map the names of experts to what each states; got {repr_of(value)}.")
        return None
    found = {}
    for name, stated in value.items():
        if not isinstance(name, str) or not name.strip():
            report((), f"must be given by their names; got {repr_of(name)}.")
        elif (expert := _read_expert(stated, below(report, name))) is not None:
            found[name] = expert
    return found or None


def _read_expert(value: Any, report: Report) -> Expert | None:
    if isinstance(value, Expert):
        return value
    if isinstance(value, Weights) or value is None:
        return Expert(value or Weights())
    if is_path(value):
        return Expert(table=str(value))
    if not isinstance(value, Mapping):
        report((), f"must be a table of what the expert states, or hold keys such as 'features'; got {repr_of(value)}.")
        return None
    known = (*_OF_EXPERT, *LEVELS, *VOTES)
    value = check_keys(value, known, "a key of an expert (names belong below 'features')", report)
    given: dict[str, str] = {}
    for key, check in _OF_EXPERT.items():
        if value.get(key) is not None:
            with collect_errors(report, (key,)):
                given[key] = check(key, value[key])
    if "sheet" in given and value.get("table") is None:
        report(("sheet",), "names a sheet of the table of this expert, which is not given.")
    weights = read_weights({key: entry for key, entry in value.items() if key not in _OF_EXPERT}, report)
    return Expert(weights, **given) if isinstance(weights, Weights) else None


# -- the weights of the features at hand -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class WeightResolver:
    """Finds the weight of each feature: by name, table, list, pattern or block, in this order, or the default."""

    names: Names  # of the features
    blocks: Blocks | None
    block_names: Names  # of all blocks, also of those whose members are wrong
    n_models: int  # that words of the scale are measured by
    report: Report
    lists: Mapping[str, Knowledge]  # files of names, by their paths
    aliases: Any = None
    at: Path = ("prior", "weights")  # where they are written, and their table
    table_at: Path = ("prior", "table")

    def resolve(self, prior: Any, tables: Mapping[str, Knowledge]) -> PriorKnowledge:
        """Return the prior knowledge of weights and table, of experts and their tables, and when it was stated."""
        known = self._stated(prior.weights, tables.get(""))
        if prior.experts:
            default, stated = getattr(prior.weights, "default", DEFAULT_WEIGHT), {}
            for name, expert in prior.experts.items():
                at = ("prior", "experts", name)
                own = replace(self, at=at, table_at=(*at, "table"))
                of_expert = own._stated(replace(expert.weights, default=default), tables.get(name))
                stated[name] = replace(of_expert, confirmed=expert.confirmed)
            with collect_errors(self.report, ("prior", "experts")):
                known = pooled(stated, self.names.names, prior.pool, self.n_models, default, known)
        for name in prior.changed_after_votes or {}:
            with collect_errors(self.report, ("prior", "changed_after_votes", name)):
                self.names.find(name, False)
        return replace(known, confirmed=prior.confirmed, changed_after_votes=prior.changed_after_votes or {})

    def _stated(self, weights: Weights | tuple[float, ...], table: Knowledge | None) -> PriorKnowledge:
        """Return what is stated of the features, in their order."""
        names = self.names.names
        if isinstance(weights, tuple):
            with collect_errors(self.report, self.at):
                return resolve_knowledge(list(weights), names)
            return PriorKnowledge(np.full(len(names), DEFAULT_WEIGHT))
        at_table = partial(self.report, self.table_at)
        rows, advice = ([], ()) if table is None or not names else match_rows(table, names, at_table)
        by_list, listed, of_lists = self._lists(weights)
        levels = self._levels(weights, rows, by_list)
        known = settle_levels(levels, names, weights.default, self.n_models)
        costs = None if table is None else costs_of(table, rows, at_table)
        reasons = self._reasons(weights, rows, listed)
        return replace(known, reasons=reasons, costs=costs, advice=(*advice, *of_lists, *known.advice))

    def _reasons(self, weights: Weights, rows: list[Row], listed: list[Row]) -> dict[str, dict[str, str]]:
        """Return why and source of features; by name, else of the table, else of the files of lists."""
        found = reasons_of(listed) | reasons_of(rows)
        for item, reasons in weights.reasons:
            with collect_errors(self.report, (*self.at, "features", item)):
                found[self.names.find(item, False)[0]] = dict(reasons)
        return {name: found[name] for name in self.names.names if name in found}

    def _lists(self, weights: Weights) -> tuple[list[Statement], list[Row], tuple[Advice, ...]]:
        """Return what the lists of names state; a row of a file that has a weight of its own has that."""
        found: list[Statement] = []
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
            found += [
                Statement([row.feature], word if row.weight is None else row.weight, row.place, path)
                for row in matched.rows
                if row.feature
            ]
        return found, rows, advice

    def _levels(
        self, weights: Weights, rows: list[Row], by_list: list[Statement]
    ) -> list[tuple[list[Statement], Contradiction | None]]:
        """Return all statements, the most specific level first; of lists and gene sets the highest weight counts."""
        found: dict[str, list[Statement]] = {level: [] for level in LEVELS}
        for key in reversed(LEVELS):
            for item, stated in getattr(weights, key):
                path: Path = (*self.at, key, item)
                level = self._level(key, item)
                names = self.block_names if level == "blocks" else self.names
                source = repr(item) if level == "patterns" else f"{names.kind} {item!r}"
                with collect_errors(self.report, path):
                    matches = names.find(item, {"features": False, "patterns": True}.get(level))
                    group = (level.rstrip("s"), str(item)) if level != "features" else ("weight", "")
                    found[level].append(Statement(matches, stated, source, path, group))
        by_row, by_block_row = self._row_levels(rows)
        of_blocks = None if self.blocks is not None and self.blocks.are_gene_sets else self._contradiction
        return [
            (found["features"], self._contradiction),
            (by_row, self._contradiction),
            (by_list, None),
            (found["patterns"], self._contradiction),
            (self._of_members(found["blocks"]), of_blocks),
            (self._of_members(by_block_row), of_blocks),
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
        by_block: list[Statement] = []
        for row in rows:
            if row.feature is None and row.block is not None:
                try:
                    self.block_names.find(row.block, False)
                except InputError as error:
                    self.report(path, f"{row.place}: {error.rule}")
                    continue
                if row.weight is not None:
                    group = ("block", row.block)
                    by_block.append(Statement([row.block], row.weight, row.place, path, group))
        stated = [row for row in rows if row.feature is not None and row.weight is not None]
        return [Statement([str(row.feature)], row.weight, row.place, path) for row in stated], by_block  # type: ignore[arg-type]

    def _of_members(self, by_block: list[Statement]) -> list[Statement]:
        """Return statements about blocks as statements about their members."""
        members = {} if self.blocks is None else self.blocks.members
        found = []
        for entry in by_block:
            items = [member for block in entry.names for member in members.get(block, ())]
            names = [item if isinstance(item, str) else self.names.names[item] for item in items]
            found.append(entry._replace(names=list(dict.fromkeys(names))))
        return found

    def _contradiction(self, name: str, first: Statement, second: Statement) -> None:
        self.report(
            second.path,
            f"gives feature {name!r} the weight {_shown(second.stated)}, but {first.source} gives it "
            f"{_shown(first.stated)}. Give this feature a weight of its own by name, or remove one.",
        )


def _shown(stated: Stated) -> str:
    return repr(stated) if isinstance(stated, str) else f"{stated:g}"
