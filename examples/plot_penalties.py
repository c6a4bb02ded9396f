"""
What a violation costs
======================

A soft constraint may be violated at a cost. The cost is given as ``rho``, the paper's relaxation, or as a ``price``: a
share of the models.
"""

# %%

import numpy as np

import ubayfs
from ubayfs.plotting import PenaltyDisplay

votes = [95, 80, 45, 15, 3]  # of 100 models
evidence = ubayfs.Evidence.from_sets(
    np.arange(100)[:, None] < votes, ["a", "b", "c", "d", "e"]
)
for price in (0.1, 0.2, 0.5):
    selection = ubayfs.decide(evidence, constraints=ubayfs.max_size(2, price=price))
    print(f"price {price}: {', '.join(selection.features)}")

# %%
# With a price of 0.2 a third feature must have more than 20 votes. The display shows the factor by which each
# constraint lowers the admissibility, against the amount of its violation, and marks the selected set.

selection = ubayfs.decide(
    evidence,
    constraints=[
        ubayfs.max_size(2, price=0.2),
        ubayfs.cannot_link(["a", "b"], rho=0.5),
    ],
)
PenaltyDisplay.from_selection(selection).plot()
