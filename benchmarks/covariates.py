"""What adjusting for covariates costs: the same ensemble with and without them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import ubayfs

from .report import Row, Section
from .timing import compare

# Four coded columns: at most so many times the ensemble without them.
LIMITS = {"ratio": 2.5}


def covariates(quick: bool = False) -> Section:
    """Filters with four covariates, as multiples of the same ensemble without any."""
    n_features, n_models = (500, 10) if quick else (20_000, 100)
    rng = np.random.default_rng(0)
    X, Z, y = rng.normal(size=(150, n_features)), rng.normal(size=(150, 4)), np.arange(150) % 2
    numbers = rng.normal(size=150)
    cases = (("two classes", "fisher", y), ("two classes", "mrmr", y), ("a number", "mrmr", numbers))
    return Section(
        "Adjusting for covariates",
        f"{n_models} models on 150 samples and {n_features:,} features with four numeric covariates, as a multiple "
        "(`times`) of the same without covariates; processor time of one thread, in turns.",
        [_row(name, X, target, selector, n_models, Z) for name, selector, target in cases],
    )


def _row(name: str, X: Any, y: Any, selector: str, n_models: int, Z: Any) -> Row:
    def ensemble(adjust_for: Any = None) -> ubayfs.Evidence:
        return ubayfs.collect_evidence(
            X, y, selector=selector, n_models=n_models, random_state=0, n_jobs=1, adjust_for=adjust_for
        )

    found = compare(lambda: ensemble(Z), ensemble, clock=_processor_seconds)
    note = f"without {found.reference * 1e3:.0f} ms, {found.rounds} rounds"
    return Row(name, selector, {"seconds": found.seconds, "ratio": found.ratio}, LIMITS, note, headline=False)


def _processor_seconds(work: Callable[[], Any]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start
