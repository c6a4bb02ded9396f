"""The tables that answer: chosen features, constraints, alternatives, key figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..summary.plain import counted, listing, rounded
from .document import Cell, Column, Table

_MISSING = Cell("")


def key_figures(summary: Mapping[str, Any]) -> tuple[tuple[str, str, str], ...]:
    """Return the few numbers that a reader looks for first: value, name, remark."""
    n = len(summary["chosen"])
    figures = [(f"{n:,}", f"feature{'' if n == 1 else 's'} chosen", f"of {summary['data']['features']:,}")]
    gap = "gap 0: proved" if summary["proved"] else f"gap {_number(summary['gap'])}: not proved"
    figures.append((_number(summary["value"], 4), "value", gap))
    lines = [line for line in summary["constraints"] if not line["from_prior"]]
    if lines:
        kept = sum(line["holds"] is not False for line in lines)
        remark = f"admissibility {_number(summary['admissibility'])}"
        name = "constraint holds" if len(lines) == 1 else "constraints hold"
        figures.append((f"{kept} of {len(lines)}", name, remark))
    ensemble = summary["ensemble"]
    if ensemble is not None:
        models = "model voted" if ensemble["models"] == 1 else "models voted"
        voted = counted(ensemble["n_voted"], "feature has votes", "features have votes")
        figures.append((f"{ensemble['models']:,}", models, voted))
        if ensemble["stability"] is not None:
            figures.append((f"{ensemble['stability']['value']:.2f}", "stability", ensemble["stability"]["words"]))
    return tuple(figures)


def _number(value: float | None, digits: int = 3) -> str:
    return "unknown" if value is None else rounded(value, digits)


def chosen(summary: Mapping[str, Any]) -> Table | None:
    """Return the chosen features, most important first; columns that nothing is known for are left out."""
    records = summary["chosen"]
    if not records:
        return None
    level = f"{100 * summary['level']:.0f} % interval"
    longest = max((record["importance"] or 0.0) for record in records) or 1.0
    columns: list[tuple[str, bool, Any, Any]] = [
        ("Blocks", False, lambda r: r["blocks"], lambda r: Cell(", ".join(r["blocks"]))),
        ("Votes", True, lambda r: r["count"] is not None, _votes),
        ("Prior weight", True, lambda r: r["weight"] is not None, lambda r: Cell(_number(r["weight"]))),
        ("Importance", True, lambda r: r["importance"] is not None, lambda r: _importance(r, longest)),
        (level, True, lambda r: r["low"] is not None, _interval),
        ("Selection probability", True, lambda r: r["probability"] is not None, _probability),
        ("Chosen because of", False, lambda r: r["reasons"], lambda r: Cell("", badges=tuple(r["reasons"]))),
        ("Also without", False, lambda r: r["without_constraints"] is not None, _also_without),
    ]
    shown = [column for column in columns if any(column[2](record) for record in records)]
    headings = (Column("Feature"), *(Column(heading, numeric) for heading, numeric, _, _ in shown))
    rows = tuple(
        (Cell(record["feature"], badges=_marks(record)), *(make(record) for *_, make in shown)) for record in records
    )
    return Table("Chosen features, most important first", headings, rows)


def _votes(record: Mapping[str, Any]) -> Cell:
    return Cell(f"{record['count']:,}", record["share"])


def _importance(record: Mapping[str, Any], longest: float) -> Cell:
    return Cell(_share(record["importance"]), record["importance"] / longest)


def _share(value: float) -> str:
    """Return an importance: all of them sum to 1, so that four decimals tell as much as anybody can use."""
    return f"{value:.4f}" if value >= 0.00005 or value == 0 else "< 0.0001"


def _interval(record: Mapping[str, Any]) -> Cell:
    low, high = _share(record["low"]), _share(record["high"])
    return Cell(f"{low} to {high}" if low != high else high)


def _probability(record: Mapping[str, Any]) -> Cell:
    return _MISSING if record["probability"] is None else Cell(f"{record['probability']:.2f}", record["probability"])


def _marks(record: Mapping[str, Any]) -> tuple[str, ...]:
    return ("no vote",) * record["without_vote"] + ("tie",) * record["tied"]


def _also_without(record: Mapping[str, Any]) -> Cell:
    """Return what the feature would be chosen without as well."""
    known = [name for name in ("prior", "constraints") if record[f"without_{name}"] is not None]
    kept = [name for name in known if record[f"without_{name}"]]
    if len(kept) == 2:
        return Cell("either of them")
    return Cell(f"the {kept[0]}" if kept else "neither" if len(known) == 2 else "no")


def constraints(summary: Mapping[str, Any]) -> tuple[Table, ...]:
    """Return the constraints, and the rows of them that are violated most."""
    lines = summary["constraints"]
    columns = (
        Column("Constraint"),
        Column("Rows", True),
        Column("rho", True),
        Column("Holds"),
        Column("Violated by", True),
        Column("Factor", True),
    )
    rows = tuple(
        (
            Cell(line["label"], badges=("prior",) * line["from_prior"]),
            _MISSING if line["n_inequalities"] is None else Cell(f"{line['n_inequalities']:,}"),
            Cell(_rho(line)),
            _holds(line),
            Cell(_amount(line)),
            _MISSING if line["admissibility"] is None else Cell(_number(line["admissibility"])),
        )
        for line in lines
    )
    table = Table("Constraints and what they cost", columns, rows)
    worst = [row for line in lines if line["n_inequalities"] != 1 for row in line["worst"]]
    return (table, _worst(worst)) if worst else (table,)


def _worst(violated: list[Mapping[str, Any]]) -> Table:
    columns = (Column("Row"), Column("rho", True), Column("Violated by", True), Column("Factor", True))
    rows = tuple(
        (
            Cell(row["label"]),
            Cell(_relaxation(row["rho"])),
            Cell(rounded(row["violation"])),
            Cell(_number(row["admissibility"])),
        )
        for row in violated
    )
    return Table("Rows that are violated most", columns, rows)


def _rho(line: Mapping[str, Any]) -> str:
    low, high = line["rho"], line["rho_highest"]
    if low is None:
        return ""
    return _relaxation(low) if low == high else f"{_relaxation(low)} to {_relaxation(high)}"


def _relaxation(rho: float | str) -> str:
    return rho if isinstance(rho, str) else rounded(rho)


def _holds(line: Mapping[str, Any]) -> Cell:
    if line["holds"] is None:
        return Cell("not known")
    return Cell("", badges=("holds",) if line["holds"] else ("violated",))


def _amount(line: Mapping[str, Any]) -> str:
    if line["holds"] is not False or line["violation"] is None:
        return ""
    if line["n_inequalities"] == 1:
        return rounded(line["violation"])
    return f"up to {rounded(line['violation'])} ({line['n_violated']:,} of {line['n_inequalities']:,} rows)"


def alternatives(summary: Mapping[str, Any]) -> Table | None:
    """Return the next best sets, or None when none were asked for."""
    others = summary["alternatives"]
    if not others:
        return None
    columns = (
        Column("Alternative"),
        Column("Value", True),
        Column("Less by", True),
        Column("Comes in"),
        Column("Goes"),
        Column("Similarity (Jaccard)", True),
    )
    rows = tuple(
        (
            Cell(str(position)),
            Cell(_number(other["value"], 6)),
            Cell("", badges=("as good",)) if other["as_good"] else Cell(_number(other["loss"])),
            Cell(listing(other["added"], 12)),
            Cell(listing(other["removed"], 12)),
            Cell(f"{other['jaccard']:.2f}"),
        )
        for position, other in enumerate(others, start=1)
    )
    return Table("Sets as good or nearly as good", columns, rows)
