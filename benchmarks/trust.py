"""What trust costs: related features and reproducibility beside the one ensemble that they are about."""

from __future__ import annotations

from typing import Any

import ubayfs

from . import data
from .report import Row, Section
from .timing import compare

# Together at most so many times one ensemble, and on large data so many seconds.
LIMITS = {
    "fisher": {"ratio": 70.0, "seconds": 6.0},
    "mrmr": {"ratio": 70.0, "seconds": 6.0},
    "wide": {"ratio": 30.0, "seconds": 15.0},  # halves in processes
}


def trust(quick: bool = False) -> Section:
    """Related features by 1,000 shuffles and reproducibility by 40 halves, as multiples of one ensemble."""
    n_models, n_repeats = (10, 2) if quick else (100, 20)
    names = [name for name in data.LARGE if data.present(name)]
    rows = [
        _row(data.shown(name), *data.load(name), selector, n_models, n_repeats, limits)
        for name in names[: 1 if quick else None]
        for selector, limits in LIMITS.items()
    ]
    if not names:
        from sklearn.datasets import load_breast_cancer

        X, y = load_breast_cancer(return_X_y=True)
        note = f"{data.absent(data.LARGE[0])}; measured on 30 features instead"
        rows = [_row("breast cancer", X, y, "fisher", n_models, n_repeats, {"ratio": LIMITS["fisher"]["ratio"]}, note)]
    return Section(
        "Trust: related features and reproducibility",
        f"1,000 shuffles of the target and {2 * n_repeats} halves with their decisions (at most 10 features), "
        f"n_jobs=2, as a multiple (`times`) of one ensemble of {n_models} models on the same data, in turns.",
        rows,
    )


def _row(
    name: str, X: Any, y: Any, selector: str, n_models: int, n_repeats: int, limits: dict[str, float], note: str = ""
) -> Row:
    arguments = {"selector": selector, "n_models": n_models, "random_state": 0, "n_jobs": 2}

    def ensemble() -> ubayfs.Evidence:
        return ubayfs.collect_evidence(X, y, **arguments)

    def repeats() -> None:
        ubayfs.estimate_related(selection, X, y)
        ubayfs.estimate_reproducibility(selection, X, y, n_splits=n_repeats, n_jobs=2)

    evidence = ensemble()
    selection = ubayfs.decide(evidence, constraints=ubayfs.max_size(10))
    found = compare(repeats, ensemble, rounds=(1, 3))
    note = note or f"ensemble {found.reference * 1e3:.0f} ms, {found.rounds} rounds"
    return Row(name, selector, {"seconds": found.seconds, "ratio": found.ratio}, limits, note)
