"""Phase 2 of a study: its files, each read once; the data table, and the tables, lists and gene sets of knowledge."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from .._files import ReadBytes, read_bytes
from .._problems import CountedReport, Path, collect_errors
from ..constraints.weighted_sums import with_costs
from ..data.feature_data import FeatureData
from ..exceptions import InputError, StudyError
from ..knowledge.aliases import Aliases, read_aliases
from ..knowledge.rows import Knowledge, read_rows, restricted
from ..priors.weights import Expert, Weights
from .diagnostics import Problems
from .schema import GeneSetBlocks, PriorSection, TableBlocks
from .study import Study

if TYPE_CHECKING:
    from ..tables import Table


@dataclass(frozen=True, eq=False)
class StudyTables:
    """What the files of a study hold; what could not be read is not there.

    Attributes
    ----------
    table : Table or None
        The data table as it was read.
    data : FeatureData or None
    knowledge : mapping of str to Knowledge
        The table of each expert by name; that of the study has the name "".
    lists : mapping of str to Knowledge
        Files of names, by their paths in the study.
    blocks : Knowledge or None
        The table of blocks or the file of gene sets.
    aliases : Aliases or None
        Other names of features, for knowledge.
    gene_sets : Knowledge or None
        The gene sets that selected features are compared with.
    """

    table: Table | None = None
    data: FeatureData | None = None
    knowledge: Mapping[str, Knowledge] = field(default_factory=dict)
    lists: Mapping[str, Knowledge] = field(default_factory=dict)
    blocks: Knowledge | None = None
    aliases: Aliases | None = None
    gene_sets: Knowledge | None = None


@dataclass(frozen=True)
class FileContent:
    """What a reader made of a file, what was wrong with it, and the time and size of the file then."""

    value: Any
    messages: tuple[str, ...]
    stamp: tuple[int, int] | None


# By reader, path and options; whoever reads a study several times keeps it, so that only changed files are read again.
FileContents = dict[tuple[Any, ...], FileContent]


def read_tables(
    study: Study, problems: Problems, data: FeatureData | bool, contents: FileContents | None = None
) -> StudyTables:
    """Read all files of a study and report all that is wrong with them.

    `data` are those that were read before, or tell whether to read them; `contents` are those of the other files, which
    are read again if they have changed since.
    """
    files = _Files(study, problems, {} if contents is None else contents)
    table: Table | None = None
    features = data if isinstance(data, FeatureData) else None
    if data is True:
        table, features = read_data(study, problems, files.read)
    prior = study.prior
    aliases = files.aliases(prior.aliases, "prior")
    sources: dict[str, PriorSection | Expert] = {"": prior, **(prior.experts or {})}
    places: dict[str, Path] = {name: ("prior", "experts", name) if name else ("prior",) for name in sources}
    tables = {name: files.table(source, places[name], "weight") for name, source in sources.items()}
    knowledge = {
        name: replace(rows.without(study.data.measured), unknown=prior.unknown, aliases=aliases)
        for name, rows in tables.items()
        if rows
    }
    if "" in knowledge and any(with_costs(constraint, {"": 0.0}) is not constraint for constraint in study.constraints):
        _check_costs(knowledge[""], problems)
    blocks = files.block_rows()
    lists: dict[str, Knowledge] = {}
    for name, source in sources.items():
        at: Path = places[name] if name else ("prior", "weights")
        for word, names in source.weights.lists if isinstance(source.weights, Weights) else ():
            if isinstance(names, str) and (rows := files.rows(names, (*at, word))) is not None:
                lists[names] = replace(rows, aliases=aliases)
    gene_sets = None if data is False else files.gene_sets(aliases)  # compared with the target, which is in the data
    return StudyTables(table, features, knowledge, lists, blocks, aliases, gene_sets)


def read_data(
    study: Study, problems: Problems, read: ReadBytes = read_bytes
) -> tuple[Table | None, FeatureData | None]:
    """Return the data table, and the data in it; None, after all that is wrong was reported."""
    from ..tables import read_features, read_files

    section = study.data
    table = None
    _check_files(study, problems)
    if problems.entries:
        return None, None
    try:
        table = read_files(**section.layout(study.folder), read=read)
        roles = {name: value for name, value in vars(section).items() if name not in section.LAYOUT}
        return table, read_features(table, **roles)
    except StudyError as error:
        for problem in error.problems:
            problems(("data", *problem.path), problem.message)
    except InputError as error:
        key = error.argument if error.argument in ("samples", "samples_sheet", "encoding") else "path"
        key = "sheet" if error.argument == "sheet" and section.sheet is not None else key
        problems(("data", key), str(error))
    return table, None


def _check_files(study: Study, problems: Problems) -> None:
    """Report every file of the data that is missing or has no sheets."""
    from ..tables.formats import check_file, check_sheet

    section, folder = study.data, study.folder
    several = section.path.items() if isinstance(section.path, Mapping) else ()
    files: list[tuple[Path, str]] = [(("path", block), file) for block, file in several]
    files += [(("path",), section.path)] if isinstance(section.path, str) else []
    sheets = [("sheet", file, section.sheet) for _, file in files]
    files += [] if section.samples is None else [(("samples",), section.samples)]
    if section.described_by is not None:
        sheets.append(("samples_sheet", section.described_by, section.samples_sheet))
    for at, file in files:
        with collect_errors(problems, ("data", *at)):
            check_file(folder / file)
    for key, file, sheet in sheets:
        with collect_errors(problems, ("data", key)):
            check_sheet(folder / file, sheet)


def _check_costs(table: Knowledge, problems: Problems) -> None:
    """Report features of a table without a cost, which a budget needs."""
    for row in table.rows if "cost" in table.columns else ():
        if row.feature is not None and row.cost is None:
            problems(("prior", "table"), f"{row.place}: feature {row.feature!r} has no cost; 0 if it is free.")


class _Files:
    """Reads tables, lists of names, aliases and gene sets of a study, each once; what is wrong there is reported."""

    def __init__(self, study: Study, problems: Problems, contents: FileContents) -> None:
        self.study, self.problems = study, problems
        self._n_uses = Counter(os.path.normpath(study.folder / path) for path in study.inputs)
        self._contents: dict[str, bytes] = {}  # of files that are named several times
        self._values, self._reported = contents, set[tuple[Any, ...]]()

    def read(self, path: FilePath) -> bytes:
        """Return the content of a file."""
        place = os.path.normpath(path)
        if self._n_uses[place] < 2:
            return read_bytes(path)
        if place not in self._contents:
            self._contents[place] = read_bytes(path)
        return self._contents[place]

    def rows(self, source: str, at: Path, sheet: str | None = None) -> Knowledge | None:
        """Return the rows of a file that is named at a place of the study."""
        rows: Knowledge | None = self._once(read_rows, source, at, sheet=sheet)
        return rows

    def aliases(self, source: str | None, key: str) -> Aliases | None:
        """Return the aliases of a section, if it names a file of them."""
        return None if source is None else self._once(read_aliases, source, (key, "aliases"))

    def _once(self, reader: Callable[..., Any], source: str, at: Path, **options: Any) -> Any:
        """Return what is in a file; if it cannot be read, that is reported wherever it is named."""
        file = self.study.folder / source
        key, stamp = (reader, os.path.normpath(file), *options.values()), _stamp(file)
        content = self._values.get(key)
        if content is None or content.stamp != stamp:
            messages: list[str] = []
            value = reader(file, messages.append, read=self.read, **options)
            self._values[key] = content = FileContent(value, tuple(messages), stamp)
        for message in content.messages if key not in self._reported or content.value is None else ():
            self.problems(at, message)
        self._reported.add(key)
        return content.value

    def table(self, source: Any, at: Path, *columns: str) -> Knowledge | None:
        """Return the table of a section or of an expert, if it is there and has the columns that are needed."""
        path: Path = (*at, "table")
        table = None if source.table is None else self.rows(source.table, path, source.sheet)
        if table is None:
            return None
        with collect_errors(self.problems, path):
            if not (at[0] == "prior" and {"cost", "why", "source"} & set(table.columns)):
                table.require(*columns)
            return table
        return None

    def gene_sets(self, aliases: Aliases | None) -> Knowledge | None:
        """Return the rows of the gene sets that selected features are compared with."""
        source, at = self.study.trust.gene_sets, ("trust", "gene_sets")
        table = None if source is None else self.rows(source, at)
        if table is None:
            return None
        with collect_errors(self.problems, at):
            table.require("feature", "block")
            return replace(table, aliases=aliases)
        return None

    def block_rows(self) -> Knowledge | None:
        """Return the rows of a table of blocks, or of a file of gene sets; None if there is neither, or it is wrong."""
        blocks, problems = self.study.blocks, self.problems
        if isinstance(blocks, TableBlocks):
            return self.table(blocks, ("blocks",), "feature", "block")
        if not isinstance(blocks, GeneSetBlocks):
            return None
        table, aliases = self.rows(blocks.gene_sets, ("blocks", "gene_sets")), self.aliases(blocks.aliases, "blocks")
        if table is None:
            return None
        with collect_errors(problems, ("blocks", "gene_sets")):
            table.require("feature", "block")
            counted = CountedReport(problems)
            for position, pattern in enumerate(blocks.only):
                with collect_errors(counted, ("blocks", "only", position)):
                    restricted(table, [pattern])
            if not counted.n_problems:
                return replace(restricted(table, blocks.only), aliases=aliases)
        return None


def _stamp(file: FilePath) -> tuple[int, int] | None:
    """Return what is another one once a file was written again; None if there is none."""
    try:
        status = os.stat(file)
    except (OSError, ValueError):  # names that no disk can have
        return None
    return status.st_mtime_ns, status.st_size
