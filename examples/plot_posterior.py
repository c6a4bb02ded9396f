"""
Credible intervals
==================

The posterior importance of each feature, with its credible interval. It measures agreement within the ensemble,
not sampling uncertainty: it narrows as you add models, not as you add samples.
"""

# %%

from sklearn.datasets import load_breast_cancer

import ubayfs
from ubayfs.plotting import PosteriorDisplay

X, y = load_breast_cancer(as_frame=True, return_X_y=True)
evidence = ubayfs.collect_evidence(
    X, y, selector="mrmr", n_models=60, n_features_per_model=5, random_state=0
)
selection = ubayfs.decide(
    evidence, weights={"worst texture": 20}, constraints=ubayfs.max_size(5)
)
PosteriorDisplay.from_selection(selection, level=0.9).plot()

# %%
# Decisions on draws from the posterior, instead of on its mean, show how often each feature is selected.

chosen_in = ubayfs.selection_probabilities(selection, n_draws=50, random_state=0)
for name in selection.features:
    print(f"{name}: {chosen_in[X.columns.get_loc(name)]:.2f}")
