"""The prior: what an expert stated of features, in votes and in words of the scale."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._plain import number
from ..priors import DEFAULT_WEIGHT
from ..selection import Selection


def prior_facts(selection: Selection, knowledge: Mapping[str, float | str] | None = None) -> dict[str, Any] | None:
    """Return what the expert stated: every weight that is not the most common one, and what is unlikely.

    Parameters
    ----------
    selection : Selection
    knowledge : mapping of str to float or str, optional
        What a study states of features: votes, or a word of the scale.

    Returns
    -------
    prior : dict or None
        None when importances were given.
    """
    weights, names = selection.weights, selection.feature_names
    if weights is None:
        return None
    values, times = np.unique(weights, return_counts=True)
    default = DEFAULT_WEIGHT if DEFAULT_WEIGHT in values else float(values[times.argmax()])
    raised = np.flatnonzero(weights != default)
    in_votes = {str(names[i]): number(weights[i]) for i in raised[np.argsort(-weights[raised], kind="stable")]}
    stated = knowledge or {}
    return {
        "kind": str(selection.provenance.get("prior", "")),
        "default": default,
        "is_default_weight": default == DEFAULT_WEIGHT,
        "weights": in_votes,
        "words": {name: word for name in in_votes if isinstance(word := stated.get(name), str)},
        "unlikely": _unlikely(selection),
    }


def _unlikely(selection: Selection) -> list[str]:
    if selection.problem is None:
        return []
    system = selection.problem.utility.system
    columns = np.unique(system.A[np.flatnonzero(system.from_prior)].indices)
    return [str(name) for name in selection.feature_names[columns]]
