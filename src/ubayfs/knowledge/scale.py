"""The scale of relevance: what an expert states of a feature, in votes or in words.

==============  =====================================================================================================
neutral         the default weight: the models decide
likely          as if a quarter of the models had chosen the feature
very likely     as if all models had selected it
unlikely        taken only if it has over half of all models' votes more than the feature it displaces: an ``exclude``
                of price 0.5, since a weight below the default changes next to nothing
==============  =====================================================================================================

Under the hyperdirichlet prior a run is one vote for its whole set: there, a weight counts like runs that chose the
feature alone.
"""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np

from .._arguments import check_choice
from ..exceptions import InputError, repr_of

DEFAULT_WEIGHT = 0.01
# Weights are votes: more than any ensemble casts, and little enough that sums over all features are finite and exact.
LARGEST_WEIGHT = 1e12

VERY_LIKELY, UNLIKELY = "very likely", "unlikely"
# Share of the models whose votes a word is worth; None: the default weight.
VOTES: dict[str, float | None] = {VERY_LIKELY: 1.0, "likely": 0.25, "neutral": None, UNLIKELY: None}
# Share of the models whose votes an unlikely feature needs more than the one that it displaces.
UNLIKELY_PRICE = 0.5

# A weight as it was stated: votes, or a word of the scale.
Stated = float | str


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
        rule = f"must be a number of votes or one of {', '.join(map(repr, VOTES))}; got {repr_of(value)}."
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


def number_or_word(value: Any) -> Any:
    """Return a number that is written as text, as beside words of the scale; the decimal sign may be a comma."""
    try:
        return float(value.replace(",", ".", 1)) if isinstance(value, str) else value
    except ValueError:
        return value


def check_weight(argument: str, value: Any) -> float:
    """Return one prior weight: a positive number of at most 1e12, or raise naming `argument`, rule and value.

    Examples
    --------
    >>> check_weight("default", 2)
    2.0
    """
    weight = as_votes(value)
    if weight is None:
        raise InputError.of(argument, f"must be a number; got {repr_of(value)}.", value)
    check_range(argument, weight, "got")
    return weight


def as_votes(value: Any) -> float | None:
    """Return a number as a float, infinite if it is too large for one; None if it is not a number."""
    if not isinstance(value, Real) or isinstance(value, bool | np.bool_):
        return None
    try:
        return float(value)
    except OverflowError:
        return -math.inf if value < 0 else math.inf


def check_range(argument: str, weight: float, subject: str, more: str = "") -> None:
    """Raise unless a weight is positive, finite and at most 1e12."""
    shown = f"{subject} {weight!r}{more}"
    if not (math.isfinite(weight) and weight > 0):
        rule = f"must be positive and finite; {shown}. A feature without prior knowledge takes {DEFAULT_WEIGHT}."
        raise InputError.of(argument, rule, weight)
    if weight > LARGEST_WEIGHT:
        raise InputError.of(
            argument,
            f"must be at most {LARGEST_WEIGHT:g}; {shown}. Weights count votes: one as large as the number of models "
            "already outweighs the data; use require() to force a feature into the set.",
            weight,
        )
