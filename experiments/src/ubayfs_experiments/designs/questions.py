"""Are the questions of `ubayfs.questions` worth an expert's time? A simulated expert answers ten, on planted truth.

The expert knows the truth of the feature that is asked about: "likely" if it is related to the target (as in the
calibration, T1), "unlikely" if not. After each answer the decision is made again and the next feature is chosen. A
*hit* is a chosen feature that is related to the target.
"""

from __future__ import annotations

from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np

import ubayfs
from ubayfs.decision import Selection

from ..data.datasets import Dataset
from ..data.planted import KINDS, STAND_IN, population
from ..tasks import Experiment, Outcome, Scale, Split, Task, seed_of

NAME = "questions"
CELLS = (("gauss", "planted"), ("gauss_blocks", "planted"), ("gauss", "few"), ("gauss", "many"))
N_VERSIONS, PER_VERSION, N_QUESTIONS, MAX_SIZE = 15, 2, 10, 10
SETTINGS: dict[str, Any] = {
    "versions": N_VERSIONS, "simulations per version": PER_VERSION, "questions": N_QUESTIONS, "n_models": 50,
    "n_features_per_model": 10, "max_size": MAX_SIZE, "related": STAND_IN,
    "kinds: signals, strength": {kind: list(KINDS[kind]) for _, kind in CELLS},
}  # fmt: skip

Choose = Callable[[Selection, dict[str, str], np.random.Generator], str | None]


def _by_questions(selection: Selection, asked: dict[str, str], rng: np.random.Generator) -> str | None:
    found = ubayfs.questions(selection, n=1)
    return found[0].feature if found else None


def _by_votes(selection: Selection, asked: dict[str, str], rng: np.random.Generator) -> str | None:
    order = np.argsort(-np.asarray(selection.counts), kind="stable")
    return next((name for name in selection.feature_names[order].tolist() if name not in asked), None)


def _with_a_vote(selection: Selection, asked: dict[str, str], rng: np.random.Generator) -> str | None:
    return _one_of(selection.feature_names[np.asarray(selection.counts) > 0], asked, rng)


def _any(selection: Selection, asked: dict[str, str], rng: np.random.Generator) -> str | None:
    return _one_of(selection.feature_names, asked, rng)


def _one_of(names: Any, asked: dict[str, str], rng: np.random.Generator) -> str | None:
    left = [name for name in names.tolist() if name not in asked]
    return left[int(rng.integers(len(left)))] if left else None


WAYS: dict[str, Choose] = {
    "questions": _by_questions,
    "most votes": _by_votes,
    "with a vote": _with_a_vote,
    "any": _any,
}


def tasks(scale: Scale) -> list[Task]:
    """Return all simulations, version by version: when a run is stopped, all kinds have about as many."""
    n, more = scale.splits(PER_VERSION), {"n_models": scale.models(50)}
    return [
        Task(NAME, data, f"{kind}-{version}", n, settings={"kind": kind, "version": version, **more})
        for version in range(1 if scale.quick else N_VERSIONS)
        for data, kind in CELLS
    ]


def run_split(task: Task, dataset: Dataset, split: Split, seed: np.random.SeedSequence) -> list[Outcome]:
    """Ask the expert in each way, from the same votes."""
    kind, state = str(task.settings["kind"]), int(seed.generate_state(1)[0])
    version = int(task.settings["version"])
    truth = population(dataset, kind, version)
    X, y = truth.draw(truth.n_samples, np.random.default_rng(seed_of(state, kind, version)))
    ensemble = {
        "selector": "mrmr",
        "n_models": task.settings["n_models"],
        "n_features_per_model": 10,
        "random_state": state,
    }
    evidence = ubayfs.collect_evidence(X, y, selector="mrmr", **ensemble)
    related = {str(evidence.feature_names[j]) for j in np.flatnonzero(~truth.unrelated)}
    outcomes = []
    for way, choose in WAYS.items():
        start = process_time()
        selection, hits = _asked(evidence, related, choose, np.random.default_rng(seed_of(state, way, version)))
        scores = {f"hits_{n}": float(found) for n, found in enumerate(hits)}
        chosen = tuple(selection.indices.tolist())
        outcomes.append(Outcome({"kind": kind, "asked": way}, chosen, process_time() - start, scores))
    return outcomes


def _asked(
    evidence: ubayfs.Evidence, related: set[str], choose: Choose, rng: np.random.Generator
) -> tuple[Selection, list[int]]:
    """Return the last selection, and the hits before the first question and after each; none is asked twice."""
    words: dict[str, str] = {}
    hits: list[int] = []
    while True:
        weights: Any = words or 0.01
        selection = ubayfs.decide(evidence, weights=weights, max_size=MAX_SIZE, min_votes=0)
        hits.append(len(related & set(selection.features)))
        feature = choose(selection, words, rng) if len(hits) <= N_QUESTIONS else None
        if feature is None:
            return selection, hits + hits[-1:] * (N_QUESTIONS + 1 - len(hits))
        words[feature] = "likely" if feature in related else "unlikely"


EXPERIMENT = Experiment(NAME, "Are questions to an expert well chosen?", tasks, run_split, SETTINGS)
