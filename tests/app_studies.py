"""A small study for tests of the app's core."""

import math
import time

import numpy as np
import pandas as pd

from ubayfs import max_size
from ubayfs.app.state import State
from ubayfs.app.workbench import Workbench
from ubayfs.study import Study
from ubayfs.study.schema import DataSection, EvidenceSection

NAMES = [f"gene{i}" for i in range(12)]


def write_table(path, n_samples=60):
    """Write a table in which the first three features tell the classes apart."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_samples, len(NAMES)))
    y = X[:, :3].sum(axis=1) > 0
    frame = pd.DataFrame(X, columns=NAMES)
    frame.insert(0, "class", np.where(y, "ill", "well"))
    frame.to_csv(path, index=False)


def small_study(folder, **evidence):
    write_table(folder / "cells.csv")
    ensemble = {"n_models": 30, "n_features_per_model": 3, **evidence}
    return Study(
        DataSection("cells.csv", target="class"),
        evidence=EvidenceSection(**ensemble),
        constraints=[max_size(3, rho=math.inf)],
        folder=folder,
    )


def make(folder, launch=None, **evidence):
    """Make the workspace of the small study; without a worker unless one is given."""
    return Workbench.create(folder / "small.app", State.of("Small", small_study(folder, **evidence)), launch)


def until(bench, condition, seconds=120):
    """Wait for what a worker does; the limit only ends a test that would hang."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, (bench.status, bench.problems, list(bench.answer), bench.progress)
        time.sleep(0.01)


def answered(bench, stage="set"):
    return lambda: bench.answer["revision"] == bench.revision and stage in bench.answer
