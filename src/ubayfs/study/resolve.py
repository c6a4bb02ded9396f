"""Read, check and tie a study to its data, once.

Everything that can be wrong before the ensemble runs is found here, and all of it is raised in one error.
"""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass, replace
from functools import cached_property, partial
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._arguments import FeatureIndex, check_int
from ..constraints import Constraint, ConstraintSystem, resolve
from ..constraints.links import unlikely_constraints
from ..constraints.sizes import SUPPORTED, has_data_driven_size, with_supported
from ..constraints.weighted_sums import with_costs
from ..data.blocks import Blocks
from ..data.feature_data import FeatureData
from ..decision.problem import knowledge_advice, size_advice
from ..decision.selection import Selection
from ..decision.workflow import Decision
from ..ensemble.evidence import Evidence
from ..ensemble.features_per_model import features_advice
from ..ensemble.progress import Progress
from ..ensemble.subsampling import share_error, subsample_errors
from ..exceptions import Advice
from ..knowledge.matching import blocks_of
from ..knowledge.patterns import Names, is_pattern
from ..knowledge.rows import Knowledge
from ..priors import DEFAULT_WEIGHT
from ..priors.hyper import set_members
from ..priors.knowledge import LEARNED, PriorKnowledge
from ..selectors import as_selector, check_task
from .components import FAMILIES, Named
from .constraint_terms import check_constraints, expand_constraint
from .diagnostics import Path, Problems, below, reported
from .inputs import KnowledgeFiles, StudyData
from .schema import GeneSetBlocks, PrefixBlocks, TableBlocks
from .study import Study, default_advice, version_advice
from .weights import Expert, WeightResolver, Weights

if TYPE_CHECKING:
    from ..tables import Table

# Features that there may be beside those that a study names, where the data are not known.
_ROOM = 1000


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
    resolver = _Resolver(study, n_models=n_models)
    needed = any(constraint.needs_data for constraint in study.constraints) or study.outputs.reduced_table
    needed |= study.blocks is None and not isinstance(study.data.path, str)  # its files are blocks
    if isinstance(data, FeatureData):
        resolver.input.use(data)
    elif data == "read" or (data == "if needed" and needed):
        resolver.input.read()
    resolved = resolver.resolve(feature_names)
    resolver.problems.raise_any()
    assert resolved is not None
    return resolved


def draft_study(
    study: Study, data: FeatureData, n_models: int
) -> tuple[ResolvedStudy | None, PriorKnowledge | None, Blocks | None, Problems]:
    """Return a study tied to its data, what is known of features, the blocks, and all that is wrong.

    Knowledge and blocks are there as far as they can be read, also while something else is wrong; the study is not.
    """
    resolver = _Resolver(study, n_models=n_models)
    resolver.input.use(data)
    return resolver.resolve(None), resolver.known, resolver.blocks, resolver.problems


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
    resolver = _Resolver(study, problems, None if evidence is None else evidence.n_models)
    if evidence is None:
        resolver.input.read()
    resolver.resolve(None if evidence is None else evidence.feature_names)


def draft_data(study: Study) -> tuple[Table | None, FeatureData | None, Problems]:
    """Return the table and the data of a study, as far as they can be read, and all that is wrong with them."""
    resolver = _Resolver(study)
    resolver.input.read()
    return resolver.input.table, resolver.input.data, resolver.problems


