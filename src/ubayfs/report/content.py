"""The content of a report, made of a summary: what stands in which section, in which words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..summary.plain import counted, listing, rounded
from .answer import alternatives, chosen, constraints, key_figures
from .document import Cell, Column, Document, Figure, Listing, Section, Table
from .yaml_text import as_yaml

_CAPTIONS = {
    "evidence": "Votes of the models and prior weight of each feature; chosen features are marked.",
    "posterior": "Credible intervals of the importances; chosen features are marked.",
    "penalty": "What it costs to violate a constraint, for each rho in use.",
    "sizes": "Best value that a set of each size can reach; the chosen size is marked.",
    "convergence": "Share of votes against the number of models: flat lines have converged.",
    "correlation": "Correlations among the chosen features.",
}


def document(summary: Mapping[str, Any]) -> Document:
    """Return the report on a summary."""
    sections = (
        _chosen(summary),
        _belief(summary),
        Section("asked", "What was asked", tuple(summary["question"])),
        _constraints(summary),
        _quality(summary),
        _data(summary),
        _ensemble(summary),
        _correlation(summary),
        _reproduce(summary),
        _cite(summary),
    )
    return Document(
        title=summary["title"],
        headline=summary["headline"],
        created=summary["created"].replace("T", " ").replace("+00:00", " UTC"),
        key_figures=key_figures(summary),
        warnings=tuple(summary["warnings"]),
        sections=tuple(section for section in sections if not section.empty),
    )


def _figures(summary: Mapping[str, Any], *names: str) -> tuple[Figure, ...]:
    members = listing([record["feature"] for record in summary["chosen"]], 12)
    return tuple(
        Figure(name, _CAPTIONS[name], f"{_CAPTIONS[name]} Chosen: {members or 'none'}.")
        for name in names
        if name in summary["displays"]
    )


def _chosen(summary: Mapping[str, Any]) -> Section:
    notes = []
    if any(record["low"] is not None for record in summary["chosen"]):
        told = (
            "Credible intervals tell"
            if not summary["n_draws"]
            else "Credible intervals and selection probabilities tell"
        )
        notes.append(
            f"{told} how sure the ensemble is: they shrink and sharpen with the number of models, not with the number "
            "of samples in the data."
        )
    if summary["n_draws"]:
        notes.append(
            "Selection probability: how often a feature is chosen when the decision is made again on "
            f"{counted(summary['n_draws'], 'draw')} from the posterior."
        )
    table = chosen(summary)
    sentences = () if table is not None else ("No feature was chosen.",)
    return Section(
        "chosen",
        "Chosen features",
        sentences,
        () if table is None else (table,),
        _figures(summary, "evidence", "posterior"),
        notes=tuple(notes),
    )


def _belief(summary: Mapping[str, Any]) -> Section:
    names = {
        "without_prior": "Without the prior (every feature with the default weight, constraints kept)",
        "without_constraints": "Without the constraints (the best set of the same size, prior kept)",
        "data_alone": "By the data alone (neither prior nor constraints, same size)",
    }
    sentences = []
    for key, lead in names.items():
        change = summary["sets"][key]
        if change is None:
            continue
        kept = len(summary["chosen"]) - len(change["removed"])
        if not change["added"] and not change["removed"]:
            sentences.append(f"{lead}: the same set would be chosen.")
            continue
        comes = f" {listing(change['added'], 12)} would come in." if change["added"] else ""
        goes = f" {listing(change['removed'], 12)} would go." if change["removed"] else ""
        sentences.append(f"{lead}: {kept} of {len(summary['chosen'])} chosen features would stay.{goes}{comes}")
    return Section("belief", "What is data and what is belief", tuple(sentences))


def _constraints(summary: Mapping[str, Any]) -> Section:
    lines = summary["constraints"]
    if not lines:
        return Section("constraints", "Constraints", ("No constraints were set.",))
    violated = [line for line in lines if line["holds"] is False]
    told = "All constraints hold."
    if violated:
        told = (
            f"{counted(len(violated), 'constraint is', 'constraints are')} violated; together they lower the "
            f"admissibility of the set to {rounded(summary['admissibility'])} (1 when all hold)."
        )
    note = (
        "rho tells how strictly a constraint is meant; a hard one is never violated. Factor: what a violation leaves "
        "of the admissibility."
    )
    return Section(
        "constraints", "Constraints", (told,), constraints(summary), _figures(summary, "penalty"), notes=(note,)
    )


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
    found, sizes = ensemble["stability"], ensemble["set_sizes"]
    sentences = []
    if found is not None:
        sentences.append(
            f"The models agree with a stability of {found['value']:.2f} ({100 * found['confidence']:.0f} % interval "
            f"{found['low']:.2f} to {found['high']:.2f}), which is {found['words']}: 1 means that every model chose "
            "the same set, 0 that they agree no more than by chance."
        )
    pairs = [
        ("Models", f"{ensemble['models']:,}"),
        ("Selector", ", ".join(ensemble["selector"])),
        ("Rows per model", "" if ensemble["train_size"] is None else f"{100 * ensemble['train_size']:g} %"),
        ("Size of their sets", _sizes(sizes)),
        ("Features with a vote", f"{ensemble['n_voted']:,} of {summary['data']['features']:,}"),
        ("Failed runs", _failures(ensemble)),
    ]
    tables = (_facts("Ensemble", pairs),)
    return Section("ensemble", "The ensemble", tuple(sentences), tables, _figures(summary, "convergence"))


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
    sentences: tuple[str, ...] = ()
    if found["redundancy"] is not None:
        sentences = (f"Mean absolute Pearson correlation over all pairs (redundancy rate): {found['redundancy']:.2f}.",)
    rows = tuple(
        (Cell(one["first"]), Cell(one["second"]), Cell(f"{one['value']:.2f}", abs(one["value"])))
        for one in found["strongest"]
        if one["value"] is not None
    )
    columns = (Column("Feature"), Column("Feature"), Column("Spearman correlation", True))
    tables = (Table("Strongest pairs", columns, rows),) if rows else ()
    return Section("correlation", "Correlation among the chosen", sentences, tables, _figures(summary, "correlation"))


def _reproduce(summary: Mapping[str, Any]) -> Section:
    ensemble = summary["ensemble"] or {}
    versions = ", ".join(f"{name} {version}" for name, version in summary["versions"].items())
    sentences = [f"Made with {versions}."]
    if ensemble.get("versions") not in (None, {k: v for k, v in summary["versions"].items() if k != "python"}):
        told = ", ".join(f"{name} {version}" for name, version in ensemble["versions"].items())
        sentences.append(f"The evidence was collected with {told}.")
    if ensemble.get("seed") is not None:
        sentences.append(f"Seed of the ensemble: {_seed(ensemble['seed'])}.")
    listings = [Listing("The decision in full", as_yaml(summary["decision"]))]
    if summary["study"] is not None:
        sentences.append("The study below, saved as study.yaml, repeats it: ubayfs select study.yaml")
        listings.insert(0, Listing("The study as used", as_yaml(summary["study"])))
    return Section("reproduce", "How to reproduce", tuple(sentences), listings=tuple(listings))


def _seed(seed: Any) -> str:
    if isinstance(seed, Mapping) and not seed.get("spawn_key"):
        return str(seed.get("entropy"))
    return str(seed)


def _cite(summary: Mapping[str, Any]) -> Section:
    citation = summary["citation"]
    sentences = (f"{citation['text']} https://doi.org/{citation['doi']}",)
    return Section("cite", "How to cite", sentences, listings=(Listing("BibTeX", citation["bibtex"]),))
