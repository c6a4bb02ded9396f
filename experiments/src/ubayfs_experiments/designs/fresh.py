"""Do "selected again" and the intervals of prediction hold? What ubayfs says of a study beside fresh studies.

Each design has four populations (where the signals are, and which signs they have), and data sets are drawn from them.

- ``again``: how many of the members that the data brought are selected again is the mean over fresh data sets of the
  same size. With stand-ins, members and those of a fresh set are matched where their Spearman correlation in the
  population is above 0.8.
- ``prediction``: the score of a predictor that learned from the whole data set, with the features selected in it, on
  many fresh samples; and what is expected of studies of four fifths of the size, that of training parts.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import lru_cache
from time import process_time
from typing import Any, NamedTuple

import numpy as np

import ubayfs
from ubayfs.decision import Selection

from ..data.datasets import Dataset
from ..data.planted import Mask
from ..data.simulated import BLOCK, PLANTED_TARGETS, SAME, PlantedPopulation, Study, blocks_of
from ..methods.ridge import SCORES
from ..tasks import Experiment, Outcome, Scale, Split, Task, seed_of
from .calibration import DATA, MAX_SIZE, votes_of

NAME = "fresh"
SIZES = {f"{n} x {n_features}": (n, n_features) for n, n_features in ((40, 500), (80, 1000), (200, 100))}
_, WIDE, TALL = SIZES
FEATURES = {"independent": 0.0, "blocks of .7": 0.7, "blocks of .9": 0.9, "repeated samples": 0.0}
PLANTED = {"no signals": 0, "3 signals": 3, "20 signals": 20}
HOWS = ALONE, LISTED, RULED = (
    "votes alone", "five wrong ones very likely", "four wrong ones required, at most one per block",
)  # fmt: skip
MEASURES = ("again", "prediction")
N_POPULATIONS, N_SETS = 4, {"again": 8, "prediction": 100, "prediction, survival": 40}
N_FRESH = {"again": 25, "prediction": 4000, "expected": 25}
CLOSE = 0.8  # Spearman correlation above which features stand for each other
_SEED = 29  # of populations and of what is true in them; data sets have the seed of the run
SETTINGS: dict[str, Any] = {
    "data sets": N_SETS, "populations": N_POPULATIONS, "fresh": N_FRESH, "max_size": MAX_SIZE, "close": CLOSE,
    "samples, features": list(SIZES), "correlation": FEATURES,
    "signals": PLANTED, "strength": PLANTED_TARGETS, "block": BLOCK, "variance of patients": SAME,
}  # fmt: skip


class Design(NamedTuple):
    """A way to draw data and to decide, by the names above."""

    size: str
    target: str
    kind: str
    planted: str
    how: str


def designs() -> list[Design]:
    """Return all designs: each kind of features with each target, size and number of signals, but not all at once."""
    targets, kinds = ("two classes", "numbers", "survival"), list(FEATURES)[:3]
    found = [
        Design(size, target, kinds[(i + j + k) % 3], planted, ALONE)
        for i, size in enumerate(SIZES)
        for j, target in enumerate(targets)
        for k, planted in enumerate(PLANTED)
        if k or i == j
    ]
    repeated = ((TALL, "two classes"), (WIDE, "two classes"), (WIDE, "numbers"), (TALL, "survival"))
    found += [Design(size, target, "repeated samples", "3 signals", ALONE) for size, target in repeated]
    guided = ((WIDE, "two classes", "blocks of .9"), (TALL, "numbers", "independent"))
    return found + [Design(*data, "3 signals", how) for how in (LISTED, RULED) for data in guided]


def tasks(scale: Scale) -> list[Task]:
    """Return all designs, for either measure; the selector of the scale votes."""
    return [
        Task(NAME, DATA, "-".join((measure, *design)), scale.splits(_n_sets(measure, design)), settings={
            "measure": measure, **design._asdict(), **votes_of(measure, scale),
        })
        for measure in MEASURES for design in designs()
    ]  # fmt: skip


def _n_sets(measure: str, design: Design) -> int:
    return N_SETS.get(f"{measure}, {design.target}", N_SETS[measure])


def run_split(task: Task, dataset: Dataset, split: Split, seed: np.random.SeedSequence) -> list[Outcome]:
    """Run one simulation."""
    setting = {name: value for name, value in task.settings.items() if name != "n_models"}
    measure, start = setting["measure"], process_time()
    design = Design(*(setting[name] for name in Design._fields))
    number = split.number * N_POPULATIONS // _n_sets(measure, design)
    procedure = Procedure(design, number, setting["selector"], task.settings["n_models"])
    rng = np.random.default_rng(seed_of(int(seed.generate_state(1)[0]), task.method))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ubayfs.exceptions.UBayFSWarning)  # of sets without votes
        scores = (_again if measure == "again" else _predicted)(procedure, rng)
    return [Outcome({**setting, "population": number}, (), process_time() - start, scores)]


class Procedure(NamedTuple):
    """One of the populations of a design, and how a set is selected on data that are drawn from it."""

    design: Design
    number: int
    selector: str
    n_models: int

    def rng(self, *purpose: str) -> np.random.Generator:
        """Return a generator that is the same for all data sets of the population."""
        return np.random.default_rng(seed_of(_SEED, *self.design, self.number, *purpose))

    @property
    def n_samples(self) -> int:
        """Samples of a data set."""
        return SIZES[self.design.size][0]

    def population(self) -> PlantedPopulation:
        """Return what data sets are drawn from."""
        _, target, kind, planted, _ = self.design
        n_features, grouped = SIZES[self.design.size][1], kind == "repeated samples"
        return PlantedPopulation.random(
            target, FEATURES[kind], n_features, PLANTED[planted], self.rng("population"), grouped
        )

    def wrong(self, study: Study) -> list[int]:
        """Return unrelated features of five blocks, the same in all data sets of the population."""
        unrelated = self.rng("wrong").permutation(np.flatnonzero(~study.related))
        return [int(j) for j in unrelated[np.sort(np.unique(unrelated // BLOCK, return_index=True)[1])[:5]]]

    def evidence(self, study: Study, rng: np.random.Generator) -> ubayfs.Evidence:
        """Return the votes on a data set."""
        return ubayfs.collect_evidence(
            study.X, study.y, selector=self.selector, n_models=self.n_models, n_features_per_model=MAX_SIZE,
            random_state=int(rng.integers(2**31)), **study.options,
        )  # fmt: skip

    def decide(self, evidence: ubayfs.Evidence, study: Study, weighted: bool = True) -> Selection:
        """Return what is selected; without weights, if they are not wanted."""
        constraints, options = [ubayfs.max_size(MAX_SIZE)], dict[str, Any]()
        if self.design.how == LISTED and weighted:
            options["weights"] = dict.fromkeys(evidence.feature_names[self.wrong(study)].tolist(), "very likely")
        elif self.design.how == RULED:
            constraints += [ubayfs.require(self.wrong(study)[:4]), ubayfs.max_per_block(1)]
            options["blocks"] = blocks_of(len(study.related))
        return ubayfs.decide(evidence, constraints=constraints, min_votes=0, **options)

    def select(self, study: Study, rng: np.random.Generator) -> Selection:
        """Return what is selected on a data set."""
        return self.decide(self.evidence(study, rng), study)

    def by_data(self, study: Study, rng: np.random.Generator) -> Mask:
        """Return the members that are selected without weights, too, and that no rule requires."""
        evidence = self.evidence(study, rng)
        members = self.decide(evidence, study).mask & self.decide(evidence, study, weighted=False).mask
        members[self.wrong(study)[: 4 if self.design.how == RULED else 0]] = False
        return members


def _again(procedure: Procedure, rng: np.random.Generator) -> Mapping[str, float | None]:
    """Say how many are selected again, exactly and with stand-ins, and count it in fresh data sets."""
    study = procedure.population().draw(procedure.n_samples, rng)
    selection = procedure.select(study, rng)
    said = ubayfs.estimate_reproducibility(selection, study.X, study.y, random_state=rng, **study.options)
    members, fresh = said.by_data, _fresh_sets(procedure)
    exact = (members & fresh).sum(axis=1)
    near = np.minimum(_by_block(members[None]), _by_block(fresh)).sum(axis=1) if _blocks_are_close(study) else exact
    ranges = {"exact": said.selected_again, "near": (None, None)}
    if said.stand_ins is not None:
        ranges["near"] = said.stand_ins.selected_again
    return {
        "n": float(said.size), "exact": float(exact.mean()), "near": float(near.mean()),
        **{f"{name}_low": low for name, (low, _) in ranges.items()},
        **{f"{name}_high": high for name, (_, high) in ranges.items()},
    }  # fmt: skip


def _by_block(sets: Mask) -> Any:
    """Return how many features of each block sets have, of shape (n_sets, n_blocks)."""
    return sets.reshape(len(sets), -1, BLOCK).sum(axis=2)


def _blocks_are_close(study: Study) -> bool:
    """Return whether all features of a block stand for each other, by the Spearman correlation of normal features."""
    return bool(6 / np.pi * np.arcsin(study.block_correlation / 2) > CLOSE)


@lru_cache(maxsize=1)
def _fresh_sets(procedure: Procedure) -> Mask:
    """Return the members that the data brought in fresh data sets, of shape (n_sets, n_features)."""
    population, rng = procedure.population(), procedure.rng("fresh sets")
    studies = (population.draw(procedure.n_samples, rng) for _ in range(N_FRESH["again"]))
    return np.array([procedure.by_data(study, rng) for study in studies])


def _predicted(procedure: Procedure, rng: np.random.Generator) -> Mapping[str, float | None]:
    """Say how well the set predicts, with an interval, and judge the predictor of all samples by fresh ones."""
    study = procedure.population().draw(procedure.n_samples, rng)
    selection = procedure.select(study, rng)
    said: Any = ubayfs.validate(selection, study.X, study.y, baselines=[], random_state=rng, **study.options)
    (shown,) = said.scores[said.scores["metric"] == said.main_metric].to_dict("records")
    return {
        "true": judged(procedure, study, selection), "expected": _expected(procedure),
        **{name: float(shown[name]) for name in ("mean", "lower", "upper")},
    }  # fmt: skip


def judged(procedure: Procedure, study: Study, selection: Selection) -> float:
    """Return the score on fresh samples of a predictor that learned from a study, with the features selected in it."""
    fresh = _fresh_samples(procedure)
    known, new = (each.X[:, selection.indices] for each in (study, fresh))
    A, B = ((values - known.mean(axis=0)) / known.std(axis=0) for values in (known, new))
    return SCORES[procedure.design.target](A, study.y, B, fresh.y)


@lru_cache(maxsize=1)
def _expected(procedure: Procedure) -> float:
    """Return the mean score over studies of the size of training parts."""
    population, rng, found = procedure.population(), procedure.rng("training parts"), list[float]()
    for _ in range(N_FRESH["expected"]):
        study = population.draw(4 * procedure.n_samples // 5, rng)
        found.append(judged(procedure, study, procedure.select(study, rng)))
    return float(np.mean(found))


@lru_cache(maxsize=1)
def _fresh_samples(procedure: Procedure) -> Study:
    return procedure.population().draw(N_FRESH["prediction"], procedure.rng("fresh samples"))


EXPERIMENT = Experiment(
    NAME, 'Do "selected again" and the intervals of prediction hold on fresh data?', tasks, run_split, SETTINGS
)
