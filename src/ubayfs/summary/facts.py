"""Facts about the data, the ensemble, the prior, constraints, correlations, and what a careful reader must know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import zip_longest
from pathlib import PurePath
from typing import Any

import numpy as np
from scipy.special import ndtri

from .._arguments import Array, Floats, Mask
from .._plain import number, plain, relaxation
from ..constraints.utility import log_row_admissibility, score_tolerance
from ..data.categories import Levels, indicators
from ..data.covariates import association, basis_of, target_left
from ..data.feature_data import FeatureData
from ..data.hazards import fit_cox, median_follow_up
from ..data.target import CLASSIFICATION, Target
from ..decision.problem import Violation
from ..decision.selection import FeatureSet, Selection
from ..ensemble.evidence import Evidence
from ..ensemble.features_per_model import most_features
from ..exceptions import Advice, UBayFSError
from ..metrics import stability
from ..plotting.base import Correlations, top_features
from ..plotting.profile import ProfileDisplay, can_be_grouped, profile_of
from ..priors import DEFAULT_WEIGHT
from ..priors.knowledge import AS_STATED
from ..selectors import SELECTORS, describe
from ..selectors.concordance import Concordance, Contrast
from ..selectors.nominal_classes import is_nominal
from .sentences import advice_message, constraint_label

_LISTED = 20  # constant columns that are named
_MATRIX = 60  # chosen features up to which all correlations are listed; beyond, the strongest pairs
_PAIRS = 10
_CANDIDATES = 40  # features whose correlations are stored for the next decision
_AFTER = "changed_after_votes"
_CONFIDENCE = 0.95
_WORST = 5  # violated inequalities that are shown of one constraint


def all_advice(selection: Selection) -> tuple[Advice, ...]:
    """Return the advice of evidence, posterior and selection."""
    posterior = selection.posterior
    given = () if posterior is None else (*posterior.evidence.advice, *posterior.advice)
    return (*given, *selection.advice)


def advice_facts(advice: Iterable[Advice]) -> list[dict[str, Any]]:
    """Return code, facts and the message of a report for each."""
    return [{"code": given.code, "facts": plain(given.facts), "message": advice_message(given)} for given in advice]


def score_facts(selection: Selection) -> dict[str, Any]:
    """Return the score of the chosen set, its parts, and whether it is proved to be the best."""
    best, parts = selection.best, ("importance", "admissibility", "log_admissibility")
    return {
        **{key: number(getattr(best, key)) for key in ("value", "bound", "gap")},
        "complete": best.complete,
        "proved": is_proved(best),
        **{key: number(getattr(best.metrics, key)) for key in parts},
        "constraint_strength": number(selection.provenance.get("constraint_strength")),
        "min_votes": selection.provenance.get("min_votes", 0),
    }


def is_proved(found: FeatureSet) -> bool:
    """Tell whether a set is known to be the best: its gap is closed."""
    return bool(found.gap <= score_tolerance(found.value))


def data_facts(selection: Selection, data: FeatureData | None, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data at a glance; what is not known is None."""
    settings, given = selection.provenance.get("evidence", {}), asked.get("data")
    section: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    path = section.get("path") or (data.path if data is not None else None)
    files = [*path.values()] if isinstance(path, Mapping) else [] if path is None else [path]
    files += [section["samples"]] if section.get("samples") else []
    evidence = None if selection.posterior is None else selection.posterior.evidence
    known = evidence if data is None else data
    constant = selection.feature_names[:0] if known is None else selection.feature_names[known.constant]
    return {
        "file": ", ".join(PurePath(str(file)).name for file in files) or None,
        "target": section.get("target"),
        "n_samples": settings.get("n_samples") if data is None else data.n_samples,
        "n_features": len(selection.feature_names),
        "task": settings.get("task"),
        **_target_facts(data),
        "groups": None if data is None or data.groups is None else len(np.unique(data.groups)),
        "adjust_for": [] if evidence is None else list(evidence.adjust_for),
        "n_constant": None if known is None else len(constant),
        "constant": constant[:_LISTED].tolist(),
        "missing": _missing_facts(data),
    }


