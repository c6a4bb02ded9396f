"""Section on survival: processor time of 100 models by the filters, on planted data."""

from __future__ import annotations

import time

import numpy as np

import ubayfs

from .report import Row, Section

SIZES = ((450, 700), (100, 20_000))
LIMIT = 1.0  # seconds of one processor


def planted(n_samples: int, n_features: int) -> tuple[np.ndarray, ubayfs.Survival]:
    """Return normal features, the first two of which change the hazard, and times of which about 40 % are censored."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_samples, n_features))
    death, end = rng.exponential(np.exp(X[:, 1] - X[:, 0])), rng.exponential(1.5, n_samples)
    return X, ubayfs.Survival(np.minimum(death, end), death <= end)


def filters(quick: bool) -> Section:
    """Time of 100 models by `cox` and `mrmr`."""
    rows = []
    for n_samples, n_features in SIZES:
        X, y = planted(n_samples, n_features)
        for selector in ("cox", "mrmr"):
            taken = []
            ubayfs.collect_evidence(X[:, :50], y, selector=selector, n_models=2, random_state=0)  # imports
            for _ in range(1 if quick else 3):
                start = time.process_time()
                ubayfs.collect_evidence(X, y, selector=selector, n_models=100, random_state=0)
                taken.append(time.process_time() - start)
            rows.append(Row(f"{n_samples} x {n_features:,}", selector, {"seconds": min(taken)}, {"seconds": LIMIT}))
    return Section(
        "Survival: 100 models by the filters",
        "Processor time on planted data with about 60 % events, 10 features per model; the fastest of three.",
        rows,
    )
