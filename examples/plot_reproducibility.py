"""
Would another study select them again?
======================================

The samples are split into halves, many times. Each half is treated like a study, and the two sets are compared.
"""

# %%

import numpy as np

import ubayfs
from ubayfs.data.feature_data import FeatureData
from ubayfs.plotting import HalvesDisplay
from ubayfs.trust.halves import collect_halves
from ubayfs.trust.reproducibility import reproducibility_of

rng = np.random.default_rng(1)
y = np.repeat([0, 1], 40)
X = rng.normal(size=(80, 100))
X[:, :4] += 1.5 * y[:, None]
evidence = ubayfs.collect_evidence(
    X, y, selector="mrmr", n_models=30, random_state=0
)
selection = ubayfs.decide(evidence, constraints=ubayfs.max_size(6))
found = ubayfs.estimate_reproducibility(selection, X, y, n_splits=8)
low, high = found.selected_again
print(
    f"in a new study of this size, about {low:.0f} to {high:.0f} "
    f"of these {found.size} would be selected again"
)
print(
    dict(
        zip(
            found.feature_names[found.selected],
            found.labels[found.selected],
            strict=True,
        )
    )
)

# %%
# The ensembles on halves can be collected once and used for every decision on the same evidence. The figure shows
# the share of models that selected a feature in one half against the other:

halves = collect_halves(
    FeatureData.from_table(X, y),
    {"selector": "mrmr", "n_models": 30},
    n_splits=8,
    random_state=0,
)
HalvesDisplay.from_selection(
    selection, halves, reproducibility_of(selection, halves)
).plot()