def _target_facts(data: FeatureData | None) -> dict[str, Any]:
    if data is None or data.target.values is None:
        return {"classes": [], "range": None, "follow_up": None}
    target, spread = data.target, None
    if target.numbers is not None:
        low, middle, high = np.quantile(target.numbers, [0, 0.5, 1])
        spread = {"lowest": number(low), "median": number(middle), "highest": number(high)}
    classes = [{"label": label, "count": count} for label, count in target.class_counts]
    follow_up = median_follow_up(target.time, target.event) if target.task == "survival" else None
    return {"task": target.task, "classes": classes, "range": spread, "follow_up": follow_up}


def _missing_facts(data: FeatureData | None) -> Any:
    if data is None or data.about_missing is None:
        return None
    words = str(data.about_missing)
    return plain({"rule": data.missing, **data.about_missing.facts, "words": words[0].upper() + words[1:]})


def _selector_name(kind: str, described: str) -> str:
    """Return the usual name of a built-in selector with its default settings; others are described."""
    built_in = SELECTORS.get(kind)
    return built_in.usual_name or described if built_in and described == describe(built_in) else described


def ensemble_facts(evidence: Evidence) -> dict[str, Any]:
    """Return how the evidence was made, and how much its models agree."""
    settings = evidence.settings
    parts = settings.get("parts", [settings])
    sizes = np.diff(evidence.sets.indptr)
    selectors = {
        described: kind
        for part in parts
        for described, kind in zip_longest(part.get("selector", []), part.get("selector_kinds", []), fillvalue="")
    }
    errors = Counter(failure.error for failure in evidence.failures)
    return {
        "n_models": evidence.n_models,
        "selector": list(selectors),
        "selector_kinds": list(selectors.values()),
        "selector_names": [_selector_name(kind, described) for described, kind in selectors.items()],
        "train_size": _common(parts, "train_size"),
        "n_features_per_model": (per_model := _common(parts, "n_features_per_model")),
        "most_features_per_model": None if per_model is None else most_features(per_model, evidence.n_features),
        "seed": _common(parts, "seed"),
        "grouped": _common(parts, "grouped"),
        "on_residuals": _common(parts, "on_residuals"),
        "set_sizes": {"smallest": int(sizes.min()), "median": float(np.median(sizes)), "largest": int(sizes.max())},
        "n_voted": int((evidence.counts > 0).sum()),
        "stability": _stability(evidence),
        "n_failures": len(evidence.failures),
        "failures": [{"error": error, "times": times} for error, times in errors.most_common(5)],
        "versions": _common(parts, "versions"),
    }


def _common(parts: list[Mapping[str, Any]], key: str) -> Any:
    """Return a setting that all parts of merged evidence share, or None."""
    values = [part.get(key) for part in parts]
    return values[0] if all(value == values[0] for value in values) else None


def _stability(evidence: Evidence) -> dict[str, Any] | None:
    if evidence.n_models < 2:
        return None
    found = stability(evidence.sets, confidence=_CONFIDENCE)
    if np.isnan(found.value):
        return None
    interval = {"low": number(found.lower), "high": number(found.upper), "confidence": _CONFIDENCE}
    return {"value": found.value, **interval}


def prior_facts(selection: Selection) -> dict[str, Any] | None:
    """Return what the expert stated: every weight that is not the most common one, what is unlikely, and the reasons.

    None when importances were given.
    """
    weights, names = selection.weights, selection.feature_names
    if weights is None:
        return None
    values, times = np.unique(weights, return_counts=True)
    default = DEFAULT_WEIGHT if DEFAULT_WEIGHT in values else float(values[times.argmax()])
    raised = np.flatnonzero(weights != default)
    in_votes = {str(names[i]): number(weights[i]) for i in raised[np.argsort(-weights[raised], kind="stable")]}
    unlikely: list[str] = []
    if selection.problem is not None:
        system = selection.problem.utility.system
        unlikely = names[np.unique(system.A[np.flatnonzero(system.from_prior)].indices)].tolist()
    stated = selection.provenance.get("knowledge", {})
    return {
        "kind": str(selection.provenance.get("prior", "")),
        "default": default,
        "is_default_weight": default == DEFAULT_WEIGHT,
        "weights": in_votes,
        "words": {name: word for name in in_votes if isinstance(word := stated.get(name, {}).get("weight"), str)},
        "unlikely": unlikely,
        **{key: selection.provenance.get(key) for key in ("experts", "pool", "confirmed", "confirmed_by")},
        "trust_in_lists": selection.provenance.get("trust_in_lists", AS_STATED),
        "changed_after_votes": {n: entry[_AFTER] for n, entry in stated.items() if _AFTER in entry},
        "opinions": _opinions(selection, stated),
        "reasons": [
            {"feature": name, "chosen": name in selection.features, "weight": None, "why": "", "source": "", **entry}
            for name, entry in stated.items()
            if "why" in entry or "source" in entry
        ],
    }


