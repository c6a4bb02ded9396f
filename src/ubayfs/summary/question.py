"""What was asked, in sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..data.blocks import Blocks
from ..selection import Selection
from .belief import prior_sentences
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
    prior: Mapping[str, Any] | None,
    constraints: list[dict[str, Any]],
    blocks: Blocks,
) -> list[str]:
    """Return what was asked: the task, the ensemble, the prior, the constraints."""
    told = [_task(data), _ensemble(ensemble), *prior_sentences(prior), _blocks(blocks), *_constraints(constraints)]
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
    by = f" ({listing(ensemble['selector_names'])})" if ensemble["selector"] else ""
    rows = ""
    if ensemble["train_size"] is not None:
        unit = "groups" if ensemble["grouped"] else "rows"
        rows = f", each on {100 * ensemble['train_size']:g} % of the {unit}"
    most = ensemble["n_features_per_model"]
    each = f", each choosing at most {counted(most, 'feature')}" if most is not None else ""
    return f"{counted(ensemble['models'], 'elementary model')}{by} voted{rows}{each}."


def _blocks(blocks: Blocks) -> str:
    if not len(blocks):
        return ""
    told = [f"{name} ({len(members):,})" for name, members in blocks.members.items()]
    return f"{counted(len(blocks), 'block')} of features: {listing(told, limit=12)}."


def _constraints(constraints: list[dict[str, Any]]) -> list[str]:
    told = [f"{line['label']}{_relaxation(line)}" for line in constraints if not line["from_prior"]]
    return [f"Constraints: {'; '.join(told)}."] if told else ["No constraints were set."]


def _relaxation(line: Mapping[str, Any]) -> str:
    low, high = line["rho"], line["rho_highest"]
    if low is None:
        return ""
    if low == high:
        return " (hard)" if low == "hard" else f" (rho {rounded(low)})"
    return f" (rho {rounded(low)} to {high if high == 'hard' else rounded(high)})"
