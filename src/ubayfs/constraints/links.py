"""Relations between features or blocks: together, not together, one because of another; required and excluded ones."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from .._arguments import Ints, check_choice, check_real
from .._plain import counted
from ..data import correlation
from ..exceptions import ConstraintError, repr_of
from .arguments import Items, as_items, as_price, rho_or_price
from .constraint import (
    Constraint,
    Context,
    Inequalities,
    builder,
    inequalities,
    label_of,
    names_at,
    one_row,
    rows_at,
    with_names,
)


def _linked(features: Any, rho: Any, on: Any, price: Any, at_least: int = 1) -> dict[str, Any]:
    on = check_choice("on", on, ("features", "blocks"))
    items = as_items("features", features)
    if len(items) < at_least:
        raise ConstraintError.of("features", f"must name at least {at_least} {on}; got {repr_of(list(items))}.", items)
    return {"features": items, **rho_or_price(rho, price), "on": on}


def _implications(
    context: Context, first: Any, second: Any, rho: float, on: str, text: str, title: str
) -> Inequalities:
    """One inequality z_i - z_j <= 0 per pair."""
    names, pairs = context.names(on), (first, second)
    label = partial(with_names, text, names, pairs)
    return inequalities(rows_at(pairs, (1.0, -1.0), len(names)), 0.0, rho, label, title, on)


def _together(context: Context, features: Any, rho: float, on: str) -> Inequalities:
    positions = context.positions(features, on, "must_link")
    i, j = np.nonzero(~np.eye(len(positions), dtype=bool))
    title = f"must-link {names_at(context.names(on), positions)}"
    return _implications(context, positions[i], positions[j], rho, on, "must-link {}, {}", title)


@builder(_together, "All or none of {features}")
def must_link(
    features: Items, *, rho: float = math.inf, on: str = "features", price: float | None = None
) -> dict[str, Any]:
    """Select these features all together or not at all: one inequality per ordered pair.

    Parameters
    ----------
    features : iterable of str or int
        At least two, by name or position.

    See Also
    --------
    implies : One way only.
    cannot_link : At most one of them.

    Examples
    --------
    >>> must_link(["radius", "area"])
    must_link(['radius', 'area'])
    >>> must_link(["radius", "area"], price=0.3)
    must_link(['radius', 'area'], price=0.3)
    """
    return _linked(features, rho, on, price, at_least=2)


def _one_sum(context: Context, features: Any, rho: float, on: str, sign: float, kind: str) -> Inequalities:
    positions, names = context.positions(features, on, kind), context.names(on)
    label = f"{label_of(kind)} {names_at(names, positions)}"
    return inequalities(one_row(positions, sign, len(names)), sign, rho, label, on=on)


@builder(partial(_one_sum, sign=1.0, kind="cannot_link"), "At most one of {features}")
def cannot_link(
    features: Items, *, rho: float = math.inf, on: str = "features", price: float | None = None
) -> dict[str, Any]:
    """Select at most one of these features: one inequality, so that each further one counts.

    Parameters
    ----------
    features : iterable of str or int
        At least two, by name or position.

    See Also
    --------
    must_link : All or none of them.
    decorrelate : The same for all pairs of correlated features, softly.

    Examples
    --------
    >>> cannot_link(["mean", "worst"], on="blocks")
    cannot_link(['mean', 'worst'], on='blocks')
    """
    return _linked(features, rho, on, price, at_least=2)


def _if_then(context: Context, if_features: Any, then_features: Any, rho: float, on: str) -> Inequalities:
    origins = context.positions(if_features, on, "implies", "if_features")
    targets = context.positions(then_features, on, "implies", "then_features")
    names, both = context.names(on), np.intersect1d(origins, targets)
    if len(both):
        raise ConstraintError.of("implies", f"has {names[int(both[0])]!r} on both sides; drop it from one.")
    title = f"implies {names_at(names, origins)} -> {names_at(names, targets)}"
    first, second = np.repeat(origins, len(targets)), np.tile(targets, len(origins))
    return _implications(context, first, second, rho, on, "implies {} -> {}", title)


@builder(_if_then, "{if_features} only with {then_features}")
def implies(
    if_features: Items,
    then_features: Items,
    *,
    rho: float = math.inf,
    on: str = "features",
    price: float | None = None,
) -> dict[str, Any]:
    """Select a feature on the left only with all features on the right: one inequality per pair.

    Parameters
    ----------
    if_features, then_features : str, int or iterable of these
        By name or position.

    See Also
    --------
    must_link : Both ways.

    Examples
    --------
    >>> implies("interaction", ["radius", "area"])
    implies(['interaction'], ['radius', 'area'])
    """
    return {
        "if_features": as_items("if_features", if_features),
        "then_features": as_items("then_features", then_features),
        **rho_or_price(rho, price),
        "on": check_choice("on", on, ("features", "blocks")),
    }


@builder(partial(_one_sum, sign=-1.0, kind="at_least_one"), "At least one of {features}")
def at_least_one(
    features: Items, *, rho: float = math.inf, on: str = "features", price: float | None = None
) -> dict[str, Any]:
    """Select at least one of these features: one inequality.

    See Also
    --------
    require : All of them.

    Examples
    --------
    >>> from ubayfs import at_least_one, maximize, max_size
    >>> at_least_one(["CD3", "CD8"])
    at_least_one(['CD3', 'CD8'])
    >>> maximize([0.5, 0.3, 0.2], [max_size(1), at_least_one([1, 2])]).indices.tolist()
    [1]
    """
    return _linked(features, rho, on, price)


def _each(
    context: Context, features: Any, rho: float, on: str, coefficient: float, b: float, kind: str
) -> Inequalities:
    positions, names = context.positions(features, on, kind), context.names(on)
    label = partial(with_names, f"{kind} {{}}", names, (positions,))
    A = rows_at((positions,), (coefficient,), len(names))
    return inequalities(A, b, rho, label, f"{kind} {names_at(names, positions)}", on)


@builder(partial(_each, coefficient=-1.0, b=-1.0, kind="require"), "With {features}")
def require(
    features: Items, *, rho: float = math.inf, on: str = "features", price: float | None = None
) -> dict[str, Any]:
    """Select these features: one inequality each.

    See Also
    --------
    at_least_one : One of them is enough.
    exclude : None of them.

    Examples
    --------
    >>> require("age")
    require(['age'])
    """
    return _linked(features, rho, on, price)


@builder(partial(_each, coefficient=1.0, b=0.0, kind="exclude"), "Without {features}")
def exclude(
    features: Items, *, rho: float = math.inf, on: str = "features", price: float | None = None
) -> dict[str, Any]:
    """Do not select these features: one inequality each.

    See Also
    --------
    require : All of them.

    Examples
    --------
    >>> from ubayfs import exclude, maximize, max_size
    >>> exclude("ACTB")
    exclude(['ACTB'])
    >>> maximize([0.5, 0.3, 0.2], [max_size(1), exclude([0])]).indices.tolist()
    [1]
    """
    return _linked(features, rho, on, price)


def _correlated(context: Context, threshold: float, method: str, rho: Any = None) -> Inequalities:
    *pairs, strength = correlation.PAIRS.find(context.values("decorrelate"), threshold, method)
    with np.errstate(divide="ignore"):
        odds = strength / (1.0 - strength)  # the paper's rho; a correlation of 1 makes the pair hard
    names, n = context.index.names, len(strength)
    label = partial(_correlated_names, method, names, pairs, strength)
    which = f"{counted(n, 'pair')} of correlated features," if n else "no pair with a"
    title = f"decorrelate: {which} {method.capitalize()} correlation above {threshold:g}"
    return inequalities(rows_at(pairs, (1.0, 1.0), len(names)), 1.0, odds if rho is None else rho, label, title)


def _correlated_names(method: str, names: Any, pairs: Sequence[Ints], strength: Any, number: int) -> str:
    return with_names("decorrelate {}, {}", names, pairs, number) + f" (|{method}| {strength[number]:.2f})"


@builder(_correlated, "No two features with a {method} correlation above {threshold}", needs_data=True)
def decorrelate(threshold: float = 0.5, method: str = "spearman", *, price: float | None = None) -> dict[str, Any]:
    """Avoid correlated features: one soft inequality per pair whose absolute correlation exceeds a threshold.

    The relaxation of a pair is the odds of its correlation, ``|tau| / (1 - |tau|)``; a pair that is perfectly
    correlated is a hard inequality. Correlations are those of the data passed as ``X=`` when the constraint is
    resolved.

    Parameters
    ----------
    threshold : float in [0, 1)
    method : {"spearman", "pearson", "kendall"}
    price : float, optional
        What each pair costs, as a share of the models, in place of the relaxation by its correlation.

    See Also
    --------
    max_per_cluster : A limit for each cluster of correlated features.
    cannot_link : The same for features that you name.

    Examples
    --------
    >>> decorrelate(0.8)
    decorrelate(threshold=0.8)
    """
    return {
        "threshold": check_real("threshold", threshold, low=0.0, high=1.0, high_open=True),
        "method": check_choice("method", method, correlation.METHODS),
        **({} if price is None else {"price": as_price(price)}),
    }


def unlikely_constraints(prices: Mapping[str, float]) -> tuple[Constraint, ...]:
    """Return what "unlikely" means: soft exclusions by price, which are knowledge and no demand on the set."""
    by_price: dict[float, list[str]] = {}
    for name, price in prices.items():
        by_price.setdefault(price, []).append(name)
    return tuple(
        replace(exclude(names, price=price), from_prior=True) for price, names in sorted(by_price.items(), reverse=True)
    )
