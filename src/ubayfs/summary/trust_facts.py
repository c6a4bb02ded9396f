"""Facts of trust: how the set predicts, how much of it is noise, what would be chosen again; and what explains it.

Each of the three has a state: "known", "partial" (n_done of n_asked), "missing", or "undefined" with a reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .._arguments import RandomState
from .._plain import number, plain
from ..attribution import Attribution
from ..selection import Selection
from ..trust.agreement import agreement
from ..trust.left_out import constraint_costs, left_out
from ..trust.noise import FEWEST_SHUFFLES, SUPPORTED
from ..trust.substitutes import substitutes

if TYPE_CHECKING:
    from pandas import DataFrame

    from ..trust.left_out import LeftOut
    from ..trust.noise import Noise
    from ..trust.reproducibility import Reproducibility
    from ..trust.substitutes import Substitute
    from ..trust.trust import Trust
    from ..trust.validation import Validation

# Work on explanations: nodes of branch and bound in each decision, so that a report never takes much longer than its
# decision.
_NODES = 200
_STRONGEST = 5  # features that are out and looked at
ALIKE = 0.5  # correlation from which on a feature may be named as a stand-in
PARTS = ("validation", "noise", "reproducibility")  # in the order of a report


def trust_facts(
    selection: Selection, trust: Trust | None, reasons: Attribution | None, result: str | None
) -> dict[str, Any]:
    """Return what is known of other samples, in plain types.

    `result` is the directory that further commands name; None where the answer is from Python, "" if no command helps.
    """
    validation, noise, reproducibility = (getattr(trust, part, None) for part in PARTS)
    found = {
        "validation": None if validation is None else validation_facts(validation),
        "noise": None if noise is None or reasons is None else _noise(selection, noise, reasons),
        "reproducibility": None if reproducibility is None else reproducibility_facts(reproducibility),
    }
    problems: Mapping[str, str] = getattr(trust, "problems", {})
    states = {part: facts or _unknown(selection, part, problems.get(part)) for part, facts in found.items()}
    return {"level": getattr(trust, "level", None), "result": result, "n_chosen": len(selection.features), **states}


def _unknown(selection: Selection, part: str, problem: str | None) -> dict[str, Any]:
    """Return why something is not known: it was not examined, could not be done, or has no meaning here."""
    settings = selection.provenance.get("evidence", {})
    reason = None
    if selection.counts is None:
        reason = "importances"
    elif not settings.get("parts", settings):
        reason = "votes"
    elif part != "reproducibility" and settings.get("task") == "unsupervised":
        reason = "unsupervised"
    elif not selection.features:
        reason = "empty"
    elif problem is not None:
        reason = "failed"
    return {"state": "missing" if reason is None else "undefined", "reason": reason, "problem": problem}


def _state(n_done: int, n_asked: int, failures: Iterable[str]) -> dict[str, Any]:
    state = "known" if n_done == n_asked else "partial"
    return {"state": state, "n_done": n_done, "n_asked": n_asked, "failures": list(failures)}


def is_known(found: Mapping[str, Any]) -> bool:
    """Tell whether there is something to say of a part of trust."""
    return found["state"] in ("known", "partial")


def _noise(selection: Selection, noise: Noise, reasons: Attribution) -> dict[str, Any]:
    found = noise.estimate(selection, reasons)
    supported = set(selection.feature_names[noise.q_values <= SUPPORTED])
    return {
        **_state(noise.null.n_done, noise.null.n_shuffles, noise.null.failures),
        "expected": found.expected,
        "cautious": found.cautious,
        "n_data": found.n_data,
        "filled": list(found.filled),
        "filled_supported": [name for name in found.filled if name in supported],
        "p_value": noise.p_value,
        "passes": noise.passes,
        "enough": noise.enough,
        "fewest": FEWEST_SHUFFLES,
        "supported": noise.supported,
        "n_supported_chosen": len(supported.intersection(selection.features)),
        "limit": SUPPORTED,
        "share": found.share,
    }


def reproducibility_facts(found: Reproducibility) -> dict[str, Any]:
    """Return what another study would choose again, in plain types."""
    return {
        **_state(found.n_used, found.n_splits, found.failures),
        "n_undefined": found.n_undefined,
        "size": found.size,
        **{key: number(getattr(found, key)) for key in ("lower", "upper")},
        **{key: [number(value) for value in getattr(found, key)] for key in ("interval", "chosen_again")},
    }


def validation_facts(found: Validation) -> dict[str, Any]:
    """Return how the procedure predicts beside baselines, in plain types."""
    scores = _records(found.scores)
    main = [row for row in scores if row["metric"] == found.main_metric]
    ours = main[0] if main else dict.fromkeys(("predictor", "mean", "lower", "upper"))
    return {
        **_state(found.n_done, found.n_folds, found.failures),
        "metric": found.main_metric,
        "adjust_for": list(found.adjust_for),
        **{key: ours[key] for key in ("predictor", "mean", "lower", "upper")},
        "scores": scores,
        "sizes": _records(found.sizes),
        "best_size": found.best_size,
        "one_se_size": found.one_se_size,
        "control": _records(found.control),
    }


def outcome_of(row: Mapping[str, Any]) -> str:
    """Return how ours compares with one baseline as far as the interval tells: same, unclear, better or worse."""
    low, high = row["difference_lower"], row["difference_upper"]
    if low == high == 0:
        return "same"
    if low is None or high is None or low <= 0 <= high:
        return "unclear"
    return "better" if low > 0 else "worse"


def _records(frame: DataFrame | None) -> list[dict[str, Any]]:
    """Return the rows of a frame in plain types; what is no finite number is None."""
    if frame is None:
        return []
    return [
        {str(key): number(value) if isinstance(value, float) else plain(value) for key, value in row.items()}
        for row in frame.to_dict("records")
    ]


def with_trust(records: list[dict[str, Any]], trust: Trust | None) -> list[dict[str, Any]]:
    """Return the records of chosen features with what is known of each beyond these samples."""
    noise, again = getattr(trust, "noise", None), getattr(trust, "reproducibility", None)
    found = []
    for record in records:
        i = record["position"]
        low, high = (None, None) if again is None else map(number, again.vote_share[i])
        known = {
            "q": None if noise is None or not noise.enough else float(noise.q_values[i]),
            "chosen_again": None if again is None or np.isnan(again.frequency[i]) else str(again.labels[i]),
            "frequency": None if again is None else number(again.frequency[i]),
            "half_low": low,
            "half_high": high,
        }
        found.append(record | known | dict.fromkeys(("substitute", "substitute_cost", "replaceable")))
    return found


def with_substitutes(records: list[dict[str, Any]], found: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the records with the best replacement of each, and what it costs in votes."""
    instead = {
        entry["feature"]: {
            "substitute": entry["added"],
            "substitute_cost": entry["loss_votes"] if entry["loss_votes"] is not None else entry["loss"],
            "replaceable": entry["replaceable"],
        }
        for entry in found
    }
    return [record | instead.get(record["feature"], {}) for record in records]