class _Resolver:
    """Resolves a study. Parts that are wrong have their defaults; what depends on them is not checked."""

    def __init__(self, study: Study, problems: Problems | None = None, n_models: int | None = None) -> None:
        self.study = study
        self.problems = study.new_problems() if problems is None else problems
        self.n_models = n_models or study.evidence.n_models
        self.known: PriorKnowledge | None = None
        self.blocks: Blocks | None = None
        self.files = KnowledgeFiles(study, self.problems)
        self.input = StudyData(study, self.problems, self.files.read)

    def resolve(self, feature_names: Any) -> ResolvedStudy | None:
        """Tie everything to the features; None if that cannot be done, or should not for the problems there are."""
        study, problems = self.study, self.problems
        if feature_names is not None:
            self.input.use_names(feature_names)
        aliases = self.files.aliases(study.prior.aliases, "prior")
        table = self.files.table(study.prior, ("prior",), "weight", aliases=aliases)
        self._check_ensemble()
        tables = {
            name: self.files.table(expert, ("prior", "experts", name), "weight", aliases=aliases)
            for name, expert in (study.prior.experts or {}).items()
        }
        self.block_rows = self.files.block_rows()
        self.names = self._names()
        names, n_features = self.names.names, self.input.n_features
        self.blocks = blocks = self._blocks()
        resolver = WeightResolver(
            self.names, blocks, self.block_names, self.n_models, problems, self.files.rows, aliases
        )
        given_weights = study.prior.weights
        if isinstance(given_weights, tuple) and len(n_features) > 1 and len(given_weights) in n_features:
            given_weights = Weights()  # there may be one for each feature
        self.known = known = resolver.resolve(study.prior, given_weights, table, tables)
        prior = self._prior(known.weights, blocks)
        if table is not None and any(with_costs(given, {"": 0.0}) is not given for given in study.constraints):
            self._check_costs(table)
        sized = with_supported(study.constraints, study.trust.max_supported)  # until p-values give the number
        constraints = [
            expand_constraint(given, self.names, self.block_names, below(problems, "constraints", i, given.kind))
            for i, given in enumerate(with_costs(constraint, known.costs) for constraint in sized)
        ]
        if self.names.guessed:
            constraints = [None if _largest(given) > _ROOM else given for given in constraints]
        constraints += unlikely_constraints(known.unlikely)
        known_blocks = blocks if problems.is_sound("blocks") else None
        system = check_constraints(constraints, names, n_features, known_blocks, self.input.data, problems)
        if problems.found or self.names.guessed:
            return None
        settings = {**study.decision.arguments(), "optimizer": FAMILIES["optimizer"].build(study.decision.optimizer)}
        given = tuple(constraint for constraint in constraints if constraint is not None)
        learned = study.prior.trust_in_lists == LEARNED  # needs the lists, too
        settings |= {"weights": known if learned else known.weights, "trust_in_lists": study.prior.trust_in_lists}
        decision = Decision(prior=prior, constraints=given, blocks=blocks, **settings)
        return ResolvedStudy(
            study, np.array(names, dtype=object), self.input.data, self.input.table, decision, known, system
        )

    def _names(self) -> Names:
        """Return the names of the features; if they are not known, those that the study names, and room for others."""
        if self.input.features is not None:
            return Names(self.input.features, ordered=self.input.ordered)
        prior = self.study.prior
        stated = [(("prior", "experts", name), expert.weights) for name, expert in (prior.experts or {}).items()]
        for at, weights in [(("prior", "weights"), prior.weights), *stated]:
            for word, source in weights.lists if isinstance(weights, Weights) else ():
                if isinstance(source, str):
                    self.files.rows(source, (*at, word))
        self.input.n_features = range(sys.maxsize)
        named = {*self.files.features, *_texts([self.study.blocks, self.study.constraints, prior])}
        return Names(dict.fromkeys([*sorted(named), *(f"feature {i}" for i in range(_ROOM))]), guessed=True)

    def _blocks(self) -> Blocks | None:
        """Return the blocks with their members by name; patterns are replaced by what they match."""
        given, problems = self.study.blocks, self.problems
        was_sound, wrong = problems.is_sound("blocks"), problems.wrong.keys_below("blocks")
        members: Mapping[str, Sequence[Any]] = {}
        file = None
        data, section = self.input.data, self.study.data
        if isinstance(given, PrefixBlocks) and self.names.guessed:
            problems(("blocks",), "")  # blocks depend on the names, which are not known
        elif isinstance(given, PrefixBlocks):
            members = given.members(self.names.names)
            if not members:
                rule = f"no feature has {given.prefix!r} in its name, so that there are no blocks."
                problems(("blocks", "prefix"), rule)
        elif isinstance(given, TableBlocks | GeneSetBlocks):
            file = self._file_blocks(given)
            members = file.members
        elif given is None and data is not None and data.blocks is not None:
            members = {name: list(items) for name, items in data.blocks.members.items()}
        elif given is None and data is None and not isinstance(section.path, str) and problems.found:
            members = dict.fromkeys(section.path, ())
            problems(("blocks",), "")  # files are blocks, but which features they have is not known
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
        known |= file is not None and bool(members)  # all of the file, if it is not known which are wanted
        self.block_names = Names(dict.fromkeys([*members, *sorted(wrong, key=str)]) if known else None, "block")
        made = {name: tuple(items) for name, items in members.items() if items}
        return (Blocks(made) if file is None else file) if members else None

    def _file_blocks(self, given: TableBlocks | GeneSetBlocks) -> Blocks:
        """Return the blocks that rows of a table, or of a file of gene sets, put features into."""
        path = ("blocks", "table" if isinstance(given, TableBlocks) else "gene_sets")
        if self.block_rows is None or not self.problems.is_sound(*path):
            return Blocks({})
        are_gene_sets = isinstance(given, GeneSetBlocks)
        return blocks_of(self.block_rows, self.names.names, partial(self.problems, path), are_gene_sets)

    def _prior(self, weights: NDArray[np.float64], blocks: Blocks | None) -> Any:
        """Return the prior; its settings are checked with the features."""
        choice = self.study.prior.kind
        prior = FAMILIES["prior"].build(choice)
        if isinstance(choice, Named) and self.problems.is_sound("prior", "kind", "set_weights", -1):
            sets = dict(choice.settings).get("set_weights", ())
            self._check_sets(sets, blocks)
            # One number for each feature cannot be checked before these are known.
            certain = len(self.input.n_features) == 1 or not any(isinstance(v, tuple) for _, v in choice.settings)
            if not sets and certain:
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
            is_feature = members in index and not self.names.guessed
            if self.problems.n_reports == n_before and (is_feature or members not in self.block_names):
                with reported(self.problems, (*path, position, "set")):
                    set_members(members, index, Blocks.of(blocks))

    def _check_costs(self, table: Knowledge) -> None:
        """Report features of a table without a cost, which a budget needs."""
        for row in table.rows if "cost" in table.columns else ():
            if row.feature is not None and row.cost is None:
                self.problems(("prior", "table"), f"{row.place}: feature {row.feature!r} has no cost; 0 if it is free.")

    def _check_ensemble(self) -> None:
        """Check what :func:`ubayfs.collect_evidence` and :func:`ubayfs.decide` would find wrong with numbers."""
        problems, section = self.problems, self.study.evidence
        samples, data, features = self.input.samples, self.input.data, self.input.features
        if problems.is_sound("evidence", "n_features_per_model") and features:
            with reported(problems, ("evidence", "n_features_per_model")):
                self.study.features_per_model(len(features))
        least = self.study.decision.min_votes
        sound = problems.is_sound("decision", "min_votes") and problems.is_sound("evidence", "n_models")
        if least > section.n_models and sound:
            rule = f"must be at most the number of models, {section.n_models}, the most votes that a feature can have"
            problems(("decision", "min_votes"), f"{rule}; got {least}.")
        stated = self.study.data.task if problems.is_sound("data", "task") else None
        self._check_selectors(stated if samples is None or not self.input.knows_target() else samples.target.task)
        share = section.train_size if problems.is_sound("evidence", "train_size") else None
        if samples is not None:
            for error in subsample_errors(samples, share):
                problems(("data", "target") if error.argument == "y" else ("evidence", "train_size"), error.rule)
        elif share is not None and self.input.most_samples is not None:
            units = "samples" if self.study.data.groups is None and problems.is_sound("data", "groups") else "groups"
            about_share = share_error(self.input.most_samples, share, units, at_most=True)
            if about_share is not None:
                problems(("evidence", "train_size"), about_share.rule)
        if data is not None and data.constant.all():
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


