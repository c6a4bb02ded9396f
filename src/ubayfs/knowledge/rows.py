"""What experts know about features as rows, read from whatever they have.

A pasted list, a text file of names, a spreadsheet, a GMT file, a gene-set CSV of cellxgene, a frame: each becomes the
rows of a :class:`Knowledge`, with the place of each row in its file for messages.
"""

from __future__ import annotations

import fnmatch
import math
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from .._arguments import by_name, check_choice, check_names, did_you_mean, entries_of, nearest, refuse_lazy
from .._files import ReadBytes, read_bytes
from .._listing import bulleted
from ..data.headings import HEADINGS, cells_of, heading, heading_of, text_of
from ..exceptions import InputError, repr_of
from .aliases import Aliases, read_aliases
from .scale import Stated, as_stated, number_or_word

# Called with each problem of a source.
Report = Callable[[str], None]

_GMT = (".gmt", ".gmt.gz")
_NAMES_ONLY = (".txt", ".txt.gz", ".list", ".grp", ".names")
_TABLES = (".csv", ".tsv", ".tab", ".csv.gz", ".tsv.gz", ".tab.gz", ".xlsx", ".xlsm", ".parquet", ".pq")
_PATH = re.compile(rf"[^\n\r]+(?:{'|'.join(re.escape(s) for s in (*_GMT, *_NAMES_ONLY, *_TABLES))})", re.IGNORECASE)
_SEPARATORS = re.compile(r"[\n\r,;\t]+")
# What pasted text has around names: signs or numbers of a list, and invisible characters.
_BULLET = re.compile(r"^\s*(?:[-*\u2022\u2013]|\d+[.)])\s+")
_INVISIBLE = " \t\xa0\u200b\u200c\u200d\u2060\ufeff"


