"""The content of a report, made of a summary: what each section has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .._plain import listing
from ..exceptions import MissingDependencyError, UBayFSError
from ..plotting import DISPLAYS
from ..trust.prediction_metrics import interval_text, metric_name
from . import tables
from .document import Card, Cell, Column, Document, Figure, Listing, Plate, Section, Table
from .facts import Answer, ChosenFeature, Fact, Summary, ValidationFacts
from .feature_sentences import effect, last_place_tie
from .genes import gene_address
from .plots import Plot
from .sentences import target_words
from .trust_sentences import QUESTIONS

# Heading and tables by key, in the order of a report. A display has the key of its section.
SECTIONS: dict[str, tuple[str, Callable[[Summary], tuple[Table, ...]] | None]] = {
    "chosen": ("The selected features, and why", tables.chosen),
    "knowledge": ("Did your knowledge make the difference?", tables.decisions),
    "cohorts": ("What each site found", lambda s: tables.cohorts(s.cohorts)),
    "left_out": ("Strong features that are not in the set", lambda s: tables.left_out(s.left_out)),
    "details": ("More on the selected features", tables.details),
    "substitutes": ("What can replace a feature?", tables.substitutes),
    "front": (tables.FRONT, lambda s: () if s.front is None else tables.front(s.front)),
    "validation": ("Does the set predict?", lambda s: tables.validation(s.trust.validation)),
    "related": (QUESTIONS["related"], None),
    "reproducibility": (QUESTIONS["reproducibility"], None),
    "gene_sets": ("Gene sets", lambda s: tables.gene_sets(s.trust.gene_sets)),
    "constraints": (tables.CONSTRAINTS, lambda s: tables.constraints(s.constraints)),
    "asked": ("What was asked", lambda s: tables.stated(s.prior)),
    "data": ("The data at a glance", lambda s: tables.data(s.data)),
    "correlation": ("Correlation among the selected features", lambda s: tables.correlation(s.correlation)),
    "quality": ("Is it the best set?", lambda s: tables.alternatives(s.alternatives, s.decision.get("differ_by", 1))),
    "ensemble": (f"Technical: {tables.CERTAINTY}", tables.ensemble),
    "reproduce": ("How to reproduce", None),
    "methods": ("For the methods section of a paper", None),
    "cite": ("BibTeX", None),
}
# What plots of held-out samples are.
HELD_OUT = {"roc": "ROC curve", "predicted": "Predicted against true", "risk": "Survival by predicted risk"}
# Sections that are read first; the others are folded.
_OPEN = frozenset({"chosen", "knowledge", "cohorts", "left_out", "methods"})


def document(summary: Summary) -> Document:
    """Return the report on a summary."""
    misplaced = [name for name, display in DISPLAYS.items() if display.section not in SECTIONS]
    if misplaced:
        keys = ", ".join(SECTIONS)
        raise UBayFSError(
            f"display {misplaced[0]!r} has the section {DISPLAYS[misplaced[0]].section!r}; use one of {keys}."
        )
    sections = tuple(_section(summary, key) for key in SECTIONS)
    return Document(
        title=summary.title,
        about=_about(summary),
        headline=summary.headline,
        lead=summary.lead,
        warnings=summary.warnings,
        sections=tuple(section for section in sections if not section.empty),
        cards=fact_cards(summary.facts),
        names=summary.names,
    )


def _about(summary: Summary) -> str:
    """Return the files unless they are the title, the date and the version."""
    file = summary.data.file or ""
    date = summary.created.replace("T", " ").replace("+00:00", " UTC")
    version = f"ubayfs {summary.versions['ubayfs']}" if "ubayfs" in summary.versions else ""
    return ", ".join(filter(None, [file if file != summary.title else "", date, version]))


def answer_document(answer: Answer, most_rows: int) -> Document:
    """Return what commands print of an answer: selected features, constraints that are violated, the score."""
    columns: list[tables.Field[ChosenFeature]] = [
        (Column("feature"), lambda r: r.feature),
        (Column("votes", True), lambda r: "" if r.count is None else str(r.count)),
        (Column("weight", True), lambda r: "" if r.weight is None else f"{r.weight:.4g}"),
        (Column("importance", True), lambda r: "" if r.importance is None else f"{r.importance:.4g}"),
        (
            Column("because of"),
            lambda r: Cell(", ".join(r.reasons), badges=("weight not needed",) * r.weight_not_needed),
        ),
    ]
    more = len(answer.chosen) - most_rows
    violated = tuple(
        f"{entry.label}, by {entry.violation:g}, admissibility {entry.admissibility:.3g}"
        for entry in answer.constraints
        if not entry.holds
    )
    bound = "no bound known" if answer.bound is None else f"bound {answer.bound:.6g}, gap {answer.gap:.2g}"
    sections = (
        Section(
            "chosen",
            "",
            tables=tables.as_table("", answer.chosen[:most_rows], columns),
            notes=(*([f"... and {more} more"] if more > 0 else []), *last_place_tie(answer)),
        ),
        Section("constraints", "Violated soft constraints" if violated else "", violated),
        Section("quality", "", (f"Score {answer.value:.6g}, {bound}.",)),
    )
    return Document(headline=answer.headline, sections=tuple(section for section in sections if not section.empty))


def fact_cards(facts: Iterable[Fact]) -> tuple[Card, ...]:
    """Return the three facts of trust as cards."""
    return tuple(Card(fact.question, fact.value, lines=fact.sentences, command=fact.command) for fact in facts)


def _section(summary: Summary, key: str) -> Section:
    heading, tables_of = SECTIONS[key]
    return Section(
        key,
        heading,
        _sentences(summary, key),
        () if tables_of is None else tables_of(summary),
        _figures(summary, key),
        _listings(summary, key),
        summary.notes.get(key, ()),
        tuple((entry.marks, entry.meaning) for entry in summary.legend if key == "chosen"),
        folded=key not in _OPEN,
        brief=summary.brief.get(key, ""),
        copied=key == "methods",
        plates=_plates(summary, key),
    )


def _sentences(summary: Summary, key: str) -> tuple[str, ...]:
    """Return the sentences above the tables of a section."""
    elsewhere = {
        "asked": summary.question,
        "quality": summary.verdict,
        "methods": (summary.methods.text, *summary.methods.references),
    }
    return elsewhere.get(key, summary.sentences.get(key, ()))


def _plates(summary: Summary, key: str) -> tuple[Plate, ...]:
    target, about = target_words(summary.data.target), summary.trust.validation
    if key == "chosen":
        return feature_plates(summary.chosen, summary.plots, target)
    if key != "validation" or not isinstance(about, ValidationFacts):
        return ()
    return held_out_plates(about, target)


def feature_plates(chosen: Iterable[ChosenFeature], plots: Iterable[Plot], target: str) -> tuple[Plate, ...]:
    """Return plots of chosen features with their effects, and of pairs."""
    by_name = {member.feature: member for member in chosen}
    return tuple(
        Plate(", ".join(plot.features), "models selected them together", plot, target)
        if plot.kind == "pair"
        else Plate(name := plot.features[0], effect(by_name[name]), plot, target, gene_address(by_name[name].gene))
        for plot in plots
        if plot.kind == "pair" or plot.features[0] in by_name
    )


def held_out_plates(about: ValidationFacts, target: str) -> tuple[Plate, ...]:
    """Return what is predicted of held-out samples, if that is known."""
    if about.plot is None:
        return ()
    score = f"{metric_name(about.metric)} {interval_text(about.mean, about.lower, about.upper)}"
    return (Plate(HELD_OUT[about.plot.kind], f"{score}, on held-out samples", about.plot, target),)


def _figures(summary: Summary, key: str) -> tuple[Figure, ...]:
    members = listing(summary.names, 12)
    selected = f" Selected: {members}." if members else ""
    return tuple(
        Figure(name, display.caption, f"{display.caption}{selected}")
        for name, display in DISPLAYS.items()
        if display.section == key and name in summary.displays
    )


def _listings(summary: Summary, key: str) -> tuple[Listing, ...]:
    if key == "cite":
        return (Listing("BibTeX", summary.citation.bibtex),)
    if key != "reproduce":
        return ()
    contents = {"The decision in full": summary.decision}
    prior = summary.prior
    if summary.study is not None:
        contents = {"The study as used": summary.study, **contents}
    elif prior is not None and prior.weights:
        stated = {"default": prior.default, "weights": dict(prior.weights), "unlikely": list(prior.unlikely)}
        contents = {"All prior weights, in votes": stated, **contents}
    return tuple(Listing(caption, _as_yaml(content)) for caption, content in contents.items())


def _as_yaml(content: Mapping[str, Any]) -> str:
    """Return a mapping of plain types as YAML, keys in their order."""
    try:
        import yaml
    except ImportError as error:
        raise MissingDependencyError('a report needs PyYAML; install it with pip install "ubayfs[cli]".') from error
    # The dumper in C is ten times as fast, where PyYAML was built with it.
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    return str(yaml.dump(content, Dumper=dumper, sort_keys=False, allow_unicode=True, width=100)).rstrip()
