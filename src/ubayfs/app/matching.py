"""What a pasted list, a spreadsheet or a file of gene sets says about the features of a study, before it is used.

Names that mean one feature are matched; for the others the features that may be meant are offered: those that an alias
leads to, those that were there before a spreadsheet made a date of a name, or the nearest name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .._arguments import nearest
from ..data.damaged_names import symbols_before_damage
from ..exceptions import InputError
from ..knowledge.aliases import read_aliases
from ..knowledge.matching import Match, NameMatcher, find_names, is_list
from ..knowledge.patterns import Names, is_pattern
from ..knowledge.rows import Row, read_rows
from ..knowledge.scale import Stated

AMBIGUOUS, DAMAGED, UNKNOWN = "ambiguous", "damaged", "unknown"
# Looking for the nearest of 20,000 names takes a fifth of a second.
_MOST_HINTS = 5


@dataclass(frozen=True)
class Doubt:
    """A name that is not that of a feature: what kind of doubt there is, and the features that may be meant."""

    row: Row
    name: str
    kind: str
    candidates: tuple[str, ...] = ()


@dataclass(frozen=True)
class Matching:
    """What a source says.

    Attributes
    ----------
    source : str
        Its name, for messages.
    rows : tuple of Row
        Those whose features are in the data.
    doubts : tuple of Doubt
        Names that are not, each once.
    translated : dict of str to str
        Names that were found by another name, and the features.
    sets : dict of str to tuple of str
        Gene sets or blocks, with their features in the data.
    problems : tuple of str
        What could not be read.
    """

    source: str
    rows: tuple[Row, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    translated: Mapping[str, str] = field(default_factory=dict)
    sets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    def doubted(self, kind: str) -> list[Doubt]:
        """Return the doubts of a kind."""
        return [doubt for doubt in self.doubts if doubt.kind == kind]

    @property
    def features(self) -> list[str]:
        """The features that were found, each once."""
        return list(dict.fromkeys(str(row.feature) for row in self.rows))

    @property
    def costs(self) -> dict[str, float]:
        """The costs of features, if the source has any."""
        return {str(row.feature): row.cost for row in self.rows if row.cost is not None}


def match(source: str | Path, features: Iterable[str], aliases: Any = None, folder: Path | None = None) -> Matching:
    """Read a source and match its names.

    Parameters
    ----------
    source : path of a file, or pasted text
    features : iterable of str
    aliases : path of a table of other names, optional
    folder : Path, optional
        Where the path of the aliases starts.

    Raises
    ------
    InputError
        If nothing can be read.

    Examples
    --------
    >>> matching = match("TP53, tp53, 2-Sep", ["TP53", "SEPT2"])
    >>> matching.features, [(doubt.name, doubt.kind, doubt.candidates) for doubt in matching.doubts]
    (['TP53'], [('tp53', 'unknown', ('TP53',)), ('2-Sep', 'damaged', ('SEPT2',))])
    >>> match("TP5*", ["TP53", "TP53BP1"]).features
    ['TP53', 'TP53BP1']
    """
    problems: list[str] = []
    # Pasted text is text, even if it looks like the name of a file.
    knowledge = read_rows(source if isinstance(source, Path) else f"{source}\n,", problems.append)
    if knowledge is None:
        raise InputError(problems[0])
    other_names = aliases if aliases is None or folder is None else folder / aliases
    matcher = NameMatcher(features, read_aliases(other_names, problems.append))
    known = Names(matcher.features)
    rows: list[Row] = []
    doubts: dict[str, Doubt] = {}
    translated: dict[str, str] = {}
    sets: dict[str, dict[str, None]] = {}
    for row in knowledge.rows:
        if row.block is not None:
            sets.setdefault(row.block, {})
        for matched in _found(row.feature, known, matcher, is_list(knowledge)) if row.feature is not None else ():
            if matched.feature is None:
                doubts.setdefault(matched.name, _doubt(row, matched, matcher, n_hints=len(doubts)))
                continue
            rows.append(row._replace(feature=matched.feature))
            if matched.feature.strip() != matched.name.strip():
                translated[matched.name] = matched.feature
            if row.block is not None:
                sets[row.block][matched.feature] = None
    members = {name: tuple(features) for name, features in sets.items()}
    return Matching(knowledge.name, tuple(rows), tuple(doubts.values()), translated, members, tuple(problems))


def _found(name: str, known: Names, matcher: NameMatcher, listed: bool) -> list[Match]:
    """Return what a name means; in a list it may be a pattern."""
    if listed and is_pattern(name):
        with suppress(InputError):
            return [Match(feature, feature) for feature in known.find(name)]
    return find_names(matcher, name, listed)


def _doubt(row: Row, matched: Match, matcher: NameMatcher, n_hints: int) -> Doubt:
    if matched.candidates:
        return Doubt(row, matched.name, AMBIGUOUS, matched.candidates)
    before = symbols_before_damage(matched.name, serials=True)
    if before:
        meant = (matcher.find(symbol).feature for symbol in before)
        return Doubt(row, matched.name, DAMAGED, tuple(dict.fromkeys(name for name in meant if name is not None)))
    close = nearest(matched.name, matcher.features) if n_hints < _MOST_HINTS else None
    return Doubt(row, matched.name, UNKNOWN, () if close is None else (close,))


def stated_words(
    matching: Matching, stated: Stated | None, choices: Mapping[str, str], only: Iterable[str] | None = None
) -> dict[str, tuple[Stated, str | None]]:
    """Return what a source states of each feature: (votes or word, why).

    Parameters
    ----------
    matching : Matching
    stated : votes or word, or None
        Of rows without a weight of their own; None: these state nothing.
    choices : mapping of str to str
        Names in doubt and the features that are meant.
    only : iterable of str, optional
        Names of gene sets whose members are meant; default all rows.

    Raises
    ------
    InputError
        If two rows state different weights of a feature.

    Examples
    --------
    >>> matching = match("TP53, 2-Sep", ["TP53", "SEPT2"])
    >>> stated_words(matching, "likely", {"2-Sep": "SEPT2"})
    {'TP53': ('likely', None), 'SEPT2': ('likely', None)}
    """
    chosen = [doubt.row._replace(feature=choices[doubt.name]) for doubt in matching.doubts if doubt.name in choices]
    wanted = None if only is None else set(only)
    words: dict[str, tuple[Stated, str | None]] = {}
    for row in (*matching.rows, *chosen):
        weight = stated if row.weight is None else row.weight
        if weight is None or (wanted is not None and row.block not in wanted):
            continue
        feature, why = str(row.feature), "; ".join(text for text in (row.why, row.source) if text) or row.block
        before, reason = words.get(feature, (weight, why))
        if before != weight:
            rule = f"has two weights for {feature!r}: {before} and {weight}. Keep one of its rows."
            raise InputError(f"{matching.source} {rule}", argument="weight", value=weight)
        words[feature] = weight, reason or why
    return words
