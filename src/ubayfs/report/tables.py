"""The tables of a report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from .._plain import counted, listing, price_text, relaxation_text, rounded
from ..data.target import TASKS
from ..plotting.profile import effect_text
from ..plotting.scores import interval_text, method_name, metric_name
from ..summary.marks import levels_text, mark_text
from ..summary.sentences import MARKS, target_words
from ..summary.trust_sentences import cost_text, why_out
from .document import Cell, Column, Table

Record = Mapping[str, Any]
# Heading of a column, and how a cell is made of a record.
Field = tuple[Column, Callable[[Any], Cell]]

_LISTED = 12


def number_text(value: float | None, digits: int = 3) -> str:
    """Return a number, or that it is not known."""
    return "unknown" if value is None else rounded(value, digits)


def as_table(caption: str, records: Iterable[Record], columns: Iterable[Field]) -> Table:
    """Return a table with one row per record and, for each column, how a cell is made of a record."""
    headings, makers = zip(*columns, strict=True)
    return Table(caption, headings, tuple(tuple(make(record) for make in makers) for record in records))


def _known(caption: str, records: Sequence[Record], columns: Mapping[str, Field]) -> tuple[Table, ...]:
    """Return a table with those columns that something is known for, by the key of the record that must be known."""
    known = [column for key, column in columns.items() if any(record.get(key) not in (None, []) for record in records)]
    return (as_table(caption, records, known),) if records else ()


def chosen(summary: Record) -> tuple[Table, ...]:
    """Return the chosen features, most important first; columns that nothing is known for are left out."""
    ensemble = summary["ensemble"]
    models = "" if ensemble is None else f" of {ensemble['n_models']:,}"
    columns: dict[str, Field] = {
        "feature": (Column("Feature"), lambda r: Cell(r["feature"], badges=marks_of(r))),
        "twins": (Column("Identical to"), lambda r: Cell(listing(r["twins"], 3))),
        "count": (Column("Models that chose it", True), lambda r: Cell(f"{r['count']:,}{models}", r["share"])),
        "marks": (Column("Marks a class"), lambda r: Cell(mark_text(r["marks"]))),
        "category": (Column("Levels (samples)"), lambda r: Cell(levels_text(r["category"]))),
        "hazard_ratio": (Column("Hazard per SD"), lambda r: Cell(_hazard(r["hazard_ratio"]))),
        "half_low": (Column("On half of the samples", True), lambda r: Cell(_shares(r))),
        "q": (Column("Expected noise (q)", True), lambda r: Cell(_q(r["q"]))),
        "chosen_again": (Column("Chosen again"), lambda r: Cell("", badges=(r["chosen_again"],))),
        "effect": (Column("In the data"), lambda r: Cell(_effect(r))),
        "reasons": (Column("Chosen because of"), lambda r: Cell("", badges=tuple(r["reasons"]))),
        "replaceable": (Column("Best replacement"), lambda r: Cell(_replaced(r))),
        "blocks": (Column("Blocks"), lambda r: Cell(", ".join(r["blocks"]))),
        "weight": (Column("Prior weight", True), lambda r: Cell(number_text(r["weight"]))),
        "why": (Column("Why (expert)"), lambda r: Cell(r["why"] or "")),
        "source": (Column("Source"), lambda r: Cell(r["source"] or "")),
    }
    if ensemble is None:
        columns["importance"] = _IMPORTANCE
    return _known("Chosen features, most important first", summary["chosen"], columns)


def _hazard(ratio: float | None) -> str:
    """Return what one standard deviation more does to the hazard."""
    if ratio is None:
        return ""
    return f"{ratio:.2f} times"  # whether the risk is higher stands in the column of the effect


def _effect(record: Record) -> str:
    found = (record[key] for key in ("effect_kind", "effect", "highest_in"))
    return "" if record["effect"] is None else effect_text(*found)


def _q(q: float) -> str:
    return "< 0.01" if q < 0.01 else f"{q:.2f}"


def _shares(record: Record) -> str:
    """Return the range of the share of models that chose a feature, over halves."""
    return f"{100 * record['half_low']:.0f} to {100 * record['half_high']:.0f} %"


def _replaced(record: Record) -> str:
    """Return what would take the place of a member, and the cost."""
    if not record["replaceable"]:
        return "none"
    cost = record["substitute_cost"]
    costs = "costs nothing" if cost < 0.05 else f"costs {cost_text(cost, None)}"
    return f"{listing(record['substitute'], 3) or 'nothing'} ({costs})"


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
        (Column("Your weights"), lambda r: Cell(words[r[0]])),
        (Column("The chosen set"), lambda r: Cell(_changes(_without(r[1], before), _without(before, r[1])))),
    ]
    return (as_table("What would be chosen with less of your weights", list(found["at"].items()), columns),)


def _changes(gained: list[str], lost: list[str]) -> str:
    """Return how another set differs from the chosen one."""
    parts = [f"{word} {listing(names, 3)}" for word, names in (("with", gained), ("without", lost)) if names]
    return " and ".join(parts) or "the same"


def _without(features: Iterable[str], others: Iterable[str]) -> list[str]:
    known = set(others)
    return [name for name in features if name not in known]


def substitutes(summary: Record) -> tuple[Table, ...]:
    """Return what would replace each member, and features that stand in for one another."""
    columns: dict[str, Field] = {
        "feature": (Column("If this cannot be measured"), lambda r: Cell(r["feature"])),
        "replaceable": (Column("the best set has instead"), lambda r: Cell(_instead(r))),
        "also": (Column("and no longer"), lambda r: Cell(listing(r["also"], _LISTED))),
        "loss": (Column("Cost", True), lambda r: Cell(cost_text(r["loss_votes"], r["loss"]))),
    }
    found = {entry["feature"]: entry for entry in summary["substitutes"]}
    records = [  # in the order of the chosen features
        {**found[name], "also": _without(found[name]["removed"], [name])}
        for name in (record["feature"] for record in summary["chosen"])
        if name in found
    ]
    of_pairs: dict[str, Field] = {
        "member": (Column("Feature"), lambda r: Cell(r["member"])),
        "member_votes": (Column("Votes", True), lambda r: Cell(f"{r['member_votes']:,}")),
        "feature": (Column("Stand-in"), lambda r: Cell(r["feature"])),
        "votes": (Column("Its votes", True), lambda r: Cell(f"{r['votes']:,}")),
        "votes_either": (Column("Either", True), lambda r: Cell(f"{r['votes_either']:,}")),
        "correlation": (Column("Correlation", True), lambda r: Cell(f"{r['correlation']:.2f}")),
    }
    return (
        *_known("The best set without each of the chosen features", records, columns),
        *_known("Features that models took in place of one another", summary["stand_ins"], of_pairs),
    )


def _instead(entry: Record) -> str:
    if not entry["replaceable"]:
        return "no set satisfies the hard constraints without it" if entry["proved"] else "no set was found in time"
    return listing(entry["added"], _LISTED) or "nothing"


def left_out(summary: Record) -> tuple[Table, ...]:
    """Return features with many votes that are not in the set."""
    columns: list[Field] = [
        (Column("Feature"), lambda r: Cell(r["feature"])),
        (Column("Votes", True), lambda r: Cell("" if (n := r["count"]) is None else f"{n:,}")),
        (Column("Why it is out"), lambda r: Cell(why_out(r))),
        (Column("Taking it would cost", True), lambda r: Cell(cost_text(r["loss_votes"], r["loss"]))),
    ]
    records = summary["left_out"]
    return (as_table("Features with most votes that were not chosen", records, columns),) if records else ()


def validation(summary: Record) -> tuple[Table, ...]:
    """Return how ways of choosing compare on samples not used for choosing, and sizes if they were tried."""
    found = summary["trust"]["validation"]
    columns: dict[str, Field] = {
        "method": (Column("Chosen by"), lambda r: Cell(method_name(r["method"]))),
        "predictor": (Column("Predictor"), lambda r: Cell(r["predictor"])),
        "metric": (Column("Measure"), lambda r: Cell(metric_name(r["metric"]))),
        "mean": (Column("Mean", True), lambda r: Cell(interval_text(r["mean"], r["lower"], r["upper"]))),
        "difference": (
            Column("Ours minus this", True),
            lambda r: Cell(interval_text(r["difference"], r["difference_lower"], r["difference_upper"], "+")),
        ),
    }
    of_sizes = {key: columns[key] for key in ("metric", "mean")}
    of_sizes = {"size": (Column("Features", True), lambda r: Cell(f"{r['size']:,}")), **of_sizes}
    control = {key: columns[key] for key in ("predictor", "metric", "mean")}
    return (
        *_known("On samples not used for choosing (mean and 95 % interval)", found.get("scores", []), columns),
        *_known("The same with sets of other sizes", found.get("sizes", []), of_sizes),
        *_known("The same with a shuffled target: what nothing looks like", found.get("control", []), control),
    )


def certainty(summary: Record) -> tuple[Table, ...]:
    """Return how sure the models are of each chosen feature on these samples."""
    if summary["ensemble"] is None:
        return ()
    level = f"{100 * summary['level']:.0f} % interval"
    columns: dict[str, Field] = {
        "feature": (Column("Feature"), lambda r: Cell(r["feature"])),
        "importance": _IMPORTANCE,
        "low": (Column(level, True), lambda r: Cell(_interval(r))),
        "probability": (
            Column("Selection probability", True), lambda r: Cell(f"{r['probability']:.2f}", r["probability"]),
        ),
        "without_prior": (Column("Also without prior"), lambda r: Cell(yes_no(r["without_prior"]))),
        "without_constraints": (Column("Also without constraints"), lambda r: Cell(yes_no(r["without_constraints"]))),
    }  # fmt: skip
    return _known("How sure the models are on these samples", summary["chosen"], columns)


def yes_no(chosen: bool) -> str:
    """Return whether something holds, in a word."""
    return "yes" if chosen else "no"


def _share(value: float) -> str:
    """Return an importance: all of them sum to 1, so that four decimals are enough."""
    return f"{value:.4f}" if value >= 0.00005 or value == 0 else "< 0.0001"


def _interval(record: Record) -> str:
    low, high = _share(record["low"]), _share(record["high"])
    return f"{low} to {high}" if low != high else high


_IMPORTANCE: Field = (Column("Importance", True), lambda r: Cell(_share(r["importance"]), r["importance"]))


def marks_of(record: Record) -> tuple[str, ...]:
    """Return the marks of a feature."""
    return tuple(mark for key, mark in MARKS.items() if record.get(key))


def constraints(summary: Record) -> tuple[Table, ...]:
    """Return the constraints, and the inequalities of them that are violated most."""
    entries = summary["constraints"]
    violated = not all(entry["holds"] for entry in entries)
    factor: Field = Column("What is left of the admissibility", True), lambda r: Cell(number_text(r["admissibility"]))
    columns: list[Field] = [
        (Column("Constraint"), lambda r: Cell(r["label"], badges=("prior",) * r["from_prior"])),
        (Column("Inequalities", True), lambda r: Cell("" if (n := r["n_inequalities"]) is None else f"{n:,}")),
        *([(Column("Price", True), lambda r: Cell(_price(r)))] if any(map(_price, entries)) else []),
        (Column("Strictness (rho)", True), lambda r: Cell(_rho(r))),
        (Column("Holds"), lambda r: Cell("", badges=(_state(r),))),
        *([(Column("Violated by", True), lambda r: Cell(_amount(r))), factor] if violated else []),
        (Column("Costs", True), lambda r: Cell(_cost(r))),
        (Column("The set without it"), lambda r: Cell(_changed(r))),
    ]
    of_worst: list[Field] = [
        (Column("Inequality"), lambda r: Cell(r["label"])),
        (Column("rho", True), lambda r: Cell(relaxation_text(r["rho"]))),
        (Column("Violated by", True), lambda r: Cell(rounded(r["violation"]))),
        factor,
    ]
    worst = [violation for entry in entries if entry["n_inequalities"] != 1 for violation in entry["worst"]]
    tables = (
        as_table("Constraints and what they cost", entries, columns),
        as_table("Inequalities that are violated most", worst, of_worst),
    )
    return tuple(table for table in tables if table.rows)


def _cost(entry: Record) -> str:
    if (more := entry["one_more"]) is not None:
        return f"{cost_text(more['gain_votes'], more['gain'])} for one more place"
    return cost_text(entry["cost_votes"], entry["cost"])


def _changed(entry: Record) -> str:
    """Return how the set would change without a constraint, or with one more place."""
    if (more := entry["one_more"]) is not None:
        return _changes(more["added"], more["removed"])
    return "" if entry["cost"] is None else _changes(entry["added_without"], entry["removed_without"])


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
    columns: list[Field] = [
        (Column("Alternative"), lambda r: Cell(str(r["position"]))),
        (Column("Score", True), lambda r: Cell(number_text(r["value"], 6))),
        (Column("Lower by", True), _lower_by),
        (Column("Added"), lambda r: Cell(listing(r["added"], _LISTED))),
        (Column("Removed"), lambda r: Cell(listing(r["removed"], _LISTED))),
        (Column("Similarity (Jaccard)", True), lambda r: Cell(f"{r['jaccard']:.2f}")),
    ]
    return (as_table("Sets as good or nearly as good", others, columns),) if others else ()


def _lower_by(other: Record) -> Cell:
    return Cell("", badges=("as good",)) if other["as_good"] else Cell(number_text(other["loss"]))


def data(summary: Record) -> tuple[Table, ...]:
    """Return the data at a glance."""
    found = summary["data"]
    task = TASKS.get(found["task"], TASKS["unsupervised"])
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
            "Target": target_words(found["target"]),
            "Samples": f"{found['n_samples']:,}" if found["n_samples"] else "",
            "Features": f"{found['n_features']:,}",
            "Task": found["task"],
            **({task.counts_title: listing(shares, _LISTED)} if shares else {}),
            **({task.numbers_title: _range(spread)} if spread else {}),
            "Median follow-up": rounded(found["follow_up"]) if found.get("follow_up") is not None else "",
            "Adjusted for": listing(names := found.get("adjust_for") or [], len(names)),
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
    ) + certainty(summary)


def _sizes(sizes: Record) -> str:
    if sizes["smallest"] == sizes["largest"]:
        return counted(sizes["largest"], "feature")
    return f"{sizes['smallest']} to {sizes['largest']} features, median {sizes['median']:g}"


def correlation(summary: Record) -> tuple[Table, ...]:
    """Return the pairs of chosen features that are correlated most, if the data are known."""
    found = summary["correlation"]
    columns: list[Field] = [
        (Column("Feature"), lambda pair: Cell(pair["first"])),
        (Column("Feature"), lambda pair: Cell(pair["second"])),
        (Column("Spearman correlation", True), lambda pair: Cell(f"{pair['value']:.2f}", abs(pair["value"]))),
    ]
    return () if found is None else (as_table("Strongest pairs", found["strongest"], columns),)
