"""
A first selection
=================

From a table to the best set, in ten lines: an ensemble votes, you say what you know and what you need, and the best
set is found with a proof.
"""

# %%
# 100 small models vote, each on three quarters of the tumors. This is the slow part, and it is done once.

from sklearn.datasets import load_breast_cancer

import ubayfs
from ubayfs.plotting import EvidenceDisplay

X, y = load_breast_cancer(as_frame=True, return_X_y=True)
evidence = ubayfs.collect_evidence(
    X, y, selector=["mrmr", "tree"], n_models=100, n_features_per_model=5, random_state=0
)

# %%
# What you know counts as votes: *likely* like those of a quarter of the models. Constraints say what a practical
# set looks like. Deciding takes milliseconds, so that you can change your mind as often as you like.

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
# The votes of the models, and the weights of the expert on top of them:

EvidenceDisplay.from_selection(selection).plot()
