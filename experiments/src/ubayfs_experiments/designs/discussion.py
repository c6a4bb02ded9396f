"""Runs for what the paper says of experiment 2 in words: mixed ensembles, lambda, generations, and what takes time."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import ubayfs

from ..data.datasets import Dataset
from ..methods.scripts import rfe_by_forests
from ..tasks import LARGE, Experiment, Outcome, Plain, Scale, Split, Task
from .protocol import scripts_genetic
from .real_world import COMPETITORS, SELECTORS, collected, constraints_of, decided, scores
from .real_world import DATA as _ALL
from .real_world import SETTINGS as _REAL
from .real_world import run_split as _run_real

NAME = "discussion"
MIXED, STRENGTH, GENERATIONS, SECONDS, NOISE, RFE = "mixed", "strength", "generations", "seconds", "noise", "rfe"
STRENGTHS = (0.5, 1.0, 2.0, 10.0, 100.0)  # the first is left out for thousands of features
SETTINGS: dict[str, Any] = {
    **{key: _REAL[key] for key in ("train_size", "weights", "rho")},
    "n_splits": {"up to 1000 features": 20, "more": 10},
    MIXED: {"selectors": list(SELECTORS.values()), "n_models": [100, 300]},
    STRENGTH: list(STRENGTHS),
    GENERATIONS: {"n_sets": 100, "n_generations": 100, "reached": "within 1e-9 of the exact optimum"},
    SECONDS: {"rows": [94, 188, 375, 750], "columns": [125, 250, 500, 1000], "n_splits": 5},
    NOISE: {"n_splits": 3},
    RFE: {"n_models": 5, "n_splits": 10},
}
DATA = tuple(name for name in _ALL if name not in ("LEU_golub", "p53"))
_REACHED = 1e-9


def tasks(scale: Scale) -> list[Task]:
    """Return the tasks; a method is called by its kind and, after a plus, the method of experiment 2."""
    many = SETTINGS["n_splits"]
    cells = [
        (name, kind, many["more" if name in LARGE else "up to 1000 features"])
        for name in scale.data(DATA)
        for kind in (MIXED, *(f"{kind}+{method}" for kind in (STRENGTH, GENERATIONS) for method in SELECTORS))
    ]
    cells += [("additive", f"{SECONDS}+{method}", SETTINGS[SECONDS]["n_splits"]) for method in SELECTORS]
    cells += [(name, RFE, SETTINGS[RFE]["n_splits"]) for name in ("blocks-authors", "redundant-authors")]
    if not scale.quick:
        cells += [
            ("p53-size", f"{NOISE}+{method}", SETTINGS[NOISE]["n_splits"]) for method in (*SELECTORS, *COMPETITORS)
        ]
    return [
        Task(NAME, data, method, scale.splits(n), settings={"n_models": scale.models(100)}) for data, method, n in cells
    ]


def run_split(task: Task, dataset: Dataset, split: Split, seed: np.random.SeedSequence) -> list[Outcome]:
    """Run one split of a task of any kind."""
    kind, _, method = task.method.partition("+")
    return [
        Outcome({"kind": kind, "of": method or None, **one.setting}, one.features, one.seconds, one.scores)
        for one in _KINDS[kind](task, method, dataset, split, seed)
    ]


def _mixed(task: Task, method: str, dataset: Dataset, split: Split, seed: np.random.SeedSequence) -> list[Outcome]:
    X, y = dataset.X[split.train], dataset.y[split.train]
    found = []
    for n_models in (scale * task.settings["n_models"] for scale in (1, 3)):
        start = time.process_time()
        evidence = collected(SETTINGS[MIXED]["selectors"], dataset, X, y, n_models, seed)
        for scenario, constraints in constraints_of(dataset).items():
            features = _features(decided(evidence, dataset, constraints, "exact", seed))
            setting: dict[str, Plain] = {"scenario": scenario, "n_models": n_models}
            seconds = time.process_time() - start
            found.append(Outcome(setting, features, seconds, scores(dataset, dataset.y, split, features)))
    return found


def _strength(task: Task, method: str, dataset: Dataset, split: Split, seed: np.random.SeedSequence) -> list[Outcome]:
    X, y = dataset.X[split.train], dataset.y[split.train]
    evidence, found = collected(SELECTORS[method], dataset, X, y, task.settings["n_models"], seed), []
    for scenario, constraints in constraints_of(dataset).items():
        # Below 1 all features are chosen; thousands are not worth a predictor.
        for strength in STRENGTHS[dataset.source.name in LARGE :]:
            start = time.process_time()
            features = _features(decided(evidence, dataset, constraints, "exact", seed, strength=strength))
            setting: dict[str, Plain] = {"scenario": scenario, "strength": strength}
            seconds = time.process_time() - start
            found.append(Outcome(setting, features, seconds, scores(dataset, dataset.y, split, features)))
    return found


def _generations(
    task: Task, method: str, dataset: Dataset, split: Split, seed: np.random.SeedSequence
) -> list[Outcome]:
    X, y = dataset.X[split.train], dataset.y[split.train]
    evidence, found = collected(SELECTORS[method], dataset, X, y, task.settings["n_models"], seed), []
    size = {key: SETTINGS[GENERATIONS][key] for key in ("n_sets", "n_generations")}
    for scenario, constraints in constraints_of(dataset).items():
        best = decided(evidence, dataset, constraints, "exact", seed).value
        optimizers = {
            "as in the scripts": scripts_genetic(dataset, scenario),
            "Algorithm 1 to the letter": ubayfs.Genetic(**size, start="paper"),
            "guided": ubayfs.Genetic(**size, start="guided"),
        }
        for name, optimizer in optimizers.items():
            start = time.process_time()
            selection = decided(evidence, dataset, constraints, optimizer, seed)
            losses = best - np.array(selection.provenance["solver"]["best_by_generation"])
            there = np.flatnonzero(losses <= _REACHED)
            scored = {"generation": float(there[0]) if len(there) else None, "loss": max(float(losses[-1]), 0.0)}
            setting = {"scenario": scenario, "optimizer": name}
            # Sets are not asked for here; from the start to the letter they may have thousands of features.
            found.append(Outcome(setting, (), time.process_time() - start, scored))
    return found


def _seconds(task: Task, method: str, dataset: Dataset, split: Split, seed: np.random.SeedSequence) -> list[Outcome]:
    rng, found = np.random.default_rng(seed), []
    for n_rows in SETTINGS[SECONDS]["rows"]:
        for n_columns in SETTINGS[SECONDS]["columns"]:
            rows, columns = rng.permutation(split.train)[:n_rows], rng.permutation(dataset.X.shape[1])[:n_columns]
            X, y = dataset.X[np.ix_(rows, columns)], dataset.y[rows]
            start = time.process_time()
            evidence = collected(SELECTORS[method], dataset, X, y, task.settings["n_models"], seed)
            selection = decided(evidence, dataset, constraints_of(dataset)["standard"], "exact", seed)
            seconds = time.process_time() - start
            features = tuple(sorted(columns[list(_features(selection))].tolist()))
            found.append(Outcome({"rows": n_rows, "columns": n_columns}, features, seconds, {}))
    return found


def _noise(task: Task, method: str, dataset: Dataset, split: Split, seed: np.random.SeedSequence) -> list[Outcome]:
    own = Task(task.experiment, task.data, method, task.n_splits, settings=task.settings)
    return _run_real(own, dataset, split, seed)


def _rfe(task: Task, method: str, dataset: Dataset, split: Split, seed: np.random.SeedSequence) -> list[Outcome]:
    X, y, found = dataset.X[split.train], dataset.y[split.train], []
    wanted = dataset.source.n_select

    def by_forests(X: Any, y: Any, n_features: int, rng: np.random.Generator) -> Any:
        return rfe_by_forests(X, y, wanted, rng)  # which may be all, so that the ensemble allows all

    selectors: Mapping[str, tuple[Any, int]] = {
        "linear support vector machine": ("rfe", wanted),
        "random forests": (by_forests, X.shape[1]),
    }
    for name, (selector, most) in selectors.items():
        start = time.process_time()
        evidence = collected(selector, dataset, X, y, SETTINGS[RFE]["n_models"], seed, most)
        features = _features(decided(evidence, dataset, constraints_of(dataset)["standard"], "exact", seed))
        right = ubayfs.metrics.feature_f1(list(features), list(dataset.relevant or ()))
        size = float(evidence.counts.sum()) / SETTINGS[RFE]["n_models"]
        scored = {"feature_f1": right, "per_model": size}
        found.append(Outcome({"selector": name}, features, time.process_time() - start, scored))
    return found


def _features(selection: Any) -> tuple[int, ...]:
    return tuple(sorted(int(i) for i in selection.indices))


_KINDS: dict[str, Callable[[Task, str, Dataset, Split, np.random.SeedSequence], list[Outcome]]] = {
    MIXED: _mixed, STRENGTH: _strength, GENERATIONS: _generations, SECONDS: _seconds, NOISE: _noise, RFE: _rfe,
}  # fmt: skip
EXPERIMENT = Experiment(NAME, "Runs for the paper's sentences on experiment 2", tasks, run_split, SETTINGS)