class Row(NamedTuple):
    """What a row states; None where nothing."""

    place: str  # file and line, for messages
    feature: str | None = None
    weight: Stated | None = None
    block: str | None = None
    cost: float | None = None
    why: str | None = None
    source: str | None = None


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What is known about features, as it was written: not yet matched with the features of a data set.

    Attributes
    ----------
    name : str
        The file, or "the list", for messages.
    rows : tuple of Row
    columns : tuple of str
        What a row can state: some of feature, weight, block, cost, why, source.
    aliases : Aliases or None
        Other names of features.
    unknown : {"skip", "error"}
        What is done with names that are not in the data.
    header : tuple of str
        The headings of a table.
    unused : tuple of str
        Those of columns that mean nothing here.

    Examples
    --------
    >>> from ubayfs import read_knowledge
    >>> knowledge = read_knowledge(["TP53", "MYC"], weight="likely")
    >>> knowledge.columns
    ('feature', 'weight')
    """

    name: str
    rows: tuple[Row, ...]
    columns: tuple[str, ...]
    aliases: Aliases | None = None
    unknown: str = "skip"
    header: tuple[str, ...] = field(default=(), repr=False)
    unused: tuple[str, ...] = field(default=(), repr=False)

    def without(self, features: Collection[str]) -> Knowledge:
        """Return the rows that are not about some features, such as those that are measured anyway."""
        return replace(self, rows=tuple(row for row in self.rows if row.feature not in features)) if features else self

    def require(self, *columns: str) -> None:
        """Raise unless there are these columns."""
        for column in columns:
            if column not in self.columns:
                listed, meant = ", ".join(map(repr, self.header[:8])), nearest(column, self.header)
                way_out = f"Its header must name {' and '.join(map(repr, columns))}."
                way_out += "" if meant is None else f" If {meant!r} is meant, call it {column!r}."
                raise InputError(f"{self.name} has no column {column!r}, among {listed}. {way_out}")


@by_name()
def read_knowledge(
    source: Any,
    *,
    weight: Stated | None = None,
    sheet: str | None = None,
    only: Iterable[str] = (),
    aliases: Any = None,
    unknown: str = "skip",
) -> Knowledge:
    """Read what is known about features from what experts have.

    Parameters
    ----------
    source : path, str, iterable of str or DataFrame
        - a table (CSV, TSV, Excel, Parquet, DataFrame) with the column feature and some of weight, block, cost, why and
          source; gene, symbol, importance, pathway, price, reason, reference and the like mean the same;
        - a GMT file, or a CSV of gene sets as cellxgene has it: each gene set is a block;
        - a list of names: a text file, a pasted text (names on lines, or separated by commas, semicolons or blanks), or
          a list.
    weight : number of votes or word of the scale, optional
        Of every feature that has none of its own: a list of names has no weights.
    sheet : str, optional
        Of an Excel file.
    only : iterable of str, optional
        Names or patterns of the gene sets that are wanted.
    aliases : path, mapping of alias to name, or DataFrame, optional
        Other names of features: columns name and alias, or symbol, prev_symbol and alias_symbol.
    unknown : {"skip", "error"}, default "skip"
        What to do with names that are not in the data.

    Returns
    -------
    knowledge : Knowledge
        ``decide(evidence, weights=knowledge)`` uses it.

    See Also
    --------
    pool_experts : Several experts.
    read_data : Reads data.

    Examples
    --------
    >>> read_knowledge("TP53, BRCA1", weight="likely").rows[1]
    Row(place='the list, line 1', feature='BRCA1', weight='likely', block=None, cost=None, why=None, source=None)
    """
    check_choice("unknown", unknown, ("skip", "error"))
    problems: list[str] = []
    knowledge = read_rows(source, problems.append, sheet=sheet, only=only)
    other_names = read_aliases(aliases, problems.append)
    raise_problems(problems)
    assert knowledge is not None
    rows, columns = knowledge.rows, knowledge.columns
    if weight is not None:
        stated = as_stated(weight)
        rows = tuple(
            row if row.weight is not None or row.feature is None else row._replace(weight=stated) for row in rows
        )
        columns = tuple(dict.fromkeys((*columns, "weight")))
    return replace(knowledge, rows=rows, columns=columns, aliases=other_names, unknown=unknown)


def raise_problems(problems: list[str], limit: int = 10, argument: str | None = None) -> None:
    """Raise one error that lists all problems, if there are any."""
    if len(problems) > 1:
        raise InputError(bulleted(f"there are {len(problems)} problems", problems, limit), argument=argument)
    if problems:
        raise InputError(problems[0], argument=argument)


def is_path(source: object) -> bool:
    """Return whether a source names a file: a path, or a text on one line with the suffix of a file that can be read.

    >>> is_path("knowledge.xlsx"), is_path("TP53, BRCA1")
    (True, False)
    """
    return isinstance(source, os.PathLike) or (isinstance(source, str) and _PATH.fullmatch(source.strip()) is not None)


def read_rows(
    source: Any,
    report: Report,
    *,
    sheet: str | None = None,
    only: Iterable[str] = (),
    read: ReadBytes = read_bytes,
) -> Knowledge | None:
    """Read a path, a pasted text, a list of names or a frame; what is wrong is reported, and left out."""
    try:
        return restricted(_read(source, report, sheet, read), only)
    except InputError as error:
        report(str(error))
        return None


def _read(source: Any, report: Report, sheet: str | None, read: ReadBytes) -> Knowledge:
    if is_path(source):
        path = Path(source)
        suffix = "".join(path.suffixes[-2:]).lower()
        if suffix.endswith(_GMT):
            return _read_gmt(path, _lines(path, read), report)
        if suffix.endswith(_NAMES_ONLY):
            read = cache(read)  # read for its lines; again if it is a table
            lines = _lines(path, read)
            if not _has_headings(lines):
                return _read_lines(path.name, lines)
        return _read_table(path, sheet, report, read)
    refuse_lazy("the table", source)
    if hasattr(source, "columns"):
        source = source if hasattr(source, "iloc") else source.to_pandas()
        places = [f"row {number}" for number in range(1, len(source) + 1)]
        return _read_columns("the table", [str(name) for name in source.columns], source, places, report)
    if isinstance(source, str):
        return _read_lines("the list", list(enumerate(source.splitlines(), start=1)))
    entries = None if isinstance(source, Mapping) else entries_of("a list of names", source)
    if entries is not None and getattr(source, "ndim", 1) == 1:
        names = [name for name in entries if not _is_gap(name)]
        wrong = [name for name in names if not isinstance(name, str)]
        if wrong:
            raise InputError(f"a list of names must hold texts; got {repr_of(wrong[0])}.", value=wrong[0])
        rows = tuple(Row(f"entry {i}", name.strip()) for i, name in enumerate(names, start=1) if name.strip())
        return Knowledge("the list", rows, ("feature",))
    raise InputError(f"must be a path, a text, a list of names, or a table; got {repr_of(source)}.", value=source)


def _is_gap(name: Any) -> bool:
    """Return whether an entry of a column is a missing value: None, NaN, NaT."""
    return name is None or (isinstance(name, float) and math.isnan(name)) or (name != name) is True


def restricted(knowledge: Knowledge, only: Iterable[str]) -> Knowledge:
    """Return the rows of blocks (gene sets) that are wanted, by name or pattern; all rows if none are named."""
    patterns = check_names("only", only)
    if not patterns:
        return knowledge
    knowledge.require("block")
    matchers = [re.compile(fnmatch.translate(pattern)).match for pattern in patterns]
    names = list(dict.fromkeys(row.block for row in knowledge.rows if row.block is not None))
    unused = [p for p, matches in zip(patterns, matchers, strict=True) if not any(matches(name) for name in names)]
    if unused:
        hint = did_you_mean(unused[0], names) or f" There are {len(names)}, such as {', '.join(map(repr, names[:3]))}."
        raise InputError(f"{knowledge.name} has no gene set that matches {unused[0]!r}.{hint}", value=unused[0])
    wanted = {name for name in names if any(matches(name) for matches in matchers)}
    return Knowledge(knowledge.name, tuple(row for row in knowledge.rows if row.block in wanted), knowledge.columns)


# -- text --------------------------------------------------------------------------------------------------------------


def _lines(path: Path, read: ReadBytes) -> list[tuple[int, str]]:
    """Return the numbered lines of a text file, decompressed."""
    from ..tables import read_lines

    return list(enumerate(read_lines(path, read), start=1))


def _read_lines(name: str, lines: Iterable[tuple[int, str]]) -> Knowledge:
    """Return the names of a text; lines that begin with ``#`` are comments."""
    rows = []
    for number, line in lines:
        pieces = [] if line.lstrip().startswith("#") else _SEPARATORS.split(line)
        texts = [_BULLET.sub("", piece).strip(_INVISIBLE).strip("\"'").strip() for piece in pieces]
        rows += [Row(f"{name}, line {number}", text) for text in texts if text]
    if rows and heading(rows[0].feature or "") in (*HEADINGS["feature"], "gene set", "genes"):
        rows = rows[1:]  # the heading of a single column
    if not rows:
        raise InputError(f"{name} holds no names.")
    return Knowledge(name, tuple(rows), ("feature",))


