"""The files of a study, each read once: its data table, and the tables, lists and gene sets that knowledge is in."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

import numpy as np

from .._arguments import did_you_mean
from .._files import ReadBytes, read_bytes
from ..data.feature_data import FeatureData
from ..data.reading_rules import target_columns
from ..exceptions import InputError, StudyError
from ..knowledge.aliases import Aliases, read_aliases
from ..knowledge.patterns import is_pattern
from ..knowledge.rows import Knowledge, read_rows, restricted
from .diagnostics import Path, Problems, reported
from .schema import DataSection, GeneSetBlocks, TableBlocks
from .study import Study

if TYPE_CHECKING:
    from ..tables import Table

# In place of a rule that is wrong, if its default may refuse something: one that refuses nothing.
_PERMISSIVE = {"duplicates": "suffix", "below_detection": "limit", "features": "as_is", "sheet": None}
# Without these it is not known which names of a file are features; but all of them are in the file.
_ORIENTATION = {"samples", "features_in", "id"}
_ROLES = ("target", "groups", "adjust_for", "ignore")  # of columns that are not features


@dataclass
class StudyData:
    """The data of a study, as far as they can be read; what is wrong is reported."""

    study: Study
    problems: Problems
    read_file: ReadBytes
    table: Table | None = None
    data: FeatureData | None = None  # None if anything is wrong with them
    samples: FeatureData | None = None  # the data, or what is right of target and groups
    features: list[str] | None = None  # all names that may be features; None if nothing is known of them
    n_features: range = range(0)  # how many of them there may be
    ordered: bool = True  # whether their order is known, so that they may be given by position

    def use(self, data: FeatureData) -> None:
        """Take data that were read before."""
        self.data = self.samples = data
        self.use_names(data.feature_names)

    def use_names(self, names: Any) -> None:
        """Take the names of features from elsewhere, such as evidence."""
        self.features = [str(name) for name in names]
        self.n_features = range(len(self.features), len(self.features) + 1)

    def read(self) -> None:
        """Read the data table and take the features out of it."""
        from ..tables import read_files
        from ..tables.formats import has_sheets

        problems, section = self.problems, self.study.data
        self._check_files()
        wrong = {name for name in section.LAYOUT if not problems.is_sound("data", name)}
        if wrong & {"path", "samples_sheet"} or (
            "sheet" in wrong and any(has_sheets(FilePath(file)) for file in section.files)
        ):
            return
        if wrong & _ORIENTATION:
            self._read_names()
            return
        rules = {name: _PERMISSIVE[name] for name in wrong & _PERMISSIVE.keys()}
        try:
            self.table = read_files(**section.layout(self.study.folder) | rules, read=self.read_file)
            self._read_columns(self.table)
        except StudyError as error:
            for problem in error.problems:
                if problem.path[0] not in wrong:
                    problems(("data", *problem.path), problem.message)
        except InputError as error:
            argument = error.argument if error.argument in ("samples", "samples_sheet", "encoding") else "path"
            argument = "sheet" if error.argument == "sheet" and section.sheet is not None else argument
            if argument not in wrong:
                problems(("data", argument), str(error))

    def _check_files(self) -> None:
        """Report every file that is missing or has no sheets, however the files are to be read."""
        from ..tables.formats import check_file, check_sheet

        section = self.study.data
        files: list[tuple[Path, str | None]] = [(("samples",), section.samples)]
        if isinstance(section.path, str):
            files.append((("path",), section.path))
        else:
            files += [(("path", block), file) for block, file in section.path.items()]
        for at, file in files:
            if file is not None and self.problems.is_sound("data", *at):
                with reported(self.problems, ("data", *at)):
                    check_file(self.study.folder / file)
                if at != ("samples",):
                    with reported(self.problems, ("data", "sheet")):
                        check_sheet(self.study.folder / file, section.sheet)
        described = section.described_by
        if described is not None and self.problems.is_sound("data", "samples_sheet"):
            with reported(self.problems, ("data", "samples_sheet")):
                check_sheet(self.study.folder / described, section.samples_sheet)

    def _read_names(self) -> None:
        """Take all names that may be features out of a file of which it is not known how it is laid out.

        Several files may be joined under other names, and so may features of one name.
        """
        from ..tables import read_table
        from ..tables.features import matches
        from ..tables.layout import as_names

        section, problems = self.study.data, self.problems
        if not isinstance(section.path, str) or section.duplicates == "suffix":
            return
        rules = {name: getattr(section, name) for name in ("sheet", "encoding") if problems.is_sound("data", name)}
        try:
            frame = read_table(self.study.folder / section.path, **rules, distinct=False, read=self.read_file).frame
        except InputError as error:
            problems(("data", "sheet" if error.argument == "sheet" else "path"), str(error))
            return
        texts = [column for _, column in frame.items() if column.dtype.kind != "f"]
        names = dict.fromkeys(name for part in (frame.columns, frame.index, *texts) for name in as_names(part) if name)
        self.features, self.n_features, self.ordered = list(names), range(len(names) + 1), False
        if section.described_by is None and problems.is_sound("data", "samples"):
            for role in _ROLES:
                for name in target_columns(getattr(section, role)):
                    if problems.is_sound("data", role) and not any(matches(known, [name]) for known in names):
                        problems(("data", role), f"there is no column {name!r}.{did_you_mean(name, names)}")

    def _read_columns(self, table: Table) -> None:
        """Take the features, the target and groups out of the table, as far as the settings are right."""
        from ..tables import feature_columns
        from ..tables.features import measurements

        problems, section = self.problems, self.study.data
        settings = {name: value for name, value in vars(section).items() if problems.is_sound("data", name)}
        settings = {name: value for name, value in settings.items() if name not in section.LAYOUT}
        roles = {name: settings[name] for name in _ROLES if name in settings}
        names, misplaced = feature_columns(table, **roles)
        names, _ = measurements(table, names, settings.get("ordered") or {})
        n_least = 0
        if not names:  # a column that is ignored may be meant to be a feature
            names, _ = feature_columns(table, **roles | {"ignore": ()})
            self.ordered = False
        if len(roles) < len(_ROLES):  # columns of an unknown role may seem to be features
            for problem in misplaced:
                problems(("data", *problem.path), f"{table.path}: {problem.message}")
        else:
            self.data, found = self._read_features(table, settings)
            sound = problems.is_sound("data", "groups") and problems.is_sound("data", "adjust_for")
            if sound and self.most_samples is not None:
                self.samples = self.data
                if not self.knows_target():
                    section, settings = replace(section, target=None), settings | {"target": None, "task": None}
                if self.data is None or not self.knows_target():
                    self.samples, _ = self._read_features(
                        _samples_only(table, section), settings | {"ignore": (), "ordered": None}
                    )
            names = names if self.data is None else list(self.data.feature_names)
            n_least = self._fewest(table, names, [problem.path[0] for problem in misplaced], found)
        if names:  # without any, some columns have a wrong role, and their names are not known
            self.features, self.n_features = names, range(n_least, len(names) + 1)

    def _fewest(self, table: Table, names: list[str], misplaced: list[str | int], found: list[str | int]) -> int:
        """Return how few features there may be: columns may still have another role, or be left out."""
        if not self.ordered or found.count("ignore") != misplaced.count("ignore") or "missing" in found:
            return 0
        if not self.problems.is_sound("data", "duplicates") and "duplicates_merged" in {n.code for n in table.notes}:
            return 0
        # A wrong name counts as one column, a wrong pattern as those that begin and end alike.
        patterns = [given for given in self.study.data.ignore if misplaced and is_pattern(given)]
        absent = [given for given in patterns if not any(fnmatchcase(str(name), given) for name in table.frame)]
        n_meant = sum(_may_mean(given, name) for given in absent for name in names) - len(absent)
        return max(len(names) - len(misplaced) - n_meant - found.count("path"), 0)

    @property
    def most_samples(self) -> int | None:
        """The most samples that there may be; None if that is not known."""
        joined_alike = self.problems.is_sound("data", "keep") or len(self.study.data.files) == 1
        return len(self.table.frame) if self.table is not None and joined_alike else None

    def knows_target(self) -> bool:
        """Tell whether nothing is wrong with target and task."""
        return self.problems.is_sound("data", "target") and self.problems.is_sound("data", "task")

    def _read_features(self, table: Table, settings: Mapping[str, Any]) -> tuple[FeatureData | None, list[str | int]]:
        """Return the data, None if they are wrong, and the keys of all problems; values that are given are reported."""
        from ..tables import read_features

        try:
            return read_features(table, **settings), []
        except StudyError as error:
            for problem in error.problems:
                if problem.path[0] in (*settings, "path"):
                    self.problems(("data", *problem.path), problem.message)
            return None, [problem.path[0] for problem in error.problems]


def _may_mean(pattern: str, name: str) -> bool:
    """Tell whether a column may be meant by a pattern that matches none: one that begins or ends like it."""
    ends = zip((pattern[0], pattern[-1]), (name[:1], name[-1:]), strict=True)
    return all(is_pattern(wanted) or wanted.casefold() == letter.casefold() for wanted, letter in ends)


def _samples_only(table: Table, section: DataSection) -> Table:
    """Return a table with target, groups and covariates, and a feature that is right."""
    groups = [] if section.groups is None else [section.groups]
    frame = table.frame[[*target_columns(section.target), *groups, *section.adjust_for]]
    return replace(table, frame=frame.assign(**{"".join(map(str, frame)) + " feature": np.arange(len(frame))}))


# -- files of knowledge ------------------------------------------------------------------------------------------------


class KnowledgeFiles:
    """Reads tables, lists of names, aliases and gene sets of a study, each once; what is wrong there is reported."""

    def __init__(self, study: Study, problems: Problems) -> None:
        self.study, self.problems = study, problems
        self._n_uses = Counter(os.path.normpath(study.folder / path) for path in study.inputs)
        self._contents: dict[str, bytes] = {}  # of files that are named several times
        self._found: dict[tuple[Any, ...], tuple[Any, list[str]]] = {}

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
        return self._once(read_rows, source, at, sheet=sheet)

    def aliases(self, source: str | None, key: str) -> Aliases | None:
        """Return the aliases of a section, if it names a file of them."""
        return None if source is None else self._once(read_aliases, source, (key, "aliases"))

    def _once(self, reader: Callable[..., Any], source: str, at: Path, **options: Any) -> Any:
        """Return what is in a file; if it cannot be read, that is reported wherever it is named."""
        file = self.study.folder / source
        key = (reader, os.path.normpath(file), *options.values())
        is_new = key not in self._found
        if is_new:
            messages: list[str] = []
            self._found[key] = reader(file, messages.append, read=self.read, **options), messages
        found, messages = self._found[key]
        for message in messages if is_new or found is None else ():
            self.problems(at, message)
        return found

    @property
    def features(self) -> list[str]:
        """The features that are named in files that were read."""
        tables = [found for found, _ in self._found.values() if isinstance(found, Knowledge)]
        return [row.feature for table in tables for row in table.rows if row.feature is not None]

    def table(self, source: Any, at: Path, *columns: str, aliases: Aliases | None = None) -> Knowledge | None:
        """Return the table of a section or of an expert, if it is there and has the columns that are needed."""
        path: Path = (*at, "table")
        table = None if source.table is None else self.rows(source.table, path, source.sheet)
        if table is None:
            return None
        with reported(self.problems, path):
            if not (at[0] == "prior" and {"cost", "why", "source"} & set(table.columns)):
                table.require(*columns)
            return replace(table, unknown=self.study.prior.unknown, aliases=aliases)
        return None

    def block_rows(self) -> Knowledge | None:
        """Return the rows of a table of blocks, or of a file of gene sets; None if there is neither, or it is wrong."""
        given, problems = self.study.blocks, self.problems
        if isinstance(given, TableBlocks):
            return self.table(given, ("blocks",), "feature", "block")
        if not isinstance(given, GeneSetBlocks):
            return None
        table, aliases = self.rows(given.gene_sets, ("blocks", "gene_sets")), self.aliases(given.aliases, "blocks")
        if table is None:
            return None
        with reported(problems, ("blocks", "gene_sets")):
            table.require("feature", "block")
            for position, pattern in enumerate(given.only):
                with reported(problems, ("blocks", "only", position)):
                    restricted(table, [pattern])
            # With a wrong pattern it is not known which gene sets are wanted; but all of them are in the file.
            wanted = given.only if problems.is_sound("blocks", "only") else ()
            return replace(restricted(table, wanted), aliases=aliases)
        return None
