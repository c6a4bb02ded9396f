"""How many features a run may choose: a number, the default for so many features, or one that is drawn for each run.

With half of all features in every set, votes hardly tell features apart: the default is at most a quarter of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .._arguments import check_int
from ..exceptions import Advice, InputError, repr_of

RANDOM = "random"
_USUAL = 10  # where a quarter of the features is more


def check_per_model(per_model: Any) -> None:
    """Raise unless `n_features_per_model` is a positive whole number, "random" or None."""
    if isinstance(per_model, str):
        if per_model != RANDOM:
            rule = f"must be a whole number >= 1 or {RANDOM!r}; got {repr_of(per_model)}."
            raise InputError.of("n_features_per_model", rule, per_model)
    elif per_model is not None:
        check_int("n_features_per_model", per_model, low=1)


def features_per_model(per_model: int | str | None, n_features: int) -> int | str:
    """Return how many of `n_features` features a run may choose, or "random"; raise if there are not so many.

    Where nothing is given that is a quarter of the features, at least 1 and at most 10.

    >>> [features_per_model(None, n_features) for n_features in (3, 8, 30, 1000)]
    [1, 2, 7, 10]
    """
    default = min(_USUAL, max(1, n_features // 4))
    if per_model is None:
        return default
    if isinstance(per_model, str):
        return per_model
    if per_model > n_features:
        rule = f"must be at most the number of features, {n_features}; got {per_model}. Leave it out to take {default}."
        raise InputError.of("n_features_per_model", rule, per_model)
    return int(per_model)


def most_features(per_model: int | str, n_features: int) -> int:
    """Return the most that any run may choose; numbers drawn at random are from 1 to 20, or to half of the features.

    >>> [most_features("random", n_features) for n_features in (1, 8, 30, 1000)]
    [1, 4, 15, 20]
    """
    return min(2 * _USUAL, max(1, n_features // 2)) if isinstance(per_model, str) else per_model


def features_advice(numbers: Iterable[int | str | None], n_features: int) -> tuple[Advice, ...]:
    """Return advice if the largest of these numbers is more than a quarter of the features."""
    most, quarter = max((n for n in numbers if isinstance(n, int)), default=0), max(1, n_features // 4)
    if most <= quarter:
        return ()
    facts = {"n_features_per_model": most, "n_features": n_features, "quarter": quarter}
    return (Advice("many_features_per_model", facts),)
