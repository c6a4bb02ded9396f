"""Section on validation: nested folds with baselines, beside the time of one ensemble."""

from __future__ import annotations

import ubayfs

from . import data
from .report import Row, Section
from .timing import median_seconds, seconds

SELECTORS = ("fisher", "mrmr")
BASELINES = ("random", "forest", "all features")


def validation(quick: bool) -> Section:
    """Five times five folds with three baselines on large sets; two folds when quick."""
    shape = {"cv": 2, "n_repeats": 1} if quick else {"cv": 5, "n_repeats": 5}
    rows = []
    for name in data.LARGE[: 1 if quick else None]:
        for selector in SELECTORS[: 1 if quick else None]:
            absent = Row(data.shown(name), selector, note=data.absent(name))
            rows.append(_validated(name, selector, shape, quick) if data.present(name) else absent)
    return Section(
        "Validation",
        f"{shape['n_repeats']} times {shape['cv']} folds with the baselines {', '.join(BASELINES)}; 100 models, at "
        "most 10 features, n_jobs=2. Times: one ensemble on all samples.",
        rows,
    )


def _validated(name: str, selector: str, shape: dict[str, int], quick: bool) -> Row:
    X, y = data.load(name)
    usual = {"selector": selector, "n_models": 100, "random_state": 0, "n_jobs": 2}
    ensemble = median_seconds(lambda: ubayfs.collect_evidence(X, y, **usual), 3)
    selection = ubayfs.decide(ubayfs.collect_evidence(X, y, **usual), constraints=ubayfs.max_size(10, rho=1.0))
    spent = seconds(lambda: ubayfs.validate(selection, X, y, **shape, baselines=BASELINES, n_jobs=2))
    limits = {} if quick else {"seconds": 15.0}
    return Row(data.shown(name), selector, {"seconds": spent, "ratio": spent / ensemble}, limits)
