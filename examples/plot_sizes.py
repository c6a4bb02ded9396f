"""
How many features?
==================

The score of the best set of each size, and how well sets of each size predict held-out samples.
"""

# %%
# Four of 200 features are related to the target.

import numpy as np

import ubayfs
from ubayfs.plotting import PerformanceDisplay, SizeUtilityDisplay

rng = np.random.default_rng(1)
y = np.repeat([0, 1], 40)
X = rng.normal(size=(80, 200))
X[:, :4] += 1.5 * y[:, None]
evidence = ubayfs.collect_evidence(
    X, y, selector="mrmr", n_models=50, random_state=0
)
selection = ubayfs.decide(evidence, constraints=ubayfs.max_size(6, rho=0.5))

# %%
# The score rises as long as a further feature has more votes than a violation of the limit costs.

SizeUtilityDisplay.from_selection(selection).plot()

# %%
# Prediction in cross-validation, with ensemble and decision inside each fold. The number of
# features that the data support is the largest for which, by the best guess, at most a fifth are unrelated.

validation = ubayfs.validate(
    selection, X, y, sizes=[1, 2, 4, 8], n_repeats=1, cv=4, baselines=[]
)
related = ubayfs.estimate_related(selection, X, y)
print(
    f"{validation.one_se_size} features predict about as well "
    f"as {validation.best_size}"
)
print(f"{related.supported(selection)} features are supported")
PerformanceDisplay.from_selection(selection, validation).plot()
