"""The tables of a report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import starmap
from typing import Any

from .._plain import cost_range, cost_text, counted, listing, price_text, relaxation_text, rounded
from ..data.target import TASKS
from ..plotting.profile import effect_text
from ..summary.sentences import constraint_state, target_words
from ..summary.trust_sentences import (
    AGAIN,
    MARKS,
    again_heading,
    levels_text,
    mark_text,
    replacement,
    votes_for_text,
    why_out,
    with_votes,
)
from ..trust.prediction_metrics import difference_text, mean_text, method_name, metric_name
from ..trust.related import LARGEST_Q
from .document import Cell, Column, Table

Record = Mapping[str, Any]
# Heading of a column; the key of a record whose text it shows, or how a cell, or its text, is made of a record.
Field = tuple[Column, str | Callable[[Any], Cell | str]]

_LISTED = 12


def number_text(value: float | None, digits: int = 3) -> str:
    """Return a number, or that it is not known."""
    return "unknown" if value is None else rounded(value, digits)


def as_table(caption: str, records: Sequence[Record], columns: Iterable[Field]) -> tuple[Table, ...]:
    """Return a table with one row per record; none without records."""
    headings, makers = zip(*columns, strict=True)
    rows = tuple(tuple(_cell(record, make) for make in makers) for record in records)
    return (Table(caption, headings, rows),) if rows else ()


def _cell(record: Record, make: str | Callable[[Any], Cell | str]) -> Cell:
    made = record[make] if isinstance(make, str) else make(record)
    return made if isinstance(made, Cell) else Cell(made)


def known_columns(caption: str, records: Sequence[Record], columns: Mapping[str, Field]) -> tuple[Table, ...]:
    """Return a table with those columns that something is known for, by the key of the record that must be known."""
    known = {key for record in records for key, value in record.items() if value not in (None, [], "")}
    return as_table(caption, records, [columns[key] for key in columns if key in known]) if records else ()


def chosen(summary: Record) -> tuple[Table, ...]:
    """Return the chosen features, most important first; columns that nothing is known for are left out."""
    ensemble = summary["ensemble"]
    models = "" if ensemble is None else f" of {ensemble['n_models']:,}"
    weighted = any(record.get("again_with_weights") for record in summary["chosen"])
    columns: dict[str, Field] = {
        "feature": (Column("Feature"), lambda r: Cell(r["feature"], badges=marks_of(r))),
        "identical_to": (Column("Identical to"), lambda r: listing(r["identical_to"], 3)),
        "count": (Column("Models that chose it", True), lambda r: Cell(f"{r['count']:,}{models}", r["share"])),
        "votes_for": (Column("Of these models"), lambda r: votes_for_text(r["votes_for"])),
        "q": (Column("Related to the target"), lambda r: related_text(r["q"], r["related"])),
        **{key: (Column(again_heading(key, weighted)), partial(_badge, key)) for key in AGAIN},
        "reasons": (Column("Chosen because of"), lambda r: Cell("", badges=tuple(r["reasons"]))),
        "replaceable": (Column("Best replacement"), lambda r: replacement(r) if r["replaceable"] else "none"),
        "marks": (Column("Marks a class"), lambda r: mark_text(r["marks"])),
        "category": (Column("Levels (samples)"), lambda r: levels_text(r["category"])),
        # Whether the risk is higher stands in the column of the effect.
        "hazard_ratio": (
            Column("Hazard per SD"),
            lambda r: "" if (ratio := r["hazard_ratio"]) is None else f"{ratio:.2f} times",
        ),
        "effect": (Column("In the data"), _effect),
        "half_low": (Column("On half of the samples", True), _shares),
        "blocks": (Column("Blocks"), lambda r: ", ".join(r["blocks"])),
        "stated": (Column("Prior weight", True), lambda r: number_text(w) if (w := r["stated"]) is not None else ""),
        "why": (Column("Why (expert)"), lambda r: r["why"] or ""),
        "source": (Column("Source"), lambda r: r["source"] or ""),
    }
    if ensemble is None:
        columns["importance"] = _IMPORTANCE
    stated = {} if summary["prior"] is None else summary["prior"]["weights"]
    records = [{**record, "stated": stated.get(record["feature"])} for record in summary["chosen"]]
    found = known_columns("Chosen features, most important first", records, columns)
    return *found, *_beyond_covariates(summary)


def _badge(key: str, record: Record) -> Cell:
    return Cell("", badges=(record[key],))


def _beyond_covariates(summary: Record) -> tuple[Table, ...]:
    """Return how the chosen features are related to covariates, and to the target before and after adjusting."""
    records = [record for record in summary["chosen"] if record.get("beyond")]
    names = summary["data"]["adjust_for"]
    columns: list[Field] = [
        (Column("Feature"), "feature"),
        *((Column(name, True), partial(_association_with, name)) for name in names),
        (Column("Target, before", True), lambda r: _association(r["beyond"]["before"])),
        (Column("Target, after", True), lambda r: _association(r["beyond"]["after"])),
    ]
    them = "it" if len(names) == 1 else "them"
    caption = (
        f"Association with {listing(names, len(names))}, and with the target before and after adjusting for {them}"
    )
    return as_table(caption, records, columns)


def _association_with(name: str, record: Record) -> str:
    return _association(record["beyond"]["covariates"].get(name))


def _association(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _effect(record: Record) -> str:
    if record["effect"] is None:
        return ""
    clear = record.get("effect_clear", True)
    return effect_text(record["effect_kind"], record["effect"], record["highest_in"], clear)


def related_text(q: float, related: bool) -> str:
    """Return whether a feature is related to the target by itself, with its q-value.

    >>> related_text(0.004, True), related_text(0.27, False), related_text(0.102, False)
    ('yes (q < 0.01)', 'not shown by itself (q 0.27)', 'not shown by itself (q > 0.10)')
    """
    shown = "< 0.01" if q < 0.01 else f"{q:.2f}"
    if not related and float(shown[-4:]) <= LARGEST_Q:  # rounding must not hide why
        shown = f"> {LARGEST_Q:.2f}"
    return f"{'yes' if related else 'not shown by itself'} (q {shown})"


def _shares(record: Record) -> str:
    """Return the range of the share of models that chose a feature, over halves."""
    return " to ".join(dict.fromkeys(f"{100 * record[key]:.0f}" for key in ("half_low", "half_high"))) + " %"


def changes_text(gained: list[str], lost: list[str]) -> str:
    """Return how another set differs from the chosen one."""
    parts = [f"{word} {listing(names, 3)}" for word, names in (("with", gained), ("without", lost)) if names]
    return " and ".join(parts) or "the same"


def without(features: Iterable[str], others: Iterable[str]) -> list[str]:
    """Return those of some features that are not among others."""
    known = set(others)
    return [name for name in features if name not in known]


def substitutes(summary: Record) -> tuple[Table, ...]:
    """Return what would replace each member, and features that stand in for one another."""
    columns: dict[str, Field] = {
        "feature": (Column("If this cannot be measured"), "feature"),
        "replaceable": (Column("the best set has instead"), _instead),
        "also": (Column("and no longer"), lambda r: listing(r["also"], _LISTED)),
        "loss": (Column("Cost", True), lambda r: cost_text(r["loss_votes"], r["loss"])),
    }
    found = {entry["feature"]: entry for entry in summary["substitutes"]}
    records = [  # in the order of the chosen features
        {**found[name], "also": without(found[name]["removed"], [name])}
        for name in (record["feature"] for record in summary["chosen"])
        if name in found
    ]
    of_pairs: dict[str, Field] = {
        "member": (Column("Feature"), "member"),
        "member_votes": (Column("Votes", True), lambda r: f"{r['member_votes']:,}"),
        "feature": (Column("Stand-in"), "feature"),
        "votes": (Column("Its votes", True), lambda r: f"{r['votes']:,}"),
        "votes_either": (Column("Either", True), lambda r: f"{r['votes_either']:,}"),
        "correlation": (Column("Correlation", True), lambda r: f"{r['correlation']:.2f}"),
    }
    return (
        *known_columns("The best set without each of the chosen features", records, columns),
        *known_columns("Features that models took in place of one another", summary["stand_ins"], of_pairs),
    )


def _instead(entry: Record) -> str:
    if not entry["replaceable"]:
        return "no set satisfies the hard constraints without it" if entry["proved"] else "no set was found in time"
    return listing(with_votes(entry["added"], entry.get("added_votes")), _LISTED) or "nothing"


def validation(summary: Record) -> tuple[Table, ...]:
    """Return how ways of choosing compare on samples not used for choosing, and sizes if they were tried."""
    found = summary["trust"]["validation"]
    columns: dict[str, Field] = {
        "method": (Column("Chosen by"), lambda r: method_name(r["method"])),
        "predictor": (Column("Predictor"), "predictor"),
        "metric": (Column("Measure"), lambda r: metric_name(r["metric"])),
        "mean": (Column("Mean", True), mean_text),
        "difference": (Column("Ours minus this", True), difference_text),
    }
    of_sizes = {key: columns[key] for key in ("metric", "mean")}
    of_sizes = {"size": (Column("Features", True), lambda r: f"{r['size']:,}"), **of_sizes}
    control = {key: columns[key] for key in ("predictor", "metric", "mean")}
    return (
        *known_columns("On samples not used for choosing (mean and 95 % interval)", found.get("scores", []), columns),
        *known_columns("The same with sets of other sizes", found.get("sizes", []), of_sizes),
        *known_columns("The same with a shuffled target: what chance alone reaches", found.get("control", []), control),
    )


def certainty(summary: Record) -> tuple[Table, ...]:
    """Return how sure the models are of each chosen feature on these samples."""
    if summary["ensemble"] is None:
        return ()
    level = f"{100 * summary['level']:.0f} % interval"
    columns: dict[str, Field] = {
        "feature": (Column("Feature"), "feature"),
        "importance": _IMPORTANCE,
        "low": (Column(level, True), _interval),
        "probability": (
            Column("Selection probability", True), lambda r: Cell(f"{r['probability']:.2f}", r["probability"]),
        ),
        "without_prior": (Column("Also without prior"), lambda r: yes_no(r["without_prior"])),
        "without_constraints": (Column("Also without constraints"), lambda r: yes_no(r["without_constraints"])),
    }  # fmt: skip
    return known_columns("How sure the models are on these samples", summary["chosen"], columns)


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
    factor: Field = Column("What is left of the admissibility", True), lambda r: number_text(r["admissibility"])
    columns: list[Field] = [
        (Column("Constraint"), lambda r: Cell(r["label"], badges=("prior",) * r["from_prior"])),
        (Column("Inequalities", True), lambda r: "" if (n := r["n_inequalities"]) is None else f"{n:,}"),
        *([(Column("Price", True), _price)] if any(map(_price, entries)) else []),
        (Column("Strictness (rho)", True), _rho),
        (Column("Holds"), lambda r: Cell("", badges=(constraint_state(r),))),
        *([(Column("Violated by", True), _amount), factor] if violated else []),
        (Column("Costs", True), _cost),
        (Column("The set without it"), _changed),
    ]
    of_worst: list[Field] = [
        (Column("Inequality"), "label"),
        (Column("rho", True), lambda r: relaxation_text(r["rho"])),
        (Column("Violated by", True), lambda r: rounded(r["violation"])),
        factor,
    ]
    worst = [violation for entry in entries if entry["n_inequalities"] != 1 for violation in entry["worst"]]
    return (
        *as_table("Constraints and what they cost", entries, columns),
        *as_table("Inequalities that are violated most", worst, of_worst),
    )


def _cost(entry: Record) -> str:
    if (more := entry["one_more"]) is not None:
        return f"{cost_range(more, 'gain')} for one more place"
    return cost_range(entry, "cost")


def _changed(entry: Record) -> str:
    """Return how the set would change without a constraint, or with one more place."""
    if (more := entry["one_more"]) is not None:
        return changes_text(more["added"], more["removed"])
    return "" if entry["cost"] is None else changes_text(entry["added_without"], entry["removed_without"])


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
        (Column("Alternative"), lambda r: str(r["position"])),
        (Column("Score", True), lambda r: number_text(r["value"], 6)),
        (Column("Lower by", True), _lower_by),
        (Column("Added"), lambda r: listing(r["added"], _LISTED)),
        (Column("Removed"), lambda r: listing(r["removed"], _LISTED)),
        (Column("Similarity (Jaccard)", True), lambda r: f"{r['jaccard']:.2f}"),
    ]
    return as_table("Sets as good or nearly as good", others, columns)


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
        (Column("Feature"), "first"),
        (Column("Feature"), "second"),
        (Column("Spearman correlation", True), lambda pair: Cell(f"{pair['value']:.2f}", abs(pair["value"]))),
    ]
    return () if found is None else as_table("Strongest pairs", found["strongest"], columns)


# -- what experts know -------------------------------------------------------------------------------------------------


def stated(summary: Record) -> tuple[Table, ...]:
    """Return the features of which an expert gave reasons, or all of which several experts stated something."""
    prior = summary["prior"] or {}
    if prior.get("experts"):
        return _opinions(prior)
    records = prior.get("reasons", [])
    columns: dict[str, Field] = {
        "feature": (Column("Feature"), "feature"),
        "weight": (Column("Stated"), lambda r: _weight(r["weight"])),
        "why": (Column("Why"), "why"),
        "source": (Column("Source"), "source"),
        "chosen": (Column("Chosen"), lambda r: yes_no(r["chosen"])),
    }
    return known_columns("What the expert stated of features, and why", records, columns)


def _opinions(prior: Record) -> tuple[Table, ...]:
    """Return what each of several experts stated of features and why, those on which they disagree most first."""
    columns: list[Field] = [
        (Column("Feature"), lambda r: Cell(r["feature"], badges=marks_of(r))),
        (Column("Who stated what, and why"), lambda r: "; ".join(starmap(_opinion, r["experts"].items()))),
        (Column("Together, in votes", True), _together),
        (Column("Votes apart", True), lambda r: number_text(r["disagreement"])),
        (Column("Chosen"), lambda r: yes_no(r["chosen"])),
    ]
    return as_table("What the experts stated of features, and why", prior["opinions"], columns)


def _opinion(expert: str, stated: Record) -> str:
    """Return what an expert stated of a feature, and why."""
    votes = _weight(stated.get("weight"), " votes")
    return f"{expert}: {' - '.join(filter(None, (votes, stated.get('why'), stated.get('source'))))}"


def _together(record: Record) -> str:
    price = "" if record["price"] is None else f", price {record['price']:.0%}"
    return "" if record["weight"] is None else f"{_weight(record['weight'])}{price}"


def _weight(weight: float | str | None, unit: str = "") -> str:
    """Return what was stated of a feature: a word, or a number of votes."""
    return "" if weight is None else weight if isinstance(weight, str) else f"{number_text(weight)}{unit}"


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
        {"left_out": words, "removed": without(before, other["features"]), "added": without(other["features"], before)}
        for words, other in found.items()
        if other
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
