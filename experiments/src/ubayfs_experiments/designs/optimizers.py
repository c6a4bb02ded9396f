"""The exact optimizer beside the paper's genetic one, on the same evidence.

Four problems per split: the paper's plain one (max-size), blocks (max-blocks, where there are blocks), decorrelated
(pairs of correlated features), and linked (pairs that an expert ties together or sets against each other, drawn at
random among the features with most votes, since there is no expert for a hundred splits).
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import ubayfs

from ..data.catalogue import SOURCES
from ..data.datasets import Dataset, Source
from ..tasks import Experiment, Outcome, Scale, Split, Task
from .real_world import BLOCK, SELECTORS, STANDARD, collected, constraints_of, decided
from .real_world import DATA as _ALL
from .real_world import SETTINGS as _REAL

SETTINGS: dict[str, Any] = {
    **{key: _REAL[key] for key in ("n_models", "train_size", "weights", "rho", "constraint_strength")},
    "n_splits": {"up to 1000 features": 40, "more": 10},
    "genetic": {"n_sets": 100, "start": "guided"},
    "n_generations": 100,
    # Only on the plain problem: from these starts it ends with almost all features, whatever the constraints are.
    "genetic, start to the letter": {"n_sets": 100, "start": "paper"},
    # With 0.5, the genetic algorithm takes half a minute for one decision on a million pairs; the exact one takes 5 s.
    "decorrelate": {"up to 1000 features": 0.5, "more": 0.8},
    "linked": "3 must-link and 3 cannot-link pairs among the 2 b_MS features with most votes (2 and 2 if b_MS is 5)",
    "missed": "the genetic value is more than 1e-9 below the exact one",
}
DATA = tuple(name for name in _ALL if name != "LEU")  # half of LEU's rows are copies
PLAIN = "plain"
_PAIRS = 3
_TOLERANCE = 1e-9


def tasks(scale: Scale) -> list[Task]:
    """Return a task for every data set and elementary selector."""
    return [
        Task(
            "optimizers",
            name,
            method,
            scale.splits(_by_size("n_splits", SOURCES[name])),
            settings={"n_models": scale.models(100), "n_generations": 5 if scale.quick else 100},
        )
        for name in scale.data(DATA)
        for method in SELECTORS
    ]


def run_split(task: Task, dataset: Dataset, split: Split, seed: np.random.SeedSequence) -> list[Outcome]:
    """Collect evidence and decide every problem with each optimizer."""
    X, y = dataset.X[split.train], dataset.y[split.train]
    evidence = collected(SELECTORS[task.method], dataset, X, y, task.settings["n_models"], seed)
    outcomes: list[Outcome] = []
    for problem, constraints in _problems(dataset, evidence.counts, np.random.default_rng(seed)).items():
        best: float | None = None
        for name, optimizer in _optimizers(problem, task.settings["n_generations"]).items():
            start = time.process_time()
            values = X if problem == "decorrelated" else None
            selection = decided(evidence, dataset, constraints, optimizer, seed, values)
            seconds = time.process_time() - start
            best = selection.value if best is None else best
            loss = best - selection.value
            outcomes.append(
                Outcome(
                    {"problem": problem, "optimizer": name},
                    tuple(int(i) for i in selection.indices),
                    seconds,
                    {
                        "value": selection.value,
                        "bound": selection.bound,
                        "gap": selection.gap,
                        "loss": loss,
                        "missed": float(loss > _TOLERANCE),
                    },
                )
            )
    return outcomes


def _by_size(setting: str, source: Source) -> Any:
    return SETTINGS[setting]["up to 1000 features" if source.n_features <= 1000 else "more"]


def _optimizers(problem: str, n_generations: int) -> dict[str, Any]:
    """Return the optimizers for a problem, the exact one first: the others are measured against it."""
    names = ("genetic", "genetic, start to the letter") if problem == PLAIN else ("genetic",)
    return {
        "exact": ubayfs.Exact(),
        # Only the starts differ here: what is stored was measured so.
        **{name: ubayfs.Genetic(**SETTINGS[name], search="guided", n_generations=n_generations) for name in names},
    }


def _problems(
    dataset: Dataset, counts: np.ndarray[Any, np.dtype[Any]], rng: np.random.Generator
) -> dict[str, list[ubayfs.Constraint]]:
    scenarios = constraints_of(dataset)
    size, rho = scenarios[STANDARD], SETTINGS["rho"]
    voted = np.argsort(-counts, kind="stable")[: max(2 * dataset.source.n_select, 2 * _PAIRS)]
    drawn = rng.permutation(voted)[: 4 * _PAIRS]
    pairs = drawn[: len(drawn) // 4 * 4].reshape(-1, 2).tolist()
    linked = [ubayfs.must_link(pair, rho=rho) for pair in pairs[::2]]
    linked += [ubayfs.cannot_link(pair, rho=rho) for pair in pairs[1::2]]
    problems = {
        PLAIN: size,
        "decorrelated": [*size, ubayfs.decorrelate(_by_size("decorrelate", dataset.source))],
        "linked": [*size, *linked],
    }
    return {**problems, "blocks": scenarios[BLOCK]} if BLOCK in scenarios else problems


EXPERIMENT = Experiment(
    "optimizers", "The exact optimizer beside the genetic one, on the same evidence", tasks, run_split, SETTINGS
)
