"""
Are these features related to the target?
=========================================

Each feature is tested against the target by itself. Shuffles of the target show how small p-values become by chance.
The resulting number holds for any set of features, however it was selected.
"""

# %%
# Four of 200 features are related to the target; ten are selected.

import numpy as np

import ubayfs
from ubayfs.plotting import RelatedDisplay

rng = np.random.default_rng(1)
y = np.repeat([0, 1], 40)
X = rng.normal(size=(80, 200))
X[:, :4] += 1.5 * y[:, None]
evidence = ubayfs.collect_evidence(
    X, y, selector="mrmr", n_models=50, random_state=0
)
selection = ubayfs.decide(evidence, constraints=ubayfs.max_size(10))

related = ubayfs.estimate_related(selection, X, y)
print(
    f"at least {related.at_least} of {len(related.features)} "
    "are related to the target (90 % confidence)"
)

# %%
# The p-values of the leading features, with the expected share q of unrelated features among those with a p-value as
# small:

RelatedDisplay.from_selection(selection, related).plot()