def explanations(selection: Selection, random_state: RandomState, blocks: Any) -> dict[str, Any]:
    """Return what could replace what, what is out and why, what constraints cost, and whether prior and data agree."""
    found = replacements(selection, random_state) | what_is_out(selection, random_state)
    if selection.problem is None:
        return {**found, "agreement": None}
    known = agreement(selection, blocks=blocks, random_state=random_state, node_limit=_NODES)
    return {**found, "agreement": plain(known)}


def replacements(selection: Selection, random_state: RandomState) -> dict[str, Any]:
    """Return what could take the place of each member, and which features stood in for one another."""
    if selection.problem is None:
        return {"substitutes": [], "stand_ins": []}
    found = substitutes(selection, random_state=random_state, node_limit=_NODES)
    return {"substitutes": plain(found), "stand_ins": _stand_ins(selection, found)}


def what_is_out(selection: Selection, random_state: RandomState) -> dict[str, Any]:
    """Return strong features that are out and why, and what constraints cost."""
    if selection.problem is None:
        return {"left_out": [], "left_out_known": False, "costs": []}
    limits: dict[str, Any] = {"random_state": random_state, "node_limit": _NODES}
    costs = constraint_costs(selection, **limits)
    strong = _strong(selection)
    out = left_out(selection, len(strong), costs, **limits) if any(strong) else ()
    return {
        "costs": plain(costs),
        "left_out": [_with_kinds(selection, entry) for entry, shown in zip(out, strong, strict=False) if shown],
        "left_out_known": True,
    }


def _with_kinds(selection: Selection, entry: LeftOut) -> dict[str, Any]:
    """Return why a feature is out in plain types, with the kinds of the constraints that keep it out."""
    assert selection.problem is not None
    parts = selection.problem.utility.system.parts
    kinds = ["unlikely" if parts[k].from_prior else parts[k].kind.replace("_", "-") for k in entry.constraints]
    return {**plain(entry), "kinds": list(dict.fromkeys(kinds))}


def _strong(selection: Selection) -> list[bool]:
    """Tell of the most important features that are out whether they have votes, and as many as the weakest member."""
    out = np.flatnonzero(~selection.mask)
    first = out[np.argsort(-selection.importance[out], kind="stable")[:_STRONGEST]]
    if selection.counts is None:
        return [True] * len(first)
    weakest = selection.counts[selection.mask].min(initial=selection.counts.max())
    strong = (selection.counts[first] >= max(weakest, 1)).tolist()
    return strong[: len(strong) - strong[::-1].index(True)] if any(strong) else []


def _stand_ins(selection: Selection, found: tuple[Substitute, ...]) -> list[dict[str, Any]]:
    """Return pairs of features that models took in place of one another and that are alike, each pair once."""
    votes = (
        {} if selection.counts is None else dict(zip(selection.feature_names, selection.counts.tolist(), strict=True))
    )
    pairs: dict[frozenset[str], dict[str, Any]] = {}
    for entry in found:
        for other in entry.stand_ins:
            alike = other.correlation is None or other.correlation >= ALIKE
            if other.clear and alike:
                pair = {"member": entry.feature, "member_votes": votes[entry.feature], **plain(other)}
                pairs.setdefault(frozenset({entry.feature, other.feature}), pair)
    return list(pairs.values())


def with_costs(entries: list[dict[str, Any]], costs: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the constraints with what each costs: what the set would gain without it, or with one more place."""
    known = {cost["position"]: cost for cost in costs}
    keys = {
        "cost": "gain",
        "cost_votes": "gain_votes",
        "cost_bound": "gain_bound",
        "cost_bound_votes": "gain_bound_votes",
        "added_without": "added",
        "removed_without": "removed",
        "one_more": "one_more",
    }
    return [
        entry | {key: known[i][name] if i in known else None for key, name in keys.items()}
        for i, entry in enumerate(entries)
    ]
