"""ResolvedStudy: a study that is read, checked and tied to its data, once.

Everything that can be wrong before the ensemble runs is found here, and all of it is raised in one error.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._arguments import FeatureIndex
from ..constraints import ConstraintSystem
from ..constraints.links import exclude
from ..data.blocks import Blocks
from ..data.feature_data import FeatureData
from ..ensemble.collect import Progress, check_features_per_model
from ..ensemble.evidence import Evidence
from ..ensemble.subsampling import plan_subsamples
from ..exceptions import InputError, StudyError
from ..selection import Selection
from ..selectors import as_selector, check_task
from ..workflow import Decision
from .components import FAMILIES, Named
from .constraint_terms import check_constraints, expand_constraint
from .diagnostics import Path, Problems, below, reported
from .names import Names, PrefixBlocks, TableBlocks
from .study import Study
from .weights import UNLIKELY, UNLIKELY_RHO, KnowledgeTable, Stated, WeightResolver, Weights, read_knowledge

if TYPE_CHECKING:
    from ..tables import Table


@dataclass(frozen=True, eq=False)
class ResolvedStudy:
    """A study tied to its data: what ensemble, decision, summary, comparison and report take.

    Attributes
    ----------
    study : Study
        As written in the file, with the options of the command line.
    feature_names : ndarray of str of shape (n_features,)
    data : FeatureData or None
        None when the table was not read.
    table : Table or None
        The table as read, for the table of the selected features.
    decision : Decision
        Everything that a decision needs besides evidence and data.
    knowledge : mapping of str to float or str
        What the expert stated of features: votes or a word of the scale, only where something was stated.
    system : ConstraintSystem or None
        The constraints of the decision, tied to the features; None where the decision does that, for correlations.
    """

    study: Study
    feature_names: NDArray[Any]
    data: FeatureData | None
    table: Table | None
    decision: Decision
    knowledge: Mapping[str, Stated]
    system: ConstraintSystem | None = None

    def collect(
        self,
        on_progress: Progress | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        part: tuple[int, int] | None = None,
    ) -> Evidence:
        """Run the ensemble, or a part of it."""
        return self.study.collect(self.data, on_progress, checkpoint, part)

    def decide(self, evidence: Evidence) -> Selection:
        """Choose the best set from evidence, without warnings: see ``selection.advice``."""
        return self.decision.make(evidence, self.data, self.system)

    def with_seeds(self, evidence: Evidence) -> ResolvedStudy:
        """Return the study with the seeds that were drawn where it left the choice, so that it repeats the result."""
        ensemble, decision = self.study.evidence, self.study.decision
        if ensemble.seed is not None and decision.seed is not None:
            return self
        if ensemble.seed is None:
            ensemble = replace(ensemble, seed=evidence.settings["seed"]["entropy"])
        if decision.seed is None:
            decision = replace(decision, seed=secrets.randbits(63))
        study = replace(self.study, evidence=ensemble, decision=decision)
        return replace(self, study=study, decision=replace(self.decision, random_state=decision.seed))

    def standalone(self) -> Study:
        """Return the study with the content of its tables of knowledge written out: it needs no file but the data."""
        prior, blocks = self.study.prior, self.study.blocks
        if prior.table is not None:
            weights = Weights(prior.weights.default, features=tuple(self.knowledge.items()))
            prior = replace(prior, weights=weights, table=None, sheet=None)
        if blocks is None or isinstance(blocks, TableBlocks):
            blocks = self.decision.blocks or None  # files are blocks where the study has none
        return replace(self.study, prior=prior, blocks=blocks)


def resolve_study(
    study: Study, *, data: str | None = "read", feature_names: Any = None, n_models: int | None = None
) -> ResolvedStudy:
    """Read the tables of a study, check everything that can be wrong before its ensemble runs, and tie it together.

    Parameters
    ----------
    study : Study
    data : {"read", "if needed"} or None
        Whether to read the data table: "if needed" only for a constraint on correlations or for the table of the
        selected features.
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
    if data == "read" or (data == "if needed" and needed):
        resolver.read_data()
    resolved = resolver.resolve(feature_names)
    problems.raise_any()
    assert resolved is not None
    return resolved


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
    problems = study.new_problems()
    resolver = _Resolver(study, problems, study.evidence.n_models)
    resolver.read_data()
    problems.raise_any()
    assert resolver.data is not None
    return resolver.data


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
        self._tables: dict[tuple[str, str | None], KnowledgeTable | None] = {}

    # -- the data table ------------------------------------------------------------------------------------------------

    def read_data(self) -> None:
        """Read the data table and take the features out of it."""
        from ..tables import feature_columns, read_features, read_files

        section = self.study.data
        if not all(self.problems.is_sound("data", name) for name in section.LAYOUT):
            return
        try:
            self.table = read_files(**section.layout(self.study.folder))
            if self.problems.is_sound("data"):
                settings = {name: value for name, value in vars(section).items() if name not in section.LAYOUT}
                self.data = read_features(self.table, **settings)
            else:
                for problem in feature_columns(self.table, **self._roles())[1]:
                    self.problems(("data", *problem.path), f"{self.table.path}: {problem.message}")
        except StudyError as error:
            for problem in error.problems:
                self.problems(("data", *problem.path), problem.message)
        except InputError as error:
            argument = error.argument if error.argument in ("samples", "encoding") else "path"
            about_sheet = error.argument == "sheet" and section.sheet is not None
            self.problems(("data", "sheet" if about_sheet else argument), str(error))

    def _roles(self) -> dict[str, Any]:
        """Return the roles of columns, as far as they are given rightly."""
        sound = [name for name in ("target", "groups", "ignore") if self.problems.is_sound("data", name)]
        return {name: getattr(self.study.data, name) for name in sound}

    def _feature_names(self) -> list[str] | None:
        if self.data is not None:
            return list(self.data.feature_names)
        if self.table is None:
            return None
        from ..tables import feature_columns

        return feature_columns(self.table, **self._roles())[0]  # all columns that may be features

    # -- everything else -----------------------------------------------------------------------------------------------

    def resolve(self, feature_names: Any) -> ResolvedStudy | None:
        """Tie everything to the features; None if that cannot be done, or should not for the problems there are."""
        study, problems = self.study, self.problems
        names = self._feature_names() if feature_names is None else [str(name) for name in feature_names]
        table = self._read_table(study.prior, "prior", "weight")
        if names is None:  # there is nothing to compare names with
            if isinstance(study.blocks, TableBlocks):
                self._read_table(study.blocks, "blocks", "feature", "block")
            return None
        self.names = Names(names)
        blocks = self._blocks()
        resolver = WeightResolver(self.names, blocks, self.block_names, self.n_models, problems)
        weights, knowledge = resolver.resolve(study.prior.weights, table)
        prior = self._prior(weights, blocks)
        constraints = [
            expand_constraint(given, self.names, self.block_names, below(problems, "constraints", i, given.kind))
            for i, given in enumerate(study.constraints)
        ]
        unlikely = [name for name, stated in knowledge.items() if stated == UNLIKELY]
        if unlikely:
            constraints.append(replace(exclude(unlikely, rho=UNLIKELY_RHO), from_prior=True))
        self._check_ensemble()
        known_blocks = blocks if problems.is_sound("blocks") else None
        system = check_constraints(constraints, names, known_blocks, self.data, problems)
        if problems.found:
            return None
        settings = {**study.decision.arguments(), "optimizer": FAMILIES["optimizer"].build(study.decision.optimizer)}
        given = tuple(constraint for constraint in constraints if constraint is not None)
        decision = Decision(weights=weights, prior=prior, constraints=given, blocks=blocks, **settings)
        return ResolvedStudy(study, np.array(names, dtype=object), self.data, self.table, decision, knowledge, system)

    def _read_table(self, source: Any, key: str, *columns: str) -> KnowledgeTable | None:
        """Return the table of a section, read once, if it is there and has the columns that are needed."""
        if source.table is None:
            return None
        path: Path = (key, "table")
        if (source.table, source.sheet) not in self._tables:
            file = self.study.folder / source.table
            self._tables[source.table, source.sheet] = read_knowledge(file, source.sheet, below(self.problems, *path))
        table = self._tables[source.table, source.sheet]
        with reported(self.problems, path):
            if table is not None:
                table.require(*columns)
            return table
        return None

    def _blocks(self) -> Blocks | None:
        """Return the blocks with their members by name; patterns are replaced by what they match."""
        given, problems = self.study.blocks, self.problems
        was_sound = problems.is_sound("blocks")
        members: Mapping[str, list[Any]] = {}
        if isinstance(given, PrefixBlocks):
            members = given.members(self.names.names)
            if not members:
                rule = f"no feature has {given.prefix!r} in its name, so that there are no blocks."
                problems(("blocks", "prefix"), rule)
        elif isinstance(given, TableBlocks):
            members = self._table_members(given)
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
        self.block_names = Names(members if known else None, "block")
        return Blocks({name: tuple(items) for name, items in members.items() if items}) if members else None

    def _table_members(self, blocks: TableBlocks) -> dict[str, list[Any]]:
        table = self._read_table(blocks, "blocks", "feature", "block")
        members: dict[str, list[Any]] = {}
        if table is None:
            return members
        table.report_unknown(self.names, None, below(self.problems, "blocks", "table"))
        for row in table.rows:
            if row.block is not None and row.feature in self.names:
                members.setdefault(row.block, []).append(row.feature)
        return {name: list(dict.fromkeys(features)) for name, features in members.items()}

    def _prior(self, weights: NDArray[np.float64], blocks: Blocks | None) -> Any:
        """Return the prior; its settings are checked with the features."""
        choice = self.study.prior.kind
        prior = FAMILIES["prior"].build(choice)
        if isinstance(choice, Named) and self.problems.is_sound("prior", "kind"):
            with reported(self.problems, ("prior", "kind")):
                if "set_weights" in dict(choice.settings):
                    prior.resolve_set_weights(FeatureIndex(self.names.names), Blocks.of(blocks))
                else:
                    nothing = Evidence.from_sets(np.zeros((1, len(weights)), dtype=bool), self.names.names)
                    prior.update(nothing, weights, blocks, 0)
        return prior

    def _check_ensemble(self) -> None:
        """Check what :func:`ubayfs.collect_evidence` and :func:`ubayfs.decide` would find wrong with numbers."""
        problems, section, data = self.problems, self.study.evidence, self.data
        if problems.is_sound("evidence", "n_features_per_model") and self.names.names:
            with reported(problems, ("evidence", "n_features_per_model")):
                check_features_per_model(section.n_features_per_model, len(self.names.names))
        least = self.study.decision.min_votes
        sound = problems.is_sound("decision", "min_votes") and problems.is_sound("evidence", "n_models")
        if least > section.n_models and sound:
            rule = f"must be at most the number of models, {section.n_models}, the most votes that a feature can have"
            problems(("decision", "min_votes"), f"{rule}; got {least}.")
        if data is None:
            return
        if problems.is_sound("evidence", "selector"):
            with reported(problems, ("evidence", "selector")):
                check_task(as_selector(self.study.selector), data.target.task)
        if problems.is_sound("evidence", "train_size"):
            try:
                plan_subsamples(data, section.train_size)
            except InputError as error:
                place: Path = ("data", "target") if error.argument == "y" else ("evidence", "train_size")
                problems(place, error.rule)
        if data.constant.all():
            rule = "every feature has the same value in all samples, so that there is nothing to select."
            problems(("data", "path"), rule)
