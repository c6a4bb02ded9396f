"""Is there a leak? The whole of experiment 2 once more with a target that was shuffled, beside the true one.

Whatever is chosen and fitted then, predictions of held-out rows must be worth no more than guessing: a balanced
accuracy of one half.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..data.datasets import Dataset
from ..tasks import Experiment, Outcome, Scale, Split, Task
from .real_world import DATA as _ALL
from .real_world import SELECTORS, found_by_ubayfs, scores
from .real_world import SETTINGS as _REAL

SETTINGS: dict[str, Any] = {
    **{key: value for key, value in _REAL.items() if key not in ("rent", "group_lasso")},
    "n_splits": 40,
    "shuffled": "the target over all rows, anew for every split",
}


def tasks(scale: Scale) -> list[Task]:
    """Return a task for every data set and elementary selector."""
    return [
        Task("controls", name, method, scale.splits(SETTINGS["n_splits"]), settings={"n_models": scale.models(100)})
        for name in scale.data(_ALL)
        for method in SELECTORS
    ]


def run_split(task: Task, dataset: Dataset, split: Split, seed: np.random.SeedSequence) -> list[Outcome]:
    """Run one split with the true and with a shuffled target."""
    shuffled = np.random.default_rng(seed).permutation(dataset.y)
    outcomes = []
    for name, y in (("true", dataset.y), ("shuffled", shuffled)):
        X = dataset.X[split.train]
        found = found_by_ubayfs(task.method, replace(dataset, y=y), X, y[split.train], task.settings["n_models"], seed)
        outcomes += [
            Outcome({**setting, "target": name}, features, seconds, scores(dataset, y, split, features))
            for setting, features, seconds in found
        ]
    return outcomes


EXPERIMENT = Experiment("controls", "No leak: the target shuffled", tasks, run_split, SETTINGS)