def _texts(value: Any) -> Iterator[str]:
    """Yield all texts inside a value that are not patterns."""
    if isinstance(value, str) and not is_pattern(value):
        yield value
    elif isinstance(value, Mapping):
        yield from _texts([*value, *value.values()])
    elif isinstance(value, tuple | list | set | frozenset):
        yield from (text for entry in value for text in _texts(entry))
    elif is_dataclass(value):
        yield from _texts(vars(value))


def _largest(constraint: Constraint | None) -> int:
    """Return the largest whole number among the arguments of a constraint, which may ask for so many features."""
    given = () if constraint is None else constraint.arguments
    return max((value for _, value in given if isinstance(value, int)), default=0)


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
    supported : int or None
        The number of features that the data support, if the study asks for it; set by :meth:`sized`.
    """

    study: Study
    feature_names: NDArray[Any]
    data: FeatureData | None
    table: Table | None
    decision: Decision
    prior: PriorKnowledge
    system: ConstraintSystem | None = None
    supported: int | None = None

    @property
    def needs_related(self) -> bool:
        """Whether the decision waits for the number of features that the data support: `max_size: supported`."""
        return self.supported is None and any(map(has_data_driven_size, self.decision.constraints))

    def sized(self, n: int) -> ResolvedStudy:
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
        of_ensemble = features_advice([self.features_per_model], len(self.feature_names))
        of_data = () if self.data is None else self.data.advice
        of_size: tuple[Advice, ...] = ()
        if self.data is not None and self.system is not None:  # else it depends on correlations: see the decision
            of_size = size_advice(self.system, ~self.data.constant)
        return (*self.version_advice, *of_ensemble, *of_data, *of_size, *self.notes)

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
        study = replace(self.study, evidence=ensemble, decision=decision)
        return replace(self, study=study, decision=self.decision.replace(random_state=decision.seed))

    def changed_since(self, earlier: Mapping[str, Mapping[str, Any]], now: str) -> ResolvedStudy:
        """Return the study with a mark on each feature whose knowledge is not that of an earlier decision.

        `earlier` is ``selection.knowledge`` of a decision on the same evidence, whose votes were seen. Its marks stay.
        """
        known = self.prior.to_dict()
        changed = {name for name in {*known, *earlier} if _opinions(known.get(name)) != _opinions(earlier.get(name))}
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
        given = [prior.weights, *(expert.weights for expert in (prior.experts or {}).values())]
        if isinstance(prior.weights, Weights) and (from_files or prior.files or any(part.lists for part in given)):
            lists = prior.trust_in_lists == LEARNED
            weights = _written_out(self.prior.agreed or self.prior, self.feature_names, lists, prior.weights.default)
            experts = {
                name: Expert(_written_out(known, self.feature_names, lists), confirmed=known.confirmed)
                for name, known in self.prior.experts.items()
            }
            prior = replace(prior, weights=weights, experts=experts or None, table=None, sheet=None)
            prior = replace(prior, aliases=None, unknown="skip")
        if blocks is None or isinstance(blocks, TableBlocks | GeneSetBlocks):
            blocks = self.decision.blocks or None  # files are blocks where the study has none
        constraints = tuple(with_costs(constraint, self.prior.costs) for constraint in self.study.constraints)
        return replace(self.study, prior=prior, blocks=blocks, constraints=constraints)


def _opinions(entry: Mapping[str, Any] | None) -> list[Any]:
    """Return what was stated of a feature and by whom, without the reasons."""
    entry = entry or {}
    return [entry.get("weight"), *((name, stated.get("weight")) for name, stated in entry.get("experts", {}).items())]


def _written_out(
    known: PriorKnowledge, feature_names: NDArray[Any], keep_lists: bool, default: float = DEFAULT_WEIGHT
) -> Weights:
    """Return what is stated of features by their names; patterns and blocks may be kept, as their lists matter."""
    reasons = tuple((name, tuple(texts.items())) for name, texts in known.reasons.items())
    kept = [given for given in known.lists if keep_lists and given.kind != "weight"]
    votes: dict[str, set[float]] = {}
    for given in kept:
        for position in given.members:
            votes.setdefault(str(feature_names[position]), set()).add(given.votes)
    listed = {name for name, different in votes.items() if len(different) == 1}  # others would contradict each other
    patterns, blocks = (tuple((g.name, g.stated) for g in kept if g.kind == kind) for kind in ("pattern", "block"))
    features = tuple((name, stated) for name, stated in known.stated.items() if name not in listed)
    return Weights(default, features=features, patterns=patterns, blocks=blocks, reasons=reasons)
