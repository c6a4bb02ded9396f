"""Experiment 1 where it says most: small relaxations (1c), and the additive models over many draws of the data (1a)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.datasets import Dataset
from ..data.synthetic import generate
from ..tasks import Experiment, Outcome, Scale, Split, Task
from .simulation import CONSTRAINTS_GRID, N_MODELS, N_MODELS_SLOW, SLOW, grid_tasks, run_constraints, run_models
from .simulation import EXPERIMENTS as _EXPERIMENTS

LOW_RHO, DRAWS = "1c-low", "1a-draws"
RHO_GRID = ("0.01", "0.02", "0.05", "0.1", "0.2", "0.5")
N_DRAWS = 20
_MODELS = {**dict.fromkeys(("mrmr", "fisher", "tree", "lasso"), N_MODELS), "hsic": N_MODELS_SLOW}
_SETTINGS = {one.name: one.settings for one in _EXPERIMENTS}


def tasks_of_low_rho(scale: Scale) -> list[Task]:
    """List the tasks of 1c for the relaxations between none and 1; HSIC and RFE with few models, as in the paper."""
    grid = {"constraint": CONSTRAINTS_GRID, "rho": RHO_GRID}
    found = grid_tasks(scale, LOW_RHO, ("blocks", "blocks-authors"), grid)
    return [task for task in found if scale.quick or task.method not in SLOW]


def tasks_of_draws(scale: Scale) -> list[Task]:
    """List a task for each selector on each additive model; every split has data of its own."""
    return [
        Task(DRAWS, data, name, scale.splits(N_DRAWS), settings={"selector": name, "n_models": [scale.models(n)]})
        for data in ("additive", "non-additive")
        for name, n in _MODELS.items()
    ]


def run_draw(task: Task, dataset: Dataset, split: Split, seed: np.random.SeedSequence) -> list[Outcome]:
    """Run one selector on data that are drawn by the number of the split; the rows are those of the split."""
    return run_models(task, generate(task.data, 1 + split.number), split, seed)


_DRAWN: dict[str, Any] = {
    **{key: value for key, value in _SETTINGS["1a"].items() if key not in ("n_splits", "selectors")},
    "n_splits": N_DRAWS,
    "n_models": _MODELS,
    "data": "drawn anew for every split",
}
EXPERIMENTS = (
    Experiment(LOW_RHO, "Block constraints, small relaxations", tasks_of_low_rho, run_constraints,
               {**_SETTINGS["1c"], "rho": list(RHO_GRID)}),
    Experiment(DRAWS, "Additive models, many draws of the data", tasks_of_draws, run_draw, _DRAWN),
)  # fmt: skip
