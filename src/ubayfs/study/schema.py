"""The keys of a study file: what each means, how it is checked, its default and its option on the command line.

This is the one source: sections are made and checked by it, files are read and written, the command line has its
options, the starter file its comments and `docs/study.md` its tables from here.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from . import checks
from .diagnostics import Report, reported
from .section import Option, Section, setting

# The word that takes back a limit of the study on the command line.
_NO_LIMIT = "none"


def _seconds(text: str) -> float | None:
    return None if text.strip().lower() == _NO_LIMIT else float(text)


# Few lines per key, as in a table.
# fmt: off
@dataclass(frozen=True)
class DataSection(Section):
    """What the data are."""

    key: ClassVar[str] = "data"
    title: ClassVar[str] = "data"
    required: ClassVar[str] = "path"

    path: str = setting(
        "", checks.text, "the data table, relative to this file",
        details="CSV, TSV (also .gz), Parquet, Excel or AnnData. An unnamed first column names the samples",
        default_text="required", always=True
    )
    sheet: str | None = setting(
        None, checks.optional_text, "sheet of an Excel file", default_text="the first", option=Option("--sheet")
    )
    target: str | tuple[str, ...] | None = setting(
        None, checks.columns, "column to explain", details="several for a multi-label task",
        default_text="none: unsupervised", always=True, option=Option("--target")
    )
    task: str | None = setting(
        None, checks.task, "`binary`, `multiclass`, `multilabel`, `regression` or `unsupervised`",
        default_text="inferred from the target", option=Option("--task")
    )
    groups: str | None = setting(
        None, checks.optional_text, "column of patients, animals...; all samples of one stay together",
        default_text="none", option=Option("--groups")
    )
    ignore: tuple[str, ...] = setting(
        (), checks.texts, "columns that are not features, by name or pattern", default_text="none",
        option=Option("--ignore", action="extend")
    )
    missing: str = setting(
        "error", checks.missing_rule, "missing values of features: `error`, `drop_rows`, `drop_columns` or `median`",
        option=Option("--missing", "RULE")
    )


@dataclass(frozen=True)
class EvidenceSection(Section):
    """How the ensemble is run; see :func:`ubayfs.collect_evidence`."""

    key: ClassVar[str] = "evidence"
    title: ClassVar[str] = "ensemble"

    selector: Any = setting(  # noqa: RUF009
        "mrmr", checks.component("selector"), "elementary selector; those of a list take turns",
        details="a name, or a name with settings such as `{name: lasso, min_penalty: 0.001}`",
        always=True, option=Option("--selector", action="append")
    )
    n_models: int = setting(
        100, checks.ensemble_argument, "number of runs, each on a random part of the samples", always=True,
        option=Option("--models", "N", int)
    )
    train_size: float = setting(
        0.75, checks.ensemble_argument, "share of the samples in a run", option=Option("--train-size", "SHARE", float)
    )
    n_features_per_model: int | None = setting(
        None, checks.ensemble_argument, "the most features that a run may choose", default_text="10",
        option=Option("--features-per-model", "N", int)
    )
    seed: int | None = setting(
        0, checks.seed, "the same seed gives the same result",
        details="null draws a new one, which the result records", nullable=True, always=True, argument="random_state",
        option=Option("--seed", "N", int)
    )
    n_jobs: int | None = setting(
        None, checks.ensemble_argument, "workers; -1 for all processors", details="changes no result",
        default_text="1", option=Option("--jobs", "N", int)
    )


@dataclass(frozen=True)
class PriorSection(Section):
    """What is known beforehand."""

    key: ClassVar[str] = "prior"
    title: ClassVar[str] = "prior knowledge"

    kind: Any = setting(  # noqa: RUF009
        "dirichlet", checks.component("prior"), "`dirichlet`, `generalized` or `hyperdirichlet`",
        details="also with settings: `{name: hyperdirichlet, ...}`", option=Option("--prior")
    )
    weights: Any = setting(  # noqa: RUF009
        checks.no_weights, checks.weights, "prior weights, in votes or in words",
        details="one number for all features, or the keys `default`, `features`, `patterns` and `blocks`",
        default_text="0.01", read=checks.file_weights, partial=True
    )
    table: str | None = setting(
        None, checks.optional_text, "CSV or Excel file with the columns feature, weight and block",
        default_text="none",
        option=Option("--weights-table", "FILE", os.path.abspath),  # relative to where the command is typed
    )
    sheet: str | None = setting(None, checks.optional_text, "its sheet, of an Excel file", default_text="the first")

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
        1.0, checks.decision_argument, "weight of the constraints against the importance of the features",
        details="lambda of the paper", always=True, option=Option("--strength", "X", float)
    )
    optimizer: Any = setting(  # noqa: RUF009
        "exact", checks.component("optimizer"), "`exact` or `genetic`", always=True,
        option=Option("--optimizer")
    )
    time_limit: float | None = setting(
        None, checks.decision_argument, "seconds, after which the best set so far is taken, with its gap",
        default_text=_NO_LIMIT, option=Option("--time-limit", "SECONDS", _seconds)
    )
    min_votes: int = setting(
        0, checks.decision_argument, "features that fewer models chose cannot be selected",
        option=Option("--min-votes", "N", int)
    )
    n_alternatives: int = setting(
        5, checks.decision_argument, "number of next best sets to list", option=Option("--alternatives", "N", int)
    )
    seed: int | None = setting(
        0, checks.seed, "seed of the hyperdirichlet prior, the genetic optimizer and the draws of the report",
        nullable=True, always=True, argument="random_state", option=Option("--seed", "N", int, shared=True)
    )

    @classmethod
    def check_together(cls, values: Mapping[str, Any], report: Report) -> None:
        """Report a time limit that the optimizer does not know."""
        if values["time_limit"] is not None:
            from .components import FAMILIES

            with reported(report, ("time_limit",)):
                FAMILIES["optimizer"].accept(FAMILIES["optimizer"].build(values["optimizer"]), values["time_limit"])


@dataclass(frozen=True)
class OutputSection(Section):
    """What is written."""

    key: ClassVar[str] = "outputs"
    title: ClassVar[str] = "output"

    directory: str = setting(
        "results", checks.text, "where the result is written, relative to this file",
        details="`-o` on the command line overrides it"
    )
    figures: tuple[str, ...] = setting(
        ("png",), checks.figures, "formats of the figures: `png`, `svg`, `pdf`",
        option=Option("--figures", "FORMAT", action="append")
    )
    reduced_table: bool = setting(
        False, checks.yes_or_no, "write the data table with the selected features only",
        option=Option("--reduced-table", parse=bool)
    )
    n_draws: int = setting(
        100, checks.count, "draws from the posterior for the selection probabilities; 0 leaves them out",
        option=Option("--draws", "N", int)
    )


# fmt: on
FIGURE_FORMATS = checks.FIGURE_FORMATS

SECTIONS: dict[str, type[Section]] = {
    section.key: section for section in (DataSection, EvidenceSection, PriorSection, DecisionSection, OutputSection)
}
# The keys of a study, in the order in which they are written.
KEYS = ("data", "evidence", "prior", "blocks", "constraints", "decision", "outputs", "versions")
