"""
Are there enough models?
========================

How the votes of the selected features, and of the next ones, develop as models are added. Where lines still
cross, a larger ensemble may change the answer.
"""

# %%

from sklearn.datasets import load_breast_cancer

import ubayfs
from ubayfs.plotting import ConvergenceDisplay

X, y = load_breast_cancer(as_frame=True, return_X_y=True)
evidence = ubayfs.collect_evidence(
    X, y, selector="tree", n_models=100, n_features_per_model=5, random_state=0
)
selection = ubayfs.decide(evidence, constraints=ubayfs.max_size(4))
stability = ubayfs.metrics.stability(evidence.sets)
print(
    f"stability of the models {stability.value:.2f} "
    f"({stability.lower:.2f} to {stability.upper:.2f})"
)
ConvergenceDisplay.from_selection(selection).plot()

# %%
# To add models without repeating any, merge evidence with other seeds.

more = evidence.merge(
    ubayfs.collect_evidence(
        X, y, selector="tree", n_models=100, n_features_per_model=5, random_state=1
    )
)
print(more)
again = ubayfs.decide(more, constraints=ubayfs.max_size(4))
print(f"the same set: {set(again.features) == set(selection.features)}")
