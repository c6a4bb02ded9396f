"""Weights: what is stated of features, by one expert or by several, read from every form in which it is given.

A number, a list of numbers, words of the scale, a mapping, a frame or what a study file holds become one `Weights`;
:mod:`.weight_resolver` ties it to the features at hand. Whatever is wrong is reported: collected with its place, or
raised.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from functools import partial
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np

from .._arguments import Floats, Mask, as_text, as_time
from .._files import WithFiles
from .._plain import whole
from .._problems import Report, below, check_keys, collect_errors, raise_problem
from ..exceptions import InputError, repr_of
from ..knowledge.rows import is_path, read_rows
from ..knowledge.scale import DEFAULT_WEIGHT, VOTES, Stated, as_stated, check_weight

StatedOf = tuple[tuple[str | int, Stated], ...]

# What a weight may be stated of, the most specific first.
LEVELS = ("features", "patterns", "blocks")


@dataclass(frozen=True)
class Weights(WithFiles):
    """What is stated of features, as it was written: :func:`resolve_knowledge` ties it to the features at hand.

    A feature has the weight that is stated by its name; else by a row of a table; else by a list of
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

    def with_paths(self, changed: Callable[[str], str]) -> Self:
        """Return the weights with other paths of the same files."""
        lists = tuple((word, changed(names) if isinstance(names, str) else names) for word, names in self.lists)
        return replace(self, lists=lists)

    def plain(self) -> Any:
        """Return the weights as they are written to a file: one number if nothing else is stated."""
        levels: dict[str, dict[str | int, Any]] = {}
        for level in LEVELS:
            if stated := getattr(self, level):
                levels[level] = {name: whole(weight) for name, weight in stated}
        for name, reasons in self.reasons:
            features = levels.setdefault("features", {})
            features[name] = ({"weight": features[name]} if name in features else {}) | dict(reasons)
        lists = {word: names if isinstance(names, str) else list(names) for word, names in self.lists}
        if not levels and not lists:
            return whole(self.default)
        default = {} if self.default == DEFAULT_WEIGHT else {"default": whole(self.default)}
        return {**default, **levels, **lists}


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
    lists = {key for key, entry in value.items() if lists_names(key, entry)}
    nested = all(isinstance(value.get(level, {}), Mapping) for level in LEVELS)
    if nested and set(value) <= {"default", *LEVELS, *lists}:
        return value
    return {"features": {k: v for k, v in value.items() if k not in lists}, **{key: value[key] for key in lists}}


def read_weights(value: Any, report: Report) -> Weights | tuple[float, ...] | None:
    """Return weights as a study file has them: one number, one for each feature, or the keys of :class:`Weights`."""
    if not isinstance(value, Mapping):
        return value if isinstance(value, Weights) else _read_numbers(value, report)
    value = check_keys(value, ("default", *LEVELS, *VOTES), "a key of weights (names belong below 'features')", report)
    default = DEFAULT_WEIGHT
    if value.get("default") is not None:
        with collect_errors(report, ("default",)):
            default = check_weight("default", value["default"])
    reasons: dict[str | int, dict[str, str]] = {}
    levels = {level: _stated(value.get(level), below(report, level), reasons) for level in LEVELS}
    lists = tuple((word, _names(value[word], below(report, word))) for word in VOTES if value.get(word) is not None)
    why = tuple((name, tuple(texts.items())) for name, texts in reasons.items())
    return Weights(default, **levels, lists=tuple(pair for pair in lists if pair[1]), reasons=why)


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
    listed = read_rows(sorted(value) if isinstance(value, Set) else value, partial(report, ()))
    return () if listed is None else tuple(row.feature for row in listed.rows if row.feature is not None)


def _stated(value: Any, report: Report, reasons: dict[str | int, dict[str, str]]) -> StatedOf:
    """Return the weights of a level; why and source of features are added to the reasons."""
    if value is None:
        return ()
    if not isinstance(value, Mapping):
        report((), f"must map names to weights, such as radius: 5 or radius: likely; got {repr_of(value)}.")
        return ()
    weights = []
    for name, weight in value.items():
        name = name.item() if isinstance(name, np.generic) else name
        if isinstance(name, bool) or not isinstance(name, str | int):
            report((), f"must be given by names or positions; got {repr_of(name)}.")
            continue
        if isinstance(weight, Mapping):
            entry = check_keys(weight, ("weight", "why", "source"), "known of a feature", below(report, name))
            reasons[name] = {key: str(entry[key]) for key in ("why", "source") if entry.get(key) is not None}
            weight = entry.get("weight")
            if weight is None and reasons[name]:
                continue
        with collect_errors(report, (name,)):
            weights.append((name, as_stated(weight)))
    return tuple(weights)


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


def raised(weights: Floats) -> Mask:
    """Return which features a prior favors, of shape (n_features,); the same weight for all favors none.

    >>> raised(np.array([0.01, 5.0, 0.01])), raised(np.array([2.0, 2.0]))
    (array([False,  True, False]), array([False, False]))
    """
    return np.asarray(weights > max(DEFAULT_WEIGHT, float(weights.min(initial=np.inf))))


def lists_names(key: object, value: object) -> bool:
    """Return whether an entry of a mapping is a word of the scale with the names that it is about."""
    names = isinstance(value, os.PathLike) or (isinstance(value, Iterable) and not isinstance(value, Mapping | bytes))
    return isinstance(key, str) and _word(key) is not None and names and not (isinstance(value, str) and _word(value))


def _word(text: str) -> str | None:
    try:
        return str(as_stated(text))
    except InputError:
        return None


# -- several experts ---------------------------------------------------------------------------------------------------

_EXPERT_KEYS: dict[str, Callable[[str, Any], str]] = {"table": as_text, "sheet": as_text, "confirmed": as_time}


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
        more = {key: value for key in _EXPERT_KEYS if (value := getattr(self, key)) is not None}
        return {**more, **(stated if isinstance(stated, dict) else {})}


def expert_form(value: Any) -> Any:
    """Return what an expert states, given in Python in any form of weights, as a study file has it."""
    if isinstance(value, Expert | Weights) or is_path(value):
        return value
    about = {key: value[key] for key in _EXPERT_KEYS if key in value} if isinstance(value, Mapping) else {}
    stated = file_form({key: entry for key, entry in value.items() if key not in about} if about else value)
    return {**about, **stated} if isinstance(stated, Mapping) else stated


def read_experts(value: Any, report: Report) -> dict[str, Expert] | None:
    """Return what experts state, by their names; all that is wrong is reported."""
    if not isinstance(value, Mapping):
        report((), f"must map the names of experts to what each states; got {repr_of(value)}.")
        return None
    experts = {}
    for name, stated in value.items():
        if not isinstance(name, str) or not name.strip():
            report((), f"must be given by their names; got {repr_of(name)}.")
        elif (expert := _read_expert(stated, below(report, name))) is not None:
            experts[name] = expert
    return experts or None


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
    value = check_keys(
        value, (*_EXPERT_KEYS, *LEVELS, *VOTES), "a key of an expert (names belong below 'features')", report
    )
    about: dict[str, str] = {}
    for key, check in _EXPERT_KEYS.items():
        if value.get(key) is not None:
            with collect_errors(report, (key,)):
                about[key] = check(key, value[key])
    if "sheet" in about and value.get("table") is None:
        report(("sheet",), "names a sheet of the table of this expert, which is not given.")
    weights = read_weights({key: entry for key, entry in value.items() if key not in _EXPERT_KEYS}, report)
    return Expert(weights, **about) if isinstance(weights, Weights) else None
