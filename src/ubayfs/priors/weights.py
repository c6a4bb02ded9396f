"""Prior weights in all the forms that a user may give them, and what else is known of the features."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from .._arguments import (
    FeatureIndex,
    Floats,
    Mask,
    as_array,
    by_name,
    check_choice,
    entries_of,
    feature_hint,
    freeze,
    nearest,
)
from ..data.blocks import Blocks
from ..exceptions import Advice, InputError, repr_of
from ..knowledge.matching import Matched, match_rows
from ..knowledge.rows import Knowledge, Row, is_path, raise_problems, read_knowledge
from ..knowledge.scale import (
    DEFAULT_WEIGHT,
    LARGEST_WEIGHT,
    UNLIKELY,
    VOTES,
    Stated,
    as_stated,
    as_votes,
    check_range,
    votes,
)
from .knowledge import POOLS, Experts, FeatureList, PriorKnowledge, pooled


class Statement(NamedTuple):
    """A weight of some features."""

    names: list[str]
    stated: Stated
    source: str  # what states it, for messages
    path: tuple[str | int, ...] = ()  # where, in a study
    group: tuple[str, str] = ("weight", "")  # what states it of all of them: kind and name of a pattern or block


# Called with a feature and two statements that give it different weights.
Contradiction = Callable[[str, Statement, Statement], None]


def settle_levels(
    levels: Iterable[tuple[Iterable[Statement], Contradiction | None]],
    names: Sequence[str],
    default: float,
    n_models: int,
) -> PriorKnowledge:
    """Return the weight of each feature in votes, what is stated of features and of lists of them, and advice.

    The most specific level comes first; a feature of which no level states anything has the default. Of different
    weights on one level the highest counts where there is no `Contradiction`, which is advice.
    """

    def worth(stated: Stated) -> tuple[float, bool]:  # what orders weights: votes, and whether more than unlikely
        return votes(stated, default, n_models), stated != UNLIKELY

    found: dict[str, Stated] = {}
    lists: dict[tuple[str, str, Stated], dict[str, None]] = {}
    several: list[str] = []
    for level, contradiction in levels:
        for entry in (level := list(level)):
            if worth(entry.stated)[0] > default:
                members = lists.setdefault((*entry.group, entry.stated), {})
                members.update(dict.fromkeys(name for name in entry.names if name not in found))
        several += _settle(level, found, worth, contradiction)
    weights = np.full(len(names), default, dtype=np.float64)
    stated = {name: found[name] for name in names if name in found} if found else {}
    for position, name in enumerate(names if stated else ()):
        if name in stated:
            weights[position] = worth(stated[name])[0]
    facts = {"n": len(several), "names": several}
    position_of = {name: position for position, name in enumerate(names)} if lists else {}
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


def _settle(
    level: Iterable[Statement],
    found: dict[str, Stated],
    worth: Callable[[Stated], tuple[float, bool]],
    contradiction: Contradiction | None,
) -> list[str]:
    """Add what a level states of features of which no level before it states anything.

    Of different weights on one level the first counts, and each pair of sources is handed to `contradiction` once;
    where there is none, the highest counts, and the features with several weights are returned.
    """
    taken: dict[str, Statement] = {}
    pairs: set[tuple[str, str]] = set()
    several: dict[str, None] = {}
    for entry in level:
        for name in entry.names:
            first = taken.setdefault(name, entry)
            if name in found or worth(first.stated) == worth(entry.stated):
                continue
            if contradiction is None:
                several[name] = None
                taken[name] = max(first, entry, key=lambda statement: worth(statement.stated))
            elif (pair := (first.source, entry.source)) not in pairs:
                pairs.add(pair)  # once: two patterns may share a thousand features
                contradiction(name, first, entry)
    found.update({name: entry.stated for name, entry in taken.items() if name not in found})
    return list(several)


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
        How their votes become one weight. An expert who says nothing of a feature gives it the default weight;
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
        - a mapping (or Series) of feature names or positions, or of block names, to votes or words of the scale ("very
          likely", "likely", "neutral", "unlikely"). A feature that is named itself has that weight, whatever its blocks
          say; one in several weighted blocks needs equal weights there (of gene sets, the highest counts); all others
          get 0.01. A word may also be mapped to a list of names: ``{"likely": ["TP53", "BRCA1"]}``;
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
    if isinstance(weights, Experts):
        stated = {n: resolve_knowledge(given, feature_names, blocks, n_models) for n, given in weights.stated.items()}
        return pooled(stated, [str(name) for name in feature_names], weights.pool, n_models or 1)
    weights = as_weights(weights)
    index, known = FeatureIndex(feature_names), Blocks.of(blocks)
    if isinstance(weights, Knowledge):
        return _Resolver(index, known, n_models).of_table(weights)
    if isinstance(weights, Mapping) or (hasattr(weights, "index") and hasattr(weights, "to_dict")):
        pairs = weights.dropna() if hasattr(weights, "dropna") else weights
        return _Resolver(index, known, n_models).of_pairs(pairs.items())
    numbers = _from_numbers(weights, index)
    _check_weights(numbers, index)
    return of_numbers(numbers)


def of_numbers(weights: Floats) -> PriorKnowledge:
    """Return the knowledge of one number per feature: the smallest is the default, equal larger ones are a list."""
    values, number_of, times = np.unique(weights, return_inverse=True, return_counts=True)
    lists = tuple(
        FeatureList(_as_text(float(values[i])), "weight", np.flatnonzero(number_of == i), *[float(values[i])] * 2)
        for i in np.flatnonzero(times > 2)
        if i
    )
    return PriorKnowledge(freeze(weights), default=float(values[0]), lists=lists)


def raised(weights: Floats) -> Mask:
    """Return which features a prior favors, of shape (n_features,); the same weight for all favors none.

    >>> raised(np.array([0.01, 5.0, 0.01])), raised(np.array([2.0, 2.0]))
    (array([False,  True, False]), array([False, False]))
    """
    return np.asarray(weights > max(DEFAULT_WEIGHT, float(weights.min(initial=np.inf))))


def is_list(key: object, value: object) -> bool:
    """Tell whether an entry of a mapping is a word of the scale with the names that it is about."""
    names = isinstance(value, os.PathLike) or (isinstance(value, Iterable) and not isinstance(value, Mapping | bytes))
    return isinstance(key, str) and _word(key) is not None and names and not (isinstance(value, str) and _word(value))


def _word(text: str) -> str | None:
    try:
        return str(as_stated(text))
    except InputError:
        return None


class _Resolver:
    """Finds the weights of the features at hand: by name, by lists of names, by blocks."""

    def __init__(self, index: FeatureIndex, blocks: Blocks, n_models: int | None) -> None:
        self.index, self.blocks, self.n_models = index, blocks, n_models

    def of_pairs(self, pairs: Iterable[tuple[Any, Any]]) -> PriorKnowledge:
        """Resolve what a mapping states of features and blocks, or of lists of features."""
        by_feature: list[tuple[Any, Any]] = []
        by_block: list[Statement] = []
        by_list: list[Statement] = []
        advice: list[Advice] = []
        reasons: dict[str, dict[str, str]] = {}
        for key, value in pairs:
            if is_list(key, value) and key not in self.index and key not in self.blocks.members:
                listed = self._of_rows(read_knowledge(sorted(value) if isinstance(value, Set) else value, weight=key))
                by_list += _statements(listed.rows)
                advice += listed.advice
                reasons |= reasons_of(listed.rows)
            elif isinstance(key, str) and not is_feature(key, self.index, self.blocks, "weights"):
                by_block.append(self._of_block(key, _number_or_word(value, key)))
            else:
                by_feature.append((key, value))
        positions = self.index.positions([key for key, _ in by_feature], "weights")
        entries = {str(self.index.names[i]): value for i, (_, value) in zip(positions, by_feature, strict=True)}
        reasons |= {name: _reasons(value) for name, value in entries.items() if isinstance(value, Mapping)}
        stated = {name: value.get("weight") if isinstance(value, Mapping) else value for name, value in entries.items()}
        by_name = [
            Statement([name], _number_or_word(value, name), name)
            for name, value in stated.items()
            if value is not None or not isinstance(entries[name], Mapping)
        ]
        return self._settled(by_name, by_list, by_block, tuple(advice), {k: v for k, v in reasons.items() if v})

    def of_table(self, table: Knowledge) -> PriorKnowledge:
        """Resolve what a table states."""
        if "feature" not in table.columns:
            table.require("block", "weight")
        if not {"weight", "cost", "why", "source"} & set(table.columns):
            raise InputError.of(
                "weights",
                f"cannot be taken from {table.name}, which has no column 'weight'. Give all its features one: "
                "read_knowledge(..., weight='likely').",
            )
        problems: list[str] = []
        matched = match_rows(table, [str(name) for name in self.index.names], problems.append)
        costs = costs_of(table, matched.rows, problems.append)
        raise_problems(problems)
        by_feature = _statements(matched.rows)
        by_block = [
            self._of_block(row.block, row.weight)._replace(source=row.place)
            for row in matched.rows
            if row.feature is None and row.block is not None and row.weight is not None
        ]
        reasons = reasons_of(matched.rows)
        return self._settled(by_feature, [], by_block, matched.advice, reasons, costs)

    def _of_rows(self, table: Knowledge) -> Matched:
        problems: list[str] = []
        matched = match_rows(table, [str(name) for name in self.index.names], problems.append)
        raise_problems(problems)
        return matched

    def _of_block(self, name: str, stated: Stated) -> Statement:
        members = list(self.blocks.members.values())[self.blocks.position(name, "weights")]
        positions = self.index.positions(members, f"block {name!r}")
        names = [str(self.index.names[i]) for i in positions]
        return Statement(names, stated, f"block {name!r}", group=("block", name))

    def _settled(
        self,
        by_name: list[Statement],
        by_list: list[Statement],
        by_block: list[Statement],
        advice: tuple[Advice, ...],
        reasons: Mapping[str, Mapping[str, str]],
        costs: Mapping[str, float] | None = None,
    ) -> PriorKnowledge:
        if self.n_models is None and any(VOTES.get(str(s.stated)) for s in (*by_name, *by_list, *by_block)):
            rule = "in words are measured by the number of models: pass n_models, or give votes."
            raise InputError.of("weights", rule)
        of_blocks = None if self.blocks.are_gene_sets else _contradiction
        levels = [(by_name, _contradiction), (by_list, None), (by_block, of_blocks)]
        names = [str(name) for name in self.index.names]
        known = settle_levels(levels, names, DEFAULT_WEIGHT, self.n_models or 1)
        _check_weights(known.weights, self.index)
        return replace(known, reasons=reasons, costs=costs, advice=(*advice, *known.advice))


def _statements(rows: Iterable[Row]) -> list[Statement]:
    """Return what rows state of features."""
    return [Statement([r.feature], r.weight, r.place) for r in rows if r.feature is not None and r.weight is not None]


def _contradiction(name: str, first: Statement, second: Statement) -> None:
    a, b = (f"{s.stated:g}" if isinstance(s.stated, float) else repr(s.stated) for s in (first, second))
    raise InputError.of(
        "weights",
        f"give feature {name!r} two values: {a} by {first.source} and {b} by {second.source}. Give this feature its "
        "own weight, or make the two equal.",
    )


def reasons_of(rows: Iterable[Row]) -> dict[str, dict[str, str]]:
    """Return why and source by feature; those of several rows are put together."""
    found: dict[str, dict[str, dict[str, None]]] = {}
    for row in rows:
        for key in ("why", "source"):
            text = getattr(row, key)
            if row.feature is not None and text is not None:
                found.setdefault(row.feature, {}).setdefault(key, {})[text] = None
    return {name: {key: "; ".join(texts) for key, texts in entry.items()} for name, entry in found.items()}


def costs_of(table: Knowledge, rows: Iterable[Row], report: Callable[[str], None]) -> dict[str, float] | None:
    """Return the costs of features; None if the table has none. Two costs of one feature are reported."""
    if "cost" not in table.columns:
        return None
    found: dict[str, tuple[float, str]] = {}
    for row in rows:
        if row.feature is None or row.cost is None:
            continue
        cost, place = found.setdefault(row.feature, (row.cost, row.place))
        if cost != row.cost:
            report(f"{row.place}: feature {row.feature!r} costs {row.cost:g} here, but {cost:g} in {place}.")
    return {name: cost for name, (cost, _) in found.items()}


def _reasons(value: Mapping[str, Any]) -> dict[str, str]:
    unknown = set(value) - {"weight", "why", "source"}
    if unknown:
        rule = f"know 'weight', 'why' and 'source' of a feature; got {repr_of(sorted(map(str, unknown))[0])}."
        raise InputError.of("weights", rule, value)
    return {key: str(value[key]) for key in ("why", "source") if value.get(key) is not None}


def _number_or_word(value: Any, key: object) -> Stated:
    if isinstance(value, str):
        try:
            return as_stated(value)
        except InputError as error:
            raise InputError.of("weights", f"of {repr_of(key)} {error.rule}", value) from None
    weight = as_votes(value)
    if weight is None:
        rule = f"must be positive numbers or words such as 'likely'; {repr_of(key)} has {repr_of(value)}."
        raise InputError.of("weights", rule)
    return weight


def _check_weights(resolved: Floats, index: FeatureIndex) -> None:
    wrong = ~(np.isfinite(resolved) & (resolved > 0))
    if not wrong.any():
        wrong = resolved > LARGEST_WEIGHT
    if wrong.any():
        first, n_wrong = int(wrong.argmax()), int(wrong.sum())
        more = f" ({n_wrong} such weights in all)" if n_wrong > 1 else ""
        check_range("weights", float(resolved[first]), f"feature {index.names[first]!r} has", more)


def is_feature(name: str, index: FeatureIndex, blocks: Blocks, argument: str) -> bool:
    """Tell whether a name means a feature (True) or a block (False); neither and both are errors."""
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
        found = len(numbers) if numbers.ndim == 1 else f"shape {numbers.shape}"
        raise InputError.of("weights", f"must have one number per feature: {n_features}; got {found}.")
    return numbers.copy()
