"""Read, check and tie a study to its data, once.

Everything that can be wrong before the ensemble runs is found here, and all of it is raised in one error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._arguments import FeatureIndex, check_int
from ..constraints.links import held_unlikely
from ..constraints.supported import with_supported
from ..constraints.weighted_sums import with_costs
from ..data.blocks import Blocks
from ..data.feature_data import FeatureData
from ..data.reading_rules import target_columns
from ..ensemble.evidence import Evidence
from ..ensemble.features_per_model import features_per_model
from ..ensemble.subsampling import subsample_errors
from ..exceptions import InputError, StudyError
from ..priors.hyper import set_members
from ..priors.knowledge import PriorKnowledge
from ..selectors import as_selector, check_task
from ..workflow import Decision
from .components import FAMILIES, Named
from .constraint_terms import check_constraints, expand_constraint
from .diagnostics import Path, Problems, below, reported
from .experts import expert_tables, with_experts
from .names import GeneSetBlocks, KnowledgeFiles, Names, PrefixBlocks, TableBlocks, is_pattern
from .resolved import ResolvedStudy
from .schema import DataSection
from .study import Study
from .weights import WeightResolver, Weights

if TYPE_CHECKING:
    from ..tables import Table

# In place of a rule that is wrong: one that refuses nothing, or None for the default.
_PERMISSIVE = {"duplicates": "suffix", "below_detection": "limit", "features": "as_is", "keep": None, "encoding": None}


def resolve_study(
    study: Study,
    *,
    data: str | FeatureData | None = "read",
    feature_names: Any = None,
    n_models: int | None = None,
) -> ResolvedStudy:
    """Read the tables of a study, check everything that can be wrong before its ensemble runs, and tie it together.

    Parameters
    ----------
    study : Study
    data : {"read", "if needed"}, FeatureData or None
        Whether to read the data table: "if needed" only for a constraint on correlations or for the table of the
        selected features. Or the data as they were read for the same section ``data`` before.
    feature_names : array-like of str of shape (n_features,), optional
        Those of the evidence; needed unless ``data="read"``.
    n_models : int, optional
        The number of models that words of the scale are measured by; default ``evidence.n_models`` of the study.

    Raises
    ------
    StudyError
        Lists all problems at once: of the table and its columns, of names, of subsamples that cannot be drawn, and of
        hard constraints that contradict each other.
    """
    problems = study.new_problems()
    resolver = _Resolver(study, problems, n_models or study.evidence.n_models)
    needed = any(constraint.needs_data for constraint in study.constraints) or study.outputs.reduced_table
    needed |= study.blocks is None and not isinstance(study.data.path, str)  # its files are blocks
    if isinstance(data, FeatureData):
        resolver.use_data(data)
    elif data == "read" or (data == "if needed" and needed):
        resolver.read_data()
    resolved = resolver.resolve(feature_names)
    problems.raise_any()
    assert resolved is not None
    return resolved


def draft_study(
    study: Study, data: FeatureData, n_models: int
) -> tuple[ResolvedStudy | None, PriorKnowledge | None, Blocks | None, Problems]:
    """Return a study tied to its data, what is known of features, the blocks, and all that is wrong.

    Knowledge and blocks are there as far as they can be read, also while something else is wrong; the study is not.
    """
    problems = study.new_problems()
    resolver = _Resolver(study, problems, n_models)
    resolver.use_data(data)
    return resolver.resolve(None), resolver.known, resolver.blocks, problems


def check_study(study: Study) -> FeatureData:
    """Read the data of a study and check everything that can be wrong before its ensemble runs.

    Raises
    ------
    StudyError
        Lists all problems at once; see :func:`resolve_study`.
    """
    data = resolve_study(study).data
    assert data is not None
    return data


def check_draft(study: Study, problems: Problems, evidence: Evidence | None = None) -> None:
    """Add all problems of a study in whose file or options something is wrong already: defaults replace that.

    The features are those of the evidence, if there is some, else those of the data table.
    """
    resolver = _Resolver(study, problems, study.evidence.n_models if evidence is None else evidence.n_models)
    if evidence is None:
        resolver.read_data()
    resolver.resolve(None if evidence is None else evidence.feature_names)


def read_data(study: Study) -> FeatureData:
    """Read and check the data table of a study."""
    _, data, problems = draft_data(study)
    problems.raise_any()
    assert data is not None
    return data


def draft_data(study: Study) -> tuple[Table | None, FeatureData | None, Problems]:
    """Return the table and the data of a study, as far as they can be read, and all that is wrong with them."""
    problems = study.new_problems()
    resolver = _Resolver(study, problems, study.evidence.n_models)
    resolver.read_data()
    return resolver.table, resolver.data, problems


class _Resolver:
    """Ties a study to its tables and features; each file is read once.

    Where something is wrong, the study has a default, and what depends on it is not checked.
    """

    def __init__(self, study: Study, problems: Problems, n_models: int) -> None:
        self.study = study
        self.problems = problems
        self.n_models = n_models
        self.table: Table | None = None
        self.data: FeatureData | None = None
        self.samples: FeatureData | None = None  # the data, or what is right of target and groups
        self.features: list[str] | None = None  # all columns that may be features
        self.n_features = range(0)  # how many of them there may be
        self.known: PriorKnowledge | None = None
        self.blocks: Blocks | None = None
        self.files = KnowledgeFiles(study.folder, problems, study.prior.unknown)

    def use_data(self, data: FeatureData) -> None:
        """Take data that were read before."""
        self.data = self.samples = data
        self.features, self.n_features = list(data.feature_names), range(data.n_features, data.n_features + 1)

    # -- the data table ------------------------------------------------------------------------------------------------

    def read_data(self) -> None:
        """Read the data table and take the features out of it."""
        from ..tables import read_files

        problems, section = self.problems, self.study.data
        wrong = {name for name in section.LAYOUT if not problems.is_sound("data", name)}
        if not wrong <= _PERMISSIVE.keys():
            return
        rules = {name: _PERMISSIVE[name] for name in wrong if _PERMISSIVE[name]}
        try:
            self.table = read_files(**section.layout(self.study.folder) | rules)
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

    def _read_columns(self, table: Table) -> None:
        """Take the features, the target and groups out of the table, as far as the settings are right."""
        from ..tables import feature_columns
        from ..tables.features import measurements

        problems, section = self.problems, self.study.data
        settings = {name: value for name, value in vars(section).items() if problems.is_sound("data", name)}
        settings = {name: value for name, value in settings.items() if name not in section.LAYOUT}
        roles = {name: settings[name] for name in ("target", "groups", "ignore") if name in settings}
        names, misplaced = feature_columns(table, **roles)
        names, _ = measurements(table, names)
        n_least = 0
        if len(roles) < 3:  # columns of an unknown role may seem to be features
            for problem in misplaced:
                problems(("data", *problem.path), f"{table.path}: {problem.message}")
        else:
            self.data, found = self._read_features(table, settings)
            if problems.is_sound("data", "groups") and (problems.is_sound("data", "keep") or len(section.files) == 1):
                self.samples = self.data
                if not self._knows_target():
                    section, settings = replace(section, target=None), settings | {"target": None, "task": None}
                if self.data is None or not self._knows_target():
                    self.samples, _ = self._read_features(_samples_only(table, section), settings | {"ignore": ()})
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

    def _knows_target(self) -> bool:
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

    # -- everything else -----------------------------------------------------------------------------------------------

    def resolve(self, feature_names: Any) -> ResolvedStudy | None:
        """Tie everything to the features; None if that cannot be done, or should not for the problems there are."""
        study, problems = self.study, self.problems
        if feature_names is not None:
            self.features = [str(name) for name in feature_names]
            self.n_features = range(len(self.features), len(self.features) + 1)
        names = self.features
        aliases = self.files.aliases(study.prior.aliases, "prior")
        table = self.files.table(study.prior, ("prior",), "weight")
        table = None if table is None else replace(table, aliases=aliases)
        self._check_ensemble()
        tables = expert_tables(study.prior.experts or {}, self.files, aliases)
        if names is None:  # there is nothing to compare names with
            if isinstance(study.blocks, TableBlocks):
                self.files.table(study.blocks, ("blocks",), "feature", "block")
            return None
        self.names = Names(names)
        self.blocks = blocks = self._blocks()
        resolver = WeightResolver(self.names, blocks, self.block_names, self.n_models, problems, study.folder, aliases)
        given_weights = study.prior.weights
        if isinstance(given_weights, tuple) and len(self.n_features) > 1 and len(given_weights) in self.n_features:
            given_weights = Weights()  # there may be one for each feature
        self.known = known = with_experts(resolver.resolve(given_weights, table), study.prior, resolver, tables)
        prior = self._prior(known.weights, blocks)
        if any(with_costs(given, {"": 0.0}) is not given for given in study.constraints):
            self.files.check_costs(table)
        sized = with_supported(study.constraints, study.trust.max_supported)  # until noise tells the number
        constraints = [
            expand_constraint(given, self.names, self.block_names, below(problems, "constraints", i, given.kind))
            for i, given in enumerate(with_costs(constraint, known.costs) for constraint in sized)
        ]
        constraints += held_unlikely(known.unlikely)
        known_blocks = blocks if problems.is_sound("blocks") else None
        system = check_constraints(constraints, names, self.n_features, known_blocks, self.data, problems)
        if problems.found:
            return None
        settings = {**study.decision.arguments(), "optimizer": FAMILIES["optimizer"].build(study.decision.optimizer)}
        given = tuple(constraint for constraint in constraints if constraint is not None)
        decision = Decision(weights=known.weights, prior=prior, constraints=given, blocks=blocks, **settings)
        return ResolvedStudy(study, np.array(names, dtype=object), self.data, self.table, decision, known, system)

    def _blocks(self) -> Blocks | None:
        """Return the blocks with their members by name; patterns are replaced by what they match."""
        given, problems = self.study.blocks, self.problems
        was_sound, wrong = problems.is_sound("blocks"), problems.wrong.keys_below("blocks")
        members: Mapping[str, Sequence[Any]] = {}
        file = None
        if isinstance(given, PrefixBlocks):
            members = given.members(self.names.names)
            if not members:
                rule = f"no feature has {given.prefix!r} in its name, so that there are no blocks."
                problems(("blocks", "prefix"), rule)
        elif isinstance(given, TableBlocks | GeneSetBlocks):
            file = self.files.blocks(given, self.names.names)
            members = file.members
        elif given is None and self.data is not None and self.data.blocks is not None:
            members = {name: list(items) for name, items in self.data.blocks.members.items()}
        elif given is not None:
            members = {
                name: self.names.expand(items, below(problems, "blocks", name)) for name, items in given.members.items()
            }
        index = FeatureIndex(self.names.names)
        for name, items in members.items():
            with reported(problems, ("blocks", name)):
                index.positions(items, "block")  # a feature may be there twice
        known = was_sound and (bool(members) or problems.is_sound("blocks"))
        known |= isinstance(given, Blocks) and problems.is_sound("blocks", -1)  # those that are wrong have names, too
        self.block_names = Names(dict.fromkeys([*members, *sorted(wrong, key=str)]) if known else None, "block")
        made = {name: tuple(items) for name, items in members.items() if items}
        return (Blocks(made) if file is None else file) if members else None

    def _prior(self, weights: NDArray[np.float64], blocks: Blocks | None) -> Any:
        """Return the prior; its settings are checked with the features."""
        choice = self.study.prior.kind
        prior = FAMILIES["prior"].build(choice)
        if isinstance(choice, Named) and self.problems.is_sound("prior", "kind", "set_weights", -1):
            sets = dict(choice.settings).get("set_weights", ())
            self._check_sets(sets, blocks)
            if not sets:
                nothing = Evidence.from_sets(np.zeros((1, len(weights)), dtype=bool), self.names.names)
                with reported(self.problems, ("prior", "kind")):
                    prior.update(nothing, weights, blocks, 0)
        return prior

    def _check_sets(self, sets: Sequence[tuple[Any, Any]], blocks: Blocks | None) -> None:
        """Report weighted sets of the prior that do not fit the features; those that cannot be read are not there."""
        index, path = FeatureIndex(self.names.names), ("prior", "kind", "set_weights")
        read = (i for i in count() if self.problems.is_sound(*path, i, "set"))
        for (members, weight), position in zip(sets, read, strict=False):
            with reported(self.problems, (*path, position, "weight")):
                check_int("weight", weight, low=0)
            n_before = self.problems.n_reports
            for member in members if isinstance(members, tuple) else ():
                with reported(self.problems, (*path, position, "set")):
                    index.position(member, "set")
            if self.problems.n_reports == n_before and (members in index or members not in self.block_names):
                with reported(self.problems, (*path, position, "set")):
                    set_members(members, index, Blocks.of(blocks))

    def _check_ensemble(self) -> None:
        """Check what :func:`ubayfs.collect_evidence` and :func:`ubayfs.decide` would find wrong with numbers."""
        problems, section, samples = self.problems, self.study.evidence, self.samples
        if problems.is_sound("evidence", "n_features_per_model") and self.features:
            with reported(problems, ("evidence", "n_features_per_model")):
                features_per_model(section.n_features_per_model, len(self.features))
        least = self.study.decision.min_votes
        sound = problems.is_sound("decision", "min_votes") and problems.is_sound("evidence", "n_models")
        if least > section.n_models and sound:
            rule = f"must be at most the number of models, {section.n_models}, the most votes that a feature can have"
            problems(("decision", "min_votes"), f"{rule}; got {least}.")
        stated = self.study.data.task if problems.is_sound("data", "task") else None
        self._check_selectors(stated if samples is None or not self._knows_target() else samples.target.task)
        if samples is not None:
            share = section.train_size if problems.is_sound("evidence", "train_size") else None
            for error in subsample_errors(samples, share):
                problems(("data", "target") if error.argument == "y" else ("evidence", "train_size"), error.rule)
        if self.data is not None and self.data.constant.all():
            rule = "every feature has the same value in all samples, so that there is nothing to select."
            problems(("data", "path"), rule)

    def _check_selectors(self, task: str | None) -> None:
        """Report each selector that cannot do the task, if that is known."""
        given = self.study.evidence.selector
        path: Path = ("evidence", "selector")
        if task is None or not self.problems.is_sound(*path, -1):  # wrong as a whole, not one of a list or a setting
            return
        for position, choice in enumerate(given) if isinstance(given, tuple) else [(None, given)]:
            with reported(self.problems, path if position is None else (*path, position)):
                check_task(as_selector(FAMILIES["selector"].build(choice)), task)


def _may_mean(pattern: str, name: str) -> bool:
    """Tell whether a column may be meant by a pattern that matches none: one that begins or ends like it."""
    ends = zip((pattern[0], pattern[-1]), (name[:1], name[-1:]), strict=True)
    return all(is_pattern(wanted) or wanted.casefold() == letter.casefold() for wanted, letter in ends)


def _samples_only(table: Table, section: DataSection) -> Table:
    """Return a table with target and groups, and a feature that is right."""
    targets = target_columns(section.target)
    frame = table.frame[targets + [section.groups] * (section.groups is not None)]
    return replace(table, frame=frame.assign(**{"".join(frame) + " feature": np.arange(len(frame))}))
