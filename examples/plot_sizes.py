"""
How many features?
==================

The score of the best set of each size, and how well sets of each size predict samples that took no part in choosing
them.
"""

# %%
# Four of 100 features are related to the target.

import numpy as np

import ubayfs
from ubayfs.plotting import PerformanceDisplay, SizeUtilityDisplay

rng = np.random.default_rng(1)
y = np.repeat([0, 1], 40)
X = rng.normal(size=(80, 100))
X[:, :4] += 1.5 * y[:, None]
evidence = ubayfs.collect_evidence(X, y, n_models=50, random_state=0)
selection = ubayfs.decide(evidence, constraints=ubayfs.max_size(6, rho=0.5))

# %%
# The score rises as long as a further feature has more votes than a violation of the limit costs.

SizeUtilityDisplay.from_selection(selection).plot()

# %%
# Prediction in cross-validation, with ensemble and decision inside each fold; and how many of the features with the
# most votes are expected to be noise.

validation = ubayfs.validate(selection, X, y, sizes=[1, 2, 4, 8], n_repeats=1, cv=4, baselines=[])
noise = ubayfs.estimate_noise(X, y, evidence=evidence, random_state=0)
print(f"{validation.one_se_size} features predict about as well as {validation.best_size}")
print(f"{noise.supported} features are supported")
PerformanceDisplay.from_selection(selection, validation, noise).plot()
