"""Prior weights of a study, in votes or in words, and what they mean for the features at hand.

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
from typing import Any

import numpy as np

from .._arguments import check_choice, did_you_mean
from ..exceptions import InputError
from ..priors.weights import DEFAULT_WEIGHT, resolve_weights
from .diagnostics import Report, below, reported
from .yaml_io import plain

# Share of the models whose votes a word is worth; None: the default weight.
VOTES: dict[str, float | None] = {"very likely": 1.0, "likely": 0.25, "neutral": None, "unlikely": None}
UNLIKELY = "unlikely"
UNLIKELY_RHO = 1.0

# A weight as it was stated: votes, or a word of the scale.
Stated = float | str
StatedOf = tuple[tuple[str | int, Stated], ...]

_LEVELS = ("features", "patterns", "blocks")


def as_stated(name: object, value: Any) -> Stated:
    """Return a weight as votes or as a word of the scale, or raise naming the rule.

    Examples
    --------
    >>> as_stated("radius", 5), as_stated("radius", "Very_likely")
    (5.0, 'very likely')
    """
    if isinstance(value, str):
        word = " ".join(value.lower().replace("_", " ").replace("-", " ").split())
        try:
            return check_choice("weight", word, VOTES)
        except InputError as error:
            raise InputError.of("weight", f"{error.rule} Or give a number of votes.", value) from None
    if not isinstance(value, Real) or isinstance(value, bool):
        words = ", ".join(map(repr, VOTES))
        raise InputError.of("weight", f"must be a number of votes or one of {words}; got {value!r}.", value)
    return float(resolve_weights([value], [str(name)])[0])


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
    if hasattr(value, "columns"):
        value = _levels_of_frame(value, report)
    elif hasattr(value, "dropna"):  # a Series
        value = {"features": value.dropna().to_dict()}
    if isinstance(value, Mapping):
        nested = all(isinstance(value.get(level, {}), Mapping) for level in _LEVELS)
        return read_weights(value if nested and set(value) <= {"default", *_LEVELS} else {"features": value}, report)
    with reported(report):
        if not isinstance(value, Iterable) or isinstance(value, str) or getattr(value, "shape", None) == ():
            return Weights(default=float(resolve_weights(value, ["every feature"])[0]))
        values = list(value)
        return tuple(resolve_weights(values, [f"x{i}" for i in range(len(values))]).tolist())
    return Weights()


def read_weights(value: Any, report: Report) -> Weights | tuple[float, ...]:
    """Return weights as a study file has them: a mapping must have the keys of :class:`Weights`."""
    if not isinstance(value, Mapping):
        return as_weights(value, report)
    known = ("default", *_LEVELS)
    for key in value:
        if key not in known:
            hint = did_you_mean(key, known) or " Names of features belong below 'features'."
            report((key,), f"must be one of {', '.join(map(repr, known))}; got {key!r}.{hint}")
    default = DEFAULT_WEIGHT
    if value.get("default") is not None:
        with reported(report, ("default",)):
            default = float(resolve_weights(value["default"], ["default"])[0])
    return Weights(default, **{level: _stated(value.get(level), below(report, level)) for level in _LEVELS})


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
            found.append((name, as_stated(name, weight)))
    return tuple(found)


def _levels_of_frame(frame: Any, report: Report) -> dict[str, Any]:
    """Return the rows of a DataFrame with the columns feature (or block) and weight as a mapping."""
    try:
        resolve_weights(frame.iloc[:0], ["x"])  # the columns are there; what the names refer to shows later
    except InputError as error:
        report((), error.rule)
        return {}
    key = "feature" if "feature" in frame.columns else "block"
    rows = frame.dropna(subset=["weight"])
    twice = rows[key][rows[key].duplicated()]
    if len(twice):
        report((), f"has more than one weight for {key} {twice.iloc[0]!r}; keep one row.")
    return {f"{key}s": dict(zip(rows[key].tolist(), rows["weight"].tolist(), strict=True))}
