"""Sections in a few words: what a reader sees of those that are folded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._plain import counted, listing
from .sentences import held
from .trust_sentences import cost_text

Facts = Mapping[str, Any]


def briefs(facts: Facts) -> dict[str, str]:
    """Return what some sections say in a few words, by the key of the section."""
    data, ensemble, correlation = facts["data"], facts["ensemble"], facts["correlation"]
    samples = counted(data["n_samples"], "sample") if data["n_samples"] else ""
    found = {
        **{fact["fact"]: fact["value"] for fact in facts["facts"]},
        "substitutes": _substitutes(facts["substitutes"]),
        "constraints": held(facts),
        "data": ", ".join(filter(None, [samples, counted(data["n_features"], "feature")])),
        "quality": "Proved." if facts["proved"] else "Not proved.",
        "ensemble": "" if ensemble is None else f"{ensemble['n_voted']:,} features have votes",
        "correlation": "" if correlation is None else _strongest(correlation["strongest"]),
    }
    return {key: text for key, text in found.items() if text}


def _substitutes(found: list[Facts]) -> str:
    replaced = [entry for entry in found if entry["replaceable"] and entry["loss"] is not None]
    if not replaced:
        return ""
    easiest = min(replaced, key=lambda entry: entry["loss"])
    cost = cost_text(easiest["loss_votes"], easiest["loss"])
    instead = listing(easiest["added"], 3) or "nothing"
    return f"the cheapest exchange: {easiest['feature']} for {instead}, costs {cost}"


def _strongest(pairs: list[Facts]) -> str:
    return f"at most {abs(pairs[0]['value']):.2f}" if pairs else ""
