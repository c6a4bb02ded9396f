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
class UnmatchedName:
    """A name that is not that of a feature: ambiguous, damaged or unknown, and the features that may be meant."""

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
    unmatched : tuple of UnmatchedName
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
    unmatched: tuple[UnmatchedName, ...] = ()
    translated: Mapping[str, str] = field(default_factory=dict)
    sets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    def unmatched_of(self, kind: str) -> list[UnmatchedName]:
        """Return the unmatched names of a kind."""
        return [each for each in self.unmatched if each.kind == kind]

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
    >>> matching.features, [(each.name, each.kind, each.candidates) for each in matching.unmatched]
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
    names = Names(matcher.features)
    rows: list[Row] = []
    unmatched: dict[str, UnmatchedName] = {}
    translated: dict[str, str] = {}
    sets: dict[str, dict[str, None]] = {}
    for row in knowledge.rows:
        if row.block is not None:
            sets.setdefault(row.block, {})
        for matched in _matches(row.feature, names, matcher, is_list(knowledge)) if row.feature is not None else ():
            if matched.feature is None:
                unmatched.setdefault(matched.name, _unmatched(row, matched, matcher, n_hints=len(unmatched)))
                continue
            rows.append(row._replace(feature=matched.feature))
            if matched.feature.strip() != matched.name.strip():
                translated[matched.name] = matched.feature
            if row.block is not None:
                sets[row.block][matched.feature] = None
    members = {name: tuple(features) for name, features in sets.items()}
    return Matching(knowledge.name, tuple(rows), tuple(unmatched.values()), translated, members, tuple(problems))


def _matches(name: str, names: Names, matcher: NameMatcher, listed: bool) -> list[Match]:
    """Return what a name means; in a list it may be a pattern."""
    if listed and is_pattern(name):
        with suppress(InputError):
            return [Match(feature, feature) for feature in names.find(name)]
    return find_names(matcher, name, listed)


def _unmatched(row: Row, matched: Match, matcher: NameMatcher, n_hints: int) -> UnmatchedName:
    if matched.candidates:
        return UnmatchedName(row, matched.name, AMBIGUOUS, matched.candidates)
    before = symbols_before_damage(matched.name, serials=True)
    if before:
        meant = dict.fromkeys(matcher.find(symbol).feature for symbol in before)
        return UnmatchedName(row, matched.name, DAMAGED, tuple(name for name in meant if name is not None))
    close = nearest(matched.name, matcher.features) if n_hints < _MOST_HINTS else None
    return UnmatchedName(row, matched.name, UNKNOWN, () if close is None else (close,))


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
        Unmatched names and the features that are meant.
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
    chosen = [each.row._replace(feature=choices[each.name]) for each in matching.unmatched if each.name in choices]
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