def _opinions(selection: Selection, stated: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what each of several experts stated of each feature, those on which they disagree most first."""
    known = [(name, entry) for name, entry in stated.items() if "experts" in entry]
    blank = {"weight": None, "price": None, "disagreement": None, "why": "", "source": ""}
    return [
        {"feature": name, "chosen": name in selection.features, **blank, **entry}
        for name, entry in sorted(known, key=lambda pair: -pair[1].get("disagreement", 0.0))
    ]


def profile_of_data(selection: Selection, data: FeatureData) -> ProfileDisplay | None:
    """Return the features of :func:`correlations_of` in the data, if their samples have classes or numbers."""
    if not can_be_grouped(data.target):
        return None
    positions = top_features(selection.importance, selection.mask, _CANDIDATES)
    unordered = [position for position, levels in data.levels.items() if levels.n_columns > 1]  # have no mean
    return profile_of(data, selection.feature_names, positions[~np.isin(positions, unordered)])


def correlations_of(selection: Selection, X: Array) -> Correlations:
    """Return the correlations among the chosen features, and with those that another decision may choose."""
    positions = top_features(selection.importance, selection.mask, _CANDIDATES)
    return Correlations.from_data(X, selection.feature_names, positions)


def correlation_facts(selection: Selection, known: Correlations | None) -> dict[str, Any] | None:
    """Return the rank correlations among the chosen features; None without data or with fewer than two of them."""
    names = list(selection.features)
    if known is None or len(names) < 2 or not known.cover(names):
        return None
    chosen = known.among(names)
    first, second = np.triu_indices(len(names), 1)
    values = chosen.spearman[first, second]
    strongest = np.argsort(-np.abs(values), kind="stable")[:_PAIRS]
    return {
        "method": "spearman",
        "redundancy": number(chosen.redundancy),
        "features": names,
        "matrix": chosen.spearman.tolist() if len(names) <= _MATRIX else None,
        "strongest": [
            {"first": names[first[i]], "second": names[second[i]], "value": float(values[i])} for i in strongest
        ],
        "known": known.to_dict() if len(known.features) <= _MATRIX else None,
    }


# -- constraints -------------------------------------------------------------------------------------------------------


def constraint_facts(selection: Selection) -> list[dict[str, Any]]:
    """Return one entry per constraint, in the order given: what it is, whether it holds, by how much it is violated.

    What an expert holds unlikely has an entry, too, since it counts in the admissibility; its "from_prior" is true. One
    with rho or price 0 has no effect: it is "left_out". Of a selection read from a file, the number of inequalities is
    not known, nor what those are that hold.
    """
    violations: dict[int | None, list[Violation]] = {}
    for violation in selection.metrics.violations:  # those that cost most come first
        violations.setdefault(violation.position, []).append(violation)
    entries = []
    for position, (given, title, rhos) in enumerate(_constraints(selection)):
        violated = violations.get(position, [])
        arguments = given.get("arguments", {})
        price = arguments.get("price")
        known = [violation.rho for violation in violated] if rhos is None else rhos
        entries.append(
            {
                **_identity(given, title),
                "left_out": _is_zero(arguments.get("rho", 1 if price is None else price)),
                "n_inequalities": None if rhos is None else len(rhos),
                **_violated(violated),
                "rho": relaxation(min(known)) if known else None,
                "rho_highest": relaxation(max(known)) if known else None,
                "price": price,
                "price_votes": _in_votes(price, selection),
            }
        )
    return entries


def _constraints(selection: Selection) -> Iterator[tuple[Mapping[str, Any], str, list[float] | None]]:
    """Yield each constraint in plain types, its title, and rho of its inequalities if they are known."""
    if selection.problem is None:
        for given in selection.provenance.get("constraints", []):
            # As it is written in Python: its features are not at hand.
            shown = ", ".join(f"{name}={value}" for name, value in given["arguments"].items() if value is not None)
            yield given, f"{given['kind']}({shown})", None
        return
    system = selection.problem.utility.system
    for part in system.parts:
        written = {} if part.constraint is None else part.constraint.to_dict()
        yield {"kind": part.kind, **written}, part.title, system.rho[system.rows_of(part)].tolist()


def _identity(given: Mapping[str, Any], title: str) -> dict[str, Any]:
    identity = {
        "kind": given["kind"],
        "arguments": plain(given.get("arguments", {})),
        "note": given.get("note", ""),
        "title": title,
        "from_prior": bool(given.get("from_prior", False)),
    }
    return {"label": constraint_label(identity), **identity}


def _is_zero(rho: Any) -> bool:
    """Tell whether a relaxation, as it was stated (a number, some numbers or "hard"), is nothing but 0."""
    return all(entry == 0 for entry in (rho if isinstance(rho, list | tuple) else [rho]))


def _in_votes(price: Any, selection: Selection) -> float | list[float] | None:
    """Return what one unit of violation costs in votes; None without a price, or where the ensemble is not at hand."""
    if price is None or selection.posterior is None:
        return None
    n_models = selection.posterior.evidence.n_models
    return [entry * n_models for entry in price] if isinstance(price, list) else price * n_models


def _violated(violations: list[Violation]) -> dict[str, Any]:
    amounts, rhos = (np.array([getattr(violation, key) for violation in violations]) for key in ("amount", "rho"))
    return {
        "n_violated": len(violations),
        "holds": not violations,
        "violation": max((violation.amount for violation in violations), default=0.0),
        "admissibility": float(np.exp(log_row_admissibility(amounts, rhos).sum())),
        "worst": [
            {
                "label": violation.label,
                "violation": violation.amount,
                "rho": relaxation(violation.rho),
                "admissibility": violation.admissibility,
            }
            for violation in violations[:_WORST]
        ],
    }


# -- how chosen features are related to the target ---------------------------------------------------------------------


def with_relations(
    records: Sequence[Mapping[str, Any]], data: FeatureData | None, earlier: Mapping[str, Any] | None
) -> list[dict[str, Any]]:
    """Return records of chosen features with how they are related to the target; None for what has no meaning.

    Of survival these are hazard ratios; of many classes or labels the one that the feature marks; with covariates,
    associations before and after adjusting for them. A category has its levels. Without data, all are those that the
    summary of another decision knows.
    """
    known = {record["feature"]: record for record in (earlier or {}).get("chosen", ())}
    find = {"hazard_ratio": hazard_ratio, "beyond": beyond, "marks": marked_class, "category": category_of}
    found = []
    for record in records:
        before = known.get(record["feature"], {})
        relations = {
            key: before.get(key) if data is None else of_data(data, record["position"]) for key, of_data in find.items()
        }
        found.append({**record, **relations})
    return found


def beyond(data: FeatureData, position: int) -> dict[str, Any] | None:
    """Return the association of a feature with each covariate, and with the target before and after adjustment.

    Samples without a value are left out. What cannot be computed is None; all of it without covariates.
    """
    if data.covariates is None:
        return None
    x, present = _values(data, position)
    covariates, levels = data.covariates.take(present), _unordered(data, position)
    of_levels = levels is not None
    x = x if levels is None else indicators(x, levels)
    constant = basis_of(np.zeros((len(x), 0)))
    related = {
        item.name: _size(association(x, item.columns, constant), item.levels is None and not of_levels)
        for item in covariates.items
    }
    with_target: list[float | None] = [None, None]
    if data.target.values is not None:
        with suppress(UBayFSError):  # Cox's model has no fit
            with_target = [
                _size(
                    association(x, target_left(basis, data.target, present)[1], basis),
                    data.target.task not in CLASSIFICATION and not of_levels,
                )
                for basis in (constant, covariates.basis)
            ]
    return {"covariates": related, "before": with_target[0], "after": with_target[1]}


def _size(value: float, signed: bool) -> float | None:
    """Return an association; one with classes or levels has no sign, since it would be that of their order."""
    return number(value if signed else abs(value))


def hazard_ratio(data: FeatureData, position: int) -> float | None:
    """Return by what a standard deviation more of a feature multiplies the hazard.

    It is that of Cox's model of the feature alone or, with covariates, of the feature and these.
    Samples without a value are left out. None if there are no hazards, the feature has levels without order or does not
    vary, or the model has no fit.
    """
    if data.target.task != "survival" or _unordered(data, position) is not None:
        return None
    x, present = _values(data, position)
    target = data.target.take(present)
    if len(x) == 0 or x.min() == x.max():
        return None
    try:
        columns = ((x - x.mean()) / x.std())[:, None]
        if data.covariates is not None:
            columns = np.hstack([columns, data.covariates.take(present).basis[:, 1:] * np.sqrt(len(x))])
        fit = fit_cox(columns, target.time, target.event)
    except UBayFSError:
        return None
    return number(np.exp(fit.coefficients[0]))


def _values(data: FeatureData, position: int) -> tuple[Floats, Mask]:
    """Return the values of a feature that are not missing, and the mask of the samples that have one."""
    x: Floats = np.asarray(data.X[:, [position]], dtype=np.float64)[:, 0]
    present = ~np.isnan(x)
    return x[present], present


def _unordered(data: FeatureData, position: int) -> Levels | None:
    """Return the levels of a category without order, which has neither slope nor sign; None for all else."""
    levels = data.levels.get(position)
    return levels if levels is not None and levels.n_columns > 1 else None


def marked_class(data: FeatureData, position: int) -> dict[str, Any] | None:
    """Return the class, or label, that a feature tells best from all other samples, and how.

    It is the one with the largest Somers' D in absolute value. "level" names the level of a category without order
    whose indicator has it; "d" is above 0 where the feature is higher, or the level more frequent, in the class. None
    where there are but two classes, an order of them, or no classes; and where the feature tells none of them apart:
    D is within what chance gives the best of so many comparisons in 95 % of cases.
    """
    members = _members(data.target)
    if members is None:
        return None
    values, levels = np.asarray(data.X[:, [position]], dtype=np.float64), _unordered(data, position)
    names: list[str | None] = [None]
    if levels is not None:
        values, names = indicators(values[:, 0], levels), list(levels.labels)
    d, error = _somers(values, members)
    place, column = np.unravel_index(int(np.argmax(np.abs(d))), d.shape)
    if np.abs(d[place, column]) <= -ndtri(0.025 / d.size) * error[place, column]:
        return None
    label = data.target.class_counts[int(place)][0]
    return {"label": label, "level": names[int(column)], "d": number(d[place, column])}


def _members(target: Target) -> Mask | None:
    """Return who is in each class or has each label, of shape (n_classes, n_samples)."""
    if target.task == "multilabel":
        return np.asarray(target.values).T > 0
    return np.asarray(target.values) == np.arange(target.n_classes)[:, None] if is_nominal(target) else None


def _somers(values: Array, members: Mask) -> tuple[Floats, Floats]:
    """Return Somers' D of each class against all other samples, and its standard error where the class does not matter.

    Both are of shape (n_classes, n_columns); the error is that of the Mann-Whitney statistic without ties.
    """
    present = ~np.isnan(values)
    n_upper, n_lower = members.astype(float) @ present, (~members).astype(float) @ present
    n_pairs = n_upper * n_lower
    contrasts = [Contrast(member, ~member) for member in members]
    all_samples = np.ones((1, len(values)), dtype=bool)
    d = Concordance(all_samples, contrasts)(values, n_pairs[:, None])[:, 0] / np.maximum(n_pairs, 1)
    return d, np.sqrt((n_upper + n_lower + 1) / (3 * np.maximum(n_pairs, 1)))


def category_of(data: FeatureData, position: int) -> dict[str, Any] | None:
    """Return the levels of a category with their numbers of samples; None for numbers."""
    levels = data.levels.get(position)
    if levels is None:
        return None
    codes = np.asarray(data.X[:, position], dtype=np.float64)
    counts = [int((codes == code).sum()) for code in range(len(levels.labels))]
    return {"labels": list(levels.labels), "ordered": levels.ordered, "counts": counts}
