"""What is computed about an open study, in the process of its worker: data and evidence stay here, decisions are made.

The answer comes in stages, each of which uses the results of earlier ones: set, reasons, plots, alternatives, what is
left out, figures, trust.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from .._files import write_atomically
from .._plain import number
from ..constraints import ConstraintSystem, resolve
from ..data.blocks import Blocks
from ..data.feature_data import FeatureData
from ..decision.selection import Selection
from ..ensemble.checkpoint import Checkpoint, identity, read_manifest
from ..ensemble.collect import ensemble_settings, gather, seed_of
from ..ensemble.evidence import Evidence
from ..exceptions import UBayFSError
from ..plotting import DISPLAYS, ReportData
from ..report import Answer, advice_facts, answer_of, with_trust
from ..report.answer_facts import LEVEL, alternatives, replacements, what_is_out, with_costs, with_effects
from ..report.facts import ChosenFeature
from ..report.plot_facts import feature_plots
from ..report.problem_facts import constraint_facts, correlations_of, is_proved, profile_of_data
from ..report.relations import with_relations
from ..results.finishing import ensemble_digest
from ..selectors import as_selector
from ..study.diagnostics import Problems
from ..study.inputs import FileContents
from ..study.resolve import ResolvedStudy, draft_data, draft_study
from ..study.study import Study
from ..study.trust_work import TrustWork, Watch
from ..trust.trust import Trust
from .facts import data_facts, table_facts
from .intake import too_large
from .staged_answer import AlternativesStage, FigureFact, LeftOutStage, PlotsStage, SetStage
from .state import State
from .study_facts import EnsembleProgress, ListedKnowledge, ReadFacts

EVIDENCE, TRUST, RUNS = "evidence.npz", "trust.npz", "runs"
STAGES = ("set", "reasons", "plots", "alternatives", "left_out", "figures", "trust")


class SingleEntryCache:
    """The last value that was computed, with the key that it depends on; another key computes a new one.

    Copies of its owner share it; it is replaced as a whole, so that threads need not wait for each other.
    """

    def __init__(self) -> None:
        self._last: tuple[tuple[Any, ...], Any] | None = None

    def get(self, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        """Return the value for a key; values of the key are compared as arrays, by identity, or else as they are."""
        last = self._last
        if last is None or len(last[0]) != len(key) or not all(map(_same, key, last[0])):
            self._last = None
            self._last = last = (key, make())
        return last[1]


def _same(first: Any, second: Any) -> bool:
    return np.array_equal(first, second) if isinstance(first, np.ndarray) else first is second or first == second


class Stages:
    """The data, evidence and answer of one study.

    Attributes
    ----------
    directory : Path
    state : State
        The one that is worked on.
    data, evidence, resolved, selection
        Of this state, as far as they are known; None where not.
    trust : Trust
        What is known of other samples, whatever is decided; :meth:`work` has what holds for the present set.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.state: State | None = None
        self.data: FeatureData | None = None
        self.evidence: Evidence | None = None
        self.trust = Trust()
        self._contents: FileContents = {}  # of the files of knowledge
        self._system = SingleEntryCache()  # constraints, tied to data
        self._read: Any = None  # what the data were read by
        self.written = SingleEntryCache()  # the directory of the answer that the last export wrote
        self.drawn: dict[str, tuple[Any, Mapping[str, bytes]]] = {}  # displays and their files, as last written
        self.best_sets = SingleEntryCache()  # by size
        self._forget()
        # A file that cannot be read is ignored: finished runs are stored apart, and are used again.
        with suppress(UBayFSError, OSError):
            self.evidence = Evidence.load(directory / EVIDENCE)
        with suppress(UBayFSError, OSError):
            self.trust = Trust.load(directory / TRUST)

    @property
    def study(self) -> Study:
        """The study of the state."""
        assert self.state is not None
        return self.state.study

    @property
    def required_data(self) -> FeatureData:
        """The data; UBayFSError if they are not read."""
        if self.data is None:
            raise UBayFSError("The data are not read yet.")
        return self.data

    @property
    def decided(self) -> Selection:
        """The set that was found; UBayFSError if there is none."""
        if self.selection is None:
            raise UBayFSError("There is no answer yet: the models have not voted, or the study has a problem.")
        return self.selection

    # -- data and evidence ---------------------------------------------------------------------------------------------

    def set_state(self, state: State) -> tuple[ReadFacts | None, Problems]:
        """Go on with another state; facts of the data if they are read anew, and all that is wrong with them."""
        self.state = state
        self._forget()
        key = ("cohorts",) if state.study.cohorts is not None else ("data", "sites")
        if state.study.cohorts is not None or state.study.data.sites is not None:
            self.data, problems = None, Problems()
            problems(key, "is of several sites: use `ubayfs select`; the report has what each site found.")
            return ReadFacts(), problems
        if not state.study.data.files[0]:
            self.data = None
            return ReadFacts(), Problems()
        if self.has_read(state):
            return None, Problems()
        self._read = (state.study.data, state.study.blocks is None)
        large = too_large(state.study.folder / path for path in state.study.data.files)
        if large is not None:
            self.data, problems = None, Problems()
            problems(("data", "path"), large)
            return ReadFacts(), problems
        table, self.data, problems = draft_data(state.study)
        of_table = None if table is None else table_facts(table)
        return ReadFacts(of_table, None if self.data is None else data_facts(self.data)), problems

    def _forget(self) -> None:
        """Begin with another state, or with other evidence."""
        self.resolved: ResolvedStudy | None = None
        self.selection: Selection | None = None
        self._draft: Any = None  # of `draft_study`
        self._work: tuple[Trust, TrustWork] | None = None  # that of the trust that was known when it was made
        self._answer: Answer | None = None
        self._report_data: ReportData | None = None  # but for trust

    def has_read(self, state: State) -> bool:
        """Return whether the data of a state are those that were read."""
        return self.data is not None and self._read == (state.study.data, state.study.blocks is None)

    def _drafted(self) -> Any:
        if self._draft is None:
            evidence = self.current()
            n_models = (self.study.evidence if evidence is None else evidence).n_models
            self._draft = draft_study(self.study, self.required_data, n_models, self._contents)
        return self._draft

    def resolve(self) -> ResolvedStudy:
        """Tie the study to its data; StudyError lists all that is wrong."""
        if self.resolved is None:
            resolved, _, _, problems = self._drafted()
            problems.raise_any()
            if not resolved.needs_related:
                resolved = replace(resolved, system=self._system_of(resolved))
            self.resolved = resolved
        return self.resolved

    @property
    def n_conditions(self) -> tuple[int, ...]:
        """The number of inequalities of each rule that is on."""
        system = self.resolve().system
        n_rules = len(self.study.constraints)
        return () if system is None else tuple(len(system.rows_of(part)) for part in system.parts[:n_rules])

    def _system_of(self, resolved: ResolvedStudy) -> ConstraintSystem:
        """Return the constraints of a study tied to data; those of before if they are the same, with what is known.

        Then a decision on other weights looks at a million inequalities once.
        """
        constraints, blocks = resolved.decision.constraints, Blocks.of(resolved.decision.blocks)

        def tied() -> ConstraintSystem:
            return resolved.system or resolve(constraints, resolved.feature_names, blocks, self.data)

        system: ConstraintSystem = self._system.get((constraints, blocks, self.data), tied)
        return system

    def knowledge(self) -> ListedKnowledge:
        """Return what files, patterns and blocks state of features and why, by expert, and the blocks.

        Also if something is wrong with the study.
        """
        if self.data is None or self.state is None:
            return ListedKnowledge()
        _, knowledge, blocks, _ = self._drafted()
        experts = {} if knowledge is None else {"": knowledge.agreed or knowledge, **knowledge.experts}
        by_name = {expert: dict(weights.features) for expert, weights in self.state.named_weights.items()}
        stated = {
            expert: {
                name: (word, of_expert.reasons.get(name, {}).get("why", ""))
                for name, word in of_expert.stated.items()
                if name not in by_name.get(expert, {})
            }
            for expert, of_expert in experts.items()
        }
        names, members = self.data.feature_names, Blocks.of(blocks).members
        listed = {
            block: [str(names[item]) if isinstance(item, int) else item for item in items]
            for block, items in members.items()
        }
        return ListedKnowledge(stated, listed)

    def _settings(self, seed: Any = None) -> dict[str, Any]:
        """Return the settings of the ensemble that the study asks for."""
        section = self.study.evidence
        ensemble = (section.n_models, section.train_size, section.n_features_per_model)
        settings = ensemble_settings(self.required_data, as_selector(self.study.selector), *ensemble)
        return settings | {"seed": seed_of(section.seed, None) if seed is None else seed}

    def current(self) -> Evidence | None:
        """Return the evidence if it is of these data and settings; finished runs make it, if all are stored."""
        if self.data is None:
            return None
        evidence = self.evidence
        if evidence is not None:
            settings = self._settings(evidence.settings.get("seed") if self.study.evidence.seed is None else None)
            same = identity(settings) == identity(evidence.settings)
            if same and evidence.n_models + len(evidence.failures) <= settings["n_models"]:
                return evidence
        stored = self.stored()
        if stored is not None and stored.n_models + len(stored.failures) == self._settings()["n_models"]:
            self.keep(stored)
            return stored
        return None

    @property
    def runs(self) -> Path:
        """Where finished runs of this ensemble are stored."""
        study, data = self.study, self.required_data
        return self.directory / RUNS / ensemble_digest(study, data, study.features_per_model(data.n_features))

    def stored(self) -> Evidence | None:
        """Return the finished runs of this ensemble as evidence; None if there are none."""
        return stored_evidence(self.runs, self.study.evidence.n_models, self.required_data)

    def counter(self) -> Callable[[], Any]:
        """Return a function that counts the votes of the finished runs of this ensemble, whatever is edited."""
        stored = partial(stored_evidence, self.runs, self.study.evidence.n_models, self.required_data)
        return lambda: None if (evidence := stored()) is None else evidence.counts

    def collect(self, on_progress: Callable[[int, int], bool]) -> Evidence:
        """Run the ensemble, or the rest of it; finished runs are stored at once."""
        return self.study.collect(self.data, on_progress, checkpoint=self.runs)

    def keep(self, evidence: Evidence) -> None:
        """Use evidence from now on, also after an end of the program."""
        self.evidence = evidence
        self._forget()
        evidence.save(self.directory / EVIDENCE)

    def ensemble_progress(self) -> EnsembleProgress:
        """Return how much of the ensemble is done."""
        if self.data is None or self.state is None:
            return EnsembleProgress()
        evidence = self.current()
        if evidence is None:
            stored = self.stored()
            return EnsembleProgress(n_stored=0 if stored is None else stored.n_models)
        n_done = evidence.n_models + len(evidence.failures)
        return EnsembleProgress(True, n_done >= self.study.evidence.n_models, evidence.n_models, n_done)

    # -- the stages of an answer ---------------------------------------------------------------------------------------

    def set(self) -> SetStage:
        """Return the best set, with the proof."""
        started = time.perf_counter()
        evidence = self.evidence
        assert evidence is not None
        resolved = self.work().study
        decision = resolved.decision.replace(n_alternatives=0)
        self.selection = replace(resolved, decision=decision).decide(evidence)
        self.resolved = resolved
        best, positions, weights = self.selection.best, self.selection.indices, self.selection.weights
        assert weights is not None
        most_first = np.argsort(-self.selection.importance[positions], kind="stable")
        return SetStage(
            value=float(best.value),
            gap=number(best.gap),
            proved=is_proved(best),
            features=self.selection.features,
            chosen=tuple(
                ChosenFeature(
                    self.selection.features[i],
                    count=round(float(evidence.counts[positions[i]])),
                    weight=float(weights[positions[i]]),
                )
                for i in most_first
            ),
            advice=advice_facts(self.selection.advice),
            seconds=time.perf_counter() - started,
            cost=total_cost(self.selection),
            measured=self.selection.measured,
        )

    def work(self, watch: Watch | None = None) -> TrustWork:
        """Return the trust work of the present decision; its study has the size that the data support.

        It is made once for a decision, and again after more is known of other samples.
        """
        if self._work is None or self._work[0] is not self.trust:
            assert self.evidence is not None
            resolved = self.resolve().with_seeds(self.evidence)
            work = TrustWork(resolved, self.evidence, self.trust, _nobody, self.runs / "trust")
            if resolved.needs_related and work.trust.related is not None:
                work.size()
            self._work = self.trust, work
        work = copy(self._work[1])
        work.watch = watch or _nobody
        return work

    def reasons(self) -> Answer:
        """Return why each feature is in the set, which constraints hold, and what must be known."""
        self._answer = answer_of(self.decided, study=self.resolve(), trust=self.work().trust)
        return self._answer

    def plots(self) -> PlotsStage:
        """Return how the members are related to the target in the data."""
        data, profile = self.required_data, self._data_of_figures().profile
        chosen = with_effects(with_relations((self._answer or self.reasons()).chosen, data, ()), profile)
        heat = profile.among([member.feature for member in chosen]) if profile is not None and chosen else None
        return PlotsStage(chosen, feature_plots(data, chosen), heat)

    def alternatives(self) -> AlternativesStage:
        """Return sets that are almost as good, and what could take the place of each member."""
        self.selection = self.complete()
        substitutes = replacements(self.selection, self.resolve().decision.random_state)
        posterior = self.selection.posterior
        total = None if posterior is None else float(posterior.total)
        return AlternativesStage(alternatives(self.selection), substitutes, total)

    def left_out(self) -> LeftOutStage:
        """Return strong features that are not in the set, and what constraints cost."""
        strong, costs = what_is_out(self.decided, self.resolve().decision.random_state)
        constraints = with_costs(constraint_facts(self.decided), costs)
        return LeftOutStage(strong, self.decided.problem is not None, constraints)

    def complete(self) -> Selection:
        """Return the selection with its alternatives, which are looked for once."""
        selection, resolved, evidence = self.decided, self.resolve(), self.evidence
        assert evidence is not None
        asked = ("n_alternatives", "differ_by")
        has_alternatives = all(selection.provenance[name] == getattr(resolved.decision, name) for name in asked)
        return selection if has_alternatives else resolved.decide(evidence)

    def figures(self) -> dict[str, FigureFact]:
        """Return the figures that there are, each with its caption; :meth:`figure` draws one."""
        data = self._data_of_figures()
        shown = {name: kind for name, kind in DISPLAYS.items() if kind.applies(self.decided, data)}
        return {name: FigureFact(kind.section, kind.caption) for name, kind in shown.items()}

    def _data_of_figures(self) -> ReportData:
        """Return what figures show beside the selection; correlations are computed once for a set."""
        if self._report_data is None:
            correlations = correlations_of(self.decided, self.required_data.X)
            profile = profile_of_data(self.decided, self.required_data)
            self._report_data = ReportData(correlations, self.resolve().decision.blocks, LEVEL, profile)
        return replace(self._report_data, trust=self.work().trust)

    def figure(self, name: str, format: str = "svg") -> bytes:
        """Draw a figure."""
        return bytes(DISPLAYS[name].for_report(self.decided, self._data_of_figures()).plot().render(format))

    @property
    def waits_for_related(self) -> bool:
        """Whether the set depends on p-values of all features that are not known."""
        return self.resolve().needs_related and self.work().study.needs_related

    @property
    def lacks_trust(self) -> bool:
        """Whether the level quick is not known, and may be found out without being asked for."""
        trust = self.work().trust
        done = {"reproducibility": trust.halves is not None and trust.halves.complete}
        if self.required_data.target.task != "unsupervised":
            done["related"] = trust.related is not None
        missing = [name for name, is_done in done.items() if not is_done]
        return self.study.trust.level != "none" and any(name not in trust.problems for name in missing)

    def trust_stage(self) -> Answer:
        """Return the answer with the three facts of trust, from the ensembles that are known."""
        work, selection, answered = self.work(), self.decided, self._answer or self.reasons()
        work.assess_reproducibility(selection)
        self._work = self.trust, work
        return with_trust(answered, selection, work.trust)

    def find_trust(self, work: TrustWork, level: str) -> bool:
        """Collect what a level asks for, as far as it is not stopped, and store it; False if nothing is new.

        The only method beside :meth:`collect` that may run while decisions are made.
        """
        before = work.trust
        work.collect(level)
        if level == "full" and not work.stopped:
            work.validate()
        trust = work.trust
        new = any(getattr(trust, part) is not getattr(before, part) for part in ("related", "halves", "validation"))
        self.trust = trust
        if new:
            write_atomically(self.directory / TRUST, trust.encode())
        return new or trust.problems != before.problems


def total_cost(selection: Selection) -> float | None:
    """Return what the selected features cost by the first budget; None if there is none."""
    system = selection.problem.utility.system if selection.problem is not None else None
    budget = next((part for part in system.parts if part.kind == "cost_budget"), None) if system is not None else None
    if system is None or budget is None:
        return None
    return float((system.A[system.rows_of(budget)] @ selection.mask)[0])


def stored_evidence(runs: Path, n_models: int, data: FeatureData) -> Evidence | None:
    """Return the finished runs of an ensemble as evidence; None if there are none."""
    manifest = read_manifest(runs)
    if manifest is None:
        return None
    settings = manifest["settings"] | {"n_models": n_models}
    outcomes, _ = Checkpoint(runs, identity(settings)).load()
    wanted = {run: outcome for run, outcome in sorted(outcomes.items()) if run < n_models}
    return gather(wanted, data.feature_names, data.constant, settings) if wanted else None


@contextmanager
def _nobody(label: str, unit: str) -> Iterator[Callable[[int, int], bool]]:
    yield lambda done, total: True
