"""Sentences on what an expert brought in: whether weights and constraints made a difference, and agree with votes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._plain import counted, listing, rounded

Facts = Mapping[str, Any]

_LISTED = 12


def opinion_and_data(facts: Facts) -> list[str]:
    """Return whether weights and constraints made a difference, and whether the weights agree with the votes."""
    records = [record for record in facts["chosen"] if record["reasons"]]
    if not records or not (facts["constraints"] or facts["agreement"]):
        return []
    own = [record["feature"] for record in records if record["reasons"] != ["data"]]
    line = "Your weights and constraints made no difference: the votes alone would choose these features, too."
    if own:
        are, rest = "is" if len(own) == 1 else "are", len(records) - len(own)
        line = (
            f"{len(own)} of {counted(len(records), 'chosen feature')} {are} there because of your weights or "
            f"constraints: {listing(own, _LISTED)}."
            + (f" The votes alone would choose the other {rest}, too." if rest else "")
        )
    return [line, *_weights_and_data(facts["agreement"])]


def _weights_and_data(found: Facts | None) -> list[str]:
    """Return whether the weights agree with the votes; that they do not is no conflict."""
    if found is None:
        return []
    same = {key for key in ("none", "half") if set(found["at"][key]) == set(found["at"]["all"])}
    lines = {
        frozenset({"none", "half"}): ["With none or half of your weights the same set would be chosen."],
        frozenset({"half"}): ["With half of your weights the same set would be chosen, with none another one."],
    }.get(frozenset(same), [])
    return [*_favored(found["p_value"]), *lines]


def _favored(p_value: float | None) -> list[str]:
    if p_value is None:
        return []
    p = rounded(p_value, 2)
    if p_value <= 0.05:
        return [f"Your favored features got more votes than random ones would (p = {p})."]
    return [
        f"Your favored features got no more votes than random ones would (p = {p}). That does not make them wrong: "
        "these data may be too few to show it."
    ]
