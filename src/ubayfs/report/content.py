"""The content of a report, made of a summary: what each section has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._plain import listing
from ..exceptions import MissingDependencyError, UBayFSError
from ..plotting import DISPLAYS
from . import tables
from .document import Document, Fact, Figure, Listing, Section

# Keys and headings, in the order of a report. A display has the key of its section.
HEADINGS = {
    "chosen": "The chosen features, and why",
    "knowledge": "Did your knowledge make the difference?",
    "left_out": "Strong features that are not in the set",
    "substitutes": "What can replace a feature?",
    "validation": "Does the set predict?",
    "noise": "How many of them are noise?",
    "reproducibility": "Would another study choose them again?",
    "constraints": "Constraints and what they cost",
    "asked": "What was asked",
    "data": "The data at a glance",
    "correlation": "Correlation among the chosen features",
    "quality": "Is it the best set?",
    "ensemble": "Technical: how sure the models are on these samples",
    "reproduce": "How to reproduce",
    "methods": "For the methods section of a paper",
    "cite": "BibTeX",
}
# Sections that are read first; the others are folded.
_OPEN = frozenset({"chosen", "knowledge", "left_out", "methods"})
_TABLES = {
    "chosen": tables.chosen,
    "knowledge": tables.decisions,
    "substitutes": tables.substitutes,
    "left_out": tables.left_out,
    "validation": tables.validation,
    "asked": tables.stated,
    "constraints": tables.constraints,
    "quality": tables.alternatives,
    "data": tables.data,
    "ensemble": tables.ensemble,
    "correlation": tables.correlation,
}


def document(summary: Mapping[str, Any]) -> Document:
    """Return the report on a summary."""
    misplaced = [name for name, display in DISPLAYS.items() if display.section not in HEADINGS]
    if misplaced:
        known = ", ".join(HEADINGS)
        raise UBayFSError(
            f"display {misplaced[0]!r} has the section {DISPLAYS[misplaced[0]].section!r}; use one of {known}."
        )
    sections = tuple(_section(summary, key) for key in HEADINGS)
    return Document(
        title=summary["title"],
        headline=summary["headline"],
        lead=summary["lead"],
        created=summary["created"].replace("T", " ").replace("+00:00", " UTC"),
        warnings=tuple(summary["warnings"]),
        sections=tuple(section for section in sections if not section.empty),
        facts=tuple(
            Fact(fact["question"], fact["value"], tuple(fact["sentences"]), fact["command"])
            for fact in summary["facts"]
        ),
        names=tuple(record["feature"] for record in summary["chosen"]),
    )


def _section(summary: Mapping[str, Any], key: str) -> Section:
    return Section(
        key,
        HEADINGS[key],
        _sentences(summary, key),
        _TABLES[key](summary) if key in _TABLES else (),
        _figures(summary, key),
        _listings(summary, key),
        tuple(summary["notes"].get(key, ())),
        tuple((tuple(entry["marks"]), entry["meaning"]) for entry in summary["legend"] if key == "chosen"),
        folded=key not in _OPEN,
        brief=summary["brief"].get(key, ""),
        copied=key == "methods",
    )


def _sentences(summary: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """Return the sentences above the tables of a section."""
    elsewhere = {
        "asked": summary["question"],
        "quality": summary["verdict"],
        "methods": [summary["methods"]["text"], *summary["methods"]["references"]],
    }
    return tuple(elsewhere.get(key, summary["sentences"].get(key, ())))


def _figures(summary: Mapping[str, Any], key: str) -> tuple[Figure, ...]:
    members = listing([record["feature"] for record in summary["chosen"]], 12)
    chosen = f" Chosen: {members}." if members else ""
    return tuple(
        Figure(name, display.caption, f"{display.caption}{chosen}")
        for name, display in DISPLAYS.items()
        if display.section == key and name in summary["displays"]
    )


def _listings(summary: Mapping[str, Any], key: str) -> tuple[Listing, ...]:
    if key == "cite":
        return (Listing("BibTeX", summary["citation"]["bibtex"]),)
    if key != "reproduce":
        return ()
    contents = {"The decision in full": summary["decision"]}
    prior = summary["prior"]
    if summary["study"] is not None:
        contents = {"The study as used": summary["study"], **contents}
    elif prior is not None and prior["weights"]:
        stated = {name: prior[name] for name in ("default", "weights", "unlikely")}
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
