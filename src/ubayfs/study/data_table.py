"""The data of a study: its table, and features, target and groups as far as the section `data` is right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import numpy as np

from .._arguments import did_you_mean, nearest
from .._files import ReadBytes
from ..data.feature_data import FeatureData
from ..data.reading_rules import target_columns
from ..exceptions import InputError, StudyError
from .diagnostics import Problems
from .names import is_pattern
from .schema import DataSection
from .study import Study

if TYPE_CHECKING:
    from ..tables import Table

# In place of a rule that is wrong: one that refuses nothing, or None for the default.
_PERMISSIVE = {"duplicates": "suffix", "below_detection": "limit", "features": "as_is", "keep": None, "encoding": None}
# Without these nobody can tell which names of a file are features; but all of them are in the file.
_ORIENTATION = {"samples", "features_in", "id"}


class StudyData:
    """The data of a study, as far as they can be read; what is wrong is reported.

    Attributes
    ----------
    table : Table or None
    data : FeatureData or None
        None if anything is wrong with them.
    samples : FeatureData or None
        The data, or what is right of target and groups.
    features : list of str or None
        All names that may be features; None if nothing is known of them.
    n_features : range
        How many of them there may be.
    ordered : bool
        Whether positions among the features tell anything.
    """

    def __init__(self, study: Study, problems: Problems) -> None:
        self.study = study
        self.problems = problems
        self.table: Table | None = None
        self.data: FeatureData | None = None
        self.samples: FeatureData | None = None
        self.features: list[str] | None = None
        self.n_features = range(0)
        self.ordered = True

    def use(self, data: FeatureData) -> None:
        """Take data that were read before."""
        self.data = self.samples = data
        self.use_names(data.feature_names)

    def use_names(self, names: Any) -> None:
        """Take the names of features from elsewhere, such as evidence."""
        self.features = [str(name) for name in names]
        self.n_features = range(len(self.features), len(self.features) + 1)

    def read(self, read: ReadBytes) -> None:
        """Read the data table and take the features out of it."""
        from ..tables import read_files

        problems, section = self.problems, self.study.data
        for key in problems.wrong.keys_below("data") - vars(section).keys():
            meant = nearest(key, vars(section))
            if meant is not None:  # what is misspelled has its default in the study
                problems(("data", meant), "")
        wrong = {name for name in section.LAYOUT if not problems.is_sound("data", name)}
        if wrong & {"path", "sheet"}:
            return
        if wrong & _ORIENTATION:
            self._read_names(read)
            return
        rules = {name: _PERMISSIVE[name] for name in wrong if _PERMISSIVE[name]}
        try:
            self.table = read_files(**section.layout(self.study.folder) | rules, read=read)
            self._read_columns(self.table)
        except StudyError as error:
            for problem in error.problems:
                if problem.path[0] not in wrong:
                    problems(("data", *problem.path), problem.message)
        except InputError as error:
            argument = error.argument if error.argument in ("samples", "encoding") else "path"
            argument = "sheet" if error.argument == "sheet" and section.sheet is not None else argument
            if argument not in wrong:
                problems(("data", argument), str(error))

    def _read_names(self, read: ReadBytes) -> None:
        """Take all names that may be features out of a file of which it is not known how it is laid out.

        Several files may be joined under other names, and so may features of one name.
        """
        from ..tables import read_table
        from ..tables.features import matches
        from ..tables.layout import as_names

        section, problems = self.study.data, self.problems
        if not isinstance(section.path, str) or section.duplicates == "suffix":
            return
        encoding = section.encoding if problems.is_sound("data", "encoding") else None
        try:
            file = self.study.folder / section.path
            frame = read_table(file, sheet=section.sheet, encoding=encoding, distinct=False, read=read).frame
        except InputError as error:
            problems(("data", "sheet" if error.argument == "sheet" else "path"), str(error))
            return
        texts = [column for _, column in frame.items() if column.dtype.kind != "f"]
        names = dict.fromkeys(name for part in (frame.columns, frame.index, *texts) for name in as_names(part) if name)
        self.features, self.n_features, self.ordered = list(names), range(len(names) + 1), False
        if section.samples is None and problems.is_sound("data", "samples"):
            for role in ("target", "groups", "adjust_for", "ignore"):
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
        roles = {name: settings[name] for name in ("target", "groups", "adjust_for", "ignore") if name in settings}
        names, misplaced = feature_columns(table, **roles)
        names, _ = measurements(table, names, settings.get("ordered") or {})
        n_least = 0
        if len(roles) < 4:  # columns of an unknown role may seem to be features
            for problem in misplaced:
                problems(("data", *problem.path), f"{table.path}: {problem.message}")
        else:
            self.data, found = self._read_features(table, settings)
            sound = problems.is_sound("data", "groups") and problems.is_sound("data", "adjust_for")
            if sound and (problems.is_sound("data", "keep") or len(section.files) == 1):
                self.samples = self.data
                if not self.knows_target():
                    section, settings = replace(section, target=None), settings | {"target": None, "task": None}
                if self.data is None or not self.knows_target():
                    self.samples, _ = self._read_features(
                        _samples_only(table, section), settings | {"ignore": (), "ordered": None}
                    )
            names = names if self.data is None else list(self.data.feature_names)
            n_least = self._fewest(table, names, [problem.path[0] for problem in misplaced], found)
        self.features, self.n_features = names, range(n_least, len(names) + 1)

    def _fewest(self, table: Table, names: list[str], misplaced: list[str | int], found: list[str | int]) -> int:
        """Return how few features there may be: columns may still have another role, or be left out."""
        if found.count("ignore") != misplaced.count("ignore") or "missing" in found:
            return 0
        if not self.problems.is_sound("data", "duplicates") and "duplicates_merged" in {n.code for n in table.notes}:
            return 0
        # A name that is not that of a column stands for one, a pattern for those that begin and end alike.
        patterns = [given for given in self.study.data.ignore if misplaced and is_pattern(given)]
        absent = [given for given in patterns if not any(fnmatchcase(str(name), given) for name in table.frame)]
        n_meant = sum(_may_mean(given, name) for given in absent for name in names) - len(absent)
        return max(len(names) - len(misplaced) - n_meant - found.count("path"), 0)

    def knows_target(self) -> bool:
        """Tell whether target and task are as they should be."""
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
    return replace(table, frame=frame.assign(**{"".join(frame) + " feature": np.arange(len(frame))}))
