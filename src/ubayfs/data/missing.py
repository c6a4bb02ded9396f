"""Values that a table does not have: NaN in X. What is done about them, by rule, and helpers that respect them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arguments import Array, Ints, Mask, check_choice, check_real
from ..exceptions import Advice, InputError
from .matrix import feature_chunks

# What may be done about missing values of features; see docs/data.md.
MISSING_RULES = ("error", "available", "drop_rows", "drop_columns", "median")
MAX_MISSING = 0.5

# What selectors that need complete data see instead: statistics of the samples of their own run.
FILLS = {"available": "mean", "median": "median"}


def check_missing(missing: Any, max_missing: Any) -> tuple[str, float]:
    """Return the rule and the largest share of missing values, or raise if they break a rule of their own."""
    return check_choice("missing", missing, MISSING_RULES), check_real("max_missing", max_missing, low=0.0, high=1.0)


@dataclass(frozen=True, eq=False)
class Gaps:
    """Where a table has gaps, and which part of it a rule leaves."""

    n_missing: Ints  # missing values of each column, (n_features,)
    rows: Mask  # samples that stay, (n_samples,)
    columns: Mask  # features that stay: no more of their values are missing than the rule allows, (n_features,)
    notes: tuple[Advice, ...]  # what became of the missing values

    @classmethod
    def from_table(cls, values: Array, names: Array, rule: str, max_missing: float = MAX_MISSING) -> Gaps | None:
        """Look for gaps in values of shape (n_samples, n_features); None if there are none."""
        n_samples, n_features = values.shape
        n_missing, complete = np.zeros(n_features, dtype=np.intp), np.ones(n_samples, dtype=bool)
        for part in feature_chunks(n_features):
            absent = np.isnan(values[:, part])
            if absent.any():
                n_missing[part] = absent.sum(axis=0)
                complete &= ~absent.any(axis=1)
        if complete.all():
            return None
        some, everything = n_missing > 0, np.ones(n_samples, dtype=bool)
        facts = {
            "n_values": int(n_missing.sum()),
            "n_samples": int((~complete).sum()),
            "n_features": int(some.sum()),
            "features": [str(name) for name in names[some]],
        }
        note = Advice(f"missing_{rule}", facts)
        if rule == "drop_rows":
            return cls(n_missing, complete, np.ones(n_features, dtype=bool), (note,))
        if rule == "drop_columns":
            return cls(n_missing, everything, ~some, (note,))
        mostly_missing = (n_missing > max_missing * n_samples) | (n_missing == n_samples)
        features = [str(name) for name in names[mostly_missing]]
        facts = {"n_features": len(features), "max_missing": max_missing, "features": features}
        notes = (note, Advice("mostly_missing", facts)) if features else (note,)
        return cls(n_missing, everything, ~mostly_missing, notes)

    def too_little(self, rule: str, better: str) -> str:
        """Return the message on a rule that leaves too few samples or no feature; empty if it leaves enough."""
        if rule == "drop_rows" and self.rows.sum() < 2:
            return f"leaves {self.rows.sum()} of {len(self.rows)} samples; {better}."
        way_out = better if rule == "drop_columns" else "raise max_missing, or fill in more values"
        return "" if self.columns.any() else f"leaves no feature; {way_out}."

    def left_of(self, matrix: Array, rule: str) -> Array:
        """Return what a rule leaves of a matrix; features that are left out become 0, whoever looks at them."""
        if wrong := self.too_little(rule, "use missing='available'"):
            raise InputError.of("missing", f"{rule!r} {wrong}", rule)
        kept = matrix if self.rows.all() else matrix[self.rows]
        if not self.columns.all():
            kept = np.array(kept, order="K")
            kept[:, ~self.columns] = 0.0
        return kept


def samples_of(values: Any, rows: Mask) -> Any:
    """Return some samples of a table, of a target or of groups, in the type that they have."""
    if values is None:
        return None
    positions = np.flatnonzero(rows)
    if hasattr(values, "iloc"):
        return values.iloc[positions]
    values = values.tocsr() if hasattr(values, "tocsr") else values
    return (values if hasattr(values, "shape") else np.asarray(values))[positions]


def varying_columns(values: Array) -> Mask:
    """Return which columns have different values among those that are present, of shape (n_columns,).

    >>> varying_columns(np.array([[1.0, 1.0, np.nan], [np.nan, 2.0, np.nan], [1.0, np.nan, np.nan]]))
    array([False,  True, False])
    """
    return np.asarray(np.fmin.reduce(values, axis=0) < np.fmax.reduce(values, axis=0))


def filled(values: Array, how: str) -> Array:
    """Return a copy of the samples of one run in which each gap has the mean or median of its column.

    A column without any value becomes 0, so that it is constant; one whose values are all the same stays constant.

    >>> filled(np.array([[1.0, np.nan], [np.nan, np.nan], [4.0, np.nan]]), "mean")
    array([[1. , 0. ],
           [2.5, 0. ],
           [4. , 0. ]])
    """
    absent = np.isnan(values)
    columns = np.flatnonzero(absent.any(axis=0))
    part, gaps = values[:, columns], absent[:, columns]
    low, high = np.fmin.reduce(part, axis=0), np.fmax.reduce(part, axis=0)
    n_present = len(part) - gaps.sum(axis=0)
    with np.errstate(all="ignore"):
        if how == "mean":
            center = np.where(gaps, 0.0, part).sum(axis=0, dtype=np.float64) / n_present
        else:
            ascending = np.sort(part, axis=0)  # gaps come last
            middle = [np.take_along_axis(ascending, n[None], axis=0)[0] for n in ((n_present - 1) // 2, n_present // 2)]
            center = middle[0].astype(np.float64) / 2 + middle[1].astype(np.float64) / 2
        # Rounding must not take it out of the range: a constant column would seem to vary.
        center = np.nan_to_num(np.clip(center.astype(values.dtype), low, high), nan=0.0)
    complete = np.array(values)
    complete[:, columns] = np.where(gaps, center, part)
    return complete
