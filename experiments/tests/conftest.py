"""Fixtures shared by the tests of the experiments."""

import hashlib
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, settings

from amounts import examples

# No deadline: a slow machine is not a defect.
settings.register_profile(
    "ubayfs",
    max_examples=examples(100),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
)
settings.load_profile("ubayfs")


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def data_dir():
    """The directory with the paper's data sets; tests that need it are skipped without it."""
    path = Path(os.environ.get("UBAYFS_DATA", Path(__file__).parents[3] / "shared" / "data"))
    if not (path / "BCW.csv.gz").exists():
        pytest.skip("the paper's data sets are not here; set UBAYFS_DATA to their directory")
    return path


@pytest.fixture(scope="session")
def load_set(data_dir):
    """Function name -> (X, y) of one of the paper's data sets."""

    def load(name):
        frame = pd.read_csv(data_dir / f"{name}.csv.gz")
        return frame.drop(columns="y"), frame["y"].to_numpy()

    return load


@pytest.fixture(scope="session")
def state_of():
    """Function directory -> every file with a hash of its bytes and its time: equal as long as nothing is written."""

    def state(directory):
        return {
            path: (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
            for path in Path(directory).rglob("*")
            if path.is_file()
        }

    return state


@pytest.fixture(scope="session")
def drawn():
    """Experiment -> its figures by name, of invented tables with all methods; drawing them takes seconds."""
    import fake_run as fake
    from ubayfs_experiments.report import figures

    frames = {name: make(n_splits=3) for name, make in fake.EXPERIMENTS.items()}
    return {name: figures.draw(name, frame[~frame["data"].str.endswith("-authors")]) for name, frame in frames.items()}
