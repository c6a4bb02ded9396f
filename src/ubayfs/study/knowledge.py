"""Weights and blocks as a study holds them: by name, pattern or block, not yet tied to a data set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from .._arguments import did_you_mean
from ..constraints.arguments import as_items
from ..data.blocks import Blocks
from ..exceptions import ConstraintError
from ..priors.weights import DEFAULT_WEIGHT, resolve_weights
from .problems import Report, below, reported
from .scale import Belief, as_belief

Beliefs = tuple[tuple[str | int, Belief], ...]

_LEVELS = ("features", "patterns", "blocks")


@dataclass(frozen=True)
class Weights:
    """What is believed of the features.

    A feature has the weight that is said of it by name; else by a row of the table of the study; else by a pattern
    that matches its name; else by its blocks; else the default.

    Attributes
    ----------
    default : float
        Weight, in votes, of everything of which nothing is said.
    features, patterns, blocks : tuple of (str, belief)
        A belief is a number of votes or a word of the scale. Features may also be given by position.
    """

    default: float = DEFAULT_WEIGHT
    features: Beliefs = ()
    patterns: Beliefs = ()
    blocks: Beliefs = ()


@dataclass(frozen=True)
class PrefixBlocks:
    """Blocks of all features whose names are the same up to the first separator.

    Attributes
    ----------
    prefix : str
        The separator.
    """

    prefix: str


@dataclass(frozen=True)
class TableBlocks:
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


def as_weights(value: Any, report: Report) -> Weights | tuple[float, ...]:
    """Return weights given in any form as a Weights, or as one number per feature.

    Parameters
    ----------
    value : number, array-like, mapping, Series, DataFrame or Weights
        A mapping either has (some of) the keys default, features, patterns, blocks, or names features and blocks.
    report : Report
    """
    if isinstance(value, Weights):
        return value
    if value is None:
        return Weights()
    if isinstance(value, pd.DataFrame):
        value = _levels_of_frame(value, report)
    elif isinstance(value, pd.Series):
        value = {"features": value.dropna().to_dict()}
    if isinstance(value, Mapping):
        levels = set(value) <= {"default", *_LEVELS} and all(isinstance(value.get(one, {}), Mapping) for one in _LEVELS)
        return read_weights(value if levels else {"features": value}, report)
    with reported(report, (), "weights"):
        if not isinstance(value, Iterable) or isinstance(value, str) or getattr(value, "shape", None) == ():
            return Weights(default=float(resolve_weights(value, ["every feature"])[0]))
        values = list(value)
        return tuple(resolve_weights(values, [f"x{i}" for i in range(len(values))]).tolist())
    return Weights()


def read_weights(value: Any, report: Report) -> Weights | tuple[float, ...]:
    """Return weights as a study file says them: a mapping must have the keys of :class:`Weights`."""
    if not isinstance(value, Mapping):
        return as_weights(value, report)
    for key in value:
        if key not in ("default", *_LEVELS):
            hint = did_you_mean(key, ("default", *_LEVELS)) or " Names of features belong below 'features'."
            report((key,), f"must be one of 'default', 'features', 'patterns', 'blocks'; got {key!r}.{hint}")
    default = DEFAULT_WEIGHT
    if value.get("default") is not None:
        with reported(report, ("default",), "weights"):
            default = float(resolve_weights(value["default"], ["default"])[0])
    levels = {level: _beliefs(value.get(level), below(report, level)) for level in _LEVELS}
    return Weights(default, **levels)


def _beliefs(value: Any, report: Report) -> Beliefs:
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
        with reported(report, (name,), "weights", "weight"):
            found.append((name, as_belief(name, weight)))
    return tuple(found)


def _levels_of_frame(frame: pd.DataFrame, report: Report) -> dict[str, Any]:
    """Return the rows of a table with the columns feature (or block) and weight as a mapping."""
    with reported(report, (), "weights"):
        # Raises unless the columns are there; what the names refer to shows later.
        resolve_weights(frame.iloc[:0], ["x"])
    key = "feature" if "feature" in frame.columns else "block"
    if key not in frame.columns or "weight" not in frame.columns:
        return {}
    rows = frame.dropna(subset=["weight"])
    twice = rows[key][rows[key].duplicated()]
    if len(twice):
        report((), f"has more than one weight for {key} {twice.iloc[0]!r}; keep one row.")
    return {f"{key}s": dict(zip(rows[key].tolist(), rows["weight"].tolist(), strict=True))}


def as_blocks(value: Any, report: Report) -> Blocks | PrefixBlocks | TableBlocks | None:
    """Return blocks given in any form.

    Parameters
    ----------
    value : mapping of name to features, {"prefix": separator}, {"table": path, "sheet": name}, DataFrame, Blocks, ...
    report : Report
    """
    if value is None or isinstance(value, PrefixBlocks | TableBlocks):
        return value
    if isinstance(value, Mapping):
        for rule, keys in (("prefix", {"prefix"}), ("table", {"table", "sheet"})):
            # A block that is called so lists its features.
            if isinstance(value.get(rule), str):
                return _rule_blocks(rule, keys, value, report)
    else:
        try:
            value = Blocks.of(value).members
        except ConstraintError as error:
            report((), str(error).removeprefix("blocks "))
            return None
    members = {}
    for name, features in value.items():
        with reported(report, (name,), str(name)):
            members[str(name)] = as_items(str(name), features)
    return Blocks(members) if members else None


def _rule_blocks(rule: str, keys: set[str], value: Mapping[Any, Any], report: Report) -> Any:
    for key in value:
        if key not in keys:
            report((key,), f"cannot stand beside {rule!r}, which makes all blocks; list all blocks, or none.")
    if not value[rule]:
        report((rule,), "must not be empty.")
    if rule == "prefix":
        return PrefixBlocks(value["prefix"])
    sheet = value.get("sheet")
    if sheet is not None and not isinstance(sheet, str):
        report(("sheet",), f"must be the name of a sheet; got {sheet!r}.")
    return TableBlocks(value["table"], sheet)
