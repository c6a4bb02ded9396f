"""Other names of features: old symbols, synonyms and identifiers."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._arguments import check_names, refuse_lazy
from .._files import ReadBytes, read_bytes
from ..data.headings import cells_of, heading, text_of
from ..exceptions import InputError, repr_of

_OFFICIAL = ("symbol", "approved symbol", "official symbol", "name", "feature", "gene", "gene symbol")
_OTHER_NAMES = (
    "alias", "aliases", "alias symbol", "alias symbols", "synonym", "synonyms", "prev symbol", "previous symbol",
    "previous symbols", "old symbol", "old name", "old", "previous name", "ensembl gene id", "ensembl id",
)  # fmt: skip


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
    def from_pairs(cls, name: str, pairs: Iterable[tuple[str, str]]) -> Aliases:
        """Make aliases of pairs (alias, symbol).

        >>> Aliases.from_pairs("aliases", [("p53", "TP53"), ("LFS1", "TP53")]).others
        {'TP53': ('p53', 'LFS1')}
        """
        others: dict[str, dict[str, None]] = {}
        symbols: dict[str, dict[str, None]] = {}
        for alias, symbol in pairs:
            aliases = others.setdefault(symbol, {})
            if alias != symbol:
                aliases[alias] = None
                symbols.setdefault(alias, {})[symbol] = None
        return cls(
            name, {key: tuple(names) for key, names in others.items()}, {k: tuple(v) for k, v in symbols.items()}
        )

    def meant(self, name: str) -> tuple[str, ...]:
        """Return the symbols that a name stands for; a symbol stands for itself, even if it was an alias once."""
        return (name,) if name in self.others else self.symbols.get(name, ())

    def siblings(self, symbol: str) -> tuple[str, ...]:
        """Return the other names of a symbol, without those that are symbols of something else."""
        return tuple(name for name in self.others.get(symbol, ()) if name not in self.others)


def read_aliases(source: Any, report: Callable[[str], None], read: ReadBytes = read_bytes) -> Aliases | None:
    """Read other names of features: a mapping of alias to name, a frame, or a table with such columns.

    One column has the name (name, symbol), the others have aliases (alias, prev_symbol, alias_symbol, synonyms...),
    several in a cell separated by ``|``, ``,`` or ``;``.
    """
    if source is None or isinstance(source, Aliases):
        return source
    refuse_lazy("aliases", source)
    if not hasattr(source, "columns") and not isinstance(source, str | os.PathLike | Mapping):
        report(f"aliases must be a path, a mapping of alias to name, or a DataFrame; got {repr_of(source)}.")
        return None
    try:
        if isinstance(source, Mapping):
            named = {alias: check_names("aliases", names) for alias, names in source.items()}
            pairs = [(alias, name) for alias in check_names("aliases", named) for name in named[alias]]
            return Aliases.from_pairs("aliases", pairs)
        name, frame = "aliases", source.to_pandas() if hasattr(source, "to_pandas") else source
        if not hasattr(source, "columns"):
            from ..tables import read_table

            path = Path(source)
            name, frame = path.name, read_table(path, read=read).frame
        return Aliases.from_pairs(name, _alias_pairs(name, frame))
    except InputError as error:
        report(str(error))
        return None


def _alias_pairs(name: str, frame: Any) -> list[tuple[str, str]]:
    headings = [heading(str(text)) for text in frame.columns]
    official = next((headings.index(text) for text in _OFFICIAL if text in headings), None)
    others = [i for i, text in enumerate(headings) if text in _OTHER_NAMES]
    if official is None or not others:
        listed = ", ".join(repr(str(text)) for text in list(frame.columns)[:8])
        raise InputError(
            f"{name} is not a table of aliases: it needs a column 'name' (or 'symbol') and a column 'alias' (or "
            f"'prev_symbol', 'alias_symbol'); it has {listed}."
        )
    symbols = [text_of(cell) for cell in cells_of(frame.iloc[:, official])]
    pairs = [(symbol, symbol) for symbol in symbols if symbol is not None]
    for i in others:
        for symbol, cell in zip(symbols, cells_of(frame.iloc[:, i]), strict=True):
            aliases = re.split(r"[|,;]", text_of(cell) or "") if symbol is not None else []
            pairs += [(alias.strip().strip('"'), str(symbol)) for alias in aliases if alias.strip()]
    return pairs
