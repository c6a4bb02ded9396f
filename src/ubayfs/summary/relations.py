"""How a chosen feature is related to the target, by itself and beyond covariates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from .._arguments import Floats
from .._plain import listing, number
from ..data.categories import indicators
from ..data.covariates import association, basis_of, target_left
from ..data.feature_data import FeatureData
from ..data.hazards import fit_cox
from ..data.target import CLASSIFICATION
from ..exceptions import UBayFSError
from .marks import category_of, marked_class


def with_relations(
    records: Sequence[Mapping[str, Any]], data: FeatureData | None, earlier: Mapping[str, Any] | None
) -> list[dict[str, Any]]:
    """Return records of chosen features with how they are related to the target; None for what has no meaning.

    Of survival these are hazard ratios; of many classes or labels the one that the feature marks; with covariates,
    associations before and after adjusting for them. A category has its levels. Without data, all are those that the
    summary of another decision knows.
    """
    known = {record["feature"]: record for record in (earlier or {}).get("chosen", ())}
    found = []
    for record in records:
        before = known.get(record["feature"], {})
        relations = {key: before.get(key) for key in ("hazard_ratio", "beyond", "marks", "category")}
        if data is not None:
            levels = data.levels.get(record["position"])
            has_numbers = levels is None or levels.n_columns == 1  # labels without order have no slope
            is_survival = data.target.task == "survival" and has_numbers
            relations["hazard_ratio"] = hazard_ratio(data, record["position"]) if is_survival else None
            relations["beyond"] = beyond(data, record["position"])
            relations["marks"] = marked_class(data, record["position"])
            relations["category"] = category_of(data, record["position"])
        found.append({**record, **relations})
    return found


def beyond(data: FeatureData, position: int) -> dict[str, Any] | None:
    """Return the association of a feature with each covariate, and with the target before and after adjustment.

    Samples without a value are left out. What cannot be computed is None; all of it without covariates.
    """
    if data.covariates is None:
        return None
    x: Floats = np.asarray(data.X[:, [position]], dtype=np.float64)[:, 0]
    present = ~np.isnan(x)
    x, covariates = x[present], data.covariates.take(present)
    levels = data.levels.get(position)
    of_levels = levels is not None and levels.n_columns > 1
    x = indicators(x, levels) if levels is not None and of_levels else x
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


def adjusted_sentences(facts: Mapping[str, Any]) -> list[str]:
    """Return what the table of associations with covariates means."""
    names = facts["data"].get("adjust_for") or []
    if not names or not any(record.get("beyond") for record in facts["chosen"]):
        return []
    several = listing(names, len(names))
    return [
        "Association: correlation with numbers, or eta, the root of the share that classes or levels explain; 0 is "
        "none, 1 or -1 complete. Before: of the feature with the target. After: of what is left of both when "
        f"{several} {'has' if len(names) == 1 else 'have'} explained what they can; this is what counted."
    ]


def hazard_ratio(data: FeatureData, position: int) -> float | None:
    """Return by what a standard deviation more of a feature multiplies the hazard.

    It is that of Cox's model of the feature alone or, with covariates, of the feature and these.
    Samples without a value are left out. None if the feature does not vary, or the model has no fit.
    """
    x: Floats = np.asarray(data.X[:, [position]], dtype=np.float64)[:, 0]
    present = ~np.isnan(x)
    x, target = x[present], data.target.take(present)
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
