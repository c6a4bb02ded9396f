"""What was asked, in sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..blocks import Blocks
from ..priors import DEFAULT_WEIGHT
from ..selection import Selection
from .plain import counted, listing, rounded

_TASKS = {
    "binary": "tell two classes apart",
    "multiclass": "tell the classes apart",
    "multilabel": "predict the labels",
    "regression": "predict the target",
    "unsupervised": "represent the data, without a target",
}


def question(
    selection: Selection,
    data: Mapping[str, Any],
    ensemble: Mapping[str, Any] | None,
    constraints: list[dict[str, Any]],
    blocks: Blocks,
) -> list[str]:
    """Return what was asked: the task, the ensemble, the prior, the constraints."""
    told = [_task(data), _ensemble(ensemble), *_prior(selection), _blocks(blocks), *_constraints(constraints)]
    least = selection.provenance.get("min_votes", 0)
    if least:
        told.append(f"Only features with at least {counted(least, 'vote')} could be chosen.")
    return [sentence for sentence in told if sentence]


def _task(data: Mapping[str, Any]) -> str:
    purpose = _TASKS.get(str(data["task"]), "")
    target = f" ({data['target']})" if data["target"] and purpose else ""
    rows = f" on {counted(data['rows'], 'row')} of data" if data["rows"] else ""
    return (
        f"Which of {counted(data['features'], 'feature')} make the best set"
        f"{f' to {purpose}' if purpose else ''}{target}{rows}?"
    )


def _ensemble(ensemble: Mapping[str, Any] | None) -> str:
    if ensemble is None:
        return "Importances were given; no ensemble was run."
    by = f" ({listing([name.removesuffix('()') for name in ensemble['selector']])})" if ensemble["selector"] else ""
    rows = ""
    if ensemble["train_size"] is not None:
        unit = "groups" if ensemble["grouped"] else "rows"
        rows = f", each on {100 * ensemble['train_size']:g} % of the {unit}"
    most = ensemble["n_features_per_model"]
    each = f", each choosing at most {counted(most, 'feature')}" if most is not None else ""
    return f"{counted(ensemble['models'], 'elementary model')}{by} voted{rows}{each}."


def _prior(selection: Selection) -> list[str]:
    weights = selection.weights
    if weights is None:
        return []
    kind = selection.provenance.get("prior", "")
    raised = np.flatnonzero(weights != DEFAULT_WEIGHT)
    if len(raised) == 0:
        return [f"Prior: {kind}, with the default weight of {DEFAULT_WEIGHT} votes for every feature: no opinion."]
    if len(raised) == len(weights) and (weights == weights[0]).all():
        return [f"Prior: {kind}, with a weight of {counted_votes(weights[0])} for every feature: no preference."]
    order = raised[np.argsort(-weights[raised], kind="stable")]
    told = listing([f"{selection.feature_names[i]} ({rounded(weights[i])})" for i in order], limit=12)
    rest = f"; all others have {DEFAULT_WEIGHT}" if len(raised) < len(weights) else ""
    return [f"Prior: {kind}. Weights in votes, as the expert gave them: {told}{rest}."]


def counted_votes(weight: float) -> str:
    """Return a weight with its unit."""
    return f"{rounded(weight)} vote{'' if weight == 1 else 's'}"


def _blocks(blocks: Blocks) -> str:
    if not len(blocks):
        return ""
    told = [f"{name} ({len(members):,})" for name, members in blocks.members.items()]
    return f"{counted(len(blocks), 'block')} of features: {listing(told, limit=12)}."


def _constraints(constraints: list[dict[str, Any]]) -> list[str]:
    if not constraints:
        return ["No constraints were set."]
    return ["Constraints: " + "; ".join(f"{line['label']}{_relaxation(line)}" for line in constraints) + "."]


def _relaxation(line: Mapping[str, Any]) -> str:
    low, high = line["rho"], line["rho_highest"]
    if low is None:
        return ""
    if low == high:
        return " (hard)" if low == "hard" else f" (rho {rounded(low)})"
    return f" (rho {rounded(low)} to {high if high == 'hard' else rounded(high)})"
