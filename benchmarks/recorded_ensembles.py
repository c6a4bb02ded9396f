"""Ensembles whose results are recorded: every selector on every task, and every way to run them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression

import ubayfs
from ubayfs.selectors import Lasso

Ensemble = Callable[[], ubayfs.Evidence]

TASKS = {
    "mrmr": "binary multiclass regression",
    "fisher": "binary multiclass",
    "tree": "binary multiclass multilabel regression",
    "rfe": "binary multiclass multilabel regression",
    "hsic": "binary multiclass regression",
    "lasso": "binary multiclass regression",
    "laplacian": "binary multiclass multilabel regression unsupervised",
}
ENTRY = Lasso(order="entry")  # what "lasso" was when ensembles were recorded
REAL = {"breast cancer": load_breast_cancer, "wine": load_wine, "diabetes": load_diabetes}


@cache
def table(task: str, n_samples: int = 80, n_features: int = 40) -> tuple[NDArray[np.float64], Any]:
    """Return X, y: twelve features with signal, a constant column, a copy of another and one with many ties."""
    rng = np.random.default_rng([n_samples, n_features])
    X = rng.normal(size=(n_samples, n_features))
    latent = X[:, :12] @ rng.normal(size=(12, 3)) + rng.normal(size=(n_samples, 3))
    X[:, 20], X[:, 21], X[:, 22] = 1.5, X[:, 0], np.round(X[:, 1])
    targets = {
        "binary": (latent[:, 0] > 0).astype(int),
        "multiclass": np.array(["low", "middle", "high"])[np.digitize(latent[:, 0], (-1.5, 1.5))],
        "multilabel": (latent > 0).astype(int),
        "regression": latent[:, 0],
        "unsupervised": None,
    }
    return X, targets[task]


def _collected(X: Any, y: Any = None, selector: Any = "mrmr", **settings: Any) -> ubayfs.Evidence:
    settings = {"n_models": 30, "n_features_per_model": 8, "random_state": 7, **settings}
    return ubayfs.collect_evidence(X, y, selector, **settings)


def _for_any_workers(X: Any, y: Any, selector: Any, **settings: Any) -> ubayfs.Evidence:
    one, two = (_collected(X, y, selector, n_jobs=n_jobs, **settings) for n_jobs in (1, 2))
    assert (one.sets != two.sets).nnz == 0, "the number of workers changed the ensemble"
    return two


def most_different_means(X: NDArray[Any], y: NDArray[Any], n_features: int, rng: np.random.Generator) -> Any:
    """Choose as a user's own function may: by means, with some chance."""
    difference = np.abs(X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0))
    return np.argsort(-difference * rng.uniform(0.5, 1.0, X.shape[1]), kind="stable")[:n_features]


def ensembles() -> dict[str, Ensemble]:
    """Return the ensembles by name."""
    found: dict[str, Ensemble] = {}
    for name, tasks in TASKS.items():
        selector = ENTRY if name == "lasso" else name
        for task in tasks.split():
            found[f"{name}, {task}"] = partial(_collected, *table(task), selector, task=task)
        X, y = table("binary")
        found[f"{name}, float32"] = partial(_collected, X.astype(np.float32), y, selector, train_size=0.6)
        found[f"{name}, groups"] = partial(_collected, X, y, selector, groups=np.arange(len(X)) // 3, n_models=20)
        found[f"{name}, wide"] = partial(_collected, *table("binary", 50, 600), selector, n_features_per_model=20)
        found[f"{name}, any workers"] = partial(_for_any_workers, *table("binary", 60, 50), selector, n_models=60)
        for data, load in REAL.items():
            if (task := "regression" if data == "diabetes" else "binary") in tasks:
                X, y = load(return_X_y=True, as_frame=True)
                settings = {"n_models": 6, "n_features_per_model": 5, "task": task if data == "diabetes" else None}
                found[f"{name}, {data}"] = partial(_collected, X, y, selector, **settings)
    X, y = table("binary")
    names = [f"gene {j}" for j in range(X.shape[1])]
    ordered = pd.Categorical(table("multiclass")[1], ["low", "middle", "high"], ordered=True)
    found |= {
        "mixed list": partial(_collected, X, y, ["mrmr", "tree", ENTRY]),
        "estimator": partial(_collected, X, y, LogisticRegression(C=0.5)),
        "scikit-learn selector": partial(_collected, X, y, SelectKBest(k=4)),
        "function": partial(_collected, X, y, most_different_means),
        "function, any workers": partial(_for_any_workers, X, y, most_different_means, n_models=60),
        "frame with names": partial(_collected, pd.DataFrame(X, columns=names), pd.Series(y), "fisher"),
        "classes in order": partial(_collected, X, ordered),
        "regression with ties": partial(_collected, X, np.round(table("regression")[1]), task="regression"),
        "wide, threads": partial(_for_any_workers, *table("binary", 60, 2000), "mrmr", n_models=100),
        "seed sequence": partial(_collected, X, y, random_state=np.random.SeedSequence([3, 4])),
    }
    for train_size, per_model in ((0.3, 1), (0.5, 3), (0.9, 40)):
        settings = {"train_size": train_size, "n_features_per_model": per_model}
        found[f"{per_model} features on {train_size} of the rows"] = partial(_collected, X, y, **settings)
    return found
