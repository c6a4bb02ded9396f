"""The sections of a study: frozen values whose fields are named like the keys of the file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any, ClassVar, TypeVar

from .._arguments import as_seed_sequence, check_choice, check_int, did_you_mean
from ..ensemble import check_ensemble
from ..exceptions import InputError
from ..tables import MISSING_RULES
from ..target import TASKS
from ..workflow import check_decision
from .knowledge import Weights, as_weights, read_weights
from .named import OPTIMIZER, PRIOR, as_named, as_selectors, build
from .problems import Problems, Report, below, refuse, reported

FIGURE_FORMATS = ("png", "svg", "pdf")

Check = Callable[[str, Any, Report], Any]
S = TypeVar("S", bound="Section")


def _rule(check: Check, read: Check | None = None, nullable: bool = False) -> dict[str, Any]:
    """Return the rule of a field, to be its metadata.

    A rule takes the name and the value of the field and a report of problems, and returns the value in its plainest
    form. `read` is the rule for values that come from a file, if it is stricter. A key without a value takes the
    default, unless null says something (`nullable`).
    """
    return {"check": check, "read": read or check, "nullable": nullable}


def _raising(check: Callable[[str, Any], Any]) -> Check:
    """Make a rule of a check that raises."""

    def rule(name: str, value: Any, report: Report) -> Any:
        with reported(report, (), name):
            return check(name, value)
        return None

    return rule


def _from(read: Callable[[Any, Report], Any]) -> Check:
    """Make a rule of a reader that tells its problems itself."""
    return lambda name, value, report: read(value, report)


def _text(name: str, value: Any) -> str:
    # A column called 2 is read from the file as a number.
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not value:
        raise InputError(f"{name} must be a text; got {value!r}.")
    return value


def _optional_text(name: str, value: Any) -> str | None:
    return None if value is None else _text(name, value)


def _columns(name: str, value: Any) -> str | tuple[str, ...] | None:
    """Return one column, or several (a multi-label target)."""
    if value is None or isinstance(value, str | int):
        return _optional_text(name, value)
    several = _texts(name, value)
    if not several:
        raise InputError(f"{name} must name a column; got {value!r}. Leave it out for an unsupervised selection.")
    return several[0] if len(several) == 1 else several


def _texts(name: str, value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str | int):
        value = [value]
    if not isinstance(value, Iterable) or isinstance(value, Mapping):
        raise InputError(f"{name} must be a list of texts; got {value!r}.")
    return tuple(_text(name, one) for one in value)


def _formats(name: str, value: Any) -> tuple[str, ...]:
    return tuple(check_choice(name, one, FIGURE_FORMATS) for one in _texts(name, value))


def _choice(choices: Iterable[str], optional: bool = False) -> Check:
    known = tuple(choices)
    return _raising(lambda name, value: None if optional and value is None else check_choice(name, value, known))


def _yes_or_no(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise InputError(f"{name} must be true or false; got {value!r}.")
    return value


def _ensemble(name: str, value: Any) -> Any:
    check_ensemble(**{name: value})
    return value


def _decision(name: str, value: Any) -> Any:
    check_decision(["x"], **{name: value})
    return value


def _seed(name: str, value: Any) -> int | None:
    try:
        as_seed_sequence(value)
    except InputError as error:
        raise InputError(str(error).replace("random_state", name, 1)) from None
    return None if value is None else check_int(name, value)  # generators cannot be written to a file


class Section:
    """A part of a study; every field is checked by its rule when the section is made."""

    key: ClassVar[str]

    def __post_init__(self) -> None:
        for one in fields(self):  # type: ignore[arg-type]
            value = one.metadata["check"](one.name, getattr(self, one.name), below(refuse, self.key, one.name))
            object.__setattr__(self, one.name, value)
        self._check_together()

    def _check_together(self) -> None:
        """Raise when fields do not fit together."""

    @classmethod
    def read(cls: type[S], value: Any, problems: Problems) -> S | None:
        """Make a section of what a file says; None when there are problems, which go to `problems`."""
        n_before = len(problems.found)
        known = {one.name: one for one in fields(cls)}  # type: ignore[arg-type]
        if not isinstance(value, Mapping):
            if value is not None:
                problems((cls.key,), f"must hold keys such as {', '.join(list(known)[:3])}; got {value!r}.")
            value = {}
        checked = {}
        for key, entry in value.items():
            if key not in known:
                hint = did_you_mean(key, known) or f" Keys of {cls.key}: {', '.join(known)}."
                problems((cls.key, key), f"is not a key of {cls.key}; got {key!r}.{hint}")
            elif entry is not None or known[key].metadata["nullable"]:
                checked[key] = known[key].metadata["read"](key, entry, below(problems, cls.key, key))
        cls._check_presence(value, problems)
        if len(problems.found) > n_before:
            return None
        with reported(problems, (cls.key,), cls.key):
            return cls(**checked)
        return None

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

    path: str = field(default="", metadata=_rule(_raising(_text)))
    sheet: str | None = field(default=None, metadata=_rule(_raising(_optional_text)))
    target: str | tuple[str, ...] | None = field(default=None, metadata=_rule(_raising(_columns)))
    task: str | None = field(default=None, metadata=_rule(_choice(TASKS, optional=True)))
    groups: str | None = field(default=None, metadata=_rule(_raising(_optional_text)))
    ignore: tuple[str, ...] = field(default=(), metadata=_rule(_raising(_texts)))
    missing: str = field(default="error", metadata=_rule(_choice(MISSING_RULES)))

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

    selector: Any = field(default="mrmr", metadata=_rule(_from(as_selectors)))
    n_models: int = field(default=100, metadata=_rule(_raising(_ensemble)))
    train_size: float = field(default=0.75, metadata=_rule(_raising(_ensemble)))
    n_features_per_model: int | None = field(default=None, metadata=_rule(_raising(_ensemble)))
    seed: int | None = field(default=0, metadata=_rule(_raising(_seed), nullable=True))
    n_jobs: int | None = field(default=None, metadata=_rule(_raising(_ensemble)))


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

    kind: Any = field(default="dirichlet", metadata=_rule(_from(partial(as_named, PRIOR))))
    weights: Weights | tuple[float, ...] = field(
        default=Weights(), metadata=_rule(_from(as_weights), _from(read_weights))
    )
    table: str | None = field(default=None, metadata=_rule(_raising(_optional_text)))
    sheet: str | None = field(default=None, metadata=_rule(_raising(_optional_text)))

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

    constraint_strength: float = field(default=1.0, metadata=_rule(_raising(_decision)))
    optimizer: Any = field(default="exact", metadata=_rule(_from(partial(as_named, OPTIMIZER))))
    time_limit: float | None = field(default=None, metadata=_rule(_raising(_decision)))
    min_votes: int = field(default=0, metadata=_rule(_raising(_decision)))
    n_alternatives: int = field(default=5, metadata=_rule(_raising(_decision)))
    seed: int | None = field(default=0, metadata=_rule(_raising(_seed), nullable=True))

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

    directory: str = field(default="results", metadata=_rule(_raising(_text)))
    figures: tuple[str, ...] = field(default=("png",), metadata=_rule(_raising(_formats)))
    reduced_table: bool = field(default=False, metadata=_rule(_raising(_yes_or_no)))
    n_draws: int = field(default=100, metadata=_rule(_raising(lambda name, value: check_int(name, value, low=0))))
