"""ResolvedStudy: a study that is read, checked and tied to its data, once."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.feature_data import FeatureData
from ..ensemble.collect import Progress
from ..ensemble.evidence import Evidence
from ..selection import Selection
from ..tables import Table
from ..workflow import Decision, collect_evidence
from .checking import examine
from .features import find_features, find_table
from .knowledge import TableBlocks, Weights
from .model import Study
from .resolving import Resolver

Knowledge = Mapping[str, float | str]


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
    """

    study: Study
    feature_names: NDArray[Any]
    data: FeatureData | None
    table: Table | None
    decision: Decision
    knowledge: Knowledge

    def collect(
        self, on_progress: Progress | None = None, checkpoint: str | os.PathLike[str] | None = None
    ) -> Evidence:
        """Run the ensemble."""
        section = self.study.evidence
        return collect_evidence(
            self.data,
            selector=self.study.selector,
            n_models=section.n_models,
            train_size=section.train_size,
            n_features_per_model=section.n_features_per_model,
            random_state=section.seed,
            n_jobs=section.n_jobs,
            on_progress=on_progress,
            checkpoint=checkpoint,
        )

    def decide(self, evidence: Evidence) -> Selection:
        """Choose the best set from evidence, without warnings: see ``selection.advice``."""
        return self.decision.make(evidence, X=self.data)

    def with_seeds(self, evidence: Evidence) -> ResolvedStudy:
        """Return the study with the seeds that were drawn where it left the choice, so that it repeats the result."""
        ensemble, decision = self.study.evidence, self.study.decision
        if ensemble.seed is None:
            ensemble = replace(ensemble, seed=evidence.settings["seed"]["entropy"])
        if decision.seed is None:
            decision = replace(decision, seed=secrets.randbits(63))
        study = replace(self.study, evidence=ensemble, decision=decision)
        return replace(self, study=study, decision=replace(self.decision, random_state=decision.seed))

    def standalone(self) -> Study:
        """Return the study with the content of its tables of knowledge written out: it needs no file but the data."""
        prior, blocks = self.study.prior, self.study.blocks
        if prior.table is not None and isinstance(prior.weights, Weights):
            stated = [(name, self.knowledge[name]) for name in self.feature_names if name in self.knowledge]
            weights = Weights(prior.weights.default, features=tuple(stated))
            prior = replace(prior, weights=weights, table=None, sheet=None)
        if isinstance(blocks, TableBlocks):
            blocks = self.decision.blocks
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
        Lists all problems at once.
    """
    problems = study.new_problems()
    table = found = None
    correlated = any(constraint.kind == "decorrelate" for constraint in study.constraints)
    if data == "read":
        found = problems.unless_any(examine(study, problems))
        table = find_table(study.data, study.folder, problems)
    elif data == "if needed" and (correlated or study.outputs.reduced_table):
        table = find_table(study.data, study.folder, problems)
        found = problems.unless_any(find_features(study.data, table, problems))
    names = np.asarray(found.feature_names if feature_names is None and found else feature_names, dtype=object)
    arguments = study.resolve(names, problems, n_models)
    stated = Resolver(names, study.folder, problems)
    said = stated.said(study.prior, stated.blocks(study.blocks), study.evidence.n_models)
    problems.raise_any()
    knowledge = dict(said.features) if isinstance(said, Weights) else {}
    return ResolvedStudy(study, names, found, table, Decision(**arguments), {str(k): v for k, v in knowledge.items()})
