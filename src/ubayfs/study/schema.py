"""The keys of a study file: what each means, how it is checked, its default and its option on the command line.

This is the one source: sections are made and checked by it, files are read and written, the command line has its
options, the starter file its comments and `docs/study.md` its tables from here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from .._arguments import MOST_REPEATS, as_text, as_time, check_bool, check_int, check_real
from .._files import WithFiles
from .._problems import Report, below, collect_errors
from ..constraints.arguments import as_items
from ..data import reading_rules as rules
from ..data.blocks import Blocks, members_by_prefix
from ..data.missing import MAX_MISSING, MISSING_RULES
from ..data.target import TASKS
from ..decision.workflow import Decision
from ..ensemble.collect import MOST_MODELS
from ..exceptions import InputError, repr_of
from ..optimize import OPTIMIZERS
from ..priors import DEFAULT_WEIGHT, PRIORS
from ..priors.knowledge import AS_STATED, POOLS, TRUST_IN_LISTS
from ..priors.weights import Expert, Weights, expert_form, file_form, read_experts, read_weights
from ..selectors import DEFAULT_SELECTOR
from ..trust.related import FEWEST_SHUFFLES, MAX_SUPPORTED, N_SHUFFLES
from ..trust.trust import LEVELS
from . import components
from .components import FAMILIES, Option, Section, one_of, setting
from .constraint_terms import check_items
from .yaml_io import plain

_count = partial(check_int, low=0)
_checked = components.ensemble_argument
_positive = partial(check_int, low=1)
_share = partial(check_real, low=0.0, high=1.0)
# The word that takes back a limit of the study on the command line.
_NO_LIMIT = "none"


def _seconds(text: str) -> float | None:
    return None if text.strip().lower() == _NO_LIMIT else float(text)


def _number_or_word(text: str) -> int | str:
    return int(text) if text.strip().lstrip("+-").isdecimal() else text


def _alternatives(words: Iterable[str]) -> str:
    *others, last = (f"`{word}`" for word in words)
    return f"{', '.join(others)} or {last}"


# fmt: off
@dataclass(frozen=True)
class DataSection(Section):
    """What the data are."""

    key: ClassVar[str] = "data"
    title: ClassVar[str] = "data"
    required: ClassVar[str] = "path"
    path_keys: ClassVar[tuple[str, ...]] = ("path", "samples")

    path: str | dict[str, str] = setting(  # noqa: RUF009
        "", components.paths, "the data table, relative to this file; several by the names of their blocks",
        details="CSV, TSV (also .gz), GEO series matrix, Parquet, Excel or AnnData. An unnamed first column names the "
        "samples; `{miRNA: mirna.txt.gz, RPPA: rppa.txt.gz}` are joined by the ids of the samples",
        default_text="required", always=True
    )
    sheet: str | None = setting(
        None, as_text, "sheet of an Excel file", default_text="the first", option=Option("--sheet")
    )
    target: str | tuple[str, ...] | dict[str, str] | None = setting(  # noqa: RUF009
        None, components.columns, "column to explain",
        details="several for a multi-label task; `{time: COLUMN, event: COLUMN}` for survival",
        default_text="none: unsupervised", always=True, option=Option("--target", form="time=COLUMN,event=COLUMN")
    )
    task: str | None = setting(
        None, one_of(TASKS), _alternatives(TASKS), default_text="inferred from the target", option=Option("--task")
    )
    groups: str | None = setting(
        None, as_text, "column of patients, animals...; all samples of one stay together",
        default_text="none", option=Option("--groups")
    )
    adjust_for: tuple[str, ...] = setting(
        (), components.texts, "covariates, such as age or batch; features are scored after adjusting for them",
        kw_only=True, default_text="none", option=Option("--adjust-for", action="extend")
    )
    measured: tuple[str, ...] = setting(
        (), components.texts, "features that are measured anyway; others are selected for what they add to these",
        kw_only=True, default_text="none", option=Option("--measured", action="extend")
    )
    ignore: tuple[str, ...] = setting(
        (), components.texts, "columns that are not features, by name or pattern", default_text="none",
        option=Option("--ignore", action="extend")
    )
    missing: str = setting(
        "error", one_of(MISSING_RULES), f"missing values: {_alternatives(MISSING_RULES)}",
        option=Option("--missing", "RULE")
    )
    max_missing: float = setting(
        MAX_MISSING, _share, "drop features with more than this share missing (`available`, `median`)",
        option=Option("--max-missing", "SHARE", float)
    )
    samples: str | None = setting(
        None, as_text, "sample sheet: has target, groups and covariates; none of its columns is a feature",
        details="either way round", default_text="none", option=Option("--samples", "FILE")
    )
    samples_sheet: str | None = setting(
        None, as_text, "sheet that describes the samples, of the Excel file `samples` or else `path`",
        kw_only=True, default_text="the first of `samples`", option=Option("--samples-sheet")
    )
    features_in: str = setting(
        "columns", one_of(rules.FEATURES_IN), "where the features are: `columns` or `rows`",
        details="GEO series matrices always have them in rows", option=Option("--features-in", "WHERE")
    )
    id: str | None = setting(
        None, as_text, "column of the sample ids, or of the features if they are in rows",
        default_text="the first, where ids are needed", option=Option("--id")
    )
    keep: str | None = setting(
        None, one_of(rules.KEEP_RULES), "samples that `all` files have, or `any` of them",
        default_text="all; any with missing: available", option=Option("--keep", "RULE")
    )
    duplicates: str = setting(
        "error", one_of(rules.DUPLICATE_RULES),
        "feature names that occur several times: `error`, `first`, `mean`, `max_variance`, `suffix`",
        option=Option("--duplicates", "RULE")
    )
    below_detection: str | None = setting(
        None, one_of(rules.DETECTION_RULES),
        "`<0.5`, `n.d.`, `BDL` and the like: `half` of the limit, `missing` or the `limit`",
        default_text="refused", option=Option("--below-detection", "RULE")
    )
    features: str | None = setting(
        None, one_of(rules.FEATURES_AS), "`as_is` allows feature names that are dates, such as 1-Mar",
        default_text="refused", option=Option("--allow-date-names", parse=bool, constant="as_is")
    )
    encoding: str | None = setting(
        None, rules.check_encoding, "encoding of text files that are not UTF-8, such as `latin-1`",
        default_text="UTF-8, or UTF-16 with its mark", option=Option("--encoding")
    )
    ordered: dict[str, tuple[str, ...]] | None = setting(  # noqa: RUF009
        None, rules.check_orders, "columns of ordered scales with all their labels, lowest first", default_text="none",
        details="such as `stage: [I, II, III, IV]`; other columns of words are categories without order"
    )
    sites: str | None = setting(
        None, as_text, "column of sites, such as hospitals; each also has its own ensemble; all are pooled",
        details="features are adjusted for it, and count less where sites contradict each other in direction",
        kw_only=True, default_text="none", option=Option("--sites")
    )

    # Keys that say how the files become one table; the others are roles of its columns.
    LAYOUT: ClassVar[tuple[str, ...]] = (
        "path", "samples", "features_in", "id", "keep", "duplicates", "below_detection", "features", "encoding",
        "sheet", "samples_sheet"
    )

    @property
    def described_by(self) -> str | None:
        """The path of the file that describes the samples; None if there is none, or no single one."""
        return self.path if self.samples is None and self.samples_sheet and isinstance(self.path, str) else self.samples

    @property
    def source(self) -> str:
        """The files in words."""
        return ", ".join(self.files)

    def layout(self, folder: Path) -> dict[str, Any]:
        """Return the arguments of :func:`ubayfs.tables.read_files` for files relative to a folder."""
        at = self.with_paths(lambda path: str(folder / path))
        arguments = {name: getattr(at, name) for name in self.LAYOUT}
        covariates = (*self.adjust_for, *filter(None, [self.sites]))
        roles = (self.target, self.groups, covariates, self.measured)
        return arguments | {"keep": self.keep or rules.default_keep(self.missing), "roles": roles}


@dataclass(frozen=True)
class EvidenceSection(Section):
    """How the ensemble is run; see :func:`ubayfs.collect_evidence`."""

    key: ClassVar[str] = "evidence"
    title: ClassVar[str] = "ensemble"

    selector: Any = setting(  # noqa: RUF009
        DEFAULT_SELECTOR, FAMILIES["selector"].read, "elementary selector; those of a list take turns", in_parts=True,
        details="a name, or a name with settings such as `{name: mrmr, classes: weighted}`",
        always=True, option=Option("--selector", action="append")
    )
    n_models: int = setting(
        100, _checked, "number of models, each fitted to a random part of the samples", always=True,
        details=f"at most {MOST_MODELS:,}", option=Option("--models", "N", int)
    )
    train_size: float = setting(
        0.75, _checked, "share of the samples that each model sees", option=Option("--train-size", "SHARE", float)
    )
    n_features_per_model: int | str | None = setting(
        None, _checked, "the most features that a model may select",
        default_text="a quarter of the features, at most 10",
        details="`random` draws a number for each model, from 1 to half of the features, at most 20",
        option=Option("--features-per-model", "N", _number_or_word)
    )
    seed: int | None = setting(
        0, _count, "the same seed gives the same result",
        details="null draws a new one, which the result records", nullable=True, always=True, argument="random_state",
        option=Option("--seed", "N", int)
    )
    n_jobs: int | None = setting(
        None, _checked, "workers; -1 for all processors", details="changes no result",
        default_text="1, for long trust all", option=Option("--jobs", "N", int)
    )


@dataclass(frozen=True)
class PriorSection(Section):
    """What is known beforehand."""

    key: ClassVar[str] = "prior"
    title: ClassVar[str] = "prior knowledge"
    path_keys: ClassVar[tuple[str, ...]] = ("table", "aliases", "weights", "experts")

    kind: Any = setting(  # noqa: RUF009
        "dirichlet", FAMILIES["prior"].read, _alternatives(PRIORS), in_parts=True,
        details="also with settings: `{name: hyperdirichlet, ...}`", option=Option("--prior")
    )
    weights: Any = setting(  # noqa: RUF009
        Weights(), read_weights, "prior weights, in votes or in words", in_parts=True,
        details="one number for all features, or the keys `default`, `features`, `patterns` and `blocks`, and words of "
        "the scale with lists of names or files of names",
        default_text=f"{DEFAULT_WEIGHT:g}"
    )
    table: str | None = setting(
        None, as_text, "CSV or Excel file with the columns feature, weight, block, cost, why and source",
        default_text="none",
        option=Option("--weights-table", "FILE"),
    )
    sheet: str | None = setting(None, as_text, "its sheet, of an Excel file", default_text="the first")
    aliases: str | None = setting(
        None, as_text, "table of other names of features, for the table and the lists",
        details="columns name and alias, or symbol, prev_symbol and alias_symbol", default_text="none"
    )
    unknown: str = setting(
        "skip", one_of(("skip", "error")), "names in the table but not in the data: `skip` (with a note) or `error`"
    )
    experts: dict[str, Expert] | None = setting(  # noqa: RUF009
        None, read_experts, "what each of several experts states, by their names", in_parts=True,
        details="the path of a table, or `table`, `sheet` and the keys of `weights` but for the default",
        default_text="one expert, in `weights` and `table`"
    )
    pool: str = setting(
        "mean", one_of(POOLS), "how the votes of experts are combined: `mean` or `lowest`",
        option=Option("--pool", "RULE")
    )
    trust_in_lists: str = setting(
        AS_STATED, one_of(TRUST_IN_LISTS), "weight of lists of three or more features: `as_stated` or `learned`",
        details="`learned` keeps the weight only where the list has more votes than random features",
        option=Option("--trust-in-lists", "RULE")
    )
    confirmed: str | None = setting(
        None, as_time, "when the knowledge was confirmed, before votes were seen", default_text="unknown"
    )
    changed_after_votes: dict[str, str] | None = setting(  # noqa: RUF009
        None, components.times, "features whose knowledge was changed after votes were seen, and when", in_parts=True,
        details="`ubayfs decide` and the app add them; results mark them", default_text="none"
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", file_form(self.weights))
        if isinstance(self.experts, Mapping):
            object.__setattr__(self, "experts", {name: expert_form(stated) for name, stated in self.experts.items()})
        super().__post_init__()

    @classmethod
    def check_together(cls, values: Mapping[str, Any], report: Report) -> None:
        """Report a second source of weights, and a sheet of nothing."""
        for key in ("table", "experts"):
            if values[key] is not None and isinstance(values["weights"], tuple):
                report((key,), "cannot be combined with prior.weights of one number per feature; remove one of them.")
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
        "exact", FAMILIES["optimizer"].read, _alternatives(OPTIMIZERS), in_parts=True, always=True,
        option=Option("--optimizer")
    )
    time_limit: float | None = setting(
        None, Decision.check_argument, "seconds, after which the best set so far is returned, with its gap",
        default_text=_NO_LIMIT, option=Option("--time-limit", "SECONDS", _seconds)
    )
    min_votes: int = setting(
        1, Decision.check_argument, "features with fewer votes cannot be selected",
        details="a weight above the default counts as votes, and what hard constraints require needs none; 0: features "
        "without votes may fill the set, as in the paper",
        option=Option("--min-votes", "N", int)
    )
    n_alternatives: int = setting(
        5, Decision.check_argument, "number of next best sets to list", option=Option("--alternatives", "N", int)
    )
    differ_by: int = setting(
        1, Decision.check_argument, "features of every earlier set that each must lack, at least", kw_only=True,
        option=Option("--differ-by", "N", int)
    )
    seed: int | None = setting(
        0, _count, "seed of the hyperdirichlet prior, the genetic optimizer and the draws of the report",
        nullable=True, always=True, argument="random_state", option=Option("--seed", "N", int, shared=True)
    )

    @classmethod
    def check_together(cls, values: Mapping[str, Any], report: Report) -> None:
        """Report a time limit that the optimizer does not know."""
        if values["time_limit"] is not None:
            with collect_errors(report, ("time_limit",)):
                FAMILIES["optimizer"].accept(FAMILIES["optimizer"].build(values["optimizer"]), values["time_limit"])


@dataclass(frozen=True)
class TrustSection(Section):
    """What an answer may claim: how much is repeated on other samples and on shuffled targets."""

    key: ClassVar[str] = "trust"
    title: ClassVar[str] = "trust"
    path_keys: ClassVar[tuple[str, ...]] = ("gene_sets",)

    level: str | None = setting(
        None, one_of(LEVELS),
        "`none`, `quick` (related, reproducibility) or `full` (validation, too)",
        default_text="from the counted work: models x samples x features x selector",
        option=Option("--trust", "LEVEL")
    )
    n_shuffles: int = setting(
        N_SHUFFLES, partial(check_int, low=FEWEST_SHUFFLES, high=MOST_REPEATS),
        "shuffles of the target, to test which features are related to it",
        option=Option("--shuffles", "N", int)
    )
    n_vote_shuffles: int = setting(
        0, _count, "repeats of the ensemble on shuffled targets, to find joint effects; 20 are enough",
        option=Option("--vote-shuffles", "N", int)
    )
    n_splits: int = setting(
        20, _positive, "splits of the samples into halves, for the reproducibility", option=Option("--splits", "N", int)
    )
    cv: int = setting(
        5, partial(check_int, low=2), "cross-validation folds; the whole procedure is rerun in each",
        option=Option("--cv", "K", int)
    )
    n_repeats: int = setting(
        5, _positive, "repeats of the cross-validation, each with new folds", option=Option("--repeats", "N", int)
    )
    sizes: tuple[int, ...] = setting(
        (), components.sizes, "sizes of the set that the validation compares", default_text="none",
        option=Option("--sizes", "N", int, action="extend")
    )
    growth: bool = setting(
        False, check_bool, "with the validation, also forecast the prediction with more samples: 60 more ensembles",
        option=Option("--growth", parse=bool)
    )
    max_supported: int = setting(
        MAX_SUPPORTED, _positive, "the most features that `max_size: supported` allows",
        option=Option("--max-supported", "N", int)
    )
    gene_sets: str | None = setting(
        None, as_text, "file of gene sets, to list those associated with the target or with a selected feature",
        default_text="none", option=Option("--gene-sets", "FILE")
    )
    seed: int = setting(
        0, _count, "seed of shuffles, halves and folds", argument="random_state",
        option=Option("--seed", "N", int, shared=True)
    )


@dataclass(frozen=True)
class OutputSection(Section):
    """What is written."""

    key: ClassVar[str] = "outputs"
    title: ClassVar[str] = "output"
    path_keys: ClassVar[tuple[str, ...]] = ("directory",)

    directory: str = setting(
        "results", as_text, "where the result is written, relative to this file",
        details="`-o` on the command line overrides it"
    )
    figures: tuple[str, ...] = setting(
        ("png",), components.figures, "formats of the figures: `png`, `svg`, `pdf`",
        option=Option("--figures", "FORMAT", action="append")
    )
    reduced_table: bool = setting(
        False, check_bool, "write the data table with the selected features only",
        option=Option("--reduced-table", parse=bool)
    )
    front_sizes: tuple[int, ...] = setting(
        (), components.sizes, "sizes for each of which the best set is listed", kw_only=True, default_text="none",
        option=Option("--front-sizes", "N", int, action="extend")
    )
    front_budgets: tuple[float, ...] = setting(
        (), components.budgets, "budgets for each of which the best set is listed, with each of these sizes",
        details="with the costs of the constraint `cost_budget`", default_text="none", kw_only=True,
        option=Option("--front-budgets", "COST", float, action="extend")
    )
    n_draws: int = setting(
        100, _count, "draws from the posterior for the selection probabilities; 0 leaves them out",
        option=Option("--draws", "N", int)
    )


# fmt: on

# -- blocks ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PrefixBlocks:
    """Blocks of all features whose names are the same up to the first separator.

    Attributes
    ----------
    prefix : str
        The separator.
    """

    prefix: str

    def __post_init__(self) -> None:
        if not self.prefix:
            raise InputError.of("prefix", "must not be empty.", self.prefix)

    def members(self, names: Iterable[str]) -> dict[str, list[str]]:
        """Return the features of each block."""
        return members_by_prefix(names, self.prefix)


@dataclass(frozen=True)
class TableBlocks(WithFiles):
    """Blocks from a table with the columns feature and block.

    Attributes
    ----------
    table : str
        Path, relative to the study file.
    sheet : str or None
        Of an Excel file; default the first.
    """

    table: str
    sheet: str | None = None

    path_keys: ClassVar[tuple[str, ...]] = ("table",)


@dataclass(frozen=True)
class GeneSetBlocks(WithFiles):
    """Blocks from a file of gene sets.

    Attributes
    ----------
    gene_sets : str
        Path, relative to the study file, of a GMT file, or of a CSV of gene sets as cellxgene has it.
    only : tuple of str
        Names or patterns of the gene sets that are wanted; default all.
    aliases : str or None
        Path of a table of other names of features.
    """

    gene_sets: str
    only: tuple[str, ...] = ()
    aliases: str | None = None

    path_keys: ClassVar[tuple[str, ...]] = ("gene_sets", "aliases")


# -- cohorts -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cohorts(WithFiles):
    """What sites sent, in place of data and ensemble.

    Attributes
    ----------
    directories : dict of str to str
        Those that ``ubayfs collect --for-pooling`` wrote, relative to the study file, by the names of the sites.
    """

    directories: dict[str, str]

    path_keys: ClassVar[tuple[str, ...]] = ("directories",)


def as_cohorts(value: Any, report: Report) -> Cohorts | None:
    """Return cohorts as a file has them: a list of directories, or a mapping of names to them."""
    if value is None or isinstance(value, Cohorts):
        return value
    rule = "must list the directories of two or more sites, or map names to them"
    if isinstance(value, list | tuple) and all(isinstance(entry, str) for entry in value):
        names = [Path(entry).resolve().name for entry in value]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            report((), f"has several directories called {repeated[0]!r}; name the sites: {{Oslo: oslo/{repeated[0]}}}.")
            return None
        value = dict(zip(names, value, strict=True))
    if not isinstance(value, Mapping) or not all(isinstance(entry, str) and entry for entry in value.values()):
        report((), f"{rule}; got {repr_of(value)}.")
        return None
    if len(value) < 2:
        report((), f"{rule}; got {len(value)}.")
        return None
    return Cohorts({str(name): entry for name, entry in value.items()})


# -- all of it ---------------------------------------------------------------------------------------------------------

AnyBlocks = Blocks | PrefixBlocks | TableBlocks | GeneSetBlocks | None
# The rules that make all blocks, by the key that only they have, and what their other keys hold.
_RULES: dict[str, type[Any]] = {"prefix": PrefixBlocks, "table": TableBlocks, "gene_sets": GeneSetBlocks}
_RULE_KEYS = {"sheet": "the name of a sheet", "aliases": "the path of a table"}


def as_blocks(value: Any, report: Report) -> AnyBlocks:
    """Return blocks given in any form of Python, or as a file has them: features by name, or a rule for all blocks.

    The path of a file alone is that of a table, or of gene sets if it is a GMT file.
    """
    if value is None or isinstance(value, PrefixBlocks | TableBlocks | GeneSetBlocks):
        return value
    if isinstance(value, str) and value.strip():
        return GeneSetBlocks(value) if value.lower().endswith((".gmt", ".gmt.gz")) else TableBlocks(value)
    if isinstance(value, str | int | float | list | tuple):  # what a study file can hold beside a mapping
        rule = "must be a mapping of names to features, the path of a table with the columns feature and block, or "
        report((), f'{rule}{{prefix: ":"}}; got {repr_of(value)}.')
        return None
    if isinstance(value, Mapping):
        for rule in _RULES:
            if isinstance(value.get(rule), str):  # a block that is called so lists its features
                return _rule_blocks(rule, value, report)
    else:
        with collect_errors(report):
            value = Blocks.of(value).members
    members = {}
    for name, features in value.items() if isinstance(value, Mapping) else ():
        if check_items("blocks", features, below(report, name)):
            with collect_errors(report, (name,)):
                members[str(name)] = as_items(str(name), features)
    return Blocks(members) if members else None


def _rule_blocks(rule: str, value: Mapping[Any, Any], report: Report) -> AnyBlocks:
    keys = [field.name for field in fields(_RULES[rule])]
    settings: dict[str, Any] = {}
    for key, entry in value.items():
        if key not in keys:
            report((key,), f"cannot be given together with {rule!r}, which makes all blocks; list all blocks, or none.")
        elif key in _RULE_KEYS and not isinstance(entry, str | None):
            report((key,), f"must be {_RULE_KEYS[key]}; got {repr_of(entry)}.")
        elif key == "only":
            listed = isinstance(entry, Iterable) and not isinstance(entry, str)
            settings[key] = tuple(entry if listed else (entry,)) if entry else ()
            if not all(isinstance(name, str) for name in settings[key]):
                report((key,), f"must list names or patterns of gene sets; got {repr_of(entry)}.")
                settings[key] = ()
        else:
            settings[key] = entry
    if not value[rule]:
        report((rule,), "must not be empty.")
        return None
    return _RULES[rule](**settings)


def plain_blocks(blocks: AnyBlocks) -> dict[str, Any]:
    """Return blocks as they are written to a file."""
    if isinstance(blocks, PrefixBlocks | TableBlocks | GeneSetBlocks):
        return {key: value for key, value in plain(vars(blocks)).items() if value}
    return {} if blocks is None else {name: list(members) for name, members in blocks.members.items()}


SECTIONS: dict[str, type[Section]] = {
    section.key: section
    for section in (DataSection, EvidenceSection, PriorSection, DecisionSection, TrustSection, OutputSection)
}
# The keys of a study, in the order in which they are written.
KEYS = (
    "title", "data", "cohorts", "evidence", "prior", "blocks", "constraints", "decision", "trust", "outputs", "versions"
)  # fmt: skip
