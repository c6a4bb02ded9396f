"""The content of a report, made of a summary: what stands in which section, in which words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..summary.plain import counted, listing, rounded
from .answer import alternatives, chosen, constraints, key_figures
from .document import Cell, Column, Document, Figure, Listing, Section, Table, made_visible
from .yaml_text import as_yaml

_CAPTIONS = {
    "evidence": "Votes of the models and prior weight of each feature; chosen features are marked.",
    "posterior": "Credible intervals of the importances; chosen features are marked.",
    "penalty": "What it costs to violate a constraint, by its relaxation or its kind.",
    "sizes": "Best value that a set of each size can reach; the chosen size is marked.",
    "convergence": "Share of votes against the number of models: flat lines have converged.",
    "correlation": "Correlations among the chosen features.",
}


def document(summary: Mapping[str, Any]) -> Document:
    """Return the report on a summary."""
    sections = (
        _chosen(summary),
        Section("belief", "What is data and what is belief", tuple(summary["sentences"]["belief"])),
        Section("asked", "What was asked", tuple(summary["question"])),
        _constraints(summary),
        _quality(summary),
        _data(summary),
        _ensemble(summary),
        _correlation(summary),
        _reproduce(summary),
        _cite(summary),
    )
    report = Document(
        title=summary["title"],
        headline=summary["headline"],
        caution=summary["caution"],
        created=summary["created"].replace("T", " ").replace("+00:00", " UTC"),
        key_figures=key_figures(summary),
        terms=tuple(summary["terms"]),
        warnings=tuple(summary["warnings"]),
        sections=tuple(section for section in sections if not section.empty),
    )
    return made_visible(report)


def _figures(summary: Mapping[str, Any], *names: str) -> tuple[Figure, ...]:
    members = listing([record["feature"] for record in summary["chosen"]], 12)
    chosen = f" Chosen: {members}." if members else ""
    return tuple(
        Figure(name, _CAPTIONS[name], f"{_CAPTIONS[name]}{chosen}") for name in names if name in summary["displays"]
    )


def _chosen(summary: Mapping[str, Any]) -> Section:
    table, told = chosen(summary), tuple(summary["sentences"]["chosen"])
    figures = _figures(summary, "evidence", "posterior")
    if table is None:
        return Section("chosen", "Chosen features", told, figures=figures)
    legend = tuple((one["mark"], one["meaning"]) for one in summary["legend"])
    return Section("chosen", "Chosen features", (), (table,), figures, notes=told, legend=legend)


def _constraints(summary: Mapping[str, Any]) -> Section:
    told, notes = summary["sentences"]["constraints"][:1], summary["sentences"]["constraints"][1:]
    if not summary["constraints"]:
        return Section("constraints", "Constraints", tuple(told))
    figures = _figures(summary, "penalty")
    return Section("constraints", "Constraints", tuple(told), constraints(summary), figures, notes=tuple(notes))


def _quality(summary: Mapping[str, Any]) -> Section:
    table = alternatives(summary)
    return Section(
        "quality",
        "How good is this set?",
        tuple(summary["verdict"]),
        () if table is None else (table,),
        _figures(summary, "sizes"),
    )


def _facts(caption: str, pairs: list[tuple[str, str]]) -> Table:
    rows = tuple((Cell(name), Cell(value)) for name, value in pairs if value)
    return Table(caption, (Column(""), Column("")), rows)


def _data(summary: Mapping[str, Any]) -> Section:
    data = summary["data"]
    total = sum(one["count"] for one in data["classes"])
    shares = [f"{one['label']}: {one['count']:,} ({100 * one['count'] / total:.0f} %)" for one in data["classes"]]
    spread = data["range"]
    constant = data["n_constant"]
    pairs = [
        ("File", data["file"] or ""),
        ("Target", data["target"] or ""),
        ("Rows", f"{data['rows']:,}" if data["rows"] else ""),
        ("Features", f"{data['features']:,}"),
        ("Task", data["task"] or ""),
        ("Labels" if data["task"] == "multilabel" else "Classes", listing(shares, 12)),
        ("Range of the target", "" if spread is None else _range(spread)),
        ("Groups", "" if data["groups"] is None else f"{data['groups']:,}; rows of one group stay together"),
        ("Missing values", "" if data["missing"] is None else data["missing"]["words"]),
        ("Constant columns", "" if not constant else f"{constant:,}, never chosen: {_named(data)}"),
    ]
    return Section("data", "The data at a glance", tables=(_facts("Data", pairs),))


def _range(spread: Mapping[str, float]) -> str:
    return f"{rounded(spread['lowest'])} to {rounded(spread['highest'])}, median {rounded(spread['median'])}"


def _named(data: Mapping[str, Any]) -> str:
    more = data["n_constant"] - len(data["constant"])
    return ", ".join(data["constant"]) + (f" and {more:,} more" if more else "")


def _ensemble(summary: Mapping[str, Any]) -> Section:
    ensemble = summary["ensemble"]
    if ensemble is None:
        return Section("ensemble", "The ensemble")
    sizes = ensemble["set_sizes"]
    pairs = [
        ("Models", f"{ensemble['models']:,}"),
        ("Selector", ", ".join(ensemble["selector_names"])),
        ("Rows per model", "" if ensemble["train_size"] is None else f"{100 * ensemble['train_size']:g} %"),
        ("Size of their sets", _sizes(sizes)),
        ("Features with a vote", f"{ensemble['n_voted']:,} of {summary['data']['features']:,}"),
        ("Failed runs", _failures(ensemble)),
    ]
    tables = (_facts("Ensemble", pairs),)
    told = tuple(summary["sentences"]["ensemble"])
    return Section("ensemble", "The ensemble", told, tables, _figures(summary, "convergence"))


def _sizes(sizes: Mapping[str, Any]) -> str:
    if sizes["smallest"] == sizes["largest"]:
        return counted(sizes["largest"], "feature")
    return f"{sizes['smallest']} to {sizes['largest']} features, median {sizes['median']:g}"


def _failures(ensemble: Mapping[str, Any]) -> str:
    told = "; ".join(f"{one['times']} times {one['error']}" for one in ensemble["failures"])
    return f"{ensemble['n_failures']:,}: {told}" if ensemble["n_failures"] else ""


def _correlation(summary: Mapping[str, Any]) -> Section:
    found = summary["correlation"]
    if found is None:
        return Section("correlation", "Correlation among the chosen")
    rows = tuple(
        (Cell(one["first"]), Cell(one["second"]), Cell(f"{one['value']:.2f}", abs(one["value"])))
        for one in found["strongest"]
        if one["value"] is not None
    )
    columns = (Column("Feature"), Column("Feature"), Column("Spearman correlation", True))
    tables = (Table("Strongest pairs", columns, rows),) if rows else ()
    told = tuple(summary["sentences"]["correlation"])
    return Section("correlation", "Correlation among the chosen", told, tables, _figures(summary, "correlation"))


def _reproduce(summary: Mapping[str, Any]) -> Section:
    listings = [Listing("The decision in full", as_yaml(summary["decision"]))]
    if summary["study"] is not None:
        listings.insert(0, Listing("The study as used", as_yaml(summary["study"])))
    elif summary["prior"] is not None and summary["prior"]["weights"]:
        told = {key: summary["prior"][key] for key in ("default", "weights", "unlikely")}
        listings.insert(0, Listing("All prior weights, in votes", as_yaml(told)))
    return Section("reproduce", "How to reproduce", tuple(summary["sentences"]["reproduce"]), listings=tuple(listings))


def _cite(summary: Mapping[str, Any]) -> Section:
    citation = summary["citation"]
    sentences = (f"{citation['text']} https://doi.org/{citation['doi']}",)
    return Section("cite", "How to cite", sentences, listings=(Listing("BibTeX", citation["bibtex"]),))
