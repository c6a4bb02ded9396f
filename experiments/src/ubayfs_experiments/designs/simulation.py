"""Experiment 1: how ensemble size, prior weights, constraints and priors act where the truth is known.

A task is a selector on a data set. In each split its ensemble is run once, and every decision of the grid is made on
that same evidence: settings differ by the decision alone, and are compared in pairs. Only in 1a, where the ensemble
itself is the question, does each number of models have an ensemble of its own.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

import ubayfs
from ubayfs.selectors import Lasso

from ..data.datasets import Dataset
from ..data.synthetic import relevant_blocks
from ..tasks import Experiment, Outcome, Plain, Scale, Split, Task

# The lasso of the paper is the order in which features enter its path.
_DEFINITIONS = {"lasso": Lasso(order="entry")}
SELECTORS = ("mrmr", "fisher", "tree", "rfe", "hsic", "lasso", "laplacian")
SLOW = ("hsic", "rfe")
QUICK_SELECTORS = ("mrmr", "fisher", "hsic")
N_SPLITS = 10
N_MODELS, N_MODELS_SLOW = 100, 5
TRAIN_SIZE = 0.75
WEIGHT = 0.01
SIZE_RHO = 1.0

MODELS_GRID = (1, 5, 10, 50, 100, 200)
WEIGHTED = ("relevant", "other")
WEIGHTS_GRID = (0.01, 10.0, 100.0, 1000.0)
CONSTRAINTS_GRID = ("max_per_block 2", "max_blocks 4", "max_blocks 2")
RHO_GRID = ("0", "1", "10", "100", "inf")
BETA_ONE, BETA_HUNDRED = "generalized, beta = 1", "generalized, beta = 100"
# The default generalized prior is the Dirichlet. A beta of 1 is little beside 1600 votes, one of 100 is not.
BETAS = {BETA_ONE: 1.0, BETA_HUNDRED: 100.0}
PRIORS_GRID = ("dirichlet", "generalized", BETA_ONE, BETA_HUNDRED, "hyperdirichlet")
DECORRELATION = 0.4

_COMMON: Mapping[str, Any] = {
    "n_splits": N_SPLITS,
    "test_size": 0.25,
    "train_size": TRAIN_SIZE,
    "n_features_per_model": "number of truly relevant features",
    "max_size": "number of truly relevant features",
    "max_size_rho": SIZE_RHO,
    "default_weight": WEIGHT,
    "constraint_strength": 1.0,
    "optimizer": "exact",
    "redundancy": "mean absolute Pearson correlation on the training rows",
}
_ENSEMBLES: Mapping[str, Any] = {
    "selectors": list(SELECTORS),
    "n_models": N_MODELS,
    "n_models_also": dict.fromkeys(SLOW, N_MODELS_SLOW),
}


class _Run:
    """One split of a task: its training rows, and its ensemble."""

    def __init__(self, task: Task, dataset: Dataset, split: Split, n_models: int, seed: np.random.SeedSequence) -> None:
        self.dataset = dataset
        self.X = dataset.X[split.train]
        self.setting: dict[str, Plain] = {"selector": task.settings["selector"], "n_models": n_models}
        start = time.process_time()
        with warnings.catch_warnings():
            _ignore_advice()
            self.evidence = ubayfs.collect_evidence(
                self.X,
                dataset.y[split.train],
                selector=_DEFINITIONS.get(task.settings["selector"], task.settings["selector"]),
                n_models=n_models,
                train_size=TRAIN_SIZE,
                n_features_per_model=dataset.source.n_select,
                random_state=seed,
                n_jobs=1,
            )
        self.seconds = time.process_time() - start

    def decide(
        self, setting: Mapping[str, Plain], constraints: Iterable[ubayfs.Constraint] = (), **arguments: Any
    ) -> Outcome:
        """Decide on the evidence, with the max-size and further constraints."""
        size = ubayfs.max_size(self.dataset.source.n_select, rho=SIZE_RHO)
        start = time.process_time()
        with warnings.catch_warnings():
            _ignore_advice()
            selection = ubayfs.decide(
                self.evidence,
                **{"weights": WEIGHT, **arguments},
                constraints=[size, *constraints],
                blocks=self.dataset.blocks,
                min_votes=0,  # as in the paper
            )
        seconds = self.seconds + time.process_time() - start
        features = tuple(sorted(int(i) for i in selection.indices))
        return Outcome({**self.setting, **setting}, features, seconds, self._scores(features))

    def _scores(self, features: tuple[int, ...]) -> dict[str, float | None]:
        redundancy = ubayfs.metrics.redundancy_rate(self.X, list(features))
        return {
            "feature_f1": ubayfs.metrics.feature_f1(list(features), list(self.dataset.relevant or ())),
            "redundancy": None if math.isnan(redundancy) else redundancy,
        }


def _ignore_advice() -> None:
    # Advice to a user who can change the decision: members without votes, a soft size that gives way, chains that do
    # not agree yet. Here the settings are fixed, and what comes of them is what the tables show.
    warnings.simplefilter("ignore", ubayfs.exceptions.UBayFSWarning)


def _children(seed: np.random.SeedSequence, n: int) -> list[np.random.SeedSequence]:
    # What seed.spawn(n) gives at its first call; but that counts its calls, and a split must come out alike each time.
    return [np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, i)) for i in range(n)]


def run_models(task: Task, dataset: Dataset, split: Split, seed: np.random.SeedSequence) -> list[Outcome]:
    """Run one split of 1a: an ensemble for each number of models."""
    sizes = task.settings["n_models"]
    return [
        _Run(task, dataset, split, n_models, own).decide({})
        for n_models, own in zip(sizes, _children(seed, len(sizes)), strict=True)
    ]


def run_weights(task: Task, dataset: Dataset, split: Split, seed: np.random.SeedSequence) -> list[Outcome]:
    """Run one split of 1b: prior weight on the relevant blocks, or on all others."""
    run = _Run(task, dataset, split, task.settings["n_models"], seed)
    relevant = set(relevant_blocks(dataset))
    others = {name for name in dataset.blocks.names if name not in relevant} if dataset.blocks else set()
    return [
        run.decide(
            {"weighted": weighted, "weight": weight},
            weights=dict.fromkeys(relevant if weighted == "relevant" else others, weight),
        )
        for weighted in task.settings["weighted"]
        for weight in task.settings["weight"]
    ]


def run_constraints(task: Task, dataset: Dataset, split: Split, seed: np.random.SeedSequence) -> list[Outcome]:
    """Run one split of 1c: few features from each block, or features from few blocks."""
    run = _Run(task, dataset, split, task.settings["n_models"], seed)
    return [
        _with_blocks(dataset, run.decide({"constraint": kind, "rho": rho}, [_block_constraint(kind, float(rho))]))
        for kind in task.settings["constraint"]
        for rho in task.settings["rho"]
    ]


def _block_constraint(kind: str, rho: float) -> ubayfs.Constraint:
    name, bound = kind.split()
    build = {"max_per_block": ubayfs.max_per_block, "max_blocks": ubayfs.max_blocks}[name]
    return build(int(bound), rho=rho)


def _with_blocks(dataset: Dataset, outcome: Outcome) -> Outcome:
    """Add how many blocks a set touches, and the most features it takes from one."""
    assert dataset.blocks is not None
    chosen = np.zeros(dataset.X.shape[1], dtype=np.int64)
    chosen[list(outcome.features)] = 1
    taken = dataset.blocks.matrix(dataset.feature_names).astype(np.int64) @ chosen
    scores = {**outcome.scores, "n_blocks": float((taken > 0).sum()), "most_per_block": float(taken.max())}
    return Outcome(outcome.setting, outcome.features, outcome.seconds, scores)


def run_priors(task: Task, dataset: Dataset, split: Split, seed: np.random.SeedSequence) -> list[Outcome]:
    """Run one split of 1d: kinds of prior, with and without decorrelation."""
    for_evidence, for_prior = _children(seed, 2)
    run = _Run(task, dataset, split, task.settings["n_models"], for_evidence)
    # A number and not the sequence: each use must start alike, so that decorrelation is compared on the same draws.
    chains = int(for_prior.generate_state(1)[0])
    return [
        run.decide(
            {"prior": prior, "decorrelate": decorrelate},
            [ubayfs.decorrelate(DECORRELATION)] if decorrelate else (),
            prior=ubayfs.GeneralizedDirichlet(beta=BETAS[prior]) if prior in BETAS else prior,
            X=run.X if decorrelate else None,
            random_state=chains,
        )
        for prior in task.settings["prior"]
        for decorrelate in task.settings["decorrelate"]
    ]


def grid_tasks(
    scale: Scale, experiment: str, data: tuple[str, ...], grid: Mapping[str, tuple[Plain, ...]]
) -> list[Task]:
    """List one task per data set, selector and number of models; "hsic-5" is HSIC with 5 models, beside 100."""
    selectors = QUICK_SELECTORS if scale.quick else SELECTORS
    cells = [(name, name, scale.models(N_MODELS)) for name in selectors]
    if not scale.quick:
        cells += [(f"{name}-{N_MODELS_SLOW}", name, N_MODELS_SLOW) for name in SLOW]
    # Of weights and relaxations the ends tell enough for a first look; kinds are all kept.
    thin = ("weight", "rho") if scale.quick else ()
    settings = {key: [values[0], values[-1]] if key in thin else list(values) for key, values in grid.items()}
    return [
        Task(experiment, source, method, scale.splits(N_SPLITS), settings={"selector": name, "n_models": n} | settings)
        for source in data
        for method, name, n in cells
    ]


def tasks_of_models(scale: Scale) -> list[Task]:
    """List the tasks of 1a."""
    sizes = sorted({scale.models(n) for n in MODELS_GRID})
    return [
        Task("1a", source, name, scale.splits(N_SPLITS), settings={"selector": name, "n_models": sizes})
        for source in ("additive", "non-additive")
        for name in (QUICK_SELECTORS if scale.quick else SELECTORS)
    ]


def tasks_of_weights(scale: Scale) -> list[Task]:
    """List the tasks of 1b."""
    return grid_tasks(scale, "1b", ("blocks", "blocks-authors"), {"weighted": WEIGHTED, "weight": WEIGHTS_GRID})


def tasks_of_constraints(scale: Scale) -> list[Task]:
    """List the tasks of 1c."""
    return grid_tasks(scale, "1c", ("blocks", "blocks-authors"), {"constraint": CONSTRAINTS_GRID, "rho": RHO_GRID})


def tasks_of_priors(scale: Scale) -> list[Task]:
    """List the tasks of 1d."""
    return grid_tasks(
        scale, "1d", ("redundant", "redundant-authors"), {"prior": PRIORS_GRID, "decorrelate": (False, True)}
    )


EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        "1a",
        "Number of elementary models",
        tasks_of_models,
        run_models,
        {**_COMMON, "selectors": list(SELECTORS), "n_models": list(MODELS_GRID)},
    ),
    Experiment(
        "1b",
        "Prior weights of blocks",
        tasks_of_weights,
        run_weights,
        {**_COMMON, **_ENSEMBLES, "weighted": list(WEIGHTED), "weight": list(WEIGHTS_GRID)},
    ),
    Experiment(
        "1c",
        "Block constraints",
        tasks_of_constraints,
        run_constraints,
        {**_COMMON, **_ENSEMBLES, "constraint": list(CONSTRAINTS_GRID), "rho": list(RHO_GRID)},
    ),
    Experiment(
        "1d",
        "Kinds of prior, and decorrelation",
        tasks_of_priors,
        run_priors,
        {**_COMMON, **_ENSEMBLES, "prior": list(PRIORS_GRID), "decorrelate": DECORRELATION, "method": "spearman"},
    ),
)
