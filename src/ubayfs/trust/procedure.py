"""What is repeated: an ensemble and a decision, on some of the samples or with a shuffled target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any

import numpy as np

from .._arguments import Ints, Mask
from ..data.categories import with_levels
from ..data.feature_data import FeatureData
from ..data.sparse_columns import SparseColumns
from ..data.target import Target, plain
from ..decision.selection import Selection, check_selection
from ..decision.workflow import Decision
from ..ensemble.collect import as_data, check_ensemble, collect_evidence, ensemble_settings
from ..ensemble.evidence import Evidence
from ..ensemble.subsampling import plan_subsamples
from ..exceptions import InputError
from ..selectors.adapters import as_selector, describe
from ..selectors.base import ElementarySelector
from ..selectors.lasso import Lasso
from ..selectors.registry import SELECTORS

# Arguments of collect_evidence that are settings of evidence.
ENSEMBLE = ("selector", "n_models", "train_size", "n_features_per_model")
# Cost of a value that a run sees: of filters, which do all runs at once, of the lasso, which does so in about eight
# times the time (docs/appendix.md), of other selectors of ours, of all else.
_JOINT, _LASSO, _PER_RUN, _FOREIGN = 1, 8, 50, 500
# Features of a model at a site that is pooled with others, at most; twice the usual number.
_MOST_AT_A_SITE = 20


@dataclass(frozen=True, eq=False)
class Procedure:
    """An ensemble tied to data, to be repeated on others."""

    data: FeatureData
    selectors: tuple[ElementarySelector, ...]
    # As Evidence.settings, without a seed; numbers that depend on the number of features are resolved.
    settings: dict[str, Any]

    @property
    def work(self) -> float:
        """Counted work of one ensemble on all samples, see :func:`counted_work`."""
        shape = (self.settings["n_models"], self.data.n_samples, self.data.n_features)
        return counted_work(*shape, self.selectors)

    @classmethod
    def from_arguments(cls, data: FeatureData, ensemble: Mapping[str, Any]) -> Procedure:
        """Check the arguments of an ensemble, those of :func:`~ubayfs.collect_evidence`; others are ignored."""
        defaults = {name: parameter.default for name, parameter in signature(collect_evidence).parameters.items()}
        arguments = {**defaults, **ensemble}
        n_models, train_size = check_ensemble(*(arguments[name] for name in ENSEMBLE[1:]))
        selectors = as_selector(arguments["selector"])
        per_model = arguments["n_features_per_model"]
        return cls(data, selectors, ensemble_settings(data, selectors, n_models, train_size, per_model))


def counted_work(n_models: int, n_samples: int, n_features: int, selectors: Sequence[ElementarySelector]) -> float:
    """Return the work of an ensemble, models x samples x features x cost of the selector: of a filter about 5 ns."""
    costs = [
        (_LASSO if isinstance(each, Lasso) else _JOINT) if each.joint else _PER_RUN if is_built_in(each) else _FOREIGN
        for each in selectors
    ]
    return n_models * n_samples * n_features * sum(costs) / len(costs)


def is_built_in(selector: ElementarySelector) -> bool:
    """Return whether a selector is one of ours."""
    return type(selector) in {type(each) for each in SELECTORS.values()}


def data_of_evidence(selection: Selection, X: Any, y: Any = None, **reading: Any) -> FeatureData:
    """Read the data that the evidence of a selection was collected on, as :func:`~ubayfs.collect_evidence` did.

    `reading` are the arguments of that function that say how, but for the task and the rule for missing values.
    InputError if features, values, target, groups or covariates differ. Sets of another ensemble do not know their
    data; then only the features are compared.
    """
    check_selection(selection)
    settings = {} if selection.posterior is None else selection.posterior.evidence.settings
    if "pooling" in settings:
        rule = "is of pooled evidence, whose data are at several sites: there is no table that it could be repeated on."
        way_out = "Use leave_one_site_out and reproducibility_of_sites of ubayfs.trust.cohorts."
        raise InputError.of("selection", f"{rule} {way_out}")
    settings = settings.get("parts", [settings])[0]
    if settings.get("measured") and not isinstance(X, FeatureData):
        reading["measured"] = settings["measured"]
    data = as_data(X, y, task=settings.get("task"), missing=settings.get("missing") or "error", **reading)
    if not np.array_equal(data.feature_names, selection.feature_names):
        raise InputError.of("X", "has other features than the selection; pass the data of its evidence.")
    if settings.get("data_fingerprint", data.fingerprint) != data.fingerprint:
        rule = "is not what the evidence was collected on (values, target, groups or covariates differ)."
        raise InputError.of("X", f"{rule} Pass X, y, groups and adjust_for as they were.")
    return data


def check_repeatable(selection: Selection) -> Decision:
    """Return the decision of a selection; InputError if it cannot be repeated on other samples."""
    check_selection(selection)
    if selection.posterior is None or selection.decision is None:
        rule = "was made by maximize() or read from a file, so that it cannot be repeated on other samples."
        raise InputError.of("selection", f"{rule} Pass one that decide() returned.")
    if not selection.posterior.evidence.settings:
        rule = "is decided on sets of another ensemble, which cannot be repeated on other samples."
        raise InputError.of("selection", f"{rule} Collect evidence by collect_evidence, or call estimate_related.")
    return selection.decision


def ensemble_of(evidence: Evidence, selector: Any = None) -> dict[str, Any]:
    """Return the arguments of the ensemble that evidence is of, to repeat it.

    InputError if the evidence does not say how it was made. Selectors with default settings are found by their
    description; others must be given.
    """
    settings = _common_settings(evidence)
    arguments = {name: settings[name] for name in ENSEMBLE[1:]}
    n_models = evidence.n_models + len(evidence.failures)
    return {**arguments, "selector": _same_selector(settings["selector"], selector), "n_models": n_models}


def _common_settings(evidence: Evidence) -> Mapping[str, Any]:
    """Return the settings that all parts of evidence share."""
    parts = evidence.settings.get("parts", [evidence.settings])
    needed = (*ENSEMBLE, "data_fingerprint")
    if any(name not in part for part in parts for name in needed):
        rule = "does not say how it was made; only that of collect_evidence can be repeated."
        raise InputError.of("evidence", rule)
    different = [name for name in needed if name != "n_models" and any(part[name] != parts[0][name] for part in parts)]
    if different:
        rule = f"was merged from ensembles that differ in {different[0]}; it cannot be repeated as one ensemble."
        raise InputError.of("evidence", rule)
    return {**parts[0], "n_models": sum(part["n_models"] for part in parts)}


def _same_selector(described: list[str], selector: Any) -> Any:
    """Return the selectors of these descriptions: those that are given, or those of the registry."""
    if selector is not None:
        descriptions = [describe(each) for each in as_selector(selector)]
        if descriptions != described:
            rule = f"is {', '.join(descriptions)}, in the evidence {', '.join(described)}. Pass that of the evidence."
            raise InputError.of("selector", rule, selector)
        return selector
    by_description = {describe(selector): selector for selector in SELECTORS.values()}
    unknown = [text for text in described if text not in by_description]
    if unknown:
        rule = f"must be given: the evidence is of {unknown[0]}, which cannot be made from its description."
        raise InputError.of("selector", rule)
    return [by_description[text] for text in described]


def take_samples(data: FeatureData, samples: Mask) -> FeatureData:
    """Return the data of some samples; classes that do not occur among them keep their codes."""
    X = SparseColumns(data.X.values[samples]) if isinstance(data.X, SparseColumns) else data.X[samples]
    X = with_levels(X, data.levels)
    groups = None if data.groups is None else np.unique(data.groups[samples], return_inverse=True)[1]
    names = None if data.sample_names is None else data.sample_names[samples]
    covariates = None if data.covariates is None else data.covariates.take(samples)
    parts: dict[str, Any] = {"target": data.target.take(samples), "groups": groups, "covariates": covariates}
    return replace(data, X=X, sample_names=names, path=None, **parts)


def parts_of_sites(data: FeatureData) -> dict[str, FeatureData]:
    """Return the data of each site of one table, adjusted for the other covariates."""
    covariates = data.covariates
    site = None if covariates is None else covariates.site
    assert covariates is not None
    assert site is not None
    others = tuple(item for item in covariates.items if item is not site)
    rest = replace(data, covariates=replace(covariates, items=others) if others else None)
    return {label: take_samples(rest, site.values == code) for code, label in enumerate(site.levels or ())}


def n_features_at_a_site(data: FeatureData) -> int:
    """Return the features of a model at a site that is pooled with others: a quarter of all, 1 to 20."""
    return max(1, min(_MOST_AT_A_SITE, data.n_features // 4))


def check_sites(data: FeatureData, train_size: float) -> None:
    """Raise unless an ensemble can be run at each of at least two sites."""
    parts = parts_of_sites(data)
    if len(parts) < 2:
        raise InputError.of("sites", f"must hold at least two sites; got {len(parts)}.")
    for label, part in parts.items():
        try:
            check_varies(part.target, f"the samples of {label}")
            plan_subsamples(part, train_size)
        except InputError as error:
            rule = f"holds {label} ({part.n_samples} samples), where no ensemble can be run: {error} Leave it out."
            raise InputError.of("sites", rule, label) from error


def check_varies(target: Target, where: str) -> None:
    """Raise if the target of a part of the samples has but one value."""
    values = target.values
    if values is not None and (values == values[0]).all():
        raise InputError.of("y", f"is constant in {where}.")


def shuffled(target: Target, groups: Ints | None, rng: np.random.Generator) -> Target:
    """Return the target of other samples, at random: what belongs together in one sample of it stays together.

    With groups, those in which the target is constant exchange theirs as a whole, whatever their sizes; in others
    samples of the group exchange theirs.

    >>> target = Target("binary", np.array([0, 0, 0, 1, 1]), np.array(list("aaabb")))
    >>> shuffled(target, np.array([0, 0, 1, 2, 2]), np.random.default_rng(1)).labels.tolist()
    ['b', 'b', 'a', 'a', 'a']
    """
    values = np.asarray(target.values)
    if groups is None:
        return target.take(rng.permutation(len(values)))
    first = np.unique(groups, return_index=True)[1]
    different = (values != values[first[groups]]).reshape(len(values), -1).any(axis=1)
    constant = ~np.isin(np.arange(len(first)), groups[different])
    # Where each sample has its target from: from its own group ...
    source = np.empty(len(values), dtype=np.intp)
    source[np.argsort(groups, kind="stable")] = np.lexsort((rng.random(len(values)), groups))
    # ... or from the group that its group has it from.
    giver = np.arange(len(first))
    giver[constant] = rng.permutation(giver[constant])
    return target.take(np.where(constant[groups], first[giver[groups]], source))


def smallest_class(data: FeatureData) -> tuple[Any, int, str]:
    """Return the class of the fewest samples, or groups if there are any: its name, how many, and that in words."""
    units = np.arange(data.n_samples) if data.groups is None else data.groups
    sizes = [len(np.unique(units[data.target.strata == code])) for code in range(len(data.target.stratum_names))]
    smallest = int(np.argmin(sizes))
    size, unit = sizes[smallest], "sample" if data.groups is None else "group"
    return plain(data.target.stratum_names[smallest]), size, f"{size} {unit}{'s' * (size != 1)}"
