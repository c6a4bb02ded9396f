"""The account of an answer: its members and why they are there, how good it is, and what else would do."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arguments import FeatureIndex, RandomState
from ..attribution import Attribution
from ..data.blocks import Blocks
from ..ensemble.collect import Progress
from ..selection import FeatureSet, Selection
from ..utility import score_tolerance
from ..workflow import selection_probabilities
from .plain import counted, number, rounded
from .ties import as_good, tied_members

LEVEL = 0.9  # of the credible intervals


def chosen_features(
    selection: Selection,
    found: Attribution | None,
    blocks: Blocks,
    probability: NDArray[np.float64] | None,
    random_state: RandomState,
) -> list[dict[str, Any]]:
    """Return one record per chosen feature, most important first; what is not known is None."""
    posterior = selection.posterior
    low, high = (None, None)
    if posterior is not None:
        low, high = posterior.credible_interval(LEVEL, random_state=random_state)
    belongs = blocks.matrix(FeatureIndex(selection.feature_names)).T.tocsr()
    counts, weights, tied = selection.counts, selection.weights, tied_members(selection)
    filling = () if found is None else found.filling
    records = []
    for i in sorted(selection.indices.tolist(), key=lambda i: (-selection.importance[i], i)):
        name = str(selection.feature_names[i])
        in_blocks = belongs.indices[belongs.indptr[i] : belongs.indptr[i + 1]]
        records.append(
            {
                "feature": name,
                "position": i,
                "blocks": [blocks.names[row] for row in sorted(in_blocks.tolist())],
                "count": None if counts is None else int(counts[i]),
                "share": None if posterior is None else int(posterior.counts[i]) / posterior.evidence.n_models,
                "weight": None if weights is None else number(weights[i]),
                "importance": number(selection.importance[i]),
                "low": None if low is None else number(low[i]),
                "high": None if high is None else number(high[i]),
                "probability": None if probability is None else number(probability[i]),
                # What merely fills a place that is left is not chosen for its own sake.
                "without_prior": _within(name, None if found is None else found.without_prior) and name not in filling,
                "without_constraints": _within(name, None if found is None else found.without_constraints),
                "data_alone": _within(name, None if found is None else found.data_alone),
                "reasons": [] if found is None else list(found.reasons(name)),
                "without_vote": counts is not None and int(counts[i]) == 0,
                "tied": bool(tied[i]),
            }
        )
    return records


def _within(name: str, features: tuple[str, ...] | None) -> bool | None:
    return None if features is None else name in features


def probabilities(
    selection: Selection, n_draws: int, random_state: RandomState, on_progress: Progress | None
) -> tuple[NDArray[np.float64] | None, int]:
    """Return the selection probabilities, of shape (n_features,), and the number of decisions that they rest on.

    They are None when none are asked for, or there is no posterior to draw from.
    """
    if n_draws == 0 or selection.posterior is None or selection.problem is None:
        return None, 0
    decided = 0

    def report(done: int, total: int) -> Any:
        nonlocal decided
        decided = done
        return on_progress(done, total) if on_progress is not None else None

    chance = selection_probabilities(selection, n_draws=n_draws, random_state=random_state, on_progress=report)
    return chance, decided


def other_sets(selection: Selection, found: Attribution | None) -> dict[str, Any]:
    """Return what less knowledge would change: features that come in and those that go."""
    changes: dict[str, Any] = {}
    for key in ("without_prior", "without_constraints", "data_alone"):
        features = None if found is None else getattr(found, key)
        changes[key] = None if features is None else {"features": list(features), **_change(selection, features)}
    if changes["without_prior"] is not None and found is not None:
        changes["without_prior"]["filling"] = list(found.filling)
    return changes


def _change(selection: Selection, features: tuple[str, ...]) -> dict[str, list[str]]:
    before, after = set(selection.features), set(features)
    return {
        "added": [name for name in features if name not in before],
        "removed": [name for name in selection.features if name not in after],
    }


def alternatives(selection: Selection) -> list[dict[str, Any]]:
    """Return the next best sets: what each is worth and in what it differs from the chosen one."""
    similarity = selection.similarity()[0]
    return [
        {
            "value": number(other.value),
            "loss": number(selection.value - other.value),
            "as_good": as_good(selection, other.value),
            "proved": is_proved(other),
            "features": list(other.features),
            **_change(selection, other.features),
            "jaccard": float(similarity[position]),
            "n_violated": len(other.metrics.violations),
        }
        for position, other in enumerate(selection.alternatives, start=1)
    ]


def is_proved(found: FeatureSet) -> bool:
    """Tell whether a set is known to be the best: its gap is closed."""
    return bool(found.gap <= score_tolerance(found.value))


def headline(selection: Selection) -> str:
    """Return the answer in one sentence."""
    n = len(selection.features)
    verb = "was" if n == 1 else "were"
    return f"{n:,} of {counted(len(selection.feature_names), 'feature')} {verb} chosen; {_short_verdict(selection)}."


def _short_verdict(selection: Selection) -> str:
    if is_proved(selection.best):
        return "proved to be the best set"
    found = "the best set found" if selection.best.complete else "the best set found in the time given"
    if not np.isfinite(selection.gap):
        return f"{found}, without a proof"
    return f"{found}, at most {rounded(selection.gap)} below the best possible value"


def verdict(selection: Selection, others: list[dict[str, Any]]) -> list[str]:
    """Return how good the answer is, in sentences."""
    best, strength = selection.best, selection.provenance.get("constraint_strength")
    scale = "" if strength is None else f" times the constraint strength {rounded(strength)}"
    told = [
        f"The value of the set, which is what was made as large as possible, is {rounded(best.value, 6)}: the "
        f"importances of its members add up to {rounded(best.metrics.importance, 6)}, and its admissibility of "
        f"{rounded(best.metrics.admissibility, 6)} (1 when all constraints hold){scale} is added."
    ]
    if is_proved(best):
        told.append(
            f"No set is worth more: the upper bound over all sets is {rounded(best.bound, 6)}, so the gap is zero and "
            "this is proved to be the best set."
        )
    else:
        early = " The search was ended by its time limit." if not best.complete else ""
        limit = f"No set is worth more than {rounded(best.bound, 6)}; the gap of {rounded(best.gap)} is not closed"
        known = limit if np.isfinite(best.gap) else "The optimizer knows no upper bound"
        told.append(f"{known}, so a better set may exist.{early}")
    equal = sum(other["as_good"] for other in others)
    if equal:
        least = "At least " if equal == len(others) else ""
        sets = counted(equal, "other set is", "other sets are")
        told.append(f"{least}{sets} exactly as good: the choice among them is open.")
    return told
