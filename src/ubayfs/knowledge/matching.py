"""The one way from names as people write them to the features of the data.

A name means the feature that is called so; else the one that is called so but for outer blanks; else the one with the
same Ensembl id, whatever its version; else the one that a table of aliases leads to. Upper and lower case are never
taken for the same: ``Tp53`` and ``TP53`` are genes of two organisms.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from .._arguments import feature_hint
from ..data.blocks import Blocks
from ..data.damaged_names import symbols_before_damage
from ..data.headings import HEADINGS
from ..exceptions import Advice
from .aliases import Aliases
from .rows import Knowledge, Report, Row, raise_problems, read_knowledge

_ENSEMBL = re.compile(r"(ENS[A-Z]*\d+)\.\d+")
# Unknown names that are reported one by one; a table of another data set has nothing but such names.
_MOST_ROWS = 20
_SHOWN = 3


class Match(NamedTuple):
    """What a name means."""

    name: str  # as written
    feature: str | None  # None if it means nothing, or several features
    candidates: tuple[str, ...] = ()  # the features that it may mean, if they are several


class NameMatcher:
    """Finds the features that names mean.

    Parameters
    ----------
    features : iterable of str
        Names of the features, all different.
    aliases : Aliases, optional

    Examples
    --------
    >>> matcher = NameMatcher(["TP53", "ENSG00000141510.18"], Aliases.from_pairs("aliases", [("p53", "TP53")]))
    >>> [matcher.find(name).feature for name in (" TP53", "ENSG00000141510.2", "p53", "tp53")]
    ['TP53', 'ENSG00000141510.18', 'TP53', None]
    """

    def __init__(self, features: Iterable[str], aliases: Aliases | None = None) -> None:
        self.features = list(features)
        self.aliases = aliases
        self._features = frozenset(self.features)
        self._by_form: tuple[dict[str, list[str]], ...] = ({}, {})
        for feature in self.features:
            for by_form, form in zip(self._by_form, (feature.strip(), _without_version(feature)), strict=True):
                by_form.setdefault(form, []).append(feature)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.find(name).feature is not None

    def find(self, name: str) -> Match:
        """Return what a name means."""
        features = self._called(name)
        if not features and self.aliases is not None:
            symbols = self.aliases.meant(_without_version(name)) or self.aliases.meant(name.strip())
            features = self._any(symbols) or self._any(
                sibling for symbol in symbols for sibling in self.aliases.siblings(symbol)
            )
        return Match(name, features[0]) if len(features) == 1 else Match(name, None, tuple(features))

    def _called(self, name: str) -> list[str]:
        """Return the features that are called so, but for outer blanks and the version of an Ensembl id."""
        if name in self._features:
            return [name]
        return self._by_form[0].get(name.strip()) or self._by_form[1].get(_without_version(name)) or []

    def _any(self, names: Iterable[str]) -> list[str]:
        return list(dict.fromkeys(feature for name in names for feature in self._called(name)))


def _without_version(name: str) -> str:
    text = name.strip()
    match = _ENSEMBL.fullmatch(text)
    return match[1] if match else text


# -- rows of a table ---------------------------------------------------------------------------------------------------


class Matched(NamedTuple):
    """Rows whose features are those of the data, and what must be known about the others."""

    rows: list[Row]  # those about blocks, too
    advice: tuple[Advice, ...] = ()


def match_rows(knowledge: Knowledge, features: Iterable[str], report: Report) -> Matched:
    """Tie rows to features; rows about blocks stay as they are.

    Names that are not in the data are left out, with advice, or reported if ``knowledge.unknown`` is "error". If no
    name at all is in the data, that is reported: another organism, or another kind of names.
    """
    matcher = NameMatcher(features, knowledge.aliases)
    rows: list[Row] = []
    matches: dict[str, Match] = {}
    first: dict[str, Row] = {}
    for row in knowledge.rows:
        if row.feature is None:
            rows.append(row)
            continue
        for match in find_names(matcher, row.feature, several=is_list(knowledge)):
            matches.setdefault(match.name, match)
            first.setdefault(match.name, row)
            if match.feature is not None:
                rows.append(row._replace(feature=match.feature))
    unknown = [match for match in matches.values() if match.feature is None]
    if matches and len(unknown) == len(matches):
        report(_nothing_matches(knowledge, unknown, matcher))
    elif knowledge.unknown == "error":
        for match in unknown[:_MOST_ROWS]:
            report(f"{first[match.name].place}: {_unknown(match, matcher)}")
        if len(unknown) > _MOST_ROWS:
            report(f"and {len(unknown) - _MOST_ROWS} more names of {knowledge.name} that are not in the data.")
    else:
        return Matched(rows, (*_unused(knowledge), *_advice(knowledge.name, matches, unknown, matcher)))
    return Matched(rows, _unused(knowledge))


def gene_set_blocks(source: Any, feature_names: Any, only: Iterable[str] = (), aliases: Any = None) -> Blocks:
    """Return gene sets as blocks; see :meth:`~ubayfs.Blocks.from_gene_sets`."""
    knowledge = source if isinstance(source, Knowledge) else read_knowledge(source, only=only, aliases=aliases)
    knowledge.require("feature", "block")
    problems: list[str] = []
    blocks = blocks_of(knowledge, [str(name) for name in feature_names], problems.append)
    raise_problems(problems)
    return blocks


def blocks_of(knowledge: Knowledge, features: Iterable[str], report: Report, are_gene_sets: bool = True) -> Blocks:
    """Return the blocks that rows put features into; those without a feature of the data are left out."""
    matched = match_rows(knowledge, features, report)
    members: dict[str, dict[str, None]] = {}
    for row in matched.rows:
        if row.block is not None and row.feature is not None:
            members.setdefault(row.block, {})[row.feature] = None
    wanted = dict.fromkeys(row.block for row in knowledge.rows if row.block is not None)
    empty = [name for name in wanted if name not in members]
    facts = {"source": knowledge.name, "n": len(empty), "n_sets": len(wanted), "names": empty}
    advice = (*matched.advice, *([Advice("gene_sets_empty", facts)] if empty and members else []))
    return Blocks({name: tuple(names) for name, names in members.items()}, are_gene_sets, advice)


def _unused(knowledge: Knowledge) -> tuple[Advice, ...]:
    """Return the advice on columns of a table that are not read."""
    facts = {"source": knowledge.name, "columns": list(knowledge.unused), "known": list(HEADINGS)}
    return (Advice("knowledge_unused", facts),) if knowledge.unused else ()


def is_list(knowledge: Knowledge) -> bool:
    """Return whether a source is a list of names, not a table."""
    return knowledge.columns == ("feature",) or not knowledge.header


def find_names(matcher: NameMatcher, name: str, several: bool) -> list[Match]:
    """Return what a name means; an entry of a list that means nothing may be several names, separated by blanks."""
    match = matcher.find(name)
    if match.feature is None and several and not match.candidates and len(name.split()) > 1:
        return [matcher.find(part) for part in name.split()]
    return [match]


def _nothing_matches(knowledge: Knowledge, unknown: list[Match], matcher: NameMatcher) -> str:
    explained = [match for match in unknown if match.candidates or symbols_before_damage(match.name, serials=True)]
    if len(explained) == len(unknown):
        return f"{knowledge.name}: " + " ".join(_unknown(match, matcher) for match in explained[:_SHOWN])
    names = [match.name for match in unknown]
    shown, features = (", ".join(map(repr, some[:_SHOWN])) for some in (names, matcher.features))
    folded = {feature.casefold(): feature for feature in matcher.features}
    same = next(((name, folded[name.casefold()]) for name in names if name.casefold() in folded), None)
    hint = f" They differ in upper and lower case: {same[0]!r} and {same[1]!r}." if same else ""
    hint = hint or (feature_hint(names[0], matcher.features) if len(names) == 1 else "")
    return (
        f"{knowledge.name}: none of its {len(names)} names is a feature of the data. They are {shown}; the features "
        f"are {features}.{hint} Is it of another organism, or are the names of another kind? A table of aliases helps."
    )


def _unknown(match: Match, matcher: NameMatcher) -> str:
    if match.candidates:
        return f"{match.name!r} means several features: {', '.join(map(repr, match.candidates))}. Name the one meant."
    symbols = symbols_before_damage(match.name, serials=True)
    if symbols:
        was = " or ".join(symbols)
        return f"{match.name!r} is not a feature, but a date that a spreadsheet made from a name, perhaps {was}."
    return f"{match.name!r} is not a feature.{feature_hint(match.name, matcher.features)}"


def _advice(source: str, matches: dict[str, Match], unknown: list[Match], matcher: NameMatcher) -> Iterable[Advice]:
    """Yield advice on names that were found by another name, and on those that were not found."""
    damaged = {match.name: symbols_before_damage(match.name, serials=True) for match in unknown}
    folded = {feature.casefold(): feature for feature in matcher.features}
    kinds: dict[str, Callable[[Match], str | None]] = {
        "names_translated": lambda m: None if m.feature in (None, m.name.strip()) else f"{m.name}: {m.feature}",
        "names_ambiguous": lambda m: f"{m.name}: {' or '.join(m.candidates)}" if m.candidates else None,
        "names_damaged": lambda m: f"{m.name}: {' or '.join(damaged[m.name])}" if damaged.get(m.name) else None,
        "names_in_other_case": lambda m: (
            f"{m.name}: {folded[m.name.casefold()]}" if m.feature is None and m.name.casefold() in folded else None
        ),
    }
    if unknown:
        names = [match.name for match in unknown]
        yield Advice("names_skipped", {"source": source, "n": len(names), "n_names": len(matches), "names": names})
    for code, text in kinds.items():
        listed = [words for match in matches.values() if (words := text(match)) is not None]
        if listed:
            yield Advice(code, {"source": source, "n": len(listed), "names": listed})
