"""Tables of what experts know: what they stated of features and why, and what less of it would choose."""

from __future__ import annotations

from itertools import starmap

from .document import Cell, Column, Table
from .tables import Field, Record, as_table, changes_text, known_columns, marks_of, number_text, without, yes_no


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
    """Return what would be chosen with none, half and all of the expert's weights."""
    found = summary["agreement"]
    if found is None:
        return ()
    before = [record["feature"] for record in summary["chosen"]]
    if all(set(features) == set(before) for features in found["at"].values()):
        return ()
    words = {"none": "none", "half": "half of each", "all": "all, as here"}
    columns: list[Field] = [
        (Column("Your weights"), lambda r: words[r[0]]),
        (Column("The chosen set"), lambda r: changes_text(without(r[1], before), without(before, r[1]))),
    ]
    return as_table("What would be chosen with less of your weights", list(found["at"].items()), columns)
