"""Tables of what experts stated of features, and why."""

from __future__ import annotations

from itertools import starmap

from .document import Cell, Column, Table
from .tables import Field, Record, as_table, marks_of, number_text, yes_no


def stated(summary: Record) -> tuple[Table, ...]:
    """Return the features of which an expert gave reasons, or all of which several experts stated something."""
    prior = summary["prior"] or {}
    if prior.get("experts"):
        return _opinions(prior)
    records = prior.get("reasons", [])
    columns: list[Field] = [
        (Column("Feature"), lambda r: Cell(r["feature"])),
        (
            Column("Stated"),
            lambda r: Cell("" if (w := r["weight"]) is None else w if isinstance(w, str) else number_text(w)),
        ),
        (Column("Why"), lambda r: Cell(r["why"])),
        (Column("Source"), lambda r: Cell(r["source"])),
        (Column("Chosen"), lambda r: Cell(yes_no(r["chosen"]))),
    ]
    return (as_table("What the expert stated of features, and why", records, columns),) if records else ()


def _opinions(prior: Record) -> tuple[Table, ...]:
    """Return what each of several experts stated of features and why, those on which they disagree most first."""
    columns: list[Field] = [
        (Column("Feature"), lambda r: Cell(r["feature"], badges=marks_of(r))),
        (
            Column("Who stated what, and why"),
            lambda r: Cell("; ".join(starmap(_opinion, r["experts"].items()))),
        ),
        (Column("Together, in votes", True), lambda r: Cell(_together(r))),
        (Column("Votes apart", True), lambda r: Cell(number_text(r["disagreement"]))),
        (Column("Chosen"), lambda r: Cell(yes_no(r["chosen"]))),
    ]
    return (as_table("What the experts stated of features, and why", prior["opinions"], columns),)


def _opinion(expert: str, stated: Record) -> str:
    """Return what an expert stated of a feature, and why."""
    weight = stated.get("weight")
    votes = "" if weight is None else weight if isinstance(weight, str) else f"{number_text(weight)} votes"
    return f"{expert}: {' - '.join(filter(None, (votes, stated.get('why'), stated.get('source'))))}"


def _together(record: Record) -> str:
    price = "" if record["price"] is None else f", price {record['price']:.0%}"
    weight = record["weight"]
    return "" if weight is None else f"{weight if isinstance(weight, str) else number_text(weight)}{price}"
