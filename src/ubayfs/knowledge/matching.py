"""The one way from names as people write them to the features of the data.

A name means the feature that is called so; else the one that is called so but for outer blanks; else the one with the
same Ensembl id, whatever its version; else the one that a table of aliases leads to. Upper and lower case are never
taken for the same: ``Tp53`` and ``TP53`` are genes of two organisms.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

_ENSEMBL = re.compile(r"(ENS[A-Z]*\d+)\.\d+")


class Match(NamedTuple):
    """What a name means."""

    name: str  # as written
    feature: str | None  # None if it means nothing, or several features
    candidates: tuple[str, ...] = ()  # the features that it may mean, if they are several


@dataclass(frozen=True, eq=False)
class Aliases:
    """Other names of features: old symbols, synonyms, identifiers.

    Attributes
    ----------
    name : str
        The file, for messages.
    others : mapping of str to tuple of str
        Each symbol and its other names.
    symbols : mapping of str to tuple of str
        Each other name and the symbols that it stands for.
    """

    name: str
    others: Mapping[str, tuple[str, ...]]
    symbols: Mapping[str, tuple[str, ...]]

    @classmethod
    def of_pairs(cls, name: str, pairs: Iterable[tuple[str, str]]) -> Aliases:
        """Make aliases of pairs (alias, symbol).

        >>> Aliases.of_pairs("aliases", [("p53", "TP53"), ("LFS1", "TP53")]).others
        {'TP53': ('p53', 'LFS1')}
        """
        others: dict[str, dict[str, None]] = {}
        symbols: dict[str, dict[str, None]] = {}
        for alias, symbol in pairs:
            known = others.setdefault(symbol, {})
            if alias != symbol:
                known[alias] = None
                symbols.setdefault(alias, {})[symbol] = None
        return cls(
            name, {key: tuple(found) for key, found in others.items()}, {k: tuple(v) for k, v in symbols.items()}
        )

    def meant(self, name: str) -> tuple[str, ...]:
        """Return the symbols that a name stands for; a symbol stands for itself, even if it was an alias once."""
        return (name,) if name in self.others else self.symbols.get(name, ())

    def siblings(self, symbol: str) -> tuple[str, ...]:
        """Return the other names of a symbol, without those that are symbols of something else."""
        return tuple(name for name in self.others.get(symbol, ()) if name not in self.others)


class NameMatcher:
    """Finds the features that names mean.

    Parameters
    ----------
    features : iterable of str
        Names of the features, all different.
    aliases : Aliases, optional

    Examples
    --------
    >>> matcher = NameMatcher(["TP53", "ENSG00000141510.18"], Aliases.of_pairs("aliases", [("p53", "TP53")]))
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
        found = self._called(name)
        if not found and self.aliases is not None:
            symbols = self.aliases.meant(_without_version(name)) or self.aliases.meant(name.strip())
            found = self._any(symbols) or self._any(
                sibling for symbol in symbols for sibling in self.aliases.siblings(symbol)
            )
        return Match(name, found[0]) if len(found) == 1 else Match(name, None, tuple(found))

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
