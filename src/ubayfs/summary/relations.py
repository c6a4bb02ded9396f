"""How a chosen feature is related to the target, by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._arguments import Floats
from .._plain import number
from ..data.feature_data import FeatureData
from ..data.hazards import fit_cox
from ..exceptions import UBayFSError


def with_relations(
    records: Sequence[Mapping[str, Any]], data: FeatureData | None, earlier: Mapping[str, Any] | None
) -> list[dict[str, Any]]:
    """Return records of chosen features with their hazard ratios, where the target is survival; else None.

    Without data, they are those that the summary of another decision knows.
    """
    known = {record["feature"]: record.get("hazard_ratio") for record in (earlier or {}).get("chosen", ())}
    if data is None or data.target.task != "survival":
        return [{**record, "hazard_ratio": known.get(record["feature"])} for record in records]
    return [{**record, "hazard_ratio": hazard_ratio(data, record["position"])} for record in records]


def hazard_ratio(data: FeatureData, position: int) -> float | None:
    """Return by what a standard deviation more of a feature multiplies the hazard, in Cox's model of it alone.

    Samples without a value are left out. None if the feature does not vary, or the model has no fit.
    """
    x: Floats = np.asarray(data.X[:, [position]], dtype=np.float64)[:, 0]
    present = ~np.isnan(x)
    x, target = x[present], data.target.take(present)
    if len(x) == 0 or x.min() == x.max():
        return None
    try:
        fit = fit_cox(((x - x.mean()) / x.std())[:, None], target.time, target.event)
    except UBayFSError:
        return None
    return number(np.exp(fit.coefficients[0]))
