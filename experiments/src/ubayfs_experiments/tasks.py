"""What a run of the experiments consists of: tasks (the cells that are stored), splits and outcomes.

An experiment is a list of tasks and a pure function that runs one split of a task. Splits do not depend on each
other: the runner does them in any order and in any process, and the store keeps what is done.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from .data.datasets import Dataset

LARGE = frozenset({"p53", "PRO", "LEU", "LEU_golub"})  # thousands of features

Plain = str | int | float | bool | None


@dataclass(frozen=True)
class Task:
    """One cell: a method on a data set, over all splits.

    Attributes
    ----------
    experiment : str
        Name in the registry: "1a", "2", "optimizers" ...
    data : str
        Name of a data set that ``datasets.load`` knows.
    method : str
        What is run; unique within experiment, data and scheme.
    n_splits : int
    scheme : {"random", "groups"}
        Random stratified splits, or splits that keep all rows of one animal or subject on one side.
    settings : mapping of str to plain values or lists of them
        Everything else that determines the outcomes; a stored cell with other settings is refused.
    """

    experiment: str
    data: str
    method: str
    n_splits: int
    scheme: str = "random"
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the cell and, with slashes, of its file.

        Examples
        --------
        >>> Task("2", "MPE", "ubayfs_mrmr", 100, "groups").name
        '2/MPE-groups/ubayfs_mrmr'
        """
        return f"{self.experiment}/{self.data}{'' if self.scheme == 'random' else '-' + self.scheme}/{self.method}"


@dataclass(frozen=True)
class Split:
    """Rows of one split.

    Attributes
    ----------
    number : int
        From 0; the same number means the same rows for every method on the same data and scheme.
    train, test : ndarray of int
        Positions of rows.
    """

    number: int
    train: NDArray[np.intp]
    test: NDArray[np.intp]


@dataclass(frozen=True)
class Outcome:
    """One selected set, and how good it is.

    Attributes
    ----------
    setting : mapping of str to plain values
        What varies within a task, such as ``{"rho": 10.0, "constraint": "max_blocks 4"}``; the columns of the table.
    features : tuple of int
        Positions that were selected, ascending.
    seconds : float
        Processor time of the selection alone. It uses one thread, so that this is the wall time of an idle machine,
        and it stays the same on a busy one.
    scores : mapping of str to number or None
        None where a score has no value.
    """

    setting: Mapping[str, Plain]
    features: tuple[int, ...]
    seconds: float
    scores: Mapping[str, float | None]


@dataclass(frozen=True)
class Scale:
    """How large a run is.

    Attributes
    ----------
    quick : bool
        Everything in small: few splits and models, for tests and a first look.
    selector : str, optional
        Of the calibration, in place of its default.
    """

    quick: bool = False
    selector: str | None = None

    def splits(self, full: int) -> int:
        """Return the number of splits."""
        return min(full, 2) if self.quick else full

    def models(self, full: int) -> int:
        """Return the number of elementary models."""
        return min(full, 5) if self.quick else full

    def data(self, names: Iterable[str]) -> list[str]:
        """Return the data sets to use: not the largest ones, if everything is small."""
        return [name for name in names if not (self.quick and name in LARGE)]


RunSplit = Callable[[Task, "Dataset", Split, np.random.SeedSequence], list[Outcome]]


@dataclass(frozen=True)
class Experiment:
    """A named list of tasks and how to run one split of them.

    Attributes
    ----------
    name, title : str
    tasks : callable
        ``tasks(scale)`` lists all tasks, those on data sets that are absent included.
    run_split : callable
        ``run_split(task, dataset, split, seed)`` returns the outcomes of one split.
    settings : mapping
        Fixed before the first full run; written beside the results.
    """

    name: str
    title: str
    tasks: Callable[[Scale], list[Task]]
    run_split: RunSplit
    settings: Mapping[str, Any]


def seed_of(seed: int, *parts: str | int) -> np.random.SeedSequence:
    """Return the seed of a part of the work, independent of all other parts and of what else is run.

    Examples
    --------
    >>> first, again, other = seed_of(0, "PRO", 1), seed_of(0, "PRO", 1), seed_of(0, "PRO", 2)
    >>> int(first.generate_state(1)[0]) == int(again.generate_state(1)[0]) != int(other.generate_state(1)[0])
    True
    """
    # crc32 and not hash(): the same in every process.
    return np.random.SeedSequence([seed, *(p if isinstance(p, int) else zlib.crc32(p.encode()) for p in parts)])
