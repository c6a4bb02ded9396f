"""
Survival
========

The target is a time and whether the event happened by then. Censored patients count with the time for which they
were followed.
"""

# %%
# Three of 60 genes change the hazard of death; a third of the patients are censored.

import numpy as np

import ubayfs
from ubayfs.plotting import EvidenceDisplay

rng = np.random.default_rng(0)
X = rng.normal(size=(150, 60))
death = rng.exponential(np.exp(-1.2 * X[:, :3].sum(axis=1)))
end = rng.exponential(2.0, size=150)
y = ubayfs.Survival(time=np.minimum(death, end), event=death <= end)
print(f"{y.event.sum()} deaths among {len(y)} patients")

# %%
# ``cox`` scores each gene by its correlation with martingale residuals, ``mrmr`` by the concordance with the times.

evidence = ubayfs.collect_evidence(
    X,
    y,
    selector=["cox", "mrmr"],
    n_models=60,
    n_features_per_model=5,
    random_state=0,
)
selection = ubayfs.decide(evidence, constraints=ubayfs.max_size(3))
risk = X[:, selection.indices].sum(axis=1)
print(f"selected: {', '.join(sorted(selection.features))}")
print(
    "concordance of their sum: "
    f"{ubayfs.metrics.concordance_index(y.time, y.event, risk):.2f}"
)
EvidenceDisplay.from_selection(selection, max_features=15).plot()
