"""Which class each feature marks, where there are more than two or a sample may have several; levels of categories."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._arguments import Array, Mask
from .._plain import number
from ..data.categories import indicators
from ..data.feature_data import FeatureData
from ..data.target import Target
from ..selectors.concordance import Contrast, concordance
from ..selectors.turns import is_nominal


def marked_class(data: FeatureData, position: int) -> dict[str, Any] | None:
    """Return the class, or label, that a feature tells best from all other samples, and how.

    It is the one with the largest Somers' D in absolute value. "level" names the level of a category without order
    whose indicator has it; "d" is above 0 where the feature is higher, or the level more frequent, in the class. None
    where there are but two classes, an order of them, or no classes; and where the feature tells nothing.
    """
    members = _members(data.target)
    if members is None:
        return None
    values, levels = np.asarray(data.X[:, [position]], dtype=np.float64), data.levels.get(position)
    names: list[str | None] = [None]
    if levels is not None and levels.n_columns > 1:
        values, names = indicators(values[:, 0], levels), list(levels.labels)
    d = _somers(values, members)
    place, column = np.unravel_index(int(np.argmax(np.abs(d))), d.shape)
    if d[place, column] == 0:
        return None
    label = data.target.class_counts[int(place)][0]
    return {"label": label, "level": names[int(column)], "d": number(d[place, column])}


def _members(target: Target) -> Mask | None:
    """Return who is in each class or has each label, of shape (n_classes, n_samples)."""
    if target.task == "multilabel":
        return np.asarray(target.values).T > 0
    return np.asarray(target.values) == np.arange(target.n_classes)[:, None] if is_nominal(target) else None


def _somers(values: Array, members: Mask) -> Array:
    """Return Somers' D of each class against all other samples, of shape (n_classes, n_columns)."""
    present = ~np.isnan(values)
    n_upper, n_lower = members.astype(float) @ present, (~members).astype(float) @ present
    n_pairs = n_upper * n_lower
    contrasts = [Contrast(member, ~member) for member in members]
    everybody = np.ones((1, len(values)), dtype=bool)
    return concordance(values, everybody, contrasts, n_pairs[:, None])[:, 0] / np.maximum(n_pairs, 1)


def category_of(data: FeatureData, position: int) -> dict[str, Any] | None:
    """Return the levels of a category with their numbers of samples; None for numbers."""
    levels = data.levels.get(position)
    if levels is None:
        return None
    codes = np.asarray(data.X[:, position], dtype=np.float64)
    counts = [int((codes == code).sum()) for code in range(len(levels.labels))]
    return {"labels": list(levels.labels), "ordered": levels.ordered, "counts": counts}


def mark_text(mark: Mapping[str, Any] | None) -> str:
    """Return which class a feature marks, in words.

    >>> mark_text({"label": "BL", "level": None, "d": -0.9}), mark_text({"label": "lung", "level": "yes", "d": 0.5})
    ('low in BL (D -0.90)', "'yes' more often in lung (D +0.50)")
    """
    if mark is None:
        return ""
    d = f"(D {mark['d']:+.2f})"
    if mark["level"] is None:
        return f"{'high' if mark['d'] > 0 else 'low'} in {mark['label']} {d}"
    return f"'{mark['level']}' {'more' if mark['d'] > 0 else 'less'} often in {mark['label']} {d}"


def levels_text(category: Mapping[str, Any] | None) -> str:
    """Return the levels of a category.

    >>> levels_text({"labels": ["I", "II"], "ordered": True, "counts": [5, 7]})
    'I (5) < II (7)'
    """
    if category is None:
        return ""
    parts = [f"{label} ({n:,})" for label, n in zip(category["labels"], category["counts"], strict=True)]
    return (" < " if category["ordered"] else ", ").join(parts)
