"""Phase 3 of a study: names and numbers in it are tied to its tables, once, and become one :class:`ResolvedStudy`.

Phase 1 is the file (`study`, `schema`), phase 2 are its tables (`inputs`). Each phase lists all of its mistakes in one
error, and the next one begins when there are none: names are not compared with a table that is not the right one yet.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._arguments import FeatureIndex
from .._problems import CountedReport, Path, below, collect_errors
from ..constraints import ConstraintSystem, resolve
from ..constraints.links import unlikely_constraints
from ..constraints.sizes import SUPPORTED, has_data_driven_size, with_supported
from ..constraints.weighted_sums import with_costs, without_costs_of
from ..data.blocks import Blocks
from ..data.feature_data import FeatureData
from ..decision.problem import knowledge_advice, size_advice
from ..decision.selection import Selection
from ..decision.workflow import Decision
from ..ensemble.evidence import Evidence
from ..ensemble.features_per_model import features_advice
from ..ensemble.progress import Progress
from ..ensemble.subsampling import subsample_errors
from ..exceptions import Advice, InputError
from ..knowledge.matching import blocks_of
from ..knowledge.patterns import Names
from ..priors import DEFAULT_WEIGHT
from ..priors.hyper import set_members
from ..priors.knowledge import LEARNED, PriorKnowledge, pooled
from ..priors.weight_resolver import WeightResolver
from ..priors.weights import Expert, Weights
from ..selectors import as_selector, check_task
from ..trust.procedure import check_sites
from .components import FAMILIES, Named
from .constraint_terms import check_constraints, expand_constraint
from .diagnostics import AFTER_TABLES, Problems
from .former_versions import default_advice, version_advice
from .inputs import FileContents, StudyTables, read_data, read_tables
from .schema import GeneSetBlocks, PrefixBlocks, TableBlocks
from .study import Study

if TYPE_CHECKING:
    from ..tables import Table


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
        Lists all problems of the tables at once; if there are none, all of names, of subsamples that cannot be drawn,
        and of hard constraints that contradict each other.
    """
    needs_data = any(constraint.needs_data for constraint in study.constraints) or study.outputs.reduced_table
    needs_data |= study.blocks is None and not isinstance(study.data.path, str)  # its files are blocks
    reads = (data == "read" or (data == "if needed" and needs_data)) and study.cohorts is None
    problems = study.new_problems()
    tables = read_tables(study, problems, data if isinstance(data, FeatureData) else reads)
    problems.raise_any(AFTER_TABLES)
    if feature_names is None:
        if study.cohorts is not None:
            rule = "are at their sites, and only `ubayfs select` and `ubayfs check` read what these sent."
            raise InputError.of("data", rule)
        assert tables.data is not None
        feature_names = tables.data.feature_names
    resolved = _Resolver(study, tables, feature_names, n_models, problems).resolve()
    problems.raise_any()
    assert resolved is not None
    return resolved


def draft_study(
    study: Study, data: FeatureData, n_models: int, contents: FileContents | None = None
) -> tuple[ResolvedStudy | None, PriorKnowledge | None, Blocks | None, Problems]:
    """Return a study tied to its data, what is stated of features, the blocks, and what is wrong.

    That are the problems of the tables, or else those of names. Knowledge and blocks are there as far as they can be
    read, also while something is wrong; the study is not. `contents` are those of its files as they were read before.
    """
    problems = study.new_problems()
    tables = read_tables(study, problems, data, contents)
    problems_of_names = study.new_problems()
    resolver = _Resolver(study, tables, data.feature_names, n_models, problems_of_names)
    resolved = resolver.resolve()
    if problems.entries:
        return None, resolver.knowledge, resolver.blocks, problems
    return resolved, resolver.knowledge, resolver.blocks, problems_of_names


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


def draft_data(study: Study) -> tuple[Table | None, FeatureData | None, Problems]:
    """Return the table and the data of a study, as far as they can be read, and all that is wrong with them."""
    problems = study.new_problems()
    table, data = read_data(study, problems)
    return table, data, problems


