"""Experiment 2 by the authors' protocol, as far as their published scripts tell it, beside our own.

The splits are the first ones of experiment 2, so that both protocols see the same rows. RENT is not in the scripts.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np

from ..data.catalogue import SOURCES
from ..data.datasets import Dataset
from ..data.splits import TEST_SHARE
from ..methods.competitors import group_lasso_at
from ..methods.scripts import common_penalty, pearson_mrmr
from ..methods.scripts_genetic import ScriptsGenetic
from ..methods.variants import permuted_forest, tree_with_surrogates
from ..tasks import LARGE, Experiment, Outcome, Scale, Split, Task, seed_of
from .real_world import BLOCK, SELECTORS, STANDARD, Found, found_by_ubayfs, positions_of_blocks, scores, state_of
from .real_world import DATA as _ALL
from .real_world import SETTINGS as _REAL

NAME = "2-paper"
DATA = tuple(name for name in _ALL if name != "LEU_golub")
SETTINGS: dict[str, Any] = {
    **{key: value for key, value in _REAL.items() if key not in ("rent", "group_lasso")},
    "n_splits": {"up to 1000 features": 50, "more": 20},
    "random_forest": "importance by permutation out of bag, divided by its standard error",
    "group_lasso": {"l1_share": 0.95, "between": [0.01, 10.0], "n_splits_of_penalty": 5},
    "tree": "ends as early as rpart's; importance counts surrogate splits",
    "genetic": {"n_sets": 100, "n_generations": 100, "start": "as in the scripts", "ties": "drawn"},
    "mrmr": "also with Pearson's correlation to the class, as a trial",
    "rent": "not in the scripts",
}
PROTOCOL, PEARSON = "the authors' protocol", "relevance by Pearson's correlation"
# Method -> the method of experiment 2 that it stands for, the variant, and what kind of cause it is.
_OF = {
    **{method: (method, PROTOCOL, "protocol") for method in (*SELECTORS, "random_forest", "group_lasso")},
    "ubayfs_mrmr+pearson": ("ubayfs_mrmr", PEARSON, "selector definition"),
}
_CHANGED = {"ubayfs_tree": tree_with_surrogates, "ubayfs_mrmr+pearson": pearson_mrmr}


def tasks(scale: Scale) -> list[Task]:
    """Return a task for every data set and method that the scripts run."""
    return [
        Task(
            NAME,
            name,
            method,
            scale.splits(SETTINGS["n_splits"]["more" if name in LARGE else "up to 1000 features"]),
            settings={"n_models": scale.models(100)},
        )
        for name in scale.data(DATA)
        for method in _OF
        if method != "group_lasso" or SOURCES[name].has_blocks
    ]


def run_split(task: Task, dataset: Dataset, split: Split, seed: np.random.SeedSequence) -> list[Outcome]:
    """Select features on the training rows by the authors' protocol, and predict the test rows."""
    method, variant, cause = _OF[task.method]
    labels = {"variant": variant, "cause": cause, "of": method, "stands_for": dataset.source.name}
    find = _found_by_ubayfs if method in SELECTORS else _found_by_competitor
    return [
        Outcome({**setting, **labels}, features, seconds, scores(dataset, dataset.y, split, features))
        for setting, features, seconds in find(task, dataset, split, seed)
    ]


def _found_by_ubayfs(task: Task, dataset: Dataset, split: Split, seed: np.random.SeedSequence) -> Found:
    return found_by_ubayfs(
        _OF[task.method][0],
        dataset,
        dataset.X[split.train],
        dataset.y[split.train],
        task.settings["n_models"],
        seed,
        selector=_CHANGED.get(task.method),
        optimizer=partial(scripts_genetic, dataset),
    )


def scripts_genetic(dataset: Dataset, scenario: str) -> ScriptsGenetic:
    """Return the scripts' genetic algorithm for a scenario of a data set."""
    block_of = np.full(dataset.X.shape[1], -1)
    for number, members in enumerate(positions_of_blocks(dataset).values()):
        block_of[list(members)] = number
    source, size = dataset.source, {key: SETTINGS["genetic"][key] for key in ("n_sets", "n_generations")}
    return ScriptsGenetic(
        source.n_select, source.max_blocks if scenario == BLOCK else None, block_of, SETTINGS["rho"], **size
    )


def _found_by_competitor(task: Task, dataset: Dataset, split: Split, seed: np.random.SeedSequence) -> Found:
    X, y, wanted = dataset.X[split.train], dataset.y[split.train], dataset.source.n_select
    start = time.process_time()
    if task.method == "random_forest":
        scenario = STANDARD
        places = permuted_forest(X, y, wanted, task.settings["n_models"], state_of(seed), scaled=True)
    else:
        scenario, blocks = BLOCK, positions_of_blocks(dataset)
        places = group_lasso_at(X, y, blocks, penalty_of(dataset), l1_share=SETTINGS["group_lasso"]["l1_share"])
    yield {"scenario": scenario}, tuple(sorted(places.tolist())), time.process_time() - start


_penalties: dict[str, float] = {}


def penalty_of(dataset: Dataset) -> float:
    """Return the one penalty for all splits of a data set, from splits of its own; computed once per process."""
    if dataset.digest not in _penalties:
        from sklearn.model_selection import train_test_split

        own, settings = seed_of(0, dataset.source.name, "penalty"), SETTINGS["group_lasso"]
        rows = [
            train_test_split(
                np.arange(len(dataset.y)), test_size=TEST_SHARE, stratify=dataset.y, random_state=int(state)
            )[0]
            for state in own.generate_state(settings["n_splits_of_penalty"])
        ]
        _penalties[dataset.digest] = common_penalty(
            [(dataset.X[train], dataset.y[train]) for train in rows],
            dataset.source.n_select,
            positions_of_blocks(dataset),
            settings["l1_share"],
            (settings["between"][0], settings["between"][1]),
        )
    return _penalties[dataset.digest]


EXPERIMENT = Experiment(NAME, "Real data by the authors' protocol", tasks, run_split, SETTINGS)
