"""ResolvedStudy: a study that is read, checked and tied to its data; and what its defaults were in earlier versions."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from .. import __version__
from ..constraints import ConstraintSystem, resolve
from ..constraints.supported import SUPPORTED, asks_for_supported, with_supported
from ..constraints.weighted_sums import with_costs
from ..data.feature_data import FeatureData
from ..decision_problem import knowledge_advice, size_advice
from ..ensemble.evidence import Evidence
from ..ensemble.features_per_model import features_advice, features_per_model
from ..ensemble.progress import Progress
from ..exceptions import Advice
from ..priors import DEFAULT_WEIGHT, PriorKnowledge
from ..selection import Selection
from ..workflow import Decision
from .schema import GeneSetBlocks, TableBlocks
from .study import Study
from .weights import Expert, Weights

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
    def needs_noise(self) -> bool:
        """Whether the decision waits for the number of features that the data support: `max_size: supported`."""
        return self.supported is None and any(map(asks_for_supported, self.decision.constraints))

    def sized(self, n: int) -> ResolvedStudy:
        """Return the study with the number of features that the data support."""
        decision = self.decision.but(constraints=with_supported(self.decision.constraints, n))
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
        """What is different from the version of ubayfs that wrote the study, such as defaults that it rests on."""
        return version_advice(self.study, self.prior.unlikely)

    @property
    def features_per_model(self) -> int | str:
        """The most features that a run may choose, or "random"."""
        return features_per_model(self.study.evidence.n_features_per_model, len(self.feature_names))

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
        if self.needs_noise:  # raises
            decision = decision.but(constraints=with_supported(decision.constraints, SUPPORTED))
        return decision.make(evidence, self.data, None if self.needs_noise else self.system, self.prior)

    def with_seeds(self, evidence: Evidence) -> ResolvedStudy:
        """Return the study with what was drawn, or another version took, where it left the choice: it repeats this."""
        ensemble, decision = self.study.evidence, self.study.decision
        per_model = evidence.settings.get("n_features_per_model", self.features_per_model)
        if ensemble.seed is not None and decision.seed is not None and per_model == self.features_per_model:
            return self
        if per_model != self.features_per_model:
            ensemble = replace(ensemble, n_features_per_model=per_model)
        if ensemble.seed is None:
            ensemble = replace(ensemble, seed=evidence.settings["seed"]["entropy"])
        if decision.seed is None:
            decision = replace(decision, seed=secrets.randbits(63))
        study = replace(self.study, evidence=ensemble, decision=decision)
        return replace(self, study=study, decision=self.decision.but(random_state=decision.seed))

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

    def standalone(self) -> Study:
        """Return the study with the content of its tables of knowledge written out: it needs no file but the data."""
        prior, blocks = self.study.prior, self.study.blocks
        from_files = prior.table is not None or isinstance(blocks, GeneSetBlocks)
        given = [prior.weights, *(expert.weights for expert in (prior.experts or {}).values())]
        if isinstance(prior.weights, Weights) and (from_files or prior.files or any(part.lists for part in given)):
            weights = _written_out(self.prior.agreed or self.prior, prior.weights.default)
            experts = {
                name: Expert(_written_out(known), confirmed=known.confirmed)
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


def _written_out(known: PriorKnowledge, default: float = DEFAULT_WEIGHT) -> Weights:
    """Return what is stated of features by their names."""
    reasons = tuple((name, tuple(texts.items())) for name, texts in known.reasons.items())
    return Weights(default, features=tuple(known.stated.items()), reasons=reasons)


# -- what another version took for granted -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Change:
    """A default, or the meaning of a value, that is another one since a version."""

    since: tuple[int, int]
    key: str  # as a person looks for it in the file
    concerns: Callable[[Any, Collection[str]], bool]  # whether a study, and what it holds unlikely, rest on it
    former: str
    default: str


CHANGES = (
    Change(
        (0, 2),
        "evidence.n_features_per_model",
        lambda study, unlikely: study.evidence.n_features_per_model is None,
        "10, or all features if there are fewer",
        "a quarter of the features, at most 10",
    ),
    Change(
        (0, 2),
        "data.missing: median",
        lambda study, unlikely: study.data.missing == "median",
        "the median of all samples, for every selector",
        "the median of the samples of each run; fisher and mrmr use the values that are present",
    ),
    Change(
        (0, 2),
        "the weight 'unlikely'",
        lambda study, unlikely: bool(unlikely),
        "a constraint exclude of rho 1",
        "taken only if it has over half of all models' votes more than the feature it displaces (exclude, price 0.5)",
    ),
)


def version_advice(study: Any, unlikely: Collection[str] = ()) -> tuple[Advice, ...]:
    """Return what is different from the version of ubayfs that wrote a study; nothing if it is this or unknown.

    `unlikely` are the features that it holds unlikely, once its tables are read.
    """
    written = str(study.versions.get("ubayfs", __version__))
    before, now = _release(written), _release(__version__)
    if before == now:
        return ()
    changed = [
        Advice("changed_default", {"key": c.key, "former": c.former, "default": c.default, "written": written})
        for c in CHANGES
        if before is not None and before < c.since and c.concerns(study, unlikely)
    ]
    return tuple(changed) or (Advice("other_version", {"written": written, "present": __version__}),)


def _release(version: str) -> tuple[int, int] | None:
    """Return the first two numbers of a version, within which results stay the same."""
    found = re.match(r"(\d+)\.(\d+)", version)
    return None if found is None else (int(found[1]), int(found[2]))
