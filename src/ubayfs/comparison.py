"""Two results side by side: which features changed, what was different, and which difference made the change.

Why a feature came or went is not guessed from numbers but tried out: the first decision is made again with only the
evidence, only the prior, or only the constraints of the second. A change that shows then already has its cause; one
that shows in none of the three needs several of them together.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .constraints import Constraint
from .exceptions import UBayFSError, UBayFSWarning
from .results import Result
from .selection import Selection
from .workflow import decide

# What a decision rests on, and the arguments of `decide` that hold it.
_PRIOR = ("weights", "prior")
_CONSTRAINTS = ("constraints", "blocks", "constraint_strength", "min_votes", "optimizer", "time_limit")
_TOGETHER = "differences taken together"
_SHOWN = 10  # changed weights that the text lists


@dataclass(frozen=True)
class Side:
    """A feature in one result: its votes, prior weight and posterior importance."""

    count: int
    weight: float
    importance: float


@dataclass(frozen=True)
class FeatureChange:
    """What happened to a feature from the first result to the second.

    Attributes
    ----------
    feature : str
    change : {"added", "removed", "kept"}
    first, second : Side or None
        None where the result does not know the feature.
    causes : tuple of str
        Of "evidence", "prior" and "constraints": each alone makes the change; "differences taken together" when it
        takes more than one of them. Empty when the feature stayed and when causes could not be tried out.
    """

    feature: str
    change: str
    first: Side | None
    second: Side | None
    causes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Difference:
    """A setting that is not the same in both results."""

    setting: str
    first: Any
    second: Any


@dataclass(frozen=True)
class Comparison:
    """Two results side by side.

    Attributes
    ----------
    features : tuple of FeatureChange
        All features that are chosen in at least one result: added ones, removed ones, kept ones.
    differences : tuple of Difference
        Settings and constraints.
    weights : tuple of Difference
        Prior weights by feature, the largest change first.
    value, gap : tuple of float
        Of the first and of the second result.
    jaccard : float
        Similarity of the two sets.
    note : str
        Why causes could not be tried out; empty if they were.
    """

    features: tuple[FeatureChange, ...]
    differences: tuple[Difference, ...]
    weights: tuple[Difference, ...]
    value: tuple[float, float]
    gap: tuple[float, float]
    jaccard: float
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return everything in plain types."""
        return asdict(self)

    def to_text(self) -> str:
        """Return the comparison in words, for a terminal or a message."""
        return "\n".join(_lines(self))


def compare(first: Result, second: Result) -> Comparison:
    """Compare two results and find out why they differ.

    Parameters
    ----------
    first, second : Result
        From :func:`~ubayfs.results.read_result`. When a study has a `decorrelate` constraint, its data are read again.

    Returns
    -------
    comparison : Comparison
    """
    one, two = first.selection, second.selection
    old, new = set(one.features), set(two.features)
    causes, note = _causes(first, second)
    sides = _sides(one), _sides(two)
    ordered = [
        *((name, "added") for name in two.features if name not in old),
        *((name, "removed") for name in one.features if name not in new),
        *((name, "kept") for name in one.features if name in new),
    ]
    features = tuple(
        FeatureChange(name, change, sides[0].get(name), sides[1].get(name), causes.get(name, ()))
        for name, change in ordered
    )
    union = len(old | new)
    return Comparison(
        features,
        tuple(_differences(first, second)),
        tuple(_changed_weights(*sides)),
        (one.value, two.value),
        (one.gap, two.gap),
        len(old & new) / union if union else 1.0,
        note,
    )


def _sides(selection: Selection) -> dict[str, Side]:
    n = len(selection.feature_names)
    counts = np.zeros(n, dtype=int) if selection.counts is None else selection.counts
    weights = np.zeros(n) if selection.weights is None else selection.weights
    columns = (selection.feature_names, counts.tolist(), weights.tolist(), selection.importance.tolist())
    return {name: Side(count, weight, importance) for name, count, weight, importance in zip(*columns, strict=True)}


def _changed_weights(first: Mapping[str, Side], second: Mapping[str, Side]) -> list[Difference]:
    changed = [
        Difference(name, side.weight, second[name].weight)
        for name, side in first.items()
        if name in second and side.weight != second[name].weight
    ]
    return sorted(changed, key=lambda one: -abs(one.second - one.first))


def _causes(first: Result, second: Result) -> tuple[dict[str, tuple[str, ...]], str]:
    """Return which ingredient alone changes each feature; or nothing, and why it could not be tried."""
    names = first.evidence.feature_names
    if set(first.selection.features) == set(second.selection.features):
        return {}, ""
    if not np.array_equal(names, second.evidence.feature_names):
        return {}, "The results are on different features, so that no part of one can be put into the other."
    try:
        old, new = (result.study.arguments(names) for result in (first, second))
        data = [_data(result) for result in (first, second)]
        swaps = {
            "evidence": (second.evidence, old, data[0]),
            "prior": (first.evidence, {**old, **{key: new[key] for key in _PRIOR}}, data[0]),
            "constraints": (first.evidence, {**old, **{key: new[key] for key in _CONSTRAINTS}}, data[1]),
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UBayFSWarning)  # the results have theirs already
            found = {
                cause: set(decide(evidence, **{**arguments, "n_alternatives": 0}, X=X).features)
                for cause, (evidence, arguments, X) in swaps.items()
            }
    except (UBayFSError, OSError) as error:
        return {}, f"Why they changed could not be tried out: {error}"
    before, after = set(first.selection.features), set(second.selection.features)
    alone = {
        name: tuple(cause for cause, chosen in found.items() if (name in chosen) == (name in after))
        for name in before ^ after
    }
    return {name: causes or (_TOGETHER,) for name, causes in alone.items()}, ""


