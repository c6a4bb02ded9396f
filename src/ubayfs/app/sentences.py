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

Arguments = Mapping[str, Any]
_LONGEST = 60  # letters of a name


def sentence(constraint: Constraint) -> str:
    """Return what a constraint asks for.

    Examples
    --------
    >>> from ubayfs import cannot_link, max_size, require
    >>> sentence(max_size(1)), sentence(require("age")), sentence(cannot_link(["mean", "worst"], on="blocks"))
    ('At most 1 feature', 'With age', 'At most one of the blocks mean and worst')
    """
    arguments = dict(constraint.arguments)
    if constraint.kind in _SENTENCES:
        return _SENTENCES[constraint.kind](arguments)
    listed = [f"{name} {shown(value)}" for name, value in arguments.items() if name not in ("rho", "price")]
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


def _items(arguments: Arguments, key: str = "features") -> str:
    return ("the blocks " if arguments.get("on") == "blocks" else "") + _names(arguments[key])


def _names(names: Iterable[Any]) -> str:
    return listing([shortened(str(name), _LONGEST) for name in names])


def _size(words: str, arguments: Arguments) -> str:
    n = arguments["n"]
    return f"{words} {'as many features as the data support' if n == SUPPORTED else counted(n, 'feature')}"


def _per_block(arguments: Arguments) -> str:
    return _size("At most", arguments) + (
        f" of {_names(arguments['blocks'])}, each" if arguments["blocks"] else " of each block"
    )


def _budget(arguments: Arguments) -> str:
    costs = arguments["costs"]
    pairs = costs if costs and isinstance(costs[0], tuple) else ()
    named = "of the table of knowledge" if costs is None else _names(f"{name} {cost:g}" for name, cost in pairs)
    return f"Total cost at most {arguments['budget']:g} (costs: {named or f'{len(costs):,} numbers'})"


def _linear(arguments: Arguments) -> str:
    A, b = arguments["A"], arguments["b"]
    if not isinstance(A, tuple):
        return f"{counted(A.shape[0], 'condition')} on sums of {counted(A.shape[1], 'column')}"
    blocks = "" if arguments["blocks"] is None else " (blocks)"
    return f"{sum_in_words(A)} at most {b if isinstance(b, float) else b[0]:g}{blocks}"


_SENTENCES: dict[str, Callable[[Arguments], str]] = {
    "max_size": lambda arguments: _size("At most", arguments),
    "min_size": lambda arguments: _size("At least", arguments),
    "exact_size": lambda arguments: _size("Exactly", arguments),
    "max_per_block": _per_block,
    "max_per_cluster": lambda arguments: (
        f"{_size('At most', arguments)} of each cluster with correlations above {arguments['threshold']:g}"
    ),
    "max_blocks": lambda arguments: f"Features of at most {counted(arguments['n'], 'block')}",
    "must_link": lambda arguments: f"All or none of {_items(arguments)}",
    "cannot_link": lambda arguments: f"At most one of {_items(arguments)}",
    "implies": lambda arguments: f"{_items(arguments, 'if_features')} only with {_items(arguments, 'then_features')}",
    "at_least_one": lambda arguments: f"At least one of {_items(arguments)}",
    "require": lambda arguments: f"With {_items(arguments)}",
    "exclude": lambda arguments: f"Without {_items(arguments)}",
    "decorrelate": lambda arguments: (
        f"No two features with a {arguments['method'].capitalize()} correlation above {arguments['threshold']:g}"
    ),
    "cost_budget": _budget,
    "linear": _linear,
}
