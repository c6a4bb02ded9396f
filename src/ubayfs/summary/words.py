"""The sentences of a report: what its tables mean, in words that every form of it has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .plain import counted, listing, rounded

_SELECTORS = {"MRMR": "mRMR", "HSIC": "HSIC lasso", "Laplacian": "Laplacian score", "Fisher": "Fisher score"}
_SETS = {
    "without_prior": "Without the prior (every feature with the default weight, none unlikely, constraints kept)",
    "without_constraints": "Without the constraints (the best set of at most the same size, prior kept)",
    "data_alone": "By the data alone (neither prior nor constraints, at most the same size, no feature without a vote)",
}
_LEGEND = {
    "data": "the votes alone are enough: without prior and constraints this set, or an equally good one, has it, too",
    "prior": "it would not be chosen without the prior, or the prior alone speaks for it",
    "constraints": (
        "it would not be chosen without the constraints: they ask for it, or they keep out features that have more "
        "votes"
    ),
    "prior and constraints": "it needs one of the two, or both",
    "filler": "no vote, no prior and no constraint speaks for it; it is there because nothing speaks against it",
    "no vote": "no model chose it",
    "tie": "another feature would do as well in its place, so that the choice between them is open",
}


def selector_name(told: str) -> str:
    """Return what people call a selector.

    >>> selector_name("MRMR()"), selector_name("Lasso(min_penalty=0.001)"), selector_name("own")
    ('mRMR', 'Lasso (min_penalty=0.001)', 'own')
    """
    name, _, settings = told.partition("(")
    settings = settings.removesuffix(")")
    return _SELECTORS.get(name, name) + (f" ({settings})" if settings else "")


def caution() -> str:
    """Return what the answer does not say."""
    return "Best for these votes, weights and constraints; whether it predicts must be tested on other data."


def terms(summary: Mapping[str, Any]) -> list[str]:
    """Return the words that a reader meets first, explained."""
    votes = "share of all votes, those of the prior included" if summary["ensemble"] is not None else "given importance"
    told = [
        "Value: what is made as large as possible, the importances of the chosen features plus the admissibility.",
        f"Importance: a feature's {votes}.",
        "Admissibility: 1 when all constraints hold, closer to 0 the more they are violated.",
    ]
    if summary["ensemble"] is not None and summary["ensemble"]["stability"] is not None:
        told.append("Stability: how much the models agree, from 0 (as by chance) to 1 (all chose the same features).")
    return told


def sentences(summary: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the sentences of each section, by its key."""
    return {
        "chosen": _chosen(summary),
        "belief": _belief(summary),
        "constraints": _constraints(summary),
        "ensemble": _ensemble(summary),
        "correlation": _correlation(summary),
        "reproduce": _reproduce(summary),
    }


