"""Rules in sentences."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .._plain import counted, listing
from ..constraints import KINDS, Constraint
from ..constraints.arguments import shown
from ..constraints.sizes import SUPPORTED
from ..constraints.weighted_sums import sum_in_words
from ..exceptions import shortened

Given = Mapping[str, Any]
_LONGEST = 60  # letters of a name


def sentence(constraint: Constraint) -> str:
    """Return what a constraint asks for.

    Examples
    --------
    >>> from ubayfs import cannot_link, max_size, require
    >>> sentence(max_size(1)), sentence(require("age")), sentence(cannot_link(["mean", "worst"], on="blocks"))
    ('At most 1 feature', 'With age', 'At most one of the blocks mean and worst')
    """
    given = dict(constraint.arguments)
    if constraint.kind in _SENTENCES:
        return _SENTENCES[constraint.kind](given)
    listed = [f"{name} {shown(value)}" for name, value in given.items() if name not in ("rho", "price")]
    return f"{KINDS[constraint.kind].meaning}: {', '.join(listed)}"


def strictness_in_words(constraint: Constraint, n_models: int) -> str:
    """Return how strictly a constraint is meant.

    Examples
    --------
    >>> from ubayfs import decorrelate, max_size
    >>> strictness_in_words(max_size(10, price=0.2), 100), strictness_in_words(max_size(10), 100)
    ('wish: one violation costs 20 of 100 votes', 'must')
    >>> strictness_in_words(decorrelate(0.8), 100)
    'wish: the stronger the correlation, the more it costs'
    """
    price, rho = constraint.price, constraint.rho
    if isinstance(price, tuple) or isinstance(rho, tuple):
        return "wish: each condition has its own price"
    if price == 0 or rho == 0:
        return "no effect: it costs nothing to violate it"
    if price is not None:
        return f"wish: one violation costs {price * n_models:g} of {n_models:,} votes"
    if rho is None:
        return "wish: the stronger the correlation, the more it costs"
    return "must" if rho == math.inf else f"wish of strength {rho:g}"


def _items(given: Given, key: str = "features") -> str:
    return ("the blocks " if given.get("on") == "blocks" else "") + _names(given[key])


def _names(names: Iterable[Any]) -> str:
    return listing([shortened(str(name), _LONGEST) for name in names])


def _size(words: str, given: Given) -> str:
    n = given["n"]
    return f"{words} {'as many features as the data support' if n == SUPPORTED else counted(n, 'feature')}"


def _per_block(given: Given) -> str:
    return _size("At most", given) + (f" of {_names(given['blocks'])}, each" if given["blocks"] else " of each block")


def _budget(given: Given) -> str:
    costs = given["costs"]
    pairs = costs if costs and isinstance(costs[0], tuple) else ()
    named = "of the table of knowledge" if costs is None else _names(f"{name} {cost:g}" for name, cost in pairs)
    return f"Total cost at most {given['budget']:g} (costs: {named or f'{len(costs):,} numbers'})"


def _linear(given: Given) -> str:
    A, b = given["A"], given["b"]
    if not isinstance(A, tuple):
        return f"{counted(A.shape[0], 'condition')} on sums of {counted(A.shape[1], 'column')}"
    blocks = "" if given["blocks"] is None else " (blocks)"
    return f"{sum_in_words(A)} at most {b if isinstance(b, float) else b[0]:g}{blocks}"


_SENTENCES: dict[str, Callable[[Given], str]] = {
    "max_size": lambda given: _size("At most", given),
    "min_size": lambda given: _size("At least", given),
    "exact_size": lambda given: _size("Exactly", given),
    "max_per_block": _per_block,
    "max_per_cluster": lambda given: (
        f"{_size('At most', given)} of each cluster with correlations above {given['threshold']:g}"
    ),
    "max_blocks": lambda given: f"Features of at most {counted(given['n'], 'block')}",
    "must_link": lambda given: f"All or none of {_items(given)}",
    "cannot_link": lambda given: f"At most one of {_items(given)}",
    "implies": lambda given: f"{_items(given, 'if_features')} only with {_items(given, 'then_features')}",
    "at_least_one": lambda given: f"At least one of {_items(given)}",
    "require": lambda given: f"With {_items(given)}",
    "exclude": lambda given: f"Without {_items(given)}",
    "decorrelate": lambda given: (
        f"No two features with a {given['method'].capitalize()} correlation above {given['threshold']:g}"
    ),
    "cost_budget": _budget,
    "linear": _linear,
}
