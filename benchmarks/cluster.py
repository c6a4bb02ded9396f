"""Speed-up of ensembles on two Dask worker processes over one thread: ``python -m benchmarks.cluster``.

The machine must be idle and have two cores. Prostate data (PRO in the directory UBAYFS_DATA), else synthetic ones of
that size; 100 runs with 20 features each, medians of three, taken in turns. With ``--plain`` workers keep the memory
settings that Dask gives them.
"""

import os

# Before numpy is loaded: one thread is one thread.
os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import statistics
import sys
import time
from importlib.metadata import version
from typing import Any

import joblib
import numpy as np

import ubayfs
from ubayfs.ensemble.workers import on_cluster
from ubayfs.selectors import Lasso

from . import data

SELECTORS = {"tree": "tree", "lasso": Lasso(order="entry"), "hsic": "hsic", "rfe": "rfe"}


def main() -> None:
    X, y = data.load("PRO") if data.present("PRO") else _synthetic()
    plain = "--plain" in sys.argv
    print(", ".join(f"{name} {version(name)}" for name in ("ubayfs", "numpy", "scikit-learn", "joblib", "distributed")))
    with _plain_client() if plain else on_cluster(n_workers=2, threads_per_worker=1) as client:
        client.wait_for_workers(2)
        for name, selector in SELECTORS.items():
            for on_dask in (False, True):  # imports are not part of the comparison
                _seconds(X, y, selector, 50, on_dask)
            times = [[_seconds(X, y, selector, 100, on_dask) for on_dask in (False, True)] for _ in range(3)]
            serial, cluster = (statistics.median(column) for column in zip(*times, strict=True))
            ratio = statistics.median(one / two for one, two in times)
            print(f"{name:6} one thread {serial:.2f} s, two workers {cluster:.2f} s, speed-up {ratio:.2f}", flush=True)


def _plain_client():
    from distributed import Client

    return Client(n_workers=2, threads_per_worker=1)


def _seconds(X, y, selector: Any, n_models: int, on_dask: bool) -> float:
    with joblib.parallel_config(backend="dask" if on_dask else "sequential"):
        start = time.perf_counter()
        ubayfs.collect_evidence(
            X, y, selector, n_models=n_models, n_features_per_model=20, random_state=0, n_jobs=None if on_dask else 1
        )
        return time.perf_counter() - start


def _synthetic():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 51)
    X = rng.normal(size=(102, 6033))
    X[:, :50] += y[:, None]
    return X, y


if __name__ == "__main__":
    main()
