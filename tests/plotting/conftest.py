"""Selections to draw: ordinary ones, one of many features, and one with names that are hard to print."""

import numpy as np
import pandas as pd
import pytest

from ubayfs import (
    Evidence,
    cannot_link,
    collect_evidence,
    decide,
    decorrelate,
    implies,
    max_per_block,
    max_size,
    must_link,
    require,
)

UGLY_NAMES = [
    "$x_1^2$",
    r"$\nosuchcommand{$",
    "_hidden",
    "<script>alert('x')</script>",
    "expression of the interferon regulatory factor 7 in monocytes",
    "expression of the interferon regulatory factor 8 in monocytes",
    "a\tb\nc",
    "\x00nul",
    "^caret_",
    "",
    "W" * 200,
    "100 % $ & more",
]


@pytest.fixture(scope="session")
def cancer_blocks(cancer):
    X, _ = cancer
    return {block: [name for name in X.columns if block in name.split()] for block in ("mean", "error", "worst")}


@pytest.fixture(scope="session")
def cancer_selection(cancer, cancer_blocks):
    X, y = cancer
    evidence = collect_evidence(X, y, selector="mrmr", n_models=30, n_features_per_model=10, random_state=0)
    constraints = [
        max_size(8),
        must_link(["mean texture", "worst texture", "texture error"], rho=0.01),
        cannot_link(["worst radius", "worst perimeter", "worst area"]),
        implies("mean radius", "mean area"),
        max_per_block(3, rho=0.3),
        require("mean texture"),
    ]
    return decide(evidence, weights={"worst smoothness": 25}, blocks=cancer_blocks, constraints=constraints, X=X)


@pytest.fixture(scope="session")
def ugly_blocks():
    return {"$b_1$ <b>": UGLY_NAMES[:5], "a block with a very long name, longer than any column": UGLY_NAMES[3:9]}


@pytest.fixture(scope="session")
def ugly_selection(ugly_blocks):
    rng = np.random.default_rng(1)
    n = len(UGLY_NAMES)
    evidence = Evidence.from_sets(rng.random((25, n)) < np.linspace(0.9, 0.2, n), UGLY_NAMES)
    X = pd.DataFrame(rng.normal(size=(20, n)), columns=UGLY_NAMES)
    constraints = [max_size(7, rho=0.3), must_link(UGLY_NAMES[:2], rho=0.2), cannot_link(UGLY_NAMES[2:5], rho=0.1)]
    return decide(evidence, weights={UGLY_NAMES[4]: 9}, constraints=constraints, blocks=ugly_blocks, X=X)


@pytest.fixture(scope="session")
def large_selection():
    """10,000 features in 500 bundles of twenty that nearly agree, so that 95,000 pairs are correlated."""
    rng = np.random.default_rng(0)
    n = 10_000
    names = [f"gene_{i}" for i in range(n)]
    X = np.repeat(rng.normal(size=(30, n // 20)), 20, axis=1) + 0.01 * rng.normal(size=(30, n))
    frequency = np.concatenate([np.linspace(0.8, 0.1, 60), np.full(n - 60, 0.001)])
    evidence = Evidence.from_sets(rng.random((60, n)) < frequency, names)
    return decide(evidence, constraints=[max_size(6, rho=1), decorrelate(0.95)], X=pd.DataFrame(X, columns=names))
