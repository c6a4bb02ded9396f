"""Samples in rows, features in columns, each name once: tables that are laid out otherwise, and how they look."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from .._plain import listed, quoted
from ..data.reading_rules import GROUP_WORDS, ID_WORDS, words
from ..exceptions import Advice
from . import columns as cells
from .table import Table, check_distinct, repeated, with_columns

# Words in names of columns and rows.
_IDS = ID_WORDS | GROUP_WORDS
_ID_LETTERS = re.compile("|".join(sorted(_IDS)), re.IGNORECASE)
_SAMPLE_WORDS = GROUP_WORDS | {
    "sample", "samples", "s", "p", "pt", "tcga", "gsm", "srr", "case", "control", "ctrl", "tumor", "tumour", "normal",
    "healthy", "treated", "untreated", "wt", "ko", "rep", "replicate", "cell", "barcode",
}  # fmt: skip
_FEATURE_WORDS = frozenset(
    {"gene", "genes", "probe", "probeset", "symbol", "feature", "protein", "mirna", "transcript", "metabolite",
     "peptide", "cpg", "snp", "otu", "taxon", "marker", "ref", "attrib", "attribute", "hugo", "ensembl", "entrez",
     "hsa", "mmu", "ensg", "ilmn", "cg", "rs"}
)  # fmt: skip
# Of columns that say where in the genome a feature is.
_PLACE_WORDS = frozenset({"chr", "chrom", "chromosome", "start", "end", "position", "length"})


def id_columns(table: Table, names: Iterable[str]) -> list[str]:
    """Return the columns that number the samples: unique whole numbers named id, sample, patient_nr...."""
    return [name for name in names if _is_called_id(name) and numbers_rows(table.frame[name], table.decimal_of(name))]


def _is_called_id(name: str) -> bool:
    parts = words(name) if _ID_LETTERS.search(name) else []  # nearly all names have none of these
    return bool(parts) and (all(word in _IDS for word in parts) or parts[-1] in ("id", "barcode", "accession"))


def numbers_rows(column: pd.Series, decimal: str | None) -> bool:
    """Return whether a column holds whole numbers, each once."""
    values = np.empty(0) if column.dtype.kind == "b" else cells.as_floats(column, decimal)
    return bool(len(values) > 2 and np.isfinite(values).all() and (values % 1 == 0).all() and column.is_unique)


def as_names(entries: Iterable[Any]) -> list[str]:
    """Return names as texts without blanks around them; those of a column of numbers are whole, missing ones empty.

    >>> as_names([" a", 7157.0, None])
    ['a', '7157', '']
    """

    def name(entry: Any) -> str:
        if isinstance(entry, float):
            return "" if np.isnan(entry) else str(int(entry) if entry.is_integer() else entry)
        return "" if entry is None or entry is pd.NaT else str(entry).strip()

    return [name(entry) for entry in entries]


def with_ids(table: Table, id: str | None) -> Table:
    """Return a table whose rows are named by the column `id`; default: as they are, else by the first column."""
    names, frame = _named_rows(table, id)
    named = id is None and table.has_names
    heading = "" if named else str(table.frame.columns[0] if id is None else id)
    _check_ids(table, names, heading)
    return replace(table, frame=frame.set_axis(pd.Index(names, dtype=object, name=heading or None), axis=0))


def transposed(table: Table, id: str | None, is_sheet: bool = False) -> Table:
    """Return a table of features in rows with samples in rows instead.

    Parameters
    ----------
    table : Table
    id : str or None
        Column with the names of the features; default: the names of the rows, or the first column.
    is_sheet : bool
        Whether the table describes samples. Else columns that hold text, or numbers of the features, are left out: they
        describe the features.
    """
    names, body = _named_rows(table, id)
    described = [] if is_sheet else _descriptions(table, body)
    if described:
        body = body.drop(columns=described)
        facts = {"file": table.path.name, "n_columns": len(described), "columns": described}
        table = table.noted(Advice("descriptions_ignored", facts))
    samples = as_names(body.columns)
    _check_ids(table, samples)
    if not samples:
        rule = "no column of numbers is left besides the names of the features, so there are no samples."
        raise table.error("features_in", rule)
    values = cells.values_of(table, body).astype(np.float64, copy=False)
    texts = np.flatnonzero((np.isnan(values) & body.notna().to_numpy()).any(axis=1))
    frame = pd.DataFrame(values.T, index=pd.Index(samples, dtype=object), columns=range(len(names)))
    for j, row in zip(texts, body.iloc[texts].to_numpy(dtype=object), strict=True):
        frame.isetitem(int(j), row)
    facts = {"file": table.path.name, "n_samples": len(samples), "n_features": len(names)}
    frame = frame.set_axis(pd.Index(names, dtype=object), axis=1)
    return replace(table, frame=frame, unit="sample", numbers=None).noted(Advice("file_transposed", facts))


def _descriptions(table: Table, body: pd.DataFrame) -> list[str]:
    """Return the columns beside the names of features in rows that are no samples: they describe the features."""
    names = _once(body.columns)
    kinds = cells.text_columns(replace(table, frame=body), names)
    with_text = {name for texts in kinds.values() for name in texts}
    return [name for name in names if name in with_text or _numbers_features(name, body)]


def _numbers_features(name: str, body: pd.DataFrame) -> bool:
    """Return whether a column holds numbers or places of the features, such as Entrez_Gene_Id or Start."""
    name_words = set(words(name)) if isinstance(name, str) else set()
    telling = _FEATURE_WORDS | _PLACE_WORDS
    if name_words.isdisjoint(telling) or not name_words <= telling | ID_WORDS:
        return False
    column = body[name]
    return cells.is_number_type(column.dtype) and bool((column.dropna() % 1 == 0).all())


def _named_rows(table: Table, id: str | None) -> tuple[list[str], pd.DataFrame]:
    """Return the names of the rows, and the columns beside them."""
    frame, columns = table.frame, list(table.frame.columns)
    if id is None and table.has_names:
        names = as_names(frame.index)
    elif id is not None and id not in columns:
        raise table.error("id", f"there is no column {id!r}. The columns are {quoted(columns)}.")
    else:
        j = 0 if id is None else columns.index(id)
        names, frame = as_names(frame.iloc[:, j]), frame.drop(columns=columns[j])
    unnamed = [row for row, name in enumerate(names) if not name]
    if unnamed:
        rule = f"rows without a name: {table.places(unnamed)}. Each needs one, in its first column or in that of id."
        raise table.error("id", rule)
    return names, frame


def _check_ids(table: Table, ids: Sequence[str], column: str = "") -> None:
    """Refuse a sample id that occurs twice: which row belongs to the sample is not known."""
    listed = pd.Series(ids, dtype=object)
    twice = listed[listed.duplicated()].unique().tolist()
    if twice:
        rule = f"sample ids occur more than once: {quoted(twice)}. "
        rule += "Keep one of each, or give each sample a different id."
        rule += f" They are in the column {column!r}; id names another." if column else ""
        raise table.error("id", rule)


def _once(names: Iterable[Any]) -> list[Any]:
    return [name for name, n in Counter(names).items() if n == 1]


# -- names that occur several times ------------------------------------------------------------------------------------


def merge_duplicates(table: Table, rule: str) -> Table:
    """Return a table in which each column name occurs once.

    Parameters
    ----------
    table : Table
    rule : {"error", "first", "mean", "max_variance", "suffix"}
        Of columns with the same name: refuse them, take the first, the mean of what is there, the one of the highest
        variance (the first of equals), or all of them under the names ``x``, ``x_2``, ``x_3``.
    """
    names = [str(name) for name in table.frame.columns]
    several = repeated(names)
    if not several:
        return table
    if rule == "error":
        check_distinct(names, table.path, "row" if table.unit == "sample" else "column")
    if rule == "suffix":
        frame = table.frame.set_axis(pd.Index(_suffixed(names), dtype=object), axis=1)
    else:
        frame = _merged(table, several, rule)
    facts = {"file": table.path.name, "n_names": len(several), "names": list(several), "rule": rule}
    return replace(table, frame=frame).noted(Advice("duplicates_merged", facts))


def _suffixed(names: Sequence[str]) -> list[str]:
    taken, distinct = set(names), []
    counts: dict[str, int] = {}
    for name in names:
        n = counts.get(name, 0) + 1
        while n > 1 and f"{name}_{n}" in taken:
            n += 1
        counts[name] = n
        distinct.append(name if n == 1 else f"{name}_{n}")
    return distinct


def _merged(table: Table, several: dict[str, list[int]], rule: str) -> pd.DataFrame:
    """Return the columns with one in the first place of each name: their mean, or the one of highest variance."""
    frame, changed = table.frame, dict[int, Any]()
    for name, places in several.items() if rule != "first" else ():
        parts = [frame.iloc[:, j] for j in places]
        if any(cells.offending(part, table.decimal).any() for part in parts):
            text = f"{name!r} occurs {len(places)} times and does not hold numbers only: rename or remove the others."
            raise table.error("duplicates", text)
        values = cells.values_of(table, frame.iloc[:, places])
        present = ~np.isnan(values)
        if rule == "mean":
            counts, total = present.sum(axis=1), np.where(present, values, 0.0).sum(axis=1)
            changed[places[0]] = np.divide(total, counts, out=np.full(len(values), np.nan), where=counts > 0)
        else:
            columns = zip(values.T, present.T, strict=True)
            # -1: a column without any value never has the highest variance.
            spreads = [np.var(column[there]) if there.any() else -1.0 for column, there in columns]
            changed[places[0]] = parts[int(np.argmax(spreads))].to_numpy()
    dropped = {j for places in several.values() for j in places[1:]}
    return with_columns(frame, changed).iloc[:, [j for j in range(frame.shape[1]) if j not in dropped]]


# -- which way round a table is ----------------------------------------------------------------------------------------


def likely_features_in(table: Table, target: str | None = None, samples: Iterable[str] = ()) -> str:
    """Return where the features of a file seem to be, ``"rows"`` or ``"columns"``.

    Sample ids that are known decide, then the place of the target. Else the names: those of samples are alike but for
    numbers, or have words such as sample and control; a long list of names beside a few columns is one of features.
    """
    if table.samples is not None:
        return "rows"
    header, rows = as_names(table.frame.columns), _row_names(table)
    ids = set(samples)
    in_header, in_rows = len(ids & set(header)), len(ids & set(rows))
    if in_rows >= max(in_header, 1):
        return "columns"
    if 4 * in_header > len(header):  # a few are headings that both files have
        return "rows"
    if not rows or target in header:
        return "columns"
    if target in rows:
        return "rows"
    body = header if table.has_names else header[1:]
    n_text = sum(map(len, cells.text_columns(table, _once(table.frame.columns)).values())) - (not table.has_names)
    if len(set(rows)) < 0.7 * len(rows) or not body or n_text > min(2, len(body) / 4):
        return "columns"
    score = _sample_likeness(body) - _sample_likeness(rows)
    score += (len(rows) >= 2 * len(body)) + (len(rows) >= 20 * len(body))
    first = [] if table.has_names else words(header[0])
    score += 3 * (not _FEATURE_WORDS.isdisjoint(first)) - 3 * (not _SAMPLE_WORDS.isdisjoint(first))
    return "rows" if score >= 2 else "columns"


def _row_names(table: Table) -> list[str]:
    """Return the names of the rows: their own, or those of a first column of text; none if there are none."""
    if table.has_names:
        return as_names(table.frame.index)
    first = table.frame.iloc[:, 0]
    return [] if cells.is_number_type(first.dtype) or first.isna().any() else as_names(first)


def _sample_likeness(names: Sequence[str]) -> int:
    """Return how much names look like those of samples, from -3 to 4."""
    firsts = [(words(name) or [""])[0] for name in names]
    share = sum(word in _SAMPLE_WORDS for word in firsts) - sum(word in _FEATURE_WORDS for word in firsts)
    shapes = {re.sub(r"[0-9]+", "0", name) for name in names}
    alike = len(names) > 2 and len(shapes) == 1 and "0" in next(iter(shapes))
    return 2 * alike + (2 if 2 * share > len(names) else -3 if -2 * share > len(names) else 0)


def shown_orientation(features_in: str, table: Table, id: str | None = None) -> str:
    """Return how a file is read, in words."""
    if features_in == "rows":
        features, body = _named_rows(table, id)
        samples = as_names(body.columns.drop(_descriptions(table, body)))
    else:
        samples, features = _row_names(table), as_names(table.frame.columns)
        if id in features:
            samples, features = as_names(table.frame[id]), [name for name in features if name != id]
        elif samples and not table.has_names:
            features = features[1:]
    return f"features in {features_in} ({listed(features, limit=3)}), samples {listed(samples, limit=3) or 'by number'}"
