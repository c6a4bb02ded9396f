"""
Several assays
==============

Transcripts, proteins and metabolites of the same patients: each assay is a block of features. A panel should not need
all three laboratories.
"""

# %%
# Simulated patients: one latent state shows in five transcripts, three proteins and two metabolites.

import numpy as np
import pandas as pd

import ubayfs
from ubayfs.plotting import EvidenceDisplay

rng = np.random.default_rng(0)
state = rng.normal(size=100)
y = np.where(state + 0.5 * rng.normal(size=100) > 0, "ill", "well")
tables = {}
for block, (n, n_related) in {
    "RNA": (200, 5),
    "protein": (60, 3),
    "metabolite": (30, 2),
}.items():
    values = rng.normal(size=(100, n))
    values[:, :n_related] += 1.2 * state[:, None]
    tables[block] = pd.DataFrame(
        values, columns=[f"{block} {i}" for i in range(1, n + 1)]
    )
X = pd.concat(tables.values(), axis=1)
blocks = {block: list(table) for block, table in tables.items()}

# %%
# Files are joined by the ids of their samples, see :func:`ubayfs.read_data`; here they are simulated. At most
# two features of each assay, and at most two assays:

evidence = ubayfs.collect_evidence(
    X, y, selector="mrmr", n_models=60, n_features_per_model=8, random_state=0
)
six = ubayfs.max_size(6)
rules = {
    "six features": [six],
    "two of each assay": [six, ubayfs.max_per_block(2)],
    "two assays": [six, ubayfs.max_blocks(2)],
}
for title, constraints in rules.items():
    selection = ubayfs.decide(evidence, constraints=constraints, blocks=blocks)
    print(f"{title}: {', '.join(selection.features)}")

# %%
# A whole assay can be favored: a weight on a block is a weight on each of its features.

favored = ubayfs.decide(
    evidence,
    weights={"protein": "likely"},
    constraints=rules["two assays"],
    blocks=blocks,
)
print(f"proteins favored: {', '.join(favored.features)}")
EvidenceDisplay.from_selection(favored, blocks=blocks, max_features=20).plot()
