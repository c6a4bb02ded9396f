"""The tables of a report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .._plain import counted, listing, price_text, relaxation_text, rounded
from ..summary.sentences import MARKS
from .document import Cell, Column, Table

Record = Mapping[str, Any]
# Heading of a column, and how a cell is made of a record.
_Field = tuple[Column, Callable[[Any], Cell]]

_LISTED = 12


def key_figures(summary: Record) -> tuple[tuple[str, str, str], ...]:
    """Return the few numbers that a reader looks for first: value, name, remark."""
    n = len(summary["chosen"])
    figures = [(f"{n:,}", f"feature{'' if n == 1 else 's'} chosen", f"of {summary['n_features']:,}")]
    gap = "gap 0: proved" if summary["proved"] else f"gap {_number(summary['gap'])}: not proved"
    figures.append((_number(summary["value"], 4), "score", gap))
    constraints = [entry for entry in summary["constraints"] if not entry["left_out"]]
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


def _table(caption: str, records: Iterable[Record], columns: Iterable[_Field]) -> Table:
    """Return a table with one row per record and, for each column, how a cell is made of a record."""
    headings, makers = zip(*columns, strict=True)
    return Table(caption, headings, tuple(tuple(make(record) for make in makers) for record in records))


def chosen(summary: Record) -> tuple[Table, ...]:
    """Return the chosen features, most important first; columns that nothing is known for are left out."""
    records = summary["chosen"]
    if not records:
        return ()
    level = f"{100 * summary['level']:.0f} % interval"
    longest = max((record["importance"] or 0.0) for record in records) or 1.0
    # By the key of the record without which the column is left out.
    columns: dict[str, _Field] = {
        "feature": (Column("Feature"), lambda r: Cell(r["feature"], badges=_marks(r))),
        "twins": (Column("Identical to"), lambda r: Cell(listing(r["twins"], 3))),
        "blocks": (Column("Blocks"), lambda r: Cell(", ".join(r["blocks"]))),
        "count": (Column("Votes", True), lambda r: Cell(f"{r['count']:,}", r["share"])),
        "weight": (Column("Prior weight", True), lambda r: Cell(_number(r["weight"]))),
        "importance": (Column("Importance", True), lambda r: Cell(_share(r["importance"]), r["importance"] / longest)),
        "low": (Column(level, True), lambda r: Cell(_interval(r))),
        "probability": (
            Column("Selection probability", True), lambda r: Cell(f"{r['probability']:.2f}", r["probability"]),
        ),
        "why": (Column("Why (expert)"), lambda r: Cell(r["why"] or "")),
        "source": (Column("Source"), lambda r: Cell(r["source"] or "")),
        "reasons": (Column("Chosen because of"), lambda r: Cell("", badges=tuple(r["reasons"]))),
        "without_prior": (Column("Also without prior"), lambda r: Cell(_yes(r["without_prior"]))),
        "without_constraints": (Column("Also without constraints"), lambda r: Cell(_yes(r["without_constraints"]))),
    }  # fmt: skip
    known = [column for key, column in columns.items() if any(record.get(key) not in (None, []) for record in records)]
    return (_table("Chosen features, most important first", records, known),)


def stated(summary: Record) -> tuple[Table, ...]:
    """Return the features of which the expert gave reasons, those that were not chosen included."""
    records = (summary["prior"] or {}).get("reasons", [])
    columns: list[_Field] = [
        (Column("Feature"), lambda r: Cell(r["feature"])),
        (
            Column("Stated"),
            lambda r: Cell("" if (w := r["weight"]) is None else w if isinstance(w, str) else _number(w)),
        ),
        (Column("Why"), lambda r: Cell(r["why"])),
        (Column("Source"), lambda r: Cell(r["source"])),
        (Column("Chosen"), lambda r: Cell(_yes(r["chosen"]))),
    ]
    return (_table("What the expert stated of features, and why", records, columns),) if records else ()


def _yes(chosen: bool) -> str:
    return "yes" if chosen else "no"


def _share(value: float) -> str:
    """Return an importance: all of them sum to 1, so that four decimals are enough."""
    return f"{value:.4f}" if value >= 0.00005 or value == 0 else "< 0.0001"


def _interval(record: Record) -> str:
    low, high = _share(record["low"]), _share(record["high"])
    return f"{low} to {high}" if low != high else high


def _marks(record: Record) -> tuple[str, ...]:
    return tuple(mark for key, mark in MARKS.items() if record[key])


def constraints(summary: Record) -> tuple[Table, ...]:
    """Return the constraints, and the inequalities of them that are violated most."""
    entries = summary["constraints"]
    factor: _Field = Column("Factor", True), lambda r: Cell(_number(r["admissibility"]))
    columns: list[_Field] = [
        (Column("Constraint"), lambda r: Cell(r["label"], badges=("prior",) * r["from_prior"])),
        (Column("Inequalities", True), lambda r: Cell("" if (n := r["n_inequalities"]) is None else f"{n:,}")),
        *([(Column("Price", True), lambda r: Cell(_price(r)))] if any(map(_price, entries)) else []),
        (Column("rho", True), lambda r: Cell(_rho(r))),
        (Column("Holds"), lambda r: Cell("", badges=(_state(r),))),
        (Column("Violated by", True), lambda r: Cell(_amount(r))),
        factor,
    ]
    of_worst: list[_Field] = [
        (Column("Inequality"), lambda r: Cell(r["label"])),
        (Column("rho", True), lambda r: Cell(relaxation_text(r["rho"]))),
        (Column("Violated by", True), lambda r: Cell(rounded(r["violation"]))),
        factor,
    ]
    worst = [violation for entry in entries if entry["n_inequalities"] != 1 for violation in entry["worst"]]
    tables = (
        _table("Constraints and what they cost", entries, columns),
        _table("Inequalities that are violated most", worst, of_worst),
    )
    return tuple(table for table in tables if table.rows)


def _state(entry: Record) -> str:
    return "left out" if entry["left_out"] else "holds" if entry["holds"] else "violated"


def _rho(entry: Record) -> str:
    return "" if entry["rho"] is None else relaxation_text(entry["rho"], entry["rho_highest"])


def _price(entry: Record) -> str:
    return "" if entry.get("price") is None else price_text(entry["price"], entry["price_votes"])


def _amount(entry: Record) -> str:
    if entry["holds"]:
        return ""
    if entry["n_inequalities"] in (1, None):
        return rounded(entry["violation"])
    return f"up to {rounded(entry['violation'])} ({entry['n_violated']:,} of {entry['n_inequalities']:,} inequalities)"


def alternatives(summary: Record) -> tuple[Table, ...]:
    """Return the next best sets."""
    others = [{"position": position, **other} for position, other in enumerate(summary["alternatives"], start=1)]
    columns: list[_Field] = [
        (Column("Alternative"), lambda r: Cell(str(r["position"]))),
        (Column("Score", True), lambda r: Cell(_number(r["value"], 6))),
        (Column("Lower by", True), _lower_by),
        (Column("Added"), lambda r: Cell(listing(r["added"], _LISTED))),
        (Column("Removed"), lambda r: Cell(listing(r["removed"], _LISTED))),
        (Column("Similarity (Jaccard)", True), lambda r: Cell(f"{r['jaccard']:.2f}")),
    ]
    return (_table("Sets as good or nearly as good", others, columns),) if others else ()


def _lower_by(other: Record) -> Cell:
    return Cell("", badges=("as good",)) if other["as_good"] else Cell(_number(other["loss"]))


def data(summary: Record) -> tuple[Table, ...]:
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


def _facts(caption: str, entries: Mapping[str, Any]) -> tuple[Table, ...]:
    rows = tuple((Cell(name), Cell(str(value))) for name, value in entries.items() if value)
    return (Table(caption, (Column(""), Column("")), rows),)


def _range(spread: Mapping[str, float]) -> str:
    return f"{rounded(spread['lowest'])} to {rounded(spread['highest'])}, median {rounded(spread['median'])}"


def ensemble(summary: Record) -> tuple[Table, ...]:
    """Return how the evidence was made."""
    found = summary["ensemble"]
    if found is None:
        return ()
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


def correlation(summary: Record) -> tuple[Table, ...]:
    """Return the pairs of chosen features that are correlated most, if the data are known."""
    found = summary["correlation"]
    columns: list[_Field] = [
        (Column("Feature"), lambda pair: Cell(pair["first"])),
        (Column("Feature"), lambda pair: Cell(pair["second"])),
        (Column("Spearman correlation", True), lambda pair: Cell(f"{pair['value']:.2f}", abs(pair["value"]))),
    ]
    return () if found is None else (_table("Strongest pairs", found["strongest"], columns),)
