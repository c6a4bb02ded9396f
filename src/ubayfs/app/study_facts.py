"""What pages show of an open study beside its answer, as frozen values that its process sends to the server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..report.facts import Fact

if TYPE_CHECKING:
    from ..report import AdviceFact
    from .state import Word


@dataclass(frozen=True)
class Problem:
    """Something that is wrong with a study.

    Attributes
    ----------
    message : str
    path : tuple
        The place in the study file.
    rules : tuple of int
        Positions of the rules that it is about.
    passing : bool
        Whether the study can be decided all the same.
    source : {"study", "ensemble", "log", "disk"}
        Who found it; the next look of the same source replaces it.
    revision : int
        Of the state that it is about.
    """

    message: str
    path: tuple[Any, ...] = ()
    rules: tuple[int, ...] = ()
    passing: bool = False
    source: str = "study"
    revision: int = -1


@dataclass(frozen=True)
class Preview:
    """The first rows and columns of a table, as texts."""

    columns: tuple[str, ...]
    types: tuple[str, ...]  # of the columns
    index: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class TableFacts:
    """A table as it was read, whatever its columns are."""

    columns: tuple[str, ...]
    preview: Preview
    notices: tuple[AdviceFact, ...] = ()


@dataclass(frozen=True)
class DataFacts:
    """The data at a glance; `blocks` are those of the study, by the names of their features."""

    feature_names: list[str]
    n_samples: int
    task: str
    classes: tuple[tuple[str, int], ...] = ()
    n_groups: int | None = None
    n_missing: int = 0  # missing values of features
    missing: str | None = None  # how much is missing, and what became of it
    notices: tuple[AdviceFact, ...] = ()
    blocks: Mapping[str, list[str]] = field(default_factory=dict)

    @property
    def n_features(self) -> int:
        """The number of features."""
        return len(self.feature_names)


@dataclass(frozen=True)
class ReadFacts:
    """What was read of the files of a study: the table, and the data if its columns are as the study says."""

    table: TableFacts | None = None
    data: DataFacts | None = None


@dataclass(frozen=True)
class ListedKnowledge:
    """What files, patterns and blocks state of features, by expert, and the blocks."""

    stated: Mapping[str, Mapping[str, Word]] = field(default_factory=dict)
    blocks: Mapping[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class EnsembleProgress:
    """How much of the ensemble is done; nothing if there are no data.

    Attributes
    ----------
    is_current : bool
        Whether there is evidence of these data and settings.
    is_complete : bool
    n_models : int
        That have voted.
    n_stored : int
        Finished runs, also those that failed.
    """

    is_current: bool = False
    is_complete: bool = False
    n_models: int = 0
    n_stored: int = 0


@dataclass(frozen=True)
class Progress:
    """How far something that is being collected is; `seconds_left` are None at its beginning."""

    part: str
    done: int
    total: int
    seconds_left: float | None = None


@dataclass(frozen=True)
class Estimate:
    """About how long the runs take that are left of an ensemble."""

    seconds: float
    n_left: int


@dataclass(frozen=True)
class Inspection:
    """What was found out about files.

    Attributes
    ----------
    study : mapping
        As `ubayfs init` would write it.
    columns : tuple of str
        Those that may be a target or groups, the likeliest first.
    orientation : tuple of str
        In words.
    sheets : tuple of str
        Of an Excel file: the one that was read, and others.
    is_undecided : bool
        Whether several columns may be the target.
    proposed_sheet : str or None
        The file that was taken for the sample sheet.
    """

    study: Mapping[str, Any]
    columns: tuple[str, ...] = ()
    orientation: tuple[str, ...] = ()
    sheets: tuple[str, ...] = ()
    is_undecided: bool = False
    proposed_sheet: str | None = None


@dataclass(frozen=True)
class Version:
    """An answer that was kept."""

    number: int
    name: str
    created: str
    n_features: int
    features: tuple[str, ...]
    state: Mapping[str, Any] = field(default_factory=dict, repr=False)  # of the study, in plain types
    cost: float | None = None  # of its features, if there is a budget
    facts: tuple[Fact, ...] = ()  # how far it can be trusted


@dataclass(frozen=True)
class StudyEntry:
    """A study in the list of a server; what is not known yet is None."""

    id: str
    name: str
    changed: str | None = None
    n_samples: int | None = None
    n_features: int | None = None