def _read_gmt(path: Path, lines: Iterable[tuple[int, str]], report: Report) -> Knowledge:
    """Return the gene sets of a GMT file: name, description and genes, separated by tabs."""
    rows: list[Row] = []
    first_line: dict[str, int] = {}
    for number, line in lines:
        fields = [entry.strip() for entry in line.split("\t")]
        if not any(fields):
            continue
        place = f"{path.name}, line {number}"
        if len(fields) < 2 or not fields[0]:
            rule = "has one field" if len(fields) < 2 else "has no name in front"
            report(f"{place}: {rule}; a gene set needs a name, a description and its genes, separated by tabs.")
        elif fields[0] in first_line:
            report(f"{place}: the gene set {fields[0]!r} was in line {first_line[fields[0]]} already.")
        else:
            first_line[fields[0]] = number
            genes = dict.fromkeys(gene for gene in fields[2:] if gene)
            rows += [Row(place, gene, block=fields[0]) for gene in genes]
    return Knowledge(path.name, tuple(rows), ("feature", "block"))


# -- tables ------------------------------------------------------------------------------------------------------------


def _has_headings(lines: Iterable[tuple[int, str]]) -> bool:
    """Return whether the first line of a text has several known headings: then it is a table."""
    headings = {name for names in HEADINGS.values() for name in names}
    first = next((line for _, line in lines if line.strip()), "")
    return any(sum(heading(cell) in headings for cell in first.split(sign)) > 1 for sign in "\t;,")


