"""Bring your own selector: a function, a scikit-learn estimator, a scikit-learn selector, or a mix of all.

A function gets the rows of one subsample, the target, the number of features wanted and a random generator, and returns
column indices, best first.
"""

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor
from sklearn.feature_selection import SelectKBest, f_regression

import ubayfs
from ubayfs import max_size


def spearman(X: np.ndarray, y: np.ndarray, n_features: int, rng: np.random.Generator) -> np.ndarray:
    """Choose the columns of highest absolute rank correlation with the target."""
    ranks = np.argsort(np.argsort(np.column_stack([X, y]), axis=0), axis=0)
    correlation = np.abs(np.corrcoef(ranks, rowvar=False)[-1, :-1])
    return np.argsort(-correlation)[:n_features]


SELECTORS = {
    "a function": spearman,
    "an estimator with importances": RandomForestRegressor(n_estimators=20),
    "a scikit-learn selector": SelectKBest(f_regression),
    "built in": "mrmr",
    "all of them in turn": [spearman, RandomForestRegressor(n_estimators=20), SelectKBest(f_regression), "mrmr"],
}


def main() -> None:
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    # The target counts whole points, which look like class labels: say that it is a number.
    print(f"{'votes of 20 models':<32}" + "".join(f"{name:>5}" for name in X.columns))
    for title, selector in SELECTORS.items():
        evidence = ubayfs.collect_evidence(
            X, y, selector, n_models=20, n_features_per_model=4, task="regression", random_state=0
        )
        print(f"{title:<32}" + "".join(f"{count:>5}" for count in evidence.counts))
    selection = ubayfs.decide(evidence, constraints=max_size(4, rho=np.inf))
    print(f"chosen by the mixed ensemble: {', '.join(selection.features)}")
    stability = ubayfs.stability(evidence.sets)
    print(f"stability of its models: {stability.value:.2f} ({stability.lower:.2f} to {stability.upper:.2f})")


if __name__ == "__main__":
    main()
