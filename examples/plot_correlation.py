"""
Correlated features
===================

Of features that measure the same thing, one is enough. ``decorrelate`` penalizes pairs above a correlation;
``max_per_cluster`` allows one feature of each cluster.
"""

# %%
# Without a constraint, three of the five selected features measure the size of a nucleus.

from sklearn.datasets import load_breast_cancer

import ubayfs
from ubayfs.plotting import CorrelationDisplay

X, y = load_breast_cancer(as_frame=True, return_X_y=True)
evidence = ubayfs.collect_evidence(
    X, y, selector="fisher", n_models=50, n_features_per_model=12, random_state=0
)
five = ubayfs.max_size(5)
plain = ubayfs.decide(evidence, constraints=five, X=X)
CorrelationDisplay.from_selection(plain, X).plot()

# %%
# Pairs with a correlation above 0.8 are penalized, the more the closer they are to 1:

apart = ubayfs.decide(evidence, constraints=[five, ubayfs.decorrelate(0.8)], X=X)
CorrelationDisplay.from_selection(apart, X).plot()

# %%
# Clusters, in which every two features correlate above 0.9, and one feature of each:

clusters = ubayfs.cluster_features(X, threshold=0.9)
for name, members in clusters.members.items():
    print(f"{name}: {', '.join(members)}")
one_each = ubayfs.decide(
    evidence, constraints=[five, ubayfs.max_per_cluster()], X=X
)
for title, selection in {
    "no rule": plain,
    "decorrelate": apart,
    "one per cluster": one_each,
}.items():
    print(
        f"{title:<16} mean correlation {selection.metrics.redundancy:.2f}: "
        f"{', '.join(selection.features)}"
    )
