"""Experiment 2: real data sets, UBayFS beside its competitors, judged by predictors on held-out rows.

The settings below were fixed before the first full run.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ubayfs
from ubayfs.decision import Selection

from ..data.catalogue import SOURCES
from ..data.datasets import Dataset
from ..data.splits import GROUPS, RANDOM
from ..methods.competitors import random_forest, rent, sparse_group_lasso
from ..methods.predictors import confusion
from ..tasks import Experiment, Outcome, Plain, Scale, Split, Task

STANDARD, BLOCK = "standard", "block"
SETTINGS: dict[str, Any] = {
    "n_splits": 100,
    "n_models": 100,
    "train_size": 0.75,
    "weights": 0.01,
    "rho": 1.0,
    "constraint_strength": 1.0,
    "n_features_per_model": "b_MS of the paper's table of data sets",
    "max_size": "b_MS",
    "max_blocks": "b_BMS",
    # With a larger share of l1 (0.6), 20 features of PRO and LEU are reached only where the penalty almost vanishes.
    "rent": {"train_size": 0.75, "l1_ratio": 0.25, "criteria": [0.9, 0.9, 0.975]},
    # With a smaller share of l1 (0.5), blocks enter nearly whole: 9 features of BCW or none, never 5.
    "group_lasso": {"l1_share": 0.9},
    "predictors": {
        "standardized": "by the training rows",
        "logistic": "unpenalized",
        "svm": {"kernel": "linear", "C": 1.0},
    },
}
# The paper's data sets; LEU also as the sound data.
DATA = ("BCW", "HD", "MPE", "COL", "LSVT", "p53", "PRO", "LEU", "LEU_golub")
BY_GROUPS = ("MPE", "LSVT")
SELECTORS = {"ubayfs_mrmr": "mrmr", "ubayfs_fisher": "fisher", "ubayfs_tree": "tree"}
COMPETITORS = ("random_forest", "rent", "group_lasso")

# A chosen set: its scenario, the positions, the seconds it took.
Found = Iterator[tuple[dict[str, Plain], tuple[int, ...], float]]


def tasks(scale: Scale) -> list[Task]:
    """Return a task for every data set, scheme of splits and method."""
    pairs = [(name, RANDOM) for name in DATA] + [(name, GROUPS) for name in BY_GROUPS]
    return [
        Task("2", name, method, scale.splits(SETTINGS["n_splits"]), scheme, {"n_models": scale.models(100)})
        for name, scheme in pairs
        for method in (*SELECTORS, *COMPETITORS)
        if method != "group_lasso" or SOURCES[name].has_blocks
    ]


def run_split(task: Task, dataset: Dataset, split: Split, seed: np.random.SeedSequence) -> list[Outcome]:
    """Select features on the training rows by the task's method, and predict the test rows."""
    X, y = dataset.X[split.train], dataset.y[split.train]
    find = found_by_ubayfs if task.method in SELECTORS else _found_by_competitor
    return [
        Outcome(
            {**setting, "variant": "main"},
            features,
            seconds,
            scores(dataset, dataset.y, split, features),
        )
        for setting, features, seconds in find(task.method, dataset, X, y, task.settings["n_models"], seed)
    ]


def scores(dataset: Dataset, y: NDArray[np.int64], split: Split, features: tuple[int, ...]) -> dict[str, float | None]:
    """Return the confusion counts of all predictors, and in how many blocks the features lie."""
    touched = {name for name, members in positions_of_blocks(dataset).items() if not members.isdisjoint(features)}
    return {
        **confusion(dataset.X, y, split.train, split.test, features),
        "n_blocks": len(touched) if dataset.blocks is not None else None,
    }


def positions_of_blocks(dataset: Dataset) -> dict[str, frozenset[int]]:
    """Return the positions of the features of each block."""
    if dataset.blocks is None:
        return {}
    matrix = dataset.blocks.matrix(dataset.feature_names)
    return {name: frozenset(matrix[[i]].indices.tolist()) for i, name in enumerate(dataset.blocks.names)}


