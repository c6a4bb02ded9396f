"""The sections of a study: frozen values whose fields are named like the keys of the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, ClassVar, TypeVar

import numpy as np

from .._arguments import did_you_mean
from ..data.target import TASKS
from ..exceptions import InputError
from ..tables import MISSING_RULES
from ..workflow import check_decision
from .knowledge import Weights, as_weights, read_weights
from .named import OPTIMIZER, PRIOR, as_named, as_selectors, build
from .problems import Problems, below, refuse, reported
from .rules import (
    choice,
    choices,
    columns,
    decision,
    ensemble,
    optional_text,
    raising,
    reading,
    rule,
    seed_or_null,
    text,
    texts,
    whole_number,
    yes_or_no,
)

FIGURE_FORMATS = ("png", "svg", "pdf")

S = TypeVar("S", bound="Section")


class Section:
    """A part of a study; every field is checked by its rule when the section is made."""

    key: ClassVar[str]
    # Fields without which no section can be made, for one whose file leaves them out.
    stand_in: ClassVar[Mapping[str, Any]] = {}

    def __post_init__(self) -> None:
        for one in fields(self):  # type: ignore[arg-type]
            value = getattr(self, one.name)
            value = value.item() if isinstance(value, np.generic) else value
            value = one.metadata["check"](one.name, value, below(refuse, self.key, one.name))
            object.__setattr__(self, one.name, value)
        self._check_together()

    def _check_together(self) -> None:
        """Raise when fields do not fit together."""

    @classmethod
    def read(cls: type[S], value: Any, problems: Problems) -> S:
        """Make a section of what a file says; wrong keys go to `problems` and have their defaults."""
        known = {one.name: one for one in fields(cls)}  # type: ignore[arg-type]
        if not isinstance(value, Mapping):
            if value is not None:
                problems((cls.key,), f"must hold keys such as {', '.join(list(known)[:3])}; got {value!r}.")
            value = {}
        given = {}
        for key, entry in value.items():
            if key not in known:
                hint = did_you_mean(key, known) or f" Keys of {cls.key}: {', '.join(known)}."
                problems((cls.key, key), f"is not a key of {cls.key}; got {key!r}.{hint}")
                problems.wrong.add((cls.key,))  # whatever key was meant, its value is not known
            elif entry is not None or known[key].metadata["nullable"]:
                given[key] = entry
        cls._check_presence(value, problems)
        return cls(**cls.stand_in).changed(given, problems, "read")

    def changed(self: S, values: Mapping[str, Any], problems: Problems, rule: str = "check") -> S:
        """Return the section with other values of some fields; those that are wrong are told, and stay as they are."""
        known = {one.name: one.metadata[rule] for one in fields(self)}  # type: ignore[arg-type]
        checked = {}
        for name, value in values.items():
            n_before = problems.n_told
            entry = known[name](name, value, below(problems, self.key, name))
            if problems.n_told == n_before:
                checked[name] = entry
        with reported(problems, (self.key,), self.key):
            return replace(self, **checked)  # type: ignore[type-var]
        return self

    @classmethod
    def _check_presence(cls, value: Mapping[Any, Any], problems: Problems) -> None:
        """Report keys that must be there and are not."""


@dataclass(frozen=True)
class DataSection(Section):
    """What the data are.

    Attributes
    ----------
    path : str
        Of the table, relative to the study file.
    sheet : str or None
        Of an Excel file; default the first.
    target : str, tuple of str or None
        Column to explain, several for a multi-label task; None for an unsupervised selection.
    task : str or None
        Default: inferred from the target.
    groups : str or None
        Column of patients, mice, subjects...: all rows of one stay together.
    ignore : tuple of str
        Columns that are no features, by name or pattern.
    missing : {"error", "drop_rows", "drop_columns", "median"}
        What to do about missing values of features.
    """

    key: ClassVar[str] = "data"
    stand_in: ClassVar[Mapping[str, Any]] = {"path": "data.csv"}

    path: str = field(default="", metadata=rule(raising(text)))
    sheet: str | None = field(default=None, metadata=rule(raising(optional_text)))
    target: str | tuple[str, ...] | None = field(default=None, metadata=rule(raising(columns)))
    task: str | None = field(default=None, metadata=rule(choice(TASKS, optional=True)))
    groups: str | None = field(default=None, metadata=rule(raising(optional_text)))
    ignore: tuple[str, ...] = field(default=(), metadata=rule(raising(texts)))
    missing: str = field(default="error", metadata=rule(choice(MISSING_RULES)))

    @classmethod
    def _check_presence(cls, value: Mapping[Any, Any], problems: Problems) -> None:
        if value.get("path") is None:
            problems((cls.key,), "needs the key 'path', the file of the data table, such as path: data.csv.")


@dataclass(frozen=True)
class EvidenceSection(Section):
    """How the ensemble is run; see :func:`ubayfs.collect_evidence`.

    Attributes
    ----------
    selector : str, Named, tuple of these, or object
    n_models : int
    train_size : float
    n_features_per_model : int or None
    seed : int or None
        None takes fresh entropy, which does not repeat a result.
    n_jobs : int or None
    """

    key: ClassVar[str] = "evidence"

    selector: Any = field(default="mrmr", metadata=rule(reading(as_selectors)))
    n_models: int = field(default=100, metadata=rule(raising(ensemble)))
    train_size: float = field(default=0.75, metadata=rule(raising(ensemble)))
    n_features_per_model: int | None = field(default=None, metadata=rule(raising(ensemble)))
    seed: int | None = field(default=0, metadata=rule(raising(seed_or_null), nullable=True))
    n_jobs: int | None = field(default=None, metadata=rule(raising(ensemble)))


@dataclass(frozen=True)
class PriorSection(Section):
    """What is believed beforehand.

    Attributes
    ----------
    kind : str, Named or Prior
        "dirichlet", "generalized", "hyperdirichlet", also with settings.
    weights : Weights or tuple of float
        Given in any form that :func:`ubayfs.decide` takes, words of the scale in place of numbers included.
    table : str or None
        Path of a table with the columns feature, weight and block, relative to the study file.
    sheet : str or None
        Of an Excel file; default the first.
    """

    key: ClassVar[str] = "prior"

    kind: Any = field(default="dirichlet", metadata=rule(reading(partial(as_named, PRIOR))))
    weights: Weights | tuple[float, ...] = field(
        default=Weights(), metadata=rule(reading(as_weights), reading(read_weights))
    )
    table: str | None = field(default=None, metadata=rule(raising(optional_text)))
    sheet: str | None = field(default=None, metadata=rule(raising(optional_text)))

    def _check_together(self) -> None:
        if self.table is not None and isinstance(self.weights, tuple):
            raise InputError(
                "prior.table gives weights by feature, and prior.weights one for each feature already; keep one."
            )
        if self.sheet is not None and self.table is None:
            raise InputError("prior.sheet names a sheet of prior.table, which is not given.")


@dataclass(frozen=True)
class DecisionSection(Section):
    """How the best set is found; see :func:`ubayfs.decide`.

    Attributes
    ----------
    constraint_strength : float
    optimizer : str, Named or Optimizer
    time_limit : float or None
        Seconds.
    min_votes : int
    n_alternatives : int
    seed : int or None
        None takes fresh entropy, which does not repeat a result.
    """

    key: ClassVar[str] = "decision"

    constraint_strength: float = field(default=1.0, metadata=rule(raising(decision)))
    optimizer: Any = field(default="exact", metadata=rule(reading(partial(as_named, OPTIMIZER))))
    time_limit: float | None = field(default=None, metadata=rule(raising(decision)))
    min_votes: int = field(default=0, metadata=rule(raising(decision)))
    n_alternatives: int = field(default=5, metadata=rule(raising(decision)))
    seed: int | None = field(default=0, metadata=rule(raising(seed_or_null), nullable=True))

    def _check_together(self) -> None:
        if self.time_limit is not None:
            check_decision(["x"], optimizer=build(OPTIMIZER, self.optimizer), time_limit=self.time_limit)


@dataclass(frozen=True)
class OutputSection(Section):
    """What is written.

    Attributes
    ----------
    directory : str
        Relative to the study file.
    figures : tuple of {"png", "svg", "pdf"}
    reduced_table : bool
        Whether to write the data table with the chosen features only.
    n_draws : int
        Draws from the posterior for the selection probabilities; 0 leaves them out.
    """

    key: ClassVar[str] = "outputs"

    directory: str = field(default="results", metadata=rule(raising(text)))
    figures: tuple[str, ...] = field(default=("png",), metadata=rule(choices(FIGURE_FORMATS)))
    reduced_table: bool = field(default=False, metadata=rule(raising(yes_or_no)))
    n_draws: int = field(default=100, metadata=rule(raising(whole_number)))
