"""
A first selection
=================

From a table to the best set, in ten lines: an ensemble votes, you state prior knowledge and constraints, and ubayfs
finds the best set, with a proof.
"""

# %%
# 100 small models vote, each on three quarters of the tumors. This is the slow part, and it is done once.

from sklearn.datasets import load_breast_cancer

import ubayfs
from ubayfs.plotting import EvidenceDisplay

X, y = load_breast_cancer(as_frame=True, return_X_y=True)
evidence = ubayfs.collect_evidence(
    X,
    y,
    selector=["mrmr", "tree"],
    n_models=100,
    n_features_per_model=5,
    random_state=0,
)

# %%
# Prior knowledge counts as votes: *likely* like those of a quarter of the models. Constraints describe a practical
# set. A decision takes milliseconds.

selection = ubayfs.decide(
    evidence,
    weights={"worst smoothness": "likely", "worst concavity": 70},
    constraints=[
        ubayfs.max_size(6),
        ubayfs.cannot_link(["worst radius", "worst perimeter", "worst area"]),
    ],
)
print(", ".join(selection.features))
print(f"score {selection.value:.4f}, no set has more than {selection.bound:.4f}")

# %%
# The votes of the models, with the prior weights on top:

EvidenceDisplay.from_selection(selection).plot()
