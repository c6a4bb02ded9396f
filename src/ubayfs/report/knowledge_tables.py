"""Tables of what experts know: what they stated of features, what less of it would choose, what it keeps out."""

from __future__ import annotations

from itertools import starmap

from .._plain import cost_text, listing
from ..summary.knowledge_sentences import why_out
from .document import Cell, Column, Table
from .tables import Field, Record, as_table, known_columns, marks_of, number_text, without, yes_no


def stated(summary: Record) -> tuple[Table, ...]:
    """Return the features of which an expert gave reasons, or all of which several experts stated something."""
    prior = summary["prior"] or {}
    if prior.get("experts"):
        return _opinions(prior)
    records = prior.get("reasons", [])
    columns: dict[str, Field] = {
        "feature": (Column("Feature"), "feature"),
        "weight": (
            Column("Stated"),
            lambda r: "" if (w := r["weight"]) is None else w if isinstance(w, str) else number_text(w),
        ),
        "why": (Column("Why"), "why"),
        "source": (Column("Source"), "source"),
        "chosen": (Column("Chosen"), lambda r: yes_no(r["chosen"])),
    }
    return known_columns("What the expert stated of features, and why", records, columns)


def _opinions(prior: Record) -> tuple[Table, ...]:
    """Return what each of several experts stated of features and why, those on which they disagree most first."""
    columns: list[Field] = [
        (Column("Feature"), lambda r: Cell(r["feature"], badges=marks_of(r))),
        (
            Column("Who stated what, and why"),
            lambda r: "; ".join(starmap(_opinion, r["experts"].items())),
        ),
        (Column("Together, in votes", True), _together),
        (Column("Votes apart", True), lambda r: number_text(r["disagreement"])),
        (Column("Chosen"), lambda r: yes_no(r["chosen"])),
    ]
    return as_table("What the experts stated of features, and why", prior["opinions"], columns)


def _opinion(expert: str, stated: Record) -> str:
    """Return what an expert stated of a feature, and why."""
    weight = stated.get("weight")
    votes = "" if weight is None else weight if isinstance(weight, str) else f"{number_text(weight)} votes"
    return f"{expert}: {' - '.join(filter(None, (votes, stated.get('why'), stated.get('source'))))}"


def _together(record: Record) -> str:
    price = "" if record["price"] is None else f", price {record['price']:.0%}"
    weight = record["weight"]
    return "" if weight is None else f"{weight if isinstance(weight, str) else number_text(weight)}{price}"


def decisions(summary: Record) -> tuple[Table, ...]:
    """Return what would be chosen with less of what the expert stated, if that is another set."""
    before, sets, weights = [record["feature"] for record in summary["chosen"]], summary["sets"], summary["agreement"]
    constraints = any(not entry["from_prior"] for entry in summary["constraints"])
    found = {
        "your weights": weights and sets["without_prior"],
        "half of your weights": weights and (half := weights["at"]["half"]) and {"features": half},
        "your constraints, at most the same size": constraints and sets["without_constraints"],
        "both: the votes alone": weights and constraints and sets["data_alone"],
    }
    records = [
        {"left_out": words, "removed": without(before, kept["features"]), "added": without(kept["features"], before)}
        for words, kept in found.items()
        if kept
    ]
    columns: list[Field] = [
        (Column("Without"), "left_out"),
        (Column("Would stay", True), lambda r: f"{len(before) - len(r['removed'])} of {len(before)}"),
        (Column("Removed"), lambda r: listing(r["removed"], 12)),
        (Column("Added"), lambda r: listing(r["added"], 12)),
    ]
    differ = any(record["removed"] or record["added"] for record in records)
    return as_table("What would be chosen with less of what you stated", records if differ else [], columns)


def left_out(summary: Record) -> tuple[Table, ...]:
    """Return features with many votes that are not in the set."""
    columns: list[Field] = [
        (Column("Feature"), "feature"),
        (Column("Votes", True), lambda r: "" if (n := r["count"]) is None else f"{n:,}"),
        (Column("Why it is out"), why_out),
        (Column("Taking it would cost", True), _loss),
    ]
    return as_table("Strongest by votes and weights", summary["left_out"], columns)


def _loss(entry: Record) -> str:
    return ("" if entry.get("proved", True) else "at most ") + cost_text(entry["loss_votes"], entry["loss"])
