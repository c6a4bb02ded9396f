"""Two results side by side: which features changed, which settings differ, and which difference made the change.

Why a feature was added or removed is not guessed from numbers but tried out: the first decision is made again with only
the evidence, only the prior, or only the constraints of the second. A change that shows then already has its cause; one
that shows in none of the three needs several of them together.

>>> from ubayfs.results.comparison import compare
>>> from ubayfs.results import read_result
>>> print(compare(read_result("results"), read_result("five")))  # doctest: +SKIP
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._plain import counted, listing, plain
from ..constraints.sizes import SUPPORTED
from ..data.feature_data import FeatureData
from ..decision.selection import Selection
from ..decision.workflow import Decision
from ..ensemble.evidence import Evidence
from ..exceptions import UBayFSError
from ..report.document import Cell, Column, Document, Section
from ..report.tables import Field, as_table
from ..report.terminal import document_text
from ..study import ResolvedStudy, Study, resolve_study
from .result import Result, StoredResult

_TOGETHER = "differences taken together"
_COMPARED = ("data", "evidence", "decision", "blocks")  # sections; weights are compared feature by feature
_OF_PRIOR = {("prior", "kind"), ("prior", "pool"), ("prior", "experts"), ("prior", "trust_in_lists")}
_SHOWN = 10  # changed weights that the text lists


@dataclass(frozen=True, eq=False)
class Undocumented:
    """A decision without a summary, to be compared with results."""

    study: Study
    evidence: Evidence
    selection: Selection


AnyResult = Result | StoredResult | Undocumented


@dataclass(frozen=True)
class Side:
    """A feature in one result: its votes, prior weight and posterior importance."""

    count: int
    weight: float
    importance: float


@dataclass(frozen=True)
class FeatureChange:
    """What happened to a feature from the first result to the second.

    Causes are "evidence", "prior" and "constraints", each of which alone makes the change; "differences taken together"
    when it takes more than one of them. There are none for an unchanged feature, or when they could not be tried out.
    """

    feature: str
    change: str  # "added", "removed" or "unchanged"
    first: Side | None  # None where the result does not know the feature
    second: Side | None
    causes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Difference:
    """A setting that is not the same in both results, None where it is not set; of a "constraint", Constraints."""

    setting: str
    first: Any
    second: Any


@dataclass(frozen=True)
class Comparison:
    """Two results side by side; pairs of numbers are of the first and of the second."""

    features: tuple[FeatureChange, ...]  # chosen in at least one result: added, removed, then unchanged ones
    differences: tuple[Difference, ...]  # settings and constraints
    weights: tuple[Difference, ...]  # of the prior by feature, the largest change first
    value: tuple[float, float]  # score
    gap: tuple[float, float]
    jaccard: float  # similarity of the two sets
    changed_after_votes: tuple[tuple[str, ...], tuple[str, ...]]  # features whose knowledge was, by result
    note: str = ""  # why causes could not be tried out; empty if they were

    def with_change(self, change: str) -> list[FeatureChange]:
        """Return the features that were added or removed, or are unchanged."""
        return [feature for feature in self.features if feature.change == change]

    def to_dict(self) -> dict[str, Any]:
        """Return everything in plain types."""
        return dict(plain(vars(self)))

    def document(self) -> Document:
        """Return the comparison as a document: features with causes, then settings."""
        return _document(self)

    def to_text(self) -> str:
        """Return the comparison in words, for a terminal or a message."""
        return document_text(self.document())


def compare(first: AnyResult, second: AnyResult, data: FeatureData | None = None) -> Comparison:
    """Compare two results and find out why they differ.

    When a constraint of a study rests on correlations, its data are read again, unless they are the given ones.
    """
    before, after = first.selection, second.selection
    old, new = set(before.features), set(after.features)
    studies, note = _resolved(first, second, data)
    causes: dict[str, tuple[str, ...]] = {}
    if studies is not None and old != new and not note:
        causes, note = _causes(first, second, studies)
    sides = _sides(before), _sides(after)
    ordered = [
        *((name, "added") for name in after.features if name not in old),
        *((name, "removed") for name in before.features if name not in new),
        *((name, "unchanged") for name in before.features if name in new),
    ]
    union = len(old | new)
    return Comparison(
        tuple(
            FeatureChange(name, change, sides[0].get(name), sides[1].get(name), causes.get(name, ()))
            for name, change in ordered
        ),
        tuple(_differences(first, second, studies)),
        tuple(_changed_weights(*sides)),
        (before.value, after.value),
        (before.gap, after.gap),
        len(old & new) / union if union else 1.0,
        (_after_votes(before), _after_votes(after)),
        note if old != new else "",
    )


def _resolved(
    first: AnyResult, second: AnyResult, data: FeatureData | None
) -> tuple[tuple[ResolvedStudy, ResolvedStudy] | None, str]:
    """Return both studies tied to the features of their evidence; or None, and why that cannot be done."""
    try:
        before, after = (_tied(result, data) for result in (first, second))
    except (UBayFSError, OSError) as error:
        return None, f"The causes of the change could not be tried out: {error}"
    if not np.array_equal(before.feature_names, after.feature_names):
        note = "The results are on different features, so that no part of one can be put into the other."
        return (before, after), note
    return (before, after), ""


def _tied(result: AnyResult, data: FeatureData | None) -> ResolvedStudy:
    """Return the study of a result tied to its features; a size that the data support is that of the result."""
    same_data = data is not None and data.fingerprint == result.evidence.settings.get("data_fingerprint")
    study = resolve_study(
        replace(result.study, outputs=replace(result.study.outputs, reduced_table=False)),
        data=data if same_data else "if needed",
        feature_names=result.evidence.feature_names,
        n_models=result.evidence.n_models,
    )
    constraints = result.selection.provenance.get("constraints", ())
    sizes = [constraint["arguments"]["n"] for constraint in constraints if constraint.get("note") == SUPPORTED]
    return study.with_supported_size(sizes[0]) if study.needs_related and sizes else study


def _sides(selection: Selection) -> dict[str, Side]:
    n = len(selection.feature_names)
    counts = np.zeros(n, dtype=int) if selection.counts is None else selection.counts
    weights = np.zeros(n) if selection.weights is None else selection.weights
    columns = (selection.feature_names, counts.tolist(), weights.tolist(), selection.importance.tolist())
    return {name: Side(count, weight, importance) for name, count, weight, importance in zip(*columns, strict=True)}


def _after_votes(selection: Selection) -> tuple[str, ...]:
    """Return the features whose knowledge was changed after votes were seen."""
    return tuple(name for name, entry in selection.knowledge.items() if "changed_after_votes" in entry)


def _changed_weights(first: Mapping[str, Side], second: Mapping[str, Side]) -> list[Difference]:
    changed = [
        Difference(name, side.weight, second[name].weight)
        for name, side in first.items()
        if name in second and side.weight != second[name].weight
    ]
    return sorted(changed, key=lambda difference: -abs(difference.second - difference.first))


def _causes(
    first: AnyResult, second: AnyResult, studies: tuple[ResolvedStudy, ResolvedStudy]
) -> tuple[dict[str, tuple[str, ...]], str]:
    """Return which part of the knowledge alone changes each feature; or nothing, and why it could not be tried."""
    old, new = (study.decision.replace(n_alternatives=0) for study in studies)
    swaps = {
        "evidence": (second.evidence, old, studies[0].data),
        "prior": (first.evidence, _with_part(old, new, "prior"), studies[0].data),
        "constraints": (first.evidence, _with_part(old, new, "constraints"), studies[1].data),
    }
    try:
        selected = {cause: set(decision.make(evidence, X).features) for cause, (evidence, decision, X) in swaps.items()}
    except UBayFSError as error:
        return {}, f"The causes of the change could not be tried out: {error}"
    before, after = set(first.selection.features), set(second.selection.features)
    alone = {
        name: tuple(cause for cause, chosen in selected.items() if (name in chosen) == (name in after))
        for name in before ^ after
    }
    return {name: causes or (_TOGETHER,) for name, causes in alone.items()}, ""


def _with_part(decision: Decision, other: Decision, part: str) -> Decision:
    """Return a decision with one part of the knowledge taken from another; "unlikely" is part of the prior."""
    taken = {name: getattr(other, name) for name in Decision.names(part=part)}
    demands, knowledge = (other, decision) if part == "constraints" else (decision, other)
    constraints = [
        *(constraint for constraint in demands.constraints if not constraint.from_prior),
        *(constraint for constraint in knowledge.constraints if constraint.from_prior),
    ]
    return decision.replace(**{**taken, "constraints": constraints})


def _differences(
    first: AnyResult, second: AnyResult, studies: tuple[ResolvedStudy, ResolvedStudy] | None
) -> Iterator[Difference]:
    """Yield settings that differ, as the study files name them; weights are compared feature by feature."""
    before, after = (_settings(result) for result in (first, second))
    for key in sorted(before.keys() | after.keys()):
        if before.get(key) != after.get(key) and (key[0] in _COMPARED or key[:2] in _OF_PRIOR):
            yield Difference(".".join(key), before.get(key), after.get(key))
    sources = (first.study, second.study) if studies is None else (study.decision for study in studies)
    old, new = ([demand for demand in source.constraints if not demand.from_prior] for source in sources)
    yield from (Difference("constraint", removed, None) for removed in old if removed not in new)
    yield from (Difference("constraint", None, added) for added in new if added not in old)
    if studies is not None and _unlikely(studies[0]) != _unlikely(studies[1]):
        yield Difference("unlikely", *map(_unlikely, studies))
    fingerprints = [result.evidence.settings.get("data_fingerprint") for result in (first, second)]
    if fingerprints[0] != fingerprints[1]:
        yield Difference("contents of the data", *(str(fingerprint)[:12] for fingerprint in fingerprints))


def _unlikely(study: ResolvedStudy) -> str:
    """Return the features that the prior holds unlikely; of several experts with the price."""
    shares = study.prior.shares
    return ", ".join(f"{n} ({p:.0%})" if n in shares else n for n, p in study.prior.unlikely.items()) or "none"


def _settings(result: AnyResult) -> dict[tuple[str, ...], Any]:
    """Return the settings of a study by their keys; the same file has the same path, wherever the study lies."""
    flat = _flat(result.study.to_dict())
    for key in flat:
        of_expert = key[:2] == ("prior", "experts") and key[3:] == ("table",)
        named = of_expert or key[:2] in (("data", "path"), ("data", "samples"), ("blocks", "table"))
        if named and isinstance(flat[key], str):
            flat[key] = os.path.abspath(result.study.folder / flat[key])
    return flat


def _flat(settings: Mapping[str, Any], above: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    """Return nested mappings as one, by the keys that lead to each value."""
    flat: dict[tuple[str, ...], Any] = {}
    for key, value in settings.items():
        below = (*above, str(key))
        flat.update(_flat(value, below) if isinstance(value, Mapping) else {below: value})
    return flat


# -- as a document -----------------------------------------------------------------------------------------------------


def _document(comparison: Comparison) -> Document:
    added, removed, unchanged = (comparison.with_change(change) for change in ("added", "removed", "unchanged"))
    changed = [*added, *removed]
    columns: list[Field[FeatureChange]] = [
        (Column("Feature"), lambda r: r.feature),
        (Column("Change"), lambda r: Cell(badges=(r.change,))),
        (Column("Votes"), lambda r: _sides_text(r, lambda side: side.count)),
        (Column("Weight"), lambda r: _sides_text(r, lambda side: side.weight)),
        (Column("Importance"), lambda r: _sides_text(r, lambda side: side.importance)),
        (Column("Because of the"), lambda r: " or the ".join(r.causes)),
    ]
    (value, new_value), (gap, new_gap) = comparison.value, comparison.gap
    score = (
        f"Score {value:.6g} (gap {gap:.2g}) before, {new_value:.6g} (gap {new_gap:.2g}) after. Scores compare only "
        "under the same evidence, prior and constraints."
    )
    after_votes = (
        f"Knowledge changed after votes were seen, in the {which} result: {listing(names, _SHOWN)}."
        for which, names in zip(("first", "second"), comparison.changed_after_votes, strict=True)
        if names
    )
    sections = (
        Section("changed", "Features that changed", tables=as_table("", changed, columns, drop_empty=True)),
        Section("unchanged", "Unchanged", (", ".join(each.feature for each in unchanged),) if unchanged else ()),
        Section("settings", "Settings that differ", tuple(_settings_that_differ(comparison))),
        Section("score", "", (*after_votes, score)),
    )
    headline = f"Both results have the same {counted(len(unchanged), 'feature')}."
    if changed:
        headline = (
            f"{counted(len(unchanged), 'feature is', 'features are')} in both sets, {len(added)} added, {len(removed)} "
            f"removed (Jaccard similarity {comparison.jaccard:.2f})."
        )
    return Document(
        headline=headline,
        warnings=(comparison.note,) if comparison.note else (),
        sections=tuple(section for section in sections if not section.empty),
    )


def _sides_text(feature: FeatureChange, number: Callable[[Side], float]) -> str:
    """Return a number of both results, once if it is the same."""
    numbers = ("unknown" if side is None else f"{number(side):.4g}" for side in (feature.first, feature.second))
    return " -> ".join(dict.fromkeys(numbers))


def _settings_that_differ(comparison: Comparison) -> Iterator[str]:
    if not comparison.differences and not comparison.weights:
        yield "None."
    for difference in comparison.differences:
        if difference.setting != "constraint":
            yield f"{difference.setting}: {difference.first} -> {difference.second}"
        elif difference.second is None:
            yield f"constraint removed: {difference.first!r}"
        else:
            yield f"constraint added: {difference.second!r}"
    for weight in comparison.weights[:_SHOWN]:
        after = " (after votes were seen)" if weight.setting in comparison.changed_after_votes[1] else ""
        yield f"weight of {weight.setting}: {weight.first:g} -> {weight.second:g}{after}"
    if len(comparison.weights) > _SHOWN:
        yield f"and {len(comparison.weights) - _SHOWN} more weights"