class _Resolver:
    """Ties a study to its features; what depends on a part that is wrong is not checked."""

    def __init__(
        self, study: Study, tables: StudyTables, feature_names: Any, n_models: int | None, problems: Problems
    ) -> None:
        self.study, self.tables, self.problems = study, tables, problems
        self.n_models = n_models or study.evidence.n_models
        self.names = Names([str(name) for name in feature_names])
        self.knowledge: PriorKnowledge | None = None
        self.blocks: Blocks | None = None
        self.gene_sets: Blocks | None = None

    def resolve(self) -> ResolvedStudy | None:
        """Tie everything to the features; None if something is wrong."""
        study, problems, data, names = self.study, self.problems, self.tables.data, self.names.names
        self._check_ensemble()
        n_before = len(problems.entries)
        self.blocks = blocks = self._blocks()
        has_valid_blocks = len(problems.entries) == n_before
        if self.tables.gene_sets is not None:
            self.gene_sets = blocks_of(self.tables.gene_sets, names, partial(problems, ("trust", "gene_sets")))
        members = {} if blocks is None else blocks.members
        listed = study.blocks.members if isinstance(study.blocks, Blocks) else members  # also those that are wrong
        self.block_names = Names(listed if listed or has_valid_blocks else None, "block")
        tables = self.tables
        resolver = WeightResolver(
            self.names, blocks, self.block_names, self.n_models, problems, tables.lists, tables.aliases
        )
        self.knowledge = knowledge = self._knowledge(resolver)
        prior = self._prior(knowledge.weights, blocks)
        if study.outputs.front_budgets and all(each.kind != "cost_budget" for each in study.constraints):
            rule = "are other budgets than that of a cost_budget among the constraints; add one, which has the costs."
            problems(("outputs", "front_budgets"), rule)
        sized = with_supported(study.constraints, study.trust.max_supported)  # until p-values give the number
        measured = study.data.measured
        priced = [without_costs_of(with_costs(constraint, knowledge.costs), measured) for constraint in sized]
        constraints = [
            expand_constraint(entry, self.names, self.block_names, below(problems, "constraints", i, entry.kind))
            for i, entry in enumerate(priced)
        ]
        constraints += unlikely_constraints(knowledge.unlikely)
        system = check_constraints(constraints, names, blocks, has_valid_blocks, data, problems)
        if problems.entries:
            return None
        settings = {**study.decision.arguments(), "optimizer": FAMILIES["optimizer"].build(study.decision.optimizer)}
        learned = study.prior.trust_in_lists == LEARNED  # needs the lists, too
        settings |= {"weights": knowledge if learned else knowledge.weights}
        settings |= {"trust_in_lists": study.prior.trust_in_lists}
        expanded = tuple(constraint for constraint in constraints if constraint is not None)
        decision = Decision(prior=prior, constraints=expanded, blocks=blocks, **settings)
        with collect_errors(problems, ("decision", "differ_by")):
            decision.check_differ_by(len(names))
        features = np.array(names, dtype=object)
        return ResolvedStudy(study, features, data, tables.table, decision, knowledge, system, self.gene_sets)

    def _blocks(self) -> Blocks | None:
        """Return the blocks with their members by name; patterns are replaced by what they match."""
        blocks, problems, names = self.study.blocks, self.problems, self.names.names
        if blocks is None:
            data = self.tables.data
            return None if data is None else data.blocks
        if isinstance(blocks, TableBlocks | GeneSetBlocks):
            are_gene_sets, rows = isinstance(blocks, GeneSetBlocks), self.tables.blocks
            if rows is None:  # it could not be read
                return None
            report = partial(problems, ("blocks", "gene_sets" if are_gene_sets else "table"))
            made = blocks_of(rows, names, report, are_gene_sets)
            return made if made.members else None
        if isinstance(blocks, PrefixBlocks):
            members = blocks.members(names)
            if not members:
                rule = f"no feature has {blocks.prefix!r} in its name, so that there are no blocks."
                problems(("blocks", "prefix"), rule)
        else:
            index, members = FeatureIndex(names), {}
            for name, items in blocks.members.items():
                members[name] = self.names.expand(items, below(problems, "blocks", name))
                with collect_errors(problems, ("blocks", name)):
                    index.positions(members[name], "block")  # a feature may be there twice
        return Blocks({name: tuple(items) for name, items in members.items() if items}) if members else None

    def _knowledge(self, resolver: WeightResolver) -> PriorKnowledge:
        """Return what weights and table, experts and their tables state of the features, and when it was stated."""
        prior, tables = self.study.prior, self.tables.knowledge
        at: Path = ("prior", "weights")
        knowledge = replace(resolver, at=at, table_at=("prior", "table")).stated(prior.weights, tables.get(""))
        if prior.experts:
            default, stated = getattr(prior.weights, "default", DEFAULT_WEIGHT), {}
            for name, expert in prior.experts.items():
                at = ("prior", "experts", name)
                expert_resolver = replace(resolver, at=at, table_at=(*at, "table"))
                weights = replace(expert.weights, default=default)
                stated[name] = replace(expert_resolver.stated(weights, tables.get(name)), confirmed=expert.confirmed)
            with collect_errors(self.problems, ("prior", "experts")):
                knowledge = pooled(stated, self.names.names, prior.pool, self.n_models, default, knowledge)
        for name in prior.changed_after_votes or {}:
            with collect_errors(self.problems, ("prior", "changed_after_votes", name)):
                self.names.find(name, False)
        return replace(knowledge, confirmed=prior.confirmed, changed_after_votes=prior.changed_after_votes or {})

    def _prior(self, weights: NDArray[np.float64], blocks: Blocks | None) -> Any:
        """Return the prior; its settings are checked with the features."""
        choice = self.study.prior.kind
        prior = FAMILIES["prior"].build(choice)
        sets = dict(choice.settings).get("set_weights", ()) if isinstance(choice, Named) else ()
        self._check_sets(sets, blocks)
        if isinstance(choice, Named) and not sets:
            nothing = Evidence.from_sets(np.zeros((1, len(weights)), dtype=bool), self.names.names)
            with collect_errors(self.problems, ("prior", "kind")):
                prior.update(nothing, weights, blocks, 0)
        return prior

    def _check_sets(self, sets: Sequence[tuple[Any, Any]], blocks: Blocks | None) -> None:
        """Report weighted sets of the prior that do not fit the features."""
        index = FeatureIndex(self.names.names)
        for position, (members, _) in enumerate(sets):
            counted = CountedReport(below(self.problems, "prior", "kind", "set_weights", position, "set"))
            for member in members if isinstance(members, tuple) else ():
                with collect_errors(counted):
                    index.position(member, "set")
            is_block = members in self.block_names and members not in index
            if not counted.n_problems and not is_block:
                with collect_errors(counted):
                    set_members(members, index, Blocks.of(blocks))

    def _check_ensemble(self) -> None:
        """Check what :func:`ubayfs.collect_evidence` and :func:`ubayfs.decide` would find wrong with numbers."""
        problems, study, section, data = self.problems, self.study, self.study.evidence, self.tables.data
        if self.names.names:
            with collect_errors(problems, ("evidence", "n_features_per_model")):
                study.features_per_model(len(self.names.names))
        least = study.decision.min_votes
        if least > section.n_models:
            rule = f"must be at most the number of models, {section.n_models}, the most votes that a feature can have"
            problems(("decision", "min_votes"), f"{rule}; got {least}.")
        self._check_selectors(study.data.task if data is None else data.target.task)
        if data is None:
            return
        for error in subsample_errors(data, section.train_size):
            problems(("data", "target") if error.argument == "y" else ("evidence", "train_size"), error.rule)
        if study.data.sites is not None:
            with collect_errors(problems, ("data", "sites")):
                check_sites(data, section.train_size)
        if data.constant.all():
            rule = "every feature has the same value in all samples, so that there is nothing to select."
            problems(("data", "path"), rule)

    def _check_selectors(self, task: str | None) -> None:
        """Report each selector that cannot do the task, if that is known."""
        selector = self.study.evidence.selector
        path: Path = ("evidence", "selector")
        if task is None:
            return
        for position, choice in enumerate(selector) if isinstance(selector, tuple) else [(None, selector)]:
            with collect_errors(self.problems, path if position is None else (*path, position)):
                check_task(as_selector(FAMILIES["selector"].build(choice)), task)


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
    prior : PriorKnowledge
        What the expert stated of features: weights, reasons and costs.
    system : ConstraintSystem or None
        The constraints of the decision, tied to the features; None where the decision does that, for correlations.
    gene_sets : Blocks or None
        The gene sets that selected features are compared with.
    supported : int or None
        The number of features that the data support, if the study asks for it; set by :meth:`with_supported_size`.
    """

    study: Study
    feature_names: NDArray[Any]
    data: FeatureData | None
    table: Table | None
    decision: Decision
    prior: PriorKnowledge
    system: ConstraintSystem | None = None
    gene_sets: Blocks | None = None
    supported: int | None = None

    @property
    def needs_related(self) -> bool:
        """Whether the decision waits for the number of features that the data support: `max_size: supported`."""
        return self.supported is None and any(map(has_data_driven_size, self.decision.constraints))

    def with_supported_size(self, n: int) -> ResolvedStudy:
        """Return the study with the number of features that the data support."""
        decision = self.decision.replace(constraints=with_supported(self.decision.constraints, n))
        return replace(self, decision=decision, system=None, supported=n)

    @property
    def knowledge(self) -> Mapping[str, float | str]:
        """Votes or word of the scale by feature, where something was stated."""
        return self.prior.stated

    @property
    def notes(self) -> tuple[Advice, ...]:
        """What must be known about names, weights and costs."""
        constraints, blocks, names = self.decision.constraints, self.decision.blocks, self.feature_names
        named = [constraint for constraint in constraints if not constraint.needs_data]
        return knowledge_advice(self.prior, blocks, constraints, self.system or resolve(named, names, blocks), names)

    @property
    def version_advice(self) -> tuple[Advice, ...]:
        """What is different from the version of ubayfs that wrote the study, such as defaults that it relies on."""
        return version_advice(self.study, self.prior.unlikely, len(self.feature_names))

    @property
    def default_advice(self) -> tuple[Advice, ...]:
        """Changed defaults that the study relies on, if its file does not carry a version."""
        return default_advice(self.study)

    @property
    def features_per_model(self) -> int | str:
        """The most features that a run may choose, or "random"."""
        return self.study.features_per_model(len(self.feature_names))

    @cached_property
    def advice(self) -> tuple[Advice, ...]:
        """What must be known before the ensemble runs."""
        ensemble_advice = features_advice([self.features_per_model], len(self.feature_names))
        data_advice = () if self.data is None else self.data.advice
        advice_on_size: tuple[Advice, ...] = ()
        if self.data is not None and self.system is not None:  # else it depends on correlations: see the decision
            advice_on_size = size_advice(self.system, ~self.data.constant)
        return (*self.version_advice, *ensemble_advice, *data_advice, *advice_on_size, *self.notes)

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
        decision = self.decision
        if self.needs_related:  # raises
            decision = decision.replace(constraints=with_supported(decision.constraints, SUPPORTED))
        return decision.make(evidence, self.data, None if self.needs_related else self.system, self.prior)

    def with_seeds(self, evidence: Evidence) -> ResolvedStudy:
        """Return the study with what was drawn, or another version took, where it left the choice: it repeats this."""
        ensemble, decision = self.study.evidence, self.study.decision
        per_model = evidence.settings.get("n_features_per_model", self.features_per_model)
        if ensemble.n_features_per_model is not None or per_model != self.features_per_model:
            ensemble = replace(ensemble, n_features_per_model=per_model)
        if ensemble.seed is None:
            ensemble = replace(ensemble, seed=evidence.settings["seed"]["entropy"])
        if decision.seed is None:
            decision = replace(decision, seed=secrets.randbits(63))
        if (ensemble, decision) == (self.study.evidence, self.study.decision):
            return self
        study = replace(self.study, evidence=ensemble, decision=decision)
        return replace(self, study=study, decision=self.decision.replace(random_state=decision.seed))

    def with_change_marks(self, earlier: Mapping[str, Mapping[str, Any]], now: str) -> ResolvedStudy:
        """Return the study with a mark on each feature whose knowledge is not that of an earlier decision.

        `earlier` is ``selection.knowledge`` of a decision on the same evidence, whose votes were seen. Its marks stay.
        """
        now_stated = self.prior.to_dict()
        names = {*now_stated, *earlier}
        changed = {name for name in names if _opinions(now_stated.get(name)) != _opinions(earlier.get(name))}
        key = "changed_after_votes"
        marks = {name: entry[key] for name, entry in earlier.items() if key in entry}
        marks |= {**self.prior.changed_after_votes, **dict.fromkeys(changed, now)}
        marks = {str(name): marks[name] for name in self.feature_names if name in marks}
        study = replace(self.study, prior=replace(self.study.prior, changed_after_votes=marks or None))
        return replace(self, study=study, prior=replace(self.prior, changed_after_votes=marks))

    @cached_property
    def standalone(self) -> Study:
        """The study with the content of its tables of knowledge written out: it needs no file but the data."""
        prior, blocks = self.study.prior, self.study.blocks
        from_files = prior.table is not None or isinstance(blocks, GeneSetBlocks)
        stated = [prior.weights, *(expert.weights for expert in (prior.experts or {}).values())]
        if isinstance(prior.weights, Weights) and (from_files or prior.files or any(part.lists for part in stated)):
            lists = prior.trust_in_lists == LEARNED
            weights = _written_out(self.prior.agreed or self.prior, self.feature_names, lists, prior.weights.default)
            experts = {
                name: Expert(_written_out(knowledge, self.feature_names, lists), confirmed=knowledge.confirmed)
                for name, knowledge in self.prior.experts.items()
            }
            prior = replace(prior, weights=weights, experts=experts or None, table=None, sheet=None)
            prior = replace(prior, aliases=None, unknown="skip")
        if blocks is None or isinstance(blocks, TableBlocks | GeneSetBlocks):
            blocks = self.decision.blocks or None  # files are blocks where the study has none
        constraints = tuple(with_costs(constraint, self.prior.costs) for constraint in self.study.constraints)
        parts: dict[str, Any] = {"prior": prior, "blocks": blocks, "constraints": constraints}
        changed = {key: part for key, part in parts.items() if part != getattr(self.study, key)}
        return replace(self.study, **changed) if changed else self.study


def _opinions(entry: Mapping[str, Any] | None) -> list[Any]:
    """Return what was stated of a feature and by whom, without the reasons."""
    entry = entry or {}
    return [entry.get("weight"), *((name, stated.get("weight")) for name, stated in entry.get("experts", {}).items())]


def _written_out(
    knowledge: PriorKnowledge, feature_names: NDArray[Any], keep_lists: bool, default: float = DEFAULT_WEIGHT
) -> Weights:
    """Return what is stated of features by their names; patterns and blocks may be kept, as their lists matter."""
    reasons = tuple((name, tuple(texts.items())) for name, texts in knowledge.reasons.items())
    kept = [part for part in knowledge.lists if keep_lists and part.kind != "weight"]
    votes: dict[str, set[float]] = {}
    for part in kept:
        for position in part.members:
            votes.setdefault(str(feature_names[position]), set()).add(part.votes)
    listed = {name for name, different in votes.items() if len(different) == 1}  # others would contradict each other
    patterns, blocks = (
        tuple((part.name, part.stated) for part in kept if part.kind == kind) for kind in ("pattern", "block")
    )
    features = tuple((name, stated) for name, stated in knowledge.stated.items() if name not in listed)
    return Weights(default, features=features, patterns=patterns, blocks=blocks, reasons=reasons)
