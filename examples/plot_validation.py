"""
Does the set predict?
=====================

In each fold, ensemble and decision are repeated on the training samples. The selected sets are compared with simple
baselines.
"""

# %%

from sklearn.datasets import load_breast_cancer

import ubayfs
from ubayfs.plotting import ComparisonDisplay

X, y = load_breast_cancer(as_frame=True, return_X_y=True)
constraints = [
    ubayfs.max_size(3),
    ubayfs.cannot_link(["worst radius", "worst perimeter", "worst area"]),
]
evidence = ubayfs.collect_evidence(
    X, y, selector="mrmr", n_models=20, n_features_per_model=5, random_state=0
)
selection = ubayfs.decide(evidence, constraints=constraints)
validation = ubayfs.validate(selection, X, y, cv=4, n_repeats=1)
print(
    validation.scores.query("metric == 'auc'")[["method", "mean", "lower", "upper"]]
    .round(3)
    .to_string(index=False)
)

# %%
# If the interval of the difference contains 0, there is no clear difference. Three features do nearly as well as all
# 30.

ComparisonDisplay.from_selection(selection, validation).plot()