def found_by_ubayfs(
    method: str,
    dataset: Dataset,
    X: NDArray[np.float64],
    y: NDArray[np.int64],
    n_models: int,
    seed: np.random.SeedSequence,
    *,
    selector: Any = None,
    optimizer: Any = "exact",
) -> Found:
    """Collect evidence once and decide in every scenario of the data set; seconds are those of both.

    Parameters
    ----------
    method : str
        A key of `SELECTORS`.
    selector : selector, optional
        In place of the method's own; for tests of what a difference comes from.
    optimizer : str, Optimizer, or callable
        A callable returns the optimizer of a scenario.
    """
    start = time.process_time()
    evidence = collected(SELECTORS[method] if selector is None else selector, dataset, X, y, n_models, seed)
    for_evidence = time.process_time() - start
    for scenario, constraints in constraints_of(dataset).items():
        start = time.process_time()
        chosen = optimizer(scenario) if callable(optimizer) else optimizer
        selection = decided(evidence, dataset, constraints, chosen, seed)
        seconds = for_evidence + time.process_time() - start
        yield {"scenario": scenario}, tuple(int(i) for i in selection.indices), seconds


def collected(
    selector: Any,
    dataset: Dataset,
    X: NDArray[np.float64],
    y: NDArray[np.int64],
    n_models: int,
    seed: np.random.SeedSequence,
    n_select: int | None = None,
) -> ubayfs.Evidence:
    """Run the ensemble of experiment 2 on some rows of a data set; `n_select` in place of the paper's b_MS."""
    evidence: ubayfs.Evidence = quiet(ubayfs.collect_evidence)(
        X,
        y,
        selector=selector,
        n_models=n_models,
        train_size=SETTINGS["train_size"],
        n_features_per_model=dataset.source.n_select if n_select is None else n_select,
        random_state=state_of(seed),
        n_jobs=1,
    )
    return evidence


def decided(
    evidence: ubayfs.Evidence,
    dataset: Dataset,
    constraints: list[ubayfs.Constraint],
    optimizer: Any,
    seed: np.random.SeedSequence,
    X: NDArray[np.float64] | None = None,
    strength: float = SETTINGS["constraint_strength"],
) -> Selection:
    """Decide with the prior of experiment 2."""
    selection: Selection = quiet(ubayfs.decide)(
        evidence,
        weights=SETTINGS["weights"],
        constraints=constraints,
        blocks=by_position(dataset),
        constraint_strength=strength,
        optimizer=optimizer,
        X=X,
        min_votes=0,  # as in the paper
        random_state=state_of(seed),
    )
    return selection


def constraints_of(dataset: Dataset) -> dict[str, list[ubayfs.Constraint]]:
    """Return the constraints of each of the paper's scenarios that apply to a data set."""
    source, rho = dataset.source, SETTINGS["rho"]
    size = ubayfs.max_size(source.n_select, rho=rho)
    scenarios = {STANDARD: [size]}
    if source.max_blocks is not None and dataset.blocks is not None:
        scenarios[BLOCK] = [size, ubayfs.max_blocks(source.max_blocks, rho=rho)]
    return scenarios


def by_position(dataset: Dataset) -> ubayfs.Blocks | None:
    """Return the blocks of a data set by position: the training rows are an array without names."""
    members = {name: tuple(sorted(positions)) for name, positions in positions_of_blocks(dataset).items()}
    return ubayfs.Blocks(members) if members else None


def _found_by_competitor(
    method: str,
    dataset: Dataset,
    X: NDArray[np.float64],
    y: NDArray[np.int64],
    n_models: int,
    seed: np.random.SeedSequence,
) -> Found:
    n_features, state = dataset.source.n_select, state_of(seed)
    start = time.process_time()
    if method == "random_forest":
        chosen = random_forest(X, y, n_features, n_models=n_models, random_state=state)
    elif method == "rent":
        options = {**SETTINGS["rent"], "criteria": tuple(SETTINGS["rent"]["criteria"])}
        chosen = rent(X, y, n_features, n_models=n_models, random_state=state, **options)
    else:
        chosen = sparse_group_lasso(X, y, n_features, positions_of_blocks(dataset), **SETTINGS["group_lasso"])
    scenario = BLOCK if method == "group_lasso" else STANDARD
    yield {"scenario": scenario}, tuple(int(i) for i in chosen.indices), time.process_time() - start


def state_of(seed: np.random.SeedSequence) -> int:
    """Return a seed as one number."""
    return int(seed.generate_state(1)[0])


def quiet(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function without the package's advice, which is meant for a person who decides, not for 100 splits."""

    def call(*arguments: Any, **options: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ubayfs.exceptions.UBayFSWarning)
            return function(*arguments, **options)

    return call


EXPERIMENT = Experiment(
    "2", "Real data: UBayFS beside random forest, RENT and sparse group lasso", tasks, run_split, SETTINGS
)
