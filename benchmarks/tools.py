"""What is measured: ubayfs, and what a user would pick instead, each called as its documentation shows.

Each maker imports its library and returns ``work(X, y)``, which returns how many features were chosen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Work = Callable[[Any, Any], int]
N_JOBS = 2
N_MODELS = 100


@dataclass(frozen=True)
class Tool:
    """A row of the comparison.

    Attributes
    ----------
    label : str
    maker : str
        Name of a function of this module; it takes ``n_features``.
    arguments : dict
    warm_up : bool
        False for tools that take long even on a few rows and columns.
    most_features : int
        With more it is not tried.
    """

    label: str
    maker: str
    arguments: dict[str, Any]
    warm_up: bool = True
    most_features: float = float("inf")


def tools() -> list[Tool]:
    """Return what is compared; the first is what the others are multiples of."""
    return [
        Tool("ubayfs mrmr, 100 models", "ubayfs_selection", {"selector": "mrmr"}),
        Tool("ubayfs fisher, 100 models", "ubayfs_selection", {"selector": "fisher"}),
        Tool("sklearn forest + SelectFromModel", "forest", {}),
        Tool("sklearn RFE, linear SVM", "recursive_elimination", {}),
        Tool("sklearn SequentialFeatureSelector", "sequential_selection", {}, False, 100),
        Tool("mrmr-selection", "mrmr_selection", {}),
        Tool("pyHSICLasso", "hsic_lasso", {}),
        Tool("Boruta", "boruta", {}, False),
    ]


def evidence(selector: str, n_features: int, n_models: int = N_MODELS) -> Work:
    """The ensemble alone."""
    import ubayfs

    def work(X: Any, y: Any) -> int:
        found = ubayfs.collect_evidence(
            X, y, selector=selector, n_models=n_models, n_features_per_model=n_features, random_state=0, n_jobs=N_JOBS
        )
        return int((found.counts > 0).sum())

    return work


def ubayfs_selection(selector: str, n_features: int) -> Work:
    """Evidence and decision."""
    import ubayfs

    def work(X: Any, y: Any) -> int:
        found = ubayfs.collect_evidence(
            X, y, selector=selector, n_models=N_MODELS, n_features_per_model=n_features, random_state=0, n_jobs=N_JOBS
        )
        return len(ubayfs.decide(found, constraints=[ubayfs.max_size(n_features)]).features)

    return work


def plain_forest(n_trees: int = N_MODELS) -> Work:
    """A forest of as many trees as there are models, without any selection: the yardstick for evidence."""
    from sklearn.ensemble import RandomForestClassifier

    def work(X: Any, y: Any) -> int:
        return int(RandomForestClassifier(n_trees, n_jobs=N_JOBS, random_state=0).fit(X, y).n_features_in_)

    return work


def forest(n_features: int) -> Work:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.feature_selection import SelectFromModel

    def work(X: Any, y: Any) -> int:
        model = RandomForestClassifier(100, n_jobs=N_JOBS, random_state=0)
        return _support(SelectFromModel(model, max_features=n_features, threshold=-np.inf).fit(X, y))

    return work


def recursive_elimination(n_features: int) -> Work:
    from sklearn.feature_selection import RFE
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    def work(X: Any, y: Any) -> int:
        X = StandardScaler().fit_transform(X)
        return _support(RFE(SVC(kernel="linear"), n_features_to_select=n_features, step=0.1).fit(X, y))

    return work


def sequential_selection(n_features: int) -> Work:
    from sklearn.feature_selection import SequentialFeatureSelector
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    def work(X: Any, y: Any) -> int:
        X = StandardScaler().fit_transform(X)
        model = SequentialFeatureSelector(LogisticRegression(), n_features_to_select=n_features, n_jobs=N_JOBS)
        return _support(model.fit(X, y))

    return work


def boruta(n_features: int) -> Work:
    """Boruta decides on its own how many features to keep."""
    from boruta import BorutaPy
    from sklearn.ensemble import RandomForestClassifier

    def work(X: Any, y: Any) -> int:
        model = RandomForestClassifier(n_jobs=N_JOBS, max_depth=5)
        return int(BorutaPy(model, n_estimators="auto", random_state=0).fit(X, y).support_.sum())

    return work


def mrmr_selection(n_features: int) -> Work:
    import pandas as pd
    from mrmr import mrmr_classif

    def work(X: Any, y: Any) -> int:
        frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
        return len(mrmr_classif(X=frame, y=pd.Series(y), K=n_features, n_jobs=N_JOBS, show_progress=False))

    return work


def hsic_lasso(n_features: int) -> Work:
    from pyHSICLasso import HSICLasso

    def work(X: Any, y: Any) -> int:
        model = HSICLasso()
        model.input(X, y)
        model.classification(n_features, n_jobs=N_JOBS)
        return len(model.get_index())

    return work


def _support(fitted: Any) -> int:
    return int(fitted.get_support().sum())
