"""Do forecasts of prediction with more samples hold? What ubayfs says of a study beside larger studies.

The designs are those of ``fresh``, without repeated samples. What is true with f times the samples is the mean score,
on many fresh samples, of predictors that learned from studies of that size, with the features selected in each.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import lru_cache
from time import process_time
from typing import Any

import numpy as np

import ubayfs

from ..data.datasets import Dataset
from ..tasks import Experiment, Outcome, Scale, Split, Task, seed_of
from .calibration import DATA, votes_of
from .fresh import N_POPULATIONS, Design, Procedure, designs, judged

NAME = "growth"
FACTORS = (1.0, 1.5, 2.0, 4.0)
N_SETS, N_LARGER = 4, 12
SETTINGS: dict[str, Any] = {"data sets": N_SETS, "larger studies": N_LARGER, "factors": list(FACTORS)}


def tasks(scale: Scale) -> list[Task]:
    """Return the designs; the selector of the scale votes."""
    return [
        Task(NAME, DATA, "-".join(design), scale.splits(N_SETS), settings={
            **design._asdict(), **votes_of("prediction", scale),
        })
        for design in designs() if design.kind != "repeated samples"
    ]  # fmt: skip


def run_split(task: Task, dataset: Dataset, split: Split, seed: np.random.SeedSequence) -> list[Outcome]:
    """Run one simulation."""
    setting, start = {name: value for name, value in task.settings.items() if name != "n_models"}, process_time()
    design = Design(*(setting[name] for name in Design._fields))
    number = split.number * N_POPULATIONS // N_SETS
    procedure = Procedure(design, number, setting["selector"], task.settings["n_models"])
    rng = np.random.default_rng(seed_of(int(seed.generate_state(1)[0]), task.method))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ubayfs.exceptions.UBayFSWarning)  # of sets without votes
        scores = _forecast(procedure, rng)
    return [Outcome({**setting, "population": number}, (), process_time() - start, scores)]


def _forecast(procedure: Procedure, rng: np.random.Generator) -> Mapping[str, float | None]:
    """Say how well the set would predict with more samples, and judge larger studies by fresh samples."""
    study = procedure.population().draw(procedure.n_samples, rng)
    selection = procedure.select(study, rng)
    said = ubayfs.assess(
        selection, study.X, study.y, level="full", growth=True, n_shuffles=200, n_splits=1, random_state=rng,
        **study.options,
    ).growth  # fmt: skip
    if said is None:  # too few samples or events for ensembles on a quarter of them
        return {}
    found: dict[str, float | None] = {}
    for factor in FACTORS:
        told = said.forecast(factor)
        found |= {f"{name} {factor:g}": getattr(told, name) for name in ("value", "lower", "upper")}
        found[f"true {factor:g}"] = _true(procedure, factor)
    return found


@lru_cache(maxsize=len(FACTORS))
def _true(procedure: Procedure, factor: float) -> float:
    """Return the mean score of studies with so many times the samples."""
    population, rng, scores = procedure.population(), procedure.rng("growth", str(factor)), list[float]()
    for _ in range(N_LARGER):
        study = population.draw(round(factor * procedure.n_samples), rng)
        scores.append(judged(procedure, study, procedure.select(study, rng)))
    return float(np.mean(scores))


EXPERIMENT = Experiment(NAME, "Do forecasts of prediction with more samples hold?", tasks, run_split, SETTINGS)
