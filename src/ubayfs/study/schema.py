"""The keys of a study file: what each means, how it is checked, its default and its option on the command line.

This is the one source: sections are made and checked by it, files are read and written, the command line has its
options, the starter file its comments and `docs/study.md` its tables from here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, ClassVar, TypeVar

from .._arguments import check_choice, check_int, check_real, nearest
from ..data.missing import MAX_MISSING, MISSING_RULES
from ..data.target import TASKS
from ..ensemble.collect import MOST_MODELS
from ..workflow import Decision
from . import components
from .components import FAMILIES
from .diagnostics import Path, Problems, Report, below, known_only, refuse, reported
from .weights import Weights, file_form, read_weights
from .yaml_io import plain

S = TypeVar("S", bound="Section")


@dataclass(frozen=True)
class Option:
    """The option of the command line that sets a key."""

    flag: str
    metavar: str = "NAME"  # what the value is, in the help
    parse: Callable[[str], Any] = str  # the key's own check comes after it
    action: str = ""  # "append" or "extend" if it may be repeated, with a single value or with several
    shared: bool = False  # with an earlier section: it sets both keys


@dataclass(frozen=True)
class Key:
    """A key of a section."""

    check: Callable[..., Any]  # see `in_parts`
    help: str  # what it means, in a few words without a full stop; values in backticks
    details: str = ""  # what else the documentation says of it
    default_text: str = ""  # what the default means, where the value does not say it
    option: Option | None = None
    in_parts: bool = False  # the check takes (value, report), and returns what is right of it; else (name, value)
    nullable: bool = False  # null is a value; else a key without a value takes the default
    always: bool = False  # written even when it is the default: what a reader asks first
    argument: str = ""  # of collect_evidence() or decide(), if it is not called like the key

    @property
    def text(self) -> str:
        """The help without marks for a terminal or a comment."""
        return self.help.replace("`", "")


def setting(default: Any, check: Callable[..., Any], help: str, **more: Any) -> Any:
    """Return the field of a key."""
    return field(default=default, metadata={"key": Key(check, help, **more)})


class Section:
    """A section of a study; every field is checked when the section is made."""

    key: ClassVar[str]
    title: ClassVar[str]  # of its options on the command line
    required: ClassVar[str] = ""  # the key that must be there

    def __post_init__(self) -> None:
        for name in self.keys():
            checked = self._checked(name, getattr(self, name), below(refuse, self.key, name))
            object.__setattr__(self, name, checked)
        self.check_together(vars(self), below(refuse, self.key))

    @classmethod
    def keys(cls) -> dict[str, Key]:
        """Return the keys by name, in their order."""
        return {entry.name: entry.metadata["key"] for entry in fields(cls)}  # type: ignore[arg-type]

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """Return the default of each key."""
        return {entry.name: entry.default for entry in fields(cls)}  # type: ignore[arg-type]

    @classmethod
    def _checked(cls, name: str, value: Any, report: Report) -> Any:
        """Return a value in its plainest form; None after a problem was reported."""
        key = cls.keys()[name]
        if value is None and (key.nullable or cls.defaults()[name] is None):
            return None
        if getattr(value, "shape", None) == () and hasattr(value, "item"):  # a number of numpy
            value = value.item()
        if key.in_parts:
            return key.check(value, report)
        with reported(report):
            return key.check(name, value)
        return None

    @classmethod
    def check_together(cls, values: Mapping[str, Any], report: Report) -> None:
        """Report values that do not fit together."""

    @classmethod
    def read(cls: type[S], value: Any, problems: Problems) -> S:
        """Make a section from what a file holds; wrong keys are reported and have their defaults."""
        known = cls.keys()
        if not isinstance(value, Mapping):
            if value is not None:
                problems((cls.key,), f"must hold keys such as {', '.join(list(known)[:3])}; got {value!r}.")
            value = {}
        given = known_only(value, known, f"a key of {cls.key}", below(problems, cls.key))
        meant = {nearest(name, known) for name in value.keys() - given.keys()}
        for name in filter(None, meant):
            problems.wrong.add((cls.key, name))  # its value is not known
        given = {name: entry for name, entry in given.items() if entry is not None or known[name].nullable}
        if cls.required and value.get(cls.required) is None:
            problems((cls.key, cls.required), f"must be given; it is {known[cls.required].text}.")
        stand_in = {cls.required: "?"} if cls.required else {}
        return cls(**stand_in).changed(given, problems)

    def changed(self: S, values: Mapping[str, Any], problems: Problems) -> S:
        """Return the section with other values of some keys; wrong ones are reported, and stay as they are."""
        checked: dict[Any, Any] = {}
        for name, value in values.items():
            n_before = problems.n_reports
            entry = self._checked(name, value, below(problems, self.key, name))
            if entry is not None or problems.n_reports == n_before:
                checked[name] = entry

        def report(path: Path, message: str) -> None:
            problems((self.key, *path), message)
            checked[path[0]] = self.defaults()[str(path[0])]

        self.check_together({**vars(self), **checked}, report)
        return replace(self, **checked)  # type: ignore[type-var]

    def plain(self) -> dict[str, Any]:
        """Return the section as it is written to a file: what differs from the defaults, and what readers ask first."""
        defaults = self.defaults()
        return {
            name: plain(value, f"{self.key}.{name}")
            for name, key in self.keys().items()
            if (value := getattr(self, name)) != defaults[name] or key.always
        }

    def arguments(self) -> dict[str, Any]:
        """Return the values by the names of the arguments of the workflow."""
        return {key.argument or name: getattr(self, name) for name, key in self.keys().items()}

    @classmethod
    def default_text(cls, name: str) -> str:
        """Return the default of a key as a file would have it, or what it means."""
        value = cls.keys()[name].default_text or cls.defaults()[name]
        if isinstance(value, str):
            return value
        return f"[{', '.join(value)}]" if isinstance(value, tuple) else json.dumps(plain(value))


_count = partial(check_int, low=0)
_task = partial(check_choice, choices=TASKS)
_missing_rule = partial(check_choice, choices=MISSING_RULES)
_share = partial(check_real, low=0.0, high=1.0)
# The word that takes back a limit of the study on the command line.
_NO_LIMIT = "none"


def _seconds(text: str) -> float | None:
    return None if text.strip().lower() == _NO_LIMIT else float(text)


def _number_or_word(text: str) -> int | str:
    return int(text) if text.strip().lstrip("+-").isdecimal() else text


# Few lines per key, as in a table.
# fmt: off
@dataclass(frozen=True)
class DataSection(Section):
    """What the data are."""

    key: ClassVar[str] = "data"
    title: ClassVar[str] = "data"
    required: ClassVar[str] = "path"

    path: str = setting(
        "", components.text, "the data table, relative to this file",
        details="CSV, TSV (also .gz), Parquet, Excel or AnnData. An unnamed first column names the samples",
        default_text="required", always=True
    )
    sheet: str | None = setting(
        None, components.text, "sheet of an Excel file", default_text="the first", option=Option("--sheet")
    )
    target: str | tuple[str, ...] | None = setting(
        None, components.columns, "column to explain", details="several for a multi-label task",
        default_text="none: unsupervised", always=True, option=Option("--target")
    )
    task: str | None = setting(
        None, _task, "`binary`, `multiclass`, `multilabel`, `regression` or `unsupervised`",
        default_text="inferred from the target", option=Option("--task")
    )
    groups: str | None = setting(
        None, components.text, "column of patients, animals...; all samples of one stay together",
        default_text="none", option=Option("--groups")
    )
    ignore: tuple[str, ...] = setting(
        (), components.texts, "columns that are not features, by name or pattern", default_text="none",
        option=Option("--ignore", action="extend")
    )
    missing: str = setting(
        "error", _missing_rule, "missing values: `error`, `available`, `drop_rows`, `drop_columns` or `median`",
        option=Option("--missing", "RULE")
    )
    max_missing: float = setting(
        MAX_MISSING, _share, "features of which a larger share is missing leave (`available`, `median`)",
        option=Option("--max-missing", "SHARE", float)
    )


@dataclass(frozen=True)
class EvidenceSection(Section):
    """How the ensemble is run; see :func:`ubayfs.collect_evidence`."""

    key: ClassVar[str] = "evidence"
    title: ClassVar[str] = "ensemble"

    selector: Any = setting(  # noqa: RUF009
        "mrmr", FAMILIES["selector"].read, "elementary selector; those of a list take turns", in_parts=True,
        details="a name, or a name with settings such as `{name: lasso, min_penalty: 0.001}`",
        always=True, option=Option("--selector", action="append")
    )
    n_models: int = setting(
        100, components.ensemble_argument, "number of runs, each on a random part of the samples", always=True,
        details=f"at most {MOST_MODELS:,}",
        option=Option("--models", "N", int)
    )
    train_size: float = setting(
        0.75, components.ensemble_argument, "share of the samples in a run",
        option=Option("--train-size", "SHARE", float)
    )
    n_features_per_model: int | str | None = setting(
        None, components.ensemble_argument, "the most features that a run may choose",
        details="`random` draws it anew for each run, from 1 to half of the features, at most 20",
        default_text="a quarter of the features, at most 10",
        option=Option("--features-per-model", "N", _number_or_word)
    )
    seed: int | None = setting(
        0, _count, "the same seed gives the same result",
        details="null draws a new one, which the result records", nullable=True, always=True, argument="random_state",
        option=Option("--seed", "N", int)
    )
    n_jobs: int | None = setting(
        None, components.ensemble_argument, "workers; -1 for all processors", details="changes no result",
        default_text="1", option=Option("--jobs", "N", int)
    )


@dataclass(frozen=True)
class PriorSection(Section):
    """What is known beforehand."""

    key: ClassVar[str] = "prior"
    title: ClassVar[str] = "prior knowledge"

    kind: Any = setting(  # noqa: RUF009
        "dirichlet", FAMILIES["prior"].read, "`dirichlet`, `generalized` or `hyperdirichlet`", in_parts=True,
        details="also with settings: `{name: hyperdirichlet, ...}`", option=Option("--prior")
    )
    weights: Any = setting(  # noqa: RUF009
        Weights(), read_weights, "prior weights, in votes or in words", in_parts=True,
        details="one number for all features, or the keys `default`, `features`, `patterns` and `blocks`",
        default_text="0.01"
    )
    table: str | None = setting(
        None, components.text, "CSV or Excel file with the columns feature, weight and block",
        default_text="none",
        option=Option("--weights-table", "FILE", os.path.abspath),  # relative to where the command is typed
    )
    sheet: str | None = setting(None, components.text, "its sheet, of an Excel file", default_text="the first")

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", file_form(self.weights))
        super().__post_init__()

    @classmethod
    def check_together(cls, values: Mapping[str, Any], report: Report) -> None:
        """Report a second source of weights, and a sheet of nothing."""
        if values["table"] is not None and isinstance(values["weights"], tuple):
            report(("table",), "gives weights by feature, and prior.weights one for each feature already; keep one.")
        if values["sheet"] is not None and values["table"] is None:
            report(("sheet",), "names a sheet of prior.table, which is not given.")


@dataclass(frozen=True)
class DecisionSection(Section):
    """How the best set is found; see :func:`ubayfs.decide`."""

    key: ClassVar[str] = "decision"
    title: ClassVar[str] = "decision"

    constraint_strength: float = setting(
        1.0, Decision.check_argument, "weight of the constraints against the importance of the features",
        details="lambda of the paper", always=True, option=Option("--strength", "X", float)
    )
    optimizer: Any = setting(  # noqa: RUF009
        "exact", FAMILIES["optimizer"].read, "`exact` or `genetic`", in_parts=True, always=True,
        option=Option("--optimizer")
    )
    time_limit: float | None = setting(
        None, Decision.check_argument, "seconds, after which the best set so far is taken, with its gap",
        default_text=_NO_LIMIT, option=Option("--time-limit", "SECONDS", _seconds)
    )
    min_votes: int = setting(
        0, Decision.check_argument, "features that fewer models chose cannot be selected",
        option=Option("--min-votes", "N", int)
    )
    n_alternatives: int = setting(
        5, Decision.check_argument, "number of next best sets to list", option=Option("--alternatives", "N", int)
    )
    seed: int | None = setting(
        0, _count, "seed of the hyperdirichlet prior, the genetic optimizer and the draws of the report",
        nullable=True, always=True, argument="random_state", option=Option("--seed", "N", int, shared=True)
    )

    @classmethod
    def check_together(cls, values: Mapping[str, Any], report: Report) -> None:
        """Report a time limit that the optimizer does not know."""
        if values["time_limit"] is not None:
            with reported(report, ("time_limit",)):
                FAMILIES["optimizer"].accept(FAMILIES["optimizer"].build(values["optimizer"]), values["time_limit"])


@dataclass(frozen=True)
class OutputSection(Section):
    """What is written."""

    key: ClassVar[str] = "outputs"
    title: ClassVar[str] = "output"

    directory: str = setting(
        "results", components.text, "where the result is written, relative to this file",
        details="`-o` on the command line overrides it"
    )
    figures: tuple[str, ...] = setting(
        ("png",), components.figures, "formats of the figures: `png`, `svg`, `pdf`",
        option=Option("--figures", "FORMAT", action="append")
    )
    reduced_table: bool = setting(
        False, components.yes_or_no, "write the data table with the selected features only",
        option=Option("--reduced-table", parse=bool)
    )
    n_draws: int = setting(
        100, _count, "draws from the posterior for the selection probabilities; 0 leaves them out",
        option=Option("--draws", "N", int)
    )


# fmt: on

SECTIONS: dict[str, type[Section]] = {
    section.key: section for section in (DataSection, EvidenceSection, PriorSection, DecisionSection, OutputSection)
}
# The keys of a study, in the order in which they are written.
KEYS = ("data", "evidence", "prior", "blocks", "constraints", "decision", "outputs", "versions")
