"""Prior weights in all the forms that a user may give them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Set
from numbers import Real
from typing import Any

import numpy as np

from .._arguments import FeatureIndex, Floats, did_you_mean
from ..data.blocks import Blocks
from ..exceptions import InputError

DEFAULT_WEIGHT = 0.01
# Weights are votes: more than any ensemble casts, and little enough that sums over all features are finite and exact.
LARGEST_WEIGHT = 1e12


def resolve_weights(weights: Any, feature_names: Any, blocks: Any = None) -> Floats:
    """Return one prior weight per feature, positive and at most 1e12.

    Parameters
    ----------
    weights : float, array-like, mapping, Series or DataFrame
        - a number: the weight of every feature;
        - a sequence of n_features numbers, in the order of the features;
        - a mapping (or Series) of feature names or positions, or of block names, to numbers. A feature that is
          named itself has that weight, whatever its blocks say; one in several weighted blocks needs equal weights
          there; all others get 0.01;
        - a DataFrame with columns 'feature' and 'weight', or 'block' and 'weight'; other columns are ignored.

        In a Series or DataFrame a missing weight (NaN) leaves the default for that feature.
    feature_names : array-like of str of shape (n_features,)
    blocks : Blocks, mapping or DataFrame, optional
        The blocks that `weights` may name.

    Returns
    -------
    weights : ndarray of float of shape (n_features,)

    Examples
    --------
    >>> resolve_weights({"size": 2, "area": 5}, ["radius", "area", "texture"], {"size": ["radius", "area"]})
    array([2.  , 5.  , 0.01])
    """
    index = FeatureIndex(feature_names)
    known = Blocks.of(blocks)
    if hasattr(weights, "columns"):
        resolved = _from_table(weights, index, known)
    elif hasattr(weights, "index") and hasattr(weights, "to_dict"):
        resolved = _from_pairs(weights.dropna().items(), index, known)
    elif isinstance(weights, Mapping):
        resolved = _from_pairs(weights.items(), index, known)
    else:
        resolved = _from_numbers(weights, index)
    wrong = ~(np.isfinite(resolved) & (resolved > 0))
    if not wrong.any():
        wrong = resolved > LARGEST_WEIGHT
    if wrong.any():
        first, n_wrong = int(wrong.argmax()), int(wrong.sum())
        more = f" ({n_wrong} such weights in all)" if n_wrong > 1 else ""
        _check_range("weights", float(resolved[first]), f"feature {index.names[first]!r} has", more)
    return resolved


def check_weight(argument: str, value: Any) -> float:
    """Return one prior weight: a positive number of at most 1e12, or raise naming `argument`, rule and value.

    Examples
    --------
    >>> check_weight("default", 2)
    2.0
    """
    weight = _as_float(value)
    if weight is None:
        raise InputError.of(argument, f"must be a number; got {value!r}.", value)
    _check_range(argument, weight, "got")
    return weight


def _as_float(value: Any) -> float | None:
    """Return a number as a float, infinite if it is too large for one; None if it is not a number."""
    if not isinstance(value, Real) or isinstance(value, bool | np.bool_):
        return None
    try:
        return float(value)
    except OverflowError:
        return -math.inf if value < 0 else math.inf


def _check_range(argument: str, weight: float, subject: str, more: str = "") -> None:
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
        hint = did_you_mean(name, [*index.names, *blocks.names])
        if not hint:
            hint = " No blocks were given; pass blocks= to name them." if not len(blocks) else ""
        raise InputError.of(argument, f"names {name!r}, which is neither a feature nor a block.{hint}")
    return feature


def _from_numbers(weights: Any, index: FeatureIndex) -> Floats:
    n_features = len(index.names)
    numbers = None
    if isinstance(weights, Real | Iterable) and not isinstance(weights, bool | str | bytes | Set):
        try:
            array = np.asarray(weights)
            numbers = array.astype(np.float64) if array.dtype.kind in "iufO" else None
        except (TypeError, ValueError, OverflowError):
            pass  # refused below, with all other things that are not numbers
    if numbers is None:
        raise InputError.of(
            "weights",
            "must be a number, one number per feature, a mapping by feature or block name, or a table; "
            f"got {weights!r}.",
        )
    if numbers.ndim == 0:
        return np.full(n_features, float(numbers))
    if numbers.shape != (n_features,):
        found = len(numbers) if numbers.ndim == 1 else f"shape {numbers.shape}"
        raise InputError.of("weights", f"must have one number per feature: {n_features}; got {found}.")
    return numbers.copy()


def _number(value: Any, key: object) -> float:
    weight = _as_float(value)
    if weight is None:
        raise InputError.of("weights", f"must be positive numbers; {key!r} has {value!r}.")
    return weight


def _from_pairs(pairs: Iterable[tuple[Hashable, Any]], index: FeatureIndex, blocks: Blocks) -> Floats:
    by_feature: list[tuple[Any, float]] = []
    by_block: list[tuple[str, float]] = []
    for key, value in pairs:
        weight = _number(value, key)
        if isinstance(key, str) and not is_feature(key, index, blocks, "weights"):
            by_block.append((key, weight))
        else:
            by_feature.append((key, weight))
    return _combine(by_feature, by_block, index, blocks)


def key_column(table: Any) -> str:
    """Return which column of a DataFrame of weights has the names, 'feature' or 'block', or raise."""
    key = "feature" if "feature" in table.columns else "block"
    if key not in table.columns or "weight" not in table.columns:
        raise InputError.of(
            "weights",
            "as a DataFrame needs the columns 'feature' and 'weight', or 'block' and 'weight'; "
            f"got {list(map(str, table.columns))}.",
        )
    return key


def _from_table(table: Any, index: FeatureIndex, blocks: Blocks) -> Floats:
    from pandas import isna

    key = key_column(table)
    rows = zip(table[key], table["weight"], strict=True)
    pairs = [(name, _number(weight, name)) for name, weight in rows if not isna(weight)]
    return _combine(pairs, [], index, blocks) if key == "feature" else _combine([], pairs, index, blocks)


def _combine(
    by_feature: list[tuple[Any, float]], by_block: list[tuple[str, float]], index: FeatureIndex, blocks: Blocks
) -> Floats:
    """Spread block weights over their members, then let the features that are named themselves override."""
    named = index.positions([key for key, _ in by_feature], "weights")
    resolved = np.full(len(index.names), DEFAULT_WEIGHT)
    source: dict[int, str] = {}
    if len({name for name, _ in by_block}) < len(by_block):
        raise InputError.of("weights", "name a block more than once; give each block one weight.")
    membership = blocks.matrix(index)
    overridden = set(named.tolist())
    for name, weight in by_block:
        row = blocks.position(name, "weights")
        for feature in membership.indices[membership.indptr[row] : membership.indptr[row + 1]].tolist():
            earlier = source.setdefault(feature, name)
            if earlier != name and resolved[feature] != weight and feature not in overridden:
                raise InputError.of(
                    "weights",
                    f"give feature {index.names[feature]!r} two values: {resolved[feature]:g} by block "
                    f"{earlier!r} and {weight:g} by block {name!r}. Give this feature its own weight, or both blocks "
                    "the same.",
                )
            resolved[feature] = weight
    resolved[named] = [weight for _, weight in by_feature]
    return resolved
