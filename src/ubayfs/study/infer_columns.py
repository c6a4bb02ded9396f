"""What the columns of a table may be: target, groups, identifiers, blocks. Inferred for a person to correct."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .._arguments import did_you_mean
from ..exceptions import InputError

if TYPE_CHECKING:
    import pandas as pd

    from ..tables import Table

# Words in names of columns, the most telling first.
_TARGET_WORDS = (
    "target", "diagnosis", "class", "label", "outcome", "y", "response", "phenotype", "status", "condition", "disease",
    "subtype", "species", "group", "cls", "event", "survival", "case",
)  # fmt: skip
_GROUP_WORDS = frozenset(
    {"patient", "subject", "mouse", "animal", "donor", "individual", "participant", "person", "rat", "litter", "cage"}
)
_ID_WORDS = frozenset(
    {"id", "identifier", "name", "sample", "barcode", "accession", "index", "number", "nr", "no", "uid", "uuid", "key"}
)
_SEPARATORS = ("_", ".", "-", " ")

_FEW_VALUES = 20  # distinct values of a column of classes, at most
_MANY_CLASSES = 20  # whole numbers with more distinct values than this are a quantity
_FEWEST_GROUPS = 4
_MOST_BLOCKS = 50
_MOST_CANDIDATES = 5
_MOST_CODES = 10  # distinct whole numbers of a column that may code classes, such as 0 and 1
_FEWEST_IN_BLOCK = 2


@dataclass(frozen=True)
class ColumnRoles:
    """What the columns of a table seem to be.

    Attributes
    ----------
    target : str or None
        None when no column seems to be one, or when several do that nothing tells apart.
    candidates : tuple of str
        Other columns that may be a target, the likeliest first.
    task : str or None
        Given where it would be inferred wrongly.
    groups : str or None
    ignored : tuple of str
        Identifiers, and columns of text that cannot be features.
    features : tuple of str
    separator : str or None
        That splits names into a block and the rest.
    n_missing : int
        Empty cells among the features.
    """

    target: str | None
    candidates: tuple[str, ...]
    task: str | None
    groups: str | None
    ignored: tuple[str, ...]
    features: tuple[str, ...]
    separator: str | None
    n_missing: int

    @property
    def is_undecided(self) -> bool:
        """Whether a person has to choose the target: without one the classes would be features."""
        return self.target is None and bool(self.candidates)


def infer_columns(table: Table, target: str | None = None) -> ColumnRoles:
    """Infer the roles of the columns; a target that is given stays."""
    frame = table.frame
    columns = [str(name) for name in frame.columns]
    if target is not None and target not in columns:
        rule = f"must be a column of {table.path}; got {target!r}.{did_you_mean(target, columns)}"
        raise InputError.of("target", rule, target)
    text = {name for name in columns if _is_text(frame[name], table.decimal)}
    ids = {name for name in columns if name != target and _is_id(name, frame[name], name in text)}
    candidates = [name for name in _targets(frame, columns, text, table.annotations) if name not in ids]
    codes = [name for name in _coded(frame, columns, table.annotations) if name not in ids and name not in candidates]
    if target is None and candidates:
        target = candidates[0]
    elif target is None and len(codes) == 1:  # the only column of classes
        target = codes[0]
    candidates += codes
    groups = next((name for name in columns if name not in ids | {target} and _is_groups(name, frame[name])), None)
    roles = {target, groups, *table.annotations}
    ignored = tuple(name for name in columns if name not in roles and name in ids | text)
    features = tuple(name for name in columns if name not in roles and name not in ignored)
    others = tuple(name for name in candidates if name not in (target, groups))[:_MOST_CANDIDATES]
    return ColumnRoles(
        target,
        others,
        None if target is None or target in text else _task(frame[target]),
        groups,
        ignored,
        features,
        _separator(features),
        int(frame[list(features)].isna().to_numpy().sum()),
    )


def _words(name: str) -> list[str]:
    """Return the words in a name.

    >>> _words("patientID"), _words("Sample_name")
    (['patient', 'id'], ['sample', 'name'])
    """
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+", name)]


def _is_text(column: pd.Series, decimal: str | None) -> bool:
    """Tell whether a column holds words; a few wrong cells among numbers are a mistake."""
    from ..tables.columns import offending

    return 2 * int(offending(column, decimal).sum()) > int(column.notna().sum())


def _is_id(name: str, column: pd.Series, text: bool) -> bool:
    whole = text or column.dtype.kind in "iu"
    return whole and (text or not _ID_WORDS.isdisjoint(_words(name))) and bool(column.is_unique)


def _is_groups(name: str, column: pd.Series) -> bool:
    if _GROUP_WORDS.isdisjoint(_words(name)) or column.isna().any():
        return False
    return _FEWEST_GROUPS <= column.nunique() < len(column)


def _targets(frame: pd.DataFrame, columns: Sequence[str], text: set[str], annotations: frozenset[str]) -> list[str]:
    """Return columns that may be the target, the likeliest first."""
    ranked = []
    for position, name in enumerate(columns):
        words = _words(name)
        # "y" is a word of its own only; "group" and its like may be part of a name.
        ranks = [rank for rank, word in enumerate(_TARGET_WORDS) if word in words and (word != "y" or len(words) == 1)]
        of_classes = (name in text or name in annotations) and _GROUP_WORDS.isdisjoint(words)
        if not ranks and not of_classes:
            continue
        n_values, complete = frame[name].nunique(), not frame[name].isna().any()
        few = 2 <= n_values <= min(_FEW_VALUES, len(frame) / 3)
        if n_values < 2 or not (few or (ranks and name not in text)):
            continue
        whole_name = bool(ranks) and len(words) == 1
        ranked.append((not complete, not ranks, not whole_name, not few, min(ranks, default=0), position, name))
    return [entry[-1] for entry in sorted(ranked)]


def _coded(frame: pd.DataFrame, columns: Sequence[str], annotations: frozenset[str]) -> list[str]:
    """Return columns of a few whole numbers, which may be classes: first with the fewest values, then from the end."""
    found = []
    for position, name in enumerate(columns):
        column = frame[name]
        # AnnData keeps the descriptions of samples apart; all other columns are measurements there.
        if (annotations and name not in annotations) or column.dtype.kind not in "biuf":
            continue
        if not _GROUP_WORDS.isdisjoint(_words(name)):
            continue
        values, counts = np.unique(column.to_numpy(dtype=np.float64, na_value=np.nan), return_counts=True)
        if 2 <= len(values) <= min(_MOST_CODES, len(column) / 3) and counts.min() > 1 and (values % 1 == 0).all():
            found.append((len(values), -position, name))
    return [name for _, _, name in sorted(found)]


def _task(column: pd.Series) -> str | None:
    values = column.dropna().to_numpy()
    if values.dtype.kind not in "iuf" or len(np.unique(values)) <= _MANY_CLASSES:
        return None
    return "regression" if (values == np.floor(values)).all() else None


def _separator(features: Sequence[str]) -> str | None:
    """Return the separator whose prefixes make a few blocks of two or more that hold most features.

    Blocks of one feature do not count: names such as "radius error" merely have a space in them.
    """
    best: tuple[float, str] | None = None
    for separator in _SEPARATORS:
        prefixes = Counter(name.partition(separator)[0] for name in features if separator in name)
        prefixes.pop("", None)
        shared = {prefix: count for prefix, count in prefixes.items() if count >= _FEWEST_IN_BLOCK}
        if 5 * (len(prefixes) - len(shared)) > len(prefixes):
            continue
        covered = sum(shared.values()) / max(len(features), 1)
        if 2 <= len(prefixes) <= _MOST_BLOCKS and covered > 0.5 and (best is None or covered > best[0]):
            best = (covered, separator)
    return None if best is None else best[1]
