"""Many classes, together or in turns: how sets chosen inside the folds tell classes of other samples apart.

``python -m benchmarks.classes [--repeats 3] [--models 50]`` prints the tables of
benchmarks/results/classes.md: nested five-fold cross-validation on KHAN, SORLIE and TOX171, balanced accuracy and
recall of the worst class of a logistic regression.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ubayfs
from ubayfs.selectors import MRMR, Fisher

from . import data

NAMES = ("KHAN", "SORLIE", "TOX171")
SIZES = (5, 10, 20)
SELECTORS = {
    "mrmr, weighted": MRMR(classes="weighted"),
    "mrmr, turns": MRMR(classes="turns"),
    "fisher, weighted": Fisher(classes="weighted"),
    "fisher, turns": Fisher(classes="turns"),
}


def compare(name: str, repeat: int, n_models: int) -> dict[tuple[str, int], NDArray[np.float64]]:
    """Return the recall of each class by selector and number of features, over all samples, each in one test fold."""
    from sklearn.model_selection import StratifiedKFold

    X, y = data.load(f"multiclass/{name}")
    classes, codes = np.unique(y, return_inverse=True)
    predicted = {(label, size): np.empty_like(codes) for label in SELECTORS for size in SIZES}
    for fold, (train, test) in enumerate(StratifiedKFold(5, shuffle=True, random_state=repeat).split(X, codes)):
        settings: dict[str, Any] = {"n_models": n_models, "n_features_per_model": 10, "random_state": 100 * repeat}
        for label, selector in SELECTORS.items():
            evidence = ubayfs.collect_evidence(X[train], codes[train], selector=selector, **settings)
            for size in SIZES:
                selection = ubayfs.decide(evidence, constraints=[ubayfs.max_size(size)])
                chosen = selection.indices
                predicted[label, size][test] = _predict(X[np.ix_(train, chosen)], codes[train], X[np.ix_(test, chosen)])
        print(f"{name}, repeat {repeat}, fold {fold}: {time.process_time():.0f} s", flush=True)
    return {
        way: np.array([(found[codes == c] == c).mean() for c in range(len(classes))])
        for way, found in predicted.items()
    }


def _predict(X: NDArray[Any], y: NDArray[Any], others: NDArray[Any]) -> NDArray[Any]:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, class_weight="balanced", max_iter=1000))
    return np.asarray(model.fit(X, y).predict(others))


def main() -> None:
    """Print a table per data set and one of their means: balanced accuracy (recall of the worst class)."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--models", type=int, default=50)
    asked = parser.parse_args()
    found = {name: [compare(name, repeat, asked.models) for repeat in range(asked.repeats)] for name in NAMES}
    for name in (*NAMES, "mean"):
        print(f"\n| {name} | {' | '.join(f'{size} features' for size in SIZES)} | mean |")
        print("| --- " * (len(SIZES) + 2) + "|")
        runs = [run for key, runs in found.items() if name in (key, "mean") for run in runs]
        for label in SELECTORS:
            scores = [
                (np.mean([run[label, size].mean() for run in runs]), np.mean([run[label, size].min() for run in runs]))
                for size in SIZES
            ]
            cells = [f"{accuracy:.3f} ({worst:.3f})" for accuracy, worst in [*scores, np.mean(scores, axis=0)]]
            print(f"| {label} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
