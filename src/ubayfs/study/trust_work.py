"""Reliability of the answer of a study: what a level asks for is computed, what is stored already is not repeated."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..constraints.sizes import has_data_driven_size
from ..decision.selection import Selection
from ..decision.workflow import Decision
from ..ensemble.checkpoint import identity
from ..ensemble.evidence import Evidence
from ..ensemble.progress import Progress
from ..exceptions import Advice, EnsembleError, InputError, UBayFSError
from ..selectors.adapters import as_selector
from ..trust.cohorts import halves_of_sites
from ..trust.front import Front, front
from ..trust.gene_sets import gene_sets_of
from ..trust.halves import collect_halves
from ..trust.procedure import Procedure
from ..trust.related import SizedInParts, favored_beforehand, related_of, sized_in_parts, supported_size
from ..trust.repeats import processes_for
from ..trust.reproducibility import reproducibility_of
from ..trust.shuffled_votes import collect_shuffled_votes
from ..trust.trust import Trust, higher, level_for
from .resolve import ResolvedStudy

if TYPE_CHECKING:
    from ..trust.growth import Growth
    from ..trust.validation import Validation

# Nodes of branch and bound for each point of a front: the same on every machine.
_FRONT_NODES = 500
# Gives the callback for the progress of a part, such as ("half-splits", "splits"), as long as it is done.
Watch = Callable[[str, str], AbstractContextManager[Progress]]


def chosen_level(study: ResolvedStudy) -> str:
    """Return the level of a study: that of its file, or what is worth its counted work."""
    data, section = study.data, study.study
    assert data is not None
    if section.trust.level is not None:
        return section.trust.level
    return level_for(section.evidence.n_models, data.n_samples, data.n_features, as_selector(section.selector))


def decision_digest(study: ResolvedStudy, evidence: Evidence) -> str:
    """Return a digest of all that a validation depends on: the same exactly for the same decision on the same data."""
    asked, trust = study.standalone.to_dict(), study.study.trust
    decision = {
        key: value for key, value in asked.get("decision", {}).items() if key not in ("n_alternatives", "differ_by")
    }
    folds: list[Any] = [trust.cv, trust.n_repeats, trust.sizes, trust.seed]
    if any(map(has_data_driven_size, study.decision.constraints)):
        folds += [trust.max_supported, trust.n_shuffles]
    ensemble = [identity(evidence.settings), evidence.settings.get("n_models")]
    parts = [*(asked.get(key) for key in ("prior", "blocks", "constraints")), decision, folds, ensemble]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


@dataclass
class TrustWork:
    """The trust work of one study on its evidence, part by part."""

    study: ResolvedStudy  # with data, if anything is to be collected
    evidence: Evidence
    trust: Trust  # what is computed or stored; it grows
    watch: Watch  # a part that it stops is used as far as it is done, and no other one is begun after it
    checkpoint: Path | None = None  # finished repeats are stored below it
    all_processors: bool = False  # whether what takes long may use them, where the study does not say
    stopped: bool = False

    def __post_init__(self) -> None:
        self.trust = self.trust.of(self.evidence, decision_digest(self.study, self.evidence))
        if self.evidence.cohorts and self.study.data is None:
            self.trust = replace(self.trust, halves=halves_of_sites(self.evidence))

    def size(self) -> tuple[Advice, ...]:
        """Set the number of features that the data support, if the decision needs it; advice where it is none."""
        if not self.study.needs_related:
            return ()
        self._estimate_related()
        if self.trust.related is None:
            why = self.trust.problems.get("related", "the data are not at hand.")
            raise InputError(f"max_size: supported needs p-values of all features: {why}", argument="constraints")
        posterior = self.study.decision.posterior(self.evidence, self.study.prior)
        size, advice = supported_size(self.trust.related, posterior, self.study.study.trust.max_supported)
        self.study = self.study.with_supported_size(size)
        return advice

    def run_level(self, level: str, selection: Selection) -> None:
        """Compute all that a level asks for of a decision."""
        self.collect(level)
        self.assess_reproducibility(selection)
        if level == "full" and self._has_target:
            self.validate()

    def collect(self, level: str) -> None:
        """Compute what no decision changes: p-values belong to the data, halves to the evidence.

        P-values take about two ensembles: only a study that asks for no trust at all goes without them.
        """
        if self._has_target and self.study.study.trust.level != "none":
            self._estimate_related()
            self._collect_shuffled_votes()
            self._estimate_gene_sets()
        if level == "none":
            return
        self.trust = replace(self.trust, level=higher(level, self.trust.level))
        self._collect_halves()

    @property
    def _has_target(self) -> bool:
        assert self.study.data is not None
        return self.study.data.target.task != "unsupervised"

    def assess_reproducibility(self, selection: Selection) -> None:
        """Compute the reproducibility of a decision from the halves that were collected."""
        halves = self.trust.halves
        if halves is not None:
            try:
                reproducibility = reproducibility_of(selection, halves, self.study.data)
                self.trust = replace(self.trust, reproducibility=reproducibility)
            except EnsembleError as error:
                self._problem("reproducibility", error)

    def front(self, selection: Selection) -> Front | None:
        """Return the best set for each size and budget that the study asks for, with what is known of each."""
        outputs, trust = self.study.study.outputs, self.trust
        if not (outputs.front_sizes or outputs.front_budgets):
            return None
        return front(
            selection,
            sizes=outputs.front_sizes or None,
            budgets=outputs.front_budgets or None,
            related=trust.related,
            reproducibility=trust.reproducibility,
            validation=trust.validation,
            node_limit=_FRONT_NODES,
        )

    def _estimate_related(self) -> None:
        """Test all features against the target, unless that was done; favored before votes were seen counts."""
        study, earlier = self.study, self.trust.related
        if self.stopped or study.data is None:
            return
        n, prior = study.study.trust.n_shuffles, study.prior
        favored = favored_beforehand(prior.weights, prior.changed_after_votes, study.feature_names)
        names = study.feature_names[favored]
        if earlier is not None and earlier.n_shuffles >= n and np.isin(names, earlier.favored).all():
            return
        try:
            related = related_of(study.data, favored, n, study.study.trust.seed)
            votes = None if earlier is None else earlier.shuffled_votes
            self.trust = replace(self.trust, related=replace(related, shuffled_votes=votes))
        except UBayFSError as error:
            self._problem("related", error)

    def _estimate_gene_sets(self) -> None:
        """Test the gene sets of the study against the target, unless that was done."""
        sets, n, study = self.study.gene_sets, self.study.study.trust.n_shuffles, self.study
        if self.stopped or sets is None or study.data is None:
            return
        if (earlier := self.trust.gene_sets) is not None and earlier.n_shuffles >= n and earlier.tests(sets):
            return
        try:
            self.trust = replace(self.trust, gene_sets=gene_sets_of(study.data, sets, n, study.study.trust.seed))
        except UBayFSError as error:
            self._problem("gene_sets", error)

    def _collect_shuffled_votes(self) -> None:
        """Repeat the ensemble on shuffles of the target, if that is asked for and was not done."""
        related, n = self.trust.related, self.study.study.trust.n_vote_shuffles
        earlier = None if related is None else related.shuffled_votes
        if related is None or n <= (0 if earlier is None else earlier.n_shuffles):
            return
        settings: dict[str, Any] = {"evidence": self.evidence, "n_vote_shuffles": n}
        votes = self._part("vote_shuffles", "shuffled votes", "shuffles", collect_shuffled_votes, **settings)
        if votes is not None and not self.stopped:
            self.trust = replace(self.trust, related=replace(related, shuffled_votes=votes))

    def _collect_halves(self) -> None:
        """Repeat the ensemble on halves of the samples, as far as that was not done."""
        earlier, n = self.trust.halves, self.study.study.trust.n_splits
        if earlier is None or earlier.n_splits < n or not earlier.complete:
            settings: dict[str, Any] = {"n_splits": n, "earlier": earlier}
            halves = self._part("reproducibility", "half-splits", "splits", collect_halves, **settings)
            if halves is not None and halves.n_done:
                self.trust = replace(self.trust, halves=halves)

    def validate(self) -> None:
        """Validate the sets that this procedure selects on folds, unless that was done; forecast, if that is asked."""
        earlier = self.trust.validation
        if earlier is None or not earlier.complete:
            digest = decision_digest(self.study, self.evidence)
            validation = self._part("validation", "folds", "folds", _validated, digest[:12], study=self.study)
            if validation is not None and validation.n_done:
                self.trust = replace(self.trust, validation=validation, validated=digest)
        validation, growth = self.trust.validation, self.trust.growth
        wanted = self.study.study.trust.growth and not (growth is not None and growth.complete)
        if validation is not None and wanted:
            growth = self._part("growth", "parts", "parts", _grown, study=self.study, validation=validation)
            self.trust = replace(self.trust, growth=growth)

    def _part(
        self, part: str, label: str, unit: str, work: Callable[..., Any], digest: str = "", **settings: Any
    ) -> Any:
        """Return what a part computes; None if it cannot be done, or an earlier one was stopped."""
        if self.stopped:
            return None
        study = self.study.study
        folder = f"{part}-{digest}" if digest else part
        checkpoint = None if self.checkpoint is None else self.checkpoint / folder  # of just what it does
        n_jobs = workers_of(self.study) if self.all_processors else study.evidence.n_jobs
        common = {"random_state": study.trust.seed, "n_jobs": n_jobs, "checkpoint": checkpoint}
        try:
            with self.watch(label, unit) as update:

                def on_progress(done: int, total: int) -> bool:
                    self.stopped |= update(done, total) is False
                    return not self.stopped

                return work(self.study.data, _ensemble(self.study), **settings, **common, on_progress=on_progress)
        except UBayFSError as error:
            self._problem(part, error)
            return None

    def _problem(self, part: str, error: UBayFSError) -> None:
        self.trust = replace(self.trust, problems={**self.trust.problems, part: str(error)})


def _ensemble(study: ResolvedStudy) -> dict[str, Any]:
    """Return the arguments of the ensemble that is repeated."""
    section = study.study.evidence
    ensemble = {name: getattr(section, name) for name in ("n_models", "train_size")}
    return {**ensemble, "selector": study.study.selector, "n_features_per_model": study.features_per_model}


def workers_of(study: ResolvedStudy) -> int | None:
    """Return the workers of repeats: those of the study, or all processors where processes are worth it."""
    n_jobs = study.study.evidence.n_jobs
    if n_jobs is None and study.data is not None:
        procedure = Procedure.from_arguments(study.data, _ensemble(study))
        n_jobs = -1 if processes_for(-1, procedure, study.study.trust.n_splits) > 1 else None
    return n_jobs


def validate_study(
    study: ResolvedStudy, on_progress: Progress | None = None, checkpoint: Path | None = None
) -> Validation:
    """Return how well the sets that a study selects predict held-out samples."""
    seed = study.study.trust.seed
    return _validated(study.data, _ensemble(study), study, seed, workers_of(study), on_progress, checkpoint)


def _validated(
    data: Any,
    ensemble: Mapping[str, Any],
    study: ResolvedStudy,
    random_state: int,
    n_jobs: int | None,
    on_progress: Progress | None,
    checkpoint: Path | None = None,
) -> Validation:
    from ..trust.cross_validation import Options, validate_procedure

    section = study.study.trust
    folds: dict[str, Any] = {"cv": section.cv, "n_repeats": section.n_repeats, "sizes": section.sizes or None}
    options = Options(**folds, random_state=random_state, n_jobs=n_jobs, on_progress=on_progress)
    procedure, decision, decide_for = _procedure(data, ensemble, study)
    return validate_procedure(procedure, decision, options, study.prior, decide_for, checkpoint)


def _grown(
    data: Any,
    ensemble: Mapping[str, Any],
    study: ResolvedStudy,
    validation: Validation,
    checkpoint: Path | None = None,
    **options: Any,
) -> Growth:
    from ..trust.growth import growth_of

    procedure, decision, decide_for = _procedure(data, ensemble, study)
    return growth_of(procedure, decision, study.prior, decide_for, validation, **options)


def _procedure(
    data: Any, ensemble: Mapping[str, Any], study: ResolvedStudy
) -> tuple[Procedure, Decision, SizedInParts | None]:
    """Return what is repeated, and what sets the size in parts of the samples."""
    procedure, section = Procedure.from_arguments(data, ensemble), study.study.trust
    return procedure, *sized_in_parts(procedure, study.decision, section.max_supported, section.n_shuffles, study.prior)