def _data(result: Result) -> Any:
    """Return the data of a result if its constraints need them."""
    needed = any(one.kind == "decorrelate" for one in result.study.constraints)
    return result.study.read_data() if needed else None


def _differences(first: Result, second: Result) -> Iterator[Difference]:
    """Yield settings that differ, as the study files name them; weights come feature by feature elsewhere."""
    one, two = (_settings(result) for result in (first, second))
    for key in sorted(one.keys() | two.keys()):
        if one.get(key) != two.get(key) and key.split(".")[0] in ("data", "evidence", "decision", "blocks"):
            yield Difference(key, one.get(key), two.get(key))
    if one.get("prior.kind") != two.get("prior.kind"):
        yield Difference("prior.kind", one.get("prior.kind"), two.get("prior.kind"))
    rows = [[repr(one) for one in _constraints(result)] for result in (first, second)]
    for gone in (row for row in rows[0] if row not in rows[1]):
        yield Difference("constraint", gone, None)
    for come in (row for row in rows[1] if row not in rows[0]):
        yield Difference("constraint", None, come)
    fingerprints = [result.evidence.settings.get("data_fingerprint") for result in (first, second)]
    if fingerprints[0] != fingerprints[1]:
        yield Difference("contents of the data", *(str(one)[:12] for one in fingerprints))


def _constraints(result: Result) -> Iterable[Constraint]:
    """Return the constraints of a result, those that words of the prior stand for ("unlikely") included."""
    try:
        found: list[Constraint] = result.study.arguments(result.evidence.feature_names)["constraints"]
    except (UBayFSError, OSError):  # a table of the study is gone
        return result.study.constraints
    return found


def _settings(result: Result) -> dict[str, Any]:
    """Return the settings of a study by dotted keys; the same file has the same path, wherever the study lies."""
    flat = _flat(result.study.to_dict())
    for key in ("data.path", "blocks.table"):
        if isinstance(flat.get(key), str):
            flat[key] = os.path.abspath(result.study.folder / flat[key])
    return flat


def _flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested mappings as one, with dotted keys."""
    flat: dict[str, Any] = {}
    for key, value in settings.items():
        if isinstance(value, Mapping):
            flat.update(_flat(value, f"{prefix}{key}."))
        else:
            flat[f"{prefix}{key}"] = value
    return flat


# -- in words ----------------------------------------------------------------------------------------------------------


def _lines(comparison: Comparison) -> Iterator[str]:
    groups = {
        change: [one for one in comparison.features if one.change == change] for change in ("added", "removed", "kept")
    }
    if not groups["added"] and not groups["removed"]:
        yield f"Both results choose the same {len(groups['kept'])} features."
    else:
        yield (
            f"{len(groups['kept'])} features are in both sets, {len(groups['added'])} came and "
            f"{len(groups['removed'])} went (Jaccard similarity {comparison.jaccard:.2f})."
        )
    for change, title in (("added", "Came"), ("removed", "Went")):
        if groups[change]:
            yield f"\n{title}"
            yield from (f"  {_told(one)}" for one in groups[change])
    if groups["kept"]:
        yield "\nStayed"
        yield f"  {', '.join(one.feature for one in groups['kept'])}"
    if comparison.note:
        yield f"\n{comparison.note}"
    yield from _told_settings(comparison)
    yield (
        f"\nValue {comparison.value[0]:.6g} (gap {comparison.gap[0]:.2g}) before, {comparison.value[1]:.6g} "
        f"(gap {comparison.gap[1]:.2g}) after. Values compare only under the same evidence, prior and constraints."
    )


def _told(one: FeatureChange) -> str:
    numbers = []
    for label, field in (("votes", "count"), ("weight", "weight"), ("importance", "importance")):
        before, after = (_number(getattr(side, field, None)) for side in (one.first, one.second))
        numbers.append(f"{label} {before}" if before == after else f"{label} {before} -> {after}")
    because = f"; because of the {' or the '.join(one.causes)}" if one.causes else ""
    return f"{one.feature}: {', '.join(numbers)}{because}"


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.4g}"


def _told_settings(comparison: Comparison) -> Iterator[str]:
    if not comparison.differences and not comparison.weights:
        yield "\nNothing was asked differently."
        return
    yield "\nAsked differently"
    for one in comparison.differences:
        if one.setting == "constraint":
            yield f"  constraint {'gone: ' + one.first if one.second is None else 'new: ' + one.second}"
        else:
            yield f"  {one.setting}: {one.first} -> {one.second}"
    for one in comparison.weights[:_SHOWN]:
        yield f"  weight of {one.setting}: {one.first:g} -> {one.second:g}"
    if len(comparison.weights) > _SHOWN:
        yield f"  and {len(comparison.weights) - _SHOWN} more weights"
