"""
How much an expert's word weighs
================================

One ensemble, and prior weights that grow from nothing to more than the data. There are three ways to state knowledge: a
weight on one feature, a weight on a block of features, and, with the hyperdirichlet prior, a weight on a set ("one of
these matters, I cannot say which"). Weights are counted in votes, so their meaning depends on the number of models: 50
is half a voice against 100 models.
"""

# %%

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

import ubayfs
from ubayfs import Hyperdirichlet

X, y = load_breast_cancer(as_frame=True, return_X_y=True)
blocks = {block: [name for name in X.columns if block in name.split()] for block in ("mean", "error", "worst")}
evidence = ubayfs.collect_evidence(X, y, selector="mrmr", n_models=100, n_features_per_model=10, random_state=0)

# %%
# A weight on a feature, and on each feature of a block. A weight counts like votes: a heavy one also brings in features
# that no model ever chose, and a warning names them.

warnings.filterwarnings("ignore", "No model voted")
weights = [0.01, 3, 10, 30, 100, 300]
figure, axes = plt.subplots(1, 2, sharex=True, sharey=True, figsize=(7.2, 3.2), layout="constrained")
for axis, name in zip(axes, ("worst smoothness", "error"), strict=True):
    chosen = [ubayfs.decide(evidence, max_size=10, weights={name: weight}, blocks=blocks) for weight in weights]
    members = [name] if name in evidence.feature_names else blocks[name]
    counts = [len(set(selection.features) & set(members)) for selection in chosen]
    importance = [selection.importance[np.isin(evidence.feature_names, members)].sum() for selection in chosen]
    bars = axis.bar([f"{weight:g}" for weight in weights], importance, color="#0072B2")
    axis.bar_label(bars, [f"{count} of {len(members)}" for count in counts], padding=2, size=8)
    axis.set(title=f"weight on {name!r}", xlabel="weight of each feature, in votes")
    axis.spines[["top", "right"]].set_visible(False)
    print(f"{name!r}: weights {weights} -> {counts} of {len(members)} chosen")
axes[0].set_ylabel("posterior importance (above: chosen)")
plt.show()

# %%
# A weight on a set raises the importance of its members together; the votes decide which of them.

suspects = ("mean symmetry", "worst symmetry", "worst smoothness")
for weight in (0, 100):
    prior = Hyperdirichlet(set_weights={suspects: weight})
    selection = ubayfs.decide(evidence, prior=prior, max_size=10, random_state=0)
    together = selection.importance[np.isin(selection.feature_names, suspects)].sum()
    r_hat = selection.posterior.diagnostics.r_hat
    print(f"one of {suspects}, weight {weight}: importance {together:.3f} together (R-hat {r_hat:.3f})")