def _read_table(path: Path, sheet: str | None, report: Report, read: ReadBytes) -> Knowledge:
    from ..tables import read_table

    table = read_table(path, sheet=sheet, read=read)
    header = [str(name) for name in table.frame.columns]
    places = [f"{path.name}, {table.place(i)}" for i in range(len(table.frame))]
    return _read_columns(path.name, header, table.frame, places, report)


def _read_columns(name: str, header: list[str], frame: Any, places: list[str], report: Report) -> Knowledge:
    headings_of = {column: texts for column in HEADINGS if (texts := _headings_of(column, header, name))}
    if len(header) == 1 and not headings_of:  # names without a heading: the first of them was taken for one
        lines = [(0, header[0]), *enumerate(map(str, frame.iloc[:, 0].dropna()), start=1)]
        names = [Row(f"{name}, entry {number + 1}", text.strip()) for number, text in lines if text.strip()]
        return Knowledge(name, tuple(names), ("feature",))
    if not {"feature", "block"} & headings_of.keys():
        listed = ", ".join(map(repr, header[:8]))
        raise InputError(f"{name} has no column 'feature' (or gene, symbol, protein...) with names, among {listed}.")
    cells = [
        _joined([cells_of(frame.iloc[:, header.index(text)]) for text in headings_of[column]])
        if column in headings_of
        else None
        for column in HEADINGS
    ]
    rows = []
    for i, place in enumerate(places):
        row = _read_row(place, [None if column is None else column[i] for column in cells], report)
        if row.feature or row.block:
            rows.append(row)
    used = [text for texts in headings_of.values() for text in texts]
    unused = tuple(text for text in header if text not in used and heading(text) != "gene set description")
    return Knowledge(name, tuple(rows), tuple(headings_of), header=tuple(header), unused=unused)


def _headings_of(column: str, header: list[str], name: str) -> list[str]:
    """Return the headings of a column: one, but reasons and sources may stand in several, which are put together."""
    if column in ("why", "source"):
        return [text for text in header if heading(text) in HEADINGS[column]]
    one = heading_of(column, header, name)
    return [] if one is None else [one]


def _joined(columns: list[list[Any]]) -> list[Any]:
    """Return columns as one; where several have a text, the texts are put together."""
    if len(columns) == 1:
        return columns[0]
    rows = [[text for cell in cells if (text := text_of(cell)) is not None] for cells in zip(*columns, strict=True)]
    return ["; ".join(texts) if texts else None for texts in rows]


def _read_row(place: str, cells: list[Any], report: Report) -> Row:
    feature, weight, block, cost, why, source = cells
    feature, block, why, source = (text_of(cell) for cell in (feature, block, why, source))
    stated = price = None
    if weight is not None:
        try:
            stated = as_stated(number_or_word(weight))
        except InputError as error:
            report(f"{place}: the weight {error.rule}")
        if feature is None and block is None:
            report(f"{place}: a weight without a feature and without a block.")
    if cost is not None:
        number = number_or_word(cost)
        if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number < math.inf:
            report(f"{place}: the cost must be a number that is not negative; got {repr_of(cost)}.")
        else:
            price = float(number)
    return Row(place, feature, stated, block, price, why, source)
