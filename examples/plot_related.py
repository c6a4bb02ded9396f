"""
How many of these features are noise?
=====================================

The target is shuffled, which breaks its relation to all features, and the ensemble is repeated. Features get votes
there, too: noise is what gets as many.
"""

# %%
# Four of 100 features are related to the target; ten are chosen.

import numpy as np

import ubayfs
from ubayfs.plotting import NoiseDisplay

rng = np.random.default_rng(1)
y = np.repeat([0, 1], 40)
X = rng.normal(size=(80, 100))
X[:, :4] += 1.5 * y[:, None]
evidence = ubayfs.collect_evidence(X, y, n_models=50, random_state=0)
selection = ubayfs.decide(evidence, constraints=ubayfs.max_size(10, rho=np.inf))

noise = ubayfs.estimate_noise(X, y, evidence=evidence, random_state=0)
estimate = noise.estimate(selection)
print(f"about {estimate.expected:.0f} (cautiously up to {estimate.cautious:.0f}) of {estimate.n_data} are noise")
print(f"{noise.supported} features have more votes than shuffled targets explain")

# %%
# The votes of the leading features beside those that shuffled targets give the features of the same rank:

NoiseDisplay.from_selection(selection, noise).plot()
