"""The tables of a report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._plain import counted, listing, relaxation_text, rounded
from .document import Cell, Column, Table

Record = Mapping[str, Any]

_LISTED = 12


def key_figures(summary: Record) -> tuple[tuple[str, str, str], ...]:
    """Return the few numbers that a reader looks for first: value, name, remark."""
    n = len(summary["chosen"])
    figures = [(f"{n:,}", f"feature{'' if n == 1 else 's'} chosen", f"of {summary['n_features']:,}")]
    gap = "gap 0: proved" if summary["proved"] else f"gap {_number(summary['gap'])}: not proved"
    figures.append((_number(summary["value"], 4), "score", gap))
    constraints = summary["constraints"]
    if constraints:
        n_hold = sum(entry["holds"] for entry in constraints)
        name = "constraint holds" if len(constraints) == 1 else "constraints hold"
        remark = f"admissibility {_number(summary['admissibility'])}"
        figures.append((f"{n_hold} of {len(constraints)}", name, remark))
    ensemble = summary["ensemble"]
    if ensemble is not None:
        models = "model voted" if ensemble["n_models"] == 1 else "models voted"
        voted = counted(ensemble["n_voted"], "feature has votes", "features have votes")
        figures.append((f"{ensemble['n_models']:,}", models, voted))
        if ensemble["stability"] is not None:
            figures.append((f"{ensemble['stability']['value']:.2f}", "stability", ensemble["stability"]["grade"]))
    return tuple(figures)


def _number(value: float | None, digits: int = 3) -> str:
    return "unknown" if value is None else rounded(value, digits)


def chosen(summary: Record) -> Table | None:
    """Return the chosen features, most important first; columns that nothing is known for are left out."""
    records = summary["chosen"]
    if not records:
        return None
    level = f"{100 * summary['level']:.0f} % interval"
    longest = max((record["importance"] or 0.0) for record in records) or 1.0
    # Heading, whether it holds numbers, key of the record without which the column is left out, how a cell is made.
    columns: list[tuple[str, bool, str, Any]] = [
        ("Blocks", False, "blocks", lambda r: Cell(", ".join(r["blocks"]))),
        ("Votes", True, "count", lambda r: Cell(f"{r['count']:,}", r["share"])),
        ("Prior weight", True, "weight", lambda r: Cell(_number(r["weight"]))),
        ("Importance", True, "importance", lambda r: Cell(_share(r["importance"]), r["importance"] / longest)),
        (level, True, "low", lambda r: Cell(_interval(r))),
        ("Selection probability", True, "probability", lambda r: Cell(f"{r['probability']:.2f}", r["probability"])),
        ("Chosen because of", False, "reasons", lambda r: Cell("", badges=tuple(r["reasons"]))),
        ("Also without prior", False, "without_prior", lambda r: Cell(_yes(r["without_prior"]))),
        ("Also without constraints", False, "without_constraints", lambda r: Cell(_yes(r["without_constraints"]))),
    ]
    shown = [column for column in columns if any(record[column[2]] not in (None, []) for record in records)]
    headings = (Column("Feature"), *(Column(heading, numeric) for heading, numeric, _, _ in shown))
    rows = tuple(
        (Cell(record["feature"], badges=_marks(record)), *(make(record) for *_, make in shown)) for record in records
    )
    return Table("Chosen features, most important first", headings, rows)


def _yes(chosen: bool) -> str:
    return "yes" if chosen else "no"


def _share(value: float) -> str:
    """Return an importance: all of them sum to 1, so that four decimals are as much as anybody can use."""
    return f"{value:.4f}" if value >= 0.00005 or value == 0 else "< 0.0001"


def _interval(record: Record) -> str:
    low, high = _share(record["low"]), _share(record["high"])
    return f"{low} to {high}" if low != high else high


def _marks(record: Record) -> tuple[str, ...]:
    return ("no vote",) * record["without_vote"] + ("tie",) * record["tied"]


def constraints(summary: Record) -> tuple[Table, ...]:
    """Return the constraints, and the inequalities of them that are violated most."""
    entries = summary["constraints"]
    columns = (
        Column("Constraint"),
        Column("Inequalities", True),
        Column("rho", True),
        Column("Holds"),
        Column("Violated by", True),
        Column("Factor", True),
    )
    rows = tuple(
        (
            Cell(entry["label"], badges=("prior",) * entry["from_prior"]),
            Cell("" if entry["n_inequalities"] is None else f"{entry['n_inequalities']:,}"),
            Cell(_rho(entry)),
            Cell("", badges=("holds",) if entry["holds"] else ("violated",)),
            Cell(_amount(entry)),
            Cell(_number(entry["admissibility"])),
        )
        for entry in entries
    )
    table = Table("Constraints and what they cost", columns, rows)
    worst = [violation for entry in entries if entry["n_inequalities"] != 1 for violation in entry["worst"]]
    return (table, _worst(worst)) if worst else (table,)


def _worst(violations: list[Record]) -> Table:
    columns = (Column("Inequality"), Column("rho", True), Column("Violated by", True), Column("Factor", True))
    rows = tuple(
        (
            Cell(violation["label"]),
            Cell(relaxation_text(violation["rho"])),
            Cell(rounded(violation["violation"])),
            Cell(_number(violation["admissibility"])),
        )
        for violation in violations
    )
    return Table("Inequalities that are violated most", columns, rows)


def _rho(entry: Record) -> str:
    low, high = entry["rho"], entry["rho_highest"]
    if low is None:
        return ""
    return relaxation_text(low) if low == high else f"{relaxation_text(low)} to {relaxation_text(high)}"


def _amount(entry: Record) -> str:
    if entry["holds"]:
        return ""
    if entry["n_inequalities"] in (1, None):
        return rounded(entry["violation"])
    return f"up to {rounded(entry['violation'])} ({entry['n_violated']:,} of {entry['n_inequalities']:,} inequalities)"


def alternatives(summary: Record) -> Table | None:
    """Return the next best sets, or None when there are none."""
    others = summary["alternatives"]
    if not others:
        return None
    columns = (
        Column("Alternative"),
        Column("Score", True),
        Column("Lower by", True),
        Column("Added"),
        Column("Removed"),
        Column("Similarity (Jaccard)", True),
    )
    rows = tuple(
        (
            Cell(str(position)),
            Cell(_number(other["value"], 6)),
            Cell("", badges=("as good",)) if other["as_good"] else Cell(_number(other["loss"])),
            Cell(listing(other["added"], _LISTED)),
            Cell(listing(other["removed"], _LISTED)),
            Cell(f"{other['jaccard']:.2f}"),
        )
        for position, other in enumerate(others, start=1)
    )
    return Table("Sets as good or nearly as good", columns, rows)


def data(summary: Record) -> Table:
    """Return the data at a glance."""
    found = summary["data"]
    total = sum(label["count"] for label in found["classes"])
    shares = [
        f"{label['label']}: {label['count']:,} ({100 * label['count'] / total:.0f} %)" for label in found["classes"]
    ]
    spread, constant = found["range"], found["n_constant"]
    named = f"{constant:,}, never chosen: {listing(found['constant'], len(found['constant']))}" if constant else ""
    more = (constant or 0) - len(found["constant"])
    return _facts(
        "Data",
        {
            "File": found["file"],
            "Target": found["target"],
            "Samples": f"{found['n_samples']:,}" if found["n_samples"] else "",
            "Features": f"{found['n_features']:,}",
            "Task": found["task"],
            "Labels" if found["task"] == "multilabel" else "Classes": listing(shares, _LISTED),
            "Range of the target": "" if spread is None else _range(spread),
            "Groups": f"{found['groups']:,}; samples of one group stay together" if found["groups"] is not None else "",
            "Missing values": "" if found["missing"] is None else found["missing"]["words"],
            "Constant features": named + (f" and {more:,} more" if more else ""),
        },
    )


def _facts(caption: str, entries: Mapping[str, Any]) -> Table:
    rows = tuple((Cell(name), Cell(str(value))) for name, value in entries.items() if value)
    return Table(caption, (Column(""), Column("")), rows)


def _range(spread: Mapping[str, float]) -> str:
    return f"{rounded(spread['lowest'])} to {rounded(spread['highest'])}, median {rounded(spread['median'])}"


def ensemble(summary: Record) -> Table:
    """Return how the evidence was made."""
    found = summary["ensemble"]
    failures = "; ".join(f"{failure['times']} times {failure['error']}" for failure in found["failures"])
    return _facts(
        "Ensemble",
        {
            "Models": f"{found['n_models']:,}",
            "Selector": ", ".join(found["selector_names"]),
            "Samples per model": "" if found["train_size"] is None else f"{100 * found['train_size']:g} %",
            "Size of their sets": _sizes(found["set_sizes"]),
            "Features with a vote": f"{found['n_voted']:,} of {summary['n_features']:,}",
            "Failed runs": f"{found['n_failures']:,}: {failures}" if found["n_failures"] else "",
        },
    )


def _sizes(sizes: Record) -> str:
    if sizes["smallest"] == sizes["largest"]:
        return counted(sizes["largest"], "feature")
    return f"{sizes['smallest']} to {sizes['largest']} features, median {sizes['median']:g}"


def correlation(summary: Record) -> Table | None:
    """Return the pairs of chosen features that are correlated most; None without data."""
    found = summary["correlation"]
    if found is None:
        return None
    rows = tuple(
        (Cell(pair["first"]), Cell(pair["second"]), Cell(f"{pair['value']:.2f}", abs(pair["value"])))
        for pair in found["strongest"]
    )
    return Table("Strongest pairs", (Column("Feature"), Column("Feature"), Column("Spearman correlation", True)), rows)
