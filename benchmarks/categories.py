"""Votes of pure noise: numbers and categories of 2 to 20 levels should share them evenly.

``python -m benchmarks.categories [--repeats 250]`` prints the table of docs/categories.md.
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray

from ubayfs.data.categories import CategoryTable, Levels
from ubayfs.data.target import read_target
from ubayfs.selectors import SELECTORS

LEVELS = (0, 2, 5, 10, 20)  # 0: numbers
N_SAMPLES, PER_KIND, N_MODELS, N_FEATURES = 120, 12, 10, 6
PROBLEMS = (("fisher", 2), ("fisher", 3), ("mrmr", 2), ("mrmr", 3), ("mrmr", 0))  # selector, classes; 0: regression


def shares(selector: str, n_classes: int, repeats: int) -> NDArray[np.float64]:
    """Return the share of all votes that each kind of noise gets."""
    rng, votes = np.random.default_rng(7), np.zeros(len(LEVELS))
    size = (N_SAMPLES, PER_KIND)
    for _ in range(repeats):
        values = [rng.normal(size=size) if n == 0 else rng.integers(0, n, size).astype(float) for n in LEVELS]
        known = {
            PER_KIND * place + column: Levels(tuple(map(str, range(n))))
            for place, n in enumerate(LEVELS)
            for column in range(PER_KIND)
            if n
        }
        y = rng.normal(size=N_SAMPLES) if n_classes == 0 else rng.permutation(np.arange(N_SAMPLES) % n_classes)
        target = read_target(y, N_SAMPLES, None if n_classes else "regression")
        subsamples = rng.random((N_MODELS, N_SAMPLES)) < 0.75
        table = CategoryTable(np.hstack(values), known)
        chosen = SELECTORS[selector].select_many(table, target, subsamples, N_FEATURES, [rng] * N_MODELS)
        votes += np.bincount(np.concatenate(chosen) // PER_KIND, minlength=len(LEVELS))
    return votes / votes.sum()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=250)
    repeats = parser.parse_args().repeats
    for selector, n_classes in PROBLEMS:
        cells = " | ".join(f"{share:.3f}" for share in shares(selector, n_classes, repeats))
        print(f"| {selector}, {f'{n_classes} classes' if n_classes else 'regression'} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