def legend(records: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Return what the marks mean that the chosen features bear."""
    borne = {mark for record in records for mark in record["reasons"]}
    if any(len(record["reasons"]) > 1 for record in records):
        borne.add("prior and constraints")
    borne |= {"no vote"} if any(record["without_vote"] for record in records) else set()
    borne |= {"tie"} if any(record["tied"] for record in records) else set()
    return [{"mark": mark, "meaning": meaning} for mark, meaning in _LEGEND.items() if mark in borne]


def _chosen(summary: Mapping[str, Any]) -> list[str]:
    if not summary["chosen"]:
        return ["No feature was chosen."]
    told = []
    if any(record["low"] is not None for record in summary["chosen"]):
        measures = "Credible intervals" + (" and selection probabilities" if summary["n_draws"] else "")
        told.append(
            f"{measures} tell how sure the ensemble is: they shrink and sharpen with the number of models, not with "
            "the number of samples in the data."
        )
    if summary["n_draws"]:
        told.append(
            "Selection probability: how often a feature is chosen when the decision is made again on "
            f"{counted(summary['n_draws'], 'draw')} from the posterior."
        )
    return told


def _belief(summary: Mapping[str, Any]) -> list[str]:
    records = summary["chosen"]
    told = [
        _compared(lead, summary["sets"][key], len(records))
        for key, lead in _SETS.items()
        if records and summary["sets"][key] is not None
    ]
    if not told:
        return []
    told.append(
        "Several sets may be equally good; the one that shares most with the chosen set is meant. So read each line "
        "as: this set or an equally good one."
    )
    tied = [record["feature"] for record in records if record["tied"]]
    if tied:
        one = "it is" if len(tied) == 1 else "each of them is"
        told.append(f"Ties: other features would do as well as {listing(tied, 12)}; {one} marked in the table.")
    return told


def _compared(lead: str, change: Mapping[str, Any], n: int) -> str:
    filling = change.get("filling")
    fills = f" No model chose {listing(filling, 12)}: anything would fill that place as well." if filling else ""
    if not change["added"] and not change["removed"]:
        return f"{lead}: the same set would be chosen.{fills}"
    goes = f" {listing(change['removed'], 12)} would go." if change["removed"] else ""
    comes = f" {listing(change['added'], 12)} would come in." if change["added"] else ""
    return f"{lead}: {n - len(change['removed'])} of {counted(n, 'chosen feature')} would stay.{goes}{comes}{fills}"


def _constraints(summary: Mapping[str, Any]) -> list[str]:
    lines = [line for line in summary["constraints"] if not line["from_prior"]]
    beliefs = [line for line in summary["constraints"] if line["from_prior"]]
    if not lines and not beliefs:
        return ["No constraints were set."]
    violated = [line for line in summary["constraints"] if line["holds"] is False]
    told = ["All constraints hold." if lines else "No constraints were set."]
    if violated:
        broken = counted(len(violated), "line of the table is", "lines of the table are")
        told = [
            f"{broken} violated; together they lower the admissibility of the set to "
            f"{rounded(summary['admissibility'])} (1 when all hold)."
        ]
    told.append(
        "rho tells how strictly a constraint is meant; a hard one is never violated. Factor: what a violation leaves "
        "of the admissibility."
    )
    if beliefs:
        told.append(
            "What the expert holds unlikely is prior knowledge; it is listed here because it works in this way."
        )
    return told


def _ensemble(summary: Mapping[str, Any]) -> list[str]:
    found = None if summary["ensemble"] is None else summary["ensemble"]["stability"]
    if found is None:
        return []
    return [
        f"The models agree with a stability of {found['value']:.2f} ({100 * found['confidence']:.0f} % interval "
        f"{found['low']:.2f} to {found['high']:.2f}), which is {found['words']}: 1 means that every model chose "
        "the same set, 0 that they agree no more than by chance."
    ]


def _correlation(summary: Mapping[str, Any]) -> list[str]:
    found = summary["correlation"]
    if found is None or found["redundancy"] is None:
        return []
    return [f"Mean absolute Pearson correlation over all pairs (redundancy rate): {found['redundancy']:.2f}."]


def _reproduce(summary: Mapping[str, Any]) -> list[str]:
    ensemble = summary["ensemble"] or {}
    told = [f"Made with {_versions(summary['versions'])}."]
    if ensemble.get("versions") not in (None, {k: v for k, v in summary["versions"].items() if k != "python"}):
        told.append(f"The evidence was collected with {_versions(ensemble['versions'])}.")
    if ensemble.get("seed") is not None:
        told.append(f"Seed of the ensemble: {_seed(ensemble['seed'])}.")
    if summary["study"] is not None:
        told.append(
            "The study below has everything but the data; saved as study.yaml where its path to the data holds, it "
            "repeats this result: ubayfs select study.yaml"
        )
    return told


def _versions(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def _seed(seed: Any) -> str:
    if isinstance(seed, Mapping) and not seed.get("spawn_key"):
        return str(seed.get("entropy"))
    return str(seed)
