"""
Custom selectors
================

An ensemble can use anything that ranks features: a function, a scikit-learn estimator with
importances, a scikit-learn selector, or a mix of all of them.
"""

# %%
# A function gets the samples of one subsample, the target, the number of features wanted and a random generator. It
# returns column indices, best first.

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor
from sklearn.feature_selection import SelectKBest, f_regression

import ubayfs
from ubayfs.plotting import EvidenceDisplay


def spearman(X, y, n_features, rng):
    """Choose the columns of highest absolute rank correlation with the target."""
    ranks = np.argsort(np.argsort(np.column_stack([X, y]), axis=0), axis=0)
    correlation = np.abs(np.corrcoef(ranks, rowvar=False)[-1, :-1])
    return np.argsort(-correlation)[:n_features]


selectors = {
    "a function": spearman,
    "an estimator with importances": RandomForestRegressor(n_estimators=20),
    "a scikit-learn selector": SelectKBest(f_regression),
    "built in": "mrmr",
    "all of them in turn": [
        spearman,
        RandomForestRegressor(n_estimators=20),
        SelectKBest(f_regression),
        "mrmr",
    ],
}

# %%
# Each makes an ensemble of 20 models. The target counts whole points, which look like class labels, so that the task
# must be named.

X, y = load_diabetes(return_X_y=True, as_frame=True)
print(f"{'votes of 20 models':<32}" + "".join(f"{name:>5}" for name in X.columns))
for title, selector in selectors.items():
    evidence = ubayfs.collect_evidence(
        X,
        y,
        selector=selector,
        n_models=20,
        n_features_per_model=4,
        task="regression",
        random_state=0,
    )
    print(f"{title:<32}" + "".join(f"{count:>5}" for count in evidence.counts))

# %%
# The mixed ensemble decides.

selection = ubayfs.decide(evidence, max_size=4)
stability = ubayfs.metrics.stability(evidence.sets)
print(f"selected by the mixed ensemble: {', '.join(selection.features)}")
print(
    f"stability of its models: {stability.value:.2f} "
    f"({stability.lower:.2f} to {stability.upper:.2f})"
)
EvidenceDisplay.from_selection(selection).plot()
